"""On Spark a memory budget holds for each bucket, and the answers over it are sound."""

import json
from pathlib import Path

import pytest

from spark.processes import run, thalweg

# Two stages, keyed by Y and by X: what the first sheds is unknown in the second.
PROGRAM = "q(X) :- e(X,Y) in [40], f(Y) in [40]. a(X) :- r(X) in [60], not q(X)."
TICKS = 30


def facts() -> str:
    lines = []
    for tick in range(TICKS):
        lines += [f"e(x{tick}_{number},y{number}) at {tick}." for number in range(300)]
        lines += [f"f(y{tick}) at {tick}.", f"r(x{tick}_{tick}) at {tick}.", f"r(z{tick}) at {tick}."]
    return "\n".join(lines)


def command(folder: Path, out: str, emit: str, *options: str | Path) -> list[str]:
    (folder / "program.lars").write_text(PROGRAM)
    (folder / "stream.facts").write_text(facts())
    about = ("--stream", folder / "stream.facts", "--out", folder / out, "--emit", emit, "--to", "120")
    return thalweg("run", folder / "program.lars", *about, *options, segment=20)


@pytest.mark.slow
def test_answers_over_a_budget_are_true(tmp_path: Path) -> None:
    said = tmp_path / "said.txt"
    assert run(command(tmp_path, "whole.jsonl", "snapshot"), said) == 0
    options = ("--runtime", "spark", "--memory", "300K")
    assert run(command(tmp_path, "spark.jsonl", "snapshot", *options), said) == 0
    whole = [json.loads(line) for line in (tmp_path / "whole.jsonl").read_text().splitlines()]
    found = [json.loads(line) for line in (tmp_path / "spark.jsonl").read_text().splitlines()]
    assert [line["t"] for line in found] == [line["t"] for line in whole] == list(range(121))
    for line, full in zip(found, whole, strict=True):
        assert set(line["facts"]) <= set(full["facts"])
        assert "partial" in line or line["facts"] == full["facts"]
    assert {name for line in found if "partial" in line for name in line["shed"]} == {"e/2", "f/1"}
    assert "partial" not in found[-1]
    assert "warning[W414]: facts of `e/2`, `f/1` were shed at tick " in said.read_text()
    assert "warning[W415]: answers were partial between ticks " in said.read_text()


@pytest.mark.slow
def test_a_tick_that_does_not_fit_ends_the_run_once(tmp_path: Path) -> None:
    """Spark would try a failed task four times, so the diagnostic comes back as data."""
    (tmp_path / "count.lars").write_text("n(X) :- p(X).\nn(X+1) :- n(X).\n")
    (tmp_path / "stream.facts").write_text("p(1) at 1.\n")
    said = tmp_path / "said.txt"
    files = (tmp_path / "count.lars", "--stream", tmp_path / "stream.facts", "--out", tmp_path / "out.jsonl")
    assert run(thalweg("run", *files, "--runtime", "spark", "--memory", "16M"), said) == 3
    errors = said.read_text()
    assert errors.count("error[E410]: tick 1 does not fit: the memory budget of 16 MB is used up") == 1
    assert "count.lars:2:1" in errors
    assert "Traceback" not in errors
    assert "Exception" not in errors
