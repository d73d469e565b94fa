"""A continuous query as rules of the incremental engine, or why that would not be exact.

SELECT ?s ?v                     the rows of all answers, without the other variables
SELECT DISTINCT ?s               rules with the head `(?s)`, where nothing is left to do with their rows
GROUP BY ?s HAVING(COUNT(*)>2)   groups of rows; SPARQL is asked for the changed ones
ASK                              rules with an empty head
ORDER BY                         nothing: rows are a bag
"""

from typing import Any

from thalweg.diagnostics import Span
from thalweg.languages.rspql.alternative import Alternative, renamed
from thalweg.languages.rspql.lower_expression import kind
from thalweg.languages.rspql.lower_groups import aggregates_of, grouped
from thalweg.languages.rspql.lower_pattern import PatternRules
from thalweg.languages.rspql.lowered import LoweredQuery, QueryObstacle, SolutionRows, Tail
from thalweg.languages.rspql.query import Query
from thalweg.model.rdf import named


def lower(query: Query, graphs: tuple[str, ...] = ()) -> LoweredQuery | tuple[QueryObstacle, ...]:
    """The rules of a query, or all that stands in the way; `graphs` are the named graphs of the background."""
    return _Lowering(query, graphs).lowered()


class _Lowering:
    def __init__(self, query: Query, graphs: tuple[str, ...]) -> None:
        self._query = query
        self._obstacles: list[QueryObstacle] = []
        shown = {*map(named, graphs if query.named is None else query.named)}
        seen = [name for name in graphs if named(name) in shown]
        self._rules = PatternRules([window.name for window in query.windows], seen, self._obstacle)

    def _obstacle(self, sentence: str, keyword: str) -> None:
        obstacle = QueryObstacle(sentence, _place(self._query, keyword))
        if obstacle not in self._obstacles:
            self._obstacles.append(obstacle)

    def lowered(self) -> LoweredQuery | tuple[QueryObstacle, ...]:
        if self._query.algebra is None:
            return (QueryObstacle("rdflib cannot read the query, and so its parts are not known", self._query.span),)
        top = self._query.algebra.algebra
        answers, tail = self._form(top)
        if self._obstacles:
            return tuple(self._obstacles)
        rules = self._rules
        return LoweredQuery(
            rules.inputs, tuple(rules.rules), tuple(rules.facts), tuple(rules.sieves), tuple(answers), tail
        )

    def _form(self, top: Any) -> tuple[list[SolutionRows], Tail]:
        node, distinct = top.p, False
        if kind(node) == "Slice":
            self._obstacle("LIMIT and OFFSET choose among all rows of an evaluation", "LIMIT")
            node = node.p
        if kind(node) == "Reduced":
            self._obstacle("REDUCED leaves open which rows there are", "REDUCED")
            node = node.p
        if kind(node) == "Distinct":
            node, distinct = node.p, True
        node = node.p if kind(node) == "Project" else node
        node = node.p if kind(node) == "OrderBy" else node
        if aggregates_of(node) is not None:
            return self._grouped(node, distinct)
        alternatives = self._rules.pattern(node, None)
        if kind(top) == "AskQuery":
            return self._asked(alternatives)
        return self._selected(alternatives, distinct)

    def _selected(self, alternatives: list[Alternative], distinct: bool) -> tuple[list[SolutionRows], Tail]:
        columns = self._query.columns
        if not distinct or any(alternative.steps for alternative in alternatives):
            return [self._rules.answer(alternative) for alternative in alternatives], Tail(columns, distinct)
        kept = frozenset(columns)
        answers = [
            self._rules.answer(alternative)
            for alternative in self._rules.distinct([renamed(alternative, {}, kept) for alternative in alternatives])
        ]
        return answers, Tail(columns, distinct=len(answers) > 1)

    def _asked(self, alternatives: list[Alternative]) -> tuple[list[SolutionRows], Tail]:
        if any(alternative.steps for alternative in alternatives):
            return [self._rules.answer(alternative) for alternative in alternatives], Tail(distinct=True)
        hidden = [renamed(alternative, {}, frozenset()) for alternative in alternatives]
        return [self._rules.answer(alternative) for alternative in self._rules.distinct(hidden)], Tail()

    def _grouped(self, node: Any, distinct: bool) -> tuple[list[SolutionRows], Tail]:
        rules = self._rules
        alternatives = rules.pattern(aggregates_of(node).p.p, None)
        alternatives, groups = grouped(node, alternatives, rules.extend, self._obstacle)
        return [rules.answer(alternative) for alternative in alternatives], Tail(self._query.columns, distinct, groups)


def _place(query: Query, keyword: str) -> Span:
    """Where a keyword stands in the text of a query; the whole query where it does not."""
    start = query.source.text.upper().find(keyword.upper(), query.span.start) if keyword else -1
    return Span(query.source, start, start + len(keyword)) if start >= 0 else query.span
