"""`thalweg.spark.reason` inside somebody's own job: any table of facts in, a table of answers out."""

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.diagnostics import RejectedError
from thalweg.spark import reason

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MEET = "meet(A,C) :- p(A,B) in [5], p(B,C) in [5]."
CITY = "@prefix c: <http://city.org/> . c:jam(R) :- c:slow(R,S) in [3], not c:closed(R)."


def rows(answers: "DataFrame") -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in answers.collect())


def test_the_columns_are_the_arguments_of_a_predicate(session: "SparkSession") -> None:
    facts = session.createDataFrame([(1, 2, 1), (2, 3, 2)], "one int, other long, t int")
    found = rows(reason(MEET, facts, predicate="p", last=9))
    assert found == [(2, "begin", "meet(1,3)"), (7, "end", "meet(1,3)")]


def test_facts_are_text_and_streams_have_names(session: "SparkSession") -> None:
    values = [("p(a,b)", 1, "x"), ("p(b,c)", 2, "y"), ('p(b,"d e")', 2, "x"), ("q", 3, None)]
    facts = session.createDataFrame(values, "fact string, t long, stream string")
    program = "meet(A,C) :- p(A,B) from x in [5], p(B,C) from x in [5]."
    assert rows(reason(program, facts)) == [(2, "begin", 'meet(a,"d e")')]


def test_triples_and_timestamps(session: "SparkSession") -> None:
    city = "<http://city.org/{}>".format
    values = [(city("main"), city("slow"), city("s1"), datetime(1970, 1, 1, 0, 7, 30))]
    values += [
        (city("main"), "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", city("closed"), datetime(1970, 1, 1, 0, 9))
    ]
    facts = session.createDataFrame(values, "s string, p string, o string, t timestamp")
    found = rows(reason(CITY, facts, tick="1 min", last=12))
    jam = f"{city('jam')}({city('main')})"
    assert found == [(7, "begin", jam), (9, "end", jam), (10, "begin", jam), (11, "end", jam)]


def test_the_three_ways_to_see_the_output(session: "SparkSession") -> None:
    facts = session.createDataFrame([("a", 1), ("b", 2)], "x string, t long")
    program = "q(X) :- p(X) in [1]."
    intervals = reason(program, facts, predicate="p", emit="intervals")
    snapshots = reason(program, facts, predicate="p", emit="snapshot", last=3)
    assert (intervals.columns, snapshots.columns) == (["fact", "from", "until"], ["t", "fact"])
    assert rows(intervals) == [("q(a)", 1, None), ("q(b)", 2, None)]
    assert rows(snapshots) == [(1, "q(a)"), (2, "q(a)"), (2, "q(b)"), (3, "q(b)")]


def test_a_stream_is_answered_up_to_its_watermark_and_late_facts_are_told(
    session: "SparkSession", tmp_path: Path
) -> None:
    write(tmp_path, [("a", 5), ("b", 9)], [("c", 6), ("d", 7), ("e", 11)])
    facts = session.readStream.schema("x string, t long").option("maxFilesPerTrigger", 1)
    answers = reason("q(X) :- p(X).", facts.parquet(f"{tmp_path}/*.parquet"), predicate="p", delay=2, late=True)
    found: list[tuple[Any, ...]] = []
    writing = answers.writeStream.foreachBatch(lambda some, number: found.extend((number, *row) for row in rows(some)))
    writing = writing.option("checkpointLocation", str(tmp_path / "state"))
    writing.trigger(availableNow=True).start().awaitTermination()
    assert found == [
        (0, 5, "begin", "q(a)", None),
        (0, 6, "end", "q(a)", None),
        (1, 6, "late", "p(c)", 7),
        (1, 7, "begin", "q(d)", None),
        (1, 8, "end", "q(d)", None),
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
        reason("q(Y) :- p(X).", session.range(1).selectExpr("id as x", "id as t"), predicate="p")
