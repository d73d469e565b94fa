"""Events on the command line: what is output, what is asked for, what is refused."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from thalweg.cli import app

SITE = """
Prefix(:=<http://ex.org/>) Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>)
Ontology(
  Declaration(Class(:Reading)) Declaration(DataProperty(:celsius)) Declaration(ObjectProperty(:in))
  EquivalentClasses(:HotReading ObjectIntersectionOf(:Reading
    DataSomeValuesFrom(:celsius DatatypeRestriction(xsd:double xsd:minInclusive "12.0"^^xsd:double))))
  DisjointClasses(:Reading :Room)
)
"""
KNOWN = "@prefix : <http://ex.org/> . :room1 a :Room ; :on :ground ."
RULES = """
PREFIX : <http://ex.org/>
NAMED EVENT :Hot  AS :HotReading
NAMED EVENT :Cold AS :Reading and (:celsius some xsd:double[< 10.0])
NAMED EVENT :Cooling {
  MATCH EVERY :Hot SEQ :Cold WITHIN (10 s)
  IF { EVENT :Hot  { ?h :in ?room ; :celsius ?v . ?room :on ?floor FILTER(?v > 15) }
       EVENT :Cold { ?c :in ?room } }
}
NAMED EVENT :Stays {
  MATCH EVERY :Cooling SEQ NOT :Hot WITHIN (20 s)
  IF { EVENT :Cooling { ?x :in :room1 } EVENT :Hot { ?h :in :room1 } }
}
"""
READINGS = ((1, 20.0), (3, 5.0), (5, 14.0), (8, 30.0), (9, 2.0))


def events(*readings: tuple[int, float]) -> str:
    written = [
        f":g{tick} prov:generatedAtTime {tick} . "
        f':g{tick} {{ :o{tick} a :Reading ; :in :room1 ; :celsius "{value}"^^xsd:double }}'
        for tick, value in readings
    ]
    prefixes = "@prefix : <http://ex.org/> . @prefix prov: <http://www.w3.org/ns/prov#> ."
    return "\n".join([prefixes, "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .", *written, ""])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("site.ofn").write_text(SITE)
    Path("site.ttl").write_text(KNOWN)
    Path("rules.tw").write_text(RULES)
    Path("events.trig").write_text(events(*READINGS))
    return tmp_path


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def run(*arguments: str, programs: tuple[str, ...] = ("rules.tw", "site.ofn")) -> Result:
    return invoke("run", *programs, "--background", "site.ttl", "--stream", "events.trig", *arguments)


def answers(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line.replace("<http://ex.org/", "<:")) for line in result.stdout.splitlines()]


def test_the_top_of_the_cascade_is_output_when_its_time_is_over() -> None:
    assert answers(run("--to", "27")) == []
    lines = answers(run("--to", "28", "--profile", "dl"))
    assert [(one["t"], one["event"], one["from"], one["to"], one["bindings"]) for one in lines] == [
        (28, "<:Stays>", 8, 28, {"x": "<:o8>"}),
        (28, "<:Stays>", 8, 28, {"x": "<:o9>"}),
    ]
    hot = {"event": "<:Hot>", "individual": "<:o8>", "graph": "<:g8>", "from": 8, "to": 8}
    cold = {"event": "<:Cold>", "individual": "<:o9>", "graph": "<:g9>", "from": 9, "to": 9}
    assert lines[0]["events"] == [{"event": "<:Cooling>", "from": 8, "to": 9, "events": [hot, cold]}]


def test_subscriptions() -> None:
    lines = answers(run("--event", ":Cooling"))
    assert [(one["t"], one["from"], one["bindings"]["v"]) for one in lines] == [
        (3, 1, '"20.0"^^<http://www.w3.org/2001/XMLSchema#double>'),
        (9, 8, '"30.0"^^<http://www.w3.org/2001/XMLSchema#double>'),
    ]
    assert lines[0]["bindings"] | {"v": ""} == {
        "c": "<:o3>",
        "floor": "<:ground>",
        "h": "<:o1>",
        "room": "<:room1>",
        "v": "",
    }
    lines = answers(run("--event", ":Cold", "--event", "<http://ex.org/Hot>"))
    assert [(one["t"], one["event"]) for one in lines] == [
        (1, "<:Hot>"),
        (3, "<:Cold>"),
        (5, "<:Hot>"),
        (8, "<:Hot>"),
        (9, "<:Cold>"),
    ]


def test_keys_come_in_the_order_of_the_contract() -> None:
    first = run("--event", ":Cooling").stdout.splitlines()[0]
    assert list(json.loads(first)) == ["t", "event", "from", "to", "bindings", "events"]


def test_an_event_that_contradicts_is_reported_and_has_no_classes() -> None:
    Path("events.trig").write_text(events((1, 20.0)) + ":g2 prov:generatedAtTime 2 . :g2 { :room1 a :Reading }\n")
    assert answers(run("--event", ":Hot"))[1] == {"t": 2, "inconsistent": [{"graph": "<:g2>"}]}


def test_definitions_may_be_in_several_files() -> None:
    first, _, second = RULES.partition("NAMED EVENT :Stays")
    Path("shared.tw").write_text(first)
    Path("rules.tw").write_text(f'PREFIX : <http://ex.org/> INCLUDE "shared.tw" NAMED EVENT :Stays {second}')
    assert len(answers(run("--to", "28"))) == 2


def test_check() -> None:
    assert invoke("check", "rules.tw").stdout == "no problems found (4 events)\n"
    Path("rules.tw").write_text(RULES.replace(":HotReading", ":HotRaeding").replace("SEQ :Cold", "SEQ :Clod"))
    result = invoke("check", "rules.tw", "site.ofn", "--format", "json")
    found = [(one["code"], one["file"], one["line"]) for one in json.loads(result.stdout)]
    assert (result.exit_code, found) == (1, [("E702", "rules.tw", 3), ("E801", "rules.tw", 6), ("E805", "rules.tw", 8)])


def test_clauses_look_up_what_follows() -> None:
    axioms = "TransitiveObjectProperty(:in) SubClassOf(:HotReading :Alert) DisjointClasses"
    Path("site.ofn").write_text(SITE.replace("DisjointClasses", axioms))
    Path("site.ttl").write_text(KNOWN + " :room1 :in :house . :house :in :street .")
    Path("rules.tw").write_text(
        "PREFIX : <http://ex.org/> NAMED EVENT :Hot AS :HotReading NAMED EVENT :Near "
        "{ MATCH EVERY :Hot IF { EVENT :Hot { ?h :in ?place ; a :Alert } } }"
    )
    lines = answers(run())
    assert [(one["t"], one["bindings"]["place"]) for one in lines if one["t"] == 1] == [
        (1, "<:house>"),
        (1, "<:room1>"),
        (1, "<:street>"),
    ]
    assert invoke("check", "rules.tw", "site.ofn").stdout == "no problems found (2 events)\n"


def test_what_cannot_be_decided_is_a_warning() -> None:
    axioms = (
        "SubClassOf(:Reading ObjectUnionOf(:Wet :Dry)) SubClassOf(:Wet :Seen) SubClassOf(:Dry :Seen) DisjointClasses"
    )
    Path("site.ofn").write_text(SITE.replace("DisjointClasses", axioms))
    Path("rules.tw").write_text(
        "PREFIX : <http://ex.org/> NAMED EVENT :Hot AS :HotReading NAMED EVENT :Seen "
        "{ MATCH EVERY :Hot IF { EVENT :Hot { ?h a :Seen } } }"
    )
    assert [one["t"] for one in answers(run())] == [1, 5, 8]
    Path("site.ofn").write_text(SITE.replace("DisjointClasses", f"FunctionalObjectProperty(:on) {axioms}"))
    Path("site.ttl").write_text(KNOWN + " :room1 :on :first .")
    result = run("--reasoner", "none")
    assert result.exit_code == 0, result.output
    assert "W811" in result.stderr


def test_a_weaker_profile_leaves_axioms_out() -> None:
    axioms = "TransitiveObjectProperty(:in) SubClassOf(:Reading :Seen) DisjointClasses"
    Path("site.ofn").write_text(SITE.replace("DisjointClasses", axioms))
    Path("site.ttl").write_text("@prefix : <http://ex.org/> . :room1 :in :house .")
    Path("rules.tw").write_text(
        "PREFIX : <http://ex.org/> NAMED EVENT :Any AS :Seen NAMED EVENT :Where "
        "{ MATCH EVERY :Any IF { EVENT :Any { ?o :in ?place } } }"
    )
    found = {profile: run("--profile", profile) for profile in ("dl", "rl", "rdfs")}
    places = {profile: len({one["bindings"]["place"] for one in answers(each)}) for profile, each in found.items()}
    assert places == {"dl": 2, "rl": 2, "rdfs": 1}
    assert "TransitiveObjectProperty" in found["rdfs"].stderr
    assert "cannot be used with `.tw`" in run("--profile", "pd").stderr


def test_a_run_with_a_checkpoint_gives_the_same() -> None:
    expected = run("--to", "28").stdout
    for _ in range(2):
        result = run("--to", "28", "--checkpoint", "state", "--out", "out.jsonl")
        assert result.exit_code == 0, result.output
        assert Path("out.jsonl").read_text() == expected


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--emit", "intervals"), 2, "`--emit` cannot be used with events"),
        (("--emit", "snapshot"), 2, "`--emit` cannot be used with events"),
        (("--profile", "pd"), 2, "OWL 2 DL"),
        (("--window", "5s"), 2, "`--window` cannot be used with events"),
        (("--event", ":Warm"), 1, "the events are `:Hot`, `:Cold`, `:Cooling` and `:Stays`"),
        (("--event", ":Colling"), 1, "did you mean `:Cooling`?"),
        (("--event", "Hot"), 2, "`Hot` is not the name of an event: write it as in `:Jam`"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], code: int, said: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, said in result.output) == (code, True), result.output


def test_complex_events_are_written_as_the_facts_that_rules_read() -> None:
    written = run("--event", ":Cooling", "--format", "atoms", "--quiet").stdout
    double = "^^<http://www.w3.org/2001/XMLSchema#double>"
    first = written.replace("http://ex.org/", ":").replace(double, "").splitlines()[:6]
    (id_,) = {line.partition("(")[2].partition(">")[0] for line in first}
    assert id_.startswith("<urn:thalweg:event:")
    assert [line.replace(f"{id_}>", "E") for line in first] == [
        "<:Cooling>(E) at 3.",
        "<:Cooling_c>(E,<:o3>) at 3.",
        "<:Cooling_floor>(E,<:ground>) at 3.",
        "<:Cooling_h>(E,<:o1>) at 3.",
        "<:Cooling_room>(E,<:room1>) at 3.",
        '<:Cooling_v>(E,"20.0") at 3.',
    ]


def test_complex_events_are_a_stream_of_rdf_for_others() -> None:
    Path("cooling.nq").write_text(run("--event", ":Cooling", "--format", "nquads").stdout)
    lines = run("--event", ":Cooling", "--format", "jsonld").stdout.splitlines()
    assert [json.loads(line)["urn:thalweg:tick"][0]["@value"] for line in lines] == ["3", "9"]
    Path("next.lars").write_text("@prefix : <http://ex.org/> . :cooled(R) :- :Cooling(E), :Cooling_room(E,R).")
    result = invoke("run", "next.lars", "--stream", "cooling.nq", "--times", "ticks", "--emit", "intervals")
    assert [(one["fact"], one["from"]) for one in answers(result)] == [
        ("<:cooled>(<:room1>)", 3),
        ("<:cooled>(<:room1>)", 9),
    ]


@pytest.mark.parametrize("known", [True, False])
def test_classes_without_axioms_need_no_ontology(known: bool) -> None:
    Path("plain.tw").write_text(
        "PREFIX : <http://ex.org/>\nNAMED EVENT :Reading AS :Reading\n"
        "NAMED EVENT :Inside AS :Reading and (:in some :Room)"
    )
    background = ("--background", "site.ttl") if known else ()
    asked = ("--event", ":Reading", "--event", ":Inside")
    checked = invoke("check", "plain.tw", *background)
    assert (checked.exit_code, checked.stdout) == (0, "no problems found (2 events)\n")
    found = [
        (one["t"], one["event"])
        for one in answers(
            invoke("run", "plain.tw", "--stream", "events.trig", "--times", "ticks", *asked, *background)
        )
    ]
    assert [event for event in found if "Reading" in event[1]] == [(tick, "<:Reading>") for tick, _ in READINGS]
    # That the room is one, only the background says.
    assert [event for event in found if "Inside" in event[1]] == [(tick, "<:Inside>") for tick, _ in READINGS if known]


def test_what_cannot_stand_beside_events_is_refused() -> None:
    Path("more.lars").write_text("q(X) :- p(X).")
    assert "`--event` is only for events" in invoke("run", "more.lars", "--event", ":E").output


# Selections ---------------------------------------------------------------------------------------------------------

SELECTION = """
FROM NAMED WINDOW :w ON STREAM :{stream} [RANGE {size}s, SLIDE {slide}s]
WHERE {{ ?room :on :ground . WINDOW :w {{ ?o a :Reading ; :in ?room ; :celsius ?v }} }}
"""


def selecting(stream: str = "events", size: int = 5, slide: int = 5) -> None:
    Path("rules.tw").write_text(RULES + SELECTION.format(stream=stream, size=size, slide=slide))


def test_what_is_selected_is_output_when_a_window_closes() -> None:
    selecting()
    lines = answers(run("--to", "11", "--event", ":Hot", "--event", ":Cooling"))
    assert [(one["t"], one["event"], one["from"], one["to"]) for one in lines] == [
        (5, "<:Cooling>", 1, 3),
        (5, "<:Hot>", 1, 1),
        (5, "<:Hot>", 5, 5),
        (10, "<:Cooling>", 8, 9),
        (10, "<:Hot>", 8, 8),
    ]
    assert (lines[1]["individual"], lines[1]["graph"]) == ("<:o1>", "<:g1>")


def test_the_time_of_an_open_not_runs_out_at_a_closing_tick() -> None:
    selecting()
    assert [(one["t"], one["to"]) for one in answers(run("--to", "31"))] == [(30, 28), (30, 28)]
    assert answers(run("--to", "29")) == []


def test_what_is_not_selected_is_not_seen() -> None:
    selecting()
    Path("site.ttl").write_text(KNOWN.replace(":ground", ":first"))
    assert answers(run("--to", "20", "--event", ":Hot")) == []


def test_a_selection_names_a_stream_of_the_run() -> None:
    selecting("other")
    assert answers(run("--event", ":Hot")) != []
    Path("more.trig").write_text(events((3, 20.0)))
    result = run("--stream", "more.trig")
    assert (result.exit_code, "there is no stream `other`" in result.output) == (1, True)


def test_a_checkpoint_of_another_background_is_refused() -> None:
    assert run("--to", "28", "--checkpoint", "state", "--out", "out.jsonl").exit_code == 0
    Path("site.ttl").write_text(KNOWN.replace(":ground", ":first"))
    result = run("--to", "28", "--checkpoint", "state", "--out", "out.jsonl")
    assert (result.exit_code, "belongs to another program" in result.output) == (1, True), result.output


def test_a_selection_with_a_checkpoint_gives_the_same() -> None:
    selecting(slide=3)
    expected = run("--to", "40").stdout
    for _ in range(2):
        assert run("--to", "40", "--checkpoint", "state", "--out", "out.jsonl").exit_code == 0
        assert Path("out.jsonl").read_text() == expected != ""


def test_a_selection_beside_rules_and_of_what_a_query_constructs() -> None:
    Path("warm.rspql").write_text(
        "PREFIX : <http://ex.org/> REGISTER ISTREAM :warm AS CONSTRUCT { ?o a :Reading ; :in ?room ; :celsius ?v } "
        "FROM NAMED WINDOW :w ON STREAM :events [RANGE 2s, SLIDE 2s] WHERE { WINDOW :w { ?o :in ?room ; :celsius ?v } }"
    )
    Path("seen.lars").write_text("@prefix : <http://ex.org/> . :seen(X) :- :Hot(X).")
    selecting("warm", 4, 4)
    lines = answers(run("--to", "12", "--event", ":Hot", programs=("rules.tw", "site.ofn", "warm.rspql", "seen.lars")))
    hot = [(one["t"], one["from"], one["individual"]) for one in lines if "event" in one]
    assert hot == [(4, 2, "<:o1>"), (8, 6, "<:o5>"), (8, 8, "<:o8>")]
    assert [(one["t"], one["begin"]) for one in lines if one.get("begin")] == [
        (4, ["<:seen>(<:o1>)"]),
        (8, ["<:seen>(<:o5>)", "<:seen>(<:o8>)"]),
    ]


LOSSES: tuple[tuple[str, list[str]], ...] = (
    ("?o a :Reading ; :celsius ?v", []),
    ("?o ?p ?v", []),
    ("?o a :Reading ; :celsius ?v FILTER(?v > 15 || ?v < 10)", [':Reading(x) :celsius(x,"13.5")']),
    ("?o a :Reading ; :celsius ?v ; :by ?s", [":Reading(x) :celsius(x,"] * 2),
    ("?o :celsius ?v", []),
)


@pytest.mark.parametrize(("where", "lost"), LOSSES)
def test_check_finds_an_event_that_a_selection_loses(where: str, lost: list[str]) -> None:
    selection = f"FROM NAMED WINDOW :w ON STREAM :s [RANGE 5s, SLIDE 5s] WHERE {{ WINDOW :w {{ {where} }} }}"
    Path("rules.tw").write_text(RULES + selection)
    result = invoke("check", "rules.tw", "site.ofn", "--background", "site.ttl", "--format", "json")
    found = [one["message"] for one in json.loads(result.stdout) if one["code"] == "W814"]
    written = [re.sub(r"<http://ex.org/(\w+)>", r":\1", one) for one in found]
    assert len(written) == len(lost)
    assert all(expected in one for expected, one in zip(lost, written, strict=True)), written


def test_a_lost_event_does_not_contradict_a_functional_property() -> None:
    Path("site.ofn").write_text(
        "Prefix(:=<http://ex.org/>) Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>) Ontology("
        "Declaration(Class(:Reading)) Declaration(DataProperty(:celsius)) "
        "DataPropertyDomain(:celsius :Reading) FunctionalDataProperty(:celsius))"
    )
    Path("rules.tw").write_text(
        "PREFIX : <http://ex.org/> NAMED EVENT :Cold AS :Reading and (:celsius some xsd:integer[<= 10])\n"
        "FROM NAMED WINDOW :w ON STREAM :s [RANGE 5s, SLIDE 5s] WHERE { WINDOW :w { ?o :celsius ?v FILTER(?v > 6) } }"
    )
    result = invoke("check", "rules.tw", "site.ofn")
    assert "the selection loses events of `:Cold`, such as `:celsius(x," in result.stderr


def test_solutions_whose_events_have_passed_are_no_part_of_patterns() -> None:
    where = "WINDOW :w { ?o a :Reading ; :in ?room ; :celsius ?v FILTER NOT EXISTS { ?x :celsius 5e0 } }"
    Path("rules.tw").write_text(
        RULES + f"FROM NAMED WINDOW :w ON STREAM :events [RANGE 4s, SLIDE 1s] WHERE {{ {where} }}"
    )
    result = run("--to", "12", "--event", ":Hot", "--event", ":Cooling")
    assert [(one["t"], one["from"]) for one in answers(result)] == [(7, 5), (8, 8), (9, 8)]
    assert "1 selected event was not part of patterns" in result.stderr


# Beside rules, answer sets and queries -------------------------------------------------------------------------------

BESIDE = """
@prefix : <http://ex.org/> .
:cooled(R) :- :Cooling_room(E,R), :Cooling(E).
:crowded(R) :- enter(P,R) in [3], enter(Q,R) in [3], P != Q.
"""
CROWDS = """
PREFIX : <http://ex.org/>
NAMED EVENT :Stuffy {
  MATCH EVERY :crowded SEQ :Hot WITHIN (5 s)
  IF { EVENT :crowded { ?r :on ?f } EVENT :Hot { ?h :in ?r } }
}
"""


def beside(*programs: str, to: int = 12, options: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    Path("site.lars").write_text(BESIDE)
    Path("doors.facts").write_text("enter(a,<http://ex.org/room1>) at 3. enter(b,<http://ex.org/room1>) at 4.")
    named = ("rules.tw", "site.ofn", *programs)
    return answers(run("--stream", "doors.facts", "--to", str(to), "--emit", "changes", *options, programs=named))


def test_rules_read_events_and_their_bindings() -> None:
    lines = [one for one in beside("site.lars") if "begin" in one]
    assert [(one["t"], one["begin"], one["end"]) for one in lines] == [
        (3, ["<:cooled>(<:room1>)"], []),
        (4, ["<:crowded>(<:room1>)"], ["<:cooled>(<:room1>)"]),
        (7, [], ["<:crowded>(<:room1>)"]),
        (9, ["<:cooled>(<:room1>)"], []),
        (10, [], ["<:cooled>(<:room1>)"]),
    ]


def test_rules_beside_events_know_the_background_of_the_ontology() -> None:
    Path("floors.lars").write_text("@prefix : <http://ex.org/> . :cooled(F) :- :Cooling_room(E,R), :on(R,F).")
    assert {"t": 3, "begin": ["<:cooled>(<:ground>)"], "end": []} in beside("floors.lars")


def test_a_conclusion_is_an_event_when_it_begins() -> None:
    Path("crowds.tw").write_text(CROWDS)
    (found,) = (one for one in beside("crowds.tw", "site.lars") if one.get("event") == "<:Stuffy>")
    assert (found["from"], found["to"]) == (4, 5)
    assert found["bindings"] == {"f": "<:ground>", "h": "<:o5>", "r": "<:room1>"}
    assert found["events"][0] == {"event": "<:crowded>", "individual": "<:room1>", "from": 4, "to": 4}


def test_a_class_that_rules_conclude_needs_no_ontology() -> None:
    Path("rules.tw").write_text("PREFIX : <http://ex.org/> NAMED EVENT :Crowd AS :crowded")
    Path("site.lars").write_text(BESIDE)
    Path("doors.facts").write_text("enter(a,r) at 3. enter(b,r) at 4.")
    result = invoke("run", "rules.tw", "site.lars", "--stream", "doors.facts", "--show", "<http://ex.org/cooled>/1")
    assert answers(result)[0] == {"t": 4, "event": "<:Crowd>", "from": 4, "to": 4, "individual": "r"}


def test_answer_sets_and_queries_read_events() -> None:
    Path("doors.lp").write_text("#prefix ex: <http://ex.org/>. open(R) :- ex_Cooling_room(E,R), ex_Cooling(E).")
    Path("cooled.rspql").write_text(
        "PREFIX : <http://ex.org/> SELECT ?room FROM NAMED WINDOW :w ON STREAM :rules [RANGE 4s, SLIDE 4s] "
        "WHERE { WINDOW :w { ?e a :Cooling ; :Cooling_room ?room } }"
    )
    lines = beside("site.lars", "doors.lp", "cooled.rspql")
    assert [one["t"] for one in lines if "answers" in one and one["answers"] != [[]]] == [3, 9]
    assert [(one["t"], one["bindings"]) for one in lines if "window" in one and "bindings" in one] == [
        (4, [{"room": "<:room1>"}]),
        (8, []),
        (12, [{"room": "<:room1>"}]),
    ]


def test_events_are_made_of_what_a_query_constructs() -> None:
    Path("warm.rspql").write_text(
        "PREFIX : <http://ex.org/> REGISTER ISTREAM :warm AS CONSTRUCT { ?room a :Reading ; :celsius ?mean } "
        "FROM NAMED WINDOW :w ON STREAM :events [RANGE 9s, SLIDE 9s] "
        "WHERE { SELECT ?room (MAX(?v) AS ?mean) WHERE { WINDOW :w { ?o :in ?room ; :celsius ?v } } GROUP BY ?room }"
    )
    Path("site.ttl").write_text("")
    lines = answers(run("--event", ":Hot", programs=("rules.tw", "site.ofn", "warm.rspql")))
    assert {"t": 9, "event": "<:Hot>", "from": 9, "to": 9, "individual": "<:room1>"} in lines


def test_events_that_rest_on_themselves_by_way_of_rules_are_refused() -> None:
    Path("crowds.tw").write_text(CROWDS)
    Path("site.lars").write_text("@prefix : <http://ex.org/> . :crowded(R) :- :Stuffy_r(E,R).")
    result = run(programs=("rules.tw", "crowds.tw", "site.ofn", "site.lars"))
    assert (result.exit_code, "E513" in result.output) == (1, True)


def test_ids_are_the_same_in_every_run() -> None:
    Path("site.lars").write_text("@prefix : <http://ex.org/> . :seen(E) :- :Cooling(E).")
    found = [run("--emit", "changes", programs=("rules.tw", "site.ofn", "site.lars")).stdout for _ in range(2)]
    assert found[0] == found[1]
    assert found[0].count('"begin":["<http://ex.org/seen>(<urn:thalweg:event:') == 2


def test_events_alone_do_not_compile_the_kernels_of_rules() -> None:
    Path("cache").mkdir()
    command = [
        sys.executable,
        "-m",
        "thalweg",
        "run",
        "rules.tw",
        "site.ofn",
        "--stream",
        "events.trig",
        "--event",
        ":Hot",
    ]
    ran = subprocess.run(command, env={**os.environ, "NUMBA_CACHE_DIR": "cache"}, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout.count("\n")) == (0, 3), ran.stderr
    assert "compiling" not in ran.stderr
    assert not [one for one in Path("cache").rglob("*") if one.is_file()]


def test_compilation_is_announced_where_rules_stand_beside_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thalweg.engine.kernels_ready", lambda: False)
    Path("rules.lars").write_text("@prefix : <http://ex.org/> . :seen(X) :- :Stays(X).")
    assert "compiling kernels" not in run().stderr
    assert "compiling kernels" in run(programs=("rules.tw", "site.ofn", "rules.lars")).stderr


def test_a_contradiction_of_the_background_is_written_with_prefixes() -> None:
    Path("site.ttl").write_text(KNOWN + " :room1 a :Reading .")
    given = ("--background", "site.ttl", "--stream", "events.trig")
    for verb in (("run", "rules.tw", "site.ofn"), ("why", "rules.tw", "site.ofn", ":Hot", "--at", "3")):
        result = invoke(*verb, *given)
        assert (result.exit_code, "error[E701]" in result.stderr) == (1, True), verb
        assert "ClassAssertion(:Reading :room1)" in result.stderr
        assert "http://ex.org/" not in result.stderr


@pytest.mark.parametrize(
    ("directive", "options", "shown"),
    [
        ("", (), {"<:Stays>", "<:cooled>", "<:seen>"}),
        ("#show :cooled/1.", (), {"<:Stays>", "<:cooled>"}),
        ("#show :Cooling/1.", (), {"<:Cooling>", "<:cooled>", "<:seen>"}),
        ("#show :Cooling/1, :cooled/1.", (), {"<:Cooling>", "<:cooled>"}),
        ("#show :Cooling/1, :cooled/1.", ("--show", ":seen/1"), {"<:Cooling>", "<:seen>"}),
        ("#show :Cooling/1, :cooled/1.", ("--show", ":Hot/1"), {"<:Hot>", "<:cooled>"}),
        ("#show :Cooling/1, :cooled/1.", ("--event", ":Hot"), {"<:Hot>", "<:cooled>"}),
        ("#show :Cooling/1, :cooled/1.", ("--event", ":Hot", "--show", ":seen/1"), {"<:Hot>", "<:seen>"}),
        ("#show :Cooling/1, :cooled/1.", ("--show", ":Hot/1,:seen/1"), {"<:Hot>", "<:seen>"}),
    ],
)
def test_what_is_shown_of_facts_and_events(directive: str, options: tuple[str, ...], shown: set[str]) -> None:
    rules = "@prefix : <http://ex.org/> . :cooled(R) :- :Cooling_room(E,R). :seen(X) :- :Hot(X)."
    Path("rules.lars").write_text(f"{rules} {directive}")
    lines = answers(run("--to", "28", *options, programs=("rules.tw", "site.ofn", "rules.lars")))
    facts = {fact.partition("(")[0] for line in lines for fact in line.get("begin", ())}
    assert facts | {line["event"] for line in lines if "event" in line} == shown


def test_events_alone_can_be_chosen_by_show() -> None:
    assert run("--show", ":Hot/1").stdout == run("--event", ":Hot").stdout
    assert "did you mean `:Hot`?" in run("--show", ":hot/1").stderr


@pytest.mark.parametrize(
    ("concluded", "help_"),
    [
        ("hot(M)", "rules conclude `hot/1`: an event has an IRI as its name, so write it with a prefix there"),
        (":hott(M)", "rules conclude `:hott/1`: use that name"),
        (":warm(M)", "define it: `NAMED EVENT :hot AS …`"),
    ],
)
def test_a_pattern_of_what_rules_conclude_under_another_name(concluded: str, help_: str) -> None:
    Path("rules.lars").write_text(f"@prefix : <http://ex.org/> . {concluded} :- temp(M,V), V > 30.")
    Path("rules.tw").write_text("PREFIX : <http://ex.org/> NAMED EVENT :E { MATCH EVERY :hot SEQ :hot WITHIN (9 s) }")
    result = invoke("check", "rules.tw", "rules.lars")
    assert (result.exit_code, result.stderr.count("error[E801]")) == (1, 2)
    assert help_ in result.stderr


def test_a_misspelt_event_is_an_error_beside_rules_too() -> None:
    Path("rules.lars").write_text("@prefix : <http://ex.org/> . :cooled(R) :- :Cooling_room(E,R).")
    programs = ("rules.tw", "site.ofn", "rules.lars")
    result = run("--event", ":Colling", programs=programs)
    assert (result.exit_code, "error[E801]: the event `:Colling` is not defined" in result.stderr) == (1, True)
    assert "did you mean `:Cooling`?" in result.stderr
    assert "warning[W205]: `--show :Wet/1`" in run("--show", ":Wet/1", programs=programs).stderr


SELECTED = """
FROM NAMED WINDOW :w ON STREAM :events [RANGE 4s, SLIDE 2s]
WHERE { WINDOW :w { ?o a :Reading ; :in ?room ; :celsius ?value } }
"""


@pytest.mark.parametrize("selection", ["", SELECTED])
def test_why_shows_what_events_in_the_windows_of_rules_consist_of(selection: str) -> None:
    Path("rules.tw").write_text(RULES + selection)
    Path("rules.lars").write_text(
        "@prefix : <http://ex.org/> . :cooled(R) :- :Cooling(E) in [5], :Cooling_room(E,R) in [5]."
    )
    given = ("rules.tw", "site.ofn", "rules.lars", "--background", "site.ttl", "--stream", "events.trig")
    result = invoke("why", *given, ":cooled(:room1)", "--at", "7")
    assert result.exit_code == 0, result.output
    shown = re.sub(r"<urn:thalweg:event:\w+>", "E", result.stdout).splitlines()
    closing = 4 if selection else 3
    assert shown[2:5] == [
        f"    :Cooling(E) in [5] at {closing}   [event] until {closing + 5}",
        "      by EVERY :Hot SEQ :Cold WITHIN (10 ticks)",
        "        :Hot(:o1) at 1   [event]",
    ]
    assert "          by :HotReading, graph :g1" in shown
    assert '            :o1 :celsius "20.0"^^xsd:double   [triple]' in shown
    assert shown[-1] == f"    :Cooling_room(E,:room1) in [5] at {closing}   [event] until {closing + 5}"
    Path("rules.lars").write_text("@prefix : <http://ex.org/> . :cooled(R) :- :Cooling_room(E,R) in [5].")
    alone = invoke("why", *given, ":cooled(:room1)", "--at", "7").stdout
    assert re.sub(r"<urn:thalweg:event:\w+>", "E", alone).splitlines()[3:] == shown[3:-1]


def test_without_a_stream_there_are_no_events() -> None:
    assert "no event of this tick" in invoke("why", "rules.tw", "site.ofn", ":Hot", "--at", "3").stderr
    assert answers(invoke("run", "rules.tw", "site.ofn", "--from", "0", "--to", "3")) == []


@pytest.mark.parametrize(
    ("mapping", "said", "help_"),
    [
        (
            "celsius(<http://ex.org/{o}>, v)",
            "W304]: `:celsius/2` never came; `celsius/2` did",
            "write `:celsius` where",
        ),
        (
            ":celcius(<http://ex.org/{o}>, v)",
            "W304]: `:celsius/2` never came; `:celcius/2` did",
            "or use `:celcius` in",
        ),
        (
            "speed(o, v)",
            "W304]: no event reads what the streams brought: `speed/2`",
            "events read `:HotReading`, `:Reading`",
        ),
        (
            ":celsius(o, v)",
            "W608]: `:celsius(o1,…)` is about the text `o1`, and not about `:o1`",
            "`<http://ex.org/{column}>`",
        ),
        (":celsius(<{o}>, v)", "W608]: `:celsius(<o1>,…)` is about `<o1>`, and not about `:o1`", ""),
        (":celsius(<http://ex.org/{o}>, v)", "", ""),
    ],
)
def test_what_comes_and_cannot_match_is_warned_about(mapping: str, said: str, help_: str) -> None:
    Path("site.ttl").write_text(f"{KNOWN} :o1 :in :room1 .")
    Path("events.csv").write_text("at,o,v\n1,o1,20\n2,o1,30\n")
    given = ("--background", "site.ttl", "--stream", "events.csv", "--map", f"{mapping} at at", "--quiet")
    result = invoke("run", "rules.tw", "site.ofn", *given)
    assert result.exit_code == 0, result.output
    assert re.findall(r"warning\[(W304|W608)\]", result.stderr) == ([said[:4]] if said else [])
    assert said in result.stderr
    assert help_ in result.stderr
