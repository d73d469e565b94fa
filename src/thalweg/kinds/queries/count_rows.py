"""Counts the solutions that the joins of a query find in all buckets, and answers when windows close."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from thalweg.dataflow.context import Context
from thalweg.dataflow.exchange import GATHER, Exchange
from thalweg.dataflow.operator import HeldKey, OpSpec, Output, Share, Updates, Words
from thalweg.dataflow.state import StateFormat
from thalweg.engine import Given
from thalweg.kinds.queries.compiled_query import StrayFacts
from thalweg.kinds.queries.evaluator import QueryEvaluator, Rows
from thalweg.kinds.queries.join_operator import ARRIVAL, HeldRows
from thalweg.kinds.queries.keyed_joins import SplitQuery, split_query
from thalweg.kinds.queries.per_window import Report
from thalweg.kinds.queries.query_operator import QueryOperator, StreamsRead, is_streamed
from thalweg.kinds.queries.query_rows import RowCounter, answered, solutions_of
from thalweg.kinds.queries.sparql_expressions import Asking
from thalweg.languages.rspql.lowered import LoweredQuery
from thalweg.languages.rspql.query import Query
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.dataset import Dataset
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate


@dataclass(frozen=True)
class CountRowsSpec(OpSpec):
    """The rows of a query whose joins are split; facts that these do not take come here, as windows show them, too."""

    query: Query
    background: Dataset
    streams: tuple[str, ...] = ()
    reports_streams: bool = False
    gives_events: ClassVar[bool] = True

    @cached_property
    def split(self) -> SplitQuery:
        split = split_query(self.query, self.background)
        assert isinstance(split, SplitQuery), "a query without a key is not split"
        return split

    def routes(self, signature: Predicate) -> Iterable[tuple[int, Exchange]]:
        is_joined = any(True for stage in self.split.stages for _ in stage.exchanges(signature))
        return ((0, GATHER),) if is_streamed(signature) and not is_joined else ()

    def held_routes(self, key: HeldKey) -> Iterable[tuple[Predicate, Exchange]]:
        return ()

    def open(self, context: Context, dictionary: Dictionary, share: Share) -> "CountRows":
        counted = CountedSolutions(self.split.lowered, dictionary, context.report)
        return CountRows(self.query, counted, StreamsRead(self.query, self.streams), context, self.reports_streams)


class CountRows(QueryOperator):
    """A query at work whose solutions come as held facts, one predicate for each of its answers."""

    format = StateFormat("query rows", 2)

    def __init__(
        self,
        query: Query,
        counted: "CountedSolutions",
        streams: StreamsRead,
        context: Context,
        reports_streams: bool,
    ) -> None:
        super().__init__(query, counted, streams, context, reports_streams)
        self._counted = counted

    def advance(self, tick: int, updates: Updates) -> Iterator[Output]:
        self._counted.take(tick, updates.held)
        return super().advance(tick, updates)


class CountedSolutions(QueryEvaluator):
    """An evaluator whose solutions come from elsewhere."""

    def __init__(self, lowered: LoweredQuery, dictionary: Dictionary, report: Report) -> None:
        self.dictionary = dictionary
        self._lowered = lowered
        self._asking = Asking(dictionary)
        self._counter = RowCounter(lowered, dictionary, self._asking)
        self._rows = HeldRows(answer.signature for answer in lowered.answers)
        self._evaluated = False
        self._strays = StrayFacts(dictionary, report)
        self._constants = [dictionary.code(term) for answer in lowered.answers for _, term in answer.constants]

    def take(self, tick: int, changes: Iterable[Given]) -> None:
        """Keeps solutions that begin and end at a tick until the next evaluation."""
        self._rows.take(tick, changes)

    def begin(self, first: int) -> None:
        """Its windows are elsewhere."""

    def add(self, tick: int, batches: Sequence[Batch]) -> None:
        """Looks for facts that are not triples: those that are joined are elsewhere."""
        facts = [{name: rows for name, rows in batch.rows.items() if name != ARRIVAL} for batch in batches]
        self._strays.look(map(Batch, facts))

    def evaluate(self, tick: int) -> Rows:
        self._evaluated = True
        changes = self._rows.turn(tick)
        return self._counter.change(*answered(self._lowered.answers, changes, self.dictionary, self._asking))

    def words_in_use(self) -> Words:
        constants = np.array(self._constants, dtype=np.int64)
        return np.concatenate([constants, self._counter.words_in_use(), *self._rows.words()])

    def snapshot(self) -> bytes:
        return frame(
            [
                encode({"evaluated": self._evaluated, "strays": self._strays.is_reported}, {}),
                self._rows.save(self.dictionary),
            ]
        )

    def resume(self, data: bytes) -> None:
        about, rows = unframe(data)
        header, _ = decode(about)
        self._evaluated, self._strays.is_reported = header["evaluated"], header["strays"]
        self._rows.load(rows, self.dictionary)
        # Rows that were output before are counted, and not output again.
        if self._evaluated:
            standing = self._rows.standing
            self._counter.changed(solutions_of(self._lowered.answers, standing, self.dictionary, self._asking), [])
