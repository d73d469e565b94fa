"""The axis of time: where marks stand, and how they are written."""

from datetime import datetime
from typing import Final

from thalweg.model.time import Calendar

_STEPS: Final = (
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000,
    900_000, 1_800_000, 3_600_000, 7_200_000, 10_800_000, 21_600_000, 43_200_000, 86_400_000, 172_800_000, 604_800_000,
)  # fmt: skip
_DAY: Final = 86_400_000


def marks(first: int, last: int, calendar: Calendar | None, most: int) -> list[tuple[int, str]]:
    """At most so many positions with their labels, at round times or numbers.

    >>> marks(0, 100, None, 6)
    [(0, '0'), (20, '20'), (40, '40'), (60, '60'), (80, '80'), (100, '100')]
    """
    span = max(1, last - first)
    step = _step(span, most, calendar is not None)
    start = -(-first // step) * step
    if calendar is None:
        return [(at, f"{at:,}" if at >= 10_000 else str(at)) for at in range(start, last + 1, step)]
    shift = _offset(first, calendar) % step
    start = -(-(first + shift) // step) * step - shift
    return [(at, label(at, calendar, step)) for at in range(start, last + 1, step)]


def _step(span: int, most: int, timed: bool) -> int:
    steps = _STEPS if timed else [base * 10**power for power in range(18) for base in (1, 2, 5)]
    return next((step for step in steps if span // step < most), _DAY * -(-span // (_DAY * most)) if timed else span)


def _offset(at: int, calendar: Calendar) -> int:
    """By how much the zone is ahead, in milliseconds, so that marks stand at round times of it."""
    moment = calendar.instant(at * 1_000)
    ahead = None if moment is None else moment.utcoffset()
    return 0 if ahead is None else round(ahead.total_seconds() * 1_000)


def label(at: int, calendar: Calendar | None, step: int = 1_000) -> str:
    """A position as people read it: as short as the step between marks allows."""
    moment = None if calendar is None else calendar.instant(at * 1_000)
    if moment is None:
        return str(at)
    if step >= _DAY:
        return f"{moment:%Y-%m-%d}"
    if step >= 60_000:
        return f"{moment:%H:%M}"
    return f"{moment:%H:%M:%S}" if step >= 1_000 else _exact(moment)


def moment_label(at: int, calendar: Calendar | None) -> str:
    """A position in full."""
    moment = None if calendar is None else calendar.instant(at * 1_000)
    return str(at) if moment is None else f"{moment:%Y-%m-%d} {_exact(moment)}"


def _exact(moment: datetime) -> str:
    return moment.time().isoformat("milliseconds" if moment.microsecond else "seconds")
