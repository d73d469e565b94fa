"""The functions and conditions of expressions: from terms to a term, or to nothing where there is no value.

    abs(-3)   floor(2.5)   round(2.45, 1)   min(X,Y)   sqrt(2)          numbers, exact as all arithmetic is
    number("42")   text(7)   concat(D, "-", N)   length(D)   upper(D)   texts
    hour(T)   minute(T)   weekday(T)   date(T)   iso(T)                 ticks and times, in the zone of the run
    starts_with(D, "a")   ends_with(…)   contains(…)   matches(…)       conditions on two texts

`<` and its like compare two values of one kind; `=` and `!=` compare any two terms, by value where both are numbers or
times. What is calculated is a plain number in its shortest form, whatever datatypes it was calculated from.
"""

from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import Final, NamedTuple

from thalweg.model.number import (
    COMPARISONS,
    NO_VALUE,
    NUMERIC_FUNCTIONS,
    ZERO,
    agrees,
    calculate,
    order,
    read_number,
    shortest,
    show_number,
)
from thalweg.model.term import NUMERIC, constant
from thalweg.model.time import Calendar
from thalweg.model.values import Kind, any_text, moment_of, number_of, text_of, value_of

_LONGEST_NUMBER: Final = 200
MANY: Final = 255


class Function(NamedTuple):
    """How many arguments a function takes, whether they must be numbers, and what it makes of them."""

    least: int
    most: int
    numeric: bool
    apply: Callable[[tuple[str, ...], Calendar], str | None]


def call(name: str, terms: tuple[str, ...], calendar: Calendar) -> str | None:
    """The value of a function; None where it has none.

    >>> call("round", ("2.45", "1"), Calendar()), call("weekday", ("0",), Calendar()), call("sqrt", ("-1",), Calendar())
    ('2.5', '4', None)
    """
    return FUNCTIONS[name].apply(terms, calendar)


def holds(operator: str, first: str, second: str) -> bool:
    """Whether a comparison or a condition holds between two terms.

    >>> holds("<", "a", "b"), holds("!=", "7", "a"), holds("<", "7", "a"), holds("starts_with", "road1", "ro")
    (True, True, False, True)
    """
    if operator in CONDITIONS:
        text, part = text_of(first), text_of(second)
        return text is not None and part is not None and CONDITIONS[operator](text, part)
    if operator == "!==":
        return first != second
    left, right = value_of(first), value_of(second)
    if left is None or right is None or left.kind is not right.kind or left.kind is Kind.TEXT:
        if operator in ("=", "!="):
            return (first == second) == (operator == "=")
        if left is None or right is None or left.kind is not right.kind:
            return False
    return _ordered(operator, left.content, right.content, left.kind)


def are_comparable(first: str, second: str) -> bool:
    """Whether `<` and its like can hold between two terms: false here means that a user should hear about it.

    >>> are_comparable("7", "8.5"), are_comparable("7", "a")
    (True, False)
    """
    left, right = value_of(first), value_of(second)
    return left is not None and right is not None and left.kind is right.kind


def is_pattern(pattern: str) -> bool:
    """Whether `matches` can search for a pattern: the syntax of RE2, which takes linear time.

    >>> is_pattern("^a+$"), is_pattern("("), is_pattern("(?=a)")
    (True, False, False)
    """
    return _search("", pattern) is not None


def order_of_texts(first: str, second: str) -> int:
    """-1, 0 or 1 as one text comes before, is, or comes after the other."""
    return (first > second) - (first < second)


def _ordered(operator: str, first: int | str, second: int | str, kind: Kind) -> bool:
    if isinstance(first, str) or isinstance(second, str):
        sign = order_of_texts(str(first), str(second))
    else:
        sign = order(first, second) if kind is Kind.NUMBER else (first > second) - (first < second)
    return agrees(COMPARISONS[operator], sign)


@lru_cache(maxsize=4_096)
def _search(text: str, pattern: str) -> bool | None:
    """Whether a pattern occurs in a text; None where it is not one. Python's own search may take exponential time."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return bool(pc.match_substring_regex(pa.array([text]), pattern=pattern)[0].as_py())
    except pa.ArrowInvalid:
        return None


def _on_numbers(name: str) -> Callable[[tuple[str, ...], Calendar], str | None]:
    operator = NUMERIC_FUNCTIONS[name]

    def apply(terms: tuple[str, ...], calendar: Calendar) -> str | None:
        words = [NO_VALUE if (word := number_of(term)) is None else word for term in terms]
        result = calculate(operator, words[0], words[1] if len(words) > 1 else ZERO)
        return None if result == NO_VALUE else show_number(result)

    return apply


def _on_text(function: Callable[[str], str | None]) -> Callable[[tuple[str, ...], Calendar], str | None]:
    def apply(terms: tuple[str, ...], calendar: Calendar) -> str | None:
        text = text_of(terms[0])
        return None if text is None else function(text)

    return apply


def _on_moment(function: Callable[[datetime], str]) -> Callable[[tuple[str, ...], Calendar], str | None]:
    def apply(terms: tuple[str, ...], calendar: Calendar) -> str | None:
        moment = _moment(terms[0], calendar)
        return None if moment is None else function(moment)

    return apply


def _moment(term: str, calendar: Calendar) -> datetime | None:
    word, instant = number_of(term), moment_of(term)
    if instant is not None:
        return calendar.instant(instant)
    return calendar.moment(word >> 2) if word is not None and word & 3 == 1 else None


def _number(terms: tuple[str, ...], calendar: Calendar) -> str | None:
    """`number(X)`: of a text that is written as a number, or of a number."""
    text = text_of(terms[0])
    if text is None:
        word = number_of(terms[0])
    else:
        word = read_number(text) if NUMERIC.match(text) and len(text) <= _LONGEST_NUMBER else None
    return None if word is None else show_number(shortest(word))


def _text(terms: tuple[str, ...], calendar: Calendar) -> str | None:
    return constant(any_text(terms[0]))


def _concatenation(terms: tuple[str, ...], calendar: Calendar) -> str | None:
    return constant("".join(map(any_text, terms)))


def _iso(moment: datetime) -> str:
    """`2026-11-15T08:00:03Z`, or with the offset of the zone."""
    text = moment.isoformat(timespec="seconds" if not moment.microsecond else "milliseconds")
    return constant(text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text)


FUNCTIONS: Final = {
    "abs": Function(1, 1, True, _on_numbers("abs")),
    "floor": Function(1, 1, True, _on_numbers("floor")),
    "ceil": Function(1, 1, True, _on_numbers("ceil")),
    "round": Function(1, 2, True, _on_numbers("round")),
    "min": Function(2, 2, True, _on_numbers("min")),
    "max": Function(2, 2, True, _on_numbers("max")),
    "sqrt": Function(1, 1, True, _on_numbers("sqrt")),
    "number": Function(1, 1, False, _number),
    "text": Function(1, 1, False, _text),
    "concat": Function(1, MANY, False, _concatenation),
    "length": Function(1, 1, False, _on_text(lambda text: str(len(text)))),
    "lower": Function(1, 1, False, _on_text(lambda text: constant(text.lower()))),
    "upper": Function(1, 1, False, _on_text(lambda text: constant(text.upper()))),
    "hour": Function(1, 1, False, _on_moment(lambda moment: str(moment.hour))),
    "minute": Function(1, 1, False, _on_moment(lambda moment: str(moment.minute))),
    "weekday": Function(1, 1, False, _on_moment(lambda moment: str(moment.isoweekday()))),
    "date": Function(1, 1, False, _on_moment(lambda moment: constant(moment.date().isoformat()))),
    "iso": Function(1, 1, False, _on_moment(_iso)),
}
CONDITIONS: Final[dict[str, Callable[[str, str], bool]]] = {
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "contains": lambda text, part: part in text,
    "matches": lambda text, pattern: _search(text, pattern) is True,
}
LOOKED_UP: Final = ("order", *CONDITIONS, *(name for name, function in FUNCTIONS.items() if not function.numeric))
"""What needs the spelling of terms or the calendar: an evaluator that has only words must ask for it, by its place."""


def look_up(name: str, first: str, second: str, calendar: Calendar) -> str | None:
    """The value of what is `LOOKED_UP` for two terms: 1 or 0 for a condition, -1, 0 or 1 for the order of two texts.

    Functions of one term do not look at the second; `concat` of more than two is that of two, again and again.

    >>> look_up("starts_with", "road1", "ro", Calendar()), look_up("order", "a", "b", Calendar())
    ('1', '-1')
    """
    if name in CONDITIONS:
        return "1" if holds(name, first, second) else "0"
    if name == "order":
        return str(order_of_texts(text_of(first) or "", text_of(second) or ""))
    return call(name, (first, second)[: FUNCTIONS[name].most], calendar)
