"""The nodes of an RDF graph become expressions: lists, restrictions, combinations of classes, data ranges.

    _:x owl:onProperty :r ; owl:minQualifiedCardinality 2 ; owl:onClass :B

becomes

    ObjectMinCardinality(2, "<r>", "<B>")

A node is read when an axiom needs it, once, and the triples that it is made of are taken when that axiom makes sense.
"""

from collections.abc import Callable
from typing import Final, TypeVar

from thalweg.languages.owl import expressions as ex
from thalweg.languages.owl.expressions import ClassExpression, DataRange, ObjectInverseOf, ObjectProperty
from thalweg.languages.owl.kinds import DATA, FACETS, Kinds, is_reserved, owl, rdf, rdfs
from thalweg.model.rdf import RDF_TYPE
from thalweg.model.term import is_literal
from thalweg.model.vocabulary import Triple

T = TypeVar("T")

CLASS_CONSTRUCTORS: Final = (owl("intersectionOf"), owl("unionOf"), owl("complementOf"), owl("oneOf"))
_RANGE_CONSTRUCTORS: Final = (*CLASS_CONSTRUCTORS, owl("datatypeComplementOf"), owl("onDatatype"))
OBJECT_CARDINALITIES: Final = {
    "min": ex.ObjectMinCardinality,
    "max": ex.ObjectMaxCardinality,
    "": ex.ObjectExactCardinality,
}
DATA_CARDINALITIES: Final = {"min": ex.DataMinCardinality, "max": ex.DataMaxCardinality, "": ex.DataExactCardinality}


def cardinality_word(limit: str, qualified: bool) -> str:
    """The word for a cardinality, with or without a filler.

    >>> cardinality_word("min", qualified=True), cardinality_word("", qualified=False)
    ('<http://www.w3.org/2002/07/owl#minQualifiedCardinality>', '<http://www.w3.org/2002/07/owl#cardinality>')
    """
    word = f"{limit}{'Qualified' if qualified else ''}Cardinality"
    return owl(word[0].lower() + word[1:])


_CARDINALITIES: Final = {
    cardinality_word(limit, qualified): limit for limit in OBJECT_CARDINALITIES for qualified in (False, True)
}
_RESTRICTIONS: Final = frozenset(
    {owl("someValuesFrom"), owl("allValuesFrom"), owl("hasValue"), owl("hasSelf"), *_CARDINALITIES}
)
NODE_TYPES: Final = frozenset(
    {owl("Class"), rdfs("Class"), owl("Restriction"), rdfs("Datatype"), owl("DataRange"), rdf("List")}
    | {owl("ObjectProperty"), owl("NegativePropertyAssertion")}
)
_PARTS: Final = frozenset(
    {*_RANGE_CONSTRUCTORS, *_RESTRICTIONS, rdf("first"), rdf("rest")}
    | {owl(name) for name in ("onProperty", "onProperties", "onClass", "onDataRange", "withRestrictions", "inverseOf")}
    | {owl(name) for name in ("members", "distinctMembers", "sourceIndividual", "targetIndividual", "targetValue")}
)
# Deeper than any ontology known; Python's stack would not bear much more.
_DEEPEST: Final = 150


class MisreadError(Exception):
    """Triples do not form the construct that was expected."""


class Nodes:
    """The nodes of one graph, and which triples have been taken."""

    def __init__(self, triples: list[Triple], kinds: Kinds) -> None:
        self.kinds = kinds
        self.taken: set[Triple] = set()
        self.parts: dict[str, dict[str, list[str]]] = {}
        for subject, predicate, value in triples:
            if predicate in _PARTS or (subject[0] == "_" and predicate.startswith(FACETS)):
                self.parts.setdefault(subject, {}).setdefault(predicate, []).append(value)
        self._built: dict[tuple[bool, str], ClassExpression | DataRange] = {}
        self._hopeless: set[tuple[bool, str]] = set()
        self._open: list[tuple[bool, str]] = []
        self._trail: list[Triple] = []
        self._fresh: list[tuple[bool, str]] = []

    def attempt(self, triple: Triple, build: Callable[[], T]) -> T | None:
        """What `build` makes of a triple and the nodes that it needs; all their triples are then taken."""
        self._trail, self._fresh = [triple], []
        try:
            construct = build()
        except MisreadError:
            for key in self._fresh:
                self._built.pop(key, None)
            return None
        self.taken.update(self._trail)
        return construct

    def take_orphans(self) -> None:
        """Takes expressions that stand alone: they are well made, and say nothing."""
        for node, about in self.parts.items():
            opener = next((part for part in (*_RANGE_CONSTRUCTORS, owl("onProperty")) if part in about), None)
            if node[0] == "_" and opener and (node, opener, about[opener][0]) not in self.taken:
                build = self.range if self.kinds.is_range(node) else self.class_
                self.attempt((node, opener, about[opener][0]), lambda: build(node))  # noqa: B023

    def has(self, node: str, predicate: str) -> bool:
        return predicate in self.parts.get(node, {})

    def only(self, node: str, predicate: str) -> str:
        """The one value of a node's predicate."""
        values = self.parts.get(node, {}).get(predicate, ())
        if len(values) != 1:
            raise MisreadError
        self._trail.append((node, predicate, values[0]))
        return values[0]

    def take_types(self, node: str) -> None:
        kinds = self.kinds.types.get(node, ())
        self._trail += [(node, RDF_TYPE, kind) for kind in kinds if kind in NODE_TYPES]

    def name(self, node: str) -> str:
        if node[0] != "<" or is_reserved(node):
            raise MisreadError
        return node

    def individual(self, node: str) -> str:
        if is_literal(node):
            raise MisreadError
        return node

    def property(self, node: str) -> ObjectProperty:
        if node[0] != "_":
            return self.name(node)
        self.take_types(node)
        return ObjectInverseOf(self.name(self.only(node, owl("inverseOf"))))

    def sequence(self, head: str) -> tuple[str, ...]:
        """The members of a list."""
        members: list[str] = []
        seen: set[str] = set()
        while head != rdf("nil"):
            if head in seen:
                raise MisreadError
            seen.add(head)
            self.take_types(head)
            members.append(self.only(head, rdf("first")))
            head = self.only(head, rdf("rest"))
        return tuple(members)

    def members(self, node: str) -> tuple[str, ...]:
        """The members of a group such as `owl:AllDifferent`."""
        predicate = owl("members") if self.has(node, owl("members")) else owl("distinctMembers")
        return self.sequence(self.only(node, predicate))

    def has_data(self, node: str, filler: str) -> bool:
        """Whether a property with such values is a data property; the values decide where it may be both."""
        kinds = self.kinds.of(node)
        return kinds == {DATA} or (DATA in kinds and self.kinds.is_range(filler))

    def class_(self, node: str) -> ClassExpression:
        if node[0] == "_":
            return self._once(node, self.built_class, False)
        if is_literal(node) or self.kinds.is_range(node):
            raise MisreadError
        return node

    def range(self, node: str) -> DataRange:
        if node[0] == "_":
            return self._once(node, self.built_range, True)
        if is_literal(node):
            raise MisreadError
        return node

    def _once(self, node: str, build: Callable[[str], T], is_range: bool) -> T:
        key = (is_range, node)
        if key in self._built:
            return self._built[key]  # type: ignore[return-value]
        if key in self._hopeless or key in self._open or len(self._open) > _DEEPEST:
            raise MisreadError
        self._open.append(key)
        try:
            construct = build(node)
        except MisreadError:
            self._hopeless.add(key)
            raise
        finally:
            self._open.pop()
        self._built[key] = construct  # type: ignore[assignment]
        self._fresh.append(key)
        return construct

    def built_class(self, node: str) -> ClassExpression:
        """The class expression that the triples of a node make."""
        self.take_types(node)
        if self.has(node, owl("onProperty")) or self.has(node, owl("onProperties")):
            return self._restriction(node)
        constructor = self._constructor(node, CLASS_CONSTRUCTORS)
        return self.combined_class(constructor, self.only(node, constructor))

    def combined_class(self, constructor: str, value: str) -> ClassExpression:
        """The class that a constructor such as `owl:unionOf` makes of its value."""
        if constructor == owl("complementOf"):
            return ex.ObjectComplementOf(self.class_(value))
        members = self.sequence(value)
        if constructor == owl("oneOf"):
            return ex.ObjectOneOf(tuple(map(self.individual, members))) if members else ex.NOTHING
        classes = tuple(map(self.class_, members))
        if len(classes) == 1:
            return classes[0]
        if constructor == owl("unionOf"):
            return ex.ObjectUnionOf(classes) if classes else ex.NOTHING
        return ex.ObjectIntersectionOf(classes) if classes else ex.THING

    def _constructor(self, node: str, among: tuple[str, ...]) -> str:
        predicates = [predicate for predicate in self.parts.get(node, ()) if predicate in among]
        if len(predicates) != 1:
            raise MisreadError
        return predicates[0]

    def _restriction(self, node: str) -> ClassExpression:
        name = self._restricted(node)
        kind = self._constructor(node, tuple(_RESTRICTIONS))
        value = self.only(node, kind)
        if kind in _CARDINALITIES:
            return self._cardinality(node, name, kind, value)
        if kind == owl("hasSelf"):
            if _lexical(value) not in ("true", "1"):
                raise MisreadError
            return ex.ObjectHasSelf(self.property(name))
        if kind == owl("hasValue"):
            if is_literal(value):
                return ex.DataHasValue(self.name(name), value)
            return ex.ObjectHasValue(self.property(name), value)
        if self.has_data(name, value):
            data = ex.DataSomeValuesFrom if kind == owl("someValuesFrom") else ex.DataAllValuesFrom
            return data(self.name(name), self.range(value))
        quantifier = ex.ObjectSomeValuesFrom if kind == owl("someValuesFrom") else ex.ObjectAllValuesFrom
        return quantifier(self.property(name), self.class_(value))

    def _restricted(self, node: str) -> str:
        if self.has(node, owl("onProperty")):
            return self.only(node, owl("onProperty"))
        names = self.sequence(self.only(node, owl("onProperties")))
        if len(names) != 1:
            raise MisreadError
        return names[0]

    def _cardinality(self, node: str, name: str, kind: str, value: str) -> ClassExpression:
        number = _count(value)
        if self.has(node, owl("onDataRange")):
            filler = self.range(self.only(node, owl("onDataRange")))
            return DATA_CARDINALITIES[_CARDINALITIES[kind]](number, self.name(name), ex.unless(filler, ex.LITERAL))
        if self.has(node, owl("onClass")):
            within = self.class_(self.only(node, owl("onClass")))
            return OBJECT_CARDINALITIES[_CARDINALITIES[kind]](number, self.property(name), ex.unless(within, ex.THING))
        if self.kinds.is_data(name):
            return DATA_CARDINALITIES[_CARDINALITIES[kind]](number, self.name(name))
        return OBJECT_CARDINALITIES[_CARDINALITIES[kind]](number, self.property(name))

    def built_range(self, node: str) -> DataRange:
        """The data range that the triples of a node make."""
        self.take_types(node)
        constructor = self._constructor(node, _RANGE_CONSTRUCTORS)
        value = self.only(node, constructor)
        if constructor == owl("onDatatype"):
            facets = self.sequence(self.only(node, owl("withRestrictions")))
            return ex.DatatypeRestriction(self.name(value), tuple(map(self._facet, facets)))
        return self.combined_range(constructor, value)

    def combined_range(self, constructor: str, value: str) -> DataRange:
        """The data range that a constructor such as `owl:unionOf` makes of its value."""
        if constructor in (owl("datatypeComplementOf"), owl("complementOf")):
            return ex.DataComplementOf(self.range(value))
        members = self.sequence(value)
        if constructor == owl("oneOf"):
            if not all(map(is_literal, members)):
                raise MisreadError
            return ex.DataOneOf(members)
        ranges = tuple(map(self.range, members))
        if len(ranges) == 1:
            return ranges[0]
        if constructor == owl("unionOf"):
            return ex.DataUnionOf(ranges) if ranges else ex.DataOneOf(())
        return ex.DataIntersectionOf(ranges) if ranges else ex.LITERAL

    def _facet(self, node: str) -> tuple[str, str]:
        facets = [predicate for predicate in self.parts.get(node, ()) if predicate.startswith(FACETS)]
        if len(facets) != 1 or not is_literal(value := self.only(node, facets[0])):
            raise MisreadError
        return facets[0], value


def _count(term: str) -> int:
    digits = _lexical(term)
    if not (digits.isascii() and digits.isdigit()):
        raise MisreadError
    return int(digits)


def _lexical(term: str) -> str:
    """What a literal says, without the space around it that no datatype here minds."""
    return term[1 : term.rindex('"')].strip() if term[0] == '"' else term
