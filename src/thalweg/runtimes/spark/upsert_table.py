"""A table of what holds now, kept up to date with the changes that a query answers.

    changes    t, op, predicate, args         3, +, jam, [a]     9, -, jam, [a]
    table      predicate, args, since         jam, [a], 3        no row

Of all changes of a batch to a fact only the last one counts, so a batch that is tried again leaves the same table.
Where the table can be merged into (Delta, Iceberg), Spark does that. Any other one is written anew beside itself, and
then takes its own place; a table that was lost between the two is found there.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.runtimes.spark.dataframe import quoted
from thalweg.runtimes.spark.session import java_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SINCE: Final = "since"
_CHANGE: Final = ("t", "op")
_LATE: Final = ("watermark", "message")
_NEXT: Final = "__next"
_BATCH: Final = "thalweg_changes"


def fact_columns_of(answers: "DataFrame") -> tuple[str, ...]:
    """The columns that say which fact a row of changes is about; `RejectedError` where there are no changes."""
    columns = answers.columns
    if not answers.isStreaming:
        message = "these answers do not stream, so there is nothing to keep up to date"
        raise _refused(message, 'write what holds with `emit="snapshot"` and `answers.write`')
    if not set(_CHANGE) <= set(columns) or "kind" in columns:
        message = "a table of what holds is made of changes of facts, with columns `t` and `op`"
        raise _refused(message, 'answer rules or an ontology with `emit="changes"`')
    if SINCE in columns:
        message = f"the answers have a column `{SINCE}`, which is where the table has the time"
        raise _refused(message, f'rename it: `answers.withColumnRenamed("{SINCE}", …)`')
    return tuple(name for name in columns if name not in (*_CHANGE, *_LATE))


def open_table(answers: "DataFrame", table: str, *, is_new: bool) -> "TableOfFacts":
    """The table that changes are kept in; it is made where it does not exist.

    `is_new`: the query begins, so a table with rows would be another's.
    """
    from pyspark.sql.utils import is_remote

    session, facts = answers.sparkSession, fact_columns_of(answers)
    wanted = answers.select(*map(quoted, facts), answers["t"].alias(SINCE)).schema
    kept = TableOfFacts(table, facts, merges=True)
    kept.restore(session)
    if not session.catalog.tableExists(table):
        session.createDataFrame([], wanted).write.saveAsTable(table)
    present = {name.lower(): kind for name, kind in session.table(table).dtypes}
    expected = {field.name.lower(): field.dataType.simpleString() for field in wanted.fields}
    if present != expected:
        listed = ", ".join(f"`{name}` {kind}" for name, kind in expected.items())
        raise _refused(
            f"the table `{table}` has other columns than {listed}", "name a new table: it is made with these"
        )
    if is_new and session.table(table).limit(1).count():
        message = f"the table `{table}` has rows, and the query begins: they may be those of another query"
        raise _refused(message, "name a new table, or the checkpoint of the query that made it", "E408")
    # Under Spark Connect batches are applied in a process that has no other session.
    return TableOfFacts(table, facts, kept.can_merge(session), None if is_remote() else session)


@dataclass(frozen=True, slots=True)
class TableOfFacts:
    """A table with a row for each fact that holds, known by the columns `facts`.

    Batches are applied in sessions of their own; the session of a `reader` remembers the files of tables.
    """

    table: str
    facts: tuple[str, ...]
    merges: bool
    reader: "SparkSession | None" = None

    def __call__(self, changes: "DataFrame", batch: int) -> None:
        """Applies the changes of a batch."""
        last = self._last(changes)
        if self.merges:
            self._merge(last, changes.sparkSession)
        else:
            self._rewrite(last, changes.sparkSession)
        if self.reader is not None:
            self.reader.catalog.refreshTable(self.table)

    def _last(self, changes: "DataFrame") -> "DataFrame":
        """The last change of each fact: whether it holds, and since when. What is unknown does not hold."""
        from pyspark.sql import functions as F  # noqa: N812

        is_begin = F.col("op") == "+"
        last = F.max(F.struct(F.col("t").alias(SINCE), is_begin.alias("holds"))).alias("last")
        chosen = changes.where(F.col("op").isin("+", "-", "?")).groupBy(*map(quoted, self.facts)).agg(last)
        return chosen.select(*map(quoted, self.facts), f"last.{SINCE}", "last.holds")

    def can_merge(self, session: "SparkSession") -> bool:
        """Whether Spark can merge rows into the table, tried with none."""
        try:
            columns = session.table(self.table)
            self._merge(columns.limit(0).selectExpr("*", "true as holds"), session)
        except java_errors():
            return False
        return True

    def _merge(self, last: "DataFrame", session: "SparkSession") -> None:
        last.createOrReplaceTempView(_BATCH)
        same = " AND ".join(f"old.{quoted(name)} <=> new.{quoted(name)}" for name in self.facts)
        columns = ", ".join(map(quoted, (*self.facts, SINCE)))
        values = ", ".join(f"new.{quoted(name)}" for name in (*self.facts, SINCE))
        session.sql(
            f"MERGE INTO {self.table} AS old USING {_BATCH} AS new ON {same} "
            f"WHEN MATCHED AND NOT new.holds THEN DELETE "
            f"WHEN MATCHED AND old.{SINCE} < new.{SINCE} THEN UPDATE SET {SINCE} = new.{SINCE} "
            f"WHEN NOT MATCHED AND new.holds THEN INSERT ({columns}) VALUES ({values})"
        ).collect()

    def _rewrite(self, last: "DataFrame", session: "SparkSession") -> None:
        last = last.persist()
        try:
            if last.isEmpty():
                return
            self.restore(session)
            old, new = session.table(self.table).alias("old"), last.alias("new")
            same = [_same(name) for name in self.facts]
            stays = old.join(new, [*same], "left_anti")
            begins = last.where("holds").select(stays.columns)
            stays.unionByName(begins).write.mode("overwrite").saveAsTable(f"{self.table}{_NEXT}")
            session.sql(f"DROP TABLE {self.table}").collect()
            self.restore(session)
        finally:
            last.unpersist()

    def restore(self, session: "SparkSession") -> None:
        """Puts the table that was written anew into its place, where it has none."""
        catalog = session.catalog
        if not catalog.tableExists(self.table) and catalog.tableExists(f"{self.table}{_NEXT}"):
            name = f"{self.table}{_NEXT}"
            session.sql(f"ALTER TABLE {name} RENAME TO {self.table}").collect()


def _refused(message: str, help: str, code: str = "E402") -> RejectedError:
    return RejectedError([Diagnostic(code, message, help=help)])


def _same(name: str) -> Any:
    from pyspark.sql import functions as F  # noqa: N812

    return F.col(f"old.{quoted(name)}").eqNullSafe(F.col(f"new.{quoted(name)}"))
