"""How an answer set program is taken apart, as text, as data and as a drawing."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from thalweg.cli import app

COUNTEREXAMPLE = "a(X) :- p(X), not q(X).\nb(X) :- p(X), r(X).\n"
CHOICE = "{ a(X) } :- p(X).\n:- a(X), q(X).\nb(X) :- r(X), X < Y, s(Y).\n"


def explain(folder: Path, text: str, *options: str, verb: str = "explain", code: int = 0) -> tuple[str, str]:
    path = folder / "x.lp"
    path.write_text(text, encoding="utf-8")
    result = CliRunner().invoke(app, [verb, str(path), *options])
    assert result.exit_code == code, result.output
    return result.stdout, result.stderr


def test_as_data(tmp_path: Path) -> None:
    data = json.loads(explain(tmp_path, COUNTEREXAMPLE, "--format", "json")[0])
    assert data["strata"] == [["a/1", "b/1"]]
    assert data["dependency"] == {
        "nodes": ["a/1", "b/1", "p/1", "q/1", "r/1"],
        "directed": [["p/1", "a/1"], ["p/1", "b/1"], ["q/1", "a/1"], ["r/1", "b/1"]],
        "undirected": [["p/1", "q/1"], ["p/1", "r/1"], ["q/1", "q/1"]],
    }
    assert data["inputs"] == {"edges": [["p/1", "q/1"], ["p/1", "r/1"]], "loops": ["q/1"]}
    assert data["communities"] == [["p/1", "q/1"], ["p/1", "r/1"]]
    assert [(piece["inputs"], piece["statements"]) for piece in data["pieces"]] == [
        (["p/1", "q/1"], [1]),
        (["p/1", "r/1"], [2]),
    ]
    assert data["pieces"][0]["key_arguments"] == {"p/1": 1, "q/1": 1}
    assert data["statements"][1] == {
        "number": 2,
        "kind": "rule",
        "text": "b(X) :- p(X), r(X).",
        "file": str(tmp_path / "x.lp"),
        "line": 2,
    }
    assert (data["deterministic"], data["evaluated_by"], data["because"]) == (True, "engine", [])


def test_inputs_decide(tmp_path: Path) -> None:
    data = json.loads(explain(tmp_path, COUNTEREXAMPLE, "--format", "json", "--inputs", "p/1,q/1")[0])
    assert data["communities"] == [["p/1", "q/1"]]


def test_as_text(tmp_path: Path) -> None:
    text, _ = explain(tmp_path, CHOICE)
    lines = text.splitlines()
    assert lines[0] == "3 statements over 4 inputs; there may be several answer sets; 2 pieces"
    assert "  p/1 with q/1" in lines
    assert "  1  p/1, q/1" in lines
    assert "     2: :- a(X), q(X)." in lines
    assert "  clingo, window by window, because:" in lines
    assert "x.lp:1:1: a choice or a disjunction has several answers" in " ".join(text.split())


def test_a_program_without_strata(tmp_path: Path) -> None:
    text, _ = explain(tmp_path, "a :- not b. b :- not a.")
    assert "  none: negation or an aggregate is cyclic" in text.splitlines()


def test_as_published(tmp_path: Path) -> None:
    out, told = explain(tmp_path, COUNTEREXAMPLE, "--decomposition", "paper", "--format", "json")
    data = json.loads(out)
    assert (data["decomposition"], [one["code"] for one in data["warnings"]]) == ("paper", ["W503"])
    assert [piece["statements"] for piece in data["pieces"]] == [[1, 2], [1, 2]]
    assert told.startswith("warning[W503]: in the community p/1, r/1 the rule `a(X) :- p(X), not q(X).`")


@pytest.mark.parametrize("text", [COUNTEREXAMPLE, CHOICE, "a :- b. b :- a, not c, #count{X : p(X)} > 1.", ""])
def test_as_a_drawing(tmp_path: Path, text: str) -> None:
    out, _ = explain(tmp_path, text, "--format", "svg")
    titles = [found.text for found in ElementTree.fromstring(out).iter("{http://www.w3.org/2000/svg}title")]
    assert all(line in titles for line in text.splitlines() if ". " not in line)


def test_check(tmp_path: Path) -> None:
    assert explain(tmp_path, COUNTEREXAMPLE, verb="check")[0].startswith("no problems found")
    found = json.loads(explain(tmp_path, "a(X) :- p.\nb(.", "--format", "json", verb="check", code=1)[0])
    assert [(one["code"], one["line"], one["column"]) for one in found] == [("E203", 1, 3), ("E101", 2, 3)]


def test_options_that_do_not_fit(tmp_path: Path) -> None:
    explain(tmp_path, COUNTEREXAMPLE, "--inputs", "p q", code=2)
    (tmp_path / "x.lars").write_text("a :- p.", encoding="utf-8")
    for option in (["--decomposition", "paper"], ["--inputs", "p/1"]):
        assert CliRunner().invoke(app, ["explain", str(tmp_path / "x.lars"), *option]).exit_code == 2


def test_on_a_cluster_pieces_are_stages_with_a_key_or_without(tmp_path: Path) -> None:
    text, spark = "a(X) :- p(X,Y), not q(X).\nb :- r, s.\n", ("--runtime", "spark", "--partitions", "3")
    assert json.loads(explain(tmp_path, text, *spark, "--format", "json")[0])["stages"] == [
        {"rules": ["a(X) :- p(X,Y), not q(X)."], "key": ["X"], "partitions": 3},
        {"rules": ["b :- r, s."], "key": None, "partitions": 1},
        {"rules": [], "key": None, "partitions": 1, "why": "the answers of all pieces are combined"},
    ]
    drawn = explain(tmp_path, text, *spark, "--format", "svg")[0]
    assert all(f">{label}</text>" in drawn for label in ("stage 0 · 3 partitions by X", "stage 1 · 1 partition"))
    assert ">  because the answers of all pieces are combined</text>" in drawn
    assert ">stage" not in explain(tmp_path, text, "--format", "svg")[0]
    told = explain(tmp_path, text, *spark)[0]
    assert "on Spark in 3 partitions" in told
    assert "on Spark the answers of all pieces are combined in one partition" in told
    assert "Spark" not in explain(tmp_path, text)[0]
