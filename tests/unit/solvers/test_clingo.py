"""The door to clingo."""

import pytest

from thalweg.diagnostics import Source
from thalweg.languages.asp.parse import parse
from thalweg.solvers.clingo import solve_once


def test_only_what_is_shown_is_told() -> None:
    assert sorted(solve_once("q(X) :- p(X). #show q/1.", "p(1). p(2).")) == ["q(1)", "q(2)"]


def test_no_answer_set_is_no_answer() -> None:
    assert solve_once(":- p.", "p.") == []


@pytest.mark.parametrize("arity", ["2305843009213693951", "5000000000", "100000", "1001"])
def test_a_signature_with_too_many_arguments_is_rejected(arity: str) -> None:
    """Clingo would make an atom of them, for minutes."""
    text = f"a :- b.\n#project a/{arity}."
    nodes, (wrong,) = parse(text, Source("x.lp", text))
    assert wrong.code == "E501"
    assert wrong.span.source.position(wrong.span.start) == (2, 1)
    assert [str(node) for node in nodes] == ["#program base.", "a :- b."]
