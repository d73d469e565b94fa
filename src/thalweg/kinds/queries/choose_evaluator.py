"""Which evaluator a query gets: rules where they are exact, SPARQL per window for the rest."""

from collections.abc import Callable

from thalweg.diagnostics import Diagnostic
from thalweg.explain.continuous_query import Placement
from thalweg.ir.text import show
from thalweg.kinds.queries.compiled_query import CompiledQuery
from thalweg.kinds.queries.evaluator import QueryEvaluator
from thalweg.kinds.queries.per_window import PerWindow
from thalweg.languages.rspql.describe_lowered import describe
from thalweg.languages.rspql.lower import lower
from thalweg.languages.rspql.lowered import LoweredQuery
from thalweg.languages.rspql.query import Query
from thalweg.model.dataset import Dataset
from thalweg.model.dictionary import Dictionary


def choose_evaluator(
    query: Query,
    background: Dataset,
    dictionary: Dictionary | None,
    report: Callable[[Diagnostic], None],
    explains: bool = False,
) -> QueryEvaluator:
    """What answers a query, with a dictionary that it shares with others or one of its own.

    One that `explains` keeps the triples of its windows, for `why`.
    """
    lowered = None if explains else lower(query, tuple(name for name, _ in background.named))
    if isinstance(lowered, LoweredQuery):
        return CompiledQuery(query, lowered, background, dictionary, report)
    return PerWindow(query, background, dictionary, report)


def is_compiled(query: Query) -> bool:
    """Whether rules evaluate a query."""
    return isinstance(lower(query), LoweredQuery)


def placement(query: Query) -> Placement:
    """What evaluates a query, and why."""
    lowered = lower(query)
    if isinstance(lowered, LoweredQuery):
        return Placement(tuple(map(show, lowered.rules)), remarks=describe(lowered))
    return Placement(reasons=tuple(obstacle.sentence for obstacle in lowered))
