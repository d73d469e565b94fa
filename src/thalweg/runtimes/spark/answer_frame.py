"""The rows that buckets send become a DataFrame of answers, with the columns that tables have elsewhere.

    begin, end, unknown, interval, snapshot    one fact, or one clash
    block                                      an answer of any other kind, as a record
    late                                       a fact that came behind the watermark
    malformed, empty, warning                  a row that holds no fact, what deserves a warning

What a DataFrame holds must be known before the first row: what rules or tables do not say to be a number is a text.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Context, Decimal, InvalidOperation
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from thalweg.answers.answer_columns import AnswerColumns, Column, FactColumns, Row, cell
from thalweg.answers.record import Answer, changes, interval, snapshots
from thalweg.answers.table import arrow_column
from thalweg.model.number import show_number
from thalweg.model.predicate import Predicate
from thalweg.model.python_values import value_of
from thalweg.model.rdf import printed_fact
from thalweg.model.records import of_json
from thalweg.model.time import TimeFormat
from thalweg.model.values import number_of
from thalweg.planning.argument_types import DecimalType, Type
from thalweg.runtimes.spark.bucket_answers import (
    BECAME_UNKNOWN,
    BEGIN,
    END,
    INTERVAL,
    LATE_FACT,
    RECORD,
    SNAPSHOT,
    WARNING,
)
from thalweg.runtimes.spark.wire import EMPTY, MALFORMED, warning_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SQL: Final = {
    "time": "long",
    "window": "array<long>",
    "text": "string",
    "list": "array<string>",
    "value": "string",
    "integer": "long",
    "truth": "boolean",
    "pairs": "map<string,string>",
}
_SQL_TYPES: Final = {"integer": "long", "number": "double", "text": "string"}
_TIMES: Final = {"date": date, "timestamp": datetime}
_TEXTS: Final[Mapping[str, str]] = {}
_WIDE: Final = Context(prec=100)
_LATE: Final = (Column("op", "text"), Column("watermark", "time"), Column("message", "text"))
# An empty cell is as wrong as a bad one to those who look for the rows that are missing.
_OPS: Final = {MALFORMED: "malformed", EMPTY: "malformed", WARNING: "warning"}
_KINDS: Final = {"changes": (BEGIN, END, BECAME_UNKNOWN), "intervals": (INTERVAL,), "snapshot": (SNAPSHOT,)}

Arrays = dict[str, Any]
"""Columns by their names."""


@dataclass(frozen=True)
class AnswerFrame:
    """The columns of a DataFrame of answers, and how rows of buckets become rows of it.

    `of` chooses one predicate, whose arguments are columns of the `types` of SQL; with `late`, late facts are rows.
    Columns of times hold ticks; in texts they are written as `times` writes them. Beside answers of other kinds, facts
    come as `emit` shows them.

    >>> frame = AnswerFrame(FactColumns("intervals", ("R",)), TimeFormat(), Predicate("jam", 1), {"R": "long"})
    >>> frame.schema
    '`R` long, `from` long, `until` long'
    """

    kind: AnswerColumns
    times: TimeFormat
    of: Predicate | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    late: bool = False
    emit: str = "changes"

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Without the predicate where it is chosen; with those of late facts where they are wanted."""
        own = [column for column in self.kind.columns if self.of is None or column.name != "predicate"]
        return tuple(dict.fromkeys([*own, *(_LATE if self.late else ())]))

    @property
    def schema(self) -> str:
        """The columns as SQL writes them."""
        return ", ".join(f"`{column.name}` {self._type(column)}" for column in self.columns)

    def _type(self, column: Column) -> str:
        return self.types.get(column.name, _SQL[column.type])

    @property
    def kinds(self) -> list[str]:
        """The kinds of rows of buckets that it takes."""
        own = (*_KINDS[self.emit], RECORD) if self.kind.emit is None else _KINDS[self.kind.emit]
        return [*own, *([LATE_FACT, *_OPS] if self.late else [])]

    def answers(self, rows: "DataFrame", tick_length: int) -> "DataFrame":
        """Rows of buckets, of the kinds that it takes, as answers; times are timestamps where they are written so."""
        from pyspark.sql import functions as F  # noqa: N812

        from thalweg.runtimes.spark.ddl import struct_of

        def time(ticks: Any) -> Any:
            return F.timestamp_millis(ticks * F.lit(tick_length).cast("long")) if self.times.iso else ticks

        def shown(column: Column) -> Any:
            cells = F.col(f"`{column.name}`")
            if column.type == "time":
                cells = time(cells)
            elif column.type == "window":
                cells = F.transform(cells, time)
            return cells.alias(column.name)

        return rows.mapInArrow(self, struct_of(self.schema)).select(*map(shown, self.columns))

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Batches of rows of buckets as batches of rows of answers."""
        import pyarrow as pa
        import pyarrow.compute as pc

        read = self._records if self.kind.emit is None else self._facts
        for batch in batches:
            is_late = pc.equal(batch.column("kind"), LATE_FACT)
            is_other = pc.is_in(batch.column("kind"), value_set=pa.array([*_OPS]))
            is_answer = pc.invert(pc.or_(is_late, is_other))
            for mask, arrays_of in ((is_answer, read), (is_late, self._late_facts), (is_other, _others)):
                part = batch.filter(mask)
                if part.num_rows:
                    yield self._batch(arrays_of(part))

    def _batch(self, by_name: Arrays) -> Any:
        import pyarrow as pa

        count = len(next(iter(by_name.values())))
        arrays = []
        for column in self.columns:
            type_ = arrow_type(self._type(column))
            arrays.append(by_name[column.name].cast(type_) if column.name in by_name else pa.nulls(count, type_))
        return pa.RecordBatch.from_arrays(arrays, names=[column.name for column in self.columns])

    def _facts(self, batch: Any) -> Arrays:
        """The rows of an emitter as columns of facts, or of clashes."""
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = self.kind
        assert isinstance(kind, FactColumns), "facts have columns of facts"
        if kind.of_arguments:
            names = kind.names or ()
            types = [self.types.get(name, "string") for name in names]
            kept, arrays = fact_columns(batch.column("fact"), self.of, types)
            own = dict(zip(names if self.of else ("predicate", "args"), arrays, strict=True))
        else:
            kept, texts = pa.array(range(batch.num_rows)), batch.column("fact").to_pylist()
            own = _arrays(kind.inner, [kind.cells(text, self.times) for text in texts])
        rows = batch.take(kept)
        ticks, until = rows.column("t"), rows.column("until")
        if kind.emit == "intervals":
            return {**own, "from": ticks, "until": pc.if_else(pc.greater_equal(until, 0), until, None)}
        signs = pc.index_in(rows.column("kind"), value_set=pa.array(_KINDS["changes"]))
        return {**own, "t": ticks, "op": pa.array(["+", "-", "?"]).take(signs)}

    def _records(self, batch: Any) -> Arrays:
        """Records of answers as the columns of their kind."""
        rows: list[Row] = []
        for row in sorted(batch.to_pylist(), key=lambda row: (row["t"], row["kind"] != RECORD, row["until"] or 0)):
            answer = _record(row)
            # Where answers of one kind are chosen, there may be others.
            rows += self.kind.rows(answer, self.times) if self.kind.fits(answer) else ()
        return _arrays(self.kind.columns, rows, self.types)

    def _late_facts(self, batch: Any) -> Arrays:
        import pyarrow as pa

        ticks, facts = batch.column("t"), batch.column("fact")
        _, (predicates, arguments) = fact_columns(facts, None, [])
        op = pa.array(["late"] * batch.num_rows)
        own = {"predicate": predicates, "args": arguments, "from": ticks, "t": ticks, "kind": op}
        return {**own, "op": op, "watermark": batch.column("until"), "message": facts}


def sql_types(types: Mapping[str, Type]) -> dict[str, str]:
    """The types of columns as SQL writes them.

    >>> sql_types({"R": "text", "V": "integer"})
    {'R': 'string', 'V': 'long'}
    """
    return {name: _sql_type(type_) for name, type_ in types.items()}


def _sql_type(kind: Type) -> str:
    if isinstance(kind, DecimalType):
        return f"decimal({kind.precision},{kind.scale})"
    return _SQL_TYPES.get(kind, kind)


def _record(row: Mapping[str, Any]) -> Answer:
    """The answer that a row of a bucket stands for; a fact is an answer by itself."""
    tick, until, fact = row["t"], row["until"], row["fact"]
    match row["kind"]:
        case "block":
            answer: Answer = of_json(json.loads(fact))
            return answer
        case "interval":
            return interval(fact, tick, None if until is None or until < 0 else until)
        case "snapshot":
            return snapshots(tick, tick, (fact,))
        case kind:
            return changes(tick, *((fact,) if kind == change else () for change in _KINDS["changes"]))


def _others(batch: Any) -> Arrays:
    """Rows that hold no fact, and warnings, with the reason in their message."""
    import pyarrow as pa

    kinds, texts = batch.column("kind").to_pylist(), batch.column("fact").to_pylist()
    pairs = zip(kinds, texts, strict=True)
    messages = [warning_of(text).render() if kind == WARNING else text for kind, text in pairs]
    return {"op": pa.array([_OPS[kind] for kind in kinds]), "message": pa.array(messages, pa.string())}


def _arrays(columns: Sequence[Column], rows: Sequence[Row], types: Mapping[str, str] = _TEXTS) -> Arrays:
    cells = zip(*rows, strict=True) if rows else ((),) * len(columns)
    return {column.name: _array(column, values, types) for column, values in zip(columns, cells, strict=True)}


def _array(column: Column, cells: Sequence[Any], types: Mapping[str, str]) -> Any:
    """A column whose type does not depend on what is in it."""
    if column.type != "value":
        return arrow_column(column, cells)
    if types.get(column.name, "string") != "string":
        return _typed_cells(cells, types[column.name])
    return arrow_column(Column(column.name, "text"), [None if cell is None else str(cell) for cell in cells])


def _typed_cells(cells: Sequence[Any], kind: str) -> Any:
    """Cells as a column of a type of SQL; null where one has no value of the type.

    >>> _typed_cells([3, "a", None], "long").to_pylist(), _typed_cells(["2026-11-15"], "date").to_pylist()
    ([3, None, None], [datetime.date(2026, 11, 15)])
    """
    import pyarrow as pa

    if kind in _TIMES:
        return pa.array([_parsed(_TIMES[kind].fromisoformat, cell) for cell in cells], arrow_type(kind))
    return _numbers([_parsed(Decimal, cell) for cell in cells], kind)


def _parsed(read: Callable[[str], Any], cell: Any) -> Any:
    try:
        return None if cell is None else read(str(cell))
    except (ValueError, InvalidOperation):
        return None


# Facts as columns ---------------------------------------------------------------------------------------------------


def fact_columns(facts: Any, of: Predicate | None, types: list[str]) -> tuple[Any, list[Any]]:
    """The rows that are kept, and their columns.

    >>> import pyarrow as pa
    >>> facts = pa.array(["jam(a)", 'hot("b c",30.5)', "idle"])
    >>> [column.to_pylist() for column in fact_columns(facts, None, [])[1]]
    [['jam', 'hot', 'idle'], [['a'], ['b c', '30.5'], []]]
    >>> kept, columns = fact_columns(facts, Predicate("hot", 2), ["string", "double"])
    >>> kept.to_pylist(), [column.to_pylist() for column in columns]
    ([1], [['b c'], [30.5]])
    """
    import pyarrow as pa

    encoded = facts.dictionary_encode()
    parsed = [printed_fact(text) for text in encoded.dictionary.to_pylist()]
    places = encoded.indices.to_pylist()
    if of is None:
        names = pa.array([parsed[place].predicate for place in places], pa.string())
        arguments = pa.array(
            [[str(cell(term)) for term in parsed[place].terms] for place in places], pa.list_(pa.string())
        )
        return pa.array(range(len(places)), pa.int64()), [names, arguments]
    kept = [row for row, place in enumerate(places) if parsed[place].signature == of]
    rows = [parsed[places[row]].terms for row in kept]
    columns = [_typed([terms[place] for terms in rows], kind) for place, kind in enumerate(types)]
    return pa.array(kept, pa.int64()), columns


def _typed(terms: list[str], kind: str) -> Any:
    """The terms as a column of a type of SQL; null where one has no value of the type."""
    import pyarrow as pa

    if kind == "string":
        return pa.array([str(cell(term)) for term in terms], pa.string())
    if kind in _TIMES:
        values = map(value_of, terms)
        return pa.array([value if type(value) is _TIMES[kind] else None for value in values], arrow_type(kind))
    words = [number_of(term) for term in terms]
    return _numbers([None if word is None else Decimal(show_number(word)) for word in words], kind)


def _numbers(numbers: "list[Decimal | None]", kind: str) -> Any:
    """Numbers as a column of a type of SQL; null where one does not fit."""
    import pyarrow as pa

    if kind == "double":
        return pa.array([None if number is None else float(number) for number in numbers], pa.float64())
    type_ = pa.decimal128(19, 0) if kind == "long" else arrow_type(kind)
    fitting = [None if number is None else _fitting(number, type_.precision, type_.scale) for number in numbers]
    return pa.array(fitting, type_).cast(arrow_type(kind))


def _fitting(number: Decimal, precision: int, scale: int) -> Decimal | None:
    """The number with so many digits behind the point; None where it has more, or too many before it."""
    exact = number.quantize(Decimal(1).scaleb(-scale), context=_WIDE)
    return exact if exact == number and exact.adjusted() < precision - scale else None


def arrow_type(sql: str) -> Any:
    """The type of Arrow for one of SQL; text for those that are not listed.

    >>> arrow_type("decimal(12,2)")
    Decimal128Type(decimal128(12, 2))
    """
    import pyarrow as pa

    if sql.startswith("decimal("):
        return pa.decimal128(*map(int, sql[len("decimal(") : -1].split(",")))
    return {
        "long": pa.int64(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC"),
        "array<long>": pa.list_(pa.int64()),
        "array<string>": pa.list_(pa.string()),
        "map<string,string>": pa.map_(pa.string(), pa.string()),
    }.get(sql, pa.string())
