"""The answers of a run as a value."""

import gc
import json
from datetime import UTC, datetime

import pytest

import thalweg
from thalweg import IRI, Fact, RejectedError, Source
from thalweg.answers.jsonl import lines as lines_of
from thalweg.api.answer_values import record_of, values_of
from thalweg.api.spark_answers import RecordFormat
from thalweg.model.records import of_json

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


# Events, clashes, explanations ---------------------------------------------------------------------------------------

CITY = Source(
    "city.ttl",
    """@prefix : <http://ex.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    :Camera rdfs:subClassOf :Sensor ; owl:disjointWith :Road .""",
)
TWICE = Source(
    "twice.tw",
    """PREFIX : <http://ex.org/>
    NAMED EVENT :Seen AS :Sensor
    NAMED EVENT :Twice { MATCH EVERY :Camera SEQ :Seen WITHIN (5 s) IF { EVENT :Camera { ?c :on ?road } } }
    NAMED EVENT :Camera AS :Camera""",
)
SEEN = Source(
    "in.trig",
    """@prefix : <http://ex.org/> . @prefix prov: <http://www.w3.org/ns/prov#> .
    @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
    :g1 prov:generatedAtTime "2026-11-15T08:00:00Z"^^xsd:dateTime . :g1 { :c1 a :Camera ; :on :r1 . }
    :g2 prov:generatedAtTime "2026-11-15T08:00:03Z"^^xsd:dateTime . :g2 { :c2 a :Sensor . }
    :g3 prov:generatedAtTime "2026-11-15T08:00:09Z"^^xsd:dateTime . :g3 { :c3 a :Camera , :Road . }""",
)


def ex(name: str) -> IRI:
    return IRI(f"http://ex.org/{name}")


def moment(second: int) -> datetime:
    return datetime(2026, 11, 15, 8, 0, second, tzinfo=UTC)


def test_events_are_values_of_python():
    twice, rejected = thalweg.run([TWICE, CITY], SEEN, event=[":Twice"])
    begun, seen = twice.events
    assert (twice.event, twice.start, twice.end) == (ex("Twice"), moment(0), moment(3))
    assert twice.bindings == {"c": ex("c1"), "road": ex("r1")}
    assert (begun.event, begun.t, begun.individual, begun.graph) == (ex("Camera"), moment(0), ex("c1"), ex("g1"))
    assert (seen.event, seen.start, seen.individual) == (ex("Seen"), moment(3), ex("c2"))
    assert json.loads(str(twice))["from"] == "2026-11-15T08:00:00Z"
    assert (rejected.t, rejected.why, rejected.graphs) == (moment(9), "inconsistent", (ex("g3"),))
    with thalweg.open([TWICE, CITY], event=[":Seen"]) as session:
        session.push(Fact(ex("Sensor"), (ex("c9"),)), at=moment(0))
        (found,) = session.advance()
        assert (found.t, found.individual, found.graph) == (moment(0), ex("c9"), None)


@pytest.mark.parametrize("emit", ["changes", "snapshot", "intervals"])
def test_clashes_are_values_of_python(emit):
    stream = [(moment(0), ["<http://ex.org/Camera>(<http://ex.org/c>)", "<http://ex.org/Road>(<http://ex.org/c>)"])]
    answers = thalweg.run(CITY, stream, as_="consistency", window=0, emit=emit, end=moment(1))
    first = next(iter(answers))
    (clash,) = {"changes": lambda: first.begin, "snapshot": lambda: first.facts, "intervals": lambda: [first.fact]}[
        emit
    ]()
    assert (clash.individual, clash.other) == (ex("c"), None)
    assert clash.axiom == "DisjointClasses(<http://ex.org/Camera> <http://ex.org/Road>)"
    assert clash.because[0] == "<http://ex.org/Camera>(<http://ex.org/c>) at 2026-11-15T08:00:00Z"
    assert "2026-11-15T08:00:00Z" in str(first)
    assert answers.to_arrow().num_rows == (2 if emit == "changes" else 1)


@pytest.mark.parametrize(
    ("program", "options"),
    [
        ([TWICE, CITY], {"event": [":Twice"]}),
        ([TWICE, CITY], {"event": [":Seen"]}),
        *((CITY, {"as_": "consistency", "window": 0, "emit": emit}) for emit in ("changes", "snapshot", "intervals")),
    ],
)
def test_answers_are_read_back_as_they_were(program, options):
    """Python reads those of a run on Spark from a file."""
    answers = list(thalweg.run(program, SEEN, times="ticks", **options))
    lines = list(map(str, answers))
    assert lines
    write = RecordFormat().formatter()
    records = [of_json(json.loads("".join(write(record_of(answer))))) for answer in answers]
    assert [value for record in records for value in values_of(record)] == answers
    assert [line for record in records for line in lines_of(record)] == lines


def test_explanations_print_as_text_with_the_times_of_the_run():
    class Printer:
        def text(self, text):
            self.shown = text

    query = "SELECT ?s FROM NAMED WINDOW <w> ON <in> [RANGE 2, SLIDE 1] { WINDOW <w> { ?s <urn:thalweg:p> ?o } }"
    events = [(moment(0), "p(<http://ex.org/a>,1)"), (moment(2), "p(<http://ex.org/a>,2)")]
    rules = "q(X) :- p(X,Y)."
    for found in (
        thalweg.why(rules, "q(<http://ex.org/a>)", at=moment(2), stream=events),
        thalweg.why_not(rules, "q(<http://ex.org/b>)", at=moment(2), stream=events),
        thalweg.why_row(Source("q.rspql", query), "?s=<http://ex.org/a>", at=moment(2), stream=events),
        thalweg.why_event([TWICE, CITY], ":Twice", at=moment(3), stream=SEEN),
    ):
        printer = Printer()
        found._repr_pretty_(printer, False)
        assert printer.shown == str(found) == found.render(times=found.times)
        assert "17947296" not in str(found)


def test_an_answer_shows_what_it_says_and_no_more():
    (change, *_) = thalweg.run("q(X) :- p(X).", [(3, "p(a)")])
    assert repr(change) == "Change(t=3, begin=(Fact('q', ('a',)),), end=())"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("PREFIX : <http://ex.org/>\nSELECT ?s WHERE { ?s ?p ?o }", "query.rspql"),
        ("ask { ?s ?p ?o }", "query.rspql"),
        ("PREFIX : <http://ex.org/> NAMED EVENT :A AS :B", "events.tw"),
    ],
)
def test_a_text_of_another_kind_is_answered_with_how_to_name_it(text, name):
    with pytest.raises(thalweg.RejectedError) as error:
        thalweg.run(text)
    assert f'Source("{name}", text)' in error.value.diagnostics[0].help
