"""What `check` says about events: names that do not fit, files that include themselves, events that never happen."""

import json
import re
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from thalweg.cli import app

SITE = """
Prefix(:=<http://ex.org/>) Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>)
Ontology(
  Declaration(Class(:Reading)) Declaration(Class(:Room))
  Declaration(DataProperty(:celsius)) Declaration(ObjectProperty(:in))
  EquivalentClasses(:HotReading ObjectIntersectionOf(:Reading
    DataSomeValuesFrom(:celsius DatatypeRestriction(xsd:double xsd:minInclusive "12.0"^^xsd:double))))
  DisjointClasses(:Reading :Room)
)
"""
EVENTS = """
PREFIX : <http://ex.org/>
NAMED EVENT :Hot  AS :HotReading
NAMED EVENT :Cold AS :Reading and (:celsius some xsd:double[< 10.0])
"""
COOLING = "NAMED EVENT :Cooling { MATCH EVERY :Hot SEQ :Cold WITHIN (10 s) }"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("site.ofn").write_text(SITE)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize(
    ("written", "column", "message", "help_"),
    [
        (":Raeding and :HotReading", 19, "the ontology does not have the name `:Raeding`", "there is `:Reading`"),
        (
            ":Reading and (:in some xsd:double)",
            33,
            "`:in` is an object property in the ontology, and a data property",
            "",
        ),
        (":celsius some :Room", 33, "`:Room` is a class in the ontology, and a datatype here", ""),
        (":celsius some xsd:dubble[> 3.0]", 33, "unknown datatype `xsd:dubble`", "did you mean `xsd:double`?"),
        (":in", 19, "`:in` is an object property in the ontology, and a class here", "`:r some :C`"),
    ],
)
def test_a_name_that_does_not_fit_is_shown_at_its_place(written: str, column: int, message: str, help_: str) -> None:
    Path("rules.tw").write_text(f"PREFIX : <http://ex.org/>\nNAMED EVENT :A AS {written}\nNAMED EVENT :B AS :Reading")
    result = invoke("check", "rules.tw", "site.ofn")
    assert (result.exit_code, result.stderr.count("error[")) == (1, 1)
    assert message in result.stderr
    assert f"rules.tw:2:{column}\n" in result.stderr
    assert help_ in result.stderr


def test_an_unknown_prefix_is_one_error_wherever_it_is_used() -> None:
    Path("rules.tw").write_text(
        "PREFIX : <http://ex.org/> NAMED EVENT :A AS ex:Reading and (ex:in some :Room) "
        "NAMED EVENT :B { MATCH EVERY :A SEQ ex:Other WITHIN (1 m) }"
    )
    result = invoke("check", "rules.tw", "site.ofn")
    assert (result.exit_code, re.findall(r"error\[(\w+)\]", result.stderr)) == (1, ["E103"])


def test_a_file_that_includes_itself_is_warned_about() -> None:
    Path("rules.tw").write_text(f'INCLUDE "rules.tw"\nINCLUDE "more.tw"\n{EVENTS}')
    Path("more.tw").write_text('INCLUDE "rules.tw"\nINCLUDE "shared.tw"\n')
    Path("shared.tw").write_text("PREFIX : <http://ex.org/>\nNAMED EVENT :Warm AS :Reading\n")
    result = invoke("check", "rules.tw", "site.ofn")
    assert result.exit_code == 0
    assert re.findall(r"warning\[W511\]: (.*)\n  (\S+)", result.stderr) == [
        ("`rules.tw` includes itself", "rules.tw:1:9"),
        ("`rules.tw` includes itself, by way of `more.tw`", "more.tw:1:9"),
    ]


def test_a_file_may_be_included_by_several() -> None:
    Path("rules.tw").write_text(f'INCLUDE "one.tw"\nINCLUDE "shared.tw"\n{EVENTS}')
    Path("one.tw").write_text('INCLUDE "shared.tw"\n')
    Path("shared.tw").write_text("PREFIX : <http://ex.org/>\nNAMED EVENT :Warm AS :Reading\n")
    assert invoke("check", "rules.tw", "site.ofn").stdout == "no problems found (3 events)\n"


def test_a_bound_may_be_in_milliseconds_where_ticks_are_short_enough() -> None:
    Path("rules.tw").write_text(EVENTS + COOLING.replace("WITHIN (10 s)", "WITHIN (2500 ms)"))
    assert invoke("check", "rules.tw", "site.ofn", "--tick", "500ms").exit_code == 0
    result = invoke("check", "rules.tw", "site.ofn")
    assert (result.exit_code, "`2500 ms` is not a whole number of ticks of 1s" in result.stderr) == (1, True)
    assert "`--tick 500ms`" in result.stderr


IMPOSSIBLE = """PREFIX : <http://ex.org/>
NAMED EVENT :Hot AS :HotReading
NAMED EVENT :None AS :Hot and not :Hot
NAMED EVENT :Both AS :HotReading and :Room
NAMED EVENT :Empty AS :celsius some xsd:double[> 4.0, < 3.0]
NAMED EVENT :Needs { MATCH EVERY :Hot SEQ :Both WITHIN (10 s) }
NAMED EVENT :NeedsToo { MATCH EVERY (:Needs AND :Hot) OR :None WITHIN (10 s) }
NAMED EVENT :May { MATCH EVERY :Needs OR :Hot SEQ NOT :Both SEQ :Hot WITHIN (1 s) }
""".replace(":Hot and not :Hot", ":HotReading and not :HotReading")


def impossible(text: str, *arguments: str) -> list[tuple[str, str]]:
    Path("rules.tw").write_text(text)
    found = json.loads(invoke("check", "rules.tw", "site.ofn", *arguments, "--format", "json").stdout)
    assert {one["code"] for one in found} <= {"W815"}
    return [(one["message"], " ".join(one.get("notes", ()))) for one in found]


def test_events_whose_class_is_empty_can_never_happen() -> None:
    Path("rules.lars").write_text("@prefix : <http://ex.org/> . :seen(X) :- :Hot(X).")
    for beside in ((), ("rules.lars",)):
        (itself, nothing), (both, axioms), *others = impossible(IMPOSSIBLE, *beside)
        assert (itself, nothing) == ("`:None` can never happen: nothing can be in its class", "")
        assert both == "`:Both` can never happen: nothing can be in its class"
        assert "DisjointClasses(<http://ex.org/Reading> <http://ex.org/Room>)" in axioms
        assert others == [
            ("`:Empty` can never happen: nothing can be in its class", ""),
            ("`:Needs` can never happen, because `:Both` never does", ""),
            ("`:NeedsToo` can never happen, because `:Needs` never does", ""),
        ]


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("EVERY :Hot SEQ :Cold SEQ :Hot WITHIN (1 s)", "its events take at least 2s, and `WITHIN` allows less"),
        ("EVERY :Hot SEQ NOT :Cold SEQ :Hot WITHIN (1 s)", ""),
        ("EVERY :Hot AND NOT :Hot WITHIN (9 s)", "the event that one part of an `AND` asks for is what its `NOT`"),
        ("EVERY :Hot SEQ NOT :Hot WITHIN (9 s)", ""),
        ("EVERY (:Hot AND NOT :Hot) OR :Cold WITHIN (9 s)", ""),
        ("EVERY (:Hot AND :Cold) SEQ (:Hot OR :Late) WITHIN (1 s)", ""),
        ("EVERY :Late SEQ :Hot WITHIN (5 s)", "its events take at least 6s, and `WITHIN` allows less"),
        ("EVERY :Late SEQ :Hot WITHIN (6 s)", ""),
        ("EVERY (:Late OR :Hot) SEQ :Hot WITHIN (5 s)", ""),
        ("EVERY :Hot IF { EVENT :Hot { ?h :celsius ?v FILTER(?v > 15) FILTER(?v < 3) } }", "no value of `?v`"),
        ("EVERY :Hot IF { EVENT :Hot { ?h :celsius ?v FILTER(3 >= ?v && ?v > 3) } }", "no value of `?v`"),
        ("EVERY :Hot IF { EVENT :Hot { ?h :celsius ?v FILTER(?v >= 3 && ?v <= 3) } }", ""),
        ("EVERY :Hot IF { EVENT :Hot { ?h :celsius ?v FILTER(?v > 15 || ?v < 3) } }", ""),
        ("EVERY :Hot IF { EVENT :Hot { ?h :celsius ?v FILTER(!(?v > 15 && ?v < 3)) } }", ""),
        ("EVERY :Hot SEQ NOT :Cold SEQ :Hot WITHIN (9 s) IF { EVENT :Cold { ?h :p ?v FILTER(?v > 1 && ?v < 0) } }", ""),
    ],
)
def test_patterns_that_nothing_can_match(pattern: str, said: str) -> None:
    late = "NAMED EVENT :Late { MATCH EVERY :Hot SEQ NOT :Cold WITHIN (5 s) }"
    found = impossible(f"{EVENTS} {late} NAMED EVENT :P {{ MATCH {pattern} }}")
    assert len(found) == bool(said)
    assert all(message.startswith(f"`:P` can never happen: {said}") for message, _ in found)


def test_a_shorter_tick_lets_a_pattern_happen() -> None:
    pattern = "NAMED EVENT :P { MATCH EVERY :Hot SEQ :Cold SEQ :Hot WITHIN (1 s) }"
    assert len(impossible(EVENTS + pattern)) == 1
    assert impossible(EVENTS + pattern, "--tick", "500ms") == []


TWICE = "NAMED EVENT :Twice { MATCH EVERY :Hot SEQ :Hot WITHIN (10 s) IF { EVENT :Hot { ?o :in ?room } } }"
BOTH = (
    "NAMED EVENT :Again AS :HotReading NAMED EVENT :Twice { MATCH EVERY :Hot SEQ :Again WITHIN (10 s)"
    " IF { EVENT :Hot { ?o :in ?room } EVENT :Again { ?p :in ?room } } }"
)


@pytest.mark.parametrize(("pattern", "is_warned"), [(TWICE, True), (BOTH, False)])
def test_rules_that_read_a_variable_no_match_binds_are_warned(pattern: str, is_warned: bool) -> None:
    Path("rules.tw").write_text(EVENTS + pattern)
    Path("rules.lars").write_text("@prefix : <http://ex.org/> .\nalarm(R) :- :Twice(E), :Twice_room(E,R).")
    result = invoke("check", "rules.tw", "site.ofn", "rules.lars")
    warning = "warning[W816]: no match of `:Twice` binds `?room`, so `:Twice_room` never holds\n  rules.lars:2:24"
    assert (result.exit_code, warning in result.stderr) == (0, is_warned)
