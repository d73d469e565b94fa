"""A service whose deployment reads what a program of another service says to hold, while both are killed."""

import json
from collections.abc import Callable
from pathlib import Path
from threading import Event
from time import monotonic

import thalweg
from served_process import ServedProcess, served
from thalweg.diagnostics import Source

RULES, ALARMS = "slow(S) :- speed(S,V) in [2], V < 20.", "alarm(S) :- slow(S), slow(T), S != T, not off(S).\n"
PATIENCE = 120.0


def facts(first: int, last: int) -> str:
    return "".join(f"speed(s{tick % 3},{tick * 7 % 50}) at {tick}.\n" for tick in range(first, last))


def wait_until(holds: Callable[[], bool]) -> None:
    until, pause = monotonic() + PATIENCE, Event()
    while not holds():
        assert monotonic() < until, "it never happens"
        pause.wait(0.05)


def test_each_answer_is_written_once_whichever_of_them_is_killed(tmp_path: Path) -> None:
    run = thalweg.run([RULES, ALARMS], Source("north.facts", facts(1, 121)), show="alarm/1")
    expected = [line for answer in run for line in str(answer).splitlines()]
    answers, below = tmp_path / "answers.jsonl", tmp_path / "below"
    below.mkdir()
    with served(tmp_path / "above") as upstream:
        (below / "alarms.lars").write_text(ALARMS)
        (below / "city.toml").write_text(
            'program = ["alarms.lars"]\n[output]\nto = "../answers.jsonl"\n'
            f'[streams.jam]\nfrom = "{upstream.url}v1/programs/jam/events?after=1-0"\n'
        )
        with served(below / "data", str(below / "city.toml")) as downstream:

            def come(last: int) -> None:
                """Posts more facts, and waits for what the answers are up to three ticks before the last."""
                upstream.post(facts(last - 29, last + 1))
                behind = [line for line in expected if json.loads(line)["t"] < last - 3]
                wait_until(lambda: answers.exists() and len(answers.read_text().splitlines()) >= len(behind))

            def kill(process: ServedProcess) -> None:
                process.kill()
                process.start()

            # The program may come later than who reads it.
            wait_until(lambda: downstream.ask("GET", "streams/jam")["connector"]["state"] == "retrying")
            assert "there is no program" in downstream.ask("GET", "streams/jam")["connector"]["because"]["message"]
            upstream.put("jam", RULES)
            come(30)
            kill(upstream)
            come(60)
            kill(downstream)
            come(90)
            downstream.kill()
            kill(upstream)
            downstream.start()
            come(120)
            upstream.put("jam", RULES.replace("20", "30"))
            wait_until(lambda: "W424" in (below / "stderr").read_text())
            downstream.kill()
    written = answers.read_text().splitlines()
    assert written == expected[: len(written)]
    assert len(written) > 20
