"""Terms and their spelling."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.model.term import BARE, constant, is_number, quote, unquote


@given(st.text())
def test_a_quoted_text_unquotes(text: str) -> None:
    assert unquote(quote(text)) == text


@given(st.text())
def test_a_quoted_text_stays_on_one_line(text: str) -> None:
    assert not {"\n", "\r", "\t"} & set(quote(text))


@pytest.mark.parametrize(
    ("text", "term"), [("road1", "road1"), ("Road", '"Road"'), ("", '""'), ("1", '"1"'), ("a b", '"a b"')]
)
def test_a_text_is_bare_where_it_can_be(text: str, term: str) -> None:
    assert constant(text) == term
    assert not is_number(term)


def test_a_bare_constant_ends_where_it_ends() -> None:
    assert BARE.match("a1_B")
    assert not BARE.match("a\n")
