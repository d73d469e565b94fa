"""`#local` keeps a predicate to its file, and `check` warns where files share one."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import thalweg
from thalweg.cli import app
from thalweg.diagnostics import RejectedError, Source
from thalweg.ir.dependency import formulas
from thalweg.ir.nodes import Program
from thalweg.ir.text import show
from thalweg.languages import lars
from thalweg.testing.strategies import programs

LOCAL = "#local seen/1.\nseen(X) :- p(X) in [5].\nalarm(X) :- seen(X), q(X).\n"
SHARED = "seen(X) :- r(X).\nboth(X) :- seen(X).\n"
FACTS = "p(a) at 1.\nq(a) at 2.\nq(b) at 2.\nr(b) at 2.\nseen(z) at 3.\nq(z) at 3.\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("a.lars", LOCAL), ("b.lars", SHARED), ("in.facts", FACTS)):
        Path(name).write_text(text)


def command(*words: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, words)
    assert result.exit_code == code, result.output
    return result.output


def found(*words: str) -> list[tuple[str, str]]:
    """What `check` says: numbers and messages."""
    result = CliRunner().invoke(app, ["check", *words, "--format", "json"])
    return [(one["code"], one["message"]) for one in json.loads(result.stdout)]


def answers(*words: str) -> list[str]:
    result = CliRunner().invoke(app, ["run", *words, "--emit", "intervals", "--quiet"])
    assert result.exit_code == 0, result.output
    return sorted(json.loads(line)["fact"] for line in result.stdout.splitlines())


# What is shared ------------------------------------------------------------------------------------------------------


def test_a_predicate_that_two_files_derive() -> None:
    Path("c.lars").write_text("seen(X) :- s(X).")
    message = "`seen/1` is derived here and in `b.lars`: each file reads what the others derive"
    assert found("b.lars", "c.lars") == [("W216", message)]
    assert found("b.lars") == found("a.lars", "b.lars") == []
    Path("d.lp").write_text("seen(X) :- s(X).")
    assert [code for code, _ in found("b.lars", "d.lp")] == ["W216"]


def test_a_derived_predicate_that_comes_from_elsewhere() -> None:
    Path("known.facts").write_text("seen(k).")
    Path("known.lars").write_text("seen(k).")
    background = ("W217", "`seen/1` is derived here, and the background `known.facts` brings it, too")
    assert found("b.lars", "--background", "known.facts") == [background]
    mapping = ("W217", "`seen/1` is derived here, and the mapping `seen(device) at ts` brings it, too")
    assert found("b.lars", "--map", "seen(device) at ts") == [mapping]
    assert found("b.lars", "known.lars") == [
        ("W217", "`seen/1` is derived here, and `known.lars` has facts of it, too")
    ]
    assert found("a.lars", "--background", "known.facts", "--map", "seen(device) at ts") == []
    # What only goes on from facts of its own has its first ones from elsewhere.
    Path("way.lars").write_text("way(X,Z) :- way(X,Y), edge(Y,Z).")
    assert found("way.lars", "--map", "way(a, b) at ts") == []


def test_a_deployment_whose_mapping_brings_what_is_derived() -> None:
    Path("plant.toml").write_text('program = "b.lars"\n[streams.s]\nfrom = "in.csv"\nmap = "seen(device) at ts"\n')
    assert [code for code, _ in found("plant.toml")] == ["W217"]
    Path("plant.toml").write_text('program = "a.lars"\n[streams.s]\nfrom = "in.csv"\nmap = "seen(device) at ts"\n')
    assert found("plant.toml") == []


# What is local -------------------------------------------------------------------------------------------------------


def test_streams_background_and_other_files_neither_bring_nor_read_it() -> None:
    Path("known.facts").write_text("seen(k).\nq(k).")
    assert answers("a.lars", "--stream", "in.facts", "--background", "known.facts") == ["alarm(a)"]
    assert answers("a.lars", "b.lars", "--stream", "in.facts") == ["alarm(a)", "both(b)", "both(z)", "seen(b)"]
    Path("c.lars").write_text("#local seen/1.\nseen(X) :- q(X).\nother(X) :- seen(X).\n")
    assert answers("a.lars", "c.lars", "--stream", "in.facts") == ["alarm(a)", "other(a)", "other(b)", "other(z)"]


def test_an_answer_set_program_does_not_read_it() -> None:
    Path("m.lp").write_text("got(X) :- seen(X).")
    output = command("run", "a.lars", "m.lp", "--stream", "in.facts", "--window", "1", "--quiet")
    assert "got(z)" in output
    assert "got(a)" not in output


def test_a_query_over_the_conclusions_of_its_file_does_not_hear_it() -> None:
    Path("iri.lars").write_text(
        "@prefix : <http://ex/> .\n#local :seen/1.\n:seen(X) :- :p(X) in [5].\n:alarm(X) :- :seen(X), :q(X).\n"
    )
    Path("q.rspql").write_text(
        "PREFIX : <http://ex/>\nSELECT ?s ?o FROM NAMED WINDOW :w ON STREAM :iri [RANGE 2s, SLIDE 1s] "
        "WHERE { WINDOW :w { ?s a ?o } }"
    )
    Path("iri.facts").write_text("<http://ex/p>(<http://ex/a>) at 1.\n<http://ex/q>(<http://ex/a>) at 2.\n")
    output = command("run", "iri.lars", "q.rspql", "--stream", "iri.facts", "--quiet")
    assert "<http://ex/alarm>" in output
    assert "seen" not in output


@pytest.mark.parametrize("option", [["--profile", "rl"], ["--profile", "ql"], ["--schema-stream"]])
def test_an_ontology_does_not_see_it(option: list[str]) -> None:
    Path("iri.lars").write_text(
        "@prefix : <http://ex/> .\n#local :seen/1.\n:seen(X) :- :p(X) in [5].\n:alarm(X) :- :seen(X), :q(X).\n"
    )
    Path("o.ttl").write_text(
        "@prefix : <http://ex/> .\n@prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        ":seen a owl:Class ; rdfs:subClassOf :Watched . :alarm a owl:Class ; rdfs:subClassOf :Bad .\n"
    )
    Path("iri.facts").write_text("<http://ex/p>(<http://ex/a>) at 1.\n<http://ex/q>(<http://ex/a>) at 2.\n")
    output = command("run", "iri.lars", "o.ttl", "--stream", "iri.facts", "--quiet", *option)
    assert "<http://ex/Bad>(<http://ex/a>)" in output
    assert "Watched>(<http://ex/a>)" not in output
    assert "iri.lars" not in output


def test_why_and_explain_name_it_with_its_file() -> None:
    why = command("why", "a.lars", "b.lars", "alarm(a)", "--at", "2", "--stream", "in.facts")
    assert "    seen(a) of a.lars   until 6\n" in why
    asked = command("why", "a.lars", "seen(a)", "--at", "2", "--stream", "in.facts")
    assert asked.startswith("seen(a) of a.lars   until 6\n  by seen(X) :- p(X) in [5].   (a.lars:2:1)")
    absent = command("why", "a.lars", "seen(b)", "--at", "2", "--stream", "in.facts", code=1)
    assert "not by seen(X) :- p(X) in [5]." in absent
    text = command("explain", "a.lars", "b.lars")
    assert "reads  seen/1 of a.lars derived" in text
    assert "seen(X) of a.lars → q(X)" in text


def test_a_rule_that_never_held_names_it_with_its_file() -> None:
    Path("c.lars").write_text("#local far/1.\nfar(X) :- nowhere(X).\nnear(X) :- far(X).\n")
    output = command("run", "c.lars", "--stream", "in.facts", "--verbose")
    assert re.findall(r"W314\]: (.*)", output) == [
        "rule 1: `nowhere(X)` never came",
        "rule 2: `far/1 of c.lars` was never derived (rule 1)",
    ]


def test_texts_of_python_have_local_predicates_of_their_own() -> None:
    one, other = "#local a/1. a(X) :- p(X). b(X) :- a(X).", "#local a/1. a(X) :- q(X). c(X) :- a(X)."
    stream = [(0, ["p(x)", "q(y)", "a(z)"])]
    expected = {"b(x)", "c(y)"}
    loaded = [thalweg.load(one), thalweg.load(other)]
    for texts in ([one, other], loaded):
        assert {str(fact) for answer in thalweg.run(texts, stream=stream) for fact in answer.begin} == expected


def test_files_of_one_name_that_were_loaded_apart_are_not_mingled() -> None:
    for folder, read in (("north", "p"), ("south", "q")):
        Path(folder).mkdir()
        Path(folder, "x.lars").write_text(f"#local a/1. a(X) :- {read}(X). {folder}(X) :- a(X).")
    stream = [(0, ["p(x)", "q(y)"])]
    together = thalweg.run(["north/x.lars", "south/x.lars"], stream=stream)
    assert {str(fact) for answer in together for fact in answer.begin} == {"north(x)", "south(y)"}
    apart = [thalweg.load("north/x.lars"), thalweg.load("south/x.lars")]
    with pytest.raises(RejectedError, match="E411"):
        list(thalweg.run(apart, stream=stream))


def test_a_session_goes_on_with_what_is_local_and_recorded() -> None:
    rules = "#local on/1. #record on/1. on(X) :- p(X). on(X) :- on(X) before [1], not q(X). lit(X) :- on(X)."
    with thalweg.open(rules) as first:
        first.push("p", "a", at=1)
        first.advance(to=2)
        saved = first.snapshot()
    with thalweg.open(rules) as second:
        second.restore(saved)
        second.push("q", "a", at=5)
        assert [str(fact) for answer in second.advance(to=5) for fact in answer.end] == ["lit(a)"]


# Wrong uses ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("#local x/1. h(X) :- p(X).", [("W205", "`#local x/1.` has no effect: no rule of this file derives it")]),
        ("#local h/1. #show h/1. h(X) :- p(X).", [("E219", "`h/1` is local to its file, so it cannot be shown")]),
        ("#local h/1. h(X) :- p(X). g(X) :- h(X) from s.",
         [("E219", "`h/1` is local to its file, so no stream brings it")]),
        ("h(X) :- seen'a.lars'(X).", [("E219", "`seen` is local to a file")]),
        ("seen'a.lars'(x).", [("E219", "`seen` is local to a file")]),
        ("#local h/1. h(X) :- p(X). g(X) :- h(X) in [5].",
         [("W203", "the window sees `h/1` at the present tick only, because it is derived and not recorded")]),
        ("#local h/1. h(X) :- p(X). g(X) :- h(X) in [1 # by X].",
         [("E205", "a tuple window counts what arrives, but `h/1` is derived by rules")]),
        ("#local h/1. #record h/1. h(X) :- p(X), not h(X) before [1].", []),
        ("#local h/1, h/1. h(a).", []),
    ],
)  # fmt: skip
def test_what_check_says(program: str, expected: list[tuple[str, str]]) -> None:
    Path("x.lars").write_text(program)
    assert found("x.lars") == expected


def test_another_file_that_reads_it_is_warned() -> None:
    Path("c.lars").write_text("shown(X) :- seen(X).")
    assert found("a.lars", "c.lars") == [("W218", "`seen/1` is local to a.lars, so these are other facts")]
    assert "it is local to a.lars: leave `#local seen/1.` out there" in command("check", "a.lars", "--show", "seen/1")


# Its representation --------------------------------------------------------------------------------------------------


@given(programs(remembering=True), st.randoms(use_true_random=False))
def test_what_is_local_reads_back(program: Program, random: st.randoms) -> None:  # type: ignore[valid-type]
    streamed = {
        one.atom.signature for rule in program.rules for one, _ in formulas(rule.body) if one.stream is not None
    }
    derived = sorted(program.derived - streamed)
    local = random.sample(derived, random.randint(1, len(derived))) if derived else []  # type: ignore[attr-defined]
    text = f"#local {', '.join(local)}.\n{show(program)}" if local else show(program)
    mine = lars.read(Source("dir/my rules.lars", text))
    assert mine.outputs == program.derived - set(local)
    assert {name.public for name in mine.derived} == program.derived
    again = lars.read(Source("shown", show(mine)))
    assert show(again) == show(mine)
    assert again.outputs == mine.outputs
