"""How long rows are kept, as planning says and as the engine does it."""

from itertools import groupby

from hypothesis import given

from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.model.time import FOREVER
from thalweg.planning.horizons import horizons
from thalweg.testing.evaluators import batch_of
from thalweg.testing.strategies import Scenario, scenarios


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
