"""The pictures of a benchmark. The only door to matplotlib."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot

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
    axes.grid(alpha=0.3)
    axes.legend(fontsize=6)


def draw_windows(results: Sequence[Result], out: Path) -> None:
    """Time per fact against the size of the window, a panel for each workload: the paper's figures 2, 3 and 5."""
    paper = [result for result in results if 1 < result.point.rate <= 800]
    names = list(dict.fromkeys(result.point.workload.name.split()[-1] for result in paper))
    figure, panels = pyplot.subplots(1, len(names), figsize=(4 * len(names), 4), squeeze=False)
    for axes, name in zip(panels[0], names, strict=True):
        chosen = [result for result in paper if result.point.workload.name.split()[-1] == name]
        lines = _lines(chosen, lambda result: result.point.window, _series)
        _panel(axes, name, "window (ticks)", lines)
    _save(figure, out, "windows")


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
    _save(figure, out, "rates")


def draw_memory(samples: Sequence[tuple[int, int]], out: Path) -> None:
    """Resident memory along a long run."""
    figure, axes = pyplot.subplots(figsize=(6, 3))
    axes.plot([facts / 1e6 for facts, _ in samples], [size / 1e6 for _, size in samples])
    axes.set(xlabel="million facts", ylabel="MB resident", ylim=(0, None), title="a long run")
    axes.grid(alpha=0.3)
    _save(figure, out, "memory")


def _save(figure: Any, out: Path, name: str) -> None:
    figure.tight_layout()
    for ending in ("svg", "png"):
        figure.savefig(out / f"{name}.{ending}", dpi=150)
    pyplot.close(figure)
