"""Filters that compare variables with numbers: decided without SPARQL, and found by the number that comes.

    FILTER(?v > 15)        FILTER(?v > 0.6 && ?v < 0.7)

Numbers have cells: two numbers between the same limits pass the same filters, so those that let a number pass are
found once for each cell. That is how a thousand filters cost an event no more than those that it passes.
"""

import operator
import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
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
# So many cells are kept for one variable of some clauses.
_MOST_CELLS: Final = 8_192


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


@dataclass(slots=True)
class LimitIndex:
    """Items by the numbers that their limits allow.

    >>> index = LimitIndex()
    >>> for number in range(100):
    ...     index.add(number, f"above {number}", number_limits(f"( ?v > {number} && ?v <= {number + 1} )"))
    >>> list(index.allowing("41.5")), len(list(index.allowing("<a>")))
    (['above 41'], 100)
    """

    _items: dict[int, tuple[Any, tuple[NumberLimit, ...]]] = field(default_factory=dict)
    _borders: list[Decimal] = field(default_factory=list)
    _doubles: list[float] = field(default_factory=list)
    _cells: dict[tuple[bool, int, int], list[Any]] = field(default_factory=dict)

    def add(self, number: int, item: Any, limits: tuple[NumberLimit, ...]) -> None:
        """Adds an item under a number of its own."""
        self._items[number] = item, limits
        for limit in limits:
            insort(self._borders, limit.exact)
            insort(self._doubles, limit.double)
        self._cells.clear()

    def remove(self, number: int) -> None:
        """Takes an item away."""
        _, limits = self._items.pop(number)
        for limit in limits:
            del self._borders[bisect_left(self._borders, limit.exact)]
            del self._doubles[bisect_left(self._doubles, limit.double)]
        self._cells.clear()

    def __len__(self) -> int:
        return len(self._items)

    def allowing(self, term: str) -> Iterable[Any]:
        """The items that allow a term; all of them where SPARQL must be asked what it is."""
        number = plain_number(term)
        if number is None:
            return [item for item, _ in self._items.values()]
        is_double = isinstance(number, float)
        borders: list[Any] = self._doubles if is_double else self._borders
        cell = is_double, bisect_left(borders, number), bisect_right(borders, number)
        items = self._cells.get(cell)
        if items is None:
            if len(self._cells) >= _MOST_CELLS:
                self._cells.clear()
            allowed = (item for item, limits in self._items.values() if all(limit.allows(number) for limit in limits))
            items = self._cells[cell] = list(allowed)
        return items
