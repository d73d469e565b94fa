"""E215 and W208: heads whose time lies in the future, where nothing holds yet.

p(X) at T+3 :- q(X) at T in [0].     T is now: always in the future
p(X) at T+3 :- q(X) at T in [2].     still a tick ahead when q(X) leaves the window
p(X) at T+3 :- q(X) at T in [3].     holds three ticks after q(X)
p(X) at 5 :- q(X).                   known while it runs: in the future of all q(X) before tick 5
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from thalweg.diagnostics import Diagnostic
from thalweg.ir.nodes import (
    At,
    Comparison,
    Constant,
    Expression,
    Operation,
    PastWindow,
    Program,
    Rule,
    TimeWindow,
    Variable,
    Window,
)
from thalweg.ir.text import show

_INTEGER: Final = re.compile(r"-?[0-9]+")


def check_future(program: Program) -> list[Diagnostic]:
    """E215 for each rule whose head can hold at no tick.

    >>> from thalweg.ir.nodes import Atom
    >>> now, later = At(Atom("q"), Variable("T"), TimeWindow(2)), Operation("+", Variable("T"), Constant("3"))
    >>> [found.message for found in check_future(Program((Rule(Atom("p"), (now,), later),)))]
    ['`p at T + 3` always lies in the future, where nothing holds yet']
    """
    return [_always_ahead(rule, ahead) for rule in program.rules if (ahead := _least_ahead(rule)) > 0]


def future_heads(dropped: Iterable[tuple[Rule, int]], *, is_share: bool = False) -> Iterator[Diagnostic]:
    """W208 for each rule with conclusions that were in the future for as long as they followed, and how many.

    `is_share`: other buckets may have dropped some as well.
    """
    least = "at least " if is_share else ""
    for rule, count in dropped:
        # Not the predicate: in a plan for Spark it may have another name than the one that was written.
        many = f"{count:,} conclusions of this rule were" if count > 1 else "1 conclusion of this rule was"
        message = f"{least}{many} in the future for as long as its body held, and dropped"
        yield Diagnostic("W208", message, rule.span, help=_WAY_OUT)


_WAY_OUT: Final = "a head holds now or at an earlier tick: leave `at` out, or look back until its time has come"


def _always_ahead(rule: Rule, ahead: int) -> Diagnostic:
    assert rule.time is not None
    head = f"{show(rule.head)} at {show(rule.time)}"
    more = f"make the window of the body {ahead} {'tick' if ahead == 1 else 'ticks'} longer, or leave `at` out"
    span = rule.time.span if rule.time.span.source.text else rule.span
    return Diagnostic("E215", f"`{head}` always lies in the future, where nothing holds yet", span, help=more)


def _least_ahead(rule: Rule) -> int:
    """The least number of ticks by which the head is ahead of now; 0 where it may not be."""
    total = None if rule.time is None else _sum(rule.time, rule, 0)
    if total is None:
        return 0
    name, ticks = total
    times = (literal for literal in rule.body if isinstance(literal, At) and literal.time == Variable(name))
    back = [reach for literal in times if (reach := _reach(literal.window)) is not None]
    return max(0, ticks - min(back)) if back else 0


def _sum(expression: Expression, rule: Rule, depth: int) -> tuple[str, int] | None:
    """A variable and a number of ticks that an expression is the sum of, `U` in `U = T + 3` included."""
    match expression:
        case Variable(name):
            values = (_value(literal, name) for literal in rule.body if isinstance(literal, Comparison))
            value = next((value for value in values if value is not None), None)
            return (name, 0) if value is None or depth > len(rule.body) else _sum(value, rule, depth + 1)
        case Operation("+", Constant(term), other) | Operation("+" | "-", other, Constant(term)):
            total = _sum(other, rule, depth)
            if total is None or not _INTEGER.fullmatch(term):
                return None
            return total[0], total[1] + int(term) * (-1 if expression.operator == "-" else 1)
    return None


def _value(comparison: Comparison, name: str) -> Expression | None:
    """The calculation that a comparison sets a variable equal to; None for any other comparison."""
    sides = (comparison.left, comparison.right)
    for side, other in (sides, sides[::-1]):
        if comparison.operator == "=" and side == Variable(name) and isinstance(other, Operation):
            return other
    return None


def _reach(window: Window | None) -> int | None:
    """How many ticks a window looks back at most; None where nothing bounds it."""
    match window:
        case TimeWindow(size, step):
            return size + (step or 1) - 1
        case PastWindow(size):
            return size
    return None
