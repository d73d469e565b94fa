"""Commands as processes, with all the processes that they start: to be looked at, to be killed, and to be gone after.

A process that loses its parent gets another one, so a family is known by a variable that it inherits.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from uuid import uuid4

MARK = "THALWEG_TEST_FAMILY"
DAEMON = "thalweg.runtimes.spark.worker_daemon"
"""The module that forks Python workers."""
PATIENCE = 300.0
BYTES = 20
"""About as many as a fact has."""

# Small batches and segments, of which few wait, so that a small stream takes many batches.
_SMALL = """
from thalweg.runtimes.spark import receiver, recordings
recordings.SIZES = recordings.BatchSizes({batch}, {batch}, {batch}, 1)
receiver.SEGMENT, receiver.MOST_SEGMENTS, receiver._ITEMS = {batch}, {waiting}, {segment}
from thalweg.cli import main
main()
"""


def thalweg(*arguments: str | Path, segment: int = 100_000, waiting: int = 32) -> list[str]:
    """The command line `thalweg …`, without a summary.

    `segment` is about how many facts are in a batch, or are received together, and `waiting` how many segments of these
    may wait for Spark: with one, the source is as slow as what takes its facts, and no batch has more.
    """
    quiet = ["--quiet"] if arguments[0] == "run" else []
    small = _SMALL.format(segment=segment, waiting=waiting, batch=BYTES * segment)
    return [sys.executable, "-c", small, *map(str, arguments), *quiet]


@dataclass(frozen=True, slots=True)
class Family:
    """A command, and all the processes that it has started."""

    mark: str
    process: "subprocess.Popen[bytes]"

    def members(self, *, saying: str = "") -> list[int]:
        """Those that are alive; `saying`: with this word on their command lines."""
        mine = [one for one in _processes() if self.mark in _environment(one)]
        return [one for one in mine if not saying or saying in _words(one)]

    def forked(self, module: str) -> list[int]:
        """Those that a daemon has forked, which is of a module: they do the work, and the daemon does none."""
        daemons = self.members(saying=module)
        return [one for one in daemons if _parent(one) in daemons]

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    def kill_group(self) -> None:
        """The command and its Java at once."""
        os.killpg(self.process.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Until the command has ended, and nothing that it started is left: how it ended."""
        code = self.process.wait(PATIENCE)
        wait_until(lambda: not self.members(), "processes are left behind")
        return code


@contextmanager
def started(line: Sequence[str], said: Path, **variables: str) -> Iterator[Family]:
    """Starts a command in a group of its own; what it says is added to a file. In the end nothing is left of it."""
    mark = uuid4().hex
    with said.open("ab") as file:
        process = subprocess.Popen(
            line, stdout=file, stderr=file, start_new_session=True, env=os.environ | variables | {MARK: mark}
        )
    family = Family(mark, process)
    try:
        yield family
    finally:
        for one in family.members():
            kill(one)
        process.wait()


def run(line: Sequence[str], said: Path) -> int:
    """Runs a command to its end."""
    with started(line, said) as family:
        return family.wait()


def kill(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return


def wait_until(happened: Callable[[], bool], otherwise: str, patience: float = PATIENCE) -> None:
    until = monotonic() + patience
    while not happened():
        assert monotonic() < until, otherwise
        sleep(0.05)


def _processes() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _environment(process: int) -> str:
    return _read(process, "environ")


def _words(process: int) -> list[str]:
    return _read(process, "cmdline").split("\0")


def _parent(process: int) -> int:
    return int((_read(process, "stat").rpartition(")")[2].split() or ["", "0"])[1])


def _read(process: int, file: str) -> str:
    """What the system says of a process; nothing where it is gone, or another user's."""
    try:
        return Path(f"/proc/{process}/{file}").read_text(errors="replace")
    except OSError:
        return ""
