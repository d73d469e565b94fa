"""Answers as tables: rows for CSV, columns of Arrow for Parquet.

    changes      t, op, predicate, args            op is + for what begins, - for what ends, ? for what became unknown
    snapshot     t, predicate, args
    intervals    predicate, args, from, until      until is empty while it holds

`args` is a list; where one predicate is output, its arguments are columns of their own. Texts are written as they are,
IRIs in angle brackets; times are numbers, or timestamps where the streams had timestamps.
"""

import csv
import json
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from functools import lru_cache
from io import StringIO
from typing import Any, Final

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.fact import fact_of_text
from thalweg.model.python_values import IRI, Term, value_of
from thalweg.model.time import TimeFormat
from thalweg.runtimes.consistency.clashes import ClashChange, Clashing, ClashInterval
from thalweg.runtimes.emit import AnswerBlock, Change, Interval, SnapshotRun

Cell = str | int | float
Row = tuple[Any, ...]
"""The cells of one row; times are ticks, and arguments are a list where they have no columns of their own."""

_BEFORE: Final = {"changes": ("t", "op", "predicate"), "snapshot": ("t", "predicate"), "intervals": ("predicate",)}
_AFTER: Final = {"intervals": ("from", "until")}
_TIMES: Final = ("t", "from", "until")


class AnswerTable:
    """The columns of a table, and the rows of blocks of answers; `names` are those of the only predicate's arguments.

    >>> table = AnswerTable("changes", TimeFormat(), ("R", "V"))
    >>> table.columns, list(table.rows(Change(3, ('jam(a,"b c")',), ("jam(b,2)",))))
    (('t', 'op', 'predicate', 'R', 'V'), [(3, '-', 'jam', 'b', 2), (3, '+', 'jam', 'a', 'b c')])
    """

    def __init__(self, emit: str, times: TimeFormat, names: Sequence[str] | None = None) -> None:
        self._times = times
        self._names = names
        args = ("args",) if names is None else tuple(names)
        self.columns = (*_BEFORE[emit], *args, *_AFTER.get(emit, ()))

    def rows(self, block: AnswerBlock) -> Iterator[Row]:
        """The rows of a block; `RejectedError` where it is not of rules."""
        match block:
            case ClashChange() | ClashInterval() | Clashing():
                raise _no_table("clashes")
            case Change():
                for op, facts in (("-", block.end), ("?", block.unknown), ("+", block.begin)):
                    for fact in facts:
                        yield block.t, op, *self._fact(fact)
            case SnapshotRun():
                held = [self._fact(fact) for fact in block.facts]
                for tick in range(block.first, block.last + 1):
                    yield from ((tick, *fact) for fact in held)
            case Interval():
                yield *self._fact(block.fact), block.start, block.until
            case _:
                raise _no_table("answers of queries, answer sets and events")

    def _fact(self, text: str) -> Row:
        fact = fact_of_text(text)
        cells = tuple(map(_cell, fact.terms))
        return fact.predicate, *((list(cells),) if self._names is None else cells)

    # CSV ------------------------------------------------------------------------------------------------------------

    @property
    def header(self) -> str:
        """The first line of a file of CSV."""
        return f"{','.join(self.columns)}\n"

    def csv(self, block: AnswerBlock) -> Iterator[str]:
        """The lines of a block."""
        text = StringIO()
        write = csv.writer(text, lineterminator="\n").writerow
        for row in self.rows(block):
            write([self._written(name, cell) for name, cell in zip(self.columns, row, strict=True)])
        yield text.getvalue()

    def _written(self, name: str, cell: Any) -> object:
        if name in _TIMES:
            return "" if cell is None else self._times.text(cell)
        return json.dumps(cell, ensure_ascii=False, separators=(",", ":")) if isinstance(cell, list) else cell

    # Arrow ----------------------------------------------------------------------------------------------------------

    def arrow(self, rows: Sequence[Row]) -> Any:
        """Rows as a table of Arrow: numbers and texts where a column has nothing else."""
        import pyarrow as pa

        columns = zip(*rows, strict=True) if rows else ((),) * len(self.columns)
        made = [self._column(name, list(cells)) for name, cells in zip(self.columns, columns, strict=True)]
        return pa.table(dict(zip(self.columns, made, strict=True)))

    def _column(self, name: str, cells: list[Any]) -> Any:
        import pyarrow as pa

        if name in _TIMES:
            return self._moments(cells)
        if name == "args":
            return pa.array([[str(cell) for cell in some] for some in cells], pa.list_(pa.string()))
        if name in ("op", "predicate"):
            return pa.array(cells, pa.string())
        kinds = {type(cell) for cell in cells}
        if kinds and kinds <= {int, float}:
            whole = kinds == {int} and all(-(2**63) <= cell < 2**63 for cell in cells)
            return pa.array(cells, pa.int64()) if whole else pa.array(map(float, cells), pa.float64())
        return pa.array(map(str, cells), pa.string()) if kinds else pa.array([], pa.string())

    def _moments(self, ticks: list[int | None]) -> Any:
        import pyarrow as pa

        if not self._times.iso:
            return pa.array(ticks, pa.int64())
        zone = str(self._times.calendar.zone)
        moments = [None if tick is None else self._times.calendar.moment(tick) for tick in ticks]
        return pa.array(moments, pa.timestamp("ms", zone))


@lru_cache(maxsize=65_536)
def _cell(term: str) -> Cell:
    """A term as tables write it."""
    value = value_of(term)
    match value:
        case IRI():
            return f"<{value}>"
        case Term():
            return str(value)
        case bool():
            return "true" if value else "false"
        case datetime() | date():
            return value.isoformat()
        case int() | float() | str():
            return value
    return str(value)


def _no_table(what: str) -> RejectedError:
    message = f"{what} cannot be written as a table: use `--format jsonl`"
    return RejectedError([Diagnostic("E403", message)])


def unified(one: Any, other: Any) -> Any:
    """A schema that both tables can be cast to: numbers widen, and a column with texts as well is one of texts."""
    import pyarrow as pa

    return pa.schema([pa.field(field.name, _wider(field.type, other.field(field.name).type)) for field in one])


def _wider(one: Any, other: Any) -> Any:
    import pyarrow as pa

    if one == other:
        return one
    numbers = (pa.int64(), pa.float64())
    return pa.float64() if one in numbers and other in numbers else pa.string()
