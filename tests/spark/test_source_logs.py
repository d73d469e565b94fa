"""A driver that is killed when it has written down what a batch reads of one table, and not yet of the other."""

import json
import os
import sys
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark.processes import PATIENCE, Family, run, started
from thalweg import api

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TICKS, KILLS = 240, 3
RULES = "both(X) :- p(X) in [5], q(X) in [5]. alone(X) :- p(X), not q(X) in [2]."
# How many ticks a file of each table has: `q` is far ahead soon.
SPEEDS = {"p": 4, "q": 12}
READING = """
import sys
from thalweg.runtimes.spark.session import open_session
from thalweg.spark import reason

folder, rules = sys.argv[1:]
session = open_session("local[2]", 2)
reading = session.readStream.schema("x string, t long").option("maxFilesPerTrigger", 1)
tables = {name: reading.parquet(f"{folder}/{name}") for name in "pq"}
answers = reason(rules, tables, emit="changes", late=True, until="available")
writing = answers.writeStream.option("checkpointLocation", f"{folder}/state").trigger(availableNow=True)
writing.format("parquet").start(f"{folder}/answers").awaitTermination()
"""


def facts(table: str) -> list[tuple[str, int]]:
    """What a table has of each tick; `q` has no fact of some."""
    return [(f"x{tick}", tick) for tick in range(TICKS) if table == "p" or tick % 7]


def write(folder: Path, table: str) -> None:
    """The files of a table; Spark takes them by their age."""
    (folder / table).mkdir()
    for number, first in enumerate(range(0, TICKS, SPEEDS[table])):
        rows = [(x, tick) for x, tick in facts(table) if first <= tick < first + SPEEDS[table]]
        file = folder / table / f"{number}.parquet"
        pq.write_table(pa.table({"x": [x for x, _ in rows], "t": [tick for _, tick in rows]}), file)
        os.utime(file, (1_000 + number, 1_000 + number))


def last(log: Path) -> int:
    """The last batch of a log of Spark's checkpoint."""
    names = os.listdir(log) if log.exists() else []
    return max((int(name.partition(".")[0]) for name in names if name[0].isdigit()), default=-1)


def ahead(state: Path) -> list[bool]:
    """For each table, whether its log is ahead of the last batch that is planned, and it has more files still."""
    lines = (state / "offsets" / str(last(state / "offsets"))).read_text().splitlines()[2:]
    offsets = map(json.loads, lines)
    # Beside the tables there may be a clock.
    planned = {source: offset["logOffset"] for source, offset in enumerate(offsets) if "logOffset" in str(offset)}
    written = {source: last(state / "sources" / str(source)) for source in planned}
    is_rich = max(written.values()) < min(TICKS // speed for speed in SPEEDS.values()) - 1
    return [is_rich and written[source] > batch for source, batch in planned.items()]


def is_hit(state: Path, family: Family) -> bool:
    """Kills the driver between the logs, behind a batch of its own; whether the other log is still not written."""
    before, until = last(state / "offsets"), monotonic() + PATIENCE
    while last(state / "offsets") == before or len({*ahead(state)}) == 1:
        assert not family.ended, "it was never between the logs"
        assert monotonic() < until, "no batch is planned"
        sleep(0.0005)
    family.kill_group()
    family.wait()
    return len({*ahead(state)}) == 2


@pytest.mark.slow
def test_nothing_is_lost_or_wrong_when_it_goes_on(session: "SparkSession", tmp_path: Path) -> None:
    for table in SPEEDS:
        write(tmp_path, table)
    line, said = [sys.executable, "-c", READING, str(tmp_path), RULES], tmp_path / "said.txt"
    hits = 0
    while hits < KILLS:
        with started(line, said) as family:
            hits += is_hit(tmp_path / "state", family)
    assert last(tmp_path / "state" / "offsets") < TICKS // SPEEDS["p"] - 1, "nothing is left to be done"
    assert run(line, said) == 0, said.read_text()
    rows = session.read.parquet(str(tmp_path / "answers")).collect()
    answers = sorted((row.t, row.op, f"{row.predicate}({','.join(row.args)})") for row in rows)
    events = sorted((tick, f"{table}({x})") for table in SPEEDS for x, tick in facts(table))
    expected = sorted(
        (change.t, op, str(fact))
        for change in api.run(RULES, stream=events, end=TICKS - 1)
        for op, changed in (("+", change.begin), ("-", change.end))
        for fact in changed
    )
    assert answers == expected != []
