"""Diagrams as SVG, in boxes and arrows: what streams in stands at the left, conclusions at the right.

The SVG needs nothing else to be looked at: no script, no font, no style sheet; its background is its own, so that it
reads the same on a light page and on a dark one.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain
from textwrap import wrap
from typing import Final
from unicodedata import east_asian_width

from thalweg.explain.diagram import Arrow, Band, Diagram, DiagramNode, Label
from thalweg.explain.document import TIGHT
from thalweg.explain.layers import lay_out
from thalweg.explain.short_names import briefly

BREATH: Final = re.compile(r"(?<=,) |(?<=:-) ")
FONT: Final = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
LETTER, LINE, PADDING = 7.1, 15.0, 9.0
MARGIN, GAP, HEADER, FOOTER = 24.0, 48.0, 46.0, 46.0
WIDEST, REASON, TURN = 32, 48, 22.0
INK, PALE, PAPER, SHADE = "#1f2933", "#66788a", "#ffffff", "#f3f5f8"
FILLS: Final = {
    "stream": ("#e3f0fb", "#3b82c4"),
    "background": ("#ece9e2", "#8c826d"),
    "clock": ("#ece9e2", "#8c826d"),
    "memory": ("#ffffff", "#7b8794"),
    "rule": ("#fff8e1", "#c9a227"),
    "derived": ("#e4f5e9", "#3c9a5f"),
    "reason": ("#f3f5f8", "#f3f5f8"),
}
STROKES: Final = {
    "positive": ("#52606d", ""),
    "negated": ("#cc2936", "6 4"),
    "aggregated": ("#7b4fb5", "1.5 4"),
    "sent": ("#3b82c4", ""),
    "shuffled": ("#3c9a5f", ""),
    "everywhere": ("#d97706", "6 4"),
}


def render_svg(diagram: Diagram) -> str:
    """The drawing of a diagram, as one `<svg>`.

    >>> render_svg(Diagram((), {}, ()))[:5]
    '<svg '
    """
    return _Page(diagram).svg()


@dataclass(frozen=True, slots=True)
class Box:
    """A node with its text in lines, the first of which are its name."""

    node: DiagramNode
    name: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        return *self.name, *self.notes

    @property
    def width(self) -> float:
        return max(map(_length, self.lines)) * LETTER + 2 * PADDING

    @property
    def height(self) -> float:
        return len(self.lines) * LINE + PADDING


def in_lines(text: str, most: int = 2) -> tuple[str, ...]:
    """A label in a few lines that break where a reader would take breath; what is left out ends in `…`.

    >>> in_lines("jam(R) :- slow(R), not light(R) in [5].")
    ('jam(R) :- slow(R),', '  not light(R) in [5].')
    """
    phrases = (phrase if len(phrase) > WIDEST - 2 else phrase.replace(" ", TIGHT) for phrase in BREATH.split(text))
    lines = wrap(" ".join(phrases), WIDEST, subsequent_indent="  ", break_on_hyphens=False)
    if len(lines) > most:
        lines = [*lines[: most - 1], lines[most - 1][: WIDEST - 2] + " …"]
    return tuple(line.replace(TIGHT, " ") for line in lines)


def label_of(band: Band) -> str:
    """The label of a band: below its title the stages, by number, in which it runs; why, where in one partition.

    >>> from thalweg.explain.plan_stage import PlanStage
    >>> print(label_of(Band("1  rules", ((0, PlanStage((), ("R",), 2)), (1, PlanStage((), None, 1))))))
    1  rules
    stage 0 · 2 partitions by R
    stage 1 · 1 partition
    """
    lines = [band.title]
    for number, stage in band.stages:
        lines.append(f"stage {number} · {stage.extent}")
        if stage.partitions == 1 and stage.why:
            lines += wrap(f"because {stage.why}", REASON, initial_indent="  ", subsequent_indent="  ")
    return "\n".join(lines)


def _boxes(diagram: Diagram) -> dict[str, Box]:
    """The boxes of a diagram; labels that are broken have short names, if the diagram has any."""
    unchanged: Callable[[str], str] = lambda text: text  # noqa: E731
    shorten = unchanged if diagram.names is None else briefly(diagram.names, diagram.prefixes)

    def shown(label: Label) -> tuple[str, ...]:
        return (label.text,) if label.lines is None else in_lines(shorten(label.text), label.lines)

    return {
        name: Box(
            node, () if node.name is None else shown(node.name), tuple(chain.from_iterable(map(shown, node.notes)))
        )
        for name, node in diagram.nodes.items()
    }


def _length(text: str) -> int:
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


class _Page:
    """Where the boxes and arrows of a diagram stand on a page; boxes of a band stand together."""

    def __init__(self, diagram: Diagram) -> None:
        self.boxes, self.legend = _boxes(diagram), diagram.legend
        self.bands = list(map(label_of, diagram.bands))
        self.arrows = diagram.edges
        drawn = {box.node.band for box in self.boxes.values()}
        self.header = HEADER + LINE * max(
            (label.count("\n") for number, label in enumerate(self.bands) if number in drawn), default=0
        )
        self.columns = _columns(self.boxes, self.arrows)
        heights = {name: box.height for name, box in self.boxes.items()}
        self.layout = lay_out(self.columns, heights, [(arrow.start, arrow.end) for arrow in self.arrows])
        self.widths = self._widths()
        self.lefts = self._lefts()
        self.ports = self._ports()
        last = len(self.widths) - 1
        below = MARGIN + sum(map(_legend_width, self.legend.values()))
        self.width = max(self.lefts[last] + self.widths[last] + MARGIN if self.widths else 0, below)
        self.height = self.header + self.layout.bottom + FOOTER

    def _widths(self) -> list[float]:
        widths = [0.0] * (max(self.columns.values(), default=-1) + 1)
        for name, box in self.boxes.items():
            widths[self.columns[name]] = max(widths[self.columns[name]], box.width)
        for number, label in enumerate(self.bands):
            columns = sorted({self.columns[name] for name, box in self.boxes.items() if box.node.band == number})
            if columns:
                # The label of a band must not run into the next one.
                *before, last = columns
                room = sum(widths[column] + GAP for column in before)
                widths[last] = max(widths[last], max(map(len, label.split("\n"))) * LETTER - room)
        return widths

    def _lefts(self) -> list[float]:
        """Columns with many arrows between them stand further apart."""
        between: dict[int, int] = defaultdict(int)
        for arrow in self.arrows:
            first, last = sorted((self.columns[arrow.start], self.columns[arrow.end]))
            for column in range(first, last):
                between[column] += 1
        lefts, x = [], MARGIN
        for column, width in enumerate(self.widths):
            lefts.append(x)
            x += width + GAP + min(3 * between[column], 48)
        return lefts

    def _ports(self) -> dict[tuple[int, str], float]:
        """Where each arrow leaves and enters: beside the others of its box, in the order of where they go."""
        sides: dict[tuple[str, str], list[tuple[float, int]]] = defaultdict(list)
        for number, arrow in enumerate(self.arrows):
            way = [y for _, y in self.layout.joints[number]]
            sides[arrow.start, "out"].append((way[0] if way else self.layout.boxes[arrow.end], number))
            sides[arrow.end, "in"].append((way[-1] if way else self.layout.boxes[arrow.start], number))
        ports = {}
        for (name, side), ends in sides.items():
            step = min(9.0, (self.boxes[name].height - 8) / len(ends))
            for place, (_, number) in enumerate(sorted(ends)):
                ports[number, side] = self.layout.boxes[name] + (place - (len(ends) - 1) / 2) * step
        return ports

    def svg(self) -> str:
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width:.0f}" height="{self.height:.0f}" '
            f'viewBox="0 0 {self.width:.0f} {self.height:.0f}" font-family="{FONT}" font-size="11">',
            f'<rect width="100%" height="100%" fill="{PAPER}"/>',
            "<defs>",
            *(_arrow_head(role, STROKES[role][0]) for role in self.legend),
            "</defs>",
            *self._bands(),
            *(self._arrow(number, arrow) for number, arrow in enumerate(self.arrows)),
            *(self._box(name, box) for name, box in self.boxes.items()),
            *self._legend(),
            "</svg>",
        ]
        return "\n".join(parts)

    def _bands(self) -> Iterator[str]:
        for number, label in enumerate(self.bands):
            columns = [self.columns[name] for name, box in self.boxes.items() if box.node.band == number]
            if columns:
                left = self.lefts[min(columns)] - 12
                width = self.lefts[max(columns)] + self.widths[max(columns)] + 12 - left
                yield (
                    f'<rect x="{left:.1f}" y="12" width="{width:.1f}" height="{self.height - FOOTER - 2:.1f}" rx="8" '
                    f'fill="{SHADE}"/>'
                )
                title, *more = label.split("\n")
                yield f'<text x="{left + 10:.1f}" y="29" fill="{PALE}" font-weight="bold">{escape(title)}</text>'
                for line, text in enumerate(more, 1):
                    yield (
                        f'<text x="{left + 10:.1f}" y="{29 + LINE * line:.1f}" fill="{PALE}" xml:space="preserve">'
                        f"{escape(text)}</text>"
                    )

    def _box(self, name: str, box: Box) -> str:
        x, y = self.lefts[self.columns[name]], self.header + self.layout.boxes[name] - box.height / 2
        fill, stroke = FILLS[box.node.kind]
        corner = 12 if box.node.kind == "derived" else 4
        lines = [
            f'<tspan x="{x + PADDING:.1f}" y="{y + PADDING / 2 + LINE * (number + 0.75):.1f}"{_look(box, number)}>'
            f"{escape(line)}</tspan>"
            for number, line in enumerate(box.lines)
        ]
        return (
            f'<g data-id="{escape(name)}"><title>{escape(box.node.hint)}</title>'
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
            f'rx="{corner}" fill="{fill}" stroke="{stroke}"/>'
            f'<text fill="{INK}" xml:space="preserve">{"".join(lines)}</text></g>'
        )

    def _arrow(self, number: int, arrow: Arrow) -> str:
        colour, dashes = STROKES[arrow.role]
        style = f' stroke-dasharray="{dashes}" stroke-linecap="round"' if dashes else ""
        return (
            f'<path d="{self._path(number, arrow)}" fill="none" stroke="{colour}" stroke-width="1.3"{style} '
            f'marker-end="url(#{arrow.role})"/>'
        )

    def _path(self, number: int, arrow: Arrow) -> str:
        """Straight past columns and curved between them; a way back turns round behind the columns of both ends."""
        start, end = self.columns[arrow.start], self.columns[arrow.end]
        back = end <= start
        x, y = self.lefts[start] + self.widths[start] + 6, self.header + self.ports[number, "out"]
        path = [f"M{self.lefts[start] + self.boxes[arrow.start].width:.1f} {y:.1f} L{x:.1f} {y:.1f}"]
        for column, joint in self.layout.joints[number]:
            sides = self.lefts[column] - 6, self.lefts[column] + self.widths[column] + 6
            enter, leave = reversed(sides) if back else sides
            to_y = self.header + joint
            path.append(_turn(y, enter, to_y, TURN) if back and column == start else _curve(x, y, enter, to_y))
            path.append(f"L{leave:.1f} {to_y:.1f}")
            x, y = leave, to_y
        to_x, to_y = self.lefts[end] - 2, self.header + self.ports[number, "in"]
        path.append(_turn(y, to_x, to_y, -TURN) if back else _curve(x, y, to_x, to_y))
        return " ".join(path)

    def _legend(self) -> Iterator[str]:
        x, y = MARGIN, self.height - 16
        for role, label in self.legend.items():
            colour, dashes = STROKES[role]
            yield (
                f'<path d="M{x:.1f} {y - 4:.1f} h34" stroke="{colour}" stroke-width="1.3" stroke-dasharray="{dashes}" '
                f'fill="none" marker-end="url(#{role})"/>'
                f'<text x="{x + 42:.1f}" y="{y:.1f}" fill="{PALE}">{escape(label)}</text>'
            )
            x += _legend_width(label)


def _legend_width(label: str) -> float:
    return 42 + len(label) * LETTER + 24


def _look(box: Box, line: int) -> str:
    """The name is bold, and what stands below it is pale; a rule itself is for reading."""
    if line < len(box.name):
        return ' font-weight="bold"'
    return "" if box.node.kind == "rule" else f' fill="{PALE}"'


def _curve(x: float, y: float, to_x: float, to_y: float) -> str:
    """An S from side to side."""
    bend = (to_x - x) / 2
    return f"C{x + bend:.1f} {y:.1f} {to_x - bend:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"


def _turn(y: float, to_x: float, to_y: float, reach: float) -> str:
    """A bow around the end of a column."""
    return f"C{to_x + reach:.1f} {y:.1f} {to_x + reach:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"


def _arrow_head(role: str, colour: str) -> str:
    return (
        f'<marker id="{role}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto" '
        f'markerUnits="userSpaceOnUse"><path d="M0 0.5 L8 4 L0 7.5 z" fill="{colour}"/></marker>'
    )


def _columns(boxes: dict[str, Box], arrows: Iterable[Arrow]) -> dict[str, int]:
    """Bands side by side; within a band each box stands to the right of what it follows from.

    Where predicates rest on each other the arrows into their rules run back.
    """
    inside = [arrow for arrow in arrows if boxes[arrow.start].node.band == boxes[arrow.end].node.band]
    recursive = frozenset(name for name, box in boxes.items() if box.node.recursive)
    circular = _circular(inside, recursive)
    column = dict.fromkeys(boxes, 0)
    for _ in boxes:
        for arrow in inside:
            if arrow not in circular:
                column[arrow.end] = max(column[arrow.end], column[arrow.start] + 1)
    first, offset = {}, 0
    for band in sorted({box.node.band for box in boxes.values()}):
        first[band] = offset
        offset += 1 + max(column[name] for name, box in boxes.items() if box.node.band == band)
    return {name: first[box.node.band] + column[name] for name, box in boxes.items()}


def _circular(arrows: Sequence[Arrow], recursive: frozenset[str]) -> set[Arrow]:
    """The arrows into recursive nodes that lie on a circle."""
    after = defaultdict(list)
    for arrow in arrows:
        after[arrow.start].append(arrow.end)

    def reaches(start: str, end: str) -> bool:
        seen, waiting = {start}, [start]
        while waiting:
            reached = [name for name in after[waiting.pop()] if name not in seen]
            seen.update(reached)
            waiting += reached
        return end in seen

    return {arrow for arrow in arrows if arrow.end in recursive and reaches(arrow.end, arrow.start)}
