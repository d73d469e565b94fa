"""Spark's home without zipped sources."""

from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from thalweg.runtimes.spark import startup
from thalweg.runtimes.spark.startup import linked_home


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "pyspark"
    for part in ("bin", "jars", "python/lib"):
        (home / part).mkdir(parents=True)
    (home / "__init__.py").touch()
    (home / "jars" / "spark.jar").touch()
    monkeypatch.setattr(startup, "cache_directory", lambda: tmp_path)
    linked_home.cache_clear()
    return home


def test_all_that_java_needs_is_there_and_the_zip_is_not(installed: Path) -> None:
    home = linked_home(installed)
    assert home != installed
    assert (home / "jars" / "spark.jar").exists()
    assert sorted(part.name for part in home.iterdir()) == ["bin", "jars"]
    linked_home.cache_clear()
    assert linked_home(installed) == home


def test_where_no_links_can_be_made_the_home_is_used_as_it_is(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(startup, "cache_directory", lambda: tmp_path / "nowhere")
    assert linked_home(installed) == installed
