"""The streams of a run that Spark reads by itself, in groups behind those of what stands beside them.

Where all of them end behind what is there now, the query reads that and stops, and a last batch without data closes the
time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from thalweg.connectors.lake import KAFKA, LakeOutput, LakeStream
from thalweg.connectors.transport import Transport
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.shipped import Shipped
from thalweg.runtimes.spark.columns import GROUPS_OF_TABLE
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.packages import PACKAGES
from thalweg.runtimes.spark.recordings import ReadingOptions


@dataclass(frozen=True)
class LakeSource(Shipped):
    """A stream of a run: its address, its groups of streams, and how it is read."""

    stream: LakeStream
    groups: range
    reading: ReadingOptions

    @property
    def is_topic(self) -> bool:
        return self.stream.format == KAFKA


def has_lakes(transports: Sequence[Transport]) -> bool:
    """Whether Spark itself reads a stream; `RejectedError` where it ends, and another one goes on."""
    lakes = [transport for transport in transports if isinstance(transport, LakeStream)]
    end = [lake.name for lake in lakes if lake.ends]
    go_on = [transport.name for transport in transports if transport.live and transport.name not in end]
    if end and go_on:
        message = f"`{end[0]}` ends, and `{go_on[0]}` goes on"
        raise RejectedError([Diagnostic("E403", message, help="write `?until=end` at all of them, or at none")])
    return bool(lakes)


def formats_of(transports: Sequence[Transport], output: LakeOutput | None) -> tuple[str, ...]:
    """The formats of streams and of the output that Spark needs packages for."""
    formats = {transport.format for transport in transports if isinstance(transport, LakeStream)}
    formats |= set() if output is None else {output.format}
    return tuple(sorted(formats & PACKAGES.keys()))


def lake_sources(transports: Sequence[Transport], reading: ReadingOptions) -> list[LakeSource]:
    """The streams that Spark reads by itself."""
    return [LakeSource(stream, groups, reading) for stream, groups in _grouped(transports)]


def lake_job(job: Job, transports: Sequence[Transport], idle: float | None) -> Job:
    """A job with a group for each stream, or for each value of the column that a stream is read `by`.

    A group rests that brings nothing for `idle` seconds.
    """
    grouped = [*_grouped(transports)]
    by_value = [(stream.by, groups) for stream, groups in grouped if stream.by is not None]
    ends = all(stream.ends for stream, _ in grouped)
    return replace(
        job,
        groups=grouped[-1][1].stop,
        optional=frozenset(group for _, groups in by_value for group in groups),
        by=by_value[0][0] if by_value else None,
        idle=None if idle is None or ends else round(idle * 1_000),
        closes=ends,
        ends=True,
    )


def _grouped(transports: Sequence[Transport]) -> Iterator[tuple[LakeStream, range]]:
    """The streams that Spark reads by itself, with the groups of their rows: one, or one for each value of a column."""
    lakes = [transport for transport in transports if isinstance(transport, LakeStream)]
    sizes = (1 if stream.by is None else GROUPS_OF_TABLE for stream in lakes)
    starts = accumulate(sizes, initial=len(transports) - len(lakes))
    for stream, start in zip(lakes, starts, strict=False):
        yield stream, range(start, start + (1 if stream.by is None else GROUPS_OF_TABLE))
