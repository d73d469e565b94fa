"""The pictures of a benchmark, each a row or a grid of panels. The only module that imports matplotlib."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot

Lines = dict[str, list[tuple[float, float]]]
Bars = Mapping[str, Mapping[str, float]]
"""For each series the height of its bar in each category."""

_STYLES: Final = {"clingo": "s--", "naive": "^:"}


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines or bars with a title and axes; `log` names the axes with a logarithmic scale, `x`, `y` or `xy`."""

    title: str
    across: str
    up: str
    lines: Lines = field(default_factory=Lines)
    bars: Bars = field(default_factory=dict)
    stacked: bool = False
    log: str = ""
    from_zero: bool = False

    def draw(self, axes: Any) -> None:
        for name, points in self.lines.items():
            style = _STYLES.get(name.split(",")[0], "o-")
            axes.plot(*zip(*sorted(points), strict=True), style, label=name, markersize=3)
        if self.bars:
            self._draw_bars(axes)
        axes.set(title=self.title, xlabel=self.across, ylabel=self.up)
        axes.set(**{f"{axis}scale": "symlog" if self.stacked else "log" for axis in self.log})
        if self.lines and "x" not in self.log:
            axes.xaxis.get_major_locator().set_params(integer=True)
        if self.from_zero:
            axes.set_ylim(0, None)
        axes.grid(alpha=0.3, axis="y" if self.bars else "both")
        if len(self.lines or self.bars) > 1 and not self.stacked:
            axes.legend(fontsize=6)

    def _draw_bars(self, axes: Any) -> None:
        categories = list(dict.fromkeys(category for heights in self.bars.values() for category in heights))
        base, width = dict.fromkeys(categories, 0.0), 0.6 if self.stacked else 0.8 / len(self.bars)
        for number, (name, heights) in enumerate(self.bars.items()):
            shift = 0.0 if self.stacked else width * (number - (len(self.bars) - 1) / 2)
            places = [categories.index(category) + shift for category in heights]
            bottoms = [base[category] for category in heights]
            axes.bar(places, heights.values(), width, bottom=bottoms, label=name)
            if self.stacked:
                base |= {category: base[category] + height for category, height in heights.items()}
        slant = {"rotation": 45, "ha": "right", "fontsize": 7} if len(categories) > 4 else {}
        axes.set_xticks(range(len(categories)), categories, **slant)


def add_point(lines: Lines, name: str, x: float, y: float | None) -> None:
    """A point of a line, unless it was not measured."""
    if y is not None:
        lines.setdefault(name, []).append((x, y))


def draw(
    folder: Path, name: str, *rows: Sequence[Panel], size: tuple[float, float] = (6, 4), share_y: bool = False
) -> None:
    """Draws rows of panels as `name.svg` and `name.png`; `size` is that of one panel."""
    height, width = len(rows), max(map(len, rows))
    figure_size = size[0] * width, size[1] * height
    figure, grid = pyplot.subplots(height, width, figsize=figure_size, squeeze=False, sharey=share_y)
    for panels, places in zip(rows, grid, strict=True):
        for panel, axes in zip(panels, places, strict=True):
            panel.draw(axes)
    figure.tight_layout()
    for suffix in ("svg", "png"):
        figure.savefig(folder / f"{name}.{suffix}", dpi=150)
    pyplot.close(figure)
