"""A timeline in the terminal: a row for each fact, a block where it holds; curves as small bars."""

from collections.abc import Callable, Iterator
from typing import Final

from thalweg.diagnostics import VISIBLE
from thalweg.explain.timeline_axis import marks
from thalweg.explain.timeline_chart import Chart, ChartSpan, Curve, row_label

MOST_ROWS: Final = 30
_BARS: Final = "▁▂▃▄▅▆▇█"
_COLOURS: Final = (34, 33, 32, 31, 35, 36)


def timeline_text(
    chart: Chart, width: int = 80, coloured: bool = False, brief: Callable[[str], str] = lambda text: text
) -> str:
    """The lines of a chart.

    >>> from thalweg.explain.timeline_chart import ChartSpan, chart_of
    >>> spans = [ChartSpan("jam(a)", 0, 30), ChartSpan("jam(b)", 45, 60, is_open=True)]
    >>> print(timeline_text(chart_of(spans), 36), end="")
    jam
      a ███████████████
      b                        ███████▶
        0                        50
    """
    return "\n".join(_lines(chart, width, coloured, lambda text: brief(text).translate(VISIBLE))) + "\n"


def _lines(chart: Chart, width: int, coloured: bool, brief: Callable[[str], str]) -> Iterator[str]:
    names = [brief(row_label(fact, group.predicate)) for group in chart.groups for fact, _ in group.rows[:MOST_ROWS]]
    names += [brief(curve.name) for group in chart.groups for curve in group.curves[:MOST_ROWS]]
    left = min(max(map(len, names), default=0), width // 3)
    # Behind a curve stand its least and its greatest value.
    cells = max(10, width - left - 4 - 22 * any(group.curves for group in chart.groups))
    for number, group in enumerate(chart.groups):
        code = _COLOURS[number % len(_COLOURS)]
        paint = (lambda text, code=code: f"\x1b[{code}m{text}\x1b[0m") if coloured else str
        yield brief(group.predicate)
        for curve in group.curves[:MOST_ROWS]:
            yield f"  {_name(brief(curve.name), left)} {paint(_bars(chart, curve, cells))}".rstrip()
        for fact, spans in group.rows[:MOST_ROWS]:
            name = brief(row_label(fact, group.predicate))
            yield f"  {_name(name, left)} {paint(_bar(chart, spans, cells))}".rstrip()
        more = max(len(group.rows), len(group.curves)) - MOST_ROWS
        if more > 0:
            yield f"  {_name('', left)} … and {more:,} more"
    yield f"  {_name('', left)} {_axis(chart, cells)}".rstrip()


def _name(text: str, left: int) -> str:
    return (text if len(text) <= left else f"…{text[1 - left :]}").ljust(left)


def _cell(chart: Chart, at: int, cells: int) -> int:
    return min(cells - 1, (at - chart.first) * cells // max(1, chart.last - chart.first))


def _bar(chart: Chart, spans: tuple[ChartSpan, ...], cells: int) -> str:
    line = [" "] * cells
    for span in spans:
        first, last = _cell(chart, span.start, cells), _cell(chart, max(span.start, span.end - 1), cells)
        line[first : last + 1] = "█" * (last + 1 - first)
        if span.is_open:
            if span.guaranteed is not None and (end := _cell(chart, span.guaranteed - 1, cells)) > last:
                line[last + 1 : end + 1] = "░" * (end - last)
            else:
                line[last] = "▶"
    return "".join(line).rstrip()


def _bars(chart: Chart, curve: Curve, cells: int) -> str:
    values: list[float | None] = [None] * cells
    for at, value in curve.points:
        values[_cell(chart, at, cells)] = value
    levels = [value for _, value in curve.points]
    low, span = min(levels), (max(levels) - min(levels)) or 1.0
    line = ""
    now: float | None = None
    for level in values:
        now = now if level is None else level
        line += " " if now is None else _BARS[round((now - low) / span * (len(_BARS) - 1))]
    return f"{line} {low:g} to {max(levels):g}"


def _axis(chart: Chart, cells: int) -> str:
    line = ""
    for at, text in marks(chart.first, chart.last, chart.calendar, max(2, cells // 9)):
        place = _cell(chart, at, cells)
        if place >= len(line) + bool(line) and place + len(text) <= cells:
            line = f"{line:<{place}}{text}"
    return line
