"""Ticks, durations and the clock that turns timestamps into ticks."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

UNITS: Final = {
    "ms": 1,
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1_000),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000),
    **dict.fromkeys(("week", "weeks"), 604_800_000),
}
FOREVER: Final = 2**62
NEVER: Final = -1


@dataclass(frozen=True, slots=True)
class Clock:
    """Maps timestamps to ticks: `floor((timestamp - epoch) / tick_length)`, both in milliseconds.

    >>> Clock(tick_length=1000).tick("1970-01-01T00:01:30Z")
    90
    """

    tick_length: int = 1_000
    epoch: int = 0

    def tick(self, timestamp: str) -> int:
        """The tick of an `xsd:dateTime`; one without a zone is read as UTC."""
        moment = datetime.fromisoformat(timestamp)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        milliseconds = round(moment.timestamp() * 1_000)
        return (milliseconds - self.epoch) // self.tick_length


@dataclass(frozen=True, slots=True)
class Calendar:
    """Which date and hour a tick is: its first instant, in the zone of the run.

    >>> Calendar().moment(90)
    datetime.datetime(1970, 1, 1, 0, 1, 30, tzinfo=datetime.timezone.utc)
    """

    clock: Clock = Clock()
    zone: tzinfo = UTC

    def moment(self, tick: int) -> datetime | None:
        """The first instant of a tick; None outside the years 1 to 9999."""
        return self.instant((tick * self.clock.tick_length + self.clock.epoch) * 1_000)

    def instant(self, microseconds: int) -> datetime | None:
        """A moment given in microseconds since 1970, in the zone of the run."""
        try:
            return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)).astimezone(self.zone)
        except (OverflowError, ValueError):
            return None


def milliseconds(text: str) -> int:
    """A duration as typed on the command line or in a window.

    >>> milliseconds("1s"), milliseconds("10 min")
    (1000, 600000)
    """
    found = re.fullmatch(r"\s*([0-9]{1,18})\s*([a-z]+)\s*", text)
    if not found or found.group(2) not in UNITS:
        raise ValueError(f"`{text}` is not a duration; write a number and one of {' '.join(UNITS)}, as in `10 s`")
    return int(found.group(1)) * UNITS[found.group(2)]
