"""Functional syntax, Manchester syntax and OWL/XML say the same; what is wrong with a text is said with its place."""

import sys
from pathlib import Path

import pytest

from thalweg.diagnostics import RejectedError
from thalweg.languages.owl import graph, structure, syntaxes
from thalweg.languages.owl.axioms import DataPropertyDomain, show
from thalweg.languages.owl.swrl_rules import rule_text

pytest.importorskip("pyhornedowl")

DATA = Path(__file__).parents[5] / "shared" / "data" / "owl2"

FUNCTIONAL = """Prefix(:=<http://example.org/>)
Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>)
Ontology(<http://example.org/onto>
  Import(<http://example.org/other>)
  Declaration(Class(:A))
  Declaration(ObjectProperty(:r))
  Declaration(DataProperty(:p))
  Declaration(AnnotationProperty(:note))
  SubClassOf(:A ObjectSomeValuesFrom(ObjectInverseOf(:r) :B))
  SubClassOf(:A ObjectMaxCardinality(1 :r))
  SubClassOf(:A DataSomeValuesFrom(:p DatatypeRestriction(xsd:integer xsd:minInclusive "3"^^xsd:integer)))
  DisjointClasses(:A :B :C)
  SubObjectPropertyOf(ObjectPropertyChain(:r :s) :r)
  HasKey(:A (:r) (:p))
  DataPropertyAssertion(:p :a "chat"@FR)
  NegativeObjectPropertyAssertion(:r :a _:b)
  AnnotationAssertion(:note :A "x")
)"""

MANCHESTER = """Prefix: : <http://example.org/>
Prefix: xsd: <http://www.w3.org/2001/XMLSchema#>
Ontology: <http://example.org/onto>
Import: <http://example.org/other>
AnnotationProperty: note
Class: A
  Annotations: note "x"
  SubClassOf: inverse r some B, r max 1, p some xsd:integer[>= 3]
  HasKey: r, p
Class: B
Class: C
ObjectProperty: r
  SubPropertyChain: r o s
ObjectProperty: s
DataProperty: p
Individual: a
  Facts: p "chat"@fr, not r _:b
DisjointClasses: A, B, C
"""

AXIOMS = [
    'DataPropertyAssertion(p a "chat"@fr)',
    "DisjointClasses(A B C)",
    "HasKey(A (r) (p))",
    "NegativeObjectPropertyAssertion(r a _:doc_0_b)",
    'SubClassOf(A DataSomeValuesFrom(p DatatypeRestriction(integer minInclusive "3"^^integer)))',
    "SubClassOf(A ObjectMaxCardinality(1 r))",
    "SubClassOf(A ObjectSomeValuesFrom(ObjectInverseOf(r) B))",
    "SubObjectPropertyOf(ObjectPropertyChain(r s) r)",
]


def short(text: str) -> str:
    for namespace in ("http://example.org/", "http://www.w3.org/2001/XMLSchema#"):
        text = text.replace(f"<{namespace}", "")
    return text.replace(">", "")


@pytest.mark.parametrize(("text", "syntax"), [(FUNCTIONAL, "ofn"), (MANCHESTER, "omn")])
def test_a_text_becomes_axioms(text: str, syntax: str) -> None:
    ontology = syntaxes.read(text, syntax, scope="doc")
    assert sorted(short(show(axiom)) for axiom in ontology.axioms) == AXIOMS
    assert ontology.imports == ("<http://example.org/other>",)
    assert ontology.annotations == (("<http://example.org/A>", "<http://example.org/note>", "x"),)
    assert {short(show(declared)) for declared in ontology.declarations} >= {
        "Declaration(Class(A))",
        "Declaration(ObjectProperty(r))",
        "Declaration(DataProperty(p))",
    }


OWL_XML = """<?xml version="1.0"?>
<Ontology xmlns="http://www.w3.org/2002/07/owl#" ontologyIRI="http://example.org/onto">
  <Prefix name="" IRI="http://example.org/"/>
  <SubClassOf>
    <Class IRI="http://example.org/A"/>
    <ObjectSomeValuesFrom>
      <ObjectProperty IRI="http://example.org/r"/>
      <Class IRI="http://example.org/B"/>
    </ObjectSomeValuesFrom>
  </SubClassOf>
</Ontology>
"""


def test_owl_xml_becomes_axioms() -> None:
    assert [short(show(axiom)) for axiom in syntaxes.read(OWL_XML, "owx").axioms] == [
        "SubClassOf(A ObjectSomeValuesFrom(r B))"
    ]


def test_axioms_come_in_the_same_order_every_time() -> None:
    assert syntaxes.read(FUNCTIONAL, "ofn") == syntaxes.read(FUNCTIONAL, "ofn")


def test_rules_are_read_beside_the_ontology() -> None:
    rule = "DLSafeRule(Body(ClassAtom(:A Variable(:x))) Head(ClassAtom(:B Variable(:x))))"
    ontology, rules = syntaxes.read_with_rules(f"Prefix(:=<http://example.org/>) Ontology({rule})", "ofn", "x.ofn")
    assert ontology.axioms == ()
    assert [rule_text(found).replace("<http://example.org/", ":").replace(">", "") for found in rules] == [rule]


@pytest.mark.parametrize(
    ("text", "syntax", "place"),
    [
        (FUNCTIONAL.replace("DisjointClasses(", "Disjoint("), "ofn", (12, 3)),
        (FUNCTIONAL.replace(":a _:b", ":a é:b"), "ofn", (16, 41)),
        (MANCHESTER.replace("some B", "sume B"), "omn", (8, 25)),
    ],
)
def test_wrong_syntax_is_rejected_with_its_place(text: str, syntax: str, place: tuple[int, int]) -> None:
    with pytest.raises(RejectedError) as rejected:
        syntaxes.read(text, syntax, "onto.ofn")
    (found,) = rejected.value.diagnostics
    assert found.code == "E101"
    assert found.span.source.name == "onto.ofn"
    assert found.span.source.position(found.span.start) == place
    assert "robot convert" in found.help


def test_wrong_xml_is_rejected() -> None:
    with pytest.raises(RejectedError, match=r"onto\.owx"):
        syntaxes.read(OWL_XML.replace("</SubClassOf>", ""), "owx", "onto.owx")


def test_without_the_library_there_is_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyhornedowl", None)
    with pytest.raises(RejectedError) as rejected:
        syntaxes.read(FUNCTIONAL, "ofn", "onto.ofn")
    (found,) = rejected.value.diagnostics
    assert found.code == "E406"
    assert "thalweg[owl]" in found.help


@pytest.mark.skipif(not DATA.exists(), reason="no test data here")
def test_the_w3c_tests_in_functional_syntax_are_read() -> None:
    read = [syntaxes.read(path.read_text(encoding="utf-8"), "ofn") for path in sorted(DATA.glob("*/*.ofn"))]
    assert len(read) == 48
    assert all(ontology.axioms or ontology.declarations for ontology in read)


def with_entities(declarations, iri):
    return (
        f'<?xml version="1.0"?>\n<!DOCTYPE Ontology [{declarations}]>\n'
        '<Ontology xmlns="http://www.w3.org/2002/07/owl#" xml:base="http://example.org/">'
        f'<Declaration><Class IRI="{iri}"/></Declaration></Ontology>'
    )


def test_owl_xml_may_use_entities_for_namespaces():
    found = syntaxes.read(with_entities('<!ENTITY ex "http://example.org/"><!ENTITY a "&ex;a">', "&a;#B"), "owx")
    assert [show(one) for one in found.declarations] == ["Declaration(Class(<http://example.org/a#B>))"]


def test_owl_xml_with_a_flood_of_entities_is_refused():
    flood = '<!ENTITY a0 "lol">' + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    for declarations in (flood, '<!ENTITY a9 SYSTEM "file:///etc/passwd">'):
        with pytest.raises(RejectedError) as error:
            syntaxes.read(with_entities(declarations, "&a9;"), "owx", "onto.owx")
        assert [(one.code, one.as_data()["line"]) for one in error.value.diagnostics] == [("E305", 2)]


PREFIX = "Prefix(:=<http://example.org/>) Ontology("


@pytest.mark.parametrize(
    ("text", "syntax"),
    [
        (f"{PREFIX}SubClassOf(:A {'ObjectComplementOf(' * 20_000}:B{')' * 20_000}))", "ofn"),
        (f"Prefix: : <http://a/>\nClass: :A\n SubClassOf: {'(' * 20_000}:B{')' * 20_000}", "omn"),
        (f"Prefix: : <http://a/>\nClass: :A\n SubClassOf: {':p some ' * 20_000}:B", "omn"),
        (f"<Ontology>{'<ObjectComplementOf>' * 20_000}{'</ObjectComplementOf>' * 20_000}</Ontology>", "owx"),
    ],
)
def test_nesting_has_an_end(text: str, syntax: str) -> None:
    with pytest.raises(RejectedError) as rejected:
        syntaxes.read(text, syntax)
    assert [found.code for found in rejected.value.diagnostics] == ["E302"]


def test_the_place_of_what_is_nested_is_counted_in_characters() -> None:
    text = f"<Ontology><!-- {'ä' * 500} -->{'<a>' * 300}{'</a>' * 300}</Ontology>"
    with pytest.raises(RejectedError) as rejected:
        syntaxes.read(text, "owx")
    span = rejected.value.diagnostics[0].span
    assert text[span.start : span.start + 3] == "<a>"


def test_many_expressions_beside_each_other_are_not_nested() -> None:
    union = " or ".join([":p some (:q only :B)"] * 300)
    text = f"Prefix: : <http://a/>\nOntology: <http://a/o>\nClass: :A\n  SubClassOf: {union}"
    assert len(syntaxes.read(text, "omn").axioms) == 1


def test_brackets_in_texts_and_comments_are_not_nested() -> None:
    notes = "\n".join(['AnnotationAssertion(:n :A ":(") # :('] * 300)
    assert len(syntaxes.read(f"{PREFIX}{notes}\n)", "ofn").annotations) == 1


def test_an_element_without_end_is_told() -> None:
    """The library would wait for it for ever."""
    text = '<Ontology xmlns="http://www.w3.org/2002/07/owl#">\n<Annotation><Literal>3'
    with pytest.raises(RejectedError, match="not XML: ") as rejected:
        syntaxes.read(text, "owx")
    (found,) = rejected.value.diagnostics
    assert found.span.source.position(found.span.start)[0] == 2


def test_a_panic_of_the_library_is_told() -> None:
    with pytest.raises(RejectedError, match="E101"):
        syntaxes.read(f"{PREFIX}SubClassOf(:A DataMinCardinality(99999999999999 :d)))", "ofn")


def test_data_properties_need_no_declaration() -> None:
    ontology = "Prefix(:=<http://ex.org/>) Ontology(DataPropertyDomain(:v :A) FunctionalDataProperty(:v) {})"
    used = ("", "Declaration(DataProperty(:v))", "Declaration(AnnotationProperty(:v))", "FunctionalObjectProperty(:v)")
    read_again = [structure.read(graph.triples(syntaxes.read(ontology.format(more), "ofn"))) for more in used]
    domains = [[axiom for axiom in found.axioms if isinstance(axiom, DataPropertyDomain)] for found in read_again]
    assert domains == [[DataPropertyDomain("<http://ex.org/v>", "<http://ex.org/A>")]] * 2 + [[], []]
