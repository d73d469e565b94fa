"""The service from outside: what facts, answers and subscribers cost it, and how it does beside heavy work.

`thalweg serve` runs as a process of its own, anew for each load whose memory matters. CPU time and memory are what its
metrics say, so what this process takes does not count; seconds are those of the clock, on a machine that both share.
Every load checks the answers that it gets.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from thalweg.bench.abstraction import ROADS
from thalweg.bench.heavy_tick import HeavyTick, WhyCost, beside_heavy_tick, why_cost
from thalweg.bench.measured_service import MeasuredService
from thalweg.bench.plot import Lines, Panel, add_point, draw
from thalweg.bench.report import BenchmarkReport, BenchmarkTarget, at_most
from thalweg.bench.service_followers import FanOut, PostLatency, fan_out, latency
from thalweg.bench.service_ingest import FactCost, ingest, late_registration
from thalweg.bench.service_soak import OPTIONS, SoakSample, soak
from thalweg.bench.service_subscriptions import SubscribedEventCost, subscribed_event_costs
from thalweg.bench.stopped_follower import StoppedFollower, stopped_follower

_POSTS: Final = 20
"""Requests a second whose latency is measured."""
_LINES: Final = 5
"""Lines a second that many follow."""
_QUESTIONS: Final = 20
_CUT: Final = 120
"""Seconds after which a connection that nobody reads from has been cut."""
_SETTLED: Final = 0.2
"""The share of a long run after which memory is to stay what it is: two minutes of ten."""


@dataclass(frozen=True, slots=True)
class LoadSizes:
    """How much of each load there is: ticks of 1,000 facts, seconds, subscribers, facts of one tick, events."""

    ticks: int = 600
    late_ticks: int = 200
    seconds: float = 30.0
    subscribers: int = 500
    settling: float = 15.0
    stopped: float = float(_CUT)
    heavy: int = 400_000
    subscriptions: tuple[int, ...] = (10, 1_000)
    events: int = 10_000
    roads: int = ROADS
    soak: float = 600.0


FULL: Final = LoadSizes()
QUICK: Final = LoadSizes(50, 50, 3.0, 50, 3.0, 5.0, 40_000, (10, 100), 2_000, 60, 20.0)


@dataclass(slots=True)
class ServiceFigures:
    """All that was measured, with the curves of the picture."""

    costs: list[FactCost] = field(default_factory=list)
    latencies: list[PostLatency] = field(default_factory=list)
    fan_outs: list[FanOut] = field(default_factory=list)
    stopped: list[StoppedFollower] = field(default_factory=list)
    heavy_ticks: list[HeavyTick] = field(default_factory=list)
    whys: list[WhyCost] = field(default_factory=list)
    subscribed: list[SubscribedEventCost] = field(default_factory=list)
    samples: list[SoakSample] = field(default_factory=list)
    delays: Sequence[float] = ()
    health: Sequence[float] = ()
    memory: Sequence[tuple[float, float]] = ()


def main(out: Path, quick: bool, soak: bool = False) -> None:
    """Runs all loads, and with `soak` ten minutes more; prints tables, and writes CSV files and a picture."""
    report = BenchmarkReport(out, "serve")
    figures = measured(QUICK if quick else FULL, report, soak)
    report.add("facts", figures.costs)
    report.add("latency", figures.latencies)
    report.add("fan_out", figures.fan_outs)
    report.add("stopped", figures.stopped)
    report.add("heavy_tick", figures.heavy_ticks)
    report.add("why", figures.whys)
    report.add("subscriptions", figures.subscribed)
    report.write("soak", figures.samples)
    draw_figures(report.folder, figures)
    report.close(list(targets(figures)))


def measured(sizes: LoadSizes, report: BenchmarkReport, is_long: bool = False) -> ServiceFigures:
    """Puts one load after the other on a service."""
    figures = ServiceFigures()
    report.log("facts over four connections, and a program that comes late")
    with _service() as service:
        figures.costs += ingest(service, sizes.ticks)
        figures.costs.append(late_registration(service, sizes.late_ticks))
    report.log(f"latency, {sizes.subscribers} subscribers, and one that stops reading")
    with _service() as service:
        delays, figures.delays = latency(service, _POSTS, sizes.seconds)
        figures.latencies.append(delays)
        figures.fan_outs.append(fan_out(service, sizes.subscribers, _LINES, sizes.seconds))
    with _service() as service:
        stopped, figures.memory = stopped_follower(service, sizes.settling, sizes.stopped)
        figures.stopped.append(stopped)
    report.log(f"beside a tick of {sizes.heavy:,} facts")
    with _service() as service:
        heavy, figures.health = beside_heavy_tick(service, sizes.heavy)
        figures.heavy_ticks.append(heavy)
        figures.whys.append(why_cost(service, _QUESTIONS))
    report.log("subscriptions")
    with _service() as service:
        figures.subscribed += subscribed_event_costs(service, sizes.subscriptions, sizes.events, sizes.roads)
    if is_long:
        report.log(f"{sizes.soak:g} seconds of 1,000 facts each")
        with _service(*OPTIONS) as service:
            figures.samples += soak(service, sizes.soak)
    return figures


@contextmanager
def _service(*options: str) -> Iterator[MeasuredService]:
    """A service over a new folder."""
    with tempfile.TemporaryDirectory() as folder, MeasuredService(Path(folder, "data"), *options) as service:
        yield service


def targets(figures: ServiceFigures) -> Iterator[BenchmarkTarget]:
    """What is wanted, and what was measured."""
    for cost, most in zip(figures.costs, (5, 10, 15), strict=True):
        yield at_most(f"{cost.load}: CPU a fact", cost.cpu_us, most, "µs")
    for delays in figures.latencies:
        yield at_most(f"from sending to receiving, {_POSTS} a second: median", 1e3 * delays.median_s, 30, "ms")
        yield at_most(f"from sending to receiving, {_POSTS} a second: p99", 1e3 * delays.p99_s, 300, "ms")
    for fans in figures.fan_outs:
        yield at_most(f"{fans.subscribers} subscribers: CPU a delivery", fans.cpu_us, 80, "µs")
        yield at_most(f"{fans.subscribers} subscribers: more memory", fans.megabytes, 150, "MB")
    for stopped in figures.stopped:
        yield at_most("one that has stopped reading: more memory", stopped.megabytes, 4, "MB")
        if stopped.cut_s is not None or stopped.seconds >= _CUT:
            yield at_most("one that has stopped reading: cut after", stopped.cut_s or float("inf"), _CUT, "s")
    for heavy in figures.heavy_ticks:
        yield at_most(
            f"beside {heavy.facts:,} facts at one tick: health, each time", 1e3 * heavy.health_most_s, 300, "ms"
        )
    for why in figures.whys:
        yield at_most(f"why, at {why.holding:,} facts that hold, once warm: CPU", why.warm_ms, 100, "ms")
    yield from _subscription_targets(figures.subscribed)
    if figures.samples:
        yield from soak_targets(figures.samples)


def _subscription_targets(costs: Sequence[SubscribedEventCost]) -> Iterator[BenchmarkTarget]:
    for made in dict.fromkeys(cost.made for cost in costs):
        few, *_, many = (cost for cost in costs if cost.made == made)
        what = f"an event with {many.subscriptions:,} subscriptions, {made}, of one with {few.subscriptions}"
        yield at_most(what, many.cpu_us / few.cpu_us, 3, "×")


def soak_targets(samples: Sequence[SoakSample]) -> Iterator[BenchmarkTarget]:
    """What memory and disk may be in the end."""
    end = samples[-1]
    settled = next(sample for sample in samples if sample.seconds >= _SETTLED * end.seconds)
    yield at_most("memory at the end, of that after a fifth of the time", end.memory / settled.memory, 1.2, "×")
    yield at_most("the data folder, with --retain-size 10MB", max(sample.folder for sample in samples), 40, "MB")


def draw_figures(folder: Path, figures: ServiceFigures) -> None:
    """`serve` has the cost of facts and events, latencies, and memory over time; `soak` has the long run."""
    facts = {"measured": {cost.load: cost.cpu_us for cost in figures.costs}}
    wanted = {"wanted": dict(zip(facts["measured"], (5.0, 10.0, 15.0), strict=True))}
    events = Lines()
    for cost in figures.subscribed:
        add_point(events, cost.made, cost.subscriptions, cost.cpu_us)
    delays = Lines({"posts": _shares(figures.delays), "health, beside a heavy tick": _shares(figures.health)})
    memory = Lines({"stopped at 0 s": list(figures.memory)})
    rows = [
        [
            Panel("a fact", "", "µs of CPU", bars={**facts, **wanted}),
            Panel("an event", "subscriptions", "µs of CPU", events, log="x", from_zero=True),
        ],
        [
            Panel("answers", "% of requests", "ms", delays, log="y"),
            Panel("one that stops reading, at 1 MB/s", "s", "MB of the service", memory),
        ],
    ]
    if figures.samples:
        lines = Lines()
        for sample in figures.samples:
            add_point(lines, "memory", sample.seconds, sample.memory)
            add_point(lines, "data folder", sample.seconds, sample.folder)
        draw(folder, "soak", [Panel("1,000 facts a second", "s", "MB", lines, from_zero=True)])
    draw(folder, "serve", *rows, size=(5, 3.5))


def _shares(seconds: Sequence[float]) -> list[tuple[float, float]]:
    """Milliseconds that so many percent of some times do not exceed."""
    return [(100 * (place + 1) / len(seconds), 1e3 * value) for place, value in enumerate(sorted(seconds))]
