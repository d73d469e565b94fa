"""What a batch of Spark costs that brings one fact: the price of partitions, buckets and levels, beside an empty one.

Spark starts a task for each partition, and in it Python is asked for each bucket. An operator that does nothing, with
as many partitions and keys, is the least that a batch of that shape can cost; where rules have two levels, between
which Spark shuffles, two of them. Both are fed in turn.
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

_PROGRAMS: Final = {1: "q(X) :- p(X,_) in [2].", 2: "q(X,Y) :- p(X,Y) in [2]. r(Y) :- q(X,Y), q(Z,Y)."}
"""Rules by the number of their levels."""
_WARM_UP: Final = 2
_SCHEMA: Final = "x long, y long, t long"


@dataclass(frozen=True, slots=True)
class BatchCost:
    """CPU seconds of a batch with one fact, and of operators that do nothing with as many partitions and keys."""

    partitions: int
    buckets: int
    levels: int
    driver_s: float
    java_s: float
    workers_s: float
    batch_s: float
    empty_s: float
    of_empty: float


class EmptyProcessor(StatefulProcessor):
    """Takes rows, keeps a number, and gives nothing, or its key to the next one."""

    def __init__(self, passes: bool) -> None:
        self._passes = passes

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._count = handle.getValueState("count", "number long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        self._count.update((sum(1 for _ in rows),))
        return iter([Row(bucket=key[0])] if self._passes else [])

    def close(self) -> None:
        """Nothing is open."""


def batch_costs(
    session: "SparkSession", shapes: Iterable[tuple[int, int, int]], batches: int, folder: Path
) -> Iterator[BatchCost]:
    """The cost of a batch for each shape: numbers of partitions, buckets and levels."""
    for partitions, buckets, levels in shapes:
        session.conf.set("spark.sql.shuffle.partitions", partitions)
        inboxes = [folder / f"{partitions}-{buckets}-{levels}-{name}" for name in ("reason", "empty")]
        for inbox in inboxes:
            inbox.mkdir(parents=True)
        ours, empty = (
            _Fed(frame(session, inbox, buckets, levels), inbox)
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
        yield _cost((partitions, buckets, levels), pairs)


def _cost(shape: tuple[int, int, int], pairs: list[tuple[SparkCpu, SparkCpu]]) -> BatchCost:
    """The mean of all batches: where the collector of Java runs, one takes more and others less."""
    ours, empty = (
        SparkCpu(*np.mean([(cpu.driver, cpu.java, cpu.workers) for cpu in side], axis=0).tolist())
        for side in zip(*pairs, strict=True)
    )
    return BatchCost(*shape, ours.driver, ours.java, ours.workers, ours.total, empty.total, ours.total / empty.total)


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
        pq.write_table(pa.table({name: [self._next] for name in "xyt"}), draft)
        before = self._watch.look()
        draft.rename(self._inbox / f"{self._next}.parquet")
        self._next += 1
        self.query.processAllAvailable()
        # What a worker does behind the last row of a batch belongs to it.
        time.sleep(0.2)
        return self._watch.look() - before


def _rows(session: "SparkSession", inbox: Path) -> "DataFrame":
    return session.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(inbox))


def _answers(session: "SparkSession", inbox: Path, buckets: int, levels: int) -> "DataFrame":
    from thalweg.spark import reason

    return reason(_PROGRAMS[levels], {"p": _rows(session, inbox)}, emit="changes", buckets=buckets)


def _empty(session: "SparkSession", inbox: Path, keys: int, levels: int) -> "DataFrame":
    rows = _rows(session, inbox).selectExpr(f"explode(sequence(0, {keys - 1})) as bucket", "x")
    for level in range(levels, 0, -1):
        processor = EmptyProcessor(passes=level > 1)
        rows = rows.groupBy("bucket").transformWithState(processor, "bucket integer", "Append", "None")
    return rows
