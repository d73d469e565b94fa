"""A real cluster, a master and two workers on the loopback: what is killed is replaced, and no answer changes."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from spark.city import assert_same, batches, run_words, spark_line, write_city
from spark.commands import run as run_here
from spark.processes import Family, kill, started, thalweg, wait_until

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc")

DEPLOY = "org.apache.spark.deploy"
EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


# A process with mounts of its own, where that is allowed.
APART = ["unshare", "--mount", "--propagation", "private"]


@dataclass(frozen=True, slots=True)
class Cluster:
    """A master that answers, and workers that it knows."""

    master: str
    workers: tuple[Family, ...]

    def executors(self) -> list[int]:
        return [one for worker in self.workers for one in worker.members(saying=EXECUTOR)]


@contextmanager
def cluster(folder: Path, hidden: Path | None = None) -> Iterator[Cluster]:
    """One core for each worker, which do not see what is hidden; whatever happens, nothing of it is left in the end."""
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        said = folder / "master.txt"
        stack.enter_context(started(spark_class("master.Master", "--port", str(port)), said, **surroundings()))
        wait_until(lambda: "New state: ALIVE" in said.read_text(), "there is no master")
        workers = [stack.enter_context(worker(folder / name, master, hidden)) for name in ("first", "second")]
        yield Cluster(master, tuple(workers))


@contextmanager
def worker(folder: Path, master: str, hidden: Path | None = None) -> Iterator[Family]:
    said = folder.with_suffix(".txt")
    options = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder), master)
    line = spark_class("worker.Worker", *options)
    if hidden is not None:
        line = [*APART, "bash", "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(hidden), *line]
    with started(line, said, **surroundings()) as family:
        wait_until(lambda: "Successfully registered" in said.read_text(), f"the {folder.name} worker is alone")
        yield family


def spark_class(name: str, *options: str) -> list[str]:
    from pyspark.find_spark_home import _find_spark_home

    start = str(Path(_find_spark_home(), "bin", "spark-class"))
    return ["bash", start, f"{DEPLOY}.{name}", "--host", "127.0.0.1", "--webui-port", "0", *options]


def surroundings() -> dict[str, str]:
    from thalweg.runtimes.spark.java import find_java

    return {"JAVA_HOME": str(find_java().home), "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": "127.0.0.1"}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@pytest.mark.slow
def test_a_cluster_that_loses_processes_gives_the_same_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """First an executor, which the cluster replaces; then the driver; then a worker with all that is on it."""
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    said = tmp_path / "said.txt"
    write_city(tmp_path, ticks=800)
    run_here(*run_words(tmp_path, "embedded"))
    with cluster(tmp_path) as there:
        line = spark_line(tmp_path, there.master, "--partitions", "2")
        with started(line, said) as driver:
            wait_for_batches(tmp_path, driver, 1, said)
            assert len(there.executors()) == 2
            kill(there.executors()[0])
            wait_for_batches(tmp_path, driver, 1, said)
            driver.kill_group()
            driver.wait()
        with started(line, said) as driver:
            wait_for_batches(tmp_path, driver, 1, said)
            for process in there.workers[0].members():
                kill(process)
            assert driver.wait() == 0, said.read_text()
        assert not there.workers[0].members()
        assert_same(tmp_path)


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
@pytest.mark.skipif(subprocess.run([*APART, "true"]).returncode != 0, reason="needs mounts of its own")
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


def wait_for_batches(folder: Path, driver: Family, more: int, said: Path) -> None:
    until = batches(folder) + more
    wait_until(lambda: batches(folder) >= until or driver.ended, "no batch is delivered")
    assert not driver.ended, said.read_text()
