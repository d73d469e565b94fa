"""One rule for all disjoint pairs: of a class nothing matters but which sides of disjointness axioms it is on.

    kind'(X,0,0) :- <Person>(X).    kind'(X,0,1) :- <Student>(X).    kind'(X,1,2) :- <Work>(X).
    inconsistent(A,X,X) :- kind'(X,K,_), kind'(X,L,_), K != L, apart'(K,L,A).        apart'(0,1,"Disjoint…").

Classes on the same sides are of one kind; each has a number of its own as well, which shows what was asserted. Which
kinds do not go together is a table, small where a hierarchy is deep; where it would be large, kinds become the sides
that they are on.

Kinds of streamed facts are kept apart from derived ones: they need not be derived (see `fuse_input_copies`).
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import combinations, combinations_with_replacement
from typing import Final

from thalweg.ir.nodes import Atom, Comparison, Constant, Now, Rule, Variable
from thalweg.languages.owl.axiom_rules import INCONSISTENT
from thalweg.languages.owl.consistency_rules import KIND, ConsistencyRules, Writer, apart, by_side, fact
from thalweg.languages.owl.dl_lite import Existential
from thalweg.languages.owl.negative import DisjointGroup, Negative
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.term import quote
from thalweg.planning.topology import bits

_MADE: Final = "made'"
_X, _K, _L, _A, _G = map(Variable, "XKLAG")
# The most pairs of kinds that are kept as a table; for more, sides are looked at one by one.
_TABLE: Final = 100_000
# From here on the members of a group are numbered instead of paired.
_MANY: Final = 6

Kinds = dict[int, dict[int, int]]
"""For each kind the groups that it is in, and which members of them it is below (bits)."""


def by_sides(closure: Negative, name: str = "ontology") -> ConsistencyRules:
    """The rules that know of a class nothing but which sides of disjointness axioms it is on.

    >>> from thalweg.ir.text import show
    >>> from thalweg.languages.owl.axioms import DisjointClasses
    >>> from thalweg.languages.owl.negative import close
    >>> print(*map(show, by_sides(close([DisjointClasses(("<A>", "<B>"))])).rules[1:]), sep="\\n")
    kind'(X,0,0) :- <A>(X).
    kind'(X,1,1) :- <B>(X).
    inconsistent(A,X,X) :- kind'(X,K,_), kind'(X,L,_), K != L, apart'(K,L,A).
    """
    writer = _Sides(closure, name)
    by_kind, background = writer.by_kind()
    classes = (*writer.alone(), *by_kind)
    rules = dict.fromkeys((*writer.front(classes), *classes, *writer.roles_upwards()))
    return ConsistencyRules(tuple(rules), background, gathered=frozenset({Predicate(KIND, 3)}))


class _Sides(Writer):
    """Writes the rules for all pairs at once."""

    @cached_property
    def kinds(self) -> Kinds:
        return {kind: dict(sides) for sides, kind in self._numbered.items()}

    @cached_property
    def _numbered(self) -> dict[frozenset[tuple[int, int]], int]:
        numbers: dict[frozenset[tuple[int, int]], int] = {}
        for hit in self.hits.values():
            numbers.setdefault(frozenset(hit.items()), len(numbers))
        return numbers

    def by_kind(self) -> tuple[tuple[Rule, ...], tuple[Fact, ...]]:
        """The rules and facts that report what is of two kinds that exclude each other."""
        rules = [self.kind(concept) for concept in sorted(self.hits)]
        if not rules:
            return (), ()
        predicates = sorted({rule.head.predicate for rule in rules})
        if self.table_size() > _TABLE:
            more, background = self.one_by_one(predicates)
            return (*rules, *more), background
        pairs = ((kind, other, self.broken(self.kinds[kind], self.kinds[other])) for kind, other in self.meeting())
        facts = tuple(
            fact("apart'", str(kind), str(other), quote(axiom))
            for k, m, axioms in pairs
            for axiom in axioms
            for kind, other in ((k, m), (m, k))
        )
        if not facts:
            return (), ()
        twice = combinations_with_replacement(predicates, 2)
        looking = (apart(_sort(predicate, _K, "_'1"), _sort(other, _L, "_'2")) for predicate, other in twice)
        return (*rules, *looking), facts

    def kind(self, concept: int) -> Rule:
        streamed = self.found.name(concept)[0] == "<"
        is_value = isinstance(self.found.concepts[concept], Existential)
        body = self.value(concept).body if is_value else (self.member(concept),)
        numbers = (self._numbered[frozenset(self.hits[concept].items())], concept)
        return Rule(Atom(KIND if streamed else _MADE, (_X, *(Constant(str(number)) for number in numbers))), body)

    def on_sides(self) -> dict[int, list[list[int]]]:
        """For each group the kinds below each of its members."""
        sides = {n: [list[int]() for _ in group.members] for n, group in enumerate(self.found.disjoint)}
        for kind, hit in self.kinds.items():
            for number, positions in hit.items():
                for position in bits(positions):
                    sides[number][position].append(kind)
        return sides

    def table_size(self) -> int:
        lengths = ([len(side) for side in sides] for sides in self.on_sides().values())
        return sum((sum(counts) ** 2 - sum(n * n for n in counts)) // 2 for counts in lengths)

    def meeting(self) -> Iterable[tuple[int, int]]:
        """Pairs of kinds that do not go together."""
        pairs: dict[tuple[int, int], None] = {}
        for sides in self.on_sides().values():
            for ones, opposite in combinations(sides, 2):
                pairs |= {(min(k, m), max(k, m)): None for k in ones for m in opposite if k != m}
        return pairs

    def one_by_one(self, predicates: list[str]) -> tuple[tuple[Rule, ...], tuple[Fact, ...]]:
        """The rules and facts that compare the sides of kinds, for ontologies with too many pairs of kinds."""
        rules: list[Rule] = []
        facts: dict[Fact, None] = {}
        groups = list(enumerate(self.found.disjoint))
        small = [(number, group) for number, group in groups if len(group.members) < _MANY]
        if small:
            rules += by_side(*(_sort(predicate, _K) for predicate in predicates))
            pairs = [(*pair, group.axiom) for _, group in small for pair in combinations(group.members, 2)]
            numbers = {number for number, _ in small}
            facts |= dict.fromkeys(self.side_facts(pairs, numbers))
        if len(small) < len(groups):
            rules += _by_place(predicates)
            facts |= dict.fromkeys(self.place_facts([entry for entry in groups if entry not in small]))
        return tuple(rules), tuple(facts)

    def side_facts(self, pairs: Iterable[tuple[int, int, str]], groups: Iterable[int]) -> Iterator[Fact]:
        for member, other, axiom in pairs:
            yield fact("apart'", str(member), str(other), quote(axiom))
        wanted = set(groups)
        for kind, hit in self.kinds.items():
            for number in wanted & hit.keys():
                for position in bits(hit[number]):
                    yield fact("under'", str(kind), str(self.found.disjoint[number].members[position]))

    def place_facts(self, groups: list[tuple[int, DisjointGroup]]) -> Iterator[Fact]:
        for number, group in groups:
            yield fact("axiom'", str(number), quote(group.axiom))
        wanted = {number for number, _ in groups}
        for kind, hit in self.kinds.items():
            for number in wanted & hit.keys():
                yield from (fact("inside'", str(kind), str(number), str(place)) for place in bits(hit[number]))


def _by_place(predicates: Iterable[str]) -> Iterator[Rule]:
    """The rules that derive the group members above each kind, and report what is below two of one group."""
    for predicate in predicates:
        body = (Now(_sort(predicate, _K)), Now(Atom("inside'", (_K, _G, _L))))
        yield Rule(Atom("place'", (_X, _G, _L)), body)
    places = (Now(Atom("place'", (_X, _G, place))) for place in (_K, _L))
    axiom = Now(Atom("axiom'", (_G, _A)))
    yield Rule(Atom(INCONSISTENT, (_A, _X, _X)), (*places, Comparison("<", _K, _L), axiom))


def _sort(predicate: str, kind: Variable, any_concept: str = "_'1") -> Atom:
    """The atom "X is of a kind", with any concept as the reason."""
    return Atom(predicate, (_X, kind, Variable(any_concept)))
