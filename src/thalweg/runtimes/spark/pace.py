"""How much a batch takes, so that none takes long, however costly the rules are."""

from typing import Final

LONGEST_BATCH: Final = 10.0
"""Seconds of a batch that is too long: what a crash interrupts is reasoned about again."""
_GROWTH: Final = 8


class Pace:
    """The size of the next batch, in facts or bytes: at first, at least, and at most.

    The first batches are small. When one has taken little time, they become larger, and smaller after one that has
    taken too long; the first one of all does not count against them, because everything is started for it.

    >>> pace = Pace(5_000, 250, 100_000)
    >>> for seconds in (20.0, 1.0, 7.0, 1.5, 20.0):
    ...     pace.see(seconds)
    ...     print(pace.size, end=" ")
    5000 40000 40000 100000 50000
    """

    def __init__(self, first: int, least: int, most: int) -> None:
        self.size = min(first, most)
        self._least = least
        self._most = most
        self._begun = False

    def see(self, seconds: float) -> None:
        """A batch has taken so long."""
        if seconds < LONGEST_BATCH / 2:
            self.size *= _GROWTH
        elif seconds > LONGEST_BATCH and self._begun:
            self.size = max(self._least, int(self.size * LONGEST_BATCH / seconds))
        self.size = min(self._most, self.size)
        self._begun = True
