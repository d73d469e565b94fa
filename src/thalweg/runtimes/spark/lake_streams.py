"""Topics of Kafka and tables of a lake as streams of parcels: Spark reads them, and tasks make facts of their rows.

    readStream ──rows──▶ mapInArrow: one block a task and group ──reader──▶ parcels for buckets, a digest for the driver

The messages of a topic are joined to blocks and read as embedded runs read them, and rows of tables as those of
Parquet are. Between the blocks of a batch there is no order: a fact is late by what earlier batches have brought. Which
rows a batch has is in Spark's own checkpoint, so one that is tried again gives the same parcels.
"""

import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pyspark import TaskContext

from thalweg.connectors.broker import OPENING, as_lines
from thalweg.connectors.lake import KAFKA, TABLE, LakeStream
from thalweg.connectors.mapping.tally import Tally
from thalweg.connectors.readers import Reader, open_ordered
from thalweg.connectors.tabular import COLUMNS, empty_batches, has_times, pack
from thalweg.diagnostics import Diagnostic, FailedError, RejectedError
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import Clock
from thalweg.runtimes.plausible_times import Far, PlausibleTimes, Timed
from thalweg.runtimes.spark.columns import Shape, in_groups, in_utc
from thalweg.runtimes.spark.dataframe import gathered, named, quoted
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.lake_sources import LakeSource
from thalweg.runtimes.spark.processor import PARCELS
from thalweg.runtimes.spark.read_block import BlockTask, packed
from thalweg.runtimes.spark.shipped_job import ShippedJob
from thalweg.runtimes.spark.table_names import known_table
from thalweg.runtimes.spark.wire import parcels_batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VALUE, PARTITION, OFFSET, WRITTEN = "value", "partition", "offset", "written"
"""The columns of a topic: messages, where they are, and when they were written, in milliseconds."""
# How much of a backlog a batch takes.
_LIMITS: Final = {
    KAFKA: {"maxOffsetsPerTrigger": "1000000"},
    "delta": {"maxBytesPerTrigger": "128m"},
    "iceberg": {"streaming-max-rows-per-micro-batch": "1000000"},
    TABLE: {},
}


def read_lake(session: "SparkSession", shipped: ShippedJob, source: LakeSource) -> "DataFrame":
    """The parcels of a stream; `RejectedError` where the columns of a table are not those of facts."""
    stream = source.stream
    rows = _rows(session, source)
    shape = Shape(None, tuple(rows.columns), False, 0, by=stream.by)

    def pack_rows(batches: Iterable[Any]) -> Iterator[Any]:
        job, context = shipped.job, TaskContext.get()
        task = context.partitionId() if context else 0
        for number, chunk in enumerate(gathered(named(batches, shape.columns))):
            for group, block in in_groups(chunk, shape):
                place = (_place(block) if source.is_topic else None) or (task, number)
                at = (source.groups.start + group, *place)
                for parcels in packed(job, partial(LakeBlock, job, source, at, block)):
                    yield parcels_batch(job.labelled(parcels))

    pack_rows.__name__ = f"facts of {stream.stream}"
    return rows.mapInArrow(pack_rows, PARCELS)


def _place(block: Sequence[Any]) -> tuple[int, int] | None:
    """The partition and the offset of the first message: they decide about the order, not which task has a message."""
    for batch in block:
        if batch.num_rows:
            return int(batch.column(PARTITION)[0].as_py()), int(batch.column(OFFSET)[0].as_py())
    return None


def _rows(session: "SparkSession", source: LakeSource) -> "DataFrame":
    stream = source.stream
    if source.is_topic:
        _check_brokers(stream)
        topic = session.readStream.format(KAFKA).options(**_topic_options(stream)).load()
        return topic.selectExpr(VALUE, PARTITION, OFFSET, f"unix_millis(timestamp) AS {WRITTEN}")
    reader = session.readStream.options(**_LIMITS[stream.format])
    with known_table(session, stream.place):
        place = stream.place
        table = reader.table(place) if stream.format == TABLE else reader.format(stream.format).load(place)
    chosen = table.select(*(quoted(name) for name in _wanted(table.columns, source)))
    _check_columns(chosen, source)
    return chosen


def _topic_options(stream: LakeStream) -> dict[str, str]:
    """How Spark reads a topic; the group has a name only, because offsets are in the checkpoint."""
    group = {} if stream.group is None else {"kafka.group.id": stream.group}
    return {
        "kafka.bootstrap.servers": stream.place,
        "subscribe": stream.topic,
        "startingOffsets": "latest" if stream.from_now else "earliest",
        **_LIMITS[KAFKA],
        **group,
    }


def _check_brokers(stream: LakeStream) -> None:
    """`FailedError` where no broker answers: Spark would try for minutes."""
    for address in stream.place.split(","):
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=OPENING).close()
        except OSError as error:
            reason = error.strerror or "the broker does not answer"
            continue
        return
    raise FailedError(Diagnostic("E404", f"no connection to `{stream.name}`: {reason}"))


def _wanted(names: Sequence[str], source: LakeSource) -> list[str]:
    """The columns that matter: those that mappings name, or that state facts; else all, for what is said of them."""
    wanted = source.reading.tally().columns
    columns = [name for name in names if name in COLUMNS or name in wanted]
    columns = columns if has_times(columns) or any(name in wanted for name in columns) else [*names]
    by = source.stream.by
    if by is not None and by not in names:
        message = f"the table has no column `{by}`, which `by` names in `{source.stream.name}`"
        raise RejectedError([Diagnostic("E402", message, help=f"its columns are {', '.join(names)}")])
    return columns if by is None or by in columns else [*columns, by]


def _check_columns(rows: "DataFrame", source: LakeSource) -> None:
    """`RejectedError` where no mapping fits the columns of a table, with one that does."""
    from pyspark.sql.pandas.types import to_arrow_schema

    reading = source.reading
    reader = _reader(source, Dictionary(), reading.own_clock(), reading.tally())
    wrong = [
        item
        for batch in empty_batches(to_arrow_schema(rows.schema))
        for item in reader.feed(pack(batch))
        if isinstance(item, Diagnostic)
    ]
    if wrong:
        raise RejectedError(wrong)


def _reader(source: LakeSource, words: Dictionary, clock: Clock, tally: Tally, piece: str = "") -> Reader:
    stream = source.stream
    if source.is_topic:
        return open_ordered(stream.name, stream.stream, words, clock, tally, "live", piece=piece)
    return open_ordered(stream.name, stream.stream, words, clock, tally, "recorded", "parquet")


class LakeBlock(BlockTask):
    """The work on the rows of one task that are of one group."""

    ordered = False

    def __init__(self, job: Job, source: LakeSource, place: tuple[int, int, int], batches: Sequence[Any]) -> None:
        super().__init__(job, place, False, source.reading)
        self._source = source
        # Each block counts its lines from one, by which blank nodes are told apart.
        self._piece = "/".join(map(str, place[1:]))
        self._batches = [in_utc(batch) for batch in batches if batch.num_rows]

    def _items(self) -> Iterator[Timed | Far]:
        """The items of rows; those whose times are far from those around them are marked."""
        times = PlausibleTimes(self._limits, self._written(), live=self._source.is_topic, fragment=True)
        reader = _reader(self._source, self._packer.words, self._clock, self._tally, self._piece)
        for batch in self._batches:
            for item in reader.feed(self._block(batch)):
                yield from times.take(item)
        for item in reader.finish():
            yield from times.take(item)
        yield from times.release()

    def _block(self, batch: Any) -> bytes:
        if self._source.is_topic:
            return b"".join(as_lines(message or b"") for message in batch.column(VALUE).to_pylist())
        return pack(batch)

    def _written(self) -> Callable[[], int] | None:
        """The tick at which the last message was written: a clock that is the same when a batch is tried again."""
        if not self._source.is_topic or not self._batches:
            return None
        import pyarrow.compute as pc

        last = max(pc.max(batch.column(WRITTEN)).as_py() for batch in self._batches)
        tick = (last - self._clock.epoch) // self._clock.tick_length
        return lambda: tick
