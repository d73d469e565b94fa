"""One bucket of one stage: parcels come in, time goes on as far as it is decided, parcels go out.

A worker knows nothing of Spark. What it has taken in can be saved and loaded, and it does the same again when it is
given the same again, so a process that dies is replaced by loading what was saved and handing in what came since.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from thalweg.engine import Change, Engine, Given
from thalweg.engine.about import Dated, facts_about
from thalweg.ir.nodes import Program
from thalweg.model.arrow import Lists, decode, encode, recoded
from thalweg.model.event import Batch
from thalweg.model.time import NEVER
from thalweg.model.triples import as_facts
from thalweg.planning.partition import Route, Stage
from thalweg.runtimes.blame import Judge
from thalweg.runtimes.clashes import Tracker
from thalweg.runtimes.spark.answers import Telling, told_by
from thalweg.runtimes.spark.door import TRIPLES
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.timeline import Timeline
from thalweg.runtimes.spark.wire import (
    ANSWERS,
    CHANGES,
    FACTS,
    LATE,
    OUT,
    UNKNOWN,
    Content,
    Parcel,
    Words,
    buckets_of,
    frame,
    terms_of,
    unframe,
    unwrap,
    wrap,
)

_EMPTY = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Run:
    """Facts of one route on one stream, in the order of arrival, each with its tick."""

    route: int
    signature: str
    group: int
    stream: str | None
    ticks: Words
    rows: Words
    places: Words

    def where(self, which: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> "Run":
        if which.all():
            return self
        return replace(self, ticks=self.ticks[which], rows=self.rows[which], places=self.places[which])


class Worker:
    """The engine of a bucket, and what is still undecided."""

    def __init__(self, job: Job, stage: int, bucket: int, engine: type[Engine] = Engine) -> None:
        self.job = job
        self.stage: Stage = job.stages[stage]
        self.bucket = bucket
        settings = job.settings
        self.engine = engine(_share(self.stage, bucket, job.buckets(stage)))
        self.timeline = Timeline(job.groups, settings.delay, settings.first, settings.last)
        self.telling: Telling = told_by(settings.emit)(self.engine.dictionary)
        self._tracker: Tracker | None = None
        if job.program.reasons is not None and self.stage.outputs:
            self._tracker = Tracker(Judge(job.program.reasons), self._about, settings.emit)
        self._waiting: list[Run] = []
        self._arrived = 0
        self._finished = False
        self._supplied = _supplied(job, stage)

    # Taking in ------------------------------------------------------------------------------------------------------

    def process(self, payloads: Iterable[bytes]) -> list[Parcel]:
        """Takes in a batch's parcels, and lets time pass as far as it is decided."""
        contents = [unwrap(payload) for payload in payloads]
        arrived = [content for content in contents if content.kind == FACTS]
        arrived.sort(key=lambda content: (content.header["group"], content.header["part"], content.header["number"]))
        out: list[Parcel] = []
        for content in arrived:
            self._take(content, out)
        for content in arrived:
            header = content.header
            self.timeline.see(header["group"], content.lists["seen"], header["ended"])
            self.timeline.cut_short |= header["cut_short"]
        if self.job.bounded:
            self.timeline.ended = set(range(self.job.groups))
        self.timeline.settle()
        given = self._given(content for content in contents if content.kind == CHANGES)
        self._advance(given, out)
        if self.engine.dictionary.wants_collection:
            self.engine.collect([Batch(rows={"": run.rows.reshape(-1)}) for run in self._waiting])
        return out

    def _take(self, content: Content, out: list[Parcel]) -> None:
        """Keeps the facts of a parcel until their ticks are decided; those that are late go to the late channel."""
        lists, header = content.lists, content.header
        ticks: Words = lists["ticks"]
        if not len(ticks):
            return
        words = self._recoded(lists)
        watermarks = np.full(len(ticks), -1, dtype=np.int64)
        if len(lists["before"]):
            watermarks = lists["before"] - self.job.settings.delay
        settled = self.timeline.watermark(header["group"])
        if settled is not None:
            watermarks = np.maximum(watermarks, settled)
        late = ticks < watermarks
        place = 0
        for route, signature, stream, count in zip(
            lists["routes"].tolist(),
            header["signatures"],
            lists["streams"].tolist(),
            lists["counts"].tolist(),
            strict=True,
        ):
            arity = _arity(signature)
            part = slice(place, place + count)
            rows = words[: count * arity].reshape(count, arity)
            words = words[count * arity :]
            name = None if stream < 0 else header["names"][stream]
            run = Run(route, signature, header["group"], name, ticks[part], rows, lists["places"][part] + self._arrived)
            behind = late[part]
            if behind.any():
                self._tell_late(run.where(behind), watermarks[part][behind], out)
                run = run.where(~behind)
            if len(run.ticks):
                self._waiting.append(run)
            place += count
        self._arrived += int(lists["places"].max()) + 1

    def _recoded(self, lists: Lists) -> Words:
        """The words of a parcel as this engine's dictionary has them."""
        code = self.engine.dictionary.code
        renewed = np.array([code(term) for term in lists["terms"].to_pylist()], dtype=np.int64)
        return recoded(lists["words"], lists["codes"], renewed)

    def _tell_late(self, run: Run, watermarks: Words, out: list[Parcel]) -> None:
        """Late facts are told by the first stage that they are sent to, and there by one bucket."""
        if run.signature in self.job.supplied or not self._is_first_to_get(run):
            return
        wanted = run.ticks >= (self.job.settings.first or 0)
        texts = self._spelled(run.signature, run.rows[wanted])
        lists = {"ticks": run.ticks[wanted], "watermarks": watermarks[wanted], "facts": texts}
        out.append(wrap(OUT, self.bucket, {"kind": LATE, "stream": run.stream}, lists))

    def _spelled(self, signature: str, rows: Words) -> list[str]:
        spell = self.engine.dictionary.spell_rows
        if signature != TRIPLES:
            return spell(self.job.renamed.get(signature, signature).rpartition("/")[0], rows)
        single = (as_facts(row.reshape(1, -1), self.engine.dictionary) for row in rows)
        return [text for facts in single for predicate, row in facts for text in spell(predicate, row)]

    def _is_first_to_get(self, run: Run) -> bool:
        known = self.job.streamed.get(run.signature)
        if not known:
            return self.stage.number == min(self.job.counting, default=0) and self._is_first
        stage, number, route = known[0]
        return (stage, number) == (self.stage.number, run.route) and (route.key is not None or self._is_first)

    def _given(self, contents: Iterable[Content]) -> dict[int, list[Given]]:
        """What began and ended in earlier stages, by tick."""
        found: dict[int, list[Given]] = {}
        for content in contents:
            lists, route = content.lists, self.stage.routes[content.header["route"]]
            signature = f"{route.name}/{_arity(route.signature) + route.union}"
            width = _arity(route.signature) + route.union + route.timed
            renewed = np.array(
                [self.engine.dictionary.code(term) for term in lists["terms"].to_pylist()], dtype=np.int64
            )
            rows = recoded(lists["words"], lists["codes"], renewed).reshape(len(lists["ticks"]), width)
            if route.lasting:
                rows = np.hstack((rows, lists["until"].reshape(-1, 1)))
            ticks, ended = lists["ticks"], lists["ended"] != 0
            for tick, part in _by_tick(ticks):
                gone = ended[part]
                found.setdefault(tick, []).append(Given(signature, route.timed, rows[part][~gone], rows[part][gone]))
        return found

    # Going on -------------------------------------------------------------------------------------------------------

    def _advance(self, given: dict[int, list[Given]], out: list[Parcel]) -> None:
        time, engine = self.timeline, self.engine
        if time.decided is None or time.first is None:
            # Streams that end without an event have answers too: none.
            if time.is_over and self._speaks:
                out.append(self._answers(0, NEVER, self.telling.batch(0, NEVER, over=True)))
            return
        begin = time.first if engine.now is None else engine.now + 1
        if engine.now is None:
            engine.first = time.first
        supplies = _Supplies(self)
        if time.decided >= begin:
            batches = self._decided(time.first, time.decided)
            for tick in sorted(batches.keys() | given.keys() | {time.decided}):
                while self._tracker and (stop := self._tracker.stop(before=tick)) is not None:
                    self._tell(engine.advance(stop), supplies)
                # Told at once: the next tick may bring another plan, in which relations have other numbers.
                self._tell(engine.advance(tick, batches.get(tick, ()), given.get(tick, ())), supplies)
        over = time.is_over and not self._finished
        self._finished |= over
        lists = self.telling.batch(begin, time.decided, over)
        if any(map(len, lists.values())) or self._speaks:
            out.append(self._answers(time.first, time.decided, lists))
        out += supplies.parcels()

    @property
    def _speaks(self) -> bool:
        """Whether it is the one that tells how far all have come: somebody must, and all decide alike."""
        return self._is_first and self.stage.number == len(self.job.stages) - 1

    @property
    def _is_first(self) -> bool:
        """Whether it has the first bucket of its stage."""
        return self.bucket == self.job.buckets(self.stage.number)[0]

    def _answers(self, first: int, decided: int, lists: Lists) -> Parcel:
        header = {"kind": ANSWERS, "first": first, "decided": decided, "over": self.timeline.is_over}
        return wrap(OUT, self.bucket, header, lists)

    def _decided(self, first: int, last: int) -> dict[int, list[Batch]]:
        """The facts up to a tick, as batches by tick; the rest goes on waiting."""
        decided = [run.where(run.ticks <= last) for run in self._waiting]
        waiting = (run.where(run.ticks > last) for run in self._waiting)
        self._waiting = [run for run in waiting if len(run.ticks)]
        if self.engine.plan.tuples:
            return self._in_order(decided, first)
        found: dict[int, dict[str | None, dict[str, list[Words]]]] = {}
        for run in decided:
            name = self._name(run)
            for tick, part in _by_tick(run.ticks):
                if tick >= first:
                    rows = found.setdefault(tick, {}).setdefault(run.stream, {})
                    rows.setdefault(name, []).append(run.rows[part])
        return {
            tick: [
                Batch(rows={name: _flat(parts) for name, parts in rows.items()}, stream=stream)
                for stream, rows in streams.items()
            ]
            for tick, streams in found.items()
        }

    def _in_order(self, runs: list[Run], first: int) -> dict[int, list[Batch]]:
        """For tuple windows: fact by fact, in the order of arrival."""
        single = [
            (int(tick), run.group, int(place), run, row)
            for run in runs
            for tick, place, row in zip(run.ticks, run.places, run.rows.tolist(), strict=True)
            if tick >= first
        ]
        found: dict[int, list[Batch]] = {}
        for tick, _, _, run, row in sorted(single, key=lambda each: each[:3]):
            batches = found.setdefault(tick, [])
            if not batches or batches[-1].stream != run.stream:
                batches.append(Batch(stream=run.stream))
            batches[-1].add(self._name(run), row)
            if run.signature in self.job.supplied:
                # No window counts what was not on a stream.
                batches[-1].order.pop()
        return found

    def _name(self, run: Run) -> str:
        """What the stage's program calls a fact."""
        if run.route == UNKNOWN:
            return run.signature
        return f"{self.stage.routes[run.route].name}/{_arity(run.signature)}"

    def _tell(self, changes: list[Change], supplies: "_Supplies") -> None:
        plan = self.engine.plan
        if self._tracker is not None:
            assert self.engine.now is not None
            for told in self._tracker.take(self.engine.now, self.engine.partial, changes):
                self.telling.hear(told.tick, told.begin_text, told.end_text)
        for change in changes:
            for name, signature in self.stage.outputs if self._tracker is None else ():
                begun, ended = change.columns(plan.outputs[name])
                if signature == TRIPLES:
                    self._tell_triples(change.tick, begun, ended)
                else:
                    self.telling.take(change.tick, signature.rpartition("/")[0], begun, ended)
            supplies.take(change)

    def _tell_triples(self, tick: int, begun: Words, ended: Words) -> None:
        for predicate, rows in as_facts(begun, self.engine.dictionary):
            self.telling.take(tick, predicate, rows, rows[:0])
        for predicate, rows in as_facts(ended, self.engine.dictionary):
            self.telling.take(tick, predicate, rows[:0], rows)

    def _about(self, terms: Sequence[str]) -> Iterator[Dated]:
        """The facts that speak of some things, as the world calls them."""
        names = {route.name: route.signature.rpartition("/")[0] for route in self.stage.routes}
        for dated in facts_about(self.engine, terms):
            yield dated._replace(fact=dated.fact._replace(predicate=names[dated.fact.predicate]))

    # Saving ---------------------------------------------------------------------------------------------------------

    def save(self) -> bytes:
        """All that has been taken in and still matters."""
        runs = [
            encode(
                {"route": run.route, "signature": run.signature, "group": run.group, "stream": run.stream},
                {
                    "ticks": run.ticks,
                    "places": run.places,
                    "words": run.rows.reshape(-1),
                    **terms_of(run.rows.reshape(-1), self.engine.dictionary),
                },
            )
            for run in self._waiting
        ]
        header = {
            "timeline": self.timeline.save(),
            "arrived": self._arrived,
            "finished": self._finished,
            "begun": self.engine.now is not None,
        }
        engine = self.engine.snapshot() if self.engine.now is not None else b""
        clashes: Lists = {} if self._tracker is None else {"clashes": self._tracker.save()}
        return frame([encode(header, self.telling.save() | clashes), engine, *runs])

    def load(self, saved: bytes) -> None:
        """Brings a new worker to where another one was."""
        about, engine, *runs = unframe(saved)
        header, lists = decode(about)
        self.timeline.load(header["timeline"])
        self.telling.load(lists)
        if self._tracker is not None:
            self._tracker.load(lists["clashes"].to_pylist())
        self._arrived, self._finished = header["arrived"], header["finished"]
        if header["begun"]:
            self.engine = type(self.engine).restore(self.engine.program, engine)
            self.telling.words = self.engine.dictionary
        for data in runs:
            about_run, columns = decode(data)
            rows = self._recoded(columns).reshape(len(columns["ticks"]), _arity(about_run["signature"]))
            self._waiting.append(Run(**about_run, ticks=columns["ticks"], rows=rows, places=columns["places"]))


class _Supplies:
    """What a worker derives for later stages, collected over a batch."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._found: list[tuple[list[int], list[Words], list[Words]]] = [([], [], []) for _ in worker._supplied]

    def take(self, change: Change) -> None:
        plan = self._worker.engine.plan
        for (name, timed, _, _, route), (ticks, begun, ended) in zip(self._worker._supplied, self._found, strict=True):
            relation = plan.handed_on[name, timed]
            if route.lasting:
                began = change.lasting(relation)
                gone = began[:0]
            else:
                began, gone = change.columns(relation)
            if len(began) or len(gone):
                ticks.append(change.tick)
                begun.append(began)
                ended.append(gone)

    def parcels(self) -> Iterator[Parcel]:
        for (_, _, stage, number, route), (ticks, begun, ended) in zip(
            self._worker._supplied, self._found, strict=True
        ):
            if ticks:
                yield from self._spread(stage, number, route, ticks, begun, ended)

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


def _supplied(job: Job, stage: int) -> list[tuple[str, bool, int, int, Route]]:
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

    keys = {f"{route.name}/{_arity(route.signature)}": route.key for route in stage.routes if route.key is not None}
    words = Dictionary()

    def belongs(signature: str, args: tuple[str, ...]) -> bool:
        key = keys.get(signature)
        return key is None or int(buckets_of(np.array([words.code(args[key])]), words, buckets)[0]) == bucket

    background = tuple(fact for fact in stage.program.background if belongs(fact.signature, fact.args))
    return replace(stage.program, background=background)


def _by_tick(ticks: Words) -> Iterator[tuple[int, "slice | Words"]]:
    """The places of each tick, in order of time and then of arrival."""
    if not len(ticks):
        return
    if (ticks[1:] >= ticks[:-1]).all():
        found, starts = np.unique(ticks, return_index=True)
        ends = [*starts[1:].tolist(), len(ticks)]
        for tick, start, end in zip(found.tolist(), starts.tolist(), ends, strict=True):
            yield tick, slice(start, end)
        return
    order = np.argsort(ticks, kind="stable")
    found, starts = np.unique(ticks[order], return_index=True)
    for tick, part in zip(found.tolist(), np.split(order, starts[1:]), strict=True):
        yield tick, part


def _flat(parts: list[Words]) -> Words:
    return parts[0].reshape(-1) if len(parts) == 1 else np.concatenate(parts).reshape(-1)


def _arity(signature: str) -> int:
    return int(signature.rpartition("/")[2])
