"""Reasoning inside a Spark job of one's own: a DataFrame of facts in, a DataFrame of answers out."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, Literal
from uuid import uuid4

from thalweg.api import Background, Text, Timing, load
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.ir.nodes import Program

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["reason", "register"]

ROCKS_DB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def reason(
    program: Program | Text | Iterable[Program | Text],
    facts: "DataFrame",
    *,
    predicate: str | None = None,
    background: Background = (),
    emit: Literal["changes", "snapshot", "intervals"] = "changes",
    first: int | str | None = None,
    last: int | str | None = None,
    delay: int | str = 0,
    tick: str = "1s",
    partitions: int | None = None,
    late: bool = False,
) -> "DataFrame":
    """The answers of a program over a table of facts, streaming or not.

    The table has the columns `fact` and `t`, or `s`, `p`, `o` and `t`, or, where a `predicate` is named, its arguments
    and `t`; a column `stream` names the stream. `t` is a tick or a timestamp. The answers have the columns

        changes      t, change (`begin` or `end`), fact
        intervals    fact, from, until (null while it holds at the end)
        snapshot     t, fact

    With `late=True`, changes also have rows whose `change` is `late`: facts that came behind the watermark, whose tick
    is in `watermark`. A table that does not stream is taken as a whole, so nothing in it is late.

    Where a program cannot go on, for want of memory for example, the job fails with the diagnostic as its message.

        >>> from thalweg.spark import reason
        >>> jams = reason("jam(R) :- slow(R) in [60], not light(R) in [60].", readings)  # doctest: +SKIP
    """
    from pyspark.sql import functions as F  # noqa: N812

    from thalweg.model.time import milliseconds
    from thalweg.planning.route_justifications import route_justifications
    from thalweg.runtimes.embedded import Settings
    from thalweg.runtimes.spark.columns import shape_of
    from thalweg.runtimes.spark.dataframe import BEGIN, END, INTERVAL, LATE_FACT, SNAPSHOT, chain, pack_table
    from thalweg.runtimes.spark.job import Job
    from thalweg.runtimes.spark.wire import FAILED

    store = facts.sparkSession.conf.get("spark.sql.streaming.stateStore.providerClass", "") or ""
    if facts.isStreaming and "RocksDB" not in store:
        way_out = f"set `spark.sql.streaming.stateStore.providerClass` to `{ROCKS_DB}`"
        raise RejectedError(
            [Diagnostic("E403", "reasoning over a stream needs Spark's RocksDB state store", help=way_out)]
        )
    programs = (program,) if isinstance(program, Program | str) or not isinstance(program, Iterable) else tuple(program)
    known = load(*programs, background=background, tick=tick)
    timing = Timing(tick, first, last, delay)
    settings = Settings(*timing.ticks(), emit)
    width = partitions or int(facts.sparkSession.conf.get("spark.sql.shuffle.partitions") or 2)
    job = Job(route_justifications(known), settings, width, bounded=not facts.isStreaming, name=uuid4().hex)
    answers = chain(job, pack_table(job, shape_of(facts.columns, predicate, milliseconds(tick)), facts))
    changes = [BEGIN, END, *([LATE_FACT] if late else [])]
    kinds = {"changes": changes, "intervals": [INTERVAL], "snapshot": [SNAPSHOT]}[emit]
    # In the filter, which is evaluated whatever columns are wanted.
    failed = F.when(F.col("kind") == FAILED, F.raise_error(F.col("stream")))
    rows = answers.where(failed.otherwise(F.col("kind").isin(kinds)))
    if emit == "intervals":
        until = F.when(F.col("until") >= 0, F.col("until"))
        return rows.select("fact", F.col("t").alias("from"), until.alias("until"))
    if emit == "snapshot":
        return rows.select("t", "fact")
    watermark = [F.col("until").alias("watermark")] if late else []
    return rows.select("t", F.col("kind").alias("change"), "fact", *watermark)


def register(session: "SparkSession") -> None:
    """Makes MQTT known to a session as a format for streams that are read and written.

    >>> register(spark)  # doctest: +SKIP
    >>> messages = spark.readStream.format("mqtt").load("mqtt://localhost/readings")  # doctest: +SKIP
    """
    from thalweg.runtimes.spark.mqtt_source import MqttSource

    session.dataSource.register(MqttSource)
