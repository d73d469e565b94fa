"""What is done with a query besides its rules, in sentences for `explain`."""

from collections.abc import Iterator

from thalweg.languages.rspql.lowered import Aggregation, LoweredQuery, Step


def describe(query: LoweredQuery) -> tuple[str, ...]:
    """A sentence for everything that rules do not do: what they are fed, what SPARQL is asked, how rows are counted."""
    return tuple(dict.fromkeys(_sentences(query)))


def _sentences(query: LoweredQuery) -> Iterator[str]:
    for each in query.inputs:
        for _, asked in each.conditions:
            if asked.bound is not None:
                yield f"`{each.signature.name}` has only facts with {asked.text}: numbers are compared as they come in"
            else:
                yield f"`{each.signature.name}` has only facts with {asked.text}: SPARQL is asked once for each term"
    for sieve in query.sieves:
        targets = " and ".join(f"`{target.name}`" for target, _ in sieve.targets)
        for step in sieve.answer.steps:
            yield f"rows of `{sieve.answer.signature.name}` are rows of {targets} after {_step(step)}"
    for answer in query.answers:
        for step in answer.steps:
            yield f"rows of `{answer.signature.name}` go through {_step(step)}"
    grouped = query.tail.grouped
    if grouped is not None:
        keys = " ".join(f"?{key}" for key in grouped.keys)
        functions = ", ".join(_function(each) for each in grouped.aggregations if each.function != "key")
        where = f"for each {keys}" if keys else "over all rows"
        yield f"{functions} {where}: only groups that have changed are worked out again"
        for step in grouped.steps:
            if not step.asked.text.startswith("?"):
                yield f"groups go through {_step(step)}"
    if query.tail.distinct:
        yield "DISTINCT: rows are counted, and shown once"


def _step(step: Step) -> str:
    if step.into is None:
        return f"FILTER{step.asked.text}, asked of SPARQL once for each combination of terms"
    return f"BIND({step.asked.text} AS ?{step.into}), asked of SPARQL once for each combination of terms"


def _function(each: Aggregation) -> str:
    return f"{each.function}({'DISTINCT ' if each.distinct else ''}{each.argument})"
