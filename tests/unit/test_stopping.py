"""A run ends soon after it is asked to, whatever it is doing, and what it has written is whole."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from select import PIPE_BUF
from termios import FIONREAD
from typing import IO

import pytest

COUNT = "n(0). n(X+1) :- n(X)."
CROSS = "h(X) :- p(X), p(Y), p(Z), X + Y + Z < 0."
NEGATED = f"{CROSS} g(X) :- p(X), not h(X)."
GROUPS = "s(N) :- N = sum{X,Y : p(X), p(Y)}."
ANSWER_SETS = "m(X,Y,Z) :- p(X), p(Y), p(Z)."
FACTS = "p(0) at 0.\n" + "".join(f"p({number}) at 1.\n" for number in range(3_000))


def started(program: str, name: str, *more: str, at_work: float) -> subprocess.Popen[bytes]:
    """The command, when it has used a processor for so many seconds since it was handed its facts."""
    Path(name).write_text(program)
    os.mkfifo("facts.facts")
    command = [sys.executable, "-m", "thalweg", "run", name, "--stream", "facts.facts", *more]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: handed_over() or process.poll() is not None)
    began = used(process.pid)
    wait_for(lambda: used(process.pid) > began + at_work or process.poll() is not None)
    return process


def handed_over() -> bool:
    """Whether the command has opened its stream, which gets all facts then."""
    try:
        pipe = os.open("facts.facts", os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return False
    os.set_blocking(pipe, True)
    with open(pipe, "w") as file:
        file.write(FACTS)
    return True


def used(process: int) -> float:
    """Seconds of processor time."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def is_full(pipe: IO[bytes]) -> bool:
    """Whether a pipe has so much in it that the next line of answers must wait."""
    waiting = bytearray(4)
    fcntl.ioctl(pipe, FIONREAD, waiting)
    return int.from_bytes(waiting, sys.byteorder) > fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ) - PIPE_BUF


def wait_for(holds: Callable[[], object]) -> None:
    for _ in range(2_400):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it does not happen")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processor time is looked for in /proc")
@pytest.mark.parametrize("at_work", [0.5, pytest.param(4.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("program", "name", "more"),
    [
        (COUNT, "count.lars", ["--emit", "changes"]),
        (CROSS, "cross.lars", []),
        pytest.param(NEGATED, "negated.lars", [], marks=pytest.mark.slow),
        pytest.param(GROUPS, "groups.lars", [], marks=pytest.mark.slow),
        pytest.param(ANSWER_SETS, "sets.lp", ["--inputs", "p/1"], marks=pytest.mark.slow),
    ],
)
def test_it_ends_in_the_middle_of_a_tick(
    program: str, name: str, more: list[str], number: signal.Signals, at_work: float
) -> None:
    process = started(program, name, *more, at_work=at_work)
    try:
        assert process.poll() is None
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0, err
    assert b"Traceback" not in err
    for line in out.splitlines():
        json.loads(line)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processor time is looked for in /proc")
def test_it_ends_though_nobody_takes_its_answers() -> None:
    """The pipe is full, so the run waits to write; that must not keep it from ending."""
    process = started("q(X,Y) :- p(X) in [9], p(Y) in [9], X < 200.", "q.lars", at_work=0)
    try:
        assert process.stdout is not None
        wait_for(lambda: is_full(process.stdout))
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
        process.communicate()
