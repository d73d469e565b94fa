"""Values of Python as terms, and back.

    "b 7", "a1"                 is   "b 7", a1             a text
    12, 44.0, Decimal("1.50")   is   12, 44, 1.5           a number, in its shortest form
    True                        is   true                  a text
    IRI("http://ex.org/a")      is   <http://ex.org/a>
    datetime(2026, 11, 15, 8, tzinfo=UTC)   is   "2026-11-15T08:00:00Z"^^xsd:dateTime
    date(2026, 11, 15)          is   "2026-11-15"^^xsd:date

What rules have and Python has not (`"rue"@fr`, `_:b0`) comes back as a `Term`, which is its spelling.
"""

from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from numbers import Integral, Real
from typing import Final

import numpy as np

from thalweg.model import literals
from thalweg.model.number import read_number, shortest, show_number
from thalweg.model.rdf import XSD, names_a_predicate
from thalweg.model.term import constant, is_number, is_term
from thalweg.model.values import number_of, text_of

_LONGEST: Final = 200
_KNOWN: Final = "str, int, float, Decimal, bool, datetime, date and IRI"


class IRI(str):
    """The name of a resource.

    >>> IRI("http://example.org/a")
    IRI('http://example.org/a')
    """

    __slots__ = ()

    def __new__(cls, iri: str) -> "IRI":
        if not is_term(f"<{iri}>"):
            raise ValueError(f"{iri!r} is not an IRI: it has no spaces, brackets or quotes, and is not empty")
        return super().__new__(cls, iri)

    def __repr__(self) -> str:
        return f"IRI({str(self)!r})"


class Term(str):
    """A term that Python has no value for, as rules write it: `"rue"@fr`, `_:b0`, `f(1,2)`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Term({str(self)!r})"


PythonValue = str | int | float | Decimal | bool | datetime | date
"""What an argument of a fact is in Python; an `IRI` is a `str`."""


def term_of(value: object) -> str:
    """The term of a value; `TypeError` or `ValueError` where it has none.

    >>> term_of("b 7"), term_of(44.0), term_of(True), term_of(IRI("http://example.org/a"))
    ('"b 7"', '44', 'true', '<http://example.org/a>')
    >>> term_of(date(2026, 11, 15))
    '"2026-11-15"^^<http://www.w3.org/2001/XMLSchema#date>'
    """
    match value:
        case IRI():
            return f"<{value}>"
        case Term():
            return _checked(str(value))
        case str():
            return _text(value)
        case bool() | np.bool_():
            return "true" if value else "false"
        case Integral() | Real() | Decimal():
            return _number(value)
        case datetime():
            return f'"{_moment(value)}"^^<{XSD}dateTime>'
        case date():
            return f'"{value.isoformat()}"^^<{XSD}date>'
    raise TypeError(f"{value!r} of type {type(value).__name__} is not a value of a fact: use {_KNOWN}")


@lru_cache(maxsize=65_536)
def value_of(term: str) -> PythonValue:
    """The value of a term.

    >>> value_of("a1"), value_of("20.50"), value_of("<http://example.org/a>"), value_of('"rue"@fr')
    ('a1', 20.5, IRI('http://example.org/a'), Term('"rue"@fr'))
    """
    if term[0] == "<":
        return IRI(term[1:-1])
    if term[-1] == ")":
        # Answer sets have terms inside of terms.
        return Term(term)
    if (text := text_of(term)) is not None:
        return text
    if (word := number_of(term)) is not None:
        spelling = show_number(word)
        return int(spelling) if spelling.lstrip("-").isdigit() else float(spelling)
    if is_number(term) or term[0] == "_":
        return Term(term)
    return _typed(*literals.parts(term), term)


def predicate_of(name: str) -> str:
    """The predicate that a name or an `IRI` is; `ValueError` where it is none.

    >>> predicate_of("speed"), predicate_of("<http://example.org/speed>"), predicate_of(IRI("http://example.org/speed"))
    ('speed', '<http://example.org/speed>', '<http://example.org/speed>')
    """
    predicate = f"<{name}>" if isinstance(name, IRI) else name
    if not is_term(predicate) or not names_a_predicate(predicate):
        raise ValueError(f"{name!r} is not a predicate: it begins with a lower-case letter, or is an IRI in brackets")
    return predicate


def _typed(text: str, datatype: str, term: str) -> PythonValue:
    """The value of a literal that is neither a text nor a number."""
    try:
        match datatype.removeprefix(f"<{XSD}"):
            case "boolean>" if (value := literals.value_of(text, datatype)) is not None:
                return value.text == "true"
            case "dateTime>" | "dateTimeStamp>":
                return datetime.fromisoformat(text)
            case "date>":
                return date.fromisoformat(text)
    except ValueError:
        pass
    return Term(term)


def _checked(term: str) -> str:
    if not is_term(term):
        raise ValueError(f"`{term}` is not a term")
    return term


def _text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{text!r} cannot be written: half a surrogate pair is not a character") from None
    return constant(text)


def _number(value: Integral | Real | Decimal) -> str:
    # What `repr` of a float shows is the shortest decimal that stands for it.
    exact = Decimal(
        int(value) if isinstance(value, Integral) else repr(float(value)) if isinstance(value, Real) else value
    )
    word = read_number(f"{exact:f}") if exact.is_finite() and abs(exact.adjusted()) < _LONGEST else None
    if word is None:
        raise ValueError(f"`{value}` is not a number that can be calculated with")
    spelling = show_number(shortest(word))
    if isinstance(value, Decimal):
        check_exact(value, spelling)
    return spelling


def check_exact(value: Decimal, spelling: str) -> None:
    """`ValueError` where a number is not all of a decimal: an amount of money must not lose its cents in silence.

    >>> check_exact(Decimal("12345678901234567.89"), "12345678901234568")
    Traceback (most recent call last):
    ValueError: `12345678901234567.89` has more digits than a number can hold: 16, where it has a fraction
    """
    if Decimal(spelling) != value:
        raise ValueError(f"`{value:f}` has more digits than a number can hold: 16, where it has a fraction")


def _moment(moment: datetime) -> str:
    """An `xsd:dateTime` in its shortest form: no zero seconds behind the point, and `Z` for UTC."""
    text = moment.replace(microsecond=0, tzinfo=None).isoformat()
    part = f".{moment.microsecond:06}".rstrip("0") if moment.microsecond else ""
    zone = moment.replace(microsecond=0).isoformat()[len(text) :]
    return f"{text}{part}{'Z' if zone == '+00:00' else zone}"
