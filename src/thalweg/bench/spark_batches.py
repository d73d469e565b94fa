"""What a batch of Spark costs that brings one fact: the price of partitions and buckets, beside an empty operator.

Spark starts a task for each partition, and in it Python is asked for each bucket. An operator that does nothing, with
as many partitions and keys, is the least that a batch of that shape can cost. Both are fed in turn.
"""

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from thalweg.bench.spark_processes import CpuWatch, SparkCpu

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_PROGRAM: Final = "q(X) :- p(X) in [2]."
_WARM_UP: Final = 2
_SCHEMA: Final = "x long, t long"


@dataclass(frozen=True, slots=True)
class BatchCost:
    """CPU seconds of a batch with one fact, and of an operator that does nothing with as many partitions and keys."""

    partitions: int
    buckets: int
    driver_s: float
    java_s: float
    workers_s: float
    batch_s: float
    empty_s: float
    of_empty: float


class EmptyProcessor(StatefulProcessor):
    """Takes rows, keeps a number, and gives nothing."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._count = handle.getValueState("count", "number long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        self._count.update((sum(1 for _ in rows),))
        return iter(())

    def close(self) -> None:
        """Nothing is open."""


def batch_costs(
    session: "SparkSession", shapes: Iterable[tuple[int, int]], batches: int, folder: Path
) -> Iterator[BatchCost]:
    """The cost of a batch for each shape, a number of partitions and one of buckets."""
    for partitions, buckets in shapes:
        session.conf.set("spark.sql.shuffle.partitions", partitions)
        inboxes = [folder / f"{partitions}-{buckets}-{name}" for name in ("reason", "empty")]
        for inbox in inboxes:
            inbox.mkdir(parents=True)
        ours, empty = (
            _Fed(frame(session, inbox, buckets), inbox)
            for frame, inbox in zip((_answers, _empty), inboxes, strict=True)
        )
        try:
            for _ in range(_WARM_UP):
                ours.batch()
                empty.batch()
            pairs = [(ours.batch(), empty.batch()) for _ in range(batches)]
        finally:
            ours.query.stop()
            empty.query.stop()
        yield _cost(partitions, buckets, pairs)


def _cost(partitions: int, buckets: int, pairs: list[tuple[SparkCpu, SparkCpu]]) -> BatchCost:
    """The mean of all batches: where the collector of Java runs, one takes more and others less."""
    ours, empty = (
        SparkCpu(*np.mean([(cpu.driver, cpu.java, cpu.workers) for cpu in side], axis=0).tolist())
        for side in zip(*pairs, strict=True)
    )
    return BatchCost(
        partitions, buckets, ours.driver, ours.java, ours.workers, ours.total, empty.total, ours.total / empty.total
    )


class _Fed:
    """A query that gets a file with one row at a time."""

    def __init__(self, answers: "DataFrame", inbox: Path) -> None:
        self._inbox, self._next = inbox, 0
        self._watch = CpuWatch(os.getpid())
        checkpoint = inbox.with_name(f"{inbox.name}-checkpoint")
        self.query: StreamingQuery = (
            answers.writeStream.format("noop").option("checkpointLocation", str(checkpoint)).start()
        )

    def batch(self) -> SparkCpu:
        """What the next batch takes."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        draft = self._inbox / f"_{self._next}"
        pq.write_table(pa.table({"x": [self._next], "t": [self._next]}), draft)
        before = self._watch.look()
        draft.rename(self._inbox / f"{self._next}.parquet")
        self._next += 1
        self.query.processAllAvailable()
        # What a worker does behind the last row of a batch belongs to it.
        time.sleep(0.2)
        return self._watch.look() - before


def _rows(session: "SparkSession", inbox: Path) -> "DataFrame":
    return session.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(inbox))


def _answers(session: "SparkSession", inbox: Path, buckets: int) -> "DataFrame":
    from thalweg.spark import reason

    return reason(_PROGRAM, {"p": _rows(session, inbox)}, emit="changes", buckets=buckets)


def _empty(session: "SparkSession", inbox: Path, keys: int) -> "DataFrame":
    rows = _rows(session, inbox).selectExpr(f"explode(sequence(0, {keys - 1})) as bucket", "x")
    return rows.groupBy("bucket").transformWithState(EmptyProcessor(), "x long", "Append", "None")
