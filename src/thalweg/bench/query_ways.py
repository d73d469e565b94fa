"""A continuous query at work in a given way: by rules, or by SPARQL in each window. A run chooses for itself."""

from pathlib import Path
from typing import Final

from thalweg import api
from thalweg.kinds.queries import ContinuousQuery
from thalweg.kinds.queries.compiled_query import CompiledQuery
from thalweg.kinds.queries.evaluator import QueryEvaluator
from thalweg.kinds.queries.per_window import PerWindow
from thalweg.kinds.queries.query_operator import Continuous, StreamsRead
from thalweg.languages.rspql.lower import lower

RULES: Final = "rules"
PER_WINDOW: Final = "SPARQL per window"


class NotRulesError(Exception):
    """The query does not compile to rules, and why."""


def at_work(way: str, query: Path, background: Path) -> Continuous:
    """The evaluation of the query in a file, from tick 0 on.

    `RejectedError` where it is not a query, `NotRulesError` where it would have to be rules and is not.
    """
    part = api.load_part([query], background=background, report=lambda diagnostic: None)
    assert isinstance(part, ContinuousQuery)
    streams = StreamsRead(part.query, ())
    return Continuous(part.query, _evaluator(way, part), streams, first=0)


def _evaluator(way: str, part: ContinuousQuery) -> QueryEvaluator:
    if way == PER_WINDOW:
        return PerWindow(part.query, part.background)
    lowered = lower(part.query, tuple(name for name, _ in part.background.named))
    if isinstance(lowered, tuple):
        raise NotRulesError("; ".join(obstacle.sentence for obstacle in lowered))
    return CompiledQuery(part.query, lowered, part.background)
