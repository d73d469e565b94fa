"""What brings facts to a run on Spark: tasks read them, and the driver hears of each block by its digest.

It sees no fact. Live streams it receives as they come (`receiver.py`), and what else only it has: texts and tables of
Python, which it writes down for tasks to read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from thalweg.connectors.held_tables import TableTransport
from thalweg.connectors.lake import LakeStream
from thalweg.connectors.mapping.mapped_rows import MappedStream
from thalweg.connectors.mapping.tally import Tally
from thalweg.connectors.replay import ReplayTransport
from thalweg.connectors.transport import Keeping, Transport
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.kinds.part import Scout
from thalweg.model.arrow import of_plain
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.model.records import as_json, of_json
from thalweg.model.saved_batches import batches_of
from thalweg.model.sealed import seal_json, unseal_json
from thalweg.model.time import NEVER, Clock, TimeFormat
from thalweg.runtimes.checkpoint_folder import MANIFEST, read_sealed, replace_file
from thalweg.runtimes.inputs import live_clock_alone, mixed_times
from thalweg.runtimes.intake import FarFacts, Items, live_note, unzoned
from thalweg.runtimes.spark.batch_planner import Known, StreamSources
from thalweg.runtimes.spark.checkpoint_format import FORMAT
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.lake_sources import LakeSource, lake_sources
from thalweg.runtimes.spark.offset_log import last_offset
from thalweg.runtimes.spark.received_parts import ReceivedKind, ReceivedSource
from thalweg.runtimes.spark.receiver import BlockReceiver, ItemReceiver, Receiver
from thalweg.runtimes.spark.recordings import (
    Position,
    ReadingOptions,
    RecordedSource,
    check_first,
    grown,
    is_recorded,
    positions_of,
    recordings,
)
from thalweg.runtimes.spark.shipped_job import ShippedJob
from thalweg.runtimes.spark.stream_source import read_streams
from thalweg.runtimes.spark.wire import warning_of
from thalweg.runtimes.stored_path import CheckpointPath
from thalweg.runtimes.wall_clock import PassingTime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


STREAMS: Final = "streams.json"
"""The file of a run's folder that says how its streams are read, and its recordings cut."""
STOPPED: Final = "stopped.json"
"""The file that says at which malformed line reading has stopped."""
OBSERVED: Final = 200_000
"""The most facts of a run that are shown to an observer."""

Observe = Callable[[int, Batch, Dictionary], object]
"""Sees what comes: the tick, the facts, and what they are coded with."""


@dataclass(frozen=True, slots=True)
class FeedOptions:
    """How streams are read, and the callbacks that hear about it.

    `look` sees what each block is about, `observe` the first facts as they are, and `hear` what a `scout` has seen of
    all of them; `report` gets lines that are passed over, and `mapped` what became of mappings.
    """

    clock: Clock
    passing: PassingTime
    report: Callable[[Diagnostic], None]
    look: Callable[[Dictionary], Callable[[Batch], object]] = lambda words: lambda batch: None
    observe: Observe | None = None
    scout: Scout | None = None
    hear: Callable[[object], object] = lambda note: None
    mapped: Tally | None = None
    items: Callable[[Dictionary], Items] | None = None
    """What is decoded in this process; None where streams are received as they are."""

    @property
    def reading(self) -> ReadingOptions:
        tally, observed = self.mapped or Tally(), 0 if self.observe is None else OBSERVED
        return ReadingOptions(self.clock, tally.mappings, tally.stated, tally.zones, observed, self.scout)


@dataclass(slots=True)
class BlockBatch(Batch):
    """What a block is about: one fact of each predicate stands for all."""

    facts_read: int = 0

    @property
    def size(self) -> int:
        """How many facts the block has."""
        return self.facts_read


@dataclass(slots=True)
class _Heard:
    """What digests have said of the groups."""

    highest: list[int]
    ended: set[int] = field(default_factory=set)


class SparkFeed:
    """The streams of a run, and what is known in the driver of what they have brought."""

    def __init__(
        self,
        job: Job,
        sources: StreamSources,
        options: FeedOptions,
        receiver: Receiver | None,
        lakes: Sequence[LakeSource] = (),
    ) -> None:
        """`lakes` are what Spark reads by itself, in groups behind those of the sources."""
        self.malformed: Diagnostic | None = None
        """What is wrong with the line at which reading has stopped."""
        self.facts = 0
        """How many facts have been read, as far as is known."""
        self.far = FarFacts(TimeFormat(job.settings.calendar))
        """The facts whose times are far from those around them."""
        self.sources = sources
        self.reading = options.reading
        self._job = job
        self._options = options
        self._receiver = receiver
        self._lakes = lakes
        self._words = Dictionary()
        self._look = options.look(self._words)
        self._known = known = Known.load(sources.folder)
        self._heard = _Heard([*known.highest] or [NEVER] * job.groups, {*known.ended})
        self._stopped_at: tuple[int, int] | None = None
        self._is_zone_reported = False

    @property
    def error(self) -> BaseException | None:
        """What went wrong in the thread that receives."""
        return None if self._receiver is None else self._receiver.error

    @property
    def reached(self) -> int:
        """The last tick that is decided by what has been read, as far as is known."""
        heard, unseen = self._heard, [group for group in self._job.optional if self._heard.highest[group] == NEVER]
        flowing = [high for group, high in enumerate(heard.highest) if group not in {*heard.ended, *unseen}]
        return min(flowing, default=NEVER) - self._job.settings.delay - 1

    def load(self, session: "SparkSession", shipped: ShippedJob) -> "DataFrame":
        """The parcels as a stream of Spark, made by tasks that know the job."""
        from thalweg.runtimes.spark.dataframe import pack_clock
        from thalweg.runtimes.spark.lake_streams import read_lake

        parcels = [read_lake(session, shipped, lake) for lake in self._lakes]
        if self.sources.groups or not parcels:
            parcels.insert(0, read_streams(session, shipped, self.sources, self.reading))
        if self._job.idle is not None:
            parcels.append(pack_clock(shipped, session))
        return reduce(lambda union, other: union.unionAll(other), parcels)

    def start(self, need_folder: Callable[[], None]) -> None:
        """Notes how streams are read, which positions in them depend on, and begins to receive, before the query.

        `need_folder` raises an error if another run has taken the folder.
        """
        noted = self.sources.folder / STREAMS
        if not noted.exists():
            streams = {"recorded": as_json(self.sources.recorded), "received": as_json(self.sources.received)}
            replace_file(noted, seal_json(streams, FORMAT))
        if self._receiver is not None:
            self._receiver.need_folder = need_folder
            self._receiver.start()

    def stop(self) -> None:
        """Ends without saying that the streams have ended: they may be read on."""
        if self._receiver is not None:
            self._receiver.stop()

    def finish(self) -> None:
        """Ends as if the streams had been cut off here, where that is possible."""
        if self._receiver is not None:
            self._receiver.finish()

    # Digests ----------------------------------------------------------------------------------------------------------

    def hear(self, digests: Sequence[dict[str, Any]]) -> None:
        """Takes the digests of the blocks of a batch; `RejectedError` where they contradict each other."""
        # Tasks end in any order, and the last place says how far a stream has come.
        digests = sorted(digests, key=lambda digest: digest["place"])
        for digest in digests:
            self._hear(digest)
        notation = self._job.settings.calendar.clock.notation
        if notation.is_mixed:
            raise RejectedError([mixed_times()])
        if notation.unzoned and not self._is_zone_reported:
            self._is_zone_reported = True
            self._options.report(unzoned())
        if self._receiver is not None:
            self._receiver.hear({digest["place"][0]: (digest["place"][1], digest["high"]) for digest in digests})
        if self.sources.received or self._options.observe is not None:
            self._note(digests)

    def _hear(self, digest: dict[str, Any]) -> None:
        group = digest["place"][0]
        # Also of a batch that is repeated after reading has stopped: its answers are still to be written.
        self._note_times(*digest["notation"])
        if self._stopped_at is not None and self._stopped_at[1] == group:
            return
        self.facts += digest["facts"]
        heard = self._heard
        heard.highest[group] = max(digest["high"], heard.highest[group])
        if digest.get("ended"):
            heard.ended.add(group)
        self.far.merge(*digest["far"])
        if self._options.mapped is not None:
            self._options.mapped.merge(digest["tally"])
        self._show(digest)
        malformed = [*map(warning_of, digest["malformed"])]
        if digest["stopped"]:
            at = heard.highest[group], group
            if self._stopped_at is None or at < self._stopped_at:
                self._stopped_at, self.malformed = at, self._with_note(malformed[-1], group)
                # Other streams may have to come to its tick, and the run may be resumed until then.
                stopped = {"at": at, "malformed": digest["malformed"][-1]}
                replace_file(self.sources.folder / STOPPED, seal_json(stopped, FORMAT))
        else:
            for diagnostic in malformed:
                self._options.report(diagnostic)

    def resume_stopped(self, tick: int, group: int, malformed: Diagnostic) -> None:
        """Goes on where reading has stopped at a malformed line."""
        self._stopped_at, self.malformed = (tick, group), self._with_note(malformed, group)

    def _with_note(self, malformed: Diagnostic, group: int) -> Diagnostic:
        return live_note(malformed) if group in self.sources.live else malformed

    def _note_times(self, stamped: bool, bare: bool, unzoned: bool) -> None:
        notation = self._job.settings.calendar.clock.notation
        notation.stamped |= stamped
        notation.bare |= bare
        notation.unzoned |= unzoned

    def _note(self, digests: Sequence[dict[str, Any]]) -> None:
        """Writes down what the next batch must know."""
        readers = {str(digest["place"][0]): digest["known"] for digest in digests if "known" in digest}
        heard = tuple(self._heard.highest), tuple(sorted(self._heard.ended))
        known = Known({**self._known.readers, **readers}, *heard, self._ahead(), self._observed(digests))
        if known != self._known:
            self._known = known
            known.save(self.sources.folder)

    def _observed(self, digests: Sequence[dict[str, Any]]) -> int:
        """How many facts have been shown behind a batch; it was known when the batch was planned how many before it.

        The batch that a run was killed in comes again, and may have been counted.
        """
        shown = [digest for digest in digests if "observed" in digest]
        if not shown:
            return self._known.observed
        wanted: int = shown[0]["wanted"]
        facts: list[int] = [digest["facts"] for digest in shown]
        return self.reading.observed - wanted + sum(facts)

    def _ahead(self) -> tuple[int, ...]:
        """The recordings that have come further than all live streams, where some go on."""
        heard, live = self._heard, self.sources.live
        if not {*live} - heard.ended:
            return ()
        reached = max(heard.highest[group] for group in live)
        if self._receiver is not None:
            reached = max(reached, self._receiver.reached)
        return tuple(group for group in range(len(self.sources.recorded)) if heard.highest[group] > reached)

    def _show(self, digest: dict[str, Any]) -> None:
        """Shows what a block is about, stream by stream; the first of these counts for the block."""
        batches: dict[str | None, BlockBatch] = {}
        for stream, predicate, terms in digest["came"]:
            batch = batches.setdefault(stream, BlockBatch(stream=stream, arrived=0))
            batch.rows[Predicate.read(predicate)] = [*map(self._words.code, terms)]
        for number, batch in enumerate(batches.values()):
            if not number:
                batch.arrived, batch.facts_read = digest["events"], digest["facts"]
            self._look(batch)
        if self._words.wants_collection:
            # What was shown is known by its predicates.
            self._words.collect(np.zeros(0, dtype=np.int64))
        if "scouted" in digest:
            self._options.hear(of_json(digest["scouted"]))
        if self._options.observe is not None:
            self._observe(digest, self._options.observe)

    def _observe(self, digest: dict[str, Any], observe: Observe) -> None:
        """Shows the first facts as they are, and how far time has come with the others."""
        words = Dictionary()
        if "observed" in digest:
            for tick, batch in batches_of(*of_plain(digest["observed"]), words):
                observe(tick, batch, words)
        elif digest["facts"]:
            observe(digest["high"], Batch(), words)


# How streams are read -------------------------------------------------------------------------------------------------


def open_feed(job: Job, transports: Sequence[Transport], options: FeedOptions, folder: CheckpointPath) -> SparkFeed:
    """The streams of a run; those of one that is resumed are read, and cut, as they were.

    The `job` has as many groups as `groups_of` says, or `lake_job`.
    """
    lakes = lake_sources(transports, options.reading)
    transports = [transport for transport in transports if not isinstance(transport, LakeStream)]
    noted = folder / STREAMS
    if (folder / MANIFEST).exists() and noted.exists():
        saved = read_sealed(noted, FORMAT, unseal_json)
        sources = StreamSources(of_json(saved["recorded"]), of_json(saved["received"]), folder)
        _report_growth(sources, transports, options)
    else:
        sources = _sources(job, transports, options, folder)
        if job.settings.on_error == "stop":
            check_first(sources.recorded, options.reading)
    if options.passing.by_wall:
        if not sources.live:
            raise live_clock_alone()
        options.clock.notation.stamped = True
    sources.log.check()
    feed = SparkFeed(job, sources, options, _receiver(sources, transports, options), lakes)
    if (stopped := read_stopped(folder)) is not None:
        feed.resume_stopped(*stopped)
    return feed


def _report_growth(sources: StreamSources, transports: Sequence[Transport], options: FeedOptions) -> None:
    """Says which recordings have grown since the run began."""
    if not sources.recorded:
        return
    begun = last_offset(sources.folder)
    start = [Position() for _ in sources.recorded] if begun is None else positions_of(begun)
    for warning in grown(sources.recorded, _split(transports)[0], start):
        options.report(warning)


def read_stopped(folder: CheckpointPath) -> tuple[int, int, Diagnostic] | None:
    """The tick and the group at which the reading of a run has stopped, and what is malformed there."""
    if not (folder / STOPPED).exists():
        return None
    saved = read_sealed(folder / STOPPED, FORMAT, unseal_json)
    tick, group = saved["at"]
    return tick, group, warning_of(saved["malformed"])


def groups_of(transports: Sequence[Transport], is_decoded: bool) -> int:
    """How many groups of streams there are: one each, or one for all that `is_decoded` in this process."""
    return 1 if is_decoded else len(transports)


def is_decoded(transports: Sequence[Transport]) -> bool:
    """Whether what comes must be decoded in this process: there are values of Python, or the pace of a recording.

    Beside live streams recordings go by these, at whatever pace.
    """
    paced = any(isinstance(transport, ReplayTransport) for transport in transports)
    return not transports or (paced and not any(transport.live for transport in transports))


def _plain(transports: Sequence[Transport]) -> list[Transport]:
    return [transport.inner if isinstance(transport, ReplayTransport) else transport for transport in transports]


def _split(transports: Sequence[Transport]) -> tuple[list[Transport], list[Transport]]:
    """What tasks can read by themselves, and what must be received."""
    plain = _plain(transports)
    recorded = [transport for transport in plain if is_recorded(transport)]
    return recorded, [transport for transport in plain if not is_recorded(transport)]


def _sources(job: Job, transports: Sequence[Transport], options: FeedOptions, folder: CheckpointPath) -> StreamSources:
    if options.items is not None:
        return StreamSources((), (ReceivedSource(0, "items", None, "items"),), folder)
    recorded, received = _split(transports)
    whole_events = any(spec.whole_events for spec in job.plan.operators)
    cut: tuple[RecordedSource, ...] = recordings(recorded, replace(options.reading, scout=None), whole_events)
    return StreamSources(
        cut, tuple(_received(group, transport) for group, transport in enumerate(received, len(cut))), folder
    )


def _received(group: int, transport: Transport) -> ReceivedSource:
    kind: ReceivedKind = "live" if transport.live else "recorded"
    format = transport.format if isinstance(transport, TableTransport) else None
    return ReceivedSource(group, transport.name, transport.stream, kind, format)


def _receiver(sources: StreamSources, transports: Sequence[Transport], options: FeedOptions) -> Receiver | None:
    if options.items is not None:
        words = Dictionary()
        return ItemReceiver(sources.log, words, options.items(words))
    if not sources.received:
        return None
    _, received = _split(transports)
    numbered = dict(zip((source.group for source in sources.received), received, strict=True))

    def keeps(transport: Transport) -> Keeping | None:
        """A transport whose broker keeps messages, unless their facts are all of the time of their arrival."""
        tally = options.mapped or Tally()
        mapped = MappedStream(Dictionary(), transport.name, transport.stream, options.clock, tally, "live")
        return transport if isinstance(transport, Keeping) and not mapped.is_by_arrival else None

    return BlockReceiver(sources.log, numbered, options.passing, keeps, options.report)
