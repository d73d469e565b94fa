"""From a program to a plan: the passes and their order, and the checks before them.

A check looks at a program as it was written and says what is wrong with it, all at once. A pass takes a plan and gives
it back with more in it; which plan a run needs also depends on what streams turn out to bring and on what was shed.
Where work is spread over buckets, `partition` comes before: it makes stages, each with a program that its buckets plan.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from thalweg.diagnostics import Diagnostic
from thalweg.ir.nodes import Program
from thalweg.planning.assign_memories import assign_memories
from thalweg.planning.check_capacity import check_capacity, fit_capacity
from thalweg.planning.check_endless import check_endless
from thalweg.planning.check_future import check_future
from thalweg.planning.check_safety import check_safety
from thalweg.planning.check_unmatched import check_unmatched
from thalweg.planning.fuse_input_copies import fuse_input_copies
from thalweg.planning.normalise import normalise
from thalweg.planning.order_joins import order_joins
from thalweg.planning.rule_plan import PlanTarget, RulePlan
from thalweg.planning.stratify import check_strata, stratify
from thalweg.planning.view_elements import view_elements
from thalweg.planning.withhold import withhold

PASSES: Final[tuple[Callable[[RulePlan], RulePlan], ...]] = (
    fuse_input_copies,
    normalise,
    assign_memories,
    view_elements,
    fit_capacity,
    stratify,
    order_joins,
    withhold,
)


def check(program: Program) -> list[Diagnostic]:
    """Errors and warnings; a program that is safe and stratified is also looked at for what would fill the memory."""
    diagnostics = check_safety(program) + check_strata(program) + check_future(program)
    if any(diagnostic.severity == "error" for diagnostic in diagnostics):
        return diagnostics
    return diagnostics + check_endless(program) + check_capacity(program) + check_unmatched(program)


def plan(program: Program, target: PlanTarget = PlanTarget()) -> RulePlan:
    """The plan of a program that has passed the checks; `RejectedError` where the engine cannot hold it.

    >>> from thalweg.ir.nodes import Atom, Now, Rule
    >>> made = plan(Program((Rule(Atom("a"), (Now(Atom("p")),)),)))
    >>> [relation.name for relation in made.relations], made.strata
    (['p/0 in [0]', 'a/0 derived'], (0, 0))
    """
    planned = RulePlan(program, program, target)
    for planning_pass in PASSES:
        planned = planning_pass(planned)
    return planned


class Planner:
    """Makes the plans of a program while it runs; another one for what is lacking costs little."""

    def __init__(self, program: Program) -> None:
        self.whole = plan(program)

    def __call__(self, target: PlanTarget) -> RulePlan:
        """The plan for a target."""
        if target.mixed != self.whole.target.mixed:
            self.whole = plan(self.whole.source, PlanTarget(target.mixed))
        return withhold(replace(self.whole, target=target))
