"""`reason(…, until="available")`: a job ends with all ticks closed that it has seen, and the next one goes on."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.diagnostics import RejectedError
from thalweg.spark import reason

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WINDOW = "q(X) :- p(X) in [2]."
# Two stages: the second reads what the first gives, by another key.
STAGES = "pair(X,Y) :- p(X), p(Y), X != Y. busy(N) :- N = count{X : pair(X,Y)}, N > 0. q(X) :- p(X), busy(N)."


def write(folder: Path, number: int, *facts: tuple[str, int]) -> None:
    folder.mkdir(exist_ok=True)
    file = folder / f"{number}.parquet"
    pq.write_table(pa.table({"x": [x for x, _ in facts], "t": [t for _, t in facts]}), file)
    os.utime(file, (1_000 + number, 1_000 + number))


def job(session: "SparkSession", folder: Path, program: str = WINDOW, **options: Any) -> list[tuple[Any, ...]]:
    """The answers of a job over what is in a folder, a file a batch."""
    facts = session.readStream.schema("x string, t long").option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    answers = reason(program, {"p": facts}, emit="changes", until="available", late=True, **options)
    rows: list[tuple[Any, ...]] = []
    writing = answers.writeStream.foreachBatch(lambda batch, _: rows.extend(map(_shown, batch.collect())))
    writing = writing.option("checkpointLocation", str(folder / "state"))
    writing.trigger(availableNow=True).start().awaitTermination()
    return sorted(rows)


def _shown(row: Any) -> tuple[Any, ...]:
    return row.t, row.op, f"{row.predicate}({','.join(row.args)})"


def test_the_ticks_of_a_job_are_closed_at_its_end(session: "SparkSession", tmp_path: Path) -> None:
    write(tmp_path / "in", 0, ("a", 1), ("b", 2))
    write(tmp_path / "in", 1, ("c", 3), ("b", 5))
    expected = [(1, "+", "q(a)"), (2, "+", "q(b)"), (3, "+", "q(c)"), (4, "-", "q(a)")]
    assert job(session, tmp_path, delay=3) == expected
    write(tmp_path / "in", 2, ("d", 4), ("e", 6))
    after = job(session, tmp_path, delay=3)
    assert (4, "late", "p(d)") in after
    assert (6, "+", "q(e)") in after
    assert (6, "-", "q(c)") in after
    assert job(session, tmp_path, delay=3) == []


@pytest.mark.parametrize("program", [pytest.param(WINDOW, marks=pytest.mark.slow), STAGES])
def test_many_jobs_answer_as_one_run(session: "SparkSession", tmp_path: Path, program: str) -> None:
    facts = [(name, tick) for tick in range(6) for name in "abc"[: 1 + tick % 3]]
    whole = session.createDataFrame(facts, "x string, t long")
    expected = [_shown(row) for row in reason(program, {"p": whole}, emit="changes", end=5).collect()]
    found: list[tuple[Any, ...]] = []
    for number in range(2):
        write(tmp_path / "in", number, *(fact for fact in facts if fact[1] // 3 == number))
        found += job(session, tmp_path, program)
    assert sorted(found) == sorted(expected)
    assert len(found) > 2


def test_a_table_that_lags_is_closed_too(session: "SparkSession", tmp_path: Path) -> None:
    write(tmp_path / "p", 0, ("a", 9))
    write(tmp_path / "q", 0, ("a", 2))
    tables = {name: session.readStream.schema("x string, t long").parquet(str(tmp_path / name)) for name in "pq"}
    answers = reason("r(X) :- p(X). r(X) :- q(X).", tables, until="available", of="r/1", emit="changes")
    rows: list[Any] = []
    writing = answers.writeStream.foreachBatch(lambda batch, _: rows.extend(map(tuple, batch.collect())))
    writing = writing.option("checkpointLocation", str(tmp_path / "state"))
    writing.trigger(availableNow=True).start().awaitTermination()
    assert sorted(rows) == [(2, "+", "a"), (3, "-", "a"), (9, "+", "a")]


def test_another_word_is_wrong_usage(session: "SparkSession") -> None:
    facts = session.createDataFrame([("a", 1)], "x string, t long")
    with pytest.raises(RejectedError, match="`until` cannot be `end`"):
        reason(WINDOW, {"p": facts}, until="end")  # type: ignore[arg-type]
    assert reason(WINDOW, {"p": facts}, until="available", of="q/1").count() == 1
