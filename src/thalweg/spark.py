"""Reasoning inside a Spark job of one's own: DataFrames of facts in, a DataFrame of answers out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial, reduce
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, Literal, Unpack
from uuid import uuid4

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
from thalweg.api.jobs import taken_over
from thalweg.api.kind_options import check_keywords, need_choice, usage, wrong_usage
from thalweg.api.sources import as_list
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.mapping.mapping import Cell, ConstantArgument, Path, Template, spelled
from thalweg.connectors.mapping.propose import errors_in_python
from thalweg.connectors.mapping.read_mapping import read_mappings
from thalweg.connectors.mapping.tally import Tally
from thalweg.dataflow.context import Context, Settings
from thalweg.diagnostics import Diagnostic, RejectedError, warn
from thalweg.ir.nodes import Program
from thalweg.model.byte_size import size_in_bytes
from thalweg.model.predicate import Predicate
from thalweg.model.time import TimeFormat
from thalweg.planning.argument_types import DecimalType
from thalweg.runtimes.intake import unzoned
from thalweg.runtimes.spark.declared_tables import analysing, declared
from thalweg.runtimes.spark.job import SparkWork, spread
from thalweg.runtimes.spark.partition_count import (
    is_on_one_machine,
    partitioned,
    read_log,
    session_partitions,
    usual_buckets,
)
from thalweg.runtimes.spark.query_settings import prepare
from thalweg.runtimes.spark.table_checks import check_chosen, check_tables, type_at

if TYPE_CHECKING:
    from pathlib import Path as FilePath

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.types import StructType

    from thalweg.explain.document import PlanDocument
    from thalweg.planning.argument_types import Types
    from thalweg.runtimes.spark.answer_frame import AnswerFrame
    from thalweg.runtimes.spark.columns import Shape
    from thalweg.runtimes.spark.handover import BucketHandover, KeptJob
    from thalweg.runtimes.spark.job import Job
    from thalweg.runtimes.spark.query_claim import QueryClaim
    from thalweg.runtimes.spark.query_start import QueryStart
    from thalweg.runtimes.spark.shipped_job import ShippedJob

__all__ = ["explain", "reason", "register", "upsert"]

_LOCAL: Final = "timestamp_ntz"
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
    by: str | None = None,
    tick: str = "1s",
    zone: str | None = None,
    partitions: int | None = None,
    buckets: int | None = None,
    until: Literal["available"] | None = None,
    memory: int | str | None = None,
    name: str | None = None,
    late: bool = False,
    on_error: Literal["skip", "stop"] = "skip",
    on_change: Literal["refuse", "begin"] = "refuse",
    schema: "StructType | str | Mapping[str, StructType | str] | None" = None,
    streaming: bool | None = None,
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
    columns of their tables: `t`, `window` and one for each variable of a SELECT, for example. `of=":Jam/1"` chooses an
    event, with a column for each variable of its pattern. Ticks are timestamps where times came as such. Options of
    kinds, such as `window` and `models`, are those of `thalweg.run`.

    Each table has a watermark of its own, and a tick is answered when all tables have passed it. One that streams and
    brings nothing for `idle`, as in `"30 s"`, does not hold the others back; what it brings behind them is late. A
    table that does not stream is taken as a whole, so nothing in it is late. With `by="partition"`, tables that have
    this column, such as those of Kafka, have a watermark for each of its values: what is in order in each partition is
    not late because another one is read faster. A value that has not come yet holds nothing back.

    A query that streams leaves the last ticks open, because more may come for them. With `until="available"`, for jobs
    with `trigger(availableNow=True)`, they are closed when all that was there at the start is read, and the next job on
    the same checkpoint goes on behind them; what comes for them later is late.

    A row that holds no fact is passed over, or fails the job with `on_error="stop"`. Late facts and such rows are
    counted in the log of the driver (`thalweg.spark`). With `late=True` they are rows, too: their `op` is `late`, with
    the `watermark` they came behind, or `malformed`, with the reason and the row in `message`, or `warning`.

    Facts are split by their keys into `buckets`, which Spark's `partitions` share: by default what the session sets
    (`spark.sql.shuffle.partitions`), else one for each core. A query that streams has 64 buckets by default, 8 on one
    machine, but no fewer than partitions. It goes on from its checkpoint with as many as it began with (give the
    `buckets` where the default is another one now); with other `partitions` its state is moved to them when it starts
    (Spark 4.2 and later). It belongs to its program: another one is refused when it starts. With
    `on_change="begin"` it may be a changed one: what is unchanged goes on, and all else begins at the first tick of
    which nothing had been read; a warning says which is which (W422).

    With `memory`, as in `"200M"`, each bucket of each stage has a budget: over it facts are shed, and what may have
    ended by that has the `op` `?`. Where a program cannot go on, the job fails with the diagnostic as its message.

    The progress of a query has counts of each batch (`observedMetrics`), under the `name` or one that begins with
    `thalweg`: `answers`, the last tick `decided`, `late`, `malformed`, `empty` and `shed`; where there are several
    tables, also `late p`, `malformed p` and `empty p`, of the table `p`.

    In a declarative pipeline Spark does not say what a table is: `schema` says its columns, as in
    `"sensor string, v int, ts timestamp"`, or a dictionary those of each table, and `streaming` whether tables stream.

    >>> from thalweg.spark import reason
    >>> jams = reason("jam(R) :- slow(R) in [60], not light(R) in [60].", readings)  # doctest: +SKIP
    """
    with errors_in_python(), analysing():
        tables = declared(facts if isinstance(facts, Mapping) else {"": facts}, schema)
        check_keywords(kinds, KindKeywords.__annotations__)
        need_choice("on_error", on_error, "skip", "stop")
        need_choice("on_change", on_change)
        _need_counts(partitions=partitions, buckets=buckets)
        if until not in (None, "available"):
            raise wrong_usage(f"`until` cannot be `{until}`; it is `available`, or left out")
        is_pipeline = streaming is not None
        streams = _streams(tables) if streaming is None else streaming
        programs = as_list(program)
        emit = emit or _usual_emit(programs, kinds)
        timing = Timing(tick, start, end, delay, zone, idle=idle)
        with usage():
            budget = size_in_bytes(memory) if isinstance(memory, str) else memory
        options = RunOptions(timing, emit, memory=budget, show=show, map=map, runtime="spark", kinds=kinds)
        resolved = resolve_options(programs, iter(()), (), options)
        always, mapped = _background(background, resolved.mapped)
        about = tick, resolved.ontology, resolved.solving, resolved.inputs
        part = load_part(programs, always, *about, show=resolved.shown, mapped=mapped)
        _check_by(by, tables)
        shapes = {name: _shape(name, table, mapped, resolved.timing, by) for name, table in tables.items()}
        check_tables(part.rules_alone, tables, shapes)
        if any(_is_unzoned(shapes[name], table) for name, table in tables.items()):
            warn(unzoned())
        with usage():
            chosen = None if of is None else predicates_of(of, resolved.prefixes)[0]
        reasoning = _Reasoning(
            part,
            tables,
            shapes,
            streams,
            resolved.timing,
            emit,
            on_error,
            partitions,
            buckets,
            until is not None,
            budget,
            is_pipeline,
            on_change == "begin",
            _mapped_texts(mapped),
        )
        # A pipeline has a log of its own.
        return reasoning.answers(late, chosen, name, listens=not is_pipeline)


def explain(
    program: Program | Text | Iterable[Program | Text],
    facts: "DataFrame | Mapping[str, DataFrame]",
    *,
    partitions: int | None = None,
    buckets: int | None = None,
    map: str | Iterable[str] = (),
    background: "Background | DataFrame | Mapping[str, DataFrame]" = (),
    by: str | None = None,
    tick: str = "1s",
    schema: "StructType | str | Mapping[str, StructType | str] | None" = None,
    streaming: bool | None = None,
    **kinds: Unpack[KindKeywords],
) -> "PlanDocument":
    """How `reason` would split programs into buckets: a plan with `as_text`, `as_data`, `as_svg`.

    What is stated of tables (`by`, `schema`, `streaming`), `partitions` and `buckets` is what `reason` takes.

    >>> from thalweg.spark import explain
    >>> print(explain("jam.lars", {"speed": readings}).as_text())  # doctest: +SKIP
    """
    with errors_in_python(), analysing():
        tables = declared(facts if isinstance(facts, Mapping) else {"": facts}, schema)
        streams = _streams(tables) if streaming is None else streaming
        check_keywords(kinds, KindKeywords.__annotations__)
        programs = as_list(program)
        options = RunOptions(Timing(tick), map=map, runtime="spark", kinds=kinds)
        resolved = resolve_options(programs, iter(()), (), options)
        always, mapped = _background(background, resolved.mapped)
        about = tick, resolved.ontology, resolved.solving, resolved.inputs
        part = load_part(programs, always, *about, mapped=mapped)
        _check_by(by, tables)
        shapes = {name: _shape(name, table, mapped, resolved.timing, by) for name, table in tables.items()}
        check_tables(part.rules_alone, tables, shapes)
        _need_counts(partitions=partitions, buckets=buckets)
        session = next(iter(tables.values())).sparkSession
        return part.explain(buckets or _width(session, partitions, streams))


def _need_counts(**counts: int | None) -> None:
    """`RejectedError` where a number is not one of partitions or buckets."""
    for name, count in counts.items():
        if count is not None and count < 1:
            raise wrong_usage(f"`{name}` is a number from 1 on, and not {count}")


def _width(session: "SparkSession", partitions: int | None, streams: bool) -> int:
    """The number of buckets, where none is stated: a query that streams can be resumed."""
    width = partitions or session_partitions(session)
    return usual_buckets(width, is_local=is_on_one_machine(session)) if streams else width


def _streams(tables: "Mapping[str, DataFrame]") -> bool:
    """Whether tables stream; `RejectedError` where there is none, or Spark could not read them in one query."""
    if not tables:
        raise RejectedError([Diagnostic("E402", "there is no table of facts", help="give at least one DataFrame")])
    streaming = [name for name, table in tables.items() if table.isStreaming]
    if 0 < len(streaming) < len(tables):
        still = next(name for name in tables if name not in streaming)
        message = f"the table `{streaming[0]}` streams, and `{still}` does not"
        help_ = "read all of them with `spark.readStream`, or give one without times as `background`"
        raise RejectedError([Diagnostic("E402", message, help=help_)])
    return bool(streaming)


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
        streams: bool,
        timing: Timing,
        emit: Literal["intervals", "changes", "snapshot"],
        on_error: Literal["skip", "stop"],
        partitions: int | None,
        buckets: int | None,
        closes: bool,
        memory: int | None,
        is_pipeline: bool,
        begins: bool,
        mappings: Sequence[tuple[Predicate, str]],
    ) -> None:
        self._part = part
        self._begins = begins
        self._mappings = mappings
        self._tables = tables
        self._shapes = shapes
        self._timing = timing
        self._emit = emit
        self._on_error = on_error
        self._session = next(iter(tables.values())).sparkSession
        self._streams = streams
        self._partitions = partitions
        self._buckets = buckets or _width(self._session, partitions, streams)
        self._stamped = any(_is_stamped(shapes[name], table) for name, table in tables.items())
        self._memory = memory
        self._closes = closes and self._streams
        if self._streams or not is_pipeline:
            prepare(self._session, closes=self._closes, is_pipeline=is_pipeline)

    def answers(self, late: bool, of: Predicate | None, name: str | None, listens: bool) -> "DataFrame":
        """The rows of answers, and with `late` those of facts that came too late or could not be read."""
        from thalweg.runtimes.spark.checked_start import with_checked_start
        from thalweg.runtimes.spark.dataframe import chain
        from thalweg.runtimes.spark.driver_log import DriverLog
        from thalweg.runtimes.spark.query_claim import QueryClaim
        from thalweg.runtimes.spark.query_start import QueryStart
        from thalweg.runtimes.spark.shipped_job import permit_of, ship

        frame = self._frame(late, of)
        work = self._work()
        idle = self._timing.idle_seconds
        clock = None if idle is None or not self._streams else round(idle * 1_000)
        *first, groups = self._first_groups()
        by_value = [
            (group, shape.groups) for group, shape in zip(first, self._shapes.values(), strict=True) if shape.by
        ]
        optional = frozenset(group + number for group, count in by_value for number in range(count))
        by = next((shape.by for shape in self._shapes.values() if shape.by), None)
        tables = tuple(self._tables) if len(self._tables) > 1 else ()
        sources = tuple(name for name in tables for _ in range(self._shapes[name].groups))
        job = replace(work.job, groups=groups, sources=sources, optional=optional, by=by, bounded=not self._streams)
        job = replace(job, idle=clock, closes=self._closes)
        claim = QueryClaim.of(job, [*self._tables]) if self._streams and listens else None
        shipped = ship(self._session, job)
        permit = permit_of(job) if self._begins else None
        rows = chain(shipped, self._parcels(shipped, late, claim, permit))
        log = DriverLog(self._part.rules_alone, frame.times, name or f"thalweg {uuid4()}", tables)
        rows = log.watch(rows, self._streams, listens=listens)
        answers = frame.answers(self._checked(rows, frame.kinds), self._timing.clock.tick_length)
        if claim is None:
            return answers
        start = QueryStart(self._session, claim, self._kept(job), permit, self._taken_over)
        return with_checked_start(answers, partial(self._starting, start))

    def _kept(self, job: "Job") -> "KeptJob":
        from thalweg.kinds.units import units_of
        from thalweg.runtimes.spark.handover import KeptJob

        sources = [(name, None) for name in self._tables]
        return KeptJob.of(job, self._part, units_of(self._part, self._context(), self._mappings, sources))

    def _taken_over(self, handover: "BucketHandover") -> None:
        warn(taken_over(handover.succession.change, handover.first, self._timing))

    @contextmanager
    def _starting(self, start: "QueryStart", location: str) -> Iterator[None]:
        """Has a query started with its partitions; `RejectedError` where it cannot be started on a checkpoint."""
        session, partitions = self._session, self._partitions or session_partitions(self._session)
        if location:
            start.check(location, partitions, may_move=self._partitions is not None)
        with partitioned(session, partitions):
            yield

    def _frame(self, late: bool, of: Predicate | None) -> "AnswerFrame":
        from thalweg.runtimes.spark.answer_frame import AnswerFrame, sql_types

        if of is not None:
            self._check_chosen(of)
        inputs: dict[Predicate, Types] = {}
        for name, table in self._tables.items():
            inputs |= _inputs(self._shapes[name], table)
        typed = self._part.typed_columns(self._emit, of, inputs)
        if typed is None:
            chosen = "`of` chooses facts of rules, answer sets or a CONSTRUCT, a class or an event that is output"
            message = f"nothing here answers facts of `{of}`: {chosen}"
            raise RejectedError([Diagnostic("E403", message, help="leave it out, and choose among the rows")])
        types = sql_types(typed.types)
        times = TimeFormat(self._timing.calendar, "iso" if self._stamped else "ticks")
        return AnswerFrame(typed.columns, times, of, types, late, self._emit)

    def _check_chosen(self, of: Predicate) -> None:
        """`RejectedError` where a predicate can have no answers."""
        if (predicates := self._part.answerable(of)) is not None:
            check_chosen(of, predicates)

    def _work(self) -> SparkWork:
        return spread(self._part, self._context(), self._buckets)

    def _context(self) -> Context:
        settings = Settings(*self._timing.ticks(), self._emit, memory=self._memory, calendar=self._timing.calendar)
        names = tuple(name for name in self._tables if name)
        return Context(settings, self._timing.clock, lambda diagnostic: None, Interrupt(), streams=names)

    def _parcels(
        self, shipped: "ShippedJob", all_wrong: bool, claim: "QueryClaim | None", permit: "FilePath | None"
    ) -> "DataFrame":
        from thalweg.runtimes.spark.dataframe import pack_clock, pack_table
        from thalweg.runtimes.spark.query_claim import claim_rows

        parcels = [
            pack_table(shipped, self._shapes[name], table, group, all_wrong=all_wrong, name=name)
            for group, (name, table) in zip(self._first_groups(), self._tables.items(), strict=False)
        ]
        if shipped.job.idle is not None:
            parcels.append(pack_clock(shipped, self._session))
        if claim is not None and (rows := claim_rows(claim, self._session, str(permit or ""))) is not None:
            parcels.append(rows)
        return reduce(lambda union, other: union.unionAll(other), parcels)

    def _first_groups(self) -> list[int]:
        """The number of the first group of each table, and of all groups."""
        return [*accumulate((shape.groups for shape in self._shapes.values()), initial=0)]

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


def _mapped_texts(mapped: Tally | None) -> list[tuple[Predicate, str]]:
    """The mappings as units of a program know them."""
    return [(mapping.predicate, repr(mapping)) for mapping in (() if mapped is None else mapped.mappings)]


def _background(background: Any, mapped: Tally | None) -> tuple[Any, Tally | None]:
    """The background without DataFrames: as tables of Arrow, and mapped under their names."""
    if isinstance(background, Mapping):
        texts = [f"{name}: {name}({', '.join(map(spelled, table.columns))})" for name, table in background.items()]
        mapped = Tally([*(mapped.mappings if mapped is not None else ()), *read_mappings(texts)])
        return {name: table.toArrow() for name, table in background.items()}, mapped
    return (background.toArrow() if hasattr(background, "sparkSession") else background), mapped


def _check_by(by: str | None, tables: "Mapping[str, DataFrame]") -> None:
    """`RejectedError` where no table has the column that `by` names."""
    if by is not None and not any(by in table.columns for table in tables.values()):
        help_ = f"the columns are {', '.join(f'`{name}`' for table in tables.values() for name in table.columns)}"
        raise RejectedError([Diagnostic("E402", f"no table has the column `{by}`, which `by` names", help=help_)])


def _shape(name: str, table: "DataFrame", mapped: Tally | None, timing: Timing, by: str | None = None) -> "Shape":
    from thalweg.runtimes.spark.columns import mapped_shape, shape_of

    clock = timing.clock
    tick_length = clock.tick_length
    if mapped is not None and any(mapping.time is not None for mapping in mapped.mappings):
        timed = [mapping for mapping in mapped.mappings if mapping.time is not None]
        shape = mapped_shape(table.columns, timed, name or None, tick_length)
    else:
        shape = shape_of([column for column in table.columns if column != by], name or None, tick_length)
    return replace(shape, zone=timing.zone, slack=clock.slack, by=by if by in table.columns else None)


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


def upsert(answers: "DataFrame", table: str, *, checkpoint: str | None = None, **trigger: Any) -> "StreamingQuery":
    """Keeps a table of the facts that hold now, and gives the query that does so.

    The answers are those of rules or an ontology that stream, with `emit="changes"`. The table has a row for each fact
    that holds: the columns of the answers, and `since` when. It is made where it does not exist. Tables that can be
    merged into, such as those of Delta and Iceberg, are; others are written anew with each batch that changes
    something, so they should be small. A batch that is tried again leaves the table as it was. `trigger` is that of
    Spark: `availableNow=True`, for example.

    >>> jams = reason("jam.lars", messages, emit="changes", of="jam/1")  # doctest: +SKIP
    >>> query = upsert(jams, "jams_now", checkpoint="s3a://city/jams")  # doctest: +SKIP
    """
    from thalweg.runtimes.spark.upsert_table import open_table

    begins = checkpoint is None or not read_log(answers.sparkSession, checkpoint, "offsets")
    kept = open_table(answers, table, is_new=begins)
    writing = answers.writeStream.foreachBatch(kept)
    if checkpoint is not None:
        writing = writing.option("checkpointLocation", checkpoint)
    return (writing.trigger(**trigger) if trigger else writing).start()


def register(session: "SparkSession") -> None:
    """Makes MQTT known to a session as a format for streams that are read and written.

    >>> register(spark)  # doctest: +SKIP
    >>> messages = spark.readStream.format("mqtt").load("mqtt://localhost/readings")  # doctest: +SKIP
    """
    from thalweg.runtimes.spark.mqtt_source import MqttSource

    session.dataSource.register(MqttSource)
