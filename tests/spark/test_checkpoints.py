"""A query of answers is refused at its start where the checkpoint belongs to another program, or is not seen by all."""

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.diagnostics import RejectedError
from thalweg.runtimes.spark import visible_checkpoint
from thalweg.spark import reason

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PROGRAM = "q(X) :- p(X) in [2]."


def write(folder: Path, *ticks: int) -> None:
    """A file for each tick; Spark takes them by their age."""
    folder.mkdir(exist_ok=True)
    for tick in ticks:
        pq.write_table(pa.table({"x": ["a"], "t": [tick]}), folder / f"{tick}.parquet")
        os.utime(folder / f"{tick}.parquet", (1_000 + tick, 1_000 + tick))


def streaming(session: "SparkSession", folder: Path) -> "DataFrame":
    return session.readStream.schema("x string, t long").parquet(str(folder))


def answered(answers: "DataFrame", state: Path) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    writing = answers.writeStream.foreachBatch(lambda batch, _: rows.extend(map(tuple, batch.collect())))
    writing.trigger(availableNow=True).start(checkpointLocation=str(state)).awaitTermination()
    return sorted(rows, key=str)


@pytest.fixture(scope="module")
def used(session: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of the program, with two partitions; what is refused leaves it as it is."""
    folder = tmp_path_factory.mktemp("used")
    write(folder / "in", 1, 9)
    answers = reason(PROGRAM, {"p": streaming(session, folder / "in")}, emit="changes")
    assert answered(answers, folder / "state") == [(1, "+", "q", ["a"]), (4, "-", "q", ["a"])]
    return folder / "state"


@pytest.mark.parametrize(
    ("program", "options", "change"),
    [
        ("q(X) :- p(X) in [3].", {}, "belongs to another program"),
        ("q(X) :- p(X) in [2]. r(X) :- q(X), not p(X).", {}, "belongs to another program"),
        (PROGRAM, {"buckets": 4}, "belongs to a query with `buckets=8`, not 4"),
        (PROGRAM, {"delay": 5}, "belongs to a query with `delay=0`, not 5"),
        (PROGRAM, {"emit": "snapshot"}, "belongs to a query with `emit='changes'`, not 'snapshot'"),
    ],
)
def test_what_has_changed_is_said_at_the_start(
    session: "SparkSession", used: Path, program: str, options: dict[str, Any], change: str
) -> None:
    answers = reason(program, {"p": streaming(session, used.parent / "in")}, **{"emit": "changes", **options})
    with pytest.raises(RejectedError, match=rf"E408\]: the checkpoint `{used}` {change}\n  help: "):
        answers.writeStream.format("noop").option("checkpointLocation", str(used)).start()
    with pytest.raises(RejectedError, match=change):
        answers.writeStream.options(checkpointLocation=str(used)).toTable("never_made")


def test_a_query_of_what_was_made_from_answers_is_refused_before_there_is_data(
    session: "SparkSession", used: Path
) -> None:
    answers = reason("q(X) :- p(X) in [3].", {"p": streaming(session, used.parent / "in")}, emit="changes")
    query = answers.select("predicate").writeStream.format("noop").option("checkpointLocation", str(used)).start()
    with pytest.raises(Exception, match=r"error\[E408\]: the checkpoint belongs to another program") as raised:
        query.awaitTermination()
    assert "Traceback" not in str(raised.value)


def test_the_same_program_goes_on_with_other_columns(session: "SparkSession", used: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(used, tmp_path / "state")
    write(used.parent / "in", 20)
    answers = reason(PROGRAM, {"p": streaming(session, used.parent / "in")}, emit="changes", of="q/1")
    assert answered(answers, copy) == [(12, "-", "a"), (9, "+", "a")]


def test_the_place_may_be_a_setting_of_the_session(session: "SparkSession", used: Path) -> None:
    answers = reason("r(X) :- p(X).", {"p": streaming(session, used.parent / "in")})
    session.conf.set("spark.sql.streaming.checkpointLocation", str(used.parent))
    try:
        with pytest.raises(RejectedError, match="belongs to another program"):
            answers.writeStream.format("noop").queryName("state").start()
    finally:
        session.conf.unset("spark.sql.streaming.checkpointLocation")


def test_nothing_is_left_of_the_proof_that_a_checkpoint_is_seen(
    session: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visible_checkpoint, "is_local", lambda master: False)
    visible_checkpoint.check_visible(session, str(tmp_path / "state"), 2)
    # The executors have made the folder of the checkpoint, and that is all.
    assert [*tmp_path.rglob("*")] == [tmp_path / "state"]
