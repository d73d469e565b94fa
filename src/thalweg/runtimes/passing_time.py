"""Time that passes by itself on live streams: the machine's clock, and how long a stream has been silent.

With `--clock wall` a tick is decided when the machine's clock has left it (and the delay is over), whether or not
events come: absence is noticed in silence. With `--idle` a stream that has been silent for so long stops holding the
others back, until it brings something again.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from thalweg.model.time import Clock


@dataclass(slots=True)
class PassingTime:
    """What a run on live streams knows of time besides its events; `now` and `elapsed` are the clocks of the machine.

    `by_wall`: ticks follow the machine's clock. `idle` is a number of seconds, if silent streams are passed over.

    >>> passing = PassingTime(Clock(), by_wall=True, now=lambda: 36.25)
    >>> passing.tick, passing.pause()
    (36, 0.75)
    """

    clock: Clock
    by_wall: bool = False
    idle: float | None = None
    now: Callable[[], float] = time.time
    elapsed: Callable[[], float] = time.monotonic
    _heard: dict[int, float] = field(default_factory=dict)

    def listen(self, streams: int) -> None:
        """A number of streams begin to be waited for."""
        self._heard = dict.fromkeys(range(streams), self.elapsed())
        self.clock.notation.stamped |= self.by_wall

    def hear(self, stream: int) -> None:
        """A stream has brought something."""
        self._heard[stream] = self.elapsed()

    def forget(self, stream: int) -> None:
        """A stream has ended."""
        self._heard.pop(stream, None)

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
        return frozenset(stream for stream, heard in self._heard.items() if heard <= latest)

    def pause(self) -> float | None:
        """The seconds until something happens although nothing arrives; None where nothing will."""
        pauses = []
        if self.by_wall:
            milliseconds = round(self.now() * 1_000) - self.clock.epoch
            pauses.append((self.clock.tick_length - milliseconds % self.clock.tick_length) / 1_000)
        if self.idle is not None:
            since = self.elapsed()
            left = (heard + self.idle - since for heard in self._heard.values())
            pauses += [seconds for seconds in left if seconds > 0]
        return min(pauses, default=None)
