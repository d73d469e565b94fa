"""Claims about an ontology, denied in words that rules understand.

    x a C            x is in a class that is the complement of C
    C ⊑ D            someone is in C and not in D
    x p y            a negative property assertion
    x = y            x is different from y
    p transitive     a p b, b p c, and not a p c

Individuals that nothing is known about stand for all of them. Denying an expression goes inwards: someone is not in
`p only C` because of a value of p that is not in C. Where this can be for several reasons, there are several cases, and
to refute the denial is to refute each of them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, count, pairwise, product
from typing import Final

from thalweg.languages.owl.kinds import owl, rdf, rdfs
from thalweg.model.literals import parts
from thalweg.model.rdf import RDF_TYPE, XSD, blank
from thalweg.model.term import is_literal

Triple = tuple[str, str, str]
Case = tuple[Triple, ...]

# An anonymous subject with one of these is an expression, and no claim.
WORDS: Final = frozenset(
    {rdf("first"), rdf("rest"), owl("members"), owl("distinctMembers"), owl("inverseOf")}
    | {owl(name) for name in ("onProperty", "onProperties", "onClass", "onDataRange", "onDatatype", "withRestrictions")}
    | {owl(f"{name}ValuesFrom") for name in ("some", "all")}
    | {owl(f"{name}Of") for name in ("intersection", "union", "complement", "datatypeComplement")}
    | {owl(f"{name}ardinality") for name in ("c", "minC", "maxC", "qualifiedC", "minQualifiedC", "maxQualifiedC")}
    | {owl("oneOf"), owl("hasValue"), owl("hasSelf")}
)
_ON: Final = owl("onProperty")
_LOW: Final = tuple(
    owl(name) for name in ("minCardinality", "cardinality", "minQualifiedCardinality", "qualifiedCardinality")
)
_HIGH: Final = tuple(
    owl(name) for name in ("maxCardinality", "cardinality", "maxQualifiedCardinality", "qualifiedCardinality")
)
_NEGATIVE: Final = owl("NegativePropertyAssertion")
_DENIED: Final = (owl("sourceIndividual"), owl("assertionProperty"), owl("targetIndividual"), owl("targetValue"))
_SOMEONE, _OTHER, _THIRD = (f"<urn:someone:{name}>" for name in "abc")


class Words:
    """The expressions of a conclusion, and how its claims are denied."""

    def __init__(self, conclusion: Iterable[Triple]) -> None:
        self._of: dict[str, dict[str, str]] = {}
        self.definitions: list[Triple] = []
        self._fresh = count(1)
        for subject, predicate, value in conclusion:
            self._of.setdefault(subject, {})[predicate] = value
            if subject[0] == "_" and predicate in WORDS:
                self.definitions.append((subject, predicate, value))
        self._defined = {subject for subject, _, _ in self.definitions}

    def denials(self, claims: Sequence[Triple]) -> Iterator[tuple[Triple, list[Case]]]:
        """Each claim with the cases in which it does not hold; without any where nobody can say.

        >>> claim = ("<x>", owl("sameAs"), "<y>")
        >>> [cases for _, cases in Words([claim]).denials([claim])]
        [[(('<x>', '<http://www.w3.org/2002/07/owl#differentFrom>', '<y>'),)]]
        """
        told = self._told(claims)
        for claim in claims:
            subject, predicate, value = claim
            if predicate in _DENIED or (subject in self._defined and predicate in WORDS):
                continue
            unnamed = [term for term in (subject, value) if self._is_someone(term)]
            if unnamed and (predicate in _NAMED or not told.issuperset(unnamed)):
                yield claim, []
            elif subject not in unnamed:
                yield claim, self._denied(claim, claims)

    def _told(self, claims: Sequence[Triple]) -> set[str]:
        """Those without a name who are part of what is claimed about one other, in the end one with a name."""
        known_by: dict[str, list[str]] = {}
        for subject, _, value in claims:
            if self._is_someone(value):
                known_by.setdefault(value, []).append(subject)
        told: set[str] = set()
        for someone in known_by:
            path = [someone]
            while len(by := known_by.get(path[-1], [])) == 1 and by[0] not in path:
                path.append(by[0])
            if not self._is_someone(path[-1]):
                told.add(someone)
        return told

    def _is_someone(self, term: str) -> bool:
        kind = self._of.get(term, {}).get(RDF_TYPE)
        return term[0] == "_" and term not in self._defined and kind != _NEGATIVE and kind not in _ALL

    def _described(self, someone: str, claims: Sequence[Triple]) -> str:
        """A class expression for what is claimed about someone without a name."""
        classes = []
        for subject, predicate, value in claims:
            if subject == someone and predicate == RDF_TYPE:
                classes.append(value)
            elif subject == someone and self._is_someone(value):
                classes.append(self._some(predicate, self._described(value, claims)))
            elif subject == someone:
                classes.append(self._expression(owl("hasValue"), value, owl("onProperty"), predicate))
        if len(classes) > 1:
            return self._expression(owl("intersectionOf"), self._list(classes))
        return classes[0] if classes else owl("Thing")

    def _denied(self, claim: Triple, claims: Sequence[Triple]) -> list[Case]:
        subject, predicate, value = claim
        if predicate in _NAMED:
            return _NAMED[predicate](self, subject, value)
        if predicate != RDF_TYPE and self._is_someone(value):
            return self.deny(subject, self._some(predicate, self._described(value, claims)))
        if predicate != RDF_TYPE:
            return [_not_related(subject, predicate, value)]
        if value in _CHARACTERISTICS:
            return _CHARACTERISTICS[value](subject)
        if value == _NEGATIVE:
            source, by, individual, literal = (self._of[subject].get(name, "") for name in _DENIED)
            return [((source, by, individual or literal),)]
        return self._pairs(subject, _ALL[value]) if value in _ALL else self.deny(subject, value)

    def _pairs(self, subject: str, deny: "Denial") -> list[Case]:
        """Each pair of those that are said to be disjoint or different."""
        words = self._of[subject]
        members = self.items(words.get(owl("members"), words.get(owl("distinctMembers"), rdf("nil"))))
        return [case for one, other in combinations(members, 2) for case in deny(self, one, other)]

    def items(self, node: str) -> list[str]:
        """The elements of a list."""
        found = []
        while node in self._of and rdf("first") in self._of[node]:
            found.append(self._of[node][rdf("first")])
            node = self._of[node].get(rdf("rest"), rdf("nil"))
        return found

    def not_within(self, one: str, other: str) -> list[Case]:
        """Someone who is in one class and not in the other."""
        return _both(self.affirm(_SOMEONE, one), self.deny(_SOMEONE, other))

    def not_apart(self, one: str, other: str) -> list[Case]:
        """Someone who is in both classes."""
        return _both(self.affirm(_SOMEONE, one), self.affirm(_SOMEONE, other))

    def not_defined_as(self, subject: str, predicate: str, value: str) -> list[Case]:
        """Someone who is in a class and not in what defines it, or the other way round."""
        expression = self._expression(predicate, value)
        return [*self.not_within(subject, expression), *self.not_within(expression, subject)]

    def has_without(self, by: str, one: str, other: str, kind: str, outward: bool) -> list[Case]:
        """One who has something by a property, or whom something has, and who is not of a kind."""
        return _both([((one, by, other),)], self.deny(one if outward else other, kind))

    def affirm(self, someone: str, kind: str) -> list[Case]:
        """The cases in which someone is in a class: what rules cannot make of an expression is made here."""
        words = self._of.get(kind, {}) if kind[0] == "_" else {}
        plain: list[Case] = [((someone, RDF_TYPE, kind),)]
        inside = next((affirm(self, someone, words) for word, affirm in _AFFIRMED.items() if word in words), [()])
        return _both(plain, inside)

    def deny(self, someone: str, kind: str) -> list[Case]:
        """The cases in which someone is not in a class."""
        words = self._of.get(kind, {}) if kind[0] == "_" else {}
        plain: list[Case] = [((someone, RDF_TYPE, self._expression(owl("complementOf"), kind)),)]
        inside = next((deny(self, someone, words) for word, deny in _REFUSED.items() if word in words), [()])
        return _both(plain, inside)

    def all_of(self, cases: Callable[[str, str], list[Case]], someone: str, members: str) -> list[Case]:
        """Someone and every member of a list."""
        found: list[Case] = [()]
        for each in self.items(members):
            found = _both(found, cases(someone, each))
        return found

    def one_of(self, cases: Callable[[str, str], list[Case]], someone: str, members: str) -> list[Case]:
        """Someone and one member of a list, whichever it is."""
        return [case for each in self.items(members) for case in cases(someone, each)]

    def has(
        self, cases: Callable[[str, str], list[Case]], someone: str, words: dict[str, str], kind: str
    ) -> list[Case]:
        """Someone has another as the value of a restriction's property."""
        other = self._new()
        return _both([((someone, words.get(_ON, ""), other),)], cases(other, kind))

    def has_none(self, someone: str, words: dict[str, str]) -> list[Case]:
        """All values of a restriction's property are outside the class."""
        outside = self._expression(owl("complementOf"), words[owl("someValuesFrom")])
        return [((someone, RDF_TYPE, self._expression(owl("allValuesFrom"), outside, _ON, words.get(_ON, ""))),)]

    def enough(self, someone: str, words: dict[str, str]) -> list[Case]:
        """As many values as a cardinality asks for."""
        return self._several(someone, words, _number(words, _LOW) or 0)

    def not_so_many(self, someone: str, words: dict[str, str]) -> list[Case]:
        """More values than a cardinality allows, or fewer than it asks for."""
        high, low = _number(words, _HIGH), _number(words, _LOW)
        cases = [] if high is None else self._several(someone, words, high + 1)
        return [*cases, ((someone, RDF_TYPE, self._at_most(words, low - 1)),)] if low else cases or [()]

    def _at_most(self, words: dict[str, str], number: int) -> str:
        most, on = f'"{number}"^^<{XSD}nonNegativeInteger>', (_ON, words.get(_ON, ""))
        if kind := _qualified(words):
            return self._expression(owl("maxQualifiedCardinality"), most, *on, owl("onClass"), kind)
        return self._expression(owl("maxCardinality"), most, *on)

    def _several(self, someone: str, words: dict[str, str], number: int) -> list[Case]:
        """So many different values of a restriction's property, in its class."""
        others = [self._new() for _ in range(number)]
        apart = [(one, owl("differentFrom"), other) for one, other in combinations(others, 2)]
        cases: list[Case] = [(*((someone, words.get(_ON, ""), other) for other in others), *apart)]
        for other in others if (kind := _qualified(words)) else ():
            cases = _both(cases, self.affirm(other, kind))
        return cases

    def _some(self, by: str, kind: str) -> str:
        return self._expression(owl("someValuesFrom"), kind, owl("onProperty"), by)

    def _expression(self, *words: str) -> str:
        """A new expression from its words and their values."""
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


def _not_related(subject: str, predicate: str, value: str) -> Case:
    source, by, individual, literal = _DENIED
    node = blank(f"{subject} {predicate} {value}", "denied")
    target = literal if is_literal(value) else individual
    return (node, source, subject), (node, by, predicate), (node, target, value)


def _both(some: Sequence[Case], others: Sequence[Case]) -> list[Case]:
    return [(*one, *other) for one, other in product(some, others)]


def _qualified(words: dict[str, str]) -> str:
    """The class or data range that a cardinality counts in; empty if it counts everything."""
    return words.get(owl("onClass"), words.get(owl("onDataRange"), ""))


def _number(words: dict[str, str], names: Iterable[str]) -> int | None:
    """A cardinality, if it is given by one of these names."""
    found = next((words[name] for name in names if name in words), None)
    return None if found is None else int(parts(found)[0])


def _not_subproperty(one: str, other: str) -> list[Case]:
    return [((_SOMEONE, one, _OTHER), *_not_related(_SOMEONE, other, _OTHER))]


def _not_inverse(one: str, other: str) -> list[Case]:
    return [
        ((_SOMEONE, one, _OTHER), *_not_related(_OTHER, other, _SOMEONE)),
        ((_SOMEONE, other, _OTHER), *_not_related(_OTHER, one, _SOMEONE)),
    ]


def _not_chained(words: Words, by: str, chain: str) -> list[Case]:
    steps = words.items(chain)
    nodes = [f"<urn:someone:step{step}>" for step in range(len(steps) + 1)]
    path = [(one, step, other) for (one, other), step in zip(pairwise(nodes), steps, strict=True)]
    return [(*path, *_not_related(nodes[0], by, nodes[-1]))]


def _not_key(words: Words, kind: str, key: str) -> list[Case]:
    agree = [
        (someone, by, f"<urn:someone:value{place}>")
        for place, by in enumerate(words.items(key))
        for someone in (_SOMEONE, _OTHER)
    ]
    both = ((_SOMEONE, RDF_TYPE, kind), (_OTHER, RDF_TYPE, kind), (_SOMEONE, owl("differentFrom"), _OTHER))
    return [(*both, *agree)]


def _not_disjoint_union(words: Words, kind: str, members: str) -> list[Case]:
    apart = [case for one, other in combinations(words.items(members), 2) for case in words.not_apart(one, other)]
    return [*words.not_defined_as(kind, owl("unionOf"), members), *apart]


Denial = Callable[[Words, str, str], list[Case]]
Inside = Callable[[Words, str, dict[str, str]], list[Case]]

_AFFIRMED: Final[dict[str, Inside]] = {
    owl("someValuesFrom"): lambda known, x, words: known.has(known.affirm, x, words, words[owl("someValuesFrom")]),
    owl("unionOf"): lambda known, x, words: known.one_of(known.affirm, x, words[owl("unionOf")]),
    owl("intersectionOf"): lambda known, x, words: known.all_of(known.affirm, x, words[owl("intersectionOf")]),
    owl("complementOf"): lambda known, x, words: known.deny(x, words[owl("complementOf")]),
} | dict.fromkeys(_LOW, Words.enough)
_REFUSED: Final[dict[str, Inside]] = {
    owl("someValuesFrom"): Words.has_none,
    owl("allValuesFrom"): lambda known, x, words: known.has(known.deny, x, words, words[owl("allValuesFrom")]),
    owl("hasValue"): lambda known, x, words: [_not_related(x, words.get(_ON, ""), words[owl("hasValue")])],
    owl("unionOf"): lambda known, x, words: known.all_of(known.deny, x, words[owl("unionOf")]),
    owl("intersectionOf"): lambda known, x, words: known.one_of(known.deny, x, words[owl("intersectionOf")]),
    owl("complementOf"): lambda known, x, words: known.affirm(x, words[owl("complementOf")]),
    owl("oneOf"): lambda known, x, words: [
        tuple((x, owl("differentFrom"), each) for each in known.items(words[owl("oneOf")]))
    ],
} | dict.fromkeys((*_LOW, *_HIGH), Words.not_so_many)

_NAMED: Final[dict[str, Denial]] = {
    rdfs("subClassOf"): lambda words, one, other: words.not_within(one, other),
    owl("equivalentClass"): lambda words, one, other: [*words.not_within(one, other), *words.not_within(other, one)],
    owl("disjointWith"): lambda words, one, other: words.not_apart(one, other),
    owl("disjointUnionOf"): _not_disjoint_union,
    owl("complementOf"): lambda words, one, other: words.not_defined_as(one, owl("complementOf"), other),
    owl("intersectionOf"): lambda words, one, other: words.not_defined_as(one, owl("intersectionOf"), other),
    owl("unionOf"): lambda words, one, other: words.not_defined_as(one, owl("unionOf"), other),
    owl("oneOf"): lambda words, one, other: words.not_defined_as(one, owl("oneOf"), other),
    rdfs("subPropertyOf"): lambda words, one, other: _not_subproperty(one, other),
    owl("equivalentProperty"): lambda words, one, other: [
        *_not_subproperty(one, other),
        *_not_subproperty(other, one),
    ],
    owl("propertyDisjointWith"): lambda words, one, other: [((_SOMEONE, one, _OTHER), (_SOMEONE, other, _OTHER))],
    owl("propertyChainAxiom"): _not_chained,
    owl("inverseOf"): lambda words, one, other: _not_inverse(one, other),
    owl("hasKey"): _not_key,
    rdfs("domain"): lambda words, by, kind: words.has_without(by, _SOMEONE, _OTHER, kind, True),
    rdfs("range"): lambda words, by, kind: words.has_without(by, _SOMEONE, _OTHER, kind, False),
    owl("sameAs"): lambda words, one, other: [((one, owl("differentFrom"), other),)],
    owl("differentFrom"): lambda words, one, other: [((one, owl("sameAs"), other),)],
}
_ALL: Final[dict[str, Denial]] = {
    owl("AllDisjointClasses"): _NAMED[owl("disjointWith")],
    owl("AllDisjointProperties"): _NAMED[owl("propertyDisjointWith")],
    owl("AllDifferent"): _NAMED[owl("differentFrom")],
}
_CHARACTERISTICS: Final[dict[str, Callable[[str], list[Case]]]] = {
    owl("FunctionalProperty"): lambda by: [
        ((_SOMEONE, by, _OTHER), (_SOMEONE, by, _THIRD), (_OTHER, owl("differentFrom"), _THIRD))
    ],
    owl("InverseFunctionalProperty"): lambda by: [
        ((_OTHER, by, _SOMEONE), (_THIRD, by, _SOMEONE), (_OTHER, owl("differentFrom"), _THIRD))
    ],
    owl("SymmetricProperty"): lambda by: [((_SOMEONE, by, _OTHER), *_not_related(_OTHER, by, _SOMEONE))],
    owl("AsymmetricProperty"): lambda by: [((_SOMEONE, by, _OTHER), (_OTHER, by, _SOMEONE))],
    owl("TransitiveProperty"): lambda by: [
        ((_SOMEONE, by, _OTHER), (_OTHER, by, _THIRD), *_not_related(_SOMEONE, by, _THIRD))
    ],
    owl("ReflexiveProperty"): lambda by: [((_SOMEONE, RDF_TYPE, owl("Thing")), *_not_related(_SOMEONE, by, _SOMEONE))],
    owl("IrreflexiveProperty"): lambda by: [((_SOMEONE, by, _SOMEONE),)],
}
