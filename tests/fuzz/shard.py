"""Many inputs in one process, each with a limit of time and memory; should one of them end it, `campaign` knows which.

`python -m fuzz.shard SEED FIRST STOP FOLDER` leaves in the folder the number that it is at, what failed, and the cost.
"""

import faulthandler
import json
import mmap
import resource
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Final

from fuzz.inputs import nth_input
from fuzz.seeds import documents
from fuzz.targets import TARGETS, Target

SECONDS: Final = 5
"""Of computing, for one input: most take less than a thousandth of one."""
GROWTH: Final = 500 << 20
"""Bytes by which one input may enlarge the process."""
ROOM: Final = 3 << 30
"""Bytes of addresses that the process may take beyond those that it has at the start."""


class SlowError(BaseException):
    """An input took too long. No `except Exception` may hold it up."""


class LargeError(Exception):
    """An input took too much memory."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An input that ended neither in an answer nor in a diagnostic; `place` tells one cause from another."""

    number: int
    target: str
    place: str
    trace: str


@contextmanager
def limited() -> Iterator[None]:
    """Gives what happens inside the time of one input."""
    before, handler = _largest(), signal.signal(signal.SIGPROF, _too_slow)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)
    if _largest() - before > GROWTH:
        raise LargeError(f"grew by {(_largest() - before) >> 20} MB")


def _too_slow(*_: object) -> None:
    raise SlowError(f"took more than {SECONDS} s")


def _largest() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def attempt(target: Target, folder: Path, data: bytes, number: int = 0) -> Failure | None:
    """What is wrong with what became of an input; None where it is as it should be."""
    try:
        with limited():
            target.attempt(folder, data)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # A panic of a library in Rust is no `Exception`.
        return Failure(number, target.name, _place(error), "".join(traceback.format_exception(error, limit=-12)))
    return None


def _place(error: BaseException) -> str:
    """The kind of error, and the innermost place of ours that it passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/thalweg/" in frame.filename] or list(frames)
    return f"{type(error).__name__} at {Path(ours[-1].filename).name}:{ours[-1].lineno}"


def set_limits() -> None:
    """Makes the limits hold in this process."""
    faulthandler.enable()
    warnings.simplefilter("error")
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def run(
    seed: int, numbers: range, at: Callable[[int], None], found: Callable[[Failure], None]
) -> dict[str, list[float]]:
    """Tries inputs one after the other; how many there were of each target, and their seconds of computing."""
    cost: dict[str, list[float]] = {}
    with TemporaryDirectory(prefix="thalweg-fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        for number in numbers:
            at(number)
            target, data = nth_input(seed, number)
            began = process_time()
            failure = attempt(target, Path(folder), data, number)
            tally = cost.setdefault(target.name, [0, 0.0])
            tally[0] += 1
            tally[1] += process_time() - began
            if failure is not None:
                found(failure)
    return cost


def main(seed: int, first: int, stop: int, folder: Path) -> None:
    # Kernels are compiled, and everything is imported, before anything is measured.
    for target in TARGETS:
        target.attempt(folder, documents(target.kind)[0])
    set_limits()
    with (folder / "at").open("r+b") as file, (folder / "failures").open("a") as failures:
        number = mmap.mmap(file.fileno(), 8)

        def at(one: int) -> None:
            number[:] = one.to_bytes(8, "little")

        def found(failure: Failure) -> None:
            print(json.dumps(asdict(failure)), file=failures, flush=True)

        cost = run(seed, range(first, stop), at, found)
        at(stop)
    with (folder / "cost").open("a") as file:
        print(json.dumps(cost), file=file)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]), Path(sys.argv[4]))  # type: ignore[misc]
