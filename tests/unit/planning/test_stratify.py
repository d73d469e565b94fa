"""What must be settled before what."""

import pytest
from hypothesis import given

from thalweg.diagnostics import Source
from thalweg.ir.dependency import strata
from thalweg.ir.nodes import Program
from thalweg.languages.lars import read
from thalweg.planning.stratify import by_stratum, check_strata
from thalweg.testing.strategies import programs


def program(text: str) -> Program:
    return read(Source("test.lars", text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("car(1).", []),
        ("a :- p. b :- a.", [["a/0", "b/0"]]),
        ("i1(X) :- p(X). k1(X) :- q(X), not i1(X).", [["i1/1"], ["k1/1"]]),
        ("c :- not b. b :- not a. a :- p.", [["a/0"], ["b/0"], ["c/0"]]),
        ("n(N) :- N = count{X : r(X)}. r(X) :- p(X). r(X) :- r(Y), e(Y,X).", [["r/1"], ["n/1"]]),
        ("r(X,Y) :- e(X,Y). r(X,Z) :- r(X,Y), r(Y,Z).", [["r/2"]]),
        ("#record a/0. a :- not a before [1].", [["a/0"]]),
        (
            "#record a/1. a(X) :- p(X), N = count{Y : a(Y) at U before [3], not b(Y)}. b(X) :- a(X) before [1].",
            [["b/1"], ["a/1"]],
        ),
        ("#record a/1. a(N) :- b(X), N = count{Y : e(X,Y)}. b(N) :- a(N) before [1].", [["a/1", "b/1"]]),
    ],
)
def test_strata(text: str, expected: list[list[str]]) -> None:
    assert by_stratum(program(text)) == expected
    assert check_strata(program(text)) == []


@pytest.mark.parametrize(
    ("text", "circles"),
    [
        ("a(X) :- p(X), not a(X).", ["a/1 → not a/1"]),
        ("a(X) :- p(X), not b(X). b(X) :- a(X).", ["a/1 → not b/1 → a/1"]),
        ("a :- not b. b :- not a.", ["a/0 → not b/0 → not a/0"]),
        ("a :- not b. b :- c in [3]. c :- d always [2]. d :- a.", ["a/0 → not b/0 → c/0 → d/0 → a/0"]),
        ("n(N) :- N = count{X : r(X)}. r(N) :- n(N).", ["n/1 → count{r/1} → n/1"]),
        ("n(N) :- N = sum{X : p(X), not n(X)}.", ["n/1 → sum{not n/1}"]),
        ("a(X) :- p(X), a(X), max{X : k} < 2.", ["a/1 → max for each a/1"]),
        ("a :- not a. b :- not b. c :- not a.", ["a/0 → not a/0", "b/0 → not b/0"]),
    ],
)
def test_circles(text: str, circles: list[str]) -> None:
    found = check_strata(program(text))
    assert [one.notes for one in found] == [(circle,) for circle in circles]
    assert {one.code for one in found} == {"E204"}
    assert all(".lp" in one.help for one in found)


def test_the_place_is_that_of_the_negation() -> None:
    text = "b(X) :- a(X).\na(X) :- p(X), not b(X)."
    (found,) = check_strata(program(text))
    assert text[found.span.start : found.span.end] == "not b(X)"


def test_an_aggregate_that_names_its_groups_needs_no_other_atom() -> None:
    assert check_strata(program("a(X) :- p(X), a(X), count{Y : e(X,Y)} < 2.")) == []


@given(programs())
def test_a_program_has_strata_or_a_circle(program: Program) -> None:
    assert (strata(program) is None) == bool(check_strata(program))
