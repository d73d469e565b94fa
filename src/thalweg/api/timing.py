"""Times as users write them."""

import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from thalweg.model.time import FOREVER, Calendar, Clock, Duration, Notation, TimeFormat, milliseconds

Moment = int | str | datetime | date
"""A tick, or a timestamp: of Python, or as ISO 8601."""

_COUNT: Final = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Timing:
    """Times as users write them: ticks, durations, timestamps; and how they are written in answers.

    `zone` is the zone of the run, by its name; `times` are written as numbers (`ticks`), as timestamps (`iso`), or as
    they came in. By the `wall` clock time passes on live streams while nothing comes; a stream that is `idle` for so
    long holds others no longer back. A row that is more than `max_ahead` beyond the last one is doubtful.

    >>> Timing(tick="10s", delay="1 min", last="1970-01-01T00:01:30Z").ticks()
    (None, 9, 6)
    """

    tick: Duration = "1s"
    first: Moment | None = None
    last: Moment | None = None
    delay: int | Duration = 0
    zone: str = "UTC"
    times: Literal["iso", "ticks"] | None = None
    passing: Literal["events", "wall"] = "events"
    idle: Duration | None = None
    max_ahead: Duration = "1 d"
    notation: Notation = field(default_factory=Notation, compare=False, repr=False)

    @property
    def clock(self) -> Clock:
        length = milliseconds(self.tick)
        if length <= 0:
            raise ValueError("a tick must be longer than 0")
        return Clock(length, notation=self.notation)

    @property
    def calendar(self) -> Calendar:
        """Which date and hour a tick is; `ValueError` where there is no such zone."""
        return Calendar(self.clock, _zone(self.zone))

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
        clock = self.clock
        first, last = (None if time is None else self.tick_of(time) for time in (self.first, self.last))
        if first is not None and last is not None and last < first:
            raise ValueError(f"the timeline cannot end at {last} before it begins at {first}")
        return first, last, self._duration(clock)

    def tick_of(self, time: Moment) -> int:
        """The tick of a moment; `ValueError` where it cannot be understood.

        >>> Timing(tick="10s").tick_of("1970-01-01T00:01:30Z"), Timing(tick="10s").tick_of(7)
        (9, 7)
        """
        clock = self.clock
        # Numbers and timestamps of numpy are written as Python's.
        text = time.isoformat() if isinstance(time, date) else str(time)
        try:
            if isinstance(time, int) or _COUNT.fullmatch(text):
                clock.notation.bare = True
                tick = int(text)
            else:
                tick = clock.tick(text.removeprefix("@"))
        except ValueError:
            raise ValueError(f"`{time}` is neither a tick nor a timestamp such as `2026-01-01T12:00:00Z`") from None
        if tick < 0:
            raise ValueError(f"`{time}` is before tick 0")
        if tick >= FOREVER:
            raise ValueError(f"`{time}` is beyond the last tick, {FOREVER - 1}")
        return tick

    def _duration(self, clock: Clock) -> int:
        written = str(self.delay).strip()
        if isinstance(self.delay, int) or _COUNT.fullmatch(written):
            ticks, rest = int(written), 0
        else:
            length = self.delay if isinstance(self.delay, timedelta) else written
            ticks, rest = divmod(milliseconds(length), clock.tick_length)
        if ticks >= FOREVER:
            raise ValueError(f"`{self.delay}` is longer than any timeline")
        if rest or ticks < 0:
            raise ValueError(f"`{self.delay}` is not a whole number of ticks of {self.tick}")
        return ticks


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"`{name}` is not a time zone; write a name such as `Europe/Rome`") from None
