"""The benchmark on Spark: what is compared is the same work, and the verdict is about what it claims."""

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq
import pytest

from thalweg.bench import interleaved
from thalweg.bench.idle import Echo, Silent
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
    Sample,
    compete,
    engines,
    record,
)
from thalweg.bench.interleaved import session as fresh_session
from thalweg.bench.report import BenchmarkReport, BenchmarkTarget
from thalweg.bench.spark import batch_rows, draw_results, heats, row, verdict
from thalweg.bench.workload import CLOSURE, DENSE, DIAMOND, KEYED, Workload
from thalweg.diagnostics import Source
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.languages import lars
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.planning.partition import partition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HEAT = Heat("engines", 2, DENSE, engines(2), batches=8, rows=1_000)
STREAMS = (DIAMOND, KEYED, DENSE, CLOSURE)


def result(seconds: list[float], heat: Heat = HEAT, contender: Contender = HEAT.contenders[0]) -> HeatResult:
    samples = [Sample(heat.rows, each, 2 * heat.rows, 4, 1_000) for each in seconds]
    return HeatResult(heat, contender, samples, dict.fromkeys(range(len(samples)), 500))


def test_the_first_batches_do_not_count() -> None:
    found = result([60.0, 30.0, 1.0, 2.0, 4.0])
    assert (found.rate, found.latency, found.slowest, found.answers) == (500, 2.0, 4.0, 2.0)


def test_growth_compares_the_last_third_with_the_first() -> None:
    assert result([9.0, 9.0, 1.0, 1.0, 5.0, 5.0, 3.0, 3.0]).growth == 3
    assert result([9.0, 9.0, 1.0]).growth == 1


def test_state_is_compared_at_its_largest() -> None:
    found = result([1.0] * 8)
    found.state_sizes |= {2: 100, 3: 300, 6: 450, 7: 10}
    assert found.held_growth == 1.5


def test_a_share_is_taken_batch_by_batch() -> None:
    noisy, quiet = result([1.0, 1.0, 2.0, 20.0, 2.0]), result([1.0, 1.0, 1.0, 10.0, 1.0, 7.0])
    assert noisy.share_of(quiet) == 0.5
    assert quiet.share_of(noisy) == 2


@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: stream.name)
def test_a_recording_goes_on_from_file_to_file(stream: Workload, tmp_path: Path) -> None:
    files = record(stream, tmp_path, files=3, rows=2 * RATE)
    tables = [pq.read_table(file) for file in files]
    assert [table.num_rows for table in tables] == [2 * RATE] * 3
    assert Counter(chain(*(table["t"].to_pylist() for table in tables))) == dict.fromkeys(range(6), RATE)
    assert len({tuple(table["a"].to_pylist()) for table in tables}) == 3


@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: stream.name)
def test_every_program_is_split(stream: Workload) -> None:
    assert all(stage.split for stage in partition(lars.read(Source(stream.name, stream.rules(WINDOW)))).stages)


@pytest.mark.parametrize("idle", [Silent, Echo])
def test_an_idle_engine_is_restored_as_one(idle: type[Engine]) -> None:
    engine = idle(lars.read(Source(DENSE.name, DENSE.rules(WINDOW))), first=3)
    changes = engine.advance(5, [Batch(rows={Predicate("p", 2): np.array([5, 9, 9, 13])})])
    again = idle.restore(engine.program, engine.snapshot())
    assert (type(again), again.now, len(again.facts())) == (idle, 5, 0)
    assert [change.columns(engine.plan.outputs[Predicate("q0", 2)])[0].tolist() for change in changes] == (
        [] if idle is Silent else [[[5, 9], [9, 13]]]
    )


@pytest.mark.parametrize("quick", [True, False])
def test_the_verdict_finds_every_heat_it_needs(quick: bool, tmp_path: Path) -> None:
    results = [
        result([_seconds(each.name)] * heat.batches, heat, each) for heat in heats(quick) for each in heat.contenders
    ]
    targets = verdict(results)
    assert failed(targets) == {
        f"{name}, 2 cores: at least 60% of the pipeline whose engine concludes nothing"
        for name in ("join", "dense join")
    }
    report = BenchmarkReport(tmp_path, "spark")
    report.add("results", [row(each, results) for each in results])
    report.write("batches", [batch for each in results for batch in batch_rows(each)])
    report.close(targets)
    assert len(lines(report.folder / "results.csv")) == len(results)
    assert len(lines(report.folder / "batches.csv")) == sum(len(each.samples) for each in results)
    assert len(lines(report.folder / "verdict.csv")) == len(targets)
    if quick:
        draw_results(results, report.folder)
        assert {path.stem for path in report.folder.glob("*.svg")} == {"throughput", "partitions", "along"}


def test_the_verdict_sees_what_grows() -> None:
    results = [result([1.0] * heat.batches, heat, each) for heat in heats(True) for each in heat.contenders]
    (dense,) = (each for each in results if is_dense(each.heat) and each.contender.name == ENGINE)
    dense.samples[:] = [replace(each, seconds=1.0 + n) for n, each in enumerate(dense.samples)]
    dense.state_sizes |= {len(dense.samples) - 1: 5_000}
    missed = failed(verdict(results))
    assert any("cost per row" in claim for claim in missed)
    assert any("state in the store" in claim for claim in missed)
    assert any("faster than Spark's own" in claim for claim in missed)


def is_dense(heat: Heat) -> bool:
    return (heat.about, heat.cores, heat.stream) == ("engines", 2, DENSE)


def _seconds(name: str) -> float:
    return {ENGINE: 2.0, SILENT: 1.0, ECHO: 1.5, SPARK: 20.0, PANDAS: 90.0}[name]


def failed(targets: list[BenchmarkTarget]) -> set[str]:
    return {target.claim for target in targets if not target.holds}


def lines(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def in_configured_session(session: "SparkSession", monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The benchmark takes the session that is open, with its own settings, and leaves it as it was."""
    before: dict[str, str] = {}

    def configured(*_: object, conf: dict[str, str]) -> "SparkSession":
        before.update((key, session.conf.get(key)) for key in conf)
        for key, value in conf.items():
            session.conf.set(key, value)
        return session

    monkeypatch.setattr(interleaved, "open_session", configured)
    monkeypatch.setattr(interleaved, "stop_session", lambda _: None)
    yield
    for key, value in before.items():
        session.conf.set(key, value)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.usefixtures("in_configured_session")
def test_all_do_what_they_are_measured_for(tmp_path: Path) -> None:
    batches, rows = WARM_UP + 1, 2 * RATE
    three = Contender(ENGINE, Engine, 2), Contender(ECHO, Echo, 2), Contender(SPARK, None, 2, most=0)
    heat = Heat("engines", 2, DENSE, three, batches, rows)
    with fresh_session(2) as spark:
        found = {each.contender.name: each for each in compete(spark, heat)}
    assert all(len(each.samples) == batches for each in found.values())
    answers = {name: sum(sample.answers for sample in each.samples) for name, each in found.items()}
    pairs = [row.values() for file in record(DENSE, tmp_path, batches, rows) for row in pq.read_table(file).to_pylist()]
    # The last tick is still open when the last batch has been taken.
    closed = [(a, b) for a, b, t in pairs if t < batches * rows // RATE - 1]
    assert answers[ECHO] == len(closed)
    assert answers[ENGINE] == len(set(meetings(closed)))
    assert answers[SPARK] == len(meetings([(a, b) for a, b, _ in pairs]))
    assert found[ENGINE].state_sizes[batches - 1] > 16 * rows


def meetings(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    starting: dict[int, list[int]] = {}
    for a, b in pairs:
        starting.setdefault(a, []).append(b)
    return [(a, c) for a, b in pairs for c in starting.get(b, ())]
