"""Live streams on Spark: what was received is answered once, also by a run that is killed, and silence is noticed."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from spark.commands import invoke
from spark.processes import run, started, thalweg, wait_until
from thalweg.runtimes.stored_path import CheckpointPath

RULES = "slow(S) :- speed(S,V) in [2], V < 20.\nqueue(S,T) :- slow(S), next(S,T), slow(T)."


def facts(first: int, end: int) -> str:
    return "".join(
        f"speed(s{tick % 7},{tick * 7 % 40}) at {tick}.\nnext(s{tick % 5},s{tick % 7}) at {tick}.\n"
        for tick in range(first, end)
    )


@contextmanager
def server(*texts: str) -> Iterator[tuple[str, Event]]:
    """Sends a text to each guest, and says good-bye to the last one; the event lets go of the others."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        leaves = Event()

        def welcome() -> None:
            for number, text in enumerate(texts, 1):
                guest, _ = door.accept()
                with guest:
                    guest.sendall(text.encode())
                    if number < len(texts):
                        leaves.wait()
                        leaves.clear()

        Thread(target=welcome, daemon=True).start()
        yield f"tcp://127.0.0.1:{door.getsockname()[1]}", leaves


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on_behind_what_it_has_received(tmp_path: Path) -> None:
    (tmp_path / "rules.lars").write_text(RULES)
    (tmp_path / "all.facts").write_text(facts(0, 400))
    parts = [facts(0, 150), facts(150, 290), facts(290, 400)]
    out, said = tmp_path / "spark.jsonl", tmp_path / "said.txt"
    with server(*parts) as (stream, leaves):
        about = ("--stream", stream, "--out", out, "--emit", "changes", "--runtime", "spark", "--master", "local[2]")
        line = thalweg("run", tmp_path / "rules.lars", *about, "--checkpoint", tmp_path / "run", segment=60)
        for last in (149, 289):
            with started(line, said) as family:
                # All that one guest was sent has been received, and is answered up to the last tick.
                wait_until(
                    lambda last=last: reached(tmp_path / "run") >= last - 1 or family.ended, "nothing is answered"
                )
                assert not family.ended, said.read_text()
                os.killpg(family.process.pid, signal.SIGKILL)
            leaves.set()
        assert run(line, said) == 0, said.read_text()
    words = ("--stream", tmp_path / "all.facts", "--emit", "changes", "--out", tmp_path / "own.jsonl")
    own = invoke(tmp_path / "rules.lars", *words)
    assert own.exit_code == 0
    assert out.read_text() == (tmp_path / "own.jsonl").read_text() != ""
    assert len([*(tmp_path / "run" / "inbox").iterdir()]) <= 3, "what was answered is removed"


@pytest.mark.usefixtures("in_session")
def test_a_live_stream_and_a_recording_beside_it(tmp_path: Path) -> None:
    (tmp_path / "rules.lars").write_text(RULES)
    speeds, pairs = (
        "".join(line for line in facts(0, 60).splitlines(keepends=True) if line.startswith(name))
        for name in ("speed", "next")
    )
    for name, text in (("speeds", speeds), ("pairs", pairs)):
        (tmp_path / f"{name}.facts").write_text(text)
    own, spread = tmp_path / "own.jsonl", tmp_path / "spark.jsonl"
    recorded = ("--stream", tmp_path / "pairs.facts", "--emit", "changes")
    with server(speeds) as (stream, _):
        words = ("--stream", stream, *recorded, "--out", spread, "--runtime", "spark")
        ended = invoke(tmp_path / "rules.lars", *words)
    assert ended.exit_code == 0, ended.output
    assert (
        invoke(tmp_path / "rules.lars", "--stream", tmp_path / "speeds.facts", *recorded, "--out", own).exit_code == 0
    )
    assert spread.read_text() == own.read_text() != ""


def reached(folder: CheckpointPath) -> int:
    """The last tick that was delivered."""
    ledger = folder / "delivered.json"
    return int(json.loads(ledger.read_text())["tick"]) if ledger.exists() else -1


@pytest.mark.slow
def test_an_alarm_comes_in_silence(tmp_path: Path) -> None:
    (tmp_path / "silent.lars").write_text("silent(S) :- sensor(S), not seen(S) in [3 sec].  sensor(a).")
    with server("", "") as (stream, _):
        words = ["run", tmp_path / "silent.lars", "--stream", stream, "--clock", "wall", "--delay", "1s", "--quiet"]
        command = [sys.executable, "-m", "thalweg", *map(str, words), "--runtime", "spark", "--master", "local[2]"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as running:
            assert running.stdout is not None
            try:
                alarm = json.loads(running.stdout.readline())
            finally:
                os.killpg(running.pid, signal.SIGKILL)
    assert alarm["begin"] == ["silent(a)"]
