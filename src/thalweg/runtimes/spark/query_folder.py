"""Files of ours beside Spark's own in the checkpoint of a query, on any file system that Spark knows.

They are written and removed by Java, so a client of Spark Connect has none of them.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OWN: Final = "thalweg"
"""The folder of our files in that of a checkpoint; Spark does not look into it."""


@dataclass(frozen=True, slots=True)
class QueryFolder:
    """The folder of a checkpoint; files and folders in it are named by their paths from there."""

    session: "SparkSession"
    location: str
    filesystem: Any

    @classmethod
    def of(cls, session: "SparkSession", location: str) -> "QueryFolder | None":
        """The folder at a location; None where Java is out of reach."""
        java = getattr(session, "_jvm", None)
        if java is None:
            return None
        path = java.org.apache.hadoop.fs.Path(location)
        return cls(session, location.rstrip("/"), path.getFileSystem(session.sparkContext._jsc.hadoopConfiguration()))

    def exists(self, name: str) -> bool:
        """Whether there is such a file or folder."""
        return bool(self.filesystem.exists(self._path(name)))

    def read(self, name: str) -> bytes:
        """The content of a file."""
        files = self.session.read.format("binaryFile").load(self._path(name).toString())
        return bytes(files.select("content").collect()[0][0])

    def write(self, name: str, content: bytes) -> None:
        """Writes a file, over another one if there is one."""
        stream = self.filesystem.create(self._path(name), True)
        try:
            stream.write(bytearray(content))
        finally:
            stream.close()

    def remove(self, name: str) -> None:
        """Removes a file, or a folder with all that it has."""
        self.filesystem.delete(self._path(name), True)

    def _path(self, name: str) -> Any:
        java: Any = self.session._jvm
        return java.org.apache.hadoop.fs.Path("/".join((self.location, name)))

    def last(self, log: str) -> int:
        """The last batch that a log of Spark has; -1 where it has none."""
        if not self.exists(log):
            return -1
        names = (status.getPath().getName() for status in self.filesystem.listStatus(self._path(log)))
        return max((int(name) for name in names if name.isdigit()), default=-1)
