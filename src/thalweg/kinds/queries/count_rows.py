"""Counts the solutions that the joins of a query find in all buckets, and answers when windows close."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from thalweg.dataflow.context import Context
from thalweg.dataflow.exchange import GATHER, Exchange
from thalweg.dataflow.operator import HeldKey, OpSpec, Output, Share, Updates, Words
from thalweg.dataflow.state import StateFormat
from thalweg.engine import Given
from thalweg.kinds.queries.evaluator import Rows
from thalweg.kinds.queries.join_operator import JoinSpec
from thalweg.kinds.queries.keyed_joins import is_streamed
from thalweg.kinds.queries.query_operator import QueryOperator
from thalweg.kinds.queries.row_counter import RowCounter
from thalweg.kinds.queries.solutions import Solutions, solutions
from thalweg.kinds.queries.sparql_expressions import Asking
from thalweg.kinds.queries.streams_read import StreamsRead
from thalweg.languages.rspql.lowered import LoweredQuery
from thalweg.languages.rspql.query import Query
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.model.saved_rows import load_rows, save_rows

Row = tuple[int, ...]


@dataclass(frozen=True)
class CountRowsSpec(OpSpec):
    """The rows of a query whose joins are split; facts that these do not take come here, as windows show them, too."""

    join: JoinSpec
    reports_streams: bool = False
    gives_events: ClassVar[bool] = True

    def routes(self, signature: Predicate) -> Iterable[tuple[int, Exchange]]:
        is_joined = any(True for _ in self.join.routes(signature))
        return ((0, GATHER),) if is_streamed(signature) and not is_joined else ()

    def held_routes(self, key: HeldKey) -> Iterable[tuple[Predicate, Exchange]]:
        return ()

    def open(self, context: Context, dictionary: Dictionary, share: Share) -> "CountRows":
        counted = CountedSolutions(self.join.joins.lowered, dictionary)
        streams = StreamsRead(self.join.query, self.join.streams)
        return CountRows(self.join.query, counted, streams, context, self.reports_streams)


class CountRows(QueryOperator):
    """A query at work whose solutions come as held facts, one predicate for each of its answers."""

    format = StateFormat("query rows")

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


class CountedSolutions:
    """An evaluator whose solutions come from elsewhere."""

    def __init__(self, lowered: LoweredQuery, dictionary: Dictionary) -> None:
        self.dictionary = dictionary
        self._lowered = lowered
        self._asking = Asking(dictionary)
        self._rows = RowCounter(lowered, dictionary, self._asking)
        self._changes: list[tuple[int, Given]] = []
        self._standing: dict[Predicate, dict[Row, None]] = {answer.signature: {} for answer in lowered.answers}
        self._evaluated = False
        self._constants = [dictionary.code(term) for answer in lowered.answers for _, term in answer.constants]

    def take(self, tick: int, changes: Iterable[Given]) -> None:
        """Keeps solutions that begin and end at a tick until the next evaluation."""
        self._changes += ((tick, change) for change in changes)

    def begin(self, first: int) -> None:
        """Its windows are elsewhere."""

    def add(self, tick: int, batches: Sequence[Batch]) -> None:
        """Facts are elsewhere."""

    def evaluate(self, tick: int) -> Rows:
        self._evaluated = True
        begun, ended = map(self._solutions, self._turn(tick))
        return self._rows.change(begun, ended)

    def _turn(self, tick: int) -> tuple[dict[Predicate, list[Row]], dict[Predicate, list[Row]]]:
        """The solutions that begin and end up to a tick, by their predicates."""
        steps: dict[Predicate, Counter[Row]] = {}
        for _, change in (change for change in self._changes if change[0] <= tick):
            counts = steps.setdefault(change.signature, Counter())
            counts.update(map(tuple, change.begun.tolist()))
            counts.subtract(map(tuple, change.ended.tolist()))
        self._changes = [change for change in self._changes if change[0] > tick]
        begun = {name: [row for row, step in counts.items() if step > 0] for name, counts in steps.items()}
        ended = {name: [row for row, step in counts.items() if step < 0] for name, counts in steps.items()}
        for name in steps:
            standing = self._standing[name]
            for row in ended[name]:
                del standing[row]
            standing.update(dict.fromkeys(begun[name]))
        return begun, ended

    def _solutions(self, rows: Mapping[Predicate, Iterable[Row]]) -> list[Solutions]:
        """The solutions of each answer."""
        return [
            solutions(answer, _table(answer.signature, rows.get(answer.signature, ())), self.dictionary, self._asking)
            for answer in self._lowered.answers
        ]

    def collect(self, waiting: Iterable[Batch]) -> None:
        words = [np.asarray(words, dtype=np.int64).reshape(-1) for batch in waiting for words in batch.rows.values()]
        self.dictionary.collect(np.concatenate([self.words_in_use(), *words]))

    def words_in_use(self) -> Words:
        waiting = [rows.reshape(-1) for _, change in self._changes for rows in (change.begun, change.ended)]
        standing = [_table(name, rows).reshape(-1) for name, rows in self._standing.items()]
        constants = np.array(self._constants, dtype=np.int64)
        return np.concatenate([constants, self._rows.words_in_use(), *standing, *waiting])

    def snapshot(self) -> bytes:
        standing = [([name], _table(name, rows)) for name, rows in self._standing.items()]
        waiting = [
            ([change.signature, tick, sign], rows)
            for tick, change in self._changes
            for sign, rows in (("begun", change.begun), ("ended", change.ended))
        ]
        rows = save_rows([*standing, *waiting], self.dictionary)
        return frame([encode({"evaluated": self._evaluated}, {}), rows])

    def resume(self, data: bytes) -> None:
        about, tables = unframe(data)
        self._evaluated = decode(about)[0]["evaluated"]
        for (text, *when), rows in load_rows(tables, self.dictionary):
            name = Predicate.read(text)
            if not when:
                self._standing[name] = dict.fromkeys(map(tuple, rows.tolist()))
                continue
            tick, sign = when
            pair = (rows, rows[:0]) if sign == "begun" else (rows[:0], rows)
            self._changes.append((tick, Given(name, False, *pair)))
        # Rows that were output before are counted, and not output again.
        if self._evaluated:
            self._rows.changed(self._solutions(self._standing), [])


def _table(name: Predicate, rows: Iterable[Row]) -> Words:
    listed = list(rows)
    return np.array(listed, dtype=np.int64).reshape(len(listed), name.arity)
