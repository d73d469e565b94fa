"""Somebody who follows a program of a service, and stops reading: what that costs the service, and how it goes on."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from time import monotonic, sleep
from typing import Final

from thalweg.bench.measured_service import MeasuredService

_COMMAND: Final = (sys.executable, "-m", "thalweg.bench.resuming_follower")
_ITEMS: Final = 100
_ITEM: Final = "x" * 80
_RATE: Final = 50
"""Lines a second, of 20 kB each: what ends, and what begins."""
_PERIOD: Final = 0.5
_PATIENCE: Final = 30.0


@dataclass(frozen=True, slots=True)
class StoppedFollower:
    """While a megabyte a second flows: memory for somebody who has stopped, and seconds until the connection is cut."""

    seconds: float
    megabytes_flowed: float
    megabytes: float
    cut_s: float | None
    lines: int


def stopped_follower(
    service: MeasuredService, settling: float, seconds: float
) -> tuple[StoppedFollower, list[tuple[float, float]]]:
    """Stops somebody by SIGSTOP until the connection is cut, or for some seconds; then it has to get all lines.

    With it the memory of the service over time, in megabytes; at 0 it is stopped.
    """
    items = " ".join(f'item({number},"{_ITEM}").' for number in range(_ITEMS))
    service.register("flood", f"told(T,N,X) :- go(T), item(N,X). {items}\n", "gates")
    with TemporaryDirectory() as folder:
        told = Path(folder, "told")
        told.touch()
        with _flow(service) as end, subprocess.Popen([*_COMMAND, service.address, "flood", str(told)]) as follower:
            try:
                memory = list(_samples(service, -settling, lambda: True))
                _need(lambda: told.stat().st_size > 0, "the follower has read nothing")
                before, first = memory[-1][1], _lines(service)
                follower.send_signal(signal.SIGSTOP)
                stopped = list(_samples(service, seconds, lambda: _followers(service) > 0))
                is_cut, last = _followers(service) == 0, _lines(service)
                follower.send_signal(signal.SIGCONT)
                end()
                lines = service.settle("flood")["lines"]
                _need(lambda: told.read_text().endswith(f"1-{lines}\n"), "the follower has not come to the end")
            finally:
                follower.kill()
        assert told.read_text().split() == [f"1-{number}" for number in range(1, lines + 1)], "there are gaps"
    flowed = (last - first) * len(service.lines("flood")[-1]) / 1e6
    service.remove("flood")
    most, past = max(size for _, size in stopped), stopped[-1][0]
    measured = StoppedFollower(past, flowed, most - before, past if is_cut else None, lines)
    return measured, [*memory, *stopped]


@contextmanager
def _flow(service: MeasuredService) -> Iterator[Callable[[], None]]:
    """Posts facts at a steady rate until it is ended."""
    is_over = Event()

    def post() -> None:
        begun, number = monotonic(), 0
        while not is_over.wait(max(0.0, begun + number / _RATE - monotonic())):
            number += 1
            service.post("gates", b"go(%d) at %d." % (number, number))

    posting = Thread(target=post)

    def end() -> None:
        is_over.set()
        posting.join()

    posting.start()
    try:
        yield end
    finally:
        end()


def _samples(service: MeasuredService, seconds: float, goes_on: Callable[[], bool]) -> Iterator[tuple[float, float]]:
    """Megabytes of the service over time: up to 0 from so many seconds before, or from 0 on."""
    begun = monotonic()
    until = begun + abs(seconds)
    while monotonic() < until and goes_on():
        sleep(_PERIOD)
        yield min(0.0, seconds) + monotonic() - begun, service.resident() / 1e6


def _followers(service: MeasuredService) -> float:
    return service.metrics()['thalweg_subscribers{program="flood"}']


def _lines(service: MeasuredService) -> int:
    return int(service.metrics()['thalweg_lines_total{program="flood"}'])


def _need(condition: Callable[[], bool], otherwise: str) -> None:
    until = monotonic() + _PATIENCE
    while not condition():
        assert monotonic() < until, otherwise
        sleep(0.1)
