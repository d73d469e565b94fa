"""A session for the tests that need one; it is gone before others open theirs."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS = 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/spark" in item.nodeid:
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="package")
def session() -> "Iterator[SparkSession]":
    pytest.importorskip("pyspark")
    from thalweg.runtimes.spark.session import open_session, stop_session

    opened = open_session("local[2]", PARTITIONS)
    yield opened
    stop_session(opened)


@pytest.fixture
def in_session(session: "SparkSession", monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs on Spark in this process take the session that is open, and leave it so."""
    from thalweg.runtimes.spark import run

    monkeypatch.setattr(run, "open_session", lambda *_, **__: session)
    monkeypatch.setattr(run, "stop_session", lambda _: None)
