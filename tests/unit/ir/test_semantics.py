"""The decisions of the naive interpreter that no page of cases can show by itself."""

from thalweg.ir.nodes import (
    Atom,
    Comparison,
    Constant,
    InWindow,
    Not,
    Now,
    Operation,
    PastWindow,
    Program,
    Rule,
    TimeWindow,
    Variable,
)
from thalweg.ir.semantics import aggregate, answers, output
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate

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


def test_what_cannot_be_compared_is_handed_over() -> None:
    rule = Rule(Atom("q", (X,)), (Now(Atom("p", (X,))), Comparison("<", X, Constant("3"))))
    mixed: list[tuple[str, str]] = []
    events = [Event(0, (Fact("p", ("1",)), Fact("p", ("a",))))]
    found = list(answers(Program((rule,)), events, mixed=lambda test, one, other: mixed.append((one, other))))
    assert found == [(0, frozenset({Fact("q", ("1",))}))]
    assert set(mixed) == {("a", "3")}


def test_an_aggregate_of_few_values() -> None:
    one, two = {("4",)}, {("4", "a"), ("2.0", "b")}
    assert [aggregate(name, one) for name in ("stddev", "median")] == [None, "4"]
    assert [aggregate(name, two) for name in ("stddev", "median")] == ["1.414213562373095", "3"]
    assert [aggregate("quantile", two, share) for share in ("0", "0.1", "1")] == ["2", "2.2", "4"]
    assert [aggregate(name, {("x",)}) for name in ("stddev", "median")] == [None, None]
    assert aggregate("quantile", {("x",)}, "0.5") is None


def test_what_was_recorded_is_found_without_a_history() -> None:
    """`output` and `answers` agree, though only one of them is given the ticks one after the other."""
    on, off = Now(Atom("on")), InWindow(Atom("on"), PastWindow(1))
    program = Program(
        (Rule(Atom("on"), (Now(Atom("p")),)), Rule(Atom("on"), (off,)), Rule(Atom("is_on"), (on,))),
        recorded=frozenset({Predicate("on", 0)}),
    )
    arrivals: list[tuple[Fact, int, str | None]] = [(Fact("p"), 2, None)]
    by_ticks = dict(answers(program, [Event(2, (Fact("p"),))], first=0, last=5))
    assert [output(program, 0, tick, [one for one in arrivals if one[1] <= tick]) for tick in range(6)] == [
        by_ticks[tick] for tick in range(6)
    ]
    assert by_ticks[5] == {Fact("on"), Fact("is_on")}
