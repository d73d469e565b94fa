"""Answers as rows that Spark writes: to tables, topics and folders, batch by batch, and no answer through the driver.

    delta:URI         appended with the number of the run and of the batch; Delta passes over a batch that it has
    iceberg:NAME      appended as a snapshot that says run and batch; one that the table has is not appended again
    table:NAME        as Delta or Iceberg, where it is such a table; one made here has partitions by run and batch
    URI.parquet       a folder a batch, `batch=7`, which is written anew where the batch is tried again
    kafka://          a message an answer, at least once; its key is the same each time, so a topic can be compacted

A batch is tried again where a run was killed before the ledger says that it was delivered.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from thalweg.connectors.lake import KAFKA, TABLE, LakeOutput
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.runtimes.spark.answer_frame import AnswerFrame
from thalweg.runtimes.spark.bucket_answers import BECAME_UNKNOWN, END
from thalweg.runtimes.spark.dataframe import quoted
from thalweg.runtimes.spark.session import java_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RUN: Final = "run"
BATCH: Final = "batch"
_PARTITION: Final = (RUN, BATCH)
# The property of a table that was made here.
_OURS: Final = "thalweg.answers"
_VERSION: Final = "1"
_RUN: Final = "thalweg-run"
_NUMBER: Final = "thalweg-batch"
_ANSWERS: Final = "thalweg_answers"
# Formats that find columns by their names, and know themselves which a table may lack.
_BY_NAME: Final = ("delta", "iceberg")
_TAKEN: Final = "name another place; to go on with an earlier run, name its checkpoint"


@dataclass(frozen=True, slots=True)
class LakeSink:
    """Where answers of a run go, and as which columns; `tick_length` is in milliseconds."""

    output: LakeOutput
    frame: AnswerFrame
    tick_length: int

    def begin(self, session: "SparkSession") -> None:
        """Before the first batch of a run: `RejectedError` where its answers cannot go there.

        A folder has files already, which may be another's, or a table has other columns.
        """
        match self.output.format:
            case "parquet":
                self._check_names({BATCH})
                self._check_folder(session)
            case "table":
                self._check_table(session)

    def _check_folder(self, session: "SparkSession") -> None:
        files = session.read.format("binaryFile").options(recursiveFileLookup="true", pathGlobFilter="*.parquet")
        try:
            is_empty = files.load(self.output.place).isEmpty()
        except java_errors():
            # It is not there yet; where it cannot be read, Spark says why when it is written.
            return
        if not is_empty:
            message = f"`{self.output.name}` has files of another run: they are not overwritten"
            raise RejectedError([Diagnostic("E408", message, help=_TAKEN)])

    def _check_table(self, session: "SparkSession") -> None:
        place = self.output.place
        if not session.catalog.tableExists(place):
            self._check_names({*_PARTITION}, ", or make a table with the columns of the answers before")
        elif _provider(session, place) not in _BY_NAME:
            self._columns(session)

    def _check_names(self, own: set[str], way_out: str = "") -> None:
        """`RejectedError` where answers have a column that is called like one of its own."""
        if clash := {column.name.lower() for column in self.frame.columns} & own:
            message = f"answers have a column `{min(clash)}`, which `{self.output.name}` gets of its own"
            help_ = f"call it otherwise in the program{way_out}"
            raise RejectedError([Diagnostic("E402", message, help=help_)])

    def write(self, rows: "DataFrame", run: str, batch: int) -> int:
        """Writes the answers among the rows of a batch, unless that was done; how many conclusions they have."""
        from pyspark.sql import functions as F  # noqa: N812

        kind = F.col("kind")
        chosen = rows.where(kind.isin(self.frame.kinds))
        ((count, ends),) = chosen.agg(F.count("*"), F.count(F.when(kind.isin(END, BECAME_UNKNOWN), 1))).collect()
        if count:
            self._write(self.frame.answers(chosen, self.tick_length), run, batch)
        return int(count - ends)

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
            self._make_table(answers)
        provider, is_ours = _provider(session, place), _is_ours(session, place)
        rows = _with_batch(answers, run, batch) if is_ours else answers
        if provider == "delta":
            _append(rows.write.format("delta"), run, batch).saveAsTable(place)
        elif provider == "iceberg":
            self._add_snapshot(rows, run, batch)
        elif is_ours:
            self._replace_partition(answers, run, batch)
        else:
            answers.select(*map(quoted, self._columns(session))).write.mode("append").insertInto(place)

    def _make_table(self, answers: "DataFrame") -> None:
        """Makes a table with a partition for each batch of each run, and the property that says so."""
        from pyspark.sql import functions as F  # noqa: N812

        empty = _with_batch(answers.limit(0), "", 0).writeTo(self.output.place).tableProperty(_OURS, _VERSION)
        empty.partitionedBy(*map(F.col, _PARTITION)).create()

    def _columns(self, session: "SparkSession") -> list[str]:
        """The columns of a table in their order, without our own; `RejectedError` where answers have others."""
        place = self.output.place
        own = _PARTITION if _is_ours(session, place) else ()
        # A session that has looked at the table itself would not see the files that a batch adds.
        columns = [column.name for column in session.catalog.listColumns(place) if column.name not in own]
        written = [column.name for column in self.frame.columns]
        if sorted(map(str.lower, columns)) != sorted(map(str.lower, written)):
            message = f"answers do not fit into `{self.output.name}`, which has the columns {', '.join(columns)}"
            help_ = f"name a new table, or one with the columns {', '.join(written)}, in any order"
            raise RejectedError([Diagnostic("E402", message, help=help_)])
        return columns

    def _replace_partition(self, answers: "DataFrame", run: str, batch: int) -> None:
        """Writes the partition of a batch, in place of what a killed attempt has written there."""
        session = answers.sparkSession
        columns = ", ".join(map(quoted, self._columns(session)))
        answers.createOrReplaceTempView(_ANSWERS)
        into = f"INSERT OVERWRITE {self.output.place} PARTITION ({RUN} = '{run}', {BATCH} = {batch})"
        session.sql(f"{into} SELECT {columns} FROM {_ANSWERS}").collect()

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


def _with_batch(answers: "DataFrame", run: str, batch: int) -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812

    return answers.withColumn(RUN, F.lit(run)).withColumn(BATCH, F.lit(batch).cast("long"))


def _is_ours(session: "SparkSession", table: str) -> bool:
    """Whether a table was made here: it says so itself, as its columns may be anyone's."""
    return any(row["key"] == _OURS for row in session.sql(f"SHOW TBLPROPERTIES {table}").collect())


def _provider(session: "SparkSession", table: str) -> str:
    """The format of a table of a catalog."""
    rows = session.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()
    return next((str(row["data_type"]).lower() for row in rows if row["col_name"] == "Provider"), TABLE)
