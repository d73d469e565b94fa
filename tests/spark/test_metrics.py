"""What a query of answers shows of itself: its plan, counts in its progress, and what it sheds for want of memory."""

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark.processes import wait_until
from thalweg.diagnostics import RejectedError
from thalweg.spark import explain, reason

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BOTH = "both(X) :- p(X) in [5], q(X) in [5]."


def streaming(session: "SparkSession", folder: Path, *batches: list[tuple[str | None, int]]) -> "DataFrame":
    folder.mkdir()
    for number, batch in enumerate(batches):
        file = folder / f"{number}.parquet"
        columns = {"x": pa.array([x for x, _ in batch], pa.string()), "t": [t for _, t in batch]}
        pq.write_table(pa.table(columns), file)
        os.utime(file, (1_000 + number, 1_000 + number))
    return session.readStream.schema("x string, t long").option("maxFilesPerTrigger", 1).parquet(str(folder))


def test_the_progress_of_a_query_has_counts(
    session: "SparkSession", tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tables = {
        "p": streaming(session, tmp_path / "p", [("a", 1), (None, 2), ("b", 9)], [("late", 3), ("c", 20)]),
        "q": streaming(session, tmp_path / "q", [("a", 2), ("b", 9)], [("c", 30)]),
    }
    answers = reason(BOTH, tables, emit="changes", name="both")
    query = answers.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "state"))
    with caplog.at_level(logging.WARNING, "thalweg.spark"):
        started = query.trigger(availableNow=True).start()
        started.awaitTermination()
        wait_until(lambda: "the watermark was 9 (1 of `p`)" in caplog.text, f"not in the log: {caplog.messages}")
    counts = [progress.observedMetrics["both"].asDict() for progress in started.recentProgress]
    assert [(batch["decided"], batch["late"], batch["empty"]) for batch in counts] == [(8, 0, 1), (19, 1, 0)]
    assert sum(batch["answers"] for batch in counts) == 4
    assert [(batch["empty p"], batch["empty q"], batch["malformed p"]) for batch in counts] == [(1, 0, 0), (0, 0, 0)]
    assert [(batch["late p"], batch["late q"]) for batch in counts] == [(0, 0), (1, 0)]


def test_a_plan_shows_how_tables_are_split(session: "SparkSession") -> None:
    facts = session.createDataFrame([("a", 1)], "x string, t long")
    plan = explain(BOTH, {"p": facts, "q": facts}, partitions=3)
    assert "3 buckets" in plan.as_text()
    assert "rules  1 by X" in plan.as_text()
    assert plan.as_data()["stages"][0]["partitions"] == 3
    with pytest.raises(RejectedError, match="no rule reads `r/1`"):
        explain(BOTH, {"p": facts, "r": facts})


def test_a_plan_takes_what_is_stated_of_tables(session: "SparkSession") -> None:
    facts = session.createDataFrame([("a", 0, 1)], "x string, part int, t long")
    plan = explain(
        "q(X) :- p(X).", {"p": facts}, by="part", schema={"p": "x string, part int, t bigint"}, streaming=True
    )
    assert "8 buckets" in plan.as_text()
    assert plan.as_text() == explain("q(X) :- p(X).", {"p": facts.drop("part")}, buckets=8).as_text()
    with pytest.raises(RejectedError, match=r"E403\]: `buckets` is a number from 1 on, and not 0"):
        explain("q(X) :- p(X).", {"p": facts.drop("part")}, buckets=0)
    with pytest.raises(RejectedError, match="no table has the column `place`"):
        explain("q(X) :- p(X).", {"p": facts}, by="place")
    with pytest.raises(RejectedError, match="there is no schema for the table `p`"):
        explain("q(X) :- p(X).", {"p": facts}, schema={})


def test_tables_have_their_names_in_the_plan_of_spark(
    session: "SparkSession", capsys: pytest.CaptureFixture[str]
) -> None:
    facts = session.createDataFrame([("a", 1)], "x string, t long")
    reason(BOTH, {"p": facts, "q": facts}).explain()
    shown = capsys.readouterr().out
    assert "facts of p" in shown
    assert "facts of q" in shown


def test_facts_are_shed_for_want_of_memory(session: "SparkSession", caplog: pytest.LogCaptureFixture) -> None:
    facts = session.createDataFrame([(f"x{number}", number // 100) for number in range(20_000)], "x string, t long")
    with caplog.at_level(logging.WARNING, "thalweg.spark"):
        found = reason("q(X) :- p(X) in [1000].", {"p": facts}, memory="300K", emit="changes", of="q/1")
        unknown = found.where("op = '?'").count()
        wait_until(lambda: "W414" in caplog.text, f"nothing is said: {caplog.messages}", patience=60)
    assert unknown > 0
    assert "facts of `p/1` were shed" in caplog.text
    with pytest.raises(RejectedError, match="E403"):
        reason("q(X) :- p(X).", {"p": facts}, memory="much")
