"""A continuous query beside other parts of a plan: what a CONSTRUCT makes is an event of the stream with its name."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from thalweg.connectors.batches import code_facts
from thalweg.engine import Given
from thalweg.engine.proof import Proof
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.parts.member import Output
from thalweg.parts.queries.continuous import Continuous
from thalweg.runtimes.query_answers import ConstructedGraph, QueryAnswer


class StreamingQuery:
    """A query, as a member of a plan at work; its stream has its `name`."""

    is_settled = True

    def __init__(self, continuous: Continuous, name: str) -> None:
        self._continuous = continuous
        self._name = name
        self._last: ConstructedGraph | None = None

    @property
    def first(self) -> int | None:
        return self._continuous.first

    @first.setter
    def first(self, tick: int | None) -> None:
        if self._continuous.first is None and tick is not None:
            self._continuous.begin(tick)

    def advance(self, tick: int, batches: Sequence[Batch], given: Sequence[Given]) -> Iterator[Output]:
        for answer in self._continuous.advance(tick, batches):
            yield Output(answer.t, answer, events=tuple(self._events(answer)))

    def _events(self, answer: QueryAnswer) -> Iterator[Batch]:
        if isinstance(answer, ConstructedGraph):
            self._last = answer
            batch = code_facts(answer.facts, self._continuous.dictionary)
            yield Batch(batch.rows, batch.order, self._name)

    def finish(self) -> Iterator[Output]:
        """What is wrong with windows is reported; none closes at the end."""
        return (Output(answer.t, answer) for answer in self._continuous.finish() if isinstance(answer, QueryAnswer))

    def looks(self, after: int, before: int) -> Iterable[int]:
        return self._continuous.evaluations(after + 1, before - 1)

    def words_in_use(self) -> NDArray[np.int64]:
        return self._continuous.evaluator.words_in_use()

    def why(self, fact: Fact) -> Proof | None:
        """The evaluation that made a triple, at the tick at which it was made."""
        last = self._last
        if last is None or last.t != self._continuous.now or str(fact) not in last.facts:
            return None
        rule = f"the query `{self._name}` over the windows of [{last.start},{last.t}]"
        return Proof(str(fact), last.t, "query", rule=rule)

    def lacking(self, fact: Fact) -> str:
        return f"the query `{self._name}` has not made `{fact}` at this tick"

    def snapshot(self) -> bytes:
        return self._continuous.snapshot()

    def resume(self, data: bytes) -> None:
        self._continuous.resume(data)

    def close(self) -> None:
        """A query has nothing to close."""
