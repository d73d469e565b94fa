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
