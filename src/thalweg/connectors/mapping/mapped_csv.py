"""Tables of text as streams: CSV of any dialect, whose rows mappings make facts of, or are facts by themselves."""

import csv
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from thalweg.connectors.batches import Item
from thalweg.connectors.lines import LineError, State, wrong_line
from thalweg.connectors.mapping.dialect import Dialect, dialect_of
from thalweg.connectors.mapping.mapped_facts import Columns, RowReports
from thalweg.connectors.mapping.mapped_rows import MappedRows, MappedStream, columns_of
from thalweg.connectors.mapping.mapping import Mapping, Path
from thalweg.connectors.mapping.propose import first_row
from thalweg.connectors.mapping.table_text import TableText, binary
from thalweg.connectors.partitions import with_partition
from thalweg.connectors.tabular import STATING, StatedRows, has_times
from thalweg.diagnostics import Diagnostic

EMPTY: Final = ["", "null", "NULL", "NaN", "nan"]
_HEADER_NEEDS: Final = 1 << 15
_QUOTE: Final = b'"'
_BREAK: Final = 10


class MappedCsvReader(MappedRows):
    """Reads CSV; the dialect is found out from the first lines. `unmapped` reads tables that need no mapping.

    >>> from thalweg.connectors.mapping.read_mapping import read_mappings
    >>> from thalweg.connectors.mapping.tally import Tally
    >>> from thalweg.model.dictionary import Dictionary
    >>> from thalweg.model.time import Clock
    >>> tally, words = Tally(read_mappings("temp(device, temp) at ts")), Dictionary()
    >>> source = MappedStream(words, "in.csv", "in", Clock(), tally)
    >>> reader = MappedCsvReader(source, StatedRows(words, "in.csv", "in", Clock()))
    >>> items = [*reader.feed(b"device;temp;ts\\nd1;21,5;36\\nd2;;36\\nd3;22;37\\n"), *reader.finish()]
    >>> [(tick, [str(fact) for fact in batch.facts(words)]) for tick, batch in items]
    [(36, ['temp(d1,21.5)']), (37, ['temp(d3,22)'])]
    """

    def __init__(self, source: MappedStream, unmapped: StatedRows) -> None:
        super().__init__(source)
        self._unmapped = unmapped
        self._is_mapped = True
        self._dialect: Dialect | None = None
        self._served: tuple[Mapping, ...] = ()
        self._text = TableText(source.stated.encoding)
        self._rest = b""
        self._line = 0
        self.hopeless = False

    # Blocks ---------------------------------------------------------------------------------------------------------

    def feed(self, block: bytes) -> Iterator[Item]:
        lines = self._rest + block
        if self._dialect is None and len(lines) < _HEADER_NEEDS and self._source.kind != "live":
            # A few lines do not say how a table is written; the first of a live one must do.
            self._rest = lines
            return iter(())
        # Without a mapping one line is one row.
        end = self._text.complete(lines, quoted=bool(self._source.mappings) and self._is_mapped)
        self._rest = lines[end:]
        return self._read(lines[:end])

    def finish(self) -> Iterator[Item]:
        pending, self._rest = self._rest, b""
        return self._read(pending)

    def save(self) -> State:
        dialect = None if self._dialect is None else self._dialect.as_data()
        pending = self._rest.decode("latin-1")
        return {
            "rest": pending,
            "line": self._line,
            "text": self._text.save(),
            "dialect": dialect,
            "no": self.hopeless,
            "mapped": self._is_mapped,
        }

    def load(self, saved: State) -> None:
        self._rest, self._line = saved["rest"].encode("latin-1"), saved["line"]
        self.hopeless = saved["no"]
        self._text.load(saved["text"])
        if saved["dialect"] is not None:
            self._dialect = Dialect.of_data(saved["dialect"])
            self._served = self._serving(self._dialect)
        self._is_mapped = saved["mapped"]
        if not self._is_mapped and self._dialect is not None and not self.hopeless:
            self._unmapped.begin(self._dialect, "")

    # Rows -----------------------------------------------------------------------------------------------------------

    def _read(self, data: bytes) -> Iterator[Item]:
        if not data or self.hopeless:
            return
        if self._dialect is None and self._source.stated.encoding is None and (problem := binary(data)) is not None:
            self.hopeless = True
            yield wrong_line(self._source.name, 1, "", LineError(problem[0], 0), problem[1])
            return
        data, undecoded = self._text.as_utf8(data)
        if b"\n" not in data:
            # Lines may end as they once did on a Macintosh.
            data = data.replace(b"\r", b"\n")
        if self._dialect is None:
            inside = self._source.partition.keys()
            wanted = (frozenset(path.whole for path in mapping.paths) - inside for mapping in self._source.mappings)
            dialect = dialect_of(data.decode(errors="replace"), (*wanted, *STATING), self._source.stated)
            if dialect is None:
                return
            self._dialect = dialect
            wrong = self._begin(dialect, data)
            if wrong is not None:
                self.hopeless = True
                # A header that cannot be decoded fits nothing.
                header = dialect.skipped - 1
                self._line = header + 1
                yield self._not_decoded(data.split(b"\n")[header]) if header in undecoded else wrong
                return
            lines = data.split(b"\n", dialect.skipped)
            self._line += dialect.skipped
            data = lines[-1] if len(lines) > dialect.skipped else b""
            undecoded = [number - dialect.skipped for number in undecoded if number >= dialect.skipped]
        for rows, line in _pieces(data, undecoded):
            yield from self._rows(rows) if self._is_mapped else self._unmapped.items(rows, self._line)
            # Faster than `count`, where there are many.
            self._line += int(np.count_nonzero(np.frombuffer(rows, dtype=np.uint8) == _BREAK))
            if line is not None:
                self._line += 1
                yield self._not_decoded(line)

    def _not_decoded(self, line: bytes) -> Diagnostic:
        text = line.decode(errors="replace")
        name = self._text.encoding.upper()
        wrong = LineError(f"this is not {name}", max(text.find("\ufffd"), 0))
        return wrong_line(self._source.name, self._line, text, wrong, _ENCODING.format(name))

    def _begin(self, dialect: Dialect, data: bytes) -> Diagnostic | None:
        """Which mappings fit the header, or that none is needed; what is wrong where neither is the case."""
        source = self._source
        self._served = self._serving(dialect)
        has_mappings = bool(source.mappings) or source.kind == "background"
        self._is_mapped = bool(self._served) or (has_mappings and not has_times(dialect.names))
        line, header = max(dialect.skipped, 1), dialect.separator.join(dialect.names)
        if not self._is_mapped:
            return self._unmapped.begin(dialect, data.decode(errors="replace"))
        source.tally.met(dialect.names)
        for mapping in self._served:
            # Also where no row follows.
            source.tally.fitted(mapping, 0)
        used = {name for mapping in self._served for path in mapping.paths for name in (path.column, path.whole)}
        if doubled := [name for name in dialect.doubled if name in used]:
            return source.doubled(doubled[0], line, header)
        if not self._served:
            row = first_row(data.decode(errors="replace"), dialect)
            return source.misfit(row, line, header, dialect.has_header)
        return source.untimed(self._served)

    def _serving(self, dialect: Dialect) -> tuple[Mapping, ...]:
        names = {*dialect.names, *self._source.partition}
        return tuple(
            mapping
            for mapping in self._source.mappings
            if all((path.whole if not path.array else "") in names for path in mapping.paths)
        )

    def _rows(self, data: bytes) -> Iterator[Item]:
        assert self._dialect is not None
        if not data or data.isspace():
            return
        records = _Records(data, self._dialect, self._line)
        try:
            table, invalid = _parsed(data, self._dialect, self._wanted())
        except ValueError:
            # Something in it cannot be parsed as a whole: what is wrong with which row is found slowly.
            table, invalid = records.parsed(self._wanted())
        table = with_partition(table, self._source.partition)
        reports: RowReports = {}
        for before, (number, reason) in enumerate(invalid):
            # Rows that were left out come before the row that has their place now; comments are only left out.
            if reason:
                reports.setdefault(number - before, []).append(partial(self._invalid, records, number, reason))
        gone = [number for number, _ in invalid]
        place = partial(records.place, gone)
        served: list[tuple[Mapping, Columns]] = []
        for mapping in self._served:
            columns = columns_of(table, mapping, self._dialect.comma)
            assert columns is not None, "its names are in the header"
            served.append((mapping, columns))
        yield from self._items(served, place, reports)

    def _wanted(self) -> list[str]:
        names = dict.fromkeys(path.whole for mapping in self._served for path in mapping.paths)
        return [name for name in names if name not in self._source.partition]

    def _wrong(
        self, row: int, path: Path | None, reason: str, place: Callable[[int], tuple[int, str]]
    ) -> Iterator[Diagnostic]:
        """The diagnostic for a row; none for a comment, a line that begins with `#` and is not a row."""
        return iter(()) if _is_comment(place(row)[1]) else super()._wrong(row, path, reason, place)

    def _invalid(self, records: "_Records", number: int, reason: str) -> Iterator[Diagnostic]:
        line, text = records.place((), number)
        yield wrong_line(self._source.name, line, text, LineError(reason, 0), _IN_QUOTES)


def _pieces(data: bytes, undecoded: Sequence[int]) -> Iterator[tuple[bytes, bytes | None]]:
    """Lines, and after them one that is not in the encoding of the file."""
    if not undecoded:
        yield data, None
        return
    lines, start = data.split(b"\n"), 0
    for number in undecoded:
        yield b"".join(line + b"\n" for line in lines[start:number]), lines[number]
        start = number + 1
    yield b"\n".join(lines[start:]), None


_ENCODING: Final = (
    'the table is read as {}; say how it is written in a deployment, such as `encoding = "cp1252"`, '
    "or leave such lines out with `--on-error skip`"
)
_IN_QUOTES: Final = "put a cell with a separator or a line break in quotes, and double the quotes inside it"


def _parsed(data: bytes, dialect: Dialect, wanted: list[str]) -> tuple[Any, list[tuple[int, str]]]:
    """The columns of rows, each with a dictionary of its texts; and rows that have not as many cells as the header.

    `ValueError` where the text is not CSV throughout.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow

    invalid: list[tuple[int, str]] = []
    places = {name: place for place, name in reversed(list(enumerate(dialect.names)))}
    names = [str(place) for place in range(len(dialect.names))]

    def leave_out(row: Any) -> str:
        comment = _is_comment(row.text or "")
        invalid.append((row.number - 1, "" if comment else _width(row.expected_columns, row.actual_columns)))
        return "skip"

    quoted = _QUOTE in data
    coded = pa.dictionary(pa.int32(), pa.string())
    columns = [str(places[name]) for name in wanted]
    table = arrow.read_csv(
        pa.BufferReader(data),
        read_options=arrow.ReadOptions(column_names=names, use_threads=False, block_size=len(data) + 1),
        parse_options=arrow.ParseOptions(
            delimiter=dialect.separator,
            quote_char='"' if quoted else False,
            newlines_in_values=quoted,
            invalid_row_handler=leave_out,
        ),
        convert_options=arrow.ConvertOptions(
            column_types=dict.fromkeys(columns, coded),
            include_columns=columns,
            strings_can_be_null=True,
            null_values=EMPTY,
            check_utf8=False,
        ),
    )
    if not wanted:
        return _Empty(table.num_rows), invalid
    arrays = [_trimmed(column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)) for column in table]
    return pa.RecordBatch.from_arrays(arrays, names=wanted), invalid


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


class _Empty:
    """Rows of which no column is wanted."""

    def __init__(self, rows: int) -> None:
        import pyarrow as pa

        self.num_rows = rows
        self.schema = pa.schema([])


def _trimmed(column: Any) -> Any:
    """A column without the blanks around its texts; texts of nothing else are empty."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    trimmed = pc.utf8_trim_whitespace(column.dictionary)
    if trimmed.equals(column.dictionary):
        return column
    empty = pc.is_in(trimmed, value_set=pa.array(EMPTY))
    values = pc.if_else(empty, pa.scalar(None, pa.string()), trimmed)
    return values.take(column.indices).dictionary_encode()


def _width(expected: int, actual: int) -> str:
    cells = "cell" if actual == 1 else "cells"
    return f"the table has {expected} columns, but this row has {actual} {cells}"


class _Records:
    """The rows of a block of text with their lines: looked for only where something is wrong with one of them."""

    def __init__(self, data: bytes, dialect: Dialect, before: int) -> None:
        self._data = data
        self._dialect = dialect
        self._before = before
        self._lines: list[tuple[int, str]] | None = None

    def place(self, gone: Sequence[int], row: int) -> tuple[int, str]:
        """The number of the line of a row, and the line; rows that are gone are not counted."""
        for number in gone:
            row += number <= row
        lines = self._found()
        return lines[row] if row < len(lines) else (self._before + 1, "")

    def _found(self) -> list[tuple[int, str]]:
        if self._lines is None:
            self._lines = []
            start = self._before + 1
            pending: list[str] = []
            for line in self._data.decode(errors="replace").split("\n"):
                pending.append(line)
                record = "\n".join(pending)
                if record.count('"') % 2 == 0:
                    if record.strip("\r\n"):
                        self._lines.append((start, pending[0].rstrip("\r")))
                    start += len(pending)
                    pending = []
        return self._lines

    def parsed(self, wanted: list[str]) -> tuple[Any, list[tuple[int, str]]]:
        """The columns of the rows that can be read, one line after the other, and what is wrong with the others."""
        import pyarrow as pa

        width = len(self._dialect.names)
        places = [self._dialect.names.index(name) for name in wanted]
        invalid: list[tuple[int, str]] = []
        cells: list[list[str | None]] = [[] for _ in wanted]
        rows = 0
        lines = self._data.decode(errors="replace").splitlines()
        self._lines = [(self._before + number, line) for number, line in enumerate(lines, 1) if line.strip()]
        for number, (_, line) in enumerate(self._lines):
            try:
                row = next(csv.reader([line], delimiter=self._dialect.separator, strict=True), [])
            except csv.Error as error:
                invalid.append((number, "" if _is_comment(line) else f"this is not valid CSV: {error}"))
                continue
            if len(row) != width:
                invalid.append((number, "" if _is_comment(line) else _width(width, len(row))))
                continue
            rows += 1
            for column, place in zip(cells, places, strict=True):
                text = row[place].strip()
                column.append(None if text in EMPTY else text)
        if not wanted:
            return _Empty(rows), invalid
        arrays = [pa.array(column, type=pa.string()).dictionary_encode() for column in cells]
        return pa.RecordBatch.from_arrays(arrays, names=wanted), invalid
