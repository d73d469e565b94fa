"""Axioms become RDF and come back from it."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from thalweg.languages.owl import axioms as ax
from thalweg.languages.owl import expressions as ex
from thalweg.languages.owl import structure
from thalweg.languages.owl.axioms import Axiom, Declaration, Ontology, show
from thalweg.languages.owl.graph import triples
from thalweg.languages.owl.kinds import owl
from thalweg.model.rdf import RDF_TYPE, XSD

DECLARED = tuple(
    [Declaration("Class", name) for name in ("<A>", "<B>", "<C>")]
    + [Declaration("ObjectProperty", name) for name in ("<r>", "<s>")]
    + [Declaration("DataProperty", name) for name in ("<p>", "<q>")]
    + [Declaration("Datatype", "<d>")]
)

names = st.sampled_from(("<A>", "<B>", "<C>"))
individuals = st.sampled_from(("<a>", "<b>", "_:b"))
literals = st.sampled_from(("1", "2.5", "x", '"chat"@fr', f'"true"^^<{XSD}boolean>'))
properties = st.one_of(st.sampled_from(("<r>", "<s>")), st.builds(ex.ObjectInverseOf, st.sampled_from(("<r>", "<s>"))))
data_properties = st.sampled_from(("<p>", "<q>"))
numbers = st.integers(0, 3)


def several(of: st.SearchStrategy[object], least: int = 2) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(of, min_size=least, max_size=4, unique_by=show).map(tuple)


def larger_ranges(inner: st.SearchStrategy[ex.DataRange]) -> st.SearchStrategy[ex.DataRange]:
    return st.one_of(
        st.builds(ex.DataIntersectionOf, several(inner)),
        st.builds(ex.DataUnionOf, several(inner)),
        st.builds(ex.DataComplementOf, inner),
    )


facets = st.tuples(st.sampled_from((f"<{XSD}minInclusive>", f"<{XSD}maxExclusive>")), st.sampled_from(("1", "2")))
ranges = st.recursive(
    st.one_of(
        st.sampled_from((f"<{XSD}int>", f"<{XSD}string>", "<d>")),
        st.builds(ex.DataOneOf, several(literals, 1)),
        st.builds(ex.DatatypeRestriction, st.just(f"<{XSD}int>"), st.lists(facets, min_size=1, max_size=2).map(tuple)),
    ),
    larger_ranges,
    max_leaves=4,
)


def larger_classes(inner: st.SearchStrategy[ex.ClassExpression]) -> st.SearchStrategy[ex.ClassExpression]:
    quantifiers: tuple[Callable[..., ex.ClassExpression], ...] = (ex.ObjectSomeValuesFrom, ex.ObjectAllValuesFrom)
    return st.one_of(
        st.builds(ex.ObjectIntersectionOf, several(inner)),
        st.builds(ex.ObjectUnionOf, several(inner)),
        st.builds(ex.ObjectComplementOf, inner),
        *(st.builds(kind, properties, inner) for kind in quantifiers),
        st.builds(ex.ObjectMinCardinality, numbers, properties, st.none() | inner),
        st.builds(ex.ObjectMaxCardinality, numbers, properties, st.none() | inner),
        st.builds(ex.ObjectExactCardinality, numbers, properties, st.none() | inner),
    )


classes = st.recursive(
    st.one_of(
        names,
        st.builds(ex.ObjectOneOf, several(individuals, 1)),
        st.builds(ex.ObjectHasValue, properties, individuals),
        st.builds(ex.ObjectHasSelf, properties),
        st.builds(ex.DataSomeValuesFrom, data_properties, ranges),
        st.builds(ex.DataAllValuesFrom, data_properties, ranges),
        st.builds(ex.DataHasValue, data_properties, literals),
        st.builds(ex.DataMaxCardinality, numbers, data_properties, st.none() | ranges),
    ),
    larger_classes,
    max_leaves=5,
)
characteristics = (
    *(ax.FunctionalObjectProperty, ax.InverseFunctionalObjectProperty, ax.ReflexiveObjectProperty),
    *(ax.IrreflexiveObjectProperty, ax.SymmetricObjectProperty, ax.AsymmetricObjectProperty),
    ax.TransitiveObjectProperty,
)
every_axiom: st.SearchStrategy[Axiom] = st.one_of(
    st.builds(ax.SubClassOf, classes, classes),
    st.tuples(classes, classes).map(ax.EquivalentClasses),
    st.builds(ax.DisjointClasses, several(classes)),
    st.builds(ax.DisjointUnion, names, several(classes)),
    st.builds(ax.HasKey, classes, several(properties, 1), several(data_properties, 0)),
    st.builds(ax.DatatypeDefinition, st.just("<d>"), ranges),
    st.builds(ax.SubObjectPropertyOf, properties, properties),
    st.builds(ax.SubObjectPropertyOf, st.builds(ex.ObjectPropertyChain, several(properties)), properties),
    st.builds(ax.SubDataPropertyOf, data_properties, data_properties),
    st.tuples(properties, properties).map(ax.EquivalentObjectProperties),
    st.builds(ax.DisjointObjectProperties, several(properties)),
    st.builds(ax.DisjointDataProperties, several(data_properties)),
    st.builds(ax.InverseObjectProperties, st.just("<r>"), properties),
    st.builds(ax.ObjectPropertyDomain, properties, classes),
    st.builds(ax.ObjectPropertyRange, properties, classes),
    st.builds(ax.DataPropertyDomain, data_properties, classes),
    st.builds(ax.DataPropertyRange, data_properties, ranges),
    *(st.builds(kind, properties) for kind in characteristics),
    st.builds(ax.FunctionalDataProperty, data_properties),
    st.tuples(individuals, individuals).map(ax.SameIndividual),
    st.builds(ax.DifferentIndividuals, several(individuals)),
    st.builds(ax.ClassAssertion, classes, individuals),
    st.builds(ax.ObjectPropertyAssertion, st.just("<r>"), individuals, individuals),
    st.builds(ax.DataPropertyAssertion, data_properties, individuals, literals),
    st.builds(ax.NegativeObjectPropertyAssertion, properties, individuals, individuals),
    st.builds(ax.NegativeDataPropertyAssertion, data_properties, individuals, literals),
)


@given(st.lists(every_axiom, max_size=6, unique_by=show))
def test_what_is_written_is_read_again(axioms: list[Axiom]) -> None:
    ontology = Ontology(tuple(axioms), DECLARED)
    again = structure.read(triples(ontology))
    assert set(again.axioms) == set(axioms)
    assert again.leftovers == ()
    assert set(again.declarations) >= set(DECLARED)


def test_three_disjoint_classes_are_pairwise_disjoint() -> None:
    graph = triples(Ontology((ax.DisjointClasses(("<A>", "<B>", "<C>")),)))
    assert RDF_TYPE in {predicate for _, predicate, value in graph if value == owl("AllDisjointClasses")}


def test_what_was_kept_apart_is_written_too() -> None:
    note = ("<A>", "<note>", "x")
    lost = ("<A>", "<lost>", '"y"')
    graph = triples(Ontology(annotations=(note,), imports=("<other>",), leftovers=(lost,)))
    assert {note, lost} <= set(graph)
    assert [value for _, predicate, value in graph if predicate == owl("imports")] == ["<other>"]


def test_nodes_of_two_scopes_differ() -> None:
    ontology = Ontology((ax.SubClassOf("<A>", ex.ObjectComplementOf("<B>")),))
    first, second = triples(ontology, "one"), triples(ontology, "two")
    assert {node for node, _, _ in first if node[0] == "_"}.isdisjoint(node for node, _, _ in second)
