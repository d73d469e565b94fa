"""What a plan can still answer when facts were shed: unknown goes upward through the rules.

    a(X) :- r(X), not p(X) in [200].     facts of `p` were shed: the rule is withheld, and `a` is incomplete
    b(X) :- p(X) in [200], r(X).         the rule stays: what it derives is true, but `b` is incomplete
    c(X) :- r(X), not b(X).              withheld, because `b` is incomplete

A relation is *incomplete* when it may lack rows that it would have if nothing had been shed. Rules whose premises may
lack rows derive less, and nothing false; so do the counts behind `always`, which need every tick of a window. Negation
and aggregates derive falsehoods from what is missing, so they are withheld. Equality is not monotone either: whatever
holds of a thing is output of its representative, which is another one when an edge is missing; then every rule is
withheld.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from thalweg.planning.horizons import rests_on
from thalweg.planning.plan import Plan


def incomplete(plan: Plan, lacking: Iterable[int]) -> frozenset[int]:
    """The numbers of the relations that may lack rows, where those in `lacking` do.

    >>> from thalweg.ir.nodes import Atom, InWindow, Not, Now, Program, Rule, TimeWindow
    >>> from thalweg.planning.plan import make_plan
    >>> p, r = InWindow(Atom("p"), TimeWindow(200)), Now(Atom("r"))
    >>> plan = make_plan(Program((Rule(Atom("a"), (r, Not(p))), Rule(Atom("b"), (r,)))))
    >>> unsure = incomplete(plan, [plan.memories["p/0 in [200]"].number])
    >>> [plan.relations[number].name for number in sorted(unsure)]
    ['p/0 in [200]', 'a/0 derived']
    """
    unsure = set(lacking)
    if not unsure:
        return frozenset()
    needs = [*rests_on(plan), *_linked(plan)]
    while more := {head for head, body in needs if body in unsure} - unsure:
        unsure |= more
    if plan.links is not None and plan.links.number in unsure:
        return frozenset(range(len(plan.relations)))
    return frozenset(unsure)


def _linked(plan: Plan) -> Iterator[tuple[int, int]]:
    """Links rest on the pairs and keys that rules find."""
    for found in (plan.edges, plan.alike):
        if plan.links is not None and found is not None:
            yield plan.links.number, found.number


def withhold(plan: Plan, unsure: frozenset[int]) -> Plan:
    """The plan without the rules and aggregates that would conclude from what incomplete relations lack.

    Relations keep their numbers and are fed as before, so that both plans go on from the same state.

    >>> from thalweg.ir.nodes import Atom, InWindow, Not, Now, Program, Rule, TimeWindow
    >>> from thalweg.planning.plan import make_plan
    >>> p, r = InWindow(Atom("p"), TimeWindow(200)), Now(Atom("r"))
    >>> plan = make_plan(Program((Rule(Atom("a"), (r, Not(p))), Rule(Atom("b"), (r, p)))))
    >>> rest = withhold(plan, incomplete(plan, [plan.memories["p/0 in [200]"].number]))
    >>> [rule.head.relation.name for rule in rest.rules]
    ['b/0 derived']
    """
    if not unsure:
        return plan
    if plan.links is not None and plan.links.number in unsure:
        return replace(plan, rules=[], groupings=[])
    return replace(
        plan,
        rules=[rule for rule in plan.rules if unsure.isdisjoint(atom.relation.number for atom in rule.negative)],
        groupings=[grouping for grouping in plan.groupings if grouping.elements.number not in unsure],
    )
