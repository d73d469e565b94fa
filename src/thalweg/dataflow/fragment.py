"""Fragments: operators that work in one bucket together, without a shuffle between them.

An operator that is split has a fragment of its own, with as many buckets as it is split into. Those that are not, and
share, are put together as far as no shuffle stands between them: a loop through `before` stays in one fragment. Updates
go from one fragment to another through Spark; fragments that need nothing of each other run at the same time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from thalweg.dataflow.plan import Plan
from thalweg.ir.dependency import by_level, least_levels


@dataclass(frozen=True, slots=True)
class Fragment:
    """Operators by their numbers in the plan, and the number of buckets."""

    number: int
    operators: tuple[int, ...]
    width: int = 1

    @property
    def split(self) -> bool:
        return self.width > 1


def fragments(plan: Plan, partitions: int) -> tuple[Fragment, ...]:
    """The fragments of a plan, each behind those that it takes something from."""
    groups = _groups(plan, partitions)
    parts = []
    for number, group in enumerate(sorted({*groups})):
        operators = tuple(operator for operator in plan.numbers if groups[operator] == group)
        parts.append(Fragment(number, operators, max(plan.operators[member].width(partitions) for member in operators)))
    return tuple(parts)


def _groups(plan: Plan, partitions: int) -> list[tuple[int, ...]]:
    """For each operator its depth, and what tells its fragment from others of that depth."""
    shares = [spec.shares and spec.width(partitions) == 1 for spec in plan.operators]
    depths = [0] * len(plan.operators)
    _sink(plan, shares, depths)
    # What comes a tick later comes from a later operator: the two stay together, and so does all between them.
    delayed = [edge for edge in plan.edges if edge.delayed]
    while late := [edge for edge in delayed if depths[edge.source] != depths[edge.target]]:
        assert max(depths) <= len(depths), "a loop through the past is not split"
        for edge in late:
            assert shares[edge.source], "a loop through the past is not split"
            assert shares[edge.target], "a loop through the past is not split"
            depths[edge.source] = depths[edge.target] = max(depths[edge.source], depths[edge.target])
        _sink(plan, shares, depths)
    _join_readers(plan, shares, depths)
    return [(depth,) if shares[number] else (depth, number) for number, depth in enumerate(depths)]


def _sink(plan: Plan, shares: Sequence[bool], depths: list[int]) -> None:
    """Puts each operator as deep as what it reads, or one deeper where a shuffle stands between."""
    for number in plan.numbers:
        for source in plan.sources(number):
            step = 0 if shares[number] and shares[source] else 1
            depths[number] = max(depths[number], depths[source] + step)


def _join_readers(plan: Plan, shares: Sequence[bool], depths: list[int]) -> None:
    """Puts operators that share down to those that read them, so that there are fewer fragments."""
    looping = {number for edge in plan.edges if edge.delayed for number in (edge.source, edge.target)}
    deepest = max((depth for number, depth in enumerate(depths) if shares[number]), default=0)
    for number in reversed(plan.numbers):
        if shares[number] and number not in looping:
            readers = [edge.target for edge in plan.outgoing[number]]
            limits = (depths[reader] - (0 if shares[reader] else 1) for reader in readers)
            depths[number] = max(depths[number], min(limits, default=deepest))


def levels(plan: Plan, parts: Sequence[Fragment]) -> tuple[tuple[Fragment, ...], ...]:
    """The fragments that can run at the same time, each level after those that it needs."""
    home = {number: fragment.number for fragment in parts for number in fragment.operators}
    needs = [(home[edge.target], home[edge.source], 1) for edge in plan.edges if home[edge.source] != home[edge.target]]
    level_of = least_levels((fragment.number for fragment in parts), needs)
    assert level_of is not None, "a fragment needs only what stands before it"
    return tuple(tuple(parts[number] for number in numbers) for numbers in by_level(level_of))
