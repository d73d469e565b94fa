"""Filters that compare variables with numbers: decided without SPARQL, and found by the number that comes.

    FILTER(?v > 15)        FILTER(?v > 0.6 && ?v < 0.7)

Numbers have cells: two numbers between the same limits pass the same filters, so those that let a number pass are
found once for each cell. That is how a thousand filters cost an event no more than those that it passes.
"""

import operator
import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from math import isqrt
from typing import Any, Final

from thalweg.model.rdf import XSD

Compare = Callable[[Mapping[str, str]], bool | None]
"""Whether a condition holds; None where SPARQL must be asked."""

_COMPARISON: Final = re.compile(r"\s*\?(\w+) *(<=|>=|<|>|=|!=) *(-? *[0-9.]{1,15})\s*")
_BRACKETS: Final = str.maketrans("()", "  ")
_PLAIN: Final = re.compile(r"-?(?:[0-9]{1,15}|[0-9]{1,7}\.[0-9]{1,8})\Z")
_DOUBLE: Final = re.compile(rf'"(-?[0-9]{{1,15}}(?:\.[0-9]{{1,15}})?(?:[eE][+-]?[0-9]{{1,2}})?)"\^\^<{XSD}double>\Z')
_OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}
# So many items are kept by cells, for one variable of some clauses.
_MOST_KEPT: Final = 262_144
# So few items are looked at one by one; more of them in pieces, of which there are not too many for wide limits.
_FEW: Final = 32
_MOST_PIECES: Final = 64


def plain_number(term: str) -> Decimal | float | None:
    """The number that a term is, where that is written in short: an integer or a decimal, or a double.

    >>> plain_number("16"), plain_number('"3.5"^^<http://www.w3.org/2001/XMLSchema#double>'), plain_number("<a>")
    (Decimal('16'), 3.5, None)
    """
    if _PLAIN.match(term):
        return Decimal(term)
    written = _DOUBLE.match(term)
    return float(written[1]) if written else None


@dataclass(frozen=True, slots=True)
class NumberLimit:
    """What a comparison with a number asks of a variable; doubles are compared with the nearest double."""

    variable: str
    sign: str
    exact: Decimal
    double: float

    def allows(self, number: Decimal | float) -> bool:
        """Whether the comparison holds for a number."""
        return _OPERATORS[self.sign](number, self.double if isinstance(number, float) else self.exact)


@lru_cache(maxsize=16_384)
def number_limits(condition: str) -> tuple[NumberLimit, ...] | None:
    """The comparisons that make up a condition, all of which must hold; None where it is of another form.

    >>> [(limit.variable, limit.sign, limit.double) for limit in number_limits("( ?v > 0.6 && ?v < 0.7 )")]
    [('v', '>', 0.6), ('v', '<', 0.7)]
    >>> number_limits("( ?v > ?w )"), number_limits("( ?v > 1 || ?v < 0 )")
    (None, None)
    """
    limits = []
    # Where comparisons are joined by nothing but `&&`, brackets around them make no difference.
    for piece in condition.translate(_BRACKETS).split("&&"):
        match = _COMPARISON.fullmatch(piece)
        number = match[3].replace(" ", "") if match else ""
        if match is None or not _PLAIN.match(number):
            return None
        limits.append(NumberLimit(match[1], match[2], Decimal(number), float(number)))
    return tuple(limits)


@lru_cache(maxsize=16_384)
def comparison(condition: str) -> Compare | None:
    """What decides a condition; None where it is more than comparisons with numbers.

    >>> compare = comparison("( ?v > 15 )")
    >>> compare({"v": "16"}), compare({"v": '"3.5"^^<http://www.w3.org/2001/XMLSchema#double>'}), compare({"v": "<a>"})
    (True, False, None)
    >>> comparison("( ?v > ?w )")
    """
    limits = number_limits(condition)
    if limits is None:
        return None

    def decide(binding: Mapping[str, str]) -> bool | None:
        numbers = [plain_number(binding[limit.variable]) for limit in limits]
        if None in numbers:
            return None
        return all(limit.allows(number) for limit, number in zip(limits, numbers, strict=True) if number is not None)

    return decide


class LimitIndex:
    """Items by the numbers that their limits allow.

    The line of numbers is cut into pieces, each with the items that may allow a number in it, so a number is compared
    with few of them. What it is that allows a number is kept for its cell, as long as there is room.

    >>> index = LimitIndex()
    >>> for number in range(100):
    ...     index.add(number, f"above {number}", number_limits(f"( ?v > {number} && ?v <= {number + 1} )"))
    >>> list(index.allowing("41.5")), len(list(index.allowing("<a>")))
    (['above 41'], 100)
    """

    def __init__(self) -> None:
        self._items: dict[int, _Limited] = {}
        self._borders: list[Decimal] = []
        self._doubles: list[float] = []
        self._cuts: list[Decimal] = []
        self._pieces: list[dict[int, _Limited]] = [{}]
        self._cut_at = _FEW
        """How many items there may be before the line is cut anew."""
        self._cells: dict[tuple[bool, int, int], list[Any]] = {}
        self._kept = 0

    def add(self, number: int, item: Any, limits: tuple[NumberLimit, ...]) -> None:
        """Adds an item under a number of its own."""
        limited = self._items[number] = _Limited(item, limits)
        for limit in limits:
            insort(self._borders, limit.exact)
            insort(self._doubles, limit.double)
        if len(self._items) > self._cut_at:
            self._cut()
        else:
            self._enter(number, limited)
        self._forget()

    def remove(self, number: int) -> None:
        """Takes an item away."""
        limited = self._items.pop(number)
        for limit in limited.limits:
            del self._borders[bisect_left(self._borders, limit.exact)]
            del self._doubles[bisect_left(self._doubles, limit.double)]
        for piece in self._pieces_of(limited):
            del piece[number]
        self._forget()

    def _cut(self) -> None:
        """Cuts the line into pieces with about as many borders each."""
        self._cut_at = 2 * len(self._items)
        size = max(1, len(self._borders) // min(isqrt(len(self._items)), _MOST_PIECES))
        self._cuts = sorted({*self._borders[size::size]})
        self._pieces = [{} for _ in range(len(self._cuts) + 1)]
        for number, limited in self._items.items():
            self._enter(number, limited)

    def _enter(self, number: int, limited: "_Limited") -> None:
        for piece in self._pieces_of(limited):
            piece[number] = limited

    def _pieces_of(self, limited: "_Limited") -> list[dict[int, "_Limited"]]:
        """The pieces of the line in which an item may allow a number."""
        least, most = limited.extent
        return self._pieces[bisect_right(self._cuts, least) : bisect_right(self._cuts, most) + 1]

    def _forget(self) -> None:
        self._cells.clear()
        self._kept = 0

    def __len__(self) -> int:
        return len(self._items)

    def allowing(self, term: str) -> Iterable[Any]:
        """The items that allow a term; all of them where SPARQL must be asked what it is."""
        number = plain_number(term)
        if number is None:
            return [limited.item for limited in self._items.values()]
        is_double = isinstance(number, float)
        borders: list[Any] = self._doubles if is_double else self._borders
        cell = is_double, bisect_left(borders, number), bisect_right(borders, number)
        items = self._cells.get(cell)
        if items is None:
            piece = self._pieces[bisect_right(self._cuts, Decimal(number))]
            items = [limited.item for limited in piece.values() if limited.allows(number)]
            self._kept += 1 + len(items)
            if self._kept > _MOST_KEPT:
                self._forget()
            self._cells[cell] = items
        return items


@dataclass(frozen=True, slots=True)
class _Limited:
    """An item with limits, all of which a number must keep to."""

    item: Any
    limits: tuple[NumberLimit, ...]

    def allows(self, number: Decimal | float) -> bool:
        return all(limit.allows(number) for limit in self.limits)

    @property
    def extent(self) -> tuple[Decimal, Decimal]:
        """Between which numbers all are that may be allowed; a limit is as far as its decimal or its double is."""
        least, most = Decimal("-Infinity"), Decimal("Infinity")
        for limit in self.limits:
            low, high = sorted((limit.exact, Decimal(limit.double)))
            if limit.sign in (">", ">=", "="):
                least = max(least, low)
            if limit.sign in ("<", "<=", "="):
                most = min(most, high)
        return least, most
