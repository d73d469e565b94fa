"""Tables whose columns are stated, so that Spark need not be asked: in a declarative pipeline it must not be.

A function of a pipeline only describes a query. Spark refuses to analyse a table in it (E402 says so where nothing is
stated); a table with a stated schema knows its columns, and its plan is checked when the pipeline runs.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from thalweg.diagnostics import Diagnostic, RejectedError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    Schema = StructType | str

_REFUSED: Final = "ATTEMPT_ANALYSIS_IN_PIPELINE_QUERY_FUNCTION"
_IN_PIPELINE: Final = "SESSION_MUTATION_IN_DECLARATIVE_PIPELINE"
_EXAMPLE: Final = '`schema="sensor string, speed int, t timestamp"` and `streaming=True`, or `False`'


def declared(
    tables: "Mapping[str, DataFrame]", schema: "Schema | Mapping[str, Schema] | None"
) -> "dict[str, DataFrame]":
    """Tables with the schemas that are stated for them: one alone, or those of names."""
    if schema is None:
        return dict(tables)
    by_name = schema if isinstance(schema, Mapping) else dict.fromkeys([*tables][:1], schema)
    unstated = [name for name in tables if name not in by_name]
    unknown = [name for name in by_name if name not in tables]
    if unstated or unknown:
        message = f"there is no schema for the table `{unstated[0]}`" if unstated else f"no table `{unknown[0]}`"
        way_out = "give a dictionary of schemas with the names of the tables"
        raise RejectedError([Diagnostic("E402", message, help=way_out)])
    from thalweg.runtimes.spark.ddl import struct_of

    schemas = {name: struct_of(about) if isinstance(about, str) else about for name, about in by_name.items()}
    return {name: table.to(schemas[name]) for name, table in tables.items()}


@contextmanager
def analysing() -> Iterator[None]:
    """Turns the error of a pipeline, that nothing may be analysed in it, into one that says what to state."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        if error.getCondition() != _REFUSED and _REFUSED not in str(error):
            raise
        message = "a declarative pipeline does not say which columns a table has, nor whether it streams"
        raise RejectedError([Diagnostic("E402", message, help=f"state {_EXAMPLE}")]) from None


def set_in_session(session: "SparkSession", key: str, value: str) -> None:
    """Sets what a query needs; `RejectedError` in a declarative pipeline, whose settings are in its own file."""
    from pyspark.errors import PySparkException

    try:
        session.conf.set(key, value)
    except PySparkException as error:
        if _IN_PIPELINE not in str(error):
            raise
        message = f"this pipeline needs the setting `{key}`, and a function of a pipeline cannot set it"
        way_out = f"add `{key}: {value}` under `configuration` in `spark-pipeline.yml`"
        raise RejectedError([Diagnostic("E403", message, help=way_out)]) from None
