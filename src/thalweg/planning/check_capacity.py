"""Whether the engine can hold a program: its kernels work in a scratch of fixed size.

    h(X1,…,X300) :- p(X1,…,X300).     has more columns than the engine takes

The limits are far above what people write; they are here so that a program that was generated is refused with a
sentence instead of being evaluated wrongly. Everything else that a plan decides the size of is allocated from the plan.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from thalweg.diagnostics import NOWHERE, Diagnostic, RejectedError
from thalweg.ir.dependency import formulas
from thalweg.ir.nodes import Call, Comparison, Expression, Operation, Program, Rule, names
from thalweg.model.functions import CONDITIONS
from thalweg.planning.assign_memories import assign_memories
from thalweg.planning.normalise import normalise
from thalweg.planning.rule_plan import PlanRule, RelationAtom, RulePlan

MOST_COLUMNS: Final = 256
MOST_REGISTERS: Final = 1_024
MOST_LOOKUPS: Final = 512

_LARGE: Final = 64
"""Rules with fewer variables, body literals and arguments than this are far from every limit."""


def check_capacity(program: Program) -> list[Diagnostic]:
    """E209 for every rule that is too large for the engine.

    >>> from thalweg.ir.nodes import Atom, Now, Variable
    >>> columns = tuple(Variable(f"X{number}") for number in range(300))
    >>> found = check_capacity(Program((Rule(Atom("h", columns), (Now(Atom("p", columns)),)),)))
    >>> [one.message for one in found]
    ['`p/300` has 300 arguments; the limit is 256', '`h/300` has 300 arguments; the limit is 256']
    """
    large = Program(tuple(rule for rule in program.rules if _is_large(rule)))
    return list(_exceeded(assign_memories(normalise(RulePlan(large, large))))) if large.rules else []


def fit_capacity(plan: RulePlan) -> RulePlan:
    """The plan; `RejectedError` where it does not fit."""
    if too_large := list(_exceeded(plan)):
        raise RejectedError(too_large)
    return plan


def _is_large(rule: Rule) -> bool:
    """Whether a rule may be too large, so that this check has to plan it; few programs have such a rule."""
    widths = (len(formula.atom.args) for formula, _ in formulas(rule.body))
    sides = (side for test in rule.body if isinstance(test, Comparison) for side in (test.left, test.right))
    operations = _operations((*rule.head.args, *sides))
    return max(len(rule.body), len(names(rule.head, *rule.body)), len(rule.head.args), operations, *widths) >= _LARGE


def _exceeded(plan: RulePlan) -> Iterator[Diagnostic]:
    """A diagnostic for each relation and each rule that is too large."""
    diagnostics: dict[str, Diagnostic] = {}
    # Rules that people wrote come first, because they have a place.
    for rule in sorted(plan.rules, key=lambda rule: rule.origin is None):
        for atom in (*rule.positive, *rule.negative, rule.head):
            if atom.relation.arity > MOST_COLUMNS:
                wide = _too_wide(rule, atom)
                diagnostics.setdefault(wide.message, wide)
        for long in _too_long(rule):
            diagnostics.setdefault(f"{long.message} {id(rule)}", long)
    yield from diagnostics.values()


def _too_wide(rule: PlanRule, atom: RelationAtom) -> Diagnostic:
    name, _, qualifier = atom.relation.name.partition(" ")
    arity = atom.relation.arity
    if name.startswith("'"):
        what = f"an aggregate or negated formula of this rule has {arity} columns"
    elif " at" in f" {qualifier}":
        what = f"`{name}` has {arity} columns, the tick included"
    else:
        what = f"`{name}` has {arity} arguments"
    return _refusal(rule, f"{what}; the limit is {MOST_COLUMNS}", "split it into several predicates by a key")


def _too_long(rule: PlanRule) -> Iterator[Diagnostic]:
    way_out = "split the rule: move a part of its body into another predicate"
    lookups = len(rule.positive)
    if lookups > MOST_LOOKUPS:
        yield _refusal(rule, f"this rule joins {lookups:,} formulas; the limit is {MOST_LOOKUPS:,}", way_out)
    registers = _registers(rule)
    if registers > MOST_REGISTERS:
        message = f"this rule needs {registers:,} variables and intermediate values; the limit is "
        yield _refusal(rule, f"{message}{MOST_REGISTERS:,}", way_out)


def _registers(rule: PlanRule) -> int:
    """The most registers that a variant of the rule can need: a new value may also be written for each column."""
    atoms = (*rule.positive, *rule.negative, rule.head)
    args = [arg for atom in atoms for arg in atom.args]
    sides = [side for test in rule.tests for side in (test.left, test.right)]
    widest = max(len(atom.args) for atom in atoms)
    conditions = sum(test.operator.removeprefix("not ") in CONDITIONS for test in rule.tests)
    return len(names(*args, *sides)) + 2 * (_operations((*args, *sides)) + conditions) + widest


def _operations(expressions: Iterable[Expression]) -> int:
    count = 0
    for expression in expressions:
        match expression:
            case Operation(_, left, right):
                count += 1 + _operations((left, right))
            case Call(_, args):
                # Each argument after the first may take a step of its own.
                count += len(args) + _operations(args)
    return count


def _refusal(rule: PlanRule, message: str, help_: str) -> Diagnostic:
    return Diagnostic("E209", message, NOWHERE if rule.origin is None else rule.origin.span, help=help_)
