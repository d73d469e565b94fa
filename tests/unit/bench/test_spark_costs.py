"""The CPU time of facts on Spark: what is measured is what is claimed, and the model follows from it."""

import csv
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from brokers import run_kafka
from thalweg.bench import spark_costs, spark_latency
from thalweg.bench.interleaved import joined_in_pandas
from thalweg.bench.report import BenchmarkReport
from thalweg.bench.spark import SparkCosts, cost_targets, draw_costs
from thalweg.bench.spark_batches import BatchCost, batch_costs
from thalweg.bench.spark_comparisons import FURTHER, PAYMENTS, TAXONOMY, CpuComparison, class_tree, payments
from thalweg.bench.spark_costs import BROKER, CostOfFact, MeasuredStream, cost_of, streams
from thalweg.bench.spark_latency import AnswerLatency
from thalweg.bench.spark_model import EXECUTORS, batch_seconds, modelled
from thalweg.bench.spark_processes import CommandRun, CpuWatch, SparkCpu, measured_run
from thalweg.cli import app

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")

BUSY = "import time\nwhile time.process_time() < 0.6: pass"


def test_processes_are_told_apart_also_after_their_end() -> None:
    nested = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BUSY!r}])"
    run = measured_run([sys.executable, "-c", nested])
    assert run.cpu.workers > 0.4
    assert run.cpu.driver < run.cpu.workers
    assert run.cpu.java == 0


def test_java_is_known_by_its_program(tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.symlink_to(sys.executable)
    with subprocess.Popen([java, "-c", f"{BUSY}\ntime.sleep(60)"]) as process:
        parent = CpuWatch(os.getpid())
        deadline = time.monotonic() + 300
        while parent.look().java < 0.4 and time.monotonic() < deadline:
            time.sleep(0.1)
        process.kill()
    assert parent.look().java >= 0.4


def test_a_command_that_fails_is_not_measured() -> None:
    with pytest.raises(RuntimeError, match="no such thing"):
        measured_run([sys.executable, "-c", "import sys; sys.exit('no such thing')"])


def test_a_fact_costs_what_more_of_them_take() -> None:
    stream = MeasuredStream("join", "facts", lambda folder, size: [], (100, 300))
    small = CommandRun(9.0, SparkCpu(2.0, 8.0, 3.0)), CommandRun(1.0, SparkCpu(1.0))
    large = CommandRun(9.9, SparkCpu(2.2, 9.0, 3.8)), CommandRun(1.1, SparkCpu(1.4))
    cost = cost_of(stream, small, large)
    assert (cost.facts, round(cost.driver_us), round(cost.java_us), round(cost.workers_us)) == (
        200,
        1_000,
        5_000,
        4_000,
    )
    assert (round(cost.spark_us), round(cost.embedded_us)) == (10_000, 2_000)
    # What is left of the small run without its facts.
    assert round(cost.start_s, 6) == 12.0


def test_the_evenings_of_the_city_are_counted_by_observation() -> None:
    (city,) = (stream for stream in streams(quick=True) if stream.program == "city")
    assert city.facts == 3 * 3_120


def answers(stream: MeasuredStream, folder: Path, size: int) -> list[str]:
    """The lines of a run in one process."""
    folder.mkdir()
    result = CliRunner().invoke(app, ["run", *stream.write(folder, size), "--emit", "changes", "--quiet"])
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def changes(stream: MeasuredStream, folder: Path) -> list[tuple[list[str], list[str]]]:
    """What begins and ends, without times: a table's numbers are times, and written so."""
    lines = map(json.loads, answers(stream, folder, 16_000))
    return [(line["begin"], line["end"]) for line in lines]


def joins() -> dict[str, MeasuredStream]:
    return {stream.source: stream for stream in streams(quick=False) if stream.program == "join"}


def test_every_source_has_the_same_facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(BROKER, raising=False)
    found = [changes(stream, tmp_path / source) for source, stream in joins().items()]
    assert len(found) == 4
    assert found[0]
    assert all(lines == found[0] for lines in found)


@pytest.mark.slow
@pytest.mark.broker
def test_messages_of_kafka_have_them_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with run_kafka(auto_create_topics_enable="true") as broker:
        monkeypatch.setenv(BROKER, broker.address)
        measured = joins()
        assert changes(measured["Kafka JSON"], tmp_path / "kafka") == changes(measured["facts"], tmp_path / "facts")


@pytest.mark.parametrize(("program", "size"), [("query", 16_000), ("cascade", 2_000), ("city", 1)])
def test_every_program_has_answers(program: str, size: int, tmp_path: Path) -> None:
    (stream,) = (stream for stream in streams(quick=True) if stream.program == program)
    assert answers(stream, tmp_path / program, size)


def test_kafka_is_measured_where_a_broker_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(BROKER, raising=False)
    assert "Kafka JSON" not in {stream.source for stream in streams(quick=True)}
    monkeypatch.setenv(BROKER, "127.0.0.1:9092")
    assert "Kafka JSON" in {stream.source for stream in streams(quick=True)}


COSTS = [CostOfFact("join", source, 1, 0.1, 3.0, 2.9, 6.0, 4.0, 9.0) for source in ("facts", "Parquet")]
SHAPES = [BatchCost(2, number, 1, 0.0, 0.3, 0.2, 0.4 + 0.05 * number, 0.4, 1.25) for number in (2, 8)]
ANSWERS = AnswerLatency(9.0, 0.5, 0.9, 1.2, 100)
COMPARED, SLOWER = (
    [
        CpuComparison(what, 100, 2.0 * times, 2.0, times)
        for what in (PAYMENTS, TAXONOMY.format("rl"), FURTHER.format("rl"))
    ]
    for times in (1.9, 4.1)
)


def test_in_the_model_executors_are_the_limit_until_the_driver_is() -> None:
    clusters = modelled(COSTS[0], batch_seconds(SHAPES))
    rates = [cluster.facts_per_s for cluster in clusters]
    assert [cluster.executors for cluster in clusters] == [*EXECUTORS]
    assert rates == sorted(rates)
    assert round(rates[1] / rates[0], 6) == 2
    assert {cluster.limit for cluster in clusters[:3]} == {"executors"}
    assert clusters[-1].limit == "driver"


def test_results_are_written_judged_and_drawn(tmp_path: Path) -> None:
    clusters = modelled(COSTS[0], batch_seconds(SHAPES))
    found = SparkCosts(COSTS, SHAPES, ANSWERS, clusters, COMPARED)
    assert [target.holds for target in cost_targets(found)] == [True] * 7
    slow = SparkCosts(COSTS, SHAPES, AnswerLatency(11.0, 1.5, 2.0, 3.0, 9), clusters, SLOWER)
    assert [target.holds for target in cost_targets(slow)] == [True, True, True, False, False, False, False]
    report = BenchmarkReport(tmp_path, "spark")
    report.add("model", clusters)
    draw_costs(found, report.folder)
    assert (report.folder / "costs.svg").exists()
    with (report.folder / "model.csv").open() as file:
        assert [int(row["executors"]) for row in csv.DictReader(file)] == [*EXECUTORS]


def test_delays_are_those_of_decided_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command in this process's place, without Spark: its answers come at once."""
    monkeypatch.setattr(spark_latency, "ON_SPARK", ())
    monkeypatch.setattr(spark_latency, "_SETTLING", 0.5)
    delays = spark_latency.steady_delays(1.0)
    assert len(delays) >= 5
    assert all(delay >= 0 for delay in delays)


@pytest.mark.slow
@pytest.mark.spark
def test_a_batch_and_an_empty_one_are_measured_and_joins_agree(session, tmp_path: Path) -> None:
    (cost,) = batch_costs(session, [(2, 8, 2)], 2, tmp_path)
    assert (cost.partitions, cost.buckets) == (2, 8)
    assert cost.java_s > 0
    assert cost.workers_s > 0
    assert cost.empty_s > 0
    session.conf.set("spark.sql.shuffle.partitions", 2)
    rows = [(1, 2, 0), (2, 3, 1), (2, 4, 2), (5, 1, 200)]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rows.json").write_text(
        "\n".join(json.dumps(dict(zip("abt", row, strict=True))) for row in rows)
    )
    facts = session.readStream.schema("a long, b long, t long").json(str(tmp_path / "in"))
    found: list[tuple[int, ...]] = []
    joined = joined_in_pandas(facts).writeStream.foreachBatch(
        lambda batch, _: found.extend(map(tuple, batch.collect()))
    )
    joined.option("checkpointLocation", str(tmp_path / "state")).trigger(availableNow=True).start().awaitTermination()
    # What is more than a window old meets nothing.
    assert sorted(found) == [(1, 3, 1), (1, 4, 2)]


@pytest.mark.slow
@pytest.mark.spark
def test_payments_have_the_same_alarms_in_sql(session, tmp_path: Path) -> None:
    """It fails where the alarms differ, or where there are none."""
    compared = payments(session, tmp_path, 200_000, turns=1)
    assert (compared.rows, compared.spark_s > 0, compared.other_s > 0) == (200_000, True, True)


def test_each_class_of_the_tree_is_below_the_first() -> None:
    above = dict(re.findall(r":(C\d+) rdfs:subClassOf :(C\d+)", class_tree(200)))
    assert len(above) == 199
    for name in [*above]:
        while name in above:
            name = above[name]
        assert name == "C0"


def test_the_broker_is_named_in_the_docs() -> None:
    page = Path(__file__).parents[3] / "docs" / "reference" / "spark-benchmark.md"
    assert f"`{spark_costs.BROKER}`" in page.read_text(encoding="utf-8")
