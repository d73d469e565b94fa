"""A query answered by rules: facts are fed as windows close, the engine says what changed, and rows are counted.

An evaluation costs what has changed since the one before, not what the windows hold.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from thalweg.engine import Delta, Given
from thalweg.kinds.queries.evaluator import Rows
from thalweg.kinds.queries.feeding import facts_for, lasting, needed_of, no_triples
from thalweg.kinds.queries.per_window import Report, Triples
from thalweg.kinds.queries.query_stages import stages_of
from thalweg.kinds.queries.row_counter import RowCounter, Sieves
from thalweg.kinds.queries.solutions import Solutions, answered, net, no_rows, solutions_of
from thalweg.kinds.queries.sparql_expressions import Asking, Words
from thalweg.kinds.queries.stored_words import StoredWords
from thalweg.kinds.rules.rule_engine import RuleEngine
from thalweg.languages.rspql.closings import Closings, closings_of
from thalweg.languages.rspql.lowered import Input, LoweredQuery
from thalweg.languages.rspql.query import Query
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.dataset import Dataset
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.rdf import named as rdf_name
from thalweg.model.saved_batches import load_batches, save_batches
from thalweg.model.time import FOREVER

_NOTHING: Final = Dataset()
Changes = dict[Predicate, tuple[Words, Words]]


class CompiledQuery:
    """One query at work, as rules."""

    def __init__(
        self,
        query: Query,
        lowered: LoweredQuery,
        background: Dataset = _NOTHING,
        dictionary: Dictionary | None = None,
        report: Report = lambda diagnostic: None,
    ) -> None:
        """`report` takes a warning about facts that are no triples."""
        self.dictionary = Dictionary() if dictionary is None else dictionary
        self._query = query
        self._lowered = lowered
        self._background = background
        self._asking = Asking(self.dictionary)
        self._known = StoredWords(self.dictionary)
        self._stages = stages_of(lowered)
        self._engines = [RuleEngine(stage.program, dictionary=self.dictionary) for stage in self._stages]
        self._sieves = Sieves(lowered.sieves, self.dictionary, self._asking)
        self._rows = RowCounter(lowered, self.dictionary, self._asking)
        self._windows = [
            WaitingFacts([needed for needed in lowered.inputs if needed.graph == number])
            for number in range(len(query.windows))
        ]
        self._constants = [self.dictionary.code(term) for answer in lowered.answers for _, term in answer.constants]
        self._first = 0
        self._triples = Triples(report)
        self._is_reported = False

    def begin(self, first: int) -> None:
        self._first = first
        for window, described in zip(self._windows, self._query.windows, strict=True):
            window.closings = closings_of(described, first)

    def add(self, tick: int, batches: Sequence[Batch]) -> None:
        if not self._is_reported:
            self._look_at(batches)
        for window, described in zip(self._windows, self._query.windows, strict=True):
            for batch in batches:
                if batch.stream == described.stream:
                    window.add(tick, batch)

    def _look_at(self, batches: Iterable[Batch]) -> None:
        """Reports the first fact that is no triple."""
        facts = (fact for batch in batches for fact in no_triples(batch, self.dictionary))
        self._is_reported = any(not list(self._triples.of((fact,))) for fact in facts)

    def evaluate(self, tick: int) -> Rows:
        return self._rows.change(*self._changed(tick))

    def _changed(self, tick: int) -> tuple[list[Solutions], list[Solutions]]:
        """The solutions that begin and end."""
        fed = {needed.signature: rows for needed, rows in self._fed(tick) if len(rows)}
        changes: Changes = {}
        for stage, engine in zip(self._stages, self._engines, strict=True):
            nothing = np.zeros((0, 0), dtype=np.int64)
            arriving = [
                Given(name, False, fed[name], nothing) for needed in stage.inputs if (name := needed.signature) in fed
            ]
            arriving += [Given(name, False, *changes[name]) for name in stage.imports if name in changes]
            deltas = engine.advance(tick, (), arriving)
            for name in stage.outputs:
                changes[name] = _of_relation(engine, name, deltas)
            for sieve in stage.sieves:
                changes |= self._sieves.passed(sieve, changes)
        return answered(self._lowered.answers, changes, self.dictionary, self._asking)

    # What is fed ----------------------------------------------------------------------------------------------------

    def _fed(self, tick: int) -> Iterator[tuple[Input, Words]]:
        for window in self._windows:
            entering = window.entering(tick)
            for needed in window.inputs:
                parts = ((self._facts(needed, batch), until) for until, batch in entering)
                yield needed, lasting(parts, needed.signature.arity)
        if self._engines[0].now is None:
            for needed in self._lowered.inputs:
                if not isinstance(needed.graph, int):
                    rows = self._facts(needed, self._coded(graph_of(self._query, self._background, needed.graph)))
                    yield needed, lasting([(rows, FOREVER)], needed.signature.arity)

    def _facts(self, needed: Input, batch: Batch) -> Words:
        return facts_for(needed, batch, self.dictionary, self._known, self._asking)

    def _coded(self, facts: Iterable[Fact]) -> Batch:
        batch = Batch()
        for fact in facts:
            batch.add(fact.signature, [self.dictionary.code(term) for term in fact.terms])
        return batch

    # Memory and state -----------------------------------------------------------------------------------------------

    def collect(self, waiting: Iterable[Batch]) -> None:
        columns = [np.asarray(words, dtype=np.int64).reshape(-1) for batch in waiting for words in batch.rows.values()]
        self.dictionary.collect(np.concatenate([self.words_in_use(), *columns]))

    def words_in_use(self) -> NDArray[np.int64]:
        waiting = [
            np.asarray(words, dtype=np.int64).reshape(-1)
            for window in self._windows
            for _, batch in window.waiting
            for words in batch.rows.values()
        ]
        engines = [engine.words_in_use() for engine in self._engines]
        constants = np.array(self._constants, dtype=np.int64)
        return np.concatenate([*engines, self._rows.words_in_use(), self._sieves.words(), constants, *waiting])

    def snapshot(self) -> bytes:
        waiting = [save_batches(window.waiting, self.dictionary) for window in self._windows]
        engines = [b"" if engine.now is None else engine.snapshot() for engine in self._engines]
        return frame([encode({"first": self._first}, {}), *waiting, *engines])

    def resume(self, data: bytes) -> None:
        header, *parts = unframe(data)
        self.begin(decode(header)[0]["first"])
        for window, saved in zip(self._windows, parts, strict=False):
            window.waiting = list(load_batches(saved, self.dictionary))
        for engine, saved in zip(self._engines, parts[len(self._windows) :], strict=True):
            if saved:
                engine.resume(saved)
        if self._engines[0].now is not None:
            # What was found before is counted, and not output again.
            standing = {name: rows for engine in self._engines for name, rows in engine.listing().rows.items()}
            self._sieves.resume(standing)
            solutions = solutions_of(self._lowered.answers, standing, self.dictionary, self._asking)
            self._rows.changed(solutions, [])


def graph_of(query: Query, background: Dataset, name: str | None) -> Iterable[Fact]:
    """The facts of a graph of the background; the default graph may be several."""
    named = {rdf_name(graph): facts for graph, facts in background.named}
    if name is not None:
        is_seen = query.named is None or name in map(rdf_name, query.named)
        return named.get(name, ()) if is_seen else ()
    if query.default is None:
        return background.default
    return (fact for graph in query.default for fact in named.get(rdf_name(graph), ()))


class WaitingFacts:
    """The facts of one window that wait for it to close."""

    def __init__(self, inputs: Sequence[Input]) -> None:
        self.inputs = inputs
        self.closings: Closings | None = None
        self.waiting: list[tuple[int, Batch]] = []

    def add(self, tick: int, batch: Batch) -> None:
        assert self.closings is not None
        needed = needed_of(batch, self.inputs)
        if needed.rows and self.closings.shows(tick) is not None:
            self.waiting.append((tick, needed))

    def entering(self, now: int) -> list[tuple[int, Batch]]:
        """What enters as windows close up to now, with the last tick at which it is shown."""
        assert self.closings is not None
        closed = self.closings.latest(now)
        if closed is None:
            return []
        entering: list[tuple[int, Batch]] = []
        staying = []
        for tick, batch in self.waiting:
            if tick > closed:
                staying.append((tick, batch))
            elif (until := (self.closings.gone(tick) or 0) - 1) >= now:
                entering.append((until, batch))
        self.waiting = staying
        return entering


def _of_relation(engine: RuleEngine, name: Predicate, deltas: Sequence[Delta]) -> tuple[Words, Words]:
    """The rows of a predicate that began and ended."""
    relation = engine.plan.outputs[name]
    parts = [delta.columns(relation)[:2] for delta in deltas]
    if len(parts) == 1:
        return parts[0]
    return net(
        np.concatenate([no_rows(name), *(begun for begun, _ in parts)]),
        np.concatenate([no_rows(name), *(ended for _, ended in parts)]),
    )
