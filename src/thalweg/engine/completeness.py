"""Which relations may lack rows because facts were shed, until when, and whose facts those were."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from thalweg.ir.annotate_terms import as_streamed
from thalweg.model.predicate import Predicate
from thalweg.model.time import FOREVER
from thalweg.planning.rule_plan import PlanTarget

if TYPE_CHECKING:
    from thalweg.engine.engine import PlanEngine


def weigh(engine: "PlanEngine") -> None:
    """Determines the relations that may lack rows, and the tick at which the first of them is complete again."""
    plan, target = engine.plan, current_target(engine)
    engine.incomplete = (plan if target == plan.target else engine.replan(target)).incomplete
    engine.settle_at = min(engine.lacking.values(), default=FOREVER) + 1
    visible = (*plan.outputs.values(), *plan.exports.values())
    misses = any(relation.number in engine.incomplete for relation in visible)
    engine.shed = tuple(sorted(as_streamed(_names_of_shed(engine)))) if misses else ()


def current_target(engine: "PlanEngine") -> PlanTarget:
    """The target that an engine needs a plan for now."""
    lacking = frozenset(engine.lacking) | {engine.plan.imports[key].name for key in engine.doubts}
    return PlanTarget(engine.plan.target.mixed, lacking)


def _names_of_shed(engine: "PlanEngine") -> Iterator[Predicate]:
    for names in engine.doubts.values():
        yield from names
    for (signature, _), relation in engine.plan.imports.items():
        if relation.name in engine.lacking:
            yield signature
    for (signature, _), feeds in engine.plan.feeds.items():
        if any(feed.relation.name in engine.lacking for feed in feeds):
            yield from engine.plan.copies.sources(signature) or (signature,)
    yield from (recording.signature for recording in engine.plan.recordings if recording.target.name in engine.lacking)
