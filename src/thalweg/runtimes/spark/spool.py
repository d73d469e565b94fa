"""What streams bring waits on disk, packed, until a batch has taken it: so that it can be taken again after a crash.

One process reads the streams, in the same order and with the same words as the embedded runtime; the numbered segments
it writes are the files that Spark reads. A segment's name says how many events had been read with it, so a run that is
resumed passes over what has been written; how far time was decided, and the greatest tick of each group of streams so
far, so that what is late stays late.

Which batch took which segments is in the logs of Spark's checkpoint (`Progress`), and nowhere else.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from thalweg.diagnostics import Diagnostic
from thalweg.kinds.rules.schema import SchemaWatch
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.time import NEVER, TimeFormat
from thalweg.runtimes.checkpoint_folder import damaged
from thalweg.runtimes.intake import FarFacts, Intake, Items, stopped_at
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.pace import Pace
from thalweg.runtimes.spark.pack import Arrived, GroupTime, Packer
from thalweg.runtimes.spark.shipped_job import ShippedJob
from thalweg.runtimes.spark.wire import Parcel, parcels_batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CHECKPOINT: Final = "spark"
"""The folder of Spark's own checkpoint in that of a run."""
# A batch takes this many segments at most, so that its answers are not long in coming.
MOST_SEGMENTS: Final = 16
# Segments that may wait: more would only fill the disk.
MOST_WAITING: Final = 2 * MOST_SEGMENTS
# Facts in a segment: at first, at most, and the fewest that are worth one.
FIRST_SEGMENT: Final = 5_000
SEGMENT: Final = 100_000
LEAST_SEGMENT: Final = 250
PAUSE: Final = 0.02
_NO_WORDS: Final = np.zeros(0, dtype=np.int64)
# How many segments Spark remembers to have read; those that are still on disk must be among them.
_REMEMBERED: Final = 600


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """A file of parcels: its number, the events read up to its end, the last tick that was decided then, and the
    greatest tick of each group of streams.
    """

    number: int
    events: int
    decided: int
    highest: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"{self.number:010}_{self.events}_{self.decided}_{'x'.join(map(str, self.highest))}.parquet"

    @classmethod
    def read(cls, name: str) -> "Segment":
        """The segment of a file, by its name without the ending.

        >>> Segment.read("0000000041_900_6_7x-1")
        Segment(number=41, events=900, decided=6, highest=(7, -1))
        """
        number, events, decided, highest = name.split("_")
        return cls(int(number), int(events), int(decided), tuple(map(int, highest.split("x"))))


class Spool:
    """The segments of a run, in its folder beside the checkpoint of the query that reads them.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     spool = Spool(Path(folder))
    ...     spool.write(Segment(0, 3, 6, (7,)), [Parcel(0, 1, b"ab")])
    ...     spool.segments()
    [Segment(number=0, events=3, decided=6, highest=(7,))]
    """

    def __init__(self, folder: Path) -> None:
        self.progress = Progress(folder / CHECKPOINT)
        self._folder = folder / "spool"
        self._folder.mkdir(parents=True, exist_ok=True)
        # A copy of a checkpoint may have lost their ages.
        for segment in self.segments():
            _set_age(self._folder / segment.name, segment)

    def segments(self) -> list[Segment]:
        """The segments in the folder, in the order of their numbers."""
        return sorted(Segment.read(path.stem) for path in self._folder.glob("[0-9]*.parquet"))

    def write(self, segment: Segment, parcels: Iterable[Parcel]) -> None:
        """Adds a segment, all of it or nothing."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        # Spark does not see a file whose name begins with a dot.
        unfinished = self._folder / f".{segment.number}.unfinished"
        with unfinished.open("wb") as file:
            table = pa.Table.from_batches([parcels_batch(parcels)])
            # Payloads differ, and there are few of them.
            pq.write_table(
                table, file, compression="none", use_dictionary=False, write_statistics=False, write_page_checksum=True
            )
            file.flush()
            os.fsync(file.fileno())
        _set_age(unfinished, segment)
        unfinished.rename(self._folder / segment.name)

    def check(self) -> None:
        """Refuses segments that are damaged, where a batch has yet to take them."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        taken = self.progress.taken()
        for segment in self.segments():
            if segment.number > taken:
                file = self._folder / segment.name
                try:
                    pq.read_table(file, page_checksum_verification=True)
                except (OSError, ValueError, KeyError, pa.ArrowException):
                    raise damaged(file) from None

    def forget(self) -> None:
        """Drops what committed batches have taken, but never the last: it says how far the streams have been read."""
        taken = self.progress.taken()
        for segment in self.segments()[:-1]:
            if segment.number <= taken:
                (self._folder / segment.name).unlink(missing_ok=True)

    def load(self, session: "SparkSession") -> "DataFrame":
        """The parcels of all segments, as a stream."""
        from thalweg.runtimes.spark.processor import PARCELS

        reading = session.readStream.schema(PARCELS).option("maxFilesPerTrigger", MOST_SEGMENTS)
        # Segments are a second apart (`_set_age`).
        return reading.option("maxFileAge", f"{_REMEMBERED}s").parquet(f"file:{self._folder.absolute()}")


class Progress:
    """What the checkpoint of a query says about the segments that it has read.

    For each batch `offsets` has the number of an entry in the log of the source, `sources/0`, which names the files;
    `commits` has the batches that are done.
    """

    def __init__(self, checkpoint: Path) -> None:
        self._checkpoint = checkpoint
        self._log = checkpoint / "sources" / "0"

    @property
    def last(self) -> int | None:
        """The last batch that is committed."""
        return max((int(path.name) for path in self._checkpoint.glob("commits/[0-9]*")), default=None)

    def seconds(self, batch: int) -> float:
        """How long a batch took, from its plan to its commit; 0 where the logs have been cleared of it."""
        begun, ended = (self._checkpoint / log / str(batch) for log in ("offsets", "commits"))
        try:
            return ended.stat().st_mtime - begun.stat().st_mtime
        except OSError:
            return 0.0

    def taken(self) -> int:
        """The number of the last segment that a committed batch has read; -1 if there is none."""
        batch = self.last
        if batch is None:
            return -1
        file = self._checkpoint / "offsets" / str(batch)
        try:
            entry = self._log / str(json.loads(file.read_text().splitlines()[-1])["logOffset"])
            file = entry if entry.exists() else entry.with_suffix(".compact")
            return max(map(_number, file.read_text().splitlines()[1:]))
        except (OSError, ValueError, LookupError, TypeError):
            raise damaged(file) from None

    def trim(self) -> None:
        """Drops old entries from the log, which else would name all files that there ever were.

        Only while a batch is being delivered: then Spark neither reads nor writes its log.
        """
        merged = max(self._log.glob("*.compact"), key=lambda path: int(path.stem), default=None)
        if merged is None:
            return
        version, *entries = merged.read_text().splitlines()
        oldest = max(map(_number, entries)) - _REMEMBERED
        kept = [entry for entry in entries if _number(entry) >= oldest]
        if len(kept) < len(entries):
            unfinished = merged.with_name(".unfinished")
            unfinished.write_text("\n".join([version, *kept]))
            merged.with_name(f".{merged.name}.crc").unlink(missing_ok=True)
            unfinished.replace(merged)


def _set_age(file: Path, segment: Segment) -> None:
    """Spark takes the oldest file first, and some file systems count in seconds."""
    os.utime(file, (segment.number, segment.number))


def _number(entry: str) -> int:
    """The number of the segment that an entry of the log names.

    >>> _number('{"path":"file:///tmp/spool/0000000041_900_6_7.parquet","timestamp":41000,"batchId":9}')
    41
    """
    return int(Path(json.loads(entry)["path"]).name.split("_")[0])


Observe = Callable[[int, Batch, Dictionary], object]
"""Sees what comes: the tick, the facts, and what they are coded with."""


class Feeder(threading.Thread):
    """Reads streams and fills a spool, until they end or somebody asks to stop."""

    def __init__(
        self,
        job: Job,
        spool: Spool,
        packer: Packer,
        items: Items,
        report: Callable[[Diagnostic], None],
        look: Callable[[Batch], object] | None = None,
        observe: Observe | None = None,
    ) -> None:
        super().__init__(name="feeder", daemon=True)
        self.malformed: Diagnostic | None = None
        self.error: BaseException | None = None
        self.read = 0
        self.facts = 0
        self._job = job
        self._spool = spool
        self._packer = packer
        self._items = items
        self._report = report
        watch = (
            SchemaWatch(report, job.plan.program.hints.justification is None).look
            if job.plan.program.hints.static_schema
            else None
        )
        look = look or watch
        self.intake = Intake(
            job.settings,
            packer.words,
            report,
            look=() if look is None else (look,),
            observe=observe,
            times=TimeFormat(job.settings.calendar),
        )
        self._stopped = threading.Event()
        self._writing = threading.Lock()
        self._pace = Pace(FIRST_SEGMENT, LEAST_SEGMENT, SEGMENT)
        self._done = spool.progress.last
        written = spool.segments()
        self._last = written[-1] if written else Segment(-1, 0, NEVER, (NEVER,))

    @property
    def far(self) -> FarFacts:
        return self.intake.far

    @property
    def reached(self) -> int:
        return self.intake.watermark.reached

    def load(self, session: "SparkSession", shipped: ShippedJob) -> "DataFrame":
        return self._spool.load(session)

    def hear(self, digests: Sequence[dict[str, Any]]) -> None:
        """There are none: the driver has seen all facts itself."""

    def trim(self) -> None:
        self._spool.progress.trim()

    def stop(self) -> None:
        """Ends without saying that the streams have ended: they may be read on."""
        self._stopped.set()

    def finish(self) -> None:
        """Ends as if the streams had been cut off here, even while the next event is waited for."""
        with self._writing:
            if not self._stopped.is_set() and self.is_alive():
                self._stopped.set()
                self._add([], ended=True, cut_short=True)

    def run(self) -> None:
        try:
            self._feed()
        except BaseException as error:
            self.error = error

    def _feed(self) -> None:
        waiting: list[Arrived] = []
        facts, skipped = 0, self._last.events if self._items.repeats else 0
        intake, watermark = self.intake, self.intake.watermark
        watermark.widen(self._items.groups)
        watermark.resume(self._last.decided, self._last.highest)
        for item in self._items:
            intake.check_zone()
            if self._stopped.is_set():
                return
            if isinstance(item, Diagnostic):
                if self._job.settings.on_error == "stop":
                    self.malformed = stopped_at(item, self._items)
                    break
                self._report(item)
            elif item is None:
                intake.follow(self._items)
            else:
                self.read += 1
                arrived = intake.meet(item, self._items.group)
                if self.read > skipped:
                    intake.see(item)
                    waiting.append(arrived)
                    size = arrived[1].size
                    facts += size
                    self.facts += size
                if watermark.is_complete:
                    break
            if (item is None and (waiting or watermark.reached > self._last.decided)) or facts >= self._pace.size:
                self._write(waiting)
                waiting, facts = [], 0
        self._write(waiting, ended=True, cut_short=self.malformed is not None)

    def _write(self, items: list[Arrived], ended: bool = False, cut_short: bool = False) -> None:
        self._forget()
        while len(self._spool.segments()) > MOST_WAITING and not self._stopped.is_set():
            time.sleep(PAUSE)
            self._forget()
        with self._writing:
            if not self._stopped.is_set():
                self._add(items, ended, cut_short)

    def _forget(self) -> None:
        """Makes room for the next segment, and sees how long the last batch took."""
        self._spool.forget()
        done = self._spool.progress.last
        if done is not None and done != self._done:
            self._done = done
            self._pace.see(self._spool.progress.seconds(done))

    def _add(self, items: list[Arrived], ended: bool, cut_short: bool) -> None:
        number = self._last.number + 1
        self._packer.part = number
        time = GroupTime(cut_short, self.intake.watermark.reached)
        parcels = list(self._packer.pack(items, ended, time))
        read = max(self.read, self._last.events)
        self._last = Segment(number, read, self.intake.watermark.reached, self.intake.watermark.highs)
        self._spool.write(self._last, self._job.labelled(parcels))
        words = self._packer.words
        if words.wants_collection:
            waiting = (rows for batch in self._items.waiting() for rows in batch.rows.values())
            in_use = np.concatenate([_NO_WORDS, *(np.asarray(rows, dtype=np.int64).reshape(-1) for rows in waiting)])
            words.collect(in_use)


def driver_feed(
    job: Job,
    items: Callable[[Dictionary], Items],
    report: Callable[[Diagnostic], None],
    look: Callable[[Dictionary], Callable[[Batch], object]],
    observe: Observe | None,
    folder: Path,
) -> Feeder:
    """Streams that the driver reads, with the spool in a folder.

    `look` makes a function that sees every batch that comes in, and `observe` sees it with its tick.
    """
    packer, spool = Packer(job, 0, 0), Spool(folder)
    spool.check()
    return Feeder(job, spool, packer, items(packer.words), report, look(packer.words), observe)
