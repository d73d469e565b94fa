"""Backgrounds that only Spark reads (`table:`, `delta:`, `iceberg:`): read as a whole, before programs are compiled."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from thalweg.connectors.held_tables import HeldTable
from thalweg.connectors.lake import TABLE, LakeOutput, is_lake, lake_stream, table_name, table_place
from thalweg.connectors.named_source import NamedSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from thalweg.runtimes.spark.run import SparkTarget


def has_lake_background(background: Sequence[Any]) -> bool:
    """Whether a background is one that only Spark reads."""
    return any(is_lake(_origin(source)) for source in background)


def read_lakes(
    background: Sequence[Any],
    target: "SparkTarget",
    streams: Sequence[Any],
    output: LakeOutput | None,
    partitions: int,
) -> "tuple[list[Any], SparkTarget]":
    """The background with tables in place of their names, and the target with the session that has read them.

    The session is opened for all formats of the run, those of its streams and of its output, too.
    """
    from thalweg.runtimes.spark.packages import PACKAGES
    from thalweg.runtimes.spark.run import failure
    from thalweg.runtimes.spark.session import java_errors

    origins = [_origin(source) for source in (*background, *streams)]
    opened = [lake_stream(name) for name in origins if isinstance(name, str)]
    formats = {lake.format for lake in (*opened, output) if lake is not None}
    target = replace(target, formats=tuple(sorted(formats & PACKAGES.keys())))
    session = target.open_session(partitions)
    try:
        return [_read(source, session) for source in background], replace(target, session=session)
    except java_errors() as error:
        raise failure(error) from error


def _origin(source: Any) -> Any:
    return source.origin if isinstance(source, NamedSource) else source


def _read(source: Any, session: "SparkSession") -> Any:
    name = _origin(source)
    if not is_lake(name):
        return source
    from thalweg.runtimes.spark.table_names import known_table

    format_, place = table_place(name)
    with known_table(session, place):
        table = session.table(place) if format_ == TABLE else session.read.format(format_).load(place)
    return HeldTable(table.toArrow(), source.name if isinstance(source, NamedSource) else table_name(place))
