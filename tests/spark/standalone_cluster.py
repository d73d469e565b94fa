"""A standalone cluster of Spark on the loopback: a master, and workers with folders of their own.

Where that is allowed, workers do not see the folder of the driver either.
"""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from brokers import free_port
from spark.processes import Family, kill, started, wait_until

DEPLOY = "org.apache.spark.deploy"
EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"

# A process with mounts of its own, where that is allowed.
APART = ["unshare", "--mount", "--propagation", "private"]
needs_mounts = pytest.mark.skipif(subprocess.run([*APART, "true"]).returncode != 0, reason="needs mounts of its own")


@dataclass(frozen=True, slots=True)
class Cluster:
    """A master that answers, and the workers that it knows: one core each."""

    master: str
    folder: Path
    hidden: Path | None
    workers: list[Family]
    started: ExitStack
    numbers: Iterator[int]

    def executors(self) -> list[int]:
        return [process for worker in self.workers for process in worker.members(saying=EXECUTOR)]

    def lose_worker(self) -> Family:
        """Kills the oldest worker, with all that is on it."""
        lost = self.workers.pop(0)
        lost.kill_group()
        for process in lost.members():
            kill(process)
        return lost

    def add_worker(self) -> None:
        """Starts a worker, and waits until the master knows it."""
        place = self.folder / f"worker{next(self.numbers)}"
        self.workers.append(self.started.enter_context(worker(place, self.master, self.hidden)))


@contextmanager
def cluster(folder: Path, hidden: Path | None = None) -> Iterator[Cluster]:
    """Two workers, which do not see what is hidden; whatever happens, nothing of it is left in the end."""
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        said = folder / "master.txt"
        stack.enter_context(started(spark_class("master.Master", "--port", str(port)), said, **surroundings()))
        wait_until(lambda: "New state: ALIVE" in said.read_text(), "there is no master")
        there = Cluster(master, folder, hidden, [], stack, count(1))
        there.add_worker()
        there.add_worker()
        yield there


@contextmanager
def worker(folder: Path, master: str, hidden: Path | None) -> Iterator[Family]:
    said = folder.with_suffix(".txt")
    options = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder), master)
    line = spark_class("worker.Worker", *options)
    if hidden is not None:
        line = [*APART, "bash", "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(hidden), *line]
    with started(line, said, **surroundings()) as family:
        wait_until(lambda: "Successfully registered" in said.read_text(), f"{folder.name} is alone")
        yield family


def spark_class(name: str, *options: str) -> list[str]:
    from pyspark.find_spark_home import _find_spark_home

    start = str(Path(_find_spark_home(), "bin", "spark-class"))
    return ["bash", start, f"{DEPLOY}.{name}", "--host", "127.0.0.1", "--webui-port", "0", *options]


def surroundings() -> dict[str, str]:
    from thalweg.runtimes.spark.java import find_java

    return {"JAVA_HOME": str(find_java().home), "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": "127.0.0.1"}
