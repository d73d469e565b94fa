"""Brings streams together: recorded ones merged by time, live ones as they arrive.

Where both are given, the recorded streams follow the clock of the live ones: what they have up to a tick comes just
before the first live event of that tick, and what is left comes when the live streams have ended.

To merge, the next batch of each stream must be known before its turn comes; `waiting` says which batches these are,
because the terms that they are made of must not be forgotten meanwhile.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from operator import attrgetter
from pathlib import Path

from thalweg.connectors.arrivals import arrivals
from thalweg.connectors.batches import Facts, code_events
from thalweg.connectors.files import FolderTransport
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.open import open_stream, text_stream
from thalweg.connectors.readers import open_reader
from thalweg.connectors.replay import Pace, ReplayTransport
from thalweg.connectors.transport import Transport
from thalweg.diagnostics import Diagnostic, Rejected, Source
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch, Event
from thalweg.model.time import Clock

Timed = tuple[int, Batch] | Diagnostic


def open_all(streams: Iterable[str | Path | Source]) -> list[Transport]:
    """Opens files, texts, and the streams that URIs name; all that cannot be opened is reported at once."""
    transports: list[Transport] = []
    found: list[Diagnostic] = []
    for stream in streams:
        try:
            transports.append(text_stream(stream) if isinstance(stream, Source) else open_stream(stream))
        except Rejected as error:
            found += error.diagnostics
    if found:
        for transport in transports:
            transport.close()
        raise Rejected(found)
    return transports


class Streams:
    """Everything that transports bring; None before each wait."""

    def __init__(self, transports: Sequence[Transport], words: Dictionary, clock: Clock, interrupt: Interrupt) -> None:
        self._interrupt = interrupt
        self._live = [(one, open_reader(one.name, one.stream, words, clock)) for one in transports if one.live]
        factors = [one.factor for one in transports if isinstance(one, ReplayTransport)]
        self._pace = Pace(clock.tick_length, min(factors)) if factors else None
        recorded = [one.inner if isinstance(one, ReplayTransport) else one for one in transports if not one.live]
        self._recorded = Merge([Recording(_whole(one, words, clock, interrupt)) for one in recorded])
        self._arrived: Timed | None = None

    def __iter__(self) -> Iterator[Timed | None]:
        for which, block in arrivals([one for one, _ in self._live], self._interrupt):
            reader = self._live[which][1]
            for self._arrived in reader.feed(block) if block else reader.finish():
                if isinstance(self._arrived, tuple):
                    yield from self._recorded.up_to(self._arrived[0])
                yield self._arrived
            self._arrived = None
            yield None
        if not self._interrupt.asked:
            yield from self._recorded.up_to(inf) if self._pace is None else self._paced(self._pace)

    def _paced(self, pace: Pace) -> Iterator[Timed | None]:
        for item in self._recorded.up_to(inf):
            self._arrived = item
            if isinstance(item, tuple) and pace.early(item[0]) > 0:
                yield None
                if not pace.wait(item[0], self._interrupt):
                    return
            yield item
        self._arrived = None

    @property
    def repeats(self) -> bool:
        return not self._live

    def waiting(self) -> Iterator[Batch]:
        """The batches that have been read and not been taken."""
        for item in (self._arrived, *self._recorded.heads()):
            if isinstance(item, tuple):
                yield item[1]


class Values:
    """Events from Python; anything but a list or the like may make us wait for the next one."""

    def __init__(self, events: Iterable[Event | tuple[int, Facts]], words: Dictionary) -> None:
        self._events = events
        self._words = words

    def __iter__(self) -> Iterator[Timed | None]:
        live = not isinstance(self._events, Sequence)
        for item in code_events(self._events, self._words):
            yield item
            if live:
                yield None

    @property
    def repeats(self) -> bool:
        return isinstance(self._events, Sequence)

    def waiting(self) -> Iterator[Batch]:
        return iter(())


def _whole(transport: Transport, words: Dictionary, clock: Clock, interrupt: Interrupt) -> Iterator[Timed]:
    for part in transport.parts() if isinstance(transport, FolderTransport) else (transport,):
        reader = open_reader(part.name, transport.stream, words, clock)
        for block in part.blocks(interrupt):
            yield from reader.feed(block)
        if not interrupt.asked:
            yield from reader.finish()


@dataclass(slots=True)
class Recording:
    """A recorded stream, and the next item of it."""

    items: Iterator[Timed]
    head: Timed | None = None
    tick: int = 0

    def step(self) -> bool:
        """Goes on to the next item; False at the end."""
        self.head = head = next(self.items, None)
        # What is wrong has no tick of its own: it keeps its place behind what was written before it.
        if isinstance(head, tuple):
            self.tick = head[0]
        return head is not None


class Merge:
    """Recordings merged by tick, and in the order given within a tick."""

    def __init__(self, recordings: Sequence[Recording]) -> None:
        self._recordings = list(recordings)
        self._begun = False

    def up_to(self, tick: float) -> Iterator[Timed]:
        """Takes out what comes no later than a tick."""
        if not self._begun:
            self._recordings = [one for one in self._recordings if one.step()]
            self._begun = True
        while self._recordings:
            first = min(self._recordings, key=attrgetter("tick"))
            if first.tick > tick:
                return
            if first.head is not None:
                yield first.head
            if not first.step():
                self._recordings.remove(first)

    def heads(self) -> list[Timed | None]:
        return [recording.head for recording in self._recordings]
