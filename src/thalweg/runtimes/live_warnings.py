"""What a live run warns of while it goes on: at once when something first happens, then once a minute while it grows.

At the end of a run, which for a live one may never come, the totals are reported all the same.
"""

from collections.abc import Callable, Iterable, Iterator
from time import monotonic
from typing import Final

from thalweg.diagnostics import Counted, Diagnostic

EVERY: Final = 60.0
"""Seconds from one count to the next."""

Counts = Callable[[], Iterable[Counted]]


class LiveWarnings:
    """Reports counts that grow; `clock` is a clock that never goes back.

    >>> moment, late = [0.0], [0]
    >>> def counts():
    ...     yield Counted("late", late[0], lambda: Diagnostic("W302", f"{late[0]} facts were late"))
    >>> warnings = LiveWarnings(lambda found: print(moment[0], found.message), lambda: moment[0])
    >>> warnings.watch(counts)
    >>> for moment[0], late[0] in ((1.0, 0), (2.0, 3), (3.0, 5), (61.0, 6), (62.0, 6), (200.0, 6)):
    ...     warnings.look()
    2.0 3 facts were late
    62.0 6 facts were late
    """

    def __init__(self, report: Callable[[Diagnostic], None], clock: Callable[[], float] = monotonic) -> None:
        self._report = report
        self._clock = clock
        self._began = clock()
        self._watched: list[Counts] = []
        self._reported: dict[object, int] = {}
        self._due: dict[object, float] = {}

    def watch(self, counts: Counts) -> None:
        """Looks at these counts, too; what they are now is known already."""
        self._watched.append(counts)
        self._reported.update((counted.what, counted.count) for counted in counts() if counted.count)

    def look(self) -> None:
        """Reports what is due."""
        for counted, due in self._grown():
            if due <= self._clock():
                self._reported[counted.what] = counted.count
                self._due[counted.what] = self._clock() + EVERY
                if (warning := counted.warning()) is not None:
                    self._report(warning)

    def pause(self) -> float | None:
        """The seconds until something is due although nothing more happens; None where nothing is."""
        now = self._clock()
        return min((max(0.0, due - now) for _, due in self._grown()), default=None)

    def _grown(self) -> Iterator[tuple[Counted, float]]:
        """The counts that have grown since they were reported, each with the time at which its warning is due."""
        for counts in self._watched:
            for counted in counts():
                if counted.count > self._reported.get(counted.what, 0):
                    yield counted, self._due.get(counted.what, self._began + counted.after)
