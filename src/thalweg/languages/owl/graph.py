"""Axioms become an RDF graph: the "Mapping to RDF Graphs" of OWL 2, read from left to right.

    SubClassOf(<A> ObjectSomeValuesFrom(<r> <B>))

becomes

    <A> rdfs:subClassOf _:1 . _:1 a owl:Restriction ; owl:onProperty <r> ; owl:someValuesFrom <B> .

The profiles whose rules look at triples need an ontology so, in whatever syntax it was written. `structure` reads the
graph back; axioms about more than two things that RDF only says of two come back in pairs.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from thalweg.languages.owl import axioms as ax
from thalweg.languages.owl import expressions as ex
from thalweg.languages.owl.axioms import Axiom, Ontology
from thalweg.languages.owl.kinds import owl, rdf, rdfs
from thalweg.languages.owl.rdf_nodes import DATA_CARDINALITIES, OBJECT_CARDINALITIES, cardinality_word
from thalweg.languages.owl.structure import DECLARES, OBJECT_CHARACTERISTICS
from thalweg.languages.owl.swrl import DLSafeRule, write_rule
from thalweg.model.rdf import RDF_TYPE, XSD, blank, literal
from thalweg.model.vocabulary import Triple

_LIMITS: Final = {kind: limit for kinds in (OBJECT_CARDINALITIES, DATA_CARDINALITIES) for limit, kind in kinds.items()}
# Axioms that are one triple: the first part, this, the second part.
_TRIPLES: Final[dict[type, str]] = {
    ax.SubClassOf: rdfs("subClassOf"),
    ax.DatatypeDefinition: owl("equivalentClass"),
    ax.SubObjectPropertyOf: rdfs("subPropertyOf"),
    ax.SubDataPropertyOf: rdfs("subPropertyOf"),
    ax.InverseObjectProperties: owl("inverseOf"),
    ax.ObjectPropertyDomain: rdfs("domain"),
    ax.DataPropertyDomain: rdfs("domain"),
    ax.ObjectPropertyRange: rdfs("range"),
    ax.DataPropertyRange: rdfs("range"),
}
_CHAINED: Final[dict[type, str]] = {
    ax.EquivalentClasses: owl("equivalentClass"),
    ax.EquivalentObjectProperties: owl("equivalentProperty"),
    ax.EquivalentDataProperties: owl("equivalentProperty"),
    ax.SameIndividual: owl("sameAs"),
}
_APART: Final[dict[type, tuple[str, str]]] = {
    ax.DisjointClasses: (owl("disjointWith"), owl("AllDisjointClasses")),
    ax.DisjointObjectProperties: (owl("propertyDisjointWith"), owl("AllDisjointProperties")),
    ax.DisjointDataProperties: (owl("propertyDisjointWith"), owl("AllDisjointProperties")),
    ax.DifferentIndividuals: (owl("differentFrom"), owl("AllDifferent")),
}
_TYPES: Final[dict[type, str]] = {ax.FunctionalDataProperty: owl("FunctionalProperty")} | {
    kind: word for word, kind in OBJECT_CHARACTERISTICS.items()
}
# Of several words that declare the same, the first is OWL 2's.
_DECLARED: Final = {kind: word for word, kind in reversed(DECLARES.items())}


def triples(ontology: Ontology, scope: str = "", rules: Sequence[DLSafeRule] = ()) -> list[Triple]:
    """The graph of an ontology and its rules; `scope` distinguishes its blank nodes from those of others.

    >>> triples(Ontology((ax.DisjointClasses(("<A>", "<B>")),)))
    [('<A>', '<http://www.w3.org/2002/07/owl#disjointWith>', '<B>')]
    """
    writer = _Writer(scope)
    statements = [(declared.name, RDF_TYPE, _DECLARED[declared.kind]) for declared in ontology.declarations]
    if ontology.imports:
        header = writer.node()
        statements.append((header, RDF_TYPE, owl("Ontology")))
        statements += [(header, owl("imports"), imported) for imported in ontology.imports]
    for axiom in ontology.axioms:
        writer.write(axiom)
    for rule in rules:
        writer.written += write_rule(rule, writer.node, writer.term, writer.sequence)
    return [*statements, *writer.written, *ontology.annotations, *ontology.leftovers]


class _Writer:
    """Writes axioms, and the blank nodes that stand for their expressions."""

    def __init__(self, scope: str) -> None:
        self.scope = scope
        self.written: list[Triple] = []
        self.nodes = 0

    def node(self, *about: tuple[str, str]) -> str:
        """A new blank node, of which this is said."""
        self.nodes += 1
        # No label that a document may have starts so.
        node = blank(f" {self.nodes}", self.scope)
        self.written += [(node, predicate, value) for predicate, value in about]
        return node

    def sequence(self, parts: Sequence[object]) -> str:
        tail = rdf("nil")
        for part in reversed(parts):
            tail = self.node((rdf("first"), self.term(part)), (rdf("rest"), tail))
        return tail

    def term(self, part: object) -> str:
        """The term or node that an expression is in RDF."""
        match part:
            case str():
                return part
            case ex.ObjectClasses(members) | ex.ObjectOneOf(members) | ex.DataRanges(members) | ex.DataOneOf(members):
                return self.described(part, (_word(part), self.sequence(members)))
            case ex.ObjectQuantifier(name, value) | ex.DataQuantifier(name, value):
                return self.restriction(name, (_word(part), self.term(value)))
            case ex.ObjectHasValue(name, value) | ex.DataHasValue(name, value):
                return self.restriction(name, (_word(part), value))
            case ex.ObjectCardinality() | ex.DataCardinality():
                return self.cardinality(part)
            case ex.ObjectInverseOf(name):
                return self.node((owl("inverseOf"), name))
            case ex.ObjectComplementOf(negated):
                return self.described(part, (owl("complementOf"), self.term(negated)))
            case ex.ObjectHasSelf(name):
                return self.restriction(name, (owl("hasSelf"), literal("true", f"<{XSD}boolean>")))
            case ex.DataComplementOf(data_range):
                return self.described(part, (owl("datatypeComplementOf"), self.term(data_range)))
            case ex.DatatypeRestriction(datatype, facets):
                listed = self.sequence([self.node(facet) for facet in facets])
                return self.described(part, (owl("onDatatype"), datatype), (owl("withRestrictions"), listed))
        raise TypeError(f"{type(part).__name__} is not an expression")

    def described(self, part: object, *about: tuple[str, str]) -> str:
        kind = rdfs("Datatype") if type(part).__name__.startswith("Data") else owl("Class")
        return self.node((RDF_TYPE, kind), *about)

    def restriction(self, name: object, *about: tuple[str, str]) -> str:
        return self.node((RDF_TYPE, owl("Restriction")), (owl("onProperty"), self.term(name)), *about)

    def cardinality(self, part: ex.ObjectCardinality | ex.DataCardinality) -> str:
        number = literal(str(part.number), f"<{XSD}nonNegativeInteger>")
        about = (cardinality_word(_LIMITS[type(part)], part.filler is not None), number)
        if part.filler is None:
            return self.restriction(part.property, about)
        within = owl("onClass") if isinstance(part, ex.ObjectCardinality) else owl("onDataRange")
        return self.restriction(part.property, about, (within, self.term(part.filler)))

    def say(self, subject: object, predicate: str, value: object) -> None:
        self.written.append((self.term(subject), predicate, self.term(value)))

    def write(self, axiom: Axiom) -> None:
        kind = type(axiom)
        parts = ax.parts(axiom)
        if kind in _CHAINED:
            for first, second in pairwise(parts[0]):
                self.say(first, _CHAINED[kind], second)
        elif kind in _APART:
            self.apart(*_APART[kind], parts[0])
        elif kind in _TYPES:
            self.say(parts[0], RDF_TYPE, _TYPES[kind])
        elif kind in _TRIPLES and not isinstance(parts[0], ex.ObjectPropertyChain):
            self.say(parts[0], _TRIPLES[kind], parts[1])
        else:
            self.write_other(axiom)

    def apart(self, predicate: str, group: str, members: tuple[object, ...]) -> None:
        if len(members) == 2:
            self.say(members[0], predicate, members[1])
        else:
            self.node((RDF_TYPE, group), (owl("members"), self.sequence(members)))

    def write_other(self, axiom: Axiom) -> None:
        match axiom:
            case ax.SubObjectPropertyOf(ex.ObjectPropertyChain(steps), sup):
                self.say(sup, owl("propertyChainAxiom"), self.sequence(steps))
            case ax.DisjointUnion(name, classes):
                self.say(name, owl("disjointUnionOf"), self.sequence(classes))
            case ax.HasKey(of, object_properties, data_properties):
                self.say(of, owl("hasKey"), self.sequence([*object_properties, *data_properties]))
            case ax.ClassAssertion(of, individual):
                self.say(individual, RDF_TYPE, of)
            case ax.NegativeObjectPropertyAssertion() | ax.NegativeDataPropertyAssertion():
                self.negative(axiom)
            case ax.PropertyAssertion(ex.ObjectInverseOf(name), subject, value):
                self.say(value, name, subject)
            case ax.PropertyAssertion(str(name), subject, value):
                self.say(subject, name, value)

    def negative(self, axiom: ax.PropertyAssertion) -> None:
        target = owl("targetIndividual" if isinstance(axiom, ax.NegativeObjectPropertyAssertion) else "targetValue")
        self.node(
            (RDF_TYPE, owl("NegativePropertyAssertion")),
            (owl("sourceIndividual"), axiom.subject),
            (owl("assertionProperty"), self.term(axiom.property)),
            (target, axiom.value),
        )


def _word(part: object) -> str:
    """The word for an expression that RDF names alike for objects and literals: `ObjectUnionOf` is `owl:unionOf`."""
    word = type(part).__name__.removeprefix("Object").removeprefix("Data")
    return owl(word[0].lower() + word[1:])
