"""How far time is settled: which events are late, and up to which tick everything is decided.

Streams stand in groups; those of one group share a clock. A group may rest, as one that is silent: it holds nothing
back, and what it brings is late where others have gone on.

    watermark of a group    the highest tick of its events so far, less the delay
    late                    an event of a tick before the watermark of its group
    decided                 every tick before the watermarks of all groups that have not ended; in the end, every tick

Where one process reads all events, each settles the watermark for those after it (`meet`): whether an event is late
depends on the events before it and on nothing else, so a stream gives the same answers however it is cut. On Spark one
process reads the events, too, and buckets `follow` what it has decided. Where buckets read the parts of a table, each
sees the ticks of a batch in any order and settles once a batch; all buckets see the same ticks, so all agree.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.model.time import FOREVER, NEVER


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
    _followed: int | None = None

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
        groups = range(self.groups) if group is None else (group,)
        return max(min(self.meet(tick, number) for number in groups), self.reached + 1)

    def see(self, group: int, ticks: NDArray[np.int64]) -> None:
        """Sees the ticks of many events, in any order; they count once `settle` is called."""
        if self._followed is None:
            ticks = ticks[ticks >= self.late_before(group)]
        if len(ticks):
            self._lowest = min(int(ticks.min()), self._lowest)
            self._fresh[group] = max(int(ticks.max()), self._fresh.get(group, NEVER))

    def close_up_to(self, tick: int, group: int = 0) -> None:
        """No more events of a group will come for a tick, nor for those before it: they would be late."""
        self._fresh.pop(group, None)
        self._highest[group] = max(self._highest[group], tick + 1 + self.delay)
        self._decide()

    def widen(self, groups: int) -> None:
        """There are so many groups, before the first event, or as there were when it was saved."""
        if len(self._highest) < groups:
            self._highest += [NEVER] * (groups - len(self._highest))
            self.groups = groups

    def resume(self, reached: int, highest: tuple[int, ...]) -> None:
        """Goes on where every tick up to one was decided, and groups had come to their highest ticks."""
        self.reached = max(self.reached, reached)
        for group, tick in enumerate(highest[: self.groups]):
            self._highest[group] = max(self._highest[group], tick)
        self._decide()

    def rest(self, groups: frozenset[int]) -> None:
        """These groups rest from now on, and no others do."""
        if groups != self._resting:
            self._resting = groups
            self._decide()

    def end(self, group: int = 0, cut_short: bool = False) -> None:
        """No more events of a group will come; an input that was cut short says nothing about later ticks."""
        self._ended.add(group)
        self._cut_short |= cut_short

    def follow(self, reached: int) -> None:
        """Another one has decided every tick up to this one, and no others until it says so, or all groups end."""
        self._followed = max(reached, NEVER if self._followed is None else self._followed)

    def settle(self) -> None:
        """What has been seen moves the watermarks."""
        for group, high in self._fresh.items():
            self._highest[group] = max(high, self._highest[group])
        self._fresh.clear()
        self._decide()

    def _decide(self) -> None:
        first, last = self.bounds
        if self._followed is not None and not self.is_over:
            self.reached = min(self._followed, last)
            return
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
        self.reached = min(reached, last)

    def save(self) -> dict[str, Any]:
        """What must be remembered."""
        state = {
            "lowest": self._lowest,
            "highest": self._highest,
            "ended": sorted(self._ended),
            "cut_short": self._cut_short,
        }
        return state if self._followed is None else state | {"followed": self._followed}

    def load(self, saved: dict[str, Any]) -> None:
        """Goes on where another one was saved."""
        self._lowest, self._highest = saved["lowest"], list(saved["highest"])
        self._ended, self._cut_short = set(saved["ended"]), saved["cut_short"]
        self._followed = saved.get("followed")
        self._decide()
