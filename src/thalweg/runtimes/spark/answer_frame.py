"""The rows that buckets send become a DataFrame of answers, with the columns that tables have elsewhere.

    begin, end, unknown, interval, snapshot    one fact, or one clash
    block                                      a block of answers of any other kind
    late                                       a fact that came behind the watermark
    malformed, empty, warning                  a row that holds no fact, what deserves a warning

What a DataFrame holds must be known before the first row: what rules or tables do not say to be a number is a text.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from thalweg.answers.answer_columns import AnswerColumns, ClashColumns, Column, FactColumns, Row
from thalweg.answers.answer_tables import arrow_column
from thalweg.answers.emit import AnswerBlock, Change, Interval, SnapshotRun
from thalweg.model.predicate import Predicate
from thalweg.model.records import of_json
from thalweg.model.time import TimeFormat
from thalweg.runtimes.spark.dataframe import (
    BECAME_UNKNOWN,
    BEGIN,
    BLOCK,
    END,
    INTERVAL,
    LATE_FACT,
    SNAPSHOT,
    WARNING,
)
from thalweg.runtimes.spark.fact_columns import arrow_type, fact_columns
from thalweg.runtimes.spark.wire import EMPTY, MALFORMED, warning_of

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
        own = _KINDS[self.kind.emit] if isinstance(self.kind, FactColumns) else (*_KINDS[self.emit], BLOCK)
        return [*own, *([LATE_FACT, *_OPS] if self.late else [])]

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Batches of rows of buckets as batches of rows of answers."""
        import pyarrow as pa
        import pyarrow.compute as pc

        read = self._facts if isinstance(self.kind, FactColumns) else self._blocks
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

        assert isinstance(self.kind, FactColumns)
        if isinstance(self.kind, ClashColumns):
            kept, own = pa.array(range(batch.num_rows)), self._clashes(batch.column("fact"))
        else:
            names = self.kind.names or ()
            types = [self.types.get(name, "string") for name in names]
            kept, arrays = fact_columns(batch.column("fact"), self.of, types)
            own = dict(zip(names if self.of else ("predicate", "args"), arrays, strict=True))
        rows = batch.take(kept)
        ticks, until = rows.column("t"), rows.column("until")
        if self.kind.emit == "intervals":
            return {**own, "from": ticks, "until": pc.if_else(pc.greater_equal(until, 0), until, None)}
        signs = pc.index_in(rows.column("kind"), value_set=pa.array(_KINDS["changes"]))
        return {**own, "t": ticks, "op": pa.array(["+", "-", "?"]).take(signs)}

    def _clashes(self, texts: Any) -> Arrays:
        assert isinstance(self.kind, ClashColumns)
        rows = [self.kind.cells(text, self.times) for text in texts.to_pylist()]
        return _arrays(self.kind.inner, rows)

    def _blocks(self, batch: Any) -> Arrays:
        """Blocks of answers as the columns of their kind."""
        rows: list[Row] = []
        for row in sorted(batch.to_pylist(), key=lambda row: (row["t"], row["kind"] != BLOCK, row["until"] or 0)):
            rows += self.kind.rows(_block(row), self.times)
        return _arrays(self.kind.columns, rows)

    def _late_facts(self, batch: Any) -> Arrays:
        import pyarrow as pa

        ticks, facts = batch.column("t"), batch.column("fact")
        _, (predicates, arguments) = fact_columns(facts, None, [])
        op = pa.array(["late"] * batch.num_rows)
        own = {"predicate": predicates, "args": arguments, "from": ticks, "t": ticks, "kind": op}
        return {**own, "op": op, "watermark": batch.column("until"), "message": facts}


def _block(row: Mapping[str, Any]) -> AnswerBlock:
    """The answer that a row of a bucket stands for; a fact is an answer by itself."""
    tick, until, facts = row["t"], row["until"], (row["fact"],)
    match row["kind"]:
        case "block":
            block: AnswerBlock = of_json(json.loads(row["fact"]))
            return block
        case "interval":
            return Interval(row["fact"], tick, None if until is None or until < 0 else until)
        case "snapshot":
            return SnapshotRun(tick, tick, facts)
    sides = {BEGIN: (facts, ()), END: ((), facts)}.get(row["kind"], ((), ()))
    return Change(tick, *sides, unknown=() if any(sides) else facts)


def _others(batch: Any) -> Arrays:
    """Rows that hold no fact, and warnings, with the reason in their message."""
    import pyarrow as pa

    kinds, texts = batch.column("kind").to_pylist(), batch.column("fact").to_pylist()
    pairs = zip(kinds, texts, strict=True)
    messages = [warning_of(text).render() if kind == WARNING else text for kind, text in pairs]
    return {"op": pa.array([_OPS[kind] for kind in kinds]), "message": pa.array(messages, pa.string())}


def _arrays(columns: Sequence[Column], rows: Sequence[Row]) -> Arrays:
    cells = zip(*rows, strict=True) if rows else ((),) * len(columns)
    return {column.name: _array(column, values) for column, values in zip(columns, cells, strict=True)}


def _array(column: Column, cells: Sequence[Any]) -> Any:
    """A column whose type does not depend on what is in it."""
    if column.type != "value":
        return arrow_column(column, cells)
    return arrow_column(Column(column.name, "text"), [None if cell is None else str(cell) for cell in cells])
