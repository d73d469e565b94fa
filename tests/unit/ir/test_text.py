"""A program prints as text that reads back to the same program."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.diagnostics import Source
from thalweg.ir.nodes import Constant, Operation, Program, Variable
from thalweg.ir.text import show
from thalweg.languages import lars
from thalweg.testing.strategies import programs

X, ONE = Variable("X"), Constant("1")


@given(st.one_of(programs(), programs(remembering=True, values=True)))
def test_what_is_shown_reads_back(program: Program) -> None:
    again = lars.read(Source("shown", show(program)))
    # A lone `_` gets a new name from its reader, so the text is what can be compared.
    assert show(again) == show(program)
    assert len(again.rules) == len(program.rules)
    assert again.background == program.background


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (Operation("-", X, Operation("-", X, ONE)), "X - (X - 1)"),
        (Operation("-", Operation("-", X, X), ONE), "X - X - 1"),
        (Operation("*", Operation("+", X, ONE), X), "(X + 1) * X"),
        (Operation("+", Operation("*", X, X), ONE), "X * X + 1"),
        (Variable("_'3"), "_"),
    ],
)
def test_parentheses_stand_where_they_are_needed(node: object, text: str) -> None:
    assert show(node) == text


def test_other_values_are_not_shown() -> None:
    with pytest.raises(TypeError, match="not part of the representation"):
        show(3)
