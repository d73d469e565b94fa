"""What a name in an RDF graph stands for: its declaration decides, or its use where that is missing.

    :p rdfs:range xsd:string         :p is a data property
    :s :p "x"                        :p is a data property
    :p owl:inverseOf :q              both are object properties
    :p rdfs:subPropertyOf :q         :p and :q are of one kind

A property that is declared is what it is declared to be. One that is not may turn out to be both: then each place
decides for itself.
"""

from collections.abc import Iterable
from typing import Final

from thalweg.languages.owl.expressions import EMPTY, LITERAL, NOTHING, THING, UNIVERSAL
from thalweg.model.rdf import RDF_TYPE, XSD
from thalweg.model.term import is_literal
from thalweg.model.vocabulary import OWL, RDF, RDFS, Triple

OBJECT: Final = "ObjectProperty"
DATA: Final = "DataProperty"
ANNOTATION: Final = "AnnotationProperty"


def owl(name: str) -> str:
    """A name of the vocabulary of OWL.

    >>> owl("oneOf")
    '<http://www.w3.org/2002/07/owl#oneOf>'
    """
    return f"<{OWL}{name}>"


def rdf(name: str) -> str:
    """A name of the vocabulary of RDF."""
    return f"<{RDF}{name}>"


def rdfs(name: str) -> str:
    """A name of the vocabulary of RDF Schema."""
    return f"<{RDFS}{name}>"


DATATYPES: Final = frozenset(
    {LITERAL, rdf("PlainLiteral"), rdf("XMLLiteral"), rdf("langString"), owl("real"), owl("rational")}
)
BUILT_IN_ANNOTATIONS: Final = frozenset(
    {rdfs("label"), rdfs("comment"), rdfs("seeAlso"), rdfs("isDefinedBy")}
    | {owl("versionInfo"), owl("priorVersion"), owl("backwardCompatibleWith"), owl("incompatibleWith")}
    | {owl("deprecated"), owl("versionIRI")}
)
# The types that make a property an object property without a declaration.
_OBJECT_TYPES: Final = frozenset(
    {owl(f"{name}Property") for name in ("Object", "InverseFunctional", "Transitive", "Symmetric")}
    | {owl(f"{name}Property") for name in ("Asymmetric", "Reflexive", "Irreflexive")}
)
_DECLARED: Final = (
    dict.fromkeys(_OBJECT_TYPES, OBJECT)
    | {owl("DatatypeProperty"): DATA}
    | dict.fromkeys((owl("AnnotationProperty"), owl("OntologyProperty")), ANNOTATION)
)
_RANGE_TYPES: Final = frozenset({rdfs("Datatype"), owl("DataRange")})
_ALIKE: Final = frozenset({rdfs("subPropertyOf"), owl("equivalentProperty"), owl("propertyDisjointWith")})
_FILLERS: Final = frozenset({owl("someValuesFrom"), owl("allValuesFrom")})
_RESERVED: Final = (f"<{OWL}", f"<{RDF}", f"<{RDFS}")
_USABLE: Final = frozenset({THING, NOTHING}) | UNIVERSAL | EMPTY | DATATYPES
FACETS: Final = (f"<{XSD}", rdf("langRange"))


def is_reserved(term: str) -> bool:
    """Whether a term is a word of RDF or OWL that names no class, property or datatype of its own.

    >>> is_reserved(owl("oneOf")), is_reserved(owl("Thing")), is_reserved("<http://example.org/oneOf>")
    (True, False, False)
    """
    return term.startswith(_RESERVED) and term not in _USABLE


class Kinds:
    """What the names of a graph stand for."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        self.types: dict[str, set[str]] = {}
        self._objects: dict[str, dict[str, str]] = {}
        uses: list[Triple] = []
        for subject, predicate, value in triples:
            if predicate == RDF_TYPE:
                self.types.setdefault(subject, set()).add(value)
            else:
                uses.append((subject, predicate, value))
                if subject[0] == "_" and predicate.startswith(_RESERVED):
                    self._objects.setdefault(subject, {})[predicate] = value
        self._properties: dict[str, set[str]] = {
            name: kinds
            for name, types in self.types.items()
            if (kinds := {kind for type_name in types if (kind := _DECLARED.get(type_name))})
        }
        self._guess(uses)

    def of(self, name: str) -> set[str]:
        """The kinds of a property; an object property where nothing is known."""
        if name in BUILT_IN_ANNOTATIONS:
            return {ANNOTATION}
        if name in UNIVERSAL | EMPTY:
            return {DATA if name.endswith("DataProperty>") else OBJECT}
        return self._properties.get(name) or {OBJECT}

    def is_data(self, name: str) -> bool:
        return self.of(name) == {DATA}

    def is_annotation(self, name: str) -> bool:
        return self.of(name) == {ANNOTATION}

    def is_range(self, node: str) -> bool:
        """Whether a node stands for a data range, not for a class."""
        seen: set[str] = set()
        while node not in seen:
            seen.add(node)
            if node[0] == "<":
                return node.startswith(f"<{XSD}") or node in DATATYPES or self._is_declared_range(node)
            about = self._objects.get(node, {})
            if self._is_declared_range(node) or owl("onDatatype") in about or owl("datatypeComplementOf") in about:
                return True
            listed = about.get(owl("oneOf")) or about.get(owl("intersectionOf")) or about.get(owl("unionOf"))
            node = self._objects.get(listed or "", {}).get(rdf("first"), "_:")
            if is_literal(node):
                return True
        return False

    def _is_declared_range(self, node: str) -> bool:
        types = self.types.get(node, set())
        return not types.isdisjoint(_RANGE_TYPES) and owl("Class") not in types

    def _guess(self, uses: list[Triple]) -> None:
        declared = set(self._properties)
        neighbours: dict[str, list[str]] = {}
        for triple in uses:
            for name, kind in self._evidence(triple):
                if name not in declared:
                    self._properties.setdefault(name, set()).add(kind)
            subject, predicate, value = triple
            if predicate in _ALIKE:
                neighbours.setdefault(subject, []).append(value)
                neighbours.setdefault(value, []).append(subject)
        self._spread(neighbours)

    def _evidence(self, triple: Triple) -> Iterable[tuple[str, str]]:
        """What one use of a property says about it."""
        subject, predicate, value = triple
        if not is_reserved(predicate):
            yield predicate, DATA if is_literal(value) else OBJECT
        elif predicate == owl("inverseOf"):
            yield from ((name, OBJECT) for name in (subject, value))
        elif predicate == owl("propertyChainAxiom"):
            yield subject, OBJECT
        elif predicate == rdfs("range"):
            yield subject, DATA if self.is_range(value) else OBJECT
        elif predicate == owl("onProperty"):
            yield from ((value, kind) for kind in self._restricted(self._objects.get(subject, {})))

    def _restricted(self, about: dict[str, str]) -> Iterable[str]:
        for predicate, value in about.items():
            if predicate in _FILLERS:
                yield DATA if self.is_range(value) else OBJECT
            elif predicate == owl("hasValue"):
                yield DATA if is_literal(value) else OBJECT
            elif predicate == owl("onClass") or predicate == owl("hasSelf"):
                yield OBJECT
            elif predicate == owl("onDataRange"):
                yield DATA

    def _spread(self, neighbours: dict[str, list[str]]) -> None:
        """Properties that nothing is known about are what their neighbours are."""
        waiting = [name for name in neighbours if self.is_known(name)]
        while waiting:
            name = waiting.pop()
            for other in neighbours.get(name, ()):
                if not self.is_known(other):
                    self._properties[other] = set(self.of(name))
                    waiting.append(other)

    def is_known(self, name: str) -> bool:
        """Whether anything says of which kind a property is."""
        return name in self._properties or name in BUILT_IN_ANNOTATIONS
