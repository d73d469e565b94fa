"""Spark queries that run at the same time and are fed in turn, one file each: all of them meet the same noise.

Every contender is a streaming query of its own over the same files, in one session. It gets a file when all others are
idle, so its times are its own, and ratios between neighbours in time mean something on a noisy machine.
"""

import json
import os
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from itertools import islice
from pathlib import Path
from shutil import disk_usage
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

import numpy as np

from thalweg.bench.idle import Echo, Silent
from thalweg.bench.workload import Workload
from thalweg.dataflow.operator import OpSpec
from thalweg.diagnostics import Source
from thalweg.kinds.rules.rule_engine import RuleEngine
from thalweg.kinds.rules.rule_operator import RuleStageSpec
from thalweg.languages import lars
from thalweg.runtimes.spark.progress_line import state_bytes, state_rows
from thalweg.runtimes.spark.session import open_session, stop_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

WARM_UP: Final = 2
"""Batches that do not count: code is compiled, processes start, windows fill."""

WINDOW: Final = 80
RATE: Final = 800
"""Facts a tick."""

ENGINE, SILENT, ECHO, SPARK = "engine", "nothing", "echo", "spark"

_CONF: Final = {
    # A query that waits for a file should not keep the machine busy.
    "spark.sql.streaming.pollingDelay": "100ms",
    # The state of earlier batches is looked up after the run.
    "spark.sql.streaming.minBatchesToRetain": "1000",
}
_COLUMNS: Final = "a long, b long, t long"
_LOOKED_UP: Final = 3
_DATA_OF: Final = {"ValueState": "value.data", "MapState": "user_map_value.data"}
_MEMORY, _ROOM = Path("/dev/shm"), 4 << 30
_OWN_JOIN: Final = f"""
    select l.a, r.b as c, greatest(l.t, r.t) as t from {{facts}} l join {{facts}} r
    on l.b = r.a
    and r.moment between l.moment - interval {WINDOW} seconds and l.moment + interval {WINDOW} seconds
"""


@dataclass(frozen=True, slots=True)
class Contender:
    """The pipeline with an engine, or Spark's own join if there is none; `most` limits its seconds in all."""

    name: str
    engine: type[RuleEngine] | None
    partitions: int
    most: float = float("inf")


@dataclass(frozen=True, slots=True)
class Heat:
    """Contenders that are compared with each other."""

    about: Literal["engines", "spark", "partitions"]
    cores: int
    stream: Workload
    contenders: tuple[Contender, ...]
    batches: int
    rows: int

    def __str__(self) -> str:
        names = ", ".join(f"{contender.name} ({contender.partitions})" for contender in self.contenders)
        return f"{self.stream.name}: {names}; {self.batches} × {self.rows:,} rows"


def engines(partitions: int) -> tuple[Contender, ...]:
    """The engine, and the two idle ones."""
    kinds = ((ENGINE, RuleEngine), (SILENT, Silent), (ECHO, Echo))
    return tuple(Contender(name, engine, partitions) for name, engine in kinds)


def cores_of(heat: Heat) -> str:
    return "1 core" if heat.cores == 1 else f"{heat.cores} cores"


@dataclass(frozen=True, slots=True)
class Sample:
    """One batch: its rows, how long it took, its answers, and the size that the state store reports."""

    rows: int
    seconds: float
    answers: int
    state_rows: int
    state_bytes: int

    @property
    def cost(self) -> float:
        """Microseconds for each row."""
        return self.seconds * 1e6 / self.rows


@dataclass(slots=True)
class HeatResult:
    """All batches of one contender; `held` has the bytes of the engine's records after some of them.

    The store's own figure is larger: it counts overwritten records until they are compacted.
    """

    heat: Heat
    contender: Contender
    samples: list[Sample] = field(default_factory=list)
    state_sizes: dict[int, int] = field(default_factory=dict)

    @property
    def steady(self) -> list[Sample]:
        return self.samples[WARM_UP:]

    @property
    def rate(self) -> float:
        """Rows a second."""
        return statistics.median(sample.rows / sample.seconds for sample in self.steady)

    @property
    def latency(self) -> float:
        """Seconds from when a batch takes its rows to when its answers are out."""
        return statistics.median(sample.seconds for sample in self.steady)

    @property
    def slowest(self) -> float:
        return max(sample.seconds for sample in self.steady)

    @property
    def answers(self) -> float:
        """Answers for each row."""
        return sum(sample.answers for sample in self.steady) / sum(sample.rows for sample in self.steady)

    @property
    def thirds(self) -> tuple[range, range]:
        """The batches of the first and of the last third of the steady part."""
        third, end = max(1, len(self.steady) // 3), len(self.samples)
        return range(WARM_UP, WARM_UP + third), range(end - third, end)

    @property
    def growth(self) -> float:
        """The cost of a row in the last third of the run as a multiple of that in the first."""
        first, last = (statistics.median(self.samples[batch].cost for batch in third) for third in self.thirds)
        return last / first

    @property
    def held_growth(self) -> float:
        """The same for the largest size of the records in the state store."""
        first, last = (max(self.state_sizes.get(batch, 0) for batch in third) for third in self.thirds)
        return last / max(1, first)

    def share_of(self, other: "HeatResult") -> float:
        """The throughput as a share of another one's, batch by batch, because both met the same noise."""
        pairs = zip(self.steady, other.steady, strict=False)
        return statistics.median(theirs.seconds / mine.seconds for mine, theirs in pairs)


@contextmanager
def session(cores: int) -> Iterator["SparkSession"]:
    """A fresh session on a number of cores."""
    opened = open_session(f"local[{cores}]", cores, conf=_CONF)
    try:
        yield opened
    finally:
        stop_session(opened)


def workplace() -> TemporaryDirectory[str]:
    """A folder for streams and checkpoints, in memory where there is room: disks differ more than processors."""
    roomy = _MEMORY.is_dir() and disk_usage(_MEMORY).free > _ROOM
    return TemporaryDirectory(prefix="thalweg-bench-", dir=_MEMORY if roomy else None)


def compete(spark: "SparkSession", heat: Heat) -> list[HeatResult]:
    """Feeds every contender its batches, in turn."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(workplace()))
        files = record(heat.stream, folder / "recorded", heat.batches, heat.rows)
        entrants = [
            _Entrant(spark, heat, contender, folder / str(number)) for number, contender in enumerate(heat.contenders)
        ]
        for entrant in entrants:
            stack.callback(entrant.query.stop)
        for file in files:
            for entrant in entrants:
                if entrant.has_time:
                    entrant.feed(file)
        return [entrant.finished() for entrant in entrants]


class _Entrant:
    """A contender's query while it runs."""

    def __init__(self, spark: "SparkSession", heat: Heat, contender: Contender, folder: Path) -> None:
        self._spark = spark
        self._inbox, self._checkpoint = folder / "inbox", folder / "checkpoint"
        self._inbox.mkdir(parents=True)
        self.result, self._next = HeatResult(heat, contender), 0
        # A query keeps the settings that it was started with.
        spark.conf.set("spark.sql.shuffle.partitions", contender.partitions)
        self.query = self._started()

    @property
    def has_time(self) -> bool:
        """Whether there is time left, or no steady batch yet."""
        samples = self.result.samples
        return len(samples) <= WARM_UP or sum(sample.seconds for sample in samples) < self.result.contender.most

    def feed(self, file: Path) -> None:
        os.link(file, self._inbox / file.name)
        self.query.processAllAvailable()
        recent = [
            progress
            for progress in self.query.recentProgress
            if progress["batchId"] >= self._next and progress["numInputRows"]
        ]
        self._next = recent[-1]["batchId"] + 1
        self.result.samples.append(_sample(recent, self.result.heat.rows))

    def finished(self) -> HeatResult:
        result = self.result
        if result.contender.engine is RuleEngine:
            first, last = result.thirds
            for batch in sorted({*first[:_LOOKED_UP], *last[-_LOOKED_UP:]}):
                result.state_sizes[batch] = state_size(self._spark, self._checkpoint, batch)
        return result

    def _started(self) -> "StreamingQuery":
        from pyspark.sql.functions import expr

        counted = self._answers().observe("output", expr("count(1) as answers"))
        return counted.writeStream.format("noop").option("checkpointLocation", str(self._checkpoint)).start()

    def _answers(self) -> "DataFrame":
        from thalweg.dataflow.context import Context, Settings
        from thalweg.kinds.rules.rule_part import Rules
        from thalweg.model.time import Clock
        from thalweg.runtimes.spark.bucket_answers import BEGIN, END
        from thalweg.runtimes.spark.columns import shape_of
        from thalweg.runtimes.spark.dataframe import chain, pack_table
        from thalweg.runtimes.spark.job import spread
        from thalweg.runtimes.spark.shipped_job import ship

        contender, stream = self.result.contender, self.result.heat.stream
        if contender.engine is None:
            return self._own_join()
        program = lars.read(Source(stream.name, stream.rules(WINDOW)))
        context = Context(Settings(emit="changes"), Clock(), lambda warning: None)
        job = spread(Rules(program), context, contender.partitions).job
        stages = tuple(_evaluated_by(contender.engine, spec) for spec in job.plan.operators)
        shipped = ship(self._spark, replace(job, plan=replace(job.plan, operators=stages)))
        facts = self._facts()
        parcels = pack_table(shipped, shape_of(facts.columns, stream.signature.name, 1_000), facts, 0, all_wrong=False)
        answers = chain(shipped, parcels)
        return answers.where(f"kind in ('{BEGIN}', '{END}')").select("t", "kind", "fact")

    def _own_join(self) -> "DataFrame":
        """The join as one would write it in Spark itself: both sides with a watermark, so that it may forget."""
        # Spark's clock begins at 0, and what is not later than its watermark is late.
        facts = self._facts().selectExpr("*", "timestamp_seconds(t + 1) as moment")
        return self._spark.sql(_OWN_JOIN, facts=facts.withWatermark("moment", "0 seconds"))

    def _facts(self) -> "DataFrame":
        return self._spark.readStream.schema(_COLUMNS).option("maxFilesPerTrigger", 1).parquet(str(self._inbox))


@dataclass(frozen=True)
class SilentStageSpec(RuleStageSpec):
    """A stage whose engine says nothing."""

    engine: ClassVar[type[RuleEngine] | None] = Silent


@dataclass(frozen=True)
class EchoStageSpec(RuleStageSpec):
    """A stage whose engine says what came."""

    engine: ClassVar[type[RuleEngine] | None] = Echo


def _evaluated_by(engine: type[RuleEngine], spec: OpSpec) -> OpSpec:
    """A stage with another engine; other operators as they are."""
    stage = {Silent: SilentStageSpec, Echo: EchoStageSpec}.get(engine)
    if stage is None or not isinstance(spec, RuleStageSpec):
        return spec
    return stage(*(getattr(spec, attribute.name) for attribute in fields(spec)))


def state_size(spark: "SparkSession", checkpoint: Path, batch: int) -> int:
    """The bytes in the records of all stages after a batch, as Spark reads them back from a checkpoint."""
    metadata = spark.read.format("state-metadata").load(str(checkpoint))
    operators = metadata.select("operatorId", "operatorProperties").distinct().collect()
    reading = spark.read.format("statestore").option("batchId", batch)
    sizes = [
        reading.options(operatorId=operator, stateVarName=variable["stateName"])
        .load(str(checkpoint))
        .selectExpr(f"length({_DATA_OF[variable['stateVariableType']]}) as size")
        for operator, properties in operators
        for variable in json.loads(properties)["stateVariables"]
        if not variable["stateName"].startswith("about")
    ]
    total = reduce(lambda frame, more: frame.union(more), sizes).selectExpr("sum(size)").first()
    return int(total[0] or 0) if total else 0


def _sample(recent: Sequence[Mapping[str, Any]], rows: int) -> Sample:
    """Spark's progress over a file: one batch, or two where one side of a join found it before the other."""
    return Sample(
        rows,
        sum(progress["durationMs"]["triggerExecution"] for progress in recent) / 1_000,
        sum(progress["observedMetrics"]["output"]["answers"] for progress in recent),
        state_rows(recent[-1]),
        state_bytes(recent[-1]),
    )


def record(stream: Workload, folder: Path, files: int, rows: int) -> list[Path]:
    """Writes a stream to Parquet files with a number of rows each; no tick is in two of them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    assert rows % RATE == 0, "a file holds whole ticks"
    folder.mkdir(parents=True, exist_ok=True)
    pairs, ticks = stream.values(WINDOW, RATE), rows // RATE
    paths = [folder / f"{number:04}.parquet" for number in range(files)]
    for number, path in enumerate(paths):
        values = np.concatenate(list(islice(pairs, ticks)))
        time = np.repeat(np.arange(number * ticks, (number + 1) * ticks), RATE)
        pq.write_table(pa.table({"a": values[:, 0], "b": values[:, 1], "t": time}), path)
    return paths
