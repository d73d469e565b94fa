"""The runtime on Spark beside what people would use in its place: windows of Spark SQL, or the same run in one process.

Payments are answered in one session by `reason` and by SQL, in turns. A taxonomy is classified by the command, on Spark
and in one process; starting Spark dominates a run of some seconds, so the cost of further triples is beside it.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from thalweg.bench.command import COMMAND
from thalweg.bench.interleaved import session, workplace
from thalweg.bench.spark_costs import ON_SPARK
from thalweg.bench.spark_processes import CommandRun, CpuWatch, measured_run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PAYMENTS: Final = "payments, beside windows of Spark SQL"
TAXONOMY: Final = "taxonomy under {}, beside one process"
FURTHER: Final = "taxonomy under {}, each further triple"
PROFILES: Final = ("rl", "auto")

_CORES: Final = 2
_PAYMENTS_A_SECOND: Final = 1_000
_CARDS: Final = 20_000
_DECLINED: Final = 0.02
_MINUTES: Final = 10
_ALARMS: Final = f"""
alarm(C) :- pay(C,approved), N = count{{T : pay(C,declined) at T in [{_MINUTES} min]}}, N >= 3.
"""
_SAME_IN_SQL: Final = f"""
    select card, t from (
      select card, t, status, count_if(status = 'declined') over (
        partition by card order by t range between {60 * _MINUTES} preceding and current row
      ) as declines from payments
    ) where status = 'approved' and declines >= 3
"""

_CLASSES: Final = 2_000
_BRANCHES: Final = 5
"""Subclasses of each class."""
_TRIPLES: Final = 9_000
_TRIPLES_A_TICK: Final = 10
_TAXONOMY_WINDOW: Final = "20"


@dataclass(frozen=True, slots=True)
class CpuComparison:
    """CPU seconds of all processes on Spark, and of what it is compared with."""

    what: str
    rows: int
    spark_s: float
    other_s: float
    times: float


def comparisons(quick: bool, log: Callable[[str], None]) -> Iterator[CpuComparison]:
    """Measures payments and the taxonomy; a quick run has fewer of them."""
    log(PAYMENTS)
    with session(_CORES) as spark, workplace() as folder:
        yield payments(spark, Path(folder), 200_000 if quick else 5_000_000, turns=1 if quick else 2)
    log(TAXONOMY)
    yield from taxonomy(_TRIPLES // 9 if quick else _TRIPLES)


# Payments -------------------------------------------------------------------------------------------------------------


def payments(spark: "SparkSession", folder: Path, rows: int, turns: int) -> CpuComparison:
    """Three declines and then an approval of one card within ten minutes, at ticks of a second."""
    watch = CpuWatch(os.getpid())
    few, many = (write_payments(folder / f"{size}.parquet", size) for size in (rows // 20, rows))
    ways = (reasoned, in_sql)
    for way in ways:
        _cpu_of(watch, way(spark, few), f"{folder}/warm-up")
    seconds = [
        [_cpu_of(watch, way(spark, many), f"{folder}/{way.__name__}-{turn}") for way in ways] for turn in range(turns)
    ]
    ours, sql = np.mean(seconds, axis=0).tolist()
    last = rows // _PAYMENTS_A_SECOND - 1
    counts = [_alarms(spark, f"{folder}/{way.__name__}-0", last) for way in ways]
    if counts[0] != counts[1] or not counts[0]:
        raise RuntimeError(f"the alarms differ: {counts[0]:,} and {counts[1]:,}")
    return CpuComparison(PAYMENTS, rows, ours, sql, ours / sql)


def write_payments(path: Path, rows: int) -> str:
    """A file of payments in the order of time, of which a card makes one a second at most."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(rows)
    seconds = rows // _PAYMENTS_A_SECOND
    cards = np.concatenate([random.choice(_CARDS, _PAYMENTS_A_SECOND, replace=False) for _ in range(seconds)])
    status = np.where(random.random(cards.size) < _DECLINED, "declined", "approved")
    ticks = np.repeat(np.arange(seconds), _PAYMENTS_A_SECOND)
    pq.write_table(pa.table({"card": cards, "status": status, "t": ticks}), path, row_group_size=100_000)
    return str(path)


def reasoned(spark: "SparkSession", file: str) -> "DataFrame":
    """The alarms of `reason`."""
    from thalweg.spark import reason

    rows = spark.read.parquet(file)
    return reason(_ALARMS, rows, map="pay(card, status) at t", of="alarm/1").selectExpr("C as card", "from", "until")


def in_sql(spark: "SparkSession", file: str) -> "DataFrame":
    """The alarms of Spark's own windows."""
    spark.read.parquet(file).createOrReplaceTempView("payments")
    return spark.sql(_SAME_IN_SQL).selectExpr("card", "timestamp_seconds(t) as from", "timestamp_seconds(t) as until")


def _cpu_of(watch: CpuWatch, answers: "DataFrame", out: str) -> float:
    """CPU seconds of all processes until the answers are written."""
    before = watch.look()
    answers.write.mode("overwrite").parquet(out)
    return (watch.look() - before).total


def _alarms(spark: "SparkSession", out: str, last: int) -> int:
    """At how many seconds an alarm holds, of all cards; some are intervals, which may be open at the last second."""
    seconds = f"timestampdiff(second, from, coalesce(until, timestamp_seconds({last}))) + 1"
    (row,) = spark.read.parquet(out).selectExpr(f"sum({seconds}) as alarms").collect()
    return int(row["alarms"] or 0)


# Taxonomy -------------------------------------------------------------------------------------------------------------


def taxonomy(triples: int) -> Iterator[CpuComparison]:
    """Entailments of a class tree: of some triples, and of each further one of ten times as many.

    On Spark by several profiles, whose answers must be the same; in one process by `rl`.
    """
    with workplace() as place:
        folder = Path(place)
        ontology = folder / "classes.ttl"
        ontology.write_text(class_tree(_CLASSES))
        streams = [_members(folder / f"{size}.tnt", size) for size in (triples, 10 * triples)]
        alone = [_classified(ontology, stream, "rl") for stream in streams]
        for profile in PROFILES:
            small, large = (_classified(ontology, stream, profile, *ON_SPARK) for stream in streams)
            yield _compared(TAXONOMY.format(profile), triples, small.cpu.total, alone[0].cpu.total)
            further = [more.cpu.total - less.cpu.total for less, more in ((small, large), alone)]
            yield _compared(FURTHER.format(profile), 9 * triples, *further)
        if len({out.read_bytes() for out in folder.glob(f"{triples}-*.jsonl")}) > 1:
            raise RuntimeError("the entailments of two profiles differ")


def _compared(what: str, rows: int, spark_s: float, other_s: float) -> CpuComparison:
    return CpuComparison(what, rows, spark_s, other_s, spark_s / other_s)


def class_tree(classes: int) -> str:
    """An ontology in which each class but the first is a subclass of an earlier one."""
    lines = (f":C{number} rdfs:subClassOf :C{(number - 1) // _BRANCHES} ." for number in range(1, classes))
    head = "@prefix : <http://ex/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."
    return "\n".join((head, *lines, ""))


def _members(stream: Path, triples: int) -> Path:
    """A stream of members of the classes, ten a tick."""
    random = np.random.default_rng(triples)
    members = zip(
        random.integers(0, 1_000, triples).tolist(), random.integers(0, _CLASSES, triples).tolist(), strict=True
    )
    is_a = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    with stream.open("w", encoding="utf-8") as file:
        file.writelines(
            f"{number // _TRIPLES_A_TICK} <http://ex/i{member}> {is_a} <http://ex/C{of}> .\n"
            for number, (member, of) in enumerate(members)
        )
    return stream


def _classified(ontology: Path, stream: Path, profile: str, *runtime: str) -> CommandRun:
    """The command over a stream by a profile; its answers are beside the stream."""
    out = stream.with_name(f"{stream.stem}-{profile}{'-spark' if runtime else ''}.jsonl")
    options = ("--profile", profile, "--window", _TAXONOMY_WINDOW, "--emit", "changes", "--quiet", "--out", str(out))
    return measured_run([*COMMAND, str(ontology), "--stream", str(stream), *options, *runtime])
