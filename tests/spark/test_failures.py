"""A worker that cannot go on ends a run with its diagnostic: once, after the answers before it, and without a retry."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

from spark.commands import invoke, run
from thalweg.diagnostics import Diagnostic, FailedError
from thalweg.kinds.rules.rule_engine import RuleEngine
from thalweg.spark import reason

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAM = "q(X) :- p(X) in [2]."

pytestmark = pytest.mark.usefixtures("in_session")


@pytest.fixture
def exhausted(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Workers whose engines fail after tick 6; the classes are local, so that they go to the workers by value."""
    from thalweg.runtimes.spark import dataframe

    class ExhaustedEngine(RuleEngine):
        def advance(self, to: int, *arguments: Any) -> Any:
            if to > 6:
                raise FailedError(Diagnostic("E407", "there is no room for more rows", help="give it more"))
            return super().advance(to, *arguments)

    class ExhaustedProcessor(dataframe.LastProcessor):
        def handleInputRows(self, *arguments: Any) -> Iterator[Any]:  # noqa: N802
            with patch("thalweg.kinds.rules.rule_operator.RuleEngine", ExhaustedEngine):
                yield from super().handleInputRows(*arguments)

    monkeypatch.setattr(dataframe, "LastProcessor", ExhaustedProcessor)
    return monkeypatch


def test_the_run_ends_with_the_diagnostic_and_can_be_resumed(tmp_path: Path, exhausted: pytest.MonkeyPatch) -> None:
    (tmp_path / "program.lars").write_text(PROGRAM)
    # Each bucket has facts at each tick, so that all fail at the same one.
    facts = (f"p({name}) at {tick}." for tick in range(12) for name in (f"x{tick % 4}", *map("y{}".format, range(64))))
    (tmp_path / "stream.facts").write_text("\n".join(facts))

    def options(name: str) -> list[str | Path]:
        files = ["--stream", tmp_path / "stream.facts", "--out", tmp_path / f"{name}.jsonl", "--emit", "changes"]
        return [tmp_path / "program.lars", *files]

    place = ["--runtime", "spark", "--partitions", "2", "--checkpoint", tmp_path / "checkpoint"]
    run(*options("embedded"))
    failed = invoke(*options("spark"), *place)
    assert failed.exit_code == 3
    assert failed.output == "error[E407]: there is no room for more rows\n  help: give it more\n"
    whole, part = ((tmp_path / f"{name}.jsonl").read_text() for name in ("embedded", "spark"))
    assert whole.startswith(part)
    assert '{"t":4,' in part
    assert '{"t":7,' not in part
    exhausted.undo()
    assert run(*options("spark"), *place).output == ""
    assert (tmp_path / "spark.jsonl").read_text() == whole


@pytest.mark.slow
@pytest.mark.usefixtures("exhausted")
def test_a_job_of_ones_own_fails_with_the_diagnostic(session: "SparkSession") -> None:
    facts = session.createDataFrame([("a", tick) for tick in range(10)], "x string, t long")
    with pytest.raises(Exception, match=r"error\[E407\]: there is no room for more rows") as failed:
        reason(PROGRAM, {"p": facts}).count()
    assert "Traceback" not in str(failed.value)


def test_data_is_rejected_before_the_first_answer_and_fails_the_run_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.lars").write_text("q(X) :- p(X).\n")
    ended = []
    for text in ("p( at 6.\np(c) at 7.\n", "p(a) at 1.\np(b) at 5.\np( at 6.\n"):
        (tmp_path / "in.facts").write_text(text)
        failed = invoke("q.lars", "--stream", "in.facts", "--runtime", "spark", "--out", "out.csv")
        ended.append((failed.exit_code, failed.stderr.count("E301"), (tmp_path / "out.csv").exists()))
    assert ended == [(1, 1, False), (3, 1, True)]
    rows = ["t,op,predicate,args", '1,+,q,"[""a""]"', '2,-,q,"[""a""]"', '5,+,q,"[""b""]"']
    assert (tmp_path / "out.csv").read_text().splitlines() == rows
