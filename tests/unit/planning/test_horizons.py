"""How long rows are kept, as planning says and as the engine does it."""

from itertools import groupby

from hypothesis import given

from thalweg.engine import Engine
from thalweg.ir.nodes import Program
from thalweg.model.time import FOREVER
from thalweg.planning.horizons import horizons, taken_back
from thalweg.planning.plan import make_plan
from thalweg.testing.evaluators import batch_of
from thalweg.testing.strategies import Scenario, programs, scenarios


def outliving(engine: Engine) -> list[str]:
    """The relations that hold rows with a longer promise than planning gives them."""
    assert engine.now is not None
    kept = horizons(engine.plan)
    counters = {count.counter.number for count in engine.plan.counts}
    rows = zip(engine.arrays.relations.tolist(), engine.arrays.horizons.tolist(), strict=True)
    return [
        engine.plan.relations[number].name
        for number, until in rows
        if 0 <= number < len(kept) and number not in counters and kept[number] < FOREVER
        if until > engine.now + kept[number]
    ]


@given(scenarios())
def test_no_row_outlives_its_horizon(scenario: Scenario) -> None:
    engine = Engine(scenario.program, first=scenario.first)
    for tick, events in groupby(scenario.events, key=lambda event: event.tick):
        engine.advance(tick, [batch_of(engine.dictionary, event) for event in events])
        assert outliving(engine) == []


@given(programs())
def test_what_may_be_taken_back_is_what_the_plan_says(program: Program) -> None:
    plan = make_plan(program)
    assert [bool(reasons) for reasons in taken_back(plan)] == plan.retractable
