"""Data ranges become tests of values.

    xsd:double[> 3.0]       becomes     the kind of the value is `double`, and it is greater than 3.0

Values are those of OWL 2 (`model/literals.py`): a decimal is never a double, so it is in no range of doubles. A value
of a datatype that OWL 2 does not have, `xsd:date` for example, is in its own datatype and in no other.
"""

import re
from base64 import b64decode
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import inf, isnan
from typing import Any, Final

from thalweg.languages.owl import expressions as ex
from thalweg.languages.owl.expressions import DataRange
from thalweg.model.literals import DATATYPES, LITERAL, Value, belongs, parts, value_of
from thalweg.model.rdf import RDF, XSD
from thalweg.model.term import is_number
from thalweg.model.vocabulary import OWL

Test = Callable[[Value], bool]

NUMBERS: Final = ("decimal", "double", "float")
_RATIONAL: Final = f"<{OWL}rational>"
_REAL: Final = (_RATIONAL, f"<{OWL}real>")
_FLOATING: Final = (f"<{XSD}double>", f"<{XSD}float>")
_WORD: Final = re.compile(r"[#/]([A-Za-z]+)>\Z")
# The patterns that mean the same to XML Schema and to Python: no classes of Unicode, anchors, groups with a mark.
_ESCAPED: Final = r"\\[\\.?*+(){}|\[\]^\-nrtdD]"
_CHOICE: Final = rf"\[\^?(?:[^\\\[\]^\-]|{_ESCAPED}|\w-\w)+\]"
_PIECE: Final = rf"(?:[^\\^$\[\](){{}}|?*+]|{_ESCAPED}|{_CHOICE})(?:[?*+]|{{[0-9]+(?:,[0-9]*)?}})?"
_SHARED: Final = re.compile(rf"(?:{_PIECE}|\||\((?!\?)|\)(?:[?*+]|{{[0-9]+(?:,[0-9]*)?}})?)*")
# Two moments of which one has no time zone can be told apart only if they are further from each other than this.
_UNSURE: Final = timedelta(hours=14)
_USUAL: Final = {
    "decimal": ("0", "1", "-1", "0.5", "300", "70000", "-70000"),
    "double": ("0.0", "1.0", "-1.0"),
    "float": ("0.0", "1.0", "-1.0"),
    "boolean": ("true", "false"),
    "string": ("", "a", "b"),
    "text": ("a@en", "b@fr"),
    "dateTime": ("2000-01-01T00:00:00Z", "2030-01-01T00:00:00"),
}


def value(term: str) -> Value:
    """The value that a literal stands for; an ill-typed one, or one of an unknown datatype, stands for itself.

    >>> value("3.0") == value("3"), value('"3"^^<http://www.w3.org/2001/XMLSchema#double>').kind
    (True, 'double')
    """
    text, datatype = parts(term)
    if datatype == _RATIONAL:
        return _rational(text)
    typed = value_of(text, datatype) if datatype in DATATYPES else None
    return typed or Value(datatype, text)


def _rational(text: str) -> Value:
    """A fraction: a decimal where it is one.

    >>> _rational("1/2") == value("0.5"), _rational("2/6") == _rational("1/3")
    (True, True)
    """
    fraction = re.fullmatch(r"([+-]?[0-9]+)\s*/\s*([0-9]*[1-9][0-9]*)", text)
    if fraction is None:
        return Value(_RATIONAL, text)
    number = Fraction(*map(int, fraction.groups()))
    denominator = number.denominator
    for factor in (2, 5):
        while denominator % factor == 0:
            denominator //= factor
    return _value_of_number("decimal", number) if denominator == 1 else Value(_RATIONAL, str(number))


def coerced(node: Any) -> Any:
    """A construct whose facets have the datatype that they restrict, where they were written as bare numbers.

    >>> bare = ex.DatatypeRestriction(f"<{XSD}double>", ((f"<{XSD}minExclusive>", "3"),))
    >>> coerced(bare).facets[0][1]
    '"3"^^<http://www.w3.org/2001/XMLSchema#double>'
    """
    if isinstance(node, ex.DatatypeRestriction):
        if node.datatype not in _FLOATING:
            return node
        facets = ((facet, f'"{text}"^^{node.datatype}' if is_number(text) else text) for facet, text in node.facets)
        return ex.DatatypeRestriction(node.datatype, tuple(facets))
    if isinstance(node, tuple):
        return tuple(map(coerced, node))
    names: tuple[str, ...] = getattr(node, "__match_args__", ())
    return type(node)(*(coerced(getattr(node, name)) for name in names)) if names else node


@dataclass(slots=True)
class Ranges:
    """The data ranges of an ontology as tests, each once; `definitions` are datatypes with a name of their own.

    `unreadable` are patterns that Python reads otherwise than XML Schema, or not at all, and the datatypes of all real
    or all rational numbers: their tests say nothing.
    """

    definitions: Mapping[str, DataRange] = field(default_factory=dict)
    tests: list[Test] = field(default_factory=list)
    literals: list[Value] = field(default_factory=list)
    known: dict[DataRange, int] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)

    def taken_apart(self) -> tuple[Any, ...]:
        """What the ranges can be made of in another process: tests are functions, which do not travel."""
        return self.definitions, tuple(self.known), self.literals, self.unreadable

    @classmethod
    def put_together(cls, *parts: Any) -> "Ranges":
        """The ranges that were taken apart."""
        definitions, data_ranges, literals, unreadable = parts
        ranges = cls(definitions)
        for data_range in data_ranges:
            ranges.number(data_range)
        ranges.literals, ranges.unreadable = literals, unreadable
        return ranges

    def number(self, data_range: DataRange) -> int:
        """The number of a range's test."""
        if data_range not in self.known:
            self.known[data_range] = len(self.tests)
            self.tests.append(self.test(data_range))
        return self.known[data_range]

    def test(self, data_range: DataRange) -> Test:
        """The test of a range.

        >>> narrow = ex.DatatypeRestriction(f"<{XSD}double>", ((f"<{XSD}minExclusive>", f'"3"^^<{XSD}double>'),))
        >>> test = Ranges().test(narrow)
        >>> test(value(f'"3.5"^^<{XSD}double>')), test(value("3.5"))
        (True, False)
        """
        match data_range:
            case str():
                return self._datatype(data_range)
            case ex.DataIntersectionOf(ranges):
                every = [self.test(part) for part in ranges]
                return lambda datum: all(test(datum) for test in every)
            case ex.DataUnionOf(ranges):
                alternatives = [self.test(part) for part in ranges]
                return lambda datum: any(test(datum) for test in alternatives)
            case ex.DataComplementOf(negated):
                outside = self.test(negated)
                return lambda datum: not outside(datum)
            case ex.DataOneOf(literals):
                listed = frozenset(map(value, literals))
                self.literals += listed
                return listed.__contains__
            case ex.DatatypeRestriction(datatype, facets):
                inside = [self._datatype(datatype), *(self._facet(facet, text) for facet, text in facets)]
                return lambda datum: all(test(datum) for test in inside)
        raise TypeError(f"{type(data_range).__name__} is not a data range")

    def samples(self) -> list[Value]:
        """Values that, taken together, are inside and outside of every range where that is possible.

        >>> ranges = Ranges()
        >>> _ = ranges.number(ex.DataOneOf(("2.5",)))
        >>> [sample.text for sample in ranges.samples() if sample.kind == "decimal"]
        ['0', '1', '-1', '0.5', '300', '70000', '-70000', '2.5', '1.5', '3.5']
        """
        values = [Value(kind, text) for kind, texts in _USUAL.items() for text in texts]
        values += self.literals
        for kind in NUMBERS:
            numbers = sorted(
                {_number(literal) for literal in self.literals if literal.kind == kind and _is_finite(literal)}
            )
            between = [(low + high) / 2 for low, high in pairwise(numbers)]
            ends = [numbers[0] - 1, numbers[-1] + 1] if numbers else []
            values += [_value_of_number(kind, number) for number in (*ends, *between)]
        return list(dict.fromkeys(values))

    def _datatype(self, name: str) -> Test:
        if name in self.definitions:
            return self.test(self.definitions[name])
        if name == LITERAL:
            return lambda datum: True
        if name in _REAL:
            self.unreadable.append(f"the datatype {name}")
            return lambda datum: False
        if name in DATATYPES:
            return lambda datum: datum.kind[:1] != "<" and belongs(datum, name)
        return lambda datum: datum.kind == name

    def _facet(self, facet: str, text: str) -> Test:
        limit = value(text)
        self.literals.append(limit)
        suffix = _WORD.search(facet)
        word = suffix.group(1) if suffix else facet
        if word in _ORDERS and limit.kind in (*NUMBERS, "dateTime"):
            holds, kind = _ORDERS[word], limit.kind
            return lambda datum: datum.kind == kind and holds(_compare(datum, limit))
        if word in _LENGTHS:
            return lambda datum: _LENGTHS[word](_length(datum), int(limit.text))
        if word == "pattern":
            compiled = _compiled(limit.text)
            if compiled is None:
                self.unreadable.append(f"the pattern {limit.text}")
                return lambda datum: False
            return lambda datum: compiled.fullmatch(_text(datum)) is not None
        if facet == f"<{RDF}langRange>":
            return lambda datum: datum.kind == "text" and _in_language(datum.text.rpartition("@")[2], limit.text)
        return lambda datum: False


def _compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern) if _SHARED.fullmatch(pattern) else None
    except re.error:
        return None


_ORDERS: Final[dict[str, Callable[[float], bool]]] = {
    "minInclusive": lambda order: order >= 0,
    "minExclusive": lambda order: order > 0,
    "maxInclusive": lambda order: order <= 0,
    "maxExclusive": lambda order: order < 0,
}
_LENGTHS: Final[dict[str, Callable[[int, int], bool]]] = {
    "length": lambda length, limit: length == limit,
    "minLength": lambda length, limit: length >= limit,
    "maxLength": lambda length, limit: length <= limit,
}


def cells(ranges: Ranges, known_values: Iterable[Value] = ()) -> Callable[[str], object]:
    """A function that gives two literals the same cell only if no range of the ontology can tell them apart.

    The values that the ontology has written somewhere, and the `known_values`, have a cell each.

    >>> ranges = Ranges()
    >>> _ = ranges.number(ex.DatatypeRestriction(f"<{XSD}double>", ((f"<{XSD}minExclusive>", f'"3"^^<{XSD}double>'),)))
    >>> cell = cells(ranges)
    >>> low, high, higher = (cell(f'"{text}"^^<{XSD}double>') for text in ("2.0", "3.1", "99"))
    >>> low == high, high == higher
    (False, True)
    """
    if ranges.unreadable:
        return value
    tests, literals = tuple(ranges.tests), frozenset((*ranges.literals, *known_values))
    region_of = regions(ranges)
    described: dict[object, object] = {}

    def description(datum: Value) -> object:
        return datum.kind, *(test(datum) for test in tests)

    def cell(term: str) -> object:
        datum = value(term)
        if datum in literals:
            return datum
        region = region_of(datum)
        if region == datum:
            # There is no end of texts, so nothing is kept of them.
            return description(datum)
        # Where there are many tests, regions that none of them tells apart stay as they are.
        if len(tests) > _MANY_TESTS:
            return region
        if region not in described:
            described[region] = description(datum)
        return described[region]

    return cell


def regions(ranges: Ranges) -> Callable[[Value], Hashable]:
    """A function that gives two values the same region only if every test says the same of both.

    >>> ranges = Ranges()
    >>> _ = ranges.number(ex.DatatypeRestriction(f"<{XSD}double>", ((f"<{XSD}minExclusive>", f'"3"^^<{XSD}double>'),)))
    >>> region = regions(ranges)
    >>> low, high, higher = (region(value(f'"{text}"^^<{XSD}double>')) for text in ("2.0", "3.1", "99"))
    >>> low == high, high == higher
    (False, True)
    """
    borders = {kind: _borders(kind, ranges.literals) for kind in NUMBERS}

    def region(datum: Value) -> Hashable:
        kind = datum.kind
        if kind not in borders or not _is_finite(datum) or datum.text == "-0.0":
            return datum
        # All tests of a number look at its order among the borders, and at whether it is whole.
        number = _number(datum)
        place = bisect_left(borders[kind], number)
        at_border = place < len(borders[kind]) and borders[kind][place] == number
        return kind, place, at_border, kind == "decimal" and number.denominator == 1

    return region


_MANY_TESTS: Final = 64


def is_ordered(data_range: DataRange) -> bool:
    """Whether a range is a datatype, or the numbers of one between some limits."""
    match data_range:
        case str():
            return data_range in DATATYPES
        case ex.DatatypeRestriction(str(datatype), facets):
            limits = [(word.group(1), value(text).kind) for facet, text in facets if (word := _WORD.search(facet))]
            is_plain = all(word in _ORDERS and kind in NUMBERS for word, kind in limits)
            return datatype in DATATYPES and is_plain and len(limits) == len(facets)
    return False


def _borders(kind: str, literals: Iterable[Value]) -> list[Any]:
    """The numbers of a kind at which a test may change its mind: those of the facets, and the ends of datatypes."""
    borders = {_number(literal) for literal in literals if literal.kind == kind and _is_finite(literal)}
    return sorted(borders | (_ENDS if kind == "decimal" else set()))


_ENDS: Final = {
    Fraction(sign * 2**bits - offset)
    for bits in (7, 8, 15, 16, 31, 32, 63, 64)
    for sign in (1, -1)
    for offset in (0, 1)
} | {Fraction(-1), Fraction(0), Fraction(1)}


def _compare(datum: Value, other: Value) -> float:
    """A number below, at or above zero as the first value is less, equal or greater; NaN where they have no order."""
    if datum.kind == "dateTime":
        return _compare_moments(datum.text, other.text)
    first, second = _number(datum), _number(other)
    return float("nan") if isnan(first) or isnan(second) else (first > second) - (first < second)


@lru_cache(maxsize=4_096)
def _number(datum: Value) -> Any:
    if datum.kind == "decimal":
        return Fraction(datum.text)
    return float(datum.text.replace("INF", "inf"))


def _is_finite(datum: Value) -> bool:
    return datum.kind == "decimal" or (not isnan(_number(datum)) and abs(_number(datum)) != inf)


def _value_of_number(kind: str, number: Any) -> Value:
    if kind != "decimal":
        datum = value_of(repr(float(number)), f"<{XSD}{kind}>")
        assert datum is not None
        return datum
    # A midpoint of decimals is one: its denominator has no factors but two and five.
    digits = 0
    while (number * 10**digits).denominator != 1:
        digits += 1
    datum = value_of(f"{Decimal(int(number * 10**digits)).scaleb(-digits):f}", f"<{XSD}decimal>")
    assert datum is not None
    return datum


def _compare_moments(text: str, other: str) -> float:
    (first, zoned), (second, also) = _moment(text), _moment(other)
    if first is None or second is None:
        return float("nan")
    if zoned != also and abs(first - second) <= _UNSURE:
        return float("nan")
    return float((first > second) - (first < second))


def _moment(text: str) -> tuple[Any, bool]:
    """A moment in Python's terms, and whether it has a time zone; None outside of the years that Python has."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None, False
    offset = moment.utcoffset()
    return moment.replace(tzinfo=None) - (offset or timedelta()), offset is not None


def _text(datum: Value) -> str:
    return datum.text.rpartition("@")[0] if datum.kind == "text" else datum.text


def _length(datum: Value) -> int:
    """The length that facets count: of binary data, the bytes."""
    if datum.kind == "base64Binary":
        return len(b64decode(datum.text))
    return len(datum.text) // 2 if datum.kind == "hexBinary" else len(_text(datum))


def _in_language(language: str, wanted: str) -> bool:
    wanted = wanted.lower()
    return wanted in ("*", language) or language.startswith(f"{wanted}-")
