"""A tick that does not fit ends with a diagnostic that names the rule; one that does is not disturbed."""

import pytest

from thalweg.diagnostics import FailedError, Source
from thalweg.engine import BusyError, budget, memory
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.languages.lars import read
from thalweg.model.fact import Fact

ENDLESS = "n(0).\nn(X+1) :- n(X)."


def engine_of(text: str, memory: int | None = None) -> Engine:
    return Engine(read(Source("count.lars", text)), memory=memory)


def test_counting_for_ever_ends_within_the_budget() -> None:
    engine = engine_of(ENDLESS, memory=16 << 20)
    with pytest.raises(FailedError) as failed:
        engine.advance(3)
    found = failed.value.diagnostic
    assert (found.code, found.message) == (
        "E410",
        "tick 3 does not fit: the memory budget of 16 MB is used up",
    )
    assert found.span.source.position(found.span.start) == (2, 1)
    assert "rows are of `n/1`" in found.notes[0]
    assert engine.size <= 16 << 20


def test_without_a_budget_it_is_the_memory_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "allowed", lambda: 100 << 20)
    monkeypatch.setattr(budget, "resident", lambda: 0)
    engine = engine_of(ENDLESS)
    with pytest.raises(
        FailedError, match=r"the memory of this process \(100 MB, of which it may take 80 %\) is used up"
    ):
        engine.advance(0)
    assert engine.size <= 80 << 20


@pytest.mark.parametrize("most", [1 << 16, 1 << 20])
def test_rows_that_no_name_is_left_for(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Names are half words: an arena of 2^31 words is as large as it can be."""
    monkeypatch.setattr(memory, "MOST_WORDS", most)
    engine = engine_of(ENDLESS)
    with pytest.raises(FailedError, match="the engine cannot address more rows"):
        engine.advance(0)
    assert engine.arrays.rows.size <= most


def test_memory_that_the_system_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(12, "Cannot allocate memory")

    engine = engine_of(ENDLESS)
    monkeypatch.setattr(memory, "_zeros", refuse)
    with pytest.raises(FailedError, match="the system has no more memory"):
        engine.advance(0)


def test_the_facts_of_one_tick_may_be_more_than_the_budget() -> None:
    engine = engine_of("q(X) :- p(X) in [9].", memory=1 << 20)
    engine.advance(0, [Fact("p", (str(number),)) for number in range(60_000)])
    assert engine.partial


def test_a_rule_that_copies_is_traced_to_what_it_copies() -> None:
    engine = engine_of("a(0). a(X+1) :- b(X). b(X) :- a(X) at U in [3].", memory=8 << 20)
    with pytest.raises(FailedError) as failed:
        engine.advance(0)
    assert failed.value.diagnostic.span.source.name == "count.lars"


def test_an_engine_that_was_stopped_in_a_tick_is_not_used_again() -> None:
    engine = engine_of(ENDLESS, memory=8 << 20)
    with pytest.raises(FailedError):
        engine.advance(0)
    for use in (lambda: engine.advance(1), engine.facts, engine.snapshot, lambda: engine.why(Fact("n", ("0",)))):
        with pytest.raises(BusyError, match="in the middle of a tick"):
            use()


def test_a_mistake_of_the_caller_does_no_harm() -> None:
    engine = engine_of("q(X) :- p(X).")
    engine.advance(5, [Fact("p", ("a",))])
    with pytest.raises(ValueError, match="too late"):
        engine.advance(5, [Fact("p", ("b",))])
    assert [str(fact) for fact in engine.facts()] == ["q(a)"]
