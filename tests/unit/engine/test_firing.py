"""Firing rules: from one row through nested look-ups to answers, and what is done with those.

The rules here stand alone, so that what a tick derives is what firing one rule from the rows that were fed derives.
"""

import pytest
from workbench import Workbench, arrive, forever, retract, until

from thalweg.engine.layout import HELD, LOW, MOST_HELD, PAUSED
from thalweg.model.time import FOREVER

JOIN = "q(A,C) :- p(A,B) in [9], p(B,C) in [9]."
P, Q = "p/2 in [9]", "q/2 derived"


# Joins --------------------------------------------------------------------------------------------------------------


def test_a_rule_is_fired_from_the_row_that_came() -> None:
    bench = Workbench(JOIN)
    bench.run(0, until(P, "a b", 9))
    assert bench.rows(Q) == {}
    bench.run(1, until(P, "b c", 9))
    assert bench.rows(Q) == {"a c": 9}


def test_any_atom_of_a_rule_may_be_the_row_that_came() -> None:
    bench = Workbench(JOIN)
    bench.run(0, until(P, "b c", 9), until(P, "y z", 9))
    bench.run(1, until(P, "a b", 9), until(P, "z y", 9))
    assert set(bench.rows(Q)) == {"a c", "y y", "z z"}


def test_an_answer_is_guaranteed_until_the_least_horizon_of_its_rows() -> None:
    bench = Workbench(JOIN)
    bench.run(0, until(P, "b c", 9), until(P, "b d", 5))
    bench.run(1, until(P, "a b", 7))
    assert bench.rows(Q) == {"a c": 7, "a d": 5}


def test_of_two_answers_the_one_that_lasts_longer_counts() -> None:
    bench = Workbench(JOIN)
    bench.run(0, until(P, "x c", 4), until(P, "y c", 8))
    bench.run(1, until(P, "a x", 9), until(P, "a y", 6))
    assert bench.rows(Q) == {"a c": 6}


def test_rows_whose_horizon_has_passed_join_with_nothing() -> None:
    """Within the tick at which they end they are still there."""
    bench = Workbench(JOIN)
    bench.run(0, until(P, "b c", 3))
    bench.run(4, until(P, "a b", 9))
    assert bench.rows(Q) == {}


@pytest.mark.parametrize(
    ("rule", "facts", "answers"),
    [
        ("q(X) :- p(X,X).", ["a a", "a b"], {"a"}),
        ("q(X) :- p(X,b).", ["a b", "c d"], {"a"}),
        ("q(X,Z) :- p(X,Y), p(Y,Z), X != Z.", ["a b", "b a", "b c"], {"a c"}),
        ("q(X) :- p(X,Y), X < Y.", ["2 10", "10 2", "a 3"], {"2"}),
        ("q(Z) :- p(X,Y), Z = X * Y + 1.", ["2 3", "a 3"], {"7"}),
        ("q(Z) :- p(X,Y), Z = X / Y.", ["1 0", "6 3"], {"2"}),
        ("q(X,X) :- p(X,_).", ["a b", "a c"], {"a a"}),
        ("q(X) :- p(X,Y), not p(Y,X).", ["a b", "b a", "b c"], {"b"}),
    ],
)
def test_what_a_rule_asks_of_its_rows(rule: str, facts: list[str], answers: set[str]) -> None:
    bench = Workbench(rule)
    bench.run(0, arrive("p", *facts))
    assert set(bench.rows(f"q/{len(min(answers).split())} derived")) == answers


def test_a_head_that_is_complete_is_looked_for_no_further_than_needed() -> None:
    """`q(A)` needs one `r`: when one was found that lasts as long as `p`, the others can change nothing."""
    calls = []
    for rows in (2, 40):
        bench = Workbench("q(A) :- p(A) in [9], r(A,B) in [9].", steps=1)
        bench.run(0, *(until("r/2 in [9]", f"a b{number}", 9) for number in range(rows)))
        calls.append(len(list(bench.calls(1, until("p/1 in [9]", "a", 7)))))
        assert bench.rows("q/1 derived") == {"a": 7}
    assert calls[0] == calls[1]


def test_a_head_that_could_last_longer_is_looked_for_further() -> None:
    bench = Workbench("q(A) :- p(A) in [9], r(A,B) in [9].")
    bench.run(0, until("r/2 in [9]", "a long", 8), until("r/2 in [9]", "a short", 3))
    bench.run(1, until("p/1 in [9]", "a", 7))
    assert bench.chain("r/2 in [9]", (0,), "a") == ["r(a,short)", "r(a,long)"]
    assert bench.rows("q/1 derived") == {"a": 7}


# Ticks --------------------------------------------------------------------------------------------------------------


def test_a_window_clips_what_was_derived_for_a_tick() -> None:
    """`r(X)` holds at the ticks at which `p` came, but `q` remembers it for two ticks only."""
    bench = Workbench("r(X) at U :- p(X) at U in [9]. q(X) :- r(X) in [2].")
    bench.run(3, arrive("p", "a"))
    assert bench.rows("r/1 derived at") == {"a 3": 12}
    assert bench.rows("q/1 derived") == {"a": 5}


def test_nothing_is_derived_for_ticks_before_the_first() -> None:
    bench = Workbench("q(X) at V :- p(X) at U in [9], V = U - 2.")
    for tick in range(4):
        bench.run(tick, arrive("p", "a"))
    assert set(bench.rows("q/1 derived at")) == {"a 0", "a 1"}


@pytest.mark.parametrize(("came", "shown"), [(3, range(5, 10)), (5, range(5, 10)), (6, range(10, 15))])
def test_a_hopping_window_shows_a_fact_from_hop_to_hop(came: int, shown: range) -> None:
    bench, seen = Workbench("q(X) :- p(X) in [4 step 5]."), []
    for tick in range(20):
        bench.run(tick, *([arrive("p", "a")] if tick == came else []))
        seen += [tick] if bench.holds("q/1 derived") else []
    assert seen == list(shown)


# Growing, taking back, deriving again -------------------------------------------------------------------------------

TWO_WAYS = "q(X) :- p(X). q(X) :- r(X)."


def two_ways(p: int, r: int, steps: int | None = None) -> Workbench:
    """`q(a)` from `p(a)` and from `r(a)`, each of which lasts until a tick and can be taken back."""
    bench = Workbench(TWO_WAYS, given=["p/1", "r/1"], steps=steps)
    bench.run(0, until("p/1 derived", "a", p), until("r/1 derived", "a", r))
    assert bench.rows("q/1 derived") == {"a": max(p, r)}
    return bench


def test_a_head_is_taken_back_if_it_rested_on_the_answer() -> None:
    bench = two_ways(p=9, r=5)
    bench.run(1, retract("p/1 derived", "a"))
    assert bench.listed(LOW) == ["p(a)", "q(a)"]


def test_a_head_is_left_alone_if_something_better_carries_it() -> None:
    bench = two_ways(p=9, r=5, steps=1)
    seen = [bench.rows("q/1 derived") for _ in bench.calls(1, retract("r/1 derived", "a"))]
    assert all(rows == {"a": 9} for rows in seen)
    assert bench.listed(LOW) == ["r(a)"]


def test_a_head_that_was_taken_back_gets_the_best_of_its_other_answers() -> None:
    bench = Workbench("q(X) :- p(X,Y).", given=["p/2"])
    bench.run(0, *(until("p/2 derived", f"a {name}", end) for name, end in (("x", 3), ("y", 8), ("z", 5), ("top", 9))))
    bench.run(1, retract("p/2 derived", "a top"))
    assert bench.rows("q/1 derived") == {"a": 8}


def test_what_one_head_is_carried_by_does_not_carry_the_next() -> None:
    bench = two_ways(p=9, r=5)
    bench.run(1, until("p/1 derived", "b", 9))
    bench.run(2, retract("p/1 derived", "a"), retract("p/1 derived", "b"))
    assert bench.listed(LOW) == ["p(a)", "p(b)", "q(a)", "q(b)"]
    assert bench.holds("q/1 derived") == {"a"}


def test_only_answers_for_the_same_head_carry_it_again() -> None:
    """From the head alone `X` is not known: every `p` is looked at, but `p(5)` derives another head."""
    bench = Workbench("q(X+1) :- p(X).", given=["p/1"])
    bench.run(0, forever("p/1 derived", "1"), forever("p/1 derived", "5"))
    bench.run(1, retract("p/1 derived", "1"))
    assert bench.holds("q/1 derived") == {"6"}


def test_what_lost_no_tick_is_not_among_what_was_taken_back() -> None:
    bench = two_ways(p=9, r=9)
    bench.run(1, retract("p/1 derived", "a"))
    assert bench.listed(LOW) == ["p(a)"]
    assert bench.rows("q/1 derived") == {"a": 9}


def test_taking_back_does_not_ask_whether_a_negation_holds_by_now() -> None:
    """Both `r` and `s` come: each finds the other there, and still the answer that neither hid before must go."""
    bench = Workbench("q(X) :- p(X) in [9], not r(X) in [9], not s(X) in [9].")
    bench.run(0, arrive("p", "a"))
    assert bench.holds("q/1 derived") == {"a"}
    bench.run(1, arrive("r", "a"), arrive("s", "a"))
    assert bench.holds("q/1 derived") == set()


def test_taking_back_sees_what_was_taken_back_before_it() -> None:
    """Both rows of the join go in one tick; each must find the other as it was."""
    bench = Workbench("q(A,C) :- p(A,B), p(B,C).", given=["p/2"])
    bench.run(0, forever("p/2 derived", "a b"), forever("p/2 derived", "b c"))
    assert bench.rows(Q) == {"a c": FOREVER}
    bench.run(1, retract("p/2 derived", "a b"), retract("p/2 derived", "b c"))
    assert bench.holds(Q) == set()


# Many answers of one row --------------------------------------------------------------------------------------------

MANY = [until(P, f"b c{number}", 9) for number in range(24)]


def test_answers_are_lifted_in_groups() -> None:
    bench = Workbench(JOIN, steps=1)
    bench.run(0, *MANY)
    seen = [(len(bench.rows(Q)), bench.scalar(HELD)) for _ in bench.calls(1, until(P, "a b", 9))]
    assert {lifted for lifted, _ in seen} == {0, MOST_HELD}
    assert max(held for _, held in seen) == MOST_HELD
    assert len(bench.rows(Q)) == len(MANY)


def test_a_rule_is_interrupted_in_a_chain_and_goes_on_where_it_was() -> None:
    bench = Workbench(JOIN, steps=1)
    bench.run(0, *MANY)
    interrupted = [bench.scalar(PAUSED) >= 0 for _ in bench.calls(1, until(P, "a b", 9))]
    # Before each row of the chain, among which may be some of other keys; but before none of them twice.
    assert len(MANY) <= interrupted.count(True) < 2 * len(MANY)
    assert bench.rows(Q) == {f"a c{number}": 9 for number in range(len(MANY))}


def test_looking_ahead_does_not_disturb_a_rule_that_was_interrupted() -> None:
    """With many rows to come, the kernel looks ahead at what they will need."""
    bench = Workbench("q(A,C) :- p(A,B), r(B,C) in [9].", steps=1)
    bench.run(0, arrive("r", *(f"b{number} {each}" for number in range(40) for each in "xyz")))
    bench.run(1, arrive("p", *(f"a{number} b{number}" for number in range(40))))
    assert bench.holds(Q) == {f"a{number} {each}" for number in range(40) for each in "xyz"}


@pytest.mark.parametrize("steps", [1, 2, 3, 7])
def test_however_often_it_is_interrupted_the_answers_are_the_same(steps: int) -> None:
    rules = "r(A,D) :- p(A,B) in [9], p(B,C) in [9], p(C,D) in [9], not s(A,D) in [9]."
    names = "abcdefghi"
    pairs = {f"{a} {d}" for a in names for d in names if ord(d) - ord(a) >= 3}
    bench = Workbench(rules, steps=steps)
    bench.run(0, arrive("p", *(f"{a} {b}" for a in names for b in names if a < b)), arrive("s", "a d"))
    assert bench.holds("r/2 derived") == pairs - {"a d"}
    bench.run(1, arrive("s", "a e"), arrive("s", "b i"))
    assert bench.holds("r/2 derived") == pairs - {"a d", "a e", "b i"}
