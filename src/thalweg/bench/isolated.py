"""A measurement in a process of its own: nothing before it counts, and what takes too long or too much is ended."""

import ctypes
import gc
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from thalweg.bench.coror import resident

Made = TypeVar("Made")
_BEAT: Final = 0.05


@dataclass(frozen=True, slots=True)
class Ended(Generic[Made]):
    """What came of it: a result, or why there is none."""

    result: Made | None
    why: str = ""


def apart(work: Callable[..., Made], *arguments: object, seconds: float = 600.0, memory: int = 8 << 30) -> Ended[Made]:
    """Runs a function of a module in another process, which is ended when it takes longer or becomes larger.

    >>> from operator import add
    >>> apart(add, 2, 3)
    Ended(result=5, why='')
    >>> apart(time.sleep, 10, seconds=0.1)
    Ended(result=None, why='more than 0.1 s')
    """
    context = get_context("spawn")
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(theirs, work, arguments))
    process.start()
    theirs.close()
    began = time.monotonic()
    try:
        while not mine.poll(_BEAT):
            if time.monotonic() - began > seconds:
                return Ended(None, f"more than {seconds:g} s")
            if sum(map(resident, _family(process.pid))) > memory:
                return Ended(None, f"more than {memory >> 20:,} MB")
        found, failed = mine.recv()
        if failed is not None:
            raise failed
        return Ended(found)
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


def _family(process: int | None) -> Iterator[int]:
    """A process and those that it started."""
    if process is not None:
        yield process
        for path in Path(f"/proc/{process}/task").glob("*/children"):
            try:
                yield from map(int, path.read_text().split())
            except OSError:
                # It has ended.
                continue


def busy() -> float:
    """Seconds of a core that this process, and those that it started, have taken: other work does not count.

    >>> began = busy()
    >>> busy() >= began
    True
    """
    children = (process for process in _family(os.getpid()) if process != os.getpid())
    ended = os.times()
    return time.process_time() + ended.children_user + ended.children_system + sum(map(_busy, children))


def _busy(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Footprint:
    """How much larger this process, and those that it started, have been at most than when this was made.

    >>> footprint = Footprint()
    >>> room = bytearray(50_000_000)
    >>> del room
    >>> footprint.grown() > 40_000_000 or not Path("/proc/self/clear_refs").exists()
    True
    """

    def __init__(self) -> None:
        # Room that was used before and is free by now would be used again without being counted.
        gc.collect()
        with suppress(OSError, AttributeError):
            ctypes.CDLL("libc.so.6").malloc_trim(0)
        for process in _family(os.getpid()):
            _forget_peak(process)
        self._before = sum(map(resident, _family(os.getpid())))

    def grown(self) -> int:
        """Bytes; 0 where nobody tells."""
        return max(0, sum(map(_peak, _family(os.getpid()))) - self._before)


def _forget_peak(process: int) -> None:
    path = Path(f"/proc/{process}/clear_refs")
    if path.exists():
        path.write_text("5")


def _peak(process: int) -> int:
    """Bytes that a process has had in memory at most."""
    path = Path(f"/proc/{process}/status")
    lines = path.read_text().splitlines() if path.exists() else []
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
