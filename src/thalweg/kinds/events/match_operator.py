"""Patterns in buckets: a stage of them is split by variables, or matched in one bucket.

An event goes to the buckets in which one of the definitions that use it looks it up; there its clause takes the
solutions whose key belongs to the bucket. All events of a match agree on the key, those under `NOT` included, so
each match is found in one bucket, with all that could disturb it or be selected instead of it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar
from zlib import crc32

from thalweg.answers.event_answers import ComplexLine, EventLine, event_answer, ordered_lines, united
from thalweg.dataflow.context import Context
from thalweg.dataflow.exchange import Exchange, Multicast
from thalweg.dataflow.operator import HeldKey, Operator, OpSpec, Output, Share, Updates
from thalweg.dataflow.state import StateFormat
from thalweg.ir.pattern_semantics import Instance, Solution
from thalweg.ir.patterns import Pattern, occurrences
from thalweg.kinds.events.event_layers import EventLayers, Owns
from thalweg.kinds.events.restrictions import TripleIndex
from thalweg.kinds.events.shared_index import shared_index
from thalweg.kinds.events.subscriptions import Subscriptions
from thalweg.languages.cascade.event_definitions import CascadeProgram
from thalweg.model.dictionary import Dictionary
from thalweg.model.predicate import Predicate
from thalweg.planning.stage_patterns import PatternStage

if TYPE_CHECKING:
    from thalweg.explain.plan_stage import PlanStage
    from thalweg.kinds.events import EventCascade


def bucket_of(term: str, buckets: range) -> int:
    """The bucket that a term belongs to."""
    return buckets[crc32(term.encode()) % len(buckets)]


def answered(tick: int, lines: Sequence[EventLine], records: list[Any], published: bool) -> Output:
    """What is known of events: an answer, or records for where events become facts."""
    if published:
        return Output(tick, records=[*records, *lines])
    return Output(tick, event_answer(ordered_lines(lines)) if lines else None, records=records)


def without_inner_triples(event: Instance, looked_at: frozenset[str]) -> Instance:
    """An event as it is handed on: with triples where a clause looks at them; those of its events are among them."""
    if event.event not in looked_at:
        return without_triples(event)
    return replace(event, events=tuple(map(without_triples, event.events))) if event.events else event


def without_triples(event: Instance) -> Instance:
    """An event without triples, and so those that it is made of."""
    if not event.triples and not event.events:
        return event
    return replace(event, triples=(), events=tuple(map(without_triples, event.events)))


# Exchange ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ToClauses(Multicast):
    """Sends an event to the buckets of a stage in which a clause looks it up."""

    part: "EventCascade"
    stage: PatternStage

    def addresses(self, context: Context, buckets: range) -> Callable[[Any], Iterable[int]]:
        shared = shared_index(context.run, self.part)
        readers: dict[str, list[_Reader]] = {}
        for name in self.stage.names:
            for event, reader in _readers(self.part.patterns[name], self.stage.keys.get(name), shared.index, buckets):
                readers.setdefault(event, []).append(reader)

        def addresses(record: Any) -> Iterable[int]:
            users = readers.get(record.event, ()) if isinstance(record, Instance) else ()
            if not users:
                return ()
            with shared.looking():
                return sorted({bucket for reader in users for bucket in reader.buckets_of(record)})

        return addresses


@dataclass(frozen=True)
class _Reader:
    """A definition that uses an event: its clause, where the key is in the solutions of the clause, its buckets."""

    clause: Subscriptions | None
    key: int | None
    buckets: range

    def buckets_of(self, event: Instance) -> Iterable[int]:
        solutions = [()] if self.clause is None else [solution for _, solution in self.clause.asked(event)]
        if self.key is None:
            return self.buckets if solutions else ()
        return {bucket_of(solution[self.key][1], self.buckets) for solution in solutions}


def _readers(pattern: Pattern, key: str | None, index: TripleIndex, buckets: range) -> Iterator[tuple[str, _Reader]]:
    """The events that a pattern uses, each with the clause that looks it up."""
    clauses = {clause.event: clause for clause in pattern.clauses if clause.triples}
    for event in sorted({occurrence.event for occurrence in occurrences(pattern.operand)}):
        clause = clauses.get(event)
        place = sorted(clause.variables).index(key) if clause is not None and key is not None else None
        yield event, _Reader(None if clause is None else Subscriptions([(0, clause)], index), place, buckets)


# Operator ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MatchSpec(OpSpec):
    """The patterns of a stage; where they are `published`, all their events become facts.

    `keyed`: some stages are split by variables.
    """

    part: "EventCascade"
    stage: PatternStage
    published: bool = False
    keyed: bool = False

    reads_streams = False

    def width(self, partitions: int) -> int:
        return partitions if self.stage.split else 1

    def held_routes(self, key: HeldKey) -> tuple[tuple[Predicate, Exchange], ...]:
        """Conclusions become events where these are classified."""
        return ()

    def placement(self, partitions: int) -> "PlanStage | None":
        return self.part.placements(partitions)[self.stage.number] if self.keyed else None

    def open(self, context: Context, dictionary: Dictionary, share: Share) -> "MatchOperator":
        return MatchOperator(self, context, share)


class MatchOperator(Operator):
    """The complex events of a stage whose keys belong to a bucket."""

    format: ClassVar[StateFormat] = StateFormat("match")

    def __init__(self, spec: MatchSpec, context: Context, share: Share) -> None:
        part = spec.part
        self._published = spec.published
        self._output = part.names if spec.published else part.output
        self._looked_at = part.program.looked_at
        above = (event for event in part.program.events if event.name not in spec.stage.names)
        self._used = frozenset(name for event in above for name in event.uses)
        self._shared = shared_index(context.run, part)
        definitions = CascadeProgram(tuple(event for event in part.program.events if event.name in spec.stage.names))
        owns = _owned(spec.stage, share) if spec.stage.split else None
        self._layers = EventLayers(definitions, self._shared.index, owns, self._looked_at)

    def advance(self, tick: int, updates: Updates) -> list[Output]:
        arrived = by_name(record for record in updates.records if isinstance(record, Instance))
        with self._shared.looking():
            matched = self._layers.advance(tick, arrived)
        return [self._given(at, [match for _, match in matches]) for at, matches in groupby(matched, itemgetter(0))]

    def _given(self, tick: int, matches: list[tuple[Instance, Solution]]) -> Output:
        lines = [
            ComplexLine(tick, without_triples(event), bindings)
            for event, bindings in matches
            if event.event in self._output
        ]
        handed_on = dict.fromkeys(event for event, _ in matches if event.event in self._used)
        records = [without_inner_triples(event, self._looked_at) for event in handed_on]
        return answered(tick, lines, records, self._published)

    def save(self) -> bytes:
        return self._layers.save()

    def load(self, data: bytes) -> None:
        self._layers.load(data)


def _owned(stage: PatternStage, share: Share) -> Owns:
    """Whether a solution of a clause belongs to a bucket, by the key of the definition."""

    def owns(name: str, solution: Solution) -> bool:
        key = stage.keys.get(name)
        return key is None or bucket_of(dict(solution)[key], share.buckets) == share.bucket

    return owns


def by_name(events: Iterable[Instance]) -> Mapping[str, list[Instance]]:
    """The events of a tick by name; those that several buckets have made of the same events are one."""
    named: dict[str, list[Instance]] = {}
    matched: list[Instance] = []
    for event in events:
        if event.events:
            matched.append(event)
        else:
            named.setdefault(event.event, []).append(event)
    for event in united(matched).values():
        named.setdefault(event.event, []).append(event)
    return named
