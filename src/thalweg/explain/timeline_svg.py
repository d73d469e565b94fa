"""A timeline as SVG: one drawing that needs nothing else to be looked at, also on a dark page."""

from collections.abc import Callable, Iterator
from html import escape
from typing import Final

from thalweg.explain.timeline_axis import marks, moment_label
from thalweg.explain.timeline_chart import Chart, ChartGroup, ChartSpan, Curve, row_label

FONT: Final = "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"
COLOURS: Final = (
    "#3b6fb6",
    "#d9822b",
    "#3c9a5f",
    "#c23b4b",
    "#7a5bb5",
    "#8c6d46",
    "#c56aa0",
    "#5f6b7a",
    "#99991f",
    "#2f9fb0",
)
INK, PALE, GRID, STRIPE = "#1f2933", "#66788a", "#e4e8ee", "#f6f8fa"
ROW, HEAD, PANEL, FOOT, LINE = 20, 26, 110, 30, 16
MOST_ROWS: Final = 40
"""Rows that are drawn of one predicate; the others are added up in one."""
MOST_CURVES: Final = 10


def draw_timeline(chart: Chart, width: int = 960, brief: Callable[[str], str] = lambda text: text) -> str:
    """The chart as one `<svg>` of a width.

    >>> from thalweg.explain.timeline_chart import ChartSpan, chart_of
    >>> svg = draw_timeline(chart_of([ChartSpan("jam(a)", 3, 14)]))
    >>> svg[:4], "<title>jam(a) from 3 until 13</title>" in svg
    ('<svg', True)
    """
    return _Drawing(chart, width, brief).svg()


class _Drawing:
    def __init__(self, chart: Chart, width: int, brief: Callable[[str], str]) -> None:
        self._chart = chart
        self._brief = brief
        names = (
            brief(row_label(fact, group.predicate)) for group in chart.groups for fact, _ in group.rows[:MOST_ROWS]
        )
        longest = max(map(len, names), default=0)
        self._left = min(max(70, 7 * longest + 24), width // 3)
        self._letters = int((self._left - 20) / 6.6)
        self._width = width
        self._scale = (width - self._left - 20) / max(1, chart.last - chart.first)
        self._y = 14

    def _x(self, at: int) -> float:
        return self._left + (at - self._chart.first) * self._scale

    def svg(self) -> str:
        body = [part for number, group in enumerate(self._chart.groups) for part in self._group(number, group)]
        if not body:
            body = [self._text(self._left, 40, "no answers", PALE)]
            self._y = 60
        grid = list(self._grid())
        height = self._y + FOOT + (LINE if self._chart.calendar else 0) + (LINE if self._chart.note else 0)
        if self._chart.note:
            body.append(self._text(8, height - 8, self._chart.note, PALE))
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self._width}" height="{height}" '
            f'viewBox="0 0 {self._width} {height}" font-family="{FONT}" font-size="12" fill="{INK}">'
        )
        return "\n".join([head, '<rect width="100%" height="100%" fill="#ffffff"/>', *grid, *body, "</svg>", ""])

    def _grid(self) -> Iterator[str]:
        room = max(2, int((self._width - self._left) / 90))
        chart = self._chart
        for at, text in marks(chart.first, chart.last, chart.calendar, room):
            x = self._x(at)
            yield f'<path d="M{x:.1f} 8V{self._y + 4}" stroke="{GRID}"/>'
            # The last one may stand at the very right.
            yield self._text(min(x, self._width - 4 - 3.4 * len(text)), self._y + 20, text, PALE, "middle")
        if chart.calendar is not None:
            # Below the marks: the first of them may stand at the very left.
            day = moment_label(chart.first, chart.calendar)[:10]
            yield self._text(8, self._y + 20 + LINE, day, PALE)

    def _group(self, number: int, group: ChartGroup) -> Iterator[str]:
        colour = COLOURS[number % len(COLOURS)]
        count = f" · {len(group.rows)} facts" if len(group.rows) > 1 else ""
        name = _cut(self._brief(group.predicate), 60)
        yield (
            f'<text x="8" y="{self._y + 15}" font-weight="600">{escape(name)}'
            f'<tspan fill="{PALE}" font-weight="400">{escape(count)}</tspan></text>'
        )
        self._y += HEAD
        if group.curves:
            yield from self._panel(group)
        for place, (fact, spans) in enumerate(group.rows[:MOST_ROWS]):
            yield from self._row(row_label(fact, group.predicate), spans, colour, place)
        if len(group.rows) > MOST_ROWS:
            yield from self._rest(group, colour)
        self._y += 6

    def _row(self, name: str, spans: tuple[ChartSpan, ...], colour: str, place: int) -> Iterator[str]:
        y = self._y
        if place % 2 == 0:
            yield f'<rect x="0" y="{y}" width="{self._width}" height="{ROW}" fill="{STRIPE}"/>'
        shown = _tail(self._brief(name), self._letters)
        yield self._text(self._left - 8, y + 14, shown, INK, "end")
        for span in spans:
            yield self._band(span, y + 3, ROW - 6, colour)
        self._y += ROW

    def _band(self, span: ChartSpan, y: float, height: float, colour: str) -> str:
        x, width = self._x(span.start), max(1.5, (span.end - span.start) * self._scale)
        title = f"<title>{escape(self._told(span))}</title>"
        drawn = (
            f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}" rx="2" fill="{colour}" '
            f'fill-opacity="0.85">{title}</rect>'
        )
        if not span.is_open:
            return drawn
        if span.guaranteed is not None and span.guaranteed > span.end:
            more = (span.guaranteed - span.end) * self._scale
            return drawn + (
                f'<rect x="{x + width:.1f}" y="{y}" width="{more:.1f}" height="{height}" fill="{colour}" '
                f'fill-opacity="0.3" stroke="{colour}" stroke-dasharray="3 2" stroke-width="0.8">{title}</rect>'
            )
        tip = x + width
        return drawn + f'<path d="M{tip:.1f} {y}l6 {height / 2}l-6 {height / 2}z" fill="{colour}" fill-opacity="0.85"/>'

    def _told(self, span: ChartSpan) -> str:
        chart = self._chart
        start = moment_label(span.start, chart.calendar)
        if not span.is_open:
            return f"{self._brief(span.fact)} from {start} until {moment_label(span.end - chart.unit, chart.calendar)}"
        if span.guaranteed is None:
            return f"{self._brief(span.fact)} from {start}, still holds"
        until = moment_label(span.guaranteed - chart.unit, chart.calendar)
        return f"{self._brief(span.fact)} from {start}, guaranteed until {until}"

    def _rest(self, group: ChartGroup, colour: str) -> Iterator[str]:
        """How many of the other facts hold, as a strip of shades."""
        hidden = [span for _, spans in group.rows[MOST_ROWS:] for span in spans]
        cells = [0] * max(1, int((self._width - self._left - 20) / 4))
        size = max(1, self._chart.last - self._chart.first) / len(cells)
        for span in hidden:
            begin = int((span.start - self._chart.first) / size)
            end = int((span.end - self._chart.first - 1e-9) / size)
            for cell in range(max(0, begin), min(len(cells), end + 1)):
                cells[cell] += 1
        most, y = max(cells) or 1, self._y
        text = f"{len(group.rows) - MOST_ROWS} more"
        yield self._text(self._left - 8, y + 14, text, PALE, "end")
        for place, number in enumerate(cells):
            if number:
                x = self._left + place * 4
                yield (
                    f'<rect x="{x}" y="{y + 3}" width="4" height="{ROW - 6}" fill="{colour}" '
                    f'fill-opacity="{0.15 + 0.75 * number / most:.2f}"><title>{number} of them hold</title></rect>'
                )
        self._y += ROW

    # Curves ---------------------------------------------------------------------------------------------------------

    def _panel(self, group: ChartGroup) -> Iterator[str]:
        values = [value for curve in group.curves for _, value in curve.points]
        low, high = min(values), max(values)
        space = (high - low) * 0.06 or 1.0
        low, high = low - space, high + space
        top, height = self._y, PANEL

        def y_of(value: float) -> float:
            return top + height - (value - low) / (high - low) * height

        frame = f'x="{self._left}" y="{top}" width="{self._width - self._left - 20}" height="{height}"'
        yield f'<rect {frame} fill="none" stroke="{GRID}"/>'
        for value in _levels(low, high):
            y = y_of(value)
            yield f'<path d="M{self._left} {y:.1f}H{self._width - 20}" stroke="{GRID}"/>'
            yield self._text(self._left - 8, y + 4, f"{value:g}", PALE, "end")
        shown = group.curves[:MOST_CURVES]
        for place, curve in enumerate(reversed(group.curves)):
            number = len(group.curves) - 1 - place
            colour = COLOURS[number] if number < MOST_CURVES else "#c7ccd3"
            yield self._curve(curve, colour, y_of)
        self._y += PANEL + 4
        yield from self._legend(shown, len(group.curves))

    def _curve(self, curve: Curve, colour: str, y_of: Callable[[float], float]) -> str:
        path, before = [], 0.0
        for place, (at, value) in enumerate(curve.points):
            x, y = self._x(at), y_of(value)
            path.append(f"M{x:.1f} {y:.1f}" if not place else f"L{x:.1f} {before:.1f}L{x:.1f} {y:.1f}")
            before = y
        title = f"<title>{escape(self._brief(curve.name))}</title>"
        style = f'fill="none" stroke="{colour}" stroke-width="1.5" stroke-linejoin="round"'
        return f'<path d="{"".join(path)}" {style}>{title}</path>'

    def _legend(self, curves: tuple[Curve, ...], number: int) -> Iterator[str]:
        if number == 1 and not curves[0].name:
            return
        x = float(self._left)
        for place, curve in enumerate(curves):
            name = _cut(self._brief(curve.name), 24)
            needed = 30 + 6.8 * len(name)
            if x + needed > self._width - 80 and x > self._left:
                x = float(self._left)
                self._y += 17
            yield f'<rect x="{x:.1f}" y="{self._y + 5}" width="12" height="4" fill="{COLOURS[place]}"/>'
            yield self._text(x + 16, self._y + 12, name, PALE)
            x += needed
        if number > len(curves):
            yield self._text(x, self._y + 12, f"and {number - len(curves)} more", PALE)
        self._y += 18

    def _text(self, x: float, y: float, text: str, colour: str, anchor: str = "start") -> str:
        side = "" if anchor == "start" else f' text-anchor="{anchor}"'
        return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}"{side}>{escape(text)}</text>'


def _levels(low: float, high: float) -> list[float]:
    """Two to four round values between others.

    >>> _levels(0, 43)
    [0, 20, 40]
    """
    step = next(
        base * 10**power for power in range(-12, 18) for base in (1, 2, 5) if (high - low) / (base * 10**power) < 4
    )
    first = -int(-low // step)
    return [value * step for value in range(first, int(high // step) + 1)]


def _tail(text: str, most: int) -> str:
    """The end of a name, which is what tells IRIs apart."""
    return text if len(text) <= most else f"…{text[-max(1, most - 1) :]}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: max(1, most - 1)]}…"
