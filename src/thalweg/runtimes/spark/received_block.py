"""A task reads what a live stream has brought in a batch, from where the task of an earlier batch has left it.

What a reader must know of the blocks before (half a line, the header of a table, what a document has declared) goes
with the digest of the last block to the driver, and from there with the next one to a task. Times that a stream does
not say itself, and those that rows are compared with, are the times at which its blocks have come.
"""

from collections.abc import Iterator
from typing import Any

from thalweg.connectors.readers import Reader, open_ordered
from thalweg.runtimes.plausible_times import Far, PlausibleTimes, Timed
from thalweg.runtimes.spark.arrival_log import ArrivalLog
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.read_block import BlockTask, ahead
from thalweg.runtimes.spark.received_parts import ReceivedPart, ReceivedSource
from thalweg.runtimes.spark.receiver import load_items
from thalweg.runtimes.spark.recordings import ReadingOptions


class ReceivedBlock(BlockTask):
    """The work on what a stream has brought in a batch."""

    def __init__(
        self, job: Job, log: ArrivalLog, source: ReceivedSource, part: ReceivedPart, reading: ReadingOptions
    ) -> None:
        super().__init__(job, (part.group, part.segments[0], 0), part.ended, reading)
        self._log = log
        self._source = source
        self._part = part
        self._moment = 0
        known = part.known or {}
        # The segment with which its transport began anew; `skipped` is what a version before has not counted.
        self._begun: int | None = known.get("begun")
        self._reader = self._opened()
        now = self._tick if source.is_live else None
        self._times = PlausibleTimes(self._limits, now, live=source.is_live)
        if part.known is not None:
            self._times.last = part.known["last"]
            if part.known["reader"] is not None:
                self._reader.load(ahead(part.known["reader"], part.lines + int(known.get("skipped", 0))))

    def _opened(self) -> Reader:
        source = self._source
        return open_ordered(
            source.name,
            source.stream,
            self._packer.words,
            self._clock,
            self._tally,
            "live" if source.is_live else "recorded",
            source.format,
            now=lambda: self._moment / 1_000,
            piece="" if self._begun is None else str(self._begun),
        )

    def _tick(self) -> int:
        """The tick at which what is read now has come."""
        return (self._moment - self._clock.epoch) // self._clock.tick_length

    def _items(self) -> Iterator[Timed | Far]:
        if self._source.kind == "items":
            # The driver has looked at their times.
            for _, block in self._log.of_group(self._part.group, self._part.segments):
                yield from load_items(block, self._packer.words)
            return
        times = self._times
        yield from times.screen(self._read())
        # What waits is not decided by what comes later: a batch that is tried again would have more of it.
        yield from times.release()

    def _read(self) -> Iterator[Timed]:
        for number in self._part.segments:
            if number in self._part.begun:
                self._begun = number
                self._reader = self._opened()
            for moment, block in self._log.of_group(self._part.group, [number]):
                self._moment = moment
                yield from self._reader.feed(block)
        if self._part.ended:
            yield from self._reader.finish()

    def _more(self, is_stopped: bool) -> dict[str, Any]:
        known = {"reader": self._reader.save(), "last": self._times.last, "begun": self._begun}
        return {"known": known, "ended": self._part.ended or is_stopped}
