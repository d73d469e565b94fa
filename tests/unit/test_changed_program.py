"""`--on-change begin`: a run goes on from its checkpoint with a changed program."""

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from taken_items import Taken, after_each_item
from thalweg.cli import app
from thalweg.runtimes.local import LocalRun

RULES = """
slow(R) :- speed(R,V) in [3], V < 20.
jam(R) :- slow(R), light(R) in [9].
seen(R) :- speed(R,_) in [40].
"""
WIDER = RULES.replace("[9]", "[12]")
COMMAND = ("run", "rules.lars", "--stream", "in.facts", "--out", "out.jsonl", "--checkpoint", "kept")
BEGIN = (*COMMAND, "--on-change", "begin")
CUT = 20


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.lars").write_text(RULES)
    lines = (
        f"speed({'ab'[tick % 2]},{tick * 7 % 31}) at {tick}.\nlight({'ba'[tick % 2]}) at {tick}.\n"
        for tick in range(40)
    )
    Path("in.facts").write_text("".join(lines))


class Stop:
    """Interrupts a run when an item of a tick has come."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at: int | None = None
        after_each_item(monkeypatch, self._see)

    def _see(self, run: LocalRun, item: Taken) -> None:
        if self.at is not None and isinstance(item, tuple) and item[0] >= self.at:
            run._interrupt.asked = True


@pytest.fixture
def stop(monkeypatch: pytest.MonkeyPatch) -> Stop:
    return Stop(monkeypatch)


def thalweg(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def stopped(stop: Stop, *command: str, at: int = CUT) -> Result:
    """Runs a command up to a tick, and leaves its checkpoint."""
    stop.at = at
    result = thalweg(*command)
    stop.at = None
    assert result.exit_code == 0, result.output
    return result


def changes(name: str = "out.jsonl") -> dict[int, tuple[list[str], list[str]]]:
    lines = map(json.loads, Path(name).read_text().splitlines())
    return {line["t"]: (line["begin"], line["end"]) for line in lines}


def about(predicate: str, found: dict[int, tuple[list[str], list[str]]]) -> list[tuple[int, list[str], list[str]]]:
    own = [
        (tick, *([fact for fact in facts if fact.startswith(f"{predicate}(")] for facts in sides))
        for tick, sides in found.items()
    ]
    return [change for change in own if change[1] or change[2]]


def test_what_is_unchanged_goes_on_and_all_else_begins(stop: Stop) -> None:
    assert thalweg("run", "rules.lars", "--stream", "in.facts", "--out", "whole.jsonl").exit_code == 0
    whole = changes("whole.jsonl")
    stopped(stop, *COMMAND)
    Path("rules.lars").write_text(WIDER)
    refused = thalweg(*COMMAND)
    assert (refused.exit_code, "belongs to another program" in refused.output) == (1, True)
    result = thalweg(*BEGIN)
    assert result.exit_code == 0, result.output
    assert "W422" in result.output
    assert "`jam/1` begins at 20; `seen/1`, `slow/1` go on" in result.output
    found = changes()
    assert about("slow", found) == about("slow", whole)
    assert about("seen", found) == about("seen", whole)
    jams = [change for change in about("jam", found) if change[0] >= CUT]
    # The light of `a` was before: what rested on it ends, and what comes now begins anew.
    assert jams[0] == (CUT, ["jam(b)"], ["jam(a)", "jam(b)"])
