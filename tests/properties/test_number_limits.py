"""*Found by the number = compared one by one*: limits that come and go, and numbers in between, at and beside them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.kinds.events import comparisons
from thalweg.kinds.events.comparisons import LimitIndex, NumberLimit, number_limits, plain_number
from thalweg.model.rdf import XSD

NUMBERS = st.one_of(
    st.integers(-3, 40).map(str),
    st.integers(-30, 400).map(lambda tenths: f"{tenths / 10:.1f}"),
    st.sampled_from(("0.1", "0.3", "0.7", "1.1", "999999999999999")),
)
TERMS = st.one_of(
    NUMBERS, NUMBERS.map(lambda number: f'"{number}"^^<{XSD}double>'), st.just('"0.30000000000000004"^^<a>')
)
SIGNS = st.sampled_from(("<", "<=", ">", ">=", "=", "!="))
CONDITIONS = st.lists(st.builds("?v {} {}".format, SIGNS, NUMBERS), min_size=1, max_size=2).map(" && ".join)


@given(st.lists(CONDITIONS, max_size=120), st.sets(st.integers(0, 119)), st.lists(TERMS, min_size=1, max_size=20))
def test_limits_are_found_by_the_number(conditions: list[str], gone: set[int], terms: list[str]) -> None:
    index = LimitIndex()
    limits: dict[int, tuple[NumberLimit, ...]] = {}
    for number, condition in enumerate(conditions):
        compared = number_limits(condition)
        assert compared is not None
        index.add(number, number, compared)
        limits[number] = compared
        if number % 50 == 49:
            check(index, limits, terms)
    for number in gone & limits.keys():
        index.remove(number)
        del limits[number]
    assert len(index) == len(limits)
    check(index, limits, terms)


def check(index: LimitIndex, limits: dict[int, tuple[NumberLimit, ...]], terms: list[str]) -> None:
    for term in (*terms, *terms):
        value = plain_number(term)
        allowed = [
            number for number, own in limits.items() if value is None or all(limit.allows(value) for limit in own)
        ]
        assert sorted(index.allowing(term)) == allowed


def test_a_double_is_at_the_limit_that_is_written_as_a_decimal() -> None:
    index, limits = LimitIndex(), {}
    for tenths in range(100):
        limits[tenths] = number_limits(f"?v = {tenths / 10:.1f}") or ()
        index.add(tenths, tenths, limits[tenths])
    check(index, limits, [f'"{tenths / 10:.1f}"^^<{XSD}double>' for tenths in range(100)])


def test_what_is_kept_of_numbers_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparisons, "_MOST_KEPT", 1_000)
    index = LimitIndex()
    for number in range(300):
        index.add(number, number, number_limits(f"?v > {number}") or ())
    for number in range(300):
        assert len(list(index.allowing(str(number)))) == number
        assert sum(map(len, index._cells.values())) <= 1_000 + 300
