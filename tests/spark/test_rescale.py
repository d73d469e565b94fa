"""A run goes on with more partitions, or with fewer, and answers as if nothing had changed."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark.city import (
    CASCADE,
    CHECKPOINT,
    PROGRAM,
    assert_same,
    batches,
    cut_events,
    run_words,
    spark_line,
    spark_words,
    write_city,
)
from spark.commands import run as run_here
from spark.processes import started, wait_until
from thalweg.diagnostics import RejectedError
from thalweg.runtimes.spark import partition_count
from thalweg.runtimes.spark.offset_log import last_batch
from thalweg.runtimes.spark.session_settings import SHUFFLE_PARTITIONS
from thalweg.spark import reason

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[2]"


def has_run(folder: Path, partitions: int) -> bool:
    """Whether a batch of so many partitions is delivered."""
    last, offsets = last_batch(folder / CHECKPOINT), folder / CHECKPOINT / "spark/offsets"
    if last is None or last.partitions != partitions:
        return False
    # The batch that moves the state delivers nothing.
    return batches(folder) > max(int(file.name) for file in offsets.glob("[0-9]*")) - 1 and not last.moves


@pytest.mark.slow
@pytest.mark.parametrize(("program", "ticks"), [(PROGRAM, 450), (CASCADE, 450)], ids=["rules", "cascade"])
def test_killed_and_resumed_with_other_partitions(
    session: "SparkSession", tmp_path: Path, program: str, ticks: int
) -> None:
    """What is killed is a process; the last run needs none of its own."""
    write_city(tmp_path, ticks, program)
    if program == CASCADE:
        cut_events(tmp_path / "readings.nq")
    run_here(*run_words(tmp_path, "embedded"))
    said, checkpoint = tmp_path / "said.txt", tmp_path / CHECKPOINT
    # The folder is named by a URI only.
    place = "--checkpoint", checkpoint.as_uri(), "--partitions"
    for partitions in (2, 4):
        line = spark_line(tmp_path, LOCAL, *place, str(partitions), waiting=1)
        with started(line, said) as family:
            wait_until(lambda: has_run(tmp_path, partitions) or family.ended, "no batch is delivered")  # noqa: B023
            family.kill_group()
            assert family.wait() != 0, said.read_text()
    run_here(*spark_words(tmp_path, LOCAL, *place, "1"))
    assert has_run(tmp_path, 1)
    assert json.loads((checkpoint / "program.json").read_text())["options"]["buckets"] == 8
    assert_same(tmp_path)


def write(folder: Path, *ticks: int) -> None:
    """A file for each tick, with twenty keys; Spark takes them by their age."""
    folder.mkdir(exist_ok=True)
    for tick in ticks:
        pq.write_table(pa.table({"x": [f"k{key}" for key in range(20)], "t": [tick] * 20}), folder / f"{tick}.parquet")
        os.utime(folder / f"{tick}.parquet", (1_000 + tick, 1_000 + tick))


def answered(session: "SparkSession", folder: Path, partitions: int, stated: bool = True) -> list[tuple[Any, ...]]:
    """What a query answers over the files of a folder that it has not read, with so many partitions."""
    stream = session.readStream.schema("x string, t long").parquet(str(folder / "in"))
    count = partitions if stated else None
    answers = reason("q(X) :- p(X) in [2].", {"p": stream}, emit="changes", of="q/1", partitions=count)
    rows: list[tuple[Any, ...]] = []
    writing = answers.writeStream.foreachBatch(lambda batch, _: rows.extend(map(tuple, batch.collect())))
    query = writing.trigger(availableNow=True).start(checkpointLocation=str(folder / "state"))
    query.awaitTermination()
    assert query.lastProgress is not None
    assert {operator["numShufflePartitions"] for operator in query.lastProgress["stateOperators"]} == {partitions}
    return sorted(rows)


def test_a_query_goes_on_with_other_partitions(session: "SparkSession", tmp_path: Path) -> None:
    keys = sorted(f"k{key}" for key in range(20))
    usual = partition_count.session_partitions(session)
    write(tmp_path / "in", 1, 9)
    assert answered(session, tmp_path, 2) == [(tick, op, key) for tick, op in ((1, "+"), (4, "-")) for key in keys]
    write(tmp_path / "in", 20)
    assert answered(session, tmp_path, 4) == [(tick, op, key) for tick, op in ((9, "+"), (12, "-")) for key in keys]
    write(tmp_path / "in", 30)
    assert answered(session, tmp_path, 1) == [(tick, op, key) for tick, op in ((20, "+"), (23, "-")) for key in keys]
    assert partition_count.session_partitions(session) == usual


def test_a_query_has_a_partition_for_each_core_where_nothing_is_set(session: "SparkSession", tmp_path: Path) -> None:
    usual = session.conf.get(SHUFFLE_PARTITIONS)
    session.conf.unset(SHUFFLE_PARTITIONS)
    try:
        write(tmp_path / "in", 1, 9)
        # The session is `local[2]`.
        assert len(answered(session, tmp_path, 2, stated=False)) == 40
        assert SHUFFLE_PARTITIONS not in session.conf.getAll
    finally:
        session.conf.set(SHUFFLE_PARTITIONS, usual)


def test_a_batch_that_is_not_complete_comes_first(session: "SparkSession", tmp_path: Path) -> None:
    write(tmp_path / "in", 1, 9)
    answered(session, tmp_path, 2)
    for file in (tmp_path / "state/commits").iterdir():
        file.unlink()
    with pytest.raises(RejectedError, match=r"E408\]: the last batch .* from 2 to 4 partitions\n  help: .*=2"):
        answered(session, tmp_path, 4)


def test_a_spark_that_cannot_move_a_checkpoint(session: "SparkSession", tmp_path: Path) -> None:
    last = partition_count.LastBatch(2, is_complete=True)
    with pytest.raises(RejectedError, match=r"E408\]: .* has 2 partitions, and cannot be moved to 4 here"):
        partition_count.move(object(), str(tmp_path), last, 4)  # type: ignore[arg-type]
