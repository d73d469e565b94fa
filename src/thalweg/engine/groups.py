"""Aggregates, maintained from the elements that came and went.

`count`, `sum` and `avg` keep totals; `min` and `max` keep a heap from which what is gone is dropped when it reaches the
top. All are exact: numbers are added as Python integers of one scale, so that a million additions and subtractions
leave no dust behind.
"""

import heapq
from collections import Counter
from dataclasses import dataclass, field
from functools import cmp_to_key
from typing import Any

from thalweg.model.number import DIVIDE, LARGEST_SCALE, NO_VALUE, calculate, mantissa, order, scale, word_of

Words = tuple[int, ...]
_SPARE = 32


def _ascending(one: int, other: int) -> int:
    return order(one, other) or one - other


def _descending(one: int, other: int) -> int:
    """By value; of equal numbers still the smaller word first."""
    return order(other, one) or one - other


_KEYS = {"min": cmp_to_key(_ascending), "max": cmp_to_key(_descending)}


@dataclass(slots=True)
class Group:
    """The state of one aggregate for one group."""

    function: str
    elements: int = 0
    numbers: int = 0
    digits: int = 0
    present: Counter[int] = field(default_factory=Counter)
    heap: list[Any] = field(default_factory=list)

    def add(self, word: int) -> None:
        self._change(word, 1)
        if self.function in ("min", "max") and word & 3:
            if word not in self.present:
                heapq.heappush(self.heap, self._ordered(word))
            self.present[word] += 1

    def remove(self, word: int) -> None:
        self._change(word, -1)
        if self.function in ("min", "max") and word & 3:
            self.present[word] -= 1
            if len(self.heap) > 2 * self.numbers + _SPARE:
                self._tidy()

    def _ordered(self, word: int) -> Any:
        return _KEYS[self.function](word)

    def _tidy(self) -> None:
        """Drops what is gone also where it would never reach the top, so that the heap follows the group."""
        self.present = +self.present
        self.heap = [self._ordered(word) for word in self.present]
        heapq.heapify(self.heap)

    def _change(self, word: int, sign: int) -> None:
        self.elements += sign
        if word & 3:
            self.numbers += sign
            if self.function in ("sum", "avg"):
                self.digits += sign * mantissa(word) * 10 ** (LARGEST_SCALE - scale(word))

    def value(self) -> int:
        """The aggregate's word, or NO_VALUE where it has none."""
        if not self.elements:
            return NO_VALUE
        match self.function:
            case "count":
                return self.elements << 2 | 1
            case "sum":
                return word_of(self.digits, LARGEST_SCALE)
            case "avg" if self.numbers:
                return calculate(DIVIDE, word_of(self.digits, LARGEST_SCALE), self.numbers << 2 | 1)
            case "avg":
                return NO_VALUE
        while self.heap and not self.present[self.heap[0].obj]:
            del self.present[heapq.heappop(self.heap).obj]
        return self.heap[0].obj if self.heap else NO_VALUE


@dataclass(slots=True)
class GroupState:
    """All groups of one aggregate, and the value that each has in the engine."""

    function: str
    width: int
    groups: dict[Words, Group] = field(default_factory=dict)
    values: dict[Words, int] = field(default_factory=dict)

    def change(self, came: list[list[int]], went: list[list[int]]) -> tuple[list[Words], list[Words]]:
        """Takes in elements that came and went; the rows to take back and the rows to add."""
        touched: dict[Words, None] = {}
        for row in came:
            key = tuple(row[: self.width])
            touched[key] = None
            group = self.groups.get(key)
            if group is None:
                group = self.groups[key] = Group(self.function)
            group.add(row[self.width])
        for row in went:
            key = tuple(row[: self.width])
            touched[key] = None
            self.groups[key].remove(row[self.width])
        old, new = [], []
        for key in touched:
            before, after = self.values.get(key, NO_VALUE), self.groups[key].value()
            if before != after:
                if before != NO_VALUE:
                    old.append((*key, self.values.pop(key)))
                if after != NO_VALUE:
                    new.append((*key, after))
                    self.values[key] = after
            if not self.groups[key].elements:
                del self.groups[key]
        return old, new
