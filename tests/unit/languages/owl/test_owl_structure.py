"""RDF graphs become axioms, and nothing that they say is lost."""

import gzip
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.languages.owl import axioms as ax
from thalweg.languages.owl import structure, syntaxes
from thalweg.languages.owl.axioms import Ontology, Triple, show
from thalweg.languages.owl.dl_lite import normal_form
from thalweg.languages.owl.expressions import THING
from thalweg.languages.owl.kinds import owl, rdf, rdfs
from thalweg.languages.owl.unsatisfiable import InclusionClosure
from thalweg.model.rdf import RDF_TYPE, read_graph

DATA = Path(__file__).parents[5] / "shared" / "data"
PREFIXES = """
@prefix : <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
FORMATS = {".owl": "rdfxml", ".rdf": "rdfxml", ".ttl": "turtle", ".nt": "ntriples"}

needs_data = pytest.mark.skipif(not DATA.exists(), reason="no test data here")


def triples_of(path: Path) -> list[Triple]:
    data = path.read_bytes()
    if path.suffix == ".gz":
        data, path = gzip.decompress(data), path.with_suffix("")
    return [quad[:3] for quad in read_graph(data, FORMATS[path.suffix], base="http://example.org/")]


def read(turtle: str) -> Ontology:
    return structure.read(quad[:3] for quad in read_graph((PREFIXES + turtle).encode(), "turtle"))


def shown(ontology: Ontology) -> list[str]:
    """Axioms with short names, and without those of blank nodes."""
    short = (re.sub(r"<[^>]*[/#]([^>/#]*)>", r"\1", show(axiom)) for axiom in ontology.axioms)
    return sorted(re.sub(r"_:\w+", "_:x", text) for text in short)


@pytest.mark.parametrize(
    ("turtle", "axioms"),
    [
        (":A rdfs:subClassOf :B .", ["SubClassOf(A B)"]),
        (
            ":A rdfs:subClassOf [ owl:onProperty :r ; owl:someValuesFrom :B ] .",
            ["SubClassOf(A ObjectSomeValuesFrom(r B))"],
        ),
        (
            "[ owl:onProperty :r ; owl:allValuesFrom [ a owl:Class ; owl:complementOf :B ] ] rdfs:subClassOf :A .",
            ["SubClassOf(ObjectAllValuesFrom(r ObjectComplementOf(B)) A)"],
        ),
        (":A owl:equivalentClass [ owl:unionOf (:B :C) ] .", ["EquivalentClasses(A ObjectUnionOf(B C))"]),
        (
            ":A owl:intersectionOf (:B [ owl:oneOf (:a :b) ]) .",
            ["EquivalentClasses(A ObjectIntersectionOf(B ObjectOneOf(a b)))"],
        ),
        (
            ":A owl:oneOf (:a) ; owl:oneOf (:b) .",
            ["EquivalentClasses(A ObjectOneOf(a))", "EquivalentClasses(A ObjectOneOf(b))"],
        ),
        (":A owl:equivalentClass [ owl:unionOf () ] .", ["EquivalentClasses(A Nothing)"]),
        (":A owl:equivalentClass [ owl:intersectionOf (:B) ] .", ["EquivalentClasses(A B)"]),
        (":A owl:disjointUnionOf (:B :C) .", ["DisjointUnion(A B C)"]),
        (":A owl:disjointWith :B .", ["DisjointClasses(A B)"]),
        ("[] a owl:AllDisjointClasses ; owl:members (:A :B :C) .", ["DisjointClasses(A B C)"]),
        ("[] a owl:AllDifferent ; owl:distinctMembers (:a :b) .", ["DifferentIndividuals(a b)"]),
        (
            ":p a owl:DatatypeProperty . [] a owl:AllDisjointProperties ; owl:members (:p :q) .",
            ["DisjointDataProperties(p q)"],
        ),
        (
            ":r owl:propertyChainAxiom (:s [ owl:inverseOf :t ]) .",
            ["SubObjectPropertyOf(ObjectPropertyChain(s ObjectInverseOf(t)) r)"],
        ),
        ("[ owl:inverseOf :r ] rdfs:subPropertyOf :s .", ["SubObjectPropertyOf(ObjectInverseOf(r) s)"]),
        (":r owl:inverseOf :s .", ["InverseObjectProperties(r s)"]),
        (
            ":r a owl:TransitiveProperty, owl:FunctionalProperty .",
            ["FunctionalObjectProperty(r)", "TransitiveObjectProperty(r)"],
        ),
        (
            ":p a owl:FunctionalProperty ; rdfs:range xsd:int .",
            ["DataPropertyRange(p int)", "FunctionalDataProperty(p)"],
        ),
        (":p rdfs:subPropertyOf :q . :q rdfs:range xsd:int .", ["DataPropertyRange(q int)", "SubDataPropertyOf(p q)"]),
        (":A owl:hasKey (:r :p) . :p a owl:DatatypeProperty .", ["HasKey(A (r) (p))"]),
        (
            ":A rdfs:subClassOf [ owl:onProperty :r ; owl:maxQualifiedCardinality 2 ; owl:onClass :B ] .",
            ["SubClassOf(A ObjectMaxCardinality(2 r B))"],
        ),
        (
            ":A rdfs:subClassOf [ owl:onProperty :p ; owl:qualifiedCardinality 1 ; owl:onDataRange xsd:int ] .",
            ["SubClassOf(A DataExactCardinality(1 p int))"],
        ),
        (
            ":A rdfs:subClassOf [ owl:onProperty :r ; owl:minQualifiedCardinality 1 ; owl:onClass owl:Thing ] .",
            ["SubClassOf(A ObjectMinCardinality(1 r))"],
        ),
        (":A rdfs:subClassOf [ owl:onProperty :r ; owl:hasSelf true ] .", ["SubClassOf(A ObjectHasSelf(r))"]),
        (":A rdfs:subClassOf [ owl:onProperty :r ; owl:hasValue :a ] .", ["SubClassOf(A ObjectHasValue(r a))"]),
        (':A rdfs:subClassOf [ owl:onProperty :p ; owl:hasValue "x" ] .', ['SubClassOf(A DataHasValue(p "x"))']),
        (
            ":A rdfs:subClassOf [ owl:onProperty :p ; owl:someValuesFrom"
            " [ a rdfs:Datatype ; owl:onDatatype xsd:int ; owl:withRestrictions ([ xsd:minInclusive 3 ]) ] ] .",
            ['SubClassOf(A DataSomeValuesFrom(p DatatypeRestriction(int minInclusive "3"^^integer)))'],
        ),
        (
            ":d a rdfs:Datatype ; owl:equivalentClass [ owl:oneOf (1 2) ] .",
            ['DatatypeDefinition(d DataOneOf("1"^^integer "2"^^integer))'],
        ),
        (
            ":d owl:equivalentClass [ a rdfs:Datatype ; owl:datatypeComplementOf xsd:int ] .",
            ["DatatypeDefinition(d DataComplementOf(int))"],
        ),
        (
            "[] a owl:NegativePropertyAssertion ;"
            " owl:sourceIndividual :a ; owl:assertionProperty :r ; owl:targetIndividual :b .",
            ["NegativeObjectPropertyAssertion(r a b)"],
        ),
        (
            "[] owl:sourceIndividual :a ; owl:assertionProperty :p ; owl:targetValue 3 .",
            ['NegativeDataPropertyAssertion(p a "3"^^integer)'],
        ),
        (":a owl:sameAs :b . :a owl:differentFrom :c .", ["DifferentIndividuals(a c)", "SameIndividual(a b)"]),
        (
            ':a a :A ; :r _:b ; :p "x" .',
            ["ClassAssertion(A a)", 'DataPropertyAssertion(p a "x")', "ObjectPropertyAssertion(r a _:x)"],
        ),
    ],
)
def test_a_graph_becomes_axioms(turtle: str, axioms: list[str]) -> None:
    ontology = read(turtle)
    assert shown(ontology) == axioms
    assert ontology.leftovers == ()


@pytest.mark.parametrize(
    "turtle",
    [
        ":A rdfs:subClassOf _:x . _:x owl:complementOf _:x .",
        ":A rdfs:subClassOf _:x . _:x owl:complementOf _:y . _:y owl:complementOf _:x .",
        ":A rdfs:subClassOf [ owl:unionOf _:l ] . _:l rdf:first :B ; rdf:rest _:l .",
        ":A rdfs:subClassOf [ owl:unionOf [ rdf:first :B ] ] .",
        ":A rdfs:subClassOf [ owl:unionOf [ rdf:first :B, :C ; rdf:rest () ] ] .",
        ":A rdfs:subClassOf [ owl:onProperty :r ] .",
        ":A rdfs:subClassOf [ owl:onProperty :r ; owl:someValuesFrom :B ; owl:allValuesFrom :C ] .",
        ":A rdfs:subClassOf [ owl:onProperty :r ; owl:minCardinality -1 ] .",
        ":A rdfs:subClassOf [ owl:onProperty :r ; owl:hasSelf false ] .",
        ":A rdfs:subClassOf _:nothing .",
        ":A rdfs:subClassOf xsd:string .",
        ":a owl:sameAs 3 .",
        "[] owl:sourceIndividual :a ; owl:assertionProperty :r .",
        ":r a owl:ObjectProperty . :a :r 3 .",
    ],
)
def test_what_makes_no_sense_is_left_over(turtle: str) -> None:
    ontology = read(turtle)
    declared = len(ontology.declarations)
    assert ontology.axioms == ()
    assert len(ontology.leftovers) == len(list(read_graph((PREFIXES + turtle).encode(), "turtle"))) - declared


def test_an_expression_that_fails_does_not_take_its_parts_along() -> None:
    ontology = read(":A rdfs:subClassOf [ owl:unionOf ([ owl:complementOf :B ] [ owl:onProperty :r ]) ] .")
    assert ontology.axioms == ()
    assert {triple[1] for triple in ontology.leftovers} >= {rdfs("subClassOf"), owl("unionOf"), rdf("first")}


def test_an_expression_may_be_shared() -> None:
    ontology = read(":A rdfs:subClassOf _:x . :B rdfs:subClassOf _:x . _:x owl:complementOf :C .")
    assert shown(ontology) == ["SubClassOf(A ObjectComplementOf(C))", "SubClassOf(B ObjectComplementOf(C))"]
    assert ontology.leftovers == ()


def test_an_expression_that_nobody_uses_says_nothing() -> None:
    ontology = read("[] a owl:Class ; owl:unionOf (:A [ owl:complementOf :B ]) .")
    assert ontology == Ontology()


def test_declarations_annotations_and_imports_are_kept_apart() -> None:
    ontology = read(
        ":o a owl:Ontology ; owl:imports :other ; :title 'An ontology' . :A a owl:Class ; rdfs:label 'a' ."
        "[] a owl:Axiom ; owl:annotatedSource :A ; owl:annotatedProperty rdfs:subClassOf ; owl:annotatedTarget :B ;"
        " rdfs:comment 'so it is' . :note a owl:AnnotationProperty . :A :note :B ."
    )
    assert ontology.axioms == ontology.leftovers == ()
    assert [declared.kind for declared in ontology.declarations] == ["Class", "AnnotationProperty"]
    assert ontology.imports == ("<http://example.org/other>",)
    assert len(ontology.annotations) == 9


def test_an_expression_too_deep_for_the_stack_is_left_over() -> None:
    chain = [(f"_:n{i}", owl("complementOf"), f"_:n{i + 1}") for i in range(5000)]
    graph = [("<A>", rdfs("subClassOf"), "_:n0"), *chain, ("_:n5000", owl("complementOf"), "<B>")]
    ontology = structure.read(graph)
    assert ontology.axioms == ()
    assert ("<A>", rdfs("subClassOf"), "_:n0") in ontology.leftovers


def test_long_lists_are_read() -> None:
    names = [f"<C{i}>" for i in range(20_000)]
    rest = [f"_:l{i}" for i in range(1, len(names))] + [rdf("nil")]
    cells = [
        triple
        for i, name in enumerate(names)
        for triple in ((f"_:l{i}", rdf("first"), name), (f"_:l{i}", rdf("rest"), rest[i]))
    ]
    ontology = structure.read([("_:d", RDF_TYPE, owl("AllDisjointClasses")), ("_:d", owl("members"), "_:l0"), *cells])
    assert ontology.axioms == (ax.DisjointClasses(tuple(names)),)
    assert ontology.leftovers == ()


nodes = st.sampled_from(["<a>", "<b>", "_:x", "_:y", "_:z", '"l"', rdf("nil"), THING])
words = st.sampled_from(
    [rdfs(name) for name in ("subClassOf", "range", "subPropertyOf")]
    + [owl(name) for name in ("onProperty", "someValuesFrom", "unionOf", "complementOf", "inverseOf", "members")]
    + [owl("minCardinality"), owl("onClass"), rdf("first"), rdf("rest"), RDF_TYPE, "<p>"]
)


@given(st.lists(st.tuples(nodes, words, st.one_of(nodes, st.just(owl("AllDisjointClasses")))), max_size=14))
def test_no_graph_is_too_strange_and_no_triple_is_lost(graph: list[Triple]) -> None:
    ontology = structure.read(graph)
    assert set(ontology.leftovers) <= set(graph)
    said = {term for axiom in ontology.axioms for term in ax.mentioned(axiom)}
    said |= {declared.name for declared in ontology.declarations}
    said |= {term for triple in (*ontology.annotations, *ontology.leftovers) for term in triple}
    # A lone expression says nothing, and an empty union is `owl:Nothing`; every other name is still there.
    lone = {s for s, p, o in graph if s[0] == "_" and p in (owl("onProperty"), owl("unionOf"), owl("complementOf"))}
    for subject, predicate, value in graph:
        if predicate == "<p>" or (predicate == rdfs("subClassOf") and not {subject, value} & lone):
            assert {subject, value} <= said


@needs_data
@pytest.mark.parametrize(
    ("name", "axioms"),
    [
        ("lubm/univ-bench.owl", 94),
        ("npd/npd-v2-ql.owl.gz", 4176),
        ("coror/beer.nt", 84),
        ("coror/koala.nt", 43),
        ("coror/mad_cows.nt", 94),
        ("coror/teams.nt", 25),
        ("iot/sosa.ttl", 20),
        ("iot/ssn.ttl", 97),
        ("iot/ssn-system.ttl", 55),
        ("classification/OWL2Primer.owl", 69),
        ("classification/koala.owl", 42),
    ],
)
def test_real_ontologies_are_understood(name: str, axioms: int) -> None:
    ontology = structure.read(triples_of(DATA / name))
    assert len(ontology.axioms) == axioms
    assert ontology.leftovers == ()


@needs_data
def test_the_classes_of_the_petroleum_directorate_are_where_they_belong() -> None:
    ontology = structure.read(triples_of(DATA / "npd" / "npd-v2-ql.owl.gz"))
    named = [axiom for axiom in ontology.axioms if isinstance(axiom, ax.SubClassOf) and isinstance(axiom.sub, str)]
    assert sum(isinstance(axiom.sup, str) for axiom in named) == 332
    closure = InclusionClosure(normal_form(ontology.axioms))
    pairs = {(sub, sup) for sub in closure.tbox.classes() for sup in closure.of(sub) if isinstance(sup, str)}
    expected = {(s, o) for s, _, o in triples_of(DATA / "npd" / "expected_subclass_pairs.nt.gz")}
    assert {(sub, sup) for sub, sup in pairs if sub != sup and sup != THING} == expected


# Their lists end in `rdf:` instead of `rdf:nil`.
MALFORMED = {"New-Feature-Rational-002/premise.rdf", "New-Feature-Rational-003/premise.rdf"}


@needs_data
def test_the_w3c_tests_are_understood() -> None:
    left = {
        f"{path.parent.name}/{path.name}"
        for path in sorted((DATA / "owl2").glob("*/*.rdf"))
        if structure.read(triples_of(path)).leftovers
    }
    assert left == MALFORMED


def comparable(ontology: Ontology) -> set[str]:
    """RDF says "the same" and "different" of two at a time, and in either order."""
    found = set()
    for axiom in ontology.axioms:
        if isinstance(axiom, ax.SameIndividual):
            found.add(f"SameIndividual {axiom.individuals[0]}")
        elif isinstance(axiom, ax.DifferentIndividuals):
            found.add(f"DifferentIndividuals {sorted(axiom.individuals)}")
        else:
            found.add(re.sub(r"_:\w+", "_:x", show(axiom)))
    return found


@needs_data
def test_functional_syntax_and_rdf_say_the_same() -> None:
    pytest.importorskip("pyhornedowl")
    compared = 0
    for path in sorted((DATA / "owl2").glob("*/*.ofn")):
        twin = path.with_suffix(".rdf")
        if not twin.exists() or f"{twin.parent.name}/{twin.name}" in MALFORMED:
            continue
        functional = comparable(syntaxes.read(path.read_text(encoding="utf-8"), "ofn", path.name))
        assert functional <= comparable(structure.read(triples_of(twin))), path
        compared += 1
    assert compared == 31
