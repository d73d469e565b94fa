"""How far time is decided, and which events are late.

Streams stand in groups; those of one group share a clock. A group may rest, as one that is silent: it holds nothing
back, and what it brings is late where others have gone on.

    watermark of a group    the highest tick of its events so far, less the delay
    late                    an event of a tick before the watermark of its group
    decided                 every tick before the watermarks of all groups that have not ended; in the end, every tick
    far                     an event whose time is far from those around it (`plausible_times`): it takes no part

Where one process reads all events, each settles the watermark for those after it (`meet`): whether an event is late
depends on the events before it and on nothing else, so a stream gives the same answers however it is cut. On Spark
buckets `judge` columns of facts. Where they read the parts of a table, each sees the ticks of a batch in any order and
settles once a batch; all buckets see the same ticks, so all agree. Where tasks read blocks of streams, blocks have an
order, and all buckets see the ticks of all of them in that order: an event is late by those of its group before it, and
by what earlier batches have decided (`before_next`), its ticks count for those behind it (`see_next`), and time ends
where a block cannot be read on (`cut`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from thalweg.model.time import FOREVER, NEVER

Ticks = NDArray[np.int64]
Mask = NDArray[np.bool_]

FAR: Final = FOREVER
"""Beyond all watermarks: added to the one that a far event met, so that it is late whatever its time says."""


@dataclass(slots=True)
class Watermark:
    """What is known of time; `first` and `last` are the ticks that a user asked for, where there are such.

    >>> watermark = Watermark(delay=2)
    >>> [tick < watermark.meet(tick) for tick in (5, 7, 6, 8, 5)]
    [False, False, False, False, True]
    >>> watermark.start, watermark.decided
    (5, 5)
    """

    delay: int = 0
    first: int | None = None
    last: int | None = None
    groups: int = 1
    reached: int = NEVER
    """Every tick up to this one is decided, whether or not the timeline has begun."""
    bounds: tuple[int, int] = (0, FOREVER)
    """The first and the last tick asked for; events outside take no part, and are not late."""
    _lowest: int = FOREVER
    _highest: list[int] = field(default_factory=list)
    _fresh: dict[int, int] = field(default_factory=dict)
    _ended: set[int] = field(default_factory=set)
    _resting: frozenset[int] = frozenset()
    _cut_short: bool = False
    _closed: int = NEVER
    """The highest tick when all were closed, where nothing has come since: then watermarks are beyond it."""
    _cut: tuple[int, int] | None = None
    """The tick and the group at which the input was cut short, where other groups may have to come to it."""

    def __post_init__(self) -> None:
        self.bounds = self.first or 0, FOREVER if self.last is None else self.last
        self._highest = [NEVER] * self.groups

    @property
    def start(self) -> int | None:
        """The first tick: that of the user, or that of the first event; None while it is not known."""
        if self.first is not None:
            return self.first
        return self._lowest if self._lowest <= self.reached else None

    @property
    def decided(self) -> int | None:
        """The last tick of the timeline that is decided; None where there is none."""
        start = self.start
        return None if start is None or self.reached < start else self.reached

    @property
    def highest(self) -> int:
        """The highest tick seen."""
        return max(self._highest)

    @property
    def highs(self) -> tuple[int, ...]:
        """The highest tick of each group."""
        return tuple(self._highest)

    @property
    def is_complete(self) -> bool:
        """Whether every tick up to the last that was asked for is decided."""
        return self.reached == self.last

    @property
    def is_over(self) -> bool:
        """Whether all groups have ended."""
        return len(self._ended) == self.groups

    def has_ended(self, group: int) -> bool:
        """Whether no more events of a group will come."""
        return group in self._ended

    def of(self, group: int = 0) -> int:
        """Events of a group before this tick are late."""
        return self._highest[group] - self.delay

    def late_before(self, group: int) -> int:
        """Events of a group before this tick are late, also because of what was decided while the group was silent."""
        return max(self.of(group), self.reached + 1)

    def meet(self, tick: int, group: int = 0) -> int:
        """Sees one event and settles; the watermark that it met: it is late if its tick is before that."""
        highest = self._highest[group]
        if tick > highest:
            self._highest[group] = tick
            self._decide()
        if highest - self.delay <= tick < self._lowest:
            self._lowest = tick
        return highest - self.delay

    def meet_in(self, group: int | None, tick: int) -> int:
        """Sees one event of a group, or of all groups where it is None, and settles; the watermark that it met.

        What was decided while the group was silent stays decided.
        """
        if group is not None:
            return max(self.meet(tick, group), self.reached + 1)
        return max(min(self.meet(tick, number) for number in range(self.groups)), self.reached + 1)

    def judge(self, ticks: Ticks, met: Ticks, least: int, group: int) -> tuple[Mask, Mask, Ticks]:
        """Which of many facts of a group are on time, which are late, and the watermarks that they met, as columns.

        `met` has those that are known, or nothing; all have met at least the `least`.
        """
        met = np.where(met >= FAR, np.maximum(met, FAR + least), np.maximum(met, least)) if len(met) else met
        met = met if len(met) else np.full(len(ticks), least, dtype=np.int64)
        first, last = self.bounds
        wanted, late = (ticks >= first) & (ticks <= last), ticks < met
        wanted &= self.before_cut(ticks, group)
        return wanted & ~late, wanted & late, met

    def before_cut(self, ticks: Ticks, group: int) -> Mask:
        """Which facts of a group take part, although the input was cut short."""
        if self._cut is None:
            return np.ones(len(ticks), dtype=bool)
        tick, last_group = self._cut
        return ticks < tick + (group <= last_group)

    def before_next(self, group: int) -> int:
        """Events of a group before this tick are late, where all that came before them has been seen in order.

        What was decided while the group was silent stays decided.
        """
        return max(max(self._highest[group], self._fresh.get(group, NEVER)) - self.delay, self.reached + 1)

    def see_next(self, group: int, ticks: Ticks) -> None:
        """Sees ticks of events that come behind all that were seen of a group; they count once `settle` is called."""
        ticks = ticks[ticks >= self.before_next(group)]
        if len(ticks):
            self._fresh[group] = max(int(ticks.max()), self._fresh.get(group, NEVER))
            ticks = ticks[self.before_cut(ticks, group)]
            self._lowest = min(int(ticks.min(initial=FOREVER)), self._lowest)

    def cut(self, group: int, high: int) -> None:
        """A group cannot be read behind its highest tick: what others have behind it takes no part.

        Time ends there as soon as all others have come to it.
        """
        self._cut = (high, group) if self._cut is None else min(self._cut, (high, group))
        self.end(group, cut_short=True)

    def see(self, group: int, ticks: Ticks) -> None:
        """Sees the ticks of many events, in any order; they count once `settle` is called."""
        ticks = ticks[ticks >= self.late_before(group)]
        if len(ticks):
            self._lowest = min(int(ticks.min()), self._lowest)
            self._fresh[group] = max(int(ticks.max()), self._fresh.get(group, NEVER))

    def close_up_to(self, tick: int, group: int = 0) -> None:
        """No more events of a group will come for a tick, nor for those before it: they would be late."""
        self._fresh.pop(group, None)
        self._highest[group] = max(self._highest[group], tick + 1 + self.delay)
        self._decide()

    def close(self) -> None:
        """Closes every tick up to the highest seen, in all groups: what comes later for one of them is late.

        >>> watermark = Watermark(delay=2)
        >>> watermark.see(0, np.array([5, 4]))
        >>> watermark.settle()
        >>> watermark.close()
        >>> watermark.decided, watermark.late_before(0)
        (5, 6)
        """
        highest = self.highest
        if highest > NEVER:
            self._closed = self.seen
            for group in range(self.groups):
                self.close_up_to(highest, group)

    @property
    def seen(self) -> int:
        """The highest tick of which there may have been events."""
        return self.highest if self._closed == NEVER else self._closed

    def widen(self, groups: int) -> None:
        """There are so many groups, before the first event, or as there were when it was saved."""
        if len(self._highest) < groups:
            self._highest += [NEVER] * (groups - len(self._highest))
            self.groups = groups

    def regroup(self, places: Sequence[int | None], goes_on: bool) -> None:
        """There are other groups: each has the place of an earlier one, or none where it is new.

        What was decided stays so. The last group `goes_on` although it had ended.
        """
        ended = {number for number, place in enumerate(places) if place in self._ended}
        self._ended = ended - {len(places) - 1} if goes_on else ended
        self._highest = [NEVER if place is None else self._highest[place] for place in places]
        self.groups = len(places)
        self._decide()

    def resume(self, reached: int) -> None:
        """Goes on where every tick up to one was decided."""
        self.reached = max(self.reached, reached)

    def unseen(self, groups: frozenset[int]) -> frozenset[int]:
        """Those of some groups that have brought nothing yet."""
        return frozenset(group for group in groups if self._highest[group] == NEVER and group not in self._fresh)

    def rest(self, groups: frozenset[int]) -> None:
        """These groups rest from now on, and no others do."""
        if groups != self._resting:
            self._resting = groups
            self._decide()

    def end(self, group: int = 0, cut_short: bool = False) -> None:
        """No more events of a group will come; an input that was cut short says nothing about later ticks."""
        self._ended.add(group)
        self._cut_short |= cut_short

    def settle(self) -> None:
        """What has been seen moves the watermarks."""
        self._closed = NEVER if self._fresh else self._closed
        for group, high in self._fresh.items():
            self._highest[group] = max(high, self._highest[group])
        self._fresh.clear()
        self._decide()

    def _decide(self) -> None:
        first, last = self.bounds
        flowing = self._highest
        if self._ended or self._resting:
            flowing = [high for group, high in enumerate(flowing) if group not in self._ended]
            awake = [high for group, high in enumerate(self._highest) if group not in self._ended | self._resting]
            # Where all rest, time is where the latest of them has left it.
            flowing = awake or [max(flowing)] if flowing else []
        if flowing:
            # What was decided stays so, whoever wakes up.
            reached = max(self.reached, min(flowing) - self.delay - 1)
        elif self.last is not None and not self._cut_short:
            reached = last
        else:
            reached = NEVER if self.highest == NEVER else max(self.highest, first)
        if self._cut is not None and (reached >= self._cut[0] or not flowing):
            self._ended = {*range(self.groups)}
            reached = self._cut[0] if self._cut[0] == NEVER else max(self._cut[0], first)
        self.reached = min(reached, last)

    def save(self) -> dict[str, Any]:
        """What must be remembered."""
        state = {
            "reached": self.reached,
            "lowest": self._lowest,
            "highest": self._highest,
            "ended": sorted(self._ended),
            "cut_short": self._cut_short,
        }
        if self._closed != NEVER:
            state |= {"closed": self._closed}
        if self._cut is not None:
            state |= {"cut": self._cut}
        return state

    def load(self, saved: dict[str, Any]) -> None:
        """Goes on where another one was saved."""
        self.reached = saved.get("reached", NEVER)
        self._lowest, self._highest = saved["lowest"], list(saved["highest"])
        self.groups = max(self.groups, len(self._highest))
        self._ended, self._cut_short = set(saved["ended"]), saved["cut_short"]
        self._closed = saved.get("closed", NEVER)
        self._cut = tuple(saved["cut"]) if "cut" in saved else None
        self._decide()
