"""What the plans cannot express yet: a program that uses it is refused, because its answers would be wrong.

    far(D) :- t(D,V), abs(V) > 9.

Each construct leaves this module when `plan` and the engine know it.
"""

from collections.abc import Iterable, Iterator

from thalweg.ir.nodes import (
    Aggregate,
    Call,
    Comparison,
    Constant,
    Expression,
    Literal,
    Operation,
    Program,
    Rule,
)
from thalweg.model.functions import CONDITIONS
from thalweg.model.term import is_number
from thalweg.model.values import Kind, value_of


class UnsupportedError(NotImplementedError):
    """A program uses a construct that only the naive interpreter knows."""


def refuse_unsupported(program: Program) -> None:
    """Raises `UnsupportedError` where a program uses something that has no plan."""
    found = sorted(set(unsupported(program.rules)))
    if found:
        raise UnsupportedError(f"the engine cannot evaluate {', '.join(found)} yet")


def unsupported(rules: Iterable[Rule]) -> Iterator[str]:
    """The constructs of rules that have no plan, in words.

    >>> from thalweg.ir.nodes import Atom, InWindow, Variable
    >>> list(unsupported([Rule(Atom("a"), (InWindow(Atom("p", (Variable("X"),)), KeyedWindow(1, (0,))),))]))
    ['windows by key']
    """
    for rule in rules:
        yield from _expressions(*rule.head.args, rule.time)
        yield from _literals(rule.body)


def _literals(body: tuple[Literal, ...]) -> Iterator[str]:
    for literal in body:
        match literal:
            case Comparison(operator, left, right):
                if operator.removeprefix("not ") in CONDITIONS:
                    yield operator.removeprefix("not ")
                elif any(_is_valued(side, operator) for side in (left, right)):
                    yield f"{operator} with texts, times or numbers that have a datatype"
                yield from _expressions(left, right)
            case Aggregate(terms=terms, body=inner):
                yield from _expressions(*terms)
                yield from _literals(inner)


def _is_valued(side: Expression, operator: str) -> bool:
    """Whether a side of a comparison is visibly something whose value the engine does not know.

    What variables stand for is known only when facts come: a comparison of those is false where it should hold.
    """
    value = value_of(side.term) if isinstance(side, Constant) and not is_number(side.term) else None
    return value is not None and (value.kind is not Kind.TEXT or operator in ("<", "<=", ">", ">="))


def _expressions(*expressions: Expression | None) -> Iterator[str]:
    for expression in expressions:
        match expression:
            case Call(function):
                yield function
            case Operation(_, left, right):
                yield from _expressions(left, right)
