"""The loads of `thalweg bench serve`, small: a service is a process of its own, and its answers are checked."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from thalweg.bench.heavy_tick import HeavyTick, WhyCost, beside_heavy_tick, why_cost
from thalweg.bench.measured_service import MeasuredService
from thalweg.bench.report import BenchmarkTarget
from thalweg.bench.serve import ServiceFigures, draw_figures, soak_targets, targets
from thalweg.bench.service_followers import FanOut, PostLatency, fan_out, latency, quantile
from thalweg.bench.service_ingest import FactCost, expected, ingest, late_registration
from thalweg.bench.service_soak import SoakSample, soak
from thalweg.bench.service_subscriptions import SubscribedEventCost, subscribed_event_costs
from thalweg.bench.stopped_follower import StoppedFollower, stopped_follower
from thalweg.cli import app


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MeasuredService]:
    with MeasuredService(tmp_path_factory.mktemp("service") / "data") as process:
        yield process


def test_facts_over_four_connections_are_answered_as_in_a_run(service: MeasuredService) -> None:
    assert [(cost.load, cost.facts, cost.lines) for cost in ingest(service, 20)] == [
        ("facts", 20_000, len(expected(19))),
        ("JSON lines", 20_000, len(expected(19))),
    ]


def test_what_is_registered_late_answers_as_what_was_there(service: MeasuredService) -> None:
    assert late_registration(service, 20).lines == len(expected(19))


def test_each_post_has_its_line(service: MeasuredService) -> None:
    measured, delays = latency(service, 20, 1.5)
    assert (measured.posts, len(delays)) == (30, 30)
    assert 0 < measured.median_s <= measured.p99_s <= measured.most_s


def test_all_subscribers_get_all_lines_once_and_in_order(service: MeasuredService) -> None:
    measured = fan_out(service, 100, 5, 2.0)
    assert (measured.lines, measured.deliveries) == (10, 1_000)


def test_one_that_stops_reading_goes_on_without_a_gap(service: MeasuredService) -> None:
    measured, memory = stopped_follower(service, 1.0, 1.5)
    assert measured.cut_s is None
    assert measured.lines > 0
    assert {when > 0 for when, _ in memory} == {True, False}


def test_others_are_answered_beside_a_heavy_tick(service: MeasuredService) -> None:
    heavy, health = beside_heavy_tick(service, 40_000)
    assert heavy.others_lines > 1
    assert len(health) > 1
    assert why_cost(service, 3).holding == 10_000


def test_subscriptions_that_are_added_one_by_one_answer_as_one_text(service: MeasuredService) -> None:
    costs = list(subscribed_event_costs(service, (3, 6), 400, 20))
    assert [(cost.subscriptions, cost.made) for cost in costs] == [
        (number, made) for number in (3, 6) for made in ("in one text", "one by one")
    ]
    assert 0 < costs[0].lines == costs[1].lines < costs[2].lines


def test_a_window_of_a_soak_holds_what_came_last(service: MeasuredService) -> None:
    samples = soak(service, 3.0)
    assert [sample.facts for sample in samples] == [100, 1_100, 2_100]


@pytest.mark.slow
def test_one_that_stops_reading_is_cut_and_resumes(service: MeasuredService) -> None:
    measured, _ = stopped_follower(service, 5.0, 120.0)
    assert measured.cut_s is not None


def test_a_share_of_values() -> None:
    assert quantile(list(map(float, range(100))), 0.99) == 99.0


def some_figures() -> ServiceFigures:
    return ServiceFigures(
        costs=[FactCost(load, 1_000, 10, cost) for load, cost in (("facts", 2.0), ("JSON lines", 11.0), ("late", 3.0))],
        latencies=[PostLatency(600, 0.01, 0.2, 0.4)],
        fan_outs=[FanOut(500, 150, 75_000, 30.0, 20.0)],
        stopped=[StoppedFollower(120.0, 110.0, 2.0, None, 6_000)],
        heavy_ticks=[HeavyTick(400_000, 2.0, 0.01, 0.2, 30, 0.5)],
        whys=[WhyCost(100_000, 20.0, 1.0)],
        subscribed=[
            SubscribedEventCost(number, "in one text", 1_000, 10, 1.0 * number, None, None) for number in (10, 40)
        ],
        samples=[SoakSample(float(second), 0, memory, 20.0) for second, memory in enumerate((50, 100, 110, 110, 130))],
        delays=(0.01, 0.2),
        health=(0.01,),
        memory=((-1.0, 200.0), (1.0, 202.0)),
    )


def test_targets_say_what_falls_short() -> None:
    short = {target.claim for target in targets(some_figures()) if not target.holds}
    assert short == {
        "JSON lines: CPU a fact, at most 10 µs",
        "one that has stopped reading: cut after, at most 120 s",
        "an event with 40 subscriptions, in one text, of one with 10, at most 3 ×",
        "memory at the end, of that after a fifth of the time, at most 1.2 ×",
    }


def test_memory_in_the_end_is_compared_with_that_after_a_fifth_of_the_time() -> None:
    memory, folder = soak_targets([SoakSample(float(second), 0, 100.0 + second, 41.0) for second in range(11)])
    assert memory.holds
    assert folder == BenchmarkTarget("the data folder, with --retain-size 10MB, at most 40 MB", "41 MB", False)


def test_the_picture_shows_every_load(tmp_path: Path) -> None:
    draw_figures(tmp_path, some_figures())
    assert {path.name for path in tmp_path.iterdir()} == {"serve.png", "serve.svg", "soak.png", "soak.svg"}


def test_only_the_service_has_a_soak() -> None:
    assert CliRunner().invoke(app, ["bench", "laser", "--soak"]).exit_code == 2
