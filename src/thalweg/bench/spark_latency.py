"""How long an answer takes on Spark: the first one of a run, and each of a stream that comes at a steady rate."""

import json
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import IO, Final

from thalweg.bench.command import COMMAND, first_line
from thalweg.bench.spark_costs import ON_SPARK

_RULES: Final = "q(X) :- p(X,Y), Y = 0.\n"
_RATE: Final = 1_000
_TICKS: Final = 10
"""Ticks a second: a hundred facts each, of which one is answered."""
_SETTLING: Final = 5.0


@dataclass(frozen=True, slots=True)
class AnswerLatency:
    """Seconds to the first answer of two facts, and at 1,000 facts a second from a decided tick to its answer."""

    first_s: float
    half_within_s: float
    most_within_s: float
    slowest_s: float
    answers: int


def latency(quick: bool) -> AnswerLatency:
    """Starts the command several times for two facts, and once for a stream."""
    delays = steady_delays(15.0 if quick else 60.0)
    tenths = statistics.quantiles(delays, n=20)
    return AnswerLatency(
        first_answer(2 if quick else 5), statistics.median(delays), tenths[-1], max(delays), len(delays)
    )


def first_answer(runs: int) -> float:
    """Seconds from starting the command to its first line, once everything is compiled and kept."""
    with tempfile.TemporaryDirectory() as folder:
        program, stream = Path(folder, "program.lars"), Path(folder, "two.facts")
        program.write_text("q(A,C) :- p(A,B) in [20], p(B,C) in [20].\n")
        stream.write_text("p(a,b) at 1. p(b,c) at 2.\n")
        command = [*COMMAND, str(program), "--stream", str(stream), "--emit", "changes", "--quiet", *ON_SPARK]
        return min(first_line(command) for _ in range(runs))


def steady_delays(seconds: float) -> list[float]:
    """The delays of all answers of a stream that goes on for some seconds after the first answer has come."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "program.lars")
        program.write_text(_RULES)
        command = [*COMMAND, str(program), "--stream", "-", "--emit", "changes", "--quiet", *ON_SPARK]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(command, text=True, **pipes) as process:  # type: ignore[call-overload]
            came: dict[int, float] = {}
            reader = Thread(target=_note, args=(process.stdout, came), daemon=True)
            reader.start()
            decided = _feed(process.stdin, came, seconds)
            reader.join()
    counted = max(min(came.values(), default=0.0) + _SETTLING, min(decided.values()))
    return [came[tick] - when for tick, when in decided.items() if tick in came and when > counted]


def _feed(stream: IO[str], came: dict[int, float], seconds: float) -> dict[int, float]:
    """Writes facts at the steady rate; when each tick was decided, by the first fact of the next one."""
    decided: dict[int, float] = {}
    began, tick, end = time.monotonic(), 0, float("inf")
    while time.monotonic() < end:
        each = _RATE // _TICKS
        decided[tick - 1] = time.monotonic()
        stream.write("".join(f"p({tick * each + number},{number}) at {tick}.\n" for number in range(each)))
        stream.flush()
        if came and end == float("inf"):
            end = time.monotonic() + _SETTLING + seconds
        tick += 1
        time.sleep(max(0.0, began + tick / _TICKS - time.monotonic()))
    stream.close()
    return decided


def _note(answers: IO[str], came: dict[int, float]) -> None:
    """Notes when the line of each tick has come."""
    for line in answers:
        answer = json.loads(line)
        if answer.get("begin"):
            came.setdefault(answer["t"], time.monotonic())
