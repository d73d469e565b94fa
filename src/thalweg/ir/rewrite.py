"""Rewriting: the same node with variables replaced."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from thalweg.ir.nodes import (
    Aggregate,
    At,
    Call,
    Comparison,
    Constant,
    Expression,
    Formula,
    Literal,
    Not,
    Operation,
    Variable,
)

F = TypeVar("F", bound=Formula)


def substitute(formula: F, terms: Mapping[str, str]) -> F:
    """A formula with terms in the place of its variables.

    >>> from thalweg.ir.nodes import Atom, Now
    >>> from thalweg.ir.text import show
    >>> show(substitute(Now(Atom("p", (Variable("X"), Variable("Y")))), {"X": "a"}))
    'p(a,Y)'
    """
    atom = replace(formula.atom, args=tuple(fill_in(arg, terms) for arg in formula.atom.args))
    if isinstance(formula, At):
        time = fill_in(formula.time, terms)
        assert isinstance(time, Variable | Constant)
        return replace(formula, atom=atom, time=time)
    return replace(formula, atom=atom)


def fill_in(expression: Expression, terms: Mapping[str, str]) -> Expression:
    """An expression with terms in the place of its variables."""
    match expression:
        case Variable(name) if name in terms:
            return Constant(terms[name], expression.span)
        case Operation(operator, left, right):
            return Operation(operator, fill_in(left, terms), fill_in(right, terms), expression.span)
        case Call(_, args):
            return replace(expression, args=tuple(fill_in(arg, terms) for arg in args))
    return expression


def mapped(body: tuple[Literal, ...], change: Callable[[Formula], Formula]) -> tuple[Literal, ...]:
    """A body with every formula changed, also under `not` and in aggregates.

    >>> from thalweg.ir.nodes import Atom, Now
    >>> from thalweg.ir.text import show
    >>> [show(one) for one in mapped((Not(Now(Atom("p"), "s")), Now(Atom("q"))), lambda one: replace(one, stream="t"))]
    ['not p from t', 'q from t']
    """
    return tuple(_mapped(literal, change) for literal in body)


def _mapped(literal: Literal, change: Callable[[Formula], Formula]) -> Literal:
    match literal:
        case Not(formula):
            return replace(literal, formula=change(formula))
        case Aggregate(body=body):
            return replace(literal, body=mapped(body, change))
        case Comparison():
            return literal
    return change(literal)
