"""Tables of answers, read back row by row for a picture; their columns are those of `answer_columns`.

t,op,predicate,args     t,predicate,args     predicate,args,from,until     t,event,from,to,individual,…
"""

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby, takewhile
from pathlib import Path
from typing import Any, Final

from thalweg.connectors.tabular import cell_term
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.explain.timeline_chart import clash_as_fact, event_as_fact, row_as_fact
from thalweg.model.term import constant
from thalweg.runtimes.recorded_timeline import RecordedTimeline

Row = Mapping[str, Any]
"""The cells of a row by their columns; those without a value are left out."""

_WAY_OUT: Final = "give a table that `thalweg run` wrote, or its answers as `answers.jsonl`"
# What stands behind the columns of arguments; those have names of variables, which begin with a capital.
_AFTER_ARGUMENTS: Final = frozenset(("from", "until", "window", "answer_set", "answer", "incomplete", "event"))


def take_csv(timeline: RecordedTimeline, file: Iterable[str], name: str) -> None:
    """Takes a table of text; `RejectedError` where it has other columns than answers have."""
    table = csv.DictReader(file)
    rows = ({key: cell for key, cell in row.items() if cell and key} for row in table)
    _take(timeline, table.fieldnames or (), rows, name)


def take_parquet(timeline: RecordedTimeline, path: Path) -> None:
    """Takes a file of Parquet, or a folder of its parts."""
    from pyarrow import ArrowException, parquet

    files = sorted(path.glob("part-*.parquet")) if path.is_dir() else [path]
    try:
        for file in files:
            with parquet.ParquetFile(file) as table:
                rows = (row for batch in table.iter_batches() for row in batch.to_pylist())
                filled = ({key: cell for key, cell in row.items() if cell is not None} for row in rows)
                _take(timeline, table.schema_arrow.names, filled, str(path))
    except ArrowException as error:
        raise RejectedError([Diagnostic("E401", f"cannot read `{path}`: {error}")]) from error


def _take(timeline: RecordedTimeline, names: Sequence[str], rows: Iterable[Row], name: str) -> None:
    layout = _Layout(names)
    if not layout.is_known:
        message = f"`{name}` does not have the columns of answers"
        raise RejectedError([Diagnostic("E301", message, help=_WAY_OUT)])
    try:
        for (kind, t), group in groupby(rows, key=lambda row: (layout.kind(row), row.get("t"))):
            _TAKEN[kind](timeline, t, list(group), layout)
    except (ValueError, KeyError, TypeError):
        raise RejectedError([Diagnostic("E301", f"`{name}` has a row that is not an answer", help=_WAY_OUT)]) from None


class _Layout:
    """What the columns of a table say of its rows.

    >>> layout = _Layout(["t", "op", "predicate", "R", "V"])
    >>> layout.kind({"t": 3}), layout.fact({"predicate": "jam", "R": "a b", "V": "3"})
    ('fact', 'jam("a b",3)')
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        columns = set(names)
        self.emit = "changes" if "op" in columns else "intervals" if "until" in columns else "snapshot"
        self._kind = next((kind for kind, needed in _NEEDED.items() if needed <= columns), None)
        behind = names[names.index("predicate") + 1 :] if "predicate" in columns else ()
        self._arguments = list(takewhile(lambda name: name not in _AFTER_ARGUMENTS, behind))

    @property
    def is_known(self) -> bool:
        return self._kind is not None

    def kind(self, row: Row) -> str:
        """What a row is, in a word."""
        return str(row.get("kind", self._kind))

    def fact(self, row: Row) -> str:
        """The fact of a row."""
        if self._arguments == ["args"]:
            args = _data(row.get("args", []))
        else:
            args = [row[name] for name in self._arguments if name in row]
        terms = ",".join(map(_term, args))
        return f"{row['predicate']}({terms})" if terms else str(row["predicate"])

    def variables(self, row: Row) -> dict[str, str]:
        """The row of a query."""
        return {name: _term(row[name]) for name in self.names if name in row and name not in ("kind", "t", "window")}


# The first of them whose columns are there.
_NEEDED: Final = {
    "event": {"t", "event", "from", "to"},
    "clash": {"individual", "axiom"},
    "answer set": {"t", "answer_set", "predicate"},
    "triple": {"t", "window", "predicate"},
    "fact": {"predicate"},
    "truth": {"t", "window", "answer"},
    "row": {"t", "window"},
}


def _take_facts(timeline: RecordedTimeline, t: Any, rows: list[Row], layout: _Layout) -> None:
    _take_held(timeline, t, [(layout.fact(row), row) for row in rows], layout.emit)


def _take_clashes(timeline: RecordedTimeline, t: Any, rows: list[Row], layout: _Layout) -> None:
    _take_held(timeline, t, [(clash_as_fact(row["individual"], row["axiom"]), row) for row in rows], layout.emit)


def _take_held(timeline: RecordedTimeline, t: Any, facts: list[tuple[str, Row]], emit: str) -> None:
    if emit == "changes":
        begun = [fact for fact, row in facts if row["op"] == "+"]
        timeline.change(t, begun, [fact for fact, row in facts if row["op"] != "+"])
    elif emit == "snapshot":
        timeline.at(t, [fact for fact, _ in facts])
    else:
        for fact, row in facts:
            timeline.interval(fact, row["from"], row.get("until"))


def _take_answer_set(timeline: RecordedTimeline, t: Any, rows: list[Row], layout: _Layout) -> None:
    """The first answer set of a window, as a picture of a run shows it."""
    first = (row for row in rows if int(row.get("answer_set", 1)) == 1)
    timeline.solution(t, [layout.fact(row) for row in first if "predicate" in row])


def _take_triples(timeline: RecordedTimeline, t: Any, rows: list[Row], layout: _Layout) -> None:
    timeline.at(t, map(layout.fact, rows))


def _take_rows(timeline: RecordedTimeline, t: Any, rows: list[Row], layout: _Layout) -> None:
    timeline.at(t, (row_as_fact(layout.variables(row)) for row in rows))


def _take_truth(timeline: RecordedTimeline, t: Any, rows: list[Row], layout: _Layout) -> None:
    timeline.at(t, ["ask" for row in rows if row["answer"] in (True, "true")])


def _take_events(timeline: RecordedTimeline, t: Any, rows: list[Row], layout: _Layout) -> None:
    for row in rows:
        if "event" in row:
            bound = [row["individual"]] if "individual" in row else dict(_data(row.get("bindings", {}))).values()
            timeline.interval(event_as_fact(row["event"], bound), row["from"], row["to"])


_TAKEN: Final[Mapping[str, Callable[[RecordedTimeline, Any, list[Row], _Layout], None]]] = {
    "event": _take_events,
    "clash": _take_clashes,
    "answer set": _take_answer_set,
    "triple": _take_triples,
    "fact": _take_facts,
    "truth": _take_truth,
    "row": _take_rows,
}


def _data(cell: Any) -> Any:
    """A list or pairs, which CSV has as JSON."""
    return json.loads(cell) if isinstance(cell, str) else cell


def _term(cell: object) -> str:
    """The term that a cell was written for, as far as it can be told."""
    try:
        return cell_term(cell)
    except ValueError:
        return constant(str(cell))
