"""The arena: rows that are lifted, found, linked, lowered and given back, and the calendar of their ends."""

import random

import pytest
from workbench import Workbench, arrive, forever, retract, until

from thalweg.engine.layout import BEGUN, BORN, DIED, ENDED, EXPIRING, HIGH, LIVE, LOG, LOW, LOWERED, TABLE_STEPS
from thalweg.engine.memory import next_end
from thalweg.model.time import FOREVER, NEVER

JOIN = "q(A,C) :- p(A,B) in [9], p(B,C) in [9]."
P = "p/2 in [9]"
GIVEN = "p/1 derived"


def given(steps: int | None = None) -> Workbench:
    """`p/1` comes from another part of a program: its rows have any horizon and can be taken back."""
    return Workbench("q(X) :- p(X).", given=["p/1"], steps=steps)


# Rows ---------------------------------------------------------------------------------------------------------------


def test_a_fact_becomes_a_row_with_a_horizon() -> None:
    bench = Workbench(JOIN)
    bench.feed(0, until(P, "a b", 7), forever(P, "b c"))
    assert bench.rows(P) == {"a b": 7, "b c": FOREVER}
    assert bench.listed(LOG) == ["p(a,b)", "p(b,c)"]


def test_a_row_is_found_and_raised_but_never_lowered_by_lifting_it_again() -> None:
    bench = Workbench(JOIN)
    bench.feed(0, until(P, "a b", 7), until(P, "a b", 5))
    assert bench.rows(P) == {"a b": 7}
    bench.feed(1, until(P, "a b", 8), until(P, "b a", 3))
    assert bench.rows(P) == {"a b": 8, "b a": 3}


def test_the_same_words_in_several_relations_are_several_rows() -> None:
    """Many words, so that rows of two relations stand in one chain now and then."""
    horizons, words = {"p": 7, "r": 4, "s": 5, "t": 2, "u": 6, "v": 3}, [f"x{number}" for number in range(99)]
    bench = Workbench(" ".join(f"q(X) :- {name}(X) in [9]." for name in horizons))
    for name, horizon in horizons.items():
        bench.feed(0, *(until(f"{name}/1 in [9]", each, horizon) for each in words))
    for name, horizon in horizons.items():
        assert bench.rows(f"{name}/1 in [9]") == dict.fromkeys(words, horizon)


def test_a_row_that_rules_read_is_listed_for_them_once() -> None:
    bench = Workbench(JOIN)
    bench.feed(0, until(P, "a b", 7), until(P, "a b", 8), until(P, "a b", 9))
    assert bench.listed(LOG) == ["p(a,b)"]


def test_lists_say_what_was_born_and_what_began() -> None:
    """Rows that a rule negates are *born*, rows that are output *begin*."""
    bench = Workbench("q(X) :- p(X) in [9], not r(X) in [9].")
    bench.run(0, arrive("p", "a"), arrive("r", "b"))
    assert bench.listed(BORN) == ["r(b)"]
    assert bench.listed(BEGUN) == ["q(a)"]


# Indexes ------------------------------------------------------------------------------------------------------------


def test_a_row_is_linked_into_a_chain_of_each_index() -> None:
    """The join looks `p` up by its first column from one side and by its second from the other."""
    bench = Workbench(JOIN)
    bench.feed(0, until(P, "a b", 7), until(P, "c b", 7), until(P, "a d", 7))
    assert bench.chain(P, (0, 1), "a b") == ["p(a,b)"]
    assert bench.chain(P, (0,), "a") == ["p(a,d)", "p(a,b)"]
    assert bench.chain(P, (1,), "b") == ["p(c,b)", "p(a,b)"]
    assert bench.chain(P, (1,), "a") == []
    bench.audit()


@pytest.mark.parametrize("gone", ["a", "b", "c"])
def test_a_row_leaves_its_chain_wherever_it_stands_in_it(gone: str) -> None:
    bench = Workbench("q(X,Y) :- p(X), r(X,Y) in [9].", given=["r/2"])
    rows = {each: until("r/2 derived", f"x {each}", 50) for each in "abc"}
    bench.run(0, *rows.values())
    bench.run(1, retract("r/2 derived", f"x {gone}"))
    bench.run(2)
    assert bench.chain("r/2 derived", (0,), "x") == [f"r(x,{each})" for each in "cba" if each != gone]
    bench.audit()


# From lifting to giving back ----------------------------------------------------------------------------------------


def test_a_row_that_is_lowered_keeps_its_place_until_the_next_tick() -> None:
    bench = given()
    bench.run(0, until(GIVEN, "a", 7))
    place = bench.place(GIVEN, "a")

    bench.feed(1, retract(GIVEN, "a"))
    assert bench.rows(GIVEN) == {"a": NEVER}
    assert bench.listed(LOW) == ["p(a)"]
    assert bench.arrays.olds[0] == 7

    bench.run(1)
    assert bench.listed(DIED) == ["p(a)", "q(a)"]
    assert bench.listed(ENDED) == ["q(a)"]
    assert bench.rows(GIVEN) == {"a": NEVER}

    bench.feed(2)
    assert bench.rows(GIVEN) == {}
    assert place in bench.free()
    bench.audit()


def test_the_place_given_back_last_is_taken_first() -> None:
    bench = given()
    bench.run(0, *(forever(GIVEN, each) for each in "abc"))
    bench.run(1, *(retract(GIVEN, each) for each in "abc"))
    high = bench.scalar(HIGH)
    bench.feed(2)
    assert (bench.scalar(LIVE), len(bench.free())) == (0, 6)
    expected = bench.free()[:2]
    bench.feed(2, forever(GIVEN, "x"), forever(GIVEN, "y"))
    assert [bench.place(GIVEN, "x"), bench.place(GIVEN, "y")] == expected
    assert bench.scalar(HIGH) == high


def test_what_is_taken_back_and_comes_again_in_one_tick_does_not_end() -> None:
    bench = given()
    bench.run(0, until(GIVEN, "a", 7))
    bench.run(1, retract(GIVEN, "a"), until(GIVEN, "a", 7))
    assert bench.rows(GIVEN) == {"a": 7}
    assert bench.listed(ENDED) == []
    bench.run(2)
    assert bench.rows("q/1 derived") == {"a": 7}
    bench.audit()


def test_a_row_that_was_lowered_is_marked_until_the_next_tick() -> None:
    bench = given()
    bench.run(0, until(GIVEN, "a", 7))
    bench.run(1, retract(GIVEN, "a"), until(GIVEN, "a", 5))
    assert bench.marked(LOWERED) == ["p(a)", "q(a)"]
    bench.feed(2)
    assert bench.marked(LOWERED) == []


def test_a_row_that_held_for_ever_gets_an_end() -> None:
    bench = given()
    bench.run(0, forever(GIVEN, "a"))
    assert bench.calendar() == {}
    bench.run(1, retract(GIVEN, "a"), until(GIVEN, "a", 5))
    assert sorted(bench.calendar()[6]) == ["p(a)", "q(a)"]


def test_what_ended_and_comes_back_before_the_tick_is_over_keeps_its_place() -> None:
    """A tick may be evaluated in rounds: here the second one brings back what ended in the first."""
    bench = given()
    bench.run(0, until(GIVEN, "a", 7))
    place = bench.place(GIVEN, "a")
    bench.run(1, retract(GIVEN, "a"))
    assert bench.listed(DIED) == ["p(a)", "q(a)"]
    bench.run(1, until(GIVEN, "a", 5))
    bench.run(2)
    assert (bench.place(GIVEN, "a"), bench.rows(GIVEN), bench.rows("q/1 derived")) == (place, {"a": 5}, {"a": 5})
    bench.audit()


def test_what_comes_back_in_a_later_round_has_an_end_again() -> None:
    bench = given()
    bench.run(0, until(GIVEN, "a", 4))
    bench.run(5)
    assert (bench.listed(DIED), bench.calendar()) == (["q(a)", "p(a)"], {})
    bench.run(5, until(GIVEN, "a", 8))
    assert bench.calendar() == {9: ["p(a)", "q(a)"]}


# The calendar -------------------------------------------------------------------------------------------------------


def test_rows_are_looked_at_when_their_horizon_has_passed() -> None:
    bench = Workbench(JOIN)
    bench.feed(0, until(P, "a b", 4), until(P, "c d", 9), until(P, "e f", 4), forever(P, "g h"))
    assert bench.calendar() == {5: ["p(a,b)", "p(e,f)"], 10: ["p(c,d)"]}
    assert next_end(bench.arrays) == 5
    bench.feed(5)
    assert sorted(bench.listed(EXPIRING)) == ["p(a,b)", "p(e,f)"]
    assert bench.calendar() == {10: ["p(c,d)"]}


def test_ticks_leave_the_calendar_in_order_however_they_came() -> None:
    bench, horizons = Workbench(JOIN), [11, 3, 17, 5, 2, 13, 7]
    bench.feed(0, *(until(P, f"a {each}", each) for each in horizons))
    bench.audit()
    ends = []
    while (end := next_end(bench.arrays)) is not None:
        bench.run(end)
        ends.append((end, bench.listed(EXPIRING)))
    assert ends == [(each + 1, [f"p(a,{each})"]) for each in sorted(horizons)]


def test_a_row_that_was_raised_is_moved_when_the_calendar_comes_to_it() -> None:
    bench = Workbench(JOIN)
    bench.feed(0, until(P, "a b", 4))
    bench.feed(1, until(P, "a b", 8))
    assert bench.calendar() == {5: ["p(a,b)"]}
    bench.feed(5)
    assert bench.listed(EXPIRING) == []
    assert bench.calendar() == {9: ["p(a,b)"]}


def test_the_rows_of_a_tick_fill_one_chunk_after_the_other() -> None:
    """A chunk is a row that names others: two for each word behind the first three."""
    bench = given()
    room = 2 * (bench.arrays.stride - 3)
    bench.feed(0, *(until(GIVEN, f"x{number}", 4) for number in range(room + 3)))
    assert [len(chunk) for chunk in bench.chunks()[5]] == [room, 3]
    bench.feed(5)
    assert bench.chunks() == {}
    assert len(bench.listed(EXPIRING)) == room + 3


def test_the_last_row_of_a_tick_fills_the_hole_of_one_that_leaves() -> None:
    bench = given()
    bench.run(0, *(until(GIVEN, each, 9) for each in "abcd"))
    assert bench.calendar() == {10: ["p(a)", "p(b)", "p(c)", "p(d)", "q(a)", "q(b)", "q(c)", "q(d)"]}
    bench.run(1, retract(GIVEN, "c"))
    bench.feed(2)
    assert bench.calendar() == {10: ["p(a)", "p(b)", "q(d)", "p(d)", "q(a)", "q(b)"]}
    bench.audit()


def test_a_row_can_be_woken_before_it_ends() -> None:
    """A window that hops shows at 5 what came at 3."""
    bench = Workbench("q(X) :- p(X) in [4 step 5].")
    bench.run(3, arrive("p", "a"))
    assert bench.calendar()[5] == ["wake p(a,3)"]
    assert bench.holds("q/1 derived") == set()
    bench.feed(5)
    assert bench.listed(LOG) == ["p(a,3)"]
    bench.run(5)
    assert bench.holds("q/1 derived") == {"a"}
    bench.audit()


# Room and steps -----------------------------------------------------------------------------------------------------


def test_a_kernel_without_room_says_what_it_needs_and_changes_nothing() -> None:
    bench, needs = Workbench(JOIN), []
    for need in bench.calls(0, *(until(P, f"a {number}", number) for number in range(300))):
        before = bench.rows(P), bench.calendar(), bench.listed(LOG)
        assert not bench.call(again=True)
        assert (bench.rows(P), bench.calendar(), bench.listed(LOG)) == before
        bench.audit()
        needs.append(need)
    assert set(needs) == {"heads", "heap", "rows", "lists"}
    assert bench.rows(P) == {f"a {number}": number for number in range(300)}


def test_a_kernel_takes_as_many_steps_as_it_was_given() -> None:
    bench = given(steps=3)
    calls = bench.calls(0, *(forever(GIVEN, f"x{number}") for number in range(10)), strata=False)
    sizes = [len(bench.rows(GIVEN)) for _ in calls]
    assert sizes == [3, 6, 9]
    assert len(bench.rows(GIVEN)) == 10


def test_giving_rows_back_takes_steps() -> None:
    bench = given()
    bench.run(0, *(forever(GIVEN, f"x{n}") for n in range(10)))
    bench.run(1, *(retract(GIVEN, f"x{n}") for n in range(10)))
    bench.table.words[TABLE_STEPS] = 4
    free = [len(bench.free()) for need in bench.calls(2)]
    assert free == [4, 8, 12, 16]
    assert bench.scalar(LIVE) == 0


# All together -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_an_arena_is_a_dictionary_of_horizons(seed: int) -> None:
    bench, chance, known = given(), random.Random(seed), dict[str, int]()
    for tick in range(60):
        known = {words: horizon for words, horizon in known.items() if horizon >= tick}
        feeds = []
        for words in chance.sample([f"x{number}" for number in range(40)], chance.randrange(12)):
            if chance.random() < 0.3:
                feeds.append(retract(GIVEN, words))
                known.pop(words, None)
            else:
                horizon = tick + chance.randrange(1, 9)
                feeds.append(until(GIVEN, words, horizon))
                known[words] = max(horizon, known.get(words, horizon))
        bench.run(tick, *feeds)
        assert {words: horizon for words, horizon in bench.rows(GIVEN).items() if horizon >= tick} == known
        bench.audit()
