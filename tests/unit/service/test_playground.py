"""The playground answers as `thalweg run` and `why` do, opens nothing, and is not taken down by what it evaluates."""

import json
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import pytest

from thalweg import api
from thalweg.diagnostics import Source
from thalweg.service.playground import Playground
from thalweg.service.refused import RefusedError

JAM = {"name": "jam.lars", "text": "#show jam/1. slow(S) :- v(S,V) in [10], V < 20. jam(S) :- slow(S)."}
FACTS = {"name": "s.facts", "text": "v(a,12) at 3.\nv(b,30) at 4.\n"}
COUNTING = "n(0) :- go. n(Y) :- n(X), Y = X + 1."
GO = {"name": "s.facts", "text": "go at 1."}


@pytest.fixture(scope="module")
def playground() -> Playground:
    return Playground()


def _refused(playground: Playground, **body: Any) -> RefusedError:
    with pytest.raises(RefusedError) as refused:
        playground.evaluate(body)
    return refused.value


def test_lines_proofs_and_history_are_those_of_run_and_why(playground: Playground) -> None:
    answer = playground.evaluate({"sources": [JAM], "stream": FACTS, "to": 12, "why": ["jam(a)", "slow(a)", "jam(b)"]})
    program, stream = (Source(text["name"], text["text"]) for text in (JAM, FACTS))
    assert answer["lines"] == [json.loads(str(line)) for line in api.run(program, stream, end=12)]
    proof, absence = (
        api.why(program, "jam(a)", at=12, stream=stream),
        api.why_not(program, "jam(b)", at=12, stream=stream),
    )
    assert proof is not None
    assert absence is not None
    assert answer["proofs"]["jam(a)"] == json.loads(json.dumps(proof.as_data()))
    assert answer["proofs"]["jam(b)"] == {"why_not": json.loads(json.dumps(absence.as_data()))}
    # It is not shown, and holds all the same.
    assert answer["proofs"]["slow(a)"]["claim"] == "slow(a)"
    assert answer["history"]["groups"] == [{"p": "jam", "rows": [["jam(a)", [[3, 13, 1, 14]]]], "curves": []}]
    assert [diagnostic["code"] for diagnostic in answer["diagnostics"]] == ["E405"]


def test_a_stream_ends_where_it_ends(playground: Playground) -> None:
    answer = playground.evaluate({"sources": [JAM], "stream": FACTS})
    assert answer["lines"] == [{"t": 3, "begin": ["jam(a)"], "end": []}]
    assert answer["proofs"] == {}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.toml", '[program]\nfiles = ["/etc/passwd"]'),
        ("x.lp", '#include "/etc/passwd". q :- p.'),
        ("x.lars", '#include "/etc/passwd".'),
        ("x.lars", "q(X :- p."),
    ],
)
def test_programs_that_name_files_are_rejected_with_their_place(playground: Playground, name: str, text: str) -> None:
    refused = _refused(playground, sources=[{"name": name, "text": text}], stream=FACTS)
    assert refused.status == 400
    assert "root:" not in json.dumps(refused.as_data())
    (diagnostic,) = json.loads(json.dumps(refused.as_data()))["diagnostics"]
    assert diagnostic["code"] == refused.diagnostics[0].code
    assert name in (diagnostic.get("file"), diagnostic["message"].split("`")[1])


@pytest.mark.parametrize(
    "body",
    [
        {"sources": [JAM], "stream": {"name": "/etc/passwd", "text": ""}},
        {"sources": [JAM], "stream": {"name": "mqtt://host/x", "text": ""}},
        {"sources": [JAM], "stream": {"name": "x.toml", "text": ""}},
        {"sources": [JAM], "stream": {"name": "x.parquet", "text": ""}},
        {"sources": [JAM], "stream": "s.facts"},
        {"sources": [JAM], "stream": {"name": "s.facts", "text": "v(a at 3."}},
        {"sources": [JAM], "stream": {"name": "s.jsonld", "text": '{"@context":"file:///etc/passwd","@id":"urn:x"}'}},
        {"sources": [JAM], "to": "noon"},
        {"sources": [JAM], "to": [3]},
        {"sources": [JAM], "why": "jam(a)"},
        {"sources": [JAM], "stream": FACTS, "why": ["jam(a"]},
        {"sources": [JAM], "file": "/etc/passwd"},
        {"sources": "/etc/passwd"},
        {"sources": [{"name": "a.lp", "text": "#external p. q :- p."}], "stream": GO, "why": ["q"]},
    ],
)
def test_what_makes_no_sense_is_refused(playground: Playground, body: dict[str, Any]) -> None:
    refused = _refused(playground, **body)
    assert refused.status == 400
    assert refused.diagnostics


@pytest.mark.parametrize(("name", "text"), [("n.lars", COUNTING), ("n.lp", f"#external go. {COUNTING}")])
def test_a_program_that_counts_for_ever_takes_too_long(playground: Playground, name: str, text: str) -> None:
    assert _refused(playground, sources=[{"name": name, "text": text}], stream=GO).status == 408


@pytest.mark.hermit
def test_there_is_room_for_a_reasoner_in_java(playground: Playground) -> None:
    ontology = """Prefix(:=<http://ex.org/>) Ontology(
        FunctionalObjectProperty(:r) DisjointClasses(:A :B) ObjectPropertyAssertion(:r :x :a)
        ObjectPropertyAssertion(:r :x :b) ClassAssertion(:A :a) ClassAssertion(:B :b) ClassAssertion(:A :c))"""
    options = {"profile": "dl", "as": "abstraction", "reasoner": "hermit"}
    refused = _refused(playground, sources=[{"name": "x.ofn", "text": ontology}], options=options)
    (diagnostic,) = json.loads(json.dumps(refused.as_data()))["diagnostics"]
    # Only with a reasoner the axioms are found that contradict each other.
    assert (diagnostic["code"], len(diagnostic["notes"])) == ("E701", 6)


def test_answers_without_end_are_too_large(playground: Playground) -> None:
    shown = {"sources": [JAM], "stream": FACTS, "to": 10**9, "options": {"emit": "snapshot"}}
    assert _refused(playground, **shown).status == 413


def test_only_some_wait_and_the_end_ends_all() -> None:
    playground = Playground(most=1, waiting=1)
    forever = {"sources": [{"name": "n.lp", "text": f"#external go. {COUNTING}"}], "stream": GO}
    with ThreadPoolExecutor(3) as threads:
        asked = [threads.submit(_refused, playground, **forever) for _ in range(3)]
        # One runs and one waits: whichever comes last finds no room, and does not wait for the others.
        statuses = [next(as_completed(asked)).result().status]
        playground.close()
        statuses += [future.result().status for future in asked]
    assert statuses == [503, 503, 503, 503]
    assert _refused(playground, **forever).status == 503
