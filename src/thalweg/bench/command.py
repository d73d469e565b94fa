"""The command as a user runs it: text in, text out, a process of its own. Start, throughput, memory over a long run."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from thalweg.bench.workload import meeting_pairs

_COMMAND: Final = [sys.executable, "-m", "thalweg", "run"]
_PROGRAM: Final = "meet(A,C) :- p(A,B) in [20], p(B,C) in [20].\n"
_SELECTIVE: Final = "far(A,B) :- p(A,B) in [20], A > 10000, B > 20000.\n"
_WINDOW: Final = 20
_TICKS: Final = 1_000


def first_answer() -> float:
    """Seconds from starting the command to its first line, once everything is compiled and cached."""
    with tempfile.TemporaryDirectory() as folder:
        program, stream = _write(folder, _PROGRAM), Path(folder, "two.facts")
        stream.write_text("p(a,b) at 1. p(b,c) at 2.\n")
        command = [*_COMMAND, program, "--stream", str(stream), "--emit", "changes"]
        times = []
        for _ in range(3):
            begin = time.perf_counter()
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
                assert process.stdout is not None
                assert process.stdout.readline(), "the command gave no answer"
                times.append(time.perf_counter() - begin)
        return min(times)


def throughput(facts: int) -> float:
    """Facts a second, from a file of text to the last answer on disk."""
    with tempfile.TemporaryDirectory() as folder:
        program, stream = _write(folder, _SELECTIVE), Path(folder, "stream.facts")
        with stream.open("w") as file:
            file.writelines(_numbers(facts // _TICKS))
        command = [
            *_COMMAND,
            program,
            "--stream",
            str(stream),
            "--emit",
            "changes",
            "--out",
            str(Path(folder, "out.jsonl")),
        ]
        begin = time.perf_counter()
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        return facts / (time.perf_counter() - begin)


def resident(facts: int) -> list[tuple[int, int]]:
    """Facts so far and bytes resident, along one long run over names that never come again; empty where unknown."""
    if not Path("/proc/self/statm").exists():
        return []
    samples, sent = [], 0
    with tempfile.TemporaryDirectory() as folder:
        command = [*_COMMAND, _write(folder, _PROGRAM), "--stream", "-", "--emit", "changes"]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True
        ) as process:
            assert process.stdin is not None
            for block in _names(facts // _TICKS):
                process.stdin.write(block)
                sent += facts // _TICKS
                samples.append((sent, _resident(process.pid)))
            process.stdin.close()
    return samples


def flatness(samples: list[tuple[int, int]]) -> float:
    """How far memory strays from where it settled: the largest deviation after the first tenth, relative."""
    settled = [size for _, size in samples[len(samples) // 10 :]]
    return max(abs(size - settled[0]) for size in settled) / settled[0]


def _resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _write(folder: str, program: str) -> str:
    path = Path(folder, "program.lars")
    path.write_text(program)
    return str(path)


def _numbers(rate: int) -> Iterator[str]:
    for tick, pairs in enumerate(islice(meeting_pairs(_WINDOW, rate), _TICKS)):
        yield "".join([f"p({a},{b}) at {tick}.\n" for a, b in pairs.tolist()])


def _names(rate: int) -> Iterator[str]:
    """Names move on with time, so that old ones leave the dictionary as they leave the window."""
    for tick, pairs in enumerate(islice(meeting_pairs(_WINDOW, rate), _TICKS)):
        shifted = pairs + tick * rate
        yield "".join([f"p(n{a},n{b}) at {tick}.\n" for a, b in shifted.tolist()])
