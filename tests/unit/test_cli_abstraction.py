"""`--as abstraction` on the command line: what is output, what is shown, what is refused."""

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from thalweg import IRI, api
from thalweg.cli import app

CITY = """
Prefix(:=<http://ex.org/>) Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>)
Ontology(
  EquivalentClasses(:High ObjectIntersectionOf(ObjectSomeValuesFrom(:feature :MainRoad)
    DataSomeValuesFrom(:value DatatypeRestriction(xsd:double xsd:minExclusive "0.5"^^xsd:double))))
  SubObjectPropertyOf(ObjectPropertyChain(:observed :of) :feature)
  SubClassOf(:MainRoad :Road) DisjointClasses(:Road :Sensor) SubClassOf(:Road :Place)
)
"""
KNOWN = """@prefix : <http://ex.org/> .
:level1 :of :road1 . :road1 a :MainRoad .
"""
EVENTS = """@prefix : <http://ex.org/> . @prefix prov: <http://www.w3.org/ns/prov#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:g1 prov:generatedAtTime 5 . :g1 { :obs1 :observed :level1 ; :value "0.7"^^xsd:double }
:g2 prov:generatedAtTime 5 . :g2 { :obs2 :observed :level1 ; :value "0.3"^^xsd:double }
:g3 prov:generatedAtTime 7 . :g3 { :road1 a :Sensor }
:g4 prov:generatedAtTime 8 . :g4 { :obs4 :observed :level1 ; :value "0.9"^^xsd:double }
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("city.ofn").write_text(CITY)
    Path("city.ttl").write_text(KNOWN)
    Path("events.trig").write_text(EVENTS)
    return tmp_path


def run(*arguments: str, stream: str = "events.trig") -> Result:
    given = (
        "run",
        "city.ofn",
        "--as",
        "abstraction",
        "--profile",
        "dl",
        "--background",
        "city.ttl",
        "--stream",
        stream,
    )
    return CliRunner().invoke(app, [*given, *arguments])


def lines(result: Result) -> list[str]:
    assert result.exit_code == 0, result.output
    return [line.replace("http://ex.org/", ":") for line in result.stdout.splitlines()]


def test_the_classes_of_each_event_are_output_with_its_graph() -> None:
    assert lines(run("--classes", ":High")) == [
        '{"t":5,"event":"<:High>","from":5,"to":5,"individual":"<:obs1>","graph":"<:g1>"}',
        '{"t":7,"inconsistent":[{"graph":"<:g3>"}]}',
        '{"t":8,"event":"<:High>","from":8,"to":8,"individual":"<:obs4>","graph":"<:g4>"}',
    ]


def test_expressions_stand_where_classes_do() -> None:
    asked = ":value some xsd:double[> 0.6, < 0.8] and (:observed some :of some :Road)"
    (found, _) = lines(run("--classes", asked))
    assert json.loads(found)["event"] == asked
    assert json.loads(found)["individual"] == "<:obs1>"


@pytest.mark.parametrize("name", ["events.nq", "events.jsonld", "events.trig"])
def test_every_syntax_of_graphs_gives_the_same(name: str) -> None:
    import pyoxigraph

    formats = {".nq": pyoxigraph.RdfFormat.N_QUADS, ".jsonld": pyoxigraph.RdfFormat.JSON_LD}
    if (format := formats.get(Path(name).suffix)) is not None:
        quads = pyoxigraph.parse(EVENTS.encode(), pyoxigraph.RdfFormat.TRIG)
        Path(name).write_bytes(pyoxigraph.serialize(quads, format=format))
    assert lines(run("--classes", ":High", stream=name)) == lines(run("--classes", ":High"))


def test_events_without_names_have_no_graph() -> None:
    graph = "<http://ex.org/obs1> <http://ex.org/observed> <http://ex.org/level1> ; <http://ex.org/value> 7e-1 ."
    Path("events.jsonl").write_text(json.dumps({"t": 3, "graph": graph}) + "\n")
    assert lines(run("--classes", ":High", stream="events.jsonl")) == [
        '{"t":3,"event":"<:High>","from":3,"to":3,"individual":"<:obs1>"}'
    ]


def test_a_report_says_what_decided() -> None:
    assert run("--report", "report.json").exit_code == 0
    report = json.loads(Path("report.json").read_text())
    assert {name: report[name] for name in ("events", "inconsistent", "undecided", "hits", "misses")} == {
        "events": 4,
        "inconsistent": 1,
        "undecided": 0,
        "hits": 1,
        "misses": 3,
    }
    assert set(report["decided"]) == {"rules"}
    assert report["seconds"].keys() == {"rules"}


def test_decimals_under_ranges_of_doubles_are_warned_about_once() -> None:
    Path("events.trig").write_text(EVENTS.replace('"0.7"^^xsd:double', "0.7").replace('"0.9"^^xsd:double', "0.9"))
    result = run("--classes", ":High")
    assert lines(result) == ['{"t":7,"inconsistent":[{"graph":"<:g3>"}]}']
    assert result.stderr.count("warning[W704]") == 1
    assert 'write values as `"0.5"^^xsd:double`' in result.stderr


def test_a_literal_of_an_object_property_is_warned_about_once() -> None:
    Path("city.ttl").write_text("@prefix : <http://ex.org/> . :v <http://www.w3.org/2000/01/rdf-schema#domain> :A .")
    Path("events.facts").write_text("@prefix : <http://ex.org/> . :v(:x,1) at 1.  :v(:y,2) at 2.  :v(:z,:x) at 3.")
    given = ("--as", "abstraction", "--profile", "dl", "--stream", "events.facts")
    result = CliRunner().invoke(app, ["run", "city.ttl", *given], catch_exceptions=False)
    assert [json.loads(line)["individual"] for line in result.stdout.splitlines()] == ["<http://ex.org/z>"]
    assert result.stderr.count("warning[W705]: `:v` has the value `1`, but the ontology has axioms about it") == 1
    assert result.stderr.count("W705") == 1


def test_a_property_of_both_kinds_is_warned_about() -> None:
    Path("city.ttl").write_text("@prefix : <http://ex.org/> . :v <http://www.w3.org/2000/01/rdf-schema#domain> :A .")
    Path("events.facts").write_text("@prefix : <http://ex.org/> . :v(:x,1) at 1.  :v(:y,2) at 2.")
    given = ("--as", "abstraction", "--profile", "dl", "--stream", "events.facts", "--classes")
    asked = ":A and (:v some xsd:integer)"
    result = CliRunner().invoke(app, ["run", "city.ttl", *given, asked], catch_exceptions=False)
    assert (result.stdout, result.stderr.count("warning[W705]")) == ("", 1)


@pytest.mark.parametrize("more", ["", " :v(:y,:z) at 1."])
def test_values_say_of_which_kind_a_property_of_both_kinds_is(more: str) -> None:
    Path("city.ttl").write_text("@prefix : <http://ex.org/> . :v <http://www.w3.org/2000/01/rdf-schema#domain> :A .")
    Path("events.facts").write_text(f"@prefix : <http://ex.org/> . :v(:x,:z) at 1.{more} :v(:w,2) at 2.")
    given = ("--as", "abstraction", "--profile", "dl", "--stream", "events.facts", "--quiet", "--classes")
    found = [
        CliRunner().invoke(app, ["run", "city.ttl", *given, asked], catch_exceptions=False).stdout.splitlines()
        for asked in (":A", ":A, :v some xsd:integer")
    ]
    assert [one for one in found[1] if "/A>" in one] == found[0]
    assert len(found[1]) == len(found[0]) + 1 == (3 if more else 2)


def test_what_only_a_reasoner_decides_is_reported_as_undecided() -> None:
    Path("city.ofn").write_text(CITY.replace("SubClassOf(:MainRoad :Road)", "FunctionalObjectProperty(:of)"))
    Path("events.trig").write_text(EVENTS + ":g9 prov:generatedAtTime 9 . :g9 { :level1 :of :road9 }\n")
    result = run("--classes", ":High", "--reasoner", "none")
    assert lines(result)[-1] == '{"t":9,"undecided":[{"graph":"<:g9>"}]}'
    assert "warning[W703]: 1 event is undecided" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--classes", ":Other"), "the ontology does not have the name"),
        (("--classes", ":Hihg"), "help: there is `:High`"),
        (("--classes", ":High and"), "expected"),
        (("--classes", " "), "it names no class"),
        (("--emit", "intervals"), "`--emit` cannot be used"),
        (("--emit", "snapshot"), "`--emit` cannot be used"),
        (("--window", "5"), "one event at a time"),
        (("--show", "p/1"), "use `--classes`"),
        (("--memory", "32M"), "`--memory` cannot be used"),
    ],
)
def test_what_has_no_meaning_is_refused(arguments: tuple[str, ...], words: str) -> None:
    result = run(*arguments)
    assert result.exit_code in (1, 2)
    assert words in result.stderr.replace("\n", " ")


def test_changes_is_what_is_output_anyway() -> None:
    assert lines(run("--emit", "changes")) == lines(run())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("why", "city.ofn", ":High(:obs1)", "--at", "5"), "`why` does not explain classes of events"),
    ],
)
def test_other_verbs_refuse_what_has_no_meaning(arguments: tuple[str, ...], words: str) -> None:
    result = CliRunner().invoke(app, [*arguments, "--as", "abstraction", "--profile", "dl"])
    assert (result.exit_code, words in result.stderr) == (2, True), result.output


@pytest.mark.hermit
def test_each_reason_has_its_own_count_and_way_out() -> None:
    """HermiT refuses to count values of a property that follows from a chain."""
    not_simple = "FunctionalObjectProperty(:feature) SubClassOf(:MainRoad :Road)"
    Path("city.ofn").write_text(CITY.replace("SubClassOf(:MainRoad :Road)", not_simple))
    Path("events.trig").write_text(EVENTS + ":g9 prov:generatedAtTime 9 . :g9 { :obs9 :feature :road8, :road9 }\n")
    result = run("--classes", ":High")
    assert lines(result)[-1] == '{"t":9,"undecided":[{"graph":"<:g9>"}]}'
    assert "1 event is undecided, such as `:g9`: HermiT failed" in result.stderr
    assert "choose classes that do without them" in result.stderr
    assert "pip install" not in result.stderr


def test_profile_and_task_need_each_other() -> None:
    result = CliRunner().invoke(app, ["run", "city.ofn", "--profile", "dl", "--stream", "events.trig"])
    assert (result.exit_code, "need each other" in result.stderr) == (2, True)


def test_a_background_that_contradicts_is_rejected() -> None:
    Path("city.ttl").write_text(KNOWN + ":road1 a :Sensor .")
    result = run()
    assert result.exit_code == 1
    assert "error[E701]" in result.stderr
    assert "DisjointClasses" in result.stderr


def test_explain_shows_how_events_are_spread() -> None:
    given = (
        "explain",
        "city.ofn",
        "--as",
        "abstraction",
        "--profile",
        "dl",
        "--classes",
        ":Road",
        "--runtime",
        "spark",
    )
    data = json.loads(CliRunner().invoke(app, [*given, "--format", "json"]).stdout)
    assert data["stages"] == [{"rules": ["<http://ex.org/Road>"], "key": ["event"], "partitions": 2}]
    assert "whole events go to 2 partitions in turn" in CliRunner().invoke(app, [*given]).stdout
    assert ">stage 0 · 2 partitions by event</text>" in CliRunner().invoke(app, [*given, "--format", "svg"]).stdout


def test_explain_shows_the_axioms_that_can_matter() -> None:
    given = ("explain", "city.ofn", "--as", "abstraction", "--profile", "dl", "--classes", ":Road")
    shown = CliRunner().invoke(app, given)
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.splitlines()[0] == "1 class by 4 axioms that can matter, over 0 facts of the background"
    data = json.loads(CliRunner().invoke(app, [*given, "--format", "json"]).stdout)
    assert "SubClassOf(<http://ex.org/MainRoad> <http://ex.org/Road>)" in data["axioms"]
    assert "<http://ex.org/Place>" not in data["reads"]
    assert all(name.startswith("<http://ex.org/") for name in data["reads"]), "names of its own are not read"
    assert CliRunner().invoke(app, [*given, "--format", "svg"]).stdout.startswith("<svg")


def test_the_same_from_python(folder: Path) -> None:
    asked = {"profile": "dl", "as_": "abstraction", "classes": ":High"}
    found = list(api.run(folder / "city.ofn", folder / "events.trig", background=folder / "city.ttl", **asked))
    individuals = [getattr(one, "individual", None) for one in found]
    assert individuals == [IRI("http://ex.org/obs1"), None, IRI("http://ex.org/obs4")]


def check(*arguments: str) -> Result:
    given = ("check", "city.ofn", "--as", "abstraction", "--profile", "dl", "--background", "city.ttl")
    return CliRunner().invoke(app, [*given, *arguments])


def test_check_finds_a_background_that_contradicts_and_why() -> None:
    Path("city.ttl").write_text(KNOWN + ":road2 a :MainRoad , :Sensor .\n")
    result = check()
    assert result.exit_code == 1
    assert "error[E701]" in result.stderr
    assert result.stderr.count("note: because of") == 4
    assert "level1" not in result.stderr
    assert run().exit_code == 1


def test_check_has_nothing_to_say_about_a_sound_background() -> None:
    result = check("--classes", ":High")
    assert (result.exit_code, result.stdout) == (0, "no problems found (1 class)\n")


def test_check_knows_the_names_of_classes() -> None:
    result = check("--classes", ":Hihg")
    assert result.exit_code == 1
    assert "error[E702]" in result.stderr


FLEXIBLE = """
Prefix(:=<http://ex.org/>) Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>)
Ontology(
  EquivalentClasses(:StopEarlyOffice ObjectIntersectionOf(:Office ObjectSomeValuesFrom(:hasPolicy :StopEarly)))
  SubClassOf(:StopEarlyOffice :FlexibleOffice)
  EquivalentClasses(:HighTrafficMainRoadNearFlexibleOffice ObjectIntersectionOf(:Observation
    ObjectSomeValuesFrom(:observedProperty :CongestionLevel)
    ObjectSomeValuesFrom(:observedFeature ObjectIntersectionOf(:MainRoad
      ObjectSomeValuesFrom(:isLocationOf :FlexibleOffice)))
    DataSomeValuesFrom(:hasValue DatatypeRestriction(xsd:decimal xsd:minExclusive "0.025"^^xsd:decimal))))
  SubClassOf(:HighTrafficMainRoadNearFlexibleOffice :HighTrafficObservation)
  SubObjectPropertyOf(ObjectPropertyChain(:observedProperty :isPropertyOf) :observedFeature)
)
"""
OFFICES = """@prefix : <http://ex.org/> .
:office1 a :Office ; :hasPolicy :pol1 . :pol1 a :StopEarly . :office2 a :Office .
"""
SELECTED = """@prefix : <http://ex.org/> . @prefix prov: <http://www.w3.org/ns/prov#> .
:g1 prov:generatedAtTime 5 . :g1 { :obs1 a :Observation ; :observedProperty :propX ; :hasValue 0.03 .
  :propX a :CongestionLevel ; :isPropertyOf :road1 . :road1 a :MainRoad ; :isLocationOf :office1 , :office2 }
"""
OF_OBS1 = {("HighTrafficMainRoadNearFlexibleOffice", "obs1"), ("HighTrafficObservation", "obs1")}
CHOSEN = ":HighTrafficMainRoadNearFlexibleOffice, :HighTrafficObservation, :FlexibleOffice"


def memberships(result: Result) -> set[tuple[str, str]]:
    assert result.exit_code == 0, result.output
    found = map(json.loads, result.stdout.splitlines())
    return {tuple(line[key][len("<http://ex.org/") : -1] for key in ("event", "individual")) for line in found}  # type: ignore[misc]


@pytest.fixture
def offices() -> None:
    """The paper's running example: its fifth lists the class of an office that the event only has as an object."""
    Path("city.ofn").write_text(FLEXIBLE)
    Path("city.ttl").write_text(OFFICES)
    Path("events.trig").write_text(SELECTED)


@pytest.mark.usefixtures("offices")
@pytest.mark.parametrize("classes", [(), ("--classes", CHOSEN)])
def test_objects_are_classified_where_that_is_asked_for(classes: tuple[str, ...]) -> None:
    wanted = {"HighTrafficMainRoadNearFlexibleOffice", "HighTrafficObservation", "FlexibleOffice"}

    def of(*more: str) -> set[tuple[str, str]]:
        found = memberships(run(*classes, *more))
        return {pair for pair in found if pair[0] in wanted}

    assert of() == of("--individuals", "subjects") == OF_OBS1
    assert of("--individuals", "all") == OF_OBS1 | {("FlexibleOffice", "office1")}


@pytest.mark.usefixtures("offices")
def test_an_event_of_which_only_an_object_has_a_class_is_kept() -> None:
    """The derived selection must not drop it."""
    result = run("--classes", ":FlexibleOffice", "--individuals", "all")
    assert memberships(result) == {("FlexibleOffice", "office1")}
    assert lines(run("--classes", ":FlexibleOffice")) == []


@pytest.mark.usefixtures("offices")
def test_a_deployment_and_python_say_which_individuals_are_classified() -> None:
    Path("city.toml").write_text(
        'program = "city.ofn"\nbackground = "city.ttl"\n[streams.events]\nfrom = "events.trig"\n'
        f'[ontology]\nas = "abstraction"\nprofile = "dl"\nindividuals = "all"\nclasses = "{CHOSEN}"\n'
    )
    result = CliRunner().invoke(app, ["run", "city.toml"])
    assert memberships(result) == OF_OBS1 | {("FlexibleOffice", "office1")}
    answers = api.run(
        "city.ofn",
        "events.trig",
        background="city.ttl",
        as_="abstraction",
        profile="dl",
        classes=":FlexibleOffice",
        individuals="all",
    )
    assert [getattr(answer, "individual", None) for answer in answers] == [IRI("http://ex.org/office1")]


@pytest.mark.usefixtures("offices")
def test_individuals_are_those_of_abstraction() -> None:
    given = ("run", "city.ofn", "--stream", "events.trig", "--individuals", "all")
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 2
    assert "`--individuals` needs `--as abstraction`" in result.stderr
