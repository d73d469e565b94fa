"""The door to clingo."""

from thalweg.solvers.clingo import solve_once


def test_only_what_is_shown_is_told() -> None:
    assert sorted(solve_once("q(X) :- p(X). #show q/1.", "p(1). p(2).")) == ["q(1)", "q(2)"]


def test_no_answer_set_is_no_answer() -> None:
    assert solve_once(":- p.", "p.") == []
