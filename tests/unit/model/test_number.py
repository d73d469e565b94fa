"""Numbers: the compiled kernels, plain Python and Python's own decimals agree."""

from decimal import Decimal, localcontext

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from thalweg.engine.compiled import entry
from thalweg.model.number import (
    ADD,
    COMPARISONS,
    DIVERSE,
    DIVIDE,
    FAILS,
    HOLDS,
    LARGEST_INTEGER,
    LARGEST_MANTISSA,
    MODULO,
    MULTIPLY,
    NO_VALUE,
    NUMERIC_FUNCTIONS,
    OPERATORS,
    SUBTRACT,
    UNDECIDED,
    calculate,
    compare,
    order,
    read_number,
    show_number,
    total,
)


@entry
def compiled_calculate(operator: int, left: int, right: int) -> int:
    return calculate(operator, left, right)


@entry
def compiled_compare(operator: int, left: int, right: int, first: int, second: int) -> int:
    return compare(operator, left, right, first, second)


def integer(value: int) -> int:
    return (value << 2) | 1


def text(beginning: int) -> int:
    return (beginning << 3) | 7


def decimal(mantissa: int, scale: int) -> int:
    return (mantissa << 8) | (scale << 2) | 2


integers = st.integers(-LARGEST_INTEGER, LARGEST_INTEGER).map(integer)
decimals = st.builds(decimal, st.integers(-LARGEST_MANTISSA, LARGEST_MANTISSA), st.integers(1, 63))
small_integers = st.integers(-(10**6), 10**6).map(integer)
small_decimals = st.builds(decimal, st.integers(-(10**7), 10**7), st.integers(1, 4))
small = st.one_of(small_integers, small_decimals)
numbers = st.one_of(integers, decimals, small)
words = st.one_of(numbers, st.integers(0, 50).map(lambda entry: entry << 2), st.just(NO_VALUE))
values = st.one_of(words, st.integers(0, 3).map(text))
operators = st.sampled_from(sorted((*OPERATORS.values(), *NUMERIC_FUNCTIONS.values())))
comparisons = st.sampled_from(sorted(COMPARISONS.values()))


def exact(word: int) -> Decimal:
    return Decimal(show_number(word))


@given(operators, words, words)
def test_compiled_arithmetic_is_plain_arithmetic(operator: int, left: int, right: int) -> None:
    assert compiled_calculate(operator, left, right) == calculate(operator, left, right)


@given(comparisons, words, words, values, values)
def test_compiled_comparison_is_plain_comparison(operator: int, left: int, right: int, first: int, second: int) -> None:
    assert compiled_compare(operator, left, right, first, second) == compare(operator, left, right, first, second)


@given(st.sampled_from((ADD, SUBTRACT, MULTIPLY)), small, small)
def test_arithmetic_is_exact(operator: int, left: int, right: int) -> None:
    first, second = exact(left), exact(right)
    expected = {ADD: first + second, SUBTRACT: first - second, MULTIPLY: first * second}[operator]
    assert exact(calculate(operator, left, right)) == expected


@given(numbers, numbers)
def test_a_quotient_is_right_to_15_digits(left: int, right: int) -> None:
    word = calculate(DIVIDE, left, right)
    assume(word != NO_VALUE)
    with localcontext() as context:
        context.prec = 60
        expected = exact(left) / exact(right)
    # What is smaller than the last place of a word is rounded there.
    assert abs(exact(word) - expected) <= max(abs(expected) * Decimal("1e-14"), Decimal("1e-62"))


@given(small, st.sampled_from([2, 4, 5, 8, 10, 25, 100]))
def test_a_quotient_that_ends_is_exact(left: int, right: int) -> None:
    assert exact(calculate(DIVIDE, left, integer(right))) == exact(left) / right


@given(numbers, numbers)
@example(integer(0), decimal(5, 20))
@example(decimal(-5, 20), integer(0))
def test_order_is_the_order_of_decimals(left: int, right: int) -> None:
    first, second = exact(left), exact(right)
    assert order(left, right) == (first > second) - (first < second)


@given(numbers, numbers)
def test_addition_is_close_where_it_is_rounded(left: int, right: int) -> None:
    word = calculate(ADD, left, right)
    with localcontext() as context:
        context.prec = 120
        expected = exact(left) + exact(right)
        if word == NO_VALUE:
            assert max(abs(exact(left)), abs(exact(right)), abs(expected)) > Decimal(2) ** 55
        else:
            largest = max(abs(exact(left)), abs(exact(right)))
            assert abs(exact(word) - expected) <= max(largest * Decimal("1e-14"), Decimal("1e-62"))


@given(st.lists(small, max_size=20))
def test_a_total_is_exact(found: list[int]) -> None:
    assert exact(total(found)) == sum(map(exact, found), Decimal(0))


@given(numbers)
def test_a_number_reads_as_it_prints(word: int) -> None:
    assert read_number(show_number(word)) == word


@given(operators, numbers, numbers)
def test_what_is_computed_is_as_short_as_it_can_be(operator: int, left: int, right: int) -> None:
    word = calculate(operator, left, right)
    assume(word != NO_VALUE)
    shown = show_number(word)
    assert "." not in shown or not shown.endswith("0")


@pytest.mark.parametrize(
    ("operator", "left", "right", "expected"),
    [
        ("+", "0.5", "0.5", "1"),
        ("+", "12.25", "0.25", "12.5"),
        ("-", "1", "0.9", "0.1"),
        ("*", "1.5", "1.5", "2.25"),
        ("/", "1", "3", "0.333333333333333"),
        ("/", "-1", "8", "-0.125"),
        ("mod", "-7", "3", "2"),
    ],
)
def test_examples(operator: str, left: str, right: str, expected: str) -> None:
    found = calculate(OPERATORS[operator], read_number(left) or 0, read_number(right) or 0)
    assert show_number(found)[: len(expected)] == expected


@pytest.mark.parametrize("operator", [DIVIDE, MODULO])
def test_nothing_divides_by_zero(operator: int) -> None:
    assert calculate(operator, integer(7), integer(0)) == NO_VALUE


def test_what_has_no_fraction_and_does_not_fit_is_no_value() -> None:
    assert calculate(ADD, integer(LARGEST_INTEGER), integer(1)) == NO_VALUE
    assert calculate(MULTIPLY, integer(2**40), integer(2**40)) == NO_VALUE
    assert read_number(str(2**61)) is None


def test_a_constant_equals_itself_and_has_no_order() -> None:
    constant, other, number = 4, 8, integer(1)
    assert compare(COMPARISONS["="], constant, constant, NO_VALUE, NO_VALUE) == HOLDS
    assert compare(COMPARISONS["!="], constant, other, NO_VALUE, NO_VALUE) == HOLDS
    assert compare(COMPARISONS["="], constant, number, NO_VALUE, number) == FAILS
    for operator in ("<", "<=", ">", ">="):
        assert compare(COMPARISONS[operator], constant, number, NO_VALUE, number) == DIVERSE
        assert compare(COMPARISONS[operator], number, constant, number, NO_VALUE) == DIVERSE


def test_texts_are_ordered_by_their_beginnings_as_far_as_these_differ() -> None:
    first, second = text(1), text(2)
    assert compare(COMPARISONS["<"], 4, 12, first, second) == HOLDS
    assert compare(COMPARISONS["<"], 4, 12, second, first) == FAILS
    assert compare(COMPARISONS["<"], 4, 12, first, first) == UNDECIDED
    assert compare(COMPARISONS["<="], 4, 4, first, first) == HOLDS
    assert compare(COMPARISONS["="], 4, 12, first, first) == FAILS


def test_times_are_equal_by_value() -> None:
    assert compare(COMPARISONS["="], 4, 12, 8, 8) == HOLDS
    assert compare(COMPARISONS["<"], 4, 12, -8, 8) == HOLDS
    assert compare(COMPARISONS["<"], 4, 12, 8, text(9)) == DIVERSE
