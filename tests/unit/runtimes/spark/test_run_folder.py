"""The folder of a run on Spark."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyarrow.fs import LocalFileSystem

from thalweg import api
from thalweg.api.run_options import RunOptions
from thalweg.diagnostics import RejectedError, Source
from thalweg.runtimes.spark.run import SparkTarget, check_path
from thalweg.runtimes.stored_path import StoredPath


@pytest.mark.parametrize("name", ["run [1]", "{a,b}", "st*r", "what?", "back\\slash"])
def test_a_folder_that_spark_would_take_for_a_pattern_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(RejectedError, match="in a path for a pattern"):
        check_path(tmp_path / name)
    assert not (tmp_path / name).exists()


@pytest.mark.spark
@pytest.mark.parametrize(
    "stream",
    [
        lambda file: f"replay://{file}",
        lambda file: Source("s.facts", file.read_text()),
        lambda file: [(3, ["a(x)"])],
        lambda file: [file, "-"],
        lambda file: file,
        lambda file: [file, "kafka://localhost:1/readings"],
        lambda file: "delta:/nowhere/readings",
    ],
)
def test_the_folder_may_be_on_another_file_system(tmp_path: Path, stream: Callable[[Path], Any]) -> None:
    file = tmp_path / "s.facts"
    file.write_text("a(x) at 3.\n")
    folder = StoredPath("hdfs://host/runs/city", LocalFileSystem(), str(tmp_path / "city"))
    part = api.load_part(["seen(X) :- a(X)."], [])
    # All is well with the folder: it comes to the master, which there is not.
    with pytest.raises(RejectedError, match="`nowhere` is not the address of a Spark master"):
        api.run_on_spark(part, stream(file), RunOptions(), SparkTarget("nowhere", folder))
