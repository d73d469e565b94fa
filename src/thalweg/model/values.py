"""What a term is worth in a comparison or a calculation.

    31.50, "31.5"^^xsd:double, "31.5"^^xsd:float       the number 31.5
    "NaN"^^xsd:double, "300"^^xsd:byte                 no value: not a number
    road1, "Main Street"                               a text
    "2026-11-15T08:00:00Z"^^xsd:dateTime               a time: microseconds since 1970
    <http://example.org/a>, "rue"@fr                   no value: equal to itself only

A term is its spelling, and facts meet in a join where their spellings are the same; a value is what `<`, `=` and `+`
look at. Two terms may have the same value and stay two terms, because the datatype belongs to the term.

What an evaluator that codes terms as words (`dictionary`) needs: numbers without a datatype are their own words, so
only entries of the dictionary have a value to look up. A table beside the spellings of literals, one number (`word`) or
one time for each entry, filled by `value_of` when the entry is made, and a kind for each (none, number, time, text) is
all that comparisons of numbers and times and every calculation need; the order of two texts needs their spellings.
"""

import re
from datetime import UTC, date, datetime
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from thalweg.model import literals
from thalweg.model.number import mantissa, read_number, scale, word_of
from thalweg.model.rdf import XSD
from thalweg.model.term import is_number, unquote

# A number that has a word needs no larger exponent, and what is longer would take long to read.
_LONGEST: Final = 400
_NUMERIC_KINDS: Final = ("decimal", "double", "float")
_DAY: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(Z|[+-][0-9]{2}:[0-9]{2})?")
_MICROSECOND: Final = 1_000_000


class Kind(Enum):
    """What a value is; `<` and its like compare values of one kind."""

    NUMBER = "number"
    TEXT = "text"
    TIME = "time"


class Value(NamedTuple):
    """A value: a number as its word, a time in microseconds since 1970, or a text."""

    kind: Kind
    content: int | str


@lru_cache(maxsize=65_536)
def value_of(term: str) -> Value | None:
    """The value of a term; None where it has none.

    >>> value_of('"3"^^<http://www.w3.org/2001/XMLSchema#double>') == value_of("3"), value_of("<http://example.org/a>")
    (True, None)
    """
    if is_number(term):
        word = read_number(term)
        return None if word is None else Value(Kind.NUMBER, word)
    if term[0].isalpha():
        return Value(Kind.TEXT, term)
    if term[0] != '"':
        return None
    text, datatype = literals.parts(term)
    if datatype == f"<{XSD}string>":
        return Value(Kind.TEXT, text)
    if datatype == f"<{XSD}date>":
        return _time(_midnight(text))
    known = literals.DATATYPES.get(datatype)
    if known is None:
        return None
    if known.kind == "dateTime":
        moment = literals.value_of(text, datatype)
        return _time(_moment(moment.text)) if moment is not None else None
    return _number(text, datatype) if known.kind in _NUMERIC_KINDS else None


def number_of(term: str) -> int | None:
    """The word of a term that is a number.

    >>> number_of("3"), number_of("three")
    (13, None)
    """
    value = value_of(term)
    return value.content if value is not None and value.kind is Kind.NUMBER and isinstance(value.content, int) else None


def text_of(term: str) -> str | None:
    """The text that a term is; None for numbers, IRIs and everything that has a datatype or a language.

    >>> text_of("road1"), text_of('"Main Street"'), text_of("7")
    ('road1', 'Main Street', None)
    """
    value = value_of(term)
    return value.content if value is not None and isinstance(value.content, str) else None


def moment_of(term: str) -> int | None:
    """The microseconds since 1970 of a term that is a time.

    >>> moment_of('"1970-01-02"^^<http://www.w3.org/2001/XMLSchema#date>')
    86400000000
    """
    value = value_of(term)
    return value.content if value is not None and value.kind is Kind.TIME and isinstance(value.content, int) else None


def any_text(term: str) -> str:
    """The text of any term: what it is written as, without quotes, brackets, datatype and language.

    >>> any_text("7"), any_text("<http://example.org/a>"), any_text('"rue"@fr')
    ('7', 'http://example.org/a', 'rue')
    """
    if term[0] == "<":
        return term[1:-1]
    return unquote(term[: term.rindex('"') + 1]) if term[0] == '"' else term


def _number(text: str, datatype: str) -> Value | None:
    """A number with a datatype: floats by the shortest decimal that stands for them, as they are printed."""
    value = literals.value_of(text, datatype) if len(text) <= _LONGEST else None
    if value is None or value.text.endswith(("INF", "NaN")):
        return None
    shortest = str(np.float32(value.text)) if value.kind == "float" else value.text
    word = read_number(shortest)
    return None if word is None else Value(Kind.NUMBER, word_of(mantissa(word), scale(word)))


def _time(moment: datetime | None) -> Value | None:
    if moment is None:
        return None
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    return Value(Kind.TIME, (since.days * 86_400 + since.seconds) * _MICROSECOND + since.microseconds)


def _moment(text: str) -> datetime | None:
    """A dateTime, in UTC where it has no zone; None outside the years 1 to 9999."""
    try:
        return datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        return None


def _midnight(text: str) -> datetime | None:
    """The moment at which a date begins."""
    found = _DAY.fullmatch(text)
    try:
        return datetime.fromisoformat(f"{date.fromisoformat(found[1])}T00:00:00{found[2] or ''}") if found else None
    except ValueError:
        return None
