"""Rules that count without a bound are found; those that a comparison, an atom or `mod` bounds are not."""

import pytest

from thalweg.diagnostics import Source
from thalweg.ir.counting import endless, unbounded
from thalweg.languages.lars import read


@pytest.mark.parametrize(
    "rule",
    [
        "n(X+1) :- n(X).",
        "n(X+1) :- n(X), X > 3.",
        "n(X-1) :- n(X), X < 3.",
        "n(Y) :- n(X), Y = X * 2.",
        "n(X + -1) :- n(X), X < 3.",
        "n(X+1) :- n(X) in [3], not p(X).",
        "n(X+Y) :- n(X), p(Y).",
        "n(X+1) :- m(X). m(X) :- n(X).",
        "n(X+1) :- n(X), X < X+1.",
        "n(Y) :- n(X), X+1 = Y.",
        "n(N) :- n(M), N = M+1, M < N.",
        "n(max(X, Y)) :- n(X), n(Y).",
    ],
)
def test_it_may_count_for_ever(rule: str) -> None:
    assert [one.head.predicate for one in unbounded(read(Source("x", rule)).rules)] == ["n"]


@pytest.mark.parametrize(
    "rule",
    [
        "n(X+1) :- n(X), X < 3.",
        "n(X+1) :- n(X), 3 >= X.",
        "n(X-1) :- n(X), X > 3.",
        "n(Y) :- n(X), Y = X * 2, Y < 100.",
        "n(X) :- n(Y), X = Y + 1, X <= 10.",
        "n((X+1) mod 7) :- n(X).",
        "n(X+1) :- n(X), p(X).",
        "n(X+1) :- p(X).",
        "n(X+1) :- n(X), X = 4.",
        "n(X+1) :- n(X), p(L), X < L.",
        "n(X) :- n(X), p(Y), Y > X + 1.",
        "#record n/1. n(X+1) :- n(X) before [1].",
        "#record n/1. n(X+1) :- m(X). m(X) :- n(X) before [1].",
        "n(abs(X)) :- n(X), X < 3.",
    ],
)
def test_it_comes_to_an_end(rule: str) -> None:
    assert list(unbounded(read(Source("x", rule)).rules)) == []


def test_comparisons_are_not_looked_at_where_the_answer_must_be_certain() -> None:
    assert len(list(endless(read(Source("x", "n(X+1) :- n(X), X < 3.")).rules))) == 1
