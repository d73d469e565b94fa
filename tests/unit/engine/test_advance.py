"""What an engine does with facts that come at the wrong time."""

import pytest

from thalweg import api
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.model.fact import Fact


@pytest.mark.parametrize("tick", [2, 3])
def test_facts_of_a_tick_that_has_passed_are_refused(tick):
    engine = Engine(api.load("q(X) :- p(X) in [2]."))
    engine.advance(3, [Fact("p", ("a",))])
    with pytest.raises(ValueError, match="too late"):
        engine.advance(tick, [Fact("p", ("b",))])
    assert engine.advance(tick) == []
    assert [str(fact) for fact in engine.facts()] == ["q(a)"]


def test_facts_before_the_timeline_are_refused():
    with pytest.raises(ValueError, match="too late"):
        Engine(api.load("q(X) :- p(X)."), first=5).advance(4, [Fact("p", ("a",))])
