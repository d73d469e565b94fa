"""Heads in the future: an error where they always are, counted at the end of a run where some were."""

import pytest

import thalweg
from thalweg import Diagnostic
from thalweg.diagnostics import Source
from thalweg.ir.nodes import Atom, Constant, Now, Rule, Variable
from thalweg.languages.lars.program import read
from thalweg.planning.check_future import check_future, future_heads


@pytest.mark.parametrize(
    "rule",
    [
        "p(X) at T+1 :- q(X) at T in [0].",
        "p(X) at T+3 :- q(X) at T in [2].",
        "p(X) at 3+T :- q(X) at T in [9], r(X) at T in [2].",
        "p(X) at U :- q(X) at T in [2], U = T + 3.",
        "p(X) at U+2 :- q(X) at T in [2], U = T + 1.",
        "p(X) at T+5 :- q(X) at T in [2 step 3].",
        "p(X) at T+4 :- q(X) at T before [3].",
    ],
)
def test_what_is_always_ahead_is_rejected(rule: str) -> None:
    assert [one.code for one in thalweg.check(rule)] == ["E215"]


@pytest.mark.parametrize(
    "rule",
    [
        "p(X) at T+3 :- q(X) at T in [3].",
        "p(X) at T-3 :- q(X) at T in [0].",
        "p(X) at T+4 :- q(X) at T in [2 step 3].",
        "p(X) at T+3 :- q(X) at T.",
        "p(X) at T+3 :- q(X) at T in [1 # by X].",
        "p(X) at 5 :- q(X).",
        "p(X) at T :- q(X,T).",
        "p(X) at T*2 :- q(X) at T in [0].",
    ],
)
def test_what_may_have_come_is_not(rule: str) -> None:
    assert not check_future(read(Source("x.lars", rule)))


@pytest.mark.parametrize(
    ("rules", "facts", "counts", "answers"),
    [
        ("p(X) at 5 :- q(X), r(X).", ["q(a) r(a)", "q(b) r(b)", "", "", "", "q(c) r(c)"], [2], ["p(c)"]),
        ("p(X) at T :- q(X,T).", ["q(a,9)", "q(a,1)"], [1], ["p(a)"]),
        ("p(X) at T+2 :- q(X) at T in [2].", ["q(a)", "", "", ""], [], ["p(a)"]),
        ("p(X) at T+2 :- q(X) at T in [2], r(X).", ["q(a) r(a)", "r(a)", "r(a)"], [2], ["p(a)"]),
        ("p(X) at 9 :- q(X).\np(X) at 8 :- q(X).", ["q(a)", "q(a)", "q(b)"], [3, 3], []),
    ],
)
def test_conclusions_in_the_future_are_counted(
    rules: str, facts: list[str], counts: list[int], answers: list[str]
) -> None:
    found: list[Diagnostic] = []
    events = [(tick, tuple(some.split())) for tick, some in enumerate(facts)]
    begun = [fact for answer in thalweg.run(rules, stream=events, report=found.append) for fact in answer.begin]
    assert list(map(str, begun)) == answers
    dropped = [one for one in found if one.code == "W208"]
    assert [int(one.message.split()[0]) for one in dropped] == counts
    assert all(one.span.source.text[one.span.start : one.span.end].startswith("p(X) at") for one in dropped)


def test_names_of_plans_are_not_shown() -> None:
    rule = Rule(Atom("p'0", (Variable("X"),)), (Now(Atom("q", (Variable("X"),))),), Constant("9"))
    assert [diagnostic.message for diagnostic in future_heads([(rule, 1)])] == [
        "1 conclusion of this rule was in the future for as long as its body held, and dropped"
    ]
