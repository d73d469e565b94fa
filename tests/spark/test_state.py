"""The state in the store is what the windows need, however long the run and however many the keys; and a batch that is
tried again finds what the first attempt found.
"""

import os
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from buckets import rule_job
from thalweg import api
from thalweg.dataflow.context import Settings
from thalweg.diagnostics import RejectedError
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.model.sealed import Format
from thalweg.runtimes.spark import job, processor, wire
from thalweg.runtimes.spark.pack import Packer
from thalweg.runtimes.spark.processor import LevelProcessor
from thalweg.runtimes.spark.progress_line import state_rows
from thalweg.runtimes.spark.shipped_job import ShippedJob
from thalweg.runtimes.spark.wire import FAILURE, error_of, joined, unwrap
from thalweg.runtimes.spark.worker_cache import WORKERS
from thalweg.runtimes.watermark import Watermark
from thalweg.spark import reason
from thalweg.testing.evaluators import arrived

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Answers = list[tuple[Any, ...]]

PROGRAM = """
slow(R)   :- speed(S,R,V) in [5], V < 20.
jam(R)    :- slow(R), not light(R) in [3].
dark(R,N) :- slow(R), N = count{L : lit(R,L) in [9]}, N < 3.
steady(R) :- slow(R) always in [4].
"""
BATCHES, TICKS_A_BATCH, FACTS_A_TICK, ROADS = 300, 5, 60, 30


def events(batch: int) -> list[Event]:
    random = Random(batch)
    return [
        Event(tick, tuple(fact(random, tick) for _ in range(FACTS_A_TICK)))
        for tick in range(batch * TICKS_A_BATCH, (batch + 1) * TICKS_A_BATCH)
    ]


def fact(random: Random, tick: int) -> Fact:
    """Roads come again; sensors and lamps are new ones as time goes on."""
    road = f"r{random.randrange(ROADS)}"
    match random.choice(("speed", "speed", "light", "lit")):
        case "speed":
            return Fact("speed", (f"s{tick}", road, str(random.randrange(60))))
        case "light":
            return Fact("light", (road,))
    return Fact("lit", (road, f"l{tick}"))


class Query:
    """The fragments of a job, each with a store in memory."""

    def __init__(self, emit: str) -> None:
        from pyspark.sql.streaming.tws_tester import TwsTester

        self.job = rule_job(api.load(PROGRAM, report=lambda found: None), Settings(emit=emit, delay=1))
        levels = [[fragment.number for fragment in level] for level in self.job.levels]
        self.levels = [(level, TwsTester(LevelProcessor(ShippedJob("here", self.job), level))) for level in levels]

    def take(self, batch: int) -> Answers:
        """What a batch tells the world, sorted."""
        packer = Packer(self.job, 0, (0,))
        items = arrived(events(batch), packer.words, Watermark(self.job.settings.delay))
        parcels = self.job.labelled(packer.pack(items))
        post = [Row(bucket=each.bucket, fragment=each.fragment, payload=each.payload) for each in parcels]
        for _, level in self.levels:
            groups = [(label, [row for row in post if row.bucket == label]) for label in self.job.labels]
            post = [row for label, rows in groups if rows for row in level.test(label, rows)]
        for row in post:
            if row.fragment == FAILURE:
                raise error_of(unwrap(row.payload).header["error"])
        told = [unwrap(payload).lists.values() for payload in joined(row.payload for row in post)]
        return sorted(
            answer for columns in told for answer in zip(*(column.tolist() for column in columns), strict=True)
        )

    @property
    def stored(self) -> int:
        """How many bytes the stores hold."""
        return sum(len(data) for number, level, label in self.places() for data in stored(level, number, label))

    def places(self) -> Iterator[tuple[int, Any, int]]:
        """Each fragment with its level and the keys of its buckets."""
        for fragments, level in self.levels:
            yield from ((number, level, label) for number in fragments for label in self.job.labels)

    def save(self) -> list[Any]:
        return [deepcopy(state.state) for state in self._states()]

    def go_back(self, saved: list[Any]) -> None:
        for state, known in zip(self._states(), saved, strict=True):
            state.state = deepcopy(known)

    def _states(self) -> list[Any]:
        handles = [level.handle for _, level in self.levels]
        return [one for each in handles for one in (*each.value_states.values(), *each.map_states.values())]


def stored(level: TwsTester, fragment: int, label: int) -> Iterator[bytes]:
    for name in ("base", "journal"):
        yield from (chunk for chunk, _ in level.peekMapState(f"{name}{fragment}", label).values())


@pytest.fixture(autouse=True)
def _small_journals(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a few batches are a long run."""
    monkeypatch.setattr(processor, "_SMALL", 1 << 14)


@pytest.mark.parametrize("emit", ["changes", "intervals"])
def test_the_store_follows_the_windows(emit: str) -> None:
    query = Query(emit)
    sizes = []
    for batch in range(BATCHES):
        assert query.take(batch)
        sizes.append(query.stored)
    quarter = BATCHES // 4
    assert max(sizes[-quarter:]) < 1.1 * max(sizes[:quarter])


def test_what_is_large_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of the store and rows between operators have a greatest size, and what was cut is whole again."""
    most, other = 500, Query("changes")
    expected = [other.take(batch) for batch in range(12)]
    monkeypatch.setattr(processor, "_CHUNK_SIZE", most)
    monkeypatch.setattr(wire, "MOST_BYTES", most)
    query = Query("changes")
    for batch in range(12):
        WORKERS.forget()
        assert query.take(batch) == expected[batch]
    chunks = [chunk for number, level, label in query.places() for chunk in stored(level, number, label)]
    assert max(map(len, chunks)) == most
    assert query.stored > 20 * most


@pytest.mark.parametrize("distance", [0, 1])
def test_the_version_before_is_read(monkeypatch: pytest.MonkeyPatch, distance: int) -> None:
    query, other = Query("changes"), Query("changes")
    assert query.take(0) == other.take(0)
    number = job.FORMAT.number
    monkeypatch.setattr(job, "FORMAT", Format(number + 1, oldest=number + distance))
    WORKERS.forget()
    if distance:
        with pytest.raises(RejectedError, match=rf"E421\]: the checkpoint has version {number} of the state `bucket`"):
            query.take(1)
    else:
        assert query.take(1) == other.take(1)


@pytest.mark.parametrize("emit", ["changes", "intervals", "snapshot"])
def test_a_batch_that_is_tried_again_finds_the_same(emit: str) -> None:
    """In the same process, where an engine is ahead of the store, and in another, where there is none."""
    query, other = Query(emit), Query(emit)
    for batch in range(40):
        before = query.save()
        expected = other.take(batch)
        assert query.take(batch) == expected
        if batch % 3 == 0:
            query.go_back(before)
            assert query.take(batch) == expected
        if batch % 5 == 0:
            WORKERS.forget()


@pytest.mark.parametrize("keys", [4_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_many_keys(session: "SparkSession", tmp_path: Path, keys: int) -> None:
    """All of them in the window at once; the store has records for each bucket and batch, and none for a key."""
    files = 4
    for file in range(files):
        write_keys(tmp_path / f"{file}.parquet", file, keys // files)
    stream = session.readStream.schema("x long, y long, t long").option("maxFilesPerTrigger", 1)
    found: list[Row] = []
    tables = {"p": stream.parquet(str(tmp_path / "*.parquet"))}
    answers = reason("last(X) :- p(X,Y) in [100], Y = 0.", tables, emit="changes", buckets=2)
    writing = answers.writeStream.foreachBatch(lambda rows, _: found.extend(rows.collect()))
    query = writing.option("checkpointLocation", str(tmp_path / "state")).trigger(availableNow=True).start()
    query.awaitTermination()
    assert query.lastProgress is not None
    assert query.lastProgress["batchId"] == files - 1
    assert state_rows(query.lastProgress) <= 2 * (files + 2)
    assert [(row.t, row.op) for row in found] == [(file, "+") for file in range(files - 1) for _ in range(100)]
    assert len({tuple(row.args) for row in found}) == len(found)


def write_keys(file: Path, tick: int, keys: int) -> None:
    """Keys that are in no other file; a hundred of them are marked with a nought."""
    own = np.arange(tick * keys, (tick + 1) * keys)
    pq.write_table(pa.table({"x": own, "y": own % (keys // 100), "t": np.full(keys, tick)}), file)
    os.utime(file, (1_000 + tick, 1_000 + tick))
