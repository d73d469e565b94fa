"""Brings streams together: recorded ones merged by time, live ones as they arrive.

Where both are given, the recorded streams follow the clock of the live ones: what they have up to a tick comes just
before the first live event of that tick, and what is left comes when the live streams have ended.

To merge, the next batch of each stream must be known before its turn comes; `waiting` says which batches these are,
because the terms that they are made of must not be forgotten meanwhile.
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
from thalweg.connectors.files import FolderTransport, InputTransport
from thalweg.connectors.held_tables import HeldTable, TableTransport, as_message
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.lines import State
from thalweg.connectors.mapping.mapped_json import MESSAGES, MappedJsonReader
from thalweg.connectors.mapping.mapped_rows import MappedStream
from thalweg.connectors.mapping.tally import Tally
from thalweg.connectors.named_source import NamedSource
from thalweg.connectors.open import open_stream, text_stream
from thalweg.connectors.readers import Ahead, Reader, open_ordered
from thalweg.connectors.replay import Pace, ReplayTransport
from thalweg.connectors.transport import Positioned, Transport
from thalweg.diagnostics import Diagnostic, RejectedError, Source
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch, Event
from thalweg.model.time import NEVER, Clock
from thalweg.runtimes.passing_time import PassingTime

Timed = tuple[int, Batch] | Diagnostic
PythonEvent = Event | tuple[Instant, Facts] | Mapping[str, Any]
Position = dict[str, Any]
"""Where to go on reading, as JSON."""

_TOGETHER: Final = 8192
"""How many events or messages are read together."""


Opening = str | Path | Source | HeldTable | NamedSource


def open_all(streams: Iterable[Opening], tally: Tally | None = None) -> list[Transport]:
    """Opens files, texts, tables and the streams that URIs name; all that cannot be opened is reported at once."""
    wanted = tally.columns if tally is not None else ()
    transports: list[Transport] = []
    found: list[Diagnostic] = []
    for stream in streams:
        try:
            transports.append(_opened(stream, wanted))
        except RejectedError as error:
            found += error.diagnostics
    if found:
        for transport in transports:
            transport.close()
        raise RejectedError(found)
    return transports


def _opened(stream: Opening, wanted: Collection[str]) -> Transport:
    match stream:
        case NamedSource():
            transport = _opened(stream.origin, wanted)
            transport.stream = stream.name
            return transport
        case Source():
            return text_stream(stream)
        case HeldTable():
            return TableTransport(stream)
    return open_stream(stream, wanted)


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
    ) -> None:
        self._interrupt = interrupt
        self._passing = passing or PassingTime(clock)
        self._live = [
            _Live(one, open_ordered(one.name, one.stream, words, clock, tally, "live"), position_of(one))
            for one in transports
            if one.live
        ]
        factors = [one.factor for one in transports if isinstance(one, ReplayTransport)]
        self._pace = Pace(clock.tick_length, min(factors)) if factors else None
        recorded = [one.inner if isinstance(one, ReplayTransport) else one for one in transports if not one.live]
        self._recorded = Merge([Recording(one, words, clock, interrupt, tally) for one in recorded], interrupt)
        self._arrived: Timed | None = None
        self._notation = clock.notation
        self._reached = NEVER
        self.pause: Callable[[], float | None] | None = self._passing.pause if self._passing.matters else None
        """How long to wait for what arrives; a test may wind its clock here."""
        self.groups = max(1, len(self._live) + bool(recorded))
        self.group: int | None = 0
        self.resting: frozenset[int] = frozenset()
        self.ended: frozenset[int] = frozenset()
        if self._passing.by_wall and not self._live:
            raise RejectedError([Diagnostic("E403", "`--clock wall` is for live streams, and none of these is live")])

    def __iter__(self) -> Iterator[Timed | None]:
        for item in self._items():
            if self._notation.is_mixed:
                raise RejectedError([_mixed_times()])
            yield item

    def _items(self) -> Iterator[Timed | None]:
        passing, transports = self._passing, [one.transport for one in self._live]
        passing.listen(len(transports))
        for arrival in arrivals(transports, self._interrupt, self.pause):
            yield from self._time_passes()
            if arrival is not None:
                yield from self._arrives(*arrival)
            # Recorded streams follow the live ones, so they hold nothing back.
            self.resting = passing.silent | self._behind
            yield None
        self.group = self.groups - 1
        self.resting = frozenset()
        if not self._interrupt.asked:
            yield from self._recorded.up_to(inf) if self._pace is None else self._paced(self._pace)

    def _arrives(self, which: int, block: bytes, position: Any) -> Iterator[Timed]:
        live = self._live[which]
        self._passing.hear(which)
        for self._arrived in live.reader.feed(block) if block else live.reader.finish():
            if isinstance(self._arrived, tuple):
                self.group = self.groups - 1
                yield from self._recorded.up_to(self._arrived[0])
            self.group = which
            yield self._arrived
        self._arrived, live.position = None, position
        if not block:
            self._passing.forget(which)
            self.ended |= {which}

    def _time_passes(self) -> Iterator[Timed]:
        """An event without facts, of all streams, where the machine's clock has come to another tick."""
        if self._passing.by_wall and (tick := self._passing.tick) > self._reached:
            self._reached = tick
            self.group = self.groups - 1
            yield from self._recorded.up_to(tick)
            self.group = None
            yield tick, Batch()

    @property
    def _behind(self) -> frozenset[int]:
        """The group of the recorded streams, where there are live ones, too."""
        return frozenset({self.groups - 1}) if self._live and self.groups > len(self._live) else frozenset()

    def _paced(self, pace: Pace) -> Iterator[Timed | None]:
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
            if isinstance(item, tuple):
                yield item[1]
        for reader in (*(one.reader for one in self._live), *self._recorded.readers()):
            if isinstance(reader, Ahead):
                yield from reader.waiting()

    def position(self) -> Position | None:
        """Behind the last item that was taken, as JSON; None in the middle of what does not come again as it came."""
        if self._arrived is not None:
            return None
        recorded = self._recorded.positions()
        if None in recorded:
            return None
        return {"live": [one.save() for one in self._live], "recorded": recorded}

    def wake(self, pause: Callable[[], float | None]) -> None:
        """Has waits for what arrives end no later than after a pause, too: then None comes although nothing arrived."""
        pauses = (self._passing.pause, pause)
        self.pause = lambda: min((seconds for limit in pauses if (seconds := limit()) is not None), default=None)

    def seek(self, position: Position) -> None:
        """Goes on behind a position, before the first item is taken."""
        for live, saved in zip(self._live, position["live"], strict=True):
            live.load(saved)
        self._recorded.seek(position["recorded"])


def _mixed_times() -> Diagnostic:
    message = "some times of this run are timestamps and others bare ticks, which cannot be compared"
    help_ = "write all times, also `--from` and `--to`, as timestamps such as `2026-11-15T08:00:00Z`, or all as ticks"
    return Diagnostic("E309", message, help=help_)


def check_resumable(transports: Iterable[Transport]) -> None:
    """Refuses streams that a run which is resumed could not read on."""
    for one in transports:
        inner = one.inner if isinstance(one, ReplayTransport) else one
        if isinstance(inner, InputTransport):
            message = f"`{inner.name}` cannot be read again after a crash: with `--checkpoint` use a file or a broker"
            raise RejectedError([Diagnostic("E403", message)])


@dataclass(slots=True)
class _Live:
    """A live stream; `position` is that behind the last block of which everything was taken."""

    transport: Transport
    reader: Reader
    position: Any

    def save(self) -> Position | None:
        """None where the stream goes on with what it brings next."""
        return None if self.position is None else {"at": self.position, "reader": self.reader.save()}

    def load(self, saved: Position | None) -> None:
        if saved is not None and isinstance(self.transport, Positioned):
            self.transport.seek(saved["at"])
            self.position = saved["at"]
            if saved["reader"] is not None:
                self.reader.load(saved["reader"])


class Values:
    """Events from Python, and messages that mappings make facts of.

    Anything but a list or the like may make us wait for the next one.
    """

    def __init__(
        self, events: Iterable[PythonEvent], words: Dictionary, clock: Clock | None = None, tally: Tally | None = None
    ) -> None:
        self._events = events
        self._words = words
        self._clock = (clock or Clock()).of_file()
        self._tally = tally or Tally()
        self.groups = 1
        self.group: int | None = 0
        self.resting: frozenset[int] = frozenset()
        self.ended: frozenset[int] = frozenset()

    def __iter__(self) -> Iterator[Timed | None]:
        live = not self.repeats
        for events in self._together():
            for item in self._coded(events):
                if self._clock.notation.is_mixed:
                    raise RejectedError([_mixed_times()])
                yield item
            if live:
                yield None

    def _together(self) -> Iterator[Sequence[PythonEvent]]:
        """What is there already, many at once; what comes, one after the other."""
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
        """What Python hands over is not read again."""
        return None

    def waiting(self) -> Iterator[Batch]:
        return iter(())


def _message(event: PythonEvent) -> Mapping[str, Any]:
    message = as_message(event)
    if message is None:
        raise TypeError(f"{event!r} is not a message, and stands among messages")
    return message


class Recording:
    """A recorded stream, and the next item of it.

    Its position is a place where reading can begin (before a block, or else before a file), and the number of items
    that were taken since.
    """

    def __init__(
        self,
        transport: Transport,
        words: Dictionary,
        clock: Clock,
        interrupt: Interrupt,
        tally: Tally | None = None,
    ) -> None:
        self._transport = transport
        self._context = words, clock, tally
        self.reader: Reader | None = None
        self._interrupt = interrupt
        self._start = _Place()
        self._place = self._start
        self._read = 0
        self._items = self._whole()
        self.head: Timed | None = None
        self.taken = True
        self.tick = 0

    def step(self) -> bool:
        """Goes on to the next item; False at the end."""
        self.head = head = next(self._items, None)
        self.taken = head is None
        # What is wrong has no tick of its own: it keeps its place behind what was written before it.
        if isinstance(head, tuple):
            self.tick = head[0]
        return head is not None

    def position(self) -> Position | None:
        """Behind the items that were taken; None in the middle of a block that may be cut otherwise the next time."""
        items = self._read - (not self.taken)
        if items and not self._place.repeats:
            return None
        place = self._place
        return {"part": place.part, "at": place.at, "reader": place.reader, "items": items, "tick": self.tick}

    def seek(self, position: Position) -> None:
        """Goes on behind a position."""
        self._start = self._place = _Place(position["part"], position["at"], position["reader"])
        self.tick = position["tick"]
        for _ in islice(self._items, position["items"]):
            pass

    def _whole(self) -> Iterator[Timed]:
        for part, transport in enumerate(self._parts(), self._start.part):
            format = transport.format if isinstance(transport, TableTransport) else None
            reader = open_ordered(transport.name, self._transport.stream, *self._context, format=format)
            self.reader = reader
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

    def __init__(self, recordings: Sequence[Recording], interrupt: Interrupt) -> None:
        self._all = list(recordings)
        self._flowing = list(recordings)
        self._behind: Sequence[Recording] = recordings
        self._interrupt = interrupt

    def up_to(self, tick: float) -> Iterator[Timed]:
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

    def _first(self) -> Recording | None:
        """The recording whose turn it is; None at the end.

        When the user asks to end, reading may have ended anywhere: what others have is no longer next.
        """
        self._step()
        return None if self._interrupt.asked else min(self._flowing, key=attrgetter("tick"), default=None)

    def _step(self) -> None:
        """Has the next item of each recording at hand."""
        behind, self._behind = self._behind, ()
        for one in behind:
            if not one.step():
                self._flowing.remove(one)

    def heads(self) -> list[Timed | None]:
        """The items that have been read; one that was taken may still be in use."""
        return [recording.head for recording in self._flowing]

    def readers(self) -> list[Reader | None]:
        """The readers of the recordings that flow."""
        return [recording.reader for recording in self._flowing]

    def positions(self) -> list[Position | None]:
        """Of each recording, behind what was taken."""
        self._step()
        return [recording.position() for recording in self._all]

    def seek(self, positions: Sequence[Position]) -> None:
        """Goes on behind positions."""
        for recording, position in zip(self._all, positions, strict=True):
            recording.seek(position)
