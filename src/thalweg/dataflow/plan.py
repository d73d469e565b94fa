"""A plan: operators and the edges between them. It is all that a runtime gets, whatever kinds the operators are of.

    streams ──▶ operator 0 ──edge──▶ operator 2 ──▶ answers
    streams ──▶ operator 1 ──edge──▶

Operators stand in the order in which they are evaluated at each tick, so an edge leads to a later one; only one that is
`delayed` by a tick may lead back.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from thalweg.dataflow.exchange import GATHER, Exchange, Multicast
from thalweg.dataflow.operator import HeldKey, OpSpec
from thalweg.ir.nodes import Program
from thalweg.model.predicate import Predicate
from thalweg.planning.wire_parts import Ports


@dataclass(frozen=True, slots=True)
class Edge:
    """What one operator takes from another.

    Of `held` facts, those of a `key`, which the target calls `called`; all where it is None. With a `stream` they are
    heard: at each tick that the target looks at, what holds is an event of that stream. In a `union` the number of the
    bucket that gives a row is one more argument of it; `lasting` rows come with the tick until which they are
    guaranteed, and are never said to end.
    """

    source: int
    target: int
    what: Literal["held", "events", "records"] = "held"
    key: HeldKey | None = None
    called: Predicate | None = None
    stream: str | None = None
    exchange: Exchange | Multicast = GATHER
    delayed: bool = False
    union: bool = False
    lasting: bool = False

    @property
    def reading(self) -> tuple[object, ...]:
        """What the target reads by it, whichever operator gives that."""
        return self.what, self.called, self.key and self.key[1], self.stream


@dataclass(frozen=True, slots=True)
class Expansion:
    """The operators that one part of a program becomes, and the edges between them, numbered from 0."""

    operators: tuple[OpSpec, ...]
    edges: tuple[Edge, ...] = ()


@dataclass(frozen=True)
class Plan:
    """Operators and edges."""

    operators: tuple[OpSpec, ...]
    edges: tuple[Edge, ...] = ()
    program: Program = field(default_factory=Program)
    """The rules of the plan: streams bring triples and facts about terms where these want them."""
    ports: tuple[Ports | None, ...] = ()
    """What the part of each operator reads and gives; None for rules."""
    is_mixed: bool = False
    """Whether there are rules beside other parts, perhaps none: facts are shown all the same."""
    parts: tuple[int, ...] = ()
    """The part of the program that each operator belongs to, by its place."""

    @cached_property
    def incoming(self) -> tuple[tuple[Edge, ...], ...]:
        """The edges that lead to each operator."""
        return tuple(tuple(edge for edge in self.edges if edge.target == number) for number in self.numbers)

    @cached_property
    def outgoing(self) -> tuple[tuple[Edge, ...], ...]:
        """The edges that lead from each operator."""
        return tuple(tuple(edge for edge in self.edges if edge.source == number) for number in self.numbers)

    @property
    def numbers(self) -> range:
        return range(len(self.operators))

    @property
    def shows_facts(self) -> bool:
        """Whether some of its answers are about facts that begin and end."""
        return self.is_mixed or any(spec.shows_facts for spec in self.operators)

    def sources(self, number: int) -> Iterator[int]:
        """The operators that another one takes something from at the same tick."""
        return iter(sorted({edge.source for edge in self.incoming[number] if not edge.delayed}))
