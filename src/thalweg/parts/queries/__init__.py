"""Continuous queries: windows of streams are kept as graphs, and asked whenever one of them closes."""

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from thalweg.diagnostics import Diagnostic, Rejected
from thalweg.ir.nodes import Program
from thalweg.model.dataset import Dataset
from thalweg.model.dictionary import Dictionary
from thalweg.parts.part import Context, Evaluation, SparkWork

if TYPE_CHECKING:
    from thalweg.explain.continuous_query import ExplainedQuery
    from thalweg.languages.rspql.query import Query
    from thalweg.parts.queries.continuous import Continuous
    from thalweg.parts.queries.streams_read import StreamsRead


@dataclass(frozen=True)
class ContinuousQuery:
    """A query, and the background that it sees."""

    query: "Query"
    background: Dataset

    @property
    def size(self) -> str:
        return "a continuous query"

    @property
    def rules(self) -> Program:
        message = f"`{self.query.source.name}` is a continuous query and cannot be loaded as rules"
        raise Rejected([Diagnostic("E402", message, help="pass its name to `thalweg.run`, or use `thalweg run`")])

    def identity(self, context: Context) -> tuple[str, str]:
        known = (*self.background.default, *(fact for name, facts in self.background.named for fact in (name, *facts)))
        text = "\n".join([self.query.source.text, *map(str, known)])
        return text, sha256(repr((text, self.query)).encode()).hexdigest()

    def start(self, context: Context) -> Evaluation:
        continuous, streams = self.continuous(context)
        return Evaluation(continuous, continuous, state=continuous, summary=streams.summary)

    def continuous(self, context: Context, dictionary: Dictionary | None = None) -> "tuple[Continuous, StreamsRead]":
        """What evaluates the query, and what it reads; beside other parts of a plan a `dictionary` is shared."""
        from thalweg.parts.queries.choose_evaluator import choose_evaluator
        from thalweg.parts.queries.continuous import Continuous
        from thalweg.parts.queries.streams_read import StreamsRead

        if context.settings.memory is not None:
            raise _refused("memory")
        if context.settings.emit == "intervals":
            raise _refused("emit")
        streams = StreamsRead(self.query, context.streams, context.names_streams)
        streams.check()
        evaluator = choose_evaluator(self.query, self.background, dictionary, context.report, context.explains)
        return Continuous(self.query, evaluator, streams, context.settings.first, context.report), streams

    def spread(self, context: Context, partitions: int) -> SparkWork:
        raise _only_embedded()

    def explain(self, partitions: int | None = None, published: bool = False) -> "ExplainedQuery":
        from thalweg.explain.continuous_query import ExplainedQuery
        from thalweg.parts.queries.choose_evaluator import placement

        if partitions is not None:
            raise _only_embedded()
        return ExplainedQuery(self.query, placement(self.query))


def _refused(option: str) -> Rejected:
    message = f"`{option}` cannot be used with continuous queries (`.rspql`): leave it out"
    return Rejected([Diagnostic("E403", message)])


def _only_embedded() -> Rejected:
    message = "continuous queries can run only with `--runtime embedded`"
    return Rejected([Diagnostic("E403", message, help="leave out `--runtime spark`")])
