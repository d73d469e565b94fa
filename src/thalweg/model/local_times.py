"""Times without a zone, as a clock on the wall shows them: which instants they are.

    02:10  02:50  02:05  02:40     in the night in which summer time ends: the clock went back before 02:05

A time that comes twice is of the first pass, unless that would be before what the same file had already, by more than
the `slack` within which a run takes rows out of order. A time that the clock skips is none.

Whole columns are converted at once: the offsets of a year are found once, and rows are looked at one by one only within
an hour that comes twice.
"""

from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from numpy.typing import NDArray

Microseconds = NDArray[np.int64]

_EPOCH: Final = datetime(1970, 1, 1)
_NONE: Final = timedelta()
_SECOND: Final = 1_000_000
_DAY: Final = 86_400 * _SECOND
_EARLIEST: Final = -62_135_596_800 * _SECOND
_LATEST: Final = 253_402_300_799 * _SECOND
"""The first and the last second of the years 1 to 9999."""
_YEARS: Final = range(2, 9_999)
"""The years whose first and last days have days around them."""


class SkippedTimeError(ValueError):
    """A time that the clocks of a zone never show."""


def zone_named(name: str) -> tzinfo:
    """The zone of a name; `ValueError` where there is none.

    >>> zone_named("UTC")
    datetime.timezone.utc
    """
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"`{name}` is not a time zone; write a name such as `Europe/Rome`") from None


def microseconds(moment: datetime) -> int:
    """The microseconds since 1970 of a moment with a zone, or those that a clock shows.

    >>> from datetime import timedelta, timezone
    >>> microseconds(datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))) < microseconds(datetime(1, 1, 1))
    True
    """
    # In UTC a moment may be outside the years that Python knows, and a difference may not.
    since = moment.replace(tzinfo=None) - _EPOCH - (moment.utcoffset() or _NONE)
    return (since.days * 86_400 + since.seconds) * _SECOND + since.microseconds


@dataclass(slots=True)
class LocalTimes:
    """Local times of one file or partition, in its order; `slack` is in microseconds.

    >>> berlin = LocalTimes(zone_named("Europe/Berlin"))
    >>> night = [datetime(2026, 10, 25, 2, minute) for minute in (10, 50, 5, 40)]
    >>> [(berlin.instant(time) // 60_000_000) % 1440 for time in night]
    [10, 50, 65, 100]
    """

    zone: tzinfo
    slack: int = 0
    latest: int | None = None
    """The latest instant among the times that come twice: all that must be known to go on."""

    def instant(self, local: datetime) -> int:
        """The microseconds since 1970 in UTC; `SkippedTimeError` where the clock never shows this time.

        One whose `fold` says so is of the second pass.
        """
        shown, offsets = microseconds(local), _offsets(self.zone, local.year)
        place = bisect_right(offsets.bounds, shown)
        if place % 2 == 0:
            return shown - offsets.values[place]
        if offsets.is_skipped[place]:
            raise SkippedTimeError(self.skipped(shown))
        first, repeats = shown - offsets.values[place], offsets.repeats[place]
        return first + repeats if local.fold else self._by_order(first, repeats)

    def instants(self, local: Microseconds) -> tuple[Microseconds, NDArray[np.int64]]:
        """The instants of local times, and the places of those that the clock never shows."""
        if not len(local):
            return local, np.zeros(0, dtype=np.int64)
        first, last = _year(int(local.min())), _year(int(local.max()))
        if first == last:
            return self._in_year(local, first)
        instants, skipped = np.empty_like(local), [np.zeros(0, dtype=np.int64)]
        years = (
            np.clip(local, _EARLIEST, _LATEST).astype("datetime64[us]").astype("datetime64[Y]").astype(np.int64) + 1970
        )
        # In the order of the rows, because an hour that comes twice may be at the turn of a year.
        for start, end in _runs(years):
            instants[start:end], missing = self._in_year(local[start:end], int(years[start]))
            skipped.append(missing + start)
        return instants, np.concatenate(skipped)

    def _in_year(self, local: Microseconds, year: int) -> tuple[Microseconds, NDArray[np.int64]]:
        offsets = _offsets(self.zone, year)
        places = np.searchsorted(offsets.bounds, [local.min(), local.max()], side="right").tolist()
        if places[0] == places[1] and places[0] % 2 == 0:
            return local - offsets.values[places[0]], np.zeros(0, dtype=np.int64)
        place = np.searchsorted(offsets.bounds, local, side="right")
        instants = local - np.array(offsets.values)[place]
        odd = np.flatnonzero(place % 2)
        skipped = odd[np.array(offsets.is_skipped)[place[odd]]]
        for row in np.setdiff1d(odd, skipped, assume_unique=True).tolist():
            instants[row] = self._by_order(int(instants[row]), offsets.repeats[place[row]])
        return instants, skipped

    def _by_order(self, first: int, repeats: int) -> int:
        """The instant of a time that comes twice: at its `first` pass, or again `repeats` later."""
        latest = self.latest
        if latest is None or abs(latest - first) > 2 * repeats:
            # What came before was of another year.
            self.latest = first
            return first
        instant = first + repeats if latest - first > min(self.slack, repeats // 2) else first
        self.latest = max(instant, latest)
        return instant

    def skipped(self, local: int) -> str:
        """The error message for a local time that does not exist."""
        text = (_EPOCH + timedelta(microseconds=local)).isoformat()
        return f"`{text}` is not a time in {self.zone}, whose clocks skip it; write the offset, as in `{text}+01:00`"


@dataclass(frozen=True, slots=True)
class _Offsets:
    """The offsets of a year by local time: those at even places lie between changes, those at odd ones are of changes.

    A change is a span of local times that come twice, `repeats` apart, or that are skipped.
    """

    bounds: tuple[int, ...]
    values: tuple[int, ...]
    is_skipped: tuple[bool, ...]
    repeats: tuple[int, ...]


@lru_cache(maxsize=1_024)
def _offsets(zone: tzinfo, year: int) -> _Offsets:
    days = _days(year)
    offsets = [_offset(zone, day) for day in days]
    bounds: list[int] = []
    values, is_skipped, repeats = [offsets[0]], [False], [0]
    for day, next_day, before, after in zip(days, days[1:], offsets, offsets[1:], strict=False):
        if before != after:
            change = _change(zone, day, next_day, before)
            bounds += sorted((change + before, change + after))
            values += [before, after]
            is_skipped += [after > before, False]
            repeats += [before - after, 0]
    return _Offsets(tuple(bounds), tuple(values), tuple(is_skipped), tuple(repeats))


def _days(year: int) -> list[int]:
    if year not in _YEARS:
        return [microseconds(datetime(min(max(year, 2), 9_998), 1, 1))]
    start = microseconds(datetime(year, 1, 1))
    return [start + day * _DAY for day in range(-2, 369)]


def _change(zone: tzinfo, before: int, after: int, offset: int) -> int:
    """The first instant, to a second, at which the offset is another one."""
    while after - before > _SECOND:
        middle = (before + after) // (2 * _SECOND) * _SECOND
        before, after = (middle, after) if _offset(zone, middle) == offset else (before, middle)
    return after


def _offset(zone: tzinfo, instant: int) -> int:
    moment = (_EPOCH + timedelta(microseconds=instant)).replace(tzinfo=UTC).astimezone(zone)
    offset = moment.utcoffset()
    assert offset is not None
    return offset // timedelta(microseconds=1)


def _year(local: int) -> int:
    return (_EPOCH + timedelta(microseconds=min(max(local, _EARLIEST), _LATEST))).year


def _runs(values: NDArray[Any]) -> list[tuple[int, int]]:
    """The spans of equal values, one after the other."""
    starts = [0, *(np.flatnonzero(values[1:] != values[:-1]) + 1).tolist()]
    return list(zip(starts, [*starts[1:], len(values)], strict=True))
