"""`reason` in a session of Spark Connect: what the same tables give in a session with a Java of its own."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from spark.connect_server import connect_server

pytest.importorskip("grpc", reason="Spark Connect is not installed")
pytestmark = pytest.mark.slow

# A process of its own: where a session of Spark Connect is open, no other kind can be.
SCRIPT = """
import json, logging, sys
from pyspark.sql import SparkSession
from thalweg.spark import reason

logging.basicConfig(level=logging.WARNING, format="%(message)s")
spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with connect_server(tmp_path_factory.mktemp("connect")) as address:
        yield address


def printed(server: str, script: str, *arguments: str | Path) -> tuple[list[list[object]], str]:
    """The rows that a script prints as JSON, and what it logs."""
    line = [sys.executable, "-c", SCRIPT + script, server, *map(str, arguments)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return sorted(json.loads(row) for row in done.stdout.splitlines()), done.stderr


def test_a_table(server: str) -> None:
    rows, logged = printed(
        server,
        """
rows = [("a", 12, 0), ("b", 35, 3), ("b", 15, 4), ("b", None, 5)]
readings = spark.createDataFrame(rows, "sensor string, v int, t int")
limits = spark.createDataFrame([(20,)], ["v"])
rules = "slow(S,V) :- speed(S,V) in [10], limit(L), V < L."
slow = reason(rules, {"speed": readings}, background={"limit": limits}, of="slow/2", end=16)
for row in slow.collect():
    print(json.dumps(list(row)))
import time; time.sleep(2)
""",
    )
    assert rows == [["a", 12, 0, 10], ["b", 15, 4, 14]]
    assert "W307" in logged
    assert "1 row was passed over, because a cell is empty" in logged


def test_a_stream(server: str, tmp_path: Path) -> None:
    """Two levels, so that there are two stateful operators; late and malformed rows; a query that is resumed."""
    folder = tmp_path / "readings"
    folder.mkdir()
    script = """
folder, place = sys.argv[2:]
readings = spark.readStream.schema("sensor string, road string, v int, t timestamp").json(folder)
rules = "slow(S) :- speed(S,R,V) in [5 s], V < 20. pair(S,U) :- slow(S), slow(U), S < U."
mapping = "speed(sensor, road, v) at t"
pairs = reason(rules, readings, map=mapping, emit="changes", of="pair/2", delay="1 s", late=True)
query = pairs.writeStream.option("checkpointLocation", f"{place}/checkpoint").trigger(availableNow=True).start(
    f"{place}/answers", format="json")
query.awaitTermination()
import time; time.sleep(3)
for row in spark.read.schema("S string, U string, t timestamp, op string").json(f"{place}/answers").collect():
    print(json.dumps([row.op, row.S, row.U, row.t and row.t.second]))
"""
    (folder / "1.json").write_text(lines(("a", "x", 12, 0), ("b", "x", 15, 2), ("c", "y", 9, 3)))
    rows, _ = printed(server, script, folder, tmp_path)
    assert rows == []
    (folder / "2.json").write_text(lines(("d", "x", 50, 20), ("a", "x", 12, 1), ("e", "x", None, 21)))
    rows, logged = printed(server, script, folder, tmp_path)
    assert rows == [
        ["+", "a", "b", 2],
        ["+", "a", "c", 3],
        ["+", "b", "c", 3],
        ["-", "a", "b", 6],
        ["-", "a", "c", 6],
        ["-", "b", "c", 8],
        ["late", None, None, 1],
        ["malformed", None, None, None],
    ]
    assert "W302" in logged
    assert "W307" in logged


def lines(*readings: tuple[str, str, int | None, int]) -> str:
    return "".join(
        json.dumps({"sensor": sensor, "road": road, "v": speed, "t": f"2026-01-01T00:00:{second:02}Z"}) + "\n"
        for sensor, road, speed, second in readings
    )
