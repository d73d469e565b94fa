"""Timestamps that are far from all others: a device whose clock was never set must not move the time of a run.

A fact whose timestamp is more than ten years from the first one of the run goes to the late channel, and the run ends
with a warning. Bare ticks mean what the user says they mean, and are not looked at.
"""

from typing import Final

from thalweg.diagnostics import Diagnostic
from thalweg.model.time import Clock, TimeFormat

TEN_YEARS: Final = 10 * 366 * 86_400_000
"""In milliseconds."""


class FarTimes:
    """Knows the first timestamp of a run, and counts those that are far from it.

    >>> clock = Clock()
    >>> clock.notation.stamped = True
    >>> far = FarTimes(clock)
    >>> [far.meets(tick) for tick in (1_794_729_600, 1_794_729_601, 3_900_000_000, 0)]
    [False, False, True, True]
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._first: int | None = None
        self._count = 0
        self._example = ""

    def meets(self, tick: int) -> bool:
        """Whether a tick is far from the first, where ticks stand for timestamps."""
        if not self._clock.notation.stamped:
            return False
        if self._first is None:
            self._first = tick
        return abs(tick - self._first) * self._clock.tick_length > TEN_YEARS

    def add(self, tick: int, facts: list[str], times: TimeFormat) -> None:
        """Counts facts of a tick that is far."""
        if facts and not self._count:
            self._example = f"`{facts[0]} at {times.text(tick)}`"
        self._count += len(facts)

    @property
    def count(self) -> int:
        """How many facts were far."""
        return self._count

    def save(self) -> list[int | str | None]:
        """What must be remembered, as JSON."""
        return [self._first, self._count, self._example]

    def load(self, saved: list[int | str | None]) -> None:
        """Goes on where another one was saved."""
        first, count, example = saved
        self._first = None if first is None else int(first)
        self._count, self._example = int(count or 0), str(example)

    def summary(self) -> Diagnostic | None:
        """The warning at the end of a run; None where all times are near each other."""
        if not self._count:
            return None
        number = "1 fact is" if self._count == 1 else f"{self._count} facts are"
        message = f"{number} more than ten years from the first timestamp and ignored: {self._example}"
        help = "look at the clock of the device, and at the unit of the time: `at ts ms`"
        return Diagnostic("W308", message, help=help)
