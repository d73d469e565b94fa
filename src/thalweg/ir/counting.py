"""Which rules may count for ever.

n(X+1) :- n(X).             each number brings another
n(X+1) :- n(X), day(X).     only as many as there are days
n(X+1) :- n(X), X < 9.      up to 9: found by `endless`, and not by `unbounded`
"""

from collections.abc import Iterable, Iterator, Mapping

from thalweg.ir.binding import bound_by_formulas
from thalweg.ir.dependency import formulas, is_past
from thalweg.ir.nodes import Call, Comparison, Constant, Expression, Formula, Operation, Rule, Variable, names
from thalweg.model.predicate import Predicate
from thalweg.model.term import is_number


def endless(rules: Iterable[Rule]) -> Iterator[Rule]:
    """The rules that calculate, from what only they themselves bring about, something for their head.

    >>> from thalweg.ir.nodes import Atom, Constant, Now
    >>> more = Operation("+", Variable("X"), Constant("1"))
    >>> count = Rule(Atom("n", (more,)), (Now(Atom("n", (Variable("X"),))),))
    >>> list(endless([count])) == [count], list(endless([Rule(Atom("m", (more,)), count.body)]))
    (True, [])
    """
    rules = tuple(rules)
    calculating = [rule for rule in rules if _calculates(rule)]
    near = _near(rules) if calculating else {}
    return (rule for rule in calculating if _counts(rule, near))


def unbounded(rules: Iterable[Rule]) -> Iterator[Rule]:
    """The endless rules in which no comparison limits what they calculate.

    >>> from thalweg.ir.nodes import Atom, Constant, Now
    >>> X, head = Variable("X"), Atom("n", (Operation("+", Variable("X"), Constant("1")),))
    >>> up, down = (Rule(head, (Now(Atom("n", (X,))), Comparison(sign, X, Constant("9")))) for sign in "<>")
    >>> list(unbounded([up, down])) == [down]
    True
    """
    return (rule for rule in endless(rules) if not is_bounded(rule))


def is_bounded(rule: Rule) -> bool:
    """Whether comparisons limit everything that an endless rule calculates for its head."""
    calculated = dict(_calculated(rule))
    for arg in rule.head.args:
        value = calculated.get(arg.name, arg) if isinstance(arg, Variable) else arg
        if isinstance(value, Operation | Call) and not _is_limited(value, names(arg, value), rule):
            return False
    return True


def _is_limited(value: Operation | Call, involved: frozenset[str], rule: Rule) -> bool:
    """Whether a comparison keeps a value from growing; where it may grow both ways, any comparison will do."""
    if isinstance(value, Operation) and value.operator == "mod":
        return True
    ways = _ways(value)
    return any(
        (names(small) & involved and "up" in ways) or (names(large) & involved and "down" in ways)
        for small, large in _ordered(rule)
        if not (names(small) & involved and names(large) & involved)
    )


def _ways(value: Operation | Call) -> frozenset[str]:
    """In which direction a value leaves the one that it is calculated from."""
    match value:
        case Operation("+" | "-" as sign, Variable(), Constant(term)) if is_number(term):
            return frozenset({"down" if (sign == "-") != term.startswith("-") else "up"})
    return frozenset({"up", "down"})


def _ordered(rule: Rule) -> Iterator[tuple[Expression, Expression]]:
    """The sides of comparisons, the smaller first; what equals a constant is both."""
    for test in rule.body:
        match test:
            case Comparison("<" | "<=", left, right):
                yield left, right
            case Comparison(">" | ">=", left, right):
                yield right, left
            case Comparison("=", Constant() as left, right) | Comparison("=", right, Constant() as left):
                yield left, right
                yield right, left


def _calculates(rule: Rule) -> bool:
    values = (*rule.head.args, *(value for _, value in _calculated(rule)))
    return any(isinstance(value, Operation | Call) for value in values)


def _near(rules: Iterable[Rule]) -> dict[Predicate, set[Predicate]]:
    """What each predicate depends on directly, at the same tick: what `before` finds cannot grow any more."""
    needs: dict[Predicate, set[Predicate]] = {}
    for rule in rules:
        needed = (formula.atom.signature for formula, _ in formulas(rule.body) if not is_past(formula))
        needs.setdefault(rule.head.signature, set()).update(needed)
    return needs


def _needed(start: Predicate, near: Mapping[Predicate, set[Predicate]]) -> set[Predicate]:
    """What a predicate depends on, however far away."""
    reached, waiting = set[Predicate](), [start]
    while waiting:
        new = near.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    return reached


def _counts(rule: Rule, near: Mapping[Predicate, set[Predicate]]) -> bool:
    head = rule.head.signature
    needed = _needed(head, near)
    if head not in needed:
        return False
    atoms = [(atom, not is_past(atom) and _leads_to(head, atom, near)) for atom in _positive(rule)]
    settled = names(*(atom for atom, recursive in atoms if not recursive))
    open_ended = set(names(*(atom for atom, recursive in atoms if recursive)) - settled)
    calculated: set[str] = set()
    for name, value in _calculated(rule):
        if name not in settled | open_ended and names(value) & (open_ended | calculated):
            calculated.add(name)
    new = (
        names(arg) & (open_ended | calculated if isinstance(arg, Operation | Call) else calculated)
        for arg in rule.head.args
    )
    return any(new)


def _leads_to(head: Predicate, formula: Formula, near: Mapping[Predicate, set[Predicate]]) -> bool:
    return formula.atom.signature == head or head in _needed(formula.atom.signature, near)


def _positive(rule: Rule) -> Iterator[Formula]:
    return (formula for formula, settled in formulas(rule.body) if not settled)


def _calculated(rule: Rule) -> Iterator[tuple[str, Expression]]:
    """The variables that get their value from others, each after those."""
    bound = bound_by_formulas(rule.body)
    for test in rule.body:
        if isinstance(test, Comparison) and test.operator == "=":
            for name, value in ((test.left, test.right), (test.right, test.left)):
                if isinstance(name, Variable) and name.name not in bound:
                    yield name.name, value
