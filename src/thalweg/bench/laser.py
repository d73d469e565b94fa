"""Laser's evaluation (Bazoobandi, Beck, Urbani 2017, section 4), and on to rates that it did not try.

◇, □, a join, several rules and the cooling program, over windows of 1 to 80 ticks at 200 to 800 facts a tick and on to
a million; beside each, the same program solved from scratch by clingo and by the naive interpreter. All see the same
facts in the same run; times differ from machine to machine, and the verdict is about ratios within one run.
"""

import gc
import json
import signal
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from thalweg.bench import command
from thalweg.bench.plot import Lines, Panel, add_point, draw
from thalweg.bench.processes import Samples, timed
from thalweg.bench.report import BenchmarkReport, BenchmarkTarget, Row, at_most
from thalweg.bench.workload import (
    BOX,
    COOLING,
    DIAMOND,
    JOIN,
    LATCHED,
    RECORDED,
    Values,
    Workload,
    aggregate,
    joins,
    meeting_pairs,
)
from thalweg.connectors.files import FILE_BLOCK
from thalweg.connectors.json_lines import JsonLinesReader
from thalweg.diagnostics import Source
from thalweg.ir import semantics
from thalweg.ir.nodes import Program
from thalweg.kinds.rules.rule_engine import RuleEngine
from thalweg.languages import lars
from thalweg.model.dictionary import Dictionary
from thalweg.model.fact import Fact
from thalweg.model.time import Clock
from thalweg.solvers.clingo import solve_once

_GAP: Final = 1_000_000
# The most that an aggregate may cost for each fact, in c.
AGGREGATES: Final = {"count": 6, "sum": 6, "avg": 6, "min": 8, "max": 8, "median": 20}


@dataclass(frozen=True, slots=True)
class WorkloadPoint:
    """A workload at one size; how often clingo solves it, and how many seconds the naive interpreter may take."""

    workload: Workload
    window: int
    rate: int
    clingo: int = 0
    naive: float = 0.0

    @property
    def name(self) -> str:
        return f"{self.workload.name} [{self.window}] at {self.rate:,}/tick"


@dataclass(frozen=True, slots=True)
class WorkloadResult:
    """Microseconds for each fact, and what the engine holds. A bound is a time that was not enough.

    `c` is the cost of a dictionary in CPython over the same pairs, and `in_c` the engine's in that unit.
    """

    point: WorkloadPoint
    engine: float
    c: float
    in_c: float
    bytes_per_fact: float
    live: int
    clingo: float | None = None
    naive: float | None = None
    naive_is_bound: bool = False

    def times_faster_than(self, other: float | None) -> float | None:
        return None if other is None else other / self.engine


def points(quick: bool) -> list[WorkloadPoint]:
    """The points to measure; from scratch only at the paper's rates, where it ends."""
    windows, ticks, patience = ((1, 80), 1, 1.0) if quick else ((1, 5, 20, 80), 2, 2.0)
    planned = [
        WorkloadPoint(workload, window, rate, ticks, patience)
        for workload in (DIAMOND, BOX, JOIN, COOLING)
        for rate in ((800,) if quick else (200, 800))
        for window in windows
    ]
    planned += [
        WorkloadPoint(joins(copies), window, 200, ticks)
        for copies in ((10,) if quick else (5, 10, 20))
        for window in windows
    ]
    planned += [WorkloadPoint(JOIN, 80, 1), WorkloadPoint(JOIN, 20, 100_000), WorkloadPoint(RECORDED, 80, 800)]
    planned += [WorkloadPoint(aggregate(name), *size) for name in AGGREGATES for size in ((80, 800), (20, 100_000))]
    if not quick:
        planned += [
            WorkloadPoint(workload, window, 400) for workload in (DIAMOND, BOX, JOIN, COOLING) for window in windows
        ]
        sizes = ((80, 10_000), (20, 100_000), (1, 1_000_000))
        planned += [
            WorkloadPoint(workload, window, rate) for workload in (DIAMOND, BOX, COOLING) for window, rate in sizes
        ]
        planned += [WorkloadPoint(JOIN, 80, 10_000), WorkloadPoint(JOIN, 1, 1_000_000)]
    return planned


def facts_for(point: WorkloadPoint, quick: bool) -> int:
    """How many facts a stretch has: the window turned over once, or as much of that as can be waited for."""
    if point.rate == 1:
        return 1_000 if quick else 4_000
    turnover, patience = point.rate * (point.window + 1), 300_000 if quick else 1_000_000
    return max(point.rate, min(max(turnover, 40_000), patience))


# Measuring --------------------------------------------------------------------------------------------------------


def program_of(point: WorkloadPoint) -> Program:
    return lars.read(Source(point.workload.name, point.workload.rules(point.window)))


def measure(point: WorkloadPoint, facts: int, rounds: int = 5) -> WorkloadResult:
    """Fills the windows, then times `rounds` stretches of about `facts` facts each; medians.

    The dictionary is timed after each stretch over the same facts, so that both share what else the machine does.
    """
    engine, stream = _filled(point)
    engine_times, plain_times = [], []
    for _ in range(rounds):
        stretch = list(islice(stream, max(1, facts // point.rate)))
        engine_times.append(_advance(engine, point.workload, stretch))
        plain_times.append(_remember(stretch))
    per_fact, live = engine.size / max(1, engine.live), engine.live
    del engine
    clingo = _clingo(point) if point.clingo else None
    naive, is_bound = _naive(point) if point.naive else (None, False)
    in_c = statistics.median(mine / unit for mine, unit in zip(engine_times, plain_times, strict=True))
    medians = statistics.median(engine_times), statistics.median(plain_times)
    return WorkloadResult(point, *medians, in_c, per_fact, live, clingo, naive, is_bound)


def measure_growth(small: WorkloadPoint, large: WorkloadPoint, facts: int, rounds: int = 9) -> float:
    """The cost of the large point as a multiple of the small one's; in turns, so that both meet the same noise."""
    pair = [(point, *_filled(point)) for point in (small, large)]
    ratios = []
    for _ in range(rounds):
        first, second = (
            _advance(engine, point.workload, list(islice(stream, max(1, facts // point.rate))))
            for point, engine, stream in pair
        )
        ratios.append(second / first)
    return statistics.median(ratios)


def _filled(point: WorkloadPoint) -> tuple[RuleEngine, Iterator[Values]]:
    """An engine with full windows, and the rest of its stream."""
    engine = RuleEngine(program_of(point))
    stream = point.workload.values(point.window, point.rate)
    for tick, values in enumerate(islice(stream, point.window + 2)):
        engine.advance(tick, point.workload.batch(values))
    return engine, stream


def _advance(engine: RuleEngine, workload: Workload, stretch: list[Values]) -> float:
    assert engine.now is not None
    batches = [(tick, workload.batch(values)) for tick, values in enumerate(stretch, engine.now + 1)]
    begin = time.perf_counter()
    for tick, batch in batches:
        engine.advance(tick, batch)
    return _microseconds(begin, stretch)


def _remember(stretch: list[Values]) -> float:
    """The unit of all times: a loop of CPython that puts the same facts into a dictionary."""
    pairs = [(row[0], row[-1]) for values in stretch for row in values.tolist()]
    d: dict[tuple[int, int], int] = {}
    begin = time.perf_counter()
    for i, (a, b) in enumerate(pairs):
        d[(a, b)] = i
    return _microseconds(begin, stretch)


def _microseconds(begin: float, stretch: list[Values]) -> float:
    return (time.perf_counter() - begin) * 1e6 / sum(len(values) for values in stretch)


def measure_json_lines(facts: int, rate: int, rounds: int = 9) -> float:
    """The cost of reading JSON Lines with one fact a line, as a multiple of `json.loads` on each line.

    Both see the same lines in turns, and only processor time counts; the median of the rounds.
    """
    lines = [
        f'{{"t":{tick},"facts":["p({a},n{b})"]}}'
        for tick, pairs in enumerate(islice(meeting_pairs(20, rate), max(1, facts // rate)))
        for a, b in pairs.tolist()
    ]
    data = "".join(f"{line}\n" for line in lines).encode()
    reader = JsonLinesReader(Dictionary(), "in.jsonl", "in", Clock(), "in")
    ratios = []
    for _ in range(rounds):
        begin = time.process_time()
        for line in lines:
            json.loads(line)
        parsed = time.process_time()
        for start in range(0, len(data), FILE_BLOCK):
            for _ in reader.feed(data[start : start + FILE_BLOCK]):
                pass
        ratios.append((time.process_time() - parsed) / (parsed - begin))
    return statistics.median(ratios)


def _window(point: WorkloadPoint) -> list[tuple[int, Values]]:
    return list(enumerate(islice(point.workload.values(point.window, point.rate), point.window + 1)))


def _clingo(point: WorkloadPoint) -> float:
    """From scratch at a tick, over the content of the window; the text of the facts is there already."""
    content = point.workload.facts_for_solver(_window(point))
    encoding = point.workload.encoding(point.window)
    times = [timed(lambda: solve_once(encoding, content))[0] for _ in range(point.clingo)]
    return statistics.median(times) * 1e6 / point.rate


def _naive(point: WorkloadPoint) -> tuple[float | None, bool]:
    """The naive interpreter at a tick, over the content of the window; gives up after `point.naive` seconds."""
    program, window = program_of(point), _window(point)
    arrivals = naive_arrivals(point.workload, window)
    try:
        elapsed, _ = timed(lambda: _limited(point.naive, lambda: semantics.output(program, 0, point.window, arrivals)))
    except TimeoutError:
        return point.naive * 1e6 / point.rate, True
    return elapsed * 1e6 / point.rate, False


def naive_arrivals(workload: Workload, window: list[tuple[int, Values]]) -> list[tuple[Fact, int, str | None]]:
    """The content of a window as the interpreter takes it."""
    return [
        (Fact(workload.signature.name, workload.spelled(row)), tick, None)
        for tick, rows in window
        for row in rows.tolist()
    ]


def _limited(seconds: float, work: Callable[[], object]) -> None:
    """Runs `work`, but no longer than `seconds`: then TimeoutError."""

    def give_up(number: int, frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, give_up)
    # An exception that is raised while garbage is collected is lost.
    gc.disable()
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        work()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        gc.enable()
        signal.signal(signal.SIGALRM, before)


def measure_gap(point: WorkloadPoint, ticks: int) -> float:
    """Seconds to cross a gap of empty ticks with full windows before it."""
    engine, _ = _filled(point)
    assert engine.now is not None
    end = engine.now + ticks
    return timed(lambda: engine.advance(end))[0]


# Results ----------------------------------------------------------------------------------------------------------


def main(out: Path, quick: bool = False) -> None:
    """Measures, prints the tables, and writes CSV files and pictures to the folder `laser` of `out`."""
    report, results, wanted = BenchmarkReport(out, "laser"), list[WorkloadResult](), points(quick)
    for number, point in enumerate(wanted, 1):
        report.log(f"{number} of {len(wanted)}: {point.name}")
        results.append(measure(point, facts_for(point, quick)))
    report.log("growth with the window, gaps, and the command: start, throughput, a long run")
    targets = [*verdict(results), *(_growth(workload) for workload in (DIAMOND, BOX, JOIN)), _recording(), *_runs()]
    samples = command.memory(2_000_000 if quick else 10_000_000)
    targets += _memory(samples)
    report.add("results", list(map(row, results)), "µs per fact, steady state; c is a dictionary in CPython")
    report.write("memory", [{"facts": facts, "bytes_resident": size} for facts, size in samples])
    draw_results(results, samples, report.folder)
    report.close(targets)


def verdict(results: list[WorkloadResult]) -> list[BenchmarkTarget]:
    """The engine against the targets, as ratios within one run."""
    by_size = {(result.point.workload.name, result.point.window, result.point.rate): result for result in results}
    compared = [by_size[name, 80, 800] for name in ("diamond", "box", "join")]
    limits: list[tuple[WorkloadResult, float]] = [
        *zip(compared, (4, 4, 8), strict=True),
        (by_size["join", 20, 100_000], 12),
    ]
    limits += [(by_size[name, *size], most) for name, most in AGGREGATES.items() for size in ((80, 800), (20, 100_000))]
    targets = [_at_most_c(result, limit) for result, limit in limits]
    targets.append(at_most("join [80], one fact a tick", by_size["join", 80, 1].engine, 15, "µs"))
    for result in compared:
        for other, cost, bound in (
            ("clingo", result.clingo, ""),
            ("the naive interpreter", result.naive, "≥ " if result.naive_is_bound else ""),
        ):
            claim, ratio = (
                f"{result.point.name}, at least 100 × faster than {other}",
                result.times_faster_than(cost) or 0,
            )
            targets.append(BenchmarkTarget(claim, f"{bound}{ratio:,.0f} ×", ratio >= 100))
    binary = [result for result in results if result.point.workload is not COOLING and result.point.rate > 1]
    return [
        *targets,
        at_most("bytes per live fact, the most", max(result.bytes_per_fact for result in binary), 150, "bytes"),
    ]


def _at_most_c(result: WorkloadResult, limit: float) -> BenchmarkTarget:
    return BenchmarkTarget(f"{result.point.name}, at most {limit} c", f"{result.in_c:.2f} c", result.in_c <= limit)


def _growth(workload: Workload) -> BenchmarkTarget:
    ratio = measure_growth(WorkloadPoint(workload, 1, 800), WorkloadPoint(workload, 80, 800), facts=81 * 800)
    return BenchmarkTarget(
        f"{workload.name} at 800/tick, [80] at most 2 × the cost of [1]", f"{ratio:.2f} ×", ratio <= 2
    )


def _recording() -> BenchmarkTarget:
    ratio = measure_growth(WorkloadPoint(DIAMOND, 80, 800), WorkloadPoint(RECORDED, 80, 800), facts=81 * 800)
    return BenchmarkTarget(
        "recorded facts in [80], at most 2.5 × the cost of streamed ones", f"{ratio:.2f} ×", ratio <= 2.5
    )


def _runs() -> list[BenchmarkTarget]:
    speed, averaged = command.throughput(1_000_000), command.sliding_average(400_000)
    return [
        at_most(f"a gap of {_GAP:,} empty ticks", measure_gap(WorkloadPoint(JOIN, 80, 800), _GAP), 1, "s"),
        at_most(
            f"states that hold for {_GAP:,} quiet ticks", measure_gap(WorkloadPoint(LATCHED, 1, 5_000), _GAP), 1, "s"
        ),
        at_most("first answer of the command", command.first_answer(), 1.5, "s"),
        BenchmarkTarget(
            "text through the command, at least 150,000 facts/s", f"{speed:,.0f} facts/s", speed >= 150_000
        ),
        BenchmarkTarget(
            "average of 500 devices over 5 minutes, at least 100,000 readings/s",
            f"{averaged:,.0f} readings/s",
            averaged >= 100_000,
        ),
        at_most("JSON Lines, one fact a line, beside json.loads of each", measure_json_lines(50_000, 1_000), 1.5, "×"),
    ]


def _memory(samples: Samples) -> list[BenchmarkTarget]:
    if not samples:
        return []
    stray = command.flatness(samples)
    return [
        BenchmarkTarget(f"resident memory over {samples[-1][0]:,} facts flat within 5 %", f"{stray:.1%}", stray <= 0.05)
    ]


def row(result: WorkloadResult) -> Row:
    """A measurement as the table and the CSV file have it."""
    return {
        "workload": result.point.workload.name,
        "window": result.point.window,
        "rate": result.point.rate,
        "engine_us": result.engine,
        "c_us": result.c,
        "in_c": result.in_c,
        "bytes_per_fact": result.bytes_per_fact,
        "live": result.live,
        "clingo_us": result.clingo,
        "clingo_ratio": result.times_faster_than(result.clingo),
        "naive_us": result.naive,
        "naive_ratio": result.times_faster_than(result.naive),
        "naive_is_lower_bound": result.naive_is_bound,
    }


def draw_results(results: list[WorkloadResult], samples: Samples, folder: Path) -> None:
    """`windows` has the paper's figures 2, 3 and 5; `rates` what it did not try; `memory` a long run."""
    windows, rates = dict[str, Lines](), Lines()
    largest: dict[tuple[str, int], WorkloadResult] = {}
    for result in sorted(results, key=lambda result: result.point.window):
        name, point = result.point.workload.name, result.point
        largest[name, point.rate] = result
        if 1 < point.rate <= 800:
            lines = windows.setdefault(name.split()[-1], Lines())
            series = name if name.endswith("rules") else f"{point.rate}/tick"
            bound = " (at least)" if result.naive_is_bound else ""
            add_point(lines, f"engine, {series}", point.window, result.engine)
            add_point(lines, f"clingo, {series}", point.window, result.clingo)
            add_point(lines, f"naive, {series}{bound}", point.window, result.naive)
    for (name, rate), result in largest.items():
        add_point(rates, f"engine, {name}", rate, result.engine)
        add_point(rates, "a dictionary in CPython", rate, result.c)
    unit = "µs per fact"
    panels = [Panel(name, "window (ticks)", unit, lines, log="y") for name, lines in windows.items()]
    draw(folder, "windows", panels, size=(4, 4))
    several = {name: points for name, points in rates.items() if len(points) > 1}
    draw(folder, "rates", [Panel("rates", "facts a tick", unit, several, log="xy")])
    if samples:
        sizes: Lines = {"resident": [(facts / 1e6, size / 1e6) for facts, size in samples]}
        draw(
            folder, "memory", [Panel("a long run", "million facts", "MB resident", sizes, from_zero=True)], size=(6, 3)
        )
