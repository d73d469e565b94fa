"""Which evaluator a query gets: rules where they are exact, SPARQL per window for the rest."""

from collections.abc import Callable

from thalweg.diagnostics import Diagnostic
from thalweg.explain.continuous_query import Placement
from thalweg.languages.rspql.query import Query
from thalweg.model.dataset import Dataset
from thalweg.model.dictionary import Dictionary
from thalweg.parts.queries.evaluator import Evaluator
from thalweg.parts.queries.per_window import PerWindow


def choose_evaluator(
    query: Query,
    background: Dataset,
    dictionary: Dictionary | None,
    report: Callable[[Diagnostic], None],
    explains: bool = False,
) -> Evaluator:
    """What answers a query, with a dictionary that it shares with others or one of its own.

    One that `explains` keeps the triples of its windows, for `why`.
    """
    return PerWindow(query, background, dictionary, report)


def placement(query: Query) -> Placement:
    """What evaluates a query, and why."""
    return Placement()
