"""Timestamps that are far from those around them: a device whose clock was never set must not move the time of a run.

Each stream is looked at by itself. A row is *ahead* if it is more than `max_ahead` beyond the last accepted one, and on
a live stream beyond the machine's clock as well. It waits for the next three rows, live for a second at most:

    2026 2026 2027 2026 2026    most rows after it are nearer to the last accepted one: it is far
    2026 2026 2027 2027 2027    the stream has paused: it is accepted
    2026 2026 2027              the stream has ended: it is accepted
    1970 2026 2026              a first row waits as well: it is far if two rows agree on a time a year later
    2027 2026 2026              … or are more than `max_ahead` before it

Far facts go to the late channel, and are counted. What comes behind a row that waits, waits too, so that the order is
kept. Bare ticks mean what the user says they mean, and are not looked at.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise, repeat
from typing import Any, Final

from thalweg.dataflow.context import DAY
from thalweg.diagnostics import Diagnostic
from thalweg.model.event import Batch
from thalweg.model.time import Clock

YEAR: Final = 366 * DAY
"""Both in milliseconds."""

PATIENCE: Final = 1.0
"""Seconds for which a row of a live stream waits at most."""

_VOTES: Final = 3
_MOST: Final = 2

Timed = tuple[int, Batch] | Diagnostic


@dataclass(frozen=True, slots=True)
class Far:
    """An event that takes no part, because its time is far from those around it."""

    tick: int
    batch: Batch


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """How far from its neighbours a row may be: `max_ahead` in milliseconds, the `delay` of the run in ticks."""

    clock: Clock
    max_ahead: int = DAY
    delay: int = 0

    @property
    def ahead(self) -> int:
        """Ticks by which a row may be ahead."""
        return self.max_ahead // self.clock.tick_length

    @property
    def behind(self) -> int:
        """Ticks by which a row may be behind: where it is late at the most, it is far beyond a year."""
        return max(max(self.max_ahead, YEAR) // self.clock.tick_length, self.delay)


class PlausibleTimes:
    """The rows of one stream: which of them are accepted, which are far, and which wait.

    `now` is the tick of the machine's clock, where rows come as they are made; rows of a `live` stream may be as far
    ahead of the last one as that clock is. `last` is the last tick that was accepted. Where rows are a `fragment` of
    which it is not known what came before, one that is alone may not be ahead of the clock.

    >>> clock = Clock()
    >>> clock.notation.stamped = True
    >>> times = PlausibleTimes(TimeLimits(clock))
    >>> rows = [(0, Batch()), *((1_794_729_600 + tick, Batch()) for tick in (0, 10**8, 1, 2))]
    >>> [(type(item).__name__, times.last) for row in rows for item in times.take(row)]
    [('Far', None), ('tuple', 1794729600), ('Far', 1794729600), ('tuple', 1794729601), ('tuple', 1794729602)]
    """

    def __init__(
        self, limits: TimeLimits, now: Callable[[], int] | None = None, live: bool = False, fragment: bool = False
    ) -> None:
        self._notation = limits.clock.notation
        self._ahead = limits.ahead
        self._behind = limits.behind
        self._now = now
        self._live = live
        self._fragment = fragment
        self._held: deque[tuple[Timed, Any]] = deque()
        self.last: int | None = None

    def passes(self, item: Timed) -> bool:
        """Whether an item comes at once, as nearly all do; another one is to be held."""
        if self._held or isinstance(item, Diagnostic):
            return not self._held
        if not self._notation.stamped:
            return True
        tick, last = item[0], self.last
        if last is None or not last <= tick <= last + self._ahead:
            if self._is_doubtful(tick):
                return False
            tick = tick if last is None else max(last, tick)
        self.last = tick
        return True

    def hold(self, item: Timed, mark: Any = None) -> None:
        """An item waits; the `mark` is the caller's."""
        self._held.append((item, mark))

    def decide(self, is_over: bool = False) -> Timed | Far | None:
        """The first item that waits, if it can be decided; where waiting `is_over`, it can."""
        if not self._held:
            return None
        item = self._held[0][0]
        if isinstance(item, Diagnostic):
            return self._held.popleft()[0]
        far = self._is_far(*item, is_over)
        if far is None:
            return None
        self._held.popleft()
        if far:
            return Far(*item)
        self.last = item[0] if self.last is None else max(self.last, item[0])
        return item

    def take(self, item: Timed, mark: Any = None) -> Iterator[Timed | Far]:
        """Takes in an item; the items that are decided by it, itself included, and none while it must wait."""
        if self.passes(item):
            yield item
            return
        self.hold(item, mark)
        while (decided := self.decide()) is not None:
            yield decided

    def screen(self, items: Iterable[Timed], mark: Callable[[], Any] = lambda: None) -> Iterator[Timed | Far]:
        """Takes in items: those that are decided, new or waiting; one that must wait gets a mark."""
        for item in items:
            if self.passes(item):
                yield item
            else:
                yield from self.take(item, mark())

    def release(self) -> Iterator[Timed | Far]:
        """All that waits: nothing more is waited for."""
        while (decided := self.decide(is_over=True)) is not None:
            yield decided

    @property
    def mark(self) -> Any:
        """The mark of the first item that waits; None where none does."""
        return self._held[0][1] if self._held else None

    @property
    def is_holding(self) -> bool:
        """Whether an item waits."""
        return bool(self._held)

    def waiting(self) -> Iterator[tuple[int, Batch]]:
        """The events that wait."""
        return (item for item, _ in self._held if isinstance(item, tuple))

    def _is_doubtful(self, tick: int) -> bool:
        """Whether a tick is accepted only by the rows after it."""
        last, now = self.last, self._now
        if last is None:
            return now is None or not now() - self._behind <= tick <= now() + self._ahead
        if tick <= last + self._ahead:
            return tick < last - self._behind
        return not (self._live and now is not None and tick <= now() + self._ahead)

    def _is_far(self, tick: int, batch: Batch, is_over: bool) -> bool | None:
        """Whether the first event that waits is far; None where more rows must be seen."""
        if not self._notation.stamped or not self._is_doubtful(tick):
            return False
        votes = list(islice(self._votes(tick, batch), _VOTES))
        if self.last is None:
            return self._is_first_far(tick, votes, is_over)
        if tick < self.last:
            return True
        before = sum(vote - self.last < tick - vote for vote in votes)
        if is_over and self._live and self._now is not None and self.last <= self._now() + self._ahead:
            # A live stream that has kept to the machine's clock so far leaves it only if most rows do.
            return 2 * before >= len(votes)
        return _verdict(before, len(votes), is_over)

    def _is_first_far(self, tick: int, votes: list[int], is_over: bool) -> bool | None:
        if self._fragment and is_over and not votes and self._now is not None:
            return tick > self._now() + self._ahead
        later = sorted(vote for vote in votes if vote > tick + self._behind)
        if any(after - before <= self._ahead for before, after in pairwise(later)):
            return True
        if later and len(votes) < _VOTES and not is_over:
            return None
        return _verdict(sum(vote < tick - self._ahead for vote in votes), len(votes), is_over)

    def _votes(self, tick: int, batch: Batch) -> Iterator[int]:
        """The ticks of the rows after the first one that waits; a batch may have several."""
        # What is stated fact by fact may be one event all the same.
        yield from repeat(tick, (batch.arrived or len(batch.graphs) or 1) - 1)
        for item, _ in islice(self._held, 1, None):
            if isinstance(item, tuple):
                yield from repeat(item[0], item[1].rows_arrived or 1)


def _verdict(before: int, votes: int, is_over: bool) -> bool | None:
    """Whether most rows are before one, as soon as that is known."""
    if is_over:
        return 2 * before > votes
    if before >= _MOST:
        return True
    return False if votes - before >= _MOST else None
