"""A real cluster, a master and two workers on the loopback: what is killed is replaced, and no answer changes."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from spark.city import assert_same, batches, run_words, spark_line, write_city
from spark.commands import run as run_here
from spark.processes import Family, kill, started, wait_until

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc")

DEPLOY = "org.apache.spark.deploy"
EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A master that answers, and workers that it knows."""

    master: str
    workers: tuple[Family, ...]

    def executors(self) -> list[int]:
        return [one for worker in self.workers for one in worker.members(saying=EXECUTOR)]


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """One core for each worker; whatever happens, nothing of it is left in the end."""
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        said = folder / "master.txt"
        stack.enter_context(started(spark_class("master.Master", "--port", str(port)), said, **surroundings()))
        wait_until(lambda: "New state: ALIVE" in said.read_text(), "there is no master")
        workers = [stack.enter_context(worker(folder / name, master)) for name in ("first", "second")]
        yield Cluster(master, tuple(workers))


@contextmanager
def worker(folder: Path, master: str) -> Iterator[Family]:
    said = folder.with_suffix(".txt")
    options = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder), master)
    with started(spark_class("worker.Worker", *options), said, **surroundings()) as family:
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


def wait_for_batches(folder: Path, driver: Family, more: int, said: Path) -> None:
    until = batches(folder) + more
    wait_until(lambda: batches(folder) >= until or driver.ended, "no batch is delivered")
    assert not driver.ended, said.read_text()
