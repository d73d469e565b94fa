"""From blocks of bytes to events: which format a stream has, and the reader of each format."""

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from time import time
from typing import Final, Literal, Protocol, runtime_checkable

from thalweg.connectors.batches import Item
from thalweg.connectors.documents import JsonLdReader, TrigReader
from thalweg.connectors.files import FILE_BLOCK, PathTransport, open_for_reading
from thalweg.connectors.json_lines import JsonLinesReader
from thalweg.connectors.lines import LineReader, State
from thalweg.connectors.mapping.dialect import UNSTATED
from thalweg.connectors.mapping.mapped_arrow import MappedArrowReader
from thalweg.connectors.mapping.mapped_csv import MappedCsvReader
from thalweg.connectors.mapping.mapped_json import MappedJsonReader
from thalweg.connectors.mapping.mapped_rows import MappedStream
from thalweg.connectors.mapping.tally import Tally
from thalweg.connectors.nquads import QuadReader, is_quad
from thalweg.connectors.ntriples import TripleReader
from thalweg.connectors.partitions import Partition
from thalweg.connectors.replay import ReplayTransport
from thalweg.connectors.tabular import ArrowReader, StatedRows
from thalweg.connectors.transport import Transport
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.languages.lars.facts import FactReader
from thalweg.languages.owl.formats import FORMATS
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.time import Clock

ENDINGS: Final = {
    ".facts": "facts", ".jsonl": "json", ".ndjson": "json", ".json": "json",
    ".tnt": "triples", ".nq": "quads", ".trig": "trig", ".jsonld": "jsonld", ".csv": "csv", ".parquet": "parquet",
}  # fmt: skip

# Those of them that carry RDF with times.
TIMED: Final = (".tnt", ".nq", ".trig", ".jsonld", ".jsonl")

# How a stream begins of which only the content says the format. Comments of RDF and declarations may stand before.
_BEFORE: Final = re.compile(r"(?:\s+|#[^\n]*\n|@prefix\s+[\w-]*:\s*<[^<>\s]*>\s*\.)*")
_TOO_SHORT: Final = re.compile(r'(?:#[^\n]*|@[a-z]*|@prefix\s[^<]*(?:<[^>]*(?:>\s*)?)?|\{\s*"?|\[\s*)?\Z')
_BEGINNINGS: Final = {
    "jsonld": re.compile(r'\{\s*"@|\[\s*\{'),
    "json": re.compile(r"\{"),
    "triples": re.compile(r'[0-9"]'),
    "facts": re.compile(r"(?:<[^<>\s]*>|(?:[\w-]*:)?\w+)\s*(?:\(|at\s)|[%/]"),
    "trig": re.compile(r"\[|@base\b|(?:PREFIX|BASE|GRAPH)\s|(?:<[^<>\s]*>|_:\S+)\s*\{", re.IGNORECASE),
}
_ORDER: Final = "order"
_NAMES_STREAM: Final = b'"stream"'
_STATEMENT: Final = re.compile(r"[\w-]*:|<")


# Formats with many documents in a stream, each with blank nodes of its own.
_OF_DOCUMENTS: Final = frozenset({"json", "jsonld"})

_Context = tuple[Dictionary, str, str | None, Clock, str]


class Reader(Protocol):
    """Takes blocks, gives events and what is wrong, in the order in which they are written."""

    def feed(self, block: bytes) -> Iterator[Item]:
        """Yields the items that are complete; an incomplete line waits for the next block."""

    def finish(self) -> Iterator[Item]:
        """The last line may have no end."""

    def save(self) -> State | None:
        """The state to resume from behind the blocks so far; None where these must be read again."""

    def load(self, saved: State) -> None:
        """Goes on where another reader was saved."""


@runtime_checkable
class Ahead(Protocol):
    """A reader that codes more at once than it hands over."""

    def waiting(self) -> Iterator[Batch]:
        """The batches that have been coded, and may not have been taken."""


def format_of(name: str) -> str | None:
    """The format that a name's ending says, looking through `.gz`; None where only the content can say.

    A document of RDF without times is not a stream, and is refused.

    >>> format_of("readings.facts.gz"), format_of("tcp://localhost:9000")
    ('facts', None)
    """
    ending = PurePath(name.removesuffix(".gz")).suffix
    if ending in ENDINGS or "://" in name:
        return ENDINGS.get(ending)
    if ending.lower() in FORMATS:
        message = f"`{name}` is not a stream: {ending} files have no times"
        help = f"use `--background {name}`, or a format with times: {' '.join(TIMED)}"
        raise RejectedError([Diagnostic("E402", message, help=help)])
    return None


def names_streams(transport: Transport) -> bool:
    """Whether what is recorded may say that it is of another stream; JSON Lines are looked through for the key."""
    format = format_of(transport.name)
    transport = transport.inner if isinstance(transport, ReplayTransport) else transport
    if format != "json" or not isinstance(transport, PathTransport):
        return format in (None, "json")
    file, tail = open_for_reading(transport.path), b""
    try:
        while block := file.read(FILE_BLOCK):
            if _NAMES_STREAM in tail + block:
                return True
            tail = block[-len(_NAMES_STREAM) :]
        return False
    finally:
        file.close()


def scope_of(name: str, stream: str | None) -> str:
    """The scope of a document's blank nodes, which no other shares: its path, as written but without endings.

    >>> scope_of("north.nq", "north"), scope_of("city/north.nq.gz", "city"), scope_of("tcp://host:9000", "host")
    ('north', 'city/north', 'host')
    """
    path = PurePath(name)
    if "://" in name or not path.suffix:
        return stream or ""
    return str(path.with_name(path.name.partition(".")[0]))


class FactLinesReader(LineReader):
    """Reads a stream of facts.

    >>> reader = FactLinesReader(Dictionary(), "in.facts", "in", Clock())
    >>> [(tick, batch.order) for tick, batch in reader.feed(b"p at 3. q at 3.\\np at 4")]
    [(3, ['p/0', 'q/0'])]
    """

    def __init__(
        self,
        words: Dictionary,
        name: str,
        stream: str | None,
        clock: Clock,
        scope: str = "",
        arrival: Callable[[], int] | None = None,
    ) -> None:
        """`arrival` says when facts have come that state no time, in milliseconds since 1970; else these are wrong."""
        super().__init__(words, name, stream, clock, scope)
        self._facts = FactReader(name, words, clock, stream, arrival)

    @property
    def prefixes(self) -> dict[str, str]:
        """The prefixes that have been declared so far."""
        return self._facts.prefixes

    def _read(self, text: str) -> Iterator[Item]:
        yield from self._facts.feed(text)
        self._line += text.count("\n")

    def save(self) -> State:
        return {**super().save(), "facts": self._facts.save()}

    def load(self, saved: State) -> None:
        super().load(saved)
        self._facts.load(saved["facts"])

    def _remaining(self) -> Iterator[Item]:
        return self._facts.close()


class SniffingReader:
    """Decides by how a stream begins, which `format_by_content` does; where mappings serve it, it may be a table."""

    def __init__(self, context: _Context, mapped: MappedStream, piece: str) -> None:
        self._context = context
        self._piece = piece
        self._mapped = mapped
        self._begun = b""
        self._format = ""
        self._reader: Reader | None = None

    def feed(self, block: bytes) -> Iterator[Item]:
        reader = self._reader
        if reader is None:
            self._begun += block
            format = self._decided(self._begun)
            if format is None:
                return
            reader, block = self._open(format), self._begun
        yield from reader.feed(block)

    def finish(self) -> Iterator[Item]:
        if self._reader is None and self._begun.strip():
            reader = self._open(self._decided(self._begun + b"\n") or "facts")
            yield from reader.feed(self._begun)
        if self._reader is not None:
            yield from self._reader.finish()

    def save(self) -> State | None:
        if self._reader is None:
            return {"begun": self._begun.decode("latin-1")}
        inner = self._reader.save()
        return None if inner is None else {"format": self._format, "reader": inner}

    def load(self, saved: State) -> None:
        if "format" in saved:
            self._open(saved["format"]).load(saved["reader"])
        else:
            self._begun = saved["begun"].encode("latin-1")

    def waiting(self) -> Iterator[Batch]:
        return self._reader.waiting() if isinstance(self._reader, Ahead) else iter(())

    def _decided(self, begun: bytes) -> str | None:
        return format_of_mapped(begun, self._mapped) if self._mapped.is_served else format_by_content(begun)

    def _open(self, format: str) -> Reader:
        self._format = format
        self._reader = reader = _opened(format, self._context, self._mapped, self._piece)
        return reader


_READERS: Final[Mapping[str, Callable[[Dictionary, str, str | None, Clock, str], Reader]]] = {
    "facts": FactLinesReader,
    "json": JsonLinesReader,
    "triples": TripleReader,
    "quads": QuadReader,
    "trig": TrigReader,
    "jsonld": JsonLdReader,
    "parquet": ArrowReader,
}


def open_reader(
    name: str,
    stream: str | None,
    words: Dictionary,
    clock: Clock,
    tally: Tally | None = None,
    kind: Literal["recorded", "live", "background"] = "recorded",
    format: str | None = None,
    partition: Partition | None = None,
    now: Callable[[], float] = time,
    piece: str = "",
) -> Reader:
    """The reader for a stream, by its name, or for a `format`; mappings make facts of what states none by itself.

    They may name the columns of its `partition`, too. `now` says when what is read of a live stream has come. The
    documents of a `piece` of a stream, which is read by itself, are others than those of all other pieces.
    """
    context = words, name, stream, clock, scope_of(name, stream)
    mapped = MappedStream(words, name, stream, clock, tally or Tally(), kind, partition=partition or {}, now=now)
    format = format or format_of(name)
    return SniffingReader(context, mapped, piece) if format is None else _opened(format, context, mapped, piece)


class OrderedReader:
    """A reader of one file or partition, whose local times go by their order: what is saved says how far that is."""

    def __init__(self, reader: Reader, clock: Clock) -> None:
        self._reader = reader
        self._clock = clock

    def feed(self, block: bytes) -> Iterator[Item]:
        return self._reader.feed(block)

    def finish(self) -> Iterator[Item]:
        return self._reader.finish()

    def save(self) -> State | None:
        saved, order = self._reader.save(), self._clock.save()
        return {**saved, _ORDER: order} if saved is not None and order else saved

    def load(self, saved: State) -> None:
        self._reader.load(saved)
        self._clock.load(saved.get(_ORDER, {}))

    def waiting(self) -> Iterator[Batch]:
        return self._reader.waiting() if isinstance(self._reader, Ahead) else iter(())


def open_ordered(
    name: str,
    stream: str | None,
    words: Dictionary,
    clock: Clock,
    tally: Tally | None = None,
    kind: Literal["recorded", "live"] = "recorded",
    format: str | None = None,
    partition: Partition | None = None,
    now: Callable[[], float] = time,
    piece: str = "",
) -> Reader:
    """The reader for a file, or a stream that is not made of files; local times are in the zone of the stream."""
    tally = tally or Tally()
    own = clock.of_file(tally.zones.get(stream or ""))
    reader = open_reader(name, stream, words, own, tally, kind, format, partition, now, piece)
    zoned = own.zone is not None or any(mapping.time is not None and mapping.time.zone for mapping in tally.mappings)
    return OrderedReader(reader, own) if zoned else reader


def _opened(format: str, context: "_Context", mapped: MappedStream, piece: str) -> Reader:
    if format == "csv":
        return MappedCsvReader(mapped, StatedRows(*context))
    if piece and format in _OF_DOCUMENTS:
        words, name, stream, clock, scope = context
        context = words, name, stream, clock, f"{scope}:{piece}"
    reader = _READERS[format](*context)
    # A document of JSON is not made of lines, so it is read as messages are, mapped or not.
    needed = mapped.kind == "background" or is_json_document(mapped.name)
    if not (mapped.mappings or needed):
        return reader
    match reader:
        case ArrowReader():
            return MappedArrowReader(mapped, reader)
        case JsonLinesReader():
            return MappedJsonReader(mapped, reader)
    return reader


def is_json_document(name: str) -> bool:
    """Whether a file is a document of JSON, which is not made of lines.

    >>> is_json_document("readings.json.gz"), is_json_document("readings.jsonl")
    (True, False)
    """
    return name.removesuffix(".gz").endswith(".json")


def format_of_mapped(begun: bytes, mapped: MappedStream) -> str | None:
    """The format of what mappings serve: JSON also where it begins as JSON-LD does, and a table by its header.

    What is said of how a table is written says that it is one. Live messages are JSON, unless what has come is without
    error in another format: one that is malformed costs only itself, also as the first.
    """
    if mapped.stated != UNSTATED:
        return "csv"
    format = format_by_content(begun)
    if format == "jsonld" and b'"@' not in begun:
        return "json"
    line, ended, _ = begun.removeprefix(BOM_UTF8).partition(b"\n")
    if format in (None, "facts", "trig", "triples") and ended:
        names = {name.strip() for name in re.split("[,;\t|]", line.decode(errors="replace").replace('"', ""))}
        if any(mapping.paths and all(path.whole in names for path in mapping.paths) for mapping in mapped.mappings):
            return "csv"
    if ended and mapped.kind == "live" and format not in (None, "json", "jsonld") and not _reads(format, begun, mapped):
        return "json"
    return format if ended or format == "json" else None


def _reads(format: str, begun: bytes, mapped: MappedStream) -> bool:
    """Whether the lines with which a stream begins are events in a format."""
    reader = _READERS[format](Dictionary(), mapped.name, mapped.stream, Clock(), "")
    items = [*reader.feed(begun[: begun.rfind(b"\n") + 1]), *reader.finish()]
    return bool(items) and not any(isinstance(item, Diagnostic) for item in items)


def format_by_content(begun: bytes) -> str | None:
    """The format of a stream by its beginning; None where more of it must be seen.

    `{` begins JSON Lines, or JSON-LD where the first key begins with `@`; a digit timestamped N-Triples; an IRI or a
    blank node N-Quads, if the whole line is a quad, or else TriG; declarations TriG, unless a fact follows. Anything
    else is facts.

    >>> format_by_content(b'{"t": 3'), format_by_content(b"36 <s"), format_by_content(b"<s> <p> <o> <e> .\\n")
    ('json', 'triples', 'quads')
    """
    text = begun.removeprefix(BOM_UTF8).decode(errors="replace")
    text = text[len(_BEFORE.match(text)[0]) :]  # type: ignore[index]
    if _TOO_SHORT.match(text):
        return None
    for format, begins in _BEGINNINGS.items():
        if begins.match(text):
            return format
    line, ended, _ = text.partition("\n")
    if not ended:
        return None
    if is_quad(line):
        return "quads"
    return "trig" if _STATEMENT.match(line) else "facts"
