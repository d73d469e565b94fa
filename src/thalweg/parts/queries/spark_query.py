"""A query on Spark: its joins are split by a key, and its rows are counted in one bucket.

    stage 0    a bucket for each partition: facts come by the hash of the key, rules find solutions
    stage 1    one bucket: solutions of all buckets become rows, and rows become answers

That is possible where one variable stands in all that the rules of a query join. Other queries, and those that are
asked of SPARQL per window, have one bucket.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from thalweg.engine import Given
from thalweg.ir.nodes import Hints, Interface, Program
from thalweg.languages.rspql.closings import closings_of, evaluation_ticks
from thalweg.languages.rspql.lower import lower
from thalweg.languages.rspql.lowered import Input, LoweredQuery
from thalweg.languages.rspql.query import Query
from thalweg.languages.rspql.stored_terms import stored
from thalweg.model.arrow import decode, encode, frame, read_words, terms_of, unframe
from thalweg.model.dataset import Dataset
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate, interned
from thalweg.model.rdf import RDF_TYPE
from thalweg.model.saved_batches import load_batches, save_batches
from thalweg.model.saved_rows import load_rows, save_rows
from thalweg.model.time import FOREVER
from thalweg.parts.part import Context, Evaluation, Part, SparkWork
from thalweg.parts.queries.asking import Asking
from thalweg.parts.queries.compiled_query import WaitingFacts, graph_of
from thalweg.parts.queries.continuous import Continuous
from thalweg.parts.queries.evaluator import Rows
from thalweg.parts.queries.feeding import facts_for, lasting
from thalweg.parts.queries.solutions import Solutions, solutions
from thalweg.parts.queries.stored_words import StoredWords
from thalweg.parts.queries.streams_read import StreamsRead
from thalweg.parts.queries.tail import RowCounter
from thalweg.parts.spark_plan import PlanJob, PlanWorker, blocks_of, plan_job
from thalweg.planning.partition import Partitioning, Route, Stage, partition
from thalweg.runtimes.rule_engine import RuleEngine
from thalweg.runtimes.spark.inbox import Inbox, Run
from thalweg.runtimes.spark.wire import CHANGES, FACTS, Content, Parcel, unwrap, wrap

Words = NDArray[np.int64]

_SOLUTIONS: Final = Predicate("'solutions", 0)
_SEEN: Final = Predicate("'seen", 0)


@dataclass(frozen=True, slots=True)
class Split:
    """The rules of a query as one stage that is split by a key; `routes` are those of facts, with what each takes."""

    lowered: LoweredQuery
    stage: Stage
    routes: tuple[tuple[Route, Input], ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """The variables that facts are hashed by."""
        return tuple(sorted({key for key in self.stage.keys if key is not None}))


def split(query: Query, background: Dataset) -> Split | str:
    """How the joins of a query are split; or why they are not, in words that follow `because`."""
    lowered = lower(query, tuple(name for name, _ in background.named))
    if not isinstance(lowered, LoweredQuery):
        return "SPARQL is asked per window"
    if lowered.sieves or lowered.facts or not lowered.inputs:
        return "some of its rules read rows that SPARQL was asked about, or no triples"
    answers = frozenset(answer.signature for answer in lowered.answers)
    stages = partition(Program(lowered.rules, interface=Interface(outputs=answers))).stages
    if len(stages) > 1 or not stages[0].split or stages[0].in_parts:
        return "no variable stands in all that is joined"
    (stage,) = stages
    known = {each.signature: each for each in lowered.inputs}
    # Streams do not bring what rules derive.
    routes = tuple((route, known[route.signature]) for route in stage.routes if route.signature in known)
    if any(_argument(each, route.key) is None for route, each in routes):
        return "what is joined is a predicate or a class"
    return Split(lowered, stage, routes)


def _argument(needed: Input, column: int | None) -> int | None:
    """The argument of facts in a column of an input; None where it may be the predicate, or every bucket needs all."""
    return column if column == 0 or isinstance(needed.takes, Predicate) else None


@dataclass(frozen=True)
class QueryJob(PlanJob):
    """A query that is split."""

    query: Query | None = None
    background: Dataset = field(default_factory=Dataset)

    @cached_property
    def split(self) -> Split:
        assert self.query is not None
        found = split(self.query, self.background)
        assert isinstance(found, Split)
        return found

    @cached_property
    def plan(self) -> Partitioning:
        counted = Route(_SOLUTIONS, _SOLUTIONS.name, None, stage=0)
        last = Stage(1, Program(), (), (), False, (counted,), (), (), frozenset())
        return Partitioning((replace(self.split.stage, number=0), last))

    def keeps_events(self, stage: int) -> bool:
        return False

    def routes(self, signature: Predicate) -> Iterator[tuple[int, int, int | None]]:
        """To each part of a join that takes facts of a signature; what none takes is counted as having come."""
        found = [(number, *each) for number, each in enumerate(self.split.routes) if _takes(each[1], signature)]
        for number, route, each in found:
            yield 0, number, _argument(each, route.key)
        if not found:
            yield 1, 0, None

    def where(self, stage: int, route: int, key: int | None, rows: Words, words: Dictionary) -> Words | None:
        return None if key is None else _buckets(rows[:, key], words, self.buckets(stage))

    def is_first(self, signature: Predicate, stage: int, route: int, bucket: int) -> bool:
        return next(self.routes(signature))[:2] == (stage, route)


def _buckets(column: Words, dictionary: Dictionary, buckets: range) -> Words:
    """The bucket of each term; what is one term to SPARQL's store is in one bucket."""
    used, places = np.unique(column, return_inverse=True)
    spelled = map(dictionary.spell, used.tolist())
    hashed = [crc32(stored(term).encode()) % len(buckets) for term in spelled]
    return buckets[0] + np.array(hashed, dtype=np.int64)[places]


def _takes(needed: Input, signature: Predicate) -> bool:
    if isinstance(needed.takes, Predicate):
        return needed.takes == signature
    return signature.arity == 1 or (signature.arity == 2 and (needed.takes == "triples" or signature.name == RDF_TYPE))


def spread_query(part: Part, query: Query, background: Dataset, context: Context, partitions: int) -> SparkWork:
    """A query that can be split, on Spark."""
    job = plan_job(QueryJob, part, context, partitions, query=query, background=background)
    return SparkWork(job, query_worker, combine=blocks_of(context))


def query_worker(job: QueryJob, stage: int, bucket: int) -> "SolutionsWorker | RowsWorker":
    """What does the work of a bucket."""
    return RowsWorker(job, stage, bucket) if stage else SolutionsWorker(job, stage, bucket)


class SolutionsWorker:
    """One bucket of the joins of a query: facts come in, solutions that begin and end go on."""

    must_save = False

    def __init__(self, job: QueryJob, stage: int, bucket: int) -> None:
        assert job.query is not None
        self.job = job
        self._query = job.query
        self._bucket = bucket
        self._dictionary = Dictionary()
        self._asking = Asking(self._dictionary)
        self._known_words = StoredWords(self._dictionary)
        self._engine = RuleEngine(_fed_program(job.split), dictionary=self._dictionary)
        self._inbox = Inbox(job, stage, bucket, self._dictionary, _tagged)
        context = job.context(lambda found: None)
        self._streams = StreamsRead(self._query, context.streams)
        self._waiting = [WaitingFacts([each]) for _, each in job.split.routes]
        self._now: int | None = None

    def process(self, payloads: Iterable[bytes]) -> list[Parcel]:
        out = self._inbox.take(map(unwrap, payloads))
        out += self._advance()
        if self._dictionary.wants_collection:
            self._engine.spell_changes()
            held = [batch for one in self._waiting for _, batch in one.waiting]
            self._engine.collect([*self._inbox.waiting(), *held])
        return out

    def replay(self, payloads: Iterable[bytes]) -> None:
        """The same again: what follows has been handed on."""
        self._inbox.take(map(unwrap, payloads))
        self._advance()

    def _advance(self) -> list[Parcel]:
        time = self._inbox.watermark
        if time.decided is None or time.start is None:
            return []
        if self._now is None:
            self._begin(time.start)
            self._now = time.start - 1
        if time.decided <= self._now:
            return []
        changes, seen = _Changes(self.job.split.lowered), dict[tuple[str | None, int], None]()
        batches = self._inbox.up_to(time.decided, in_order=False)
        for tick in sorted(batches):
            self._evaluate(self._now + 1, tick - 1, changes)
            self._now = tick - 1
            for batch in batches[tick]:
                seen[batch.stream, tick] = None
                self._add(tick, batch)
        self._evaluate(self._now + 1, time.decided, changes)
        self._now = time.decided
        return [changes.parcel(self.job.buckets(1)[0], list(seen), self._dictionary)]

    def _begin(self, first: int) -> None:
        for waiting, (_, each) in zip(self._waiting, self.job.split.routes, strict=True):
            if isinstance(each.graph, int):
                waiting.closings = closings_of(self._query.windows[each.graph], first)
        self._closings = [closings_of(window, first) for window in self._query.windows]

    def _add(self, tick: int, batch: Batch) -> None:
        """Facts wait for their windows, each for the part of a join that it was sent for."""
        for name, rows in batch.rows.items():
            route, _, written = name.name.partition(" ")
            own = Batch({interned(written, name.arity): rows}, stream=batch.stream)
            waiting, graph = self._waiting[int(route)], self.job.split.routes[int(route)][1].graph
            for read in self._streams.only([own]):
                if isinstance(graph, int) and self._query.windows[graph].stream == read.stream:
                    waiting.add(tick, read)

    def _evaluate(self, start: int, end: int, changes: "_Changes") -> None:
        """What begins and ends from one tick to another, while no fact comes: at ticks at which windows close."""
        for tick in evaluation_ticks(self._closings, start, end):
            if self._engine.now is not None and not any(one.waiting for one in self._waiting):
                break
            self._collect(tick, list(self._given(tick)), changes)
        if self._engine.now is not None and self._engine.now < end:
            self._collect(end, [], changes)

    def _given(self, tick: int) -> Iterator[Given]:
        nothing = np.zeros((0, 0), dtype=np.int64)
        is_first = self._engine.now is None
        for (route, each), waiting in zip(self.job.split.routes, self._waiting, strict=True):
            if isinstance(each.graph, int):
                parts = [(self._facts(each, batch), until) for until, batch in waiting.entering(tick)]
                taken = [lasting(parts, each.signature.arity)]
            else:
                taken = [self._known(route, each)] if is_first else []
            yield from (Given(route.called, False, rows, nothing) for rows in taken if len(rows))

    def _known(self, route: Route, each: Input) -> Words:
        """The bucket's share of a graph of the background."""
        assert not isinstance(each.graph, int)
        batch = Batch()
        for fact in graph_of(self._query, self.job.background, each.graph):
            batch.add(fact.signature, [self._dictionary.code(term) for term in fact.terms])
        rows = self._facts(each, batch)
        assert route.key is not None
        here = _buckets(rows[:, route.key], self._dictionary, self.job.buckets(0)) == self._bucket
        return lasting([(rows[here], FOREVER)], each.signature.arity)

    def _facts(self, needed: Input, batch: Batch) -> Words:
        return facts_for(needed, batch, self._dictionary, self._known_words, self._asking)

    def _collect(self, tick: int, given: Sequence[Given], changes: "_Changes") -> None:
        outputs = {whole: own for own, whole in self.job.split.stage.outputs}
        for delta in self._engine.advance(tick, (), given):
            for number, answer in enumerate(self.job.split.lowered.answers):
                begun, ended, _ = delta.columns(self._engine.plan.outputs[outputs[answer.signature]])
                changes.add(delta.tick, number, begun, ended)

    def save(self) -> bytes:
        """All that has been taken in and still matters."""
        about, runs = self._inbox.save()
        waiting = [save_batches(one.waiting, self._dictionary) for one in self._waiting]
        engine = b"" if self._engine.now is None else self._engine.snapshot()
        return frame([encode(about | {"now": self._now}, {}), engine, *waiting, *runs])

    def load(self, saved: bytes) -> None:
        """Brings a new worker to where another one was."""
        about, engine, *parts = unframe(saved)
        header, _ = decode(about)
        waiting, runs = parts[: len(self._waiting)], parts[len(self._waiting) :]
        self._inbox.load(header, runs)
        self._now = header["now"]
        if self._inbox.watermark.start is not None and self._now is not None:
            self._begin(self._inbox.watermark.start)
        for one, data in zip(self._waiting, waiting, strict=True):
            one.waiting = list(load_batches(data, self._dictionary))
        if engine:
            self._engine.resume(engine)


def _tagged(run: Run) -> Predicate:
    """Facts that came for one part of a join are apart from those that came for another."""
    return interned(f"{run.route} {run.signature.name}", run.signature.arity)


def _fed_program(split: Split) -> Program:
    """The rules of a bucket; what is fed holds for as long as windows show it."""
    fed = frozenset((route.called, False) for route, _ in split.routes)
    outputs = frozenset(own for own, _ in split.stage.outputs)
    return replace(split.stage.program, interface=Interface(outputs=outputs, imports=fed), hints=Hints(irrevocable=fed))


class _Changes:
    """Solutions that begin and end in one batch."""

    def __init__(self, lowered: LoweredQuery) -> None:
        self._found: list[list[tuple[int, int, Words]]] = [[] for _ in lowered.answers]

    def add(self, tick: int, answer: int, begun: Words, ended: Words) -> None:
        self._found[answer] += ((tick, sign, rows) for sign, rows in ((1, begun), (-1, ended)) if len(rows))

    def parcel(self, bucket: int, seen: Sequence[tuple[str | None, int]], words: Dictionary) -> Parcel:
        known = [(number, *each) for number, some in enumerate(self._found) for each in some]
        flat = np.concatenate([np.zeros(0, dtype=np.int64), *(rows.reshape(-1) for _, _, _, rows in known)])
        lists = {
            "answers": np.array([number for number, *_ in known], dtype=np.int64),
            "ticks": np.array([tick for _, tick, _, _ in known], dtype=np.int64),
            "signs": np.array([sign for _, _, sign, _ in known], dtype=np.int64),
            "rows": np.array([len(rows) for *_, rows in known], dtype=np.int64),
            "words": flat,
            **terms_of(flat, words),
        }
        return wrap(1, bucket, {"kind": CHANGES, "seen": list(seen)}, lists)


def seen_on(streams: Iterable[str | None]) -> Iterator[Batch]:
    """What says that something came on streams, and not what."""
    return (Batch({_SEEN: []}, stream=stream) for stream in streams)


class RowsWorker(PlanWorker):
    """Counts the solutions of all buckets, and answers."""

    job: QueryJob

    def _begun(self, context: Context) -> Evaluation:
        query = self.job.query
        assert query is not None
        self._counted = CountedSolutions(query, self.job.split.lowered)
        streams = StreamsRead(query, context.streams)
        continuous = Continuous(query, self._counted, streams, context.settings.first, context.report)
        self._seen: dict[int, dict[str | None, None]] = {}
        return Evaluation(continuous, continuous, state=continuous)

    def _take(self, contents: list[Content]) -> list[Parcel]:
        for content in contents:
            if content.kind == CHANGES:
                self._counted.take(content)
                for stream, tick in content.header["seen"]:
                    self._seen.setdefault(tick, {})[stream] = None
        return self._inbox.take(content for content in contents if content.kind == FACTS)

    def _up_to(self, last: int) -> dict[int, list[Batch]]:
        """What came elsewhere came here, too: a window that shows something is not empty."""
        found = super()._up_to(last)
        for tick in [tick for tick in self._seen if tick <= last]:
            batches = found.setdefault(tick, [])
            batches += seen_on(self._seen.pop(tick))
        return found


class CountedSolutions:
    """An evaluator whose solutions come from elsewhere."""

    def __init__(self, query: Query, lowered: LoweredQuery, dictionary: Dictionary | None = None) -> None:
        self.dictionary = Dictionary() if dictionary is None else dictionary
        self._lowered = lowered
        self._asking = Asking(self.dictionary)
        self._rows = RowCounter(lowered, self.dictionary, self._asking)
        self._changes: dict[int, list[tuple[int, int, Words]]] = {}
        self._standing: list[dict[tuple[int, ...], None]] = [{} for _ in lowered.answers]
        self._evaluated = False
        self._constants = [self.dictionary.code(term) for answer in lowered.answers for _, term in answer.constants]

    def take(self, content: Content) -> None:
        """Solutions that begin and end in a bucket, by their ticks."""
        lists, place = content.lists, 0
        words = read_words(lists, self.dictionary)
        columns = (lists[name].tolist() for name in ("answers", "ticks", "signs", "rows"))
        for answer, tick, sign, count in zip(*columns, strict=True):
            arity = self._lowered.answers[answer].signature.arity
            rows = words[place : place + count * arity].reshape(count, arity)
            place += count * arity
            self._changes.setdefault(tick, []).append((answer, sign, rows))

    def begin(self, first: int) -> None:
        """Its windows are elsewhere."""

    def add(self, tick: int, batches: Sequence[Batch]) -> None:
        """Facts are elsewhere."""

    def evaluate(self, tick: int) -> Rows:
        self._evaluated = True
        begun, ended = map(self._solutions, self._turn(tick))
        return self._rows.change(begun, ended)

    def _solutions(self, some: list[list[tuple[int, ...]]]) -> list[Solutions]:
        return [solutions(answer, rows, self.dictionary, self._asking) for answer, rows in self._each(some)]

    def _turn(self, tick: int) -> tuple[list[list[tuple[int, ...]]], list[list[tuple[int, ...]]]]:
        """The solutions of each answer that begin and end up to a tick."""
        steps: list[Counter[tuple[int, ...]]] = [Counter() for _ in self._standing]
        for when in sorted(one for one in self._changes if one <= tick):
            for answer, sign, rows in self._changes.pop(when):
                for row in map(tuple, rows.tolist()):
                    steps[answer][row] += sign
        begun = [[row for row, step in some.items() if step > 0] for some in steps]
        ended = [[row for row, step in some.items() if step < 0] for some in steps]
        for standing, came, went in zip(self._standing, begun, ended, strict=True):
            for row in went:
                del standing[row]
            standing.update(dict.fromkeys(came))
        return begun, ended

    def _each(self, some: list[list[tuple[int, ...]]]) -> Iterator[tuple[Any, Words]]:
        for answer, rows in zip(self._lowered.answers, some, strict=True):
            yield answer, np.array(rows, dtype=np.int64).reshape(len(rows), answer.signature.arity)

    def collect(self, waiting: Iterable[Batch]) -> None:
        held = [np.asarray(words, dtype=np.int64).reshape(-1) for batch in waiting for words in batch.rows.values()]
        self.dictionary.collect(np.concatenate([self.words_in_use(), *held]))

    def words_in_use(self) -> Words:
        waiting = [rows.reshape(-1) for some in self._changes.values() for _, _, rows in some]
        standing = [rows.reshape(-1) for _, rows in self._each([list(one) for one in self._standing])]
        constants = np.array(self._constants, dtype=np.int64)
        return np.concatenate([constants, self._rows.words_in_use(), *standing, *waiting])

    def snapshot(self) -> bytes:
        standing = [("standing", rows) for _, rows in self._each([list(one) for one in self._standing])]
        waiting = [([tick, answer, sign], rows) for tick, some in self._changes.items() for answer, sign, rows in some]
        rows = save_rows([*standing, *waiting], self.dictionary)
        return frame([encode({"evaluated": self._evaluated}, {}), rows])

    def resume(self, data: bytes) -> None:
        about, saved = unframe(data)
        self._evaluated = decode(about)[0]["evaluated"]
        tables = list(load_rows(saved, self.dictionary))
        count = len(self._standing)
        self._standing = [dict.fromkeys(map(tuple, rows.tolist())) for _, rows in tables[:count]]
        for (tick, answer, sign), rows in tables[count:]:
            self._changes.setdefault(tick, []).append((answer, sign, rows))
        # Rows that were output before are counted, and not output again.
        if self._evaluated:
            self._rows.changed(self._solutions([list(one) for one in self._standing]), [])
