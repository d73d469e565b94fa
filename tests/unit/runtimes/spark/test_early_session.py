"""A session that is opened while programs are compiled: only where it can be, and not for longer than the run."""

import pytest

pytest.importorskip("pyspark")

from thalweg.runtimes.spark.early_session import EarlyOptions


@pytest.mark.parametrize("source", ["delta:/data/readings", "table:city.readings", "kafka://broker/readings"])
def test_what_needs_a_package_of_spark_is_looked_at_first(source: str) -> None:
    assert not EarlyOptions().suffice(["readings.csv", source])


@pytest.mark.parametrize(
    "options",
    [
        EarlyOptions("spark://host:7077"),
        EarlyOptions(conf={"spark.master": "yarn"}),
        EarlyOptions("local[2]", conf={"spark.master": "spark://host:7077"}),
    ],
)
def test_a_cluster_is_asked_when_there_is_something_to_do(options: EarlyOptions) -> None:
    assert not options.suffice(["readings.csv"])


def test_java_that_somebody_else_has_started_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert not EarlyOptions().suffice(["readings.csv"])
