"""A DataFrame of facts in, a DataFrame of answers out: stages chained in one query, streaming or batch."""

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from pyspark import TaskContext

from thalweg.runtimes.spark.columns import Shape, arrivals, wrong_rows
from thalweg.runtimes.spark.ingest import Arrivals
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.pack import Packer
from thalweg.runtimes.spark.processor import PARCELS, LevelProcessor
from thalweg.runtimes.spark.wire import ANSWERS, FAILED, LATE, error_of, parcels_batch, unwrap
from thalweg.runtimes.spark.worker import Worker
from thalweg.runtimes.spark.worker_cache import Start

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ANSWER_SCHEMA: Final = "kind string, t long, until long, stream string, fact string"
"""The rows of the stages: answers, late facts, warnings, what has been decided, why a worker could not go on."""

BEGIN, END, INTERVAL, SNAPSHOT, WINDOW = "begin", "end", "interval", "snapshot", "window"
LATE_FACT, DECIDED, OVER, BECAME_UNKNOWN, SHED, WARNING = "late", "decided", "over", "unknown", "shed", "warning"
GUARANTEED: Final = "guaranteed"
_ROWS_A_PARCEL: Final = 200_000


def pack_table(job: Job, shape: Shape, facts: "DataFrame") -> "DataFrame":
    """The parcels of a table of facts."""

    def pack(batches: Iterable[Any]) -> Iterator[Any]:
        packer = _packer(job)
        for some in _gathered(batches):
            yield parcels_batch(job.labelled(packer.pack_unordered(_arrivals(some, shape, packer))))

    return facts.select(*shape.wanted).mapInArrow(pack, PARCELS)


WRONG: Final = "row string, message string, empty boolean"


def wrong_table(shape: Shape, facts: "DataFrame") -> "DataFrame":
    """The rows of a table that hold no fact, as JSON, and why; those with an `empty` cell are not wrong otherwise."""

    def find(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            found = list(wrong_rows(batch, shape))
            rows = [batch.slice(row, 1).to_pylist()[0] for row, _, _ in found]
            columns = [
                pa.array([json.dumps(row, default=str, ensure_ascii=False) for row in rows], pa.string()),
                pa.array([message for _, message, _ in found], pa.string()),
                pa.array([empty for _, _, empty in found], pa.bool_()),
            ]
            yield pa.RecordBatch.from_arrays(columns, names=["row", "message", "empty"])

    return facts.select(*shape.wanted).mapInArrow(find, WRONG)


def _packer(job: Job) -> Packer:
    context = TaskContext.get()
    return Packer(job, 0, context.partitionId() if context else 0)


def _arrivals(batches: list[Any], shape: Shape, packer: Packer) -> Iterator[Arrivals]:
    start = 0
    for batch in batches:
        yield from arrivals(batch, shape, packer.words, start)
        start += batch.num_rows


def _gathered(batches: Iterable[Any]) -> Iterator[list[Any]]:
    """Record batches in groups that are worth a parcel; none at all is a group too, because all must hear of it."""
    some: list[Any] = []
    rows = 0
    for batch in batches:
        some.append(batch)
        rows += batch.num_rows
        if rows >= _ROWS_A_PARCEL:
            yield some
            some, rows = [], 0
    if some or not rows:
        yield some


def chain(job: Job, parcels: "DataFrame", start: Start = Worker) -> "DataFrame":
    """The stages, level by level, and their answers; `start` says who does the work."""
    *before, last = ([stage.number for stage in level] for level in job.plan.levels)
    for level in before:
        parcels = parcels.groupBy("bucket").transformWithState(
            statefulProcessor=LevelProcessor(job, level, start),
            outputStructType=PARCELS,
            outputMode="Append",
            timeMode="None",
        )
    return parcels.groupBy("bucket").transformWithStateInPandas(
        statefulProcessor=LastProcessor(job, last, start),
        outputStructType=ANSWER_SCHEMA,
        outputMode="Append",
        timeMode="None",
    )


class LastProcessor(LevelProcessor):
    """Opens what is addressed to the world at once: answers leave by the column, without another process."""

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        import pandas as pd

        parcels = (row for some in rows for row in some.itertuples(index=False))
        for parcel in super().handleInputRows(key, parcels, timerValues):
            for batch in _opened(bytes(parcel.payload), self._job.settings.emit):
                yield batch.to_pandas(types_mapper=pd.ArrowDtype)


def _opened(payload: bytes, emit: str) -> Iterator[Any]:
    import numpy as np
    import pyarrow as pa

    content = unwrap(payload)
    lists, header = content.lists, content.header
    if content.kind == LATE:
        kinds = [LATE_FACT] * len(lists["facts"])
        yield _answers(kinds, lists["ticks"], lists["watermarks"], header["stream"], lists["facts"])
        return
    if content.kind == FAILED:
        text = str(error_of(header["error"]))
        yield _answers([FAILED], np.array([header["reached"]], dtype=np.int64), None, text, [header["error"]])
        return
    assert content.kind == ANSWERS, "a parcel for a stage went astray"
    ticks, facts = lists["ticks"], lists["facts"]
    if emit == "changes":
        names = [BEGIN, END, BECAME_UNKNOWN]
        kinds = pa.DictionaryArray.from_arrays(pa.array(lists["ended"], type=pa.int8()), names).cast(pa.string())
        yield _answers(kinds, ticks, lists.get("until"), None, facts)
    elif emit == "intervals":
        yield _answers([INTERVAL] * len(facts), ticks, lists["until"], None, facts)
    elif emit == "windows":
        yield _answers([WINDOW] * len(facts), ticks, lists["numbers"], None, facts)
    else:
        yield _answers([SNAPSHOT] * len(facts), ticks, None, None, facts)
    if missing := header.get("missing"):
        predicates, since, until = zip(*missing, strict=True)
        yield _answers([SHED] * len(missing), since, until, " ".join(header["unsure"]), list(predicates))
    if warnings := header.get("warnings"):
        yield _answers([WARNING] * len(warnings), [header["decided"]] * len(warnings), None, None, warnings)
    if guaranteed := header.get("guaranteed"):
        kinds, ticks = [GUARANTEED] * len(guaranteed), [header["decided"]] * len(guaranteed)
        yield _answers(kinds, ticks, [*guaranteed.values()], None, [*guaranteed])
    when = np.array([header["decided"]], dtype=np.int64)
    yield _answers([OVER if header["over"] else DECIDED], when, np.array([header["first"]]), None, [""])


def _answers(kinds: Any, ticks: Any, until: Any, stream: str | None, facts: Any) -> Any:
    import pyarrow as pa

    none = pa.nulls(len(ticks), pa.int64())
    return pa.record_batch(
        {
            "kind": pa.array(kinds, type=pa.string()) if isinstance(kinds, list) else kinds,
            "t": pa.array(ticks, type=pa.int64()),
            "until": none if until is None else pa.array(until, type=pa.int64()),
            "stream": pa.repeat(pa.scalar(stream, pa.string()), len(ticks)),
            "fact": facts if isinstance(facts, pa.Array) else pa.array(facts, type=pa.string()),
        }
    )
