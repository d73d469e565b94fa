"""`thalweg.spark.upsert`: a table has what holds now, however often a batch is tried."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.diagnostics import RejectedError
from thalweg.runtimes.spark.session import java_errors
from thalweg.runtimes.spark.upsert_table import TableOfFacts, open_table
from thalweg.spark import reason, upsert

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PROGRAM = "q(X) :- p(X) in [2]."


@pytest.fixture
def table(session: "SparkSession") -> Iterator[str]:
    name = f"facts_{uuid4().hex}"
    yield name
    for made in (name, f"{name}__next"):
        session.sql(f"DROP TABLE IF EXISTS {made}")


def write(folder: Path, number: int, *facts: tuple[str, int]) -> None:
    folder.mkdir(exist_ok=True)
    file = folder / f"{number}.parquet"
    pq.write_table(pa.table({"x": [x for x, _ in facts], "t": [t for _, t in facts]}), file)
    os.utime(file, (1_000 + number, 1_000 + number))


def changes(session: "SparkSession", folder: Path, **options: Any) -> "DataFrame":
    facts = session.readStream.schema("x string, t long").option("maxFilesPerTrigger", 1).parquet(str(folder))
    return reason(PROGRAM, {"p": facts}, **{"emit": "changes", "until": "available", **options})


def rows(session: "SparkSession", table: str) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, session.table(table).collect()))


@pytest.mark.parametrize("of", [None, pytest.param("q/1", marks=pytest.mark.slow)])
def test_a_table_has_what_holds_now(session: "SparkSession", tmp_path: Path, table: str, of: str | None) -> None:
    def shown(*facts: tuple[str, int]) -> list[tuple[Any, ...]]:
        return [(x, since) if of else ("q", [x], since) for x, since in facts]

    state = str(tmp_path / "state")
    write(tmp_path / "in", 0, ("a", 1), ("b", 2))
    write(tmp_path / "in", 1, ("b", 3), ("c", 4))
    upsert(changes(session, tmp_path / "in", of=of), table, checkpoint=state, availableNow=True).awaitTermination()
    assert rows(session, table) == shown(("b", 2), ("c", 4))
    write(tmp_path / "in", 2, ("d", 9))
    upsert(changes(session, tmp_path / "in", of=of), table, checkpoint=state, availableNow=True).awaitTermination()
    assert rows(session, table) == shown(("d", 9))


def test_a_batch_that_is_tried_again_changes_nothing(session: "SparkSession", tmp_path: Path, table: str) -> None:
    write(tmp_path / "in", 0, ("a", 1))
    kept = open_table(changes(session, tmp_path / "in", of="q/1"), table, is_new=True)
    batches = [
        [(1, "+", "a"), (2, "+", "b")],
        [(5, "-", "a"), (5, "-", "b"), (7, "+", "b"), (8, "+", "c"), (9, "-", "c")],
    ]
    for number, batch in enumerate(batches):
        for _ in range(2):
            kept(session.createDataFrame(batch, "t long, op string, X string"), number)
    assert rows(session, table) == [("b", 7)]


def test_a_table_that_was_lost_while_it_was_written_anew_is_found(
    session: "SparkSession", tmp_path: Path, table: str
) -> None:
    write(tmp_path / "in", 0, ("a", 1))
    answers = changes(session, tmp_path / "in", of="q/1")
    batch = session.createDataFrame([(3, "+", "a")], "t long, op string, X string")
    open_table(answers, table, is_new=True)(batch, 0)
    session.sql(f"ALTER TABLE {table} RENAME TO {table}__next")
    again = open_table(answers, table, is_new=False)
    assert rows(session, table) == [("a", 3)]
    again(batch, 0)
    assert rows(session, table) == [("a", 3)]


def test_rows_of_another_query_are_not_touched(session: "SparkSession", tmp_path: Path, table: str) -> None:
    write(tmp_path / "in", 0, ("a", 1))
    session.createDataFrame([("mine", 3)], "X string, since long").write.saveAsTable(table)
    with pytest.raises(RejectedError, match=rf"E408\]: the table `{table}` has rows, and the query begins"):
        upsert(changes(session, tmp_path / "in", of="q/1"), table, checkpoint=str(tmp_path / "state"))
    assert rows(session, table) == [("mine", 3)]


def test_what_cannot_be_kept_is_refused(session: "SparkSession", tmp_path: Path, table: str) -> None:
    write(tmp_path / "in", 0, ("a", 1))
    with pytest.raises(RejectedError, match="is made of changes of facts"):
        upsert(changes(session, tmp_path / "in", emit="intervals"), table)
    still = session.createDataFrame([("a", 1)], "x string, t long")
    with pytest.raises(RejectedError, match="do not stream"):
        upsert(reason(PROGRAM, {"p": still}, emit="changes"), table)
    session.createDataFrame([(1,)], "n long").write.saveAsTable(table)
    with pytest.raises(RejectedError, match=r"has other columns than `x` string, `since` bigint"):
        upsert(changes(session, tmp_path / "in", of="q/1"), table)


def test_a_table_that_cannot_be_merged_into_is_known(session: "SparkSession", table: str) -> None:
    session.createDataFrame([("a", 3)], "X string, since long").write.saveAsTable(table)
    kept = TableOfFacts(table, ("X",), merges=True)
    assert not kept.can_merge(session)
    # The statement itself is one that Spark reads.
    with pytest.raises(java_errors(), match=r"(?i)merge into table.*not supported|does not support merge"):
        kept(session.createDataFrame([(4, "+", "b")], "t long, op string, X string"), 0)
    assert rows(session, table) == [("a", 3)]
