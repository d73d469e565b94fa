"""A continuous query as one operator: what a CONSTRUCT makes is an event of the stream with its name."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from thalweg.answers.record import Answer
from thalweg.connectors.batches import code_facts
from thalweg.dataflow.context import Context
from thalweg.dataflow.exchange import GATHER, Exchange
from thalweg.dataflow.operator import Operator, OpSpec, Output, Share, Updates, Words
from thalweg.dataflow.state import StateFormat
from thalweg.engine.proof import Proof
from thalweg.kinds.queries.choose_evaluator import choose_evaluator
from thalweg.kinds.queries.continuous import Continuous
from thalweg.kinds.queries.evaluator import QueryEvaluator
from thalweg.kinds.queries.keyed_joins import is_streamed
from thalweg.kinds.queries.streams_read import StreamsRead
from thalweg.languages.rspql.names import local_name
from thalweg.languages.rspql.query import Query
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.dataset import Dataset
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.prefixes import NO_PREFIXES, Prefixes

if TYPE_CHECKING:
    from thalweg.kinds.queries.why_row import RowProof


@dataclass(frozen=True)
class QuerySpec(OpSpec):
    """A query that all facts come to; `streams` are the names of those that it can read.

    One that `reports_streams` reports at the end on which of its streams nothing came.
    """

    query: Query
    background: Dataset
    streams: tuple[str, ...] = ()
    reports_streams: bool = False
    # The first fact that is no triple is reported, so the order of arrival matters.
    keeps_events: ClassVar[bool] = True
    gives_events: ClassVar[bool] = True

    def routes(self, signature: Predicate) -> Iterable[tuple[int, Exchange]]:
        return ((0, GATHER),) if is_streamed(signature) else ()

    def open(self, context: Context, dictionary: Dictionary, share: Share) -> "QueryOperator":
        evaluator = choose_evaluator(self.query, self.background, dictionary, context.report, context.explains)
        streams = StreamsRead(self.query, self.streams)
        return QueryOperator(self.query, evaluator, streams, context, self.reports_streams)


class QueryOperator(Operator):
    """A query at work; its stream has its name."""

    format = StateFormat("query")

    def __init__(
        self, query: Query, evaluator: QueryEvaluator, streams: StreamsRead, context: Context, reports_streams: bool
    ) -> None:
        self.continuous = Continuous(query, evaluator, streams, context.settings.first, context.report)
        self.streams = streams
        self._name = local_name(query.name)
        self._report = context.report
        self._reports_streams = reports_streams
        self._last: Answer | None = None

    def advance(self, tick: int, updates: Updates) -> Iterator[Output]:
        if self.continuous.first is None:
            self.continuous.begin(tick if self.first is None else self.first)
        for answer in self.continuous.advance(tick, updates.events):
            yield Output(answer.t, answer, events=tuple(self._events(answer)))

    def _events(self, answer: Answer) -> Iterator[Batch]:
        if answer.kind == "triples":
            self._last = answer
            batch = code_facts(answer.columns[0], self.continuous.dictionary)
            yield Batch(batch.rows, batch.order, self._name)

    def finish(self) -> Iterator[Output]:
        """Gives nothing, as no window closes at the end; what is wrong with windows and streams is reported."""
        yield from (Output(answer.t, answer) for answer in self.continuous.finish())
        for diagnostic in self.streams.summary() if self._reports_streams else ():
            self._report(diagnostic)

    def looks(self, after: int, before: int) -> Iterable[int]:
        return self.continuous.evaluations(after + 1, before - 1)

    # Why ------------------------------------------------------------------------------------------------------------

    def why(self, fact: Fact) -> Proof | None:
        """The evaluation that made a triple, at the tick at which it was made."""
        last = self._last
        if last is None or last.t != self.continuous.now or str(fact) not in last.columns[0]:
            return None
        rule = f"the query `{self._name}` over the windows of [{last.start},{last.t}]"
        return Proof(str(fact), last.t, "query", rule=rule)

    def lacking(self, fact: Fact) -> str:
        """That a fact is not among what it makes, in words that go on behind `and`."""
        return f"the query `{self._name}` has not made `{fact}` at this tick"

    def why_row(self, text: str, prefixes: Prefixes = NO_PREFIXES) -> "RowProof | None":
        """Why a row is among those of the last evaluation; None where it is not. Nothing can be asked after that."""
        return self.continuous.why(text, prefixes)

    # State ----------------------------------------------------------------------------------------------------------

    def words_in_use(self) -> Words:
        return self.continuous.evaluator.words_in_use()

    def save(self) -> bytes:
        return frame([encode({"streams": self.streams.save()}, {}), self.continuous.snapshot()])

    def load(self, data: bytes) -> None:
        about, continuous = unframe(data)
        self.streams.load(decode(about)[0]["streams"])
        self.continuous.resume(continuous)
