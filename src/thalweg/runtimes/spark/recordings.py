"""Recorded streams of a run on Spark: files are cut into blocks, which tasks read.

    readings.csv, 80 MB    blocks of some MB, each from one line end to another
    readings.parquet       blocks of row groups
    events.nq              one block, because an event may go on anywhere in the file

A file is cut where each line stands for itself, and the reader needs nothing of those before it but their number: facts
with one statement or more on each line, JSON Lines, timestamped N-Triples, and CSV without quotes in one encoding.
What a reader has found out from the beginning of a file, such as the header of a table, goes with each block.
Compressed files, documents of RDF, and tables whose local times go by their order are read as a whole; and so are facts
and N-Triples where it matters which of them are one event, because that is known behind it only.

The offsets of the query say how far each stream has been read. All streams go on together, each by the same share of
its size, so that recordings of the same hours wait for each other as little as possible.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from thalweg.connectors.files import (
    FILE_BLOCK,
    FileTransport,
    FolderTransport,
    Location,
    PathTransport,
    open_for_reading,
    read_beginning,
    size_of,
)
from thalweg.connectors.lines import State
from thalweg.connectors.mapping.dialect import UNSTATED, StatedDialect
from thalweg.connectors.mapping.mapping import Mapping
from thalweg.connectors.mapping.table_text import mixes_encodings
from thalweg.connectors.mapping.tally import Tally
from thalweg.connectors.partitions import Partition, partitions_of
from thalweg.connectors.readers import OrderedReader, Reader, format_of, open_ordered
from thalweg.connectors.storage import StoredFile, is_stored, open_storage
from thalweg.connectors.tabular import ParquetTransport
from thalweg.connectors.transport import Transport
from thalweg.connectors.whole_events import WHOLE
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.dictionary import Dictionary
from thalweg.model.records import record
from thalweg.model.shipped import Shipped
from thalweg.model.time import Clock, Notation

if TYPE_CHECKING:
    from datetime import tzinfo

    # With the kinds comes the compiler of the engine, which a process that only plans batches can do without.
    from thalweg.kinds.part import Scout

# Bytes at the beginning of a file that say what its reader must know.
_BEGINNING: Final = 256 << 10
# What makes lines of a format depend on others, where it stands behind the beginning.
_BINDING: Final = {"facts": (b"/*", b"prefix"), "csv": (b'"',)}
# Bytes that are read in about the time in which a file is opened.
_OPENING: Final = 64 << 10
# Encodings that are not known behind the beginning of a table: the first lines that are not plain ASCII say how all are
# read, with those that come in the same block.
_OPEN: Final = ("", "cp1252")
_CUT: Final = frozenset({"facts", "json", "triples", "csv", "parquet"})


@dataclass(frozen=True, slots=True)
class BatchSizes:
    """How many bytes a batch takes: at first, so that the first answers come soon, at least and at most.

    A `block` of a batch has at least as many bytes as are worth a task.
    """

    first: int = 2 << 20
    least: int = 64 << 10
    most: int = 128 << 20
    block: int = 512 << 10


SIZES: Final = BatchSizes()


@dataclass(frozen=True)
class ReadingOptions(Shipped):
    """How streams are read: times, mappings, and what is looked at on the way."""

    clock: Clock
    mappings: tuple[Mapping, ...] = ()
    stated: dict[str, StatedDialect] = field(default_factory=dict)
    zones: "dict[str, tzinfo]" = field(default_factory=dict)
    observed: int = 0
    """How many of the first facts the driver wants to see."""
    scout: "Scout | None" = None
    """What looks at facts where they are read."""

    def tally(self) -> Tally:
        """Counts what becomes of the mappings."""
        return Tally(self.mappings, self.stated, self.zones)

    def own_clock(self) -> Clock:
        """A clock that notes by itself how times are written; what the options say of that is known."""
        notation = self.clock.notation
        return replace(self.clock, notation=Notation(notation.stamped, notation.bare))


@record
@dataclass(frozen=True)
class RecordedFile:
    """A file of a recorded stream: its name as the user wrote it, where it is, and how many bytes it has.

    `uri` is its path, or the URI of the storage that has it under the name `way`, which is the way to it in a folder.
    `begun` is the state of a reader, as JSON, behind the beginning of a file that is cut, which has `lines` line
    breaks and `beginning` bytes; it is not cut before that. A table of Parquet has `groups` of rows, each with the
    number of rows before it, and none where it is read as a whole.
    """

    name: str
    uri: str
    way: str
    size: int
    begun: str | None = None
    lines: int = 0
    beginning: int = 0
    groups: tuple[int, ...] | None = None

    @property
    def location(self) -> Location:
        """The file, to be opened; on a machine of its own, too."""
        return StoredFile(open_storage(self.uri), self.way) if is_stored(self.uri) else Path(self.uri)

    @property
    def length(self) -> int:
        """In how many steps it can be read at most: bytes, groups of rows, or one."""
        if self.groups is not None:
            return max(1, len(self.groups))
        return max(1, self.size) if self.begun is not None else 1

    def steps(self, size: int) -> int:
        """How many steps have about as many bytes, at least one."""
        return max(1, size * self.length // max(1, self.size))

    def behind(self, step: int, size: int) -> int:
        """The step at which a block may end that begins at another one and has about as many bytes."""
        return min(self.length, max(self.beginning, step + self.steps(size)))


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """How far a stream has been read: up to a step in one of its files."""

    file: int = 0
    step: int = 0


@record
@dataclass(frozen=True)
class RecordedSource(Shipped):
    """A recorded stream: its number among the groups of streams, its name, and its files in the order of reading."""

    group: int
    stream: str
    files: tuple[RecordedFile, ...]
    wanted: tuple[str, ...] = ()
    """The columns of tables that mappings name."""

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    @cached_property
    def partitions(self) -> list[Partition]:
        """The columns that folders on the way to each file name."""
        return partitions_of(file.way for file in self.files)

    def open(self, number: int, reading: ReadingOptions, words: Dictionary, clock: Clock, tally: Tally) -> Reader:
        """The reader of a file."""
        name, partition = self.files[number].name, self.partitions[number]
        return open_ordered(name, self.stream, words, clock, tally, partition=partition)

    @property
    def end(self) -> Position:
        return Position(len(self.files))

    def behind(self, position: Position, size: int) -> Position:
        """The position some bytes further on, which is at least one step, or at the end."""
        file, step = position.file, position.step
        while file < len(self.files):
            current = self.files[file]
            end = current.behind(step, size)
            size -= (end - step) * current.size // current.length
            file, step = (file + 1, 0) if end == current.length else (file, end)
            if size <= 0:
                break
        return Position(file, step)

    def blocks(self, start: Position, end: Position, size: int) -> Iterator["Block"]:
        """What is between two positions, in blocks of about as many bytes."""
        while start < end:
            file = self.files[start.file]
            last = min(file.behind(start.step, size), end.step if start.file == end.file else file.length)
            behind = Position(start.file + 1) if last == file.length else Position(start.file, last)
            yield Block(self.group, start.file, start.step, last, ended=behind == self.end)
            start = behind


@dataclass(frozen=True, slots=True)
class Block:
    """The steps of a file that one task reads; with `ended` the stream ends behind it."""

    group: int
    file: int
    start: int
    end: int
    ended: bool


# How files are cut ----------------------------------------------------------------------------------------------------


def is_recorded(transport: Transport) -> bool:
    """Whether a stream is made of files, which tasks can read."""
    return isinstance(transport, FileTransport | FolderTransport | ParquetTransport)


def recordings(
    transports: Sequence[Transport], reading: ReadingOptions, whole_events: bool = False
) -> tuple[RecordedSource, ...]:
    """The streams with their files, cut where that is possible; `RejectedError` where one cannot be read.

    With `whole_events` none may be cut.
    """
    wanted = tuple(sorted(reading.tally().columns))
    streams = (
        RecordedSource(group, transport.stream, tuple(_files(transport)), wanted)
        for group, transport in enumerate(transports)
    )
    return tuple(_cut(stream, reading, _CUT - WHOLE if whole_events else _CUT) for stream in streams)


def _files(transport: Transport) -> Iterator[RecordedFile]:
    assert isinstance(transport, PathTransport)
    if not isinstance(transport, FolderTransport):
        yield _file(transport, transport.path.name)
        return
    names = _ways(transport)
    for part, name in zip(transport.parts(), names, strict=True):
        assert isinstance(part, PathTransport)
        try:
            yield _file(part, name)
        finally:
            part.close()


def _ways(folder: FolderTransport) -> list[str]:
    """The ways to the files of a folder."""
    root = folder.path
    return [
        file.path if isinstance(file, StoredFile) else file.relative_to(str(root)).as_posix() for file in folder.files
    ]


def _file(transport: PathTransport, way: str) -> RecordedFile:
    path = transport.path
    uri, way = (path.storage.uri, path.path) if isinstance(path, StoredFile) else (str(path.absolute()), way)
    groups = transport.rows_before_groups() if isinstance(transport, ParquetTransport) else None
    return RecordedFile(transport.name, uri, way, size_of(path), groups=groups)


def check_first(sources: Iterable[RecordedSource], reading: ReadingOptions) -> None:
    """`RejectedError` where the first file of a stream is a table that begins with what holds no fact.

    So it is said at once that no mapping fits, and not when Spark has started.
    """
    for source in sources:
        wrong = _first_of(source, reading)
        if isinstance(wrong, Diagnostic):
            raise RejectedError([wrong])


def _first_of(source: RecordedSource, reading: ReadingOptions) -> object:
    """What a reader gives first of the first file of a stream, where that is a table of text."""
    if not source.files or format_of(source.files[0].name) != "csv":
        return None
    beginning = read_beginning(source.files[0].location, _BEGINNING)
    reader = source.open(0, reading, Dictionary(), reading.own_clock(), reading.tally())
    # A reader may wait for more rows to find out how they are written; of a long file, there are enough of them.
    items = [*reader.feed(beginning)]
    if len(beginning) < _BEGINNING:
        items += reader.finish()
    return items[0] if items else None


def grown(
    sources: Iterable[RecordedSource], transports: Sequence[Transport], start: Sequence[Position]
) -> Iterator[Diagnostic]:
    """Warnings about recordings that have grown since they were cut, of which what was added is not read.

    A run that goes on has read them up to `start`. What is read as a whole, and was not yet, is read as it is now.
    """
    for source, transport, position in zip(sources, transports, start, strict=True):
        for number, file in enumerate(source.files):
            is_fixed = file.length > 1 or number < position.file
            if is_fixed and (more := size_of(file.location) - file.size) > 0:
                yield _grown(file.name, f"{more:,} bytes" if more > 1 else "1 byte")
        if isinstance(transport, FolderTransport) and (files := len(transport.files) - len(source.files)) > 0:
            yield _grown(transport.name, f"{files:,} files" if files > 1 else "1 file")


def _grown(name: str, what: str) -> Diagnostic:
    message = f"`{name}` has {what} more than when the run began: what was added is not read"
    way_out = "read that with a run of its own, or all of it with a new checkpoint and another output"
    return Diagnostic("W418", message, help=way_out)


def _cut(stream: RecordedSource, reading: ReadingOptions, formats: frozenset[str]) -> RecordedSource:
    """A stream with what each of its files needs in order to be cut, if it has one of some formats."""
    files = (_cut_file(stream, number, reading, formats) for number in range(len(stream.files)))
    return replace(stream, files=tuple(files))


def _cut_file(stream: RecordedSource, number: int, reading: ReadingOptions, formats: frozenset[str]) -> RecordedFile:
    file = stream.files[number]
    format = format_of(file.name)
    reader = stream.open(number, reading, Dictionary(), reading.own_clock(), reading.tally())
    if isinstance(reader, OrderedReader) or format not in formats:
        # Local times go by their order in the file.
        return replace(file, groups=None if file.groups is None else ())
    if file.groups is not None or file.name.endswith((".gz", ".json")) or file.size < 2 * SIZES.block:
        return file
    location = file.location
    beginning = read_beginning(location, _BEGINNING)
    beginning = beginning[: beginning.rfind(b"\n") + 1]
    if any(_has(location, sign, len(beginning)) for sign in _BINDING.get(format, ())):
        return file
    state = _behind(beginning, reader)
    if state is None:
        return file
    is_stated = reading.stated.get(stream.stream, UNSTATED).encoding is not None
    if not is_stated and state.get("text", {}).get("encoding") in _OPEN and mixes_encodings(_lines(location)):
        return file
    return replace(file, begun=json.dumps(state), lines=beginning.count(b"\n"), beginning=len(beginning))


def _has(location: Location, sign: bytes, start: int) -> bool:
    """Whether a sign stands in a file behind its first bytes."""
    before = b""
    file = open_for_reading(location)
    try:
        file.seek(start)
        while block := file.read(FILE_BLOCK):
            if sign in before + block:
                return True
            before = block[-len(sign) :]
    finally:
        file.close()
    return False


def _lines(location: Location) -> Iterator[bytes]:
    """The whole lines of a file, many at a time."""
    begun = b""
    file = open_for_reading(location)
    try:
        while block := file.read(FILE_BLOCK):
            lines, end, begun = (begun + block).rpartition(b"\n")
            yield lines + end
    finally:
        file.close()
    yield begun


def _behind(beginning: bytes, reader: Reader) -> State | None:
    """The state of a reader behind the first lines; None where those after them depend on more than that."""
    if not beginning or any(isinstance(item, Diagnostic) for item in reader.feed(beginning)):
        return None
    state = reader.save()
    if state is None or state.get("rest") or state.get("facts", {}).get("pending", "").strip():
        return None
    if state.get("text", {}).get("encoding", "").startswith("utf-16"):
        # The byte of a line break is also a half of other signs.
        return None
    return state


# Offsets --------------------------------------------------------------------------------------------------------------


def offset_of(positions: Iterable[Position]) -> dict[str, str]:
    """Positions as Spark keeps them.

    >>> offset_of([Position(0, 512), Position(2)])
    {'0': '0:512', '1': '2:0'}
    """
    return {str(group): f"{position.file}:{position.step}" for group, position in enumerate(positions)}


def positions_of(offset: dict[str, str]) -> list[Position]:
    """The inverse of `offset_of`; an offset may say more.

    >>> positions_of({"1": "2:0", "0": "0:512"})
    [Position(file=0, step=512), Position(file=2, step=0)]
    """
    groups = sorted(filter(str.isdigit, offset), key=int)
    return [Position(*map(int, offset[group].split(":"))) for group in groups]


class Offsets:
    """How far batches read, and what their tasks read."""

    def __init__(self, streams: Sequence[RecordedSource], sizes: BatchSizes) -> None:
        self._streams = streams
        self._block = sizes.block

    def first(self) -> list[Position]:
        """Before anything was read."""
        return [Position() for _ in self._streams]

    def last(self) -> list[Position]:
        """Behind everything."""
        return [stream.end for stream in self._streams]

    def next(self, start: Sequence[Position], size: int) -> list[Position]:
        """The positions at which the batch ends that begins at others, and takes about as many bytes."""
        pairs = [*zip(self._streams, start, strict=True)]
        left = sum(stream.size for stream, position in pairs if position < stream.end)
        share = min(1.0, size / max(1, left))
        return [stream.behind(position, int(stream.size * share)) for stream, position in pairs]

    def blocks(self, start: Sequence[Position], end: Sequence[Position], tasks: int) -> list[tuple[Block, ...]]:
        """What a batch reads, in about as many parts as there are tasks that can run at once; files may share one."""
        spans = [*zip(self._streams, start, end, strict=True)]
        size = max(self._block, -(-sum(_bytes(*span) for span in spans) // max(1, tasks)))
        blocks = [(stream, part) for stream, begin, last in spans for part in stream.blocks(begin, last, size)]
        work = [_work(stream, block) for stream, block in blocks]
        most = max(self._block, -(-sum(work) // max(1, tasks)))
        parts: list[list[Block]] = []
        left = 0
        for (_, block), needed in zip(blocks, work, strict=True):
            if needed > left:
                parts.append([])
                left = most
            parts[-1].append(block)
            left -= needed
        return [*map(tuple, parts)]


def _work(stream: RecordedSource, block: Block) -> int:
    """The work on a block in bytes: about as many as it has, and those that could be read while a file is opened."""
    file = stream.files[block.file]
    return (block.end - block.start) * file.size // file.length + _OPENING


def _bytes(stream: RecordedSource, start: Position, end: Position) -> int:
    """About how many bytes are between two positions."""
    total = 0
    for number, file in enumerate(stream.files):
        first = start.step if number == start.file else 0 if number > start.file else file.length
        last = end.step if number == end.file else file.length if number < end.file else 0
        total += max(0, last - first) * file.size // file.length
    return total
