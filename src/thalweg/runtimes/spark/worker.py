"""One bucket of one stage: parcels come in, time goes on as far as it is decided, parcels go out.

A worker knows nothing of Spark. What it has taken in can be saved and loaded, and it does the same again when it is
given the same again, so a process that dies is replaced by loading what was saved and handing in what came since.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

import numpy as np

from thalweg.diagnostics import NOWHERE, FailedError, RejectedError
from thalweg.engine import Delta, Given
from thalweg.engine.lookup import TimedFact, facts_about
from thalweg.ir.annotate_terms import as_streamed
from thalweg.ir.nodes import Program
from thalweg.model.arrow import Lists, decode, encode, frame, terms_of, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.model.time import FOREVER, NEVER
from thalweg.model.triples import TRIPLES, as_facts
from thalweg.planning.check_future import future_heads
from thalweg.planning.partition import Route, Stage
from thalweg.planning.plan import Relation
from thalweg.planning.revocable import guaranteed
from thalweg.runtimes.consistency.clashes import Tracker
from thalweg.runtimes.consistency.justifier import Justifier
from thalweg.runtimes.mixed_kinds import mixed_kinds
from thalweg.runtimes.rule_engine import RuleEngine
from thalweg.runtimes.spark.answers import BucketAnswers, Taken, stacked
from thalweg.runtimes.spark.inbox import Inbox, Run, by_tick
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.wire import (
    ANSWERS,
    CHANGES,
    DOUBTS,
    FACTS,
    OUT,
    UNKNOWN,
    Content,
    Parcel,
    Words,
    buckets_of,
    failure,
    unwrap,
    warning_text,
    wrap,
)

MOST_GUARANTEED: Final = 10_000
"""Of at most this many facts a bucket says at the end until when they are guaranteed."""

_EMPTY = np.zeros(0, dtype=np.int64)
_NO_LISTS: Lists = {"ticks": _EMPTY}

Turn = tuple[int, int, tuple[Predicate, ...]]
"""A route, the bucket that it comes from, and the predicates of which that one lacks facts from now on."""

Turns = dict[int, list[Turn]]
"""By tick."""


class Worker:
    """The engine of a bucket, and what is still undecided."""

    def __init__(self, job: Job, stage: int, bucket: int, engine: type[RuleEngine] = RuleEngine) -> None:
        self.job = job
        self.stage: Stage = job.stages[stage]
        self.bucket = bucket
        settings = job.settings
        share, calendar = _share(self.stage, bucket, job.buckets(stage)), settings.calendar
        self.engine = engine(share, memory=settings.memory, calendar=calendar)
        self.inbox = Inbox(job, stage, bucket, self.engine.dictionary, self._name)
        self.answers = BucketAnswers(settings.emit, self.engine.dictionary, settings.with_until)
        self._guaranteed = guaranteed(job.program) if settings.with_until else frozenset()
        self._missing = self.answers.emitter.missing
        self._tracker: Tracker | None = None
        if job.program.hints.justification is not None and self.stage.outputs:
            self._tracker = Tracker(Justifier(job.program.hints.justification), self._about, settings.emit)
        self._finished = False
        self._noted = 0
        self._reached = -1
        self._supplies = _supplies(job, stage)
        self._doubts: dict[tuple[int, int], tuple[Predicate, ...]] = {}
        self.must_save = False

    # Taking in ------------------------------------------------------------------------------------------------------

    def process(self, payloads: Iterable[bytes]) -> list[Parcel]:
        """Takes in a batch's parcels, and lets time pass as far as it is decided.

        Where the engine gives up, the parcels are those of the ticks before, and the last one holds the diagnostic.
        """
        out, error = self._process(payloads)
        return out if error is None else [*out, failure(self.bucket, error, self._reached)]

    def replay(self, payloads: Iterable[bytes]) -> None:
        """The same again, after all that came before: what follows has been answered, and nothing was shed."""
        self.engine.memory = None
        try:
            _, error = self._process(payloads)
        finally:
            self.engine.memory = self.job.settings.memory
        if error is not None:
            raise error

    def _process(self, payloads: Iterable[bytes]) -> tuple[list[Parcel], FailedError | RejectedError | None]:
        contents = [unwrap(payload) for payload in payloads]
        out = self.inbox.take(content for content in contents if content.kind == FACTS)
        given = self._given(content for content in contents if content.kind == CHANGES)
        dropped = self.engine.dropped
        error = self._advance(given, _turns(content for content in contents if content.kind == DOUBTS), out)
        # When facts are shed depends on how an engine came to where it is, so such a batch is not replayed.
        self.must_save = self.engine.dropped > dropped
        if error is None and self.engine.dictionary.wants_collection:
            self.engine.collect(self.inbox.waiting())
        return out, error

    def _given(self, contents: Iterable[Content]) -> dict[int, list[Given]]:
        """What began and ended in earlier stages, by tick."""
        found: dict[int, list[Given]] = {}
        for content in contents:
            lists, route = content.lists, self.stage.routes[content.header["route"]]
            rows = self.inbox.recoded(lists).reshape(len(lists["ticks"]), route.called.arity + route.timed)
            if route.lasting:
                rows = np.hstack((rows, lists["until"].reshape(-1, 1)))
            ticks, ended = lists["ticks"], lists["ended"] != 0
            for tick, part in by_tick(ticks):
                gone = ended[part]
                found.setdefault(tick, []).append(Given(route.called, route.timed, rows[part][~gone], rows[part][gone]))
        return found

    # Going on -------------------------------------------------------------------------------------------------------

    def _advance(
        self, given: dict[int, list[Given]], turns: Turns, out: list[Parcel]
    ) -> FailedError | RejectedError | None:
        time, engine = self.inbox.watermark, self.engine
        if time.decided is None or time.start is None:
            # Streams that end without an event have answers too: none.
            if time.is_over and self._reports_progress:
                out.append(self._answers(0, NEVER, self.answers.batch(0, NEVER, over=True)))
            return None
        begin = time.start if engine.now is None else engine.now + 1
        if engine.now is None:
            engine.first = time.start
        self._reached = begin - 1
        error: FailedError | RejectedError | None = None
        if time.decided >= begin:
            counts = bool(engine.plan.tuples or engine.plan.keyed)
            batches = self.inbox.up_to(time.decided, in_order=counts, across=self.stage.counts_everything)
            try:
                self._go_through(batches, given, turns, time.decided)
            except (FailedError, RejectedError) as found:
                error = found
        reached = time.decided if error is None else self._reached
        over = error is None and time.is_over and not self._finished
        self._finished |= over
        lists, warnings = self.answers.batch(begin, reached, over), self._warnings(over)
        if any(map(len, lists.values())) or self._reports_progress or self._missing or warnings:
            out.append(self._answers(time.start, reached, lists, warnings))
        for supply in self._supplies:
            out += supply.parcels(self.bucket, self.job.buckets(supply.stage), engine.dictionary)
        return error

    def _go_through(
        self, batches: dict[int, list[Batch]], given: dict[int, list[Given]], turns: Turns, last: int
    ) -> None:
        for tick in sorted(batches.keys() | given.keys() | turns.keys() | {last}):
            if tick in turns:
                self._doubt(tick, turns[tick])
            while self._tracker and (stop := self._tracker.stop(tick, self.engine.settle_at)) is not None:
                self._emit(self.engine.advance(stop))
                self._reached = stop
            # Emitted at once: the next tick may bring another plan, in which relations have other numbers.
            self._emit(self.engine.advance(tick, batches.get(tick, ()), given.get(tick, ())))
            self._reached = tick

    def _doubt(self, tick: int, turns: list[Turn]) -> None:
        """From this tick on, earlier stages lack other facts than before."""
        engine = self.engine
        if engine.first is not None and tick > engine.first and (engine.now is None or engine.now < tick - 1):
            self._emit(engine.advance(tick - 1))
        for number, sender, names in turns:
            self._doubts[number, sender] = names
        found: dict[tuple[Predicate, bool], tuple[Predicate, ...]] = {}
        for (number, _), names in self._doubts.items():
            route = self.stage.routes[number]
            key = route.called, route.timed
            if names:
                found[key] = tuple(sorted({*found.get(key, ()), *names}))
        engine.doubt(found)

    def _world(self, predicates: Iterable[Predicate]) -> tuple[Predicate, ...]:
        """Predicates of the stage's program as the world calls them."""
        names = {route.called: route.signature for route in self.stage.routes}
        return tuple(sorted(as_streamed(names.get(each, each) for each in predicates)))

    @property
    def _reports_progress(self) -> bool:
        """Whether it sends how far all have come: one bucket must, and all decide alike."""
        number = self.stage.number
        return number == len(self.job.stages) - 1 and self.bucket == self.job.buckets(number)[0]

    def _warnings(self, over: bool) -> list[str]:
        """What deserves a warning since the batch before; some of it at the end."""
        found = self.engine.incomparable
        new, self._noted = found[self._noted :], len(found)
        return [*map(warning_text, mixed_kinds(self.job.program, new)), *self._future(over)]

    def _future(self, over: bool) -> list[str]:
        """At the end, conclusions in the future; rules that only pass them on have no place."""
        dropped = [(rule, count) for rule, count in self.engine.future if rule.span != NOWHERE] if over else []
        return list(map(warning_text, future_heads(dropped, is_share=self.job.partitions > 1)))

    def _answers(self, first: int, decided: int, lists: Lists, warnings: Sequence[str] = ()) -> Parcel:
        header = {"kind": ANSWERS, "first": first, "decided": decided, "over": self.inbox.watermark.is_over}
        if missing := self._missing.up_to(decided):
            names = dict(self.stage.outputs)
            header |= {"missing": missing, "unsure": sorted(names[each] for each in self.engine.unsure)}
        if warnings:
            header["warnings"] = [*warnings]
        if header["over"] and self._guaranteed:
            header["guaranteed"] = dict(islice(self._lasting_now(), MOST_GUARANTEED))
        return wrap(OUT, self.bucket, header, lists)

    def _name(self, run: Run) -> Predicate:
        """What the stage's program calls a fact."""
        if run.route == UNKNOWN:
            return run.signature
        return run.signature.renamed(self.stage.routes[run.route].name)

    def _emit(self, deltas: list[Delta]) -> None:
        plan = self.engine.plan
        outputs = [(plan.outputs[name], signature) for name, signature in self.stage.outputs]
        if self._tracker is not None:
            assert self.engine.now is not None
            for explained in self._tracker.take(self.engine.now, self.engine.shed, deltas):
                self.answers.take_text(explained)
        for delta in deltas:
            for relation, signature in outputs if self._tracker is None else ():
                begun, *others = delta.columns(relation)
                if signature in self._guaranteed:
                    self._take_lasting(delta, relation, signature)
                    begun = begun[:0]
                for what, rows in enumerate((begun, *others)):
                    if len(rows):
                        self._output(delta.tick, what, signature, rows)
            lacks = any(relation.number in delta.incomplete for relation, _ in outputs)
            self._missing.see(delta.tick, self._world(delta.shed) if lacks else ())
            for supply in self._supplies:
                relation = plan.exports[supply.name, supply.route.timed]
                supply.take(delta, relation, self._world(delta.shed) if relation.number in delta.incomplete else ())

    def _take_lasting(self, delta: Delta, relation: Relation, signature: Predicate) -> None:
        """What began of a predicate, together with what is guaranteed just as long."""
        begun = delta.begun_until(relation)
        for until in np.unique(begun[:, -1]).tolist():
            self._output(delta.tick, 0, signature, begun[begun[:, -1] == until, :-1], until)

    def _output(self, tick: int, what: int, signature: Predicate, rows: Words, until: int = FOREVER) -> None:
        """Rows of an output that began (0), ended (1) or became unknown (2), and until when they are guaranteed."""
        for predicate, some in self._named(signature, rows):
            self.answers.take(tick, what, predicate, some, until)

    def _lasting_now(self) -> Iterator[tuple[str, int]]:
        """The output of the last tick, and until when it is guaranteed."""
        engine = self.engine
        rows = None if engine.now is None else engine.output_rows()
        for name, signature in self.stage.outputs:
            if signature in self._guaranteed:
                found = engine.decoder.columns_of(engine.plan.outputs[name], rows, with_horizon=True)
                for until in np.unique(found[:, -1]).tolist():
                    for predicate, some in self._named(signature, found[found[:, -1] == until, :-1]):
                        yield from ((fact, until) for fact in engine.dictionary.spell_rows(predicate, some))

    def _named(self, signature: Predicate, rows: Words) -> Iterable[tuple[str, Words]]:
        """Rows of an output with the predicates that they belong to."""
        return as_facts(rows, self.engine.dictionary) if signature == TRIPLES else ((signature.name, rows),)

    def _about(self, terms: Sequence[str]) -> Iterator[TimedFact]:
        """The facts about some things, as streams call them."""
        names = {route.name: route.signature.name for route in self.stage.routes}
        for dated in facts_about(self.engine, terms):
            yield dated._replace(fact=dated.fact._replace(predicate=names[dated.fact.predicate]))

    # Saving ---------------------------------------------------------------------------------------------------------

    def save(self) -> bytes:
        """All that has been taken in and still matters."""
        about, runs = self.inbox.save()
        doubts = [[*key, list(names)] for key, names in self._doubts.items()]
        lacking = [supply.lacking for supply in self._supplies]
        begun = self.engine.now is not None
        header = about | {"finished": self._finished, "begun": begun, "doubts": doubts, "lacking": lacking}
        engine = self.engine.snapshot() if begun else b""
        clashes: Lists = {} if self._tracker is None else {"clashes": self._tracker.save()}
        return frame([encode(header, self.answers.emitter.save() | clashes), engine, *runs])

    def load(self, saved: bytes) -> None:
        """Brings a new worker to where another one was."""
        about, engine, *runs = unframe(saved)
        header, lists = decode(about)
        self.answers.emitter.load(lists)
        if self._tracker is not None:
            self._tracker.load(lists["clashes"].to_pylist())
        self._finished = header["finished"]
        if header["begun"]:
            self.engine = type(self.engine).restore(self.engine.program, engine, self.job.settings.memory)
            self.answers.words = self.inbox.words = self.engine.dictionary
        self.inbox.load(header, runs)
        self._doubts = {(route, sender): _read(names) for route, sender, names in header["doubts"]}
        for supply, lacking in zip(self._supplies, header["lacking"], strict=True):
            supply.lacking = _read(lacking)


@dataclass(slots=True)
class _Supply:
    """What a later stage takes from this one by one of its routes, collected over a batch; `name` is what it is here.

    `lacking` are the predicates of which facts were shed behind it, and `turns` the ticks at which these change.
    """

    name: Predicate
    stage: int
    number: int
    route: Route
    taken: list[Taken] = field(default_factory=list)
    turns: list[tuple[int, tuple[Predicate, ...]]] = field(default_factory=list)
    lacking: tuple[Predicate, ...] = ()

    def take(self, delta: Delta, relation: Relation, lacking: tuple[Predicate, ...]) -> None:
        found = (delta.lasting(relation),) if self.route.lasting else delta.columns(relation)
        # What became unknown is taken back like what ended.
        self.taken += [(delta.tick, min(what, 1), rows) for what, rows in enumerate(found) if len(rows)]
        if lacking != self.lacking:
            self.lacking = lacking
            self.turns.append((delta.tick, lacking))

    def parcels(self, sender: int, buckets: range, words: Dictionary) -> Iterator[Parcel]:
        """What was collected, for the buckets of the later stage."""
        if self.taken:
            yield from self._changes(sender, buckets, words)
        if self.turns:
            header = {"kind": DOUBTS, "route": self.number, "from": sender, "turns": self.turns}
            yield from (wrap(self.stage, bucket, header, _NO_LISTS) for bucket in buckets)
        self.taken, self.turns = [], []

    def _changes(self, sender: int, buckets: range, words: Dictionary) -> Iterator[Parcel]:
        route = self.route
        ticks, ended, rows = stacked(self.taken)
        until = _EMPTY
        if route.lasting:
            rows, until = rows[:, :-1], rows[:, -1]
        if route.union:
            mark = np.full((len(rows), 1), sender << 2 | 1, dtype=np.int64)
            at = rows.shape[1] - route.timed
            rows = np.hstack((rows[:, :at], mark, rows[:, at:]))
        where = None if route.key is None else buckets_of(rows[:, route.key], words, buckets)
        for bucket in buckets:
            chosen = slice(None) if where is None else np.flatnonzero(where == bucket)
            if len(ticks[chosen]):
                flat = rows[chosen].reshape(-1)
                lists = {
                    "ticks": ticks[chosen],
                    "ended": ended[chosen],
                    "until": until[chosen] if route.lasting else _EMPTY,
                    "words": flat,
                    **terms_of(flat, words),
                }
                yield wrap(self.stage, bucket, {"kind": CHANGES, "route": self.number}, lists)


def _turns(contents: Iterable[Content]) -> Turns:
    """When what earlier stages hand on becomes incomplete, or complete again."""
    found: Turns = {}
    for header in (content.header for content in contents):
        for tick, names in header["turns"]:
            found.setdefault(tick, []).append((header["route"], header["from"], _read(names)))
    return found


def _read(texts: Iterable[str]) -> tuple[Predicate, ...]:
    return tuple(map(Predicate.read, texts))


def _supplies(job: Job, stage: int) -> list[_Supply]:
    """For each later stage that takes facts from this one: what it takes."""
    names = {(signature, timed): name for name, signature, timed in job.stages[stage].supplies}
    return [
        _Supply(names[route.signature, route.timed], later.number, number, route)
        for later in job.stages
        for number, route in enumerate(later.routes)
        if route.stage == stage
    ]


def _share(stage: Stage, bucket: int, buckets: range) -> Program:
    """The stage's program with the bucket's share of the background."""
    keys = {route.signature.renamed(route.name): route.key for route in stage.routes if route.key is not None}
    words = Dictionary()

    def belongs(signature: Predicate, args: tuple[str, ...]) -> bool:
        key = keys.get(signature)
        return key is None or int(buckets_of(np.array([words.code(args[key])]), words, buckets)[0]) == bucket

    background = tuple(fact for fact in stage.program.background if belongs(fact.signature, fact.terms))
    return replace(stage.program, background=background)
