"""The value of a term in a comparison or a calculation.

    31.50, "31.5"^^xsd:double, "31.5"^^xsd:float       the number 31.5
    "NaN"^^xsd:double, "300"^^xsd:byte                 no value: not a number
    road1, "Main Street"                               a text
    "2026-11-15T08:00:00Z"^^xsd:dateTime               a time: microseconds since 1970
    <http://example.org/a>, "rue"@fr                   no value: equal to itself only

A term is its spelling, and facts meet in a join where their spellings are the same; a value is what `<`, `=` and `+`
look at. Two terms may have the same value and stay two terms, because the datatype belongs to the term.

An evaluator that codes terms as words has the value of each entry of its dictionary as a word, too (`value_word`).
"""

import re
from datetime import UTC, date, datetime
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from thalweg.model import literals
from thalweg.model.number import NO_VALUE, read_number, shortest
from thalweg.model.rdf import XSD
from thalweg.model.term import is_number, unquote

# A number that has a word needs no larger exponent, and what is longer would take long to read.
_LONGEST: Final = 400
_NUMERIC_KINDS: Final = ("decimal", "double", "float")
_DAY: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(Z|[+-][0-9]{2}:[0-9]{2})?")
_MICROSECOND: Final = 1_000_000
_BEGINNING: Final = 7


class Kind(Enum):
    """What a value is; `<` and its like compare values of one kind."""

    NUMBER = "number"
    TEXT = "text"
    TIME = "time"


class TermValue(NamedTuple):
    """A value: a number as its word, a time in microseconds since 1970, or a text."""

    kind: Kind
    content: int | str


@lru_cache(maxsize=65_536)
def value_of(term: str) -> TermValue | None:
    """The value of a term; None where it has none.

    >>> value_of('"3"^^<http://www.w3.org/2001/XMLSchema#double>') == value_of("3"), value_of("<http://example.org/a>")
    (True, None)
    """
    if is_number(term):
        word = read_number(term) if len(term) <= _LONGEST else None
        return None if word is None else TermValue(Kind.NUMBER, word)
    if term[0].isalpha():
        return TermValue(Kind.TEXT, term)
    if term[0] != '"':
        return None
    text, datatype = literals.parts(term)
    if datatype == f"<{XSD}string>":
        return TermValue(Kind.TEXT, text)
    if datatype == f"<{XSD}date>":
        return _time(_midnight(text))
    definition = literals.DATATYPES.get(datatype)
    if definition is None:
        return None
    if definition.kind == "dateTime":
        moment = literals.value_of(text, datatype)
        return _time(_moment(moment.text)) if moment is not None else None
    return _number(text, datatype) if definition.kind in _NUMERIC_KINDS else None


def value_word(term: str) -> int:
    """The value of a term that has an entry in a dictionary, in one word (`number` says how).

    >>> value_word("a") < value_word('"a b"'), value_word("<http://example.org/a>") == NO_VALUE
    (True, True)
    """
    if term[0] == "<":
        return NO_VALUE
    if term[-1] == '"' or term[0].isalpha():
        text = term if term[-1] != '"' else unquote(term) if "\\" in term else term[1:-1]
        first = text[:_BEGINNING].encode(errors="surrogatepass")[:_BEGINNING]
        return int.from_bytes(first.ljust(_BEGINNING, b"\0")) << 3 | 7
    value = value_of(term) if term[0] == '"' else None
    if value is None or isinstance(value.content, str):
        return NO_VALUE
    return value.content if value.kind is Kind.NUMBER else value.content << 2


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


def _number(text: str, datatype: str) -> TermValue | None:
    """A number with a datatype: floats by the shortest decimal that stands for them, as they are printed."""
    value = literals.value_of(text, datatype) if len(text) <= _LONGEST else None
    if value is None or value.text.endswith(("INF", "NaN")):
        return None
    text = str(np.float32(value.text)) if value.kind == "float" else value.text
    word = read_number(text)
    return None if word is None else TermValue(Kind.NUMBER, shortest(word))


def _time(moment: datetime | None) -> TermValue | None:
    if moment is None:
        return None
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    return TermValue(Kind.TIME, (since.days * 86_400 + since.seconds) * _MICROSECOND + since.microseconds)


def _moment(text: str) -> datetime | None:
    """A dateTime, in UTC where it has no zone; None outside the years 1 to 9999."""
    try:
        return datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        return None


def _midnight(text: str) -> datetime | None:
    """The moment at which a date begins."""
    match = _DAY.fullmatch(text)
    try:
        return datetime.fromisoformat(f"{date.fromisoformat(match[1])}T00:00:00{match[2] or ''}") if match else None
    except ValueError:
        return None
