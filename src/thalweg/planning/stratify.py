"""Strata: what must be settled before what.

A rule with `not b` or an aggregate over `b` can only be applied when all of `b` is known, so `b` lies in a lower
stratum. Where such a need runs in a circle there is no order, and the program belongs to the answer-set tier. What is
sought `before` now is known already, so it needs no order.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from thalweg.diagnostics import Diagnostic, Span
from thalweg.ir.binding import bound_by_formulas
from thalweg.ir.dependency import by_level, least_levels, resting_on, settled_past, strata, strongly_connected
from thalweg.ir.nodes import Aggregate, Comparison, Formula, Literal, Not, Program, Rule, global_names
from thalweg.model.predicate import Predicate
from thalweg.planning.rule_plan import RulePlan

Settled = Callable[[Formula], bool]

TUPLES: Final = "tuple window"
AGGREGATE: Final = "aggregate"
NEGATION: Final = "negation"


class Need(NamedTuple):
    """`head` needs `needed`, in words such as `not b/1`; settled first, or growing together with it."""

    head: Predicate
    needed: Predicate
    settled: bool
    words: str
    span: Span


def stratify(plan: RulePlan) -> RulePlan:
    """The plan with a stratum for each relation, and whether rows of it may be taken back before their horizon."""
    strata = least_levels(range(len(plan.relations)), plan.needs)
    assert strata is not None, "`check_strata` rejects a program without strata"
    uncertain = {relation.number for key, relation in plan.imports.items() if key not in plan.program.hints.irrevocable}
    uncertain |= {recording.target.number for recording in plan.recordings if recording.kind in ("followed", "streak")}
    retractable = resting_on(uncertain, plan.needs).union(*ended_early(plan).values())
    return replace(
        plan,
        strata=tuple(strata.values()),
        retractable=tuple(relation.number in retractable for relation in plan.relations),
    )


def ended_early(plan: RulePlan) -> dict[str, frozenset[int]]:
    """The relations whose rows may end before their horizon, by the cause of that.

    >>> from thalweg.ir.nodes import Atom, Now, Rule
    >>> from thalweg.planning.passes import plan
    >>> ended_early(plan(Program((Rule(Atom("a"), (Now(Atom("p")), Not(Now(Atom("q"))))),))))
    {'tuple window': frozenset(), 'aggregate': frozenset(), 'negation': frozenset({2})}
    """
    causes = {
        TUPLES: set(plan.counted),
        AGGREGATE: {grouping.value for grouping in plan.groupings},
        NEGATION: {rule.head.relation for rule in plan.rules if rule.negative},
    }
    needs = list(plan.needs)
    return {
        cause: resting_on({relation.number for relation in relations}, needs) for cause, relations in causes.items()
    }


def by_stratum(program: Program) -> list[list[Predicate]]:
    """The derived signatures of each stratum, lowest first.

    >>> from thalweg.ir.nodes import Atom, Now, Rule
    >>> by_stratum(Program((Rule(Atom("a"), (Not(Now(Atom("b"))),)), Rule(Atom("b"), (Now(Atom("c")),)))))
    [['b/0'], ['a/0']]
    """
    level = strata(program)
    assert level is not None, "`check_strata` rejects a program without strata"
    return by_level(level)


def check_strata(program: Program) -> list[Diagnostic]:
    """E204 for each circle that runs through negation or an aggregate.

    >>> from thalweg.ir.nodes import Atom, Now, Rule
    >>> [error.notes for error in check_strata(Program((Rule(Atom("a"), (Not(Now(Atom("a"))),)),)))]
    [('a/0 → not a/0',)]
    """
    needs = _within_circles(list(_needs(program)))
    below: dict[Predicate, list[Need]] = {}
    for need in needs:
        below.setdefault(need.head, []).append(need)
    diagnostics, shown = [], set[Need]()
    for need in needs:
        if need.settled and need not in shown:
            circle = _circle(need, below)
            shown.update(circle)
            diagnostics.append(_unstratified(circle))
    return sorted(diagnostics, key=lambda diagnostic: (diagnostic.span.source.name, diagnostic.span.start))


def _within_circles(needs: list[Need]) -> list[Need]:
    """The needs that lie on a circle: those between predicates that need each other."""
    after: dict[Predicate, list[Predicate]] = {need.head: [] for need in needs}
    for need in needs:
        if need.needed in after:
            after[need.head].append(need.needed)
    circles = enumerate(strongly_connected(after))
    circle_of = {name: number for number, component in circles for name in component}
    return [need for need in needs if circle_of[need.head] == circle_of.get(need.needed)]


def _needs(program: Program) -> Iterator[Need]:
    is_settled = settled_past(program.rules)
    for rule in program.rules:
        yield from (Need(rule.head.signature, *need) for need in _needed(rule.body, "", is_settled))
        yield from (Need(rule.head.signature, *need) for need in _needed_for_groups(rule, is_settled))


def _needed_for_groups(rule: Rule, is_settled: Settled) -> Iterator[tuple[Predicate, bool, str, Span]]:
    """The predicates that bind the groups of an aggregate, where its own body does not."""
    for aggregate in rule.body:
        if isinstance(aggregate, Aggregate) and not bound_by_formulas(aggregate.body) >= global_names(
            rule, aggregate
        ) - {aggregate.result.name}:
            for literal in rule.body:
                if isinstance(literal, Formula) and not is_settled(literal):
                    signature = literal.atom.signature
                    yield signature, True, f"{aggregate.function} for each {signature}", aggregate.span


def _needed(
    body: tuple[Literal, ...], function: str, is_settled: Settled
) -> Iterator[tuple[Predicate, bool, str, Span]]:
    """The predicates that a body needs; those inside an aggregate are worded with its function."""
    for literal in body:
        match literal:
            case Not(formula) if is_settled(formula):
                pass
            case Not(formula):
                words = f"not {formula.atom.signature}"
                yield formula.atom.signature, True, f"{function}{{{words}}}" if function else words, literal.span
            case Aggregate(_, name, _, inner):
                yield from _needed(inner, name, is_settled)
            case Comparison():
                pass
            case formula if is_settled(formula):
                pass
            case formula:
                signature = formula.atom.signature
                yield signature, bool(function), f"{function}{{{signature}}}" if function else signature, literal.span


def _circle(start: Need, below: Mapping[Predicate, list[Need]]) -> list[Need]:
    """The shortest way from what is needed back to the head that needs it, among predicates that need each other."""
    reached = {start.needed: start}
    queue = deque(reached)
    while start.head not in reached:
        for need in below[queue.popleft()]:
            if need.needed not in reached:
                reached[need.needed] = need
                queue.append(need.needed)
    circle = [reached[start.head]]
    while circle[-1] is not start:
        circle.append(reached[circle[-1].head])
    return circle[::-1]


def _unstratified(circle: list[Need]) -> Diagnostic:
    first = circle[0]
    verb = "negation" if first.words.startswith("not ") else "an aggregate"
    return Diagnostic(
        "E204",
        f"`{first.head}` depends on itself through {verb}",
        first.span,
        help="break the cycle, or write an answer set program (`.lp`), where it is allowed",
        notes=(" → ".join([first.head, *(need.words for need in circle)]),),
    )
