"""What is output, what never came, and prefixes: from the command line and from Python."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from thalweg import api
from thalweg.cli import app
from thalweg.diagnostics import Diagnostic

RULES = "@prefix ex: <http://ex.org/> .\nhot(D) :- temp(D,V) in [2], V > 20.\njam(R) :- hot(D), ex:on(D,R).\n"
FACTS = "temp(a,30) at 1. <http://ex.org/on>(a,r1) at 1. temp(b,10) at 2."
CITY = """@prefix ex: <http://ex.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<http://ex.org/> a owl:Ontology ; owl:imports <http://ex.org/base> .
ex:Camera rdfs:subClassOf ex:Sensor . ex:Lamp rdfs:subClassOf ex:Thing . ex:c1 a ex:Camera .
ex:Sensor rdfs:subClassOf [ a owl:Restriction ; owl:onProperty ex:on ; owl:someValuesFrom ex:Road ] .
ex:Lamp rdfs:subClassOf [ a owl:Restriction ; owl:onProperty ex:at ; owl:someValuesFrom ex:Road ] .
"""
BASE = "@prefix owl: <http://www.w3.org/2002/07/owl#> . <http://ex.org/base> a owl:Ontology ."


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("hot.lars", RULES), ("in.facts", FACTS), ("city.ttl", CITY), ("base.ttl", BASE)):
        Path(name).write_text(text)


def thalweg(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


def answers(*programs: str, show: str | None = None, stream: str = FACTS, **options) -> tuple[list[str], list[str]]:
    found: list[Diagnostic] = []
    lines = [
        str(one) for one in api.run(list(programs), stream, show=show, report=found.append, emit="snapshot", **options)
    ]
    return lines, [f"{one.code} {one.message}" for one in found if one.code != "W409"]


def test_an_option_chooses_what_is_output() -> None:
    lines, found = answers("hot.lars", show="jam/1")
    assert (lines, found) == (['{"t":1,"facts":["jam(r1)"]}', '{"t":2,"facts":[]}'], [])


@pytest.mark.parametrize(("show", "shown"), [(None, "hot(a)"), ("jam/1", "jam(r1)")])
def test_the_option_overrides_the_directive(show: str | None, shown: str) -> None:
    lines, found = answers(f"{RULES} #show hot/1.", show=show)
    assert lines[0] == f'{{"t":1,"facts":["{shown}"]}}'
    assert found == []


def test_a_directive_counts_for_the_ontology_beside_the_rules() -> None:
    lines, _ = answers(f"{RULES} #show jam/1.", "city.ttl")
    assert lines[0] == '{"t":1,"facts":["jam(r1)"]}'


def test_an_ontology_alone_also_where_its_schema_is_data() -> None:
    only = '"facts":["<http://ex.org/Sensor>(<http://ex.org/c1>)"]}'
    for on in ([], FACTS):
        assert answers("city.ttl", show="ex:Sensor/1", stream=on)[0][0].endswith(only)


def test_answer_sets_beside_rules_read_what_is_not_shown() -> None:
    pytest.importorskip("clingo")
    Path("alarm.lp").write_text("alarm(D) :- hot(D). calm :- not alarm(a).")
    rules = "hot(D) :- temp(D,V), V > 20. ring(D) :- alarm(D)."
    assert answers(rules, "alarm.lp", show="ring/1", end=1)[0] == ['{"t":1,"facts":["ring(a)"]}']
    assert '{"t":1,"window":[1,1],"answers":[["alarm(a)"]]}' in answers(rules, "alarm.lp", show="alarm/1", end=1)[0]


@pytest.mark.parametrize("wrong", ["jam", "", "Jam/1", "nope:jam/1", "jam/x"])
def test_wrong_form_is_wrong_usage(wrong: str) -> None:
    assert thalweg("run", "hot.lars", "--stream", "in.facts", "--show", wrong).exit_code == 2


def test_a_name_that_nothing_derives_is_reported_with_the_nearest() -> None:
    found = thalweg("run", "hot.lars", "--stream", "in.facts", "--show", "jamm/1")
    assert found.exit_code == 0
    assert "`--show jamm/1` has no effect" in found.stderr
    assert "there is `jam/1`" in found.stderr


@pytest.mark.parametrize(
    ("rules", "facts", "sentence"),
    [
        ("hot(D) :- tempp(D,V).", "temp(a,1) at 1.", "W304 `tempp/2` never came; `temp/2` did"),
        ("hot(D) :- tEmp(D,V).", "temp(a,1) at 1.", "W304 `tEmp/2` never came; `temp/2` did"),
        ("hot(D) :- temp(D).", "temp(a,1) at 1.", "W304 `temp/1` never came; `temp/2` did"),
        ("hot(D) :- speed(D,V).", "<http://e/speed>(a,1) at 1.", "W304 `speed/2` never came; `<http://e/speed>/2` did"),
        ("hot(D) :- heat(D).", "reading(a,1) at 1.", "W304 no rule reads what the streams brought: `reading/2`"),
        ("a(D) :- temp(D). b(D) :- temmp(D).", "temp(a) at 1.", "W304 `temmp/1` never came; `temp/1` did"),
    ],
)
def test_nothing_matches_silently(rules: str, facts: str, sentence: str) -> None:
    assert answers(rules, stream=facts)[1] == [sentence]


@pytest.mark.parametrize(
    ("rules", "facts"),
    [
        ("a :- lane_a(X). b :- lane_b(X).", "lane_a(x) at 1."),
        ("a :- lane1(X).", "lane1(x) at 1. lane2(x) at 1."),
        ("a :- on(X). b :- off(X).", "on(x) at 1."),
        ("a :- temp(X), not failed(X).", "temp(x) at 1. humidity(x) at 1."),
    ],
)
def test_what_may_be_on_purpose_is_not_reported(rules: str, facts: str) -> None:
    assert answers(rules, stream=facts)[1] == []


@pytest.mark.parametrize(
    ("rules", "codes"),
    [
        ('hot(D) :- temp(D,V), V > "20".', ["W207"]),
        ('hot(D) :- temp(D,V), V + 1 > "abc".', ["W207"]),
        ('hot(D) :- temp(D,V), V > 5, V < "abc".', ["W207"]),
        ('named(D) :- name(D,V), V > "abc".', []),
        ("near(D) :- Road(D). road(a).", ["E101"]),
        ("near(D) :- roadd(D). road(a).", ["W304"]),
    ],
)
def test_check_sees_what_can_never_match(rules: str, codes: list[str]) -> None:
    assert [one.code for one in api.check(rules)] == codes


def test_why_reads_and_writes_prefixes() -> None:
    found = thalweg("why", "city.ttl", "ex:Sensor(ex:c1)", "--at", "0")
    assert found.stdout.startswith("ex:Sensor(ex:c1)   for ever")
    other = thalweg("why", "city.ttl", "city:Sensor(city:c1)", "--at", "0", "--prefix", "city=http://ex.org/")
    assert other.stdout.startswith("city:Sensor(city:c1)")
    assert thalweg("why", "city.ttl", "x:Sensor(x:c1)", "--at", "0").exit_code == 1
    assert thalweg("why", "city.ttl", "ex:Sensor(ex:c1)", "--at", "0", "--prefix", "nothing").exit_code == 2


def test_why_explains_what_is_not_shown() -> None:
    Path("shown.lars").write_text(f"{RULES} #show jam/1.")
    assert "until 3" in thalweg("why", "shown.lars", "hot(a)", "--at", "1", "--stream", "in.facts").stdout


def test_explain_uses_prefixes_and_leaves_datatypes_out() -> None:
    Path("value.ttl").write_text(
        f"{CITY} ex:value rdfs:range <http://www.w3.org/2001/XMLSchema#integer> .".replace(", ", " , ")
    )
    text = thalweg("explain", "value.ttl").stdout
    assert "ex:Sensor(X) :- ex:Camera(X)." in text
    assert "about datatypes alone" in text
    assert "unsignedByte" not in text


def test_warnings_about_an_ontology_are_grouped() -> None:
    found = thalweg("check", "city.ttl", "base.ttl")
    assert found.stderr.count("W409") == 1
    assert "2 axioms" in found.stderr
    assert "import" not in found.stderr
    assert "import" in thalweg("check", "city.ttl").stderr
    assert "ex:at ex:Road" in thalweg("check", "city.ttl", "--verbose").stderr
