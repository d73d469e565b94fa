"""The kernel spells numbers as Python does."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from thalweg.engine.number_text import spell_numbers
from thalweg.model.number import LARGEST_INTEGER, LARGEST_MANTISSA, LARGEST_SCALE, show_number

integers = st.builds(lambda value: value << 2 | 1, st.integers(-LARGEST_INTEGER, LARGEST_INTEGER))
decimals = st.builds(
    lambda digits, places: digits << 8 | places << 2 | 2,
    st.integers(-LARGEST_MANTISSA, LARGEST_MANTISSA) | st.integers(-300, 300),
    st.integers(0, LARGEST_SCALE),
)


@given(st.lists(integers | decimals))
def test_many_numbers_are_spelled_like_one(words: list[int]) -> None:
    assert spell_numbers(np.array(words, dtype=np.int64)) == list(map(show_number, words))
