"""The decisions of the naive interpreter that no page of cases can show by itself."""

from thalweg.ir.nodes import (
    Atom,
    Comparison,
    Constant,
    InWindow,
    Not,
    Now,
    Operation,
    Program,
    Rule,
    TimeWindow,
    Variable,
)
from thalweg.ir.semantics import aggregate, answers
from thalweg.model.event import Event
from thalweg.model.fact import Fact

P, Q, X = Atom("p"), Atom("q"), Variable("X")


def texts(program: Program, *events: Event, **ticks: int) -> dict[int, list[str]]:
    return {tick: sorted(map(str, facts)) for tick, facts in answers(program, events, **ticks)}


def test_the_timeline_is_that_of_the_events_unless_it_is_fixed() -> None:
    program = Program((Rule(Q, (InWindow(P, TimeWindow(1)),)),))
    event = Event(3, (Fact("p"),))
    assert list(texts(program, event)) == [3]
    assert texts(program, event, first=2, last=5) == {2: [], 3: ["q"], 4: ["q"], 5: []}


def test_nothing_has_no_timeline() -> None:
    assert texts(Program((Rule(Q, (Now(P),)),))) == {}


def test_events_before_the_first_tick_are_not_seen() -> None:
    program = Program((Rule(Q, (InWindow(P, TimeWindow(9)),)),))
    assert texts(program, Event(1, (Fact("p"),)), first=2, last=3) == {2: [], 3: []}


def test_negation_of_a_formula_without_variables() -> None:
    program = Program((Rule(Q, (Not(Now(P)),)),))
    assert texts(program, Event(1, (Fact("p"),)), first=0, last=2) == {0: ["q"], 1: [], 2: ["q"]}


def test_equality_binds_only_what_no_formula_binds() -> None:
    body = (Comparison("=", X, Operation("+", Constant("1"), Constant("1"))), Now(Atom("p", (X,))))
    program = Program((Rule(Atom("q", (X,)), body),))
    assert texts(program, Event(0, (Fact("p", ("2.0",)),))) == {0: ["q(2.0)"]}


def test_least_and_greatest_do_not_depend_on_order() -> None:
    assert aggregate("min", {("2.0", "a"), ("2", "b")}) == aggregate("min", {("2", "b"), ("2.0", "a")})
    assert aggregate("max", {("x",)}) is None
    assert aggregate("count", {("x",), ("1",)}) == "2"
