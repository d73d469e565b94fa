"""`reason(…, by="partition")`: partitions of a topic that are read at unlike speed make nothing late."""

import json
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

RULES = "both(N) :- left(N) in [1], right(N) in [1]."
MAPPINGS = ("left(l) at ts", "right(r) at ts")


def write(folder: Path, number: int, messages: list[tuple[int, dict[str, Any]]]) -> None:
    """A batch of messages, each with its partition."""
    folder.mkdir(exist_ok=True)
    file = folder / f"{number}.parquet"
    values = [json.dumps(message).encode() for _, message in messages]
    pq.write_table(pa.table({"value": values, "partition": pa.array([key for key, _ in messages], pa.int32())}), file)
    os.utime(file, (1_000 + number, 1_000 + number))


def answered(session: "SparkSession", folder: Path, **options: Any) -> tuple[set[str], int]:
    """The facts of all batches, and how many were late."""
    schema = "value binary, partition int"
    messages = session.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    answers = reason(RULES, messages, map=MAPPINGS, emit="changes", late=True, until="available", **options)
    rows: list[Any] = []
    writing = answers.writeStream.foreachBatch(lambda batch, _: rows.extend(batch.collect()))
    writing = writing.option("checkpointLocation", str(folder / f"state{len(options)}"))
    writing.trigger(availableNow=True).start().awaitTermination()
    return {row.args[0] for row in rows if row.op == "+"}, sum(row.op == "late" for row in rows)


@pytest.mark.slow
def test_a_partition_that_is_read_faster_makes_no_other_late(session: "SparkSession", tmp_path: Path) -> None:
    left = [(0, {"l": number, "ts": 1_000 + number}) for number in range(30)]
    right = [(1, {"r": number, "ts": 1_000 + number}) for number in range(30)]
    write(tmp_path / "in", 0, left + right[:3])
    write(tmp_path / "in", 1, right[3:20])
    write(tmp_path / "in", 2, right[20:])
    facts, late = answered(session, tmp_path)
    assert late > 0
    assert len(facts) < 30
    assert answered(session, tmp_path, by="partition") == ({str(number) for number in range(30)}, 0)


def test_a_column_that_no_table_has_is_refused(session: "SparkSession") -> None:
    table = session.createDataFrame([("a", 1)], "x string, t long")
    with pytest.raises(RejectedError, match=r"E402.*no table has the column `partition`"):
        reason("q(X) :- p(X).", {"p": table}, by="partition")
