"""Recursion that makes new numbers is left to clingo, whose processes can be ended."""

import pytest

from thalweg.diagnostics import Source
from thalweg.languages.asp.reader import read_program

REASON = "recursion that computes new numbers may not terminate"


@pytest.mark.parametrize(
    "text",
    [
        "a(X+1) :- a(X). a(X) :- p(X).",
        "a(Y) :- a(X), Y = X * 2. a(X) :- p(X).",
        "a(Z) :- a(X), Y = X * 2, Z = Y - 1. a(X) :- p(X).",
        "a(X) :- b(X). b(X+1) :- a(X). a(X) :- p(X).",
        "d(X,Z,N+1) :- d(X,Y,N), e(Y,Z). d(X,X,0) :- e(X,_).",
        "a(X+Y) :- a(X), a(Y). a(X) :- p(X).",
    ],
)
def test_it_may_not_end(text: str) -> None:
    assert [one.reason for one in read_program(Source("x.lp", text))[0].obstacles] == [REASON]


@pytest.mark.parametrize(
    "text",
    [
        "a(X+1) :- p(X). b(X+1) :- a(X).",
        "a(X+1) :- a(X), p(X). a(X) :- p(X).",
        "r(X,Z,V*2) :- r(X,Y,_), e(Y,Z,V). r(X,Y,V) :- e(X,Y,V).",
        "a(Y) :- a(X), a(Y), Y = X + 1. a(X) :- p(X).",
        "a(X) :- p(X), a(X+1). a(X) :- q(X).",
    ],
)
def test_it_ends(text: str) -> None:
    assert read_program(Source("x.lp", text))[0].obstacles == ()
