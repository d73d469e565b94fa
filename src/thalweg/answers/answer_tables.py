"""Answers as tables: rows for CSV, columns of Arrow for Parquet.

The columns are those of `answer_columns`. Texts are written as they are, IRIs in angle brackets; times are numbers, or
timestamps where the streams had timestamps. In CSV a list is an array of JSON.
"""

import csv
from collections.abc import Iterator, Sequence
from io import StringIO
from typing import Any

from thalweg.answers.answer_columns import AnswerColumns, Column, Row, as_json
from thalweg.answers.emit import AnswerBlock
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.time import AS_TICKS, TimeFormat


class AnswerTable:
    """A table with the columns of some kind of answers.

    >>> from thalweg.answers.answer_columns import FactColumns
    >>> from thalweg.answers.emit import Change
    >>> table = AnswerTable(FactColumns("changes", ("R", "V")), TimeFormat())
    >>> print(table.header + "".join(table.csv(Change(3, ('jam(a,"b c")',), ("jam(b,2)",)))), end="")
    t,op,predicate,R,V
    3,-,jam,b,2
    3,+,jam,a,b c
    """

    def __init__(self, columns: AnswerColumns, times: TimeFormat) -> None:
        self._kind = columns
        self._times = times
        self._columns = columns.columns

    def rows(self, block: AnswerBlock) -> Iterator[Row]:
        """The rows of a block; `RejectedError` where it is of another kind."""
        if not self._kind.fits(block):
            raise _no_table()
        return self._kind.rows(block, self._times)

    # CSV ------------------------------------------------------------------------------------------------------------

    @property
    def header(self) -> str:
        """The first line of a file of CSV."""
        text = StringIO()
        csv.writer(text, lineterminator="\n").writerow([column.name for column in self._columns])
        return text.getvalue()

    def csv(self, block: AnswerBlock) -> Iterator[str]:
        """The lines of a block."""
        text = StringIO()
        write = csv.writer(text, lineterminator="\n").writerow
        for row in self.rows(block):
            write([self._written(column, cell) for column, cell in zip(self._columns, row, strict=True)])
        yield text.getvalue()

    def _written(self, column: Column, cell: Any) -> object:
        if cell is None:
            return ""
        match column.type:
            case "time":
                return self._times.text(cell)
            case "window":
                return as_json([self._times.data(tick) for tick in cell])
            case "list" | "pairs":
                return as_json(cell)
            case "truth":
                return "true" if cell else "false"
        return cell

    # Arrow ----------------------------------------------------------------------------------------------------------

    def arrow(self, rows: Sequence[Row]) -> Any:
        """Rows as a table of Arrow: numbers and texts where a column has nothing else."""
        import pyarrow as pa

        columns = zip(*rows, strict=True) if rows else ((),) * len(self._columns)
        arrays = [
            arrow_column(column, cells, self._times) for column, cells in zip(self._columns, columns, strict=True)
        ]
        return pa.table(arrays, names=[column.name for column in self._columns])


def arrow_column(column: Column, cells: Sequence[Any], times: TimeFormat = AS_TICKS) -> Any:
    """The cells of a column as an array of Arrow, with ticks as `times` has them.

    >>> arrow_column(Column("window", "window"), [(38, 40), None]).to_pylist()
    [[38, 40], None]
    """
    import pyarrow as pa

    match column.type:
        case "time":
            return pa.array(_moments(cells, times), _time_type(times))
        case "window":
            spans = (None if span is None else _moments(span, times) for span in cells)
            return pa.array(spans, pa.list_(_time_type(times)))
        case "list":
            lists = (None if values is None else [str(cell) for cell in values] for values in cells)
            return pa.array(lists, pa.list_(pa.string()))
        case "pairs":
            pairs = (None if values is None else [*values.items()] for values in cells)
            return pa.array(pairs, pa.map_(pa.string(), pa.string()))
        case "integer":
            return pa.array(cells, pa.int64())
        case "truth":
            return pa.array(cells, pa.bool_())
        case "text":
            return pa.array(cells, pa.string())
        case "value":
            return _values(cells)


def _time_type(times: TimeFormat) -> Any:
    import pyarrow as pa

    return pa.timestamp("ms", str(times.calendar.zone)) if times.iso else pa.int64()


def _moments(ticks: Sequence[int | None], times: TimeFormat) -> list[Any]:
    """Ticks as what times are in a table."""
    if not times.iso:
        return list(ticks)
    return [None if tick is None else times.calendar.moment(tick) for tick in ticks]


def _values(cells: Sequence[Any]) -> Any:
    """A column of numbers, or of texts where not all are numbers."""
    import pyarrow as pa

    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds and kinds <= {int, float}:
        integral = kinds == {int} and all(cell is None or -(2**63) <= cell < 2**63 for cell in cells)
        numbers = cells if integral else [None if cell is None else float(cell) for cell in cells]
        return pa.array(numbers, pa.int64() if integral else pa.float64())
    return pa.array([None if cell is None else str(cell) for cell in cells], pa.string())


def _no_table() -> RejectedError:
    message = "these answers cannot be written as a table: use `--format jsonl`"
    return RejectedError([Diagnostic("E403", message)])


def unified(first: Any, other: Any) -> Any:
    """A schema that both tables can be cast to: numbers widen, and a column with texts as well is one of texts."""
    import pyarrow as pa

    return pa.schema([pa.field(field.name, _wider(field.type, other.field(field.name).type)) for field in first])


def _wider(first: Any, other: Any) -> Any:
    import pyarrow as pa

    if first == other:
        return first
    numbers = (pa.int64(), pa.float64())
    return pa.float64() if first in numbers and other in numbers else pa.string()
