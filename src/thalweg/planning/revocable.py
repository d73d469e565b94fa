"""Whose conclusions may end before their horizon, so that what remembers them has to be corrected then.

    seen(X) :- p(X) in [9].                            ends when `p(X)` leaves the window: known in advance
    calm(X) :- p(X) in [9], not alarm(X).              may end at any tick
    on(X) :- on(X) before [1], not off(X).             rests on what it was itself: has no end to be known

What rests on its own past is here too, though nothing may take it back: its horizon would be found tick by tick, and
what may be taken back is given an open end instead.
"""

from collections.abc import Iterable, Iterator

from thalweg.ir.dependency import formulas, resting_on
from thalweg.ir.nodes import (
    Aggregate,
    Always,
    InWindow,
    KeyedWindow,
    Not,
    Now,
    PastWindow,
    Program,
    Rule,
    TimeWindow,
    TupleWindow,
)
from thalweg.model.predicate import Predicate
from thalweg.planning.locality import uses


def revocable(
    program: Program, rules: Iterable[Rule], values: Iterable[tuple[Predicate, Predicate]]
) -> frozenset[Predicate]:
    """The predicates of simple rules (`normalise`) whose facts may end early; `values` of aggregates of elements.

    >>> from thalweg.ir.nodes import Atom
    >>> a, b, p = (Now(Atom(name)) for name in "abp")
    >>> rules = Rule(a.atom, (p,)), Rule(b.atom, (InWindow(b.atom, PastWindow(1)),))
    >>> sorted(revocable(Program(rules, recorded=frozenset({b.atom.signature})), rules, ()))
    ['b/0']
    """
    rules, values = list(rules), list(values)
    needs = [*_needs(rules), *((value, elements, 0) for value, elements in values)]
    uncertain = {rule.head.signature for rule in rules if _ends_early(rule)} | {value for value, _ in values}
    uncertain |= {key[0] for key in program.interface.imports - program.hints.irrevocable}
    uncertain |= set(_carried_on(program.recorded, rules, needs))
    return resting_on(uncertain, needs)


def lasting(program: Program) -> frozenset[Predicate]:
    """The predicates whose facts nothing can take back before their horizon, and are not prolonged tick by tick.

    >>> from thalweg.ir.nodes import Atom
    >>> a, b, p = (Now(Atom(name)) for name in "abp")
    >>> sorted(lasting(Program((Rule(a.atom, (p,)), Rule(b.atom, (p, Not(a)))))))
    ['a/0']
    """
    uncertain = {
        rule.head.signature
        for rule in program.rules
        if any(isinstance(literal, Not | Aggregate | Always) for literal in rule.body)
        or any(isinstance(use.window, TupleWindow | KeyedWindow) for use in uses(rule.body))
    }
    uncertain |= {key[0] for key in program.interface.imports - program.hints.irrevocable}
    needs = ((rule.head.signature, use.signature, 0) for rule in program.rules for use in uses(rule.body))
    ended_early = revocable(program, program.rules, ()) if program.recorded else frozenset()
    return program.derived - resting_on(uncertain, needs) - ended_early


def guaranteed(program: Program) -> frozenset[Predicate]:
    """The predicates whose facts are output at least until their horizon, whatever comes.

    Where equal things are put together, what is output of one of them may end when it is found to be another.
    """
    return frozenset() if program.equality is not None else lasting(program)


def _needs(rules: list[Rule]) -> Iterator[tuple[Predicate, Predicate, int]]:
    for rule in rules:
        yield from ((rule.head.signature, formula.atom.signature, 0) for formula, _ in formulas(rule.body))


def _ends_early(rule: Rule) -> bool:
    """Whether something that comes may end what a rule derives."""
    windows = (formula.window for formula, _ in formulas(rule.body) if not isinstance(formula, Now))
    return any(isinstance(literal, Not) for literal in rule.body) or any(
        isinstance(window, TupleWindow | KeyedWindow) for window in windows
    )


def _carried_on(
    recorded: frozenset[Predicate], rules: list[Rule], needs: list[tuple[Predicate, Predicate, int]]
) -> Iterator[Predicate]:
    """The recorded predicates that rest on a window of their own past."""
    for rule in rules:
        for formula, _ in formulas(rule.body):
            match formula:
                case InWindow(atom, PastWindow() | TimeWindow(step=None)) if atom.signature in recorded:
                    if atom.signature in resting_on((rule.head.signature,), needs):
                        yield atom.signature
