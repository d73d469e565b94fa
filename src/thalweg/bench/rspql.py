"""Continuous queries: CSRBench's and CityBench's shapes at growing rates and windows, and a filter with two joins.

Contestants answer the same query over the same text in one process, tick by tick in turns, so that all of them meet the
same noise. Their answers are compared before anything is timed. Processor time counts; the verdict is about ratios.
"""

import gc
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from math import nan
from pathlib import Path
from time import process_time
from typing import Final

from thalweg.bench.city_streams import STREAMS, as_lines
from thalweg.bench.continuous_queries import JOINS, QUERIES, BenchmarkQuery
from thalweg.bench.oxigraph import same
from thalweg.bench.plot import Lines, Panel, add_point, draw
from thalweg.bench.processes import MEGABYTE, Footprint, isolated
from thalweg.bench.query_contestants import ADDED, COMPILED, FALLBACK, MADE, RDFLIB, RELOADED, Texts
from thalweg.bench.report import BenchmarkReport, BenchmarkTarget, Row, at_least

# So many evaluations are compared, and not timed.
_COMPARED: Final = 3
_ALL: Final = (COMPILED, ADDED, RELOADED)
_LONG, _SHORT = 600, 6
_RATE: Final = 4_000
_MEMORY_LIMIT: Final = 6_000 * MEGABYTE


@dataclass(frozen=True, slots=True)
class QueryPoint:
    """A query at one size: how many sensors send, how many evaluations are timed, and who answers."""

    query: BenchmarkQuery
    sensors: int
    evaluations: int
    by: tuple[str, ...] = _ALL

    @property
    def window(self) -> int:
        return self.query.windows[0].range

    @property
    def slide(self) -> int:
        return self.query.windows[0].slide

    @property
    def name(self) -> str:
        return f"{self.query.name}, window {self.window} by {self.slide}, {self.sensors:,} sensors"

    def closes(self, tick: int) -> bool:
        """Whether the windows of the query close at a tick.

        >>> point = QueryPoint(QUERIES["csr 2"], 10, 1)
        >>> [tick for tick in range(10) if point.closes(tick)]
        [2, 5, 8]
        """
        return tick >= self.window - 1 and (tick - self.window + 1) % self.slide == 0

    def texts(self) -> Iterator[Texts]:
        """The texts of the query's streams, tick by tick."""
        streams = [window.stream for window in self.query.windows]
        for tick in count():
            yield {stream: "".join(as_lines(STREAMS[stream](tick, self.sensors))) for stream in streams}


@dataclass(frozen=True, slots=True)
class QueryCost:
    """Processor time a triple, and from the last triple of a window to its answer; who differs is wrong."""

    query: str
    by: str
    window: int
    slide: int
    triples_a_tick: int
    rows: int
    us_a_triple: float
    latency_ms: float
    worst_ms: float
    differs: bool


@dataclass(frozen=True, slots=True)
class MemoryGrowth:
    """Megabytes that a process of its own grew by, from an empty contestant to answers over full windows."""

    query: str
    by: str
    window: int
    sensors: int
    megabytes: float


# Measuring --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Turn:
    """One evaluation by one contestant: its answer, seconds since the evaluation before, and those of the answer."""

    text: str
    seconds: float
    latency: float
    triples: int


class Race:
    """Contestants over the same streams, in turns at every tick.

    >>> [sorted(turns) for turns in (Race(QueryPoint(QUERIES["csr 1"], 10, 1, (ADDED, RELOADED))).evaluate(),)]
    [['add/remove', 'reload']]
    """

    def __init__(self, point: QueryPoint) -> None:
        self._point = point
        self.contestants = {by: MADE[by](point.query, point.sensors) for by in point.by}
        self._ticks = enumerate(point.texts())

    def evaluate(self) -> dict[str, Turn]:
        """On to the next tick at which the windows close."""
        spent, triples = dict.fromkeys(self.contestants, 0.0), 0
        for tick, texts in self._ticks:
            triples += sum(text.count("\n") for text in texts.values())
            closes, turns = self._point.closes(tick), dict[str, Turn]()
            for by, contestant in self.contestants.items():
                began = process_time()
                contestant.add(tick, texts)
                added = process_time()
                text = contestant.answer(tick) if closes else ""
                ended = process_time()
                spent[by] += ended - began
                turns[by] = Turn(text, spent[by], ended - added, triples)
            if closes:
                return turns
        raise AssertionError("streams do not end")

    def compare(self) -> tuple[dict[str, Turn], set[str]]:
        """The next evaluation, and who answers it differently from pyoxigraph."""
        turns = self.evaluate()
        answers = {by: self.contestants[by].read(turn.text) for by, turn in turns.items()}
        return turns, {by for by, answer in answers.items() if not same(answer, answers[ADDED])}


def measure(point: QueryPoint) -> list[QueryCost]:
    """Fills the windows, compares some answers, then times all contestants."""
    race = Race(point)
    differ = set().union(*(race.compare()[1] for _ in range(_COMPARED)))
    # What reading answers left behind is not charged to those who come next.
    gc.collect()
    turns = [race.evaluate() for _ in range(point.evaluations)]
    return [_measured(point, by, [turn[by] for turn in turns], race, by in differ) for by in point.by]


def measure_once(point: QueryPoint, by: str) -> QueryCost:
    """The first answer of a slow contestant, which costs what its latency is."""
    race = Race(replace(point, by=(ADDED, by)))
    turns, differ = race.compare()
    turn = turns[by]
    once = replace(turn, seconds=turn.latency, triples=turn.triples * point.slide // point.window)
    return _measured(point, by, [once], race, by in differ)


def _measured(point: QueryPoint, by: str, turns: Sequence[Turn], race: Race, differs: bool) -> QueryCost:
    triples = sum(turn.triples for turn in turns)
    latencies = [turn.latency * 1e3 for turn in turns]
    return QueryCost(
        query=point.query.name,
        by=by,
        window=point.window,
        slide=point.slide,
        triples_a_tick=round(triples / len(turns) / point.slide),
        rows=len(race.contestants[by].read(turns[-1].text).rows),
        us_a_triple=sum(turn.seconds for turn in turns) * 1e6 / max(1, triples),
        latency_ms=statistics.median(latencies),
        worst_ms=max(latencies),
        differs=differs,
    )


def measure_growth(sensors: int, rounds: int) -> float:
    """The cost of a triple with a long window as a multiple of that with a short one, in turns; answers are alike."""
    query = replace(JOINS, output="ISTREAM")
    races = [Race(QueryPoint(query.with_range(range), sensors, rounds, (COMPILED,))) for range in (_LONG, _SHORT)]
    for race in races:
        race.evaluate()
    turns = [[race.evaluate()[COMPILED].seconds for race in races] for _ in range(rounds)]
    return statistics.median(long / short for long, short in turns)


def grow(point: QueryPoint, by: str) -> float:
    """Bytes that this process grows by while windows fill and some answers are given."""
    footprint = Footprint()
    race = Race(replace(point, by=(by,)))
    for _ in range(_COMPARED):
        race.evaluate()
    return footprint.grown()


def measure_memory(point: QueryPoint) -> list[MemoryGrowth]:
    """Each contestant in a process of its own."""
    sizes = [(by, isolated(grow, point, by, memory=_MEMORY_LIMIT).result) for by in point.by]
    return [
        MemoryGrowth(point.query.name, by, point.window, point.sensors, nan if size is None else size / MEGABYTE)
        for by, size in sizes
    ]


# The whole --------------------------------------------------------------------------------------------------------


def points(quick: bool) -> list[QueryPoint]:
    """Every shape at growing rates; longer windows where answers stay in proportion; a filter and two joins."""
    rates, windows, evaluations = ((100,), (30,), 5) if quick else ((100, 1_000, 5_000), (30, 300), 20)
    planned = [QueryPoint(query, rate, evaluations) for query in QUERIES.values() for rate in rates]
    planned += [
        QueryPoint(query.with_range(range), 100, evaluations)
        for query in QUERIES.values()
        for range in windows
        if query.grows and (not quick or query.name in ("csr 5", "city 5"))
    ]
    planned += [QueryPoint(JOINS.with_range(range), rate, evaluations) for range, rate in ((6, 1_000), (60, 100))]
    return [*planned, target(quick)]


def target(quick: bool) -> QueryPoint:
    """Window 60, slide 1, 4,000 triples a tick."""
    return QueryPoint(JOINS, 1_000, 10 if quick else 30, (COMPILED, FALLBACK, ADDED, RELOADED))


def main(out: Path, quick: bool = False) -> None:
    """Measures, prints the tables, and writes CSV files and pictures to the folder `rspql` of `out`."""
    report, results, wanted = BenchmarkReport(out, "rspql"), list[QueryCost](), points(quick)
    for number, point in enumerate(wanted, 1):
        report.log(f"{number} of {len(wanted)}: {point.name}")
        results += measure(point)
    report.log("rdflib, growth with the window, and memory")
    # In a process of its own: what it leaves behind would be charged to others.
    slow = isolated(measure_once, target(quick), RDFLIB)
    results += [slow.result] if slow.result else []
    growth = measure_growth(250 if quick else 1_000, 20 if quick else 60)
    memory = measure_memory(target(quick))
    report.show("µs a triple", side_by_side(results, "us_a_triple"))
    report.show("ms from the last triple of a window to its answer, the median", side_by_side(results, "latency_ms"))
    report.write("results", results)
    report.add("memory", memory)
    draw_results(results, report.folder)
    report.close(verdict(results, growth))


def side_by_side(results: Sequence[QueryCost], figure: str) -> list[Row]:
    """One line for each query and size, with a column for each contestant.

    >>> sizes = {"window": 3, "slide": 1, "triples_a_tick": 8, "rows": 0}
    >>> costs = {"latency_ms": 1.0, "worst_ms": 1.0, "differs": False}
    >>> found = [QueryCost("q", by, **sizes, us_a_triple=cost, **costs) for by, cost in (("one", 2.0), ("other", 3.0))]
    >>> side_by_side(found, "us_a_triple")
    [{'query': 'q', 'window': 3, 'slide': 1, 'triples': 8, 'one': 2.0, 'other': 3.0}]
    """
    lines: dict[tuple[str, int, int, int], dict[str, float]] = {}
    for measurement in results:
        line = lines.setdefault(
            (measurement.query, measurement.window, measurement.slide, measurement.triples_a_tick), {}
        )
        line[measurement.by] = getattr(measurement, figure)
    names = list(dict.fromkeys(measurement.by for measurement in results))
    return [
        {"query": query, "window": window, "slide": slide, "triples": triples} | {by: line.get(by) for by in names}
        for (query, window, slide, triples), line in lines.items()
    ]


def verdict(results: Sequence[QueryCost], growth: float) -> list[BenchmarkTarget]:
    """Ratios of the filter with two joins over 60 ticks, and that nobody's answer differs."""
    joins = [
        measurement
        for measurement in results
        if measurement.query == JOINS.name and measurement.triples_a_tick >= _RATE
    ]
    costs = {measurement.by: measurement.us_a_triple for measurement in joins if measurement.window == 60}
    wrong = sorted({f"{measurement.query} by {measurement.by}" for measurement in results if measurement.differs})
    return [
        BenchmarkTarget("all contestants answer the same", ", ".join(wrong) or f"{len(results)} series", not wrong),
        at_least("a filter and two joins, at least 5 × faster than add/remove", costs[ADDED] / costs[COMPILED], 5),
        at_least("a filter and two joins, at least 25 × faster than reload", costs[RELOADED] / costs[COMPILED], 25),
        BenchmarkTarget(f"window {_LONG}, at most 2 × the cost of window {_SHORT}", f"{growth:.2f} ×", growth <= 2),
    ]


def draw_results(results: Sequence[QueryCost], folder: Path) -> None:
    """`queries` has the cost of each shape, `sizes` that of the filter with two joins."""
    bars: dict[str, dict[str, float]] = {}
    for measurement in results:
        if measurement.query != JOINS.name:
            bars.setdefault(measurement.by, {}).setdefault(measurement.query, measurement.us_a_triple)
    panels = [Panel("CSRBench's and CityBench's shapes", "", "µs a triple", bars=bars, log="y")]
    draw(folder, "queries", panels, size=(12, 4))
    lines: Mapping[str, Lines] = {"window": Lines(), "triples_a_tick": Lines()}
    for measurement in results:
        if measurement.query == JOINS.name and measurement.by != RDFLIB:
            if measurement.triples_a_tick >= _RATE:
                add_point(lines["window"], measurement.by, measurement.window, measurement.us_a_triple)
            if measurement.window == 60:
                add_point(lines["triples_a_tick"], measurement.by, measurement.triples_a_tick, measurement.us_a_triple)
    sizes = [
        Panel("a filter and two joins", "window (ticks)", "µs a triple", lines["window"], log="xy"),
        Panel("window 60", "triples a tick", "µs a triple", lines["triples_a_tick"], log="xy"),
    ]
    draw(folder, "sizes", sizes)
