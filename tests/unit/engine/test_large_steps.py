"""The engine beyond what pages and random programs reach: large steps, long chains, words that are given away."""

import numpy as np
import pytest

from thalweg import api
from thalweg.engine.checkpoint import MismatchError
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate


def integers(*rows: tuple[int, ...]) -> np.ndarray:
    return (np.array(rows, dtype=np.int64) << 2) | 1


def reached(engine: Engine) -> set[str]:
    return {"".join(fact.terms) for fact in engine.facts() if fact.predicate == "reach"}


def test_one_tick_may_derive_far_more_than_there_is_room_for():
    engine = Engine(api.load("q(X,Y) :- p(X) in [3], r(Y) in [3]. n(N) :- N = count{X,Y : q(X,Y)}."))
    engine.advance(0, Batch(rows={Predicate("p", 1): integers(*((each,) for each in range(300)))}))
    (change,) = engine.advance(1, Batch(rows={Predicate("r", 1): integers(*((each,) for each in range(300)))}))
    assert len(change.begin) == 300 * 300 + 1
    assert Fact("n", ("90000",)) in change.begin
    assert [(change.tick, len(change.begin), len(change.end)) for change in engine.advance(9)] == [(4, 1, 90001)]


def test_a_long_chain_closes_and_falls_apart():
    engine = Engine(api.load("path(X,Y) :- edge(X,Y) in [5]. path(X,Z) :- path(X,Y), edge(Y,Z) in [5]."))
    length = 150
    engine.advance(0, Batch(rows={Predicate("edge", 2): integers(*((each, each + 1) for each in range(length)))}))
    engine.advance(2, Batch(rows={Predicate("edge", 2): integers((length, 0))}))
    assert len(engine.facts()) == (length + 1) ** 2
    engine.advance(6)
    assert engine.facts() == [Fact("path", (str(length), "0"))]


def test_what_negation_hides_in_a_recursion_is_derived_again():
    engine = Engine(
        api.load(
            """
            open(X,Y) :- door(X,Y), not shut(X,Y) in [2].
            reach(X,Y) :- open(X,Y).
            reach(X,Z) :- reach(X,Y), open(Y,Z).
            door(a,b). door(b,c). door(c,a). door(a,d). door(d,c).
            """
        )
    )
    everything = {x + y for x in "abcd" for y in "abcd"}
    engine.advance(0)
    assert reached(engine) == everything
    engine.advance(1, [Fact("shut", ("b", "c")), Fact("shut", ("d", "c"))])
    assert reached(engine) == {"ab", "ad", "ca", "cb", "cd"}
    engine.advance(4)
    assert reached(engine) == everything


def test_words_may_be_given_away_between_ticks():
    engine = Engine(api.load("q(X,N) :- p(X) in [2], N = count{Y : e(X,Y) in [4 # e/2]}."))
    seen = []
    for tick in range(1, 40):
        facts = [Fact("p", (f"a{tick}",)), Fact("e", (f"a{tick}", f"b{tick}")), Fact("e", (f"a{tick - 1}", "c"))]
        seen += engine.advance(tick, facts)
        engine.collect()
        assert len(engine.dictionary) < 30
    assert {str(fact) for change in seen for fact in change.begin} >= {"q(a7,1)", "q(a7,2)", "q(a39,1)"}


def test_changes_can_be_read_after_the_plan_was_made_anew():
    engine = Engine(api.load("b(X) :- a(X). a(X) :- p(X)."))
    (first,) = engine.advance(0, [Fact("p", ("x",))])
    engine.advance(1, [Fact("a", ("y",))])
    assert sorted(map(str, first.begin)) == ["a(x)", "b(x)"]
    assert sorted(map(str, engine.facts())) == ["b(y)"]


def test_a_saved_state_belongs_to_its_program():
    engine = Engine(api.load("q(X) :- p(X) in [3]."))
    engine.advance(0, [Fact("p", ("x",))])
    with pytest.raises(MismatchError):
        Engine.restore(api.load("q(X) :- p(X) in [4]."), engine.snapshot())


def test_a_million_empty_ticks_are_one_step():
    engine = Engine(api.load("q(X) :- p(X) in [3], not r(X) in [2]."))
    engine.advance(0, [Fact("p", ("x",)), Fact("r", ("x",))])
    changes = engine.advance(1_000_000)
    assert [(change.tick, len(change.begin), len(change.end)) for change in changes] == [(3, 1, 0), (4, 0, 1)]
