"""Reasoning inside a Spark job of one's own: DataFrames of facts in, a DataFrame of answers out."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import uuid4

from thalweg.api import Background, Part, Text, Timing, load_part, predicates_of, prefixes_of
from thalweg.connectors.mapping.mapping import Cell, Constant, Path, Template, spelled
from thalweg.connectors.mapping.read_mapping import read_mappings
from thalweg.connectors.mapping.tally import Tally
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.ir.nodes import Program
from thalweg.model.predicate import Predicate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from thalweg.planning.argument_types import Types
    from thalweg.runtimes.spark.columns import Shape

__all__ = ["reason", "register"]

STORE: Final = "spark.sql.streaming.stateStore.providerClass"
ROCKS_DB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_SQL_TYPES: Final = {"integer": "long", "number": "double", "text": "string"}


def reason(
    program: Program | Text | Iterable[Program | Text],
    facts: "DataFrame | Mapping[str, DataFrame]",
    *,
    map: str | Iterable[str] = (),
    background: "Background | DataFrame | Mapping[str, DataFrame]" = (),
    of: str | None = None,
    emit: Literal["intervals", "changes", "snapshot"] = "intervals",
    first: int | str | None = None,
    last: int | str | None = None,
    delay: int | str = 0,
    tick: str = "1s",
    partitions: int | None = None,
    late: bool = False,
    on_error: Literal["skip", "stop"] = "skip",
) -> "DataFrame":
    """The answers of programs over tables of facts, streaming or not.

    With `map`, as in `"speed(sensor, v) at ts"`, tables may have any columns; a table in a dictionary is the stream of
    its name. Without, `{"speed": table}` has the arguments of `speed` and their time, `t`; a table alone has `fact` and
    `t`, or `s`, `p`, `o` and `t`, or messages in `value`. `t` is a tick or a timestamp. A background may be a table,
    too: mapped, or under the name of its predicate. The answers have the columns

        intervals    predicate, args, from, until (null while it holds at the end)
        changes      t, op (`+` or `-`), predicate, args
        snapshot     t, predicate, args

    `args` are as rules write them. With `of="jam/1"`, in place of `predicate` and `args` there is a column for each
    argument, with the name of the rule's variable, of numbers where these can be told from the rules and tables. Ticks
    are timestamps where times came as such. Programs that are more than rules and ontologies give `t` and `answer`, a
    line of JSON as `thalweg run` prints it.

    A row that holds no fact is passed over, or fails the job with `on_error="stop"`. With `late=True`, changes also
    have rows whose `op` is `late`, facts that came behind the `watermark`, and rows whose `op` is `malformed`, with the
    reason and the row in `message`. A table that does not stream is taken as a whole, so nothing in it is late.

    Where a program cannot go on, for want of memory for example, the job fails with the diagnostic as its message.

        >>> from thalweg.spark import reason
        >>> jams = reason("jam(R) :- slow(R) in [60], not light(R) in [60].", readings)  # doctest: +SKIP
    """
    from thalweg.model.time import milliseconds

    tables = dict(facts) if isinstance(facts, Mapping) else {"": facts}
    if not tables:
        raise RejectedError([Diagnostic("E402", "there is no table of facts", help="give at least one DataFrame")])
    programs = [program] if isinstance(program, Program | str) or not isinstance(program, Iterable) else [*program]
    texts = [map] if isinstance(map, str) else [*map]
    mappings = read_mappings(texts, prefixes_of(programs)) if texts else ()
    known, mapped = _background(background, Tally(mappings) if mappings else None)
    part = load_part(programs, known, tick, mapped=mapped)
    shapes = {name: _shape(name, table, mapped, milliseconds(tick)) for name, table in tables.items()}
    timing = Timing(tick, first, last, delay)
    asked = _Asked(part, tables, shapes, timing, emit, on_error, partitions)
    if _rules(part) is None:
        if of is not None or late:
            message = "`of` and `late` are for rules and ontologies, and there is more here"
            raise RejectedError([Diagnostic("E403", message, help="leave them out: the answers are lines of JSON")])
        return asked.lines()
    return asked.answers(late, of)


class _Asked:
    """What was asked of `reason`, and how it is answered."""

    def __init__(
        self,
        part: Part,
        tables: "Mapping[str, DataFrame]",
        shapes: "Mapping[str, Shape]",
        timing: Timing,
        emit: Literal["intervals", "changes", "snapshot"],
        on_error: Literal["skip", "stop"],
        partitions: int | None,
    ) -> None:
        self._part = part
        self._tables = tables
        self._shapes = shapes
        self._timing = timing
        self._emit = emit
        self._on_error = on_error
        self._session = next(iter(tables.values())).sparkSession
        self._streams = any(table.isStreaming for table in tables.values())
        self._width = partitions or int(self._session.conf.get("spark.sql.shuffle.partitions") or 2)
        if self._streams:
            # Only this store keeps what a query with many kinds of state needs.
            self._session.conf.set(STORE, ROCKS_DB)

    def answers(self, late: bool, of: str | None) -> "DataFrame":
        """Rows of facts."""
        from pyspark.sql import functions as F  # noqa: N812

        from thalweg.planning.route_justifications import route_justifications
        from thalweg.runtimes.embedded import Settings
        from thalweg.runtimes.spark.dataframe import BEGIN, END, INTERVAL, LATE_FACT, SNAPSHOT, chain
        from thalweg.runtimes.spark.job import Job
        from thalweg.runtimes.spark.worker import Worker

        program = self._part.rules
        settings = Settings(*self._timing.ticks(), self._emit)
        bounded = not self._streams
        job = Job(route_justifications(program), settings, self._width, bounded=bounded, name=uuid4().hex)
        changes = [BEGIN, END, *([LATE_FACT] if late else [])]
        kinds = {"changes": changes, "intervals": [INTERVAL], "snapshot": [SNAPSHOT]}[self._emit]
        rows = self._checked(chain(job, self._parcels(job), Worker), kinds)
        chosen = None if of is None else predicates_of(of)[0]
        columns = {"predicate": "string", "args": "array<string>"} if chosen is None else self._columns(chosen, program)
        found, names, time = _split(rows, chosen, columns), [f"`{name}`" for name in columns], self._time
        if self._emit == "intervals":
            until = F.when(F.col("until") >= 0, F.col("until"))
            return found.select(*names, time(F.col("t")).alias("from"), time(until).alias("until"))
        if self._emit == "snapshot":
            return found.select(time(F.col("t")).alias("t"), *names)
        op = F.when(F.col("kind") == BEGIN, "+").when(F.col("kind") == END, "-").otherwise(F.col("kind"))
        extra = [time(F.col("until")).alias("watermark"), F.lit(None).cast("string").alias("message")] if late else []
        shown = found.select(time(F.col("t")).alias("t"), op.alias("op"), *names, *extra)
        return shown.unionByName(self._malformed(), allowMissingColumns=True) if late else shown

    def lines(self) -> "DataFrame":
        """Answers as lines of JSON, of parts that are more than rules."""
        from thalweg.connectors.interrupt import Interrupt
        from thalweg.parts.part import Context
        from thalweg.parts.spark_plan import in_one_bucket
        from thalweg.runtimes.embedded import Settings
        from thalweg.runtimes.spark.dataframe import WINDOW, chain

        emit = "changes" if self._emit == "intervals" else self._emit
        settings = Settings(*self._timing.ticks(), emit)
        names = tuple(name for name in self._tables if name)
        context = Context(settings, self._timing.clock, lambda found: None, Interrupt(), streams=names)
        work = in_one_bucket(self._part, context, self._width)
        job = replace(work.job, bounded=not self._streams)
        rows = self._checked(chain(job, self._parcels(job), work.start), [WINDOW])
        return rows.mapInArrow(_printed, "t long, answer string")

    def _parcels(self, job: Any) -> "DataFrame":
        from thalweg.runtimes.spark.dataframe import pack_table

        parcels = [pack_table(job, self._shapes[name], table) for name, table in self._tables.items()]
        return reduce(lambda one, other: one.unionAll(other), parcels)

    def _checked(self, rows: "DataFrame", kinds: list[str]) -> "DataFrame":
        """The rows of some kinds; a worker that could not go on, or a row that is to stop the job, fails it."""
        from pyspark.sql import functions as F  # noqa: N812

        from thalweg.runtimes.spark.wire import FAILED

        if self._on_error == "stop":
            wrong = self._malformed(empty=False).select(
                F.lit(FAILED).alias("kind"),
                F.lit(0).cast("long").alias("t"),
                F.lit(0).cast("long").alias("until"),
                F.col("message").alias("stream"),
                F.lit("").alias("fact"),
            )
            rows = rows.unionAll(wrong)
        # In the filter, which is evaluated whatever columns are wanted.
        failed = F.when(F.col("kind") == FAILED, F.raise_error(F.col("stream")))
        return rows.where(failed.otherwise(F.col("kind").isin(kinds)))

    def _malformed(self, empty: bool = True) -> "DataFrame":
        """The rows that hold no fact, also those with an `empty` cell."""
        from pyspark.sql import functions as F  # noqa: N812

        from thalweg.runtimes.spark.dataframe import wrong_table

        found = [wrong_table(self._shapes[name], table) for name, table in self._tables.items()]
        rows = reduce(lambda one, other: one.unionAll(other), found)
        rows = rows if empty else rows.where(~F.col("empty"))
        message = F.concat(F.col("message"), F.lit(": "), F.col("row"))
        return rows.select(F.lit("malformed").alias("op"), message.alias("message"))

    def _time(self, ticks: Any) -> Any:
        """Ticks as what times came as."""
        from pyspark.sql import functions as F  # noqa: N812

        length = self._timing.clock.tick_length
        stamped = any(_is_stamped(self._shapes[name], table) for name, table in self._tables.items())
        return F.timestamp_millis(ticks * F.lit(length).cast("long")) if stamped else ticks

    def _columns(self, predicate: Predicate, program: Program) -> dict[str, str]:
        """The columns of a predicate's arguments, and their types."""
        from thalweg.planning.argument_types import argument_names, argument_types

        inputs: dict[Predicate, Types] = {}
        for name, table in self._tables.items():
            inputs |= _inputs(self._shapes[name], table)
        names = argument_names(program, predicate)
        types = argument_types(program, predicate, inputs)
        return {name: _SQL_TYPES[kind] for name, kind in zip(names, types, strict=True)}


def _rules(part: Part) -> Program | None:
    """The rules that a part is; None where it is more."""
    try:
        return part.rules
    except RejectedError:
        return None


def _background(given: Any, mapped: Tally | None) -> tuple[Any, Tally | None]:
    """The background without DataFrames: as tables of Arrow, and mapped under their names."""
    if isinstance(given, Mapping):
        texts = [f"{name}: {name}({', '.join(map(spelled, table.columns))})" for name, table in given.items()]
        mapped = Tally([*(mapped.mappings if mapped is not None else ()), *read_mappings(texts)])
        return {name: table.toArrow() for name, table in given.items()}, mapped
    return (given.toArrow() if hasattr(given, "sparkSession") else given), mapped


def _shape(name: str, table: "DataFrame", mapped: Tally | None, tick_length: int) -> "Shape":
    from thalweg.runtimes.spark.columns import mapped_shape, shape_of

    if mapped is not None and any(one.time is not None for one in mapped.mappings):
        timed = [one for one in mapped.mappings if one.time is not None]
        return mapped_shape(table.columns, timed, name or None, tick_length)
    return shape_of(table.columns, name or None, tick_length)


def _is_stamped(shape: "Shape", table: "DataFrame") -> bool:
    return bool(shape.mappings) or ("t" in table.columns and table.schema["t"].dataType.typeName() == "timestamp")


def _inputs(shape: "Shape", table: "DataFrame") -> "dict[Predicate, Types]":
    """What the arguments of the predicates of a table hold, as far as its schema says."""
    if shape.predicate is not None:
        kinds = tuple(_kind(table, Path((column,))) for column in shape.columns)
        return {Predicate(shape.predicate, len(kinds)): kinds}
    found: dict[Predicate, Types] = {}
    for mapping in shape.mappings:
        found[mapping.predicate] = tuple(_argument_kind(table, argument) for argument in mapping.arguments)
    return found


def _argument_kind(table: "DataFrame", argument: Any) -> Any:
    match argument:
        case Cell(_, "number"):
            return "number"
        case Cell(path, "any"):
            return _kind(table, path)
        case Cell() | Template():
            return "text"
        case Constant(term):
            return "number" if term[0].isdigit() or term[0] == "-" else "text"


def _kind(table: "DataFrame", path: Path) -> Any:
    kind: Any = table.schema
    for step in path.steps:
        if step is None:
            kind = getattr(kind, "elementType", None)
        elif hasattr(kind, "fieldNames") and step in kind.fieldNames():
            kind = kind[step].dataType
        else:
            return None
    name = kind.typeName() if kind is not None else ""
    # A text may be a number in one row and not in the next, so it stays a text.
    return {"long": "integer", "integer": "integer", "short": "integer", "byte": "integer"}.get(
        name, "number" if name in ("double", "float") or name.startswith("decimal") else "text"
    )


def _split(rows: "DataFrame", of: Predicate | None, columns: Mapping[str, str]) -> "DataFrame":
    """Rows whose facts are taken apart: into predicate and arguments, or the arguments of one predicate."""
    names, types = list(columns), list(columns.values())

    def split(batches: Iterable[Any]) -> Any:
        import pyarrow as pa

        from thalweg.runtimes.spark.fact_columns import fact_columns

        for batch in batches:
            kept, arrays = fact_columns(batch.column("fact"), of, types)
            rest = batch.select(["kind", "t", "until"]).take(kept)
            yield pa.RecordBatch.from_arrays([*rest.columns, *arrays], names=["kind", "t", "until", *names])

    typed = [f"`{name}` {kind}" for name, kind in columns.items()]
    return rows.mapInArrow(split, ", ".join(["kind string", "t long", "until long", *typed]))


def _printed(batches: Iterable[Any]) -> Any:
    """Blocks of answers as lines."""
    import pyarrow as pa

    from thalweg.parts.spark_plan import unpacked
    from thalweg.runtimes.emit import AnswerBlock

    for batch in batches:
        found = []
        for row in sorted(batch.to_pylist(), key=lambda row: int(row["until"])):
            block = unpacked(row["fact"])
            if isinstance(block, AnswerBlock):
                found += [(getattr(answer, "t", row["t"]), str(answer)) for answer in block.answers()]
        ticks, lines = [tick for tick, _ in found], [line for _, line in found]
        yield pa.RecordBatch.from_arrays([pa.array(ticks, pa.int64()), pa.array(lines, pa.string())], ["t", "answer"])


def register(session: "SparkSession") -> None:
    """Makes MQTT known to a session as a format for streams that are read and written.

    >>> register(spark)  # doctest: +SKIP
    >>> messages = spark.readStream.format("mqtt").load("mqtt://localhost/readings")  # doctest: +SKIP
    """
    from thalweg.runtimes.spark.mqtt_source import MqttSource

    session.dataSource.register(MqttSource)
