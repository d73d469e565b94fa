"""The feed of a run whose streams Spark reads by itself, perhaps beside recordings: a union of parcels.

The driver hears of blocks as it does of those of recordings. Where all streams end behind what is there now, the query
reads that and stops, and a last batch without data closes the time.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.connectors.lake import LakeOutput, LakeStream
from thalweg.connectors.mapping.tally import Tally
from thalweg.connectors.transport import Transport
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.time import NEVER, Clock
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.packages import PACKAGES
from thalweg.runtimes.spark.recorded_feed import RecordedFeed, recorded_sources
from thalweg.runtimes.spark.recordings import ReadingOptions, are_recorded, ends_with_others, read_recordings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from thalweg.runtimes.spark.lake_streams import LakeSource


def has_lakes(transports: Sequence[Transport]) -> bool:
    """Whether Spark itself reads a stream; `RejectedError` where there is another one that only the driver can read."""
    others = [transport for transport in transports if not isinstance(transport, LakeStream)]
    if len(others) == len(transports):
        return False
    lakes = [transport for transport in transports if isinstance(transport, LakeStream)]
    if others and not are_recorded(others):
        live = next(other.name for other in others if not are_recorded([other]))
        message = f"Spark reads `{lakes[0].name}` by itself, and `{live}` is read by the driver: not in one run"
        raise RejectedError([Diagnostic("E403", message, help="send both through a topic of Kafka, or run them apart")])
    if len({lake.ends for lake in lakes}) > 1:
        ends, goes_on = (next(lake.name for lake in lakes if lake.ends == end) for end in (True, False))
        message = f"`{ends}` ends, and `{goes_on}` goes on"
        raise RejectedError([Diagnostic("E403", message, help="write `?until=end` at all of them, or at none")])
    if others and lakes[0].ends and not ends_with_others():
        message = f"with this version of PySpark, recordings cannot stand beside `{lakes[0].name}`, which ends"
        raise RejectedError([Diagnostic("E403", message, help="install PySpark 4.2 or later, or write `--to`")])
    return True


def formats_of(transports: Sequence[Transport], output: LakeOutput | None) -> tuple[str, ...]:
    """The formats of streams and of the output that Spark needs packages for."""
    formats = {transport.format for transport in transports if isinstance(transport, LakeStream)}
    formats |= set() if output is None else {output.format}
    return tuple(sorted(formats & PACKAGES.keys()))


class LakeFeed(RecordedFeed):
    """Streams that Spark reads by itself, and recordings beside them, whose groups come first."""

    lakes: "Sequence[LakeSource]" = ()

    @property
    def reached(self) -> int:
        highest = [high for high in self._highest if high > NEVER]
        return min(highest, default=NEVER) - self._job.settings.delay - 1

    @property
    def ends(self) -> bool:
        return all(lake.stream.ends for lake in self.lakes)

    def load(self, session: "SparkSession") -> "DataFrame":
        from thalweg.runtimes.spark.dataframe import pack_clock
        from thalweg.runtimes.spark.lake_streams import read_lake

        parcels = [read_lake(session, self._job, lake) for lake in self.lakes]
        if self._streams:
            parcels.insert(0, read_recordings(session, self._job, self._streams, self._reading))
        if self._job.idle is not None:
            parcels.append(pack_clock(self._job, session))
        return reduce(lambda union, other: union.unionAll(other), parcels)


def lake_job(job: Job, transports: Sequence[Transport], idle: float | None) -> Job:
    """A job with a group for each stream, or for each value of the column that a stream is read `by`."""
    from thalweg.runtimes.spark.lake_streams import LakeSource

    recorded = sum(not isinstance(transport, LakeStream) for transport in transports)
    reading = ReadingOptions(job.clock)
    groups, optional, by = recorded, set[int](), None
    for stream in transports:
        if isinstance(stream, LakeStream):
            own = LakeSource(stream, groups, reading).groups
            groups, by = own.stop, by or stream.by
            optional |= {*own} if stream.by is not None else set()
    ends = all(stream.ends for stream in transports if isinstance(stream, LakeStream))
    return replace(
        job,
        groups=groups,
        optional=frozenset(optional),
        by=by,
        idle=None if idle is None or ends else round(idle * 1_000),
        closes=ends,
        ends=True,
    )


def lake_feed(
    job: Job,
    transports: Sequence[Transport],
    clock: Clock,
    mapped: Tally | None,
    report: Callable[[Diagnostic], None],
    look: Callable[[Dictionary], Callable[[Batch], object]],
    folder: Path,
) -> LakeFeed:
    """The feed of streams, at least one of which Spark reads by itself."""
    from thalweg.runtimes.spark.lake_streams import LakeSource

    tally = mapped or Tally()
    reading = ReadingOptions(clock, tally.mappings, tally.stated, tally.zones)
    others = [transport for transport in transports if not isinstance(transport, LakeStream)]
    feed = LakeFeed(job, recorded_sources(others, reading, folder), reading, report, look, mapped, folder)
    lakes: list[LakeSource] = []
    group = len(others)
    for stream in transports:
        if isinstance(stream, LakeStream):
            lakes.append(LakeSource(stream, group, reading))
            group = lakes[-1].groups.stop
    feed.lakes = lakes
    return feed
