"""On Spark, too, rules that never held say how far they got."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from thalweg.cli import app

pytestmark = pytest.mark.usefixtures("in_session")
RULES = """
seen(D) :- temp(D,V).
fire(D) :- temp(D,V), V > 1200.
both(D) :- temp(D,V), place(D,R).
call(D) :- fire(D), place(D,R).
"""


def test_both_runtimes_say_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.lars").write_text(RULES)
    Path("in.facts").write_text("temp(d1,20) at 1.\ntemp(d2,980) at 2.\nplace(d7,hall) at 3.\n")
    found = []
    for runtime in ("embedded", "spark"):
        words = ["run", "rules.lars", "--stream", "in.facts", "--verbose", "--runtime", runtime, "--out", "out.jsonl"]
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output
        found.append(re.findall(r"W314\]: (.*)", result.output))
    assert found[0] == found[1]
    assert found[1] == [
        "rule 2: `V > 1200`: 2 readings, largest 980",
        "rule 3: `temp(D,V)` and `place(D,R)` never had the same D",
        "rule 4: `fire/1` was never derived (rule 2)",
    ]
