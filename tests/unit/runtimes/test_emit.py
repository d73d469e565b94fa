import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import Delta

from thalweg.answers.answer_formats import FORMATS, formatter
from thalweg.answers.emit import EMITTERS, LONGEST_RUN, Intervals
from thalweg.answers.jsonl import jsonl, lines
from thalweg.answers.record import changes, interval, singles, snapshots
from thalweg.answers.text_answers import atoms
from thalweg.connectors.readers import open_reader
from thalweg.model.arrow import decode, encode
from thalweg.model.dictionary import Dictionary
from thalweg.model.rdf import GENERATED_AT, read_graph
from thalweg.model.time import Calendar, Clock, TimeFormat


def pieces(emit, *steps):
    """What an emitter makes of steps (deltas, first, last)."""
    emitter = EMITTERS[emit]()
    return [
        *(piece for deltas, first, last in steps for piece in emitter.step(deltas, first, last, ())),
        *emitter.finish(),
    ]


def answers(emit, *steps):
    return [answer for piece in pieces(emit, *steps) for answer in singles(piece)]


def snapshot(tick, facts, shed=()):
    return snapshots(tick, tick, facts, shed)


def as_atoms(answer):
    return "".join(atoms(answer))


BEGIN = Delta(3, ["b", "a"], [])
SWAP = Delta(5, ["c"], ["b"])
END = Delta(7, [], ["c", "a"])
ALL = ([BEGIN, SWAP], 3, 6), ([END], 7, 8)


def test_changes_are_sorted():
    assert answers("changes", *ALL) == [
        changes(3, ("a", "b")),
        changes(5, ("c",), ("b",)),
        changes(7, (), ("a", "c")),
    ]


def test_snapshots_cover_every_tick():
    assert answers("snapshot", *ALL) == [
        snapshot(3, ("a", "b")),
        snapshot(4, ("a", "b")),
        snapshot(5, ("a", "c")),
        snapshot(6, ("a", "c")),
        snapshot(7, ()),
        snapshot(8, ()),
    ]


def test_intervals_come_when_facts_end():
    assert answers("intervals", *ALL) == [interval("b", 3, 4), interval("a", 3, 6), interval("c", 5, 6)]


def test_open_intervals_come_last_in_order():
    assert answers("intervals", ([BEGIN, SWAP], 3, 6)) == [
        interval("b", 3, 4),
        interval("a", 3, None),
        interval("c", 5, None),
    ]


@pytest.mark.parametrize("emit", ["changes", "intervals"])
def test_a_gap_costs_nothing(emit):
    assert len(pieces(emit, ([BEGIN], 0, 10**15))) <= 2


def test_a_long_gap_of_snapshots_comes_in_long_stretches():
    found = pieces("snapshot", ([BEGIN], 3, 3 + 5 * LONGEST_RUN))
    assert len(found) <= 7
    assert sum(piece.t - piece.start + 1 for piece in found) == 5 * LONGEST_RUN + 1


def test_a_stretch_prints_like_its_snapshots():
    stretch = snapshots(3, 5, ("a", "b"), ("p/1",))
    assert lines(stretch) == [str(answer) for answer in singles(stretch)]
    assert as_atoms(stretch).splitlines()[0] == "a at 3. % partial"


def test_facts_keep_their_letters_and_quotes():
    fact = 'p("a \\"b\\"",<http://ex.org/ä>)'
    line = str(snapshot(1, (fact,)))
    assert "ä" in line
    assert json.loads(line) == {"t": 1, "facts": [fact]}


def test_atoms():
    assert as_atoms(snapshots(4, 5, ("a", "b"))) == "a at 4.\nb at 4.\na at 5.\nb at 5.\n"
    assert as_atoms(changes(4, ("a",), ("b",))) == "- b at 4.\n+ a at 4.\n"
    assert as_atoms(interval("a", 4, 6)) == "a from 4 until 6.\n"
    assert as_atoms(interval("a", 4, None)) == "a from 4.\n"


def test_partial_answers_say_so_and_name_what_was_shed():
    tail = '"shed":["p/1"],"partial":true}'
    assert str(snapshot(4, ("a",), ("p/1",))) == f'{{"t":4,"facts":["a"],{tail}'
    assert str(changes(4, (), ("a",), shed=("p/1",))) == f'{{"t":4,"begin":[],"end":["a"],{tail}'
    assert str(interval("a", 4, None, ("p/1",))) == f'{{"fact":"a","from":4,"until":null,{tail}'
    assert str(interval("a", 4, 6, ("p/1",))) == f'{{"fact":"a","from":4,"until":6,{tail}'
    change = changes(4, ("a",), ("b",), ("c",), shed=("p/1", "r/2"))
    assert json.loads(str(change)) == {
        "t": 4,
        "begin": ["a"],
        "end": ["b"],
        "unknown": ["c"],
        "shed": ["p/1", "r/2"],
        "partial": True,
    }
    assert as_atoms(change) == "- b at 4. % partial\n? c at 4. % partial\n+ a at 4. % partial\n"


SHED = Delta(3, ["a", "b"], []), Delta(5, [], [], ["b"], ("p/1",)), Delta(8, ["b"], ["a"])


STEPS = ((SHED[0],), 3, 3, ()), ((SHED[1],), 4, 6, ("p/1",)), ((), 7, 7, ("p/1",)), ((SHED[2],), 8, 8, ())


@pytest.mark.parametrize(
    ("emit", "expected"),
    [
        ("changes", [changes(3, ("a", "b")), changes(5, unknown=("b",), shed=("p/1",)), changes(8, ("b",), ("a",))]),
        (
            "intervals",
            [
                interval("b", 3, 4, ("p/1",)),
                interval("a", 3, 7, ("p/1",)),
                interval("b", 8, None, ("p/1",)),
            ],
        ),
        (
            "snapshot",
            [
                *(snapshot(tick, ("a", "b")) for tick in (3, 4)),
                *(snapshot(tick, ("a",), ("p/1",)) for tick in (5, 6, 7)),
                snapshot(8, ("b",)),
            ],
        ),
    ],
)
def test_what_is_unknown_holds_no_longer_and_has_not_ended(emit, expected):
    """An interval that began when facts had just been missing may have begun before."""
    emitter = EMITTERS[emit]()
    pieces = [piece for step in STEPS for piece in emitter.step(*step)]
    assert [answer for piece in (*pieces, *emitter.finish()) for answer in singles(piece)] == expected


@pytest.mark.parametrize("emit", EMITTERS)
def test_what_was_saved_goes_on_alike(emit):
    """Whether or not it is saved after each step, and another one goes on."""
    kept = renewed = EMITTERS[emit]()
    for step in STEPS:
        saved = encode({}, renewed.save())
        renewed = EMITTERS[emit]()
        renewed.load(decode(saved)[1])
        assert list(renewed.step(*step)) == list(kept.step(*step))
    assert list(renewed.finish()) == list(kept.finish())


HISTORY = st.lists(st.frozensets(st.sampled_from("abcde")), min_size=1, max_size=12)


@given(HISTORY, st.integers(1, 4))
def test_changes_and_intervals_rebuild_the_snapshots(history, step):
    """`history` is what holds at ticks 0, 1, 2, …; the engine is called every `step` ticks."""
    deltas = deltas_of_history(history)
    steps = [
        ([delta for delta in deltas if first <= delta.tick <= last], first, last)
        for first in range(0, len(history), step)
        for last in [min(first + step, len(history)) - 1]
    ]
    assert [set(answer.columns[0]) for answer in answers("snapshot", *steps)] == history
    held, from_changes = set(), {}
    for answer in answers("changes", *steps):
        held = held - set(answer.columns[1]) | set(answer.columns[0])
        from_changes[answer.t] = held
    intervals = answers("intervals", *steps)
    for tick, expected in enumerate(history):
        last_change = max((t for t in from_changes if t <= tick), default=None)
        assert (from_changes[last_change] if last_change is not None else set()) == expected
        assert {i.columns[0][0] for i in intervals if i.columns[1][0] <= tick <= i.t} == expected


@given(HISTORY, st.sampled_from(["", "a", "ace"]))
def test_the_intervals_of_two_buckets_are_those_of_one(history, mine):
    """`mine` are the facts of one bucket; at tick 2, facts were missing in one of them."""
    deltas, missing = deltas_of_history(history), [("p/1", 2, 2)]
    parts = [
        [Delta(delta.tick, [*set(delta.begin_text) & own], [*set(delta.end_text) & own]) for delta in deltas]
        for own in (set(mine), set("abcde") - set(mine))
    ]
    one, *some = (interval_rows(part, len(history)) for part in (deltas, *parts))
    assert list(Intervals.arrange([*some[0], *some[1]], missing)) == list(Intervals.arrange(one, missing))


def interval_rows(deltas, last):
    emitter = Intervals()
    return [*emitter.rows(deltas, 0, last), *emitter.rest()]


def deltas_of_history(history):
    pairs = enumerate(zip([frozenset(), *history], history, strict=False))
    return [Delta(tick, list(now - before), list(before - now)) for tick, (before, now) in pairs if now != before]


# As graphs of RDF ----------------------------------------------------------------------------------------------------

A, B = "<http://ex.org/C>(<http://ex.org/a>)", "<http://ex.org/p>(<http://ex.org/b>,3)"
SCHEMA = "<https://schema.org/"


def said(piece, format="nquads", clock=Clock(tick_length=500)):  # noqa: B008
    """What the default graph says, as (graph, property, value), and the graphs of the facts."""
    text = "".join(formatter(format, TimeFormat(Calendar(clock)))(piece))
    documents = text.splitlines() if format == "jsonld" else [text]
    quads = [quad for document in documents for quad in read_graph(document.encode(), format)]
    about = {quad[:3] for quad in quads if quad[3] is None}
    return about, sorted({quad[3] for quad in quads if quad[3] is not None})


def moment(text):
    return f'"1970-01-01T00:00:{text}Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'


@pytest.mark.parametrize("format", ["nquads", "jsonld"])
def test_an_interval_is_a_graph_with_its_validity(format):
    closed, still = "<urn:thalweg:interval:38:41>", "<urn:thalweg:interval:38>"
    assert said(interval(A, 38, 41), format) == (
        {
            (closed, f"{SCHEMA}validFrom>", moment("19")),
            (closed, f"{SCHEMA}validThrough>", moment("20.500")),
            (closed, "from", "38"),
            (closed, "until", "41"),
        },
        [closed],
    )
    assert said(interval(A, 38, None), format) == (
        {(still, f"{SCHEMA}validFrom>", moment("19")), (still, "from", "38")},
        [still],
    )


@pytest.mark.parametrize("format", ["nquads", "jsonld"])
def test_a_change_is_a_graph_that_began_and_one_that_ended(format):
    begin, end = "<urn:thalweg:begin:40>", "<urn:thalweg:end:40>"
    assert said(changes(40, (A,), (B,)), format) == (
        {
            (begin, GENERATED_AT, moment("20")),
            (begin, "tick", "40"),
            (end, "<http://www.w3.org/ns/prov#invalidatedAtTime>", moment("20")),
            (end, "tick", "40"),
        },
        [begin, end],
    )
    assert said(changes(40, (), (B,)), format)[1] == [end]


def test_what_became_unknown_is_a_graph_of_its_own():
    about, (name,) = said(changes(38, unknown=(A,), shed=("<http://ex.org/p>/2",)))
    assert name == "<urn:thalweg:unknown:38:partial>"
    assert (name, "shed", '"<http://ex.org/p>/2"') in about
    assert "unknownFrom" in {predicate for _, predicate, _ in about}


def test_partial_graphs_say_so():
    about, (name,) = said(interval(A, 38, None, ("p/1",)))
    assert name == "<urn:thalweg:interval:38:partial>"
    assert (name, "partial", '"true"^^<http://www.w3.org/2001/XMLSchema#boolean>') in about


def test_a_tick_beyond_all_calendars_is_told_as_itself():
    about, (name,) = said(snapshots(10**15, 10**15, (A,)))
    assert (name, GENERATED_AT, str(10**15)) in about


def test_other_formats_are_as_before():
    assert set(FORMATS) == {"jsonl", "atoms", "nquads", "jsonld"}
    piece = interval(A, 38, 41)
    spelled = [text for name in ("jsonl", "atoms") for text in formatter(name)(piece)]
    assert spelled == [*jsonl(piece), *atoms(piece)]


TOLD = st.lists(st.sets(st.sampled_from([A, B, "slow(road1)", "jam", 'q(x,"a, b",2.5)', "<p>(<a>,<b>)"])), max_size=5)


@pytest.mark.parametrize(("format", "name"), [("nquads", "in.nq"), ("jsonld", "in.jsonld")])
@given(snapshots=TOLD, length=st.sampled_from([1, 100, 1_000, 60_000]))
def test_snapshots_are_a_stream_that_can_be_read_again(format, name, snapshots, length):
    clock, words = Clock(tick_length=length), Dictionary()
    write, reader = formatter(format, TimeFormat(Calendar(clock))), open_reader(name, "in", words, clock)
    stretches = (snapshot(tick, tuple(sorted(held))) for tick, held in enumerate(snapshots))
    text = "".join(part for stretch in stretches for part in write(stretch))
    items = [*reader.feed(text.encode()), *reader.finish()]
    found = {tick: {*map(str, batch.facts(words))} for tick, batch in items}
    assert found == {tick: held for tick, held in enumerate(snapshots) if held}
