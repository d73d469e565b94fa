"""The engine answers to the naive interpreter, however it is fed."""

from collections.abc import Iterable
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from random_large_programs import large_scenarios
from thalweg.engine import assemble
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.model.event import Batch, Event
from thalweg.testing.evaluators import batch_of, by_engine, by_semantics, differences, feed
from thalweg.testing.strategies import Scenario, remembering_scenarios, scenarios

# What an engine is asked in different ways.
ANY = st.one_of(scenarios(), remembering_scenarios(), scenarios(values=True))

# Large programs take longer.
FEWER = settings(max_examples=settings().max_examples // 5)


@given(scenarios())
def test_engine_is_semantics(scenario: Scenario) -> None:
    asked = (scenario.program, scenario.events, scenario.first, scenario.last)
    assert by_engine(*asked) == by_semantics(*asked)


@given(remembering_scenarios())
def test_engine_is_semantics_where_rules_remember(scenario: Scenario) -> None:
    asked = (scenario.program, scenario.events, scenario.first, scenario.last)
    assert by_engine(*asked) == by_semantics(*asked)


@given(scenarios(values=True))
def test_engine_is_semantics_for_values(scenario: Scenario) -> None:
    """Functions, conditions, the order of texts and times, numbers of every datatype."""
    asked = (scenario.program, scenario.events, scenario.first, scenario.last)
    assert by_engine(*asked) == by_semantics(*asked)


@given(large_scenarios())
@FEWER
def test_engine_is_semantics_for_large_programs(scenario: Scenario) -> None:
    asked = (scenario.program, scenario.events, scenario.first, scenario.last)
    assert by_engine(*asked) == by_semantics(*asked)


@given(st.one_of(ANY, large_scenarios()), st.integers(1, 30))
@FEWER
def test_a_pause_changes_nothing(scenario: Scenario, steps: int) -> None:
    """However few steps a kernel takes between two pauses."""
    asked = (scenario.program, scenario.events, scenario.first, scenario.last)
    with patch.object(assemble, "_STEPS", steps):
        paused = by_engine(*asked)
    assert paused == by_engine(*asked)


@given(ANY)
def test_one_batch_is_many_singletons(scenario: Scenario) -> None:
    singletons = [Event(event.tick, (fact,), event.stream) for event in scenario.events for fact in event.facts]
    whole = by_engine(scenario.program, scenario.events, scenario.first, scenario.last)
    assert by_engine(scenario.program, singletons, scenario.first, scenario.last) == whole


@given(ANY)
def test_one_batch_is_its_facts(scenario: Scenario) -> None:
    events = [event for event in _merged(scenario.events) if event.stream is None]
    coded, spelled = Engine(scenario.program, first=scenario.first), Engine(scenario.program, first=scenario.first)
    for event in events:
        batch = batch_of(coded.dictionary, event)
        assert differences(coded.advance(event.tick, batch)) == differences(spelled.advance(event.tick, event.facts))


@given(ANY, st.data())
def test_waiting_is_jumping(scenario: Scenario, data: st.DataObject) -> None:
    """Empty ticks may be crossed one by one, or in any larger steps."""
    engine = Engine(scenario.program, first=scenario.first)
    arriving = {event.tick: list[Batch]() for event in scenario.events}
    for event in scenario.events:
        arriving[event.tick].append(batch_of(engine.dictionary, event))
    changes = []
    for tick in range(scenario.first, scenario.last + 1):
        if tick in arriving or tick == scenario.last or data.draw(st.booleans()):
            changes += engine.advance(tick, arriving.get(tick, []))
    assert differences(changes) == by_engine(scenario.program, scenario.events, scenario.first, scenario.last)


@given(ANY, st.data())
def test_stop_and_resume_is_never_stopped(scenario: Scenario, data: st.DataObject) -> None:
    stop = data.draw(st.integers(scenario.first, scenario.last))
    engine = Engine(scenario.program, first=scenario.first)
    changes = list(feed(engine, [event for event in scenario.events if event.tick <= stop]))
    changes += engine.advance(stop) if engine.now != stop else []
    resumed = Engine.restore(scenario.program, engine.snapshot())
    assert sorted(map(str, resumed.facts())) == sorted(map(str, engine.facts()))
    changes += feed(resumed, [event for event in scenario.events if event.tick > stop])
    changes += resumed.advance(scenario.last) if resumed.now != scenario.last else []
    assert differences(changes) == by_engine(scenario.program, scenario.events, scenario.first, scenario.last)


@given(ANY)
def test_what_holds_is_what_began_and_did_not_end(scenario: Scenario) -> None:
    engine, holding = Engine(scenario.program, first=scenario.first), set[str]()
    for difference in differences(feed(engine, scenario.events)).values():
        assert not difference.begin & holding
        assert difference.end <= holding
        holding = (holding | difference.begin) - difference.end
    assert set(map(str, engine.facts())) == holding


@given(ANY)
def test_what_holds_has_a_reason_and_lasts_as_long_as_it_says(scenario: Scenario) -> None:
    engine = Engine(scenario.program, first=scenario.first)
    for _ in feed(engine, scenario.events):
        pass
    proofs = {str(fact): engine.why(fact) for fact in engine.facts()}
    assert all(proof is not None for proof in proofs.values())
    if any(engine.plan.retractable) or engine.now is None:
        return
    for tick in range(engine.now, engine.now + 5):
        if tick > engine.now:
            engine.advance(tick)
        lasting = {text for text, proof in proofs.items() if proof and (proof.until is None or proof.until >= tick)}
        assert lasting <= set(map(str, engine.facts()))


def _merged(events: Iterable[Event]) -> list[Event]:
    """One event for each tick."""
    facts: dict[tuple[int, str | None], Event] = {}
    for event in events:
        key = event.tick, event.stream
        before = facts[key].facts if key in facts else ()
        facts[key] = Event(event.tick, before + event.facts, event.stream)
    return list(facts.values())
