"""Answers as tables: rows of CSV, columns of Arrow, and Parquet, as one file or as a folder of parts.

The columns are those of `answer_columns`. Texts are written as they are, IRIs in angle brackets; times are numbers, or
timestamps where the streams had timestamps. In CSV a list is an array of JSON.

In Parquet the type of a column is known from its first rows; where later ones do not fit (a text among numbers), what
was written is written again with the wider type, so that all of it has one schema. A file appears under its name when
it is whole; a folder has a part for each checkpoint or batch.
"""

import csv
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from io import StringIO
from pathlib import Path
from typing import Any, Final

from thalweg.answers.answer_columns import AnswerColumns, Column, DatedText, Row, as_json
from thalweg.answers.record import Answer
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.time import AS_TICKS, TimeFormat


class AnswerTable:
    """A table with the columns of some kind of answers.

    >>> from thalweg.answers.answer_columns import FactColumns
    >>> from thalweg.answers.record import changes
    >>> table = AnswerTable(FactColumns("changes", ("R", "V")), TimeFormat())
    >>> print(table.header + "".join(table.csv(changes(3, ('jam(a,"b c")',), ("jam(b,2)",)))), end="")
    t,op,predicate,R,V
    3,-,jam,b,2
    3,+,jam,a,b c
    """

    def __init__(self, columns: AnswerColumns, times: TimeFormat) -> None:
        self._kind = columns
        self._times = times
        self._columns = columns.columns

    def rows(self, answer: Answer) -> Iterator[Row]:
        """The rows of an answer; `RejectedError` where it is of another kind."""
        if not self._kind.fits(answer):
            raise _no_table()
        return self._kind.rows(answer, self._times)

    # CSV ------------------------------------------------------------------------------------------------------------

    @property
    def header(self) -> str:
        """The first line of a file of CSV."""
        text = StringIO()
        csv.writer(text, lineterminator="\n").writerow([column.name for column in self._columns])
        return text.getvalue()

    def csv(self, answer: Answer) -> Iterator[str]:
        """The lines of an answer."""
        text = StringIO()
        write = csv.writer(text, lineterminator="\n").writerow
        for row in self.rows(answer):
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
    """A column of numbers, of dates or of times; of texts where it has several of them.

    >>> str(_values([DatedText.of(date(2026, 11, 15)), None]).type), str(_values(["a", 1]).type)
    ('date32[day]', 'string')
    """
    import pyarrow as pa

    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds and kinds <= {int, float}:
        integral = kinds == {int} and all(cell is None or -(2**63) <= cell < 2**63 for cell in cells)
        numbers = cells if integral else [None if cell is None else float(cell) for cell in cells]
        return pa.array(numbers, pa.int64() if integral else pa.float64())
    if kinds == {DatedText} and (type_ := _dated_type([text.value for text in cells if text is not None])) is not None:
        return pa.array([None if text is None else text.value for text in cells], type_)
    return pa.array([None if cell is None else str(cell) for cell in cells], pa.string())


def _dated_type(values: Sequence[date]) -> Any:
    """The type of dates, of times in UTC, or of times without a zone; None where they are not of one."""
    import pyarrow as pa

    kinds = {value.tzinfo is not None if isinstance(value, datetime) else None for value in values}
    types = {None: pa.date32(), True: pa.timestamp("us", "UTC"), False: pa.timestamp("us")}
    return types[kinds.pop()] if len(kinds) == 1 else None


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


def _fitted(table: Any, schema: Any) -> Any:
    """A table with the types of a schema that `unified` gives; times become texts as CSV has them."""
    import pyarrow as pa

    columns = []
    for column, field in zip(table.columns, schema, strict=True):
        if pa.types.is_timestamp(column.type) and field.type == pa.string():
            texts = [None if moment is None else moment.isoformat() for moment in column.to_pylist()]
            columns.append(pa.array(texts, pa.string()))
        else:
            columns.append(column.cast(field.type))
    return pa.table(columns, schema=schema)


# Parquet ------------------------------------------------------------------------------------------------------------

GROUP: Final = 65_536
"""Rows that are written at once."""


class _Rows:
    """Rows that wait until they are written together."""

    def __init__(self) -> None:
        self._waiting: list[Row] = []
        self._table: AnswerTable | None = None

    def begin(self, table: AnswerTable) -> None:
        """Rows of this table will come."""
        self._table = table

    def take(self) -> Any:
        """All that wait, as a table of Arrow."""
        assert self._table is not None
        waiting, self._waiting = self._waiting, []
        return self._table.arrow(waiting)


class ParquetFile(_Rows):
    """One file; it is there when it is closed."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._unfinished = path.with_name(f".{path.name}.unfinished")
        self._writer: Any = None
        self._schema: Any = None
        try:
            if path.is_dir():
                raise IsADirectoryError(21, "it is a folder")
            self._unfinished.touch()
        except OSError as error:
            raise RejectedError([Diagnostic("E401", f"cannot write `{path}`: {error.strerror}")]) from error

    def add(self, rows: Iterable[Row]) -> None:
        """Adds rows."""
        self._waiting += rows
        if len(self._waiting) >= GROUP:
            self._write(self.take())

    def _write(self, table: Any) -> None:
        import pyarrow.parquet as pq

        schema = table.schema if self._schema is None else unified(self._schema, table.schema)
        if self._writer is None:
            self._writer, self._schema = pq.ParquetWriter(self._unfinished, schema), schema
        elif schema != self._schema:
            self._widen(schema)
        self._writer.write_table(_fitted(table, self._schema))

    def _widen(self, schema: Any) -> None:
        import pyarrow.parquet as pq

        self._writer.close()
        before = self._unfinished.with_suffix(".before")
        self._unfinished.rename(before)
        self._writer, self._schema = pq.ParquetWriter(self._unfinished, schema), schema
        with pq.ParquetFile(before) as old:
            for group in range(old.num_row_groups):
                self._writer.write_table(_fitted(old.read_row_group(group), schema))
        before.unlink()

    def close(self) -> None:
        """Writes what waits, and gives the file its name."""
        if self._waiting or self._writer is None:
            self._write(self.take())
        self._writer.close()
        self._unfinished.replace(self._path)

    def withdraw(self) -> None:
        """Leaves what is under its name as it was."""
        self._unfinished.unlink(missing_ok=True)


class ParquetParts(_Rows):
    """A folder of parts; those from a number on are of a run that did not get so far, and are gone."""

    def __init__(self, folder: Path, parts: int = 0) -> None:
        super().__init__()
        self._folder = folder
        self._parts = parts
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for part in folder.glob("part-*.parquet"):
                if int(part.stem.partition("-")[2]) >= parts:
                    part.unlink()
        except OSError as error:
            raise RejectedError([Diagnostic("E401", f"cannot write `{folder}`: {error.strerror}")]) from error

    def add(self, rows: Iterable[Row]) -> None:
        """Adds rows to the next part."""
        self._waiting += rows

    def settle(self) -> int:
        """Writes what waits as a part; the number of parts."""
        if self._waiting:
            self.write_part(self._parts, self.take())
            self._parts += 1
        return self._parts

    def write_part(self, number: int, table: Any) -> None:
        """Writes a part, all of it or nothing; one with the same number is replaced."""
        import pyarrow.parquet as pq

        parts = sorted(self._folder.glob("part-*.parquet"))
        written = pq.read_schema(parts[0]) if parts else table.schema
        schema = unified(written, table.schema)
        if schema != written:
            for part in parts:
                self._replace(part, _fitted(pq.read_table(part), schema))
        self._replace(self._folder / f"part-{number:010}.parquet", _fitted(table, schema))

    def _replace(self, part: Path, table: Any) -> None:
        import pyarrow.parquet as pq

        unfinished = part.with_name(f".{part.name}.unfinished")
        pq.write_table(table, unfinished)
        unfinished.replace(part)

    def close(self) -> None:
        """Writes what waits; a run that is resumed writes it again."""
        self.settle()
