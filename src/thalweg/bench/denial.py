"""Claims about an ontology, denied in terms that rules understand.

    x a C            x is in a class that is the complement of C
    C ⊑ D            an individual is in C and not in D
    x p y            a negative property assertion
    x = y            x is different from y
    p transitive     a p b, b p c, and not a p c

Individuals that nothing is known about stand for all of them. Denying an expression goes inwards: an individual is not
in `p only C` because of a value of p that is not in C. Where this can be for several reasons, there are several cases,
and to refute the denial is to refute each of them.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, count, pairwise, product
from typing import Final

from thalweg.languages.owl.kinds import owl, rdf, rdfs
from thalweg.model.literals import parts
from thalweg.model.rdf import RDF_TYPE, XSD, blank
from thalweg.model.term import is_literal
from thalweg.model.vocabulary import Triple

Case = tuple[Triple, ...]
Words = dict[str, str]
"""The predicates of an expression, and their values."""

# An anonymous subject with one of these is an expression, not a claim.
_WORDS: Final = frozenset(
    {rdf("first"), rdf("rest"), owl("members"), owl("distinctMembers"), owl("inverseOf")}
    | {owl(name) for name in ("onProperty", "onProperties", "onClass", "onDataRange", "onDatatype", "withRestrictions")}
    | {owl(f"{name}ValuesFrom") for name in ("some", "all")}
    | {owl(f"{name}Of") for name in ("intersection", "union", "complement", "datatypeComplement")}
    | {owl(f"{name}ardinality") for name in ("c", "minC", "maxC", "qualifiedC", "minQualifiedC", "maxQualifiedC")}
    | {owl("oneOf"), owl("hasValue"), owl("hasSelf")}
)
_AXIOMS: Final = frozenset(
    {rdfs(name) for name in ("subClassOf", "subPropertyOf", "domain", "range")}
    | {owl(name) for name in ("equivalentClass", "disjointWith", "disjointUnionOf", "complementOf", "intersectionOf")}
    | {owl(name) for name in ("unionOf", "oneOf", "equivalentProperty", "propertyDisjointWith", "propertyChainAxiom")}
    | {owl(name) for name in ("inverseOf", "hasKey", "sameAs", "differentFrom")}
)
# What is claimed of each pair of the members of one of these.
_ALL: Final = {
    owl("AllDisjointClasses"): owl("disjointWith"),
    owl("AllDisjointProperties"): owl("propertyDisjointWith"),
    owl("AllDifferent"): owl("differentFrom"),
}
_ON: Final = owl("onProperty")
_EXACT: Final = (owl("cardinality"), owl("qualifiedCardinality"))
_LOW: Final = (owl("minCardinality"), owl("minQualifiedCardinality"), *_EXACT)
_HIGH: Final = (owl("maxCardinality"), owl("maxQualifiedCardinality"), *_EXACT)
_NEGATIVE: Final = owl("NegativePropertyAssertion")
_DENIED: Final = (owl("sourceIndividual"), owl("assertionProperty"), owl("targetIndividual"), owl("targetValue"))
_A, _B, _C = (f"<urn:someone:{name}>" for name in "abc")


class Denials:
    """The expressions of a conclusion, and how its claims are denied."""

    def __init__(self, conclusion: Iterable[Triple]) -> None:
        self._of: dict[str, Words] = {}
        self.definitions: list[Triple] = []
        self._fresh = count(1)
        for subject, predicate, value in conclusion:
            self._of.setdefault(subject, {})[predicate] = value
            if subject[0] == "_" and predicate in _WORDS:
                self.definitions.append((subject, predicate, value))
        self._defined = {subject for subject, _, _ in self.definitions}

    def of(self, claims: Sequence[Triple]) -> Iterator[tuple[Triple, list[Case]]]:
        """Each claim with the cases in which it does not hold; without any where this is unknown.

        >>> claim = ("<x>", owl("sameAs"), "<y>")
        >>> [cases for _, cases in Denials([claim]).of([claim])]
        [[(('<x>', '<http://www.w3.org/2002/07/owl#differentFrom>', '<y>'),)]]
        """
        described = self._described_once(claims)
        for claim in claims:
            subject, predicate, value = claim
            if predicate in _DENIED or (subject in self._defined and predicate in _WORDS):
                continue
            unnamed = [term for term in (subject, value) if self._is_unnamed(term)]
            if unnamed and (predicate in _AXIOMS or not described.issuperset(unnamed)):
                yield claim, []
            elif subject not in unnamed:
                yield claim, self._denied(claim, claims)

    def _described_once(self, claims: Sequence[Triple]) -> set[str]:
        """The unnamed individuals that are part of the description of one other, in the end of a named one."""
        described_by: dict[str, list[str]] = {}
        for subject, _, value in claims:
            if self._is_unnamed(value):
                described_by.setdefault(value, []).append(subject)
        described: set[str] = set()
        for individual in described_by:
            path = [individual]
            while len(by := described_by.get(path[-1], [])) == 1 and by[0] not in path:
                path.append(by[0])
            if not self._is_unnamed(path[-1]):
                described.add(individual)
        return described

    def _is_unnamed(self, term: str) -> bool:
        """Whether a term is a blank node that stands for an individual."""
        kind = self._of.get(term, {}).get(RDF_TYPE)
        return term[0] == "_" and term not in self._defined and kind != _NEGATIVE and kind not in _ALL

    def _description(self, individual: str, claims: Sequence[Triple]) -> str:
        """A class expression for what is claimed about an unnamed individual."""
        classes = []
        for subject, predicate, value in claims:
            if subject == individual and predicate == RDF_TYPE:
                classes.append(value)
            elif subject == individual and self._is_unnamed(value):
                classes.append(self._some(predicate, self._description(value, claims)))
            elif subject == individual:
                classes.append(self._expression(owl("hasValue"), value, _ON, predicate))
        if len(classes) > 1:
            return self._expression(owl("intersectionOf"), self._list(classes))
        return classes[0] if classes else owl("Thing")

    def _denied(self, claim: Triple, claims: Sequence[Triple]) -> list[Case]:
        subject, predicate, value = claim
        if predicate in _AXIOMS:
            return self._axiom(subject, predicate, value)
        if predicate != RDF_TYPE and self._is_unnamed(value):
            return self._member(subject, self._some(predicate, self._description(value, claims)), False)
        if predicate != RDF_TYPE:
            return [_not_related(subject, predicate, value)]
        if value == _NEGATIVE:
            source, by, individual, literal = (self._of[subject].get(name, "") for name in _DENIED)
            return [((source, by, individual or literal),)]
        if value in _ALL:
            words = self._of[subject]
            members = self._items(words.get(owl("members"), words.get(owl("distinctMembers"), rdf("nil"))))
            pairs = combinations(members, 2)
            return [case for first, second in pairs for case in self._axiom(first, _ALL[value], second)]
        return _characteristic(subject, value) or self._member(subject, value, False)

    def _axiom(self, left: str, predicate: str, right: str) -> list[Case]:
        match _local(predicate):
            case "subClassOf":
                return self._within_without(left, right)
            case "equivalentClass":
                return [*self._within_without(left, right), *self._within_without(right, left)]
            case "disjointWith":
                return self._in_both(left, right)
            case "disjointUnionOf":
                pairs = combinations(self._items(right), 2)
                overlaps = [case for a, b in pairs for case in self._in_both(a, b)]
                return [*self._axiom(left, owl("unionOf"), right), *overlaps]
            case "complementOf" | "intersectionOf" | "unionOf" | "oneOf":
                expression = self._expression(predicate, right)
                return [*self._within_without(left, expression), *self._within_without(expression, left)]
            case "subPropertyOf":
                return [((_A, left, _B), *_not_related(_A, right, _B))]
            case "equivalentProperty":
                sub = rdfs("subPropertyOf")
                return [*self._axiom(left, sub, right), *self._axiom(right, sub, left)]
            case "propertyDisjointWith":
                return [((_A, left, _B), (_A, right, _B))]
            case "inverseOf":
                return [((_A, p, _B), *_not_related(_B, q, _A)) for p, q in ((left, right), (right, left))]
            case "propertyChainAxiom":
                steps = self._items(right)
                nodes = [f"<urn:someone:step{step}>" for step in range(len(steps) + 1)]
                path = [(start, step, end) for (start, end), step in zip(pairwise(nodes), steps, strict=True)]
                return [(*path, *_not_related(nodes[0], left, nodes[-1]))]
            case "hasKey":
                values = [(by, f"<urn:someone:value{place}>") for place, by in enumerate(self._items(right))]
                agree = [(individual, by, value) for by, value in values for individual in (_A, _B)]
                return [((_A, RDF_TYPE, left), (_B, RDF_TYPE, left), (_A, owl("differentFrom"), _B), *agree)]
            case "domain" | "range" as end:
                return _both([((_A, left, _B),)], self._member(_A if end == "domain" else _B, right, False))
            case "sameAs":
                return [((left, owl("differentFrom"), right),)]
            case _:
                return [((left, owl("sameAs"), right),)]

    def _items(self, node: str) -> list[str]:
        """The elements of a list."""
        elements = []
        while node in self._of and rdf("first") in self._of[node]:
            elements.append(self._of[node][rdf("first")])
            node = self._of[node].get(rdf("rest"), rdf("nil"))
        return elements

    def _within_without(self, inside: str, outside: str) -> list[Case]:
        """An individual in one class and not in the other."""
        return _both(self._member(_A, inside, True), self._member(_A, outside, False))

    def _in_both(self, first: str, second: str) -> list[Case]:
        """An individual in both classes."""
        return _both(self._member(_A, first, True), self._member(_A, second, True))

    def _member(self, individual: str, kind: str, holds: bool) -> list[Case]:
        """The cases in which an individual is in a class, or is not, with what rules do not conclude themselves."""
        stated = kind if holds else self._expression(owl("complementOf"), kind)
        words = self._of.get(kind, {}) if kind[0] == "_" else {}
        return _both([((individual, RDF_TYPE, stated),)], self._inside(individual, words, holds))

    def _inside(self, x: str, words: Words, holds: bool) -> list[Case]:
        by = words.get(_ON, "")
        if kind := words.get(owl("someValuesFrom")):
            return self._has(x, by, kind, True) if holds else self._has_none(x, by, kind)
        if members := words.get(owl("unionOf")):
            return self._members(x, members, holds, every=not holds)
        if members := words.get(owl("intersectionOf")):
            return self._members(x, members, holds, every=holds)
        if kind := words.get(owl("complementOf")):
            return self._member(x, kind, not holds)
        if holds:
            return self._several(x, words, _number(words, _LOW) or 0)
        if kind := words.get(owl("allValuesFrom")):
            return self._has(x, by, kind, False)
        if value := words.get(owl("hasValue")):
            return [_not_related(x, by, value)]
        if members := words.get(owl("oneOf")):
            return [tuple((x, owl("differentFrom"), member) for member in self._items(members))]
        return self._wrong_number(x, words)

    def _members(self, individual: str, members: str, holds: bool, every: bool) -> list[Case]:
        """An individual in every class of a list, or in any of them; or outside of it."""
        cases = [self._member(individual, kind, holds) for kind in self._items(members)]
        if every:
            return [tuple(triple for case in group for triple in case) for group in product(*cases)]
        return [case for group in cases for case in group]

    def _has(self, individual: str, by: str, kind: str, holds: bool) -> list[Case]:
        """Another individual, in a class or outside of it, is a value of a property."""
        other = self._new()
        return _both([((individual, by, other),)], self._member(other, kind, holds))

    def _has_none(self, individual: str, by: str, kind: str) -> list[Case]:
        """All values of a property are outside a class."""
        outside = self._expression(owl("complementOf"), kind)
        return [((individual, RDF_TYPE, self._expression(owl("allValuesFrom"), outside, _ON, by)),)]

    def _wrong_number(self, individual: str, words: Words) -> list[Case]:
        """More values than a cardinality allows, or fewer than it asks for."""
        high, low = _number(words, _HIGH), _number(words, _LOW)
        cases = [] if high is None else self._several(individual, words, high + 1)
        return [*cases, ((individual, RDF_TYPE, self._at_most(words, low - 1)),)] if low else cases or [()]

    def _at_most(self, words: Words, number: int) -> str:
        most, on = f'"{number}"^^<{XSD}nonNegativeInteger>', (_ON, words.get(_ON, ""))
        if kind := _qualified(words):
            return self._expression(owl("maxQualifiedCardinality"), most, *on, owl("onClass"), kind)
        return self._expression(owl("maxCardinality"), most, *on)

    def _several(self, individual: str, words: Words, number: int) -> list[Case]:
        """A number of different values of a restriction's property, in its class."""
        values = [self._new() for _ in range(number)]
        different = [(first, owl("differentFrom"), value) for first, value in combinations(values, 2)]
        cases: list[Case] = [(*((individual, words.get(_ON, ""), value) for value in values), *different)]
        for value in values if (kind := _qualified(words)) else ():
            cases = _both(cases, self._member(value, kind, True))
        return cases

    def _some(self, by: str, kind: str) -> str:
        return self._expression(owl("someValuesFrom"), kind, _ON, by)

    def _expression(self, *words: str) -> str:
        """A new expression from its predicates and their values."""
        name = f"_:expression{next(self._fresh)}"
        for predicate, value in zip(words[::2], words[1::2], strict=True):
            self._of.setdefault(name, {})[predicate] = value
            self.definitions.append((name, predicate, value))
        return name

    def _list(self, items: Sequence[str]) -> str:
        node = rdf("nil")
        for item in reversed(items):
            node = self._expression(rdf("first"), item, rdf("rest"), node)
        return node

    def _new(self) -> str:
        return f"<urn:someone:{next(self._fresh)}>"


def _characteristic(by: str, value: str) -> list[Case]:
    """The denial of a characteristic of a property; none if the value is not one."""
    match _local(value):
        case "FunctionalProperty":
            return [((_A, by, _B), (_A, by, _C), (_B, owl("differentFrom"), _C))]
        case "InverseFunctionalProperty":
            return [((_B, by, _A), (_C, by, _A), (_B, owl("differentFrom"), _C))]
        case "SymmetricProperty":
            return [((_A, by, _B), *_not_related(_B, by, _A))]
        case "AsymmetricProperty":
            return [((_A, by, _B), (_B, by, _A))]
        case "TransitiveProperty":
            return [((_A, by, _B), (_B, by, _C), *_not_related(_A, by, _C))]
        case "ReflexiveProperty":
            return [((_A, RDF_TYPE, owl("Thing")), *_not_related(_A, by, _A))]
        case "IrreflexiveProperty":
            return [((_A, by, _A),)]
    return []


def _local(name: str) -> str:
    """The name of the vocabulary of OWL or RDF Schema; empty for others."""
    local = name.rpartition("#")[2].removesuffix(">")
    return local if name in (owl(local), rdfs(local)) else ""


def _not_related(subject: str, predicate: str, value: str) -> Case:
    source, by, individual, literal = _DENIED
    node = blank(f"{subject} {predicate} {value}", "denied")
    target = literal if is_literal(value) else individual
    return (node, source, subject), (node, by, predicate), (node, target, value)


def _both(left: Sequence[Case], right: Sequence[Case]) -> list[Case]:
    return [(*before, *after) for before, after in product(left, right)]


def _qualified(words: Words) -> str:
    """The class or data range that a cardinality counts in; empty if it counts everything."""
    return words.get(owl("onClass"), words.get(owl("onDataRange"), ""))


def _number(words: Words, names: Iterable[str]) -> int | None:
    """A cardinality, if it is given by one of these names."""
    literal = next((words[name] for name in names if name in words), None)
    return None if literal is None else int(parts(literal)[0])
