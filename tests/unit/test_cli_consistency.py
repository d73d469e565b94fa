"""`--as consistency` on the command line: what is told, what is shown, what is refused."""

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from thalweg.cli import app
from thalweg.languages.owl import negative

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
    told = lines(run("--topology", *topology, "--to", "9", "--emit", "snapshot"))
    assert told == [{"t": tick, "inconsistent": [CLASH] if tick in (7, 8) else []} for tick in range(5, 10)]


def test_the_axiom_and_the_reasons_stand_in_the_order_of_the_contract() -> None:
    line = run("--from", "7", "--to", "7", "--window", "2", "--emit", "snapshot").stdout
    assert line == '{"t":7,"inconsistent":[]}\n', "what came before the first tick does not count"
    assert list(lines(run("--to", "7"))[-1]["begin"][0]) == ["individual", "axiom", "because"]  # type: ignore[index]


def test_changes_and_intervals_tell_it_once() -> None:
    ended = {key: CLASH[key] for key in ("individual", "axiom")}
    changes = [{"t": 7, "begin": [CLASH], "end": []}, {"t": 9, "begin": [], "end": [ended]}]
    assert lines(run("--to", "9")) == changes
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
    assert [clash["individual"] for clash in told[0]["begin"]] == ["<http://ex.org/x>"]  # type: ignore[index, attr-defined]


def test_explain_counts_the_bolts_of_the_papers_example() -> None:
    how = ("--as", "consistency", "--topology", "ltm", "--bolts", "3", "--format")
    plan = json.loads(thalweg("explain", "staff.ttl", *how, "json").stdout)
    assert (plan["closure"], plan["closure_roles"]) == (37, 0)
    assert [(bolt["conjunctions"], bolt["inferences"]) for bolt in plan["bolts"]] == [(1, 2), (2, 4), (6, 0)]
    assert thalweg("explain", "staff.ttl", *how, "svg").stdout.startswith("<svg ")
    assert "Faculty – Admin" in thalweg("explain", "staff.ttl", *how, "text").stdout


def test_explain_draws_the_stages_of_spark() -> None:
    how = ("explain", "staff.ttl", "--as", "consistency", "--topology", "ltm", "--bolts", "3", "--format")
    stages = json.loads(thalweg(*how, "json", "--runtime", "spark").stdout)["stages"]
    drawn = thalweg(*how, "svg", "--runtime", "spark").stdout
    assert len(stages) == 3
    assert all(f">stage {number}</tspan>" in drawn for number in range(3))
    assert all(f">{len(stage['rules'])} rules</tspan>" in drawn for stage in stages)
    assert drawn.count(">2 partitions by X</tspan>") == 3
    assert "on Spark" not in thalweg(*how, "svg").stdout


def test_explain_tells_what_auto_chose_from() -> None:
    plan = json.loads(thalweg("explain", "staff.ttl", "--as", "consistency", "--format", "json").stdout)
    assert plan["topology"] == plan["costs"][0]["topology"]
    assert {"ntm", "ltm", "sides"} == {cost["topology"] for cost in plan["costs"]}


def test_what_cannot_be_is_told_before_any_fact() -> None:
    Path("staff.ttl").write_text(f"{STAFF} :Ghost rdfs:subClassOf :Person , :Work . :eats a owl:FunctionalProperty .")
    found = thalweg("check", "staff.ttl", "--as", "consistency")
    assert found.exit_code == 0
    assert "W411" in found.stderr
    assert "`:Ghost` is unsatisfiable" in found.stderr
    assert "W409" in found.stderr
    assert "FunctionalObjectProperty" in found.stderr


def test_why_shows_the_axiom_and_the_facts() -> None:
    fact = f'inconsistent("{CLASH["axiom"]}",<http://ex.org/bob>,<http://ex.org/bob>)'
    how = ("--as", "consistency", "--stream", "records.tnt", "--window", "3", "--at", "8")
    for topology in ("ntm", "auto"):
        told = thalweg("why", "staff.ttl", fact, *how, "--topology", topology).stdout
        assert ":Faculty(:bob) in [3] at 5" in told
        assert ":Work(:bob) in [3] at 7" in told


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
        (["--as", "consistency", "--profile", "ql"], "profile"),
    ],
)
def test_options_that_do_not_fit_are_refused(arguments: list[str], sentence: str) -> None:
    found = thalweg("run", "staff.ttl", "--stream", "records.tnt", *arguments)
    assert found.exit_code == 2
    assert sentence in found.stderr
    assert not found.stdout


def test_rules_beside_it_are_refused() -> None:
    Path("more.lars").write_text("q(X) :- p(X).")
    assert thalweg("run", "staff.ttl", "more.lars", "--as", "consistency", "--stream", "records.tnt").exit_code == 2
    for verb in (["run", "--stream", "records.tnt"], ["check"], ["explain"]):
        assert thalweg(*verb, "more.lars", "--as", "consistency").exit_code == 2


NOTHING = "<http://www.w3.org/2002/07/owl#Nothing>"


@pytest.mark.parametrize("topology", ["ntm", "ltm", "auto"])
def test_a_member_of_nothing_is_a_clash_by_itself(topology: str) -> None:
    Path("records.tnt").write_text(f"5 <http://ex.org/bob> {TYPE} {NOTHING} .\n")
    Path("known.ttl").write_text(f"{PREFIXES} :ann a owl:Nothing .")
    (told,) = lines(run("--topology", topology, "--background", "known.ttl", "--emit", "changes"))
    axiom = f"DisjointClasses({NOTHING} {NOTHING.replace('Nothing', 'Thing')})"
    assert told["begin"] == [
        {"individual": f"<http://ex.org/{who}>", "axiom": axiom, "because": [f"{NOTHING}(<http://ex.org/{who}>){when}"]}
        for who, when in (("ann", ""), ("bob", " at 5"))
    ]


def complaints(text: str) -> list[dict[str, str]]:
    Path("staff.ttl").write_text(f"{PREFIXES} {text}")
    found: list[dict[str, str]] = json.loads(
        thalweg("check", "staff.ttl", "--as", "consistency", "--format", "json").stdout
    )
    return found


def test_that_there_cannot_be_anything_is_told() -> None:
    (found,) = complaints("owl:Thing rdfs:subClassOf [owl:intersectionOf (:A :B)] . :A owl:disjointWith :B .")[:1]
    assert (found["code"], "every fact contradicts" in found["message"]) == ("W411", True)
    assert "does not name is not reported" in found["notes"][-1]
    assert found["help"]


def test_an_empty_property_relates_nothing() -> None:
    found = complaints(":r a owl:ObjectProperty ; rdfs:domain :A , :B . :A owl:disjointWith :B .")
    assert [one["message"].partition(": ")[2] for one in found] == [
        "`<http://ex.org/r>` is unsatisfiable: it cannot relate anything"
    ]


def test_what_is_left_out_for_one_reason_is_told_at_once() -> None:
    functional = " ".join(f":p{n} a owl:ObjectProperty , owl:FunctionalProperty ." for n in range(9))
    (found,) = complaints(f"{functional} :v a owl:DatatypeProperty ; rdfs:range rdfs:Literal .")
    assert (found["code"], len(found["listed"]), bool(found["help"])) == ("W409", 9, True)
    told = thalweg("check", "staff.ttl", "--as", "consistency").stderr
    assert "9 axioms" in told
    assert "`--verbose` lists all" in told
    assert len(told.splitlines()) == 2


def test_a_run_without_a_window_says_that_facts_meet_in_one_tick_only() -> None:
    how = ("run", "staff.ttl", "--as", "consistency", "--stream", "records.tnt")
    assert "W412" in thalweg(*how).stderr
    assert "W412" not in thalweg(*how, "--window", "0").stderr
    assert "W412" not in thalweg("run", "staff.ttl", "--as", "consistency").stderr


def test_more_bolts_than_groups_are_not_made() -> None:
    found = run("--topology", "ltm", "--bolts", "9")
    assert (found.exit_code, "W413" in found.stderr, "3 groups" in found.stderr) == (0, True, True)
    assert "W413" not in run("--topology", "ltm", "--bolts", "3").stderr


def test_a_schema_on_the_stream_is_not_sent_to_an_option_that_is_refused() -> None:
    Path("records.tnt").write_text("5 <a> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <b> .\n")
    found = run()
    assert "W303" in found.stderr
    assert "--schema-stream" not in found.stderr


def test_ltm_takes_the_number_of_bolts_that_costs_least() -> None:
    how = ("explain", "staff.ttl", "--as", "consistency", "--topology", "ltm", "--format", "json")
    plan = json.loads(thalweg(*how).stdout)
    assert len(plan["bolts"]) == next(cost["bolts"] for cost in plan["costs"] if cost["topology"] == "ltm")


def test_moving_facts_between_stages_has_its_price_on_spark() -> None:
    how = ("explain", "staff.ttl", "--as", "consistency", "--format", "json")
    here, spread = (json.loads(thalweg(*how, "--runtime", name).stdout) for name in ("embedded", "spark"))
    cost = [
        {each["bolts"]: each["cost"] for each in plan["costs"] if each["topology"] == "ltm"} for plan in (here, spread)
    ]
    assert (here["shuffle"], spread["shuffle"] > 1) == (0, True)
    assert all(cost[1][bolts] > cost[0][bolts] + 1 for bolts in cost[0])
    assert spread["topology"] != "ltm"


def all_disjoint(count: int) -> str:
    return f"[] a owl:AllDisjointClasses ; owl:members ({' '.join(f':C{n}' for n in range(count))}) ."


def test_pairs_of_a_large_axiom_are_not_listed() -> None:
    Path("staff.ttl").write_text(f"{PREFIXES} {all_disjoint(1_000)}")
    plan = json.loads(thalweg("explain", "staff.ttl", "--as", "consistency", "--format", "json").stdout)
    assert (plan["topology"], plan["closure"]) == ("sides", 499_500)
    assert [len(members) for members in plan["disjoint_classes"]] == [1_000]
    assert plan["groups"] == plan["bolts"][0]["disjoint"] == []


@pytest.mark.parametrize("topology", ["ntm", "ltm", "auto"])
def test_pairs_that_are_not_listed_clash_all_the_same(topology: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(negative, "_LISTED", 3)
    below = ":Faculty rdfs:subClassOf :C3 . :Work rdfs:subClassOf :C5 . :C3 owl:disjointWith :C5 ."
    Path("staff.ttl").write_text(f"{PREFIXES} {all_disjoint(7)} {below}")
    (told,) = lines(run("--topology", topology, "--emit", "changes"))
    assert [clash["axiom"].count("http") for clash in told["begin"]] == [7, 2]  # type: ignore[attr-defined]
    assert {tuple(clash["because"]) for clash in told["begin"]} == {tuple(CLASH["because"])}  # type: ignore[attr-defined]


def test_pairs_by_way_of_conjunctions_are_counted_while_they_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    both = "[owl:intersectionOf (:A :B)] rdfs:subClassOf :E . :E owl:disjointWith :A ."
    Path("staff.ttl").write_text(f"{PREFIXES} {both}")
    how = ("explain", "staff.ttl", "--as", "consistency", "--format")
    plan = json.loads(thalweg(*how, "json").stdout)
    assert (plan["closure"], plan["conjunctions_counted"]) == (2, True)
    monkeypatch.setattr(negative, "_MOST_STEPS", 1)
    plan = json.loads(thalweg(*how, "json").stdout)
    assert (plan["closure"], plan["conjunctions_counted"]) == (1, False)
    assert "too many to count" in thalweg(*how, "text").stdout


def test_a_clash_that_does_not_hold_is_told_in_which_shape_to_ask() -> None:
    how = ("--as", "consistency", "--stream", "records.tnt", "--window", "3", "--at", "8")
    found = thalweg("why", "staff.ttl", "inconsistent(<http://ex.org/bob>)", *how)
    assert found.exit_code == 1
    assert 'inconsistent("AXIOM",<INDIVIDUAL>,<INDIVIDUAL>)' in found.stderr
