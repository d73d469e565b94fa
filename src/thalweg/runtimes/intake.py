"""The intake of a run: which facts wait until their ticks are decided, which are late, and which have far times.

A process that reads all events has an `Intake`: a local run and a live session let batches wait in it. The `watermark`
says what is decided, and what is late; buckets of Spark have the same one.

Late and far facts are never silently lost: they go to the late channel, or are counted and reported at the end. A line
of the late channel holds the event, and where the watermark stood when it came:

    {"t":36,"watermark":40,"stream":"readings","facts":["a(x1,y)"]}
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import Any, Final, Protocol

import numpy as np

from thalweg.connectors.lines import SKIP
from thalweg.dataflow.context import Settings
from thalweg.diagnostics import Counted, Diagnostic
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.saved_batches import load_batches, save_batches
from thalweg.model.time import AS_TICKS, TimeFormat
from thalweg.runtimes.plausible_times import Far, PlausibleTimes, TimeLimits
from thalweg.runtimes.wall_clock import PassingTime
from thalweg.runtimes.watermark import FAR, Watermark

Item = tuple[int, Batch] | Far | Diagnostic | None
"""A batch with its tick, what is wrong in a stream, or None where the next item must be waited for."""

_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

_ZONE_HELP: Final = (
    "set the zone with `--zone Europe/Berlin`, or with `--zone UTC` if that is meant; "
    "of one stream in a deployment, with `zone`, or in its mapping: `at ts in Europe/Berlin`"
)


class Items(Protocol):
    """Where items come from."""

    def __iter__(self) -> Iterator[Item]:
        """In the order of arrival."""

    def waiting(self) -> Iterable[Batch]:
        """The batches that have been coded and not been taken."""

    @property
    def repeats(self) -> bool:
        """Whether the same items would come again if they were asked for again."""

    @property
    def holds(self) -> bool:
        """Whether what has come from live streams waits to be decided (see `plausible_times`)."""

    @property
    def groups(self) -> int:
        """How many groups of streams there are."""

    @property
    def group(self) -> int | None:
        """The group of the item that came last; None for all of them."""

    @property
    def resting(self) -> frozenset[int]:
        """The groups that hold nothing back, as known when None came last."""

    @property
    def ended(self) -> frozenset[int]:
        """The groups that bring nothing more."""

    def position(self) -> dict[str, Any] | None:
        """Where to go on behind the items that were taken, as JSON; None where that cannot be said just now."""

    def acknowledge(self) -> None:
        """A checkpoint holds all items that were taken: whatever brought them need not keep them."""


class ReadItems(Items, Protocol):
    """Items that are read from somewhere, so that reading can go on from a position."""

    def wake(self, pause: Callable[[], float | None], /) -> None:
        """Has waits end no later than after a pause, too."""

    def hold(self) -> None:
        """From now on what brings the items keeps them until `acknowledge` is called."""

    def seek(self, position: dict[str, Any], /) -> None:
        """Goes on behind a position, before the first item is taken."""


def stopped_at(malformed: Diagnostic, items: Items) -> Diagnostic:
    """The error at which a run stops."""
    return malformed if items.repeats else live_note(malformed)


def live_note(malformed: Diagnostic) -> Diagnostic:
    """An error in a live stream, which cannot be corrected: it says how to go on."""
    if malformed.code != "E301":
        return malformed
    return replace(malformed, notes=(*malformed.notes, f"{SKIP} leaves such messages out and goes on"))


def unzoned() -> Diagnostic:
    """The warning that times without a zone are taken as UTC."""
    return Diagnostic("W315", "times without a zone are taken as UTC", help=_ZONE_HELP)


class Reorder:
    """Batches that wait, by tick, and leave in the order of time; those of one tick stay in the order of arrival.

    >>> buffer = Reorder()
    >>> for tick in (5, 7, 6, 5): buffer.add(tick, Batch())
    >>> [(tick, len(batches)) for tick, batches in buffer.up_to(6)], len(buffer.waiting())
    ([(5, 2), (6, 1)], 1)
    """

    def __init__(self) -> None:
        self._batches: dict[int, list[Batch]] = {}
        self._ticks: list[int] = []

    def add(self, tick: int, batch: Batch) -> None:
        """Takes a batch, whose tick is not decided yet."""
        waiting = self._batches.get(tick)
        if waiting is None:
            self._batches[tick] = [batch]
            heappush(self._ticks, tick)
        else:
            waiting.append(batch)

    def up_to(self, last: int) -> Iterator[tuple[int, list[Batch]]]:
        """Takes out the batches up to a tick."""
        while self._ticks and self._ticks[0] <= last:
            tick = heappop(self._ticks)
            yield tick, self._batches.pop(tick)

    def save(self, words: Dictionary) -> bytes:
        """The waiting batches as bytes."""
        waiting = ((tick, batch) for tick, batches in self._batches.items() for batch in batches)
        return save_batches(waiting, words)

    def load(self, saved: bytes, words: Dictionary) -> None:
        """Takes in the batches that were saved."""
        for tick, batch in load_batches(saved, words):
            self.add(tick, batch)

    def waiting(self) -> list[Batch]:
        """The batches that wait."""
        return [batch for batches in self._batches.values() for batch in batches]


class Late:
    """The late facts of a run: a line of JSON for each event where there is a late channel, else a warning at the end.

    Events that are far go to the late channel, too, and are counted as `FarFacts`.

    >>> late = Late()
    >>> late.add(36, 40, "readings", ["a(x1,y)"])
    >>> late.summary().message
    '1 fact was late and ignored: `a(x1,y) at 36` arrived when the watermark was 40'
    """

    def __init__(self, write: Callable[[str], object] | None = None, times: TimeFormat = AS_TICKS) -> None:
        self._write = write
        self._times = times
        self._counts: Counter[str] = Counter()
        self._first = ""

    def add(self, tick: int, watermark: int, stream: str | None, facts: list[str]) -> None:
        """Takes the facts of an event of a tick, which came when the watermark had passed it, or which is far."""
        if watermark >= FAR:
            watermark -= FAR
        elif facts:
            if not self._first:
                written = self._times.text
                self._first = f"`{facts[0]} at {written(tick)}` arrived when the watermark was {written(watermark)}"
            self._counts[stream or ""] += len(facts)
        if self._write:
            at, reached = self._times.data(tick), self._times.data(watermark)
            self._write(_encode({"t": at, "watermark": reached, "stream": stream, "facts": facts}) + "\n")

    @property
    def count(self) -> int:
        """How many facts were late."""
        return self._counts.total()

    def save(self) -> dict[str, Any]:
        """The numbers of late facts by stream and the first of them, as JSON."""
        return {"counts": dict(self._counts), "first": self._first}

    def load(self, saved: dict[str, Any]) -> None:
        """Counts on where another one was saved, perhaps by the version before, which had one number."""
        self._counts = +Counter(saved["counts"] if "counts" in saved else {"": saved["count"]})
        self._first = saved["first"]

    def counts(self) -> Iterator[Counted]:
        """The count of late facts, for the warnings of a live run."""
        yield Counted("late", self.count, self.summary)

    def summary(self) -> Diagnostic | None:
        """The warning at the end of a run; None where no fact was late, or all went to the late channel."""
        if self._write or not self.count:
            return None
        number = "1 fact was" if self.count == 1 else f"{self.count} facts were"
        return Diagnostic(
            "W302",
            f"{number} late and ignored: {self._first}{self._by_stream()}",
            help="wait longer with `--delay`, or keep late facts with `--late FILE`",
        )

    def _by_stream(self) -> str:
        """How many of them each stream brought, where there are several."""
        listed = [f"{count} of `{stream}`" for stream, count in sorted(self._counts.items()) if stream]
        return f" ({', '.join(listed)})" if len(self._counts) > 1 else ""


class FarFacts:
    """Counts the facts that were far.

    >>> far = FarFacts()
    >>> far.add(36, ["p(a)"])
    >>> far.summary().message
    '1 fact has a time far from those around it and was ignored: `p(a) at 36`'
    """

    def __init__(self, times: TimeFormat = AS_TICKS) -> None:
        self._times = times
        self._count = 0
        self._example = ""

    def add(self, tick: int, facts: list[str]) -> None:
        """Counts facts of a tick that is far."""
        if facts and not self._count:
            self._example = f"`{facts[0]} at {self._times.text(tick)}`"
        self._count += len(facts)

    def merge(self, count: int, example: str) -> None:
        """Adds far facts that were counted elsewhere, with the first of them."""
        if count and not self._count:
            self._example = example
        self._count += count

    @property
    def count(self) -> int:
        """How many facts were far."""
        return self._count

    def save(self) -> list[int | str]:
        """The count and the example, as JSON."""
        return [self._count, self._example]

    def load(self, saved: list[int | str]) -> None:
        """Goes on where another one was saved."""
        self._count, self._example = int(saved[0]), str(saved[1])

    def counts(self) -> Iterator[Counted]:
        """The count of far rows, for the warnings of a live run."""
        yield Counted("far", self._count, self.summary)

    def summary(self) -> Diagnostic | None:
        """The warning at the end of a run; None where all times are near those around them."""
        if not self._count:
            return None
        several = f"{self._count} facts have times far from those around them and were"
        number = "1 fact has a time far from those around it and was" if self._count == 1 else several
        message = f"{number} ignored: {self._example}"
        help = "look at the clock of the device, and at the unit of the time: `at ts ms`; or raise `--max-ahead`"
        return Diagnostic("W308", message, help=help)


class Intake:
    """What has come to a run: it waits until its tick is decided, or takes no part because it is late or far.

    Every batch is shown to the functions that `look` at batches, and to `observe` with its tick and the dictionary
    of its `words`; `write` takes the lines of the late channel.

    >>> intake = Intake(Settings(delay=1), Dictionary())
    >>> for tick in (5, 7, 6, 5, 8): intake.take((tick, Batch()))
    >>> [(tick, len(batches)) for tick, batches in intake.decided()], len(intake.waiting())
    ([(5, 1), (6, 1)], 2)
    """

    def __init__(
        self,
        settings: Settings,
        words: Dictionary,
        report: Callable[[Diagnostic], None] = lambda diagnostic: None,
        *,
        look: Sequence[Callable[[Batch], object]] = (),
        observe: Callable[[int, Batch, Dictionary], object] | None = None,
        write: Callable[[str], object] | None = None,
        times: TimeFormat = AS_TICKS,
    ) -> None:
        self.watermark = Watermark(settings.delay, settings.first, settings.last)
        self.late = Late(write, times)
        self.far = FarFacts(times)
        self.latest: int | None = None
        """The latest tick that was put, without those that are far."""
        self._words = words
        self._look = tuple(look)
        self._observe = observe
        self._report = report
        self._clock = settings.calendar.clock
        self._limits = TimeLimits(self._clock, settings.max_ahead, settings.delay)
        self._is_zone_reported = False
        self._ordered = Reorder()
        self._pushed: dict[str | None, PlausibleTimes] = {}
        self._dropped_before = 0

    # Items ----------------------------------------------------------------------------------------------------------

    def check_zone(self) -> None:
        """Reports once that the readers of the run have met a time without a zone."""
        if self._clock.notation.unzoned and not self._is_zone_reported:
            self._is_zone_reported = True
            self._report(unzoned())

    def see(self, item: tuple[int, Batch] | Far) -> None:
        """Shows what comes to those that look at it, and counts what is far."""
        batch = item[1] if isinstance(item, tuple) else item.batch
        for look in self._look:
            look(batch)
        if isinstance(item, Far):
            self.far.add(item.tick, self._texts(batch))
        elif self._observe is not None:
            self._observe(item[0], batch, self._words)

    def meet(self, item: tuple[int, Batch] | Far, group: int | None) -> tuple[int, Batch, int]:
        """An event of a group, or of all where it is None: tick, facts and the watermark that it met and may move."""
        if isinstance(item, Far):
            return item.tick, item.batch, FAR + max(self.watermark.reached + 1, 0)
        tick, batch = item
        return tick, batch, self.watermark.meet_in(group, tick)

    def take(self, item: tuple[int, Batch] | Far, group: int | None = 0) -> None:
        """Takes an event in the order of arrival; it moves the watermark for those after it."""
        self.see(item)
        self._admit(*self.meet(item, group))

    def _admit(self, tick: int, batch: Batch, met: int) -> bool:
        """Lets an event wait and returns True, unless it is late; one that nobody asked for is forgotten."""
        first, last = self.watermark.bounds
        if first <= tick <= last or met >= FAR:
            if tick >= met:
                self._ordered.add(tick, batch)
                return True
            self.late.add(tick, met, batch.stream, self._texts(batch))
        return False

    def _texts(self, batch: Batch) -> list[str]:
        return [str(fact) for fact in batch.facts(self._words)]

    def follow(self, items: Items) -> None:
        """Sees which groups of streams are silent, and which have ended; the last one ends with the input."""
        self.watermark.rest(items.resting)
        if len(items.ended) < items.groups:
            for group in items.ended:
                self.watermark.end(group)
        self.watermark.settle()

    def end(self, cut_short: bool) -> None:
        """No more items will come; an input that was cut short says nothing about later ticks."""
        for group in range(self.watermark.groups):
            self.watermark.end(group, cut_short)
        self.watermark.settle()

    def decided(self) -> Iterator[tuple[int, list[Batch]]]:
        """Takes out the batches whose ticks are decided, in the order of time."""
        return self._ordered.up_to(self.watermark.reached)

    def waiting(self) -> list[Batch]:
        """The batches that wait."""
        return [*self._ordered.waiting(), *(batch for _, batch in self._undecided())]

    # Pushed facts ---------------------------------------------------------------------------------------------------

    def put(self, tick: int, batch: Batch) -> None:
        """Takes a batch that waits until its tick is closed; it is late if that has happened."""
        self.check_zone()
        for item in self._times_of(batch.stream).take((tick, batch)):
            self._put(item)

    def put_all(self) -> None:
        """Decides what was put and waits because its time is doubtful: nothing more is waited for."""
        for times in self._pushed.values():
            for item in times.release():
                self._put(item)

    def _put(self, item: tuple[int, Batch] | Far | Diagnostic) -> None:
        if isinstance(item, Far):
            self.take(item)
            return
        assert isinstance(item, tuple)
        tick, batch = item
        self.latest = tick if self.latest is None else max(tick, self.latest)
        self.see(item)
        if self._admit(tick, batch, self.watermark.of()):
            self.watermark.see(0, np.array([tick]))

    def _times_of(self, stream: str | None) -> PlausibleTimes:
        """What looks at the times of what is pushed into a stream."""
        if stream not in self._pushed:
            passing = PassingTime(self._clock)
            self._pushed[stream] = PlausibleTimes(self._limits, lambda: passing.tick)
        return self._pushed[stream]

    def _undecided(self) -> Iterator[tuple[int, Batch]]:
        return (event for times in self._pushed.values() for event in times.waiting())

    @property
    def holds_pushed(self) -> bool:
        """Whether something that was put waits because its time is doubtful."""
        return any(times.is_holding for times in self._pushed.values())

    # Counts and state -----------------------------------------------------------------------------------------------

    @property
    def dropped(self) -> int:
        """How many facts were late or far since the run began or was resumed."""
        return self.late.count + self.far.count - self._dropped_before

    def counts(self) -> Iterator[Counted]:
        """The counts of late and of far facts, for the warnings of a live run."""
        return (count for facts in (self.late, self.far) for count in facts.counts())

    def summaries(self) -> Iterator[Diagnostic]:
        """The warnings at the end of a run."""
        return (summary for facts in (self.late, self.far) if (summary := facts.summary()) is not None)

    def save(self) -> bytes:
        """All that must be remembered between two items."""
        header = {
            "watermark": self.watermark.save(),
            "late": self.late.save(),
            "far": self.far.save(),
            "latest": self.latest,
            "pushed": [[stream, times.last] for stream, times in self._pushed.items()],
        }
        ordered, undecided = self._ordered.save(self._words), save_batches(self._undecided(), self._words)
        return frame([encode(header, {}), ordered, undecided])

    def load(self, saved: bytes) -> None:
        """Brings an intake that has taken nothing to where another was saved."""
        about, ordered, undecided = unframe(saved)
        header, _ = decode(about)
        self.watermark.load(header["watermark"])
        self.late.load(header["late"])
        self.far.load(header["far"])
        self._dropped_before = self.late.count + self.far.count
        self._ordered.load(ordered, self._words)
        self.latest = header["latest"]
        for stream, last in header["pushed"]:
            self._times_of(stream).last = last
        for tick, batch in load_batches(undecided, self._words):
            self._times_of(batch.stream).hold((tick, batch))
