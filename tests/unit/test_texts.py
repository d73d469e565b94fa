"""A bare name is the string of its letters: what any source calls "a1" meets what a rule calls `a1`."""

from pathlib import Path

import pytest

import thalweg
from thalweg import IRI, Fact, Source
from thalweg.connectors.publish import PublishedGraph
from thalweg.model.rdf import GENERATED_AT, RDF_TYPE, XSD

RULE = "met(X) :- <http://ex.org/state>(X,on)."
STATE = "<http://ex.org/state>"
STREAMS = {
    "in.facts": f'{STATE}("a1","on") at 3.\n{STATE}(b,"On") at 3.\n',
    "in.jsonl": '{"t": 3, "facts": ["<http://ex.org/state>(\\"a1\\",\\"on\\")"]}\n',
    "in.csv": f"s,p,o,t\na1,{STATE},on,3\nb,{STATE},On,3\n",
    "quoted.csv": f's,p,o,t\n"""a1""",{STATE},"""on""",3\n',
    "in.tnt": f'3 <urn:thalweg:a1> {STATE} "on"^^<{XSD}string> .\n3 <urn:thalweg:b> {STATE} "on"@en .\n',
    "in.nq": f'<e> <http://www.w3.org/ns/prov#generatedAtTime> "3"^^<{XSD}integer> .\n'
    f'<urn:thalweg:a1> {STATE} "on" <e> .\n',
    "in.trig": "@prefix : <http://ex.org/> . @prefix prov: <http://www.w3.org/ns/prov#> .\n"
    ':e prov:generatedAtTime 3 . :e { <urn:thalweg:a1> :state "on" }\n',
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_text_of_a_stream_meets_a_name_in_a_rule(name: str, tmp_path: Path) -> None:
    stream = tmp_path / name
    stream.write_text(STREAMS[name], encoding="utf-8")
    (answer,) = thalweg.run(RULE, stream=stream)
    assert str(answer) == '{"t":3,"begin":["met(a1)"],"end":[]}'


def test_a_text_of_the_background_meets_a_name_in_a_rule(tmp_path: Path) -> None:
    background = tmp_path / "sites.ttl"
    background.write_text('<http://ex.org/r> <http://ex.org/state> "on", "off" .', encoding="utf-8")
    (answer,) = thalweg.run(RULE, stream=[(1, "go")], background=background)
    assert answer.begin == (Fact("met", (IRI("http://ex.org/r"),)),)


@pytest.mark.parametrize("rest", ["", " {x}."])
def test_a_quoted_name_in_an_answer_set_program_is_a_constant(rest: str) -> None:
    """Lowered to rules, and solved by clingo: a choice is more than rules."""
    program = Source("x.lp", f'met(X) :- state(X,"on"). met("c1"). also("b c"). #show met/1. #show also/1.{rest}')
    (answer,) = thalweg.run(program, stream=[(1, ['state("a1",on)', "state(b,off)"])])
    assert set(map(str, answer.sets[0])) == {"met(a1)", "met(c1)", 'also("b c")'}


def test_not_is_a_text_that_clingo_has_no_constant_for() -> None:
    program = Source("x.lp", 'met(X) :- state(X,"not"). {x}. #show met/1.')
    (answer,) = thalweg.run(program, stream=[(1, ["state(not,not)"])])
    assert answer.sets == ((Fact("met", ("not",)),),)


ONTOLOGY = """
@prefix : <http://ex.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:nick rdfs:subPropertyOf :name ; rdfs:range xsd:string .
:age rdfs:range xsd:integer .
:knows rdfs:domain :Person ; rdfs:range :Agent .
:Person rdfs:subClassOf :Agent .
:Ann owl:equivalentClass [ owl:onProperty :name ; owl:hasValue "ann" ] .
"""


def concluded(tmp_path: Path, *facts: str) -> set[str]:
    path = tmp_path / "people.ttl"
    path.write_text(ONTOLOGY, encoding="utf-8")
    answers = list(thalweg.run(path, stream=[(1, list(facts))], profile="rl"))
    return {str(fact).replace("http://ex.org/", "") for answer in answers for fact in answer.begin}


def test_a_text_is_a_literal_of_an_ontology_where_an_object_stands(tmp_path: Path) -> None:
    found = concluded(
        tmp_path, "<http://ex.org/nick>(<http://ex.org/a>,ann)", "<http://ex.org/knows>(<http://ex.org/a>,bob)"
    )
    assert {"<name>(<a>,ann)", "<Ann>(<a>)", "<Person>(<a>)"} <= found
    assert not any("bob" in fact for fact in found if fact.startswith("<Agent>"))
    (clash,) = (
        one for one in concluded(tmp_path, "<http://ex.org/age>(<http://ex.org/a>,old)") if "inconsistent" in one
    )
    assert "dt-not-type" in clash


def test_a_text_is_an_individual_of_an_ontology_where_a_subject_stands(tmp_path: Path) -> None:
    found = concluded(tmp_path, "<http://ex.org/knows>(bob,<http://ex.org/a>)", '<http://ex.org/Person>("Ann B")')
    assert {"<Person>(bob)", "<Agent>(bob)", "<Agent>(<a>)", '<Agent>("Ann B")'} <= found


def test_a_text_that_is_written_as_rdf_comes_back(tmp_path: Path) -> None:
    facts = ["knows(bob,ann)", 'person("Ann B")', 'called("Ann B","B 7")']
    rules = "said(X) :- person(X). told(X,Y) :- knows(X,Y). told(X,Y) :- called(X,Y)."
    out = tmp_path / "out.nq"
    (first,) = thalweg.run(rules, stream=[(1, facts)])
    time = (GENERATED_AT, f'"1"^^<{XSD}integer>')
    text = PublishedGraph("<urn:x:e>", tuple(map(str, first.begin)), (time,)).nquads()
    out.write_text(text, encoding="utf-8")
    assert '<urn:thalweg:bob> <urn:thalweg:told> "ann"' in text
    assert f"<urn:thalweg:text:Ann%20B> {RDF_TYPE} <urn:thalweg:said>" in text
    (again,) = thalweg.run("a(X) :- said(X). b(X,Y) :- told(X,Y).", stream=out)
    assert set(map(str, again.begin)) == {'a("Ann B")', "b(bob,ann)", 'b("Ann B","B 7")'}
