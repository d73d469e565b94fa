"""Laser's evaluation (Bazoobandi, Beck, Urbani 2017, section 4), and on to rates that it did not try.

◇, □, a join, several rules and the cooling program, over windows of 1 to 80 ticks at 200 to 800 facts a tick and on to
a million; beside each, the same program solved from scratch by clingo and by the naive interpreter. Times differ from
machine to machine; the verdict is about ratios within one run.
"""

from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from thalweg.bench import command
from thalweg.bench.measure import Point, Result, measure, measure_gap, measure_growth, measure_json_lines
from thalweg.bench.plot import draw_memory, draw_rates, draw_windows
from thalweg.bench.table import Target, results_table, verdict_table, write_results, write_samples, write_verdict
from thalweg.bench.workload import BOX, COOLING, DIAMOND, JOIN, Workload, joins

_GAP: Final = 1_000_000


def points(quick: bool) -> list[Point]:
    """What is measured. From scratch only where it ends: at the paper's rates."""
    windows, ticks, patience = ((1, 80), 1, 1.0) if quick else ((1, 5, 20, 80), 2, 2.0)
    found = [
        Point(workload, window, rate, ticks, patience)
        for workload in (DIAMOND, BOX, JOIN, COOLING)
        for rate in ((800,) if quick else (200, 800))
        for window in windows
    ]
    found += [
        Point(joins(copies), window, 200, ticks) for copies in ((10,) if quick else (5, 10, 20)) for window in windows
    ]
    found += [Point(JOIN, 80, 1), Point(JOIN, 20, 100_000)]
    if not quick:
        found += [Point(each, window, 400) for each in (DIAMOND, BOX, JOIN, COOLING) for window in windows]
        sizes = ((80, 10_000), (20, 100_000), (1, 1_000_000))
        found += [Point(each, window, rate) for each in (DIAMOND, BOX, COOLING) for window, rate in sizes]
        found += [Point(JOIN, 80, 10_000), Point(JOIN, 1, 1_000_000)]
    return found


def facts_for(point: Point, quick: bool) -> int:
    """How many facts a stretch has: the window turned over once, or as much of that as can be waited for."""
    if point.rate == 1:
        return 1_000 if quick else 4_000
    turnover, patience = point.rate * (point.window + 1), 300_000 if quick else 1_000_000
    return max(point.rate, min(max(turnover, 40_000), patience))


def main(out: Path, quick: bool = False) -> None:
    """Measures, prints the tables, and writes CSV files and pictures to the folder `laser` of `out`."""
    folder, console = out / "laser", Console()
    folder.mkdir(parents=True, exist_ok=True)
    results = list[Result]()
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        for point in progress.track(points(quick), description="measuring"):
            progress.console.log(f"{point.workload.name} [{point.window}] at {point.rate:,}/tick")
            results.append(measure(point, facts_for(point, quick)))
        progress.console.log("growth with the window, gaps, and the command: start, throughput, a long run")
        growth = [_growth(workload) for workload in (DIAMOND, BOX, JOIN)]
        gap = measure_gap(Point(JOIN, 80, 800), _GAP)
        start, speed = command.first_answer(), command.throughput(1_000_000)
        json_lines = measure_json_lines(50_000, 1_000)
        samples = command.resident(2_000_000 if quick else 10_000_000)
    targets = [*verdict(results), *growth, *_runs(gap, start, speed, json_lines, samples)]
    console.print(results_table(results))
    console.print(verdict_table(targets))
    write_results(results, folder / "results.csv")
    write_verdict(targets, folder / "verdict.csv")
    write_samples(samples, folder / "memory.csv")
    draw_windows(results, folder)
    draw_rates(results, folder)
    if samples:
        draw_memory(samples, folder)
    console.print(f"tables and pictures are in {folder}")


def verdict(results: list[Result]) -> list[Target]:
    """The engine against the targets, as ratios within one run."""
    by_size = {(each.point.workload.name, each.point.window, each.point.rate): each for each in results}
    targets = [
        *(_at_most_c(by_size[name, 80, 800], limit) for name, limit in (("diamond", 4), ("box", 4), ("join", 8))),
        _at_most_c(by_size["join", 20, 100_000], 12),
        _below("join [80], one fact a tick", by_size["join", 80, 1].engine, 15, "µs"),
    ]
    for name in ("diamond", "box", "join"):
        result = by_size[name, 80, 800]
        targets += [_faster(result, "clingo", result.clingo), _faster(result, "the naive interpreter", result.naive)]
    binary = [result for result in results if result.point.workload is not COOLING and result.point.rate > 1]
    targets.append(_below("bytes per live fact, the most", max(each.bytes_per_fact for each in binary), 150, "bytes"))
    return targets


def _runs(gap: float, start: float, speed: float, json_lines: float, samples: list[tuple[int, int]]) -> list[Target]:
    targets = [
        _below(f"a gap of {_GAP:,} empty ticks", gap, 1, "s"),
        _below("first answer of the command", start, 1.5, "s"),
        Target("text through the command, at least 150,000 facts/s", f"{speed:,.0f} facts/s", speed >= 150_000),
        _below("JSON Lines, one fact a line, beside json.loads of each", json_lines, 1.5, "×"),
    ]
    if samples:
        stray = command.flatness(samples)
        claim = f"resident memory over {samples[-1][0]:,} facts flat within 5 %"
        targets.append(Target(claim, f"{stray:.1%}", stray <= 0.05))
    return targets


def _name(result: Result) -> str:
    return f"{result.point.workload.name} [{result.point.window}] at {result.point.rate:,}/tick"


def _at_most_c(result: Result, limit: float) -> Target:
    return Target(f"{_name(result)}, at most {limit} c", f"{result.in_c:.2f} c", result.in_c <= limit)


def _growth(workload: Workload) -> Target:
    ratio = measure_growth(Point(workload, 1, 800), Point(workload, 80, 800), facts=81 * 800)
    return Target(f"{workload.name} at 800/tick, [80] at most 2 × the cost of [1]", f"{ratio:.2f} ×", ratio <= 2)


def _below(what: str, found: float, limit: float, unit: str) -> Target:
    return Target(f"{what}, at most {limit} {unit}", f"{found:.3g} {unit}", found <= limit)


def _faster(result: Result, other: str, found: float | None) -> Target:
    ratio = (found or 0) / result.engine
    at_least = "≥ " if other != "clingo" and result.naive_is_bound else ""
    return Target(f"{_name(result)}, at least 100 × faster than {other}", f"{at_least}{ratio:,.0f} ×", ratio >= 100)
