"""Tables of answers as Parquet: one file, or a folder with a part for each checkpoint or batch.

The type of a column is known from its first rows; where later ones do not fit (a text among numbers), what was written
is written again with the wider type, so that all of it has one schema. A file appears under its name when it is whole.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from thalweg.answers.answer_columns import Row
from thalweg.answers.answer_tables import AnswerTable, unified
from thalweg.diagnostics import Diagnostic, RejectedError

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
        self._writer.write_table(table.cast(self._schema))

    def _widen(self, schema: Any) -> None:
        import pyarrow.parquet as pq

        self._writer.close()
        before = self._unfinished.with_suffix(".before")
        self._unfinished.rename(before)
        self._writer, self._schema = pq.ParquetWriter(self._unfinished, schema), schema
        with pq.ParquetFile(before) as old:
            for group in range(old.num_row_groups):
                self._writer.write_table(old.read_row_group(group).cast(schema))
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
                self._replace(part, pq.read_table(part).cast(schema))
        self._replace(self._folder / f"part-{number:010}.parquet", table.cast(schema))

    def _replace(self, part: Path, table: Any) -> None:
        import pyarrow.parquet as pq

        unfinished = part.with_name(f".{part.name}.unfinished")
        pq.write_table(table, unfinished)
        unfinished.replace(part)

    def close(self) -> None:
        """Writes what waits; a run that is resumed writes it again."""
        self.settle()
