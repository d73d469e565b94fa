"""What a plan can still answer when facts were shed: unknown goes upward through the rules.

    a(X) :- r(X), not p(X) in [200].     facts of `p` were shed: the rule is withheld, and `a` is incomplete
    b(X) :- p(X) in [200], r(X).         the rule stays: what it derives is true, but `b` is incomplete
    c(X) :- r(X), not b(X).              withheld, because `b` is incomplete

A relation is *incomplete* when it may lack rows that it would have if nothing had been shed. Rules whose premises may
lack rows derive less, and nothing false; so do the counts behind `always`, which need every tick of a window. Negation
and aggregates derive falsehoods from what is missing, so they are withheld. Equality is not monotone either: whatever
holds of a thing is output of its representative, which is another one when an edge is missing; then every rule is
withheld. What remembers rows that were missing lacks them too, and what rests on its own past may lack them for ever.
"""

from collections.abc import Iterator
from dataclasses import replace

from thalweg.ir.dependency import resting_on
from thalweg.planning.rule_plan import RulePlan


def withhold(plan: RulePlan) -> RulePlan:
    """The plan without the rules and aggregates that would conclude from what incomplete relations lack.

    Relations keep their numbers and are fed as before, so that both plans go on from the same state.

    >>> from thalweg.ir.nodes import Atom, InWindow, Not, Now, Program, Rule, TimeWindow
    >>> from thalweg.planning.passes import plan
    >>> from thalweg.planning.rule_plan import PlanTarget
    >>> p, r = InWindow(Atom("p"), TimeWindow(200)), Now(Atom("r"))
    >>> program = Program((Rule(Atom("a"), (r, Not(p))), Rule(Atom("b"), (r, p)), Rule(Atom("c"), (r,))))
    >>> rest = plan(program, PlanTarget(lacking=frozenset({"p/0 in [200]"})))
    >>> [rule.head.relation.name for rule in rest.rules]
    ['b/0 derived', 'c/0 derived']
    >>> [rest.relations[number].name for number in sorted(rest.incomplete)]
    ['p/0 in [200]', 'a/0 derived', 'b/0 derived']
    """
    if not plan.target.lacking:
        return plan
    lacking = (plan.memories[name].number for name in plan.target.lacking)
    unsure = resting_on(lacking, [*plan.needs, *plan.remembers, *_linked(plan)])
    if plan.representative is not None and plan.representative.number in unsure:
        return replace(plan, rules=(), groupings=(), incomplete=frozenset(range(len(plan.relations))))
    return replace(
        plan,
        rules=tuple(rule for rule in plan.rules if unsure.isdisjoint(atom.relation.number for atom in rule.negative)),
        groupings=tuple(grouping for grouping in plan.groupings if grouping.elements.number not in unsure),
        incomplete=unsure,
    )


def _linked(plan: RulePlan) -> Iterator[tuple[int, int, int]]:
    """Representatives rest on the pairs and keys that rules find."""
    for relation in (plan.same_pairs, plan.same_keys):
        if plan.representative is not None and relation is not None:
            yield plan.representative.number, relation.number, 0
