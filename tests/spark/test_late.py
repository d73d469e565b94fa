"""On Spark, too, disorder inside the delay changes no answer, and what comes later still is told of, fact by fact."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from spark.processes import run, thalweg

PROGRAM = """
hot(R)  :- at(S,R), warm(S) in [6].
cold(R) :- at(S,R) in [3], not hot(R).
"""
TICKS, DELAY = 60, 4
# A batch has about one event.
SEGMENT = 1
# What comes after how many others: in the batch in which the watermark has passed it, and many batches later. The last
# is of a kind that no rule asks for.
STRAGGLERS = {24: ["warm(s1) at 2", "at(s1,r1) at 2"], 25: ["at(s9,r9) at 5"], 70: ["warm(s2) at 7", "other(x) at 0"]}


def in_order() -> list[tuple[int, str]]:
    warm = [(tick, f"warm(s{tick % 7})") for tick in range(0, TICKS, 3)]
    return sorted([*warm, *((tick, f"at(s{tick % 7},r{tick % 5})") for tick in range(TICKS))])


def in_disorder() -> list[tuple[int, str]]:
    """Each fact comes up to the delay later than it should."""
    events = in_order()
    held = [(place * 7 + place // 3) % (DELAY + 1) for place in range(len(events))]
    order = sorted(range(len(events)), key=lambda place: (events[place][0] + held[place], place))
    return [events[place] for place in order]


def lines(events: list[tuple[int, str]]) -> list[str]:
    return [f"{fact} at {tick}" for tick, fact in events]


def command(folder: Path, out: str, facts: list[str], *options: str | Path) -> list[str]:
    (folder / "program.lars").write_text(PROGRAM)
    stream = folder / "stream.facts"
    stream.write_text("\n".join(f"{fact}." for fact in facts))
    about = ("--stream", stream, "--out", folder / out, "--emit", "changes", "--delay", str(DELAY))
    return thalweg("run", folder / "program.lars", *about, *options, segment=SEGMENT)


@pytest.mark.slow
def test_late_facts_are_told_one_by_one_and_all_others_answered_as_if_in_order(tmp_path: Path) -> None:
    said, late = tmp_path / "said.txt", tmp_path / "late.jsonl"
    assert run(command(tmp_path, "in order.jsonl", lines(in_order())), said) == 0
    events = in_disorder()
    assert events != in_order()
    mixed, expected = list[str](), list[str]()
    for place, event in enumerate(lines(events)):
        watermark = max(tick for tick, _ in events[: place + 1]) - DELAY
        mixed += [event, *STRAGGLERS.get(place, ())]
        expected += [told_late(one, watermark) for one in STRAGGLERS.get(place, ())]
    assert run(command(tmp_path, "spark.jsonl", mixed, "--runtime", "spark", "--late", late), said) == 0
    assert (tmp_path / "spark.jsonl").read_text() == (tmp_path / "in order.jsonl").read_text() != ""
    assert sorted(late.read_text().splitlines()) == sorted(expected)
    assert said.read_text() == ""


def told_late(straggler: str, watermark: int) -> str:
    fact, _, tick = straggler.partition(" at ")
    return f'{{"t":{tick},"watermark":{watermark},"stream":"stream","facts":["{fact}"]}}'


@pytest.mark.slow
def test_without_a_late_channel_they_are_counted(tmp_path: Path) -> None:
    said = tmp_path / "said.txt"
    facts = ["warm(s1) at 9", "warm(s2) at 3", "other(x) at 4", "at(s1,r1) at 9"]
    assert run(command(tmp_path, "spark.jsonl", facts, "--runtime", "spark"), said) == 0
    assert said.read_text().startswith("warning[W302]: 2 facts were late and ignored: `warm(s2) at 3`")


@pytest.mark.slow
def test_a_live_run_warns_while_it_goes_on_and_one_that_drops_most_facts_fails(tmp_path: Path) -> None:
    (tmp_path / "hot.lars").write_text("hot(D) :- temp(D).")
    with socket.create_server(("127.0.0.1", 0)) as server:
        stream = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        options = ("--stream", stream, "--runtime", "spark", "--out", tmp_path / "hot.jsonl")
        command = [sys.executable, "-m", "thalweg", "run", tmp_path / "hot.lars", *options]
        live = subprocess.Popen(command, stderr=subprocess.PIPE)
        sender, _ = server.accept()
        with sender:
            times = ("2026-11-15T08:00:05Z", "2026-11-15T08:00:02Z", "2026-11-15T08:00:01Z", "2999-01-01T00:00:00Z")
            sender.sendall("".join(f"temp(a) at @{time}.\n" for time in times).encode())
            assert live.stderr is not None
            # Far facts are known in the driver, late ones when the workers have seen them.
            warned = (line for line in live.stderr if line.startswith(b"warning"))
            assert next(warned).startswith(b"warning[W308]: 1 fact has")
            assert next(warned).startswith(b"warning[W302]: 2 facts were late")
        _, complaints = live.communicate(timeout=120)
    assert live.returncode == 3
    assert b"W309" in complaints
    assert b"3 of 4 facts dropped; 4 events" in complaints
