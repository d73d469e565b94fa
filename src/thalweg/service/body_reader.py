"""Bodies that were posted become events: each is read with the reader of its format and the mappings of its time.

    text/plain, application/n-quads       one text, posted in pieces: prefixes, and events whose quads
    JSON Lines                            are not all there yet, go on in the next body
    text/csv, application/trig, ld+json   each body is a document of its own, with blank nodes of its own

Which prefixes hold in a body of facts is said by whoever has it read (a record of the log knows), so that reading may
begin at any body. A body is whole lines: the last one needs no line break.
"""

from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from typing import Any, Final

from thalweg.connectors.batches import Item
from thalweg.connectors.files import FILE_BLOCK
from thalweg.connectors.mapping.mapped_csv import MappedCsvReader
from thalweg.connectors.nquads import QuadReader
from thalweg.connectors.readers import Ahead, FactLinesReader, Reader, open_reader
from thalweg.diagnostics import Diagnostic
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.time import Clock
from thalweg.service.stream import StreamVersion

FORMATS: Final = {
    "text/plain": "facts",
    "application/x-ndjson": "json",
    "application/json": "json",
    "text/csv": "csv",
    "application/n-quads": "quads",
    "application/trig": "trig",
    "application/ld+json": "jsonld",
}
"""The format of each media type, as readers are called."""

_ENDINGS: Final = {"facts": "facts", "json": "jsonl", "csv": "csv", "quads": "nq", "trig": "trig", "jsonld": "jsonld"}
# Formats whose bodies are pieces of one text.
_GO_ON: Final = frozenset({"json", "quads"})


class BodyReader:
    """Reads the bodies of one stream, in their order, with one dictionary; it is used by one thread.

    >>> reader, words = BodyReader("s", Dictionary(), Clock()), Dictionary()
    >>> items = reader.read("text/plain", b"p(a) at 3. q at 3.", StreamVersion(1, {}, "s"), arrived=0)
    >>> [(tick, batch.order) for tick, batch in items]
    [(3, ['p/1', 'q/0'])]
    """

    def __init__(self, stream: str, words: Dictionary, clock: Clock) -> None:
        self._stream = stream
        self._words = words
        self._run_clock = clock
        self._arrived = 0
        self._version = 0
        self._tally = StreamVersion(0, {}, stream).tally()
        self._clock = clock.of_file()
        self._facts: FactLinesReader | None = None
        self._going_on: dict[str, Reader] = {}
        self._reading: Reader | None = None

    def read(
        self,
        media: str,
        body: bytes,
        version: StreamVersion,
        arrived: int,
        *,
        prefixes: Mapping[str, str] = {},
        number: int = 0,
    ) -> Iterator[Item]:
        """The items of a body that arrived at an instant, in milliseconds since 1970.

        Documents of bodies with different numbers have different blank nodes. `prefixes` have been declared before it.
        """
        self._arrived = arrived
        if version.number != self._version:
            self._begin(version)
        format = FORMATS[media]
        reader = self._reading = self._reader(format, prefixes, number)
        text = body.removeprefix(BOM_UTF8) if format in ("facts", *_GO_ON) else body
        if text and not text.endswith(b"\n"):
            text += b"\n"
        # As a file is read: no call takes so long that other threads wait for it.
        for start in range(0, len(text), FILE_BLOCK):
            yield from reader.feed(text[start : start + FILE_BLOCK])
        if format != "quads":
            yield from reader.finish()

    def _begin(self, version: StreamVersion) -> None:
        """Goes on with another definition; quads have no mappings, and an event of theirs may be under way."""
        self._version = version.number
        self._tally = version.tally()
        self._clock = self._run_clock.of_file(self._tally.zones.get(self._stream))
        self._going_on.pop("json", None)
        self._facts = None

    def _reader(self, format: str, prefixes: Mapping[str, str], number: int) -> Reader:
        if format == "facts":
            return self._fact_reader(prefixes)
        if format not in _GO_ON:
            return self._open(format, f"/{number}", str(number))
        if format not in self._going_on:
            # Lines of other versions are counted anew, and their blank nodes are others.
            self._going_on[format] = self._open(format, "", str(self._version) if self._version > 1 else "")
        return self._going_on[format]

    def _fact_reader(self, prefixes: Mapping[str, str]) -> FactLinesReader:
        """The reader of facts, which knows many of their terms; one that has read other prefixes is of no use."""
        reader = self._facts
        if reader is None or reader.prefixes != prefixes:
            name = f"{self._stream}.facts"
            reader = FactLinesReader(self._words, name, self._stream, self._clock, arrival=lambda: self._arrived)
            reader.prefixes.update(prefixes)
            self._facts = reader
        return reader

    def _open(self, format: str, document: str, piece: str) -> Reader:
        name = f"{self._stream}{document}.{_ENDINGS[format]}"
        return open_reader(
            name,
            self._stream,
            self._words,
            self._clock,
            self._tally,
            "live",
            format,
            now=lambda: self._arrived / 1_000,
            piece=piece,
        )

    @property
    def prefixes(self) -> dict[str, str]:
        """The prefixes that hold behind the last body of facts."""
        return {} if self._facts is None else dict(self._facts.prefixes)

    @property
    def is_unreadable(self) -> bool:
        """Whether the last body is a table that no mapping fits, so that none of its rows can be read."""
        return isinstance(self._reading, MappedCsvReader) and self._reading.hopeless

    @property
    def unfinished(self) -> int:
        """How many quads have come of events of which more must come."""
        quads = self._going_on.get("quads")
        return quads.unfinished if isinstance(quads, QuadReader) else 0

    def complete(self) -> Iterator[Item]:
        """The last event of quads, if its time is known: no more of it is waited for."""
        quads = self._going_on.get("quads")
        return quads.complete() if isinstance(quads, QuadReader) else iter(())

    def go_on(self, quads: dict[str, Any] | None) -> None:
        """Goes on with the events of quads that another reader has saved, and counts lines from 1 on."""
        if quads is not None:
            self._reader("quads", {}, 0).load({**quads, "line": 0})

    def forget_facts(self) -> None:
        """Has the next body of facts read by another reader: in the last one something was wrong."""
        self._facts = None

    def waiting(self) -> Iterator[Batch]:
        """The batches that have been coded and not been taken."""
        return self._reading.waiting() if isinstance(self._reading, Ahead) else iter(())

    def save(self) -> dict[str, Any]:
        """The state of the reader between two bodies, as JSON."""
        readers = {format: reader.save() for format, reader in self._going_on.items()}
        return {"version": self._version, "order": self._clock.save(), "readers": readers}

    def load(self, saved: dict[str, Any], version: StreamVersion | None) -> None:
        """Goes on where another one was saved, with the version that it had used; None where it had used none."""
        if version is not None:
            self._begin(version)
        self._clock.load(saved["order"])
        for format, state in saved["readers"].items():
            self._reader(format, {}, 0).load(state)


def is_of_stream(item: Item, stream: str) -> bool:
    """Whether an item is an event of a stream: a line may say that it is of another one, which is wrong."""
    return not isinstance(item, Diagnostic) and item[1].stream in (stream, None)
