"""A run that is asked to end, at any moment, stops answering and leaves no process behind; and it can be resumed."""

import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from time import monotonic

import pytest

from spark.city import CHECKPOINT, assert_same, batches, run_words, spark_line, write_city
from spark.commands import run as run_here
from spark.processes import DAEMON, Family, run, started, thalweg, wait_until

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc")

JAVA = "org.apache.spark.deploy.SparkSubmit"
# Seconds until no more is answered, and until all is gone: one and five, and what a busy machine takes.
QUIET, GONE = 1.5, 10.0
# A tick that takes hours: 27 billion triples, and nothing to show for it.
ENDLESS = "none(X) :- p(X), p(Y), p(Z), X + Y + Z < 0. q(X) :- p(X)."


def ask_to_end(family: Family, way: signal.Signals, out: Path) -> int:
    """Sends a signal; how the command ended. Nothing is answered after a moment, and nothing of it is left."""
    os.kill(family.process.pid, way)
    quiet, told = monotonic() + QUIET, None

    def is_gone() -> bool:
        nonlocal told
        if told is None and monotonic() > quiet:
            told = answered(out)
        return not family.members()

    wait_until(is_gone, "something is left behind", GONE)
    assert told is None or answered(out) == told
    return family.process.wait()


def answered(out: Path) -> bytes:
    return out.read_bytes() if out.exists() else b""


def test_a_rejected_program_leaves_no_process(tmp_path: Path) -> None:
    (tmp_path / "in.facts").write_text("p(1) at 1.\n")
    with started(command(tmp_path, "q(X) :- p(Y).", tmp_path / "in.facts"), tmp_path / "said") as family:
        wait_until(lambda: not family.members(), "something is left behind", 60)
        assert family.process.wait() == 1


# A session that is not needed any more while its Java starts; what is left open is printed when it is collected.
KILLED = """
import gc, sys, time, warnings
from thalweg.runtimes.spark import session
from thalweg.runtimes.spark.early_session import EarlyOptions, EarlySession

warnings.simplefilter("error", ResourceWarning)
sys.unraisablehook = lambda left: print(left.exc_value)

def open_in_vain():
    with EarlySession(EarlyOptions(short=True)) as early:
        while not [*session._marked()]:
            time.sleep(0.01)
    print(early._session.exception().diagnostic.code)

open_in_vain()
gc.collect()
"""


def test_a_java_that_is_killed_while_it_starts_leaves_no_pipe(tmp_path: Path) -> None:
    assert run([sys.executable, "-c", KILLED], tmp_path / "said.txt") == 0
    assert (tmp_path / "said.txt").read_text() == "E407\n"


@contextmanager
def live(text: str) -> Iterator[str]:
    """A stream that brings something and then stays open."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        guests: list[socket.socket] = []

        def welcome() -> None:
            guest, _ = door.accept()
            guests.append(guest)
            guest.sendall(text.encode())

        Thread(target=welcome, daemon=True).start()
        yield f"tcp://127.0.0.1:{door.getsockname()[1]}"
        for guest in guests:
            guest.close()


def command(folder: Path, program: str, stream: str | Path) -> list[str]:
    (folder / "program.lars").write_text(program)
    where = ("--runtime", "spark", "--master", "local[2]", "--partitions", "2")
    about = ("--stream", stream, "--out", folder / "out.jsonl", "--emit", "changes")
    return thalweg("run", folder / "program.lars", *about, *where)


def while_java_starts(family: Family, folder: Path) -> bool:
    return bool(family.members(saying=JAVA))


def while_workers_start(family: Family, folder: Path) -> bool:
    return bool(family.members(saying=DAEMON))


def while_idle(family: Family, folder: Path) -> bool:
    return (folder / "out.jsonl").exists() and (folder / "out.jsonl").stat().st_size > 0


@pytest.mark.slow
@pytest.mark.parametrize("way", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("moment", [while_java_starts, while_workers_start, while_idle])
def test_a_live_run(tmp_path: Path, moment: Callable[[Family, Path], bool], way: signal.Signals) -> None:
    with live("q(a) at 1.\nq(b) at 2.\nq(c) at 3.\n") as stream:
        line = command(tmp_path, "r(X) :- q(X) in [1].", stream)
        with started(line, tmp_path / "said.txt") as family:
            wait_until(lambda: moment(family, tmp_path) or family.ended, "it never came so far")
            assert not family.ended
            assert ask_to_end(family, way, tmp_path / "out.jsonl") == 0
    # Java starts while the program is read; a run that has not begun says that it is stopped.
    assert (tmp_path / "said.txt").read_text() in ("", "stopped\n" if moment is while_java_starts else "")


def test_a_live_run_that_has_read_nothing_says_nothing_of_its_mappings(tmp_path: Path) -> None:
    with live('{"x": "a", "at": 1}\n') as stream:
        line = [*command(tmp_path, "r(X) :- q(X) in [1].", stream), "--map", "q(x) at at"]
        with started(line, tmp_path / "said.txt") as family:
            wait_until(lambda: while_workers_start(family, tmp_path) or family.ended, "it never came so far")
            assert ask_to_end(family, signal.SIGTERM, tmp_path / "out.jsonl") == 0
    assert "W30" not in (tmp_path / "said.txt").read_text()


def test_in_the_middle_of_a_long_tick(tmp_path: Path) -> None:
    facts = "\n".join(f"p({number}) at 1." for number in range(3_000))
    (tmp_path / "long.facts").write_text(facts)
    with started(command(tmp_path, ENDLESS, tmp_path / "long.facts"), tmp_path / "said.txt") as family:
        wait_until(lambda: any(map(is_busy, family.forked(DAEMON))) or family.ended, "nobody is busy")
        assert ask_to_end(family, signal.SIGTERM, tmp_path / "out.jsonl") == 0
    assert (tmp_path / "said.txt").read_text() == ""


def is_busy(process: int) -> bool:
    """Whether a process has computed for longer than it takes to import everything."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return int(fields[11]) / os.sysconf("SC_CLK_TCK") > 3


@pytest.mark.slow
def test_between_batches_and_while_finishing_nothing_is_lost_or_told_twice(tmp_path: Path) -> None:
    said = tmp_path / "said.txt"
    write_city(tmp_path, ticks=600)
    run_here(*run_words(tmp_path, "embedded"))
    line = spark_line(tmp_path, "local[2]")
    for enough in (1, 3, 5):
        with started(line, said) as family:
            wait_until(lambda enough=enough: batches(tmp_path) >= enough or family.ended, "no batch is delivered")
            assert ask_to_end(family, signal.SIGTERM, tmp_path / "spark.jsonl") == 0, said.read_text()
    ledger = tmp_path / CHECKPOINT / "delivered.json"
    with started(line, said) as family:
        wait_until(lambda: '"over": true' in ledger.read_text() or family.ended, "it is never over")
        assert ask_to_end(family, signal.SIGINT, tmp_path / "spark.jsonl") == 0, said.read_text()
    assert run(line, said) == 0
    assert_same(tmp_path)
    assert said.read_text() == ""
