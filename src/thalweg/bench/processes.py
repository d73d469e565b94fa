"""Measuring processes: a function in a process of its own, with limits; time, memory and cores of a process."""

import ctypes
import gc
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")
Samples = list[tuple[int, int]]
"""How much has been sent to a process so far, and the bytes of it that are in memory."""

MEGABYTE: Final = 1_000_000
_POLL: Final = 0.05


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """How many seconds a function takes, and its result."""
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


@dataclass(frozen=True, slots=True)
class IsolatedOutcome(Generic[T]):
    """The result of a function, or why it was stopped."""

    result: T | None
    stopped: str = ""


def isolated(
    work: Callable[..., T], *arguments: object, seconds: float = 600.0, memory: int = 8_000 * MEGABYTE
) -> IsolatedOutcome[T]:
    """Runs a function of a module in another process, which is stopped at a limit of time or memory.

    >>> from operator import add
    >>> isolated(add, 2, 3)
    IsolatedOutcome(result=5, stopped='')
    >>> isolated(time.sleep, 10, seconds=0.1)
    IsolatedOutcome(result=None, stopped='more than 0.1 s')
    """
    context = get_context("spawn")
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(theirs, work, arguments))
    process.start()
    theirs.close()
    began = time.monotonic()
    try:
        while not mine.poll(_POLL):
            if time.monotonic() - began > seconds:
                return IsolatedOutcome(None, f"more than {seconds:g} s")
            if sum(map(resident, _family(process.pid))) > memory:
                return IsolatedOutcome(None, f"more than {memory // MEGABYTE:,} MB")
        result, error = mine.recv()
        if error is not None:
            raise error
        return IsolatedOutcome(result)
    finally:
        if process.is_alive():
            process.terminate()
        process.join()
        mine.close()


def _work(out: Connection, work: Callable[..., Any], arguments: tuple[object, ...]) -> None:
    try:
        out.send((work(*arguments), None))
    except Exception as error:
        out.send((None, error))


def sample_memory(
    command: Sequence[str], blocks: Iterable[tuple[int, str]], ready: Callable[[], bool] = lambda: True
) -> Samples:
    """Feeds a command blocks of text, each with the number of its facts; its memory after each, once it is ready."""
    samples, sent = Samples(), 0
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True, **quiet) as process:  # type: ignore[call-overload]
        for number, text in blocks:
            process.stdin.write(text)
            process.stdin.flush()
            sent += number
            if samples or ready():
                samples.append((sent, resident(process.pid)))
        process.stdin.close()
    assert process.returncode == 0, "the command failed"
    return [sample for sample in samples if sample[1]]


def resident(process: int | str = "self") -> int:
    """Bytes of a process that are in memory; 0 where the system does not report it."""
    with suppress(OSError):
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _family(process: int | None) -> Iterator[int]:
    """A process and those that it started."""
    if process is not None:
        yield process
        for path in Path(f"/proc/{process}/task").glob("*/children"):
            # A thread may have ended meanwhile.
            with suppress(OSError):
                yield from map(int, path.read_text().split())


def cpu_seconds() -> float:
    """Seconds of a core that this process and those that it started have taken: other work does not count.

    >>> began = cpu_seconds()
    >>> cpu_seconds() >= began
    True
    """
    children = (process for process in _family(os.getpid()) if process != os.getpid())
    ended = os.times()
    return time.process_time() + ended.children_user + ended.children_system + sum(map(_cpu_seconds_of, children))


def _cpu_seconds_of(process: int) -> float:
    with suppress(OSError):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


class Footprint:
    """How much larger this process and those that it started have been at most than when this was made.

    >>> footprint = Footprint()
    >>> room = bytearray(50_000_000)
    >>> del room
    >>> footprint.grown() > 40_000_000 or not Path("/proc/self/clear_refs").exists()
    True
    """

    def __init__(self) -> None:
        # Memory that was used before and is free by now would be used again without being counted.
        gc.collect()
        with suppress(OSError, AttributeError):
            ctypes.CDLL("libc.so.6").malloc_trim(0)
        for process in _family(os.getpid()):
            path = Path(f"/proc/{process}/clear_refs")
            if path.exists():
                path.write_text("5")
        self._before = sum(map(resident, _family(os.getpid())))

    def grown(self) -> int:
        """Bytes; 0 where the system does not report it."""
        return max(0, sum(map(_peak, _family(os.getpid()))) - self._before)


def _peak(process: int) -> int:
    """The most bytes that a process has had in memory."""
    path = Path(f"/proc/{process}/status")
    lines = path.read_text().splitlines() if path.exists() else []
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
