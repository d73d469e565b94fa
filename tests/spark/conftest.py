"""All tests of this folder need Spark."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/spark" in item.nodeid:
            item.add_marker(pytest.mark.spark)
