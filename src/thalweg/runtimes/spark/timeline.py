"""Until when everything is decided: every bucket of every stage finds it out by itself, and all find the same.

Each packer tells every bucket which ticks it has seen. Streams stand in groups: the recorded ones each in a group of
their own, because one may be read ahead of another; the live ones together, because they share the clock on the wall.

    highest of a group    the greatest tick of its events in earlier batches
    late                  an event more than the delay behind its group's highest
    decided               the ticks more than the delay behind the highest of every group that has not ended
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(slots=True)
class Timeline:
    """What is known of time; `first` is that of the settings until events tell it.

    >>> time = Timeline(groups=1, delay=2)
    >>> time.see(0, np.array([5, 9]), ended=False)
    >>> time.settle(); time.first, time.decided
    (5, 6)
    >>> time.is_late(0, 6), time.is_late(0, 7)
    (True, False)
    """

    groups: int
    delay: int
    first: int | None = None
    last: int | None = None
    highest: dict[int, int] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    lowest: int | None = None
    decided: int | None = None
    cut_short: bool = False
    _fresh: dict[int, int] = field(default_factory=dict)

    def watermark(self, group: int) -> int | None:
        """Events of a group before this tick are late."""
        highest = self.highest.get(group)
        return None if highest is None else highest - self.delay

    def is_late(self, group: int, tick: int) -> bool:
        watermark = self.watermark(group)
        return watermark is not None and tick < watermark

    def see(self, group: int, ticks: NDArray[np.int64], ended: bool) -> None:
        """Hears of a packer's ticks; they count from the next batch on."""
        watermark = self.watermark(group)
        if watermark is not None:
            ticks = ticks[ticks >= watermark]
        if len(ticks):
            low, high = int(ticks.min()), int(ticks.max())
            self._fresh[group] = max(high, self._fresh.get(group, high))
            if self.first is None or low >= self.first:
                self.lowest = low if self.lowest is None else min(low, self.lowest)
        if ended:
            self.ended.add(group)

    def settle(self) -> None:
        """Ends a batch: what it brought moves the watermark."""
        for group, high in self._fresh.items():
            self.highest[group] = max(high, self.highest.get(group, high))
        self._fresh.clear()
        target = self._target()
        if target is None:
            return
        if self.first is None and self.lowest is not None and self.lowest <= target:
            self.first = self.lowest
        if self.first is not None and target >= self.first:
            self.decided = target if self.decided is None else max(target, self.decided)

    @property
    def is_over(self) -> bool:
        return len(self.ended) == self.groups

    def _target(self) -> int | None:
        if self.is_over:
            if self.last is not None and not self.cut_short:
                return self.last
            highest = max(self.highest.values(), default=None)
            target = None if highest is None else max(highest, self.first or 0)
            return target if target is None or self.last is None else min(target, self.last)
        flowing = [group for group in range(self.groups) if group not in self.ended]
        if any(group not in self.highest for group in flowing):
            return None
        target = min(self.highest[group] for group in flowing) - self.delay - 1
        return target if self.last is None else min(target, self.last)

    def save(self) -> dict[str, Any]:
        return {
            "first": self.first,
            "highest": sorted(self.highest.items()),
            "ended": sorted(self.ended),
            "lowest": self.lowest,
            "decided": self.decided,
            "cut_short": self.cut_short,
        }

    def load(self, saved: dict[str, Any]) -> None:
        self.first, self.lowest, self.decided = saved["first"], saved["lowest"], saved["decided"]
        self.highest, self.ended = dict(saved["highest"]), set(saved["ended"])
        self.cut_short = saved["cut_short"]
