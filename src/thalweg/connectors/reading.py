"""From blocks of bytes to events: which format it is, and who reads it."""

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import PurePath
from typing import Final, Protocol

from thalweg.connectors.documents import JsonLdReader, TrigReader
from thalweg.connectors.json_lines import JsonLinesReader, malformed
from thalweg.connectors.quads import QuadReader, is_quad
from thalweg.connectors.tables import ArrowReader, CsvReader
from thalweg.connectors.triples import TripleReader
from thalweg.diagnostics import Diagnostic, Rejected
from thalweg.languages.lars.facts import FactReader
from thalweg.languages.owl.formats import FORMATS
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.time import Clock

ENDINGS: Final = {
    ".facts": "facts", ".jsonl": "json", ".ndjson": "json",
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
_STATEMENT: Final = re.compile(r"[\w-]*:|<")


class Reader(Protocol):
    """Takes blocks, gives events and what is wrong, in the order in which they are written."""

    def feed(self, block: bytes) -> Iterator[tuple[int, Batch] | Diagnostic]:
        """What can be read so far; the rest of a line waits for the next block."""

    def finish(self) -> Iterator[tuple[int, Batch] | Diagnostic]:
        """The last line may have no end."""


def format_of(name: str) -> str | None:
    """The format that a name's ending says, looking through `.gz`; None where only the content can say.

    A document of RDF that has no times is no stream, and is refused.

    >>> format_of("readings.facts.gz"), format_of("tcp://localhost:9000")
    ('facts', None)
    """
    ending = PurePath(name.removesuffix(".gz")).suffix
    if ending in ENDINGS or "://" in name:
        return ENDINGS.get(ending)
    if ending.lower() in FORMATS:
        message = f"`{name}` is not a stream: {ending} files have no times"
        help = f"use `--background {name}`, or a format with times: {' '.join(TIMED)}"
        raise Rejected([Diagnostic("E402", message, help=help)])
    return None


def scope_of(name: str, stream: str | None) -> str:
    """What tells the blank nodes of a document from those of others: the path, as written but without endings.

    >>> scope_of("north.nq", "north"), scope_of("city/north.nq.gz", "city"), scope_of("tcp://host:9000", "host")
    ('north', 'city/north', 'host')
    """
    path = PurePath(name)
    if "://" in name or not path.suffix:
        return stream or ""
    return str(path.with_name(path.name.partition(".")[0]))


def open_reader(name: str, stream: str | None, words: Dictionary, clock: Clock) -> Reader:
    """The reader for a stream, by its name."""
    format = format_of(name)
    return SniffingReader(words, name, stream, clock) if format is None else _reader(format, words, name, stream, clock)


def _reader(format: str, words: Dictionary, name: str, stream: str | None, clock: Clock) -> Reader:
    scope = scope_of(name, stream)
    match format:
        case "json":
            return JsonLinesReader(words, name, stream, clock, scope)
        case "triples":
            return TextReader(TripleReader(words, name, stream, clock, scope))
        case "quads":
            return TextReader(QuadReader(words, name, stream, clock, scope))
        case "trig":
            return TrigReader(words, name, stream, clock, scope)
        case "jsonld":
            return JsonLdReader(words, name, stream, clock, scope)
        case "csv":
            return TextReader(CsvReader(words, name, stream, clock))
        case "parquet":
            return ArrowReader(words, name, stream, clock)
    return FactLinesReader(words, name, stream, clock)


class LinesReader(Protocol):
    """A reader of text."""

    name: str

    def feed(self, text: str, /) -> Iterator[tuple[int, Batch] | Diagnostic]:
        """Takes whole lines; only the last line of all may have no end."""

    def close(self) -> Iterator[tuple[int, Batch] | Diagnostic]:
        """What can be said only at the end."""


class TextReader:
    """Hands whole lines of text to a reader of lines; a line that is no text is told and left out.

    >>> reader = TextReader(FactReader("in.facts", Dictionary()))
    >>> [(tick, batch.order) for tick, batch in reader.feed(b"p at 3. q at 3.\\np at 4")]
    [(3, ['p/0', 'q/0'])]
    """

    def __init__(self, reader: LinesReader) -> None:
        self._reader = reader
        self._rest = b""
        self._line = 1

    def feed(self, block: bytes) -> Iterator[tuple[int, Batch] | Diagnostic]:
        lines = self._rest + block
        end = lines.rfind(b"\n") + 1
        self._rest = lines[end:]
        return self._decoded(lines[:end])

    def finish(self) -> Iterator[tuple[int, Batch] | Diagnostic]:
        yield from self._decoded(self._rest)
        yield from self._reader.close()

    def _decoded(self, lines: bytes) -> Iterator[tuple[int, Batch] | Diagnostic]:
        if self._line == 1:
            lines = lines.removeprefix(BOM_UTF8)
        while lines:
            try:
                text, lines = lines.decode(), b""
            except UnicodeDecodeError as error:
                start, end = lines.rfind(b"\n", 0, error.start) + 1, lines.find(b"\n", error.start)
                yield from self._lines(lines[:start].decode())
                line = lines[start : end if end >= 0 else len(lines)]
                yield malformed(self._reader.name, self._line, line, "this is not UTF-8", error.start - start)
                # The line break stays, so that lines are counted as they are written.
                text, lines = "\n", lines[end + 1 :] if end >= 0 else b""
            yield from self._lines(text)

    def _lines(self, text: str) -> Iterator[tuple[int, Batch] | Diagnostic]:
        yield from self._reader.feed(text)
        self._line += text.count("\n")


class FactLinesReader(TextReader):
    """Reads a stream of facts.

    >>> reader = FactLinesReader(Dictionary(), "in.facts", "in", Clock())
    >>> [(tick, batch.order) for tick, batch in reader.feed(b"p at 3. q at 3.\\np at 4")]
    [(3, ['p/0', 'q/0'])]
    """

    def __init__(self, words: Dictionary, name: str, stream: str | None, clock: Clock) -> None:
        super().__init__(FactReader(name, words, clock, stream))


class SniffingReader:
    """Decides by how a stream begins, which `format_by_content` does."""

    def __init__(self, words: Dictionary, name: str, stream: str | None, clock: Clock) -> None:
        self._makings = words, name, stream, clock
        self._begun = b""
        self._reader: Reader | None = None

    def feed(self, block: bytes) -> Iterator[tuple[int, Batch] | Diagnostic]:
        if self._reader is None:
            self._begun += block
            format = format_by_content(self._begun)
            if format is None:
                return
            self._reader = _reader(format, *self._makings)
            block = self._begun
        yield from self._reader.feed(block)

    def finish(self) -> Iterator[tuple[int, Batch] | Diagnostic]:
        if self._reader is None and self._begun.strip():
            self._reader = _reader(format_by_content(self._begun + b"\n") or "facts", *self._makings)
            yield from self._reader.feed(self._begun)
        if self._reader is not None:
            yield from self._reader.finish()


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
