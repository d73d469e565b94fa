"""What an engine sheds for want of memory makes nothing false: it becomes unknown, and is known again in time."""

from dataclasses import replace

import numpy as np
import pytest

from thalweg import api
from thalweg.engine import Given
from thalweg.engine.checkpoint import save
from thalweg.engine.shed import add_difference, shed, standing
from thalweg.ir.nodes import Interface
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.testing.evaluators import differences


def fact(text: str) -> Fact:
    name, _, rest = text.rstrip(")").partition("(")
    return Fact(name, tuple(rest.split(",")) if rest else ())


def shed_upto(engine: Engine, tick: int) -> list[str]:
    """Sheds facts now; what becomes unknown, ends or begins by that."""
    before, changes = standing(engine), []
    shed(engine, save(engine), tick)
    add_difference(engine, before, changes)
    return [str(difference) for difference in differences(changes).values() if difference]


@pytest.mark.parametrize(
    "rules",
    [
        "n(N) :- N = count{X : p(X) in [9]}.",
        "none :- not p(_) in [9].",
        "q(X) :- p(X) in [9]. few(X) :- p(X), not q(X).",
        "q(X) :- p(X) in [9].",
    ],
)
def test_changes_add_up_over_a_budget(rules):
    engine, holding, partial = Engine(api.load(rules), memory=100_000), set[str](), False
    for tick in range(30):
        arriving = [Fact("p", (f"v{tick}_{number}",)) for number in range(300)] if tick < 15 else []
        for difference in differences(engine.advance(tick, arriving)).values():
            assert not difference.begin & holding
            assert difference.end | difference.unknown <= holding
            holding = (holding | difference.begin) - difference.end - difference.unknown
        assert holding == set(map(str, engine.facts()))
        partial |= engine.partial
    assert partial
    assert not engine.partial


def test_negation_over_what_was_shed_is_unknown_until_it_would_be_gone():
    engine = Engine(api.load("a(X) :- r(X) in [50], not p(X) in [20]. b(X) :- r(X) in [50]."))
    engine.advance(0, [fact("p(x)"), fact("r(x)"), fact("r(y)")])
    assert set(map(str, engine.facts())) == {"a(y)", "b(x)", "b(y)"}
    assert shed_upto(engine, 20) == ["? a(y)"]
    assert (engine.shed, engine.unsure, engine.partial) == (("p/1",), ("a/1",), True)
    assert differences(engine.advance(20)) == {}
    changes = engine.advance(40)
    assert {tick: str(found) for tick, found in differences(changes).items()} == {21: "+ a(x), + a(y)"}
    assert not changes[0].shed


def test_what_is_derived_from_what_is_left_goes_on():
    engine = Engine(api.load("q(X) :- p(X) in [9]. n(N) :- N = count{X : p(X) in [9]}."))
    engine.advance(0, [fact("p(x)")])
    engine.advance(5, [fact("p(y)")])
    assert shed_upto(engine, 9) == ["? n(2), ? q(x)"]
    assert [str(found) for found in engine.facts()] == ["q(y)"]
    assert {tick: str(found) for tick, found in differences(engine.advance(14)).items()} == {10: "+ n(1)"}


def test_an_end_that_another_derivation_may_outlast_is_unknown():
    engine = Engine(api.load("q(X) :- p(X) in [2]. q(X) :- r(X) in [9]."))
    engine.advance(0, [fact("r(x)")])
    assert shed_upto(engine, 9) == ["? q(x)"]
    changes = [*engine.advance(1, [fact("p(x)")]), *engine.advance(8, [fact("p(y)")]), *engine.advance(12)]
    assert {tick: str(found) for tick, found in differences(changes).items()} == {
        1: "+ q(x)",
        4: "? q(x)",
        8: "+ q(y)",
        10: "",
        11: "- q(y)",
    }


def test_what_leaves_with_the_present_tick_is_not_shed():
    engine = Engine(api.load("q(X) :- p(X) in [9]. r(X) :- p(X)."))
    engine.advance(0, [fact("p(x)")])
    engine.advance(9)
    assert shed_upto(engine, 9) == []
    assert not engine.partial


def test_a_part_that_is_given_less_draws_no_conclusion_from_it():
    """As between the stages of Spark: what another part lacks is unknown here too."""
    program = replace(
        api.load("a(X) :- r(X) in [50], not q(X)."),
        interface=Interface(imports=frozenset({(Predicate("q", 1), False)})),
    )
    engine = Engine(program)
    x = engine.dictionary.code("x")
    rows, none = np.array([[x]]), np.zeros((0, 1), dtype=np.int64)
    engine.advance(0, [fact("r(x)")], [Given(Predicate("q", 1), False, rows, none)])
    engine.advance(3)
    engine.doubt({(Predicate("q", 1), False): (Predicate("p", 1),)})
    assert engine.advance(4, imports=[Given(Predicate("q", 1), False, none, rows)])[0].shed == (Predicate("p", 1),)
    assert not engine.facts()
    assert differences(engine.advance(7)) == {}
    engine.doubt({})
    assert {tick: str(found) for tick, found in differences(engine.advance(8)).items()} == {8: "+ a(x)"}
    assert not engine.partial
