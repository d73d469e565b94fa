"""A timeline as a page: one file of HTML that asks for nothing from outside, with zoom, search and proofs."""

import json
from collections.abc import Callable
from importlib.resources import files
from typing import Any, Final

from thalweg.explain.timeline_chart import Chart, ChartSpan
from thalweg.explain.timeline_svg import COLOURS

MOST_FACTS: Final = 5_000
"""Facts of each predicate that a page holds."""


def timeline_page(chart: Chart, brief: Callable[[str], str] = lambda text: text) -> str:
    """The page of a chart.

    >>> from thalweg.explain.timeline_chart import ChartSpan, chart_of
    >>> page = timeline_page(chart_of([ChartSpan("jam(a)", 3, 14)], proofs={"jam(a)": "jam(a)   until 13"}))
    >>> "<!doctype html>" in page, '"jam(a)   until 13"' in page, "http://" in page
    (True, True, False)
    """
    proofs = {brief(fact): brief(proof) for fact, proof in chart.proofs.items()}
    data = chart_data(chart, brief) | {"proofs": proofs, "colours": COLOURS}
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    page = files("thalweg.explain").joinpath("timeline_page.html").read_text(encoding="utf-8")
    return page.replace(">DATA<", f">{text}<", 1)


def chart_data(chart: Chart, brief: Callable[[str], str] = lambda text: text) -> dict[str, Any]:
    """A chart as values of JSON, with a note where something is left out of it.

    >>> from thalweg.explain.timeline_chart import ChartSpan, chart_of
    >>> chart_data(chart_of([ChartSpan("jam(a)", 3, 14)]))["groups"]
    [{'p': 'jam', 'rows': [['jam(a)', [[3, 14, 0, None]]]], 'curves': []}]
    """
    left_out = sum(max(0, len(group.rows) - MOST_FACTS) for group in chart.groups)
    note = f"{left_out:,} facts are not on this page." if left_out else ""
    return {
        "first": chart.first,
        "last": chart.last,
        "unit": chart.unit,
        "zone": None if chart.calendar is None else str(chart.calendar.zone),
        "groups": [
            {
                "p": brief(group.predicate),
                "rows": [[brief(fact), list(map(_span, spans))] for fact, spans in group.rows[:MOST_FACTS]],
                "curves": [[brief(curve.name), list(map(list, curve.points))] for curve in group.curves],
            }
            for group in chart.groups
        ],
        "note": " ".join(filter(None, (chart.note, note))),
    }


def _span(span: ChartSpan) -> list[int | None]:
    return [span.start, span.end, int(span.is_open), span.guaranteed]
