"""Continuous queries: windows of streams are kept as graphs, and asked whenever one of them closes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from thalweg.dataflow.context import Context
from thalweg.dataflow.plan import Edge, Expansion
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.ir.nodes import Program
from thalweg.kinds.member import Member, Neighbours
from thalweg.kinds.typed_columns import Inputs, TypedColumns
from thalweg.languages.options import SplitName
from thalweg.languages.rspql.names import local_name, means_stream
from thalweg.model.dataset import Dataset
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.model.rdf import RDF_TYPE, fact_of
from thalweg.planning.wire_parts import Ports

if TYPE_CHECKING:
    from thalweg.answers.answer_columns import AnswerColumns
    from thalweg.explain.continuous_query import QuerySpread
    from thalweg.explain.document import PlanDocument
    from thalweg.explain.wired_parts import ExplainedMember
    from thalweg.kinds.queries.keyed_joins import SplitQuery
    from thalweg.languages.rspql.query import Query


@dataclass(frozen=True)
class ContinuousQuery(Member):
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
        from thalweg.kinds.queries.choose_evaluator import is_compiled

        return is_compiled(self.query)

    def identity(self, context: Context) -> tuple[str, str]:
        content = (
            *self.background.default,
            *(fact for name, facts in self.background.named for fact in (name, *facts)),
        )
        text = "\n".join([self.query.source.text, *map(str, content)])
        return text, sha256(repr((text, self.query)).encode()).hexdigest()

    def fingerprint(self, context: Context, is_alone: bool) -> str:
        """The same alone and beside others; other queries of its file do not count."""
        return sha256(repr((self.background, self.query)).encode()).hexdigest()

    def answer_columns(self, emit: str) -> "AnswerColumns":
        from thalweg.answers.answer_columns import GraphColumns, SelectColumns, TruthColumns

        match self.query.form:
            case "SELECT":
                return SelectColumns(tuple(self.query.columns))
            case "CONSTRUCT":
                return GraphColumns()
            case "ASK":
                return TruthColumns()

    def typed_columns(self, emit: str, of: Predicate | None, inputs: Inputs) -> TypedColumns | None:
        """Those of a SELECT with the types that its rules say; of a CONSTRUCT, also the triples of one predicate."""
        from thalweg.answers.answer_columns import GraphColumns
        from thalweg.kinds.queries.row_types import row_types
        from thalweg.languages.rspql.lower import lower
        from thalweg.languages.rspql.lowered import LoweredQuery

        if of is not None:
            names = tuple(f"arg{place + 1}" for place in range(of.arity))
            return TypedColumns(GraphColumns(names, of)) if self.ports.writes(of) else None
        columns, lowered = self.answer_columns(emit), lower(self.query)
        if self.query.form != "SELECT" or not isinstance(lowered, LoweredQuery):
            return TypedColumns(columns)
        types = row_types(lowered, inputs)
        pairs = zip((column.name for column in columns.columns[2:]), self.query.columns, strict=True)
        return TypedColumns(columns, {name: types[variable] for name, variable in pairs if variable in types})

    def expand(self, context: Context, neighbours: Neighbours | None, partitions: int | None) -> Expansion:
        """Its joins are split by a key and its rows counted behind them, where there is a key; else one operator.

        What it hears of facts that other parts hold comes to one operator, too. `RejectedError` where the settings have
        no meaning for it, or it reads a stream that there is not.
        """
        from thalweg.kinds.queries.keyed_joins import SplitQuery, split_query
        from thalweg.kinds.queries.query_operator import QuerySpec, StreamsRead

        if neighbours is None and context.settings.emit != "changes":
            raise _refused("emit")
        if context.settings.memory is not None:
            raise _refused("memory")
        streams = context.streams if neighbours is None else (*context.streams, *neighbours.streams)
        StreamsRead(self.query, streams).check(context.names_streams)
        hears_held = neighbours is not None and neighbours.hears_held
        if (partitions or 1) > 1 and not hears_held and not context.explains:
            split = split_query(self.query, self.background)
            # Each stage is one more shuffle, which what stands beside it waits for.
            pays = neighbours is None or context.split == "always"
            if isinstance(split, SplitQuery) and (pays or len(split.stages) == 1):
                return self._split(split, streams, neighbours is None)
        return Expansion((QuerySpec(self.query, self.background, streams, neighbours is None),))

    def _split(self, split: "SplitQuery", streams: tuple[str, ...], reports_streams: bool) -> Expansion:
        """An operator for each stage of the rules, and one that counts the rows of answers."""
        from thalweg.kinds.queries.count_rows import CountRowsSpec
        from thalweg.kinds.queries.join_operator import JoinSpec

        last = len(split.stages)
        joins = [
            JoinSpec(self.query, self.background, streams, number, stage.reads_streams)
            for number, stage in enumerate(split.stages)
        ]
        homes = {name: number for number, stage in enumerate(split.stages) for name, _ in stage.outputs}
        edges = [
            Edge(homes[name], number, "held", (name, False), called, exchange=exchange)
            for number, stage in enumerate(split.stages)
            for name, called, exchange in stage.reads
        ]
        answers = dict.fromkeys(answer.signature for answer in split.lowered.answers)
        edges += (Edge(homes[name], last, "held", (name, False)) for name in answers)
        edges += (Edge(join.number, last, "events") for join in joins if join.reads_streams)
        counted = CountRowsSpec(self.query, self.background, streams, reports_streams)
        return Expansion((*joins, counted), tuple(edges))

    # Beside other parts ---------------------------------------------------------------------------------------------

    @property
    def ports(self) -> Ports:
        """It hears streams; what a CONSTRUCT makes is one, where the template may leave the predicate open."""
        query = self.query
        is_open = any(predicate[0] == "?" for _, predicate, _ in query.template)
        anything = any(target[0] == "?" for _, predicate, target in query.template if predicate == RDF_TYPE) or is_open
        written = frozenset(fact_of(*triple).signature for triple in query.template if _is_named(*triple))
        return Ports(
            f"the query `{local_name(query.name)}`",
            local_name(query.name),
            writes=lambda name: name in written or (is_open and name.arity == 2) or (anything and name.arity == 1),
            hears=lambda stream: any(means_stream(window.stream, stream) for window in query.windows),
            streams=True,
            aliases=frozenset({query.name, query.name.strip("<>")}),
            mentions=written,
            gives_rows=query.form != "CONSTRUCT",
        )

    def readers(self) -> Program:
        """It reads streams, and not predicates."""
        return Program()

    @property
    def is_costly(self) -> bool:
        """A join is little work for each fact."""
        return False

    def looks(self, context: Context, words: Dictionary) -> Iterable[Callable[[Batch], object]]:
        """Nothing looks at batches where they come in."""
        return ()

    def explain_member(self) -> "ExplainedMember":
        from thalweg.explain.wired_parts import ExplainedMember

        outputs = tuple(sorted(self.ports.mentions))
        streams = tuple(dict.fromkeys(local_name(window.stream) for window in self.query.windows))
        name = self.ports.name
        return ExplainedMember(f"query {name}", name, (), outputs, (), self.explain(), streams, _answers(self.query))

    def explain(
        self, partitions: int | None = None, published: bool = False, split: SplitName = "auto"
    ) -> "PlanDocument":
        from thalweg.explain.continuous_query import explain_query
        from thalweg.kinds.queries.choose_evaluator import placement

        spread = None if partitions is None else self._explained_spread(partitions)
        return explain_query(self.query, placement(self.query), spread)

    def _explained_spread(self, partitions: int) -> "QuerySpread":
        from thalweg.explain.continuous_query import QuerySpread
        from thalweg.ir.text import show
        from thalweg.kinds.queries.keyed_joins import SplitQuery, split_query

        split = split_query(self.query, self.background)
        if isinstance(split, SplitQuery):
            return QuerySpread(partitions, tuple((tuple(map(show, stage.rules)), stage.keys) for stage in split.stages))
        return QuerySpread(partitions, reason=split)


def _answers(query: "Query") -> str:
    """What a query outputs, in words."""
    match query.form:
        case "SELECT":
            return f"rows of {', '.join(f'?{name}' for name in query.columns)}"
        case "CONSTRUCT":
            return "triples"
        case "ASK":
            return "true or false"


def _is_named(subject: str, predicate: str, target: str) -> bool:
    """Whether the predicate of a template's triple as a fact is known."""
    return predicate[0] != "?" and (predicate != RDF_TYPE or target[0] != "?")


def _refused(option: str) -> RejectedError:
    message = f"`{option}` cannot be used with continuous queries (`.rspql`): leave it out"
    return RejectedError([Diagnostic("E403", message)])
