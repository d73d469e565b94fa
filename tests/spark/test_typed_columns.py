"""Every kind of program has typed columns, rows of one predicate, and rows of what was late or malformed."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from thalweg.diagnostics import RejectedError, Source
from thalweg.spark import reason

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SPEEDS = "<http://ex.org/speed>(<http://ex.org/{road}>, v) at ts"
WINDOW = "FROM NAMED WINDOW <w> ON <in> [RANGE 2 s, SLIDE 2 s] WHERE {{ WINDOW <w> {{ {} }} }}"
PATTERN = WINDOW.format("?r <http://ex.org/speed> ?v")
END = {"end": "2026-11-15T08:00:02Z"}


@pytest.fixture(scope="module")
def speeds(session: "SparkSession") -> "DataFrame":
    rows = [("a", 30, datetime(2026, 11, 15, 8)), ("a", 40, datetime(2026, 11, 15, 8, 0, 1)), ("b", None, None)]
    return session.createDataFrame(rows, "road string, v int, ts timestamp")


@pytest.mark.parametrize(
    ("query", "types", "expected"),
    [
        pytest.param(
            f"SELECT ?r ?v {PATTERN}",
            {"r": "string", "v": "bigint"},
            [("<http://ex.org/a>", 30), ("<http://ex.org/a>", 40)],
            marks=pytest.mark.slow,
        ),
        (
            f"SELECT ?r (COUNT(*) AS ?n) (AVG(?v) AS ?mean) (MAX(?v) AS ?most) {PATTERN} GROUP BY ?r",
            {"r": "string", "n": "bigint", "mean": "double", "most": "bigint"},
            [("<http://ex.org/a>", 2, 35.0, 40)],
        ),
        pytest.param(
            f"SELECT ?v (STR(?r) AS ?text) {PATTERN}",
            {"v": "bigint", "text": "string"},
            [(30, "http://ex.org/a"), (40, "http://ex.org/a")],
            marks=pytest.mark.slow,
        ),
    ],
)
def test_variables_have_the_types_of_what_they_are_bound_to(
    speeds: "DataFrame", query: str, types: dict[str, str], expected: list[tuple[Any, ...]]
) -> None:
    pytest.importorskip("rdflib")
    found = reason(Source("q.rspql", query), speeds, map=SPEEDS, **END)
    assert dict(found.dtypes[2:]) == types
    assert sorted(tuple(row)[2:] for row in found.collect()) == expected


@pytest.mark.slow
def test_a_predicate_of_a_mix_is_chosen_whichever_part_answers_it(session: "SparkSession") -> None:
    pytest.importorskip("clingo")
    facts = session.createDataFrame([("a", 1, 1), ("b", 3, 3)], "x string, y int, t long")
    mix = [Source("choice.lp", "1 { go(R) : slow(R,_) } 1 :- slow(_,_).\n#show go/1.\n"), "slow(X,Y) :- p(X,Y), Y > 1."]
    slow = reason(mix, {"p": facts}, of="slow/2")
    assert slow.dtypes == [("X", "string"), ("Y", "bigint"), ("from", "bigint"), ("until", "bigint")]
    assert [tuple(row) for row in slow.collect()] == [("b", 3, 3, None)]
    go = reason(mix, {"p": facts}, of="go/1")
    assert go.columns == ["t", "window", "answer_set", "arg1", "incomplete"]
    assert [row.arg1 for row in go.collect()] == ["b"]
    with pytest.raises(RejectedError, match="nothing here answers facts of `stop/1`"):
        reason(mix, {"p": facts}, of="stop/1")


def test_arguments_of_answer_sets_have_types_where_the_program_is_rules(session: "SparkSession") -> None:
    pytest.importorskip("clingo")
    facts = session.createDataFrame([("a", 7, 1)], "x string, y int, t long")
    found = reason(Source("rules.lp", "far(X,Y) :- p(X,Y), Y > 3.\n"), {"p": facts}, window=1, of="far/2")
    assert dict(found.dtypes)["arg2"] == "bigint"
    assert [(row.arg1, row.arg2) for row in found.collect()] == [("a", 7)]


@pytest.mark.slow
def test_triples_of_one_predicate_are_chosen(speeds: "DataFrame") -> None:
    pytest.importorskip("rdflib")
    template = "CONSTRUCT { ?r <http://ex.org/fast> ?v . ?r <http://ex.org/seen> <http://ex.org/here> }"
    query = Source("q.rspql", f"{template} {PATTERN}")
    found = reason(query, speeds, map=SPEEDS, of="<http://ex.org/fast>/2", **END)
    assert found.columns == ["t", "window", "arg1", "arg2"]
    assert sorted((row.arg1, row.arg2) for row in found.collect()) == [
        ("<http://ex.org/a>", "30"),
        ("<http://ex.org/a>", "40"),
    ]
    with pytest.raises(RejectedError, match="nothing here answers facts of"):
        reason(query, speeds, map=SPEEDS, of="<http://ex.org/slow>/2")


EVENTS = """PREFIX : <http://ex.org/>
NAMED EVENT :Seen AS :Reading
NAMED EVENT :Later AS :Reading
NAMED EVENT :Twice { MATCH EVERY :Seen SEQ :Later WITHIN (10 s)
  IF { EVENT :Seen { ?road :speed ?v } EVENT :Later { ?road :speed ?to } } }
"""
READINGS = ["<http://ex.org/Reading>(<http://ex.org/{road}>) at ts", SPEEDS]


def test_an_event_is_chosen_with_a_column_for_each_variable(speeds: "DataFrame") -> None:
    program = Source("e.tw", EVENTS)
    twice = reason(program, speeds, map=READINGS, of=":Twice/1", late=True)
    assert dict(twice.dtypes[:7]) == {
        **dict.fromkeys(("t", "from", "to"), "timestamp"),
        **{"road": "string", "?to": "bigint", "v": "bigint"},
        "events": "array<string>",
    }
    (row,) = twice.where("op is null").collect()
    assert (row.t, row["from"]) == (datetime(2026, 11, 15, 8, 0, 1), datetime(2026, 11, 15, 8))
    assert (row.road, row.v, row["?to"], len(row.events)) == ("<http://ex.org/a>", 30, 40, 2)
    with pytest.raises(RejectedError, match=r"(?s)nothing derives `<http://ex.org/Seen>/1`.*or it is not output"):
        reason(program, speeds, map=READINGS, of=":Seen/1")


@pytest.mark.slow
@pytest.mark.parametrize("beside", [(), ("odd(X) :- <http://ex.org/speed>(X,V), V > 99.",)], ids=["alone", "mixed"])
def test_a_class_of_events_is_chosen(speeds: "DataFrame", beside: tuple[str, ...]) -> None:
    options = {"event": [":Seen", ":Twice"], "emit": "changes"}
    seen = reason([Source("e.tw", EVENTS), *beside], speeds, map=READINGS, of=":Seen/1", **options)
    assert seen.columns == ["t", "from", "to", "individual", "graph"]
    assert [(row.individual, row.graph) for row in seen.orderBy("t").collect()] == [("<http://ex.org/a>", None)] * 2


@pytest.mark.slow
def test_a_class_of_an_ontology_is_chosen(speeds: "DataFrame") -> None:
    pytest.importorskip("pyhornedowl")
    options = {"as_": "abstraction", "profile": "dl"}
    hot = reason(Source("o.ofn", ONTOLOGY), speeds, map=SPEEDS, of="<http://ex.org/Hot>/1", **options)
    assert hot.columns == ["t", "from", "to", "individual", "graph"]
    assert [row.individual for row in hot.collect()] == ["<http://ex.org/a>"] * 2
    with pytest.raises(RejectedError, match=r"nothing derives `<http://ex\.org/Hott>/1`"):
        reason(Source("o.ofn", ONTOLOGY), speeds, map=SPEEDS, of="<http://ex.org/Hott>/1", **options)


ONTOLOGY = "Prefix(:=<http://ex.org/>) Ontology(DisjointClasses(:Hot :Cold) DataPropertyDomain(:speed :Hot))"


@pytest.mark.parametrize(
    ("program", "needs", "options"),
    [
        (Source("q.rspql", f"SELECT ?r {PATTERN}"), "rdflib", {}),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                (Source("q.rspql", f"ASK {PATTERN}"), "rdflib", {}),
                (Source("q.rspql", f"CONSTRUCT {{ ?r <http://ex.org/q> ?v }} {PATTERN}"), "rdflib", {}),
                (Source("r.lp", "on :- not off. #show on/0."), "clingo", {"window": 1}),
                (Source("o.ofn", ONTOLOGY), "pyhornedowl", {"as_": "consistency", "window": 0}),
                (Source("o.ofn", ONTOLOGY), "pyhornedowl", {"as_": "abstraction", "profile": "dl"}),
                (Source("e.tw", EVENTS), "pyoxigraph", {"event": [":Seen", ":Twice"]}),
                ([Source("r.lp", "on :- not off. #show on/0."), "q(X) :- <http://ex.org/speed>(X,V)."], "clingo", {}),
            )
        ),
    ],
)
def test_malformed_rows_stand_beside_answers_of_every_kind(
    speeds: "DataFrame", program: Any, needs: str, options: dict[str, Any]
) -> None:
    pytest.importorskip(needs)
    found = reason(program, speeds, map=SPEEDS, late=True, **END, **options)
    assert {"op", "watermark", "message"} <= set(found.columns)
    rows = found.collect()
    (malformed,) = [row for row in rows if row.op == "malformed"]
    assert '"road": "b"' in malformed.message
    assert all(row.op is None or row.op in "+-" for row in rows if row != malformed)
