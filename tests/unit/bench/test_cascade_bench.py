"""The benchmark of the cascade: its city gives the answers that it measures, and all ways to match agree."""

from pathlib import Path

import pytest

from thalweg.bench import esper
from thalweg.bench.cascade import (
    BatchTime,
    Grown,
    LayerCost,
    batch_times,
    by_layer,
    draw_costs,
    draw_paper,
    grown,
    verdict,
)
from thalweg.bench.event_city import program, subscriptions
from thalweg.bench.keyed_events import Matched, by_graphs, by_pairs
from thalweg.bench.running_city import City, EndToEnd, answered
from thalweg.bench.selection_windows import WindowCost, by_window


def test_the_layers_of_a_small_city_hand_on_what_the_command_outputs(tmp_path: Path) -> None:
    city = City(tmp_path, 20)
    whole = city.command(600)
    layers = {one.layer: one for one in by_layer(city, 600)}
    assert list(layers) == ["reading", "classes", "patterns", "writing"]
    assert whole.lines == layers["writing"].goes > 0
    assert layers["classes"].goes == layers["patterns"].comes > layers["writing"].goes


def test_batches_are_those_of_the_paper(tmp_path: Path) -> None:
    times = batch_times(City(tmp_path, 20), 100)
    assert [(one.events, one.published_cascade) for one in times] == [(1, 74.2), (10, 76.9), (100, 74.4)]


def test_a_subscription_finds_what_a_road_alone_has(tmp_path: Path) -> None:
    city = City(tmp_path, 20)
    found = {}
    for count in (1, 8):
        run = city.start(subscriptions(count, 20))
        lines = [
            str(line)
            for ticks in city.ticks(run.dictionary, 400)
            for tick, some in ticks
            for block in answered(run, tick, some)
            for line in block.answers()
        ]
        found[count] = [line for line in lines if "Decreasing0>" in line]
    assert found[1] == found[8] != []


def test_what_grows_is_measured_alone(tmp_path: Path) -> None:
    measured = list(grown(tmp_path, City(tmp_path, 20), 200, quick=True))
    assert [one.what for one in measured] == ["subscriptions"] * 3 + ["background statements"] * 2 + [
        "WITHIN in ticks"
    ] * 4


def test_a_selection_hands_on_more_as_windows_rates_and_shares_grow(tmp_path: Path) -> None:
    measured = list(by_window(City(tmp_path, 20), 2, quick=True))
    for grows, events in (("seconds", [100, 500, 2_000]), ("events/s", [20, 200, 2_000]), ("% selected", [200] * 3)):
        some = [one for one in measured if one.grows == grows]
        assert [one.events for one in some] == events
        selected = [one.selected for one in some]
        assert selected == sorted(selected)
        assert selected[-1] > 3 * selected[0]
        assert all(one.classed <= one.selected for one in some)
        assert some[-1].classed > 0


def test_pictures_of_the_paper_and_of_costs(tmp_path: Path) -> None:
    windows = [
        WindowCost(grows, size, 100, size, size, 1.0 * size, 0.1 * size, 0.1)
        for grows in ("seconds", "events/s", "% selected")
        for size in (1, 10)
    ]
    draw_paper(tmp_path, [BatchTime(1, 0.1, 74.2, 12_895.0), BatchTime(10, 1.0, 76.9, None)], windows)
    growing = [Grown(what, size, 1, 5.0) for what in ("subscriptions", "background statements") for size in (1, 10)]
    draw_costs(tmp_path, [LayerCost("reading", 1, 1, 2.0)], growing, [Matched("Thalweg, keys given", 10, 5, 3e5)])
    assert {one.name for one in tmp_path.glob("*.png")} == {"paper.png", "layers.png", "grown.png"}


def test_all_ways_to_match_find_the_same() -> None:
    given, looked_up = by_pairs(20_000), by_graphs(20_000)
    assert given.matches == looked_up.matches > 1_000


@pytest.mark.slow
def test_esper_finds_the_same() -> None:
    measured = esper.by_esper(20_000)
    if isinstance(measured, str):
        pytest.skip(measured)
    assert measured.matches == by_pairs(20_000).matches


def test_esper_is_left_out_with_a_reason_where_there_is_no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert esper.by_esper(10) == "there is no Java compiler"


def test_the_verdict_compares_with_what_was_asked_for() -> None:
    whole = EndToEnd(1_000, 10, 0.04, 25_000.0, 100.0)
    growing = [Grown("subscriptions", size, 1, cost) for size, cost in ((10, 10.0), (1_000, 31.0))]
    matched = [Matched("a", 10, 5, 300_000.0), Matched("b", 10, 5, 90_000.0)]
    targets = verdict(whole, growing, matched, Matched("Esper", 10, 5, 200_000.0))
    assert [one.holds for one in targets] == [True, False, True, False, True]
    assert len(verdict(whole, growing, matched, "there is no Java compiler")) == 4


def test_the_program_is_three_patterns_deep() -> None:
    assert program().count("MATCH") == 3
