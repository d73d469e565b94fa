"""Files, plain and gzipped, folders of them, and the standard streams `-`."""

import gzip
import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final, Protocol

from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.partitions import Partition
from thalweg.connectors.storage import StoredFile, storage_in, unreadable
from thalweg.connectors.transport import Sink, Transport
from thalweg.diagnostics import Diagnostic, RejectedError

FILE_BLOCK: Final = 1 << 20
LIVE_BLOCK: Final = 1 << 16

Location = Path | StoredFile
"""A file of this machine, or one of another file system."""


class Readable(Protocol):
    """An open file, unpacked on the way or not."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""

    def seek(self, offset: int, /) -> int:
        """Goes to a place, and says where that is."""

    def close(self) -> None:
        """Gives it back."""


@dataclass(slots=True)
class PathTransport:
    """A recorded file; its stream has the file's name without the endings, unless another one is set.

    `partition` has the columns that folders on the way to it name.
    """

    path: Location
    live: bool = field(default=False, init=False)
    _called: str | None = field(default=None, init=False)
    partition: Partition = field(default_factory=dict, init=False)

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def stream(self) -> str:
        return self._called or stream_of(self.path)

    @stream.setter
    def stream(self, name: str) -> None:
        self._called = name


@dataclass(slots=True)
class FileTransport(PathTransport):
    """`readings.facts`, `readings.jsonl.gz`."""

    taken: int = field(default=0, init=False)
    repeats: bool = field(default=True, init=False)
    _file: Readable = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._file = open_for_reading(self.path)

    def blocks(self, interrupt: Interrupt) -> Iterator[bytes]:
        try:
            while not interrupt.asked and (block := self._read()):
                self.taken += len(block)
                yield block
        finally:
            self.close()

    def close(self) -> None:
        self._file.close()

    def position(self) -> int:
        return self.taken

    def seek(self, position: int) -> None:
        """Goes on behind some bytes, unpacked ones where the file is packed."""
        try:
            # How much a packed file holds is known only at its end, where seeking stops.
            size = position if self.path.suffix == ".gz" else size_of(self.path)
            reached = self._file.seek(min(position, size))
        except (OSError, EOFError) as error:
            raise unreadable(self.name, error) from error
        if reached < position:
            raise shortened(self.name)
        self.taken = position

    def _read(self) -> bytes:
        try:
            return self._file.read(FILE_BLOCK)
        except (OSError, EOFError) as error:
            raise unreadable(self.name, error) from error


class PartTransport(Transport, Protocol):
    """A file of a folder; `partition` has the columns that folders on the way to it name."""

    partition: Partition


@dataclass(slots=True)
class FolderTransport(PathTransport):
    """`readings/`: the files in a folder as one stream, one after the other in the order of their names.

    `partitions` are those of the files, in the same order.
    """

    files: Sequence[Location]
    open: Callable[[Location], PartTransport]
    partitions: Sequence[Partition]

    def parts(self, start: int = 0) -> Iterator[PartTransport]:
        """The files from a number on, each opened when its turn comes: more than can be open at once may be there."""
        for path, partition in zip(self.files[start:], self.partitions[start:], strict=True):
            part = self.open(path)
            part.partition = partition
            yield part

    def blocks(self, interrupt: Interrupt) -> Iterator[bytes]:
        for part in self.parts():
            yield from part.blocks(interrupt)

    def close(self) -> None:
        """Each file is closed at its end."""


@dataclass(slots=True)
class InputTransport:
    """The standard input, or a named pipe: live, unless it is a file after all, which is read in big blocks."""

    number: int = 0
    name: str = "-"
    stream: str = "stdin"

    @property
    def live(self) -> bool:
        return not stat.S_ISREG(os.fstat(self.number).st_mode)

    def blocks(self, interrupt: Interrupt) -> Iterator[bytes]:
        size = LIVE_BLOCK if self.live else FILE_BLOCK
        while block := interrupt.wait(lambda: os.read(self.number, size)):
            yield block

    def close(self) -> None:
        if self.number:
            os.close(self.number)


def stream_of(path: Location) -> str:
    """The name of a stream in rules: the name of its file without the endings.

    >>> stream_of(Path("north/readings.facts.gz"))
    'readings'
    """
    return path.name.partition(".")[0]


def names_in(folder: Path) -> list[str]:
    """The names of the files of a folder, in order, those in folders of partitions with their way (`Storage.files`)."""
    from pyarrow.fs import LocalFileSystem

    return storage_in(LocalFileSystem(), str(folder), str(folder)).files()


def size_of(path: Location) -> int:
    """How many bytes a file has, packed where it is."""
    return path.size() if isinstance(path, StoredFile) else path.stat().st_size


def open_for_reading(path: Location) -> Readable:
    """An open file, unpacked on the way where its name ends in `.gz`."""
    if isinstance(path, StoredFile):
        file: Readable = path.open()
        return gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else file
    try:
        return gzip.open(path) if path.suffix == ".gz" else path.open("rb", buffering=0)
    except (OSError, ValueError) as error:
        raise unreadable(str(path), error) from error


def read_bytes(path: Location) -> bytes:
    """The content of a whole file."""
    file = open_for_reading(path)
    try:
        return b"".join(iter(lambda: file.read(FILE_BLOCK), b""))
    except (OSError, EOFError) as error:
        raise unreadable(str(path), error) from error
    finally:
        file.close()


def read_beginning(path: Location, size: int) -> bytes:
    """The first bytes of a file, which may be long."""
    file = open_for_reading(path)
    try:
        return file.read(size)
    except (OSError, EOFError) as error:
        raise unreadable(str(path), error) from error
    finally:
        file.close()


def read_text(path: Path) -> str:
    """A whole file as text.

    >>> read_text(Path("nowhere.lars"))
    Traceback (most recent call last):
    thalweg.diagnostics.RejectedError: error[E401]: cannot read `nowhere.lars`: No such file or directory
    """
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise unreadable(str(path), error) from error


class NewFile:
    """A file that is written anew, packed where its name ends in `.gz`.

    What was in it stays until the first byte is written, or until it is closed; `withdraw` leaves it as it was. That
    it cannot be written is known when it is made.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._was_there = path.exists()
        self._file: IO[bytes] = path.open("ab")
        self._sink: Sink | None = None

    def write(self, data: bytes) -> int:
        return self._begun().write(data)

    def flush(self) -> None:
        if self._sink is not None:
            self._sink.flush()

    def tell(self) -> int:
        """How much of it has been written."""
        return 0 if self._sink is None else self._sink.tell()  # type: ignore[attr-defined]

    def fileno(self) -> int:
        return self._file.fileno()

    def close(self) -> None:
        if not self._file.closed:
            self._begun().close()
            self._file.close()

    def withdraw(self) -> None:
        """Leaves the file as it was, if nothing has been written; it is then closed."""
        if self._sink is None:
            self._file.close()
            if not self._was_there:
                self._path.unlink(missing_ok=True)

    def _begun(self) -> Sink:
        if self._sink is None:
            self._file.truncate(0)
            self._sink = gzip.GzipFile(fileobj=self._file, mode="wb") if self._path.suffix == ".gz" else self._file
        return self._sink


def open_sink(path: Path) -> Sink:
    """A file to write to; what was in it is gone with the first byte. Pipes and devices are written as they are."""
    try:
        return NewFile(path) if path.is_file() or not path.exists() else path.open("wb")
    except OSError as error:
        raise RejectedError([Diagnostic("E401", f"cannot write `{path}`: {error.strerror}")]) from error


def standard_output() -> Sink:
    """The standard output, for bytes."""
    return sys.stdout.buffer


def shortened(name: str) -> RejectedError:
    """The error for a stream that ends before the place where it is to be read on."""
    message = f"`{name}` is shorter than what this run has read of it"
    way_out = "restore the file, or start again with another `--checkpoint`"
    return RejectedError([Diagnostic("E408", message, help=way_out)])
