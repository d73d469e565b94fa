"""Classes of equal things: who stands for them, at what cost."""

from itertools import pairwise
from pathlib import Path

from thalweg import api
from thalweg.ir.nodes import Program
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.model.fact import Fact
from thalweg.model.vocabulary import OWL, SAME_AS

SCHEMA = """@prefix : <http://e/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . :A rdfs:subClassOf :B . :B owl:disjointWith :C .
"""
B = "<http://e/B>"


def program(folder: Path, more: str = "", window: int = 5) -> Program:
    path = folder / "x.ttl"
    path.write_text(SCHEMA + more)
    return api.load(path, profile="rl", window=window)


def said(predicate: str, *args: str) -> Fact:
    return Fact(f"<http://e/{predicate}>", args)


def chain(*names: str) -> list[Fact]:
    return [Fact(SAME_AS, pair) for pair in pairwise(names)]


def told(engine: Engine) -> set[str]:
    return {str(fact).replace(SAME_AS, "same").replace("http://e/", "") for fact in engine.facts()}


def test_as_many_facts_as_equal_things(tmp_path: Path) -> None:
    engine = Engine(program(tmp_path))
    names = [f"<x{number:04}>" for number in range(400)]
    (change,) = engine.advance(1, [*chain(*names), *(said("A", name) for name in names)])
    # A link for each but one; what stands for all is in A, and in B.
    assert len(change.begin) == 399 + 2
    assert engine.live < 10 * len(names)


def test_the_least_name_stands_for_all_in_whatever_order_they_come(tmp_path: Path) -> None:
    for names in (("<b>", "<c>", "<a>"), ("<a>", "<b>", "<c>"), ("<c>", "<b>", "<a>")):
        engine = Engine(program(tmp_path))
        engine.advance(1, [said("A", "<c>")])
        for tick, edge in enumerate(chain(*names), start=2):
            engine.advance(tick, [edge])
        assert told(engine) == {"same(<b>,<a>)", "same(<c>,<a>)", "<A>(<a>)", "<B>(<a>)"}


def test_when_a_class_falls_apart_nothing_that_holds_is_missed_for_a_tick(tmp_path: Path) -> None:
    engine = Engine(program(tmp_path))
    engine.advance(0, chain("<a>", "<b>"))
    engine.advance(3, [*chain("<b>", "<c>"), said("A", "<c>")])
    assert told(engine) == {"same(<b>,<a>)", "same(<c>,<a>)", "<A>(<a>)", "<B>(<a>)"}
    changes = engine.advance(7)
    assert [change.tick for change in changes] == [6]
    assert told(engine) == {"same(<c>,<b>)", "<A>(<b>)", "<B>(<b>)"}
    engine.advance(9)
    assert told(engine) == set()


def test_an_equality_that_is_said_again_ends_nothing(tmp_path: Path) -> None:
    engine = Engine(program(tmp_path))
    engine.advance(0, [*chain("<a>", "<b>"), *(said("A", "<b>"),)])
    assert not engine.advance(5, [*chain("<b>", "<a>"), said("A", "<b>")])
    assert not engine.advance(10)
    assert engine.advance(11)


def test_individuals_of_the_ontology_are_known_by_their_representatives(tmp_path: Path) -> None:
    """By name in restrictions and denials, and equal from the start."""
    more = """
    [] a owl:AllDifferent ; owl:members (:m :n) . :i owl:sameAs :j .
    :Near a owl:Restriction ; owl:onProperty :at ; owl:hasValue :m .
    [] owl:sourceIndividual :m ; owl:assertionProperty :likes ; owl:targetIndividual :n .
    """
    engine = Engine(program(tmp_path, more))
    engine.advance(0, [said("at", "<x>", "<http://e/m>"), said("likes", "<http://e/l>", "<http://e/n>")])
    assert told(engine) == {"same(<j>,<i>)", "<Near>(<x>)", "<at>(<x>,<m>)"}
    engine.advance(1, chain("<http://e/m>", "<http://e/l>"))
    assert 'inconsistent("prp-npa1",<l>,<likes>,<n>)' in told(engine)
    assert {"<Near>(<x>)", "<at>(<x>,<l>)", "same(<m>,<l>)"} <= told(engine)
    engine.advance(2, [*chain("<http://e/m>", "<http://e/n>"), Fact(f"<{OWL}differentFrom>", ("<u>", "<v>"))])
    assert [fact.terms[2:] for fact in engine.facts() if fact.terms[0] == '"eq-diff2"'] == [("<http://e/l>",) * 2]
    engine.advance(3, chain("<u>", "<v>"))
    assert ('"eq-diff1"', "<u>", f"<{OWL}differentFrom>", "<u>") in {fact.terms for fact in engine.facts()}


def test_a_contradiction_is_told_of_who_stands_for_it(tmp_path: Path) -> None:
    engine = Engine(program(tmp_path))
    engine.advance(0, [said("A", "<b>"), said("C", "<b>")])
    assert told(engine) == {"<B>(<b>)", 'inconsistent("cax-dw",<b>,<B>,<C>)'}
    engine.advance(1, chain("<b>", "<a>"))
    assert 'inconsistent("cax-dw",<a>,<B>,<C>)' in told(engine)
    assert 'inconsistent("cax-dw",<b>,<B>,<C>)' not in told(engine)
    # That a class is also equal to something else makes no contradiction disappear.
    engine.advance(2, chain("<http://e/C>", "<http://e/A>"))
    assert 'inconsistent("cax-dw",<a>,<B>,<C>)' in told(engine)


def test_where_pairs_were_shed_representatives_are_unknown_until_the_pairs_would_be_gone(tmp_path: Path) -> None:
    engine = Engine(program(tmp_path, window=1000), memory=3_000_000)
    names = [f"<x{number:05}>" for number in range(2_000)]
    for tick in range(0, 2_000, 100):
        part = names[tick : tick + 101]
        engine.advance(tick, [*chain(*part), *(said("A", name) for name in part)])
    assert engine.shed == ("<http://e/A>/1", f"{SAME_AS}/2")
    assert not engine.facts()
    engine.memory = None
    engine.advance(max(engine.lacking.values()) + 1)
    assert not engine.partial
    members = {fact.terms[0] for fact in engine.facts() if fact.predicate == SAME_AS}
    others = [fact for fact in engine.facts() if fact.predicate != SAME_AS]
    assert members
    assert others
    assert not [fact for fact in others if fact.terms[0] in members]


def test_many_values_of_a_functional_property_are_as_many_facts(tmp_path: Path) -> None:
    engine = Engine(program(tmp_path, ":p a owl:FunctionalProperty ."))
    values = [f"<y{number:03}>" for number in range(200)]
    (change,) = engine.advance(1, [said("p", "<x>", value) for value in values])
    # A link for each but one, and the value that stands for all.
    assert len(change.begin) == 199 + 1
    assert engine.live < 10 * len(values)


def test_a_property_that_only_a_denial_names_has_equal_subjects_and_values(tmp_path: Path) -> None:
    denial = "[] owl:sourceIndividual <a> ; owl:assertionProperty :r ; owl:targetIndividual <c> ."
    engine = Engine(program(tmp_path, f"@base <http://e/> . {denial} <b> owl:sameAs <c> ."))
    engine.advance(1, [said("r", "<http://e/b>", "<http://e/a>")])
    assert not any("prp-npa1" in fact for fact in told(engine))
    engine.advance(2, [Fact(SAME_AS, ("<http://e/b>", "<http://e/a>"))])
    assert any("prp-npa1" in fact for fact in told(engine))
