"""Values of Python as terms, and back."""

import copy
import pickle
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg import IRI
from thalweg.languages.lars.facts import read_fact
from thalweg.model.fact import Fact, PythonFact
from thalweg.model.python_values import Term, term_of, value_of
from thalweg.model.rdf import XSD
from thalweg.model.term import is_term

ROME = timezone(timedelta(hours=1))
MOMENTS = st.datetimes(timezones=st.sampled_from([None, UTC, ROME]))
NUMBERS = st.integers(-(2**60), 2**60) | st.floats(-1e9, 1e9).map(lambda number: round(number, 4))
VALUES = st.text() | NUMBERS | st.dates() | MOMENTS | st.builds(IRI, st.sampled_from(["http://a/b", "a", "urn:x:y"]))


@given(VALUES)
def test_a_value_is_a_term_that_is_that_value(value):
    term = term_of(value)
    assert is_term(term)
    assert value_of(term) == value
    assert isinstance(value_of(term), IRI) == isinstance(value, IRI)
    assert read_fact(f"p({term})") == Fact("p", (term,)) == PythonFact("p", (value,))


@pytest.mark.parametrize(
    ("value", "term"),
    [
        ("a1", "a1"),
        ("b 7", '"b 7"'),
        ("12", '"12"'),
        ("<a>", '"<a>"'),
        ("", '""'),
        (12, "12"),
        (-0.0, "0"),
        (44.0, "44"),
        (1e-7, "0.0000001"),
        (Decimal("1.50"), "1.5"),
        (Decimal("1E+3"), "1000"),
        (True, "true"),
        (np.bool_(False), "false"),
        (np.int32(7), "7"),
        (np.float32(0.5), "0.5"),
        (datetime(2026, 11, 15, 8, 0, 0, 500_000, UTC), f'"2026-11-15T08:00:00.5Z"^^<{XSD}dateTime>'),
        (datetime(2026, 11, 15, 8, tzinfo=ROME), f'"2026-11-15T08:00:00+01:00"^^<{XSD}dateTime>'),
        (datetime(2026, 11, 15), f'"2026-11-15T00:00:00"^^<{XSD}dateTime>'),
        (Term("_:b0"), "_:b0"),
    ],
)
def test_terms(value, term):
    assert term_of(value) == term


@pytest.mark.parametrize(
    ("term", "value"),
    [
        (f'"31.5"^^<{XSD}double>', 31.5),
        (f'"31"^^<{XSD}int>', 31),
        (f'"1"^^<{XSD}boolean>', True),
        (f'"yes"^^<{XSD}boolean>', Term(f'"yes"^^<{XSD}boolean>')),
        (f'"NaN"^^<{XSD}double>', Term(f'"NaN"^^<{XSD}double>')),
        (f'"20261-01-01"^^<{XSD}date>', Term(f'"20261-01-01"^^<{XSD}date>')),
        ("2.50", 2.5),
        ("_:b0", Term("_:b0")),
        ('"rue"@fr', Term('"rue"@fr')),
    ],
)
def test_values(term, value):
    assert value_of(term) == value
    assert type(value_of(term)) is type(value)


@pytest.mark.parametrize("value", [None, b"a", (1,), 1j, object()])
def test_what_is_no_value(value):
    with pytest.raises(TypeError, match="use str, int"):
        term_of(value)


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), Decimal("NaN"), 2**80, 10**300, 1e300, "\ud800", Term("a b")]
)
def test_what_cannot_be_written(value):
    with pytest.raises(ValueError, match=r"not a number|cannot be written|not a term"):
        term_of(value)


@pytest.mark.parametrize("predicate", ["", "Speed", "a b", "<>", "3", '"a"'])
def test_what_is_no_predicate(predicate):
    with pytest.raises(ValueError, match="not a predicate"):
        PythonFact(predicate, ())
    with pytest.raises(ValueError, match="not an IRI"):
        IRI("a b")


def test_a_fact_of_values_is_the_fact_of_its_terms():
    fact = PythonFact(IRI("http://ex.org/speed"), ["a 1", 12])
    assert fact == Fact("<http://ex.org/speed>", ('"a 1"', "12"))
    assert hash(fact) == hash(Fact(*fact))
    assert repr(fact) == "Fact('<http://ex.org/speed>', ('a 1', 12))"
    assert fact.args == ("a 1", 12)
    assert pickle.loads(pickle.dumps(fact)) == copy.copy(fact) == fact
    with pytest.raises(TypeError, match="are a tuple"):
        PythonFact("p", "abc")
