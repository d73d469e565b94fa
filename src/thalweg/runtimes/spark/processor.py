"""Fragments as an operator of Spark: rows of parcels in, rows of parcels out, a worker for each fragment and bucket.

The engine stays in the memory of a Python process between batches (see `worker_cache`). The state store holds what
recovery needs: a base (the worker as it was once saved) and a journal of the parcels since. A batch that is tried
again, or that comes to another machine, finds no worker for the ticket that the store has, builds one from base and
journal, and goes on.

Where a job closes its ticks once all has been read, each batch sets a timer for the next one. It goes off also in the
batch without data that Spark runs when there is nothing more to read: the bucket got no rows, although every batch with
data sends some to every bucket.
"""

from collections.abc import Iterator
from typing import Any, Final

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, IntegerType, LongType, StringType, StructField, StructType

from thalweg.diagnostics import FailedError, RejectedError
from thalweg.model.arrow import frame, unframe
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.pack import Packer
from thalweg.runtimes.spark.wire import Parcel, failure
from thalweg.runtimes.spark.worker import Worker
from thalweg.runtimes.spark.worker_cache import WORKERS, WorkerTask

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
        StructField("program", StringType()),
    ]
)
_DATA: Final = StructType([StructField("data", BinaryType())])
SLACK_DAYS: Final = 31
"""How far the clock may be set back before Spark would take the rows of a batch for late ones."""
_SLACK: Final = SLACK_DAYS * 24 * 3_600 * 1_000
_NUMBER: Final = StructType([StructField("number", LongType())])

# The journal is folded into the base when it is this much larger: saving then costs no more than what came since.
_GROWTH: Final = 2
_SMALL: Final = 1 << 20


class LevelProcessor(StatefulProcessor):
    """Runs the fragments that need nothing of each other; the grouping key is the bucket."""

    def __init__(self, job: Job, fragments: list[int]) -> None:
        self._job = job
        self._numbers = fragments

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._fragments = {number: _Fragment(self._job, number, handle) for number in self._numbers}
        self._fed: set[int] = set()

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        bucket = self._job.bucket_of(key[0])
        payloads: dict[int, list[bytes]] = {}
        for row in rows:
            if self._is_timed and bucket not in self._fed:
                self._fed.add(bucket)
                self._handle.registerTimer(row.now - _SLACK - 1)
            if row.fragment in self._fragments:
                payloads.setdefault(row.fragment, []).append(bytes(row.payload))
            else:
                yield Row(bucket=row.bucket, fragment=row.fragment, payload=row.payload)
        yield from self._process(bucket, payloads)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        bucket = self._job.bucket_of(key[0])
        if bucket in self._fed:
            return
        payloads: dict[int, list[bytes]] = {}
        for parcel in Packer(self._job, 0, 0).pack_close():
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
        for number, received in payloads.items():
            for parcel in self._job.labelled(self._fragments[number].process(bucket, received)):
                yield Row(bucket=parcel.bucket, fragment=parcel.fragment, payload=parcel.payload)

    def close(self) -> None:
        pass


class _Fragment:
    """One fragment, with what the store has of it for the bucket at hand."""

    def __init__(self, job: Job, number: int, handle: StatefulProcessorHandle) -> None:
        self._job = job
        self._number = number
        self._about = handle.getValueState(f"about{number}", _ABOUT)
        self._base = handle.getValueState(f"base{number}", _DATA)
        self._journal = handle.getMapState(f"journal{number}", _NUMBER, _DATA)

    def process(self, bucket: int, payloads: list[bytes]) -> list[Parcel]:
        mine = self._job.fingerprint
        # Spark warns of each value that is looked up and not there.
        about = self._about.get() if self._about.exists() else None
        ticket, entries, since, base, program = about or ("", 0, 0, 0, mine)
        if program != mine:
            return [failure(bucket, self._job.refusal(program), reached=-1)]
        size = sum(map(len, payloads))
        name = f"{self._job.name}/{self._number}/{bucket}"
        task = WorkerTask(name, ticket, payloads, saving=since + size > _GROWTH * base + _SMALL)
        try:
            done = WORKERS.resume(task) or WORKERS.begin(self._rebuilt(bucket, has_base=base > 0), task)
        except (FailedError, RejectedError) as error:
            # It came while the worker was rebuilt: nothing of this batch has been answered.
            return [failure(bucket, error, reached=-1)]
        if done.failed:
            # The batch will not be committed, so the store stays as it was before it.
            return done.parcels
        if done.saved:
            self._base.update((done.saved,))
            self._journal.clear()
            entries, since, base = 0, 0, len(done.saved)
        else:
            self._journal.updateValue((entries,), (frame(payloads),))
            entries, since = entries + 1, since + size
        self._about.update((done.ticket, entries, since, base, mine))
        return done.parcels

    def _rebuilt(self, bucket: int, has_base: bool) -> Worker:
        worker = Worker(self._job, self._number, bucket)
        saved = self._base.get() if has_base else None
        if saved is not None:
            worker.load(bytes(saved[0]))
        for _, (entry,) in sorted(self._journal.iterator(), key=lambda pair: int(pair[0][0])):
            worker.replay(unframe(bytes(entry)))
        return worker
