"""A live run says at once what it leaves out, and not at an end that may never come."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from thalweg.connectors.mapping.read_mapping import read_mappings
from thalweg.connectors.mapping.tally import Tally
from thalweg.diagnostics import Counted, Diagnostic
from thalweg.runtimes.live_warnings import LiveWarnings

NOW = "2026-11-15T08:00:0{}Z"


class Watched:
    """Warnings with a clock that the test winds; `said` has what was reported, with the second."""

    def __init__(self) -> None:
        self.second = 0.0
        self.said: list[tuple[float, str]] = []
        self.warnings = LiveWarnings(lambda found: self.said.append((self.second, found.message)), lambda: self.second)

    def at(self, second: float) -> list[tuple[float, str]]:
        """What is said at a second."""
        self.second, self.said = second, []
        self.warnings.look()
        return self.said


def test_the_first_time_is_reported_at_once_and_growth_once_a_minute() -> None:
    watched, count = Watched(), [0]
    watched.warnings.watch(lambda: [Counted("late", count[0], lambda: Diagnostic("W302", f"{count[0]} late"))])
    assert watched.at(1) == []
    assert watched.warnings.pause() is None
    count[0] = 2
    assert watched.warnings.pause() == 0
    assert watched.at(5) == [(5, "2 late")]
    assert watched.at(80) == []
    count[0] = 3
    assert watched.at(81) == [(81, "3 late")]
    count[0] = 9
    # Also where nothing more comes, the waiting ends in time to say so.
    assert watched.at(90) == []
    assert watched.warnings.pause() == 51
    assert watched.at(141) == [(141, "9 late")]
    assert watched.at(500) == []


def test_what_was_counted_before_a_run_was_resumed_is_not_new() -> None:
    watched, count = Watched(), [7]
    watched.warnings.watch(lambda: [Counted("late", count[0], lambda: Diagnostic("W302", f"{count[0]} late"))])
    assert watched.at(1) == []
    count[0] = 8
    assert watched.at(2) == [(2, "8 late")]


def test_a_mapping_has_time_as_long_as_all_messages_fit_another_one() -> None:
    watched = Watched()
    temp, level = mappings = read_mappings(["temp(d, v)", "level(d, l)"])
    tally = Tally(mappings)
    watched.warnings.watch(tally.counts)
    tally.met(["d", "v"])
    tally.fitted(temp, 1)
    assert watched.at(10) == []
    assert watched.warnings.pause() == 50
    assert watched.at(60) == [(60, "`level(d, l)` has not fitted yet")]
    tally.unfit(3)
    assert watched.at(120) == [(120, "`level(d, l)` has not fitted yet (3 messages fitted no mapping)")]
    tally.fitted(level, 1)
    assert watched.at(300) == []


# A real run ---------------------------------------------------------------------------------------------------------


@contextmanager
def live(*options: str) -> "Iterator[tuple[subprocess.Popen[bytes], socket.socket]]":
    """A run of the command over a socket."""
    Path("hot.lars").write_text("hot(D) :- temp(D,V), V > 20.")
    with socket.create_server(("127.0.0.1", 0)) as server:
        stream = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        command = [sys.executable, "-m", "thalweg", "run", "hot.lars", "--stream", stream, *options]
        run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            sender, _ = server.accept()
            with sender:
                yield run, sender
        finally:
            run.kill()
            run.communicate()


def warned(complaints: IO[bytes]) -> str:
    """The next warning, without the lines below it."""
    for line in complaints:
        if line.startswith(b"warning"):
            return line.decode().strip()
    return ""


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_run_warns_while_it_goes_on_and_gives_totals_at_the_end() -> None:
    with live("--map", "temp(d, v) at ts", "--checkpoint", "kept", "--out", "hot.jsonl") as (run, sender):
        assert run.stderr is not None
        sender.sendall(b'{"device":"a"}\n')
        assert "W306" in (said := warned(run.stderr))
        assert "has not fitted yet (1 message fitted no mapping)" in said
        for second in (1, 3):
            sender.sendall(f'{{"d":"a","v":21,"ts":"{NOW.format(second)}"}}\n'.encode())
        assert "W307" in warned(run.stderr)
        sender.sendall(f'{{"d":"a","v":22,"ts":"{NOW.format(2)}"}}\n'.encode())
        assert "W302" in (said := warned(run.stderr))
        assert "1 fact was late" in said
        ahead = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 400 * 86_400))
        sender.sendall(f'{{"d":"b","v":23,"ts":"{ahead}"}}\n'.encode())
        assert "W308" in warned(run.stderr)
        run.send_signal(signal.SIGTERM)
        _, complaints = run.communicate(timeout=60)
        assert run.returncode == 0
        totals = complaints.decode()
        assert [code for code in ("W302", "W306", "W307", "W308") if code in totals] == ["W302", "W307", "W308"]
        assert "2 late" in totals


def test_a_quiet_run_waits_for_the_end() -> None:
    with live("--map", "temp(d, v) at ts", "--quiet") as (run, sender):
        assert run.stdout is not None
        for second in (5, 3, 6):
            sender.sendall(f'{{"d":"a","v":21,"ts":"{NOW.format(second)}"}}\n'.encode())
        assert run.stdout.readline()
        sender.close()
        _, complaints = run.communicate(timeout=60)
        assert (run.returncode, complaints.count(b"W302")) == (0, 1)


def test_a_bad_first_message_costs_only_itself() -> None:
    with live("--map", "temp(d, v) at ts", "--on-error", "skip", "--out", "hot.jsonl") as (run, sender):
        sender.sendall(b"garbage\n")
        assert run.stderr is not None
        assert b"error[E301]: this is not JSON" in run.stderr.readline()
        for second, device in enumerate("ab", 1):
            sender.sendall(f'{{"d":"{device}","v":21,"ts":"{NOW.format(second)}"}}\n'.encode())
        sender.close()
        _, complaints = run.communicate(timeout=60)
    assert b"E301" not in complaints
    assert "hot(a)" in (answers := Path("hot.jsonl").read_text())
    assert "hot(b)" in answers


def test_a_bad_live_message_that_stops_a_run_says_how_to_go_on() -> None:
    with live("--map", "temp(d, v) at ts", "--out", "hot.jsonl") as (run, sender):
        sender.sendall(f'{{"d":"a","v":21,"ts":"{NOW.format(1)}"}}\ngarbage\n'.encode())
        _, complaints = run.communicate(timeout=60)
    assert run.returncode == 3
    assert (
        'note: `--on-error skip` (`on_error = "skip"` in a deployment) leaves such messages out' in complaints.decode()
    )
