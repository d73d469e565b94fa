"""Rewriting: the same node with variables replaced."""

from collections.abc import Mapping
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
    atom = replace(formula.atom, args=tuple(_term(arg, terms) for arg in formula.atom.args))
    if isinstance(formula, At):
        time = _term(formula.time, terms)
        assert isinstance(time, Variable | Constant)
        return replace(formula, atom=atom, time=time)
    return replace(formula, atom=atom)


def _term(expression: Expression, terms: Mapping[str, str]) -> Expression:
    match expression:
        case Variable(name) if name in terms:
            return Constant(terms[name], expression.span)
        case Operation(operator, left, right):
            return Operation(operator, _term(left, terms), _term(right, terms), expression.span)
        case Call(_, args):
            return replace(expression, args=tuple(_term(arg, terms) for arg in args))
    return expression


def renamed_streams(body: tuple[Literal, ...], names: Mapping[str, str]) -> tuple[Literal, ...]:
    """A body that reads streams by other names.

    >>> from thalweg.ir.nodes import Atom, Now
    >>> from thalweg.ir.text import show
    >>> [show(one) for one in renamed_streams((Now(Atom("p"), "<s>"), Now(Atom("q"), "t")), {"<s>": "s"})]
    ['p from s', 'q from t']
    """
    return tuple(_with_stream(literal, names) for literal in body)


def _with_stream(literal: Literal, names: Mapping[str, str]) -> Literal:
    match literal:
        case Not(formula):
            return replace(literal, formula=_read_from(formula, names))
        case Aggregate(body=body):
            return replace(literal, body=renamed_streams(body, names))
        case Comparison():
            return literal
    return _read_from(literal, names)


def _read_from(formula: F, names: Mapping[str, str]) -> F:
    return replace(formula, stream=names.get(formula.stream, formula.stream)) if formula.stream else formula
