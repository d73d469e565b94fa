"""What an engine does with facts that come at the wrong time, and in arrays of every kind."""

import numpy as np
import pytest

from thalweg import api
from thalweg.engine.last_by_key import take
from thalweg.engine.tick import step
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate


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


def _column(words: list[int]) -> np.ndarray:
    """The words as every second one of an array."""
    return np.column_stack((words, words))[:, 0]


def _read_only(words: list[int]) -> np.ndarray:
    rows = np.array(words)
    rows.flags.writeable = False
    return rows


@pytest.mark.parametrize("rows", [np.array, _column, _read_only])
@pytest.mark.parametrize("window", ["[2]", "[2 # by X]"])
def test_kernels_are_compiled_once_whatever_arrays_facts_are_in(rows, window):
    """Each kind of array would be another kernel, and compiling one takes many seconds."""
    engine = Engine(api.load(f"q(X) :- p(X) in {window}."))
    engine.advance(3, Batch({Predicate("p", 1): rows([5, 9])}))
    assert [str(fact) for fact in engine.facts()] == ["q(1)", "q(2)"]
    assert len(step.signatures) == 1
    assert len(take.signatures) <= 1
