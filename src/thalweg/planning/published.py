"""The decomposition of inputs as it was published (Pham, Ali, Mileo: definitions 1 to 3, algorithms 1 to 3).

Each community evaluates the whole program. That is not always right, for two reasons: a community in which some inputs
of a negated atom are missing derives what does not hold; and two occurrences of one derived predicate in a body are not
seen to meet, so that what follows from both together is not derived. Where that can happen, there is a `Doubt`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product

from thalweg.diagnostics import NOWHERE, Diagnostic, Span
from thalweg.ir.outline import Outline
from thalweg.model.predicate import Predicate
from thalweg.planning.cliques import components, maximal_cliques, merged
from thalweg.planning.input_dependency import Dependency, PredicateEdge


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why a decomposition may change answers, in a sentence, and the rule that it is about."""

    reason: str
    span: Span = field(default=NOWHERE, compare=False)

    @property
    def diagnostic(self) -> Diagnostic:
        help = "leave `--decomposition paper` out: the default communities never change an answer"
        return Diagnostic("W503", self.reason, self.span, help)


@dataclass(frozen=True)
class Published:
    """The published communities of a program.

    >>> from thalweg.ir.outline import outline
    >>> rules = outline("a :- p, not q.", "a/1", "p/1", "not q/1"), outline("b :- p, r.", "b/1", "p/1", "r/1")
    >>> found = Published(Dependency(rules, tuple(Predicate(name, 1) for name in "pqr")))
    >>> found.communities
    (('p/1', 'q/1'), ('p/1', 'r/1'))
    >>> [doubt.reason for doubt in found.doubts]
    ['in the community p/1, r/1 the rule `a :- p, not q.` is evaluated without q/1']
    """

    dependency: Dependency

    @cached_property
    def undirected(self) -> tuple[PredicateEdge, ...]:
        """Definition 1: between different predicates of a body, and from a negated one to itself."""
        edges: set[PredicateEdge] = set()
        for rule in self.dependency.outlines:
            edges.update(combinations(sorted({need.predicate for need in rule.body}), 2))
            edges.update((need.predicate, need.predicate) for need in rule.body if need.how == "negative")
        return tuple(sorted(edges))

    @cached_property
    def edges(self) -> tuple[PredicateEdge, ...]:
        """Definition 3 (i): two different inputs, each with a way to one end of an edge."""
        reaching = self.dependency.reaching
        edges = {
            (min(pair), max(pair))
            for first, second in self.undirected
            for pair in product(reaching[first], reaching[second])
            if pair[0] != pair[1]
        }
        return tuple(sorted(edges))

    @cached_property
    def communities(self) -> tuple[tuple[Predicate, ...], ...]:
        """Connected components; of a graph that is connected, its merged cliques."""
        groups = components(self.dependency.inputs, self.edges)
        if len(groups) == 1:
            groups = merged(maximal_cliques(self.dependency.inputs, self.edges))
        return tuple(sorted(tuple(sorted(group)) for group in groups))

    @cached_property
    def doubts(self) -> tuple[Doubt, ...]:
        return (*self._derived_wrongly(), *self._not_derived())

    def _derived_wrongly(self) -> Iterator[Doubt]:
        reaching = self.dependency.reaching
        for rule, community in product(self.dependency.outlines, self.communities):
            inside = set(community)
            missing = {name for need in rule.body if need.settled for name in reaching[need.predicate] - inside}
            if missing and self._can_apply(rule, inside):
                where = f"in the community {', '.join(community)}"
                yield Doubt(
                    f"{where} the rule `{rule.written}` is evaluated without {', '.join(sorted(missing))}", rule.span
                )

    def _can_apply(self, rule: Outline, inside: set[Predicate]) -> bool:
        """Whether every positive atom may have facts there: by inputs, or without any."""
        reaching = self.dependency.reaching
        return all(
            need.settled or not reaching[need.predicate] or reaching[need.predicate] & inside for need in rule.body
        )

    def _not_derived(self) -> Iterator[Doubt]:
        for clique in maximal_cliques(self.dependency.inputs, self.dependency.edges):
            if any(clique <= set(community) for community in self.communities):
                continue
            rule = self._meeting_rule(clique)
            names = ", ".join(sorted(clique))
            yield Doubt(f"{names} meet in `{rule.written}`, and no community has all of them", rule.span)

    def _meeting_rule(self, clique: frozenset[Predicate]) -> Outline:
        """The first rule in which two inputs meet that no community has together."""
        reaching = self.dependency.reaching
        apart = [
            pair
            for pair in combinations(sorted(clique), 2)
            if not any(set(pair) <= set(community) for community in self.communities)
        ]
        for rule in self.dependency.outlines:
            for first, second in product(rule.body, repeat=2):
                pairs = product(reaching[first.predicate], reaching[second.predicate])
                if (first is not second or first.settled) and any(pair in apart for pair in pairs):
                    return rule
        return Outline((), (), text="the program")
