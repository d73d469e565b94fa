"""Continuous queries: windows of streams are kept as graphs, and asked whenever one of them closes."""

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.ir.nodes import Program
from thalweg.languages.rspql.names import local_name, means_stream
from thalweg.model.dataset import Dataset
from thalweg.model.dictionary import Dictionary
from thalweg.model.rdf import RDF_TYPE, fact_of
from thalweg.parts.member import Beside
from thalweg.parts.part import Context, Evaluation, SparkWork
from thalweg.planning.wire_parts import Ports

if TYPE_CHECKING:
    from thalweg.explain.continuous_query import QuerySpread
    from thalweg.explain.document import PlanDocument
    from thalweg.explain.wired_parts import ExplainedMember
    from thalweg.languages.rspql.query import Query
    from thalweg.parts.queries.continuous import Continuous
    from thalweg.parts.queries.split_query import SplitQuery
    from thalweg.parts.queries.streaming import StreamingQuery
    from thalweg.parts.queries.streams_read import StreamsRead
    from thalweg.runtimes.answer_columns import AnswerColumns


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
        raise RejectedError([Diagnostic("E402", message, help="pass its name to `thalweg.run`, or use `thalweg run`")])

    @property
    def compiles(self) -> bool:
        from thalweg.parts.queries.choose_evaluator import is_compiled

        return is_compiled(self.query)

    def identity(self, context: Context) -> tuple[str, str]:
        known = (*self.background.default, *(fact for name, facts in self.background.named for fact in (name, *facts)))
        text = "\n".join([self.query.source.text, *map(str, known)])
        return text, sha256(repr((text, self.query)).encode()).hexdigest()

    def answer_columns(self, emit: str) -> "AnswerColumns":
        from thalweg.runtimes.answer_columns import GraphColumns, SelectColumns, TruthColumns

        match self.query.form:
            case "SELECT":
                return SelectColumns(tuple(self.query.columns))
            case "CONSTRUCT":
                return GraphColumns()
            case "ASK":
                return TruthColumns()

    def start(self, context: Context) -> Evaluation:
        if context.settings.emit != "changes":
            raise _refused("emit")
        continuous, streams = self._continuous(context)
        return Evaluation(continuous, continuous, state=continuous, summary=streams.summary)

    # Beside other parts ---------------------------------------------------------------------------------------------

    @property
    def ports(self) -> Ports:
        """It hears streams; what a CONSTRUCT makes is one, where the template may leave the predicate open."""
        query = self.query
        is_open = any(predicate[0] == "?" for _, predicate, _ in query.template)
        anything = any(thing[0] == "?" for _, predicate, thing in query.template if predicate == RDF_TYPE) or is_open
        made = frozenset(fact_of(*triple).signature for triple in query.template if _is_named(*triple))
        return Ports(
            f"the query `{local_name(query.name)}`",
            local_name(query.name),
            writes=lambda name: name in made or (is_open and name.arity == 2) or (anything and name.arity == 1),
            hears=lambda stream: any(means_stream(window.stream, stream) for window in query.windows),
            streams=True,
            aliases=frozenset({query.name, query.name.strip("<>")}),
            mentions=made,
        )

    def readers(self) -> Program:
        """It reads streams, and not predicates."""
        return Program()

    def join(self, context: Context, dictionary: Dictionary, beside: Beside) -> "StreamingQuery":
        from thalweg.parts.queries.streaming import StreamingQuery

        known = replace(context, streams=(*context.streams, *beside.streams)) if beside.streams else context
        return StreamingQuery(self._continuous(known, dictionary)[0], self.ports.name)

    def split(self, context: Context, partitions: int, is_alone: bool) -> "SplitQuery | None":
        """Its joins are split, where it hears streams only and there is a key."""
        from thalweg.parts.queries.split_query import split_query

        return split_query(self, context, partitions) if is_alone else None

    def explain_member(self) -> "ExplainedMember":
        from thalweg.explain.wired_parts import ExplainedMember

        outputs = tuple(sorted(self.ports.mentions))
        streams = tuple(dict.fromkeys(local_name(window.stream) for window in self.query.windows))
        name = self.ports.name
        return ExplainedMember(f"query {name}", name, (), outputs, (), self.explain(), streams, _answers(self.query))

    def _continuous(self, context: Context, dictionary: Dictionary | None = None) -> "tuple[Continuous, StreamsRead]":
        """What evaluates the query, and what it reads; beside other parts of a plan a `dictionary` is shared."""
        from thalweg.parts.queries.choose_evaluator import choose_evaluator
        from thalweg.parts.queries.continuous import Continuous
        from thalweg.parts.queries.streams_read import StreamsRead

        if context.settings.memory is not None:
            raise _refused("memory")
        streams = StreamsRead(self.query, context.streams)
        streams.check(context.names_streams)
        evaluator = choose_evaluator(self.query, self.background, dictionary, context.report, context.explains)
        return Continuous(self.query, evaluator, streams, context.settings.first, context.report), streams

    def spread(self, context: Context, partitions: int) -> SparkWork:
        """Joins are split by a key, where there is one."""
        from thalweg.parts.queries.spark_query import Split, split, spread_query
        from thalweg.parts.spark_plan import in_one_bucket

        if isinstance(split(self.query, self.background), Split):
            return spread_query(self, self.query, self.background, context, partitions)
        return in_one_bucket(self, context, partitions)

    def explain(self, partitions: int | None = None, published: bool = False) -> "PlanDocument":
        from thalweg.explain.continuous_query import explain_query
        from thalweg.parts.queries.choose_evaluator import placement

        spread = None if partitions is None else self._explained_spread(partitions)
        return explain_query(self.query, placement(self.query), spread)

    def _explained_spread(self, partitions: int) -> "QuerySpread":
        from thalweg.explain.continuous_query import QuerySpread
        from thalweg.parts.queries.spark_query import Split, split

        found = split(self.query, self.background)
        if isinstance(found, Split):
            return QuerySpread(partitions, found.keys)
        return QuerySpread(partitions, reason=found)


def _answers(query: "Query") -> str:
    """What a query outputs, in words."""
    match query.form:
        case "SELECT":
            return f"rows of {', '.join(f'?{name}' for name in query.columns)}"
        case "CONSTRUCT":
            return "triples"
        case "ASK":
            return "true or false"


def _is_named(subject: str, predicate: str, thing: str) -> bool:
    """Whether the predicate of a template's triple as a fact is known."""
    return predicate[0] != "?" and (predicate != RDF_TYPE or thing[0] != "?")


def _refused(option: str) -> RejectedError:
    message = f"`{option}` cannot be used with continuous queries (`.rspql`): leave it out"
    return RejectedError([Diagnostic("E403", message)])
