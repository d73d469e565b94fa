"""Recorded files on other file systems: `s3://`, `gs://`, `abfs://`, `hdfs://`, `file://`, and paths of this machine.

A storage is what a URI names, a file or a folder, as pyarrow opens it. An open file can be read from any byte, so that
tasks on several machines can share it. What is sent to one is the URI: the file system is opened again there.
"""

import os
import posixpath
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from thalweg.diagnostics import Diagnostic, RejectedError, without_secrets

HADOOP: Final = "hdfs"
SCHEMES: Final = {
    "file": "file", "s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gs", "gcs": "gcs", "abfs": "abfs", "abfss": "abfss",
    HADOOP: HADOOP, "viewfs": "viewfs",
}  # fmt: skip
"""The schemes of file systems, and those under which pyarrow knows them."""

_LIBRARIES: Final = "set JAVA_HOME, HADOOP_HOME and CLASSPATH (`hadoop classpath --glob`), on a cluster on all machines"
_PARTITION: Final = "="


@dataclass(frozen=True, slots=True)
class Storage:
    """A file, or the files below a folder; `root` is the folder in its file system, `single` the name of a file alone.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "a.csv").write_text("device,temp")
    ...     storage = open_storage(Path(folder).as_uri())
    ...     storage.files(), storage.size("a.csv")
    (['a.csv'], 11)
    """

    uri: str
    filesystem: Any = field(repr=False, compare=False)
    root: str
    single: str | None = None

    def __reduce__(self) -> "tuple[Callable[[str], Storage], tuple[str]]":
        """Another process opens the URI again."""
        return open_storage, (self.uri,)

    @property
    def name(self) -> str:
        """The URI as it may be shown: without a password, and without options."""
        return without_secrets(self.uri.partition("?")[0])

    @property
    def is_folder(self) -> bool:
        return self.single is None

    def files(self) -> list[str]:
        """The names of the files, in order; those in folders of partitions with their way: `hour=08/part-0.parquet`.

        Hidden files and markers such as `_SUCCESS` are left out, and so are folders that are not partitions.
        """
        if self.single is not None:
            return [self.single]
        names = self._list(recursive=False)
        if any(_PARTITION in name and not is_file for name, is_file in names):
            names = self._list(recursive=True)
        return sorted((name for name, is_file in names if is_file and is_visible(name)), key=_in_order)

    def size(self, path: str) -> int:
        """How many bytes a file has."""
        file = self.open(path)
        try:
            return int(file.size())
        except read_errors() as error:
            raise unreadable(self.address(path), error) from error
        finally:
            file.close()

    def open(self, path: str) -> Any:
        """A file of it, opened for reading: `read(size)`, `seek(offset)`, `close()`."""
        try:
            return self.filesystem.open_input_file(self._place(path))
        except read_errors() as error:
            raise unreadable(self.address(path), error) from error

    def address(self, path: str) -> str:
        """The URI of a file, as it may be shown."""
        return self.name if self.single is not None or not path else posixpath.join(self.name, path)

    def _place(self, path: str) -> str:
        return posixpath.join(self.root, path)

    def _list(self, recursive: bool) -> list[tuple[str, bool]]:
        """The names below the folder, and whether each is a file."""
        from pyarrow.fs import FileSelector, FileType

        try:
            entries = self.filesystem.get_file_info(FileSelector(self.root, recursive=recursive))
        except read_errors() as error:
            raise unreadable(self.name, error) from error
        below = len(self.root.rstrip("/")) + 1 if self.root else 0
        return [(entry.path[below:], entry.type == FileType.File) for entry in entries]


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of a storage, or its folder where `path` is empty, with the name and the suffix that a `Path` has."""

    storage: Storage
    path: str

    def __str__(self) -> str:
        return self.storage.address(self.path)

    @property
    def name(self) -> str:
        return posixpath.basename(self.path or self.storage.root)

    @property
    def suffix(self) -> str:
        return posixpath.splitext(self.path)[1]

    def open(self) -> Any:
        """The file, opened for reading."""
        return self.storage.open(self.path)

    def size(self) -> int:
        """How many bytes it has."""
        return self.storage.size(self.path)


def is_stored(name: object) -> bool:
    """Whether a name is the URI of a file or a folder, and not a path or a live source.

    >>> is_stored("s3://lake/readings/"), is_stored("mqtt://broker/cars"), is_stored("readings.csv")
    (True, False, False)
    """
    return isinstance(name, str) and "://" in name and name.partition("://")[0] in SCHEMES


def is_visible(path: str) -> bool:
    """Whether a file in a folder is data: neither hidden nor a marker, and in folders of partitions only.

    >>> [is_visible(path) for path in ("a.csv", "_SUCCESS", "hour=08/a.csv", "old/a.csv", "_delta_log/0.json")]
    [True, False, True, False, False]
    """
    *folders, name = path.split("/")
    return name[:1] not in ("", ".", "_") and all(_PARTITION in folder and folder[0] != "." for folder in folders)


def open_storage(uri: str | Path) -> Storage:
    """The file or folder that a URI names, or a path of this machine; `RejectedError` where it cannot be opened.

    >>> open_storage("ftp://host/readings.csv")
    Traceback (most recent call last):
    thalweg.diagnostics.RejectedError: error[E402]: files cannot be read from `ftp://`
      help: supported are `file://` `s3://` `s3a://` `s3n://` `gs://` `gcs://` `abfs://` `abfss://` `hdfs://` `viewfs://`
    """
    if isinstance(uri, Path) or "://" not in uri:
        uri = Path(uri).absolute().as_uri()
    filesystem, path = open_filesystem(uri)
    return storage_in(filesystem, path.rstrip("/") if path.strip("/") else path, uri)


def storage_in(filesystem: Any, path: str, uri: str) -> Storage:
    """A file or folder of a file system of pyarrow; `uri` names it in messages, and opens it in other processes."""
    from pyarrow.fs import FileType

    try:
        kind = filesystem.get_file_info(path).type
    except read_errors() as error:
        raise unreadable(_shown(uri), error) from error
    if kind == FileType.NotFound:
        raise unreadable(_shown(uri), FileNotFoundError(2, "No such file or directory"))
    if kind == FileType.Directory:
        return Storage(uri, filesystem, path)
    return Storage(uri, filesystem, *posixpath.split(path))


def open_filesystem(uri: str) -> tuple[Any, str]:
    """The file system of a URI, and the path in it; `RejectedError` where there is none."""
    scheme, _, place = uri.partition("://")
    if scheme not in SCHEMES:
        supported = " ".join(f"`{scheme}://`" for scheme in SCHEMES)
        message = f"files cannot be read from `{scheme}://`"
        raise RejectedError([Diagnostic("E402", message, help=f"supported are {supported}")])
    from pyarrow.fs import FileSystem

    try:
        filesystem, path = FileSystem.from_uri(f"{SCHEMES[scheme]}://{place}")
    except read_errors() as error:
        message = f"`{_shown(uri)}` cannot be opened: {reason_of(error)}"
        raise RejectedError([Diagnostic("E402", message, help=_way_out(scheme))]) from error
    return filesystem, path


def _way_out(scheme: str) -> str:
    """What is missing where a file system cannot be opened."""
    if scheme in (HADOOP, "viewfs"):
        return f"Hadoop's client needs a Java and its libraries: {_LIBRARIES}"
    if scheme == "file":
        return "write an absolute path, with blanks and signs percent-encoded: `file:///data/my%20readings.csv`"
    return f"`{scheme}://` needs a pyarrow that is built with it, and credentials in the environment or the URI"


def read_errors() -> tuple[type[Exception], ...]:
    """What pyarrow raises where it cannot open or read something."""
    from pyarrow import ArrowException

    return (OSError, ArrowException, ImportError, ValueError)


def unreadable(name: str, error: Exception) -> RejectedError:
    """Why a file cannot be read, in a sentence."""
    return RejectedError([Diagnostic("E401", f"cannot read `{name}`: {reason_of(error)}")])


def reason_of(error: Exception) -> str:
    """Why something cannot be opened or read, in a sentence."""
    if isinstance(error, UnicodeError):
        return "it is not UTF-8"
    number = getattr(error, "errno", None)
    return os.strerror(number) if number else without_secrets(str(error).partition("\n")[0])


def _shown(uri: str) -> str:
    return without_secrets(uri.partition("?")[0])


def _in_order(path: str) -> list[str]:
    return path.split("/")
