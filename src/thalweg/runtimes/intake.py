"""The intake of a run: how far time is decided, and which facts wait for that, are late, or far from all others.

Streams stand in groups; those of one group share a clock. A group may rest, as one that is silent: it holds nothing
back, and what it brings is late where others have gone on.

    watermark of a group    the highest tick of its events so far, less the delay
    late                    an event of a tick before the watermark of its group
    decided                 every tick before the watermarks of all groups that have not ended; in the end, every tick
    far                     an event whose time is far from those around it (`plausible_times`): it takes no part

Where one process reads all events, each settles the watermark for those after it (`meet`): whether an event is late
depends on the events before it and on nothing else, so a stream gives the same answers however it is cut. Such a
process has an `Intake`: a local run and a live session let batches wait in it. On Spark buckets `judge` columns of
facts. Where they read the parts of a table, each sees the ticks of a batch in any order and settles once a batch; all
buckets see the same ticks, so all agree. Where tasks read blocks of streams, blocks have an order, and all buckets see
the ticks of all of them in that order: an event is late by those of its group before it, and by what earlier batches
have decided (`before_next`), its ticks count for those behind it (`see_next`), and time ends where a block cannot be
read on (`cut`).

Late and far facts are never silently lost: they go to the late channel, or are counted and reported at the end. A line
of the late channel holds the event, and where the watermark stood when it came:

    {"t":36,"watermark":40,"stream":"readings","facts":["a(x1,y)"]}
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from thalweg.connectors.lines import SKIP
from thalweg.dataflow.context import Settings
from thalweg.diagnostics import Counted, Diagnostic
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.saved_batches import load_batches, save_batches
from thalweg.model.time import AS_TICKS, FOREVER, NEVER, TimeFormat
from thalweg.runtimes.plausible_times import Far, PlausibleTimes, TimeLimits
from thalweg.runtimes.wall_clock import PassingTime

Ticks = NDArray[np.int64]
Mask = NDArray[np.bool_]

Item = tuple[int, Batch] | Far | Diagnostic | None
"""A batch with its tick, what is wrong in a stream, or None where the next item must be waited for."""

FAR: Final = FOREVER
"""Beyond all watermarks: added to the one that a far event met, so that it is late whatever its time says."""

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


@dataclass(slots=True)
class Watermark:
    """What is known of time; `first` and `last` are the ticks that a user asked for, where there are such.

    >>> watermark = Watermark(delay=2)
    >>> [tick < watermark.meet(tick) for tick in (5, 7, 6, 8, 5)]
    [False, False, False, False, True]
    >>> watermark.start, watermark.decided
    (5, 5)
    """

    delay: int = 0
    first: int | None = None
    last: int | None = None
    groups: int = 1
    reached: int = NEVER
    """Every tick up to this one is decided, whether or not the timeline has begun."""
    bounds: tuple[int, int] = (0, FOREVER)
    """The first and the last tick asked for; events outside take no part, and are not late."""
    _lowest: int = FOREVER
    _highest: list[int] = field(default_factory=list)
    _fresh: dict[int, int] = field(default_factory=dict)
    _ended: set[int] = field(default_factory=set)
    _resting: frozenset[int] = frozenset()
    _cut_short: bool = False
    _cut: tuple[int, int] | None = None
    """The tick and the group at which the input was cut short, where other groups may have to come to it."""

    def __post_init__(self) -> None:
        self.bounds = self.first or 0, FOREVER if self.last is None else self.last
        self._highest = [NEVER] * self.groups

    @property
    def start(self) -> int | None:
        """The first tick: that of the user, or that of the first event; None while it is not known."""
        if self.first is not None:
            return self.first
        return self._lowest if self._lowest <= self.reached else None

    @property
    def decided(self) -> int | None:
        """The last tick of the timeline that is decided; None where there is none."""
        start = self.start
        return None if start is None or self.reached < start else self.reached

    @property
    def highest(self) -> int:
        """The highest tick seen."""
        return max(self._highest)

    @property
    def highs(self) -> tuple[int, ...]:
        """The highest tick of each group."""
        return tuple(self._highest)

    @property
    def is_complete(self) -> bool:
        """Whether every tick up to the last that was asked for is decided."""
        return self.reached == self.last

    @property
    def is_over(self) -> bool:
        """Whether all groups have ended."""
        return len(self._ended) == self.groups

    def has_ended(self, group: int) -> bool:
        """Whether no more events of a group will come."""
        return group in self._ended

    def of(self, group: int = 0) -> int:
        """Events of a group before this tick are late."""
        return self._highest[group] - self.delay

    def late_before(self, group: int) -> int:
        """Events of a group before this tick are late, also because of what was decided while the group was silent."""
        return max(self.of(group), self.reached + 1)

    def meet(self, tick: int, group: int = 0) -> int:
        """Sees one event and settles; the watermark that it met: it is late if its tick is before that."""
        highest = self._highest[group]
        if tick > highest:
            self._highest[group] = tick
            self._decide()
        if highest - self.delay <= tick < self._lowest:
            self._lowest = tick
        return highest - self.delay

    def meet_in(self, group: int | None, tick: int) -> int:
        """Sees one event of a group, or of all groups where it is None, and settles; the watermark that it met.

        What was decided while the group was silent stays decided.
        """
        if group is not None:
            return max(self.meet(tick, group), self.reached + 1)
        return max(min(self.meet(tick, number) for number in range(self.groups)), self.reached + 1)

    def judge(self, ticks: Ticks, met: Ticks, least: int, group: int) -> tuple[Mask, Mask, Ticks]:
        """Which of many facts of a group are on time, which are late, and the watermarks that they met, as columns.

        `met` has those that are known, or nothing; all have met at least the `least`.
        """
        met = np.where(met >= FAR, np.maximum(met, FAR + least), np.maximum(met, least)) if len(met) else met
        met = met if len(met) else np.full(len(ticks), least, dtype=np.int64)
        first, last = self.bounds
        wanted, late = (ticks >= first) & (ticks <= last), ticks < met
        wanted &= self.before_cut(ticks, group)
        return wanted & ~late, wanted & late, met

    def before_cut(self, ticks: Ticks, group: int) -> Mask:
        """Which facts of a group take part, although the input was cut short."""
        if self._cut is None:
            return np.ones(len(ticks), dtype=bool)
        tick, last_group = self._cut
        return ticks < tick + (group <= last_group)

    def before_next(self, group: int) -> int:
        """Events of a group before this tick are late, where all that came before them has been seen in order.

        What was decided while the group was silent stays decided.
        """
        return max(max(self._highest[group], self._fresh.get(group, NEVER)) - self.delay, self.reached + 1)

    def see_next(self, group: int, ticks: Ticks) -> None:
        """Sees ticks of events that come behind all that were seen of a group; they count once `settle` is called."""
        ticks = ticks[ticks >= self.before_next(group)]
        if len(ticks):
            self._fresh[group] = max(int(ticks.max()), self._fresh.get(group, NEVER))
            ticks = ticks[self.before_cut(ticks, group)]
            self._lowest = min(int(ticks.min(initial=FOREVER)), self._lowest)

    def cut(self, group: int, high: int) -> None:
        """A group cannot be read behind its highest tick: what others have behind it takes no part.

        Time ends there as soon as all others have come to it.
        """
        self._cut = (high, group) if self._cut is None else min(self._cut, (high, group))
        self.end(group, cut_short=True)

    def see(self, group: int, ticks: Ticks) -> None:
        """Sees the ticks of many events, in any order; they count once `settle` is called."""
        ticks = ticks[ticks >= self.late_before(group)]
        if len(ticks):
            self._lowest = min(int(ticks.min()), self._lowest)
            self._fresh[group] = max(int(ticks.max()), self._fresh.get(group, NEVER))

    def close_up_to(self, tick: int, group: int = 0) -> None:
        """No more events of a group will come for a tick, nor for those before it: they would be late."""
        self._fresh.pop(group, None)
        self._highest[group] = max(self._highest[group], tick + 1 + self.delay)
        self._decide()

    def close(self) -> None:
        """Closes every tick up to the highest seen, in all groups: what comes later for one of them is late.

        >>> watermark = Watermark(delay=2)
        >>> watermark.see(0, np.array([5, 4]))
        >>> watermark.settle()
        >>> watermark.close()
        >>> watermark.decided, watermark.late_before(0)
        (5, 6)
        """
        highest = self.highest
        if highest > NEVER:
            for group in range(self.groups):
                self.close_up_to(highest, group)

    def widen(self, groups: int) -> None:
        """There are so many groups, before the first event, or as there were when it was saved."""
        if len(self._highest) < groups:
            self._highest += [NEVER] * (groups - len(self._highest))
            self.groups = groups

    def resume(self, reached: int) -> None:
        """Goes on where every tick up to one was decided."""
        self.reached = max(self.reached, reached)

    def unseen(self, groups: frozenset[int]) -> frozenset[int]:
        """Those of some groups that have brought nothing yet."""
        return frozenset(group for group in groups if self._highest[group] == NEVER and group not in self._fresh)

    def rest(self, groups: frozenset[int]) -> None:
        """These groups rest from now on, and no others do."""
        if groups != self._resting:
            self._resting = groups
            self._decide()

    def end(self, group: int = 0, cut_short: bool = False) -> None:
        """No more events of a group will come; an input that was cut short says nothing about later ticks."""
        self._ended.add(group)
        self._cut_short |= cut_short

    def settle(self) -> None:
        """What has been seen moves the watermarks."""
        for group, high in self._fresh.items():
            self._highest[group] = max(high, self._highest[group])
        self._fresh.clear()
        self._decide()

    def _decide(self) -> None:
        first, last = self.bounds
        flowing = self._highest
        if self._ended or self._resting:
            flowing = [high for group, high in enumerate(flowing) if group not in self._ended]
            awake = [high for group, high in enumerate(self._highest) if group not in self._ended | self._resting]
            # Where all rest, time is where the latest of them has left it.
            flowing = awake or [max(flowing)] if flowing else []
        if flowing:
            # What was decided stays so, whoever wakes up.
            reached = max(self.reached, min(flowing) - self.delay - 1)
        elif self.last is not None and not self._cut_short:
            reached = last
        else:
            reached = NEVER if self.highest == NEVER else max(self.highest, first)
        if self._cut is not None and (reached >= self._cut[0] or not flowing):
            self._ended = {*range(self.groups)}
            reached = self._cut[0] if self._cut[0] == NEVER else max(self._cut[0], first)
        self.reached = min(reached, last)

    def save(self) -> dict[str, Any]:
        """What must be remembered."""
        state = {
            "reached": self.reached,
            "lowest": self._lowest,
            "highest": self._highest,
            "ended": sorted(self._ended),
            "cut_short": self._cut_short,
        }
        if self._cut is not None:
            state |= {"cut": self._cut}
        return state

    def load(self, saved: dict[str, Any]) -> None:
        """Goes on where another one was saved."""
        self.reached = saved.get("reached", NEVER)
        self._lowest, self._highest = saved["lowest"], list(saved["highest"])
        self.groups = max(self.groups, len(self._highest))
        self._ended, self._cut_short = set(saved["ended"]), saved["cut_short"]
        self._cut = tuple(saved["cut"]) if "cut" in saved else None
        self._decide()


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
        self._count = 0
        self._first = ""

    def add(self, tick: int, watermark: int, stream: str | None, facts: list[str]) -> None:
        """Takes the facts of an event of a tick, which came when the watermark had passed it, or which is far."""
        if watermark >= FAR:
            watermark -= FAR
        else:
            if facts and not self._count:
                written = self._times.text
                self._first = f"`{facts[0]} at {written(tick)}` arrived when the watermark was {written(watermark)}"
            self._count += len(facts)
        if self._write:
            at, reached = self._times.data(tick), self._times.data(watermark)
            self._write(_encode({"t": at, "watermark": reached, "stream": stream, "facts": facts}) + "\n")

    @property
    def count(self) -> int:
        """How many facts were late."""
        return self._count

    def save(self) -> dict[str, Any]:
        """The number of late facts and the first of them, as JSON."""
        return {"count": self._count, "first": self._first}

    def load(self, saved: dict[str, Any]) -> None:
        """Counts on where another one was saved."""
        self._count, self._first = saved["count"], saved["first"]

    def counts(self) -> Iterator[Counted]:
        """The count of late facts, for the warnings of a live run."""
        yield Counted("late", self._count, self.summary)

    def summary(self) -> Diagnostic | None:
        """The warning at the end of a run; None where no fact was late, or all went to the late channel."""
        if self._write or not self._count:
            return None
        number = "1 fact was" if self._count == 1 else f"{self._count} facts were"
        return Diagnostic(
            "W302",
            f"{number} late and ignored: {self._first}",
            help="wait longer with `--delay`, or keep late facts with `--late FILE`",
        )


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
