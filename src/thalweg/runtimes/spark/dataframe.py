"""A DataFrame of facts in, a DataFrame of answers out: fragments chained in one query, streaming or batch."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from pyspark import TaskContext
from pyspark.sql.types import StructField, StructType

from thalweg.model.time import Clock
from thalweg.runtimes.spark.bucket_answers import ANSWER_SCHEMA
from thalweg.runtimes.spark.columns import Shape, WrongRow, in_groups, read_rows
from thalweg.runtimes.spark.ddl import struct_of
from thalweg.runtimes.spark.ingest import CodedFacts
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.pack import Packer
from thalweg.runtimes.spark.processor import PARCELS, SLACK_DAYS, LastProcessor, LevelProcessor
from thalweg.runtimes.spark.shipped_job import ShippedJob
from thalweg.runtimes.spark.wire import CAME, EMPTY, MALFORMED, OUT, Parcel, parcels_batch, wrap

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROWS_A_PARCEL: Final = 200_000
ANSWER_ROWS: Final = struct_of(ANSWER_SCHEMA)


def pack_table(
    shipped: ShippedJob, shape: Shape, facts: "DataFrame", group: int, *, all_wrong: bool, name: str = ""
) -> "DataFrame":
    """The parcels of a table of facts, which is a group of streams by itself, or several; plans show its `name`.

    Rows that hold no fact travel in the same pass: all of them with `all_wrong`, else their number and the first one.
    """

    def pack(batches: Iterable[Any]) -> Iterator[Any]:
        job = shipped.job
        packers: dict[int, tuple[Packer, Clock]] = {}
        for chunk in gathered(named(batches, shape.wanted)):
            for number, part in in_groups(chunk, shape):
                if number not in packers:
                    packers[number] = _packer(job, group + number), shape.clock()
                packer, clock = packers[number]
                facts, wrong = _read(part, shape, packer, clock)
                parcels = [*packer.pack_unordered(facts), *_about_rows(part, wrong, job, all_wrong, name)]
                if shape.brings is None:
                    parcels.append(_came(facts, job))
                yield parcels_batch(job.labelled(parcels))

    pack.__name__ = f"facts of {name}" if name else "facts"
    # Spark takes a point in the name of a column for a field of a struct, also inside `mapInArrow`.
    columns = [facts[quoted(name)].alias(f"c{number}") for number, name in enumerate(shape.wanted)]
    types = [StructField(f"c{number}", facts.schema[name].dataType) for number, name in enumerate(shape.wanted)]
    # Spark Connect would ask for columns that are known here, and in a declarative pipeline it must not.
    return facts.select(*columns).to(StructType(types)).mapInArrow(pack, PARCELS)


def named(batches: Iterable[Any], names: Sequence[str]) -> Iterator[Any]:
    """Record batches with the names that the columns of their table have."""
    import pyarrow as pa

    return (pa.RecordBatch.from_arrays(batch.columns, names=[*names]) for batch in batches)


def pack_clock(shipped: ShippedJob, session: "SparkSession") -> "DataFrame":
    """The parcels of a clock: a row a second, whose time is in the log of the query, so that it is repeatable."""

    def pack(batches: Iterable[Any]) -> Iterator[Any]:
        job = shipped.job
        for batch in batches:
            if batch.num_rows:
                yield parcels_batch(job.labelled(pack_clock_row(job, int(batch.column(0).to_numpy().max()))))

    rate = session.readStream.format("rate").option("rowsPerSecond", 1).option("numPartitions", 1).load()
    return rate.selectExpr("unix_millis(timestamp)").mapInArrow(pack, PARCELS)


def pack_clock_row(job: Job, milliseconds: int) -> Iterator[Parcel]:
    """The parcels of a row of the clock; they come with those of the first group."""
    return _packer(job, 0).pack_clock(milliseconds)


def quoted(name: str) -> str:
    """The name of a column as Spark reads it, also with a point in it.

    >>> quoted("a.b")
    '`a.b`'
    """
    return f"`{name.replace('`', '``')}`"


def _packer(job: Job, group: int) -> Packer:
    context = TaskContext.get()
    return Packer(job, group, (context.partitionId() if context else 0,))


Wrong = tuple[int, WrongRow]
"""A row that holds no fact, and which of some record batches it is in."""


def _read(batches: list[Any], shape: Shape, packer: Packer, clock: Clock) -> tuple[list[CodedFacts], list[Wrong]]:
    facts: list[CodedFacts] = []
    wrong: list[Wrong] = []
    start = 0
    for number, batch in enumerate(batches):
        for item in read_rows(batch, shape, packer.words, clock, start):
            if isinstance(item, CodedFacts):
                facts.append(item)
            else:
                wrong.append((number, item))
        start += batch.num_rows
    return facts, wrong


def _about_rows(batches: list[Any], wrong: list[Wrong], job: Job, all_wrong: bool, table: str) -> Iterator[Parcel]:
    """Parcels that report what is wrong with rows of a table; `counts` is how many rows a text stands for."""
    for kind in (MALFORMED, EMPTY):
        rows = [(number, wrong_row) for number, wrong_row in wrong if wrong_row.is_empty == (kind == EMPTY)]
        if rows:
            shown = rows if all_wrong else rows[:1]
            counts = [1] * len(shown) if all_wrong else [len(rows)]
            texts = [f"{wrong_row.message}: {_row_text(batches[number], wrong_row.row)}" for number, wrong_row in shown]
            lists = {"counts": np.array(counts, dtype=np.int64), "texts": texts}
            yield wrap(OUT, job.buckets(0)[0], {"kind": kind, "stream": table}, lists)


def _row_text(batch: Any, row: int) -> str:
    return json.dumps(batch.slice(row, 1).to_pylist()[0], default=str, ensure_ascii=False)


def _came(facts: list[CodedFacts], job: Job) -> Parcel:
    counts: dict[str, int] = {}
    for arrivals in facts:
        counts[arrivals.signature] = counts.get(arrivals.signature, 0) + len(arrivals.ticks)
    lists = {"counts": np.array([*counts.values()], dtype=np.int64), "texts": [*counts]}
    return wrap(OUT, job.buckets(0)[0], {"kind": CAME}, lists)


def gathered(batches: Iterable[Any]) -> Iterator[list[Any]]:
    """Record batches in groups that are worth a parcel; none at all is a group too, because all must hear of it."""
    chunk: list[Any] = []
    rows = 0
    for batch in batches:
        chunk.append(batch)
        rows += batch.num_rows
        if rows >= _ROWS_A_PARCEL:
            yield chunk
            chunk, rows = [], 0
    if chunk or not rows:
        yield chunk


def chain(shipped: ShippedJob, parcels: "DataFrame") -> "DataFrame":
    """The fragments, level by level, and their answers."""
    job = shipped.job
    *before, last = ([fragment.number for fragment in level] for level in job.levels)
    mode = "None"
    if job.bounded:
        # Partitions that are asked for by number are not put together by adaptive execution.
        parcels = parcels.repartition(job.width, "bucket")
    if job.closes:
        parcels, mode = _timed(parcels), "EventTime"
    for level in before:
        parcels = (
            parcels.groupBy("bucket")
            .transformWithState(
                statefulProcessor=LevelProcessor(shipped, level),
                outputStructType=PARCELS,
                outputMode="Append",
                timeMode=mode,
            )
            .to(PARCELS)
        )
        mode = "None"
    return (
        parcels.groupBy("bucket")
        .transformWithStateInPandas(
            statefulProcessor=LastProcessor(shipped, last),
            outputStructType=ANSWER_ROWS,
            outputMode="Append",
            timeMode=mode,
        )
        .to(ANSWER_ROWS)
    )


def _timed(parcels: "DataFrame") -> "DataFrame":
    """Parcels with the time of their batch; while it goes on, Spark runs a batch without data after the last one."""
    from pyspark.sql import functions as F  # noqa: N812

    timed = parcels.withColumn("moment", F.current_timestamp()).withWatermark("moment", f"{SLACK_DAYS} days")
    return timed.withColumn("now", F.unix_millis("moment"))
