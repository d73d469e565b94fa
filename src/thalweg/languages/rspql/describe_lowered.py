"""What is done with a query besides its rules, in sentences for `explain`."""

from collections.abc import Iterator

from thalweg.languages.rspql.lowered import Aggregation, Grouped, LoweredQuery, Step


def describe(query: LoweredQuery) -> tuple[str, ...]:
    """A sentence for everything that rules do not do: what they are fed, what SPARQL is asked, how rows are counted."""
    return tuple(dict.fromkeys(_sentences(query)))


def _sentences(query: LoweredQuery) -> Iterator[str]:
    for relation in query.inputs:
        name = relation.signature.name
        for _, condition in relation.conditions:
            if condition.bound is not None:
                yield f"`{name}` has only facts with {condition.text}: numbers are compared as they come in"
            else:
                yield f"`{name}` has only facts with {condition.text}: SPARQL is asked once for each term"
    for sieve in query.sieves:
        targets = " and ".join(f"`{target.name}`" for target, _ in sieve.targets)
        sources = " and ".join(f"`{answer.signature.name}`" for answer in sieve.answers)
        for step in (step for answer in sieve.answers for step in answer.steps):
            yield f"rows of {sources} are rows of {targets} after {_step(step)}"
        if sieve.grouped is not None:
            yield from _groups(sieve.grouped, f"groups of {sources} are rows of {targets}: ")
    for answer in query.answers:
        for step in answer.steps:
            yield f"rows of `{answer.signature.name}` go through {_step(step)}"
    if query.tail.grouped is not None:
        yield from _groups(query.tail.grouped, "")
    if query.tail.distinct:
        yield "DISTINCT: rows are counted, and shown once"


def _groups(grouped: Grouped, before: str) -> Iterator[str]:
    keys = " ".join(f"?{key}" for key in grouped.keys)
    functions = ", ".join(
        _function(aggregation) for aggregation in grouped.aggregations if aggregation.function != "key"
    )
    where = f"for each {keys}" if keys else "over all rows"
    yield f"{before}{functions} {where}; only groups that have changed are worked out again"
    for step in grouped.steps:
        if not step.asked.text.startswith("?"):
            yield f"groups go through {_step(step)}"


def _step(step: Step) -> str:
    how = "asked of SPARQL once for each combination of terms"
    if step.into is not None:
        return f"BIND({step.asked.text} AS ?{step.into}), {how}"
    return f"FILTER{step.asked.text}, {how}{' that are not numbers' if step.asked.bound else ''}"


def _function(aggregation: Aggregation) -> str:
    return f"{aggregation.function}({'DISTINCT ' if aggregation.distinct else ''}{aggregation.argument})"
