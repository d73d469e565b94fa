"""`--as consistency` on the command line: what is told, what is shown, what is refused."""

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from thalweg.cli import app

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
PREFIXES = """
@prefix : <http://ex.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""
STAFF = f"""{PREFIXES}
:Student rdfs:subClassOf :Person . :Employee rdfs:subClassOf :Person .
:Faculty rdfs:subClassOf :Employee . :Admin rdfs:subClassOf :Employee .
:Article rdfs:subClassOf :Publication . :Book rdfs:subClassOf :Publication .
:Organization a owl:Class . :Work a owl:Class .
:Person owl:disjointWith :Publication , :Organization , :Work . :Publication owl:disjointWith :Organization , :Work .
:Organization owl:disjointWith :Work . :Student owl:disjointWith :Employee , :Faculty .
:Article owl:disjointWith :Book . :Faculty owl:disjointWith :Admin .
"""
RECORDS = f"""5 <http://ex.org/bob> {TYPE} <http://ex.org/Faculty> .
7 <http://ex.org/bob> {TYPE} <http://ex.org/Work> .
"""
CLASH = {
    "individual": "<http://ex.org/bob>",
    "axiom": "DisjointClasses(<http://ex.org/Person> <http://ex.org/Work>)",
    "because": ["<http://ex.org/Faculty>(<http://ex.org/bob>) at 5", "<http://ex.org/Work>(<http://ex.org/bob>) at 7"],
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("staff.ttl").write_text(STAFF)
    Path("records.tnt").write_text(RECORDS)
    return tmp_path


def thalweg(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def run(*arguments: str) -> Result:
    return thalweg("run", "staff.ttl", "--as", "consistency", "--stream", "records.tnt", "--window", "3", *arguments)


def lines(result: Result) -> list[dict[str, object]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("topology", [["ntm"], ["ltm"], ["ltm", "--bolts", "2"], ["auto"]], ids=" ".join)
def test_a_clash_is_told_with_its_reasons_while_it_lasts(topology: list[str]) -> None:
    told = lines(run("--topology", *topology, "--to", "9"))
    assert told == [{"t": tick, "inconsistent": [CLASH] if tick in (7, 8) else []} for tick in range(5, 10)]


def test_the_axiom_and_the_reasons_stand_in_the_order_of_the_contract() -> None:
    line = run("--from", "7", "--to", "7", "--window", "2").stdout
    assert line == '{"t":7,"inconsistent":[]}\n', "what came before the first tick does not count"
    assert list(lines(run("--to", "7"))[-1]["inconsistent"][0]) == ["individual", "axiom", "because"]  # type: ignore[index]


def test_changes_and_intervals_tell_it_once() -> None:
    ended = {key: CLASH[key] for key in ("individual", "axiom")}
    changes = [{"t": 7, "begin": [CLASH], "end": []}, {"t": 9, "begin": [], "end": [ended]}]
    assert lines(run("--emit", "changes", "--to", "9")) == changes
    assert lines(run("--emit", "intervals", "--to", "9")) == [{**CLASH, "from": 7, "until": 8}]


def test_facts_of_the_background_have_no_time() -> None:
    Path("known.ttl").write_text(f"{PREFIXES} :bob a :Faculty .")
    (told,) = lines(run("--background", "known.ttl", "--emit", "changes"))
    assert told["begin"][0]["because"] == [  # type: ignore[index]
        "<http://ex.org/Faculty>(<http://ex.org/bob>)",
        "<http://ex.org/Work>(<http://ex.org/bob>) at 7",
    ]


def test_without_a_stream_the_ontology_and_its_data_are_checked() -> None:
    Path("data.ttl").write_text(f"{PREFIXES} :x a :Work , :Student .")
    told = lines(thalweg("run", "staff.ttl", "data.ttl", "--as", "consistency"))
    assert [clash["individual"] for clash in told[0]["inconsistent"]] == ["<http://ex.org/x>"]  # type: ignore[index, attr-defined]


def test_explain_counts_the_bolts_of_the_papers_example() -> None:
    how = ("--as", "consistency", "--topology", "ltm", "--bolts", "3", "--format")
    plan = json.loads(thalweg("explain", "staff.ttl", *how, "json").stdout)
    assert (plan["closure"], plan["closure_roles"]) == (37, 0)
    assert [(bolt["conjunctions"], bolt["inferences"]) for bolt in plan["bolts"]] == [(1, 2), (2, 4), (6, 0)]
    assert thalweg("explain", "staff.ttl", *how, "svg").stdout.startswith("<svg ")
    assert "Faculty – Admin" in thalweg("explain", "staff.ttl", *how, "text").stdout


def test_explain_tells_what_auto_chose_from() -> None:
    plan = json.loads(thalweg("explain", "staff.ttl", "--as", "consistency", "--format", "json").stdout)
    assert plan["topology"] == plan["costs"][0]["topology"]
    assert {"ntm", "ltm", "sides"} == {cost["topology"] for cost in plan["costs"]}


def test_what_cannot_be_is_told_before_any_fact() -> None:
    Path("staff.ttl").write_text(f"{STAFF} :Ghost rdfs:subClassOf :Person , :Work . :eats a owl:FunctionalProperty .")
    found = thalweg("check", "staff.ttl", "--as", "consistency")
    assert found.exit_code == 0
    assert "W411" in found.stderr
    assert "http://ex.org/Ghost" in found.stderr
    assert "W409" in found.stderr
    assert "FunctionalObjectProperty" in found.stderr


def test_why_shows_the_axiom_and_the_facts() -> None:
    fact = f'inconsistent("{CLASH["axiom"]}",<http://ex.org/bob>,<http://ex.org/bob>)'
    how = ("--as", "consistency", "--stream", "records.tnt", "--window", "3", "--at", "8")
    for topology in ("ntm", "auto"):
        told = thalweg("why", "staff.ttl", fact, *how, "--topology", topology).stdout
        assert "<http://ex.org/Faculty>(<http://ex.org/bob>) in [3] at 5" in told
        assert "<http://ex.org/Work>(<http://ex.org/bob>) in [3] at 7" in told


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--as", "abstraction"], "abstraction"),
        (["--topology", "ltm"], "--as consistency"),
        (["--bolts", "2"], "--as consistency"),
        (["--as", "consistency", "--topology", "ntm", "--bolts", "2"], "ntm"),
        (["--as", "consistency", "--format", "nquads"], "--format"),
        (["--as", "consistency", "--schema-stream"], "schema"),
        (["--as", "consistency", "--profile", "pd"], "profile"),
    ],
)
def test_options_that_do_not_fit_are_refused(arguments: list[str], sentence: str) -> None:
    found = thalweg("run", "staff.ttl", "--stream", "records.tnt", *arguments)
    assert found.exit_code == 2
    assert sentence in found.stderr
    assert not found.stdout


def test_rules_beside_it_are_refused() -> None:
    Path("more.lars").write_text("q(X) :- p(X).")
    assert thalweg("run", "staff.ttl", "more.lars", "--as", "consistency", "--stream", "records.tnt").exit_code == 1
    assert thalweg("run", "more.lars", "--as", "consistency", "--stream", "records.tnt").exit_code == 1
