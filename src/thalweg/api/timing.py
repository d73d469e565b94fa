"""Times as users write them."""

import re
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Final

from thalweg.languages.options import Passing, Times
from thalweg.model.local_times import SkippedTimeError, zone_named
from thalweg.model.time import FOREVER, MOST_TICKS, Calendar, Clock, Duration, Notation, TimeFormat, milliseconds

Moment = int | str | datetime | date
"""A tick, or a timestamp: of Python, or as ISO 8601."""

_COUNT: Final = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Timing:
    """Times as users write them: ticks, durations, timestamps; and how they are written in answers.

    `zone` is the zone of the run, by its name: that of times without one, and of those in answers. `times` are written
    as numbers (`ticks`), as timestamps (`iso`), or as they came in. By the `wall` clock time passes on live streams
    while nothing comes; a stream that is `idle` for so long holds others no longer back. A row that is more than
    `max_ahead` beyond the last one is doubtful.

    >>> Timing(tick="10s", delay="1 min", last="1970-01-01T00:01:30Z").ticks()
    (None, 9, 6)
    """

    tick: Duration = "1s"
    first: Moment | None = None
    last: Moment | None = None
    delay: int | Duration = 0
    zone: str | None = None
    times: Times | None = None
    passing: Passing = "events"
    idle: Duration | None = None
    max_ahead: Duration = "1 d"
    notation: Notation = field(default_factory=Notation, compare=False, repr=False)

    @property
    def clock(self) -> Clock:
        length = milliseconds(self.tick)
        if length <= 0:
            raise ValueError("a tick must be longer than 0")
        zone = None if self.zone is None else zone_named(self.zone)
        return Clock(length, notation=self.notation, zone=zone, slack=self._duration(length) * length)

    @property
    def calendar(self) -> Calendar:
        """Which date and hour a tick is; `ValueError` where there is no such zone."""
        return Calendar(self.clock, zone_named(self.zone or "UTC"))

    @property
    def idle_seconds(self) -> float | None:
        """For how long a stream may be silent; `ValueError` where that is not a duration."""
        return None if self.idle is None else milliseconds(self.idle) / 1_000

    @property
    def max_ahead_milliseconds(self) -> int:
        """How far beyond the last one a timestamp may be; `ValueError` where that is not a duration."""
        return milliseconds(self.max_ahead)

    @property
    def format(self) -> TimeFormat:
        """How ticks are written in answers."""
        return TimeFormat(self.calendar, self.times)

    def ticks(self) -> tuple[int | None, int | None, int]:
        """First, last and delay in ticks; what cannot be understood, or does not fit together, is a `ValueError`."""
        first, last = (None if time is None else self.tick_of(time) for time in (self.first, self.last))
        if first is not None and last is not None and last < first:
            raise ValueError(f"the timeline cannot end at {last} before it begins at {first}")
        return first, last, self._duration(self.clock.tick_length)

    def tick_of(self, time: Moment, clock: Clock | None = None) -> int:
        """The tick of a moment, by a clock that may have seen others; `ValueError` where it cannot be understood.

        >>> Timing(tick="10s").tick_of("1970-01-01T00:01:30Z"), Timing(tick="10s").tick_of(7)
        (9, 7)
        """
        before = self.notation.unzoned
        tick = self._tick(time, clock or self.clock)
        # An option is a time of the run's zone, which is UTC where none is set.
        self.notation.unzoned = before if clock is None else self.notation.unzoned
        if tick < 0:
            raise ValueError(f"`{time}` is before tick 0")
        if tick >= MOST_TICKS:
            raise ValueError(f"`{time}` is beyond the last tick, {MOST_TICKS - 1}")
        return tick

    @staticmethod
    def _tick(time: Moment, clock: Clock) -> int:
        # Numbers and timestamps of numpy are written as Python's.
        text = time.isoformat() if isinstance(time, date) else str(time)
        try:
            if isinstance(time, int) or _COUNT.fullmatch(text):
                clock.notation.bare = True
                return int(text)
            return clock.tick_at(time) if isinstance(time, datetime) else clock.tick(text.removeprefix("@"))
        except SkippedTimeError:
            raise
        except ValueError:
            raise ValueError(f"`{time}` is neither a tick nor a timestamp such as `2026-01-01T12:00:00Z`") from None

    def _duration(self, tick_length: int) -> int:
        written = str(self.delay).strip()
        if isinstance(self.delay, int) or _COUNT.fullmatch(written):
            ticks, remainder = int(written), 0
        else:
            length = self.delay if isinstance(self.delay, timedelta) else written
            ticks, remainder = divmod(milliseconds(length), tick_length)
        if ticks >= FOREVER:
            raise ValueError(f"`{self.delay}` is longer than any timeline")
        if remainder or ticks < 0:
            raise ValueError(f"`{self.delay}` is not a whole number of ticks of {self.tick}")
        return ticks
