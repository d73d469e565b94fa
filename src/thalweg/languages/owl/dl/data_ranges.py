"""Data ranges become tests of values.

    xsd:double[> 3.0]       becomes     the kind of the value is `double`, and it is greater than 3.0

Values are those of OWL 2 (`model/literals.py`): a decimal is never a double, so it is in no range of doubles. A value
of a datatype that OWL 2 does not have, `xsd:date` for example, is in its own datatype and in no other.
"""

import re
from base64 import b64decode
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
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
    known = value_of(text, datatype) if datatype in DATATYPES else None
    return known or Value(datatype, text)


def _rational(text: str) -> Value:
    """A fraction: a decimal where it is one.

    >>> _rational("1/2") == value("0.5"), _rational("2/6") == _rational("1/3")
    (True, True)
    """
    found = re.fullmatch(r"([+-]?[0-9]+)\s*/\s*([0-9]*[1-9][0-9]*)", text)
    if found is None:
        return Value(_RATIONAL, text)
    number = Fraction(*map(int, found.groups()))
    rest = number.denominator
    for factor in (2, 5):
        while rest % factor == 0:
            rest //= factor
    return _value_of_number("decimal", number) if rest == 1 else Value(_RATIONAL, str(number))


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

    def __reduce__(self) -> "tuple[Any, ...]":
        """Tests are functions, which another process makes for itself."""
        return _made_again, (self.definitions, tuple(self.known), self.literals, self.unreadable)

    def number(self, found: DataRange) -> int:
        """The number of a range's test."""
        if found not in self.known:
            self.known[found] = len(self.tests)
            self.tests.append(self.test(found))
        return self.known[found]

    def test(self, found: DataRange) -> Test:
        """The test of a range.

        >>> narrow = ex.DatatypeRestriction(f"<{XSD}double>", ((f"<{XSD}minExclusive>", f'"3"^^<{XSD}double>'),))
        >>> test = Ranges().test(narrow)
        >>> test(value(f'"3.5"^^<{XSD}double>')), test(value("3.5"))
        (True, False)
        """
        match found:
            case str():
                return self._datatype(found)
            case ex.DataIntersectionOf(ranges):
                every = [self.test(one) for one in ranges]
                return lambda known: all(test(known) for test in every)
            case ex.DataUnionOf(ranges):
                some = [self.test(one) for one in ranges]
                return lambda known: any(test(known) for test in some)
            case ex.DataComplementOf(negated):
                outside = self.test(negated)
                return lambda known: not outside(known)
            case ex.DataOneOf(literals):
                listed = frozenset(map(value, literals))
                self.literals += listed
                return listed.__contains__
            case ex.DatatypeRestriction(datatype, facets):
                inside = [self._datatype(datatype), *(self._facet(facet, text) for facet, text in facets)]
                return lambda known: all(test(known) for test in inside)
        raise TypeError(f"{type(found).__name__} is not a data range")

    def samples(self) -> list[Value]:
        """Values that, taken together, are inside and outside of every range where that is possible.

        >>> ranges = Ranges()
        >>> _ = ranges.number(ex.DataOneOf(("2.5",)))
        >>> [sample.text for sample in ranges.samples() if sample.kind == "decimal"]
        ['0', '1', '-1', '0.5', '300', '70000', '-70000', '2.5', '1.5', '3.5']
        """
        found = [Value(kind, text) for kind, texts in _USUAL.items() for text in texts]
        found += self.literals
        for kind in NUMBERS:
            numbers = sorted({_number(one) for one in self.literals if one.kind == kind and _is_finite(one)})
            between = [(low + high) / 2 for low, high in pairwise(numbers)]
            ends = [numbers[0] - 1, numbers[-1] + 1] if numbers else []
            found += [_value_of_number(kind, number) for number in (*ends, *between)]
        return list(dict.fromkeys(found))

    def _datatype(self, name: str) -> Test:
        if name in self.definitions:
            return self.test(self.definitions[name])
        if name == LITERAL:
            return lambda known: True
        if name in _REAL:
            self.unreadable.append(f"the datatype {name}")
            return lambda known: False
        if name in DATATYPES:
            return lambda known: known.kind[:1] != "<" and belongs(known, name)
        return lambda known: known.kind == name

    def _facet(self, facet: str, text: str) -> Test:
        limit = value(text)
        self.literals.append(limit)
        found = _WORD.search(facet)
        word = found.group(1) if found else facet
        if word in _ORDERS and limit.kind in (*NUMBERS, "dateTime"):
            holds, kind = _ORDERS[word], limit.kind
            return lambda known: known.kind == kind and holds(_compare(known, limit))
        if word in _LENGTHS:
            return lambda known: _LENGTHS[word](_length(known), int(limit.text))
        if word == "pattern":
            compiled = _compiled(limit.text)
            if compiled is None:
                self.unreadable.append(f"the pattern {limit.text}")
                return lambda known: False
            return lambda known: compiled.fullmatch(_text(known)) is not None
        if facet == f"<{RDF}langRange>":
            return lambda known: known.kind == "text" and _in_language(known.text.rpartition("@")[2], limit.text)
        return lambda known: False


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
    "length": lambda found, limit: found == limit,
    "minLength": lambda found, limit: found >= limit,
    "maxLength": lambda found, limit: found <= limit,
}


def _made_again(
    definitions: Mapping[str, DataRange], known: Iterable[DataRange], literals: list[Value], unreadable: list[str]
) -> Ranges:
    ranges = Ranges(definitions)
    for one in known:
        ranges.number(one)
    ranges.literals, ranges.unreadable = literals, unreadable
    return ranges


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
    borders = {kind: _borders(kind, ranges.literals) for kind in NUMBERS}
    regions: dict[object, object] = {}

    def described(known: Value) -> object:
        return known.kind, *(test(known) for test in tests)

    def cell(term: str) -> object:
        known = value(term)
        if known in literals:
            return known
        kind = known.kind
        if kind not in borders or not _is_finite(known) or known.text == "-0.0":
            return described(known)
        # All tests of a number look at its order among the borders, and at whether it is whole.
        number = _number(known)
        place = bisect_left(borders[kind], number)
        at_border = place < len(borders[kind]) and borders[kind][place] == number
        region = kind, place, at_border, kind == "decimal" and number.denominator == 1
        if region not in regions:
            regions[region] = described(known)
        return regions[region]

    return cell


def _borders(kind: str, literals: Iterable[Value]) -> list[Any]:
    """The numbers of a kind at which a test may change its mind: those of the facets, and the ends of datatypes."""
    found = {_number(one) for one in literals if one.kind == kind and _is_finite(one)}
    return sorted(found | (_ENDS if kind == "decimal" else set()))


_ENDS: Final = {
    Fraction(sign * 2**bits - whole) for bits in (7, 8, 15, 16, 31, 32, 63, 64) for sign in (1, -1) for whole in (0, 1)
} | {Fraction(-1), Fraction(0), Fraction(1)}


def _compare(one: Value, other: Value) -> float:
    """Less than, equal to or greater than zero as the first is; not a number where they have no order."""
    if one.kind == "dateTime":
        return _compare_moments(one.text, other.text)
    first, second = _number(one), _number(other)
    return float("nan") if isnan(first) or isnan(second) else (first > second) - (first < second)


@lru_cache(maxsize=4_096)
def _number(known: Value) -> Any:
    if known.kind == "decimal":
        return Fraction(known.text)
    return float(known.text.replace("INF", "inf"))


def _is_finite(known: Value) -> bool:
    return known.kind == "decimal" or (not isnan(_number(known)) and abs(_number(known)) != inf)


def _value_of_number(kind: str, number: Any) -> Value:
    if kind != "decimal":
        made = value_of(repr(float(number)), f"<{XSD}{kind}>")
        assert made is not None
        return made
    # A midpoint of decimals is one: its denominator has no factors but two and five.
    digits = 0
    while (number * 10**digits).denominator != 1:
        digits += 1
    made = value_of(f"{Decimal(int(number * 10**digits)).scaleb(-digits):f}", f"<{XSD}decimal>")
    assert made is not None
    return made


def _compare_moments(one: str, other: str) -> float:
    (first, zoned), (second, also) = _moment(one), _moment(other)
    if first is None or second is None:
        return float("nan")
    if zoned != also and abs(first - second) <= _UNSURE:
        return float("nan")
    return float((first > second) - (first < second))


def _moment(text: str) -> tuple[Any, bool]:
    """A moment in Python's terms, and whether it has a time zone; None outside of the years that Python has."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None, False
    offset = found.utcoffset()
    return found.replace(tzinfo=None) - (offset or timedelta()), offset is not None


def _text(known: Value) -> str:
    return known.text.rpartition("@")[0] if known.kind == "text" else known.text


def _length(known: Value) -> int:
    """The length that facets count: of binary data, the bytes."""
    if known.kind == "base64Binary":
        return len(b64decode(known.text))
    return len(known.text) // 2 if known.kind == "hexBinary" else len(_text(known))


def _in_language(language: str, wanted: str) -> bool:
    wanted = wanted.lower()
    return wanted in ("*", language) or language.startswith(f"{wanted}-")
