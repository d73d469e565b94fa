"""The whole cascade: a million events of a city through classes and patterns, and what makes it slower.

The experiments are those of Streaming MASSIF (Bonte et al., Sensors 2018): batches of events, layer by layer, growing
windows and rates; a growing background, and a growing number of subscriptions. All rates are per second of CPU time of
one core. Beside stand the figures that were published, and Esper for patterns alone, where Java and Maven are there.
"""

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from thalweg.answers.event_answers import ComplexLine
from thalweg.answers.jsonl import lines
from thalweg.bench.abstraction import ROADS
from thalweg.bench.esper import by_esper
from thalweg.bench.event_city import program, quads, subscriptions
from thalweg.bench.keyed_events import Matched, by_graphs, by_pairs
from thalweg.bench.plot import Lines, Panel, add_point, draw
from thalweg.bench.report import BenchmarkReport, BenchmarkTarget, at_least
from thalweg.bench.running_city import CHUNK, City, EndToEnd, answered, by_tick
from thalweg.bench.selection_windows import WindowCost, by_window
from thalweg.connectors.nquads import QuadReader
from thalweg.ir.pattern_semantics import Instance
from thalweg.kinds.classes.classifier import Classifier
from thalweg.kinds.events.event_clauses import known_besides
from thalweg.kinds.events.event_layers import EventLayers
from thalweg.kinds.events.event_stages import instances_of
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import Clock

EVENTS: Final = 1_000_000
_BATCHES: Final = (1, 10, 100, 1_000, 10_000, 25_000, 50_000, 80_000)
# Table 1 of the paper: milliseconds for batches of these sizes, on a machine of 2009; HermiT had no memory for more.
_PUBLISHED: Final = (74.2, 76.9, 74.4, 147.5, 443.3, 1040.0, 2303.9, 3754.4)
_PUBLISHED_HERMIT: Final = (12_895.0, 12_972.0, 13_440.0, 27_885.0, 170_532.5, None, None, None)


@dataclass(frozen=True, slots=True)
class LayerCost:
    """A layer of the same run: what comes to it, and what it costs."""

    layer: str
    comes: int
    goes: int
    microseconds_per_event: float


@dataclass(frozen=True, slots=True)
class BatchTime:
    """Milliseconds for a batch of events, from coded events to answers; the published ones are of another machine."""

    events: int
    thalweg: float
    published_cascade: float
    published_hermit: float | None


@dataclass(frozen=True, slots=True)
class Grown:
    """The cost of an event as something grows, from coded events to answers."""

    what: str
    size: int
    answers: int
    microseconds_per_event: float


def by_layer(city: City, count: int) -> list[LayerCost]:
    """The same events through one layer after the other, each timed for itself."""
    part = city.load(program())
    ladder, _ = part.classifier().ladder()
    classifier = Classifier(ladder, lambda diagnostic: None, Dictionary())
    layers = EventLayers(part.program, known_besides(ladder.program))
    words = classifier.dictionary
    reader = QuadReader(words, "city.nq", "city", Clock(), "city")
    lines = quads(count, city.roads)
    seconds = dict.fromkeys(("reading", "classes", "patterns", "writing"), 0.0)
    classified = matched = written = 0
    while block := list(islice(lines, 4 * CHUNK)):
        before = time.process_time()
        ticks = by_tick(reader.feed("".join(block).encode()))
        seconds["reading"] += time.process_time() - before
        for tick, batches in ticks:
            began = time.process_time()
            events: dict[str, list[Instance]] = {}
            for event in classifier.classified(tick, batches):
                for instance in instances_of(tick, event, words):
                    events.setdefault(instance.event, []).append(instance)
            between = time.process_time()
            matches = layers.advance(tick, events)
            after = time.process_time()
            shown = [str(ComplexLine(when, *match)) for when, match in matches if match[0].event in part.output]
            seconds["classes"] += between - began
            seconds["patterns"] += after - between
            seconds["writing"] += time.process_time() - after
            classified, matched, written = (
                classified + sum(map(len, events.values())),
                matched + len(matches),
                written + len(shown),
            )
    passing = {"reading": (count, count), "classes": (count, classified)}
    passing |= {"patterns": (classified, matched), "writing": (written, written)}
    return [LayerCost(name, *passing[name], 1e6 * spent / count) for name, spent in seconds.items()]


def batch_times(city: City, largest: int) -> list[BatchTime]:
    """Batches of one tick, as in the paper's Table 1; what is met first has been met."""
    run = city.start(program())
    tick = 0
    for ticks in city.ticks(run.dictionary, largest):
        for tick, batches in ticks:
            answered(run, tick, batches)
    times = []
    sizes = [size for size in _BATCHES if size <= largest]
    for size, published, hermit in zip(sizes, _PUBLISHED, _PUBLISHED_HERMIT, strict=False):
        batches = [
            batch
            for ticks in city.ticks(run.dictionary, size, per_tick=size, seed=size)
            for _, tick_batches in ticks
            for batch in tick_batches
        ]
        tick += 1_000
        before = time.process_time()
        answered(run, tick, batches)
        times.append(BatchTime(size, 1_000 * (time.process_time() - before), published, hermit))
    return times


def _cost(city: City, text: str, count: int, what: str, size: int) -> Grown:
    """The cost of an event whose kind has been met before."""
    run = city.start(text)
    chunks = list(city.ticks(run.dictionary, count))
    last = max((tick for ticks in chunks for tick, _ in ticks), default=0) + 1
    answers, took = 0, 0.0
    for again in (0, 1):
        before = time.process_time()
        answers = 0
        for ticks in chunks:
            for tick, batches in ticks:
                answers += sum(len(lines(answer)) for answer in answered(run, tick + again * last, batches))
        took = time.process_time() - before
    return Grown(what, size, answers, 1e6 * took / count)


def grown(folder: Path, city: City, count: int, quick: bool) -> Iterator[Grown]:
    """Subscriptions, background and bounds, each growing alone."""
    for number in (1, 10, 100) if quick else (1, 10, 100, 1_000):
        yield _cost(city, subscriptions(number, city.roads), count, "subscriptions", number)
    for roads in (20, 60) if quick else (100, 300, ROADS, 2_500):
        other = City(folder, roads)
        yield _cost(other, program(), count, "background statements", 72 * roads)
    for seconds in (1, 10, 100, 1_000):
        yield _cost(city, program(seconds), count, "WITHIN in ticks", seconds)


def verdict(
    end_to_end: EndToEnd, growing: list[Grown], matched: list[Matched], esper: Matched | str
) -> list[BenchmarkTarget]:
    """The figures that must be shown."""
    cost = {point.size: point.microseconds_per_event for point in growing if point.what == "subscriptions"}
    most = max(cost)
    keyed, looked_up = matched
    targets = [
        at_least("from N-Quads to answers: at least 20,000 events a second", end_to_end.events_per_second / 20_000, 1),
        BenchmarkTarget(
            f"an event with {most:,} subscriptions costs at most 3 × that with 10",
            f"{cost[most] / cost[10]:.1f} ×",
            cost[most] <= 3 * cost[10],
        ),
        at_least("patterns alone: at least 100,000 events a second", keyed.events_per_second / 100_000, 1),
        at_least("patterns with clauses: at least 100,000 events a second", looked_up.events_per_second / 100_000, 1),
    ]
    if isinstance(esper, Matched):
        assert esper.matches == keyed.matches == looked_up.matches, "Esper finds other matches"
        targets.append(
            at_least("patterns alone: at least Esper's rate", keyed.events_per_second / esper.events_per_second, 1)
        )
    return targets


def draw_paper(folder: Path, times: Sequence[BatchTime], windows: Sequence[WindowCost]) -> None:
    """`paper` has the experiments of the paper: batches, windows, rates and selection rates."""
    batches = Lines()
    for measurement in times:
        add_point(batches, "Thalweg", measurement.events, measurement.thalweg)
        add_point(
            batches, "published: cascade, on a machine of 2009", measurement.events, measurement.published_cascade
        )
        add_point(batches, "published: HermiT", measurement.events, measurement.published_hermit)
    growing: dict[str, Lines] = {}
    for window in windows:
        lines = growing.setdefault(window.grows, Lines())
        for layer in ("selection", "classes", "patterns"):
            add_point(lines, layer, window.size, getattr(window, layer))
    panels = [
        Panel("Table 1: a batch of events", "events", "ms", batches, log="xy"),
        Panel("Test 1: a window of 2 s, by events a second", "events/s", "ms", growing["events/s"], log="xy"),
        Panel("Test 2: a window of 100 events/s, by its length", "seconds", "ms", growing["seconds"], log="xy"),
        Panel("Test 3: a window, by the part selected", "% selected", "ms", growing["% selected"], log="xy"),
    ]
    draw(folder, "paper", panels[:2], panels[2:], size=(5.5, 3.8))


def draw_costs(
    folder: Path, layers: Sequence[LayerCost], growing: Sequence[Grown], patterns: Sequence[Matched]
) -> None:
    """`layers` has what an event costs in each layer, and patterns alone; `grown` what it costs as something grows."""
    lines: dict[str, Lines] = {}
    for measurement in growing:
        add_point(
            lines.setdefault(measurement.what, Lines()),
            measurement.what,
            measurement.size,
            measurement.microseconds_per_event,
        )
    unit = "µs an event"
    costs = {"": {measurement.layer: measurement.microseconds_per_event for measurement in layers}}
    rates = {"": {measurement.way.replace(", ", ",\n"): measurement.events_per_second for measurement in patterns}}
    grown = [Panel(f"growing: {what}", what, unit, points, log="x", from_zero=True) for what, points in lines.items()]
    alone = [Panel("each layer", "", unit, bars=costs), Panel("patterns alone", "", "events a second", bars=rates)]
    draw(folder, "layers", alone, size=(5.5, 3.6))
    draw(folder, "grown", grown, size=(4.5, 3.6))


def main(out: Path, quick: bool = False) -> None:
    """Runs all experiments, prints the tables, and writes CSV files to the folder `cascade` of `out`."""
    report = BenchmarkReport(out, "cascade")
    count, roads, grown_events, keyed = (4_000, 60, 2_000, 20_000) if quick else (EVENTS, ROADS, 50_000, 500_000)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        city = City(folder, roads)
        report.log(f"{count:,} events through the command")
        end_to_end = city.command(count)
        report.add("end_to_end", [end_to_end])
        report.log("layer by layer")
        layers = by_layer(city, min(count, 200_000))
        report.add("layers", layers)
        report.log("batches")
        times = batch_times(city, 1_000 if quick else max(_BATCHES))
        report.add("batches", times)
        report.log("subscriptions, background, bounds")
        growing = list(grown(folder, city, grown_events, quick))
        report.add("grown", growing)
        report.log("selections")
        windows = list(by_window(city, 2 if quick else 4, quick))
        report.add("windows", windows)
    report.log("patterns alone")
    matched = [by_pairs(keyed), by_graphs(keyed)]
    esper = by_esper(keyed)
    if isinstance(esper, str):
        report.log(f"Esper is left out: {esper}")
    patterns = [*matched, *([esper] if isinstance(esper, Matched) else [])]
    report.add("patterns", patterns)
    draw_paper(report.folder, times, windows)
    draw_costs(report.folder, layers, growing, patterns)
    report.close(verdict(end_to_end, growing, matched, esper))
