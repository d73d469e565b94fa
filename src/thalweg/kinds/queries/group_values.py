"""The groups of an aggregate, and the values of their aggregates as SPARQL has them.

Each group keeps the bag of what is aggregated. Where all of it are plain numbers, count, sum and the least and greatest
are kept up as solutions come and go, so that a large group costs no more than a small one. Everything else is asked
anew of SPARQL, for all groups that have changed at once.
"""

from collections import Counter
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Final

import numpy as np

from thalweg.kinds.queries.sparql_expressions import UNBOUND, Asking
from thalweg.languages.rspql.lowered import Aggregation, Asked
from thalweg.model.number import LARGEST_INTEGER, LARGEST_MANTISSA, mantissa, scale

Key = tuple[int, ...]

_PLACES: Final = 18
"""SPARQL's decimals, and those that are summed up here, have as many places at most."""

_QUOTIENT: Final = Asked("(?s / ?n)", ("s", "n"))


class Bag:
    """Values of some variables with how often they are there; of one variable also what plain numbers add up to."""

    def __init__(self, width: int) -> None:
        self.counts: Counter[Key] = Counter()
        self._is_single = width == 1
        self._bound = self._odd = self._decimals = self._total = 0
        # Least and greatest first; what has gone is taken out when it comes to the top.
        self._heaps: dict[int, list[tuple[int, int]]] = {}

    def change(self, element: Key, by: int) -> None:
        count = self.counts[element] + by
        if count:
            self.counts[element] = count
        else:
            del self.counts[element]
        if not self._is_single or element[0] == UNBOUND:
            return
        word = element[0]
        self._bound += by
        if word & 3 == 0 or scale(word) > _PLACES:
            self._odd += by
            return
        self._decimals += by if word & 3 == 2 else 0
        self._total += by * _scaled(word)
        if by > 0 and count == by:
            for sign, heap in self._heaps.items():
                heappush(heap, (sign * _scaled(word), word))

    def value(self, aggregation: Aggregation) -> int | tuple[int, int] | None:
        """The word of an aggregate's value, for an average a sum and a number; None where SPARQL must be asked."""
        if not self._is_single or aggregation.argument != f"?{aggregation.variables[0]}":
            return None
        if aggregation.function == "COUNT":
            return (len(self.counts) - ((UNBOUND,) in self.counts) if aggregation.distinct else self._bound) << 2 | 1
        if self._odd or not self._bound or (UNBOUND,) in self.counts:
            return None
        if aggregation.function in ("MIN", "MAX"):
            return self._extreme(1 if aggregation.function == "MIN" else -1)
        if aggregation.distinct:
            return None
        total = _number(self._total, bool(self._decimals))
        return total if aggregation.function == "SUM" or total is None else (total, self._bound << 2 | 1)

    def _extreme(self, sign: int) -> int:
        if sign not in self._heaps:
            self._heaps[sign] = sorted((sign * _scaled(word), word) for (word,) in self.counts)
        heap = self._heaps[sign]
        while (heap[0][1],) not in self.counts:
            heappop(heap)
        return heap[0][1]


class Group:
    """How many solutions a group has, and a bag for each set of variables that is aggregated."""

    def __init__(self, widths: Sequence[int]) -> None:
        self.size = 0
        self.bags = [Bag(width) for width in widths]


def group_values(
    aggregations: Sequence[Aggregation],
    variables: Sequence[tuple[str, ...]],
    groups: Sequence[Group],
    asking: Asking,
) -> list[Key]:
    """For each group the words of its aggregates, `UNBOUND` where there is no value; `variables` has those of its bags.

    >>> from thalweg.model.dictionary import Dictionary
    >>> words, group = Dictionary(), Group([1])
    >>> for term in ("2", "3.5"):
    ...     group.bags[0].change((words.code(term),), 1)
    >>> average = Aggregation("AVG", "?v", ("v",), False, "a")
    >>> [words.spell(word) for word, in group_values([average], [("v",)], [group], Asking(words))]
    ['2.75']
    """
    columns = []
    for aggregation in aggregations:
        if aggregation.argument == "*":
            columns.append([group.size << 2 | 1 for group in groups])
            continue
        bags = [group.bags[variables.index(aggregation.variables)] for group in groups]
        columns.append(_values(aggregation, bags, asking))
    return [tuple(column[place] for column in columns) for place in range(len(groups))]


def _values(aggregation: Aggregation, bags: Sequence[Bag], asking: Asking) -> list[int]:
    values = [bag.value(aggregation) for bag in bags]
    averages = [place for place, value in enumerate(values) if isinstance(value, tuple)]
    if averages:
        quotients = asking.values(_QUOTIENT, np.array([values[place] for place in averages], dtype=np.int64))
        for place, word in zip(averages, quotients.tolist(), strict=True):
            values[place] = word
    undecided = [place for place, value in enumerate(values) if value is None]
    for place, word in zip(
        undecided, asking.aggregated(aggregation, [bags[place].counts for place in undecided]), strict=True
    ):
        values[place] = word
    return [value for value in values if isinstance(value, int)]


def _scaled(word: int) -> int:
    """A plain number, multiplied so that all of them are integers."""
    value: int = mantissa(word) * 10 ** (_PLACES - scale(word))
    return value


def _number(total: int, decimal: bool) -> int | None:
    """The word of a sum; None where it has too many digits for one.

    >>> from thalweg.model.number import show_number
    >>> [show_number(_number(total * 10**17, decimal)) for total, decimal in ((20, False), (20, True), (25, True))]
    ['2', '2.0', '2.5']
    """
    if not decimal:
        integer = total // 10**_PLACES
        return integer << 2 | 1 if abs(integer) <= LARGEST_INTEGER else None
    digits, places = total, _PLACES
    # A whole decimal keeps a place, or it would be an integer.
    while places > 1 and digits % 10 == 0:
        digits, places = digits // 10, places - 1
    return digits << 8 | places << 2 | 2 if abs(digits) <= LARGEST_MANTISSA else None
