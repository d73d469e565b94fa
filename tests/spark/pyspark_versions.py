"""Environments with other versions of PySpark, and the packages of formats for them: fetched once, into a cache.

An environment is a folder that comes first on the path: all else is that of the tests. Where one cannot be had, tests
skip.
"""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

import thalweg
from brokers import CACHE, fetch, spark_kafka_jars
from thalweg.runtimes.spark.packages import coordinate

SOURCES = Path(thalweg.__file__).parents[1]
# What Delta and Iceberg need of all that they name: Spark brings the rest.
DELTA = ("storage", "kernel-api", "kernel-defaults", "kernel-unitycatalog")
PATIENCE = 600
_MAIN = """
from thalweg.cli import main
main()
"""
A_STEP_A_BATCH = """
from thalweg.runtimes.spark import recordings
recordings.SIZES = recordings.BatchSizes(1, 1, 1, 1)
"""
"""Recordings are read by as little in a batch as they can be cut into."""
NO_LAST_BATCH = """
from thalweg.runtimes.spark import run
run.NO_DATA = "thalweg.none"
"""
"""What reads to the end of its streams ends as if it were killed before the batch that closes the time."""


@dataclass(frozen=True)
class PySparkVersion:
    """A version of PySpark, in a folder of its own."""

    version: str
    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        path = os.pathsep.join(map(str, (self.folder, SOURCES)))
        return {**os.environ, "PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable}

    def start(self, *words: object, changed: str = "") -> "subprocess.Popen[str]":
        """`thalweg`, `changed` by some code, in a group of processes of its own, which can be killed as a whole."""
        command = [sys.executable, "-c", changed + _MAIN, *map(str, words)]
        return subprocess.Popen(
            command, env=self.environment, stderr=subprocess.PIPE, text=True, start_new_session=True
        )

    def run(self, *words: object, changed: str = "", code: int = 0) -> str:
        """`thalweg`, which must end well, or with a code; what it says."""
        process = self.start(*words, changed=changed)
        try:
            _, said = process.communicate(timeout=PATIENCE)
        finally:
            kill(process)
        assert process.returncode == code, said
        return said

    def python(self, script: str, *words: object) -> str:
        """What a script prints."""
        command = [sys.executable, "-c", script, *map(str, words)]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        return done.stdout


def kill(process: "subprocess.Popen[str]") -> None:
    """Kills a process and all that it has started, where it has not ended."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stderr is not None:
        process.stderr.close()


def pyspark_version(version: str) -> PySparkVersion:
    """The newest PySpark of a minor version."""
    folder = CACHE / f"pyspark-{version}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (CACHE / "pyspark.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            unfinished = folder.with_name(f"{folder.name}.unfinished")
            command = [sys.executable, "-m", "pip", "install", "-q", "--target", str(unfinished)]
            done = subprocess.run([*command, f"pyspark=={version}.*"], capture_output=True, text=True, timeout=900)
            if done.returncode:
                pytest.skip(f"PySpark {version} cannot be installed: {done.stderr.splitlines()[-1:]}")
            unfinished.rename(folder)
    return PySparkVersion(version, folder)


def jars(version: str, *formats: str) -> list[str]:
    """The options that give a run the packages of formats."""
    found: list[Path] = []
    for name in formats:
        if name == "kafka":
            found += spark_kafka_jars()
        else:
            found += fetch(f"{name}-{version}", *_needed(name, version), alone=True)
    return [word for jar in found for word in ("--jar", str(jar))]


def _needed(name: str, version: str) -> Sequence[str]:
    own = coordinate(name, version)
    if name != "delta":
        return (own,)
    number = own.rpartition(":")[2]
    return (own, *(f"io.delta:delta-{part}:{number}" for part in DELTA))
