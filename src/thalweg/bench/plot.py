"""The pictures of a benchmark. The only door to matplotlib."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot

from thalweg.bench import interleaved
from thalweg.bench.measure import Result

Lines = dict[str, list[tuple[float, float]]]


def _lines(results: Sequence[Result], by: Callable[[Result], float], name: Callable[[Result], str]) -> Lines:
    """A line for each evaluator and name."""
    lines: Lines = {}
    for result in results:
        for evaluator, value in (("engine", result.engine), ("clingo", result.clingo), ("naive", result.naive)):
            if value is not None:
                bound = " (at least)" if evaluator == "naive" and result.naive_is_bound else ""
                lines.setdefault(f"{evaluator}, {name(result)}{bound}", []).append((by(result), value))
    return lines


def _panel(axes: Any, title: str, label: str, lines: Lines) -> None:
    for name, points in lines.items():
        style = {"engine": "o-", "clingo": "s--", "naive": "^:"}[name.split(",")[0]]
        axes.plot(*zip(*sorted(points), strict=True), style, label=name, markersize=4)
    axes.set(title=title, xlabel=label, ylabel="µs per fact", yscale="log")
    finish(axes)


def draw_windows(results: Sequence[Result], out: Path) -> None:
    """Time per fact against the size of the window, a panel for each workload: the paper's figures 2, 3 and 5."""
    paper = [result for result in results if 1 < result.point.rate <= 800]
    names = list(dict.fromkeys(result.point.workload.name.split()[-1] for result in paper))
    figure, panels = pyplot.subplots(1, len(names), figsize=(4 * len(names), 4), squeeze=False)
    for axes, name in zip(panels[0], names, strict=True):
        chosen = [result for result in paper if result.point.workload.name.split()[-1] == name]
        lines = _lines(chosen, lambda result: result.point.window, _series)
        _panel(axes, name, "window (ticks)", lines)
    save(figure, out, "windows")


def _series(result: Result) -> str:
    name = result.point.workload.name
    return name if name.endswith("rules") else f"{result.point.rate}/tick"


def draw_rates(results: Sequence[Result], out: Path) -> None:
    """Time per fact against the number of facts a tick, at the largest window that was measured there."""
    figure, axes = pyplot.subplots(figsize=(6, 4))
    largest: dict[tuple[str, int], Result] = {}
    for result in sorted(results, key=lambda result: result.point.window):
        largest[result.point.workload.name, result.point.rate] = result
    lines: Lines = {}
    for (name, rate), result in largest.items():
        lines.setdefault(f"engine, {name}", []).append((rate, result.engine))
        lines.setdefault("a dictionary in CPython", []).append((rate, result.c))
    for name, points in lines.items():
        if name.startswith("engine") and len(points) > 1:
            axes.plot(*zip(*sorted(points), strict=True), "o-", label=name, markersize=4)
    axes.plot(*zip(*sorted(lines["a dictionary in CPython"]), strict=True), "k.", label="a dictionary in CPython")
    axes.set(xlabel="facts a tick", ylabel="µs per fact", xscale="log", yscale="log", title="rates")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7)
    save(figure, out, "rates")


def draw_memory(samples: Sequence[tuple[int, int]], out: Path) -> None:
    """Resident memory along a long run."""
    figure, axes = pyplot.subplots(figsize=(6, 3))
    axes.plot([facts / 1e6 for facts, _ in samples], [size / 1e6 for _, size in samples])
    axes.set(xlabel="million facts", ylabel="MB resident", ylim=(0, None), title="a long run")
    axes.grid(alpha=0.3)
    save(figure, out, "memory")


def draw_throughput(results: Sequence[interleaved.Result], out: Path) -> None:
    """Rows a second, a panel for each number of cores and a group of bars for each program."""
    beside = [result for result in results if result.heat.about == "engines"]
    cores = sorted({result.heat.cores for result in beside})
    names = list(dict.fromkeys(result.contender.name for result in beside))
    figure, panels = pyplot.subplots(1, len(cores), figsize=(6 * len(cores), 4), squeeze=False, sharey=True)
    for axes, number in zip(panels[0], cores, strict=True):
        chosen = [result for result in beside if result.heat.cores == number]
        _bars(axes, chosen, names)
        axes.set(title=f"{number} {'core' if number == 1 else 'cores'}", ylabel="rows a second")
    save(figure, out, "throughput")


def _bars(axes: Any, results: Sequence[interleaved.Result], names: Sequence[str]) -> None:
    programs = list(dict.fromkeys(result.heat.stream.name for result in results))
    width = 0.8 / len(names)
    for place, name in enumerate(names):
        some = [result for result in results if result.contender.name == name]
        where = [programs.index(result.heat.stream.name) + width * (place - (len(names) - 1) / 2) for result in some]
        if some:
            axes.bar(where, [result.rate for result in some], width, label=name, color=f"C{place}")
    axes.set_xticks(range(len(programs)), programs)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(fontsize=7)


def draw_partitions(results: Sequence[interleaved.Result], out: Path) -> None:
    """Rows a second against the number of partitions."""
    some = sorted((result.contender.partitions, result.rate) for result in results if result.heat.about == "partitions")
    figure, axes = pyplot.subplots(figsize=(6, 3))
    axes.plot(*zip(*some, strict=True), "o-")
    axes.set(xlabel="partitions", ylabel="rows a second", ylim=(0, None), title="join")
    axes.set_xticks([number for number, _ in some])
    axes.grid(alpha=0.3)
    save(figure, out, "partitions")


def draw_along(results: Sequence[interleaved.Result], out: Path) -> None:
    """The cost of a row along the run, and what the state store held."""
    figure, (costs, states) = pyplot.subplots(1, 2, figsize=(10, 3.5))
    for result in results:
        batches = range(interleaved.WARM_UP, len(result.samples))
        costs.plot(batches, [sample.cost for sample in result.steady], "o-", label=result.contender.name, markersize=3)
        if result.held:
            sizes = [size / 1e6 for size in result.held.values()]
            states.plot(list(result.held), sizes, "o", label=result.contender.name)
    costs.set(xlabel="batch", ylabel="µs per row", yscale="log", title="cost along the run")
    states.set(xlabel="batch", ylabel="MB", ylim=(0, None), title="records in the state store")
    for axes in (costs, states):
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7)
    save(figure, out, "along")


class Checked(Protocol):
    """What a topology did."""

    @property
    def ontology(self) -> str: ...
    @property
    def topology(self) -> str: ...
    @property
    def cores(self) -> int: ...
    @property
    def tuples_per_s(self) -> float: ...
    @property
    def conjunctions(self) -> str: ...
    @property
    def cached(self) -> int: ...


def draw_consistency(results: Sequence[Checked], out: Path) -> None:
    """Throughput by topology and cores (the paper's figure 5); conjunctions by bolt, and cached tuples (figure 6)."""
    names = list(dict.fromkeys(each.ontology for each in results))
    figure, panels = pyplot.subplots(3, len(names), figsize=(6 * len(names), 10), squeeze=False)
    for column, name in enumerate(names):
        some = [each for each in results if each.ontology == name]
        alone = [each for each in some if each.cores == 1]
        topologies = [each.topology for each in alone]
        for cores in (1, 2):
            chosen = [each for each in some if each.cores == cores]
            where = [topologies.index(each.topology) + 0.4 * (cores - 1.5) for each in chosen]
            label = f"{cores} {'core' if cores == 1 else 'cores'}"
            panels[0][column].bar(where, [each.tuples_per_s for each in chosen], 0.4, label=label)
        _stacked(panels[1][column], alone)
        panels[2][column].bar(range(len(alone)), [each.cached for each in alone], 0.6)
        panels[0][column].legend(fontsize=7)
        for row, (title, label) in enumerate(_CONSISTENCY):
            axes = panels[row][column]
            axes.set(title=f"{name}: {title}", ylabel=label)
            axes.set_xticks(range(len(topologies)), topologies, rotation=45, ha="right", fontsize=7)
            axes.grid(axis="y", alpha=0.3)
    save(figure, out, "topologies")


_CONSISTENCY = (
    ("throughput", "tuples a second"),
    ("conjunctions of each bolt", "conjunctions"),
    ("memory", "tuples cached"),
)


def _stacked(axes: Any, results: Sequence[Checked]) -> None:
    """The conjunctions of each bolt, one upon the other."""
    for place, result in enumerate(results):
        start = 0
        for bolt, number in enumerate(map(int, re.findall(r"\d+", result.conjunctions))):
            axes.bar(place, number, 0.6, bottom=start, color=f"C{bolt}")
            start += number
    axes.set_yscale("symlog")


def panels(count: int, size: tuple[float, float]) -> tuple[Any, list[Any]]:
    """A figure with so many panels side by side."""
    figure, axes = pyplot.subplots(1, count, figsize=size, squeeze=False)
    return figure, list(axes[0])


def draw_lines(axes: Any, lines: Lines) -> None:
    """Each line through its points, from left to right."""
    for name, points in lines.items():
        axes.plot(*zip(*sorted(points), strict=True), "o-", label=name, markersize=3)


def finish(axes: Any) -> None:
    """A grid, and which line is which."""
    axes.grid(alpha=0.3)
    axes.legend(fontsize=6)


def save(figure: Any, out: Path, name: str) -> None:
    """As SVG and as PNG."""
    figure.tight_layout()
    for ending in ("svg", "png"):
        figure.savefig(out / f"{name}.{ending}", dpi=150)
    pyplot.close(figure)
