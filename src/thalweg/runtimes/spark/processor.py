"""A stage as an operator of Spark: rows of parcels in, rows of parcels out, one engine for each bucket.

The engine stays in the memory of the Python process between batches. The state store holds what recovery needs: a base
(the worker as it was once saved) and a journal of the parcels since. A batch that is tried again, or that comes to
another process, finds no worker under the name that the store has, builds one from base and journal, and goes on.
"""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, Final
from uuid import uuid4

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, IntegerType, LongType, StringType, StructField, StructType

from thalweg.engine import Engine
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.wire import Parcel, frame, unframe
from thalweg.runtimes.spark.worker import Worker

PARCELS: Final = StructType(
    [
        StructField("bucket", IntegerType()),
        StructField("stage", IntegerType()),
        StructField("payload", BinaryType()),
    ]
)
_ABOUT: Final = StructType(
    [
        StructField("nonce", StringType()),
        StructField("entries", LongType()),
        StructField("since", LongType()),
        StructField("base", LongType()),
        StructField("program", StringType()),
    ]
)
_DATA: Final = StructType([StructField("data", BinaryType())])
_NUMBER: Final = StructType([StructField("number", LongType())])

# The journal is folded into the base when it is this much larger: saving then costs no more than what came since.
_GROWTH: Final = 2
_SMALL: Final = 1 << 20

# A process keeps the workers that it used last; those of a bucket that moved elsewhere are let go.
_MOST_WORKERS: Final = 64

_Name = tuple[str, int, int]
_workers: "OrderedDict[_Name, tuple[str, Worker]]" = OrderedDict()


class StageProcessor(StatefulProcessor):
    """Runs one stage; the grouping key is the bucket."""

    def __init__(self, job: Job, stage: int, engine: type[Engine] = Engine) -> None:
        self._job = job
        self._stage = stage
        self._engine = engine

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._about = handle.getValueState("about", _ABOUT)
        self._base = handle.getValueState("base", _DATA)
        self._journal = handle.getMapState("journal", _NUMBER, _DATA)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        bucket = self._job.labels.index(key[0])
        payloads: list[bytes] = []
        for row in rows:
            if row.stage == self._stage:
                payloads.append(bytes(row.payload))
            else:
                yield row
        if payloads:
            for parcel in self._job.labelled(self._process(bucket, payloads)):
                yield Row(bucket=parcel.bucket, stage=parcel.stage, payload=parcel.payload)

    def close(self) -> None:
        pass

    def _process(self, bucket: int, payloads: list[bytes]) -> list[Parcel]:
        name = self._job.name, self._stage, bucket
        mine = self._job.fingerprint
        nonce, entries, since, base, program = self._about.get() or ("", 0, 0, 0, mine)
        if program != mine:
            raise RuntimeError("error[E408]: the checkpoint belongs to another program, or to other settings")
        # Taken out while it works: an attempt that fails leaves no half-fed worker behind.
        known, worker = _workers.pop(name, ("", None))
        if worker is None or known != nonce:
            worker = self._rebuilt(bucket)
        out = worker.process(payloads)
        entry = frame(payloads)
        if since + len(entry) > _GROWTH * base + _SMALL:
            saved = worker.save()
            self._base.update((saved,))
            self._journal.clear()
            entries, since, base = 0, 0, len(saved)
        else:
            self._journal.updateValue((entries,), (entry,))
            entries, since = entries + 1, since + len(entry)
        nonce = uuid4().hex
        self._about.update((nonce, entries, since, base, mine))
        _workers[name] = nonce, worker
        if len(_workers) > max(_MOST_WORKERS, len(self._job.stages) * self._job.partitions):
            _workers.popitem(last=False)
        return out

    def _rebuilt(self, bucket: int) -> Worker:
        worker = Worker(self._job, self._stage, bucket, self._engine)
        saved = self._base.get()
        if saved is not None:
            worker.load(bytes(saved[0]))
        for _, (entry,) in sorted(self._journal.iterator(), key=lambda pair: int(pair[0][0])):
            worker.process(unframe(bytes(entry)))
        return worker
