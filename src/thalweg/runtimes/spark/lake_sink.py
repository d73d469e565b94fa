"""Answers as rows that Spark writes: to tables, topics and folders, batch by batch, and no answer through the driver.

    delta:URI         appended with the number of the run and of the batch; Delta passes over a batch that it has
    iceberg:NAME      appended as a snapshot that says run and batch; one that the table has is not appended again
    table:NAME        as Delta or Iceberg, where it is such a table; one that is made here has a partition a batch
    URI.parquet       a folder a batch, `batch=7`, which is written anew where the batch is tried again
    kafka://          a message an answer, at least once; its key is the same each time, so a topic can be compacted

A batch is tried again where a run was killed before the ledger says that it was delivered.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from thalweg.connectors.lake import KAFKA, TABLE, LakeOutput
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.runtimes.spark.answer_frame import AnswerFrame
from thalweg.runtimes.spark.dataframe import quoted
from thalweg.runtimes.spark.session import java_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCH: Final = "batch"
_RUN: Final = "thalweg-run"
_NUMBER: Final = "thalweg-batch"
_ANSWERS: Final = "thalweg_answers"
_TAKEN: Final = "name another place; to go on with an earlier run, name its checkpoint"


@dataclass(frozen=True, slots=True)
class LakeSink:
    """Where answers of a run go, and as which columns; `tick_length` is in milliseconds."""

    output: LakeOutput
    frame: AnswerFrame
    tick_length: int

    def begin(self, session: "SparkSession") -> None:
        """Before the first batch of a run: `RejectedError` where a folder has files already, which may be another's."""
        if self.output.format != "parquet":
            return
        files = session.read.format("binaryFile").options(recursiveFileLookup="true", pathGlobFilter="*.parquet")
        try:
            is_empty = files.load(self.output.place).isEmpty()
        except java_errors():
            # It is not there yet; where it cannot be read, Spark says why when it is written.
            return
        if not is_empty:
            message = f"`{self.output.name}` has files of another run: they are not overwritten"
            raise RejectedError([Diagnostic("E408", message, help=_TAKEN)])

    def write(self, rows: "DataFrame", run: str, batch: int) -> int:
        """Writes the answers among the rows of a batch, unless that was done; how many there are."""
        from pyspark.sql import functions as F  # noqa: N812

        chosen = rows.where(F.col("kind").isin(self.frame.kinds))
        count = chosen.count()
        if count:
            self._write(self.frame.answers(chosen, self.tick_length), run, batch)
        return count

    def _write(self, answers: "DataFrame", run: str, batch: int) -> None:
        match self.output.format:
            case "parquet":
                answers.write.mode("overwrite").parquet(f"{self.output.place.rstrip('/')}/{BATCH}={batch}")
            case "delta":
                _append(answers.write.format("delta"), run, batch).save(self.output.place)
            case "iceberg":
                self._add_snapshot(answers, run, batch)
            case "table":
                self._into_table(answers, run, batch)
            case "kafka":
                self._send(answers)

    def _into_table(self, answers: "DataFrame", run: str, batch: int) -> None:
        session, place = answers.sparkSession, self.output.place
        if not session.catalog.tableExists(place):
            _with_batch(answers.limit(0), batch).write.partitionBy(BATCH).saveAsTable(place)
        provider, is_ours = _provider(session, place), BATCH in session.table(place).columns
        rows = _with_batch(answers, batch) if is_ours else answers
        if provider == "delta":
            _append(rows.write.format("delta"), run, batch).saveAsTable(place)
        elif provider == "iceberg":
            self._add_snapshot(rows, run, batch)
        elif is_ours:
            self._replace_partition(answers, batch)
        else:
            rows.write.mode("append").insertInto(place)

    def _replace_partition(self, answers: "DataFrame", batch: int) -> None:
        """Writes the partition of a batch, in place of what a killed attempt has written there."""
        answers.createOrReplaceTempView(_ANSWERS)
        columns = ", ".join(quoted(name) for name in answers.columns)
        into = f"INSERT OVERWRITE {self.output.place} PARTITION ({BATCH} = {batch})"
        answers.sparkSession.sql(f"{into} SELECT {columns} FROM {_ANSWERS}").collect()

    def _add_snapshot(self, answers: "DataFrame", run: str, batch: int) -> None:
        session, place = answers.sparkSession, self.output.place
        if not session.catalog.tableExists(place):
            answers.limit(0).writeTo(place).using("iceberg").create()
        snapshots = session.sql(
            f"SELECT max(int(summary['{_NUMBER}'])) AS last FROM {place}.snapshots WHERE summary['{_RUN}'] = '{run}'"
        )
        last = snapshots.collect()[0]["last"]
        if last is None or last < batch:
            about = {f"snapshot-property.{_RUN}": run, f"snapshot-property.{_NUMBER}": str(batch)}
            answers.writeTo(place).options(**about).append()

    def _send(self, answers: "DataFrame") -> None:
        from pyspark.sql import functions as F  # noqa: N812

        value = F.to_json(F.struct("*"), {"ignoreNullFields": "false"})
        key = F.sha2("value", 256) if self.output.key is None else F.lit(self.output.key)
        messages = answers.select(value.alias("value")).select(key.alias("key"), "value")
        broker = {"kafka.bootstrap.servers": self.output.place, "topic": self.output.topic}
        messages.write.format(KAFKA).options(**broker).save()


def _append(writer: Any, run: str, batch: int) -> Any:
    """A writer that adds rows to a table of Delta, which it does once for a run and a batch."""
    return writer.mode("append").option("txnAppId", run).option("txnVersion", batch)


def _with_batch(answers: "DataFrame", batch: int) -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812

    return answers.withColumn(BATCH, F.lit(batch).cast("long"))


def _provider(session: "SparkSession", table: str) -> str:
    """The format of a table of a catalog."""
    rows = session.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()
    return next((str(row["data_type"]).lower() for row in rows if row["col_name"] == "Provider"), TABLE)
