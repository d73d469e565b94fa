"""The city of the benchmark: its events have the classes that HermiT gives them."""

import pytest

from thalweg.bench.abstraction import compare, decided, measure, verdict


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
    assert len(verdict([one for one, _ in both], compared)) == 6
