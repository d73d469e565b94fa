"""The work of a task on a batch of streams: it reads blocks of recordings, or what the driver has received.

`batch_planner` says which task does what.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from thalweg.model.plain_data import of_data
from thalweg.runtimes.spark.batch_planner import StreamSources
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.pack import Packer
from thalweg.runtimes.spark.read_block import packed, parcels_of
from thalweg.runtimes.spark.received_block import ReceivedBlock
from thalweg.runtimes.spark.received_parts import Beat, ReceivedPart
from thalweg.runtimes.spark.recordings import Block, ReadingOptions
from thalweg.runtimes.spark.wire import Parcel


def done(job: Job, streams: bytes, task: bytes) -> Iterator[list[Parcel]]:
    """The parcels of what a task does, some at a time.

    As data, `streams` are the sources and how they are read, and `task` is its work and what was observed before it.
    """
    sources: StreamSources
    reading: ReadingOptions
    # A clock keeps what its task has read: each has its own.
    sources, reading = of_data(streams)
    works, observed = of_data(task)
    reading = replace(reading, observed=max(0, reading.observed - observed))
    received = {source.group: source for source in sources.received}
    for work in works:
        match work:
            case Beat():
                yield list(Packer(job, 0, (0, 0)).pack_beat(work))
            case Block():
                yield from parcels_of(job, sources.recorded[work.group], work, reading)
            case ReceivedPart():
                yield from packed(job, partial(ReceivedBlock, job, sources.log, received[work.group], work, reading))
