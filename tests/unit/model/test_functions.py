"""Functions, conditions and comparisons of terms."""

from datetime import timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.model.functions import CONDITIONS, FUNCTIONS, are_comparable, call, holds, is_pattern
from thalweg.model.rdf import XSD
from thalweg.model.term import is_term
from thalweg.model.time import Calendar, Clock
from thalweg.testing.strategies import VALUES

UTC = Calendar()
DOUBLE = f'"1.5"^^<{XSD}double>'
NOON = f'"2026-11-15T12:00:00Z"^^<{XSD}dateTime>'


@pytest.mark.parametrize(
    ("function", "terms", "value"),
    [
        ("abs", ("-2.50",), "2.5"),
        ("abs", (DOUBLE,), "1.5"),
        ("abs", ("a",), None),
        ("floor", ("-2.5",), "-3"),
        ("ceil", ("-2.5",), "-2"),
        ("round", ("2.5",), "3"),
        ("round", ("-2.5",), "-3"),
        ("round", ("2.345", "2"), "2.35"),
        ("round", ("2.3449", "2"), "2.34"),
        ("round", ("1250", "-2"), "1300"),
        ("round", ("2.5", "0.5"), None),
        ("round", ("2.5", "99"), None),
        ("round", ("4", "-3"), "0"),
        ("min", ("2.0", "10"), "2"),
        ("max", ("2.0", "a"), None),
        ("sqrt", ("2",), "1.414213562373095"),
        ("sqrt", ("2.25",), "1.5"),
        ("sqrt", ("0",), "0"),
        ("sqrt", ("-1",), None),
        ("number", ('"0042"',), "42"),
        ("number", ('"4.20e1"',), "42"),
        ("number", (DOUBLE,), "1.5"),
        ("number", ("a",), None),
        ("number", ('"1e999999999"',), None),
        ("text", ("7.50",), '"7.50"'),
        ("text", ("<http://e.org/a>",), '"http://e.org/a"'),
        ("text", ('"road"@en',), "road"),
        ("concat", ("a", '"-"', "7"), '"a-7"'),
        ("concat", ("a", "b"), "ab"),
        ("length", ('"é\\n"',), "2"),
        ("length", ("7",), None),
        ("upper", ("a",), '"A"'),
        ("lower", ('"A"',), "a"),
        ("hour", (NOON,), "12"),
        ("weekday", (NOON,), "7"),
        ("date", ("86400",), '"1970-01-02"'),
        ("iso", ("90",), '"1970-01-01T00:01:30Z"'),
        ("iso", ("1.5",), None),
        ("iso", ("2305843009213693951",), None),
    ],
)
def test_call(function: str, terms: tuple[str, ...], value: str | None) -> None:
    assert call(function, terms, UTC) == value


def test_times_are_those_of_the_run() -> None:
    rome = Calendar(Clock(tick_length=60_000), timezone(timedelta(hours=1)))
    found = [call(name, ("1439",), rome) for name in ("hour", "minute", "weekday", "date", "iso")]
    assert found == ["0", "59", "5", '"1970-01-02"', '"1970-01-02T00:59:00+01:00"']


@pytest.mark.parametrize(
    ("first", "operators", "second"),
    [
        ("7", ("!=", "!=="), "a"),
        ("a", ("=", "<=", ">="), "a"),
        ("a", ("!=", "!==", "<", "<="), '"a b"'),
        ("1.5", ("=", "!==", "<=", ">="), DOUBLE),
        (NOON, ("!=", "!==", "<", "<="), f'"2026-11-16"^^<{XSD}date>'),
        (NOON, ("=", "!==", "<=", ">="), f'"2026-11-15T13:00:00+01:00"^^<{XSD}dateTime>'),
        (f'"NaN"^^<{XSD}double>', ("=",), f'"NaN"^^<{XSD}double>'),
        ("<a>", ("!=", "!=="), "<b>"),
        ("<a>", ("=",), "<a>"),
    ],
)
def test_comparisons(first: str, operators: tuple[str, ...], second: str) -> None:
    every = ("=", "!=", "!==", "<", "<=", ">", ">=")
    assert {operator for operator in every if holds(operator, first, second)} == set(operators)


def test_conditions() -> None:
    assert [name for name in CONDITIONS if holds(name, "road1", "ro")] == ["starts_with", "contains", "matches"]
    assert holds("matches", "road1", '"[0-9]$"')
    assert not holds("matches", "road1", '"("')
    assert not any(holds(name, "7", "7") for name in CONDITIONS)
    assert [is_pattern(one) for one in ("", "a|b", "a{1001}", "(?<=a)", "*")] == [True, True, False, False, False]


@given(st.sampled_from(VALUES), st.sampled_from(VALUES))
def test_comparisons_agree_with_each_other(first: str, second: str) -> None:
    assert holds("=", first, second) != holds("!=", first, second)
    assert holds("<", first, second) == holds(">", second, first)
    if are_comparable(first, second):
        assert holds("<=", first, second) != holds(">", first, second)
        assert holds("<=", first, second) == (holds("<", first, second) or holds("=", first, second))
    else:
        assert not any(holds(operator, first, second) for operator in ("<", "<=", ">", ">="))


@given(st.sampled_from(sorted(FUNCTIONS)), st.lists(st.sampled_from(VALUES), min_size=2, max_size=2))
def test_a_value_is_a_term(function: str, terms: list[str]) -> None:
    found = call(function, tuple(terms[: FUNCTIONS[function].most]), UTC)
    assert found is None or is_term(found)
