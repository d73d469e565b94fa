"""Forgetting for want of memory is told like any other change."""

import pytest

from thalweg import api
from thalweg.engine import Engine
from thalweg.engine.checkpoint import MismatchError
from thalweg.model.arrow import encode
from thalweg.model.fact import Fact
from thalweg.testing.evaluators import told


@pytest.mark.parametrize(
    "rules",
    [
        "n(N) :- N = count{X : p(X) in [9]}.",
        "none :- not p(_) in [9].",
        "q(X) :- p(X) in [9]. few(X) :- p(X), not q(X).",
    ],
)
def test_what_forgetting_begins_and_ends_is_told(rules):
    engine, holding, partial = Engine(api.load(rules), memory=100_000), set[str](), False
    for tick in range(30):
        arriving = [Fact("p", (f"v{tick}_{number}",)) for number in range(300)] if tick < 15 else []
        for difference in told(engine.advance(tick, arriving)).values():
            assert not difference.begin & holding
            assert difference.end <= holding
            holding = (holding | difference.begin) - difference.end
        assert holding == set(map(str, engine.facts()))
        partial |= engine.partial
    assert partial
    assert not engine.partial


def test_what_is_no_state_is_not_restored():
    with pytest.raises(MismatchError, match="another program"):
        Engine.restore(api.load("q :- p.\n"), encode({"now": 3}, {}))
