"""The columns of a part's answers with what they hold, where that is known before the first answer.

slow(S,V) :- speed(S,V), V < 20.     of slow/2: S is a text, V an integer, if those of speed are
SELECT ?s (COUNT(*) AS ?n)           n is an integer
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from thalweg.ir.nodes import Program
from thalweg.model.predicate import Predicate
from thalweg.planning.argument_types import Type, Types, argument_types

if TYPE_CHECKING:
    from thalweg.answers.answer_columns import AnswerColumns

Inputs = Mapping[Predicate, Types]
"""What the arguments of predicates hold that come from outside, as far as it is known."""


@dataclass(frozen=True, slots=True)
class TypedColumns:
    """Columns, and the types of those that hold terms; a column without a type holds texts."""

    columns: "AnswerColumns"
    types: Mapping[str, Type] = field(default_factory=dict)


def argument_columns(names: Iterable[str], program: Program, predicate: Predicate, inputs: Inputs) -> dict[str, Type]:
    """The types of a predicate's arguments by the names of their columns."""
    return dict(zip(names, argument_types(program, predicate, inputs), strict=True))


def merged_types(several: Iterable[TypedColumns]) -> dict[str, Type]:
    """The types of columns that stand in one table; where two parts name different ones it is a text.

    >>> from thalweg.answers.answer_columns import SelectColumns
    >>> one = TypedColumns(SelectColumns(("n", "s")), {"n": "integer"})
    >>> two = TypedColumns(SelectColumns(("s", "v")), {"s": "integer", "v": "number"})
    >>> merged_types([one, two])
    {'n': 'integer', 'v': 'number'}
    """
    parts = list(several)
    columns = [{column.name for column in part.columns.columns if column.type == "value"} for part in parts]
    types: dict[str, Type] = {}
    for part in parts:
        for name, type_ in part.types.items():
            owners = [other for other, names in zip(parts, columns, strict=True) if name in names]
            if all(owner.types.get(name) == type_ for owner in owners):
                types[name] = type_
    return types
