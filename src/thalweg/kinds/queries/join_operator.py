"""The joins of a query in one bucket: facts come by the hash of the key, and solutions begin and end.

    facts of streams ──Hash──▶ Join ──held: rows──▶ Join of the next stage ──held: solutions──▶ CountRows
                                    ──events: on which streams facts came, and the first that is not a triple──▶

A part of a join sees the facts that were sent for it, and no others: `called` gives them the number of their route.
What stands between two stages, such as groups and their aggregates, is worked out where the second one begins.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from thalweg.dataflow.context import Context
from thalweg.dataflow.exchange import Exchange
from thalweg.dataflow.operator import HeldKey, Operator, OpSpec, Output, Share, Updates, Words
from thalweg.dataflow.state import StateFormat
from thalweg.engine import Given
from thalweg.kinds.queries.compiled_query import (
    StoredWords,
    WaitingFacts,
    facts_for,
    graph_of,
    lasting,
    no_triples,
)
from thalweg.kinds.queries.keyed_joins import FedInput, SplitQuery, SplitStage, by_value, split_query
from thalweg.kinds.queries.query_operator import StreamsRead, is_streamed
from thalweg.kinds.queries.query_rows import Changes, Sieves
from thalweg.kinds.queries.sparql_expressions import Asking
from thalweg.kinds.rules.rule_engine import RuleEngine
from thalweg.languages.rspql.closings import closings_of, evaluation_ticks
from thalweg.languages.rspql.lowered import Input
from thalweg.languages.rspql.names import local_name
from thalweg.languages.rspql.query import Query
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.dataset import Dataset
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.saved_batches import load_batches, save_batches
from thalweg.model.saved_rows import load_rows, save_rows
from thalweg.model.time import FOREVER

if TYPE_CHECKING:
    from thalweg.explain.plan_stage import PlanStage

Row = tuple[int, ...]

ARRIVAL: Final = Predicate("'arrival", 0)
"""An event that says that something came on a stream, and not what."""

_NO_ROWS: Final[Words] = np.zeros((0, 0), dtype=np.int64)


@dataclass(frozen=True)
class JoinSpec(OpSpec):
    """One stage of the rules of a query, split by a key; `streams` are the names of those that the query can read."""

    query: Query
    background: Dataset
    streams: tuple[str, ...] = ()
    number: int = 0
    reads_streams: bool = True
    # Its facts have the numbers of its routes.
    shares: ClassVar[bool] = False

    @cached_property
    def stage(self) -> SplitStage:
        split = split_query(self.query, self.background)
        assert isinstance(split, SplitQuery), "a query without a key is not split"
        return split.stages[self.number]

    def width(self, partitions: int) -> int:
        return partitions if self.stage.keys else 1

    def routes(self, signature: Predicate) -> Iterable[tuple[int, Exchange]]:
        return list(self.stage.exchanges(signature)) if is_streamed(signature) else ()

    def called(self, route: int, signature: Predicate) -> Predicate:
        return signature.renamed(f"{route} {signature.name}")

    def held_routes(self, key: HeldKey) -> Iterable[tuple[Predicate, Exchange]]:
        return ()

    def placement(self, partitions: int) -> "PlanStage | None":
        from thalweg.explain.plan_stage import PlanStage

        if not self.stage.keys:
            return None
        why = "facts come by the hash of a variable that stands in all that is joined"
        if self.number:
            why = "rows come by the hash of a variable that groups them, or stands in all that is joined"
        return PlanStage((local_name(self.query.name),), self.stage.keys, partitions, why)

    def open(self, context: Context, dictionary: Dictionary, share: Share) -> "Join":
        return Join(self, dictionary, share)


class Join(Operator):
    """The rules of a query at work on the facts of a bucket."""

    format = StateFormat("query join", 2)

    def __init__(self, spec: JoinSpec, dictionary: Dictionary, share: Share) -> None:
        self._query = spec.query
        self._background = spec.background
        self._stage = stage = spec.stage
        self._share = share
        self._dictionary = dictionary
        self._asking = Asking(dictionary)
        self._stored = StoredWords(dictionary)
        self._streams = StreamsRead(spec.query, spec.streams)
        self._engine = RuleEngine(stage.program, dictionary=dictionary)
        self._sieves = Sieves(stage.sieves, dictionary, self._asking)
        self._waiting = [WaitingFacts([fed.needed]) for fed in stage.inputs]
        # The engine knows what it was given, and groups are made of all rows.
        self._rows = HeldRows(answer.signature for sieve in stage.sieves for answer in sieve.answers)
        self._now: int | None = None
        self._has_strayed = False

    def advance(self, tick: int, updates: Updates) -> Iterator[Output]:
        if self._now is None:
            self.first = tick if self.first is None else self.first
            self._begin(self.first)
            self._now = self.first - 1
        yield from self._evaluations(self._now + 1, tick - 1)
        for batch in updates.events:
            self._add(tick, batch)
        self._rows.take(tick, updates.held)
        if updates.events:
            yield Output(tick, events=self._arrivals(updates.events))
        yield from self._evaluations(tick, tick)
        self._now = tick

    def _arrivals(self, batches: Sequence[Batch]) -> list[Batch]:
        """An event of each stream, with the first fact of the bucket that is not a triple: `CountRows` reports it."""
        arrivals = {batch.stream: Batch({ARRIVAL: []}, stream=batch.stream) for batch in batches}
        for batch in batches if not self._has_strayed else ():
            if (stray := self._stray(batch)) is not None:
                arrivals[batch.stream].add(stray.signature, [self._dictionary.code(term) for term in stray.terms])
                self._has_strayed = True
        return list(arrivals.values())

    def _stray(self, batch: Batch) -> Fact | None:
        """The first fact of a batch that is not a triple, where the query reads the stream."""
        tables = batch.rows.items() if any(self._streams.only([batch])) else ()
        facts = (Batch({_sent_as(called): rows}) for called, rows in tables)
        return next((fact for part in facts for fact in no_triples(part, self._dictionary)), None)

    def _begin(self, first: int) -> None:
        """Windows count from the first tick."""
        for waiting, fed in zip(self._waiting, self._stage.inputs, strict=True):
            if isinstance(fed.needed.graph, int):
                waiting.closings = closings_of(self._query.windows[fed.needed.graph], first)
        self._closings = [closings_of(window, first) for window in self._query.windows]

    def _add(self, tick: int, batch: Batch) -> None:
        """Facts wait for their windows, each for the part of a join that it was sent for."""
        for called, rows in batch.rows.items():
            route = int(called.name.partition(" ")[0])
            waiting, graph = self._waiting[route], self._stage.inputs[route].needed.graph
            for facts in self._streams.only([Batch({_sent_as(called): rows}, stream=batch.stream)]):
                if isinstance(graph, int) and self._query.windows[graph].stream == facts.stream:
                    waiting.add(tick, facts)

    def _evaluations(self, start: int, end: int) -> Iterator[Output]:
        """What begins and ends from one tick to another, while no fact comes: at ticks at which windows close."""
        for tick in evaluation_ticks(self._closings, start, end):
            is_waiting = self._rows.waiting or any(facts.waiting for facts in self._waiting)
            if self._engine.now is not None and not is_waiting:
                break
            yield from self._solutions(tick, [*self._fed(tick), *self._passed(tick)])
        if self._engine.now is not None and self._engine.now < end:
            yield from self._solutions(end, [])

    def _fed(self, tick: int) -> Iterator[Given]:
        """The facts that windows show from a tick on, and at first the background."""
        is_first = self._engine.now is None
        for fed, waiting in zip(self._stage.inputs, self._waiting, strict=True):
            rows = _NO_ROWS
            if isinstance(fed.needed.graph, int):
                parts = [(self._facts(fed.needed, batch), until) for until, batch in waiting.entering(tick)]
                rows = lasting(parts, fed.needed.signature.arity)
            elif is_first:
                rows = self._background_rows(fed)
            if len(rows):
                yield Given(fed.called, False, rows, _NO_ROWS)

    def _background_rows(self, fed: FedInput) -> Words:
        """A graph of the background: the bucket's share of it, or all of it."""
        assert not isinstance(fed.needed.graph, int)
        batch = Batch()
        for fact in graph_of(self._query, self._background, fed.needed.graph):
            batch.add(fact.signature, [self._dictionary.code(term) for term in fact.terms])
        rows = self._facts(fed.needed, batch)
        if fed.key is not None:
            rows = rows[by_value(fed.key).buckets_of(rows, self._dictionary, self._share.buckets) == self._share.bucket]
        return lasting([(rows, FOREVER)], fed.needed.signature.arity)

    def _facts(self, needed: Input, batch: Batch) -> Words:
        return facts_for(needed, batch, self._dictionary, self._stored, self._asking)

    def _passed(self, tick: int) -> Iterator[Given]:
        """The rows of earlier stages that begin and end up to a tick, those of sieves as what passes them."""
        changes = self._rows.turn(tick)
        for sieve in self._stage.sieves:
            passed = self._sieves.passed(sieve, changes)
            for target, called in self._stage.passed:
                if target in passed:
                    yield Given(called, False, *passed[target])
        imports = {name for name, _ in self._stage.program.interface.imports}
        yield from (Given(name, False, *rows) for name, rows in changes.items() if name in imports)

    def _solutions(self, tick: int, fed: Sequence[Given]) -> Iterator[Output]:
        """The rows that begin and end up to a tick."""
        for delta in self._engine.advance(tick, (), fed):
            solutions = []
            for signature, inner in self._stage.outputs:
                begun, ended, _ = delta.columns(self._engine.plan.outputs[inner])
                if len(begun) or len(ended):
                    solutions.append(Given(signature, False, begun, ended))
            if solutions:
                yield Output(delta.tick, held=solutions)

    # State ----------------------------------------------------------------------------------------------------------

    def words_in_use(self) -> Words:
        waiting = [
            np.asarray(words, dtype=np.int64).reshape(-1)
            for facts in self._waiting
            for _, batch in facts.waiting
            for words in batch.rows.values()
        ]
        return np.concatenate([self._engine.words_in_use(), self._sieves.words(), *self._rows.words(), *waiting])

    def save(self) -> bytes:
        waiting = [save_batches(facts.waiting, self._dictionary) for facts in self._waiting]
        engine = b"" if self._engine.now is None else self._engine.snapshot()
        about = encode({"first": self.first, "now": self._now}, {})
        return frame([about, engine, self._rows.save(self._dictionary), *waiting])

    def load(self, data: bytes) -> None:
        about, engine, rows, *waiting = unframe(data)
        header, _ = decode(about)
        self.first, self._now = header["first"], header["now"]
        assert self.first is not None
        self._begin(self.first)
        self._rows.load(rows, self._dictionary)
        for facts, batches in zip(self._waiting, waiting, strict=True):
            facts.waiting = list(load_batches(batches, self._dictionary))
        if engine:
            self._engine.resume(engine)
            self._sieves.resume(self._rows.standing)


class HeldRows:
    """Rows as held facts of other operators; of some predicates those that stand are kept."""

    def __init__(self, kept: Iterable[Predicate]) -> None:
        self._changes: list[tuple[int, Given]] = []
        self._standing: dict[Predicate, dict[Row, None]] = {name: {} for name in kept}

    @property
    def waiting(self) -> bool:
        """Whether rows have changed since the last evaluation."""
        return bool(self._changes)

    @property
    def standing(self) -> dict[Predicate, Words]:
        """The rows that stand since the last evaluation."""
        return {name: _table(name, rows) for name, rows in self._standing.items()}

    def take(self, tick: int, changes: Iterable[Given]) -> None:
        """Keeps rows that begin and end at a tick until the next evaluation."""
        self._changes += ((tick, change) for change in changes)

    def turn(self, tick: int) -> Changes:
        """The rows that begin and end up to a tick."""
        steps: dict[Predicate, Counter[Row]] = {}
        for _, change in (change for change in self._changes if change[0] <= tick):
            counts = steps.setdefault(change.signature, Counter())
            counts.update(map(tuple, change.begun.tolist()))
            counts.subtract(map(tuple, change.ended.tolist()))
        self._changes = [change for change in self._changes if change[0] > tick]
        changes = {}
        for name, counts in steps.items():
            begun = [row for row, step in counts.items() if step > 0]
            ended = [row for row, step in counts.items() if step < 0]
            if name in self._standing:
                for row in ended:
                    del self._standing[name][row]
                self._standing[name].update(dict.fromkeys(begun))
            changes[name] = _table(name, begun), _table(name, ended)
        return changes

    def words(self) -> Iterator[Words]:
        """The words of all rows."""
        yield from (rows.reshape(-1) for rows in self.standing.values())
        yield from (rows.reshape(-1) for _, change in self._changes for rows in (change.begun, change.ended))

    def save(self, words: Dictionary) -> bytes:
        """All rows."""
        standing = [([name], rows) for name, rows in self.standing.items()]
        waiting = [
            ([change.signature, tick, sign], rows)
            for tick, change in self._changes
            for sign, rows in (("begun", change.begun), ("ended", change.ended))
        ]
        return save_rows([*standing, *waiting], words)

    def load(self, data: bytes, words: Dictionary) -> None:
        """Goes on where another one was saved."""
        for (text, *when), rows in load_rows(data, words):
            name = Predicate.read(text)
            if not when:
                self._standing[name] = dict.fromkeys(map(tuple, rows.tolist()))
                continue
            tick, sign = when
            pair = (rows, rows[:0]) if sign == "begun" else (rows[:0], rows)
            self._changes.append((tick, Given(name, False, *pair)))


def _sent_as(called: Predicate) -> Predicate:
    """The predicate of facts before they were given the number of their route."""
    return called.renamed(called.name.partition(" ")[2])


def _table(name: Predicate, rows: Iterable[Row]) -> Words:
    listed = list(rows)
    return np.array(listed, dtype=np.int64).reshape(len(listed), name.arity)
