"""Strata."""

from thalweg.ir.dependency import strata
from thalweg.ir.nodes import Aggregate, Atom, Not, Now, Program, Rule, Variable

A, B, C, N = Atom("a"), Atom("b"), Atom("c"), Variable("N")


def test_a_circle_without_negation_is_one_stratum() -> None:
    assert strata(Program((Rule(A, (Now(B),)), Rule(B, (Now(A),))))) == {"a/0": 0, "b/0": 0}


def test_a_circle_through_negation_has_no_strata() -> None:
    assert strata(Program((Rule(A, (Not(Now(B)),)), Rule(B, (Now(A),))))) is None


def test_a_circle_through_an_aggregate_has_no_strata() -> None:
    assert strata(Program((Rule(A, (Aggregate(N, "count", (N,), (Now(A),)),)),))) is None


def test_negation_and_aggregates_wait_for_what_they_need() -> None:
    counted = Aggregate(N, "count", (N,), (Not(Now(B)),))
    rules = (Rule(A, (counted,)), Rule(B, (Not(Now(C)),)), Rule(C, (Now(Atom("p")),)))
    assert strata(Program(rules)) == {"a/0": 2, "b/0": 1, "c/0": 0}
