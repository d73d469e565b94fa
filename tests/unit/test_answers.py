"""The answers of a run as a value."""

import gc

import pytest

import thalweg
from thalweg import Fact, RejectedError, Source

RECENT = "q(X) :- p(X) in [2]."
EVENTS = [(3, "p(a)"), (4, "p(b)")]


def test_what_is_wrong_is_raised_by_the_call(tmp_path):
    for program in ("q(X,Y) :- p(X).", "nowhere.lars", tmp_path / "nowhere.lars"):
        with pytest.raises(RejectedError):
            thalweg.run(program, stream=EVENTS)
    with pytest.raises(RejectedError, match="E401"):
        thalweg.run(RECENT, stream=tmp_path / "nowhere.facts")
    with pytest.raises(RejectedError, match="`--models` is only for answer set programs"):
        thalweg.run(RECENT, stream=EVENTS, models="all")
    with pytest.raises(RejectedError, match="`--profile` is only for ontologies"):
        thalweg.run(RECENT, stream=EVENTS, profile="ql")
    with pytest.raises(RejectedError, match="cannot end"):
        thalweg.run(RECENT, stream=EVENTS, start=4, end=3)
    with pytest.raises(TypeError, match="unknown option `modles`; did you mean `models`"):
        thalweg.run(RECENT, stream=EVENTS, modles="all")


def test_recorded_streams_can_be_read_again_and_live_ones_cannot():
    answers = thalweg.run(RECENT, stream=EVENTS)
    assert list(map(str, answers)) == list(map(str, answers))
    live = thalweg.run(RECENT, stream=iter(EVENTS))
    assert len(list(live)) == 2
    with pytest.raises(RuntimeError, match="collect"):
        list(live)
    kept = thalweg.run(RECENT, stream=iter(EVENTS)).collect()
    assert list(kept) == list(kept)
    assert repr(kept) == "<Answers: 2>"


def test_what_was_read_is_not_kept():
    seen = []

    def readings():
        for tick in range(200):
            yield tick, f"p({tick})"
        # Once, at the end: there are millions of objects to look at.
        seen.append(sum(isinstance(one, thalweg.Change) for one in gc.get_objects()))

    for _ in thalweg.run(RECENT, stream=readings()):
        pass
    assert len(seen) == 1
    assert seen[0] < 10


def test_answers_that_nobody_reads_close_their_streams(tmp_path):
    (tmp_path / "in.facts").write_text("p(a) at 1.")
    # A file that stays open would be a ResourceWarning, which is an error here.
    thalweg.run(RECENT, stream=tmp_path / "in.facts")
    thalweg.run(RECENT, stream=tmp_path / "in.facts").close()
    gc.collect()


def test_answers_are_tables_where_one_wants_them():
    rules = "slow(S) :- speed(S,V) in [2], V < 20. fast(S) :- speed(S,V), V > 90."
    events = [(3, "speed(a,12)"), (4, "speed(b,99)")]
    answers = thalweg.run(rules, stream=events, emit="intervals")
    expected = [
        {"predicate": "fast", "args": ["b"], "from": 4, "until": None},
        {"predicate": "slow", "args": ["a"], "from": 3, "until": None},
    ]
    assert sorted(answers.to_arrow().to_pylist(), key=lambda row: row["predicate"]) == expected
    frame = thalweg.run(rules, stream=events, show="slow/1").to_pandas()
    assert (list(frame.columns), frame["S"].tolist()) == (["t", "op", "predicate", "S"], ["a"])
    assert thalweg.run(rules, stream=events, show="slow/1").to_polars().height == 1
    assert thalweg.run(rules, stream=events, show="slow/1", end=2).to_pandas().empty


def test_a_notebook_shows_the_timeline_and_does_not_wait_for_a_live_stream():
    shown = thalweg.run(RECENT, stream=EVENTS, end=9)._repr_html_()
    assert shown.startswith("<svg")
    assert "q(a)" in shown
    seen = []
    live = thalweg.run(RECENT, stream=(seen.append(event) or event for event in EVENTS))
    assert "iterate" in live._repr_html_()
    assert seen == []
    assert live.collect()._repr_html_().startswith("<svg")


def test_answer_sets_queries_and_graphs_have_values():
    (solution,) = thalweg.run(Source("a.lp", 'q(X,f(1,"b c")) :- p(X).'), stream=[(1, "p(3)")], workers=0)
    assert solution.sets[0][0].args == (3, thalweg.Term('f(1,"b c")'))
    window = "FROM NAMED WINDOW <w> ON <in> [RANGE 2, SLIDE 2] { WINDOW <w> { ?s <urn:thalweg:p> ?o } }"
    events = [thalweg.Event(1, (Fact("p", (thalweg.IRI("http://a"), 1.5)),), "in")]
    (bindings,) = thalweg.run(Source("q.rspql", f"SELECT ?s ?o {window}"), stream=events, end=2)
    table = thalweg.run(Source("q.rspql", f"SELECT ?s ?o {window}"), stream=events, end=2).to_arrow()
    assert table.to_pylist() == [{"t": 2, "window": [1, 2], "s": "<http://a>", "o": 1.5}]
    assert bindings.rows == ({"s": thalweg.IRI("http://a"), "o": 1.5},)
    (truth,) = thalweg.run(Source("q.rspql", f"ASK {window}"), stream=events, end=2)
    assert truth.answer is True
