"""What was saved comes back whole, or not at all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.model.arrow import DamagedError, decode, encode

SAVED = encode({"now": 3}, {"words": np.array([5, 9, -1]), "terms": ["a", "b c"]})


@given(st.integers(0, len(SAVED) - 1), st.integers(1, 255))
def test_a_changed_byte_is_noticed(place: int, change: int) -> None:
    with pytest.raises(DamagedError, match="damaged"):
        decode(SAVED[:place] + bytes([SAVED[place] ^ change]) + SAVED[place + 1 :])


@given(st.integers(0, len(SAVED) - 1))
def test_what_is_cut_off_is_noticed(end: int) -> None:
    with pytest.raises(DamagedError, match="damaged"):
        decode(SAVED[:end])
