"""The structural specification of OWL 2: what an ontology says, apart from how it was written.

    :A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :r ; owl:someValuesFrom :B ]

becomes

    SubClassOf("<A>", ObjectSomeValuesFrom("<r>", "<B>"))

which prints as `SubClassOf(<A> ObjectSomeValuesFrom(<r> <B>))`. Axioms, like the expressions in them, come in families
of the same fields, which stand in the order of the functional syntax.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from thalweg.languages.owl.expressions import ClassExpression, DataRange, ObjectProperty, ObjectPropertyChain
from thalweg.model.rdf import as_ntriples
from thalweg.model.term import is_literal
from thalweg.model.vocabulary import Triple


class Axiom:
    """What an ontology states."""

    __slots__ = ()


# Axioms about classes


@dataclass(frozen=True, slots=True)
class SubClassOf(Axiom):
    """Whatever is in the first is in the second."""

    sub: ClassExpression
    sup: ClassExpression


@dataclass(frozen=True, slots=True)
class ClassesAxiom(Axiom):
    """Family: something about several classes."""

    classes: tuple[ClassExpression, ...]


class EquivalentClasses(ClassesAxiom):
    """All of them have the same members."""


class DisjointClasses(ClassesAxiom):
    """No two of them share a member."""


@dataclass(frozen=True, slots=True)
class DisjointUnion(Axiom):
    """The class is made up of the others, which share no member."""

    name: str
    classes: tuple[ClassExpression, ...]


@dataclass(frozen=True, slots=True)
class HasKey(Axiom):
    """Members of the class that agree on these properties are one individual."""

    of: ClassExpression
    object_properties: tuple[ObjectProperty, ...]
    data_properties: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DatatypeDefinition(Axiom):
    """The datatype is another name for the range."""

    datatype: str
    range: DataRange


# Axioms about properties


@dataclass(frozen=True, slots=True)
class SubObjectPropertyOf(Axiom):
    """What the first relates, the second relates."""

    sub: ObjectProperty | ObjectPropertyChain
    sup: ObjectProperty


@dataclass(frozen=True, slots=True)
class SubDataPropertyOf(Axiom):
    """What the first relates, the second relates."""

    sub: str
    sup: str


@dataclass(frozen=True, slots=True)
class PropertiesAxiom(Axiom):
    """Family: something about several properties."""

    properties: tuple[ObjectProperty, ...]


class EquivalentObjectProperties(PropertiesAxiom):
    """All of them relate the same."""


class DisjointObjectProperties(PropertiesAxiom):
    """No two of them share a pair."""


class EquivalentDataProperties(PropertiesAxiom):
    """All of them relate the same."""


class DisjointDataProperties(PropertiesAxiom):
    """No two of them share a pair."""


@dataclass(frozen=True, slots=True)
class InverseObjectProperties(Axiom):
    """Each is the other one read backwards."""

    first: ObjectProperty
    second: ObjectProperty


@dataclass(frozen=True, slots=True)
class PropertyDomain(Axiom):
    """Family: what has a value is in the class."""

    property: ObjectProperty
    domain: ClassExpression


class ObjectPropertyDomain(PropertyDomain):
    """What has a value is in the class."""


class DataPropertyDomain(PropertyDomain):
    """What has a literal is in the class."""


@dataclass(frozen=True, slots=True)
class ObjectPropertyRange(Axiom):
    """What is a value is in the class."""

    property: ObjectProperty
    range: ClassExpression


@dataclass(frozen=True, slots=True)
class DataPropertyRange(Axiom):
    """Its literals are in the range."""

    property: str
    range: DataRange


@dataclass(frozen=True, slots=True)
class Characteristic(Axiom):
    """Family: something about one property."""

    property: ObjectProperty


class FunctionalObjectProperty(Characteristic):
    """Nothing has two values."""


class InverseFunctionalObjectProperty(Characteristic):
    """Nothing is the value of two."""


class ReflexiveObjectProperty(Characteristic):
    """Everything has itself as a value."""


class IrreflexiveObjectProperty(Characteristic):
    """Nothing has itself as a value."""


class SymmetricObjectProperty(Characteristic):
    """It relates both ways."""


class AsymmetricObjectProperty(Characteristic):
    """It never relates both ways."""


class TransitiveObjectProperty(Characteristic):
    """The value of a value is a value."""


class FunctionalDataProperty(Characteristic):
    """Nothing has two literals."""


# Axioms about individuals


@dataclass(frozen=True, slots=True)
class IndividualsAxiom(Axiom):
    """Family: something about several individuals."""

    individuals: tuple[str, ...]


class SameIndividual(IndividualsAxiom):
    """They are one and the same."""


class DifferentIndividuals(IndividualsAxiom):
    """No two of them are the same."""


@dataclass(frozen=True, slots=True)
class ClassAssertion(Axiom):
    """The individual is in the class."""

    of: ClassExpression
    individual: str


@dataclass(frozen=True, slots=True)
class PropertyAssertion(Axiom):
    """Family: a property between two."""

    property: ObjectProperty
    subject: str
    value: str


class ObjectPropertyAssertion(PropertyAssertion):
    """The individual has the other as a value."""


class NegativeObjectPropertyAssertion(PropertyAssertion):
    """The individual does not have the other as a value."""


class DataPropertyAssertion(PropertyAssertion):
    """The individual has the literal as a value."""


class NegativeDataPropertyAssertion(PropertyAssertion):
    """The individual does not have the literal as a value."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """A name, and what it names: `Class`, `Datatype`, `ObjectProperty`, …"""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Ontology:
    """What was read. Reasoning looks at the axioms only.

    Annotations are triples: to OWL they say nothing. `leftovers` are the triples that no axiom could be made of.
    """

    axioms: tuple[Axiom, ...] = ()
    declarations: tuple[Declaration, ...] = ()
    annotations: tuple[Triple, ...] = ()
    imports: tuple[str, ...] = ()
    leftovers: tuple[Triple, ...] = ()


def show(node: object) -> str:
    """Any construct in OWL 2 functional syntax, with whole IRIs.

    >>> from thalweg.languages.owl.expressions import ObjectInverseOf, ObjectMinCardinality
    >>> show(SubClassOf("<A>", ObjectMinCardinality(2, ObjectInverseOf("<r>"))))
    'SubClassOf(<A> ObjectMinCardinality(2 ObjectInverseOf(<r>)))'
    >>> show(DataPropertyAssertion("<age>", "<ann>", "42"))
    'DataPropertyAssertion(<age> <ann> "42"^^<http://www.w3.org/2001/XMLSchema#integer>)'
    """
    match node:
        case str():
            return as_ntriples(node) if is_literal(node) else node
        case int():
            return str(node)
        case tuple():
            return " ".join(map(show, node))
        case HasKey(of, object_properties, data_properties):
            return f"HasKey({show(of)} ({show(object_properties)}) ({show(data_properties)}))"
        case Declaration(kind, name):
            return f"Declaration({kind}({name}))"
    shown = (show(part) for part in parts(node) if part is not None)
    return f"{type(node).__name__}({' '.join(part for part in shown if part)})"


def mentioned(node: object) -> Iterator[str]:
    """Every term in a construct, in the order of writing, each as often as it stands there.

    >>> from thalweg.languages.owl.expressions import ObjectMinCardinality
    >>> list(mentioned(SubClassOf("<A>", ObjectMinCardinality(2, "<r>", "<B>"))))
    ['<A>', '<r>', '<B>']
    """
    return (part for part in within(node) if isinstance(part, str))


def within(node: object) -> Iterator[object]:
    """A construct, and all constructs and terms inside of it, in the order of writing."""
    yield node
    for part in node if isinstance(node, tuple) else parts(node):
        yield from within(part)


def parts(node: object) -> tuple[Any, ...]:
    """The fields of a construct, in the order of the functional syntax."""
    names: tuple[str, ...] = getattr(node, "__match_args__", ())
    return tuple(getattr(node, name) for name in names)
