"""Rules that never hold say how far they got, when a run ends."""

import os
import pty
import re
import signal
import subprocess
import sys
from fractions import Fraction
from operator import eq, ge, gt, le, lt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from thalweg.cli import app
from thalweg.kinds.rules.premise_facts import Condition
from thalweg.model.dictionary import Dictionary

FACTS = """
press(d1,3) at 0. press(d2,3) at 0. temp(d1,20) at 1. temp(d2,980.5) at 2. room(d1,r2) at 3. place(d7,hall) at 3.
note(d1,"n/a") at 4. quiet at 4. late(d1) at 9.
"""
COMMAND = [sys.executable, "-m", "thalweg", "run", "rules.lars"]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.facts").write_text(FACTS)


def said(program: str, *more: str) -> list[str]:
    """What a run warns of rules that concluded nothing."""
    Path("rules.lars").write_text(program)
    result = CliRunner().invoke(app, ["run", "rules.lars", "--stream", "in.facts", "--verbose", *more])
    assert result.exit_code == 0, result.output
    return re.findall(r"warning\[W314\]: (.*)", result.output)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("h(D) :- temp(D,V), V > 1200.", ["rule 1: `V > 1200`: 2 readings, largest 980.5"]),
        ("h(D) :- temp(D,V), 5 >= V.", ["rule 1: `5 >= V`: 2 readings, smallest 20"]),
        ("h(D) :- temp(D,V), V = 7.", ["rule 1: `V = 7`: 2 readings, none is `7`"]),
        ("h(D) :- note(D,V), V > 7.", ["rule 1: `V > 7`: 1 reading, none of them a number"]),
        ('h(D) :- note(D,V), V = "bad".', ["rule 1: `V = \"bad\"`: 1 reading, none is `bad`"]),
        ("h(D) :- temp(D,V), nowhere(D).", ["rule 1: `nowhere(D)` never came"]),
        ("h(D) :- temp(D,V), room(D,r1).", ["rule 1: `room(D,r1)` never came, though facts of `room/2` did"]),
        ("h(D) :- temp(D,V) from north.", ["rule 1: `temp(D,V) from north` never came, though facts of `temp/2` did"]),
        ("h(D) :- temp(D,V), place(D,R).", ["rule 1: `temp(D,V)` and `place(D,R)` never had the same D"]),
        ("h(D) :- temp(D,V), late(D).", ["rule 1: all premises came, but never together"]),
        # What came is known, and not when.
        ("h(D) :- temp(D,V), temp(D,W) at 9, V > W.",
         ["rule 1: facts of all premises came, but never so that the rule held"]),
        ("h(D) :- temp(D,V), late(D) in [3].", ["rule 1: facts of all premises came, but never so that the rule held"]),
        ("h(D) :- temp(D,V), press(E,W) in [9], V < W.",
         ["rule 1: facts of all premises came, but never so that the rule held"]),
        ("h(D) :- temp(D,V) at 9.", ["rule 1: facts of `temp/2` came, but never so that the rule held"]),
        ("h(D) :- temp(D,V) always in [3].", ["rule 1: facts of `temp/2` came, but never so that the rule held"]),
        ("h(D) :- temp(D,V), not press(D,_) in [9].",
         ["rule 1: `temp(D,V)` came, but never with `not press(D,_) in [9]`"]),
        ("h(D) :- temp(D,V), 30 < V < 50.", ["rule 1: `temp(D,V)` came, but never with `30 < V < 50`"]),
        ("h(D) :- temp(D,V), V > 50, V < 30.", ["rule 1: `temp(D,V)` came, but never with `V > 50`, `V < 30`"]),
        ("h(A) :- A = max{V : nowhere(V)}.", ["rule 1: `nowhere(V)` never came"]),
        ("h :- 1 < count{V : nowhere(V)}.", ["rule 1: `1 < count{V : nowhere(V)}` never held"]),
        ("h(D) :- hot(D). hot(D) :- temp(D,V), V > 1200.",
         ["rule 1: `hot/1` was never derived (rule 2)", "rule 2: `V > 1200`: 2 readings, largest 980.5"]),
        ("h(D) :- h(D) in [5], temp(D,V).", ["rule 1: `h/1` was never derived"]),
        ("known(d9). h(D) :- known(D), temp(D,V).", ["rule 1: `known(D)` and `temp(D,V)` never had the same D"]),
        ("known(d1,9). h(D) :- known(D,V), V > 10.", ["rule 1: `V > 10`: 1 reading, largest 9"]),
        # The same column twice has its values in common with itself.
        ("h(D) :- temp(D,V), temp(D,W) in [5], V > 1200.", ["rule 1: `V > 1200`: 2 readings, largest 980.5"]),
        ("h(D) :- room(D,D).", ["rule 1: `room(D,D)` never came, though facts of `room/2` did"]),
        ("h(D) :- count{V : temp(_,V)} > 7, room(D,_).",
         ["rule 1: `room(D,_)` came, but never with `count{V : temp(_,V)} > 7`"]),
        ("h(A) :- A = max{V : temp(_,V)}, A > 1200.",
         ["rule 1: `A = max{V : temp(_,V)}`, `A > 1200` never held together"]),
        # What holds at another tick than now is in no answer.
        ("h(D) at T-1 :- temp(D,V) at T in [0].", []),
        ("h(D) at T-1 :- nowhere(D) at T in [0].", ["rule 1: `nowhere(D) at T in [0]` never came"]),
        ("h(D) at T-1 :- temp(D,V) at T in [0]. g(D) :- h(D) in [2], late(D).",
         ["rule 2: all that streams bring came; whether `h/1` held as well is not known"]),
        # What is not output may have held or not.
        ("#show h/1. h(D) :- hot(D), late(D). hot(D) :- temp(D,V), V > 1200.",
         ["rule 1: `hot/1` was never derived (rule 2)", "rule 2: `V > 1200`: 2 readings, largest 980.5"]),
        ("#show h/1. h(D) :- temp(D,V). hot(D) :- temp(D,V), V > 1200.", []),
        ("#show h/1. h(D) :- hot(D), late(D). hot(D) :- temp(D,V).",
         ["rule 1: all that streams bring came; whether `hot/1` held as well is not known"]),
        # Another rule of the same predicate held.
        ("h(D) :- temp(D,V). h(D) :- nowhere(D).", []),
        ("h :- quiet.", []),
    ],
)  # fmt: skip
def test_how_far_rules_got(program: str, expected: list[str]) -> None:
    assert said(program) == expected


@pytest.mark.parametrize("emit", ["changes", "snapshot", "intervals"])
def test_conclusions_are_seen_however_they_are_emitted(emit: str) -> None:
    program = "a(D) :- temp(D,V). hot(D) :- temp(D,V), V > 1200. z(D) :- press(D,V)."
    assert said(program, "--emit", emit) == ["rule 2: `V > 1200`: 2 readings, largest 980.5"]


def test_beside_other_programs() -> None:
    Path("more.lp").write_text("cold(D) :- temp(D,V), V < 5.")
    messages = said("h(D) :- cold(D), temp(D,_). g(D) :- temp(D,V), V > 1200.", "more.lp", "--window", "1")
    assert messages == [
        "rule 1: all that streams bring came; whether `cold/1` held as well is not known",
        "rule 2: `V > 1200`: 2 readings, largest 980.5",
    ]


def test_ten_rules_are_named_and_the_others_counted() -> None:
    messages = said(" ".join(f"h{number}(D) :- nowhere{number}(D)." for number in range(12)))
    assert len(messages) == 11
    assert messages[-1] == "2 more rules never held"


def test_rules_of_several_files_are_named_with_their_file() -> None:
    Path("other.lars").write_text("% no rule\ng(D) :- nowhere(D).")
    assert said("h(D) :- temp(D,V), V > 1200.", "other.lars") == [
        "rule 1 of rules.lars: `V > 1200`: 2 readings, largest 980.5",
        "rule 1 of other.lars: `nowhere(D)` never came",
    ]


def test_a_predicate_that_is_misspelt_is_said_once() -> None:
    Path("rules.lars").write_text("h(D) :- tempp(D,V).")
    result = CliRunner().invoke(app, ["run", "rules.lars", "--stream", "in.facts", "--verbose"])
    assert re.findall(r"warning\[(\w+)\]", result.output) == ["W304"]


def test_a_similar_predicate_that_came_is_named() -> None:
    Path("rules.lars").write_text("h(D) :- temp(D,V), tmep(D,V). ok(D) :- temp(D,V).")
    result = CliRunner().invoke(app, ["run", "rules.lars", "--stream", "in.facts", "--verbose"])
    assert "W314]: rule 1: `tmep(D,V)` never came\n" in result.output
    assert "help: did you mean `temp/2`?" in result.output


def test_it_is_said_to_people_only() -> None:
    Path("rules.lars").write_text("h(D) :- temp(D,V), V > 1200.")
    for words in ([], ["--verbose", "--quiet"]):
        result = CliRunner().invoke(app, ["run", "rules.lars", "--stream", "in.facts", *words])
        assert "W314" not in result.output
    assert "W314" in on_terminal("--stream", "in.facts")


def on_terminal(*words: str) -> str:
    """What a command says where its errors go to a terminal."""
    controller, terminal = pty.openpty()
    with subprocess.Popen([*COMMAND, *words], stdout=subprocess.DEVNULL, stderr=terminal) as running:
        os.close(terminal)
        said = b""
        while True:
            try:
                said += os.read(controller, 65_536)
            except OSError:
                break
        assert running.wait(60) == 0
    os.close(controller)
    return said.decode()


def test_a_run_that_is_stopped_says_it_too() -> None:
    Path("rules.lars").write_text("h(D) :- temp(D,V), V > 1200. ok(D) :- temp(D,V).")
    os.mkfifo("pipe.facts")
    command = [*COMMAND, "--stream", "pipe.facts", "--verbose"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running,
        open("pipe.facts", "w") as pipe,
    ):
        pipe.write("temp(d1,20) at 1.\ntemp(d1,30) at 2.\n")
        pipe.flush()
        assert running.stdout is not None
        running.stdout.readline()
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
    assert "W314]: rule 1: `V > 1200`: " in errors.decode()
    assert running.returncode == 0


NUMBERS = st.one_of(
    st.integers(-5, 5).map(str),
    st.integers(2**55 - 9, 2**55 - 1).map(str),
    st.tuples(st.integers(-99, 99), st.integers(0, 3)).map(lambda pair: f"{pair[0]}.{'0' * pair[1]}1"),
    st.integers(0, 9).map(lambda digit: f"0.1000000000000000{digit}"),
)


@given(st.sampled_from(["<", "<=", ">", ">=", "="]), NUMBERS, st.lists(NUMBERS, min_size=1))
def test_a_condition_is_met_exactly_where_one_reading_meets_it(operator: str, bound: str, readings: list[str]) -> None:
    words = Dictionary()
    condition = Condition(0, operator, bound)
    condition.see(np.array([[words.code(term)] for term in readings]), words)
    holds = {"<": lt, "<=": le, ">": gt, ">=": ge, "=": eq}[operator]
    assert condition.is_met == any(holds(Fraction(reading), Fraction(bound)) for reading in readings)
