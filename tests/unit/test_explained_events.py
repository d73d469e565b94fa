"""Events on the command line: `explain` shows their plan, and `why` what they are made of or what they wait for."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

import thalweg
from thalweg.cli import app
from thalweg.diagnostics import RejectedError

SITE = """
Prefix(:=<http://ex.org/>) Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>)
Ontology(
  Declaration(Class(:Reading)) Declaration(DataProperty(:celsius)) Declaration(ObjectProperty(:in))
  EquivalentClasses(:HotReading ObjectIntersectionOf(:Reading
    DataSomeValuesFrom(:celsius DatatypeRestriction(xsd:double xsd:minInclusive "12.0"^^xsd:double))))
  SubClassOf(ObjectSomeValuesFrom(:in :Cellar) :Underground)
  SubClassOf(:Door ObjectUnionOf(:Open :Shut))
  SubClassOf(ObjectSomeValuesFrom(:by ObjectUnionOf(:Open :Shut)) :ByDoor)
)
"""
RULES = """
PREFIX : <http://ex.org/>
NAMED EVENT :Hot  AS :HotReading
NAMED EVENT :Cold AS :Reading and (:celsius some xsd:double[< 10.0])
NAMED EVENT :Deep AS :Underground
NAMED EVENT :AtDoor AS :ByDoor
NAMED EVENT :Cooling {
  MATCH EVERY :Hot SEQ :Cold WITHIN (10 s)
  IF { EVENT :Hot  { ?h :in ?room ; :celsius ?v . ?room :on :ground FILTER(?v > 15) }
       EVENT :Cold { ?c :in ?room } }
}
NAMED EVENT :Stays { MATCH EVERY :Cooling SEQ NOT :Hot WITHIN (20 s) }
NAMED EVENT :Once { MATCH :Hot AND :Deep AND :AtDoor WITHIN (5 s) }
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("site.ofn").write_text(SITE)
    Path("site.ttl").write_text("@prefix : <http://ex.org/> . :room1 :on :ground . :room2 a :Cellar . :room3 a :Room .")
    Path("rules.tw").write_text(RULES)
    readings = ((1, 20.0, "room1"), (4, 5.0, "room1"), (6, 25.0, "room1"), (7, 11.0, "room2"))
    written = [
        f":g{tick} prov:generatedAtTime {tick} . "
        f':g{tick} {{ :o{tick} a :Reading ; :in :{room} ; :celsius "{v}"^^xsd:double }}'
        for tick, v, room in readings
    ]
    prefixes = "@prefix : <http://ex.org/> . @prefix prov: <http://www.w3.org/ns/prov#> ."
    types = "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> ."
    Path("events.trig").write_text("\n".join([prefixes, types, *written]))


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--background", "site.ttl"], catch_exceptions=False)


COOLING = "<http://ex.org/Cooling>"


def why(event: str, at: int, *more: str) -> Result:
    return invoke("why", "rules.tw", "site.ofn", event, "--at", str(at), "--stream", "events.trig", *more)


def test_explain_says_what_decides_what_is_kept_and_what_splits() -> None:
    shown = invoke("explain", "rules.tw", "site.ofn").stdout
    assert shown.startswith("7 events: 4 classes, 3 patterns in 2 layers\noutput    :Once, :Stays\n")
    assert "  :Deep AS :Underground\n    decided by  rules alone; 1 axiom can matter" in shown
    assert "  :AtDoor AS :ByDoor\n    decided by  rules where all guards hold" in shown
    assert "  :Cooling  EVERY :Hot SEQ :Cold WITHIN (10 ticks)\n" in shown
    assert "    keeps     :Hot for 10 ticks\n" in shown
    assert "    split     by ?room: all its events agree on it\n" in shown
    assert "    keeps     :Cooling, :Hot for 40 ticks, twice its bound, because matches wait\n" in shown
    assert "    split     in no way: it is matched once in all" in shown


def test_explain_shows_the_stages_of_spark() -> None:
    data = json.loads(invoke("explain", "rules.tw", "site.ofn", "--runtime", "spark", "--format", "json").stdout)
    cooling = next(one for one in data["patterns"] if one["event"] == COOLING)
    assert (cooling["layer"], cooling["joins"], cooling["ticks"], cooling["split_by"]) == (1, ["room"], 10, "room")
    assert [stage["partitions"] for stage in data["stages"]] == [2, 2, 1, 1]
    assert [stage["key"] for stage in data["stages"]] == [["event"], ["room"], None, None]
    assert (data["stages"][1]["rules"], data["stages"][1]["keys"]) == ([COOLING], {COOLING: "room"})


def test_explain_draws_layers() -> None:
    svg = invoke("explain", "rules.tw", "site.ofn", "--format", "svg").stdout
    texts = {one.text for one in ET.fromstring(svg).iter() if one.text}
    assert {":Cooling", "patterns, layer 2", "pattern, split by ?room"} <= texts


def drawn(*programs: str) -> list[str]:
    """What stands in the drawing of a plan on Spark, but for what is shown where the pointer is."""
    svg = invoke("explain", *programs, "--runtime", "spark", "--format", "svg").stdout
    return [one.text for one in ET.fromstring(svg).iter() if one.text and not one.tag.endswith("title")]


def test_explain_draws_the_stages_of_spark() -> None:
    texts = drawn("rules.tw", "site.ofn")
    layer = texts[texts.index("patterns, layer 1") :]
    assert layer[1:4] == [
        "stage 1 · 2 partitions by room",
        "stage 2 · 1 partition",
        "  because there is nothing to split by",
    ]
    assert texts[texts.index("classes") + 1] == "stage 0 · 2 partitions by event"
    assert texts[texts.index("pattern · stage 1 by ?room") + 1].startswith("EVERY :Hot SEQ :Cold")
    assert texts[texts.index("pattern · stage 3") + 1].startswith("EVERY :Cooling SEQ NOT :Hot")


def test_explain_draws_the_stages_of_several_kinds() -> None:
    Path("rules.lars").write_text(
        "@prefix : <http://ex.org/> . slow(S) :- speed(S,V) in [9], V < 20. "
        ":cooled(R) :- :Cooling_room(E,R). many(N) :- N = count{R : :cooled(R)}, N > 1."
    )
    programs = ("rules.tw", "site.ofn", "rules.lars")
    texts = drawn(*programs)
    data = json.loads(invoke("explain", *programs, "--runtime", "spark", "--format", "json").stdout)
    assert [one["partitions"] for one in data["stages"]] == [2, 2, 2, 1]
    assert texts[texts.index("1  rules") + 1] == "stage 0 · 2 partitions by S"
    events = texts[texts.index("2  events rules") + 1 :]
    assert events[:3] == ["stage 1 · 2 partitions by event", "stage 2 · 2 partitions by room", "stage 3 · 1 partition"]
    assert texts[texts.index("3  rules") + 1] == "stage 3 · 1 partition"
    assert " ".join(line.strip() for line in events[3:6]).startswith(f"because {data['stages'][3]['why'][:40]}")
    # Boxes name their stage where a part has several.
    assert [texts.count(f"class · stage {number}") for number in (0, 1, 2)] == [0, 4, 0]
    assert texts[texts.index("pattern · stage 2") + 1].startswith(":Cooling: EVERY")
    assert "rule 1" in texts


def test_the_reason_to_meet_in_one_partition_is_drawn_once() -> None:
    Path("hot.tw").write_text("PREFIX : <http://ex.org/> NAMED EVENT :E { MATCH EVERY :h SEQ :h WITHIN (9 s) }")
    Path("hot.lars").write_text("@prefix : <http://ex.org/> . :h(M) :- t(M,V), V > 30, N = count{A : u(A)}, N > M.")
    texts = drawn("hot.tw", "hot.lars")
    assert texts.count("stage 0 · 1 partition") == 2
    assert sum(text.startswith("  because") for text in texts) == 1


def test_explain_draws_events_beside_rules() -> None:
    Path("main.tw").write_text('INCLUDE "rules.tw"')
    Path("rules.lars").write_text(
        "@prefix : <http://ex.org/> . :cooled(R) :- :Cooling_room(E,R). many(N) :- N = count{R : :cooled(R)}, N > 1."
    )
    svg = invoke("explain", "main.tw", "site.ofn", "rules.lars", "--format", "svg").stdout
    # Titles, which are shown where the pointer is, have names in full.
    texts = [one.text for one in ET.fromstring(svg).iter() if one.text and not one.tag.endswith("title")]
    assert {"1  events main", "2  rules", "class", "pattern", ":Cooling/1", ":Cooling_room/2"} <= set(texts)
    assert ":Cooling_v/2" not in texts
    assert any("xsd:double[< 10.0]" in one for one in texts)
    assert not any("http://ex.org/" in one for one in texts)


def test_others_hear_events_under_the_name_of_the_first_file() -> None:
    Path("main.tw").write_text('INCLUDE "rules.tw"')
    Path("hot.rspql").write_text(
        "PREFIX : <http://ex.org/> SELECT ?o FROM NAMED WINDOW :w ON STREAM :main [RANGE 1s SLIDE 1s] "
        "WHERE { WINDOW :w { ?o a :Hot } }"
    )
    result = invoke("run", "main.tw", "site.ofn", "hot.rspql", "--stream", "events.trig")
    rows = [json.loads(line) for line in result.stdout.splitlines() if '"o"' in line]
    assert [(one["t"], one["bindings"]) for one in rows if "window" in one] == [
        (1, [{"o": "<http://ex.org/o1>"}]),
        (6, [{"o": "<http://ex.org/o6>"}]),
    ]


def test_what_nothing_bounds_is_said() -> None:
    Path("rules.tw").write_text(RULES.replace(" WITHIN (10 s)", ""))
    assert ":Hot until they are matched: nothing bounds it" in invoke("explain", "rules.tw", "site.ofn").stdout


def test_why_shows_events_clauses_and_what_entails_their_classes() -> None:
    lines = [line.strip() for line in why(":Cooling", 4).stdout.splitlines()]
    assert lines[0] == ":Cooling from 1 to 4 of :o1, :o4   EVERY :Hot SEQ :Cold WITHIN (10 ticks)"
    assert lines[2] == ":Hot(:o1) at 1 in :g1   :HotReading"
    assert "clause  :o1 :in :room1   (event)" in lines
    assert "clause  :room1 :on :ground   (background)" in lines
    assert 'filter  ( ?v > 15 ) holds with ?v="20.0"^^xsd:double' in lines
    assert "is in its class, decided by rules, because of" in lines
    assert "ClassAssertion(:Reading :o1)   (event)" in lines
    assert any(line.startswith("EquivalentClasses(:HotReading ") and line.endswith("(axiom)") for line in lines)


def test_why_of_a_class_names_the_background_that_it_rests_on() -> None:
    data = json.loads(why(":Deep(:o7)", 7, "--format", "json").stdout)
    assert data["proof"]["because"] == {
        "decided_by": "rules",
        "event": ["ObjectPropertyAssertion(<http://ex.org/in> <http://ex.org/o7> <http://ex.org/room2>)"],
        "background": ["ClassAssertion(<http://ex.org/Cellar> <http://ex.org/room2>)"],
        "axioms": [
            "SubClassOf(ObjectSomeValuesFrom(<http://ex.org/in> <http://ex.org/Cellar>) <http://ex.org/Underground>)"
        ],
    }


@pytest.mark.parametrize(
    ("event", "at", "said"),
    [
        (":Cooling", 7, "begun: :Hot(:o6) at 6 in :g6 with ?h=:o6"),
        (":Cooling", 7, ": can be completed until 16"),
        (":Cooling(:room2)", 7, "no match has begun"),
        (":Stays", 5, "begun: :Cooling from 1 to 4 of :o1, :o4: is output at 21, unless it is disturbed before"),
        (":Stays", 7, "no match has begun"),
        (":Hot", 7, ":Hot is :HotReading: no event of this tick is in it"),
        (":Once", 7, "begun: :Hot(:o6) at 6 in :g6: can be completed until 11"),
    ],
)
def test_why_not_says_what_has_begun_and_until_when(event: str, at: int, said: str) -> None:
    result = why(event, at)
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"error[E405]: there is no event `{event}` at {at}" in result.stderr
    assert said in result.stderr


def test_why_not_names_the_events_that_contradict_the_ontology() -> None:
    Path("site.ofn").write_text(SITE.replace("SubClassOf(:Door", "DisjointClasses(:Reading :Door) SubClassOf(:Door"))
    Path("events.trig").write_text(Path("events.trig").read_text().replace(":o7 a :Reading", ":o7 a :Reading, :Door"))
    assert "  inconsistent, so without classes: :g7\n" in why(":Hot", 7).stderr
    assert json.loads(why(":Hot", 7, "--format", "json").stdout)["inconsistent"] == ["<http://ex.org/g7>"]


def test_why_of_an_unknown_event_is_refused() -> None:
    result = why(":Nothing", 4)
    assert result.exit_code == 1
    assert "error[E801]: the event `:Nothing` is not defined" in result.stderr


def test_ticks_of_an_explanation_can_be_times() -> None:
    assert ":Hot(:o1) at 1970-01-01T00:00:01Z in :g1" in why(":Cooling", 4, "--times", "iso").stdout


def test_why_of_nested_events_keeps_variables_of_one_name_apart() -> None:
    Path("rules.tw").write_text(
        RULES
        + """
        NAMED EVENT :Again { MATCH EVERY :Cooling SEQ :Hot WITHIN (20 s)
                             IF { EVENT :Cooling { ?h :celsius ?v . FILTER(?v < ?w) } EVENT :Hot { ?o :celsius ?w } } }
        """
    )
    given = [line.strip() for line in why(":Again", 6).stdout.splitlines()]
    shown = [
        line for line in given if line.split()[0] in ("binds", "also", "filter") or line.startswith("clause  :room1")
    ]
    of_first = 'binds ?c=:o4 ?h=:o1 ?room=:room1 ?v="20.0"^^xsd:double'
    assert shown == [
        'binds ?h=:o1 ?o=:o6 ?v="20.0"^^xsd:double ?w="25.0"^^xsd:double',
        of_first,
        'filter  ( ?v < ?w ) holds with ?v="20.0"^^xsd:double, ?w="25.0"^^xsd:double',
        "clause  :room1 :on :ground   (background)",
        'filter  ( ?v > 15 ) holds with ?v="20.0"^^xsd:double',
        'also :Again from 1 to 6 of :o1, :o4, :o6 with ?h=:o4 ?o=:o6 ?v="5.0"^^xsd:double ?w="25.0"^^xsd:double',
    ]
    (nested, _) = json.loads(why(":Again(:o4)", 6, "--format", "json").stdout)["proof"]["events"]
    assert (nested["bindings"]["h"], len(nested["events"][0]["clause"])) == ("<http://ex.org/o1>", 3)


def test_why_beside_rules_explains_events_and_facts() -> None:
    Path("warn.lars").write_text("@prefix : <http://ex.org/> . :warn(R) :- :Cooling_room(E,R).")
    asked = ("why", "rules.tw", "site.ofn", "warn.lars")
    at = ("--at", "4", "--stream", "events.trig")
    assert invoke(*asked, ":Cooling(:room1)", *at).stdout == why(":Cooling(:room1)", 4).stdout != ""
    assert invoke(*asked, ":warn(:room1)", *at).stdout.startswith(":warn(:room1)   until 4")
    assert "there is no event `:Stays` at 4" in invoke(*asked, ":Stays", *at).stderr


def test_why_of_rules_is_refused_for_events_alone() -> None:
    Path("rules.tw").write_text(RULES[: RULES.index("NAMED EVENT :Once")])
    programs, known = [Path("rules.tw"), Path("site.ofn")], Path("site.ttl")
    for verb in (thalweg.why, thalweg.why_not):
        with pytest.raises(RejectedError, match="use `why_event` for events"):
            verb(programs, ":Cooling", at=4, stream=Path("events.trig"), background=known)
    found = thalweg.why_event(programs, ":Cooling", at=4, stream=Path("events.trig"), background=known)
    assert found is not None
    assert found.proof is not None


@pytest.mark.parametrize("runtime", ["embedded", "spark"])
def test_the_labels_of_bands_do_not_run_into_each_other(runtime: str) -> None:
    Path("hot.tw").write_text("PREFIX : <http://ex.org/> NAMED EVENT :E { MATCH EVERY :h SEQ :h WITHIN (9 s) }")
    Path("hot.lars").write_text("@prefix : <http://ex.org/> . :h(M) :- t(M,V), V > 30.")
    svg = ET.fromstring(invoke("explain", "hot.tw", "hot.lars", "--runtime", runtime, "--format", "svg").stdout)
    bands = [one for one in svg if one.tag.endswith("rect") and one.get("rx") == "8"]
    labels = [one for one in svg if one.tag.endswith("text") and one.get("font-weight") == "bold"]
    assert [one.text for one in labels] == ["streams and background", "1  rules", "2  events hot"]
    for band, label in zip(bands, labels, strict=True):
        lines = [one.text or "" for one in svg if one.tag.endswith("text") and one.get("x") == label.get("x")]
        assert len(lines) > 1 or runtime == "embedded" or label is labels[0]
        right = float(label.get("x", 0)) + 6.7 * max(map(len, lines))
        assert right < float(band.get("x", 0)) + float(band.get("width", 0))


def test_events_give_the_variables_that_a_match_binds_and_no_others() -> None:
    pattern = "MATCH EVERY :Hot SEQ :Hot SEQ NOT :Deep SEQ :Cold WITHIN (9 s)"
    clauses = "EVENT :Hot { ?h :in ?room ; :celsius ?v } EVENT :Deep { ?d :in ?room } EVENT :Cold { ?c :in ?room }"
    Path("twice.tw").write_text(f"{RULES} NAMED EVENT :Twice {{ {pattern} IF {{ {clauses} }} }}")
    Path("reading.lars").write_text("@prefix : <http://ex.org/> . twice(R) :- :Twice_room(E,R).")
    found = invoke("explain", "twice.tw", "reading.lars", "site.ofn", "--format", "json")
    outputs = next(one["outputs"] for one in json.loads(found.stdout)["parts"] if "events" in one["kind"])
    given = [name for name in outputs if "/Twice" in name]
    assert given == [f"<http://ex.org/Twice{name}>/{size}" for name, size in (("", 1), ("_c", 2), ("_room", 2))]
