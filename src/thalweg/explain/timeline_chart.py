"""What a picture of answers shows: facts as bands over time, the values of numeric facts as curves.

    jam(a) from 3 until 13       a band, in the group of its predicate
    temp(d1,20), temp(d1,21) …   a curve of the group `temp`, named by the arguments before the number

A predicate is drawn as curves where the last argument of its facts is a number that changes; of others every fact has
a row. Positions are ticks, or milliseconds since 1970 where times are timestamps.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from thalweg.model.fact import Fact, fact_of_text
from thalweg.model.predicate import Predicate
from thalweg.model.term import NUMERIC
from thalweg.model.time import Calendar

MOST_POINTS: Final = 20_000
"""Points that are drawn of one predicate."""


@dataclass(frozen=True, slots=True)
class ChartSpan:
    """From where to where a fact holds; `guaranteed` is where its guarantee ends, if it still holds at the end."""

    fact: str
    start: int
    end: int
    is_open: bool = False
    guaranteed: int | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """The values of one thing over time, in steps."""

    name: str
    points: tuple[tuple[int, float], ...]


def row_label(fact: str, predicate: str) -> str:
    """What a row is called below the name of its predicate: the arguments of its fact.

    >>> row_label("jam(a,b)", "jam"), row_label("go", "go")
    ('a,b', 'go')
    """
    return fact[len(predicate) + 1 : -1] if fact.startswith(f"{predicate}(") else fact


def row_as_fact(row: Mapping[str, str]) -> str:
    """A row of a query as a fact that can be drawn.

    >>> row_as_fact({"road": "<a>", "mean": "12.5"})
    'row(<a>,12.5)'
    """
    return f"row({','.join(row.values())})" if row else "row"


def event_as_fact(event: str, bound: Iterable[str]) -> str:
    """A complex event as a fact that can be drawn, with what its pattern binds.

    >>> event_as_fact("<Jam>", ["<road1>"]), event_as_fact("<Jam>", [])
    ('<Jam>(<road1>)', '<Jam>')
    """
    arguments = ",".join(bound)
    return f"{event}({arguments})" if arguments else event


def clash_as_fact(individual: str, axiom: str) -> str:
    """A contradiction with an ontology as a fact that can be drawn.

    >>> clash_as_fact("<bob>", "DisjointClasses(<Man> <Work>)")
    'inconsistent(<bob>,DisjointClasses)'
    """
    return f"inconsistent({individual},{axiom.partition('(')[0]})"


@dataclass(frozen=True, slots=True)
class ChartGroup:
    """A predicate with the rows of its facts, or with curves."""

    predicate: str
    rows: tuple[tuple[str, tuple[ChartSpan, ...]], ...] = ()
    curves: tuple[Curve, ...] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """Everything that is drawn, from `first` to `last`; `calendar` says which time a position is, if it is one."""

    groups: tuple[ChartGroup, ...]
    first: int
    last: int
    unit: int = 1
    calendar: Calendar | None = None
    proofs: Mapping[str, str] = field(default_factory=dict)
    note: str = ""


def chart_of(
    spans: Iterable[ChartSpan],
    points: Iterable[tuple[int, str]] = (),
    *,
    unit: int = 1,
    calendar: Calendar | None = None,
    proofs: Mapping[str, str] | None = None,
    note: str = "",
) -> Chart:
    """The chart of facts that hold over time, and of facts that came at points of time.

    >>> chart = chart_of([ChartSpan("jam(a)", 3, 14), ChartSpan("mean(d,2)", 3, 5), ChartSpan("mean(d,4)", 5, 9)])
    >>> [(group.predicate, len(group.rows), [curve.name for curve in group.curves]) for group in chart.groups]
    [('mean', 0, ['d']), ('jam', 1, [])]
    """
    spanning: dict[Predicate, list[tuple[Fact, ChartSpan]]] = defaultdict(list)
    for span in spans:
        fact = fact_of_text(span.fact)
        spanning[fact.signature].append((fact, span))
    came: dict[Predicate, list[tuple[Fact, int]]] = defaultdict(list)
    for at, text in points:
        fact = fact_of_text(text)
        came[fact.signature].append((fact, at))
    curves = [_curves(name.name, values) for name, values in came.items()]
    groups: list[ChartGroup] = []
    for name, pairs in spanning.items():
        drawn = _curves(name.name, [(fact, span.start) for fact, span in pairs])
        groups.append(drawn if drawn.curves else _rows(name.name, [span for _, span in pairs]))
    shown = [group for group in (*curves, *groups) if group.curves]
    shown += sorted((group for group in groups if group.rows), key=lambda group: group.predicate)
    ends = [_end(span) for pairs in spanning.values() for _, span in pairs]
    starts = [span.start for pairs in spanning.values() for _, span in pairs]
    starts += [at for values in came.values() for _, at in values]
    first = min(starts, default=0)
    last = max([*ends, *(start + unit for start in starts)], default=first + unit)
    return Chart(tuple(shown), first, last, unit, calendar, proofs or {}, note)


def _end(span: ChartSpan) -> int:
    return span.end if span.guaranteed is None else max(span.end, span.guaranteed)


def _rows(predicate: str, spans: list[ChartSpan]) -> ChartGroup:
    """A row for each fact, by name."""
    rows: dict[str, list[ChartSpan]] = defaultdict(list)
    for span in spans:
        rows[span.fact].append(span)
    ordered = ((fact, tuple(sorted(row, key=lambda span: span.start))) for fact, row in sorted(rows.items()))
    return ChartGroup(predicate, tuple(ordered))


def _curves(predicate: str, values: list[tuple[Fact, int]]) -> ChartGroup:
    """The curves of a predicate; none where its facts are not numbers that change."""
    if not values or not values[0][0].terms:
        return ChartGroup(predicate)
    curves: dict[str, dict[int, float]] = defaultdict(dict)
    for fact, at in values:
        if not NUMERIC.match(fact.terms[-1]):
            return ChartGroup(predicate)
        curves[",".join(fact.terms[:-1])][at] = float(fact.terms[-1])
    if all(len(set(points.values())) < 2 for points in curves.values()):
        return ChartGroup(predicate)
    most = max(2, MOST_POINTS // len(curves))
    return ChartGroup(
        predicate, curves=tuple(Curve(name, _thinned(points, most)) for name, points in sorted(curves.items()))
    )


def _thinned(points: Mapping[int, float], most: int) -> tuple[tuple[int, float], ...]:
    """Points in order; of too many, the least and the greatest of every stretch stay."""
    ordered = sorted(points.items())
    if len(ordered) <= most:
        return tuple(ordered)
    size = -(-2 * len(ordered) // most)
    kept: list[tuple[int, float]] = []
    for start in range(0, len(ordered), size):
        stretch = ordered[start : start + size]
        extremes = {min(stretch, key=lambda point: point[1]), max(stretch, key=lambda point: point[1])}
        kept += sorted(extremes)
    return tuple(kept)
