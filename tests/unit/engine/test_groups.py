"""Aggregates follow their elements, in value and in size."""

from collections import Counter
from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.engine.groups import GroupState
from thalweg.engine.layout import COLUMNS
from thalweg.model.number import (
    DIVIDE,
    LARGEST_INTEGER,
    LARGEST_MANTISSA,
    NO_VALUE,
    calculate,
    mantissa,
    order,
    ratio,
    root_of_ratio,
    scale,
    shortest,
    total,
)

FUNCTIONS = [("count", None), ("sum", None), ("avg", None), ("min", None), ("max", None), ("stddev", None)]
FUNCTIONS += [("median", None), ("quantile", "0.95"), ("quantile", "0.3333333333333"), ("quantile", "0")]


def word(value: int) -> int:
    return value << 2 | 1


def change(state: GroupState, came: list[tuple[int, ...]], went: list[tuple[int, ...]]) -> tuple[np.ndarray, ...]:
    """Lets rows of an arena come and go: all of the relation 0, whose columns are a key, a word and perhaps more."""
    found = [*came, *went]
    arena = np.zeros((len(found), COLUMNS + len(found[0])), dtype=np.int64)
    arena[:, COLUMNS:] = found
    places = np.arange(len(found), dtype=np.int32) * arena.shape[1]
    return state.change(arena, places[: len(came)], places[len(came) :], 0, np.zeros(3, dtype=np.int64))


def value(function: str, words: list[int], share: str | None) -> int:
    """What an aggregate is, written down without a thought for speed."""
    numbers = [each for each in words if each & 3]
    exact = sorted(Fraction(mantissa(each), 10 ** scale(each)) for each in numbers)
    if not words:
        return NO_VALUE
    if function == "count":
        return word(len(words))
    if function == "sum":
        return total(numbers)
    if not numbers or (function == "stddev" and len(numbers) < 2):
        return NO_VALUE
    match function:
        case "avg":
            return calculate(DIVIDE, total(numbers), word(len(numbers)))
        case "min" | "max":
            best = numbers[0]
            for each in numbers:
                sign = order(each, best) * (1 if function == "min" else -1)
                best = each if sign < 0 or (sign == 0 and each < best) else best
            return shortest(best)
        case "stddev":
            mean = sum(exact) / len(exact)
            variance = sum((each - mean) ** 2 for each in exact) / (len(exact) - 1)
            return root_of_ratio(variance.numerator, variance.denominator)
    place = Fraction(share or "0.5") * (len(exact) - 1)
    low, high = floor(place), min(floor(place) + 1, len(exact) - 1)
    between = exact[low] + (place - low) * (exact[high] - exact[low])
    return ratio(between.numerator, between.denominator)


integers = st.integers(-LARGEST_INTEGER, LARGEST_INTEGER) | st.integers(-20, 20)
decimals = st.builds(
    lambda digits, places: digits << 8 | places << 2 | 2,
    st.integers(-LARGEST_MANTISSA, LARGEST_MANTISSA) | st.integers(-300, 300),
    st.integers(1, 63) | st.integers(1, 3),
)
words = st.builds(word, integers) | decimals | st.just(8)
elements = st.lists(st.tuples(st.integers(0, 3), words, st.integers(0, 5)), max_size=30, unique=True)


@pytest.mark.parametrize(("function", "share"), FUNCTIONS)
@given(steps=st.lists(elements, min_size=1, max_size=5))
def test_the_value_is_that_of_the_elements_that_are_there(function, share, steps):
    state, present, told = GroupState(function, (0, 1), share), set(), {}
    for step in steps:
        came, went = [each for each in step if each not in present], [each for each in step if each in present]
        present = (present | set(came)) - set(went)
        old, new = change(state, came, went) if step else (np.zeros((0, 2)), np.zeros((0, 2)))
        for key, before in old.tolist():
            assert told.pop(key) == before
        told |= dict(new.tolist())
        values = {key: value(function, [each[1] for each in present if each[0] == key], share) for key in range(4)}
        assert told == {key: found for key, found in values.items() if found != NO_VALUE}


@pytest.mark.parametrize("function", ["min", "max", "median"])
def test_thousands_of_numbers_come_and_go_in_any_order(function):
    state, present, chance, now = GroupState(function, (0, 1)), Counter(), np.random.default_rng(7), NO_VALUE
    for size in (3_000, 3_000, 100, 5_000):
        came = [(1, word(int(each)), number) for number, each in enumerate(chance.integers(0, 700, size))]
        gone = chance.permutation([each for each, many in present.items() for _ in range(many)])[: len(came) // 2]
        went = [(1, int(each), -1) for each in gone]
        present += Counter(each for _, each, _ in came)
        present -= Counter(each for _, each, _ in went)
        _, new = change(state, came, went)
        now = new[0, 1] if len(new) else now
        assert now == value(function, list(present.elements()), None)


@pytest.mark.parametrize(("function", "share"), FUNCTIONS)
def test_what_is_gone_takes_no_room(function, share):
    state = GroupState(function, (0, 1), share)
    change(state, [(0, word(0))], [])
    for passing in range(1, 3_000):
        passed = [(passing, word(passing)), (0, word(passing))]
        change(state, passed, [])
        change(state, [], passed)
    assert state.size < 40_000
