"""A worker that cannot go on ends a run with its diagnostic: once, after the answers before it, and without a retry."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from spark.processes import run, thalweg

PROGRAM = "q(X) :- p(X) in [2]."
# Defined in `__main__`, so that it goes to the workers by value.
EXHAUSTED = """
from unittest.mock import patch
from thalweg.diagnostics import Diagnostic, FailedError
from thalweg.kinds.rules.rule_engine import RuleEngine
from thalweg.runtimes.spark import dataframe

class ExhaustedEngine(RuleEngine):
    def advance(self, to, *rest):
        if to > 6:
            raise FailedError(Diagnostic("E407", "there is no room for more rows", help="give it more"))
        return super().advance(to, *rest)

class ExhaustedProcessor(dataframe.LastProcessor):
    def handleInputRows(self, *rows):
        with patch("thalweg.kinds.rules.rule_operator.RuleEngine", ExhaustedEngine):
            yield from super().handleInputRows(*rows)

dataframe.LastProcessor = ExhaustedProcessor
"""
RUN = """
from thalweg.cli import main

main()
"""
REASON = """
from thalweg.runtimes.spark.session import open_session, stop_session
from thalweg.spark import reason

session = open_session("local[2]", 2)
facts = session.createDataFrame([("a", tick) for tick in range(10)], "x string, t long")
try:
    reason("q(X) :- p(X) in [2].", {"p": facts}).count()
except Exception as error:
    print(error)
stop_session(session)
"""


@pytest.mark.parametrize("resumed", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_run_ends_with_the_diagnostic_and_can_be_resumed(tmp_path: Path, resumed: bool) -> None:
    (tmp_path / "program.lars").write_text(PROGRAM)
    # Each bucket has facts at each tick, so that all fail at the same one.
    facts = (f"p({name}) at {tick}." for tick in range(12) for name in (f"x{tick % 4}", *"abcdefgh"))
    (tmp_path / "stream.facts").write_text("\n".join(facts))

    def options(name: str) -> list[str | Path]:
        files = ["--stream", tmp_path / "stream.facts", "--out", tmp_path / f"{name}.jsonl", "--emit", "changes"]
        return ["run", tmp_path / "program.lars", *files]

    place = ["--runtime", "spark", "--partitions", "2", "--checkpoint", tmp_path / "checkpoint"]
    assert run(thalweg(*options("embedded")), tmp_path / "said.txt") == 0
    line = [sys.executable, "-c", EXHAUSTED + RUN, *map(str, [*options("spark"), *place])]
    assert run(line, tmp_path / "said.txt") == 3
    told = "error[E407]: there is no room for more rows\n  help: give it more\n"
    assert (tmp_path / "said.txt").read_text() == told
    whole, part = ((tmp_path / f"{name}.jsonl").read_text() for name in ("embedded", "spark"))
    assert whole.startswith(part)
    assert '{"t":4,' in part
    assert '{"t":7,' not in part
    if resumed:
        assert run(thalweg(*options("spark"), *place), tmp_path / "said.txt") == 0
        assert (tmp_path / "spark.jsonl").read_text() == whole
        assert (tmp_path / "said.txt").read_text() == told


@pytest.mark.slow
def test_a_job_of_ones_own_fails_with_the_diagnostic(tmp_path: Path) -> None:
    assert run([sys.executable, "-c", EXHAUSTED + REASON], tmp_path / "said.txt") == 0
    said = (tmp_path / "said.txt").read_text()
    assert "error[E407]: there is no room for more rows" in said
    assert "Traceback" not in said


def test_data_is_rejected_before_the_first_answer_and_fails_the_run_after_it(tmp_path):
    (tmp_path / "q.lars").write_text("q(X) :- p(X).\n")
    command = [sys.executable, "-m", "thalweg", "run", "q.lars", "--stream", "in.facts", "--runtime", "spark"]
    ended = []
    for text in ("p( at 6.\np(c) at 7.\n", "p(a) at 1.\np(b) at 5.\np( at 6.\n"):
        (tmp_path / "in.facts").write_text(text)
        one = subprocess.run(
            [*command, "--out", "out.csv"], cwd=tmp_path, env=os.environ, capture_output=True, timeout=240
        )
        ended.append((one.returncode, one.stderr.count(b"E301"), (tmp_path / "out.csv").exists()))
    assert ended == [(1, 1, False), (3, 1, True)]
    rows = ["t,op,predicate,args", '1,+,q,"[""a""]"', '2,-,q,"[""a""]"', '5,+,q,"[""b""]"']
    assert (tmp_path / "out.csv").read_text().splitlines() == rows
