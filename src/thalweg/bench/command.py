"""The command as a user runs it, text in and text out: its start, its throughput, its memory over a long run."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from thalweg.bench.processes import Samples, resident, sample_memory, timed
from thalweg.bench.workload import DEVICES, meeting_pairs, readings

COMMAND: Final = (sys.executable, "-m", "thalweg", "run")
# As installed: Python keeps the modules that it has compiled.
_ENVIRONMENT: Final = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
_CHANGES: Final = ("--emit", "changes")
_JOIN: Final = "meet(A,C) :- p(A,B) in [20], p(B,C) in [20].\n"
_SELECTIVE: Final = "far(A,B) :- p(A,B) in [20], A > 10000, B > 20000.\n"
_WINDOW: Final = 20
_AVERAGED: Final = 300
_DEVICES: Final = " ".join(f"device(d{number})." for number in range(DEVICES))
_AVERAGE: Final = f"mean(D,A) :- device(D), A = avg{{V,T : temp(D,V) at T in [{_AVERAGED}]}}. {_DEVICES}\n"
_TICKS: Final = 1_000


def first_answer() -> float:
    """Seconds from starting the command to its first line, once everything is compiled and kept."""
    with tempfile.TemporaryDirectory() as folder:
        program = _write(folder, "program.lars", _JOIN)
        stream = _write(folder, "two.facts", "p(a,b) at 1. p(b,c) at 2.\n")
        return min(first_line([*COMMAND, program, "--stream", stream, *_CHANGES]) for _ in range(3))


def first_line(command: list[str]) -> float:
    """Seconds until a command writes its first line."""
    begin = time.perf_counter()
    with subprocess.Popen(command, env=_ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.readline(), "the command gave no answer"
        return time.perf_counter() - begin


def throughput(facts: int) -> float:
    """Facts a second, from a file of text to the last answer on disk."""
    with tempfile.TemporaryDirectory() as folder:
        program = _write(folder, "program.lars", _SELECTIVE)
        stream = _write(folder, "stream.facts", "".join(_ticks(facts // _TICKS)))
        command = [*COMMAND, program, "--stream", stream, *_CHANGES, "--out", f"{folder}/out.jsonl"]
        return facts / _seconds(command)


def _seconds(command: list[str]) -> float:
    """How long a command takes, once everything is compiled and kept."""
    first_answer()
    return timed(lambda: subprocess.run(command, env=_ENVIRONMENT, check=True, stderr=subprocess.DEVNULL))[0]


def sliding_average(facts: int) -> float:
    """Readings a second for the average of each device over five minutes, all changes written."""
    rate = facts // _TICKS
    ticks = enumerate(islice(readings(_AVERAGED, rate), _TICKS))
    lines = [
        f"temp(d{device},{value / 100:.2f}) at {tick}.\n" for tick, rows in ticks for device, value in rows.tolist()
    ]
    with tempfile.TemporaryDirectory() as folder:
        program = _write(folder, "program.lars", _AVERAGE)
        command = [*COMMAND, program, "--stream", _write(folder, "stream.facts", "".join(lines)), *_CHANGES]
        command += ["--out", f"{folder}/out.jsonl"]
        return facts / _seconds(command)


def memory(facts: int) -> Samples:
    """Memory along one long run over names that never come again; empty where the system does not report it."""
    if not resident():
        return []
    rate = facts // _TICKS
    with tempfile.TemporaryDirectory() as folder:
        command = [*COMMAND, _write(folder, "program.lars", _JOIN), "--stream", "-", *_CHANGES]
        return sample_memory(command, ((rate, text) for text in _ticks(rate, "n", rate)))


def flatness(samples: Samples) -> float:
    """The largest relative deviation of memory from where it was after the first tenth."""
    settled = [size for _, size in samples[len(samples) // 10 :]]
    return max(abs(size - settled[0]) for size in settled) / settled[0]


def _write(folder: str, name: str, text: str) -> str:
    path = Path(folder, name)
    path.write_text(text)
    return str(path)


def _ticks(rate: int, prefix: str = "", shift: int = 0) -> Iterator[str]:
    """The facts of each tick; with a shift, old names leave the dictionary as they leave the window."""
    for tick, pairs in enumerate(islice(meeting_pairs(_WINDOW, rate), _TICKS)):
        shifted = pairs + tick * shift
        yield "".join([f"p({prefix}{a},{prefix}{b}) at {tick}.\n" for a, b in shifted.tolist()])
