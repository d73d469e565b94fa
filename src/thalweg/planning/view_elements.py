"""Elements of aggregates that are the rows of a memory, perhaps with the columns in another order, are read there.

    avg{V,T : reading(D,V) at T in [80]}    has for elements the rows of `reading/2 at U in [80]`: D, V, T

A copy of each row would cost more than all that an aggregate does with it.
"""

from dataclasses import replace

from thalweg.planning.drop_renamings import are_distinct
from thalweg.planning.rule_plan import PlanRule, RulePlan, View


def view_elements(plan: RulePlan) -> RulePlan:
    """The plan with a view for each set of elements that a rule would only copy.

    >>> from thalweg.ir.nodes import Aggregate, Atom, Now, Program, Rule, Variable
    >>> from thalweg.planning.passes import plan
    >>> v, n = Variable("V"), Variable("N")
    >>> made = plan(Program((Rule(Atom("all", (n,)), (Aggregate(n, "max", (v,), (Now(Atom("p", (v,))),)),)),)))
    >>> [(made.relations[number].name, view.source.name) for number, view in made.views.items()]
    [("'a0/1 derived", 'p/1 in [0]')]
    """
    by_head: dict[int, list[PlanRule]] = {}
    for rule in plan.rules:
        by_head.setdefault(rule.head.relation.number, []).append(rule)
    views = {grouping.elements.number: _view(by_head.get(grouping.elements.number, [])) for grouping in plan.groupings}
    return replace(plan, views={number: view for number, view in views.items() if view is not None})


def _view(rules: list[PlanRule]) -> View | None:
    match rules:
        case [PlanRule(head, (atom,), (), (), None, 0, False)]:
            if set(head.args) == set(atom.args) and are_distinct(head.args) and are_distinct(atom.args):
                return View(atom.relation, tuple(atom.args.index(arg) for arg in head.args))
    return None
