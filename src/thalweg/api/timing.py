"""Times as users write them."""

import re
from dataclasses import dataclass
from typing import Final

from thalweg.model.time import FOREVER, Clock, milliseconds

_COUNT: Final = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Timing:
    """Times as users write them: ticks, durations, timestamps.

    >>> Timing(tick="10s", delay="1 min", last="1970-01-01T00:01:30Z").ticks()
    (None, 9, 6)
    """

    tick: str = "1s"
    first: int | str | None = None
    last: int | str | None = None
    delay: int | str = 0

    @property
    def clock(self) -> Clock:
        length = milliseconds(self.tick)
        if length <= 0:
            raise ValueError("a tick must be longer than 0")
        return Clock(length)

    def ticks(self) -> tuple[int | None, int | None, int]:
        """First, last and delay in ticks; what cannot be understood, or does not fit together, is a `ValueError`."""
        clock = self.clock
        first, last = (None if time is None else self._moment(time, clock) for time in (self.first, self.last))
        if first is not None and last is not None and last < first:
            raise ValueError(f"the timeline cannot end at {last} before it begins at {first}")
        return first, last, self._duration(clock)

    @staticmethod
    def _moment(time: int | str, clock: Clock) -> int:
        try:
            tick = int(time) if isinstance(time, int) or _COUNT.fullmatch(time) else clock.tick(time)
        except ValueError:
            raise ValueError(f"`{time}` is neither a tick nor a timestamp such as `2026-01-01T12:00:00Z`") from None
        if tick < 0:
            raise ValueError(f"`{time}` is before tick 0")
        return tick

    def _duration(self, clock: Clock) -> int:
        written = str(self.delay).strip()
        if isinstance(self.delay, int) or _COUNT.fullmatch(written):
            ticks, rest = int(written), 0
        else:
            ticks, rest = divmod(milliseconds(written), clock.tick_length)
        if ticks >= FOREVER:
            raise ValueError(f"`{self.delay}` is longer than any timeline")
        if rest or ticks < 0:
            raise ValueError(f"`{self.delay}` is not a whole number of ticks of {self.tick}")
        return ticks
