"""What is recorded is what a stream would have brought."""

from dataclasses import replace

from hypothesis import given

from thalweg.ir.semantics import answers
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.testing.strategies import Scenario, scenarios


@given(scenarios(tuples=False, remembering=True))
def test_recorded_is_streamed(scenario: Scenario) -> None:
    """A program that forgets answers the same when someone else feeds it what it concluded at earlier ticks.

    Only tuple windows could tell, because they count what arrives.
    """
    program, recorded = scenario.program, scenario.program.recorded
    forgetful = replace(program, recorded=frozenset())
    fed = list(scenario.events)
    for tick, holding in answers(program, scenario.events, scenario.first, scenario.last):
        assert dict(answers(forgetful, fed, scenario.first, tick))[tick] == holding
        fed.append(Event(tick, tuple(fact for fact in holding if fact.signature in recorded)))


@given(scenarios(remembering=True, values=True))
def test_every_construct_has_a_meaning(scenario: Scenario) -> None:
    """Whatever is drawn, its answers are facts that can be written."""
    for _, holding in answers(scenario.program, scenario.events, scenario.first, scenario.last):
        assert all(isinstance(fact, Fact) and str(fact) for fact in holding)
