"""The city of the benchmark: its events have the classes that HermiT gives them."""

import pytest

from thalweg.bench.abstraction import (
    compare,
    decided,
    events,
    knowledge,
    measure,
    select,
    two_workers_agree,
    verdict,
)
from thalweg.kinds.classes.classifier import Decisions, Signatures
from thalweg.kinds.classes.ladder import Ladder
from thalweg.languages.owl.dl.abstraction_program import compile_abstraction


@pytest.mark.parametrize("full", [False, True])
def test_every_event_of_a_small_city_is_decided(full: bool) -> None:
    measured, decisions = measure("small", full, 300, roads=5)
    row = decided(measured, decisions)
    assert row["rules"] + row["repair"] + row["cases"] == row["misses"] < 300
    assert decisions.hits == 600 - decisions.misses
    assert row["reasoner"] == 0


@pytest.mark.slow
@pytest.mark.hermit
def test_hermit_agrees_on_a_small_city() -> None:
    both = [measure(name, full, 300, roads=5) for name, full in (("rules", False), ("full", True))]
    compared = [compare(*one, full, 5, 6) for one, full in zip(both, (False, True), strict=True)]
    selected = [select("small", full, 300, roads=5) for full in (False, True)]
    assert len(verdict([one for one, _ in both], selected, compared, 300, True)) == 10


@pytest.mark.parametrize("full", [False, True])
def test_the_selection_keeps_what_is_needed(full: bool) -> None:
    found = select("small", full, 500, roads=10)
    assert 0 < found.needed <= found.kept <= 1.2 * found.needed
    assert found.kinds == 15


def test_two_workers_answer_as_one_does() -> None:
    assert two_workers_agree(True, 300, roads=5)


@pytest.mark.parametrize("most", [1, 20])
def test_the_cache_is_bounded_and_changes_no_answer(most: int) -> None:
    ladder = Ladder(compile_abstraction("small", knowledge(True, roads=5)))
    bounded, free = (Decisions(ladder, Signatures(ladder.program), kept) for kept in (most, 1_000))
    for event in events(300, roads=5):
        assert bounded.decide(event)[0].classes == free.decide(event)[0].classes
        assert bounded.size <= most
    assert free.size == free.misses < bounded.misses
