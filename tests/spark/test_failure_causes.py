"""What Spark says about a failure, in many lines, becomes the sentence that names its cause."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.runtimes.spark.run import failure
from thalweg.runtimes.spark.session import java_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def cause(error: Exception) -> str:
    text = failure(error).diagnostic.message
    assert text.startswith("the run failed in Spark: ")
    return text.removeprefix("the run failed in Spark: ")


def streamed(session: "SparkSession", folder: Path) -> "DataFrame":
    folder.mkdir()
    pq.write_table(pa.table({"x": [1, 2, 3]}), folder / "a.parquet")
    return session.readStream.schema("x long").parquet(str(folder))


def ended(frame: "DataFrame", checkpoint: Path, deliver: Any = None) -> str:
    writing = frame.writeStream.format("noop") if deliver is None else frame.writeStream.foreachBatch(deliver)
    with pytest.raises(java_errors()) as raised:
        writing.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start().awaitTermination()
    return cause(raised.value)


def test_a_worker_that_raises(session: "SparkSession", tmp_path: Path) -> None:
    def raising(batches: Iterable[Any]) -> Iterator[Any]:
        raise ValueError(f"{next(iter(batches)).num_rows} rows are too many")
        yield

    rows = streamed(session, tmp_path / "in").mapInArrow(raising, "x long")
    assert ended(rows, tmp_path / "state") == "ValueError: 3 rows are too many"


def test_a_worker_that_dies(session: "SparkSession", tmp_path: Path) -> None:
    def dying(batches: Iterable[Any]) -> Iterator[Any]:
        os._exit(9)
        yield

    rows = streamed(session, tmp_path / "in").mapInArrow(dying, "x long")
    assert "Python worker exited unexpectedly" in ended(rows, tmp_path / "state")


def test_a_sink_that_raises(session: "SparkSession", tmp_path: Path) -> None:
    def deliver(rows: "DataFrame", batch: int) -> None:
        raise OSError(f"batch {batch} cannot be delivered")

    assert (
        ended(streamed(session, tmp_path / "in"), tmp_path / "state", deliver) == "OSError: batch 0 cannot be delivered"
    )


def test_a_file_that_is_gone(session: "SparkSession", tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    rows = session.read.parquet(str(tmp_path))
    (tmp_path / "a.parquet").unlink()
    with pytest.raises(java_errors()) as raised:
        rows.collect()
    assert f"{tmp_path}/a.parquet does not exist" in cause(raised.value)


def test_a_checkpoint_that_cannot_be_written(session: "SparkSession", tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    said = ended(streamed(session, tmp_path / "in"), tmp_path / "file" / "state")
    assert str(tmp_path / "file") in said
    assert "\n" not in said


def test_a_diagnostic_of_a_worker(session: "SparkSession") -> None:
    from pyspark.sql import functions as F  # noqa: N812

    with pytest.raises(java_errors()) as raised:
        session.range(1).select(F.raise_error(F.lit("error[E408]: it belongs to another\n  help: name it"))).collect()
    assert cause(raised.value) == "error[E408]: it belongs to another"
