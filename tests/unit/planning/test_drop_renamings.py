"""What only renames is told, not derived; everything else stays."""

import json
from pathlib import Path

import pytest

from thalweg import run
from thalweg.diagnostics import Source
from thalweg.languages.asp.reader import read_program
from thalweg.model.predicate import Predicate
from thalweg.planning.drop_renamings import Copies, Copy, drop_renamings

DERIVED = "t(X,Y) :- p(X,Y), X != Y. "


def copies(text: str) -> Copies:
    found, wrong = read_program(Source("x.lp", text))
    assert not wrong
    rules = found.lowered(2)
    assert rules is not None
    return drop_renamings(rules)[1]


def test_a_predicate_with_its_arguments_in_another_order() -> None:
    assert copies(DERIVED + "s(Y,X) :- t(X,Y). #show s/2.") == {Predicate("s", 2): (Copy(Predicate("t", 2), (1, 0)),)}


def test_several_sources() -> None:
    text = DERIVED + "u(X,Y) :- q(X,Y), X != Y. s(X,Y) :- t(X,Y). s(X,Y) :- u(Y,X). #show s/2."
    assert copies(text) == {Predicate("s", 2): (Copy(Predicate("t", 2), (0, 1)), Copy(Predicate("u", 2), (1, 0)))}


@pytest.mark.parametrize(
    "text",
    [
        "s(X,X) :- t(X,X). #show s/2.",
        "s(X) :- t(X,Y). #show s/1.",
        "s(X,a) :- t(X,Y). #show s/2.",
        "s(X,Y) :- t(X,Y), X > 1. #show s/2.",
        "s(X,Y) :- t(X,Y), not r(X). #show s/2.",
        "s(X,Y) :- t(X,Y). s(X,Y) :- t(X,Z), t(Z,Y). #show s/2.",
        "s(X,Y) :- t(X,Y). v(X) :- s(X,Y), r(Y). #show s/2. #show v/1.",
        "s(1,2). s(X,Y) :- t(X,Y). #show s/2.",
    ],
)
def test_what_does_more_is_derived(text: str) -> None:
    assert copies(DERIVED + text) == {}


@pytest.mark.parametrize("solver", ["engine", "clingo"])
def test_copies_are_told_once_and_their_sources_only_where_they_are_shown(tmp_path: Path, solver: str) -> None:
    program = tmp_path / "x.lp"
    program.write_text(
        DERIVED
        + "u(X,Y) :- q(X,Y), X != Y. s(X,Y) :- t(X,Y). s(X,Y) :- u(Y,X). n :- m. m :- p(X,X). #show s/2. #show n/0."
    )
    stream = "p(1,2) at 1. q(2,1) at 1. q(a,b) at 2. p(c,c) at 3. q(2,1) at 4."
    answers = run(program, stream, window=2, slide=1, solver=solver, workers=0)
    told = [json.loads(str(answer))["answers"] for answer in answers]
    assert told == [[["s(1,2)", "s(b,a)"]], [["n", "s(b,a)"]], [["n", "s(1,2)"]]]
