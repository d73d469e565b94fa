"""Tables of text as streams: CSV of any dialect, whose rows mappings make facts of."""

import csv
from codecs import BOM_UTF8, getincrementaldecoder
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from thalweg.connectors.batches import Item
from thalweg.connectors.lines import LineError, State, wrong_line
from thalweg.connectors.mapping.dialect import Dialect, dialect_of, encoding_of
from thalweg.connectors.mapping.mapped_facts import Columns, Said
from thalweg.connectors.mapping.mapped_rows import MappedRows, MappedStream, columns_of
from thalweg.connectors.mapping.mapping import Mapping
from thalweg.connectors.mapping.propose import first_row
from thalweg.connectors.tabular import CsvReader, has_times
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
    >>> reader = MappedCsvReader(source, CsvReader(words, "in.csv", "in", Clock()))
    >>> items = [*reader.feed(b"device;temp;ts\\nd1;21,5;36\\nd2;;36\\nd3;22;37\\n"), *reader.finish()]
    >>> [(tick, [str(fact) for fact in batch.facts(words)]) for tick, batch in items]
    [(36, ['temp(d1,21.5)']), (37, ['temp(d3,22)'])]
    """

    def __init__(self, source: MappedStream, unmapped: CsvReader) -> None:
        super().__init__(source)
        self._unmapped = unmapped
        self._is_mapped = True
        self._dialect: Dialect | None = None
        self._served: tuple[Mapping, ...] = ()
        self._encoding = ""
        self._rest = b""
        self._line = 0
        self.hopeless = False

    # Blocks ---------------------------------------------------------------------------------------------------------

    def feed(self, block: bytes) -> Iterator[Item]:
        if not self._is_mapped:
            return self._unmapped.feed(block)
        lines = self._rest + block
        if self._dialect is None and len(lines) < _HEADER_NEEDS and self._source.kind != "live":
            # A few lines do not say how a table is written; the first of a live one must do.
            self._rest = lines
            return iter(())
        end = self._complete(lines)
        self._rest = lines[end:]
        return self._read(lines[:end])

    def finish(self) -> Iterator[Item]:
        rest, self._rest = self._rest, b""
        yield from self._read(rest)
        if not self._is_mapped:
            yield from self._unmapped.finish()

    def save(self) -> State:
        if not self._is_mapped:
            return {"unmapped": self._unmapped.save()}
        dialect = None if self._dialect is None else self._dialect.as_data()
        rest = self._rest.decode("latin-1")
        return {"rest": rest, "line": self._line, "encoding": self._encoding, "dialect": dialect, "no": self.hopeless}

    def load(self, saved: State) -> None:
        if "unmapped" in saved:
            self._is_mapped = False
            self._unmapped.load(saved["unmapped"])
            return
        self._rest, self._line = saved["rest"].encode("latin-1"), saved["line"]
        self._encoding, self.hopeless = saved["encoding"], saved["no"]
        if saved["dialect"] is not None:
            self._dialect = Dialect.of_data(saved["dialect"])
            self._served = self._serving(self._dialect)

    def _complete(self, lines: bytes) -> int:
        """How much of it is whole rows: a line break in quotes is none."""
        self._encoding = self._encoding or (encoding_of(lines) if lines else "")
        if self._encoding.startswith("utf-16"):
            # The two bytes of a line break stand at an even place.
            sign = "\n".encode(self._encoding)
            end = lines.rfind(sign)
            while end % 2 and end >= 0:
                end = lines.rfind(sign, 0, end)
            return end + 2 if end >= 0 else 0
        end = lines.rfind(b"\n") + 1
        if _QUOTE in lines and lines.count(_QUOTE, 0, end) % 2:
            end = lines.rfind(b"\n", 0, lines.rfind(_QUOTE, 0, end)) + 1
        return end

    def _text(self, data: bytes) -> bytes:
        """The bytes as UTF-8, without a mark; a file that is not UTF-8 in one place is as Windows writes it."""
        self._encoding = self._encoding or encoding_of(data)
        if self._encoding.startswith("utf-16"):
            text = getincrementaldecoder(self._encoding)("replace").decode(data, True)
            return text.removeprefix("\ufeff").encode()
        data = data.removeprefix(BOM_UTF8) if self._line == 0 else data
        if data.isascii():
            return data
        if self._encoding == "utf-8":
            try:
                data.decode()
                return data
            except UnicodeDecodeError:
                pass
        return data.decode("cp1252", errors="replace").encode()

    # Rows -----------------------------------------------------------------------------------------------------------

    def _read(self, data: bytes) -> Iterator[Item]:
        if not data or self.hopeless:
            return
        data = self._text(data)
        if b"\n" not in data:
            # Lines may end as they once did on a Macintosh.
            data = data.replace(b"\r", b"\n")
        if self._dialect is None:
            wanted = (frozenset(path.whole for path in one.paths) for one in self._source.mappings)
            dialect = dialect_of(data.decode(errors="replace"), wanted)
            if dialect is None:
                return
            if has_times(dialect.names) and not self._serving(dialect):
                self._is_mapped = False
                yield from self._unmapped.feed(data + self._rest)
                self._rest = b""
                return
            wrong = self._begin(dialect, data)
            if wrong is not None:
                self.hopeless = True
                yield wrong
                return
            lines = data.split(b"\n", dialect.skipped)
            self._line += dialect.skipped
            data = lines[-1] if len(lines) > dialect.skipped else b""
        yield from self._rows(data)
        # Faster than `count`, where there are many.
        self._line += int(np.count_nonzero(np.frombuffer(data, dtype=np.uint8) == _BREAK))

    def _begin(self, dialect: Dialect, data: bytes) -> Diagnostic | None:
        """Which mappings fit the header; what is wrong where none does."""
        self._dialect = dialect
        source = self._source
        source.tally.met(dialect.names)
        self._served = self._serving(dialect)
        for one in self._served:
            # Also where no row follows.
            source.tally.fitted(one, 0)
        header = dialect.separator.join(dialect.names)
        used = {name for mapping in self._served for path in mapping.paths for name in (path.column, path.whole)}
        if doubled := [name for name in dialect.doubled if name in used]:
            return source.doubled(doubled[0], max(dialect.skipped, 1), header)
        if not self._served:
            row = first_row(data.decode(errors="replace"), dialect)
            return source.misfit(row, max(dialect.skipped, 1), header, dialect.has_header)
        return source.untimed(self._served)

    def _serving(self, dialect: Dialect) -> tuple[Mapping, ...]:
        names = set(dialect.names)
        return tuple(
            one
            for one in self._source.mappings
            if all((path.whole if not path.array else "") in names for path in one.paths)
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
        said: Said = {}
        for before, (number, reason) in enumerate(invalid):
            # Rows that were left out come before the row that has their place now.
            said.setdefault(number - before, []).append(partial(self._invalid, records, number, reason))
        gone = [number for number, _ in invalid]
        place = partial(records.place, gone)
        found: list[tuple[Mapping, Columns]] = []
        for mapping in self._served:
            columns = columns_of(table, mapping, self._dialect.comma)
            assert columns is not None, "its names are in the header"
            found.append((mapping, columns))
        yield from self._items(found, place, said)

    def _wanted(self) -> list[str]:
        return list(dict.fromkeys(path.whole for mapping in self._served for path in mapping.paths))

    def _invalid(self, records: "_Records", number: int, reason: str) -> Iterator[Diagnostic]:
        line, text = records.place((), number)
        yield wrong_line(self._source.name, line, text, LineError(reason, 0), _IN_QUOTES)


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
        invalid.append((row.number - 1, _width(row.expected_columns, row.actual_columns)))
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


class _Empty:
    """Rows of which no column is wanted."""

    def __init__(self, rows: int) -> None:
        self.num_rows = rows


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
                whole = "\n".join(pending)
                if whole.count('"') % 2 == 0:
                    if whole.strip("\r\n"):
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
                invalid.append((number, f"this is not valid CSV: {error}"))
                continue
            if len(row) != width:
                invalid.append((number, _width(width, len(row))))
                continue
            rows += 1
            for column, place in zip(cells, places, strict=True):
                text = row[place].strip()
                column.append(None if text in EMPTY else text)
        if not wanted:
            return _Empty(rows), invalid
        arrays = [pa.array(column, type=pa.string()).dictionary_encode() for column in cells]
        return pa.RecordBatch.from_arrays(arrays, names=wanted), invalid
