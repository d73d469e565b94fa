"""Ticker's built-in predicates are comparisons.

    leq(18,V)    becomes   18 <= V
    incr(K0,K)   becomes   K = K0 + 1
    plus(X,Y,Z)  becomes   Z = X + Y

A program that says itself what such a predicate means, or looks for it in a window or a stream, means its own.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from thalweg.ir.dependency import formulas
from thalweg.ir.nodes import Aggregate, Atom, Comparison, Constant, Expression, Literal, Not, Now, Operation, Program
from thalweg.model.predicate import Predicate

_ORDER: Final = {"leq/2": "<=", "lt/2": "<", "geq/2": ">=", "gt/2": ">", "eq/2": "=", "neq/2": "!="}
_STEP: Final = {"incr/2": "+", "decr/2": "-"}
_RESULT: Final = {
    "plus/3": "+", "sum/3": "+", "minus/3": "-", "diff/3": "-", "times/3": "*", "prod/3": "*", "modulo/3": "mod",
}  # fmt: skip
BUILT_IN: Final = frozenset(_ORDER) | frozenset(_STEP) | frozenset(_RESULT)

_OPPOSITE: Final = {"<=": ">", "<": ">=", ">=": "<", ">": "<=", "=": "!=", "!=": "="}


def replace_built_ins(program: Program) -> Program:
    """Writes built-in predicates as comparisons, where the program has no meaning of its own for them."""
    built_in = BUILT_IN - program.derived - {fact.signature for fact in program.background} - _sought(program)
    if not built_in & {formula.atom.signature for rule in program.rules for formula, _ in formulas(rule.body)}:
        return program
    rules = (replace(rule, body=_replaced(rule.body, built_in)) for rule in program.rules)
    return replace(program, rules=tuple(rules))


def _sought(program: Program) -> set[Predicate]:
    """The predicates that the program looks for in windows, at other times or in one stream."""
    every = (formula for rule in program.rules for formula, _ in formulas(rule.body))
    return {f.atom.signature for f in every if not isinstance(f, Now) or f.stream is not None}


def _replaced(body: Iterable[Literal], built_in: frozenset[str]) -> tuple[Literal, ...]:
    return tuple(_literal(literal, built_in) for literal in body)


def _literal(literal: Literal, built_in: frozenset[str]) -> Literal:
    match literal:
        case Now(atom) if atom.signature in built_in:
            return replace(_comparison(atom), span=literal.span)
        case Not(Now(atom)) if atom.signature in built_in:
            positive = _comparison(atom)
            return replace(positive, operator=_OPPOSITE[positive.operator], span=literal.span)
        case Aggregate():
            return replace(literal, body=_replaced(literal.body, built_in))
    return literal


def _comparison(atom: Atom) -> Comparison:
    signature = atom.signature
    if signature in _ORDER:
        left, right = atom.args
        return Comparison(_ORDER[signature], left, right)
    first, *operands = atom.args
    second: Expression = operands[0] if len(operands) == 2 else Constant("1", atom.span)
    operator = _STEP.get(signature) or _RESULT[signature]
    return Comparison("=", operands[-1], Operation(operator, first, second, atom.span))
