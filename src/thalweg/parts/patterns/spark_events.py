"""Events on Spark: classes in all buckets, then stages of patterns, each split by variables or in one bucket.

An event goes to the buckets in which one of the definitions that use it looks it up; there its clause takes the
solutions whose key belongs to the bucket. All events of a match agree on the key, those under `NOT` included, so
each match is found in one bucket, with all that could disturb it or be selected instead of it.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from threading import Lock
from typing import Any, Final
from zlib import crc32

from thalweg.diagnostics import Diagnostic
from thalweg.ir.nodes import Program
from thalweg.ir.pattern_semantics import Instance, Solution, rank
from thalweg.ir.patterns import Pattern, occurrences
from thalweg.languages.cascade.event_definitions import CascadeProgram
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.parts.abstraction.spark_classes import ClassesJob, ClassesWorker, OncePerRun, Totals
from thalweg.parts.part import Context, SparkWork
from thalweg.parts.patterns import EventCascade
from thalweg.parts.patterns.event_layers import EventLayers
from thalweg.parts.patterns.event_run import instances
from thalweg.parts.patterns.restrictions import TripleIndex, known_besides
from thalweg.parts.patterns.subscriptions import Subscriptions
from thalweg.parts.patterns.usable_events import UsableEvents
from thalweg.parts.spark_plan import packed, plan_job, unpacked
from thalweg.planning.partition import Partitioning, Route, Stage
from thalweg.planning.stage_patterns import PatternStage, stage_patterns
from thalweg.runtimes.event_answers import AbstractEvent, ComplexEvent, EventAnswers, EventLine, RejectedEvents
from thalweg.runtimes.spark.inbox import Inbox
from thalweg.runtimes.spark.wire import CHANGES, FACTS, Content, Parcel, unwrap, wrap

_HANDED_ON: Final = Predicate("'events", 0)
_INDEXES: Final = OncePerRun[TripleIndex]()
_LOCKS: Final = OncePerRun[Lock]()


@dataclass(frozen=True)
class EventsJob(ClassesJob):
    """A cascade in stages."""

    cascade: EventCascade | None = None

    @property
    def output(self) -> frozenset[str]:
        """The events that are output."""
        assert self.cascade is not None
        return self.cascade.output

    @cached_property
    def patterns(self) -> dict[str, Pattern]:
        """The definitions that are patterns, each behind those that it uses."""
        assert self.cascade is not None
        events = self.cascade.program.events
        return {one.name: one.definition for one in events if isinstance(one.definition, Pattern)}

    @cached_property
    def layout(self) -> tuple[PatternStage, ...]:
        return stage_patterns(self.patterns.items())

    @cached_property
    def plan(self) -> Partitioning:
        return Partitioning((*super().plan.stages, *map(_stage, self.layout)))

    def part_of(self, stage: PatternStage) -> CascadeProgram:
        """The definitions of a stage."""
        assert self.cascade is not None
        return CascadeProgram(tuple(one for one in self.cascade.program.events if one.name in stage.names))

    def index(self) -> TripleIndex:
        """The background as clauses look it up, one for all buckets of a process."""
        assert self.classes is not None
        program = self.classes.program
        return _INDEXES.of(self.name, lambda: known_besides(program))

    def looking(self) -> AbstractContextManager[Any]:
        """While an event is looked up: what follows of it is found by adding it to the background for a moment, which
        one bucket of a process does at a time.
        """
        return nullcontext() if self.index().entailed is None else _LOCKS.of(self.name, Lock)

    @cached_property
    def repeating(self) -> frozenset[str]:
        """The patterns in which a name occurs several times."""
        return frozenset(name for name, pattern in self.patterns.items() if _repeats(pattern))

    @cached_property
    def looked_at(self) -> frozenset[str]:
        """The events whose triples are needed, here or in a later stage."""
        assert self.cascade is not None
        return self.cascade.program.looked_at


def _stage(stage: PatternStage) -> Stage:
    routes = tuple(Route(_HANDED_ON, _HANDED_ON.name, None, stage=number) for number in stage.reads)
    return Stage(stage.number, Program(), (), (), stage.split, routes, (), (), frozenset())


def spread_events(part: EventCascade, context: Context, partitions: int) -> SparkWork:
    """A cascade of events on Spark."""
    job = plan_job(EventsJob, part, context, partitions, cascade=part, classes=part.classifier())
    totals = EventTotals(context, job.repeating)
    watch = part.watch()
    return SparkWork(
        job,
        events_worker,
        combine=totals.combine,
        look=lambda words: partial(watch.look, words=words),
        summary=lambda: chain(totals.undecided(), watch.summary()),
    )


def _repeats(pattern: Pattern) -> bool:
    names = [one.event for one in occurrences(pattern.operand, under_not=False)]
    return len(set(names)) < len(names)


def events_worker(job: EventsJob, stage: int, bucket: int) -> "AbstractEventsWorker | PatternsWorker":
    """What does the work of a bucket."""
    return PatternsWorker(job, stage, bucket) if stage else AbstractEventsWorker(job, stage, bucket)


def bucket_of(term: str, buckets: range) -> int:
    """The bucket that a term belongs to."""
    return buckets[crc32(term.encode()) % len(buckets)]


# Handing events on ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _User:
    """A definition that uses an event: its clause, where the key is in the solutions of the clause, its buckets."""

    clause: Subscriptions | None
    key: int | None
    buckets: range

    def wanted_in(self, event: Instance) -> Iterable[int]:
        found = [()] if self.clause is None else [solution for _, solution in self.clause.asked(event)]
        if self.key is None:
            return self.buckets if found else ()
        return {bucket_of(one[self.key][1], self.buckets) for one in found}


class Sender:
    """Hands the events that a stage makes on to the stages that use them."""

    def __init__(self, job: EventsJob, stage: int) -> None:
        self._users: dict[str, dict[int, list[_User]]] = {}
        self._looked_at = job.looked_at
        self._sent: dict[tuple[int, int], list[tuple[int, Instance]]] = {}
        index = job.index() if any(stage in one.reads for one in job.layout) else TripleIndex(())
        for one in job.layout:
            for name in one.names if stage in one.reads else ():
                self._add(one, job.patterns[name], one.keys.get(name), job.buckets(one.number), index)

    def _add(self, stage: PatternStage, pattern: Pattern, key: str | None, buckets: range, index: TripleIndex) -> None:
        clauses = {one.event: one for one in pattern.clauses if one.triples}
        for event in sorted({one.event for one in occurrences(pattern.operand)}):
            clause = clauses.get(event)
            place = sorted(clause.variables).index(key) if clause is not None and key is not None else None
            user = _User(None if clause is None else Subscriptions([(0, clause)], index), place, buckets)
            self._users.setdefault(event, {}).setdefault(stage.number, []).append(user)

    def send(self, tick: int, event: Instance) -> None:
        """Hands on an event that is known at a tick."""
        for stage, users in self._users.get(event.event, {}).items():
            wanted = {bucket for user in users for bucket in user.wanted_in(event)}
            if wanted:
                sent = _bare(event) if event.event not in self._looked_at else _with_own_triples(event)
                for bucket in wanted:
                    self._sent.setdefault((stage, bucket), []).append((tick, sent))

    def parcels(self) -> list[Parcel]:
        """What is to be handed on, once."""
        found = [
            wrap(stage, bucket, {"kind": CHANGES}, {"events": [packed(sent)]})
            for (stage, bucket), sent in self._sent.items()
        ]
        self._sent = {}
        return found


def _bare(event: Instance) -> Instance:
    """An event without triples, and so those that it is made of."""
    if not event.triples and not event.events:
        return event
    return replace(event, triples=(), events=tuple(map(_bare, event.events)))


def _with_own_triples(event: Instance) -> Instance:
    """The triples of a complex event are all those of its events."""
    return replace(event, events=tuple(map(_bare, event.events))) if event.events else event


class AbstractEventsWorker(ClassesWorker):
    """The first stage: classifies the events of a bucket, and hands them on."""

    job: EventsJob

    def __init__(self, job: EventsJob, stage: int, bucket: int) -> None:
        super().__init__(job, stage, bucket)
        self._sender = Sender(job, stage)
        self._looks = bool(job.looked_at)
        assert job.cascade is not None
        index = job.index() if job.patterns else TripleIndex(())
        self._usable = UsableEvents(job.cascade.program, index, job.output)

    def classified(self, tick: int, batches: list[Batch]) -> Iterator[EventAnswers]:
        classifier, output = self.classifier, self.job.output
        classifier.begin(tick)
        lines: list[EventLine] = []
        with self.job.looking():
            for event in map(self._usable.of, classifier.classified(batches)):
                if event.rejected:
                    lines.append(RejectedEvents(tick, event.rejected, (event.graph,)))
                for one in instances(tick, event, classifier.dictionary if self._looks else None):
                    self._sender.send(tick, one)
                    if one.event in output:
                        lines.append(AbstractEvent(tick, one.event, one.individual, one.graph))
        if lines:
            yield EventAnswers(tuple(lines))

    def doubts(self) -> Iterator[Diagnostic]:
        """Where more may follow of events than was looked up, as far as this process knows."""
        return self.job.index().doubts()

    def handed_on(self) -> list[Parcel]:
        return self._sender.parcels()


# Patterns ------------------------------------------------------------------------------------------------------------


class PatternsWorker:
    """Matches the patterns of a stage in a bucket."""

    must_save = False

    def __init__(self, job: EventsJob, stage: int, bucket: int) -> None:
        self.job = job
        self._bucket = bucket
        self._layers = _layers(job, job.layout[stage - 1], bucket)
        self._sender = Sender(job, stage)
        # Facts come to the first stage only; the ticks that streams have reached come to all.
        self._inbox = Inbox(job, stage, bucket, Dictionary(), lambda run: run.signature)
        self._waiting: dict[int, list[Instance]] = {}
        self._now = -1

    def process(self, payloads: Iterable[bytes]) -> list[Parcel]:
        """Takes in a batch's parcels, and finds the complex events that end up to what is decided."""
        out = self._take(list(map(unwrap, payloads)))
        time = self._inbox.watermark
        if time.decided is None or time.start is None:
            return out
        with self.job.looking():
            lines = self._advance(time.decided)
        given: list[tuple[int, object]] = [(line.t, EventAnswers((line,))) for line in lines]
        over = time.is_over
        said = [self.job.answered(self._bucket, given, time.start, time.decided, over)] if given else []
        return [*out, *self._sender.parcels(), *said]

    def replay(self, payloads: Iterable[bytes]) -> None:
        """The same again: what follows has been handed on."""
        self._take(list(map(unwrap, payloads)))
        if self._inbox.watermark.decided is not None:
            with self.job.looking():
                self._advance(self._inbox.watermark.decided)
            self._sender.parcels()

    def _take(self, contents: list[Content]) -> list[Parcel]:
        for content in contents:
            if content.kind == CHANGES:
                for tick, event in unpacked(content.lists["events"][0].as_py()):
                    self._waiting.setdefault(tick, []).append(event)
        return self._inbox.take(content for content in contents if content.kind == FACTS)

    def _advance(self, decided: int) -> list[ComplexEvent]:
        found: list[ComplexEvent] = []
        for tick in sorted({*(one for one in self._waiting if one <= decided), decided}):
            if tick <= self._now and tick not in self._waiting:
                continue
            self._now = tick
            for when, (made, bindings) in self._layers.advance(tick, _by_name(self._waiting.pop(tick, ()))):
                self._sender.send(when, made)
                if made.event in self.job.output:
                    found.append(ComplexEvent(when, made, bindings))
        return found

    def save(self) -> bytes:
        """All that has been taken in and still matters."""
        about, runs = self._inbox.save()
        known = about | {"now": self._now, "waiting": packed(self._waiting)}
        return frame([encode(known, {}), self._layers.save(), *runs])

    def load(self, saved: bytes) -> None:
        """Brings a new worker to where another one was."""
        about, layers, *runs = unframe(saved)
        header, _ = decode(about)
        self._inbox.load(header, runs)
        self._now, self._waiting = header["now"], unpacked(header["waiting"])
        self._layers.load(layers)


def _layers(job: EventsJob, stage: PatternStage, bucket: int) -> EventLayers:
    buckets = job.buckets(stage.number)

    def owns(name: str, solution: Solution) -> bool:
        key = stage.keys.get(name)
        return key is None or bucket_of(dict(solution)[key], buckets) == bucket

    return EventLayers(job.part_of(stage), job.index(), owns, job.looked_at)


def _by_name(events: Iterable[Instance]) -> Mapping[str, list[Instance]]:
    """The events of a tick by name; those that several buckets have made of the same events are one.

    >>> a, b = Instance("<a>", 1, 1, "<x>"), Instance("<b>", 1, 1, "<x>")
    >>> made = [Instance("<c>", 1, 1, events=some) for some in ((b, a), (a, b))]
    >>> [one.event for one in _by_name(made)["<c>"][0].events]
    ['<a>', '<b>']
    """
    found: dict[str, list[Instance]] = {}
    made: dict[tuple[object, ...], Instance] = {}
    for one in events:
        if one.events:
            key = _identity(one)
            if (other := made.setdefault(key, one)) is not one:
                made[key] = min(other, one, key=lambda each: rank(each.events, ()))
        else:
            found.setdefault(one.event, []).append(one)
    for one in made.values():
        found.setdefault(one.event, []).append(one)
    return found


def _identity(one: Instance) -> tuple[object, ...]:
    """What makes two complex events one: not the order in which events fill places."""
    return one.event, one.start, one.end, frozenset(one.events)


class EventTotals(Totals):
    """Puts together what buckets send; `repeating` are the patterns in which a name occurs several times."""

    def __init__(self, context: Context, repeating: frozenset[str]) -> None:
        super().__init__(context)
        self._repeating = repeating

    def combine(self, rows: list[dict[str, Any]]) -> Iterator[EventAnswers]:
        blocks = super().combine(rows)
        if not self._repeating:
            return blocks
        return (EventAnswers(tuple(sorted(self._shown(block.lines), key=str))) for block in blocks)

    def _shown(self, lines: tuple[EventLine, ...]) -> Iterator[EventLine]:
        """Lines of one complex event, which differ in what is bound, show its events in one order."""
        made = [one.instance for one in lines if isinstance(one, ComplexEvent) and one.event in self._repeating]
        shown = {_identity(one): one for some in _by_name(made).values() for one in some}
        for line in lines:
            if isinstance(line, ComplexEvent) and line.event in self._repeating:
                yield replace(line, instance=shown[_identity(line.instance)])
            else:
                yield line
