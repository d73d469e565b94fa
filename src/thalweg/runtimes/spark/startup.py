"""What makes Spark start faster: a home without zipped Python sources, classes that Java need not parse again, and a
Java that does not optimise.

`pyspark.zip` holds no compiled files, so each of the Python processes of a run would compile all that it imports from
there; without it they import the installed package. A run loads 17,000 classes; an archive holds them as Java has once
parsed and checked them.
"""

import os
import shlex
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from time import time
from typing import Final

from thalweg.runtimes.spark.java import Java, cache_directory, kept_directory

SHORT: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For a Java that does not run for long: nothing in it is worth optimising.

A run of two facts takes half the CPU time with it. In a long run the code that reads, shuffles and stores parcels would
stay slower than it could be, so only runs over small files (`is_small`), the demo and the tests use it.
"""

# What Spark's scripts need of its home.
_PARTS: Final = ("bin", "jars", "sbin", "conf")
# Bytes of all streams together: a run over less is finished before optimising has paid for itself.
_SMALL: Final = 4 << 20
# Archives are large; those that are kept are of the versions that were used last.
_ARCHIVES_KEPT: Final = 2
# Seconds: the process that makes an archive may have been ended with the machine.
_RETRY: Final = 86_400
# Loaded late in a run: a list of classes that has it is a list of all that a run needs.
_LATE_CLASS: Final = b"TransformWithStateInPySparkStateServer"


@cache
def linked_home(home: Path) -> Path:
    """A home made of links to another one, without its `python/lib`; the home itself if it is not that of the package.

    >>> linked_home(Path("/opt/spark"))
    PosixPath('/opt/spark')
    """
    if not (home / "__init__.py").exists():
        return home
    about = sha256(f"{home} {version('pyspark')}".encode()).hexdigest()[:12]
    place = cache_directory() / f"spark-{about}"
    try:
        place.mkdir(exist_ok=True)
        for part in filter(lambda part: (home / part).exists(), _PARTS):
            # Another process may be making the same link.
            with suppress(FileExistsError):
                (place / part).symlink_to(home / part)
    except OSError:
        return home
    return place


def is_small(streams: Iterable[object]) -> bool:
    """Whether streams are files that together hold little.

    >>> is_small([Path(__file__)]), is_small([Path(__file__), "mqtt://localhost/readings"])
    (True, False)
    """
    sizes = [
        stream.stat().st_size if isinstance(stream, Path) and stream.is_file() else _SMALL + 1 for stream in streams
    ]
    return sum(sizes) <= _SMALL


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """The classes that a run loads, as one version of Java has prepared them for one version of Spark.

    The first run writes the names of its classes to a list; when it has ended well, a process in the background makes
    the archive, and later runs use it. Where that fails the list stays, and for a day it is not tried again.
    """

    java: Path
    stem: Path

    @classmethod
    def of(cls, java: Java, home: Path) -> "ClassArchive | None":
        """The archive for a Java and a home of Spark; None where it would not be kept for the next run."""
        if (kept := kept_directory()) is None:
            return None
        about = sha256(f"{java.home} {java.build} {home} {version('pyspark')}".encode()).hexdigest()[:12]
        return cls(java.home / "bin" / "java", kept / f"classes-{about}")

    @property
    def file(self) -> Path:
        return self.stem.with_suffix(".jsa")

    @property
    def _list(self) -> Path:
        return self.stem.with_suffix(".list")

    @property
    def _draft(self) -> Path:
        return self.stem.with_suffix(f".{os.getpid()}.draft")

    @property
    def _tried(self) -> bool:
        return self._list.exists() and time() - self._list.stat().st_mtime < _RETRY

    @property
    def options(self) -> str:
        """Options for a Java: to use the archive, or to list what it should hold; none while it is being made."""
        if self.file.exists():
            # If jars have changed, Java ignores the archive, and would print a warning.
            return f"{shlex.quote(f'-XX:SharedArchiveFile={self.file}')} -Xlog:cds=off"
        return "" if self._tried else shlex.quote(f"-XX:DumpLoadedClassList={self._draft}")

    def make(self, class_path: str) -> None:
        """Makes the archive, in a process of its own, if a Java that has ended left a list of what a run needs."""
        with suppress(OSError):
            if not self._draft.exists() or self._tried:
                return
            if _LATE_CLASS in self._draft.read_bytes():
                self._draft.rename(self._list)
                self._start(class_path)
            for old in self.stem.parent.glob(f"{self.stem.name}.*.draft"):
                old.unlink(missing_ok=True)
            archives = sorted(self.stem.parent.glob("classes-*.jsa"), key=lambda path: path.stat().st_mtime)
            for old in archives[:-_ARCHIVES_KEPT]:
                old.unlink(missing_ok=True)

    def _start(self, class_path: str) -> None:
        unfinished = self.file.with_suffix(".unfinished")
        options = [f"-XX:SharedClassListFile={self._list}", f"-XX:SharedArchiveFile={unfinished}", "-cp", class_path]
        command = shlex.join(["nice", "-n", "19", str(self.java), "-Xshare:dump", *options])
        move = shlex.join(["mv", str(unfinished), str(self.file)])
        # The shell ends at once. The environment is not inherited: by a variable in it the processes of a run are found
        # and killed when it ends, and this one is to go on.
        subprocess.run(
            ["/bin/sh", "-c", f"({command} && {move}) >/dev/null 2>&1 </dev/null &"],
            env={"PATH": os.defpath},
            start_new_session=True,
            check=False,
        )
