"""What was saved comes back whole, or not at all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.model.arrow import DamagedError, decode, encode

LISTS = {"words": np.array([5, 9, -1]), "terms": ["a", "b c"]}
SAVED = [encode({"now": 3}, LISTS), encode({"now": 3}, LISTS, brief=True)]
saved = st.sampled_from(SAVED)


@given(saved, st.data(), st.integers(1, 255))
def test_a_changed_byte_is_noticed(content: bytes, data: st.DataObject, change: int) -> None:
    place = data.draw(st.integers(0, len(content) - 1))
    with pytest.raises(DamagedError, match="damaged"):
        decode(content[:place] + bytes([content[place] ^ change]) + content[place + 1 :])


@given(saved, st.data())
def test_what_is_cut_off_is_noticed(content: bytes, data: st.DataObject) -> None:
    with pytest.raises(DamagedError, match="damaged"):
        decode(content[: data.draw(st.integers(0, len(content) - 1))])


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=40),
    st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=5),
)
def test_few_values_come_back_as_many_do(numbers: list[int], texts: list[str]) -> None:
    lists = {"numbers": np.array(numbers, dtype=np.int64), "texts": texts}
    for brief in (False, True):
        header, read = decode(encode({"of": texts}, lists, brief=brief))
        assert header == {"of": texts}
        assert (read["numbers"].dtype, read["numbers"].tolist()) == (np.int64, numbers)
        assert read["texts"].to_pylist() == texts
