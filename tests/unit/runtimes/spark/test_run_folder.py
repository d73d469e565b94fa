"""The folder of a run on Spark."""

from pathlib import Path

import pytest

from thalweg.diagnostics import RejectedError
from thalweg.runtimes.spark.run import check_path


@pytest.mark.parametrize("name", ["run [1]", "{a,b}", "st*r", "what?", "back\\slash"])
def test_a_folder_that_spark_would_take_for_a_pattern_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(RejectedError, match="in a path for a pattern"):
        check_path(tmp_path / name)
    assert not (tmp_path / name).exists()
