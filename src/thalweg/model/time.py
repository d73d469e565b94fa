"""Ticks, durations and the clock that turns timestamps into ticks."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, Literal

from thalweg.model.local_times import LocalTimes, microseconds, zone_named
from thalweg.model.timestamps import read_timestamp

UNITS: Final = {
    "ms": 1,
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1_000),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000),
    **dict.fromkeys(("week", "weeks"), 604_800_000),
}
FOREVER: Final = 2**62
MOST_TICKS: Final = 2**61
"""Ticks of facts are below it, since rules may read them as numbers, which have 62 bits with their sign."""
Duration = str | timedelta
"""`"5 min"`, or a duration of Python."""
_TICK: Final = re.compile(r"(?:(?<=at )|(?<=until )|(?<=since ))[0-9]+\b")
NEVER: Final = -1


@dataclass(slots=True)
class Notation:
    """How the times that a run reads are written: as timestamps, as bare ticks; both together are an error."""

    stamped: bool = False
    bare: bool = False
    unzoned: bool = False
    """Whether timestamps without a zone were taken as UTC because no zone was set."""

    @property
    def is_mixed(self) -> bool:
        return self.stamped and self.bare


@dataclass(frozen=True, slots=True)
class Clock:
    """Maps timestamps to ticks: `floor((timestamp - epoch) / tick_length)`, both in milliseconds.

    Readers note in `notation` whether they meet timestamps or ticks. Those without a zone are local times of `zone`,
    and are taken as UTC where there is none; out of order within `slack` milliseconds are those of one file.

    >>> Clock(tick_length=1000).tick("1970-01-01T00:01:30Z")
    90
    """

    tick_length: int = 1_000
    epoch: int = 0
    notation: Notation = field(default_factory=Notation, compare=False, repr=False)
    zone: tzinfo | None = field(default=None, compare=False, repr=False)
    slack: int = field(default=0, compare=False, repr=False)
    _local: dict[str, LocalTimes] = field(default_factory=dict, compare=False, repr=False)
    """The local times of one file or partition, by zone."""

    def tick(self, timestamp: str) -> int:
        """The tick of an `xsd:dateTime`; `SkippedTimeError` where it is local and no clock shows it."""
        return self.tick_at(read_timestamp(timestamp))

    def tick_at(self, moment: datetime) -> int:
        """The tick of a moment of Python."""
        since = round(self.instant(moment) / 1_000)
        self.notation.stamped = True
        return (since - self.epoch) // self.tick_length

    def instant(self, moment: datetime) -> int:
        """The microseconds since 1970 of a moment, which is local where it has no zone."""
        if moment.tzinfo is not None:
            return microseconds(moment)
        local = self.local()
        if local is not None:
            return local.instant(moment)
        self.notation.unzoned = True
        return microseconds(moment)

    def local(self, zone: tzinfo | None = None) -> LocalTimes | None:
        """The local times of what is read, in the zone of the run or another one; None where none is known."""
        zone = zone or self.zone
        if zone is None:
            return None
        name = str(zone)
        if name not in self._local:
            self._local[name] = LocalTimes(zone, self.slack * 1_000)
        return self._local[name]

    def of_file(self, zone: tzinfo | None = None) -> "Clock":
        """The clock for a file or partition, whose local times have an order, and may have a zone, of their own."""
        return replace(self, zone=zone or self.zone, _local={})

    def save(self) -> dict[str, int]:
        """How far the local times of each zone are, where their order matters."""
        return {name: latest for name, local in self._local.items() if (latest := local.latest) is not None}

    def load(self, saved: Mapping[str, int]) -> None:
        """Goes on, or begins again, where local times were so far."""
        for name in {*self._local, *saved}:
            local = self.local(zone_named(name))
            assert local is not None
            local.latest = saved.get(name)


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


@dataclass(frozen=True, slots=True)
class TimeFormat:
    """How ticks are written in what is output: as numbers, or as the first instant of the tick.

    Without `times`, as timestamps where a stream had timestamps; ticks outside the calendar stay numbers.

    >>> times = TimeFormat(Calendar(), "iso")
    >>> times.text(90), times.json(90), TimeFormat().json(90)
    ('1970-01-01T00:01:30Z', '"1970-01-01T00:01:30Z"', '90')
    """

    calendar: Calendar = Calendar()
    times: Literal["iso", "ticks"] | None = None

    @property
    def iso(self) -> bool:
        """Whether ticks are written as timestamps."""
        return self.times == "iso" or (self.times is None and self.calendar.clock.notation.stamped)

    def text(self, tick: int) -> str:
        """A tick as people read it."""
        moment = self.calendar.moment(tick) if self.iso else None
        return str(tick) if moment is None else _iso(moment)

    def json(self, tick: int) -> str:
        """A tick as JSON."""
        moment = self.calendar.moment(tick) if self.iso else None
        return str(tick) if moment is None else f'"{_iso(moment)}"'

    def data(self, tick: int) -> int | str:
        """A tick as a value of JSON."""
        return self.text(tick) if self.iso and self.calendar.moment(tick) is not None else tick

    def moment(self, tick: int) -> str | None:
        """The first instant of a tick, whether or not ticks are written so; None outside the calendar."""
        moment = self.calendar.moment(tick)
        return None if moment is None else _iso(moment)

    def atom(self, tick: int) -> str:
        """A tick as fact streams write it: `36`, or `@2026-11-15T08:00:03Z`."""
        moment = self.calendar.moment(tick) if self.iso else None
        return str(tick) if moment is None else f"@{_iso(moment)}"

    def at_end(self, text: str) -> str:
        """A text such as `p(a) at 5` whose last word is a tick, with that tick as it is written here.

        >>> TimeFormat(Calendar(), "iso").at_end("p(a) at 5")
        'p(a) at 1970-01-01T00:00:05Z'
        """
        beginning, at, tick = text.rpartition(" at ")
        return f"{beginning} at {self.text(int(tick))}" if self.iso and at and tick.isdecimal() else text

    def in_words(self, sentence: str) -> str:
        """A sentence with the ticks that it names behind `at`, `until` and `since`; what is quoted stays as it is.

        >>> TimeFormat(Calendar(), "iso").in_words("`p at 1` came at 5")
        '`p at 1` came at 1970-01-01T00:00:05Z'
        """
        if not self.iso:
            return sentence
        parts = sentence.split("`")
        parts[::2] = [_TICK.sub(lambda match: self.text(int(match[0])), part) for part in parts[::2]]
        return "`".join(parts)


def _iso(moment: datetime) -> str:
    written = moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds")
    return f"{written[:-6]}Z" if moment.tzinfo is UTC else written


AS_TICKS: Final = TimeFormat(times="ticks")
"""Numbers everywhere."""


def milliseconds(text: Duration) -> int:
    """A duration as typed on the command line or in a window, or one of Python.

    >>> milliseconds("1s"), milliseconds("10 min"), milliseconds(timedelta(minutes=10))
    (1000, 600000, 600000)
    """
    if isinstance(text, timedelta):
        count, remainder = divmod(text, timedelta(milliseconds=1))
        if remainder or count < 0:
            raise ValueError(f"`{text}` is not a duration in whole milliseconds")
        return count
    match = re.fullmatch(r"\s*([0-9]{1,18})\s*([a-z]+)\s*", str(text))
    if not match or match.group(2) not in UNITS:
        raise ValueError(f"`{text}` is not a duration; write a number and one of {' '.join(UNITS)}, as in `10 s`")
    return int(match.group(1)) * UNITS[match.group(2)]
