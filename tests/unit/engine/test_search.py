"""Rows are found by the indexes that rules have; whatever is known of them, the same rows come out."""

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings

from thalweg.diagnostics import Source
from thalweg.engine.search import Search
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.languages import lars
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.testing.evaluators import feed
from thalweg.testing.strategies import Scenario, scenarios


@settings(max_examples=settings().max_examples * 3 // 10)
@given(scenarios())
def test_property_an_index_finds_what_looking_through_finds(scenario: Scenario) -> None:
    engine = Engine(scenario.program, first=scenario.first)
    for _ in feed(engine, scenario.events):
        pass
    if engine.now is None:
        return
    search = Search(engine)
    for relation in engine.plan.relations:
        alive = (engine.arrays.relations == relation.number) & (engine.arrays.horizons >= engine.now)
        rows = engine.arrays.columns[np.flatnonzero(alive), : relation.arity].tolist()
        for columns in chain.from_iterable(combinations(range(relation.arity), n) for n in range(relation.arity + 1)):
            for key in {tuple(row[column] for column in columns) for row in rows}:
                found = [row.words for row in search.matching(relation.number, columns, key)]
                expected = [tuple(row) for row in rows if all(row[c] == k for c, k in zip(columns, key, strict=True))]
                assert found == expected


def test_why_of_a_join_looks_through_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = "far(A,C) :- p(A,B) in [9], p(B,C) in [9], not near(A,C)."
    engine = Engine(lars.read(Source("far", rules)))
    engine.advance(0, [Fact("p", (f"n{n}", f"n{n + 1}")) for n in range(100)])
    monkeypatch.setattr(Search, "_looked_through", lambda *asked: pytest.fail(f"{asked} has no index"))
    proof = engine.why(Fact("far", ("n3", "n5")))
    assert proof is not None
    assert [step.claim for step in proof.because] == ["p(n3,n4) in [9] at 0", "p(n4,n5) in [9] at 0", "not near(n3,n5)"]


def test_what_does_not_hold_is_not_found() -> None:
    engine = Engine(lars.read(Source("a", "a(X) :- p(X) in [1].")))
    engine.advance(0, [Fact("p", ("x",))])
    word, relation = engine.dictionary.code("x"), engine.plan.outputs[Predicate("a", 1)].number
    assert Search(engine).find(relation, (word,)) is not None
    engine.advance(2)
    assert Search(engine).find(relation, (word,)) is None
    assert Search(engine).find(relation, (word + 8,)) is None
