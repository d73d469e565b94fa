"""An RDF graph becomes axioms: the "Mapping to RDF Graphs" of OWL 2, read from right to left.

    :A rdfs:subClassOf _:x .                                  SubClassOf(<A>
    _:x a owl:Restriction ; owl:onProperty :r .      becomes      ObjectSomeValuesFrom(<r>
    _:x owl:someValuesFrom :B .                                       <B>))

Each triple that can open an axiom is tried. An attempt takes the triples of all nodes that it needs, and gives them
back when one of them makes no sense: a list without an end, a restriction on nothing, an expression inside itself.
What no attempt has taken is left over, and handed back. Real graphs lack declarations and are often written in
OWL 1, so names are guessed from their use (see `kinds`), and `:A owl:unionOf (…)` is read as an equivalence.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, TypeVar

from thalweg.languages.owl import axioms as ax
from thalweg.languages.owl.axioms import Axiom, Declaration, Ontology
from thalweg.languages.owl.expressions import ObjectPropertyChain
from thalweg.languages.owl.kinds import ANNOTATION, DATA, FACETS, OBJECT, Kinds, is_reserved, owl, rdf, rdfs
from thalweg.languages.owl.rdf_nodes import CLASS_CONSTRUCTORS, NODE_TYPES, MisreadError, Nodes
from thalweg.model.rdf import RDF_TYPE
from thalweg.model.term import is_literal
from thalweg.model.vocabulary import Triple

T = TypeVar("T")

_IMPORTS: Final = owl("imports")
_REIFIED: Final = frozenset({owl("Axiom"), owl("Annotation")})
DECLARES: Final = {
    owl("Class"): "Class",
    rdfs("Class"): "Class",
    owl("Restriction"): "Class",
    rdfs("Datatype"): "Datatype",
    owl("DataRange"): "Datatype",
    owl("ObjectProperty"): OBJECT,
    owl("DatatypeProperty"): DATA,
    owl("AnnotationProperty"): ANNOTATION,
    owl("OntologyProperty"): ANNOTATION,
    owl("NamedIndividual"): "NamedIndividual",
}
OBJECT_CHARACTERISTICS: Final[dict[str, type[ax.Characteristic]]] = {
    owl("FunctionalProperty"): ax.FunctionalObjectProperty,
    owl("InverseFunctionalProperty"): ax.InverseFunctionalObjectProperty,
    owl("ReflexiveProperty"): ax.ReflexiveObjectProperty,
    owl("IrreflexiveProperty"): ax.IrreflexiveObjectProperty,
    owl("SymmetricProperty"): ax.SymmetricObjectProperty,
    owl("AsymmetricProperty"): ax.AsymmetricObjectProperty,
    owl("TransitiveProperty"): ax.TransitiveObjectProperty,
}
_DEPRECATED: Final = frozenset({owl("DeprecatedClass"), owl("DeprecatedProperty")})


def read(triples: Iterable[Triple]) -> Ontology:
    """The ontology that a graph stands for.

    >>> graph = [("<A>", rdfs("subClassOf"), "<B>"), ("<A>", rdfs("subClassOf"), "_:lost")]
    >>> ontology = read(graph)
    >>> print(*map(ax.show, ontology.axioms), ontology.leftovers == (graph[1],))
    SubClassOf(<A> <B>) True
    """
    return _Reader(list(dict.fromkeys(triples))).ontology()


class _Reader:
    """One graph while it is read: what has been understood so far, and which triples said so."""

    def __init__(self, triples: list[Triple]) -> None:
        self.triples = triples
        self.kinds = Kinds(triples)
        self.nodes = Nodes(triples, self.kinds)
        self.axioms: list[Axiom] = []
        self.declarations: list[Declaration] = []
        self.annotations: list[Triple] = []
        self.imports: list[str] = []
        self.openers: dict[str, Callable[[str, str], Axiom]] = {
            rdfs("subClassOf"): self.sub_class,
            owl("equivalentClass"): self.equivalent_class,
            owl("disjointWith"): lambda s, o: ax.DisjointClasses((self.nodes.class_(s), self.nodes.class_(o))),
            owl("disjointUnionOf"): self.disjoint_union,
            owl("hasKey"): self.has_key,
            rdfs("subPropertyOf"): self.sub_property,
            owl("propertyChainAxiom"): self.chain,
            owl("equivalentProperty"): lambda s, o: self.equivalent_properties((s, o)),
            owl("propertyDisjointWith"): lambda s, o: self.disjoint_properties((s, o)),
            owl("inverseOf"): lambda s, o: ax.InverseObjectProperties(self.nodes.property(s), self.nodes.property(o)),
            rdfs("domain"): self.domain,
            rdfs("range"): self.range,
            owl("sameAs"): lambda s, o: ax.SameIndividual(self.individuals((s, o))),
            owl("differentFrom"): lambda s, o: ax.DifferentIndividuals(self.individuals((s, o))),
            owl("assertionProperty"): self.negative_assertion,
        }
        self.openers |= {name: partial(self.named_combination, name) for name in CLASS_CONSTRUCTORS}
        self.openers[owl("onProperty")] = self.named_restriction
        self.groups: dict[str, Callable[[tuple[str, ...]], Axiom]] = {
            owl("AllDisjointClasses"): lambda nodes: ax.DisjointClasses(tuple(map(self.nodes.class_, nodes))),
            owl("AllDisjointProperties"): self.disjoint_properties,
            owl("AllDifferent"): lambda nodes: ax.DifferentIndividuals(self.individuals(nodes)),
        }

    def ontology(self) -> Ontology:
        headers = {node for node, types in self.kinds.types.items() if owl("Ontology") in types}
        reified = {node for node, types in self.kinds.types.items() if not types.isdisjoint(_REIFIED)}
        for triple in self.triples:
            if triple[0] in headers and triple[1] == _IMPORTS:
                self.note(triple, self.imports, triple[2])
            elif triple[0] in headers or triple[0] in reified:
                self.note(triple, self.annotations, triple)
            elif triple[1] == RDF_TYPE:
                self.read_type(triple)
            else:
                self.read_statement(triple)
        self.nodes.take_orphans()
        leftovers = tuple(triple for triple in self.triples if triple not in self.nodes.taken)
        parts = (tuple(self.axioms), tuple(self.declarations), tuple(self.annotations), tuple(self.imports))
        return Ontology(*parts, leftovers)

    def note(self, triple: Triple, where: list[T], what: T) -> None:
        """Takes a triple that needs no other."""
        self.nodes.taken.add(triple)
        where.append(what)

    def attempt(self, triple: Triple, build: Callable[[], Axiom]) -> None:
        """Takes a triple and all that its axiom needs, or none of it."""
        axiom = self.nodes.attempt(triple, build)
        if axiom is not None:
            self.axioms.append(axiom)

    def read_type(self, triple: Triple) -> None:
        subject, _, kind = triple
        if kind in self.groups:
            self.attempt(triple, lambda: self.groups[kind](self.nodes.members(subject)))
        elif kind in OBJECT_CHARACTERISTICS:
            self.attempt(triple, lambda: self.characteristic(subject, kind))
        elif subject[0] == "_" and kind in NODE_TYPES:
            # It is a part of something: the axiom that needs it takes the triple.
            return
        elif kind in DECLARES:
            self.note(triple, self.declarations, Declaration(DECLARES[kind], subject))
        elif kind == rdf("Property"):
            self.note(triple, self.declarations, Declaration(min(self.kinds.of(subject)), subject))
        elif kind in _DEPRECATED:
            self.note(triple, self.annotations, triple)
        elif not is_reserved(kind):
            self.attempt(triple, lambda: ax.ClassAssertion(self.nodes.class_(kind), subject))

    def read_statement(self, triple: Triple) -> None:
        subject, predicate, value = triple
        opener = self.openers.get(predicate)
        if opener is not None:
            if predicate in _BETWEEN_PROPERTIES and self.is_about_annotations(triple):
                self.note(triple, self.annotations, triple)
            elif not (subject[0] == "_" and predicate in _MADE_OF_PARTS):
                self.attempt(triple, lambda: opener(subject, value))
        elif self.kinds.is_annotation(predicate):
            self.note(triple, self.annotations, triple)
        elif not is_reserved(predicate) and not predicate.startswith(FACETS):
            self.attempt(triple, lambda: self.assertion(triple))

    def is_about_annotations(self, triple: Triple) -> bool:
        subject, predicate, value = triple
        about = (subject, value) if predicate == rdfs("subPropertyOf") else (subject,)
        return any(map(self.kinds.is_annotation, about))

    def sub_class(self, subject: str, value: str) -> Axiom:
        return ax.SubClassOf(self.nodes.class_(subject), self.nodes.class_(value))

    def equivalent_class(self, subject: str, value: str) -> Axiom:
        if self.kinds.is_range(subject) or self.kinds.is_range(value):
            return ax.DatatypeDefinition(self.nodes.name(subject), self.nodes.range(value))
        return ax.EquivalentClasses((self.nodes.class_(subject), self.nodes.class_(value)))

    def disjoint_union(self, subject: str, value: str) -> Axiom:
        return ax.DisjointUnion(self.nodes.name(subject), tuple(map(self.nodes.class_, self.nodes.sequence(value))))

    def named_combination(self, constructor: str, subject: str, value: str) -> Axiom:
        """OWL 1 writes `:A owl:unionOf (…)` for an equivalence; a class may be described so more than once."""
        if self.kinds.is_range(subject):
            return ax.DatatypeDefinition(subject, self.nodes.combined_range(constructor, value))
        return ax.EquivalentClasses((subject, self.nodes.combined_class(constructor, value)))

    def named_restriction(self, subject: str, _: str) -> Axiom:
        return ax.EquivalentClasses((subject, self.nodes.built_class(subject)))

    def has_key(self, subject: str, value: str) -> Axiom:
        properties = self.nodes.sequence(value)
        data = tuple(self.nodes.name(node) for node in properties if self.kinds.is_data(node))
        objects = tuple(self.nodes.property(node) for node in properties if not self.kinds.is_data(node))
        return ax.HasKey(self.nodes.class_(subject), objects, data)

    def sub_property(self, subject: str, value: str) -> Axiom:
        if self.are_data((subject, value)):
            return ax.SubDataPropertyOf(self.nodes.name(subject), self.nodes.name(value))
        return ax.SubObjectPropertyOf(self.nodes.property(subject), self.nodes.property(value))

    def chain(self, subject: str, value: str) -> Axiom:
        steps = tuple(map(self.nodes.property, self.nodes.sequence(value)))
        if not steps:
            raise MisreadError
        return ax.SubObjectPropertyOf(ObjectPropertyChain(steps), self.nodes.property(subject))

    def equivalent_properties(self, nodes: tuple[str, ...]) -> Axiom:
        if self.are_data(nodes):
            return ax.EquivalentDataProperties(tuple(map(self.nodes.name, nodes)))
        return ax.EquivalentObjectProperties(tuple(map(self.nodes.property, nodes)))

    def disjoint_properties(self, nodes: tuple[str, ...]) -> Axiom:
        if self.are_data(nodes):
            return ax.DisjointDataProperties(tuple(map(self.nodes.name, nodes)))
        return ax.DisjointObjectProperties(tuple(map(self.nodes.property, nodes)))

    def are_data(self, nodes: tuple[str, ...]) -> bool:
        return any(map(self.kinds.is_data, nodes))

    def domain(self, subject: str, value: str) -> Axiom:
        if self.kinds.is_data(subject):
            return ax.DataPropertyDomain(self.nodes.name(subject), self.nodes.class_(value))
        return ax.ObjectPropertyDomain(self.nodes.property(subject), self.nodes.class_(value))

    def range(self, subject: str, value: str) -> Axiom:
        if self.nodes.has_data(subject, value):
            return ax.DataPropertyRange(self.nodes.name(subject), self.nodes.range(value))
        return ax.ObjectPropertyRange(self.nodes.property(subject), self.nodes.class_(value))

    def characteristic(self, subject: str, kind: str) -> Axiom:
        if kind == owl("FunctionalProperty") and self.kinds.is_data(subject):
            return ax.FunctionalDataProperty(self.nodes.name(subject))
        return OBJECT_CHARACTERISTICS[kind](self.nodes.property(subject))

    def individuals(self, nodes: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(self.nodes.individual, nodes))

    def assertion(self, triple: Triple) -> Axiom:
        subject, predicate, value = triple
        kinds = self.kinds.of(predicate)
        if is_literal(value):
            if DATA not in kinds:
                raise MisreadError
            return ax.DataPropertyAssertion(predicate, subject, value)
        if OBJECT not in kinds:
            raise MisreadError
        return ax.ObjectPropertyAssertion(predicate, subject, self.nodes.individual(value))

    def negative_assertion(self, subject: str, predicate: str) -> Axiom:
        self.nodes.take_types(subject)
        source = self.nodes.individual(self.nodes.only(subject, owl("sourceIndividual")))
        if self.nodes.has(subject, owl("targetValue")):
            value = self.nodes.only(subject, owl("targetValue"))
            return ax.NegativeDataPropertyAssertion(self.nodes.name(predicate), source, value)
        target = self.nodes.individual(self.nodes.only(subject, owl("targetIndividual")))
        return ax.NegativeObjectPropertyAssertion(self.nodes.property(predicate), source, target)


_BETWEEN_PROPERTIES: Final = frozenset({rdfs("subPropertyOf"), rdfs("domain"), rdfs("range")})
# On a blank node these make an expression, not an axiom.
_MADE_OF_PARTS: Final = frozenset({*CLASS_CONSTRUCTORS, owl("onProperty"), owl("inverseOf")})
