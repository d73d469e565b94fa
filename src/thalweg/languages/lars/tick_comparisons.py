"""Times that are compared with ticks become ticks.

    temp(D,V) at T in [1 h], T > @2026-11-15T08:00:00Z     becomes   …, T > 1794729600

A variable is a tick where `at` binds it, where it is calculated from ticks (`U = T + 60`), or is the first or the last
of some (`max{T : …}`). Other numbers are not ticks, and comparing one with a time is reported when it happens (W305).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from thalweg.ir.nodes import (
    Aggregate,
    At,
    Comparison,
    Expression,
    Literal,
    Not,
    Operation,
    Rule,
    Variable,
)

_COMPARED = frozenset({"=", "!=", "<", "<=", ">", ">="})


def compare_ticks(rule: Rule, tick: Callable[[Expression], Expression]) -> Rule:
    """A rule whose ticks are compared with ticks; `tick` is the one of a time, and leaves others as they are."""
    ticks = frozenset(_ticks(rule.body))
    return replace(rule, body=tuple(_compared(literal, ticks, tick) for literal in rule.body))


def _compared(literal: Literal, ticks: frozenset[str], tick: Callable[[Expression], Expression]) -> Literal:
    match literal:
        case Comparison(operator, left, right) if operator in _COMPARED:
            if _is_tick(left, ticks):
                return replace(literal, right=tick(right))
            return replace(literal, left=tick(left)) if _is_tick(right, ticks) else literal
        case Aggregate():
            inside = ticks | frozenset(_ticks(literal.body))
            return replace(literal, body=tuple(_compared(inner, inside, tick) for inner in literal.body))
    return literal


def _ticks(body: Iterable[Literal]) -> Iterator[str]:
    """The names of the variables that are ticks in the literals of a body."""
    ticks: set[str] = set()
    literals = list(body)
    before = -1
    while len(ticks) > before:
        before = len(ticks)
        for literal in literals:
            ticks.update(_bound(literal, frozenset(ticks)))
    return iter(ticks)


def _bound(literal: Literal, ticks: frozenset[str]) -> Iterator[str]:
    match literal:
        case At(_, Variable(name)) | Not(At(_, Variable(name))):
            yield name
        case Comparison("=", Variable(name), Operation() as value) | Comparison(
            "=", Operation() as value, Variable(name)
        ):
            if _is_tick(value, ticks):
                yield name
        case Aggregate(Variable(name), "min" | "max", (Variable(first), *_), body):
            if first in ticks or first in _ticks(body):
                yield name


def _is_tick(expression: Expression, ticks: frozenset[str]) -> bool:
    """Whether an expression is a tick, or calculated from one by adding and subtracting numbers."""
    match expression:
        case Variable(name):
            return name in ticks
        case Operation("+" | "-", left, right):
            first, other = _is_tick(left, ticks), _is_tick(right, ticks)
            # From one tick to another is a number of ticks, and not a tick.
            return (first or other) and not (first and other)
    return False
