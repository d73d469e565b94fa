"""Fragments as an operator of Spark: rows of parcels in, rows of parcels out, a worker for each fragment and bucket.

The engine stays in the memory of a Python process between batches (see `worker_cache`). The state store holds what
recovery needs: a base (the worker as it was once saved) and a journal of the parcels since. A batch that is tried
again, or that comes to another machine, finds no worker for the ticket that the store has, builds one from base and
journal, and goes on.

Where a job closes its ticks once all has been read, each batch sets a timer for the next one. It goes off also in the
batch without data that Spark runs when there is nothing more to read: the bucket got no rows, although every batch with
data sends some to every bucket.

For each query and level Spark starts a process that only looks at `init`. So what does the work is imported by the
functions that do it: that process would take three times as long.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, BooleanType, IntegerType, LongType, StringType, StructField, StructType

from thalweg.diagnostics import FailedError, RejectedError
from thalweg.runtimes.spark.shipped_job import ShippedJob

if TYPE_CHECKING:
    from thalweg.runtimes.spark.handover import BucketHandover
    from thalweg.runtimes.spark.job import Job
    from thalweg.runtimes.spark.wire import Parcel
    from thalweg.runtimes.spark.worker import Worker

PARCELS: Final = StructType(
    [
        StructField("bucket", IntegerType()),
        StructField("fragment", IntegerType()),
        StructField("payload", BinaryType()),
    ]
)
_ABOUT: Final = StructType(
    [
        StructField("ticket", StringType()),
        StructField("entries", LongType()),
        StructField("since", LongType()),
        StructField("base", LongType()),
        StructField("chunks", LongType()),
        StructField("program", StringType()),
    ]
)
_CHUNK: Final = StructType([StructField("data", BinaryType()), StructField("continues", BooleanType())])
SLACK_DAYS: Final = 31
"""How far the clock may be set back before Spark would take the rows of a batch for late ones."""
_SLACK: Final = SLACK_DAYS * 24 * 3_600 * 1_000
_NUMBER: Final = StructType([StructField("number", LongType())])

# The journal is folded into the base when it is this much larger: saving then costs no more than what came since.
_GROWTH: Final = 2
_SMALL: Final = 1 << 20
# A row of the store has no more bytes than this: what is larger is cut into several.
_CHUNK_SIZE: Final = 64 << 20


class LevelProcessor(StatefulProcessor):
    """Runs the fragments that need nothing of each other; the grouping key is the bucket."""

    def __init__(self, shipped: ShippedJob, fragments: list[int]) -> None:
        self._shipped = shipped
        self._numbers = fragments

    @property
    def _job(self) -> "Job":
        return self._shipped.job

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._fragments = {number: _Fragment(self._shipped, number, handle) for number in self._numbers}
        self._fed: set[int] = set()

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        from thalweg.runtimes.spark.wire import joined

        bucket = self._job.bucket_of(key[0])
        received: dict[int, list[bytes]] = {}
        for row in rows:
            if self._is_timed and bucket not in self._fed:
                self._fed.add(bucket)
                self._handle.registerTimer(row.now - _SLACK - 1)
            if row.fragment in self._fragments:
                received.setdefault(row.fragment, []).append(bytes(row.payload))
            else:
                yield Row(bucket=row.bucket, fragment=row.fragment, payload=row.payload)
        yield from self._process(bucket, {number: [*joined(pieces)] for number, pieces in received.items()})

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        from thalweg.runtimes.spark.pack import Packer

        bucket = self._job.bucket_of(key[0])
        if bucket in self._fed:
            return
        payloads: dict[int, list[bytes]] = {}
        for parcel in Packer(self._job, 0, (0,)).pack_close():
            if parcel.bucket == bucket and parcel.fragment in self._fragments:
                payloads[parcel.fragment] = [parcel.payload]
            elif parcel.bucket == bucket:
                yield Row(bucket=key[0], fragment=parcel.fragment, payload=parcel.payload)
        yield from self._process(bucket, payloads)

    @property
    def _is_timed(self) -> bool:
        """Whether this is the level that notices that all has been read."""
        return self._job.closes and self._numbers[0] in [fragment.number for fragment in self._job.levels[0]]

    def _process(self, bucket: int, payloads: dict[int, list[bytes]]) -> Iterator[Row]:
        from thalweg.runtimes.spark.wire import cut

        for number, received in payloads.items():
            for parcel in cut(self._job.labelled(self._fragments[number].process(bucket, received))):
                yield Row(bucket=parcel.bucket, fragment=parcel.fragment, payload=parcel.payload)

    def close(self) -> None:
        pass


class LastProcessor(LevelProcessor):
    """Opens answers at once: they leave as columns, without another process."""

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        parcels = (row for frame in rows for row in frame.itertuples(index=False))
        yield from self._opened(super().handleInputRows(key, parcels, timerValues))

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N802, N803
        yield from self._opened(super().handleExpiredTimer(key, timerValues, expiredTimerInfo))

    def _opened(self, parcels: Iterable[Any]) -> Iterator[Any]:
        import pandas as pd

        from thalweg.runtimes.spark.bucket_answers import opened
        from thalweg.runtimes.spark.wire import joined

        for payload in joined(bytes(parcel.payload) for parcel in parcels):
            for batch in opened(payload, self._job.settings.emit):
                yield batch.to_pandas(types_mapper=pd.ArrowDtype)


class _Fragment:
    """One fragment, with what the store has of it for the bucket at hand."""

    def __init__(self, shipped: ShippedJob, number: int, handle: StatefulProcessorHandle) -> None:
        self._shipped = shipped
        self._number = number
        self._about = handle.getValueState(f"about{number}", _ABOUT)
        self._base = handle.getMapState(f"base{number}", _NUMBER, _CHUNK)
        self._journal = handle.getMapState(f"journal{number}", _NUMBER, _CHUNK)

    @property
    def _job(self) -> "Job":
        return self._shipped.job

    def process(self, bucket: int, payloads: list[bytes]) -> "list[Parcel]":
        from thalweg.model.arrow import frame
        from thalweg.runtimes.spark.wire import failure
        from thalweg.runtimes.spark.worker_cache import WORKERS, WorkerTask

        mine = self._job.owner
        # Spark warns of each value that is looked up and not there.
        about = self._about.get() if self._about.exists() else None
        ticket, entries, since, base, chunks, program = about or ("", 0, 0, 0, 0, "")
        handover = None if self._job.owns(program) else self._shipped.handover
        if handover is not None:
            ticket, entries, since, base, chunks = "", 0, 0, 0, 0
        size = sum(map(len, payloads))
        name = f"{self._job.name}/{self._number}/{bucket}"
        task = WorkerTask(name, ticket, payloads, saving=since + size > _GROWTH * base + _SMALL)
        try:
            if handover is None:
                self._job.check_owner(program or mine)
            done = WORKERS.resume(task) or WORKERS.begin(self._rebuilt(bucket, chunks, entries, handover), task)
        except (FailedError, RejectedError) as error:
            # It came while the worker was rebuilt: nothing of this batch has been answered.
            return [failure(bucket, error, reached=-1)]
        if done.failed:
            # The batch will not be committed, so the store stays as it was before it.
            return done.parcels
        if done.saved:
            self._base.clear()
            self._journal.clear()
            chunks, base = write_chunks(self._base, 0, done.saved), len(done.saved)
            entries, since = 0, 0
        else:
            entries, since = write_chunks(self._journal, entries, frame(payloads)), since + size
        self._about.update((done.ticket, entries, since, base, chunks, mine))
        return done.parcels

    def _rebuilt(self, bucket: int, chunks: int, entries: int, handover: "BucketHandover | None") -> "Worker":
        from thalweg.model.arrow import unframe
        from thalweg.runtimes.spark.worker import Worker

        if handover is not None:
            return Worker.of_handover(self._job, (self._number, bucket), handover)
        worker = Worker(self._job, self._number, bucket)
        for saved in read_chunks(self._base, chunks):
            worker.load(saved)
        for entry in read_chunks(self._journal, entries):
            worker.replay(unframe(entry))
        return worker


def write_chunks(store: Any, number: int, data: bytes) -> int:
    """Writes data to the rows of a store from a number on; the number behind the last one."""
    for start in range(0, max(1, len(data)), _CHUNK_SIZE):
        end = start + _CHUNK_SIZE
        store.updateValue((number,), (data[start:end], end < len(data)))
        number += 1
    return number


def read_chunks(store: Any, count: int) -> Iterator[bytes]:
    """What was written to the first rows of a store, one by one: many at once are too large a message."""
    parts: list[bytes] = []
    for number in range(count):
        data, continues = store.getValue((number,))
        parts.append(bytes(data))
        if not continues:
            yield b"".join(parts)
            parts = []
