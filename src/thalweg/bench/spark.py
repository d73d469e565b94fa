"""The Spark runtime compared with the least that it could cost, and with Spark's own operators; and what it costs whom.

◇, a join and a closure over ids from Parquet, on one core and on two. Beside each the same pipeline with an idle
engine, which concludes nothing, or its input again. Beside the join Spark's own join of two streams, and one in
`applyInPandasWithState`. All of it in one run and in turns; times differ from machine to machine, and the verdict is
about ratios. Then the CPU time of a fact and of a batch (`spark_costs`, `spark_batches`), what that would mean on a
cluster (`spark_model`), how long answers take (`spark_latency`), and two programs beside what would stand in for them
(`spark_comparisons`).
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from thalweg.bench.interleaved import (
    ECHO,
    ENGINE,
    PANDAS,
    RATE,
    SILENT,
    SPARK,
    WARM_UP,
    WINDOW,
    Contender,
    Heat,
    HeatResult,
    compete,
    cores_of,
    engines,
    session,
    workplace,
)
from thalweg.bench.plot import Lines, Panel, add_point, draw
from thalweg.bench.report import BenchmarkReport, BenchmarkTarget, Row
from thalweg.bench.spark_batches import BatchCost, batch_costs
from thalweg.bench.spark_comparisons import PAYMENTS, TAXONOMY, CpuComparison, comparisons
from thalweg.bench.spark_costs import BROKER, CostOfFact, costs, streams
from thalweg.bench.spark_latency import AnswerLatency, latency
from thalweg.bench.spark_model import ModelledCluster, batch_seconds, modelled
from thalweg.bench.workload import CLOSURE, DENSE, DIAMOND, KEYED, Workload
from thalweg.kinds.rules.rule_engine import RuleEngine

_ENOUGH: Final = 0.6
_FLAT: Final = 1.15
_BOUNDED: Final = 1.5
_CORES: Final = 2
# Partitions, buckets and levels of a batch with one fact.
_SHAPES: Final = ((2, 2, 1), (2, 8, 1), (2, 64, 1), (4, 64, 1), (64, 64, 2))
# CPU time: microseconds of the driver's Python a fact, and of workers a row of Parquet; a batch beside an empty one.
_DRIVER_US: Final = 0.2
_WORKERS_US: Final = 3.0
_OF_EMPTY: Final = 1.3
_OF_OTHERS: Final = {PAYMENTS: 2.0, TAXONOMY.format("rl"): 4.0, TAXONOMY.format("auto"): 4.0}
# Seconds.
_FIRST: Final = 10.0
_STEADY: Final = 1.0


def heats(quick: bool) -> list[Heat]:
    """The heats to measure, grouped by the number of cores."""
    rows = 80_000 if quick else 400_000
    own = Contender(SPARK, None, _CORES, most=10 if quick else 60)
    spread = tuple(Contender(ENGINE, RuleEngine, number) for number in ((1, 4) if quick else (1, 2, 4, 8)))
    main = [
        Heat("engines", _CORES, DIAMOND, engines(_CORES), 4 if quick else 8, rows),
        Heat("engines", _CORES, DENSE, (*engines(_CORES), own), 8 if quick else 17, rows),
        Heat("engines", _CORES, KEYED, engines(_CORES), 5 if quick else 11, rows),
        Heat("engines", _CORES, CLOSURE, engines(_CORES), 4 if quick else 8, rows),
        Heat("partitions", _CORES, DENSE, spread, 4 if quick else 7, rows),
        # A group of pandas for each value: a hundredth of the rows takes it as long.
        Heat("pandas", _CORES, DENSE, _with_pandas(10 if quick else 60), 4, 4_000 if quick else 20_000),
    ]
    streams = (DENSE,) if quick else (DIAMOND, KEYED, DENSE, CLOSURE)
    single = [Heat("engines", 1, stream, engines(1), 4 if quick else 5, rows) for stream in streams]
    if not quick:
        # On one core Spark's own join is waited for with fewer rows.
        pair = Contender(ENGINE, RuleEngine, 1), Contender(SPARK, None, 1, most=40)
        single.append(Heat("spark", 1, DENSE, pair, 4, 80_000))
    return [*single, *main]


def _with_pandas(most: float) -> tuple[Contender, ...]:
    return Contender(ENGINE, RuleEngine, _CORES), Contender(PANDAS, None, _CORES, most=most)


def main(out: Path, quick: bool = False) -> None:
    """Measures, prints the tables, and writes CSV files and pictures to the folder `spark` of `out`."""
    report = BenchmarkReport(out, "spark")
    results = list(_measured(heats(quick), report))
    report.add("results", [row(result, results) for result in results], "steady state; nothing and echo: idle engines")
    report.write("batches", [batch for result in results for batch in batch_rows(result)])
    draw_results(results, report.folder)
    found = _measured_costs(report, quick)
    draw_costs(found, report.folder)
    report.close([*verdict(results), *cost_targets(found)])


@dataclass(frozen=True, slots=True)
class SparkCosts:
    """What was measured of facts, batches and answers, and what it would mean on a cluster."""

    facts: Sequence[CostOfFact]
    shapes: Sequence[BatchCost]
    answers: AnswerLatency
    clusters: Sequence[ModelledCluster]
    comparisons: Sequence[CpuComparison]


def _measured_costs(report: BenchmarkReport, quick: bool) -> SparkCosts:
    if not os.environ.get(BROKER):
        report.log(f"Kafka is not measured: name a broker in the variable {BROKER}")
    facts = [*costs(streams(quick), report.log)]
    report.add("costs", facts)
    report.log("batches of one fact")
    with session(_CORES) as spark, workplace() as folder:
        shapes = [*batch_costs(spark, _SHAPES[:2] if quick else _SHAPES, 3 if quick else 8, Path(folder))]
    report.add("shapes", shapes)
    report.log("latency")
    answers = latency(quick)
    report.add("latency", [answers])
    seconds = batch_seconds([shape for shape in shapes if shape.levels == 1])
    clusters = [cluster for cost in facts if cost.program == "join" for cluster in modelled(cost, seconds)]
    report.add("model", clusters)
    compared = [*comparisons(quick, report.log)]
    report.add("comparisons", compared)
    return SparkCosts(facts, shapes, answers, clusters, compared)


def cost_targets(found: SparkCosts) -> list[BenchmarkTarget]:
    """What CPU time and latency should be at most."""
    sources = [cost for cost in found.facts if cost.program == "join"]
    driver = max(cost.driver_us for cost in sources)
    (parquet,) = (cost for cost in sources if cost.source == "Parquet")
    shape = max(found.shapes, key=lambda shape: (shape.buckets, shape.partitions))
    cut = f"{shape.partitions} partitions, {shape.buckets} buckets, {shape.levels} levels"
    empty = f"a batch of one fact, {cut}: at most {_OF_EMPTY} × an empty operator"
    driven = f"driver's Python: at most {_DRIVER_US} µs a fact from any source"
    worked = f"workers' Python: at most {_WORKERS_US:g} µs a row of Parquet"
    half = found.answers.half_within_s
    return [
        BenchmarkTarget(driven, f"{driver:.2f} µs", driver <= _DRIVER_US),
        BenchmarkTarget(worked, f"{parquet.workers_us:.1f} µs", parquet.workers_us <= _WORKERS_US),
        BenchmarkTarget(empty, f"{shape.of_empty:.2f} ×", shape.of_empty <= _OF_EMPTY),
        BenchmarkTarget(
            f"first answer of two facts: within {_FIRST:g} s",
            f"{found.answers.first_s:.1f} s",
            found.answers.first_s <= _FIRST,
        ),
        BenchmarkTarget(
            f"half of the answers at 1,000 facts/s: within {_STEADY:g} s", f"{half:.2f} s", half <= _STEADY
        ),
        *(
            BenchmarkTarget(
                f"CPU time of {compared.what}: at most {most:g} ×", f"{compared.times:.1f} ×", compared.times <= most
            )
            for compared in found.comparisons
            if (most := _OF_OTHERS.get(compared.what)) is not None
        ),
    ]


def _measured(planned: list[Heat], report: BenchmarkReport) -> Iterator[HeatResult]:
    for cores, group in groupby(planned, key=lambda heat: heat.cores):
        with session(cores) as spark:
            for heat in group:
                report.log(f"{cores_of(heat)}: {heat}")
                yield from compete(spark, heat)


def verdict(results: list[HeatResult]) -> list[BenchmarkTarget]:
    """The engine against the targets, as ratios within one run."""
    dense = {result.contender.name: result for result in _heat(results, DENSE)}
    targets = [
        *(_share(results, stream, other) for stream in (KEYED, DENSE) for other in (SILENT, ECHO)),
        _faster(dense[ENGINE], dense[SPARK]),
    ]
    for about, other in (("spark", SPARK), ("pandas", PANDAS)):
        pair = {result.contender.name: result for result in results if result.heat.about == about}
        if pair:
            targets.append(_faster(pair[ENGINE], pair[other]))
    return [*targets, _flat(dense[ENGINE], dense[SILENT]), _bounded(dense[ENGINE])]


def _heat(results: list[HeatResult], stream: Workload) -> list[HeatResult]:
    """The results of a heat: contenders that ran side by side on a stream, on all cores."""
    return [
        result
        for result in results
        if (result.heat.about, result.heat.cores, result.heat.stream) == ("engines", _CORES, stream)
    ]


def _share(results: list[HeatResult], stream: Workload, other: str) -> BenchmarkTarget:
    by_name = {result.contender.name: result for result in _heat(results, stream)}
    share = by_name[ENGINE].share_of(by_name[other])
    what = "concludes nothing" if other == SILENT else "echoes its input"
    claim = f"{_name(by_name[ENGINE])}: at least {_ENOUGH:.0%} of the pipeline whose engine {what}"
    return BenchmarkTarget(claim, f"{share:.0%}", share >= _ENOUGH)


def _faster(mine: HeatResult, own: HeatResult) -> BenchmarkTarget:
    ratio = mine.share_of(own)
    other = "Spark's own join of two streams" if own.contender.name == SPARK else "a join in applyInPandasWithState"
    return BenchmarkTarget(f"{_name(mine)}: faster than {other}", f"{ratio:.1f} ×", ratio > 1)


def _flat(mine: HeatResult, idle: HeatResult) -> BenchmarkTarget:
    """A machine that slows down slows both; what counts is what the engine adds to that."""
    claim = f"{_name(mine)}: cost per row in the last third at most {_FLAT} × that in the first"
    figure = f"{mine.growth:.2f} ×, of doing nothing {idle.growth:.2f} ×"
    return BenchmarkTarget(claim, figure, mine.growth <= _FLAT * max(1, idle.growth))


def _bounded(mine: HeatResult) -> BenchmarkTarget:
    claim = f"{_name(mine)}: state in the store in the last third at most {_BOUNDED} × that in the first"
    per_fact = max(mine.state_sizes.values()) / (RATE * (WINDOW + 1))
    figure = f"{mine.held_growth:.2f} ×, {per_fact:.0f} bytes for each fact in the window"
    return BenchmarkTarget(claim, figure, mine.held_growth <= _BOUNDED)


def _name(result: HeatResult) -> str:
    return f"{result.heat.stream.name}, {cores_of(result.heat)}"


def _key(result: HeatResult) -> dict[str, Any]:
    """The columns that say what was measured."""
    heat, contender = result.heat, result.contender
    return {
        "about": heat.about,
        "cores": heat.cores,
        "program": heat.stream.name,
        "partitions": contender.partitions,
        "engine": contender.name,
    }


def row(result: HeatResult, results: list[HeatResult]) -> Row:
    """A contender as the table and the CSV file have it; `of_nothing` compares it with the silent engine."""
    heat = {other.contender.name: other for other in results if other.heat is result.heat}
    return _key(result) | {
        "rows_a_batch": result.heat.rows,
        "batches": len(result.steady),
        "rows_per_s": result.rate,
        "latency_s": result.latency,
        "slowest_s": result.slowest,
        "of_nothing": result.share_of(heat[SILENT]) if SILENT in heat else None,
        "answers_per_row": result.answers,
        "last_to_first": result.growth,
        "state_bytes": max(result.state_sizes.values(), default=None),
        "store_bytes": result.samples[-1].state_bytes,
    }


def batch_rows(result: HeatResult) -> Iterator[Row]:
    """Every batch, those of warming up too; the size of the records where it was looked up."""
    for batch, sample in enumerate(result.samples):
        yield _key(result) | {
            "batch": batch,
            "rows": sample.rows,
            "seconds": sample.seconds,
            "answers": sample.answers,
            "state_records": sample.state_rows,
            "store_bytes": sample.state_bytes,
            "state_bytes": result.state_sizes.get(batch),
        }


def draw_results(results: list[HeatResult], folder: Path) -> None:
    """Throughput by cores and by partitions, and along the run the cost of a row and the size of the state."""
    compared = [result for result in results if result.heat.about == "engines"]
    throughput = []
    for cores in sorted({result.heat.cores for result in compared}):
        bars: dict[str, dict[str, float]] = {}
        for result in compared:
            if result.heat.cores == cores:
                bars.setdefault(result.contender.name, {})[result.heat.stream.name] = result.rate
        throughput.append(Panel(f"{cores} cores" if cores > 1 else "1 core", "", "rows a second", bars=bars))
    draw(folder, "throughput", throughput, share_y=True)
    spread = Lines()
    for result in results:
        if result.heat.about == "partitions":
            add_point(spread, "engine", result.contender.partitions, result.rate)
    panel = Panel("join", "partitions", "rows a second", spread, from_zero=True)
    draw(folder, "partitions", [panel], size=(6, 3))
    costs, states = Lines(), Lines()
    for result in _heat(results, DENSE):
        costs[result.contender.name] = [(n, sample.cost) for n, sample in enumerate(result.steady, WARM_UP)]
        if result.state_sizes:
            states[result.contender.name] = [(n, size / 1e6) for n, size in result.state_sizes.items()]
    cost = Panel("cost along the run", "batch", "µs per row", costs, log="y")
    state = Panel("records in the state store", "batch", "MB", states, from_zero=True)
    draw(folder, "along", [cost, state], size=(5, 3.5))


def draw_costs(found: SparkCosts, folder: Path) -> None:
    """CPU time of a fact by process, of a batch by buckets, and facts a second by executors in the model."""
    bars = {
        name: {f"{cost.program}, {cost.source}": getattr(cost, f"{name}_us") for cost in found.facts}
        for name in ("driver", "java", "workers")
    }
    spent = Panel("CPU time of a fact", "", "µs", bars=bars, log="y")
    batches = Lines()
    for shape in found.shapes:
        cut = f"{shape.partitions} partitions{f', {shape.levels} levels' if shape.levels > 1 else ''}"
        add_point(batches, f"reason, {cut}", shape.buckets, shape.batch_s)
        add_point(batches, f"empty operator, {cut}", shape.buckets, shape.empty_s)
    rates = Lines()
    for cluster in found.clusters:
        add_point(rates, cluster.source, cluster.executors, cluster.facts_per_s)
    of_batch = Panel("a batch of one fact", "buckets", "CPU seconds", batches, from_zero=True)
    model = Panel("a model of a cluster", "executors of four cores", "facts a second", rates, log="xy")
    draw(folder, "costs", [spent, of_batch, model], size=(5, 3.5))
