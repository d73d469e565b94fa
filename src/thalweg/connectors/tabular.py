"""Tables as streams: CSV with a line for each triple or fact, and Parquet with the same columns.

    s,p,o,t                        fact,t
    road1,speed,12,36              "speed(road1,12)",36
    <a>,<p>,<b>,36                 jam,37

Columns come in any order, `stream` may be one of them, and others are passed over. A cell holds a term as facts or
N-Triples write it; any other text is a string. One line of CSV is one row: what would break the line inside a cell is
written as in every string, `\\n`. Other separators than the comma are found out, as with mappings (`mapped_csv`).

A Parquet file says at its end what is in it, so it cannot be read as blocks of its own bytes. Its transport hands over
blocks of rows instead, each in Arrow's format for streams.
"""

import csv
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import accumulate, repeat
from typing import Any, Final, NamedTuple

import numpy as np

from thalweg.connectors.batches import Gatherer, Item, Stated, moment, triple
from thalweg.connectors.files import PathTransport, shortened
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.lines import LineError, State, lines_of, wrong_line
from thalweg.connectors.mapping.dialect import Dialect, cells_of, with_point
from thalweg.connectors.mapping.instants import instants
from thalweg.connectors.mapping.mapping import Path, Time
from thalweg.connectors.mapping.propose import proposal, proposal_for_text
from thalweg.connectors.storage import StoredFile, unreadable
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.languages.lars.facts import read_fact
from thalweg.model.dictionary import Dictionary
from thalweg.model.predicate import Predicate
from thalweg.model.python_values import check_exact
from thalweg.model.rdf import BLANK, IRI, LITERAL, names_a_predicate, number, term
from thalweg.model.term import NUMERIC, constant
from thalweg.model.time import MOST_TICKS, Clock

COLUMNS: Final = ("s", "p", "o", "fact", "t", "stream")
ROWS: Final = 65_536

_KEPT: Final = 65_536
_RDF: Final = re.compile(rf"(?:{IRI}|{BLANK}|{LITERAL})\Z")
_SHAPE: Final = "a table has the columns s, p, o and t, or fact and t"
_SIGNS: Final = "put a cell with a separator or a quote in quotes, and double the quotes inside it"

STATING: Final = (frozenset({"fact", "t"}), frozenset({"s", "p", "o", "t"}))
"""The columns of tables that need no mapping."""


def has_times(names: Sequence[str]) -> bool:
    """Whether a table with these columns states facts with their times, and needs no mapping.

    >>> has_times(["t", "fact"]), has_times(["t", "temp"])
    (True, False)
    """
    return any(required <= {*names} for required in STATING)


class TableLayout:
    """The positions of a table's columns, by which a row becomes a statement.

    >>> TableLayout(["t", "s", "p", "o"], "in", Clock()).stated(["36", "road1", "speed", "12"])
    (36, 'in', 'speed/2', ('road1', '12'))
    """

    def __init__(self, names: Sequence[str], stream: str | None, clock: Clock, comma: bool = False) -> None:
        def term(cell: object) -> str:
            return cell_term(with_point(cell) if comma and isinstance(cell, str) else cell, stream or "")

        wanted = ("t", "fact") if "fact" in names else ("t", "s", "p", "o")
        if missing := [f"no column `{name}`" for name in wanted if name not in names][
            : 1 if "t" not in names else None
        ]:
            raise ShapeError(f"the table has {' and '.join(missing)}", 0)
        readers: dict[str, Callable[[object], Any]] = {
            "t": lambda cell: cell.tick if isinstance(cell, _Stamp) else moment(str(cell).strip(), clock),
            "s": term,
            "p": _predicate,
            "o": term,
            "fact": _fact,
        }
        # A local time may come twice, and be another one then.
        kept = [name for name in wanted if name != "t" or clock.zone is None]
        self._columns = [(names.index(name), _Column(name, readers[name], name in kept)) for name in wanted]
        self._width = len(names)
        self._stream = stream
        self._streams_at = names.index("stream") if "stream" in names else None

    def stated(self, row: Sequence[Any]) -> Stated:
        """The statement of a row; `LineError` has the number of the cell that is wrong."""
        if len(row) != self._width:
            cells = f"the table has {self._width} columns, but this row has {len(row)}"
            raise LineError(f"{cells}; put a cell with a separator in quotes", 0)
        try:
            tick, *terms = [column[row[at]] for at, column in self._columns]
        except (ValueError, TypeError):
            raise self._wrong(row) from None
        stream = self._stream if self._streams_at is None else row[self._streams_at] or self._stream
        if self._streams_at is not None and not isinstance(stream, str | None):
            raise LineError(f"`{stream}` is not the name of a stream", self._streams_at)
        return triple(tick, stream, *terms) if len(terms) == 3 else (tick, stream, *terms[0])

    def _wrong(self, row: Sequence[Any]) -> LineError:
        at = 0
        try:
            for at, column in self._columns:
                column[row[at]]
        except ValueError as error:
            return LineError(str(error), at)
        except TypeError:
            pass
        return LineError(f"`{row[at]}` is neither a text nor a number", at)


class ShapeError(LineError):
    """A table that does not state facts by itself, so that a mapping must."""


class _Column(dict[Any, Any]):
    """Reads the cells of a column; most cells occur again, and values are `kept` where they do not change."""

    def __init__(self, name: str, read: Callable[[object], Any], kept: bool) -> None:
        self._name = name
        self._read = read
        self._kept = kept

    def __missing__(self, cell: object) -> Any:
        if cell is None or (isinstance(cell, str) and not cell.strip()):
            raise ValueError(f"the cell in column `{self._name}` is empty")
        value = self._read(cell)
        if self._kept:
            if len(self) >= _KEPT:
                self.clear()
            self[cell] = value
        return value


def cell_term(value: object, scope: str = "") -> str:
    """The term in a cell; `ValueError` where there is none.

    >>> cell_term("road1"), cell_term("Main Street"), cell_term("<a>"), cell_term(' "b"@EN'), cell_term(2.50)
    ('road1', '"Main Street"', '<a>', '"b"@en', '2.5')
    """
    match value:
        case str():
            return _read_cell(value, scope)
        case bool():
            return str(value).lower()
        case Decimal():
            spelling = _number(f"{value:f}")
            check_exact(value, spelling)
            return spelling
        case int() | float():
            return _number(str(value))
    raise ValueError(f"`{value}` is neither a text nor a number")


def _read_cell(cell: str, scope: str) -> str:
    text = cell.strip()
    if NUMERIC.match(text):
        return _number(text)
    if _RDF.match(text):
        return term(text, scope)
    if text[:1] in ("<", '"') or text.startswith("_:"):
        raise ValueError(f"`{text}` is not a term")
    return constant(text)


def _number(text: str) -> str:
    spelling = number(text)
    if spelling is None:
        raise ValueError(f"`{text}` is not a number that can be calculated with")
    return spelling


def _predicate(cell: object) -> str:
    predicate = cell_term(cell)
    if not names_a_predicate(predicate):
        raise ValueError(f"`{predicate}` cannot be a predicate")
    return predicate


def _fact(cell: object) -> tuple[Predicate, tuple[str, ...]]:
    try:
        fact = read_fact(str(cell))
    except RejectedError as error:
        raise ValueError(error.diagnostics[0].message) from None
    return fact.signature, fact.terms


class StatedRows:
    """Rows of CSV that state facts by themselves.

    >>> rows = StatedRows(Dictionary(), "in.csv", "in", Clock())
    >>> rows.begin(Dialect(("s", "p", "o", "t")), "")
    >>> [(tick, batch.order) for tick, batch in rows.items(b"road1,speed,12,36\\n", 1)]
    [(36, ['speed/2'])]
    """

    def __init__(self, words: Dictionary, name: str, stream: str | None, clock: Clock, scope: str = "") -> None:
        self._name = name
        self._stream = stream
        self._clock = clock
        self._gatherer = Gatherer(words)
        self._separator = ","
        self._layout: TableLayout | None = None

    def begin(self, dialect: Dialect, text: str) -> Diagnostic | None:
        """Reads the header of a table, which begins with this text; what is wrong with it."""
        self._separator = dialect.separator
        at = max(dialect.skipped, 1)
        header = text.splitlines()[at - 1] if text else ""
        # Without a header, what is missing is missing in the first line.
        names = (
            dialect.names if has_times(dialect.names) else [cell.strip() for cell in cells_of(header, self._separator)]
        )
        try:
            self._layout = TableLayout(names, self._stream, self._clock, dialect.comma)
        except ShapeError as wrong:
            return wrong_line(self._name, at, header, wrong, proposal_for_text(text))
        return None

    def items(self, lines: bytes, before: int) -> Iterator[Item]:
        """The items of lines, of which some are before them; none of them goes on in the next."""
        return self._gatherer.gather(self._statements(lines_of(lines.decode(errors="replace")), before))

    def _statements(self, lines: list[str], before: int) -> Iterator[Stated | Diagnostic]:
        assert self._layout is not None
        for at, (line, row) in enumerate(zip(lines, self._rows(lines), strict=True), before + 1):
            if not row:
                continue
            try:
                if isinstance(row, LineError):
                    raise row
                yield self._layout.stated(row)
            except LineError as wrong:
                # A line that begins with `#` and is not a row is a comment.
                if not line.lstrip().startswith("#"):
                    yield self._wrong(at, line, row, wrong)

    def _wrong(self, at: int, line: str, row: list[str] | LineError, wrong: LineError) -> Diagnostic:
        if isinstance(row, LineError):
            return wrong_line(self._name, at, line, wrong, _SIGNS)
        return wrong_cell(self._name, at, line, row, wrong)

    def _rows(self, lines: list[str]) -> "list[list[str]] | Iterator[list[str] | LineError]":
        """The cells of each line: all at once, unless one of them is not as it should be."""
        try:
            rows = list(csv.reader(lines, delimiter=self._separator, strict=True))
            # A quote that is not closed runs on into the next line.
            if len(rows) == len(lines):
                return rows
        except csv.Error:
            pass
        return map(self._row, lines)

    def _row(self, line: str) -> list[str] | LineError:
        try:
            return next(csv.reader([line], delimiter=self._separator, strict=True))
        except csv.Error as error:
            return LineError(f"this is not valid CSV: {error}", 0)


def wrong_cell(name: str, number: int, line: str, row: Sequence[object], wrong: LineError) -> Diagnostic:
    """The diagnostic for a row, at the position of the wrong cell in the line."""
    texts = list(map(_shown, row[: wrong.at + 1]))
    # Quotes make a line longer than its cells, never shorter.
    before = sum(len(text) + 1 for text in texts[:-1])
    return wrong_line(name, number, line, LineError(str(wrong), max(before, line.find(texts[-1], before))), _SHAPE)


def _shown(cell: object) -> str:
    return "" if cell is None else str(cell)


class ArrowReader:
    """Reads blocks that each hold rows in Arrow's format for streams.

    >>> import pyarrow as pa
    >>> rows = pa.RecordBatch.from_pydict({"s": ["a", "b"], "p": ["speed", "speed"], "o": [12, 35], "t": [36, 37]})
    >>> reader = ArrowReader(Dictionary(), "in.parquet", "in", Clock())
    >>> [(tick, batch.order) for tick, batch in reader.feed(pack(rows))]
    [(36, ['speed/2']), (37, ['speed/2'])]
    """

    def __init__(self, words: Dictionary, name: str, stream: str | None, clock: Clock, scope: str = "") -> None:
        self.name = name
        self._stream = stream
        self._clock = clock
        self._gatherer = Gatherer(words)
        self._row = 0
        self.hopeless = False

    def feed(self, block: bytes) -> Iterator[Item]:
        import pyarrow as pa

        for batch in pa.ipc.open_stream(block):
            yield from self._gatherer.gather(self._statements(batch))

    def finish(self) -> Iterator[Item]:
        return iter(())

    def save(self) -> State:
        return {"row": self._row, "hopeless": self.hopeless}

    def load(self, saved: State) -> None:
        self._row, self.hopeless = saved["row"], saved["hopeless"]

    def _statements(self, batch: Any) -> Iterator[Stated | Diagnostic]:
        if self.hopeless:
            return
        names = batch.schema.names
        try:
            layout = TableLayout(names, self._stream, self._clock)
        except LineError as wrong:
            self.hopeless = True
            yield wrong_line(self.name, 1, ",".join(names), wrong, proposal(first_of(batch)))
            return
        try:
            columns = [self._values(name, batch.column(name)) for name in names]
        except UnicodeDecodeError:
            self.hopeless = True
            broken = LineError("the table has a text that is not valid UTF-8", 0)
            yield wrong_line(self.name, self._row + 1, ",".join(names), broken, _SHAPE)
            return
        for row in zip(*columns, strict=True):
            self._row += 1
            try:
                yield layout.stated(row)
            except LineError as wrong:
                yield wrong_cell(self.name, self._row, ",".join(map(_shown, row)), row, wrong)

    def _values(self, name: str, column: Any) -> Iterable[Any]:
        """The values of a column; timestamps become ticks, other values are read row by row."""
        import pyarrow as pa

        if name == "t" and pa.types.is_date(column.type):
            column = column.cast(pa.timestamp("ms"))
        if name != "t" or not pa.types.is_timestamp(column.type):
            return list(column.to_pylist())
        self._clock.notation.stamped = True
        clock, times = self._clock, instants(column, Time(Path((name,))), self._clock)
        ticks = (times.words - clock.epoch * 1_000) // (clock.tick_length * 1_000)
        reasons = [times.wrong.get(row, "") for row in range(len(ticks))] if times.wrong else repeat("")
        stamps: list[_Stamp | None] = list(map(_Stamp, ticks.tolist(), times.words.tolist(), reasons))
        for row in () if times.null is None else np.flatnonzero(times.null).tolist():
            stamps[row] = None
        return stamps


class _Stamp(NamedTuple):
    """A timestamp of Arrow, whose tick is known; or what is `wrong` with it."""

    number: int
    written: int
    wrong: str = ""

    @property
    def tick(self) -> int:
        if self.wrong:
            raise ValueError(self.wrong)
        if not 0 <= self.number < MOST_TICKS:
            raise ValueError(f"`{self.written}` is outside the timeline, which begins at tick 0")
        return self.number


def first_of(batch: Any) -> dict[str, Any]:
    """The first row of a batch, where there is one, by column."""
    rows = batch.slice(0, 1).to_pylist()
    return dict(rows[0]) if rows else dict.fromkeys(batch.schema.names)


@dataclass(slots=True)
class ParquetTransport(PathTransport):
    """`readings.parquet`: blocks of rows, of the columns that matter: those that mappings name, or state facts."""

    wanted: Collection[str] = ()
    rows: int | None = None
    groups: Sequence[int] | None = None
    """Which groups of rows are read; None for all."""
    repeats: bool = field(default=True, init=False)
    _rows: int = field(default=0, init=False)
    _file: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        from pyarrow import ArrowException, parquet

        try:
            opened = self.path.open() if isinstance(self.path, StoredFile) else self.path
            self._file = parquet.ParquetFile(opened, coerce_int96_timestamp_unit="us")
        except (OSError, ArrowException, UnicodeDecodeError) as error:
            # Names in a damaged file are bytes that no text has.
            raise unreadable(self.name, error) from error

    def blocks(self, interrupt: Interrupt) -> Iterator[bytes]:
        from pyarrow import ArrowException

        try:
            names = self._file.schema_arrow.names
            # All of them where none matters, because what is said about that names them.
            columns = [name for name in names if name in COLUMNS or name in self.wanted]
            columns = columns if has_times(columns) or any(name in self.wanted for name in columns) else names
            schema = _with_instants(self._file)
            passed = 0
            for batch in self._file.iter_batches(self.rows or ROWS, self.groups, columns):
                if interrupt.asked:
                    return
                passed += len(batch)
                if passed > self._rows:
                    self._rows = passed
                    yield pack(_as_instants(batch, schema))
            if not passed:
                # Without rows its columns are there, all the same.
                yield from map(pack, empty_batches(schema))
        except (OSError, ArrowException, UnicodeDecodeError) as error:
            raise unreadable(self.name, error) from error
        finally:
            self.close()

    def rows_before_groups(self) -> tuple[int, ...]:
        """The number of rows before each group of rows."""
        metadata = self._file.metadata
        sizes = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
        return tuple(accumulate(sizes[:-1], initial=0)) if sizes else ()

    def position(self) -> int:
        return self._rows

    def seek(self, position: int) -> None:
        """Goes on behind some rows, which are a number of whole blocks."""
        if position > self._file.metadata.num_rows:
            raise shortened(self.name)
        self._rows = position

    def close(self) -> None:
        self._file.close()


def _with_instants(file: Any) -> Any:
    """The schema of a Parquet file in which timestamps of 96 bits, as Spark writes them, are instants."""
    import pyarrow as pa

    leaves = (file.schema.column(place).physical_type for place in range(len(file.schema)))
    return pa.schema([field.with_type(_instant_type(field.type, leaves)) for field in file.schema_arrow])


def _instant_type(type_: Any, leaves: Iterator[str]) -> Any:
    """A type with the instants in it; `leaves` are the physical types of what is at the end of it, in order."""
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_struct(type_):
        return pa.struct([field.with_type(_instant_type(field.type, leaves)) for field in type_])
    if kinds.is_map(type_):
        key = _instant_type(type_.key_type, leaves)
        return pa.map_(key, type_.item_field.with_type(_instant_type(type_.item_type, leaves)))
    for is_list, list_of in ((kinds.is_list, pa.list_), (kinds.is_large_list, pa.large_list)):
        if is_list(type_):
            return list_of(type_.value_field.with_type(_instant_type(type_.value_type, leaves)))
    if kinds.is_fixed_size_list(type_):
        return pa.list_(type_.value_field.with_type(_instant_type(type_.value_type, leaves)), type_.list_size)
    return pa.timestamp("us", "UTC") if next(leaves, "") == "INT96" else type_


def _as_instants(batch: Any, schema: Any) -> Any:
    """A record batch with the types that a schema has for its columns."""
    import pyarrow as pa

    places = [schema.get_field_index(name) for name in batch.schema.names]
    # Two columns of one name are left to the reader, which reports them.
    wanted = batch.schema if -1 in places else pa.schema([schema.field(place) for place in places])
    return batch if wanted.equals(batch.schema) else batch.cast(wanted)


def empty_batches(schema: Any) -> list[Any]:
    """One batch that has columns and no rows."""
    import pyarrow as pa

    return [pa.RecordBatch.from_pylist([], schema=schema)]


def pack(batch: Any) -> bytes:
    """A batch of rows as a block."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return bytes(sink.getvalue())
