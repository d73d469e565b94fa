"""`reason` on a session of anyone's has the settings that a session of our own has."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.runtimes.spark.query_settings import QUERY_SETTINGS
from thalweg.runtimes.spark.session_settings import SessionOptions, settings
from thalweg.spark import reason

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDS = "spark.sql.execution.arrow.maxRecordsPerBatch"


@pytest.fixture
def plain(session: "SparkSession") -> "SparkSession":
    """A session without a setting of ours."""
    other = session.newSession()
    for key in QUERY_SETTINGS:
        other.conf.unset(key)
    return other


def test_a_session_of_our_own_has_them() -> None:
    assert settings(SessionOptions("local[2]"), 2).items() >= QUERY_SETTINGS.items()


def test_a_plain_session_gets_what_was_not_set(plain: "SparkSession") -> None:
    plain.conf.set(RECORDS, "77")
    reason("q(X) :- p(X).", {"p": plain.createDataFrame([("a", 1)], "x string, t long")})
    after = {key: plain.conf.get(key) for key in QUERY_SETTINGS}
    assert after == QUERY_SETTINGS | {RECORDS: "77"}


def test_partitions_are_not_put_together(plain: "SparkSession") -> None:
    from pyspark.sql import functions as F  # noqa: N812

    plain.conf.set("spark.sql.adaptive.enabled", "true")
    facts = plain.createDataFrame([(f"x{number}", 1) for number in range(20)], "x string, t long")
    found = reason("q(X) :- p(X).", {"p": facts}).select(F.spark_partition_id()).distinct()
    assert found.count() == int(plain.conf.get("spark.sql.shuffle.partitions") or 0)


def test_the_state_of_a_plain_session_is_a_changelog(plain: "SparkSession", tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(2):
        file = tmp_path / "in" / f"{number}.parquet"
        pq.write_table(pa.table({"x": ["a"], "t": [number]}), file)
        os.utime(file, (1_000 + number, 1_000 + number))
    facts = plain.readStream.schema("x string, t long").option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    writing = reason("q(X) :- p(X).", {"p": facts}).writeStream.format("noop")
    writing = writing.option("checkpointLocation", str(tmp_path / "state"))
    writing.trigger(availableNow=True).start().awaitTermination()
    assert list((tmp_path / "state" / "state" / "0").glob("*/*.changelog"))
