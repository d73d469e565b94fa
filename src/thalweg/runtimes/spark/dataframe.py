"""A DataFrame of facts in, a DataFrame of answers out: fragments chained in one query, streaming or batch."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from pyspark import TaskContext

from thalweg.model.time import Clock
from thalweg.runtimes.spark.columns import Shape, WrongRow, read_rows
from thalweg.runtimes.spark.ingest import CodedFacts
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.pack import Packer
from thalweg.runtimes.spark.processor import PARCELS, LevelProcessor
from thalweg.runtimes.spark.wire import (
    ANSWERS,
    CAME,
    EMPTY,
    FAILED,
    LATE,
    MALFORMED,
    OUT,
    Parcel,
    error_of,
    parcels_batch,
    unwrap,
    wrap,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ANSWER_SCHEMA: Final = "kind string, t long, until long, stream string, fact string"
"""The rows of the fragments: answers, late facts, warnings, what has been decided, why a worker could not go on."""

BEGIN, END, INTERVAL, SNAPSHOT, BLOCK = "begin", "end", "interval", "snapshot", "block"
LATE_FACT, DECIDED, OVER, BECAME_UNKNOWN, SHED, WARNING = "late", "decided", "over", "unknown", "shed", "warning"
GUARANTEED: Final = "guaranteed"
NOTE: Final = "note"
OPEN: Final = "open"
"""More may begin and end at the last tick that was decided."""
_ROWS_A_PARCEL: Final = 200_000


def pack_table(job: Job, shape: Shape, facts: "DataFrame", group: int, *, all_wrong: bool) -> "DataFrame":
    """The parcels of a table of facts, which is a group of streams by itself.

    Rows that hold no fact travel in the same pass: all of them with `all_wrong`, else their number and the first one.
    """

    def pack(batches: Iterable[Any]) -> Iterator[Any]:
        packer, clock = _packer(job, group), shape.clock()
        for chunk in _gathered(_named(batches, shape.wanted)):
            facts, wrong = _read(chunk, shape, packer, clock)
            parcels = [*packer.pack_unordered(facts), *_about_rows(chunk, wrong, job, all_wrong)]
            if shape.brings is None:
                parcels.append(_came(facts, job))
            yield parcels_batch(job.labelled(parcels))

    # Spark takes a point in the name of a column for a field of a struct, also inside `mapInArrow`.
    columns = [facts[quoted(name)].alias(f"c{number}") for number, name in enumerate(shape.wanted)]
    return facts.select(*columns).mapInArrow(pack, PARCELS)


def _named(batches: Iterable[Any], names: Sequence[str]) -> Iterator[Any]:
    """Record batches with the names that the columns of their table have."""
    import pyarrow as pa

    return (pa.RecordBatch.from_arrays(batch.columns, names=[*names]) for batch in batches)


def pack_clock(job: Job, session: "SparkSession") -> "DataFrame":
    """The parcels of a clock: a row a second, whose time is in the log of the query, so that it is repeatable."""

    def pack(batches: Iterable[Any]) -> Iterator[Any]:
        packer = _packer(job, 0)
        for batch in batches:
            if batch.num_rows:
                yield parcels_batch(job.labelled(packer.pack_clock(int(batch.column(0).to_numpy().max()))))

    rate = session.readStream.format("rate").option("rowsPerSecond", 1).option("numPartitions", 1).load()
    return rate.selectExpr("unix_millis(timestamp)").mapInArrow(pack, PARCELS)


def quoted(name: str) -> str:
    """The name of a column as Spark reads it, also with a point in it.

    >>> quoted("a.b")
    '`a.b`'
    """
    return f"`{name.replace('`', '``')}`"


def _packer(job: Job, group: int) -> Packer:
    context = TaskContext.get()
    return Packer(job, group, context.partitionId() if context else 0)


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


def _about_rows(batches: list[Any], wrong: list[Wrong], job: Job, all_wrong: bool) -> Iterator[Parcel]:
    """Parcels that report what is wrong with rows; `counts` is how many rows a text stands for."""
    for kind in (MALFORMED, EMPTY):
        rows = [(number, wrong_row) for number, wrong_row in wrong if wrong_row.is_empty == (kind == EMPTY)]
        if rows:
            shown = rows if all_wrong else rows[:1]
            counts = [1] * len(shown) if all_wrong else [len(rows)]
            texts = [f"{wrong_row.message}: {_row_text(batches[number], wrong_row.row)}" for number, wrong_row in shown]
            lists = {"counts": np.array(counts, dtype=np.int64), "texts": texts}
            yield wrap(OUT, job.buckets(0)[0], {"kind": kind}, lists)


def _row_text(batch: Any, row: int) -> str:
    return json.dumps(batch.slice(row, 1).to_pylist()[0], default=str, ensure_ascii=False)


def _came(facts: list[CodedFacts], job: Job) -> Parcel:
    counts: dict[str, int] = {}
    for arrivals in facts:
        counts[arrivals.signature] = counts.get(arrivals.signature, 0) + len(arrivals.ticks)
    lists = {"counts": np.array([*counts.values()], dtype=np.int64), "texts": [*counts]}
    return wrap(OUT, job.buckets(0)[0], {"kind": CAME}, lists)


def _gathered(batches: Iterable[Any]) -> Iterator[list[Any]]:
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


def chain(job: Job, parcels: "DataFrame") -> "DataFrame":
    """The fragments, level by level, and their answers."""
    *before, last = ([fragment.number for fragment in level] for level in job.levels)
    for level in before:
        parcels = parcels.groupBy("bucket").transformWithState(
            statefulProcessor=LevelProcessor(job, level),
            outputStructType=PARCELS,
            outputMode="Append",
            timeMode="None",
        )
    return parcels.groupBy("bucket").transformWithStateInPandas(
        statefulProcessor=LastProcessor(job, last),
        outputStructType=ANSWER_SCHEMA,
        outputMode="Append",
        timeMode="None",
    )


class LastProcessor(LevelProcessor):
    """Opens answers at once: they leave as columns, without another process."""

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        import pandas as pd

        parcels = (row for frame in rows for row in frame.itertuples(index=False))
        for parcel in super().handleInputRows(key, parcels, timerValues):
            for batch in _opened(bytes(parcel.payload), self._job.settings.emit):
                yield batch.to_pandas(types_mapper=pd.ArrowDtype)


def _opened(payload: bytes, emit: str) -> Iterator[Any]:
    import pyarrow as pa

    content = unwrap(payload)
    lists, header = content.lists, content.header
    if content.kind == LATE:
        kinds = [LATE_FACT] * len(lists["facts"])
        yield _answers(kinds, lists["ticks"], lists["watermarks"], header["stream"], lists["facts"])
        return
    if content.kind in (MALFORMED, EMPTY, CAME):
        texts = lists["texts"]
        yield _answers([content.kind] * len(texts), np.zeros(len(texts), np.int64), lists["counts"], None, texts)
        return
    if content.kind == FAILED:
        text = str(error_of(header["error"]))
        yield _answers([FAILED], np.array([header["reached"]], dtype=np.int64), None, text, [header["error"]])
        return
    assert content.kind == ANSWERS, "a parcel for a fragment went astray"
    ticks, facts = lists["ticks"], lists["facts"]
    if emit == "changes":
        names = [BEGIN, END, BECAME_UNKNOWN]
        kinds = pa.DictionaryArray.from_arrays(pa.array(lists["ended"], type=pa.int8()), names).cast(pa.string())
        yield _answers(kinds, ticks, lists.get("until"), None, facts)
    elif emit == "intervals":
        yield _answers([INTERVAL] * len(facts), ticks, lists["until"], None, facts)
    else:
        yield _answers([SNAPSHOT] * len(facts), ticks, None, None, facts)
    if "blocks" in lists:
        kinds = [BLOCK] * len(lists["blocks"])
        yield _answers(kinds, lists["block_ticks"], lists["block_places"], None, lists["blocks"])
    if notes := header.get("notes"):
        yield _answers([NOTE] * len(notes), [header["decided"]] * len(notes), range(len(notes)), None, notes)
    if missing := header.get("missing"):
        predicates, since, until = zip(*missing, strict=True)
        yield _answers([SHED] * len(missing), since, until, " ".join(header["unsure"]), list(predicates))
    if warnings := header.get("warnings"):
        yield _answers([WARNING] * len(warnings), [header["decided"]] * len(warnings), None, None, warnings)
    if guaranteed := header.get("guaranteed"):
        kinds, ticks = [GUARANTEED] * len(guaranteed), [header["decided"]] * len(guaranteed)
        yield _answers(kinds, ticks, [*guaranteed.values()], None, [*guaranteed])
    when = np.array([header["decided"]], dtype=np.int64)
    if header.get("open"):
        yield _answers([OPEN], when, None, None, [""])
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
