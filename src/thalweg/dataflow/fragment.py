"""Fragments: operators that work in one bucket together, without a shuffle between them.

An operator that is split has a fragment of its own, with as many buckets as it is split into. Those that are not, and
share, are put together as far as no shuffle stands between them. A loop through `before` stays in one fragment: it is
split where each of its operators gives what the others read in the bucket where they look for it, else it has one
bucket. Updates go from one fragment to another through Spark; fragments that need nothing of each other run at the same
time.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from thalweg.dataflow.exchange import Exchange
from thalweg.dataflow.plan import Edge, Plan
from thalweg.ir.dependency import by_level, least_levels
from thalweg.model.predicate import Predicate
from thalweg.planning.wire_parts import loops


@dataclass(frozen=True, slots=True)
class Fragment:
    """Operators by their numbers in the plan, and the number of buckets."""

    number: int
    operators: tuple[int, ...]
    width: int = 1


def fragments(plan: Plan, partitions: int) -> tuple[Fragment, ...]:
    """The fragments of a plan, each behind those that it takes something from."""
    groups = _groups(plan, partitions)
    parts = []
    for number, group in enumerate(sorted({*groups})):
        operators = tuple(operator for operator in plan.numbers if groups[operator] == group)
        parts.append(Fragment(number, operators, max(plan.operators[member].width(partitions) for member in operators)))
    return tuple(parts)


def loops_of(plan: Plan) -> tuple[frozenset[int], ...]:
    """The operators of each loop through the past, by their numbers."""
    ends = [(edge.source, edge.target) for edge in plan.edges if edge.delayed]
    return loops([list(plan.sources(number)) for number in plan.numbers], ends) if ends else ()


@dataclass(frozen=True, slots=True)
class LoopObstacle:
    """Why a loop is not split: an `operator` without a key, or one that reads `what` of a `source` by another key.

    Where it is about `streams`, the two need facts of streams by different keys; without a predicate it is about events
    or records.
    """

    operator: int
    source: int | None = None
    what: Predicate | None = None
    streams: bool = False


def obstacles(
    plan: Plan, loop: Collection[int], partitions: int, streamed: Iterable[Predicate] = ()
) -> Iterator[LoopObstacle]:
    """Why a loop is not split by one key; nothing where it is. Facts of the `streamed` predicates may come to it."""
    specs = {number: plan.operators[number] for number in sorted(loop)}
    for number, spec in specs.items():
        if spec.width(partitions) == 1 or spec.by_event or spec.keeps_events or spec.counts_everything:
            yield LoopObstacle(number)
    for edge in plan.edges:
        if edge.target in loop and edge.source in loop and not _is_local(plan, edge):
            yield LoopObstacle(edge.target, edge.source, None if edge.key is None else edge.key[0])
    # Facts of streams come to all operators of a bucket.
    for signature in streamed:
        exchanges: dict[Exchange, int] = {}
        for number, spec in specs.items():
            for _, exchange in spec.routes(signature) if spec.reads_streams and not spec.renames else ():
                exchanges.setdefault(exchange, number)
        first, *others = exchanges.values() or (0,)
        yield from (LoopObstacle(number, first, signature, streams=True) for number in others)


def _is_local(plan: Plan, edge: Edge) -> bool:
    """Whether what an edge brings is given in the bucket where its reader looks for it."""
    if edge.what != "held" or edge.key is None or edge.stream is not None or edge.union:
        return False
    return plan.operators[edge.source].location(edge.key) == edge.exchange


def _groups(plan: Plan, partitions: int) -> list[tuple[int, ...]]:
    """For each operator its depth, and what tells its fragment from others of that depth."""
    shares = [spec.shares and spec.width(partitions) == 1 for spec in plan.operators]
    depths = [0] * len(plan.operators)
    together = list(range(len(plan.operators)))
    past = loops_of(plan)
    for loop in past:
        if not all(shares[number] for number in loop):
            assert not any(obstacles(plan, loop, partitions)), "a loop is split by one key, or not at all"
            for number in loop:
                together[number] = min(loop)
    _sink(plan, shares, together, depths)
    while uneven := [loop for loop in past if len({depths[number] for number in loop}) > 1]:
        assert max(depths) <= len(depths), "a fragment needs only what stands before it"
        for loop in uneven:
            deepest = max(depths[number] for number in loop)
            for number in loop:
                depths[number] = deepest
        _sink(plan, shares, together, depths)
    _join_readers(plan, shares, depths)
    return [(depth,) if shares[number] else (depth, together[number]) for number, depth in enumerate(depths)]


def _sink(plan: Plan, shares: Sequence[bool], together: Sequence[int], depths: list[int]) -> None:
    """Puts each operator as deep as what it reads, or one deeper where a shuffle stands between."""
    for number in plan.numbers:
        for source in plan.sources(number):
            is_near = (shares[number] and shares[source]) or together[number] == together[source]
            depths[number] = max(depths[number], depths[source] + (0 if is_near else 1))


def _join_readers(plan: Plan, shares: Sequence[bool], depths: list[int]) -> None:
    """Puts operators that share down to those that read them, so that there are fewer fragments."""
    looping = {number for loop in loops_of(plan) for number in loop}
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
