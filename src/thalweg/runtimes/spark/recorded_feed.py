"""Recorded streams of a run, read by tasks: the driver hears of each block by its digest, and sees no fact."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from thalweg.connectors.mapping.tally import Tally
from thalweg.connectors.transport import Transport
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.model.records import as_json, of_json
from thalweg.model.sealed import seal_json, unseal_json
from thalweg.model.time import NEVER, Clock, TimeFormat
from thalweg.runtimes.checkpoint_folder import MANIFEST, read_sealed, replace_file
from thalweg.runtimes.inputs import mixed_times
from thalweg.runtimes.intake import FarFacts, unzoned
from thalweg.runtimes.spark.job import FORMAT, Job
from thalweg.runtimes.spark.recordings import ReadingOptions, RecordedSource, read_recordings, recordings
from thalweg.runtimes.spark.wire import warning_of
from thalweg.runtimes.stored_path import CheckpointPath

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


CUT: Final = "recordings.json"
"""The file of a run's folder that says how its recordings are cut."""
STOPPED: Final = "stopped.json"
"""The file that says at which malformed line reading has stopped."""


@dataclass(slots=True)
class BlockBatch(Batch):
    """What a block is about: one fact of each predicate stands for all."""

    facts_read: int = 0

    @property
    def size(self) -> int:
        """How many facts the block has."""
        return self.facts_read


class RecordedFeed:
    """The recordings of a run.

    `look` sees what each block is about; `report` gets lines that are passed over, and `tally` what became of mappings.
    """

    def __init__(
        self,
        job: Job,
        streams: tuple[RecordedSource, ...],
        reading: ReadingOptions,
        report: Callable[[Diagnostic], None],
        look: Callable[[Dictionary], Callable[[Batch], object]],
        tally: Tally | None,
        folder: CheckpointPath,
    ) -> None:
        self.malformed: Diagnostic | None = None
        self.error: BaseException | None = None
        self.facts = 0
        self.far = FarFacts(TimeFormat(job.settings.calendar))
        self._job = job
        self._streams = streams
        self._reading = reading
        self._report = report
        self._words = Dictionary()
        self._look = look(self._words)
        self._tally = tally
        self._highest = [NEVER] * len(streams)
        self._stopped_at: tuple[int, int] | None = None
        self._is_zone_reported = False
        self._folder = folder

    @property
    def reached(self) -> int:
        return min(self._highest) - self._job.settings.delay - 1

    def load(self, session: "SparkSession") -> "DataFrame":
        return read_recordings(session, self._job, self._streams, self._reading)

    def start(self) -> None:
        """Notes how files are cut, which positions in them depend on; tasks read when the query asks them to."""
        cut = self._folder / CUT
        if not cut.exists():
            replace_file(cut, seal_json({"streams": as_json(self._streams)}, FORMAT))

    def stop(self) -> None:
        """The offsets of the query say how far was read."""

    def finish(self) -> None:
        """What tasks are reading now is answered, if there is time for it."""

    def trim(self) -> None:
        """Nothing is kept of old batches."""

    def hear(self, digests: Sequence[dict[str, Any]]) -> None:
        for digest in sorted(digests, key=lambda digest: digest["place"]):
            self._hear(digest)
        notation = self._job.settings.calendar.clock.notation
        if notation.is_mixed:
            raise RejectedError([mixed_times()])
        if notation.unzoned and not self._is_zone_reported:
            self._is_zone_reported = True
            self._report(unzoned())

    def _hear(self, digest: dict[str, Any]) -> None:
        group = digest["place"][0]
        # Also of a batch that is repeated after reading has stopped: its answers are still to be written.
        self._note_times(*digest["notation"])
        if self._stopped_at is not None and self._stopped_at[1] == group:
            return
        self.facts += digest["facts"]
        self._highest[group] = max(digest["high"], self._highest[group])
        self.far.merge(*digest["far"])
        if self._tally is not None:
            self._tally.merge(digest["tally"])
        self._look_at(digest)
        malformed = [*map(warning_of, digest["malformed"])]
        if digest["stopped"]:
            at = self._highest[group], group
            if self._stopped_at is None or at < self._stopped_at:
                self._stopped_at, self.malformed = at, malformed[-1]
                # Other streams may have to come to its tick, and the run may be resumed until then.
                stopped = {"at": at, "malformed": digest["malformed"][-1]}
                replace_file(self._folder / STOPPED, seal_json(stopped, FORMAT))
        else:
            for diagnostic in malformed:
                self._report(diagnostic)

    def resume_stopped(self, saved: Mapping[str, Any]) -> None:
        """Goes on where reading has stopped at a malformed line."""
        tick, group = saved["at"]
        self._stopped_at, self.malformed = (tick, group), warning_of(saved["malformed"])

    def _note_times(self, stamped: bool, bare: bool, unzoned: bool) -> None:
        notation = self._job.settings.calendar.clock.notation
        notation.stamped |= stamped
        notation.bare |= bare
        notation.unzoned |= unzoned

    def _look_at(self, digest: dict[str, Any]) -> None:
        """Shows what a block is about, stream by stream; the first of these counts for the block."""
        batches: dict[str | None, BlockBatch] = {}
        for stream, predicate, terms in digest["came"]:
            batch = batches.setdefault(stream, BlockBatch(stream=stream, arrived=0))
            batch.rows[Predicate.read(predicate)] = [*map(self._words.code, terms)]
        for number, batch in enumerate(batches.values()):
            if not number:
                batch.arrived, batch.facts_read = digest["events"], digest["facts"]
            self._look(batch)


def is_cut(folder: CheckpointPath | None) -> bool:
    """Whether tasks have read the streams of the run that a folder belongs to."""
    return folder is not None and (folder / CUT).exists()


def recorded_feed(
    job: Job,
    transports: Sequence[Transport],
    clock: Clock,
    mapped: Tally | None,
    report: Callable[[Diagnostic], None],
    look: Callable[[Dictionary], Callable[[Batch], object]],
    folder: CheckpointPath,
) -> RecordedFeed:
    """Recorded streams that tasks read; those of a run that is resumed are cut as they were."""
    tally = mapped or Tally()
    reading = ReadingOptions(clock, tally.mappings, tally.stated, tally.zones)
    if (folder / MANIFEST).exists() and is_cut(folder):
        streams = of_json(read_sealed(folder / CUT, FORMAT, unseal_json)["streams"])
    else:
        streams = recordings(transports, reading)
    feed = RecordedFeed(job, streams, reading, report, look, mapped, folder)
    if (folder / STOPPED).exists():
        feed.resume_stopped(read_sealed(folder / STOPPED, FORMAT, unseal_json))
    return feed
