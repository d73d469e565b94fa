"""What the columns of a SELECT hold, as far as the query as rules says it.

?s :speed ?v                 v holds what the second argument of :speed does
COUNT(…) AS ?n               an integer
SUM(?v), AVG(?v)             numbers; MIN, MAX and SAMPLE hold what their variable does
BIND, functions, sieves      texts: what SPARQL makes of them is known row by row
"""

from collections.abc import Iterator, Mapping
from typing import Final

from thalweg.ir.nodes import Program
from thalweg.kinds.typed_columns import Inputs
from thalweg.languages.rspql.lowered import Aggregation, LoweredQuery, SolutionRows, Step
from thalweg.model.predicate import Predicate
from thalweg.model.term import is_number
from thalweg.planning.argument_types import Type, argument_types, joined

_NUMBERS: Final = {"count": "integer", "sum": "number", "avg": "number"}


def row_types(lowered: LoweredQuery, inputs: Inputs) -> dict[str, Type]:
    """The types of variables by their names; those that hold texts are left out."""
    fed = {
        needed.signature: inputs[needed.takes]
        for needed in lowered.inputs
        if isinstance(needed.takes, Predicate) and needed.takes in inputs
    }
    program = Program(lowered.rules)
    answers = [_answer(answer, argument_types(program, answer.signature, fed)) for answer in lowered.answers]
    types: dict[str, Type] = {}
    for name in {name for answer in answers for name in answer}:
        types[name] = joined([answer.get(name) for answer in answers]) or "text"
    if (grouped := lowered.tail.grouped) is not None:
        keys = {name: type_ for name, type_ in types.items() if name in grouped.keys}
        aggregated = {aggregation.into: _aggregated(aggregation, types) for aggregation in grouped.aggregations}
        types = _stepped(keys | aggregated, grouped.steps)
    return {name: type_ for name, type_ in types.items() if type_ != "text"}


def _answer(answer: SolutionRows, arguments: tuple[Type, ...]) -> dict[str, Type]:
    types = dict(zip(answer.columns, arguments, strict=True)) | dict(_constants(answer))
    return _stepped(types, answer.steps)


def _constants(answer: SolutionRows) -> Iterator[tuple[str, Type]]:
    for name, term in answer.constants:
        yield name, "number" if is_number(term) else "text"


def _stepped(types: Mapping[str, Type], steps: tuple[Step, ...]) -> dict[str, Type]:
    """Types behind steps, of which some bind a variable: to another one, or to what is not known."""
    bound = dict(types)
    for step in steps:
        if step.into is not None:
            bound[step.into] = bound.get(step.asked.text.strip().removeprefix("?"), "text")
    return bound


def _aggregated(aggregation: Aggregation, types: Mapping[str, Type]) -> Type:
    function = aggregation.function.lower()
    if function in _NUMBERS:
        return _NUMBERS[function]  # type: ignore[return-value]
    if function in ("min", "max", "sample", "key"):
        return types.get(aggregation.argument.strip().removeprefix("?"), "text")
    return "text"
