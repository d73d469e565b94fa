"""One tick: begin, feed, then stratum by stratum the phases of the table at the top of `engine/tick.py`."""

from itertools import groupby

import pytest
from workbench import PHASES, Workbench, arrive, clock, forever, retract, until

from thalweg.engine.layout import BEGUN, DIED, ENDED

NEGATION = """
    ok(X) :- p(X) in [20], not bad(X) in [2].
    fine(X) :- ok(X).
    none(X) :- p(X) in [20], not fine(X).
"""


def at_work() -> Workbench:
    """At tick 3 `bad(b)` ends by itself; `bad(a)` can come then."""
    bench = Workbench(NEGATION, steps=1)
    bench.run(0, arrive("p", "a", "b"), arrive("bad", "b"))
    assert (bench.holds("ok/1 derived"), bench.holds("none/1 derived")) == ({"a"}, {"b"})
    return bench


# Phases -------------------------------------------------------------------------------------------------------------


def test_phases_come_in_the_order_of_the_table() -> None:
    bench = at_work()
    calls = bench.calls(3, arrive("bad", "a"), arrive("p", "c"))
    seen = [phase for phase, _ in groupby(bench.phase for _ in calls)]
    assert seen == [
        (0, "feeding"),
        (0, "grown"),
        (0, "settled"),
        *((stratum, phase) for stratum in (1, 2) for phase in PHASES.values()),
    ]


def test_each_phase_does_its_part() -> None:
    """What holds of `ok` and of `fine` as each phase of their stratum begins."""
    bench = at_work()
    seen: dict[str, tuple[set[str], set[str]]] = {}
    for _ in bench.calls(3, arrive("bad", "a")):
        stratum, phase = bench.phase
        if stratum == 1:
            seen.setdefault(phase, (bench.holds("ok/1 derived"), bench.holds("fine/1 derived")))
    assert seen == {
        "negated": ({"a"}, {"a"}),
        "lowered": (set(), {"a"}),
        "rederived": (set(), set()),
        "ended": (set(), set()),
        "grown": ({"b"}, set()),
        "settled": ({"b"}, {"b"}),
    }
    assert (bench.holds("ok/1 derived"), bench.holds("none/1 derived")) == ({"b"}, {"a"})


def test_a_stratum_that_rests_on_nothing_that_is_taken_back_only_grows_and_settles() -> None:
    bench = Workbench("q(X) :- p(X) in [2]. r(X) :- q(X).", steps=1)
    bench.run(0, arrive("p", "a"))
    seen = {bench.phase for _ in bench.calls(3, arrive("p", "b"))}
    assert seen == {(0, "feeding"), (0, "grown"), (0, "settled")}


def test_a_tick_lists_what_began_and_what_ended() -> None:
    bench = at_work()
    bench.run(3, arrive("bad", "a"))
    assert sorted(bench.listed(BEGUN)) == ["fine(b)", "none(a)", "ok(b)"]
    assert sorted(bench.listed(ENDED)) == ["fine(a)", "none(b)", "ok(a)"]
    bench.run(4)
    assert bench.listed(BEGUN) == bench.listed(ENDED) == []


# Horizons -----------------------------------------------------------------------------------------------------------


def test_a_window_keeps_a_fact_and_what_follows_from_it_for_as_long() -> None:
    bench = Workbench("q(X) :- p(X) in [5].")
    bench.run(2, arrive("p", "a"))
    assert bench.rows("q/1 derived") == {"a": 7}
    bench.run(7)
    assert bench.holds("q/1 derived") == {"a"}
    bench.run(8)
    assert bench.listed(ENDED) == ["q(a)"]
    bench.run(9)
    assert bench.rows("q/1 derived") == {}


def test_a_longer_horizon_that_comes_later_is_passed_on_and_nothing_ends() -> None:
    bench = Workbench("q(X) :- p(X) in [5]. r(X) :- q(X).")
    bench.run(0, arrive("p", "a"))
    bench.run(4, arrive("p", "a"))
    assert bench.rows("r/1 derived") == {"a": 9}
    assert bench.listed(BEGUN) == []
    for tick in range(5, 10):
        bench.run(tick)
        assert bench.listed(ENDED) == []
    bench.run(10)
    assert sorted(bench.listed(ENDED)) == ["q(a)", "r(a)"]


def test_a_row_that_would_end_is_carried_on_by_what_comes_at_that_tick() -> None:
    """At tick 6 the calendar brings up `q(a)`; before it is settled, `p(a)` has come again."""
    bench = Workbench("q(X) :- p(X) in [5].")
    bench.run(0, arrive("p", "a"))
    bench.run(6, arrive("p", "a"))
    assert bench.listed(ENDED) == []
    assert bench.rows("q/1 derived") == {"a": 11}
    assert sorted(bench.calendar()[12]) == ["p(a)", "q(a)"]


def test_in_a_recursion_horizons_rise_to_the_best_of_the_weakest() -> None:
    bench = Workbench("path(X,Y) :- edge(X,Y) in [99]. path(X,Z) :- path(X,Y), edge(Y,Z) in [99].")
    edges = {"a b": 5, "b c": 9, "a c": 3, "c a": 7}
    bench.run(0, *(until("edge/2 in [99]", words, end) for words, end in edges.items()))
    assert bench.rows("path/2 derived") == {
        "a a": 5,
        "a b": 5,
        "a c": 5,
        "b a": 7,
        "b b": 5,
        "b c": 9,
        "c a": 7,
        "c b": 5,
        "c c": 5,
    }


# Taking back and deriving again -------------------------------------------------------------------------------------

REACH = "reach(X) :- start(X). reach(Y) :- reach(X), edge(X,Y)."
START, EDGE, REACHED = "start/1 derived", "edge/2 derived", "reach/1 derived"


def test_what_only_a_circle_supports_is_taken_back() -> None:
    bench = Workbench(REACH, given=["start/1", "edge/2"])
    bench.run(0, forever(START, "a"), *(forever(EDGE, words) for words in ("a b", "b c", "c a")))
    assert bench.holds(REACHED) == {"a", "b", "c"}
    bench.run(1, retract(START, "a"))
    assert bench.holds(REACHED) == set()
    assert sorted(bench.listed(ENDED)) == ["reach(a)", "reach(b)", "reach(c)"]


def test_what_has_another_derivation_is_derived_again_and_does_not_end() -> None:
    bench = Workbench(REACH, given=["start/1", "edge/2"])
    bench.run(0, forever(START, "a"), *(forever(EDGE, words) for words in ("a b", "b c", "a c", "c d")))
    bench.run(1, retract(EDGE, "b c"))
    assert bench.holds(REACHED) == {"a", "b", "c", "d"}
    assert bench.listed(ENDED) == []


def test_what_is_derived_again_for_less_long_ends_when_that_has_passed() -> None:
    bench = Workbench(REACH, given=["start/1", "edge/2"])
    bench.run(0, until(START, "a", 9), forever(EDGE, "a b"))
    bench.run(1, until(START, "b", 4))
    assert bench.rows(REACHED) == {"a": 9, "b": 9}
    assert "reach(b)" in bench.calendar()[10]
    bench.run(2, retract(EDGE, "a b"))
    assert bench.rows(REACHED) == {"a": 9, "b": 4}
    assert "reach(b)" in bench.calendar()[5]
    bench.audit()
    bench.run(5)
    assert bench.listed(ENDED) == ["reach(b)"]
    bench.audit()


# Strata -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [1, None])
def test_a_change_goes_through_all_strata_in_one_tick(steps: int | None) -> None:
    rules = """
        a(X) :- p(X) in [9].
        b(X) :- d(X) in [99], not a(X).
        c(X) :- d(X) in [99], not b(X).
        e(X) :- d(X) in [99], not c(X).
    """
    bench = Workbench(rules, steps=steps)
    assert bench.plan.depth == 4
    bench.run(0, arrive("d", "x"))
    assert [bench.holds(f"{name}/1 derived") for name in "abce"] == [set(), {"x"}, set(), {"x"}]
    assert (bench.listed(BEGUN), bench.listed(ENDED)) == (["b(x)", "e(x)"], [])
    bench.run(1, arrive("p", "x"))
    assert [bench.holds(f"{name}/1 derived") for name in "abce"] == [{"x"}, set(), {"x"}, set()]
    bench.run(11)
    assert [bench.holds(f"{name}/1 derived") for name in "abce"] == [set(), {"x"}, set(), {"x"}]
    assert sorted(bench.listed(DIED)) == ["a(x)", "c(x)", "p(x)"]


# Counting for `always` ----------------------------------------------------------------------------------------------


def test_always_over_a_stream_is_a_run_of_ticks() -> None:
    bench, holding = Workbench("q(X) :- p(X) always in [2]."), []
    for tick in range(8):
        bench.run(tick, *([] if tick == 4 else [arrive("p", "a")]))
        holding.append(bench.holds("q/1 derived") == {"a"})
    # From the first tick on; after the gap, when the window is full again.
    assert holding == [True, True, True, True, False, False, False, True]


COUNTED = "r(X) at U :- p(X) at U in [9]. q(X) :- r(X) always in [2]."


def test_always_over_conclusions_is_a_count_of_ticks() -> None:
    bench = Workbench(COUNTED)
    counted, holding = [], []
    for tick in range(8):
        bench.run(tick, *([] if tick == 4 else [arrive("p", "a")]))
        counted.append(bench.count("r/1 ticks in [2]", "a"))
        holding.append(bench.holds("q/1 derived") == {"a"})
    assert counted == [1, 2, 3, 3, 2, 2, 2, 3]
    assert holding == [True, True, True, True, False, False, False, True]


def test_a_tick_that_is_taken_back_is_not_counted_until_it_is_there_again() -> None:
    """`bad(a)` hides `r(a)` at all ticks for as long as it is known."""
    bench = Workbench("r(X) at U :- p(X) at U in [9], not bad(X) in [1]. q(X) :- r(X) always in [2].")
    counted, holding = [], []
    for tick in range(7):
        bench.run(tick, arrive("p", "a"), *([arrive("bad", "a")] if tick == 3 else []))
        counted.append(bench.count("r/1 ticks in [2]", "a") if bench.rows("r/1 ticks in [2]") else 0)
        holding.append(bench.holds("q/1 derived") == {"a"})
    assert counted == [1, 2, 3, 0, 0, 3, 3]
    assert holding == [True, True, True, False, False, True, True]


def test_always_at_hops_is_taken_back_between_them() -> None:
    """At 4 the ticks 2 to 4 are complete, and that would hold until the next hop; but at 6 `r(a)` is hidden."""
    bench = Workbench("r(X) at U :- p(X) at U in [9], not bad(X) in [1]. q(X) :- r(X) always in [2 step 4].")
    seen = []
    for tick in range(12):
        bench.run(tick, arrive("p", "a"), *([arrive("bad", "a")] if tick == 6 else []))
        seen += [tick] if bench.holds("q/1 derived") else []
    assert seen == [0, 1, 2, 3, 4, 5, 8, 9, 10, 11]


def test_a_tick_is_counted_once_however_often_its_row_rises() -> None:
    bench = Workbench("r(X) at U :- p(X,V) at U in [9]. q(X) :- r(X) always in [2].")
    bench.run(0, until("p/2 at U in [9]", "a x 0", 1))
    bench.run(1, until("p/2 at U in [9]", "a y 0", 5))
    assert bench.count("r/1 ticks in [2]", "a") == 1


def test_a_counter_that_counts_nothing_any_more_is_given_back() -> None:
    bench = Workbench(COUNTED)
    bench.run(0, arrive("p", "a"))
    bench.run(3)
    assert bench.count("r/1 ticks in [2]", "a") == 0
    bench.run(4)
    assert bench.rows("r/1 ticks in [2]") == {}
    bench.audit()


# Many ticks ---------------------------------------------------------------------------------------------------------


def test_empty_ticks_need_no_call_of_their_own() -> None:
    bench = Workbench("q(X) :- p(X) in [5].")
    bench.run(0, arrive("p", "a"))
    bench.run(1_000_000, arrive("p", "b"))
    assert (bench.listed(BEGUN), bench.listed(ENDED)) == (["q(b)"], ["q(a)"])
    bench.audit()


def test_ticks_that_must_be_looked_at_are_passed_in_one_call_until_something_happens() -> None:
    """A clock ticks, so every tick counts; the call ends early at the one at which `q(a)` does."""
    bench = Workbench("q(X) :- p(X) in [5]. r(X) :- q(X) at U in [9], stop(X).")
    assert list(bench.plan.clocks) == [0]
    bench.run(0, clock(0), arrive("p", "a"))
    bench.run(1, clock(0), last=1000)
    assert (bench.now, bench.listed(ENDED)) == (6, ["q(a)"])
    assert bench.rows("q/1 at U in [9]") == {"a 5": 5}
    bench.run(7, clock(0), last=1000)
    assert (bench.now, bench.listed(ENDED)) == (1000, [])
