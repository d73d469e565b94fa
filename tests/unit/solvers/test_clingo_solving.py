"""What is asked of clingo, and how answers are spelled."""

import pytest

from thalweg.solvers.clingo import Solved, Task, solve
from thalweg.solvers.combine import combine

CHOICE = "1 { a(1..3) } 1. { z }. #show a/1. #show z/0."
COSTS = ":~ a(X), X > 2. [1@1]"


@pytest.mark.parametrize(
    ("models", "answers"),
    [
        ("all", [("a(1)",), ("a(1)", "z"), ("a(2)",), ("a(2)", "z")]),
        ("brave", [("a(1)", "a(2)", "z")]),
        ("cautious", [()]),
    ],
)
def test_only_optimal_answer_sets_count(models: str, answers: list[tuple[str, ...]]) -> None:
    assert list(solve(Task(CHOICE + COSTS, models=models)).answers) == answers


def test_the_first_is_optimal_and_always_the_same() -> None:
    found = {solve(Task(CHOICE + COSTS)).answers for _ in range(5)}
    assert len(found) == 1
    assert "a(3)" not in next(iter(found))[0]


@pytest.mark.parametrize("models", ["first", "all", "brave", "cautious"])
def test_no_answer_set_is_known_to_be_none(models: str) -> None:
    found = solve(Task("a :- not a.", models=models))
    assert (found.answers, found.complete) == ((), True)


def test_what_is_hidden_does_not_multiply_answers() -> None:
    assert solve(Task("{ h(1..16) }. { a }. #show a/0.", models="all")).answers == ((), ("a",))


def test_shown_terms_are_told() -> None:
    assert solve(Task('p(1). #show. #show f(X,"b") : p(X). #show X : p(X).')).answers == (("1", 'f(1,"b")'),)


def test_parts_with_costs_add_up_level_by_level() -> None:
    left = "{ a; b }. :~ a. [1@2,a] :~ not a. [3@1,na] :~ b. [1@1,b] :~ not b. [1@2,nb]"
    right = "1 { c(1..3) } 1. :~ c(X). [X\\2@2,c,X] :~ c(X). [-X@1,c2,X]"
    apart = combine([solve(Task(left, models="all")), solve(Task(right, models="all"))])
    assert apart == (solve(Task(left + right, models="all")).answers, True)


HARD = """
{ hard }. easy :- not hard. #show easy/0. #show hard/0.
1 { in(P,H) : H = 1..11 } 1 :- P = 1..12, hard.
:- in(P,H), in(Q,H), P < Q.
"""


@pytest.mark.parametrize(
    ("models", "costs", "answers"),
    [
        ("all", "", (("easy",),)),
        ("brave", "", (("easy",),)),
        ("brave", ":~ easy. [1]", ()),
        ("cautious", "", ()),
        ("first", ":~ easy. [1]", (("easy",),)),
    ],
)
def test_what_is_told_before_the_end_is_true(models: str, costs: str, answers: tuple[tuple[str, ...], ...]) -> None:
    found = solve(Task(HARD + costs, models=models, limit=0.3))
    assert (found.answers, found.complete) == (answers, False)


def test_nothing_is_told_of_the_whole_where_a_part_was_too_slow() -> None:
    assert combine([Solved((("a",), ("b",))), Solved((), complete=False)]) == ((), False)


def test_a_part_without_answer_sets_decides_even_where_others_were_too_slow() -> None:
    assert combine([Solved((), complete=False), Solved(())]) == ((), True)
    assert combine([]) == (((),), True)
