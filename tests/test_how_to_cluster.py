"""What the page about clusters shows is what Spark does."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from thalweg.runtimes.spark.packages import PACKAGES

PAGE = (Path(__file__).parents[1] / "docs" / "how-to" / "cluster.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"`([\w/.-]+)`:\n\n```(?:python|yaml)\n(.*?)```", PAGE, re.DOTALL))
ROWS = re.findall(r"^\| (4\.\d) \| (.*) \| (.*) \| (.*) \|$", PAGE, re.MULTILINE)
READINGS = [("a", 12, 0), ("b", 35, 3), ("b", 15, 4), ("c", 90, 59)]


def test_there_is_something_to_try() -> None:
    assert sorted(FILES) == ["spark-pipeline.yml", "submitted.py", "transformations/slow.py"]


def test_the_table_of_packages_is_the_one_that_is_used() -> None:
    shown = {
        (name, version): cell.strip("`")
        for version, *cells in ROWS
        for name, cell in zip(("kafka", "delta", "iceberg"), cells, strict=True)
        if cell != "–"
    }
    assert shown == {
        (name, version): one for name, by_version in PACKAGES.items() for version, one in by_version.items()
    }
    assert [version for version, *_ in ROWS] == ["4.1", "4.2", "4.3"]


@pytest.mark.spark
@pytest.mark.slow
def test_the_pipeline_runs(tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="Spark Connect is not installed")
    pytest.importorskip("yaml")
    import pyarrow.parquet as pq
    from pyspark.find_spark_home import _find_spark_home

    from thalweg.runtimes.spark.java import find_java

    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text.replace("file:///tmp/traffic", f"file://{tmp_path}/storage"))
    (tmp_path / "arrived").mkdir()
    lines = [
        json.dumps({"sensor": sensor, "speed": speed, "t": f"2026-01-01T00:00:{second:02}Z"})
        for sensor, speed, second in READINGS
    ]
    (tmp_path / "arrived" / "1.json").write_text("\n".join(lines))
    variables = {
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "JAVA_HOME": str(find_java().home),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    line = ["bash", str(Path(_find_spark_home(), "bin", "spark-pipelines")), "run"]
    done = subprocess.run(line, cwd=tmp_path, env=os.environ | variables, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    warehouse = tmp_path / "spark-warehouse"
    rows = [row for file in sorted((warehouse / "slow").glob("*.parquet")) for row in pq.read_table(file).to_pylist()]
    intervals = sorted((row["S"], row["from"].second, row["until"].second) for row in rows)
    assert intervals == [("a", 0, 10), ("b", 4, 14)]
    counts = [row for file in (warehouse / "slow_sensors").glob("*.parquet") for row in pq.read_table(file).to_pylist()]
    assert sorted((row["S"], row["count"]) for row in counts) == [("a", 1), ("b", 1)]
