"""The values of a column have watermarks of their own in a bucket: one that is read faster makes no other late."""

from dataclasses import replace

import pyarrow as pa

from buckets import rule_job
from thalweg import api
from thalweg.dataflow.context import Settings
from thalweg.runtimes.spark.columns import Shape, in_groups, read_rows
from thalweg.runtimes.spark.ingest import CodedFacts
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.pack import Packer
from thalweg.runtimes.spark.wire import LATE, unwrap
from thalweg.runtimes.spark.worker import Worker

PLAIN = rule_job(api.load("q(X) :- p(X)."), Settings(emit="changes"), partitions=1)
SHAPE = Shape("p", ("x",), False, 1000)
APART = replace(SHAPE, by="partition")
# Partition 0 is read at once, partition 1 bit by bit.
FAST = [(0, tick) for tick in range(30)]
SLOW = [(1, tick) for tick in range(30)]
BATCHES = [FAST + SLOW[:3], SLOW[3:20], SLOW[20:]]


def spread_by(shape: Shape) -> Job:
    return replace(PLAIN, groups=shape.groups, optional=frozenset(range(shape.groups)) if shape.by else frozenset())


def answered(shape: Shape) -> tuple[set[str], int]:
    """The facts that begin, and how many were late."""
    job = spread_by(shape)
    worker = Worker(job, 0, 0)
    began: set[str] = set()
    late = 0
    for number, rows in enumerate(BATCHES):
        table = pa.RecordBatch.from_pydict(
            {"x": [f"x{key}_{t}" for key, t in rows], "t": [t for _, t in rows], "partition": [key for key, _ in rows]}
        )
        payloads = []
        for group, parts in in_groups([table], shape):
            packer = Packer(job, group, (number,))
            items = [item for part in parts for item in read_rows(part, shape, packer.words, shape.clock())]
            facts = [item for item in items if isinstance(item, CodedFacts)]
            assert len(facts) == len(items)
            payloads += [parcel.payload for parcel in packer.pack_unordered(facts) if parcel.fragment == 0]
        for content in (unwrap(parcel.payload) for parcel in worker.process(payloads)):
            facts_told = content.lists["facts"].to_pylist()
            if content.kind == LATE:
                late += len(facts_told)
            else:
                ended = content.lists["ended"].tolist()
                began |= {fact for fact, over in zip(facts_told, ended, strict=True) if not over}
    return began, late


def test_with_one_watermark_what_is_read_slowly_is_late():
    began, late = answered(SHAPE)
    assert late == 26
    assert "q(x1_3)" not in began


def test_a_value_that_is_read_faster_makes_no_other_late():
    # The last tick is open, because more may come for it.
    assert answered(APART) == ({f"q(x{key}_{tick})" for key in (0, 1) for tick in range(29)}, 0)
