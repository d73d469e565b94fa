"""What streams bring waits on disk, packed, until a batch has taken it: so that it can be taken again after a crash.

One process reads the streams, in the same order and with the same words as the embedded runtime; the numbered segments
it writes are the source that Spark reads. A segment's name says how many events had been read with it, so a run that is
resumed passes over what has been written; and the greatest tick so far, so that what is late stays late.
"""

import os
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from thalweg.diagnostics import Diagnostic
from thalweg.model.event import Batch
from thalweg.runtimes.embedded import Items
from thalweg.runtimes.schema import SchemaWatch
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.pack import Arrived, Packer
from thalweg.runtimes.spark.wire import Parcel, frame, unframe
from thalweg.runtimes.watermark import Watermark

# Facts in a segment, and segments that may wait: more would only fill the disk.
SEGMENT: Final = 100_000
MOST_WAITING: Final = 64
PAUSE: Final = 0.02
_NO_WORDS: Final = np.zeros(0, dtype=np.int64)
_ADDRESS: Final = struct.Struct("<ii")


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """A file of parcels: its number, the events read up to its end, and the greatest tick among them."""

    number: int
    events: int
    highest: int

    @property
    def name(self) -> str:
        return f"{self.number:010}_{self.events}_{self.highest}.parcels"


class Spool:
    """A folder of segments.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     spool = Spool(Path(folder))
    ...     spool.write(Segment(0, 3, 7), [Parcel(0, 1, b"ab")])
    ...     spool.segments(), list(spool.read(0))
    ([Segment(number=0, events=3, highest=7)], [Parcel(stage=0, bucket=1, payload=b'ab')])
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def segments(self) -> list[Segment]:
        """Those that are there, in order."""
        names = (path.stem.split("_") for path in self.folder.glob("*.parcels"))
        return sorted(Segment(*map(int, parts)) for parts in names)

    def write(self, segment: Segment, parcels: Iterable[Parcel]) -> None:
        """Adds a segment, all of it or nothing."""
        unfinished = self.folder / f"{segment.number}.unfinished"
        with unfinished.open("wb") as file:
            file.write(frame(_ADDRESS.pack(each.stage, each.bucket) + each.payload for each in parcels))
            file.flush()
            os.fsync(file.fileno())
        unfinished.rename(self.folder / segment.name)

    def read(self, number: int) -> Iterator[Parcel]:
        (path,) = self.folder.glob(f"{number:010}_*.parcels")
        for data in unframe(path.read_bytes()):
            stage, bucket = _ADDRESS.unpack_from(data)
            yield Parcel(stage, bucket, data[_ADDRESS.size :])

    def forget(self, number: int) -> None:
        """Drops the segments before a number, but never the last: it says how far the streams have been read."""
        for segment in self.segments()[:-1]:
            if segment.number < number:
                (self.folder / segment.name).unlink(missing_ok=True)


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
    ) -> None:
        super().__init__(name="feeder", daemon=True)
        self.malformed: Diagnostic | None = None
        self.error: BaseException | None = None
        self.read = 0
        self.facts = 0
        self.watermark = Watermark(job.settings.delay, last=job.settings.last)
        self._job = job
        self._spool = spool
        self._packer = packer
        self._items = items
        self._report = report
        watch = (
            SchemaWatch(report, job.program.hints.justification is None).look
            if job.program.hints.static_schema
            else None
        )
        self._look = look or watch
        self._stopped = threading.Event()
        self._writing = threading.Lock()
        written = spool.segments()
        self._last = written[-1] if written else Segment(-1, 0, -1)

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
        self.watermark.meet(self._last.highest)
        for item in self._items:
            if self._stopped.is_set():
                return
            if isinstance(item, Diagnostic):
                if self._job.settings.on_error == "stop":
                    self.malformed = item
                    break
                self._report(item)
            elif item is not None:
                self.read += 1
                watermark = self.watermark.meet(item[0])
                if self.read > skipped:
                    if self._look is not None:
                        self._look(item[1])
                    waiting.append((*item, watermark))
                    size = len(item[1].order) or sum(map(len, item[1].rows.values()))
                    facts += size
                    self.facts += size
                if self.watermark.is_complete:
                    break
            if (item is None and waiting) or facts >= SEGMENT:
                self._write(waiting)
                waiting, facts = [], 0
        self._write(waiting, ended=True, cut_short=self.malformed is not None)

    def _write(self, items: list[Arrived], ended: bool = False, cut_short: bool = False) -> None:
        while len(self._spool.segments()) > MOST_WAITING and not self._stopped.is_set():
            time.sleep(PAUSE)
        with self._writing:
            if not self._stopped.is_set():
                self._add(items, ended, cut_short)

    def _add(self, items: list[Arrived], ended: bool, cut_short: bool) -> None:
        number = self._last.number + 1
        self._packer.part = number
        parcels = list(self._packer.pack(items, ended, cut_short))
        self._last = Segment(number, max(self.read, self._last.events), self.watermark.highest)
        self._spool.write(self._last, self._job.labelled(parcels))
        words = self._packer.words
        if words.wants_collection:
            waiting = (each for batch in self._items.waiting() for each in batch.rows.values())
            in_use = np.concatenate([_NO_WORDS, *(np.asarray(each, dtype=np.int64).reshape(-1) for each in waiting)])
            words.collect(in_use)
