"""A task reads a block of a stream, and packs its facts: of a recorded file, or of what was received.

    block ──reader──▶ items ──▶ times that are far from those around them ──▶ Packer ──▶ parcels for buckets
                                                                         └──▶ a digest for the driver

The driver does not see a fact. What it reports in the end comes in the digest of each block: the predicates that came,
with the first fact of each, how many events and facts there were, what is malformed, and what became of mappings.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any, Final

from thalweg.connectors.files import FILE_BLOCK, FileTransport, open_for_reading, shortened, size_of
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.lines import State
from thalweg.connectors.readers import format_of
from thalweg.connectors.tabular import ParquetTransport
from thalweg.connectors.whole_events import whole_events
from thalweg.diagnostics import NOWHERE, Diagnostic, RejectedError, Source, Span
from thalweg.model.arrow import as_plain
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.model.records import as_json
from thalweg.model.saved_batches import batch_columns
from thalweg.model.time import NEVER, TimeFormat
from thalweg.runtimes.intake import Intake
from thalweg.runtimes.plausible_times import Far, PlausibleTimes, Timed, TimeLimits
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.pack import Arrived, GroupTime, Packer
from thalweg.runtimes.spark.recordings import Block, Position, ReadingOptions, RecordedFile, RecordedSource
from thalweg.runtimes.spark.wire import DIGEST, OUT, Parcel, failure, warning_text, wrap

# Facts that are worth a parcel for each bucket.
_TOGETHER: Final = 200_000
# Bytes behind a block that say whether the times of its last rows are far.
_VOTES: Final = 1 << 16
# How a line of JSON shows that a graph, or a document of JSON-LD, may be in it.
_DOCUMENTS: Final = (b'"graph"', b'"@')
_SIGN: Final = max(map(len, _DOCUMENTS)) - 1
# Where the state of a reader has that of another one, and where it has numbers of lines.
_INNER: Final = ("reader", "facts")
_COUNTS: Final = ("line", "lines")


def parcels_of(job: Job, stream: RecordedSource, block: Block, reading: ReadingOptions) -> Iterator[list[Parcel]]:
    """The parcels of a block, some at a time; where it cannot be read, one that says so."""
    return packed(job, lambda: RecordedBlock(job, stream, block, reading))


def packed(job: Job, open_task: "Callable[[], BlockTask]") -> Iterator[list[Parcel]]:
    """The parcels of a task; where it cannot be done, one that says so."""
    try:
        yield from open_task().parcels()
    except RejectedError as error:
        yield [failure(job.buckets(0)[0], error, reached=NEVER)]


@dataclass(slots=True)
class Digest:
    """What the driver must know of a block."""

    events: int = 0
    facts: int = 0
    came: dict[tuple[str | None, Predicate], list[str]] = field(default_factory=dict)
    """The terms of the first fact of each predicate on each stream."""
    malformed: list[Diagnostic] = field(default_factory=list)
    observed: list[tuple[int, Batch]] = field(default_factory=list)
    """The first events, where these are wanted."""

    def see(self, tick: int, batch: Batch, words: Dictionary, wanted: int = 0) -> None:
        """Takes in a batch; it is kept where it begins within as many facts as are `wanted`."""
        if self.facts < wanted:
            self.observed.append((tick, batch))
        self.events += batch.rows_arrived
        self.facts += batch.size
        for predicate, rows in batch.rows.items():
            key = batch.stream, predicate
            if key not in self.came:
                self.came[key] = [words.spell(int(word)) for word in rows[: predicate.arity]]


class BlockTask(ABC):
    """The work of one task on a block of a group, which has a place among those of its group.

    With `ended` the group ends behind it. Where blocks of a group are `ordered`, facts are late by those before them.
    """

    ordered = True

    def __init__(self, job: Job, place: tuple[int, int, int], ended: bool, reading: ReadingOptions) -> None:
        self._job = job
        self._reading = reading
        self._place = place
        self._ended = ended
        self._clock = reading.own_clock()
        self._tally = reading.tally()
        self._packer = Packer(job, place[0], place[1:])
        self._digest = Digest()
        self._high = NEVER
        settings = job.settings
        times = TimeFormat(replace(settings.calendar, clock=self._clock))
        # Only lateness is found out here; nothing waits.
        self._intake = Intake(settings, self._packer.words, times=times)
        self._limits = TimeLimits(self._clock, settings.max_ahead, settings.delay)
        self._scout = None if reading.scout is None else reading.scout.open(self._packer.words)

    def parcels(self) -> Iterator[list[Parcel]]:
        events: list[Arrived] = []
        facts, is_stopped = 0, False
        for item in self._items():
            if isinstance(item, Diagnostic):
                self._digest.malformed.append(item)
                is_stopped = self._job.settings.on_error == "stop"
                if is_stopped:
                    break
                continue
            arrived = self._take(item)
            events.append(arrived)
            facts += arrived[1].size
            if facts >= _TOGETHER:
                yield list(self._packer.pack(events, time=GroupTime(ordered=self.ordered)))
                events, facts = [], 0
        time = GroupTime(cut_short=is_stopped, ordered=self.ordered, stopped=is_stopped)
        parcels = self._packer.pack(events, self._ended and not is_stopped, time)
        yield [*parcels, self._summary(is_stopped)]

    def _take(self, item: tuple[int, Batch] | Far) -> Arrived:
        self._intake.see(item)
        batch = item.batch if isinstance(item, Far) else item[1]
        tick = item.tick if isinstance(item, Far) else item[0]
        if self._scout is not None:
            self._scout.look(batch)
        self._digest.see(tick, batch, self._packer.words, 0 if isinstance(item, Far) else self._reading.observed)
        self._high = max(self._high, NEVER if isinstance(item, Far) else tick)
        if self.ordered or isinstance(item, Far):
            return self._intake.meet(item, 0)
        return tick, batch, NEVER

    def _summary(self, is_stopped: bool) -> Parcel:
        digest, notation, far = self._digest, self._clock.notation, self._intake.far
        header = {
            "kind": DIGEST,
            "place": [*self._place],
            "events": digest.events,
            "facts": digest.facts,
            "high": self._high,
            "stopped": is_stopped,
            "came": [[stream, str(predicate), terms] for (stream, predicate), terms in digest.came.items()],
            "malformed": [*map(warning_text, digest.malformed)],
            "far": far.save(),
            "notation": [notation.stamped, notation.bare, notation.unzoned],
            "tally": self._tally.save(),
            **self._more(is_stopped),
        }
        if digest.observed:
            header["observed"] = as_plain(*batch_columns(digest.observed, self._packer.words))
            header["wanted"] = self._reading.observed
        if self._scout is not None:
            header["scouted"] = as_json(self._scout.note())
        return wrap(OUT, self._job.buckets(0)[0], header, {})

    # What differs -----------------------------------------------------------------------------------------------------

    @abstractmethod
    def _items(self) -> Iterator[Timed | Far]:
        """The items of the block, whose times are decided."""

    def _more(self, is_stopped: bool) -> dict[str, Any]:
        """What else the driver must know."""
        return {}


class RecordedBlock(BlockTask):
    """The work on a block of a file."""

    def __init__(self, job: Job, stream: RecordedSource, block: Block, reading: ReadingOptions) -> None:
        super().__init__(job, (block.group, block.file, block.start), block.ended, reading)
        self._stream = stream
        self._block = block
        self._file = stream.files[block.file]
        self._reader = stream.open(block.file, reading, self._packer.words, self._clock, self._tally)
        self._times = PlausibleTimes(self._limits)
        self._is_counted = not block.start
        """Whether the reader knows how many lines stand before the block."""

    def _items(self) -> Iterator[Timed | Far]:
        """The items of the block; where the times of the last ones are doubtful, those behind it decide."""
        times, waiting = self._times, 0
        for item in self._own_items():
            waiting += 1
            for decided in times.take(item):
                waiting -= 1
                yield decided
        if waiting:
            votes = (decided for item in self._items_behind() for decided in times.take(item))
            for decided in islice(votes, waiting):
                waiting -= 1
                yield decided
        yield from islice(times.release(), waiting)

    def _own_items(self) -> Iterator[Timed]:
        file, block, reader = self._file, self._block, self._reader
        if file.groups is not None:
            yield from self._rows(file.groups)
            return
        if file.begun is None:
            reader = whole_events(reader, file.name, self._packer.words)
            for data in FileTransport(file.location).blocks(Interrupt()):
                yield from reader.feed(data)
            yield from reader.finish()
            return
        lines, before = Lines(file), b""
        may_have_documents = format_of(file.name) == "json"
        if block.start:
            reader.load(json.loads(file.begun))
        first, last = lines.first_from(block.start), lines.first_from(block.end)
        for data in lines.between(first, last):
            if may_have_documents and not self._is_counted:
                if any(sign in before + data for sign in _DOCUMENTS):
                    self._count_lines()
                before = data[-_SIGN:]
            yield from self._numbered(reader.feed(data))
        if first < last == file.size:
            # Its last line may have no end.
            yield from self._numbered(reader.finish())

    def _count_lines(self) -> None:
        """Has the reader count the lines before the block, too: documents in lines are told apart by their numbers."""
        state = self._reader.save()
        assert state is not None, "a file is cut whose reader can be saved"
        self._reader.load(ahead(state, self._lines_skipped))
        self._is_counted = True

    def _numbered(self, items: Iterable[Timed]) -> Iterator[Timed]:
        """Items, those that are malformed with the number of their line in the file."""
        for item in items:
            if isinstance(item, Diagnostic) and not self._is_counted:
                yield shifted(item, self._lines_skipped)
            else:
                yield item

    def _rows(self, before: tuple[int, ...]) -> Iterator[Timed]:
        block, reader = self._block, self._reader
        groups = range(block.start, block.end) if before else None
        transport = ParquetTransport(self._file.location, self._stream.wanted, groups=groups)
        if not before:
            reader = whole_events(reader, self._file.name, self._packer.words)
        elif block.start:
            reader.load(_at_row(reader.save() or {}, before[block.start]))
        for data in transport.blocks(Interrupt()):
            yield from reader.feed(data)
        yield from reader.finish()

    def _items_behind(self) -> Iterator[Timed]:
        """What the stream has behind the block, in this file or in those after it."""
        file, stream = self._block.file, self._stream
        start = Position(file + 1) if self._block.end == self._file.length else Position(file, self._block.end)
        for block in stream.blocks(start, stream.end, _VOTES):
            yield from RecordedBlock(self._job, stream, block, self._reading)._own_items()

    @cached_property
    def _lines_skipped(self) -> int:
        """How many lines stand before the block, beside those of the beginning, which the reader has counted."""
        lines = Lines(self._file)
        return lines.count_before(lines.first_from(self._block.start)) - self._file.lines


def shifted(diagnostic: Diagnostic, lines: int) -> Diagnostic:
    """A diagnostic that is some lines further on in its stream."""
    span = diagnostic.span
    if span is NOWHERE or not lines:
        return diagnostic
    source = Source(span.source.name, span.source.text, span.source.first_line + lines)
    return replace(diagnostic, span=Span(source, span.start, span.end))


def ahead(state: State, lines: int) -> State:
    """The state of a reader of lines as it is where more lines stand before it.

    >>> ahead({"format": "json", "reader": {"rest": "", "line": 2, "lines": 7}}, 3)
    {'format': 'json', 'reader': {'rest': '', 'line': 5, 'lines': 10}}
    """
    inner = {name: ahead(part, lines) for name in _INNER if isinstance(part := state.get(name), dict)}
    return {**state, **inner, **{name: state[name] + lines for name in _COUNTS if name in state}}


def _at_row(state: State, row: int) -> State:
    """The state of a reader of tables as it is behind some rows."""
    inner = {"unmapped": _at_row(state["unmapped"], row)} if "unmapped" in state else {}
    return {**state, **inner, "row": row}


class Lines:
    """The lines of a file, found from anywhere in it."""

    def __init__(self, file: RecordedFile) -> None:
        self._file = file
        self._location = file.location
        if size_of(self._location) < file.size:
            raise shortened(file.name)

    def first_from(self, start: int) -> int:
        """Where the first line begins at a place or behind it."""
        if not start:
            return 0
        at = start - 1
        for data in self.between(at, self._file.size):
            line_end = data.find(b"\n")
            if line_end >= 0:
                return at + line_end + 1
            at += len(data)
        return self._file.size

    def between(self, start: int, end: int) -> Iterator[bytes]:
        """The bytes between two places, some at a time."""
        opened = open_for_reading(self._location)
        try:
            opened.seek(start)
            while start < end and (data := opened.read(min(FILE_BLOCK, end - start))):
                start += len(data)
                yield data
        finally:
            opened.close()

    def count_before(self, end: int) -> int:
        """How many line breaks there are before a place."""
        return sum(data.count(b"\n") for data in self.between(0, end))
