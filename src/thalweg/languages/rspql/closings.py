"""When the windows of a query close.

    [RANGE a, SLIDE b]          closes at   t1+a-1, t1+a-1+b, t1+a-1+2b …      t1 is the first tick of the run
    [RANGE a, SLIDE b] ALIGN    closes at   the multiples of b from t1+a-1 on

The window that closes at `c` shows the ticks `[c-a+1, c]`, so every window that is shown is full. Aligned windows count
from the epoch, which is where full hours and days begin; those that would begin before `t1` are left out like others
that are not full.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import merge

from thalweg.languages.rspql.query import StreamWindow


@dataclass(frozen=True, slots=True)
class Closings:
    """The closing ticks of one window: every `slide` ticks from the `first` one on.

    >>> closings = Closings(first=12, size=3, slide=2)
    >>> list(closings.between(0, 17)), closings.latest(15), closings.latest(11)
    ([12, 14, 16], 14, None)
    """

    first: int
    size: int
    slide: int

    def between(self, start: int, end: int) -> range:
        """The closing ticks from one tick to another, both included."""
        behind = max(0, -((self.first - start) // self.slide))
        return range(self.first + behind * self.slide, end + 1, self.slide)

    def latest(self, tick: int) -> int | None:
        """The last closing tick up to a tick; None before the first."""
        return None if tick < self.first else tick - (tick - self.first) % self.slide

    def shows(self, tick: int) -> tuple[int, int] | None:
        """The first and the last closing tick whose windows show a fact of a tick; None where no window does.

        A fact stays in the dataset until the window closes again: with a slide of more than one tick, longer than its
        last closing tick.

        >>> Closings(12, 3, 2).shows(13), Closings(12, 3, 5).shows(13)
        ((14, 14), None)
        """
        begin = self.first if tick <= self.first else tick + (self.first - tick) % self.slide
        end = self.latest(tick + self.size - 1)
        return None if end is None or end < begin else (begin, end)

    def gone(self, tick: int) -> int | None:
        """The first closing tick whose window shows a fact of a tick no more; None where no window ever did.

        >>> Closings(12, 3, 2).gone(13)
        16
        """
        shown = self.shows(tick)
        return None if shown is None else shown[1] + self.slide


def closings_of(window: StreamWindow, first: int) -> Closings:
    """The closing ticks of a window in a run that begins at a tick.

    >>> [closings_of(StreamWindow("<w>", "s", 10, 5, aligned), 3).first for aligned in (False, True)]
    [12, 15]
    """
    full = first + window.range - 1
    return Closings(full + -full % window.slide if window.aligned else full, window.range, window.slide)


def evaluation_ticks(all_closings: Iterable[Closings], start: int, end: int) -> Iterator[int]:
    """The ticks from one to another at which some window closes, in order and each once.

    >>> list(evaluation_ticks([Closings(2, 3, 2), Closings(3, 4, 3)], 0, 9))
    [2, 3, 4, 6, 8, 9]
    """
    last = None
    for tick in merge(*(closings.between(start, end) for closings in all_closings)):
        if tick != last:
            yield tick
        last = tick
