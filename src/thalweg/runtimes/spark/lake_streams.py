"""Topics of Kafka and tables of a lake as streams of parcels: Spark reads them, and tasks make facts of their rows.

    readStream ──rows──▶ mapInArrow: one block a task and group ──reader──▶ parcels for buckets, a digest for the driver

The messages of a topic are joined to blocks and read as embedded runs read them, and rows of tables as those of
Parquet are. Between the blocks of a batch there is no order: a fact is late by what earlier batches have brought. Which
rows a batch has is in Spark's own checkpoint, so one that is tried again gives the same parcels.
"""

import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pyspark import TaskContext

from thalweg.connectors.broker import OPENING, as_lines
from thalweg.connectors.lake import KAFKA, TABLE, LakeStream
from thalweg.connectors.readers import open_ordered
from thalweg.connectors.tabular import COLUMNS, empty_batches, has_times, pack
from thalweg.diagnostics import Diagnostic, FailedError, RejectedError
from thalweg.model.dictionary import Dictionary
from thalweg.model.shipped import Shipped
from thalweg.model.time import NEVER, TimeFormat
from thalweg.runtimes.intake import Intake
from thalweg.runtimes.plausible_times import Far, PlausibleTimes, Timed, TimeLimits
from thalweg.runtimes.spark.columns import GROUPS_OF_TABLE, Shape, in_groups, in_utc
from thalweg.runtimes.spark.dataframe import gathered, named, quoted
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.pack import Arrived, GroupTime, Packer
from thalweg.runtimes.spark.processor import PARCELS
from thalweg.runtimes.spark.read_block import Digest
from thalweg.runtimes.spark.recordings import ReadingOptions
from thalweg.runtimes.spark.wire import DIGEST, OUT, Parcel, failure, parcels_batch, warning_text, wrap

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


@dataclass(frozen=True)
class LakeSource(Shipped):
    """A stream of a run: its address, the number of its first group of streams, and how it is read."""

    stream: LakeStream
    group: int
    reading: ReadingOptions

    @property
    def groups(self) -> range:
        """The groups of its rows: one, or one for each value of a column, up to a number."""
        return range(self.group, self.group + (1 if self.stream.by is None else GROUPS_OF_TABLE))

    @property
    def is_topic(self) -> bool:
        return self.stream.format == KAFKA


def read_lake(session: "SparkSession", job: Job, source: LakeSource) -> "DataFrame":
    """The parcels of a stream; `RejectedError` where the columns of a table are not those of facts."""
    stream = source.stream
    rows = _rows(session, source)
    shape = Shape(None, tuple(rows.columns), False, 0, by=stream.by)

    def pack_rows(batches: Iterable[Any]) -> Iterator[Any]:
        context = TaskContext.get()
        task = context.partitionId() if context else 0
        for number, chunk in enumerate(gathered(named(batches, shape.columns))):
            for group, block in in_groups(chunk, shape):
                place = _place(block) if source.is_topic else (task, number)
                parcels = _LakeBlock(job, source, source.group + group, place or (task, number)).parcels(block)
                yield parcels_batch(job.labelled(parcels))

    pack_rows.__name__ = f"facts of {stream.stream}"
    return rows.mapInArrow(pack_rows, PARCELS)


def _place(block: Sequence[Any]) -> tuple[int, ...]:
    """The partition and the offset of the first message: they decide about the order, not which task has a message."""
    rows = (batch for batch in block if batch.num_rows)
    return next((tuple(int(batch.column(name)[0].as_py()) for name in (PARTITION, OFFSET)) for batch in rows), ())


def _rows(session: "SparkSession", source: LakeSource) -> "DataFrame":
    stream = source.stream
    if source.is_topic:
        _check_brokers(stream)
        topic = session.readStream.format(KAFKA).options(**_topic_options(stream)).load()
        return topic.selectExpr(VALUE, PARTITION, OFFSET, f"unix_millis(timestamp) AS {WRITTEN}")
    reader = session.readStream.options(**_LIMITS[stream.format])
    table = reader.table(stream.place) if stream.format == TABLE else reader.format(stream.format).load(stream.place)
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

    reader = _reader(source, Dictionary())
    wrong = [
        item
        for batch in empty_batches(to_arrow_schema(rows.schema))
        for item in reader.feed(pack(batch))
        if isinstance(item, Diagnostic)
    ]
    if wrong:
        raise RejectedError(wrong)


def _reader(source: LakeSource, words: Dictionary, clock: Any = None, tally: Any = None) -> Any:
    stream, reading = source.stream, source.reading
    clock, tally = clock or reading.own_clock(), tally or reading.tally()
    if source.is_topic:
        return open_ordered(stream.name, stream.stream, words, clock, tally, "live")
    return open_ordered(stream.name, stream.stream, words, clock, tally, "recorded", "parquet")


class _LakeBlock:
    """The work on the rows of one task that are of one group."""

    def __init__(self, job: Job, source: LakeSource, group: int, place: tuple[int, ...]) -> None:
        self._job = job
        self._source = source
        self._group = group
        self._place = place
        self._clock = source.reading.own_clock()
        self._tally = source.reading.tally()
        self._digest = Digest()
        self._packer = Packer(job, group, place)
        self._words = self._packer.words
        self._high = NEVER

    def parcels(self, batches: Sequence[Any]) -> list[Parcel]:
        """The parcels of rows, and the digest; where they cannot be read, one that says so."""
        try:
            return [*self._parcels(batches)]
        except RejectedError as error:
            return [failure(self._job.buckets(0)[0], error, reached=NEVER)]

    def _parcels(self, batches: Sequence[Any]) -> Iterator[Parcel]:
        settings = self._job.settings
        batches = [in_utc(batch) for batch in batches if batch.num_rows]
        times = TimeFormat(replace(settings.calendar, clock=self._clock))
        intake = Intake(settings, self._words, times=times)
        events, is_stopped = self._events(batches, intake)
        time = GroupTime(cut_short=is_stopped, stopped=is_stopped)
        yield from self._packer.pack(events, time=time)
        yield self._summary(intake, is_stopped)

    def _events(self, batches: Sequence[Any], intake: Intake) -> tuple[list[Arrived], bool]:
        """What rows hold, as far as it can be read, and whether reading has stopped at something malformed."""
        events: list[Arrived] = []
        for item in self._decided(batches):
            if isinstance(item, Diagnostic):
                self._digest.malformed.append(item)
                if self._job.settings.on_error == "stop":
                    return events, True
                continue
            intake.see(item)
            batch = item.batch if isinstance(item, Far) else item[1]
            self._digest.see(batch, self._words)
            if isinstance(item, Far):
                events.append(intake.meet(item, 0))
            else:
                self._high = max(self._high, item[0])
                events.append((*item, NEVER))
        return events, False

    def _decided(self, batches: Sequence[Any]) -> Iterator[Timed | Far]:
        """The items of rows; those whose times are far from those around them are marked."""
        settings = self._job.settings
        limits = TimeLimits(self._clock, settings.max_ahead, settings.delay)
        times = PlausibleTimes(limits, self._written(batches), live=self._source.is_topic)
        reader = _reader(self._source, self._words, self._clock, self._tally)
        for batch in batches:
            for item in reader.feed(self._block(batch)):
                yield from times.take(item)
        for item in reader.finish():
            yield from times.take(item)
        yield from times.release()

    def _block(self, batch: Any) -> bytes:
        if self._source.is_topic:
            return b"".join(as_lines(message or b"") for message in batch.column(VALUE).to_pylist())
        return pack(batch)

    def _written(self, batches: Sequence[Any]) -> Callable[[], int] | None:
        """The tick at which the last message was written: a clock that is the same when a batch is tried again."""
        if not self._source.is_topic or not batches:
            return None
        import pyarrow.compute as pc

        last = max(pc.max(batch.column(WRITTEN)).as_py() for batch in batches)
        tick = (last - self._clock.epoch) // self._clock.tick_length
        return lambda: tick

    def _summary(self, intake: Intake, is_stopped: bool) -> Parcel:
        digest, notation = self._digest, self._clock.notation
        header = {
            "kind": DIGEST,
            "place": [self._group, *self._place],
            "events": digest.events,
            "facts": digest.facts,
            "high": self._high,
            "stopped": is_stopped,
            "came": [[stream, str(predicate), terms] for (stream, predicate), terms in digest.came.items()],
            "malformed": [*map(warning_text, digest.malformed)],
            "far": intake.far.save(),
            "notation": [notation.stamped, notation.bare, notation.unzoned],
            "tally": self._tally.save(),
        }
        return wrap(OUT, self._job.buckets(0)[0], header, {})
