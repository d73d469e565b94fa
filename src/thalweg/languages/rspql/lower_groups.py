"""Aggregates: which keys and functions there are, and what is done with each group.

SELECT ?r (AVG(?v) AS ?a) … GROUP BY ?r     the key r, AVG of ?v into a variable, and a step that calls it ?a
HAVING(COUNT(*) > 2)                        COUNT into a variable, and a step that is a condition
GROUP BY (STR(?r) AS ?k)                    a step before, on the solutions
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from thalweg.languages.rspql.lower_expression import UnsteadyError, kind, question, spelled, variables
from thalweg.languages.rspql.lower_triple import Alternatives
from thalweg.languages.rspql.lowered import Aggregation, Grouped, Step

_AGGREGATES: Final = ("COUNT", "SUM", "MIN", "MAX", "AVG")

Tell = Callable[[str, str], None]
Extend = Callable[[Alternatives, Any, str], Alternatives]


def aggregates_of(node: Any) -> Any:
    """The aggregates of a selection, below HAVING and the expressions of SELECT; None where it has none."""
    while kind(node) in ("Extend", "Filter"):
        node = node.p
    return node if kind(node) == "AggregateJoin" else None


def grouped(node: Any, alternatives: Alternatives, extend: Extend, obstacle: Tell) -> tuple[Alternatives, Grouped]:
    """The solutions of a pattern, with keys that are worked out, and how they are grouped."""
    join = aggregates_of(node)
    keys = []
    for number, key in enumerate(join.p.expr or ()):
        if kind(key) != "Variable":
            name = f"key{number}__"
            alternatives, key = extend(alternatives, key, name), name
        keys.append(str(key))
    aggregations = [
        aggregation for aggregate in join.A if (aggregation := _aggregation(aggregate, keys, obstacle)) is not None
    ]
    bound = {*keys, *(aggregation.into for aggregation in aggregations)}
    steps: list[Step] = []
    for above in reversed(list(_above(node))):
        into = str(above.var) if kind(above) == "Extend" else None
        try:
            steps.append(Step(question(above.expr, frozenset(bound)), into))
        except UnsteadyError as unsteady:
            obstacle(f"{unsteady} cannot be worked out for groups alone", str(unsteady))
        bound |= {into} if into else set()
    return alternatives, Grouped(tuple(keys), tuple(aggregations), tuple(steps), join.p.expr is None)


def certain_names(groups: Grouped, alternatives: Alternatives) -> frozenset[str]:
    """The variables that every group binds."""
    certain = {key for key in groups.keys if all(key in alternative.certain for alternative in alternatives)}
    for aggregation in groups.aggregations:
        if aggregation.function == "COUNT" or (aggregation.function == "key" and aggregation.argument in certain):
            certain.add(aggregation.into)
    for step in groups.steps:
        if step.into and step.asked.text.removeprefix("?") in certain:
            certain.add(step.into)
    return frozenset(certain)


def _above(node: Any) -> Iterator[Any]:
    while kind(node) in ("Extend", "Filter"):
        yield node
        node = node.p


def _aggregation(node: Any, keys: list[str], obstacle: Tell) -> Aggregation | None:
    function, into = kind(node).removeprefix("Aggregate_").upper(), str(node.res)
    if function == "SAMPLE" and str(node.vars) in keys:
        return Aggregation("key", str(node.vars), (), False, into)
    if function not in _AGGREGATES:
        obstacle(f"the value of {function} depends on the order of the rows", function)
        return None
    if node.vars == "*":
        if node.distinct:
            obstacle("COUNT(DISTINCT *) needs every variable of a solution", "COUNT")
        return Aggregation(function, "*", (), bool(node.distinct), into)
    try:
        return Aggregation(function, spelled(node.vars), tuple(sorted(variables(node.vars))), bool(node.distinct), into)
    except UnsteadyError as unsteady:
        obstacle(f"{unsteady} is not decided by its arguments alone", str(unsteady))
        return None
