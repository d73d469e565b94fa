"""What is recorded costs by change, and is kept over everything that happens to an engine."""

from dataclasses import replace
from unittest.mock import patch

import pytest

from thalweg.diagnostics import Source
from thalweg.engine import engine as engine_module
from thalweg.engine.checkpoint import MismatchError
from thalweg.ir.nodes import Interface
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.languages.lars import read
from thalweg.model.arrow import decode, encode
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.model.predicate import interned
from thalweg.planning.partition import partition
from thalweg.planning.stratify import check_strata
from thalweg.testing.evaluators import by_engine, by_semantics, differences

LATCH = """
#record alarm/1.
alarm(D) :- smoke(D).
alarm(D) :- alarm(D) before [1], not reset(D).
long(D) :- alarm(D) always in [100].
was(D) :- alarm(D) in [50].
"""
HYSTERESIS = """
#record on/1.
on(D) :- mean(D,A), A > 27.
on(D) :- on(D) before [1], mean(D,A), A >= 24.
"""


def engine_of(text: str, **options: int) -> Engine:
    return Engine(read(Source("test.lars", text)), **options)


def test_what_holds_on_costs_nothing_per_tick() -> None:
    """500 latched states over a million quiet ticks are a handful of stops."""
    engine = engine_of(LATCH)
    engine.advance(0, [Fact("tick")])
    engine.advance(5, [Fact("smoke", (f"d{number}",)) for number in range(500)])
    with patch.object(engine_module, "step", side_effect=engine_module.step) as kernel:
        engine.advance(1_000_000)
        ended = differences(engine.advance(1_000_001, [Fact("reset", ("d7",))]))
        forgotten = differences(engine.advance(2_000_000))
    assert kernel.call_count < 20
    assert {str(fact) for fact in engine.facts() if fact.terms == ("d8",)} == {"alarm(d8)", "long(d8)", "was(d8)"}
    assert ended[1_000_001].end == {"alarm(d7)", "long(d7)"}
    assert {tick: found.end for tick, found in forgotten.items()} == {1_000_051: {"was(d7)"}}


def test_hysteresis() -> None:
    engine, intervals, since = engine_of(HYSTERESIS), [], 0
    for tick, value in enumerate((20, 26, 28, 26, 25, 24, 23, 25, 28, 23), 1):
        for change in engine.advance(tick, [Fact("mean", ("a", str(value)))]):
            since = tick if change.begin else since
            intervals += [(since, tick - 1) for _ in change.end]
    assert intervals == [(3, 6), (9, 9)]


def test_what_is_recorded_outlives_the_facts_that_it_rests_on() -> None:
    engine = engine_of(LATCH)
    engine.advance(0, [Fact("smoke", ("a",))])
    for tick in (0, 1, 500):
        engine.advance(tick) if tick else []
        engine = Engine.restore(engine.program, engine.snapshot())
    assert {str(fact) for fact in engine.facts()} == {"alarm(a)", "long(a)", "was(a)"}
    assert differences(engine.advance(501, [Fact("reset", ("a",))]))[501].end == {"alarm(a)", "long(a)"}


def test_what_turns_out_to_be_streamed_is_still_recorded() -> None:
    engine = engine_of(LATCH)
    engine.advance(3, [Fact("smoke", ("a",))])
    engine.advance(4, [Fact("alarm", ("b",))])
    assert {str(fact) for fact in engine.facts()} >= {"alarm(a)", "was(a)", "was(b)"}
    engine.advance(5)
    assert {str(fact) for fact in engine.facts()} >= {"alarm(a)", "alarm(b)"}


def test_a_state_of_another_version_is_not_restored() -> None:
    engine = engine_of(LATCH)
    engine.advance(0, [Fact("smoke", ("a",))])
    about, lists = decode(engine.snapshot())
    with pytest.raises(MismatchError, match="another version"):
        Engine.restore(engine.program, encode(about | {"format": 1}, lists))


def test_a_premise_of_the_past_is_shown_with_its_last_tick() -> None:
    engine = engine_of(HYSTERESIS)
    engine.advance(3, [Fact("mean", ("a", "28"))])
    engine.advance(4, [Fact("mean", ("a", "26"))])
    proof = engine.why(Fact("on", ("a",)))
    assert proof is not None
    assert [step.claim for step in proof.because] == ["on(a) before [1] at 3", "mean(a,26) at 4"]


def test_before_sees_what_is_derived_for_earlier_ticks() -> None:
    rules = read(
        Source("test.lars", "p(X) at U :- q(X) at U in [3]. was(X) :- p(X) before [2]. r(X,U) :- p(X) at U before [2].")
    )
    program = replace(rules, interface=Interface(inputs=frozenset({interned("p", 1)})))
    events = [Event(1, (Fact("q", ("a",)),)), Event(2, (Fact("p", ("b",)),)), Event(3, (Fact("q", ("b",)),))]
    assert by_engine(program, events, 0, 9) == by_semantics(program, events, 0, 9)


def test_a_past_that_is_derived_now_is_not_settled() -> None:
    program = read(Source("test.lars", "p(X) at U :- q(X) at U in [3], not p(X) before [2]."))
    assert "E204" in {found.code for found in check_strata(program)}


def test_a_loop_through_the_past_is_split_by_its_key() -> None:
    (stage,) = partition(read(Source("test.lars", HYSTERESIS))).stages
    assert stage.split
    assert {str(each) for each in stage.program.recorded} == {"on'0/1"}


def test_a_loop_without_a_key_is_in_one_bucket_and_says_why() -> None:
    text = "#record on/1. on(X) :- p(X). on(Y) :- on(X) before [1], next(X,Y), p(Y)."
    stages = partition(read(Source("test.lars", text))).stages
    assert any(not stage.split and "on/1" in stage.why for stage in stages)
