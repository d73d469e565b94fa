"""Which rules may count for ever: clingo's processes can be ended in the middle of that, and the engine cannot.

n(X+1) :- n(X).             each number brings another
n(X+1) :- n(X), day(X).     only as many as there are days
"""

from collections.abc import Iterable, Iterator

from thalweg.ir.dependency import formulas
from thalweg.ir.nodes import Comparison, Expression, Formula, Operation, Rule, Variable, names


def endless(rules: Iterable[Rule]) -> Iterator[Rule]:
    """The rules that calculate, from what only they themselves bring about, something for their head.

    >>> from thalweg.ir.nodes import Atom, Constant, Now
    >>> more = Operation("+", Variable("X"), Constant("1"))
    >>> count = Rule(Atom("n", (more,)), (Now(Atom("n", (Variable("X"),))),))
    >>> list(endless([count])) == [count], list(endless([Rule(Atom("m", (more,)), count.body)]))
    (True, [])
    """
    rules = tuple(rules)
    needs = _needs(rules)
    return (rule for rule in rules if _counts(rule, needs))


def _needs(rules: Iterable[Rule]) -> dict[str, set[str]]:
    """What each predicate depends on, however far away."""
    found: dict[str, set[str]] = {}
    for rule in rules:
        found.setdefault(rule.head.signature, set()).update(one.atom.signature for one, _ in formulas(rule.body))
    changed = True
    while changed:
        before = sum(map(len, found.values()))
        for needed in found.values():
            needed |= {far for near in needed for far in found.get(near, ())}
        changed = sum(map(len, found.values())) > before
    return found


def _counts(rule: Rule, needs: dict[str, set[str]]) -> bool:
    head = rule.head.signature
    if head not in needs[head]:
        return False
    atoms = [(one, head in needs.get(one.atom.signature, ()) or one.atom.signature == head) for one in _positive(rule)]
    settled = names(*(one for one, recursive in atoms if not recursive))
    open_ended = set(names(*(one for one, recursive in atoms if recursive)) - settled)
    made: set[str] = set()
    for name, value in _calculated(rule):
        if name not in settled | open_ended and names(value) & (open_ended | made):
            made.add(name)
    new = (names(arg) & (open_ended | made if isinstance(arg, Operation) else made) for arg in rule.head.args)
    return any(new)


def _positive(rule: Rule) -> Iterator[Formula]:
    return (formula for formula, settled in formulas(rule.body) if not settled)


def _calculated(rule: Rule) -> Iterator[tuple[str, Expression]]:
    """The variables that get their value from others, each after those."""
    for test in rule.body:
        if isinstance(test, Comparison) and test.operator == "=" and isinstance(test.left, Variable):
            yield test.left.name, test.right
