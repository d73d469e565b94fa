"""`thalweg.spark.reason` inside somebody's own job: any table of facts in, a table of answers out."""

import json
import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.diagnostics import RejectedError, Source
from thalweg.spark import reason

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MEET = "meet(A,C) :- p(A,B) in [5], p(B,C) in [5]."
CITY = "@prefix c: <http://city.org/> . c:jam(R) :- c:slow(R,S) in [3], not c:closed(R)."


def rows(answers: "DataFrame") -> list[tuple[Any, ...]]:
    """Rows as tuples, with the fact that a predicate and its arguments are."""
    found = []
    for row in answers.collect():
        values = row.asDict()
        if "args" in values:
            predicate, args = values.pop("predicate"), values.pop("args")
            values["fact"] = predicate if not args else f"{predicate}({','.join(args)})"
        found.append(tuple(values.values()))
    return sorted(found, key=lambda row: list(map(str, row)))


def test_the_columns_are_the_arguments_of_a_predicate(session: "SparkSession") -> None:
    facts = session.createDataFrame([(1, 2, 1), (2, 3, 2)], "one int, other long, t int")
    found = rows(reason(MEET, {"p": facts}, end=9, emit="changes"))
    assert found == [(2, "+", "meet(1,3)"), (7, "-", "meet(1,3)")]


def test_facts_are_text_and_streams_have_names(session: "SparkSession") -> None:
    values = [("p(a,b)", 1, "x"), ("p(b,c)", 2, "y"), ('p(b,"d e")', 2, "x"), ("q", 3, None)]
    facts = session.createDataFrame(values, "fact string, t long, stream string")
    program = "meet(A,C) :- p(A,B) from x in [5], p(B,C) from x in [5]."
    assert rows(reason(program, facts, emit="changes")) == [(2, "+", "meet(a,d e)")]


def test_triples_and_timestamps(session: "SparkSession") -> None:
    city = "<http://city.org/{}>".format
    values = [(city("main"), city("slow"), city("s1"), datetime(1970, 1, 1, 0, 7, 30))]
    values += [
        (city("main"), "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", city("closed"), datetime(1970, 1, 1, 0, 9))
    ]
    facts = session.createDataFrame(values, "s string, p string, o string, t timestamp")
    found = rows(reason(CITY, facts, tick="1 min", end=12, emit="changes"))
    jam = f"{city('jam')}({city('main')})"
    minute = [datetime(1970, 1, 1, 0, minute) for minute in range(12)]
    assert found == [(minute[7], "+", jam), (minute[9], "-", jam), (minute[10], "+", jam), (minute[11], "-", jam)]


def test_the_three_ways_to_see_the_output(session: "SparkSession") -> None:
    facts = session.createDataFrame([("a", 1), ("b", 2)], "x string, t long")
    program = "q(X) :- p(X) in [1]."
    intervals = reason(program, {"p": facts})
    snapshots = reason(program, {"p": facts}, emit="snapshot", end=3)
    assert (intervals.columns, snapshots.columns) == (
        ["predicate", "args", "from", "until"],
        ["t", "predicate", "args"],
    )
    assert rows(intervals) == [(1, None, "q(a)"), (2, None, "q(b)")]
    assert rows(snapshots) == [(1, "q(a)"), (2, "q(a)"), (2, "q(b)"), (3, "q(b)")]


def test_a_stream_is_answered_up_to_its_watermark_and_late_facts_are_told(
    session: "SparkSession", tmp_path: Path
) -> None:
    write(tmp_path, [("a", 5), ("b", 9)], [("c", 6), ("d", 7), ("e", 11)])
    facts = session.readStream.schema("x string, t long").option("maxFilesPerTrigger", 1)
    answers = reason("q(X) :- p(X).", {"p": facts.parquet(f"{tmp_path}/*.parquet")}, delay=2, late=True, emit="changes")
    found: list[tuple[Any, ...]] = []
    writing = answers.writeStream.foreachBatch(lambda some, number: found.extend((number, *row) for row in rows(some)))
    writing = writing.option("checkpointLocation", str(tmp_path / "state"))
    writing.trigger(availableNow=True).start().awaitTermination()
    shown = [(number, tick, op, fact, watermark) for number, tick, op, watermark, _, fact in found]
    assert shown == [
        (0, 5, "+", "q(a)", None),
        (0, 6, "-", "q(a)", None),
        (1, 6, "late", "p(c)", 7),
        (1, 7, "+", "q(d)", None),
        (1, 8, "-", "q(d)", None),
    ]


def write(folder: Path, *batches: Sequence[tuple[str, int]]) -> None:
    """A file for each batch; Spark takes them by their age."""
    for number, batch in enumerate(batches):
        file = folder / f"{number}.parquet"
        pq.write_table(pa.table({"x": [x for x, _ in batch], "t": [t for _, t in batch]}), file)
        os.utime(file, (1_000 + number, 1_000 + number))


def test_a_table_that_holds_no_facts_is_refused_at_once(session: "SparkSession") -> None:
    with pytest.raises(RejectedError, match="the column `t` is missing"):
        reason(MEET, session.range(1))
    with pytest.raises(RejectedError, match="unknown columns"):
        reason(MEET, session.range(1).selectExpr("id as x", "id as t"))
    with pytest.raises(RejectedError, match="variable `Y` is not bound"):
        reason("q(Y) :- p(X).", {"p": session.range(1).selectExpr("id as x", "id as t")})


HOT = "hot(D,V) :- temp(D,V) in [1 sec], V > 25. count(N) :- N = count{D : temp(D,V) in [3 sec]}."
MAPPING = "temp(device, meta.temp) at ts"


@pytest.fixture(scope="module")
def readings(session: "SparkSession") -> "DataFrame":
    values = [
        ("d1", (30.5,), datetime(2026, 11, 15, 8, 0, 0)),
        ("d2", (12.25,), datetime(2026, 11, 15, 8, 0, 1)),
        ("d1", (None,), datetime(2026, 11, 15, 8, 0, 2)),
        ("d3", (float("inf"),), datetime(2026, 11, 15, 8, 0, 3)),
    ]
    return session.createDataFrame(values, "device string, meta struct<temp: double>, ts timestamp")


def test_a_mapping_makes_facts_of_any_columns_and_answers_have_types(readings: "DataFrame") -> None:
    found = reason(HOT, readings, map=MAPPING, of="hot/2")
    assert found.dtypes == [("D", "string"), ("V", "double"), ("from", "timestamp"), ("until", "timestamp")]
    assert rows(found) == [("d1", 30.5, datetime(2026, 11, 15, 8), None)]
    assert reason(HOT, readings, map=MAPPING, of="count/1").dtypes[0] == ("N", "bigint")


def test_rows_that_hold_no_fact_are_told_with_the_late_ones(readings: "DataFrame") -> None:
    found = reason(HOT, readings, map=MAPPING, emit="changes", late=True).where("op = 'malformed'").collect()
    infinite, empty = sorted(row.message for row in found)
    assert "`inf` is not a number that can be calculated with" in infinite
    assert f"`{MAPPING}` has no value here" in empty
    assert '"device": "d1"' in empty


def test_a_malformed_row_may_stop_the_job(readings: "DataFrame") -> None:
    with pytest.raises(Exception, match="`inf` is not a number"):
        reason(HOT, readings, map=MAPPING, on_error="stop").collect()
    whole = readings.where("device <> 'd3'")
    assert reason(HOT, whole, map=MAPPING, on_error="stop", of="hot/2").count() == 1


def test_a_background_may_be_a_table(session: "SparkSession", readings: "DataFrame") -> None:
    limits = session.createDataFrame([("d1", 20), ("d2", 20)], "device string, most int")
    program = "hot(D) :- temp(D,V), limit(D,L), V > L."
    for found in (
        reason(program, readings, map=MAPPING, background={"limit": limits}, of="hot/1"),
        reason(program, readings, map=[MAPPING, "limit(device, most)"], background=limits, of="hot/1"),
    ):
        assert [row.D for row in found.collect()] == ["d1"]


def test_messages_are_mapped_and_tables_are_streams_by_their_names(session: "SparkSession") -> None:
    messages = session.createDataFrame([('[{"d": "a", "v": 30, "ts": 5}]',), ("oops",), (None,)], "value string")
    other = session.createDataFrame([("b", 7, 6)], "d string, v int, ts long")
    tables = {"north": messages, "south": other}
    found = reason("q(D,V) :- p(D,V) in [9].", tables, map=["north: p(d, v) at ts", "south: p(d, v) at ts"])
    assert sorted(tuple(row.args) for row in found.collect()) == [("a", "30"), ("b", "7")]


def test_programs_of_every_kind_are_answered(session: "SparkSession") -> None:
    pytest.importorskip("clingo")
    from pyspark.sql import functions as F  # noqa: N812

    facts = session.createDataFrame([("a", 1, 1), ("b", 3, 3)], "x string, y int, t long")
    sets = Source("choice.lp", "1 { go(R) : slow(R) } 1 :- slow(_).\n#show go/1.\n")
    found = reason([sets, "slow(X) :- p(X,Y), Y > 1."], {"p": facts})
    assert [name for name, _ in found.dtypes] == [
        *("kind", "predicate", "args", "from", "until", "t", "window", "answer_set", "incomplete")
    ]
    answers = {tuple(row) for row in found.select("kind", "predicate", F.col("args")[0], "from", "t").collect()}
    assert answers == {
        ("fact", "slow", "b", 3, None),
        ("answer set", "go", "b", None, 3),
        ("answer set", *[None] * 3, 1),
    }


def test_answer_sets_have_rows_of_facts(session: "SparkSession") -> None:
    pytest.importorskip("clingo")
    facts = session.createDataFrame([("a", 1), ("b", 1), ("a", 2)], "x string, t long")
    sets = Source("choice.lp", "1 { go(R) : slow(R) } 1 :- slow(_).\n#show go/1.\n")
    found = reason(sets, {"slow": facts}, models="all", window=1, of="go/1")
    assert found.dtypes == [
        *(("t", "bigint"), ("window", "array<bigint>"), ("answer_set", "bigint"), ("arg1", "string")),
        ("incomplete", "boolean"),
    ]
    assert rows(found) == [
        *((1, [1, 1], 1, "a", False), (1, [1, 1], 2, "b", False), (2, [2, 2], 1, "a", False)),
    ]


QUERY = (
    "{form} FROM NAMED WINDOW <w> ON <in> [RANGE 2 s, SLIDE 2 s] WHERE {{ WINDOW <w> {{ ?s <http://ex.org/p> ?v }} }}"
)


@pytest.mark.parametrize(
    ("form", "columns", "expected"),
    [
        ("SELECT ?s ?v", {"s": "string", "v": "string"}, [("<http://ex.org/a>", "3")]),
        ("CONSTRUCT { ?s <http://ex.org/q> ?v }", {"predicate": "string", "args": "array<string>"}, None),
        ("ASK", {"answer": "boolean"}, [(True,)]),
    ],
)
def test_queries_have_their_columns(
    session: "SparkSession", form: str, columns: dict[str, str], expected: list[tuple[Any, ...]] | None
) -> None:
    pytest.importorskip("rdflib")
    values = [("<http://ex.org/a>", "<http://ex.org/p>", "3", datetime(2026, 11, 15, 8))]
    facts = session.createDataFrame(values, "s string, p string, o string, t timestamp")
    found = reason(Source("q.rspql", QUERY.format(form=form)), facts, end="2026-11-15T08:00:02Z")
    assert found.dtypes == [("t", "timestamp"), ("window", "array<timestamp>"), *columns.items()]
    (row,) = found.collect()
    assert row.window == [datetime(2026, 11, 15, 8), datetime(2026, 11, 15, 8, 0, 1)]
    assert [tuple(row)[2:]] == (expected or [("<http://ex.org/q>", ["<http://ex.org/a>", "3"])])


ONTOLOGY = """Prefix(:=<http://ex.org/>) Prefix(owl:=<http://www.w3.org/2002/07/owl#>)
Ontology(<http://ex.org/o> Declaration(Class(:Hot)) Declaration(Class(:Cold)) Declaration(Class(:Warm))
SubClassOf(:Hot :Warm) DisjointClasses(:Hot :Cold))"""
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


def test_clashes_and_classes_of_events_have_their_columns(session: "SparkSession", tmp_path: Path) -> None:
    pytest.importorskip("pyhornedowl")
    (tmp_path / "o.ofn").write_text(ONTOLOGY)
    ex = "<http://ex.org/{}>".format
    facts = session.createDataFrame(
        [(ex("x"), TYPE, ex("Hot"), 5), (ex("x"), TYPE, ex("Cold"), 5), (ex("y"), TYPE, ex("Hot"), 6)],
        "s string, p string, o string, t long",
    )
    clashes = reason(tmp_path / "o.ofn", facts, as_="consistency", window=0)
    assert clashes.columns == ["individual", "other", "axiom", "because", "from", "until"]
    (clash,) = clashes.collect()
    assert (clash.individual, clash["from"], clash.until) == (ex("x"), 5, 5)
    assert clash.because == [f"{ex('Cold')}({ex('x')}) at 5", f"{ex('Hot')}({ex('x')}) at 5"]
    classes = reason(
        tmp_path / "o.ofn", facts.where("t = 6"), as_="abstraction", profile="dl", classes=":Warm", prefix=PREFIX
    )
    (row,) = classes.collect()
    assert (row.t, row.event, row.individual, row.bindings) == (6, ex("Warm"), ex("y"), None)


def test_objects_of_events_are_classified_where_that_is_asked_for(session: "SparkSession", tmp_path: Path) -> None:
    pytest.importorskip("pyhornedowl")
    (tmp_path / "o.ofn").write_text(ONTOLOGY.replace("SubClassOf(", "ObjectPropertyRange(:near :Hot) SubClassOf(", 1))
    ex = "<http://ex.org/{}>".format
    facts = session.createDataFrame([(ex("x"), ex("near"), ex("y"), 5)], "s string, p string, o string, t long")
    options = {"as_": "abstraction", "profile": "dl", "classes": ":Warm", "prefix": PREFIX}
    assert reason(tmp_path / "o.ofn", facts, **options).collect() == []
    (row,) = reason(tmp_path / "o.ofn", facts, **options, individuals="all").collect()
    assert (row.t, row.event, row.individual) == (5, ex("Warm"), ex("y"))


PREFIX = {"": "http://ex.org/"}
EVENTS = """PREFIX : <http://ex.org/>
NAMED EVENT :Heat AS :Hot
NAMED EVENT :Chill AS :Cold
NAMED EVENT :Change { MATCH EVERY :Heat SEQ :Chill WITHIN (10 s) }
"""


def test_complex_events_have_their_columns(session: "SparkSession", tmp_path: Path) -> None:
    pytest.importorskip("pyhornedowl")
    (tmp_path / "o.ofn").write_text(ONTOLOGY)
    (tmp_path / "e.tw").write_text(EVENTS)
    ex = "<http://ex.org/{}>".format
    values = [(ex("x"), TYPE, ex("Hot"), 5), (ex("y"), TYPE, ex("Cold"), 7)]
    facts = session.createDataFrame(values, "s string, p string, o string, t long")
    found = reason([tmp_path / "e.tw", tmp_path / "o.ofn"], facts, event=[":Change"], late=True)
    (row,) = found.where("op is null").collect()
    assert (row.t, row.event, row["from"], row.to, row.bindings) == (7, ex("Change"), 5, 7, {})
    assert [json.loads(one)["individual"] for one in row.events] == [ex("x"), ex("y")]


def test_what_is_not_read_is_seen_whatever_is_output(session: "SparkSession") -> None:
    facts = session.createDataFrame([("a", 5), (None, 6)], "x string, t long")
    found = reason("q(X) :- p(X).", {"p": facts}, late=True)
    assert found.columns == ["predicate", "args", "from", "until", "op", "watermark", "message"]
    assert sorted((row.op or "", row.message or "") for row in found.collect()) == [
        ("", ""),
        ("malformed", 'a fact has an empty cell: {"x": null, "t": 6}'),
    ]


def test_a_table_that_no_mapping_fits_is_refused_at_once(session: "SparkSession") -> None:
    with pytest.raises(RejectedError, match="no mapping fits"):
        reason(HOT, session.range(1), map=MAPPING)
