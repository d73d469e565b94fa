import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import Delta

from thalweg.runtimes.emit import EMITTERS, LONGEST_STRETCH, Change, Interval, Snapshot, Stretch


def pieces(emit, *steps):
    """What an emitter makes of steps (deltas, first, last)."""
    emitter = EMITTERS[emit]()
    return [
        *(piece for deltas, first, last in steps for piece in emitter.step(deltas, first, last, False)),
        *emitter.finish(),
    ]


def answers(emit, *steps):
    return [answer for piece in pieces(emit, *steps) for answer in piece.answers()]


BEGIN = Delta(3, ["b", "a"], [])
SWAP = Delta(5, ["c"], ["b"])
END = Delta(7, [], ["c", "a"])
ALL = ([BEGIN, SWAP], 3, 6), ([END], 7, 8)


def test_changes_are_sorted():
    assert answers("changes", *ALL) == [
        Change(3, ("a", "b"), ()),
        Change(5, ("c",), ("b",)),
        Change(7, (), ("a", "c")),
    ]


def test_snapshots_cover_every_tick():
    assert answers("snapshot", *ALL) == [
        Snapshot(3, ("a", "b")),
        Snapshot(4, ("a", "b")),
        Snapshot(5, ("a", "c")),
        Snapshot(6, ("a", "c")),
        Snapshot(7, ()),
        Snapshot(8, ()),
    ]


def test_intervals_come_when_facts_end():
    assert answers("intervals", *ALL) == [Interval("b", 3, 4), Interval("a", 3, 6), Interval("c", 5, 6)]


def test_open_intervals_come_last_in_order():
    assert answers("intervals", ([BEGIN, SWAP], 3, 6)) == [
        Interval("b", 3, 4),
        Interval("a", 3, None),
        Interval("c", 5, None),
    ]


@pytest.mark.parametrize("emit", ["changes", "intervals"])
def test_a_gap_costs_nothing(emit):
    assert len(pieces(emit, ([BEGIN], 0, 10**15))) <= 2


def test_a_long_gap_of_snapshots_comes_in_long_stretches():
    found = pieces("snapshot", ([BEGIN], 3, 3 + 5 * LONGEST_STRETCH))
    assert len(found) <= 7
    assert sum(piece.last - piece.first + 1 for piece in found) == 5 * LONGEST_STRETCH + 1


def test_a_stretch_prints_like_its_snapshots():
    stretch = Stretch(3, 5, ("a", "b"), partial=True)
    assert stretch.jsonl() == "".join(f"{answer}\n" for answer in stretch.answers())
    assert stretch.atoms().splitlines()[0] == "a at 3. % partial"


def test_facts_keep_their_letters_and_quotes():
    fact = 'p("a \\"b\\"",<http://ex.org/ä>)'
    line = str(Snapshot(1, (fact,)))
    assert "ä" in line
    assert json.loads(line) == {"t": 1, "facts": [fact]}


def test_atoms():
    assert Stretch(4, 5, ("a", "b")).atoms() == "a at 4.\nb at 4.\na at 5.\nb at 5.\n"
    assert Change(4, ("a",), ("b",)).atoms() == "- b at 4.\n+ a at 4.\n"
    assert Interval("a", 4, 6).atoms() == "a from 4 until 6.\n"
    assert Interval("a", 4, None).atoms() == "a from 4.\n"


def test_partial_answers_say_so():
    assert str(Snapshot(4, ("a",), partial=True)) == '{"t":4,"facts":["a"],"partial":true}'
    assert str(Change(4, (), ("a",), partial=True)) == '{"t":4,"begin":[],"end":["a"],"partial":true}'
    assert str(Interval("a", 4, None, partial=True)) == '{"fact":"a","from":4,"until":null,"partial":true}'


HISTORY = st.lists(st.frozensets(st.sampled_from("abcde")), min_size=1, max_size=12)


@given(HISTORY, st.integers(1, 4))
def test_changes_and_intervals_rebuild_the_snapshots(history, step):
    """`history` is what holds at ticks 0, 1, 2, …; the engine is called every `step` ticks."""
    deltas = [
        Delta(tick, list(now - before), list(before - now))
        for tick, (before, now) in enumerate(zip([frozenset(), *history], history, strict=False))
        if now != before
    ]
    steps = [
        ([delta for delta in deltas if first <= delta.tick <= last], first, last)
        for first in range(0, len(history), step)
        for last in [min(first + step, len(history)) - 1]
    ]
    assert [set(answer.facts) for answer in answers("snapshot", *steps)] == history
    held, from_changes = set(), {}
    for answer in answers("changes", *steps):
        held = held - set(answer.end) | set(answer.begin)
        from_changes[answer.t] = held
    intervals = answers("intervals", *steps)
    for tick, expected in enumerate(history):
        last_change = max((t for t in from_changes if t <= tick), default=None)
        assert (from_changes[last_change] if last_change is not None else set()) == expected
        assert {i.fact for i in intervals if i.start <= tick and (i.until is None or tick <= i.until)} == expected
