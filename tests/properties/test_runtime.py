"""What a user sees through `thalweg.run` is what the program means, in any order inside the delay and in any form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg import api
from thalweg.api.answer_values import Change, Interval, Snapshot
from thalweg.ir.semantics import answers
from thalweg.model.event import Event
from thalweg.testing.strategies import Scenario, scenarios

# Random programs look back as far as they like, and are warned of it.
pytestmark = pytest.mark.filterwarnings("ignore::thalweg.ThalwegWarning")


def snapshots(scenario: Scenario, events: list[Event], delay: int = 0) -> dict[int, tuple[str, ...]]:
    found = api.run(
        scenario.program, stream=events, start=scenario.first, end=scenario.last, delay=delay, emit="snapshot"
    )
    return {answer.t: tuple(map(str, answer.facts)) for answer in found if isinstance(answer, Snapshot)}


@given(scenarios())
def test_runtime_is_semantics(scenario: Scenario) -> None:
    meant = answers(scenario.program, scenario.events, scenario.first, scenario.last)
    expected = {tick: tuple(sorted(map(str, facts))) for tick, facts in meant}
    assert snapshots(scenario, list(scenario.events)) == expected


@given(scenarios(tuples=False), st.integers(0, 6), st.data())
def test_any_order_inside_the_delay(scenario: Scenario, delay: int, data: st.DataObject) -> None:
    held = [data.draw(st.integers(0, delay)) for _ in scenario.events]
    order = sorted(range(len(held)), key=lambda i: scenario.events[i].tick + held[i])
    shuffled = [scenario.events[i] for i in order]
    assert snapshots(scenario, shuffled, delay) == snapshots(scenario, list(scenario.events))


@given(scenarios(), st.integers(0, 6), st.data())
def test_any_order_of_ticks_inside_the_delay(scenario: Scenario, delay: int, data: st.DataObject) -> None:
    """Tuple windows see the order of arrival, so facts of one tick keep theirs."""
    held: dict[int, int] = {}
    arrivals = []
    for event in scenario.events:
        held[event.tick] = data.draw(st.integers(held.get(event.tick, 0), delay))
        arrivals.append((event.tick + held[event.tick], event))
    shuffled = [event for _, event in sorted(arrivals, key=lambda arrival: arrival[0])]
    assert snapshots(scenario, shuffled, delay) == snapshots(scenario, list(scenario.events))


@given(scenarios())
def test_changes_and_intervals_rebuild_snapshots(scenario: Scenario) -> None:
    expected = snapshots(scenario, list(scenario.events))
    timing = {"start": scenario.first, "end": scenario.last}
    changed, holding = dict[int, tuple[str, ...]](), set[str]()
    changes = {
        found.t: found for found in api.run(scenario.program, stream=list(scenario.events), emit="changes", **timing)
    }
    stretched: dict[int, set[str]] = {tick: set() for tick in range(scenario.first, scenario.last + 1)}
    for interval in api.run(scenario.program, stream=list(scenario.events), emit="intervals", **timing):
        assert isinstance(interval, Interval)
        for tick in range(interval.start, (scenario.last if interval.until is None else interval.until) + 1):
            assert str(interval.fact) not in stretched[tick], "intervals of one fact overlap"
            stretched[tick].add(str(interval.fact))
    for tick in range(scenario.first, scenario.last + 1):
        if tick in changes:
            change = changes[tick]
            assert isinstance(change, Change)
            holding = (holding | set(map(str, change.begin))) - set(map(str, change.end))
        changed[tick] = tuple(sorted(holding))
    assert changed == expected
    assert {tick: tuple(sorted(facts)) for tick, facts in stretched.items()} == expected
