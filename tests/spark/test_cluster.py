"""A real cluster, a master and two workers on the loopback: what is killed is replaced, and no answer changes."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from object_store import run_store
from spark.city import (
    CASCADE,
    PROGRAM,
    SEGMENT,
    assert_same_answers,
    city_words,
    cut_events,
    delivered,
    late_facts,
    readings_of,
    result_words,
    write_city,
)
from spark.commands import run as run_here
from spark.processes import Family, started, thalweg, wait_until
from spark.standalone_cluster import cluster, needs_mounts, surroundings
from thalweg.demo import write_files
from thalweg.runtimes.spark.offset_log import last_batch
from thalweg.runtimes.stored_path import CheckpointPath, checkpoint_path

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc")


@dataclass(frozen=True, slots=True)
class Scenario:
    """A run: the folder that only the driver has, with all but the streams, and the words of the command."""

    own: Path
    words: list[str | Path]
    streams: list[Path]
    segment: int = SEGMENT


def city(own: Path, shared: Path, program: str, ticks: int) -> Scenario:
    """The readings of a city, and late ones among them."""
    write_city(own, ticks, program)
    readings = readings_of(own).rename(shared / readings_of(own).name)
    if program == CASCADE:
        cut_events(readings, events=150)
    return Scenario(own, city_words(own), [readings])


def demo(own: Path, shared: Path) -> Scenario:
    """Programs of all kinds, over four streams."""
    background, programs, streams = write_files(own)
    moved = [stream.rename(shared / stream.name) for stream in streams]
    for stream in moved:
        # About thirty files of each.
        cut_events(stream, events=stream.read_bytes().count(b"\n") // 4 // 30)
    return Scenario(own, [*programs, "--background", background], moved)


SCENARIOS: dict[str, Callable[[Path, Path], Scenario]] = {
    "join": lambda own, shared: city(own, shared, PROGRAM, ticks=900),
    "cascade": lambda own, shared: city(own, shared, CASCADE, ticks=900),
    "demo": demo,
}


@dataclass(frozen=True, slots=True)
class Shared:
    """Where driver and workers find streams and the checkpoint, and what a session must know of it."""

    address: Callable[[str], str]
    settings: dict[str, str] = field(default_factory=dict)


@contextmanager
def in_a_folder(shared: Path) -> Iterator[Shared]:
    """Named by a URI only."""
    yield Shared(lambda name: (shared / name).as_uri())


@contextmanager
def in_an_object_store(shared: Path) -> Iterator[Shared]:
    with run_store() as store, pytest.MonkeyPatch.context() as patch:
        for variable, value in store.environment.items():
            patch.setenv(variable, value)
        store.upload(shared, "city")
        yield Shared(lambda name: store.uri(f"city/{name}"), store.settings())


@needs_mounts
@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "place"),
    [("join", in_an_object_store), ("join", in_a_folder), ("cascade", in_a_folder), ("demo", in_a_folder)],
    ids=["join in an object store", "join", "cascade", "demo"],
)
def test_a_cluster_that_loses_processes_gives_the_same_answers(
    scenario: str,
    place: Callable[[Path], AbstractContextManager[Shared]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run loses three workers and then its driver; what goes on, the driver again; the last has twice the partitions.

    Workers do not see the folder of the driver.
    """
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    own, shared = tmp_path / "driver", tmp_path / "shared"
    own.mkdir()
    shared.mkdir()
    asked = SCENARIOS[scenario](own, shared)
    streams = [word for stream in asked.streams for word in ("--stream", stream)]
    run_here(*asked.words, *streams, *result_words(own, "embedded"))
    with place(shared) as there, cluster(tmp_path, hidden=own) as machines:
        uris = [word for stream in asked.streams for word in ("--stream", there.address(stream.name))]
        words = [*asked.words, *uris, *result_words(own, "spark"), "--runtime", "spark", "--master", machines.master]
        words += [word for pair in there.settings.items() for word in ("--conf", "=".join(pair))]
        line = thalweg("run", *words, "--checkpoint", there.address("run"), "--partitions", "2", segment=asked.segment)
        run = Resumed(checkpoint_path(there.address("run")), tmp_path / "said.txt")
        with started(line, run.said) as driver:
            for _ in range(3):
                run.wait_for_batches(1, driver)
                assert machines.executors()
                lost = machines.lose_worker()
                machines.add_worker()
                assert not lost.members()
            run.wait_for_batches(1, driver)
            driver.kill_group()
            driver.wait()
        with started(line, run.said) as driver:
            run.wait_for_batches(1, driver)
            driver.kill_group()
            driver.wait()
        before = run.batches
        with started([*line, "--partitions", "4"], run.said) as driver:
            run.wait_for_end(driver)
        last = last_batch(run.checkpoint)
        assert last is not None
        assert (last.partitions, run.batches > before) == (4, True)
        print(f"{scenario}: {before} batches of {run.batches} before the last start")
    assert_same_answers(own)
    assert late_facts(own / "spark.late.jsonl") == late_facts(own / "embedded.late.jsonl")


@dataclass(frozen=True, slots=True)
class Resumed:
    """A run over all its starts, and what they print."""

    checkpoint: CheckpointPath
    said: Path

    @property
    def batches(self) -> int:
        return delivered(self.checkpoint)

    def wait_for_batches(self, more: int, driver: Family) -> None:
        until = self.batches + more
        wait_until(lambda: self.batches >= until or driver.ended, "no batch is delivered")
        assert not driver.ended, self.said.read_text()

    def wait_for_end(self, driver: Family) -> None:
        """Waits as long as batches are delivered."""
        while not driver.ended:
            until = self.batches + 1
            wait_until(lambda: self.batches >= until or driver.ended, "no batch is delivered")  # noqa: B023
        assert driver.wait() == 0, self.said.read_text()


REASON = """
import sys
from pyspark.sql import SparkSession
from thalweg.spark import reason

spark = SparkSession.builder.master(sys.argv[1]).config("spark.sql.shuffle.partitions", 2).getOrCreate()
facts = spark.readStream.schema("x string, t long").parquet(sys.argv[2])
try:
    reason("q(X) :- p(X).", {"p": facts}).writeStream.format("noop").start(checkpointLocation=sys.argv[3])
except Exception as error:
    print(error)
"""


@pytest.mark.slow
@needs_mounts
def test_a_checkpoint_that_executors_do_not_see_is_refused_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    (disk := tmp_path / "disk").mkdir()
    (tmp_path / "q.lars").write_text("q(X) :- p(X).")
    (tmp_path / "in.facts").write_text("p(a) at 1.")
    (tmp_path / "tables").mkdir()
    refused = "the driver and the executors do not see the same files"
    with cluster(tmp_path, hidden=disk) as there:
        words = [tmp_path / "q.lars", "--stream", tmp_path / "in.facts", "--out", tmp_path / "out.jsonl"]
        place = ["--runtime", "spark", "--master", there.master, "--checkpoint", disk / "run"]
        said = tmp_path / "run.txt"
        with started(thalweg("run", *words, *place), said) as command:
            assert command.wait() == 1, said.read_text()
        assert f"error[E401]: cannot use `file:{disk / 'run'}` for checkpoints: {refused}" in said.read_text()
        assert not (tmp_path / "out.jsonl").exists()
        said = tmp_path / "reason.txt"
        line = [sys.executable, "-c", REASON, there.master, tmp_path / "tables", disk / "reason"]
        with started([*map(str, line)], said, PYSPARK_PYTHON=sys.executable, **surroundings()) as command:
            assert command.wait() == 0, said.read_text()
        assert f"error[E401]: cannot use `{disk / 'reason'}` for checkpoints: {refused}" in said.read_text()
