"""Brings streams together: recorded ones merged by time, live ones as they arrive.

Where both are given, the recorded streams follow the clock of the live ones: what they have up to a tick comes just
before the first live event of that tick, and what is left comes when the live streams have ended.

To merge, the next batch of each stream must be known before its turn comes; `waiting` says which batches these are,
because the terms that they are made of must not be forgotten meanwhile. The rows of each stream are looked at for
times that are far from those around them (`plausible_times`), before they can move the time of others.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import inf
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Literal

from thalweg.connectors.arrivals import arrivals, position_of
from thalweg.connectors.batches import Facts, Instant, code_events
from thalweg.connectors.files import FolderTransport, InputTransport, PathTransport
from thalweg.connectors.held_tables import HeldTable, TableTransport, as_message
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.lines import State
from thalweg.connectors.mapping.mapped_json import MESSAGES, MappedJsonReader
from thalweg.connectors.mapping.mapped_rows import MappedStream
from thalweg.connectors.mapping.tally import Tally
from thalweg.connectors.named_source import NamedSource
from thalweg.connectors.open import open_stream, text_stream
from thalweg.connectors.readers import Ahead, Reader, open_ordered
from thalweg.connectors.replay import ReplayPace, ReplayTransport
from thalweg.connectors.transport import Acknowledging, Keeping, Noticing, Positioned, Transport
from thalweg.connectors.whole_events import whole_events
from thalweg.diagnostics import Diagnostic, RejectedError, Source
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch, Event
from thalweg.model.time import NEVER, Clock
from thalweg.runtimes.plausible_times import PATIENCE, Far, PlausibleTimes, Timed, TimeLimits
from thalweg.runtimes.wall_clock import PassingTime, is_reached

PythonEvent = Event | tuple[Instant, Facts] | Mapping[str, Any]
Position = dict[str, Any]
"""Where to go on reading, as JSON."""

_TOGETHER: Final = 8192
"""How many events or messages are read together."""


Opening = str | Path | Source | HeldTable | NamedSource


def open_all(streams: Iterable[Opening], tally: Tally | None = None, lakes: Collection[str] = ()) -> list[Transport]:
    """Opens files, texts, tables and the streams that URIs name; all that cannot be opened is reported at once.

    What is of a format of `lakes` is left to Spark.
    """
    wanted = tally.columns if tally is not None else ()
    transports: list[Transport] = []
    diagnostics: list[Diagnostic] = []
    for stream in streams:
        try:
            transports.append(_opened(stream, wanted, lakes))
        except RejectedError as error:
            diagnostics += error.diagnostics
    if diagnostics:
        for transport in transports:
            transport.close()
        raise RejectedError(diagnostics)
    return transports


def _opened(stream: Opening, wanted: Collection[str], lakes: Collection[str]) -> Transport:
    match stream:
        case NamedSource():
            transport = _opened(stream.origin, wanted, lakes)
            transport.stream = stream.name
            return transport
        case Source():
            return text_stream(stream)
        case HeldTable():
            return TableTransport(stream)
    return open_stream(stream, wanted, lakes)


class Streams:
    """Everything that transports bring, by mappings or as it is; None before each wait."""

    def __init__(
        self,
        transports: Sequence[Transport],
        words: Dictionary,
        clock: Clock,
        interrupt: Interrupt,
        tally: Tally | None = None,
        passing: PassingTime | None = None,
        limits: TimeLimits | None = None,
    ) -> None:
        limits = limits or TimeLimits(clock)
        self._interrupt = interrupt
        self._passing = passing = passing or PassingTime(clock)
        self._live = [
            _Live(
                transport,
                open_ordered(transport.name, transport.stream, words, clock, tally, "live"),
                position_of(transport),
                PlausibleTimes(limits, lambda: passing.tick, live=True),
                _keeping(
                    transport, MappedStream(words, transport.name, transport.stream, clock, tally or Tally(), "live")
                ),
            )
            for transport in transports
            if transport.live
        ]
        self._noticing = [live.transport for live in self._live if isinstance(live.transport, Noticing)]
        factors = [transport.factor for transport in transports if isinstance(transport, ReplayTransport)]
        self._pace = ReplayPace(clock.tick_length, min(factors)) if factors else None
        recorded = [
            transport.inner if isinstance(transport, ReplayTransport) else transport
            for transport in transports
            if not transport.live
        ]
        recordings = [RecordedStream(transport, words, clock, interrupt, tally, limits) for transport in recorded]
        self._recorded = Merge(recordings, interrupt)
        self._arrived: Timed | Far | None = None
        self._notation = clock.notation
        self._reached = NEVER
        self.pause: Callable[[], float | None] = self._pause
        """How long to wait for what arrives; a test may wind its clock here."""
        self.groups = max(1, len(self._live) + bool(recorded))
        self.group: int | None = 0
        self.resting: frozenset[int] = frozenset()
        self.ended: frozenset[int] = frozenset()
        if self._passing.by_wall and not self._live:
            raise live_clock_alone()

    def __iter__(self) -> Iterator[Timed | Far | None]:
        for item in self._items():
            if self._notation.is_mixed:
                raise RejectedError([mixed_times()])
            yield item

    def _items(self) -> Iterator[Timed | Far | None]:
        passing, transports = self._passing, [live.transport for live in self._live]
        passing.listen(len(transports))
        self._see_gaps()
        for arrival in arrivals(transports, self._interrupt, self.pause):
            self._see_gaps()
            yield from self._notices()
            if arrival is not None:
                yield from self._arrives(*arrival)
            else:
                # What has arrived comes first: a run that lags behind must not make it late.
                yield from self._time_passes()
            yield from self._overdue()
            # Recorded streams follow the live ones, so they hold nothing back.
            self.resting = passing.silent | self._drained | self._behind
            yield None
        yield from self._notices()
        # What waits when the user asks to end has come all the same.
        for number in range(len(self._live)):
            yield from self._released(number)
        self.group = self.groups - 1
        self.resting = frozenset()
        if not self._interrupt.asked:
            yield from self._recorded.up_to(inf) if self._pace is None else self._paced(self._pace)

    def _notices(self) -> Iterator[Diagnostic]:
        """What transports warn of."""
        for transport in self._noticing:
            yield from transport.notices()

    def _arrives(self, number: int, block: bytes, position: Any) -> Iterator[Timed | Far]:
        live = self._live[number]
        self._passing.hear(number)
        items = live.feed(block, self._passing.elapsed)
        for self._arrived in items:
            yield from self._with_recorded(number, self._arrived)
        self._arrived, live.position = None, position
        if not block:
            yield from self._released(number)
            self._passing.forget(number)
            self.ended |= {number}

    def _with_recorded(self, number: int, item: Timed | Far) -> Iterator[Timed | Far]:
        """An item of a live stream, behind what recorded streams have up to its tick."""
        if isinstance(item, tuple):
            self.group = self.groups - 1
            yield from self._recorded.up_to(item[0])
            if number in self._passing.draining:
                self._passing.meet(number, item[0])
        self.group = number
        yield item

    def _released(self, number: int) -> Iterator[Timed | Far]:
        """The waiting items of a live stream, which need not wait any longer."""
        for item in self._live[number].times.release():
            yield from self._with_recorded(number, item)

    def _overdue(self) -> Iterator[Timed | Far]:
        """What has waited for too long to be decided by what comes after it."""
        for number, live in enumerate(self._live):
            if live.held_since is not None and is_reached(live.held_since + PATIENCE, self._passing.elapsed()):
                yield from self._released(number)

    def _pause(self) -> float | None:
        """The seconds until something happens although nothing arrives; None where nothing will."""
        starts = [live.held_since for live in self._live if live.held_since is not None]
        pauses = [max(0.0, since + PATIENCE - self._passing.elapsed()) for since in starts]
        if self._passing.matters and (pause := self._passing.pause()) is not None:
            pauses.append(pause)
        return min(pauses, default=None)

    def _time_passes(self) -> Iterator[Timed | Far]:
        """An event without facts, of all streams, where the machine's clock has come to another tick."""
        passing = self._passing
        if passing.by_wall and not passing.draining and (tick := passing.tick) > self._reached:
            self._reached = tick
            self.group = self.groups - 1
            yield from self._recorded.up_to(tick)
            self.group = None
            yield tick, Batch()

    def _see_gaps(self) -> None:
        """Sees for which streams a broker may have kept something, and which of them have brought it."""
        for number, live in enumerate(self._live):
            if live.keeping is None or number in self.ended:
                continue
            if live.keeping.gaps > live.gaps:
                live.gaps = live.keeping.gaps
                self._passing.drain(number)
            if number in self._passing.draining:
                match live.keeping.backlog(live.position):
                    case True:
                        self._passing.hear(number)
                    case False:
                        self._passing.drained(number)

    @property
    def _drained(self) -> frozenset[int]:
        """The streams that hold nothing back while others are being drained."""
        draining = self._passing.draining
        return frozenset(range(len(self._live))) - draining if draining else frozenset()

    @property
    def _behind(self) -> frozenset[int]:
        """The group of the recorded streams, where there are live ones, too."""
        return frozenset({self.groups - 1}) if self._live and self.groups > len(self._live) else frozenset()

    def _paced(self, pace: ReplayPace) -> Iterator[Timed | Far | None]:
        while (tick := self._recorded.next_tick) is not None:
            if pace.early(tick) > 0:
                yield None
                if not pace.wait(tick, self._interrupt):
                    return
            yield from self._recorded.up_to(tick)

    @property
    def repeats(self) -> bool:
        return not self._live

    def waiting(self) -> Iterator[Batch]:
        """The batches that have been read and not been taken."""
        for item in (self._arrived, *self._recorded.heads()):
            if isinstance(item, tuple | Far):
                yield item[1] if isinstance(item, tuple) else item.batch
        for times in (*(live.times for live in self._live), *self._recorded.times()):
            yield from (batch for _, batch in times.waiting())
        for reader in (*(source.reader for source in self._live), *self._recorded.readers()):
            if isinstance(reader, Ahead):
                yield from reader.waiting()

    def position(self) -> Position | None:
        """Behind the last item that was taken, as JSON; None in the middle of what does not come again as it came."""
        if self._arrived is not None or self.holds:
            return None
        recorded = self._recorded.positions()
        if None in recorded:
            return None
        return {"live": [live.save() for live in self._live], "recorded": recorded}

    def hold(self) -> None:
        """From now on brokers are told what was taken when `acknowledge` is called."""
        for live in self._live:
            if isinstance(live.transport, Acknowledging):
                live.transport.hold()

    def acknowledge(self) -> None:
        for live in self._live:
            if isinstance(live.transport, Acknowledging):
                live.transport.acknowledge(live.position)

    def wake(self, pause: Callable[[], float | None]) -> None:
        """Has waits for what arrives end no later than after a pause, too: then None comes although nothing arrived."""
        pauses = (self.pause, pause)
        self.pause = lambda: min((seconds for limit in pauses if (seconds := limit()) is not None), default=None)

    @property
    def holds(self) -> bool:
        """Whether rows of live streams wait to be decided."""
        return any(live.held_since is not None for live in self._live)

    def seek(self, position: Position) -> None:
        """Goes on behind a position, before the first item is taken."""
        for live, saved in zip(self._live, position["live"], strict=True):
            live.load(saved)
        self._recorded.seek(position["recorded"])


def live_clock_alone() -> RejectedError:
    """The error that time is to go by the machine's clock, and no stream is live."""
    return RejectedError([Diagnostic("E403", "`--clock wall` is for live streams, and none of these is live")])


def mixed_times() -> Diagnostic:
    """The error that times are written in two ways."""
    message = "some times of this run are timestamps and others bare ticks, which cannot be compared"
    help_ = "write all times, also `--from` and `--to`, as timestamps such as `2026-11-15T08:00:00Z`, or all as ticks"
    return Diagnostic("E309", message, help=help_)


def check_resumable(transports: Iterable[Transport]) -> None:
    """Refuses streams that a run which is resumed could not read on."""
    for transport in transports:
        inner = transport.inner if isinstance(transport, ReplayTransport) else transport
        if isinstance(inner, InputTransport):
            message = f"`{inner.name}` cannot be read again after a crash: with `--checkpoint` use a file or a broker"
            raise RejectedError([Diagnostic("E403", message)])


@dataclass(slots=True)
class _Live:
    """A live stream; `position` is that behind the last block of which everything was taken."""

    transport: Transport
    reader: Reader
    position: Any
    times: PlausibleTimes
    keeping: Keeping | None
    """The transport, where its broker keeps messages whose times count."""
    gaps: int = 0
    """How often so far its broker may have kept something for it, as was seen."""

    def feed(self, block: bytes, elapsed: Callable[[], float]) -> Iterator[Timed | Far]:
        """Reads a block; the items whose times are decided, new or waiting. An empty block ends the stream."""
        return self.times.screen(self.reader.feed(block) if block else self.reader.finish(), elapsed)

    @property
    def held_since(self) -> float | None:
        """When the first row that waits came; None where none waits."""
        since: float | None = self.times.mark
        return since

    def save(self) -> Position | None:
        """None where the stream goes on with what it brings next."""
        last = self.times.last
        if self.position is None:
            return None if last is None else {"last": last}
        transport = self.transport
        at = transport.saved(self.position) if isinstance(transport, Acknowledging) else self.position
        return {"at": at, "reader": self.reader.save(), "last": last}

    def load(self, saved: Position | None) -> None:
        if saved is None:
            return
        self.times.last = saved["last"]
        if "at" in saved and isinstance(self.transport, Positioned):
            self.transport.seek(saved["at"])
            self.position = self.transport.position()
            if saved["reader"] is not None:
                self.reader.load(saved["reader"])


def _keeping(transport: Transport, mapped: MappedStream) -> Keeping | None:
    """A transport whose broker keeps messages, unless their facts are all of the time of their arrival."""
    return transport if isinstance(transport, Keeping) and not mapped.is_by_arrival else None


class Values:
    """Events from Python, and messages that mappings make facts of.

    Anything but a list or the like may make us wait for the next one.
    """

    def __init__(
        self,
        events: Iterable[PythonEvent],
        words: Dictionary,
        clock: Clock | None = None,
        tally: Tally | None = None,
        limits: TimeLimits | None = None,
    ) -> None:
        self._events = events
        self._words = words
        self._clock = (clock or Clock()).of_file()
        self._tally = tally or Tally()
        # What is made while it is read begins about now.
        now = None if self.repeats else lambda: PassingTime(self._clock).tick
        self._times = PlausibleTimes(limits or TimeLimits(self._clock), now)
        self.groups = 1
        self.group: int | None = 0
        self.resting: frozenset[int] = frozenset()
        self.ended: frozenset[int] = frozenset()
        self.holds = False

    def __iter__(self) -> Iterator[Timed | Far | None]:
        live, times = not self.repeats, self._times
        for events in self._together():
            for item in self._coded(events):
                if self._clock.notation.is_mixed:
                    raise RejectedError([mixed_times()])
                if times.passes(item):
                    yield item
                else:
                    yield from times.take(item)
            if live:
                yield None
        yield from times.release()

    def _together(self) -> Iterator[Sequence[PythonEvent]]:
        """The events of a sequence in groups; those of an iterator one at a time, because the next may take long."""
        if not isinstance(self._events, Sequence):
            return ([event] for event in self._events)
        return (self._events[start : start + _TOGETHER] for start in range(0, len(self._events), _TOGETHER))

    def _coded(self, events: Sequence[PythonEvent]) -> Iterator[Timed]:
        if as_message(events[0]) is None:
            return code_events(events, self._words, self._clock)  # type: ignore[arg-type]
        kind: Literal["recorded", "live"] = "recorded" if self.repeats else "live"
        source = MappedStream(self._words, MESSAGES, None, self._clock, self._tally, kind)
        return MappedJsonReader.for_held(source).held(_message(event) for event in events)

    @property
    def repeats(self) -> bool:
        return isinstance(self._events, Sequence)

    def position(self) -> Position | None:
        """None: values of Python are not read again."""
        return None

    def acknowledge(self) -> None:
        """Values of Python need no acknowledgement."""

    def waiting(self) -> Iterator[Batch]:
        return (batch for _, batch in self._times.waiting())


def _message(event: PythonEvent) -> Mapping[str, Any]:
    message = as_message(event)
    if message is None:
        raise TypeError(f"{event!r} is not a message, and stands among messages")
    return message


class RecordedStream:
    """A recorded stream, and the next item of it.

    Its position is a place where reading can begin (before a block, or else before a file), and the number of items
    that were taken since; rows that wait to be decided are read again.
    """

    def __init__(
        self,
        transport: Transport,
        words: Dictionary,
        clock: Clock,
        interrupt: Interrupt,
        tally: Tally | None = None,
        limits: TimeLimits | None = None,
    ) -> None:
        self._transport = transport
        self._context = words, clock, tally
        self.reader: Reader | None = None
        self._interrupt = interrupt
        self._start = _Place()
        self._place = self._start
        self._read = 0
        self._whole = self._all_items()
        self.times = PlausibleTimes(limits or TimeLimits(clock))
        self._items = self._plausible()
        # Where the head was read, where it had to wait, and the last tick that was accepted before it.
        self._head_at: tuple[_Place, int] | None = None
        self._last: int | None = None
        self.head: Timed | Far | None = None
        self.taken = True
        self.tick = 0

    def step(self) -> bool:
        """Goes on to the next item; False at the end."""
        self._last = self.times.last
        self.head = head = next(self._items, None)
        self.taken = head is None
        # What is wrong has no tick of its own: it keeps its place behind what was written before it.
        if isinstance(head, tuple):
            self.tick = head[0]
        return head is not None

    def position(self) -> Position | None:
        """Behind the items that were taken; None in the middle of a block that may be cut otherwise the next time."""
        place, items = self._behind_taken()
        if items and not place.repeats:
            return None
        last = self.times.last if self.taken else self._last
        position = {"part": place.part, "at": place.at, "reader": place.reader, "items": items, "tick": self.tick}
        return {**position, "last": last}

    def _behind_taken(self) -> "tuple[_Place, int]":
        """Where reading can begin, and how many of the items from there on were taken."""
        if not self.taken:
            return self._head_at or (self._place, self._read - 1)
        return self.times.mark or (self._place, self._read)

    def seek(self, position: Position) -> None:
        """Goes on behind a position."""
        self._start = self._place = _Place(position["part"], position["at"], position["reader"])
        self.tick = position["tick"]
        for _ in islice(self._whole, position["items"]):
            pass
        self.times.last = position["last"]

    def _plausible(self) -> Iterator[Timed | Far]:
        """The items with those that are far marked; one that must be decided waits until then, and all behind it."""
        times = self.times
        for item in self._whole:
            if times.passes(item):
                self._head_at = None
                yield item
                continue
            times.hold(item, (self._place, self._read - 1))
            yield from self._decided()
        yield from self._decided(is_over=True)

    def _decided(self, is_over: bool = False) -> Iterator[Timed | Far]:
        times = self.times
        at = times.mark
        while (item := times.decide(is_over)) is not None:
            self._head_at = at
            yield item
            at = times.mark

    def _all_items(self) -> Iterator[Timed]:
        for part, transport in enumerate(self._parts(), self._start.part):
            format = transport.format if isinstance(transport, TableTransport) else None
            partition = transport.partition if isinstance(transport, PathTransport) else None
            opened = open_ordered(
                transport.name, self._transport.stream, *self._context, format=format, partition=partition
            )
            self.reader = reader = whole_events(opened, transport.name, self._context[0])
            start = self._start if part == self._start.part else _Place(part)
            if start.at is not None and isinstance(transport, Positioned):
                transport.seek(start.at)
            if start.reader is not None:
                reader.load(start.reader)
            yield from self._part(start, transport, reader)

    def _parts(self) -> Iterable[Transport]:
        transport = self._transport
        return transport.parts(self._start.part) if isinstance(transport, FolderTransport) else (transport,)

    def _part(self, start: "_Place", transport: Transport, reader: Reader) -> Iterator[Timed]:
        self._place = replace(start, repeats=not isinstance(transport, Positioned) or transport.repeats)
        self._read = 0
        blocks = transport.blocks(self._interrupt)
        while True:
            self._mark(start.part, transport, reader)
            block = next(blocks, None)
            if block is None:
                break
            for item in reader.feed(block):
                self._read += 1
                yield item
        if not self._interrupt.asked:
            for item in reader.finish():
                self._read += 1
                yield item

    def _mark(self, part: int, transport: Transport, reader: Reader) -> None:
        """Reading can begin here, if transport and reader can say where that is."""
        if isinstance(transport, Positioned) and (saved := reader.save()) is not None:
            self._place, self._read = _Place(part, transport.position(), saved, transport.repeats), 0


@dataclass(frozen=True, slots=True)
class _Place:
    """Where reading can begin: in which file of a folder, behind what, and what the reader must know."""

    part: int = 0
    at: Any = None
    reader: State | None = None
    repeats: bool = True


class Merge:
    """Recordings merged by tick, and in the order given within a tick."""

    def __init__(self, recordings: Sequence[RecordedStream], interrupt: Interrupt) -> None:
        self._all = list(recordings)
        self._flowing = list(recordings)
        self._behind: Sequence[RecordedStream] = recordings
        self._interrupt = interrupt

    def up_to(self, tick: float) -> Iterator[Timed | Far]:
        """Takes out what comes no later than a tick."""
        while (first := self._first()) is not None and first.tick <= tick:
            assert first.head is not None
            first.taken = True
            self._behind = (first,)
            yield first.head

    @property
    def next_tick(self) -> int | None:
        """The tick of the next item; None at the end."""
        first = self._first()
        return None if first is None else first.tick

    def _first(self) -> RecordedStream | None:
        """The recording whose turn it is; None at the end.

        When the user asks to end, reading may have ended anywhere: what others have is no longer next.
        """
        self._step()
        return None if self._interrupt.asked else min(self._flowing, key=attrgetter("tick"), default=None)

    def _step(self) -> None:
        """Has the next item of each recording at hand."""
        behind, self._behind = self._behind, ()
        for recording in behind:
            if not recording.step():
                self._flowing.remove(recording)

    def times(self) -> list[PlausibleTimes]:
        """The checks of the times of recordings that have not ended."""
        return [recording.times for recording in self._flowing]

    def heads(self) -> list[Timed | Far | None]:
        """The items that have been read; one that was taken may still be in use."""
        return [recording.head for recording in self._flowing]

    def readers(self) -> list[Reader | None]:
        """The readers of the recordings that flow."""
        return [recording.reader for recording in self._flowing]

    def positions(self) -> list[Position | None]:
        """Of each recording, behind what was taken."""
        self._step()
        return [recording.position() for recording in self._all]

    def seek(self, positions: Sequence[Position | None]) -> None:
        """Goes on behind positions; a recording without one begins."""
        for recording, position in zip(self._all, positions, strict=True):
            if position is not None:
                recording.seek(position)
