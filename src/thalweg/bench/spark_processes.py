"""CPU time of a run on Spark, by the kind of its processes: the Python that drives it, Java, and the Python of workers.

On one machine the driver and the executor are one Java; what a cluster would run on many machines is in the figures of
Java and of workers. Figures come from /proc, so they are of Linux only.
"""

import os
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

_LOOK: Final = 0.1
_DRIVER, _JAVA, _WORKER = "driver", "java", "worker"


@dataclass(frozen=True, slots=True)
class SparkCpu:
    """Seconds of a core that the processes of a run have taken, by kind.

    >>> more, less = SparkCpu(2.0, 9.0, 6.0), SparkCpu(1.5, 5.0, 4.0)
    >>> (more - less).per(1_000_000)
    SparkCpu(driver=0.5, java=4.0, workers=2.0)
    """

    driver: float = 0.0
    java: float = 0.0
    workers: float = 0.0

    @property
    def total(self) -> float:
        return self.driver + self.java + self.workers

    def __sub__(self, other: "SparkCpu") -> "SparkCpu":
        return SparkCpu(self.driver - other.driver, self.java - other.java, self.workers - other.workers)

    def per(self, facts: int) -> "SparkCpu":
        """Microseconds for each of a number of facts."""
        return SparkCpu(*(1e6 * seconds / facts for seconds in (self.driver, self.java, self.workers)))


class CpuWatch:
    """Adds up what a process and all that it has started have used.

    What a process uses between the last look at it and its end is not counted, so it has to be looked at often where
    processes end.

    >>> CpuWatch(os.getpid()).look().driver > 0 or not Path("/proc/self/stat").exists()
    True
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._seen: dict[int, tuple[str, float]] = {}

    def look(self) -> SparkCpu:
        """What has been used so far."""
        todo = [self._root]
        while todo:
            process = todo.pop()
            # It may have ended meanwhile.
            with suppress(OSError):
                self._seen[process] = self._kind(process), _seconds(process)
                for path in Path(f"/proc/{process}/task").glob("*/children"):
                    todo += map(int, path.read_text().split())
        by_kind = (
            sum((seconds for kind, seconds in self._seen.values() if kind == one), 0.0)
            for one in (_DRIVER, _JAVA, _WORKER)
        )
        return SparkCpu(*by_kind)

    def _kind(self, process: int) -> str:
        if process == self._root:
            return _DRIVER
        program = Path(f"/proc/{process}/cmdline").read_bytes().partition(b"\0")[0]
        # A script may become Java; one that has ended, and is still listed, has lost its command line.
        if not program and process in self._seen:
            return self._seen[process][0]
        return _JAVA if program.endswith(b"java") else _WORKER


def _seconds(process: int) -> float:
    """What a process itself has used, without those that it has started."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class CommandRun:
    """How long a command took, and what its processes have used."""

    seconds: float
    cpu: SparkCpu


def measured_run(command: Sequence[str]) -> CommandRun:
    """Runs a command to its end, which must be a good one.

    >>> import sys
    >>> measured_run([sys.executable, "-c", "sum(range(10_000_000))"]).cpu.workers
    0.0
    """
    began = time.perf_counter()
    with TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
        watch = CpuWatch(process.pid)
        cpu = watch.look()
        while process.poll() is None:
            time.sleep(_LOOK)
            cpu = watch.look()
        seconds = time.perf_counter() - began
        said.seek(0)
        if process.returncode:
            raise RuntimeError(f"the command failed: {said.read().decode(errors='replace').strip()}")
    return CommandRun(seconds, cpu)
