"""Topics and tables as tasks read them, and a bucket that gets what they pack, in this process."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pyarrow as pa

from thalweg.api import load
from thalweg.connectors.lake import lake_stream
from thalweg.dataflow.context import Context, Settings
from thalweg.kinds.rules.rule_part import Rules
from thalweg.model.time import Clock
from thalweg.runtimes.spark.bucket_answers import opened
from thalweg.runtimes.spark.dataframe import pack_clock_row
from thalweg.runtimes.spark.job import spread
from thalweg.runtimes.spark.lake_sources import lake_job, lake_sources
from thalweg.runtimes.spark.lake_streams import LakeBlock
from thalweg.runtimes.spark.read_block import packed
from thalweg.runtimes.spark.recordings import ReadingOptions
from thalweg.runtimes.spark.wire import Parcel
from thalweg.runtimes.spark.worker import Worker

NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)


@dataclass
class TopicRun:
    """Messages of a topic that come to one bucket, some in each batch; `idle` in seconds."""

    idle: float | None = None
    program: str = "slow(S) :- speed(S,V) in [10], V < 20."
    offset: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        rules = Rules(load(self.program))
        topics = [lake_stream("kafka://host:1/speeds")]
        self.job = lake_job(spread(rules, Context(Settings(), Clock(), print), 1).job, topics, self.idle)
        (self.source,) = lake_sources(topics, ReadingOptions(Clock()))
        self.worker = Worker(self.job, 0, 0)

    def batch(self, written: int, *seconds: int, clock: bool = False) -> list[tuple[str, str]]:
        """What is answered when messages come with times in seconds after noon, all `written` at one such time."""
        values = [f"speed(a{second},12) at @{_at(second):%Y-%m-%dT%H:%M:%SZ}.\n" for second in seconds]
        return self.messages(written, *values, clock=clock)

    def messages(self, written: int, *values: str, clock: bool = False) -> list[tuple[str, str]]:
        """What is answered when messages come."""
        parcels = [*self._read(written, [value.encode() for value in values])]
        if clock:
            parcels += pack_clock_row(self.job, _millis(written))
        out = self.worker.process([parcel.payload for parcel in parcels if parcel.fragment == 0])
        rows: list[dict[str, Any]] = [
            row for parcel in out for table in opened(parcel.payload, "changes") for row in table.to_pylist()
        ]
        return [(row["kind"], row["fact"]) for row in rows if row["kind"] in ("begin", "end", "late")]

    def _read(self, written: int, values: Sequence[bytes]) -> list[Parcel]:
        count = len(values)
        columns = {
            "value": values,
            "partition": pa.array([0] * count, pa.int32()),
            "offset": pa.array(range(self.offset, self.offset + count), pa.int64()),
            "written": pa.array([_millis(written)] * count, pa.int64()),
        }
        task = partial(LakeBlock, self.job, self.source, (0, 0, self.offset), [pa.record_batch(columns)])
        self.offset += count
        return [parcel for parcels in packed(self.job, task) for parcel in parcels]


def _at(second: int) -> datetime:
    return NOON + timedelta(seconds=second)


def _millis(second: int) -> int:
    return round(_at(second).timestamp() * 1_000)


def test_the_clock_of_idle_comes_to_a_bucket_with_the_messages_of_a_topic() -> None:
    run = TopicRun(idle=5.0)
    assert run.batch(0, 0, clock=True) == []
    assert run.batch(1, 1, clock=True) == [("begin", "slow(a0)")]


def test_a_message_with_a_wrong_clock_that_is_alone_in_its_batch_stops_no_topic() -> None:
    run = TopicRun()
    run.batch(0, 0)
    run.batch(1, 1)
    run.batch(2, 100_000_000)
    assert run.batch(3, 3) == [("begin", "slow(a1)")]
    assert run.batch(4, 4) == [("begin", "slow(a3)")]


def test_messages_that_agree_on_a_time_far_from_that_of_writing_are_accepted() -> None:
    run = TopicRun()
    run.batch(0, 100_000_000, 100_000_001, 100_000_002)
    assert ("begin", "slow(a100000002)") in run.batch(1, 100_000_003, 100_000_004)


def test_a_bucket_saved_in_format_14_goes_on_where_time_was_decided() -> None:
    run = TopicRun(idle=5.0)
    run.batch(0, 0, clock=True)
    run.batch(1, 50, clock=True)
    about, waiting = run.worker.inbox.save()
    watermark = about["watermark"]
    assert isinstance(watermark, dict)
    about["reached"] = watermark.pop("reached")
    resumed = TopicRun(idle=5.0).worker.inbox
    resumed.load(about, waiting)
    assert resumed.watermark.reached == run.worker.inbox.watermark.reached == about["reached"]


def test_blank_nodes_of_messages_are_told_apart_from_batch_to_batch() -> None:
    run = TopicRun(program="both(X) :- <a>(X,Y) in [9], <b>(X,Y) in [9]. has(X) :- <a>(X,Y). has(X) :- <b>(X,Y).")
    found = [
        fact
        for tick in range(4)
        for kind, fact in run.messages(0, json.dumps({"t": tick, "graph": f"_:n <{'ab'[tick % 2]}> <x> ."}))
        if kind == "begin"
    ]
    assert len({*found}) == len(found) == 3
    assert all(fact.startswith("has(") for fact in found)


def test_blank_nodes_of_quads_are_the_same_in_a_whole_topic() -> None:
    run = TopicRun(program="both(X) :- <a>(X,Y) in [9], <b>(X,Y) in [9].")
    for tick in range(3):
        answers = run.messages(0, f"{tick} _:n <{'ab'[tick % 2]}> <x> .")
    assert [kind for kind, _ in answers] == ["begin"]
