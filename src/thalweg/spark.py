"""Reasoning inside a Spark job of one's own: DataFrames of facts in, a DataFrame of answers out."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, Literal, Unpack

from thalweg.api import (
    Background,
    KindKeywords,
    Moment,
    Part,
    RunOptions,
    Text,
    Timing,
    load_part,
    predicates_of,
    resolve_options,
    understood,
)
from thalweg.api.kind_options import check_keywords, need_choice, usage
from thalweg.api.sources import as_list
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.mapping.mapping import Cell, ConstantArgument, Path, Template, spelled
from thalweg.connectors.mapping.propose import errors_in_python
from thalweg.connectors.mapping.read_mapping import read_mappings
from thalweg.connectors.mapping.tally import Tally
from thalweg.dataflow.context import Context, Settings
from thalweg.diagnostics import Diagnostic, RejectedError, warn
from thalweg.ir.nodes import Program
from thalweg.model.predicate import Predicate
from thalweg.model.time import TimeFormat
from thalweg.planning.argument_types import DecimalType
from thalweg.runtimes.intake import unzoned
from thalweg.runtimes.spark.job import SparkWork, spread
from thalweg.runtimes.spark.table_checks import check_chosen, check_tables, type_at

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from thalweg.answers.answer_columns import Column
    from thalweg.planning.argument_types import Type, Types
    from thalweg.runtimes.spark.answer_frame import AnswerFrame
    from thalweg.runtimes.spark.columns import Shape

__all__ = ["reason", "register"]

STORE: Final = "spark.sql.streaming.stateStore.providerClass"
ROCKS_DB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_LOCAL: Final = "timestamp_ntz"
_SQL_TYPES: Final = {"integer": "long", "number": "double", "text": "string"}
_TYPES: Final = {
    **dict.fromkeys(("long", "integer", "short", "byte"), "integer"),
    **dict.fromkeys(("double", "float"), "number"),
    "date": "date",
    "timestamp": "timestamp",
}


def reason(
    program: Program | Text | Iterable[Program | Text],
    facts: "DataFrame | Mapping[str, DataFrame]",
    *,
    map: str | Iterable[str] = (),
    background: "Background | DataFrame | Mapping[str, DataFrame]" = (),
    of: str | None = None,
    show: str | Iterable[str] | None = None,
    emit: Literal["intervals", "changes", "snapshot"] | None = None,
    start: Moment | None = None,
    end: Moment | None = None,
    delay: int | str = 0,
    idle: str | None = None,
    tick: str = "1s",
    zone: str | None = None,
    partitions: int | None = None,
    late: bool = False,
    on_error: Literal["skip", "stop"] = "skip",
    **kinds: Unpack[KindKeywords],
) -> "DataFrame":
    """The answers of programs over tables of facts, streaming or not.

    With `map`, as in `"speed(sensor, v) at ts"`, tables may have any columns; a table in a dictionary is the stream of
    its name. Without, `{"speed": table}` has the arguments of `speed` and their time, `t`; a table alone has `fact` and
    `t`, or `s`, `p`, `o` and `t`, or messages in `value`. `t` is a tick or a timestamp. A background may be a table,
    too: mapped, or under the name of its predicate. The answers of rules and ontologies have the columns

        intervals    predicate, args, from, until (null while it holds at the end)
        changes      t, op (`+` or `-`), predicate, args
        snapshot     t, predicate, args

    With `of="jam/1"`, in place of `predicate` and `args` there is a column for each argument, with the name of the
    rule's variable, of numbers where these can be told from the rules and tables. Other kinds of programs have the
    columns of their tables: `t`, `window` and one for each variable of a SELECT, for example. Ticks are timestamps
    where times came as such. Options of kinds, such as `window` and `models`, are those of `thalweg.run`.

    Each table has a watermark of its own, and a tick is answered when all tables have passed it. One that streams and
    brings nothing for `idle`, as in `"30 s"`, does not hold the others back; what it brings behind them is late. A
    table that does not stream is taken as a whole, so nothing in it is late.

    A row that holds no fact is passed over, or fails the job with `on_error="stop"`. Late facts and such rows are
    counted in the log of the driver (`thalweg.spark`). With `late=True` they are rows, too: their `op` is `late`, with
    the `watermark` they came behind, or `malformed`, with the reason and the row in `message`, or `warning`.

    Where a program cannot go on, for want of memory for example, the job fails with the diagnostic as its message.

    >>> from thalweg.spark import reason
    >>> jams = reason("jam(R) :- slow(R) in [60], not light(R) in [60].", readings)  # doctest: +SKIP
    """
    with errors_in_python():
        tables = dict(facts) if isinstance(facts, Mapping) else {"": facts}
        check_keywords(kinds, KindKeywords.__annotations__)
        need_choice("on_error", on_error, "skip", "stop")
        _check_streaming(tables)
        programs = as_list(program)
        emit = emit or _usual_emit(programs, kinds)
        timing = Timing(tick, start, end, delay, zone, idle=idle)
        options = RunOptions(timing, emit, show=show, map=map, runtime="spark", kinds=kinds)
        resolved = resolve_options(programs, iter(()), (), options)
        always, mapped = _background(background, resolved.mapped)
        about = tick, resolved.ontology, resolved.solving, resolved.inputs
        part = load_part(programs, always, *about, show=resolved.shown, mapped=mapped)
        shapes = {name: _shape(name, table, mapped, resolved.timing) for name, table in tables.items()}
        check_tables(part.rules_alone, tables, shapes)
        if any(_is_unzoned(shapes[name], table) for name, table in tables.items()):
            warn(unzoned())
        with usage():
            chosen = None if of is None else predicates_of(of, resolved.prefixes)[0]
        return _Reasoning(part, tables, shapes, resolved.timing, emit, on_error, partitions).answers(late, chosen)


def _check_streaming(tables: "Mapping[str, DataFrame]") -> None:
    """`RejectedError` where there is no table, or Spark could not read them in one query."""
    if not tables:
        raise RejectedError([Diagnostic("E402", "there is no table of facts", help="give at least one DataFrame")])
    streaming = [name for name, table in tables.items() if table.isStreaming]
    if 0 < len(streaming) < len(tables):
        still = next(name for name in tables if name not in streaming)
        message = f"the table `{streaming[0]}` streams, and `{still}` does not"
        help_ = "read all of them with `spark.readStream`, or give one without times as `background`"
        raise RejectedError([Diagnostic("E402", message, help=help_)])


def _usual_emit(
    programs: Iterable[Program | Text], kinds: Mapping[str, object]
) -> Literal["intervals", "changes", "snapshot"]:
    """Intervals, where programs know of such."""
    options = understood([*programs])
    events = "--event" in options or kinds.get("as_") == "abstraction"
    return "intervals" if "--emit" in options and not events else "changes"


class _Reasoning:
    """A call of `reason`: its tables and settings, and the query that answers it."""

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
        self._stamped = any(_is_stamped(shapes[name], table) for name, table in tables.items())
        if self._streams:
            # Only this store keeps what a query with many kinds of state needs.
            self._session.conf.set(STORE, ROCKS_DB)

    def answers(self, late: bool, of: Predicate | None) -> "DataFrame":
        """The rows of answers, and with `late` those of facts that came too late or could not be read."""
        from thalweg.runtimes.spark.dataframe import chain
        from thalweg.runtimes.spark.driver_log import DriverLog

        frame = self._frame(late, of)
        work = self._work()
        idle = self._timing.idle_seconds
        clock = None if idle is None or not self._streams else round(idle * 1_000)
        job = replace(work.job, groups=len(self._tables), bounded=not self._streams, idle=clock)
        rows = chain(job, self._parcels(job, late))
        rows = DriverLog(self._part.rules_alone, frame.times).watch(rows)
        return (
            self._checked(rows, frame.kinds).mapInArrow(frame, frame.schema).select(*map(self._column, frame.columns))
        )

    def _frame(self, late: bool, of: Predicate | None) -> "AnswerFrame":
        from thalweg.answers.answer_columns import AnswerSetColumns, ClashColumns, FactColumns
        from thalweg.runtimes.spark.answer_frame import AnswerFrame

        kind = self._part.answer_columns(self._emit)
        types: dict[str, str] = {}
        if of is not None:
            self._check_chosen(of)
            if isinstance(kind, AnswerSetColumns):
                kind = AnswerSetColumns(tuple(f"arg{place + 1}" for place in range(of.arity)), of)
            elif isinstance(kind, FactColumns) and not isinstance(kind, ClashColumns):
                types = self._types(of, self._part.rules)
                kind = FactColumns(self._emit, tuple(types))
            else:
                message = "`of` is for rules, ontologies and answer sets alone"
                raise RejectedError([Diagnostic("E403", message, help="leave it out, and filter by `predicate`")])
        elif isinstance(kind, FactColumns) and kind.names is not None:
            kind = FactColumns(self._emit)
        times = TimeFormat(self._timing.calendar, "iso" if self._stamped else "ticks")
        return AnswerFrame(kind, times, of, types, late, self._emit)

    def _check_chosen(self, of: Predicate) -> None:
        """`RejectedError` where a predicate can have no answers."""
        if (predicates := self._part.answerable(of)) is not None:
            check_chosen(of, predicates)

    def _work(self) -> SparkWork:
        settings = Settings(*self._timing.ticks(), self._emit, calendar=self._timing.calendar)
        names = tuple(name for name in self._tables if name)
        context = Context(settings, self._timing.clock, lambda diagnostic: None, Interrupt(), streams=names)
        return spread(self._part, context, self._width)

    def _column(self, column: "Column") -> Any:
        """A column with times as what they came as."""
        from pyspark.sql import functions as F  # noqa: N812

        cells = F.col(f"`{column.name}`")
        if column.type == "time":
            cells = self._time(cells)
        elif column.type == "window":
            cells = F.transform(cells, self._time)
        return cells.alias(column.name)

    def _parcels(self, job: Any, all_wrong: bool) -> "DataFrame":
        from thalweg.runtimes.spark.dataframe import pack_clock, pack_table

        parcels = [
            pack_table(job, self._shapes[name], table, group, all_wrong=all_wrong)
            for group, (name, table) in enumerate(self._tables.items())
        ]
        if job.idle is not None:
            parcels.append(pack_clock(job, self._session))
        return reduce(lambda union, other: union.unionAll(other), parcels)

    def _checked(self, rows: "DataFrame", kinds: list[str]) -> "DataFrame":
        """The rows of some kinds; a worker that could not go on, or a row that is to stop the job, fails it."""
        from pyspark.sql import functions as F  # noqa: N812

        from thalweg.runtimes.spark.wire import FAILED, MALFORMED

        kind = F.col("kind")
        # In the filter, which is evaluated whatever columns are wanted.
        failed = F.when(kind == FAILED, F.raise_error(F.col("stream")))
        if self._on_error == "stop":
            failed = failed.when(kind == MALFORMED, F.raise_error(F.col("fact")))
        return rows.where(failed.otherwise(kind.isin(kinds)))

    def _time(self, ticks: Any) -> Any:
        """Ticks as what times came as."""
        from pyspark.sql import functions as F  # noqa: N812

        length = self._timing.clock.tick_length
        return F.timestamp_millis(ticks * F.lit(length).cast("long")) if self._stamped else ticks

    def _types(self, predicate: Predicate, program: Program) -> dict[str, str]:
        """The columns of a predicate's arguments, and their types."""
        from thalweg.ir.head_names import head_names
        from thalweg.planning.argument_types import argument_types

        inputs: dict[Predicate, Types] = {}
        for name, table in self._tables.items():
            inputs |= _inputs(self._shapes[name], table)
        types = argument_types(program, predicate, inputs)
        return {name: _sql_type(kind) for name, kind in zip(head_names(program, predicate), types, strict=True)}


def _background(background: Any, mapped: Tally | None) -> tuple[Any, Tally | None]:
    """The background without DataFrames: as tables of Arrow, and mapped under their names."""
    if isinstance(background, Mapping):
        texts = [f"{name}: {name}({', '.join(map(spelled, table.columns))})" for name, table in background.items()]
        mapped = Tally([*(mapped.mappings if mapped is not None else ()), *read_mappings(texts)])
        return {name: table.toArrow() for name, table in background.items()}, mapped
    return (background.toArrow() if hasattr(background, "sparkSession") else background), mapped


def _shape(name: str, table: "DataFrame", mapped: Tally | None, timing: Timing) -> "Shape":
    from thalweg.runtimes.spark.columns import mapped_shape, shape_of

    clock = timing.clock
    tick_length = clock.tick_length
    if mapped is not None and any(mapping.time is not None for mapping in mapped.mappings):
        timed = [mapping for mapping in mapped.mappings if mapping.time is not None]
        shape = mapped_shape(table.columns, timed, name or None, tick_length)
    else:
        shape = shape_of(table.columns, name or None, tick_length)
    return replace(shape, zone=timing.zone, slack=clock.slack)


def _is_stamped(shape: "Shape", table: "DataFrame") -> bool:
    return bool(shape.mappings) or ("t" in table.columns and _type(table, "t") in ("timestamp", _LOCAL))


def _is_unzoned(shape: "Shape", table: "DataFrame") -> bool:
    """Whether a table has a column of local times, and no zone is known."""
    times = [mapping.time for mapping in shape.mappings if mapping.time is not None]
    columns = [time.path.whole for time in times if time.zone is None] if shape.mappings else ["t"]
    return shape.zone is None and any(name in table.columns and _type(table, name) == _LOCAL for name in columns)


def _type(table: "DataFrame", column: str) -> str:
    return table.schema[column].dataType.typeName()


def _inputs(shape: "Shape", table: "DataFrame") -> "dict[Predicate, Types]":
    """What the arguments of the predicates of a table hold, as far as its schema says."""
    if shape.predicate is not None:
        kinds = tuple(_kind(table, Path((column,))) for column in shape.columns)
        return {Predicate(shape.predicate, len(kinds)): kinds}
    by_predicate: dict[Predicate, Types] = {}
    for mapping in shape.mappings:
        by_predicate[mapping.predicate] = tuple(_argument_kind(table, argument) for argument in mapping.arguments)
    return by_predicate


def _argument_kind(table: "DataFrame", argument: Any) -> Any:
    match argument:
        case Cell(path, "number"):
            kind = _kind(table, path)
            return kind if isinstance(kind, DecimalType) or kind == "integer" else "number"
        case Cell(path, "any"):
            return _kind(table, path)
        case Cell() | Template():
            return "text"
        case ConstantArgument(term):
            return "number" if term[0].isdigit() or term[0] == "-" else "text"


def _kind(table: "DataFrame", path: Path) -> Any:
    """What the cells of a column hold; None where the schema does not say."""
    type_ = type_at(table, path)
    if type_ is None:
        return None
    name = type_.typeName()
    if name == "decimal":
        return DecimalType(type_.precision, type_.scale)
    # A text may be a number in one row and not in the next, so it stays a text.
    return _TYPES.get(name, "text")


def _sql_type(kind: "Type") -> str:
    if isinstance(kind, DecimalType):
        return f"decimal({kind.precision},{kind.scale})"
    return _SQL_TYPES.get(kind, kind)


def register(session: "SparkSession") -> None:
    """Makes MQTT known to a session as a format for streams that are read and written.

    >>> register(spark)  # doctest: +SKIP
    >>> messages = spark.readStream.format("mqtt").load("mqtt://localhost/readings")  # doctest: +SKIP
    """
    from thalweg.runtimes.spark.mqtt_source import MqttSource

    session.dataSource.register(MqttSource)
