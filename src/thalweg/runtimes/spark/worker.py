"""One bucket of one stage: parcels come in, time goes on as far as it is decided, parcels go out.

A worker knows nothing of Spark. What it has taken in can be saved and loaded, and it does the same again when it is
given the same again, so a process that dies is replaced by loading what was saved and handing in what came since.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from thalweg.diagnostics import Failed, Rejected
from thalweg.engine import Delta, Engine, Given
from thalweg.engine.lookup import TimedFact, facts_about
from thalweg.ir.annotate_terms import as_streamed
from thalweg.ir.nodes import Program
from thalweg.model.arrow import Lists, decode, encode
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.model.time import NEVER
from thalweg.model.triples import TRIPLES, as_facts
from thalweg.planning.partition import Route, Stage
from thalweg.runtimes.consistency.clashes import Tracker
from thalweg.runtimes.consistency.justifier import Justifier
from thalweg.runtimes.spark.answers import BucketAnswers
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
    frame,
    terms_of,
    unframe,
    unwrap,
    wrap,
)

_EMPTY = np.zeros(0, dtype=np.int64)
_NO_LISTS: Lists = {"ticks": _EMPTY}

Turn = tuple[int, int, tuple[Predicate, ...]]
"""A route, the bucket that it comes from, and the predicates of which that one lacks facts from now on."""

Turns = dict[int, list[Turn]]
"""By tick."""


class Worker:
    """The engine of a bucket, and what is still undecided."""

    def __init__(self, job: Job, stage: int, bucket: int, engine: type[Engine] = Engine) -> None:
        self.job = job
        self.stage: Stage = job.stages[stage]
        self.bucket = bucket
        settings = job.settings
        self.engine = engine(_share(self.stage, bucket, job.buckets(stage)), memory=settings.memory)
        self.inbox = Inbox(job, stage, bucket, self.engine.dictionary, self._name)
        self.answers = BucketAnswers(settings.emit, self.engine.dictionary)
        self._missing = self.answers.emitter.missing
        self._tracker: Tracker | None = None
        if job.program.reasons is not None and self.stage.outputs:
            self._tracker = Tracker(Justifier(job.program.reasons), self._about, settings.emit)
        self._finished = False
        self._reached = -1
        self._supplied = _supplied(job, stage)
        self._doubts: dict[tuple[int, int], tuple[Predicate, ...]] = {}
        self._unsure: list[tuple[Predicate, ...]] = [()] * len(self._supplied)
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

    def _process(self, payloads: Iterable[bytes]) -> tuple[list[Parcel], Failed | Rejected | None]:
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

    def _advance(self, given: dict[int, list[Given]], turns: "Turns", out: list[Parcel]) -> Failed | Rejected | None:
        time, engine = self.inbox.watermark, self.engine
        if time.decided is None or time.start is None:
            # Streams that end without an event have answers too: none.
            if time.is_over and self._reports_progress:
                out.append(self._answers(0, NEVER, self.answers.batch(0, NEVER, over=True)))
            return None
        begin = time.start if engine.now is None else engine.now + 1
        if engine.now is None:
            engine.first = time.start
        supplies = _Supplies(self)
        self._reached = begin - 1
        error: Failed | Rejected | None = None
        if time.decided >= begin:
            batches = self.inbox.up_to(time.decided, in_order=bool(engine.plan.tuples))
            try:
                self._go_through(batches, given, turns, time.decided, supplies)
            except (Failed, Rejected) as found:
                error = found
        reached = time.decided if error is None else self._reached
        over = error is None and time.is_over and not self._finished
        self._finished |= over
        lists = self.answers.batch(begin, reached, over)
        if any(map(len, lists.values())) or self._reports_progress or self._missing:
            out.append(self._answers(time.start, reached, lists))
        out += supplies.parcels()
        return error

    def _go_through(
        self,
        batches: dict[int, list[Batch]],
        given: dict[int, list[Given]],
        turns: "Turns",
        last: int,
        supplies: "_Supplies",
    ) -> None:
        for tick in sorted(batches.keys() | given.keys() | turns.keys() | {last}):
            if tick in turns:
                self._doubt(tick, turns[tick], supplies)
            while self._tracker and (stop := self._tracker.stop(tick, self.engine.settle_at)) is not None:
                self._emit(self.engine.advance(stop), supplies)
                self._reached = stop
            # Emitted at once: the next tick may bring another plan, in which relations have other numbers.
            self._emit(self.engine.advance(tick, batches.get(tick, ()), given.get(tick, ())), supplies)
            self._reached = tick

    def _doubt(self, tick: int, turns: "list[Turn]", supplies: "_Supplies") -> None:
        """From this tick on, earlier stages lack other facts than before."""
        engine = self.engine
        if engine.first is not None and tick > engine.first and (engine.now is None or engine.now < tick - 1):
            self._emit(engine.advance(tick - 1), supplies)
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

    def _answers(self, first: int, decided: int, lists: Lists) -> Parcel:
        header = {"kind": ANSWERS, "first": first, "decided": decided, "over": self.inbox.watermark.is_over}
        if missing := self._missing.up_to(decided):
            names = dict(self.stage.outputs)
            header |= {"missing": missing, "unsure": sorted(names[each] for each in self.engine.unsure)}
        return wrap(OUT, self.bucket, header, lists)

    def _name(self, run: Run) -> Predicate:
        """What the stage's program calls a fact."""
        if run.route == UNKNOWN:
            return run.signature
        return run.signature.renamed(self.stage.routes[run.route].name)

    def _emit(self, deltas: list[Delta], supplies: "_Supplies") -> None:
        plan = self.engine.plan
        outputs = [(plan.outputs[name], signature) for name, signature in self.stage.outputs]
        if self._tracker is not None:
            assert self.engine.now is not None
            for explained in self._tracker.take(self.engine.now, self.engine.shed, deltas):
                self.answers.take_text(explained)
        for delta in deltas:
            for relation, signature in outputs if self._tracker is None else ():
                for what, rows in enumerate(delta.columns(relation)):
                    for predicate, some in self._named(signature, rows) if len(rows) else ():
                        self.answers.take(delta.tick, what, predicate, some)
            lacks = any(relation.number in delta.incomplete for relation, _ in outputs)
            self._missing.see(delta.tick, self._world(delta.shed) if lacks else ())
            supplies.take(delta)

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
        begun = self.engine.now is not None
        header = about | {"finished": self._finished, "begun": begun, "doubts": doubts, "unsure": self._unsure}
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
        self._unsure = list(map(_read, header["unsure"]))


class _Supplies:
    """What a worker derives for later stages, collected over a batch."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._found: list[tuple[list[int], list[Words], list[Words]]] = [([], [], []) for _ in worker._supplied]
        self._turns: list[list[tuple[int, tuple[Predicate, ...]]]] = [[] for _ in worker._supplied]

    def take(self, delta: Delta) -> None:
        plan = self._worker.engine.plan
        for (name, timed, _, _, route), (ticks, begun, ended) in zip(self._worker._supplied, self._found, strict=True):
            relation = plan.exports[name, timed]
            if route.lasting:
                began = delta.lasting(relation)
                gone = began[:0]
            else:
                began, ended_here, unknown = delta.columns(relation)
                gone = np.concatenate((ended_here, unknown))
            if len(began) or len(gone):
                ticks.append(delta.tick)
                begun.append(began)
                ended.append(gone)
        self._look_for_turns(delta)

    def _look_for_turns(self, delta: Delta) -> None:
        """Notes where what a later stage gets has become incomplete, or complete again."""
        worker = self._worker
        for place, (name, timed, *_) in enumerate(worker._supplied):
            lacks = worker.engine.plan.exports[name, timed].number in delta.incomplete
            names = worker._world(delta.shed) if lacks else ()
            if names != worker._unsure[place]:
                worker._unsure[place] = names
                self._turns[place].append((delta.tick, names))

    def parcels(self) -> Iterator[Parcel]:
        for (_, _, stage, number, route), (ticks, begun, ended) in zip(
            self._worker._supplied, self._found, strict=True
        ):
            if ticks:
                yield from self._spread(stage, number, route, ticks, begun, ended)
        for (_, _, stage, number, _), turns in zip(self._worker._supplied, self._turns, strict=True):
            header = {"kind": DOUBTS, "route": number, "from": self._worker.bucket, "turns": turns}
            yield from (wrap(stage, bucket, header, _NO_LISTS) for bucket in self._worker.job.buckets(stage) if turns)

    def _spread(
        self, stage: int, number: int, route: Route, ticks: list[int], begun: list[Words], ended: list[Words]
    ) -> Iterator[Parcel]:
        worker = self._worker
        counts = [len(rows) for rows in begun] + [len(rows) for rows in ended]
        when = np.repeat(np.array([*ticks, *ticks], dtype=np.int64), counts)
        gone = np.repeat(np.array([0] * len(ticks) + [1] * len(ticks), dtype=np.int64), counts)
        rows = np.concatenate([*begun, *ended])
        until = _EMPTY
        if route.lasting:
            rows, until = rows[:, :-1], rows[:, -1]
        if route.union:
            mark = np.full((len(rows), 1), worker.bucket << 2 | 1, dtype=np.int64)
            at = rows.shape[1] - route.timed
            rows = np.hstack((rows[:, :at], mark, rows[:, at:]))
        buckets = worker.job.buckets(stage)
        where = None if route.key is None else buckets_of(rows[:, route.key], worker.engine.dictionary, buckets)
        for bucket in buckets:
            chosen = slice(None) if where is None else np.flatnonzero(where == bucket)
            words = rows[chosen].reshape(-1)
            if len(when[chosen]):
                lists = {
                    "ticks": when[chosen],
                    "ended": gone[chosen],
                    "until": until[chosen] if route.lasting else _EMPTY,
                    "words": words,
                    **terms_of(words, worker.engine.dictionary),
                }
                yield wrap(stage, bucket, {"kind": CHANGES, "route": number}, lists)


def _turns(contents: Iterable[Content]) -> Turns:
    """When what earlier stages hand on becomes incomplete, or complete again."""
    found: Turns = {}
    for header in (content.header for content in contents):
        for tick, names in header["turns"]:
            found.setdefault(tick, []).append((header["route"], header["from"], _read(names)))
    return found


def _read(texts: Iterable[str]) -> tuple[Predicate, ...]:
    return tuple(map(Predicate.read, texts))


def _supplied(job: Job, stage: int) -> list[tuple[Predicate, bool, int, int, Route]]:
    """For each later stage that takes facts from this one: what it is called here, and where it goes."""
    names = {(signature, timed): name for name, signature, timed in job.stages[stage].supplies}
    return [
        (names[route.signature, route.timed], route.timed, later.number, number, route)
        for later in job.stages
        for number, route in enumerate(later.routes)
        if route.stage == stage
    ]


def _share(stage: Stage, bucket: int, buckets: range) -> Program:
    """The stage's program with the bucket's share of the background."""
    from thalweg.model.dictionary import Dictionary

    keys = {route.signature.renamed(route.name): route.key for route in stage.routes if route.key is not None}
    words = Dictionary()

    def belongs(signature: Predicate, args: tuple[str, ...]) -> bool:
        key = keys.get(signature)
        return key is None or int(buckets_of(np.array([words.code(args[key])]), words, buckets)[0]) == bucket

    background = tuple(fact for fact in stage.program.background if belongs(fact.signature, fact.args))
    return replace(stage.program, background=background)
