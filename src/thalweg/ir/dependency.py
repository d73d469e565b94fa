"""Which predicate needs which, and the strata that follow."""

from collections.abc import Iterator

from thalweg.ir.nodes import Aggregate, At, Comparison, Formula, InWindow, Literal, Not, PastWindow, Program
from thalweg.model.predicate import Predicate


def formulas(body: tuple[Literal, ...], settled: bool = False) -> Iterator[tuple[Formula, bool]]:
    """Every formula of a body, with whether it must be settled before the rule (negated, or inside an aggregate)."""
    for literal in body:
        match literal:
            case Not(formula):
                yield formula, True
            case Aggregate(body=inner):
                yield from formulas(inner, settled=True)
            case Comparison():
                pass
            case _:
                yield literal, settled


def is_past(formula: Formula) -> bool:
    """Whether a formula looks only at ticks before now (`before`): it needs nothing that is derived now."""
    return isinstance(formula, At | InWindow) and isinstance(formula.window, PastWindow)


def strata(program: Program) -> dict[Predicate, int] | None:
    """The least stratum of each derived signature, or None where negation or an aggregate runs in a circle.

    >>> from thalweg.ir.nodes import Atom, Now, Rule
    >>> strata(Program((Rule(Atom("a"), (Not(Now(Atom("b"))),)), Rule(Atom("b"), (Now(Atom("c")),)))))
    {'a/0': 1, 'b/0': 0}
    """
    level = dict.fromkeys((rule.head.signature for rule in program.rules), 0)
    edges = [
        (rule.head.signature, formula.atom.signature, int(settled))
        for rule in program.rules
        for formula, settled in formulas(rule.body)
        if formula.atom.signature in level and not is_past(formula)
    ]
    changed = True
    while changed:
        changed = False
        for head, needed, step in edges:
            if level[head] < level[needed] + step:
                level[head] = level[needed] + step
                changed = True
                if level[head] > len(level):
                    return None
    return level
