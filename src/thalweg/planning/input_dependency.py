"""How the inputs of a program depend on each other, and how it can be solved in pieces without changing answers.

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
from thalweg.model.predicate import Predicate
from thalweg.planning.cliques import components, maximal_cliques, merged
from thalweg.planning.keys import Keys, find_keys

PredicateEdge = tuple[Predicate, Predicate]
NON_DETERMINISTIC = ("choice", "disjunction")


@dataclass(frozen=True, slots=True)
class ConnectedPart:
    """Statements that are connected, by number, and the inputs that they look at.

    A `deterministic` part has one answer set, or none where a constraint forbids it.
    """

    rules: tuple[int, ...]
    inputs: tuple[Predicate, ...]
    deterministic: bool


@dataclass(frozen=True, slots=True)
class Piece:
    """A unit solved on its own: the statements to evaluate over the facts of some inputs, and the number of its part.

    The answer of a deterministic part is the union of the answers of its pieces, and there is none where one of them
    has none. Any other part is one piece.
    """

    inputs: tuple[Predicate, ...]
    rules: tuple[int, ...]
    part: int


@dataclass(frozen=True)
class Dependency:
    """The graphs of a program and what follows from them.

    >>> from thalweg.ir.outline import outline
    >>> rules = outline("", "a/1", "p/1", "not q/1"), outline("", "b/1", "p/1", "r/1")
    >>> found = Dependency(rules, tuple(Predicate(name, 1) for name in "pqr"))
    >>> found.communities
    (('p/1', 'q/1'), ('p/1', 'r/1'))
    >>> [found.rules_of(community) for community in found.communities]
    [(0,), (1,)]
    """

    outlines: tuple[Outline, ...]
    inputs: tuple[Predicate, ...]

    @cached_property
    def nodes(self) -> tuple[Predicate, ...]:
        return tuple(sorted({name for outline in self.outlines for name in outline.predicates} | set(self.inputs)))

    @cached_property
    def directed(self) -> tuple[PredicateEdge, ...]:
        """From each predicate of a body to those of the head."""
        return tuple(
            sorted(
                {(need.predicate, head) for outline in self.outlines for need in outline.body for head in outline.heads}
            )
        )

    @cached_property
    def undirected(self) -> tuple[PredicateEdge, ...]:
        """Between the atoms of a body, two of the same predicate included; and from what must be settled to itself."""
        edges = {
            (min(first.predicate, second.predicate), max(first.predicate, second.predicate))
            for rule in self.outlines
            for first, second in combinations(rule.body, 2)
        }
        return tuple(sorted(edges | {(name, name) for name in self.settled}))

    @cached_property
    def settled(self) -> frozenset[Predicate]:
        """The predicates that are negated, aggregated or chosen somewhere."""
        needed = {need.predicate for outline in self.outlines for need in outline.body if need.settled}
        chosen = {name for outline in self.outlines if outline.kind in NON_DETERMINISTIC for name in outline.predicates}
        return frozenset(needed | chosen)

    @cached_property
    def reaching(self) -> dict[Predicate, frozenset[Predicate]]:
        """The inputs that reach each predicate."""
        sources = {name: ({name} if name in self.inputs else set()) for name in self.nodes}
        changed = True
        while changed:
            before = sum(map(len, sources.values()))
            for start, end in self.directed:
                sources[end] |= sources[start]
            changed = sum(map(len, sources.values())) > before
        return {name: frozenset(inputs) for name, inputs in sources.items()}

    @cached_property
    def meetings(self) -> frozenset[PredicateEdge]:
        """The pairs of inputs that meet, each in both directions; an input may meet itself."""
        pairs: set[PredicateEdge] = set()
        for first, second in self.undirected:
            pairs.update(product(self.reaching[first], self.reaching[second]))
        return frozenset(pairs | {(second, first) for first, second in pairs})

    @cached_property
    def edges(self) -> tuple[PredicateEdge, ...]:
        """The input dependency graph: which inputs meet."""
        return tuple(sorted((first, second) for first, second in self.meetings if first < second))

    @cached_property
    def loops(self) -> tuple[Predicate, ...]:
        """The inputs of which two facts may have to be looked at together."""
        return tuple(sorted(first for first, second in self.meetings if first == second))

    @cached_property
    def communities(self) -> tuple[tuple[Predicate, ...], ...]:
        cliques = merged(maximal_cliques(self.inputs, self.edges))
        return tuple(sorted(tuple(sorted(clique)) for clique in cliques))

    def rules_of(self, community: Iterable[Predicate]) -> tuple[int, ...]:
        """The statements to evaluate in a community: all that can apply there, and whose settled atoms are complete."""
        inside = frozenset(community)
        waiting = {
            number
            for number, outline in enumerate(self.outlines)
            if all(self.reaching[need.predicate] <= inside for need in outline.body if need.settled)
        }
        available, chosen = set(inside), set[int]()
        while ready := {number for number in waiting if self._applies(number, available)}:
            waiting -= ready
            chosen |= ready
            available.update(head for number in ready for head in self.outlines[number].heads)
        return tuple(sorted(chosen))

    def _applies(self, number: int, available: set[Predicate]) -> bool:
        return all(need.settled or need.predicate in available for need in self.outlines[number].body)

    @cached_property
    def strata(self) -> list[list[Predicate]] | None:
        """The derived predicates of each stratum; None where negation or an aggregate runs in a circle."""
        return strata_of(self.outlines)

    @cached_property
    def deterministic(self) -> bool:
        """Whether there is exactly one answer set, unless a constraint forbids it."""
        return all(part.deterministic for part in self.parts)

    @cached_property
    def parts(self) -> tuple[ConnectedPart, ...]:
        """The parts that have nothing in common. Facts of the program connect nothing: every part has its own."""
        plain = self._plain
        linked = [
            number
            for number, outline in enumerate(self.outlines)
            if not (outline.is_fact and plain.issuperset(outline.heads))
        ]
        links = [(_node(number), name) for number in linked for name in self.outlines[number].predicates - plain]
        groups = components([*self.inputs, *map(_node, linked)], [*links, *self._weak_links])
        place = {name: number for number, group in enumerate(groups) for name in group}
        rules: list[list[int]] = [[] for _ in groups]
        for number in linked:
            rules[place[_node(number)]].append(number)
        parts = [self._part(*pair) for pair in zip(groups, rules, strict=True)]
        placed = {number for part in parts for number in part.rules}
        if left := tuple(number for number in range(len(self.outlines)) if number not in placed):
            parts.append(ConnectedPart(left, (), True))
        return tuple(sorted(parts, key=lambda part: (part.rules, part.inputs)))

    @cached_property
    def _plain(self) -> frozenset[Predicate]:
        """Predicates that have facts in the program and nothing else."""
        facts = {head for outline in self.outlines if outline.is_fact for head in outline.heads}
        return frozenset(
            facts - {head for outline in self.outlines if not outline.is_fact for head in outline.heads}
        ) - set(self.inputs)

    @cached_property
    def _facts(self) -> dict[Predicate, list[int]]:
        """The facts of each predicate that has nothing else."""
        by_predicate: dict[Predicate, list[int]] = {}
        for number, outline in enumerate(self.outlines):
            for head in self._plain.intersection(outline.heads):
                by_predicate.setdefault(head, []).append(number)
        return by_predicate

    @property
    def _weak_links(self) -> list[tuple[str, str]]:
        """The same penalty counts once, whichever rule demands it: weak constraints belong together."""
        weak = [_node(number) for number, outline in enumerate(self.outlines) if outline.kind == "weak"]
        return [(weak[0], other) for other in weak[1:]]

    def _part(self, group: frozenset[str], rules: list[int]) -> ConnectedPart:
        needed = {name for number in rules for name in self.outlines[number].predicates}
        facts = {number for name in needed for number in self._facts.get(name, ())}
        own = [self.outlines[number] for number in rules]
        one_answer = all(outline.kind not in NON_DETERMINISTIC for outline in own) and strata_of(own) is not None
        return ConnectedPart(tuple(sorted(facts.union(rules))), tuple(sorted(set(self.inputs) & group)), one_answer)

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces that are solved on their own, part by part."""
        return tuple(piece for number, part in enumerate(self.parts) for piece in self._pieces(number, part))

    def keys(self, piece: Piece) -> Keys | None:
        """By which argument the facts of a piece can be spread further, for each predicate; None where they cannot."""
        if not self.parts[piece.part].deterministic:
            return None
        carried = frozenset(name for name, inputs in self.reaching.items() if inputs)
        return find_keys([self.outlines[number] for number in piece.rules], carried)

    def _pieces(self, number: int, part: ConnectedPart) -> Iterable[Piece]:
        if not part.deterministic or not part.inputs:
            return [Piece(part.inputs, part.rules, number)]
        own = [set(community) for community in self.communities if set(community) <= set(part.inputs)]
        largest = [members for members in own if not any(members < other for other in own)]
        return [
            Piece(tuple(sorted(members)), tuple(sorted(set(self.rules_of(members)) & set(part.rules))), number)
            for members in largest
        ]


def analyse(outlines: Sequence[Outline], inputs: Iterable[Predicate]) -> Dependency:
    """The dependency graphs of a program."""
    return Dependency(tuple(outlines), tuple(sorted(set(inputs))))


def _node(statement: int) -> str:
    """A statement among predicates."""
    return f"statement {statement}"
