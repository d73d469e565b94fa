"""An engine is used by one thread at a time, and lets others have their turn while it works."""

import threading

import pytest

from thalweg.diagnostics import Source
from thalweg.engine import BusyError
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.languages.lars import read
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate

CROSS = "h(X) :- p(X), p(Y), p(Z), X + Y + Z < 0."


def test_a_second_thread_gets_an_error() -> None:
    engine = Engine(read(Source("cross.lars", CROSS)))
    facts = [Fact("p", (str(number),)) for number in range(120)]
    worker = threading.Thread(target=engine.advance, args=(0, facts))
    worker.start()
    refused = 0
    while worker.is_alive():
        try:
            engine.facts()
        except BusyError:
            refused += 1
    worker.join()
    assert refused > 0
    assert engine.facts() == []


def test_a_second_call_in_the_same_tick_gets_an_error() -> None:
    engine = Engine(read(Source("cross.lars", CROSS)))

    class Curious(Fact):
        """A fact that looks at the engine while it is taken in."""

        @property
        def signature(self) -> Predicate:
            engine.facts()
            return Predicate("p", 1)

    with pytest.raises(BusyError, match="another thread"):
        engine.advance(0, [Curious("p", ("1",))])
