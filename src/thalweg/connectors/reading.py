"""From blocks of bytes to events: which format it is, and who reads it."""

from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import PurePath
from typing import Final, Protocol

from thalweg.connectors.json_lines import JsonLinesReader, malformed
from thalweg.connectors.quads import QuadReader
from thalweg.connectors.tables import ArrowReader, CsvReader
from thalweg.connectors.triples import TripleReader
from thalweg.diagnostics import Diagnostic
from thalweg.languages.lars.facts import FactReader
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.time import Clock

ENDINGS: Final = {
    ".facts": "facts", ".jsonl": "json", ".ndjson": "json",
    ".tnt": "triples", ".nq": "quads", ".csv": "csv", ".parquet": "parquet",
}  # fmt: skip


class Reader(Protocol):
    """Takes blocks, gives events and what is wrong, in the order in which they are written."""

    def feed(self, block: bytes) -> Iterator[tuple[int, Batch] | Diagnostic]:
        """What can be read so far; the rest of a line waits for the next block."""

    def finish(self) -> Iterator[tuple[int, Batch] | Diagnostic]:
        """The last line may have no end."""


def format_of(name: str) -> str | None:
    """The format that a name's ending says, looking through `.gz`; None where only the content can say.

    >>> format_of("readings.facts.gz"), format_of("tcp://localhost:9000")
    ('facts', None)
    """
    return ENDINGS.get(PurePath(name.removesuffix(".gz")).suffix)


def open_reader(name: str, stream: str | None, words: Dictionary, clock: Clock) -> Reader:
    """The reader for a stream, by its name."""
    match format_of(name):
        case "facts":
            return FactLinesReader(words, name, stream, clock)
        case "json":
            return JsonLinesReader(words, name, stream, clock)
        case "triples":
            return TextReader(TripleReader(words, name, stream, clock))
        case "quads":
            return TextReader(QuadReader(words, name, stream, clock))
        case "csv":
            return TextReader(CsvReader(words, name, stream, clock))
        case "parquet":
            return ArrowReader(words, name, stream, clock)
    return SniffingReader(words, name, stream, clock)


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
    """Decides at the first character that is not blank.

    `{` begins JSON Lines; a digit, or the `#` of a comment, timestamped N-Triples; anything else facts.
    """

    def __init__(self, words: Dictionary, name: str, stream: str | None, clock: Clock) -> None:
        self._makings = words, name, stream, clock
        self._blank = b""
        self._reader: Reader | None = None

    def feed(self, block: bytes) -> Iterator[tuple[int, Batch] | Diagnostic]:
        if self._reader is None:
            self._blank += block
            start = self._blank.lstrip()[:1]
            if not start:
                return
            self._reader = self._reader_for(start)
            block = self._blank
        yield from self._reader.feed(block)

    def finish(self) -> Iterator[tuple[int, Batch] | Diagnostic]:
        if self._reader is not None:
            yield from self._reader.finish()

    def _reader_for(self, start: bytes) -> Reader:
        if start == b"{":
            return JsonLinesReader(*self._makings)
        if start.isdigit() or start == b"#":
            return TextReader(TripleReader(*self._makings))
        return FactLinesReader(*self._makings)
