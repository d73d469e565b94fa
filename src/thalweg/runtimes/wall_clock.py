"""Time that passes by itself on live streams: the machine's clock, and how long a stream has been silent.

With `--clock wall` a tick is decided when the machine's clock has left it (and the delay is over), whether or not
events come: absence is noticed in silence. With `--idle` a stream that has been silent for so long stops holding the
others back, until it brings something again.

What a broker kept while nothing read a stream is taken by the times of its events before the machine's clock moves on:
a stream is drained where the broker says so, when a message comes whose time is within the delay of now, or after a
silence. The clock waits for all streams; those that are drained meanwhile hold the others back no more.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from thalweg.model.time import Clock

DRAINED: Final = 5.0
"""Seconds of silence after which a broker has sent all that it kept, where no others are asked for."""

_BEAT: Final = 0.2
"""Seconds after which streams are looked at again that are being drained."""


@dataclass(slots=True)
class PassingTime:
    """What a run on live streams knows of time besides its events; `now` and `elapsed` are the clocks of the machine.

    `by_wall`: ticks follow the machine's clock. `idle` is a number of seconds, if silent streams are passed over; the
    `delay` is in ticks.

    >>> passing = PassingTime(Clock(), by_wall=True, now=lambda: 36.25)
    >>> passing.tick, passing.pause()
    (36, 0.75)
    """

    clock: Clock
    by_wall: bool = False
    idle: float | None = None
    now: Callable[[], float] = time.time
    elapsed: Callable[[], float] = time.monotonic
    delay: int = 0
    heard: dict[int, float] = field(default_factory=dict)
    """When each stream has brought something last, by `elapsed`."""
    _draining: set[int] = field(default_factory=set)

    def listen(self, streams: int) -> None:
        """A number of streams begin to be waited for."""
        self.heard = dict.fromkeys(range(streams), self.elapsed())
        self.clock.notation.stamped |= self.by_wall

    def hear(self, stream: int) -> None:
        """A stream has brought something."""
        self.heard[stream] = self.elapsed()

    def forget(self, stream: int) -> None:
        """A stream has ended."""
        self.heard.pop(stream, None)
        self._draining.discard(stream)

    def drain(self, stream: int) -> None:
        """A broker may have kept something for a stream, for which the machine's clock waits."""
        if self.by_wall:
            self._draining.add(stream)
            self.hear(stream)

    def meet(self, stream: int, tick: int) -> None:
        """An event of a stream that is being drained has come; one of now says that all before it has."""
        if abs(self.tick - tick) <= self.delay:
            self._draining.discard(stream)

    def drained(self, stream: int) -> None:
        """All that was kept for a stream has come."""
        self._draining.discard(stream)

    @property
    def draining(self) -> frozenset[int]:
        """The streams of which something that was kept may still come."""
        if self._draining:
            latest = self.elapsed() - (DRAINED if self.idle is None else self.idle)
            self._draining = {stream for stream in self._draining if not is_reached(self.heard[stream], latest)}
        return frozenset(self._draining)

    @property
    def matters(self) -> bool:
        """Whether time passes while nothing arrives."""
        return self.by_wall or self.idle is not None

    @property
    def tick(self) -> int:
        """The tick of now."""
        return (round(self.now() * 1_000) - self.clock.epoch) // self.clock.tick_length

    @property
    def silent(self) -> frozenset[int]:
        """The streams that have been silent for too long."""
        if self.idle is None:
            return frozenset()
        latest = self.elapsed() - self.idle
        return frozenset(stream for stream, heard in self.heard.items() if is_reached(heard, latest))

    def pause(self) -> float | None:
        """The seconds until something happens although nothing arrives; None where nothing will."""
        pauses = []
        if self.by_wall:
            milliseconds = round(self.now() * 1_000) - self.clock.epoch
            pauses.append((self.clock.tick_length - milliseconds % self.clock.tick_length) / 1_000)
        if self.idle is not None:
            since = self.elapsed()
            left = (heard + self.idle - since for heard in self.heard.values())
            pauses += [seconds for seconds in left if seconds > 0]
        if self._draining:
            pauses.append(_BEAT)
        return min(pauses, default=None)


def is_reached(instant: float, now: float) -> bool:
    """Whether an instant has come, in seconds; what calculations lose does not count.

    >>> is_reached(1_794_729_600.3 + 0.1, 1_794_729_600.4), is_reached(0.1, 0.0)
    (True, False)
    """
    return round(instant - now, 6) <= 0
