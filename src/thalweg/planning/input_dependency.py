"""What the inputs of a program have to do with each other, and how it can be solved in pieces without changing answers.

An input *reaches* a predicate if rules lead from the one to the other. Two inputs *meet* if they reach two different
atoms of one body, or one predicate that is negated, aggregated or chosen: then their facts must be looked at together.
Communities are the maximal cliques of that graph; those that share more than they differ by half are merged. In each
community only the rules are evaluated whose negated and aggregated atoms have all of their inputs there. So whatever
is derived there holds, and everything that holds is derived somewhere: the inputs of a derivation meet pairwise.

That is right where there is one answer set. A *part* of a program with choices is solved as a whole; only parts that
have nothing in common can be solved apart, and then every combination of their answer sets is one of the whole.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

from thalweg.ir.outline import Outline, strata_of
from thalweg.planning.cliques import components, maximal_cliques, merged
from thalweg.planning.keys import Keys, find_keys

Edge = tuple[str, str]
NON_DETERMINISTIC = ("choice", "disjunction")


@dataclass(frozen=True, slots=True)
class Part:
    """Statements that are connected, by number, and the inputs that they look at.

    A `deterministic` part has one answer set, or none where a constraint forbids it.
    """

    rules: tuple[int, ...]
    inputs: tuple[str, ...]
    deterministic: bool


@dataclass(frozen=True, slots=True)
class Piece:
    """What is solved on its own: the statements to evaluate over the facts of some inputs; and the part it is of.

    The answer of a deterministic part is the union of the answers of its pieces, and there is none where one of them
    has none. Any other part is one piece.
    """

    inputs: tuple[str, ...]
    rules: tuple[int, ...]
    part: int


@dataclass(frozen=True)
class Dependency:
    """The graphs of a program and what follows from them.

    >>> from thalweg.ir.outline import outline
    >>> rules = outline("", "a/1", "p/1", "not q/1"), outline("", "b/1", "p/1", "r/1")
    >>> found = Dependency(rules, ("p/1", "q/1", "r/1"))
    >>> found.communities
    (('p/1', 'q/1'), ('p/1', 'r/1'))
    >>> [found.rules_of(community) for community in found.communities]
    [(0,), (1,)]
    """

    outlines: tuple[Outline, ...]
    inputs: tuple[str, ...]

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        return tuple(sorted({name for one in self.outlines for name in one.predicates} | set(self.inputs)))

    @cached_property
    def directed(self) -> tuple[Edge, ...]:
        """From each predicate of a body to those of the head."""
        return tuple(
            sorted({(need.predicate, head) for one in self.outlines for need in one.body for head in one.heads})
        )

    @cached_property
    def undirected(self) -> tuple[Edge, ...]:
        """Between the atoms of a body, two of the same predicate included; and from what must be settled to itself."""
        found = {
            (min(one.predicate, other.predicate), max(one.predicate, other.predicate))
            for rule in self.outlines
            for one, other in combinations(rule.body, 2)
        }
        return tuple(sorted(found | {(name, name) for name in self.settled}))

    @cached_property
    def settled(self) -> frozenset[str]:
        """The predicates that are negated, aggregated or chosen somewhere."""
        needed = {need.predicate for one in self.outlines for need in one.body if need.settled}
        chosen = {name for one in self.outlines if one.kind in NON_DETERMINISTIC for name in one.predicates}
        return frozenset(needed | chosen)

    @cached_property
    def reaching(self) -> dict[str, frozenset[str]]:
        """The inputs that reach each predicate."""
        found = {name: ({name} if name in self.inputs else set()) for name in self.nodes}
        changed = True
        while changed:
            before = sum(map(len, found.values()))
            for start, end in self.directed:
                found[end] |= found[start]
            changed = sum(map(len, found.values())) > before
        return {name: frozenset(inputs) for name, inputs in found.items()}

    @cached_property
    def meetings(self) -> frozenset[Edge]:
        """The pairs of inputs that meet, each in both directions; an input may meet itself."""
        found: set[Edge] = set()
        for one, other in self.undirected:
            found.update(product(self.reaching[one], self.reaching[other]))
        return frozenset(found | {(other, one) for one, other in found})

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """The input dependency graph: which inputs meet."""
        return tuple(sorted((one, other) for one, other in self.meetings if one < other))

    @cached_property
    def loops(self) -> tuple[str, ...]:
        """The inputs of which two facts may have to be looked at together."""
        return tuple(sorted(one for one, other in self.meetings if one == other))

    @cached_property
    def communities(self) -> tuple[tuple[str, ...], ...]:
        cliques = merged(maximal_cliques(self.inputs, self.edges))
        return tuple(sorted(tuple(sorted(clique)) for clique in cliques))

    def rules_of(self, community: Iterable[str]) -> tuple[int, ...]:
        """The statements to evaluate in a community: all that can apply there, and whose settled atoms are complete."""
        inside = frozenset(community)
        waiting = {
            number
            for number, one in enumerate(self.outlines)
            if all(self.reaching[need.predicate] <= inside for need in one.body if need.settled)
        }
        known, chosen = set(inside), set[int]()
        while ready := {number for number in waiting if self._applies(number, known)}:
            waiting -= ready
            chosen |= ready
            known.update(head for number in ready for head in self.outlines[number].heads)
        return tuple(sorted(chosen))

    def _applies(self, number: int, known: set[str]) -> bool:
        return all(need.settled or need.predicate in known for need in self.outlines[number].body)

    @cached_property
    def strata(self) -> list[list[str]] | None:
        """What must be settled before what; None where that runs in a circle."""
        return strata_of(self.outlines)

    @cached_property
    def deterministic(self) -> bool:
        """Whether there is exactly one answer set, unless a constraint forbids it."""
        return all(part.deterministic for part in self.parts)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """What has nothing in common. Facts of the program connect nothing: every part can have its own."""
        links = [(f"statement {number}", name) for number, names in enumerate(self._linking) for name in names]
        statements = [f"statement {number}" for number in range(len(self.outlines))]
        groups = components([*self.inputs, *statements], [*links, *self._weak_links])
        found = [part for group in groups if (part := self._part(group)) is not None]
        placed = {number for part in found for number in part.rules}
        if left := tuple(number for number in range(len(self.outlines)) if number not in placed):
            found.append(Part(left, (), True))
        return tuple(sorted(found, key=lambda part: (part.rules, part.inputs)))

    @cached_property
    def _linking(self) -> list[frozenset[str]]:
        defined = {head for one in self.outlines if not one.is_fact for head in one.heads} | set(self.inputs)
        plain = {head for one in self.outlines if one.is_fact for head in one.heads} - defined
        return [one.predicates - plain for one in self.outlines]

    @property
    def _weak_links(self) -> list[Edge]:
        """The same penalty counts once, whoever demands it: weak constraints belong together."""
        weak = [f"statement {number}" for number, one in enumerate(self.outlines) if one.kind == "weak"]
        return [(weak[0], other) for other in weak[1:]]

    def _part(self, group: frozenset[str]) -> Part | None:
        inputs = tuple(sorted(group & set(self.inputs)))
        rules = {number for number in range(len(self.outlines)) if f"statement {number}" in group}
        if not inputs and all(self.outlines[number].is_fact and not self._linking[number] for number in rules):
            return None
        needed = {name for number in rules for name in self.outlines[number].predicates}
        rules |= {number for number, one in enumerate(self.outlines) if one.is_fact and needed & set(one.heads)}
        own = [self.outlines[number] for number in sorted(rules)]
        one_answer = all(one.kind not in NON_DETERMINISTIC for one in own) and strata_of(own) is not None
        return Part(tuple(sorted(rules)), inputs, one_answer)

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """What is solved on its own, part by part."""
        return tuple(piece for number, part in enumerate(self.parts) for piece in self._pieces(number, part))

    def keys(self, piece: Piece) -> Keys | None:
        """By which argument the facts of a piece can be spread further, for each predicate; None where they cannot."""
        if not self.parts[piece.part].deterministic:
            return None
        carried = frozenset(name for name, inputs in self.reaching.items() if inputs)
        return find_keys([self.outlines[number] for number in piece.rules], carried)

    def _pieces(self, number: int, part: Part) -> Iterable[Piece]:
        if not part.deterministic or not part.inputs:
            return [Piece(part.inputs, part.rules, number)]
        own = [set(community) for community in self.communities if set(community) <= set(part.inputs)]
        largest = [one for one in own if not any(one < other for other in own)]
        return [
            Piece(tuple(sorted(one)), tuple(sorted(set(self.rules_of(one)) & set(part.rules))), number)
            for one in largest
        ]


def analyse(outlines: Sequence[Outline], inputs: Iterable[str]) -> Dependency:
    """The dependency graphs of a program."""
    return Dependency(tuple(outlines), tuple(sorted(set(inputs))))
