"""`--checkpoint` in this process: a run that stops anywhere goes on with the same command as if it never had."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from taken_items import Taken, after_each_item
from thalweg.cli import app
from thalweg.connectors import files
from thalweg.connectors.interrupt import Interrupt, StoppedError
from thalweg.diagnostics import Diagnostic, FailedError
from thalweg.model.event import Batch
from thalweg.runtimes import embedded_checkpoint
from thalweg.runtimes.local import LocalRun

RULES = """
jam(R) :- speed(R,V) in [5], V < 20, not light(R) in [3].
busy(R,N) :- road(R), N = count{V : speed(R,V) in [4]}.
calm(R) :- road(R), not jam(R).
last(R) :- speed(R,V) [3 #].
road(a). road(b).
"""
SETS = "1 { go(R) : speed(R,V) } 1.\n:- go(R), light(R).\n#show go/1.\n"
# Reads what rules conclude, and rules read its answers.
CHOICE = "1 { go(R) : slow(R) } 1 :- slow(_).\n:- go(R), light(R), not jam(R).\n#show go/1.\n"
AROUND = (
    "slow(R) :- speed(R,V) in [2], V < 30.\njam(R) :- speed(R,V) in [5], V < 9.\nmove(R) :- speed(R,V) in [3], go(R).\n"
)
STRATIFIED = "slow(R) :- speed(R,V), V < 20, not light(R).\n"
ONTOLOGY = """@prefix : <http://e/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
:Open a owl:Class ; owl:disjointWith :Closed . :Closed a owl:Class .
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.lars").write_text(RULES)
    Path("sets.lp").write_text(SETS)
    Path("choice.lp").write_text(CHOICE)
    Path("around.lars").write_text(AROUND)
    Path("stratified.lp").write_text(STRATIFIED)
    Path("gates.ttl").write_text(ONTOLOGY)
    write_stream(ticks=60)


def write_stream(ticks: int, seed: int = 7) -> None:
    """Readings out of order, some of them late, and another stream."""
    random = Random(seed)
    with Path("in.facts").open("w") as file:
        for tick in range(ticks):
            # Most come within the delay.
            at = max(0, tick - random.choice((0, 0, 1, 2, 6)))
            file.write(f"speed({random.choice('ab')},{random.randrange(40)}) at {at}.\n")
    lights = ({"t": tick, "facts": [f"light({random.choice('ab')})"]} for tick in range(0, ticks, 3))
    Path("lights.jsonl").write_text("".join(f"{json.dumps(light)}\n" for light in lights))
    kind = ("Open", "Closed")
    Path("gates.tnt").write_text(
        "".join(
            f"{tick} <http://e/g{random.randrange(4)}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
            f" <http://e/{random.choice(kind)}> .\n"
            for tick in range(ticks)
        )
    )
    graphs = [{"t": max(0, tick - random.choice((0, 1, 2))), "graph": _graph(random)} for tick in range(ticks)]
    Path("graphs.jsonl").write_text("".join(f"{json.dumps(graph)}\n" for graph in graphs))


def _graph(random: Random) -> str:
    return " ".join(
        f"<http://e/g{random.randrange(4)}> a <http://e/{random.choice(('Open', 'Closed'))}> ." for _ in "ab"
    )


def thalweg(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


STREAMS = ("--stream", "in.facts", "--stream", "lights.jsonl", "--delay", "2")
MIXED = ("around.lars", "choice.lp", *STREAMS, "--workers", "0")
ABSTRACTION = ("gates.ttl", "--as", "abstraction", "--profile", "dl", "--reasoner", "none")
RUNS: list[Any] = [
    pytest.param(("rules.lars", *STREAMS), id="snapshot"),
    pytest.param(("rules.lars", *STREAMS, "--emit", "changes"), id="changes"),
    pytest.param(("rules.lars", *STREAMS, "--emit", "intervals", "--to", "80"), id="intervals"),
    pytest.param(("rules.lars", *STREAMS, "--memory", "300K", "--emit", "changes"), id="memory"),
    pytest.param(("gates.ttl", "--as", "consistency", "--window", "3", "--stream", "gates.tnt"), id="consistency"),
    pytest.param(("gates.ttl", "--stream", "gates.tnt", "--window", "3", "--emit", "changes"), id="ontology"),
    pytest.param((*ABSTRACTION, "--stream", "graphs.jsonl", "--delay", "2"), id="abstraction"),
    pytest.param(("sets.lp", *STREAMS, "--window", "4", "--slide", "2", "--workers", "0"), id="clingo"),
    pytest.param(("stratified.lp", *STREAMS, "--window", "4", "--slide", "2"), id="lowered"),
    pytest.param(("stratified.lp", *STREAMS, "--window", "4 #", "--slide", "2 #"), id="tuples"),
    pytest.param((*MIXED, "--emit", "changes"), id="several kinds"),
    pytest.param((*MIXED, "--emit", "intervals", "--window", "4", "--slide", "2"), id="several kinds, windows"),
    pytest.param((*MIXED, "--emit", "snapshot", "--window", "500"), id="several kinds, one window at the end"),
]


class Crash:
    """Ends a run in the middle of its n-th step."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = 0
        advance = LocalRun.advance

        def crashing(run: LocalRun, tick: int, batches: list[Batch]) -> Iterator[Any]:
            self.left -= 1
            blocks = list(advance(run, tick, batches))
            yield from blocks[: len(blocks) // 2] if self.left == 0 else blocks
            if self.left == 0:
                raise FailedError(Diagnostic("E407", "this is a crash"))

        monkeypatch.setattr(LocalRun, "advance", crashing)


def take_checkpoints(monkeypatch: pytest.MonkeyPatch, every: int = 1) -> None:
    """Takes a checkpoint after so many items."""
    items = count(1)
    due = property(lambda checkpoint: next(items) % every == 0)
    monkeypatch.setattr(embedded_checkpoint.EmbeddedCheckpoint, "is_due", due)


@pytest.fixture
def crash(monkeypatch: pytest.MonkeyPatch) -> Crash:
    return Crash(monkeypatch)


@pytest.mark.parametrize("command", RUNS)
@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.slow), 2, pytest.param(4, marks=pytest.mark.slow)])
def test_stopped_and_resumed_is_never_stopped(
    command: tuple[str, ...], every: int, crash: Crash, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_checkpoints(monkeypatch, every)
    monkeypatch.setattr(files, "FILE_BLOCK", 200)
    late = ("--late", "late.jsonl") if "--delay" in command else ()
    assert thalweg("run", *command, *late, "--out", "whole.jsonl").exit_code == 0
    expected = [Path(name).read_text() for name in ("whole.jsonl", *late[1:])]
    assert len(expected[0].splitlines()) > 10
    late = late and ("--late", "resumed.late.jsonl")
    line = ("run", *command, *late, "--out", "resumed.jsonl", "--checkpoint", "kept")
    crashes = 0
    for steps in (1, 5, 2, 17, 3):
        crash.left = steps
        result = thalweg(*line)
        assert result.exit_code in (0, 3), result.output
        crashes += result.exit_code == 3
    assert crashes > 3
    crash.left = 0
    assert thalweg(*line).exit_code == 0
    assert [Path(name).read_text() for name in ("resumed.jsonl", *late[1:])] == expected
    done = thalweg(*line)
    assert done.exit_code == 0
    assert "W416" in done.output
    assert [Path(name).read_text() for name in ("resumed.jsonl", *late[1:])] == expected


COMMAND = ("run", "rules.lars", "--stream", "in.facts", "--out", "out.jsonl", "--checkpoint", "kept")


def crashed(crash: Crash, monkeypatch: pytest.MonkeyPatch, *more: str) -> None:
    """Leaves a checkpoint of a run in the middle."""
    take_checkpoints(monkeypatch)
    crash.left = 20
    assert thalweg(*COMMAND, *more).exit_code == 3
    crash.left = 0


@pytest.mark.parametrize(
    ("changed", "more", "said"),
    [
        (RULES.replace("[5]", "[6]"), (), "belongs to another program"),
        (RULES, ("--emit", "snapshot"), "belongs to the same program with other settings"),
        (RULES, ("--delay", "4"), "belongs to the same program with other settings"),
        (RULES, ("--stream", "lights.jsonl"), "belongs to a run with another `--stream`"),
        (RULES, ("--zone", "Europe/Rome"), "belongs to a run with another `--zone`"),
        (RULES, ("--tick", "5s"), "belongs to a run with another `--tick`"),
    ],
)
def test_a_checkpoint_of_something_else_is_refused(
    changed: str, more: tuple[str, ...], said: str, crash: Crash, monkeypatch: pytest.MonkeyPatch
) -> None:
    crashed(crash, monkeypatch)
    before = Path("out.jsonl").read_text()
    Path("rules.lars").write_text(changed)
    result = thalweg(*COMMAND, *more)
    assert result.exit_code == 1
    assert f"error[E408]: the checkpoint `kept` {said}" in result.output
    assert Path("out.jsonl").read_text() == before


def test_files_that_were_changed_in_between_are_refused(crash: Crash, monkeypatch: pytest.MonkeyPatch) -> None:
    crashed(crash, monkeypatch)
    Path("out.jsonl").write_text("")
    result = thalweg(*COMMAND)
    assert (result.exit_code, "`out.jsonl` does not contain what this run has written" in result.output) == (1, True)


@pytest.mark.parametrize("output", ["out.jsonl", "late.jsonl"])
def test_without_a_state_an_output_that_exists_is_refused_and_stays(output: str) -> None:
    Path(output).write_text("what another run has written\n")
    for runtime in ("embedded", "spark"):
        result = thalweg(*COMMAND, "--late", "late.jsonl", "--runtime", runtime)
        assert (result.exit_code, f"error[E408]: `{output}` exists" in result.output) == (1, True)
        assert Path(output).read_text() == "what another run has written\n"
    Path(output).unlink()
    assert thalweg(*COMMAND, "--late", "late.jsonl").exit_code == 0


def test_without_a_state_a_table_that_exists_is_refused_and_stays() -> None:
    command = ("run", "rules.lars", "--stream", "in.facts", "--out", "out.parquet")
    assert thalweg(*command, "--checkpoint", "first").exit_code == 0
    parts = sorted(Path("out.parquet").iterdir())
    assert parts
    result = thalweg(*command, "--checkpoint", "second")
    assert (result.exit_code, "error[E408]: `out.parquet` exists" in result.output) == (1, True)
    assert sorted(Path("out.parquet").iterdir()) == parts


def test_a_folder_that_is_in_use_is_refused() -> None:
    with embedded_checkpoint.locked(Path("kept")):
        result = thalweg(*COMMAND)
    assert (result.exit_code, "another run is using the checkpoint `kept`" in result.output) == (1, True)


def test_a_run_that_ended_at_a_malformed_line_is_over() -> None:
    Path("in.facts").write_text("speed(a,1) at 1.\nspeed(a,) at 2.\n")
    first = thalweg(*COMMAND)
    assert (first.exit_code, "error[E301]: expected a term" in first.output) == (3, True)
    answers = Path("out.jsonl").read_text()
    Path("in.facts").write_text("speed(a,1) at 1.\nspeed(a,2) at 2.\n")
    again = thalweg(*COMMAND)
    assert again.exit_code == 1
    assert "the run of checkpoint `kept` ended with this error: expected a term" in again.output
    assert 'leave it out with `--on-error skip` (`on_error = "skip"` in a deployment)' in again.output
    assert Path("out.jsonl").read_text() == answers


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("rules.lars", "--stream", "-"), "`-` cannot be read again after a crash"),
        (("rules.lars", "--stream", "in.facts", "--out", "out.jsonl.gz"), "`out.jsonl.gz` cannot be continued"),
    ],
)
def test_what_cannot_be_resumed_is_wrong_usage(command: tuple[str, ...], said: str) -> None:
    result = thalweg("run", *command, "--checkpoint", "kept")
    assert result.exit_code == 2, result.output
    assert said in result.output
    assert not Path("kept", "program.json").exists()


def test_an_interrupted_run_closes_nothing_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals that are open stay open, and what waits for its tick goes on waiting."""
    command = ("run", "rules.lars", *STREAMS, "--emit", "intervals")
    assert thalweg(*command, "--out", "whole.jsonl").exit_code == 0
    taken = 0

    def interrupt(run: LocalRun, item: Taken) -> None:
        nonlocal taken
        taken += 1
        if taken % 25 == 0:
            run._interrupt.asked = True

    after_each_item(monkeypatch, interrupt)
    runs = 0
    while runs < 20:
        runs += 1
        result = thalweg(*command, "--out", "resumed.jsonl", "--checkpoint", "kept")
        assert result.exit_code == 0
        if "W416" in result.output:
            break
    assert runs > 3
    assert Path("resumed.jsonl").read_text() == Path("whole.jsonl").read_text()


def test_a_checkpoint_that_is_being_taken_is_not_stopped() -> None:
    interrupt = Interrupt()
    with interrupt.listen(grace=60):
        interrupt.ask()
        with interrupt.saving():
            signal.raise_signal(signal.SIGALRM)
        with pytest.raises(StoppedError):
            signal.raise_signal(signal.SIGALRM)


def test_without_a_checkpoint_nothing_is_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalRun, "save", None)
    assert thalweg("run", "rules.lars", "--stream", "in.facts", "--out", "out.jsonl").exit_code == 0


def test_a_checkpoint_that_takes_long_is_taken_less_often(tmp_path: Path) -> None:
    now = 0.0

    def clock() -> float:
        return now

    claim = embedded_checkpoint.Claim("program", "fingerprint")
    with embedded_checkpoint.EmbeddedCheckpoint(tmp_path / "kept", claim, 3, clock) as checkpoint:
        checkpoint.claim()
        assert not checkpoint.is_due
        now = 3.0
        assert checkpoint.is_due

        def slowly() -> bytes:
            nonlocal now
            now += 1
            return b""

        checkpoint.save(slowly)
        now = 4.0 + 9.9
        assert not checkpoint.is_due
        now = 4.0 + 10.1
        assert checkpoint.is_due


# Real processes ------------------------------------------------------------------------------------------------------

# Checkpoints come in quick succession, so that a short run has many of them.
QUICKLY = """
import pyarrow
from thalweg.runtimes import embedded_checkpoint
embedded_checkpoint.EVERY = 0.01
from thalweg.cli import main
main()
"""


def started(*arguments: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", QUICKLY, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def size(name: str) -> int:
    return os.stat(name).st_size if Path(name).exists() else 0


@pytest.mark.parametrize(
    ("ticks", "kills"), [(2_000, 1), pytest.param(60_000, 100, marks=pytest.mark.slow)], ids=["once", "100 times"]
)
def test_killed_and_resumed_is_never_stopped(ticks: int, kills: int) -> None:
    """Half-way it is asked to end instead."""
    write_stream(ticks)
    command = ("run", "rules.lars", *STREAMS, "--emit", "changes")
    assert thalweg(*command, "--out", "whole.jsonl", "--late", "whole.late.jsonl").exit_code == 0
    line = (*command, "--out", "resumed.jsonl", "--late", "resumed.late.jsonl", "--checkpoint", "kept")
    random, whole = Random(kills), size("whole.jsonl")
    struck = 0
    for number in range(kills + 1):
        process = started(*line)
        # Anywhere in the next part of the run, from before its first answer on.
        until = size("resumed.jsonl") + random.randrange(1 + whole // (kills + 2))
        while size("resumed.jsonl") < until and process.poll() is None:
            time.sleep(0.002)
        process.send_signal(signal.SIGTERM if number == kills // 2 else signal.SIGKILL)
        _, err = process.communicate(timeout=60)
        assert process.returncode in (0, -signal.SIGKILL), err
        struck += process.returncode != 0 or number == kills // 2
    assert struck > kills * 0.9
    process = started(*line)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    for name in ("jsonl", "late.jsonl"):
        assert Path(f"resumed.{name}").read_text() == Path(f"whole.{name}").read_text(), name


def test_a_burst_is_saved_in_the_silence_after_it_and_nothing_of_the_output_is_lost() -> None:
    """A connection cannot repeat what it brought, so that a checkpoint must hold it."""
    Path("seen.lars").write_text("seen(X) :- p(X).\n")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        line = ("run", "seen.lars", "--stream", f"tcp://127.0.0.1:{port}", "--out", "out.jsonl", "--checkpoint", "kept")

        def sent(burst: bytes, ends: bool) -> None:
            process = started(*line)
            connection, _ = server.accept()
            with connection:
                wait_until(lambda: size("kept/state") > 0, process)
                begun = Path("kept/state").read_bytes()
                connection.sendall(burst)
                if not ends:
                    wait_until(lambda: Path("kept/state").read_bytes() != begun and size("out.jsonl") > 0, process)
                    process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=60)
            assert process.returncode == 0, err
            assert b"stopped before" not in err

        sent(b"p(a) at 1.\np(b) at 2.\np(c) at 3.\n", ends=False)
        assert begins("out.jsonl") == ["seen(a)", "seen(b)"]
        sent(b"p(d) at 4.\n", ends=True)
    assert begins("out.jsonl") == ["seen(a)", "seen(b)", "seen(c)", "seen(d)"]


def begins(name: str) -> list[str]:
    return [fact for line in Path(name).read_text().splitlines() for fact in json.loads(line)["begin"]]


def wait_until(holds: Callable[[], bool], process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "it never happens"
        time.sleep(0.01)
