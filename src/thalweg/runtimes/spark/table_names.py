"""Tables that no catalog of Spark has: the name was misspelt, or the settings of its catalog are missing."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.runtimes.spark.session import java_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MISSING: Final = "TABLE_OR_VIEW_NOT_FOUND"


@contextmanager
def known_table(session: "SparkSession", name: str) -> Iterator[None]:
    """Where a table is looked up by its name; `RejectedError` where there is none, with the one that may be meant."""
    try:
        yield
    except java_errors() as error:
        if _MISSING not in str(error):
            raise
        message = f"there is no table `{name}` in Spark's catalogs"
        raise RejectedError([Diagnostic("E401", message, help=_way_out(session, name))]) from None


def _way_out(session: "SparkSession", name: str) -> str:
    schema, _, last = name.rpartition(".")
    with suppress(*java_errors()):
        names = [table.name for table in session.catalog.listTables(schema or None)]
        if meant := get_close_matches(last, names, 1):
            return f"did you mean `{'.'.join(filter(None, (schema, meant[0])))}`?"
    return "look at its name; catalogs are settings, such as `--conf spark.sql.catalog.city=…`"
