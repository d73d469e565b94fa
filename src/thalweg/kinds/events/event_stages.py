"""Events in buckets: classes, patterns stage by stage, and the facts that events are, each an operator.

    events of streams ──by event────▶ Classify ──by clause──▶ Match, stage by stage ──▶ answers
    conclusions ──────by individual─▶     └──────────────────────┴──to one bucket──▶ Publish ──▶ facts for other parts

Each bucket classifies whole events of streams in turn, and the conclusions of its individuals.

A stage of patterns is split by variables, or matched in one bucket. An event goes to the buckets in which one of the
definitions that use it looks it up; there its clause takes the solutions whose key belongs to the bucket. All events of
a match agree on the key, those under `NOT` included, so each match is found in one bucket, with all that could disturb
it or be selected instead of it.

Where other parts of a plan read events, what all buckets know of a tick is put together first. A fact is given once,
although several buckets may know events of which it is one: those of a class about one individual, and matches of the
same events that bind different terms.
"""

from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from thalweg.answers.event_answers import (
    AbstractLine,
    ComplexLine,
    EventLine,
    RejectedLine,
    event_answer,
    ordered_lines,
    united,
)
from thalweg.dataflow.context import Context
from thalweg.dataflow.exchange import Exchange, Hash, Multicast
from thalweg.dataflow.operator import NO_NOTES, HeldKey, Notes, Operator, OpSpec, Output, Share, Updates, Words
from thalweg.dataflow.state import StateFormat
from thalweg.engine import Given
from thalweg.ir.pattern_semantics import Instance, Solution, TripleTerms
from thalweg.ir.patterns import Clause, Pattern, occurrences
from thalweg.kinds.classes.classifier import BucketClassifier, ClassifiedEvent, Classifier, ClassifierSpec
from thalweg.kinds.events.added_classes import AddedClasses
from thalweg.kinds.events.event_clauses import Subscriptions, TripleIndex, shared_index
from thalweg.kinds.events.event_layers import EventLayers, Owns
from thalweg.languages.cascade.event_definitions import CascadeProgram, ClassText
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate, interned
from thalweg.model.rdf import RDF_TYPE
from thalweg.model.saved_rows import load_rows, save_rows
from thalweg.planning.stage_patterns import PatternStage

if TYPE_CHECKING:
    from thalweg.explain.plan_stage import PlanStage
    from thalweg.kinds.events import EventCascade

Row = tuple[int, ...]
Conclusion = tuple[Predicate, Row]


# What arrives ---------------------------------------------------------------------------------------------------------


class ArrivedEvent(NamedTuple):
    """An event of a stream, its tick and the events that it is by its classes; or why it was rejected.

    One that is `renewed` is of what held before, and only for definitions that begin at its tick.
    """

    tick: int
    graph: str
    rejected: str
    instances: tuple[Instance, ...]
    renewed: bool = False


class ArrivingEvents:
    """What comes to events: graphs of streams and conclusions of other parts, each as the events that it is.

    Events that are not `wanted` are left out where no pattern can use them. With `words` they have their triples.

    Of a definition that began later than the run there are no events of earlier ticks. At its first tick, what holds
    then is an event of it: to a definition that was there before, it was when it began to hold.
    """

    def __init__(
        self,
        part: "EventCascade",
        classifier: Classifier,
        background: TripleIndex,
        wanted: Container[str],
        words: Dictionary | None,
    ) -> None:
        self._classifier = classifier
        self._words = words
        self._concluded = ConcludedEvents(part.beside.classes)
        self._read = part.beside.classes | part.beside.known
        self._usable = UsableEvents(part.program, background, wanted)
        self._undefined = frozenset(name for name, _ in part.program.undefined)
        self._begins = dict(part.since)
        self._note_beginnings()
        self.added: AddedClasses | None = None
        """Classes that were added while it runs."""

    def _note_beginnings(self) -> None:
        self._beginnings = frozenset(self._begins.values())
        self._youngest = max(self._beginnings, default=0)

    def add(self, name: str, definition: ClassText | Pattern, first: int | None, background: TripleIndex) -> None:
        """Knows an event more, from its first tick on; a pattern may use the events that it is made of."""
        if first is not None:
            self._begins[name] = first
            self._note_beginnings()
        if isinstance(definition, Pattern):
            self._usable.add(definition, background)

    def remove(self, name: str, definition: ClassText | Pattern, background: TripleIndex) -> None:
        """Knows an event less."""
        if self._begins.pop(name, None) is not None:
            self._note_beginnings()
        if isinstance(definition, Pattern):
            self._usable.remove(definition, background)

    def spell_triples(self, words: Dictionary) -> None:
        """Events have their triples from now on."""
        self._words = words

    def beginning(self, after: int | None, before: int) -> int | None:
        """A tick between two others at which definitions begin; the run has come to the first of them."""
        if after is None or after >= self._youngest:
            return None
        return next((tick for tick in self._beginnings if after < tick < before), None)

    def concluded(self, changes: Sequence[Given]) -> list[list[Conclusion]]:
        """Takes what begins and ends to hold at a tick; the graphs of the events that begin."""
        return list(self._concluded.take(changes))

    def at(self, tick: int, batches: Iterable[Batch], graphs: Iterable[list[Conclusion]]) -> Iterator[ArrivedEvent]:
        """The events of streams at a tick, and those of conclusions, which have no name."""
        for event in self._classifier.classified(tick, batches):
            yield self.arrived(tick, event)
        for graph in graphs:
            yield self.arrived(tick, self._classify(graph))
        if tick in self._beginnings:
            yield from self._renewed(tick)

    def _renewed(self, tick: int) -> Iterator[ArrivedEvent]:
        """What holds since before a tick, as events of the definitions that begin at it."""
        for graph in list(self._concluded.lasting()):
            event = self.arrived(tick, self._classify(graph))
            instances = tuple(
                instance
                for instance in event.instances
                if self._begins.get(instance.event, tick) == tick
                if instance.event in self._begins or instance.event in self._undefined
            )
            if instances:
                yield event._replace(instances=instances, renewed=True)

    def is_seen(self, instance: Instance) -> bool:
        """Whether an event is not of a tick before its definition began."""
        return self._begins.get(instance.event, instance.end) <= instance.end

    def _classify(self, graph: list[Conclusion]) -> ClassifiedEvent:
        """An event of conclusions; patterns may use classes that no text defines."""
        event = self._classifier.classify("", [(name.name, words) for name, words in graph])
        used = [name for name, words in event.facts if len(words) == 1 and name in self._undefined]
        if not used or event.rejected:
            return event
        individual = self._classifier.dictionary.spell(event.facts[0][1][0])
        return replace(event, classes=[*event.classes, *((name, individual) for name in used)])

    def arrived(self, tick: int, event: ClassifiedEvent) -> ArrivedEvent:
        """An event as those that it is by its classes, as far as they are used."""
        if self.added is not None and (more := self.added.more_of(event)):
            event = replace(event, classes=[*event.classes, *more])
        instances = instances_of(tick, self._usable.of(event), self._words)
        if tick < self._youngest:
            instances = tuple(filter(self.is_seen, instances))
        return ArrivedEvent(tick, event.graph, event.rejected, instances)

    def words_in_use(self) -> Words:
        """The words of conclusions that are still needed; others may get another meaning."""
        self._classifier.forget()
        if self.added is not None:
            self.added.forget()
        return self._concluded.words()

    def save(self) -> bytes:
        """The conclusions that hold; the cache of classes fills itself again."""
        return self._concluded.save(self._classifier.dictionary)

    def load(self, data: bytes) -> None:
        """Brings one that has seen nothing to where another was saved."""
        self._concluded.load(data, self._classifier.dictionary)

    def take_over(self, other: "ArrivingEvents") -> None:
        """Goes on where another program was, with what holds of what this one reads."""
        self._concluded.take_over(other._concluded, self._read)


def instances_of(tick: int, event: ClassifiedEvent, words: Dictionary | None) -> tuple[Instance, ...]:
    """The events that an event of the stream is; with its triples, where there are words to spell them."""
    if not event.classes:
        return ()
    triples = tuple(_triples(event, words)) if words is not None else ()
    graph = event.graph
    return tuple([Instance(name, tick, tick, individual, graph, (), triples) for name, individual in event.classes])


def _triples(event: ClassifiedEvent, words: Dictionary) -> Iterator[TripleTerms]:
    for name, codes in event.facts:
        terms = [words.spell(code) for code in codes]
        yield (terms[0], name, terms[1]) if len(terms) == 2 else (terms[0], RDF_TYPE, name)


class ConcludedEvents:
    """What rules and answer sets conclude, as events: an individual's, when it begins to be in one of the `classes`.

        jam(r1) begins, while speed(r1,4) holds        an event of r1 with the graph { r1 a :jam ; :speed 4 }

    The graph of the event is what is concluded of the individual at that tick.

    >>> jam, speed, none = Predicate("jam", 1), Predicate("speed", 2), np.zeros((0, 1), dtype=np.int64)
    >>> events = ConcludedEvents({jam})
    >>> list(events.take([Given(speed, False, np.array([[5, 4]]), none)]))
    []
    >>> list(events.take([Given(jam, False, np.array([[5]]), none)]))
    [[('speed/2', (5, 4)), ('jam/1', (5,))]]
    """

    def __init__(self, classes: Collection[Predicate]) -> None:
        self._classes = classes
        self._holding: dict[int, dict[Conclusion, None]] = {}
        self._begun: dict[int, None] = {}

    def take(self, changes: Sequence[Given]) -> Iterator[list[Conclusion]]:
        """What begins and ends at a tick; the graphs of the events that begin."""
        begun: list[Conclusion] = []
        for change in changes:
            for row in map(tuple, change.ended.tolist()):
                self._end(change.signature, row)
            for row in map(tuple, change.begun.tolist()):
                self._holding.setdefault(row[0], {})[change.signature, row] = None
                if change.signature in self._classes:
                    begun.append((change.signature, row))
        subjects = dict.fromkeys(row[0] for name, row in begun if (name, row) in self._holding.get(row[0], {}))
        self._begun = subjects
        return (list(self._holding[subject]) for subject in subjects)

    def lasting(self) -> Iterator[list[Conclusion]]:
        """The graphs of the individuals that have been in a class since before the tick that was taken last."""
        for subject, facts in self._holding.items():
            if subject not in self._begun and any(name in self._classes for name, _ in facts):
                yield list(facts)

    def take_over(self, other: "ConcludedEvents", names: Collection[Predicate]) -> None:
        """Goes on where another one is, with the conclusions of some predicates."""
        for facts in other._holding.values():
            for name, row in facts:
                if name in names:
                    self._restore(name, [row])

    def _end(self, name: Predicate, row: Row) -> None:
        facts = self._holding.get(row[0], {})
        facts.pop((name, row), None)
        if not facts:
            self._holding.pop(row[0], None)

    def words(self) -> NDArray[np.int64]:
        """The words of the terms that are still needed."""
        rows = (row for facts in self._holding.values() for _, row in facts)
        return np.array([word for row in rows for word in row], dtype=np.int64)

    def save(self, words: Dictionary) -> bytes:
        """All conclusions that hold, as bytes."""
        tables: dict[Predicate, list[Row]] = {}
        for facts in self._holding.values():
            for name, row in facts:
                tables.setdefault(name, []).append(row)
        return save_rows(((name, np.array(rows, dtype=np.int64)) for name, rows in tables.items()), words)

    def load(self, data: bytes, words: Dictionary) -> None:
        """Brings one that has seen nothing to where another was saved."""
        for label, rows in load_rows(data, words):
            self._restore(Predicate.read(label), map(tuple, rows.tolist()))

    def _restore(self, name: Predicate, rows: Iterable[Row]) -> None:
        for row in rows:
            self._holding.setdefault(row[0], {})[name, row] = None


class UsableEvents:
    """Leaves out events that no pattern can use: their graphs lack a predicate that a clause asks for.

        EVENT :High { ?o :note ?text }      an event without a `:note`, where neither background nor ontology give one

    Such an event has no solution of its clause, so it fills no place, also not one under `NOT`. It has been classified,
    for one that contradicts is reported whatever patterns ask; what is saved is making it an event and looking it up.
    Those that are `wanted` anyway stay whatever they have.
    """

    def __init__(self, program: CascadeProgram, background: TripleIndex, wanted: Container[str]) -> None:
        self._wanted = wanted
        # Of each name what its clauses need, and in how many patterns.
        self._needs: dict[str, Counter[frozenset[str]]] = {}
        for event in program.events:
            if isinstance(event.definition, Pattern):
                self.add(event.definition, background)

    def add(self, pattern: Pattern, background: TripleIndex) -> None:
        """Knows of a pattern what it can use."""
        for name, needed in self._needed_by(pattern, background):
            self._needs.setdefault(name, Counter())[needed] += 1

    def remove(self, pattern: Pattern, background: TripleIndex) -> None:
        """Forgets a pattern."""
        for name, needed in self._needed_by(pattern, background):
            self._needs[name] -= Counter((needed,))
            if not self._needs[name]:
                del self._needs[name]

    def _needed_by(self, pattern: Pattern, background: TripleIndex) -> Iterator[tuple[str, frozenset[str]]]:
        clauses = {clause.event: clause for clause in pattern.clauses}
        for name in {occurrence.event for occurrence in occurrences(pattern.operand)}:
            clause = clauses.get(name)
            yield name, _needed(clause, background) if clause else frozenset()

    def of(self, event: ClassifiedEvent) -> ClassifiedEvent:
        """An event with the classes by which it can be used."""
        if not event.classes or not any(membership[0] in self._needs for membership in event.classes):
            return event
        has = {name for name, words in event.facts if len(words) == 2}
        kept = [membership for membership in event.classes if self._is_usable(membership[0], has)]
        return event if len(kept) == len(event.classes) else ClassifiedEvent(event.graph, event.facts, "", kept)

    def _is_usable(self, name: str, has: set[str]) -> bool:
        needs = self._needs.get(name)
        return needs is None or name in self._wanted or any(needed <= has for needed in needs)


def _needed(clause: Clause, background: TripleIndex) -> frozenset[str]:
    """The predicates of a clause that only the graph of an event can have."""
    predicates = {triple.predicate for triple in clause.triples if triple.predicate[0] != "?"}
    return frozenset(
        predicate for predicate in predicates if predicate != RDF_TYPE and not background.may_have(predicate)
    )


# Classes --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClassifySpec(ClassifierSpec):
    """The classes of a cascade; where it is `published`, all its events become facts.

    `keyed`: some of its patterns are split by variables. With `only_streams`, what other parts give is classified
    elsewhere, so that events of streams need not wait for it.
    """

    part: "EventCascade"
    published: bool = False
    keyed: bool = False
    only_streams: bool = False

    shares: ClassVar[bool] = False
    by_event: ClassVar[bool] = True

    def width(self, partitions: int) -> int:
        return partitions

    def held_routes(self, key: HeldKey) -> tuple[tuple[Predicate, Exchange], ...]:
        """A conclusion goes to the bucket of its individual."""
        return () if self.only_streams else ((key[0], Hash(0)),)

    @property
    def takes_events(self) -> bool:
        return not self.only_streams

    def placement(self, partitions: int) -> "PlanStage":
        if self.keyed:
            return self.part.placements(partitions)[0]
        from thalweg.explain.plan_stage import PlanStage

        names = tuple(name for name, _ in self.part.program.classes)
        return PlanStage(names, ("event",), partitions, "events come in turn")

    def open(self, context: Context, dictionary: Dictionary, share: Share) -> "Classify":
        return Classify(self.part, self.published, context, dictionary)


@dataclass(frozen=True)
class ClassifyOthersSpec(OpSpec):
    """The classes of what other parts of a plan give, in one bucket."""

    part: "EventCascade"

    reads_streams = False
    takes_events = True

    def open(self, context: Context, dictionary: Dictionary, share: Share) -> "Classify":
        return Classify(self.part, True, context, dictionary)


class Classify(Operator):
    """The events of a bucket with their classes."""

    format: ClassVar[StateFormat] = StateFormat("classify")

    def __init__(self, part: "EventCascade", published: bool, context: Context, dictionary: Dictionary) -> None:
        self._report = context.report
        self._published = published
        self._output = part.names if published else part.output
        self._used = frozenset(name for event in part.program.events for name in event.uses)
        self._looked_at = part.program.looked_at
        self._index = shared_index(context.run, part).index
        self._classifier = BucketClassifier(part.classifier().program, context, dictionary)
        words = dictionary if self._looked_at else None
        self._arriving = ArrivingEvents(part, self._classifier, self._index, self._output, words)

    def advance(self, tick: int, updates: Updates) -> Iterator[Output]:
        graphs = self._arriving.concluded(updates.held)
        if self.quiet:
            return
        lines: list[EventLine] = []
        records: list[Any] = []
        with self._classifier.lock:
            for event in self._arriving.at(tick, updates.events, graphs):
                if event.rejected:
                    lines.append(RejectedLine(tick, event.rejected, (event.graph,)))
                for instance in event.instances:
                    if instance.event in self._used:
                        records.append(without_inner_triples(instance, self._looked_at))
                    if instance.event in self._output:
                        lines.append(AbstractLine(tick, instance.event, instance.individual, instance.graph))
        if lines or records:
            yield answered(tick, lines, records, self._published)

    def finish(self) -> Iterator[Output]:
        """Reports where more may follow of events than was looked up; every event was answered at its tick."""
        for doubt in self._index.doubts():
            self._report(doubt)
        return iter(())

    def notes(self, decided: int, over: bool) -> Notes:
        """What could not be decided goes to where all buckets are added up."""
        self._classifier.report(over)
        return NO_NOTES

    def words_in_use(self) -> Words:
        return self._arriving.words_in_use()

    def save(self) -> bytes:
        return self._arriving.save()

    def load(self, data: bytes) -> None:
        self._arriving.load(data)


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


# Patterns -------------------------------------------------------------------------------------------------------------


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


def bucket_of(term: str, buckets: range) -> int:
    """The bucket that a term belongs to."""
    return buckets[crc32(term.encode()) % len(buckets)]


# Facts ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ToPublisher(Multicast):
    """Sends lines of events to one bucket, and nothing that patterns are matched with."""

    def addresses(self, context: Context, buckets: range) -> Callable[[Any], Iterable[int]]:
        return lambda record: () if isinstance(record, Instance) else buckets[:1]


@dataclass(frozen=True)
class PublishSpec(OpSpec):
    """The events of a cascade as answers, and as facts of the stream with its name."""

    part: "EventCascade"

    reads_streams = False
    gives_events: ClassVar[bool] = True

    def held_routes(self, key: HeldKey) -> tuple[tuple[Predicate, Exchange], ...]:
        """Conclusions become events where these are classified."""
        return ()

    def open(self, context: Context, dictionary: Dictionary, share: Share) -> "Publish":
        return Publish(self.part.program.name, self.part.output, dictionary)


class Publish(Operator):
    """Puts together what buckets know of the events of a tick."""

    format: ClassVar[StateFormat] = StateFormat("publish")

    def __init__(self, name: str, output: frozenset[str], dictionary: Dictionary) -> None:
        self._name = name
        self._output = output
        self._dictionary = dictionary

    def advance(self, tick: int, updates: Updates) -> list[Output]:
        lines = [record for record in updates.records if not isinstance(record, Instance)]
        if not lines:
            return []
        events = ordered_lines(lines)
        return [output_of(tick, events, self._output, facts_of(events), self._dictionary, self._name)]

    def save(self) -> bytes:
        """Nothing waits between two ticks."""
        return b""

    def load(self, data: bytes) -> None:
        """There is nothing to load."""


def facts_of(lines: Iterable[EventLine]) -> list[Fact]:
    """The facts that events are to others, each once."""
    return list(dict.fromkeys(fact for line in lines for fact in line.facts()))


def output_of(
    tick: int, lines: Iterable[EventLine], output: Set[str], facts: Sequence[Fact], words: Dictionary, name: str
) -> Output:
    """What events of a tick are: lines of those that are output, and facts of the stream with a name."""
    shown = tuple(line for line in lines if isinstance(line, RejectedLine) or line.event in output)
    return Output(tick, event_answer(shown) if shown else None, events=(batch_of(facts, words, name),) if facts else ())


def batch_of(facts: Iterable[Fact], words: Dictionary, stream: str) -> Batch:
    """Facts as an event of a stream."""
    batch = Batch(stream=stream)
    for fact in facts:
        batch.add(interned(fact.predicate, len(fact.terms)), [words.code(term) for term in fact.terms])
    return batch
