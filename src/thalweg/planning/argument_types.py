"""The types of a predicate's arguments, for the columns of a table that is made of its facts.

    hot(D,V) :- temp(D,V), V > 25.       hot/2: a text and a number, if temp's are

What an argument holds follows from the inputs, from arithmetic and
from aggregates; where rules differ, or nothing is known, it is a text, which everything can be.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Final, Literal

from thalweg.ir.nodes import Aggregate, Call, Comparison, Constant, Expression, Not, Operation, Program, Rule, Variable
from thalweg.model.predicate import Predicate
from thalweg.model.term import is_number


@dataclass(frozen=True, slots=True)
class DecimalType:
    """Decimals with `precision` digits, `scale` of them behind the point."""

    precision: int
    scale: int

    def widened(self, other: "DecimalType") -> "DecimalType":
        """The type that has room for both.

        >>> DecimalType(12, 2).widened(DecimalType(10, 4))
        DecimalType(precision=14, scale=4)
        """
        scale = max(self.scale, other.scale)
        integer_digits = max(self.precision - self.scale, other.precision - other.scale)
        return DecimalType(min(_WIDEST, integer_digits + scale), scale)


_WIDEST: Final = 38
_INTEGERS: Final = DecimalType(19, 0)

Type = Literal["integer", "number", "text", "date", "timestamp"] | DecimalType
Types = tuple[Type | None, ...]


def argument_types(program: Program, predicate: Predicate, inputs: Mapping[Predicate, Types]) -> tuple[Type, ...]:
    """The types of a predicate's arguments, inferred from the types of the inputs.

    >>> from thalweg.languages.lars.program import read
    >>> from thalweg.diagnostics import Source
    >>> program = read(Source("r", "mean(D,A) :- dev(D), A = avg{V,T : temp(D,V) at T in [5]}."))
    >>> argument_types(program, Predicate("mean", 2), {Predicate("temp", 2): ("text", "number")})
    ('text', 'number')
    """
    types: dict[Predicate, Types] = dict(inputs)
    # Types only become known, or are given up for texts, so this ends.
    while True:
        refined = {**types, **{head: _heads(program, head, types) for head in program.derived if head not in inputs}}
        if refined == types:
            return tuple(type_ or "text" for type_ in types.get(predicate, (None,) * predicate.arity))
        types = refined


def _heads(program: Program, predicate: Predicate, types: Mapping[Predicate, Types]) -> Types:
    heads = [_head(rule, types) for rule in program.rules if rule.head.signature == predicate]
    return tuple(joined([head[place] for head in heads]) for place in range(predicate.arity))


def joined(types: "list[Type | None]") -> Type | None:
    """The type that has room for all; None where none is known.

    >>> joined(["integer", None, "number"]), joined(["integer", "text"])
    ('number', 'text')
    """
    distinct = {type_ for type_ in types if type_ is not None}
    if len(distinct) < 2:
        return next(iter(distinct), None)
    if distinct <= {"integer", "number"}:
        return "number"
    decimals = [_INTEGERS if type_ == "integer" else type_ for type_ in distinct if type_ != "number"]
    if not all(isinstance(type_, DecimalType) for type_ in decimals):
        return "text"
    return "number" if "number" in distinct else reduce(DecimalType.widened, decimals)  # type: ignore[arg-type]


def _head(rule: Rule, types: Mapping[Predicate, Types]) -> Types:
    bound = _bound(rule, types)
    return tuple(_type(argument, bound) for argument in rule.head.args)


def _bound(rule: Rule, types: Mapping[Predicate, Types]) -> dict[str, Type]:
    """The type of each variable that a body binds."""
    bound: dict[str, Type] = {}
    for literal in rule.body:
        match literal:
            case Aggregate(result, function):
                bound[result.name] = "integer" if function == "count" else "number"
            case Comparison("=", Variable(name), right) if isinstance(right, Operation | Call | Constant):
                bound.setdefault(name, _type(right, bound) or "text")
            case Comparison("=", left, Variable(name)) if isinstance(left, Operation | Call | Constant):
                bound.setdefault(name, _type(left, bound) or "text")
            case Comparison() | Not():
                pass
            case _:
                for argument, type_ in _places(literal.atom.args, types.get(literal.atom.signature, ())):
                    bound.setdefault(argument, type_)
                if isinstance(time := getattr(literal, "time", None), Variable):
                    bound.setdefault(time.name, "integer")
    return bound


def _places(arguments: tuple[Expression, ...], types: Types) -> Iterator[tuple[str, Type]]:
    for argument, type_ in zip(arguments, types, strict=False):
        if isinstance(argument, Variable) and type_ is not None:
            yield argument.name, type_


def term_type(term: str) -> Type:
    """The type of a term as it is written.

    >>> term_type("-3"), term_type("0.5"), term_type("<http://ex.org/a>")
    ('integer', 'number', 'text')
    """
    return ("integer" if term.lstrip("-").isdigit() else "number") if is_number(term) else "text"


def _type(expression: Expression, bound: Mapping[str, Type]) -> Type | None:
    match expression:
        case Variable(name):
            return bound.get(name)
        case Constant(term):
            return term_type(term)
        case Operation():
            return "number"
        case Call(function):
            return "text" if function in ("concat", "lower", "upper", "text", "date", "iso") else "number"
