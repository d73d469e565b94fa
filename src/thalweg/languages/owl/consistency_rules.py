"""What an ontology forbids becomes rules that name the axiom, and the individuals that break it.

    DisjointClasses(<Person> <Work>)    SubClassOf(<Student> <Person>)        becomes, every pair on its own (NTM),

        inconsistent("Disjoint…",X,X) :- <Person>(X), <Work>(X).
        inconsistent("Disjoint…",X,X) :- <Student>(X), <Work>(X).

    or, with members of one class becoming members of the next (LTM),

        in'<Person>(X) :- <Student>(X).    in'<Person>(X) :- <Person>(X).
        inconsistent("Disjoint…",X,X) :- in'<Person>(X), <Work>(X).

    or with one rule for all pairs (`disjointness`).

All of them derive the same: `inconsistent` for each asserted axiom, and each individual that breaks it (twice) or pair
that does. An axiom that another one makes superfluous is reported all the same. Where members have become members of
another class by then, rules look back at what they were; they do so for individuals that are known to clash.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Final

from thalweg.diagnostics import Source
from thalweg.ir.nodes import Atom, Comparison, Constant, Literal, Now, Rule, Variable
from thalweg.languages.owl.axiom_rules import INCONSISTENT, clash, line_spans, related
from thalweg.languages.owl.dl_lite import Existential, Role
from thalweg.languages.owl.knowledge import atoms_of
from thalweg.languages.owl.negative import SELF, Negative, name_of
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.term import quote
from thalweg.planning.topology import Bolt, Pair, bits

KIND: Final = "kind'"

_X, _Y, _K, _L, _A = map(Variable, "XYKLA")


@dataclass(frozen=True, slots=True)
class ConsistencyRules:
    """Rules that find what is inconsistent; the place of a rule that is about one axiom is a line with that axiom.

    `pinned` says in which bolt each signature is derived.
    """

    rules: tuple[Rule, ...]
    background: tuple[Fact, ...]
    pinned: frozenset[tuple[Predicate, int]] = frozenset()
    gathered: frozenset[Predicate] = frozenset()


def by_bolts(closure: Negative, bolts: Sequence[Bolt], name: str = "ontology") -> ConsistencyRules:
    """The rules of a topology; one with one bolt has a rule for every pair.

    >>> from thalweg.ir.text import show
    >>> from thalweg.languages.owl.axioms import DisjointClasses
    >>> from thalweg.languages.owl.negative import close
    >>> checks = by_bolts(close([DisjointClasses(("<A>", "<B>"))]), [((("<A>", "<B>"),), (), ())])
    >>> print(show(checks.rules[-1]))
    inconsistent("DisjointClasses(<A> <B>)",X,X) :- <A>(X), <B>(X).
    """
    return _Pipeline(closure, bolts, name).checks()


def concepts_of(signature: Predicate) -> tuple[str, ...]:
    """The names of the concepts that a fact puts things in.

    >>> concepts_of(Predicate("<Person>", 1)), concepts_of(Predicate("<likes>", 2))
    (('<Person>',), ("some'<likes>", "some_inverse'<likes>"))
    """
    if signature.arity != 2:
        return (signature.name,) if signature.arity == 1 else ()
    return tuple(name_of(Existential(Role(signature.name, inverse=inverse))) for inverse in (False, True))


class Writer:
    """Writes the rules that all topologies share."""

    def __init__(self, closure: Negative, name: str) -> None:
        self.found = closure
        groups = (*closure.disjoint, *closure.disjoint_roles, *closure.irreflexive)
        axioms = dict.fromkeys((*(group.axiom for group in groups), *closure.alone))
        self.lines = {axiom: number for number, axiom in enumerate(axioms)}
        self.spans = line_spans(Source(name, "\n".join(self.lines)))
        self.place = {closure.name(concept): concept for concept in range(len(closure.concepts))}

    @cached_property
    def hits(self) -> dict[int, dict[int, int]]:
        """For each stream the groups that it is in, and which members of them it is below (bits)."""
        hits: dict[int, dict[int, int]] = {}
        for number, group in enumerate(self.found.disjoint):
            for position, member in enumerate(group.members):
                for concept in bits(self.found.order.below[member] & self.found.streams):
                    on = hits.setdefault(concept, {})
                    on[number] = on.get(number, 0) | 1 << position
        return hits

    def broken(self, first: dict[int, int], other: dict[int, int]) -> tuple[str, ...]:
        """The axioms that an individual breaks that is on these two sides."""
        groups = (n for n in sorted(first.keys() & other.keys()) if (first[n] | other[n]).bit_count() > 1)
        return tuple(dict.fromkeys(self.found.disjoint[n].axiom for n in groups))

    def alone(self) -> Iterator[Rule]:
        """Yields the rules for concepts whose members break an axiom without a second fact."""
        for axiom, concepts in self.found.alone.items():
            for concept in bits(concepts & self.found.streams):
                yield self.clash(axiom, _X, _X, self.member(concept))

    def front(self, rules: Iterable[Rule]) -> tuple[Rule, ...]:
        """The rules that derive the concepts in the bodies of `rules`: values of roles, and conjunctions."""
        makers: dict[str, list[Rule]] = {}
        for rule in self.meets():
            makers.setdefault(rule.head.predicate, []).append(rule)
        conjunctions: list[Rule] = []
        names = dict.fromkeys(atom.predicate for rule in rules for atom in atoms_of(rule))
        waiting = list(names)
        while waiting:
            definitions = makers.get(waiting.pop(), [])
            conjunctions += definitions
            needed = (atom.predicate for rule in definitions for atom in atoms_of(rule))
            new = dict.fromkeys(name for name in needed if name not in names)
            names |= new
            waiting += new
        return (*(self.value(self.place[name]) for name in sorted(names) if self.is_value(name)), *conjunctions)

    def is_value(self, predicate: str) -> bool:
        return predicate in self.place and isinstance(self.found.concepts[self.place[predicate]], Existential)

    def value(self, concept: int) -> Rule:
        """The rule for a concept ∃R: it contains what has a value by the role."""
        restriction = self.found.concepts[concept]
        assert isinstance(restriction, Existential)
        return Rule(Atom(self.found.name(concept), (_X,)), (related(restriction.role, _X, Variable("_'1")),))

    def meets(self) -> Iterator[Rule]:
        """Yields the rules for conjunctions: their members are in all parts, or in classes below these."""
        for meet, parts in self.found.meets:
            within = [f"among'{self.found.name(part)}" for part in parts]
            yield Rule(Atom(self.found.name(meet), (_X,)), tuple(Now(Atom(part, (_X,))) for part in within))
            for part, predicate in zip(parts, within, strict=True):
                for concept in bits(self.found.order.below[part] & self.found.streams & ~(1 << meet)):
                    yield Rule(Atom(predicate, (_X,)), (self.member(concept),))

    # Roles

    def roles_pairwise(self) -> Iterator[Rule]:
        """Yields a rule for every two disjoint roles, and for every irreflexive role."""
        below = self.found.role_order.below
        for group in self.found.disjoint_roles:
            for member, other in combinations(group.members, 2):
                for first in self.roles(below[member]):
                    for second in self.roles(below[other]):
                        yield from self.disjoint_roles(group.axiom, first, second)
        for group in self.found.irreflexive:
            for role in self.roles(below[group.members[0]]):
                yield from self.disjoint_roles(group.axiom, role, SELF)

    def disjoint_roles(self, axiom: str, role: Role, other: Role) -> Iterator[Rule]:
        """Yields the rule that reports a pair of two disjoint roles; everything is related to itself by `SELF`."""
        if SELF not in (role, other):
            yield self.clash(axiom, _X, _Y, related(role, _X, _Y), related(other, _X, _Y))
        elif role != other:
            yield self.clash(axiom, _X, _X, related(role if other == SELF else other, _X, _X))

    def roles_upwards(self) -> Iterator[Rule]:
        """Yields the same rules over the roles that axioms name, and rules that derive these from their subroles."""
        named: dict[Role, None] = {}
        groups = [(group.axiom, pair) for group in self.found.disjoint_roles for pair in combinations(group.members, 2)]
        for axiom, places in groups:
            first, other = (self.found.roles[place] for place in places)
            named |= dict.fromkeys((first, other))
            yield self.clash(axiom, _X, _Y, self.pair(first, _X, _Y), self.pair(other, _X, _Y))
            for side, another in ((first, other), (other, first)):
                if self.is_reflexive(side):
                    yield self.clash(axiom, _X, _X, self.pair(another, _X, _X))
        for group in self.found.irreflexive:
            role = self.found.roles[group.members[0]]
            named |= {role: None}
            yield self.clash(group.axiom, _X, _X, self.pair(role, _X, _X))
        for role in dict.fromkeys(_forwards(role) for role in named):
            yield from self.subroles(role)

    def subroles(self, role: Role) -> Iterator[Rule]:
        head = Atom(f"pair'{role.name}", (_X, _Y))
        below = self.found.role_order.below[self.found.roles.index(role)]
        yield from (Rule(head, (related(sub, _X, _Y),)) for sub in self.roles(below) if sub != SELF)

    def roles(self, among: int) -> Iterator[Role]:
        """The roles that facts can be about, and `SELF`."""
        candidates = map(self.found.roles.__getitem__, bits(among))
        return (role for role in candidates if role == SELF or not role.fresh)

    def is_reflexive(self, role: Role) -> bool:
        return SELF in self.roles(self.found.role_order.below[self.found.roles.index(role)])

    def pair(self, role: Role, subject: Variable, other: Variable) -> Now:
        forwards = _forwards(role)
        return related(Role(f"pair'{forwards.name}", inverse=role != forwards), subject, other)

    # Single rules

    def member(self, concept: int) -> Now:
        return Now(Atom(self.found.name(concept), (_X,)))

    def clash(self, axiom: str, individual: Variable, other: Variable, *body: Literal) -> Rule:
        return clash(axiom, individual, other, body, self.spans[self.lines[axiom]])


class _Pipeline(Writer):
    """Writes the rules of bolts."""

    def __init__(self, closure: Negative, bolts: Sequence[Bolt], name: str) -> None:
        super().__init__(closure, name)
        self.bolts = bolts
        self.made = {sup for _, inferences, _ in bolts for _, sup in inferences}
        self.lost = list(self.lost_pairs())
        self.watched = {axiom for _, _, _, seen in self.lost for axiom in seen}
        self.sets: dict[tuple[int, tuple[str, ...]], str] = {}

    def checks(self) -> ConsistencyRules:
        bolts = [tuple(self.operations(number, *bolt[:2])) for number, bolt in enumerate(self.bolts)]
        forward = (Rule(Atom(f"in'{name}", (_X,)), (Now(Atom(name, (_X,))),)) for name in sorted(self.made))
        bolts[0] = (*self.alone(), *self.clashing_alone(), *forward, *bolts[0])
        back, background = self.back()
        clashes = tuple(rule for (_, axioms), name in self.sets.items() for rule in self.clashes(axioms, name))
        every = tuple(rule for bolt in bolts for rule in bolt)
        roles = self.roles_pairwise() if len(bolts) == 1 else self.roles_upwards()
        # What makes concepts comes first, and what looks back at axioms that bolts have lost sight of comes last.
        rules = (*self.front((*every, *back)), *every, *roles, *clashes, *back)
        pinned = frozenset(self.pinned()) if len(bolts) > 1 else frozenset[tuple[Predicate, int]]()
        return ConsistencyRules(tuple(dict.fromkeys(rules)), background, pinned)

    def pinned(self) -> Iterator[tuple[Predicate, int]]:
        """A class is derived in the last bolt that adds members to it; what is output, in the last bolt."""
        yield Predicate(INCONSISTENT, 3), len(self.bolts) - 1
        yield from ((Predicate(name, 1), number) for (number, _), name in self.sets.items())
        last = {sup: number for number, (_, inferences, _) in enumerate(self.bolts) for _, sup in inferences}
        yield from ((Predicate(f"in'{sup}", 1), number) for sup, number in last.items())

    def operations(self, number: int, conjunctions: Iterable[Pair], inferences: Iterable[Pair]) -> Iterator[Rule]:
        for concept, other in conjunctions:
            yield self.conjunction(number, concept, other)
        for sub, sup in inferences:
            yield Rule(Atom(f"in'{sup}", (_X,)), (self.arrived(sub),))

    def arrived(self, name: str) -> Now:
        """The literal for the members of a class, as they come to the bolt that looks at it."""
        return Now(Atom(f"in'{name}" if name in self.made else name, (_X,)))

    def conjunction(self, number: int, concept: str, other: str) -> Rule:
        """One check for a pair, however many axioms it breaks; where bolts follow, the result is passed on to them."""
        axioms = self.broken(self.hits[self.place[concept]], self.hits[self.place[other]])
        body = (self.arrived(concept), self.arrived(other))
        if len(self.bolts) == len(axioms) == 1 and self.watched.isdisjoint(axioms):
            return self.clash(axioms[0], _X, _X, *body)
        predicate = self.sets.setdefault((number, axioms), f"both'{len(self.sets)}")
        return Rule(Atom(predicate, (_X,)), body, span=self.spans[self.lines[axioms[0]]])

    def clashes(self, axioms: tuple[str, ...], predicate: str) -> Iterator[Rule]:
        """Yields a rule for each axiom that members of `predicate` break, which are in both classes of a pair."""
        clashing = Now(Atom(predicate, (_X,)))
        yield from (self.clash(axiom, _X, _X, clashing) for axiom in axioms)
        if not self.watched.isdisjoint(axioms):
            yield Rule(Atom("clashing'", (_X,)), (clashing,))

    def clashing_alone(self) -> Iterator[Rule]:
        """Yields the rules for members that break a watched axiom without a second fact: bolts do not pass them on."""
        for axiom, concepts in self.found.alone.items():
            if axiom in self.watched:
                for concept in bits(concepts & self.found.streams):
                    yield Rule(Atom("clashing'", (_X,)), (self.member(concept),))

    def lost_pairs(self) -> Iterator[tuple[int, int, str, tuple[str, ...]]]:
        """Disjoint pairs that no bolt sees, because members of one are members of something else by then; each with the
        axioms that are broken with it, and are seen.
        """
        checked = [pair for conjunctions, _, _ in self.bolts for pair in conjunctions]
        above = self.found.order.above
        first = {above[n]: n for n in reversed(list(bits(self.found.streams)))}
        same = [first.get(over, n) for n, over in enumerate(above)]
        seen = {frozenset((same[self.place[name]], same[self.place[other]])) for name, other in checked}
        partners: dict[int, list[int]] = {}
        for concept, other in map(tuple, (pair for pair in seen if len(pair) == 2)):
            partners.setdefault(concept, []).append(other)
            partners.setdefault(other, []).append(concept)
        for group in self.found.disjoint:
            alone = self.found.alone.get(group.axiom, 0)
            for member, other in combinations(group.members, 2):
                if self.is_checked_otherwise(member, other, alone) or frozenset((same[member], same[other])) in seen:
                    continue
                checked_pair = self.pair_above(member, other, partners)
                yield member, other, group.axiom, self.broken(self.hits[checked_pair[0]], self.hits[checked_pair[1]])

    def is_checked_otherwise(self, concept: int, other: int, alone: int) -> bool:
        """Whether no two facts are needed, or no fact can be about one of the two."""
        streams = [self.found.order.below[side] & self.found.streams for side in (concept, other)]
        return bool(alone >> concept & 1 or alone >> other & 1 or not all(streams))

    def pair_above(self, concept: int, other: int, partners: dict[int, list[int]]) -> tuple[int, int]:
        """A pair of concepts that bolts check, the first above `concept`, the second above `other`."""
        above, above_other = self.found.order.above[concept], self.found.order.above[other]
        return next((n, m) for n in bits(above) for m in partners.get(n, ()) if above_other >> m & 1)

    def back(self) -> tuple[tuple[Rule, ...], tuple[Fact, ...]]:
        """The rules and facts that find the lost pairs that clashing individuals are in."""
        if not self.lost:
            return (), ()
        pairs = dict.fromkeys((member, other, axiom) for member, other, axiom, _ in self.lost)
        sides = {side for member, other, _ in pairs for side in (member, other)}
        below = {side: self.found.order.below[side] & self.found.streams for side in sides}
        concepts = sorted({concept for numbers in below.values() for concept in bits(numbers)})
        clashing = Now(Atom("clashing'", (_X,)))
        rules = [
            Rule(Atom(KIND, (_X, Constant(str(concept)))), (clashing, self.member(concept))) for concept in concepts
        ]
        facts = [fact("apart'", str(member), str(other), quote(axiom)) for member, other, axiom in pairs]
        facts += [fact("under'", str(concept), str(side)) for side in sorted(sides) for concept in bits(below[side])]
        return (*rules, *by_side(Atom(KIND, (_X, _K)))), tuple(facts)


def apart(sort: Atom, other: Atom) -> Rule:
    """The rule that reports what is of two sorts that exclude each other: `sort` with K, and `other` with L."""
    differ = () if sort.predicate != other.predicate else (Comparison("!=", _K, _L),)
    return Rule(Atom(INCONSISTENT, (_A, _X, _X)), (Now(sort), Now(other), *differ, Now(Atom("apart'", (_K, _L, _A)))))


def by_side(*kinds: Atom) -> Iterator[Rule]:
    """The rules that derive the sides of each kind, and report what is on two that exclude each other."""
    yield from (Rule(Atom("side'", (_X, _L)), (Now(kind), Now(Atom("under'", (_K, _L))))) for kind in kinds)
    yield apart(Atom("side'", (_X, _K)), Atom("side'", (_X, _L)))


def _forwards(role: Role) -> Role:
    return role.flipped() if role.inverse else role


def fact(predicate: str, *args: str) -> Fact:
    return Fact(predicate, args)
