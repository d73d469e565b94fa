"""What a program of the service reads: the records of its streams, in the order of the log.

The counterpart of `runtimes.inputs.Streams`. Its clocks are the arrivals of records: the machine's clock, how long a
stream has been silent and how long a doubtful time has waited are all functions of the log. So the same items come
again after a crash, however records are read and whenever a program is asked something in between.

    a record arrives    time passes up to its arrival, through each instant at which something becomes known: rows have
                        waited for too long, streams turn out to be silent; and the machine's clock comes to a tick
    and is read         facts of a stream of the program; a subscription; anything else has only made time pass

What is known about time changes there and nowhere else: a None that makes a difference has its place in the log. Beats
make it known in time, and change no answer: those that other programs need do not matter.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final

from thalweg.connectors.batches import Item as ReadItem
from thalweg.connectors.interrupt import Interrupt
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.time import NEVER, Clock
from thalweg.runtimes.inputs import mixed_times
from thalweg.runtimes.intake import Item
from thalweg.runtimes.plausible_times import PATIENCE, Far, PlausibleTimes, Timed, TimeLimits
from thalweg.runtimes.wall_clock import DRAINED, PassingTime, is_reached
from thalweg.service.body_reader import BodyReader, is_of_stream
from thalweg.service.log import Log, LogRecord
from thalweg.service.streams import LoggedStreams

_BREATH: Final = 0.05
"""Seconds after which None comes although more can be read."""


@dataclass(slots=True)
class _Channel:
    """How a stream is read."""

    reader: BodyReader
    times: PlausibleTimes

    @property
    def held_since(self) -> float | None:
        """When the first row that waits came; None where none waits."""
        since: float | None = self.times.mark
        return since


class LoggedItems:
    """The items of a program that reads some streams behind a record; a group a stream, in the order of the names.

    Time follows arrivals where it goes `by_wall`; a stream that is silent for `idle` seconds holds nothing back. None
    comes first of all, before each wait, whenever a request waits (`asked`) and now and then, always between two
    records. `subscribed` gets records of subscriptions, when everything before them has been answered.
    """

    def __init__(
        self,
        log: Log,
        streams: LoggedStreams,
        names: Sequence[str],
        words: Dictionary,
        clock: Clock,
        *,
        interrupt: Interrupt,
        by_wall: bool = False,
        idle: float | None = None,
        delay: int = 0,
        limits: TimeLimits | None = None,
        after: int = 0,
        pause: Callable[[], float | None] = lambda: None,
        asked: Callable[[], bool] = lambda: False,
        subscribed: Callable[[LogRecord], None] = lambda record: None,
    ) -> None:
        """`after` is the number of the record behind which it begins; `seek` overrides it."""
        self._log = log
        self._streams = streams
        self._numbers = {name: number for number, name in enumerate(names)}
        self._interrupt = interrupt
        self._asked = asked
        self._subscribed = subscribed
        self._clock = clock
        self._arrived = 0
        self._passing = passing = PassingTime(clock, by_wall, idle, self._elapsed, self._elapsed, delay)
        limits = limits or TimeLimits(clock, delay=delay)
        self._channels = [
            _Channel(BodyReader(name, words, clock), PlausibleTimes(limits, lambda: passing.tick, live=True))
            for name in names
        ]
        self._pauses = [pause]
        self._reached = NEVER
        self._item: Timed | Far | None = None
        self._within = False
        self._instants: tuple[float, ...] = (0.0,) if passing.matters else ()
        self.seq = after
        """The last record that was taken wholly."""
        self.groups = max(1, len(names))
        self.group: int | None = 0
        self.resting: frozenset[int] = frozenset()
        self.ended: frozenset[int] = frozenset()

    # Records --------------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Item]:
        """It ends between two records when the `interrupt` has been asked; `Log.wake` has it look."""
        yield None
        breathed = monotonic()
        while not self._interrupt.asked:
            records = self._log.read(self.seq)
            for record in records:
                yield from self._taken(record)
                if self._interrupt.asked:
                    return
                if self._asked() or monotonic() - breathed > _BREATH:
                    yield None
                    breathed = monotonic()
            if not records:
                self._log.wait(self.seq, self._pause(), lambda: self._interrupt.asked or self._asked())
            yield None
            breathed = monotonic()

    def _taken(self, record: LogRecord) -> Iterator[Item]:
        """The items of a record, and before them what becomes known because time has passed up to its arrival."""
        number = self._numbers.get(record.stream)
        if number is not None and record.about.get("backlog"):
            # Its broker had kept it: the machine's clock waits for what it has besides.
            self._arrives(record.arrived)
            self._passing.drain(number)
        while (instant := self._instant_before(record.arrived)) is not None:
            yield from self._known_at(instant)
        yield from self._known_at(record.arrived)
        if record.kind == "subscription":
            yield None
            self._subscribed(record)
        elif record.kind == "facts" and number is not None:
            yield from self._whole(self._facts(record, number))
        self.seq = record.seq
        yield from self._rest()
        self._instants = tuple(self._instants_ahead())

    def _whole(self, items: Iterable[Timed | Far]) -> Iterator[Timed | Far]:
        """Items between which there is no position."""
        self._within = True
        for item in items:
            yield self._unmixed(item)
        self._within, self._item = False, None

    def _unmixed(self, item: Timed | Far) -> Timed | Far:
        if self._clock.notation.is_mixed:
            raise RejectedError([mixed_times()])
        self._item = item
        return item

    def _facts(self, record: LogRecord, number: int) -> Iterator[Timed | Far]:
        """The items of facts; those of an earlier stream of the same name are none."""
        stream, channel = self._streams.get(record.stream), self._channels[number]
        if stream is None or record.seq <= stream.born:
            return
        about = record.about
        self._passing.hear(number)
        self.group = number
        version = stream.version_of(about["map"])
        items = channel.reader.read(
            record.media,
            record.body,
            version,
            record.arrived,
            prefixes=about.get("prefixes", {}),
            number=record.seq,
        )
        if about.get("skip"):
            items = _without_bad_lines(items, record.stream)
        for item in channel.times.screen(items, self._elapsed):
            if isinstance(item, tuple) and number in self._passing.draining:
                self._passing.meet(number, item[0])
            yield item
        if about.get("skip"):
            channel.reader.forget_facts()
        if "backlog" in about and not about["backlog"]:
            self._passing.drained(number)

    # Time -----------------------------------------------------------------------------------------------------------

    def _elapsed(self) -> float:
        """The clock of the program: when the record came that is being read, in seconds since 1970."""
        return self._arrived / 1_000

    def _arrives(self, arrived: int) -> None:
        """Winds the clock; the silence of streams is counted from the first record on."""
        is_first, self._arrived = not self._arrived, arrived
        if is_first:
            self._passing.listen(len(self._channels))

    def _instant_before(self, arrived: int) -> int | None:
        """The first instant behind the last one, and before an arrival, at which something becomes known."""
        if not self._arrived:
            return None
        ahead = (round(instant * 1_000) for instant in self._patience_ahead())
        return min((instant for instant in ahead if self._arrived < instant < arrived), default=None)

    def _known_at(self, instant: int) -> Iterator[Item]:
        """What is known because time has come to an instant."""
        self._arrives(instant)
        yield from self._whole(self._time_passes())
        yield from self._rest()

    def _time_passes(self) -> Iterator[Timed | Far]:
        passing = self._passing
        if passing.by_wall and not passing.draining and (tick := passing.tick) > self._reached:
            yield from self._completed(range(len(self._channels)))
            self._reached = tick
            self.group = None
            yield tick, Batch()
        elif passing.idle is not None:
            yield from self._completed(sorted(passing.silent - self.resting))
        yield from self._overdue()

    def _overdue(self) -> Iterator[Timed | Far]:
        """What has waited for too long to be decided by what comes after it."""
        for number, channel in enumerate(self._channels):
            if channel.held_since is not None and is_reached(channel.held_since + PATIENCE, self._elapsed()):
                self.group = number
                yield from channel.times.release()

    def _completed(self, numbers: Iterable[int]) -> Iterator[Timed | Far]:
        """Events of quads of which no more is waited for, because time goes on without them."""
        for number in numbers:
            self.group = number
            channel = self._channels[number]
            yield from channel.times.screen(channel.reader.complete(), self._elapsed)

    def _rest(self) -> Iterator[None]:
        """None where other streams than before hold nothing back."""
        draining = self._passing.draining
        drained = frozenset(range(len(self._channels))) - draining if draining else frozenset()
        resting = self._passing.silent | drained
        if resting != self.resting:
            self.resting = resting
            yield None

    def _patience_ahead(self) -> Iterator[float]:
        """When rows and streams will have been waited for long enough, in seconds since 1970."""
        yield from (since + PATIENCE for channel in self._channels if (since := channel.held_since) is not None)
        passing = self._passing
        if passing.idle is not None:
            yield from (heard + passing.idle for stream, heard in passing.heard.items() if stream not in self.resting)
        patience = DRAINED if passing.idle is None else passing.idle
        yield from (passing.heard[stream] + patience for stream in passing.draining)

    def _instants_ahead(self) -> Iterator[float]:
        """When time matters next although nothing comes, in seconds since 1970."""
        yield from self._patience_ahead()
        if self._passing.by_wall and not self._passing.draining:
            yield ((self._reached + 1) * self._clock.tick_length + self._clock.epoch) / 1_000

    def due(self) -> float | None:
        """Seconds until time matters although nothing comes, 0 where that is now; None where it does not.

        None also while there are records to be taken. May be called from any thread.
        """
        instants = self._instants
        if not self.is_at_head or not instants:
            return None
        return max(0.0, min(instants) - self._log.now() / 1_000)

    def _pause(self) -> float | None:
        return min((seconds for pause in self._pauses if (seconds := pause()) is not None), default=None)

    def wake(self, pause: Callable[[], float | None]) -> None:
        """Has waits end no later than after a pause, too."""
        self._pauses.append(pause)

    # State ----------------------------------------------------------------------------------------------------------

    @property
    def is_at_head(self) -> bool:
        """Whether every durable record has been taken."""
        return self.seq >= self._log.last

    def hold(self) -> None:
        """Records stay in the log; nothing is acknowledged."""

    def acknowledge(self) -> None:
        """Records stay in the log; the service says to the log what it keeps for a program."""

    @property
    def repeats(self) -> bool:
        return True

    @property
    def holds(self) -> bool:
        """Whether rows wait to be decided."""
        return any(channel.times.is_holding for channel in self._channels)

    def waiting(self) -> Iterator[Batch]:
        """The batches that have been coded and not been taken."""
        if isinstance(self._item, tuple | Far):
            yield self._item[1] if isinstance(self._item, tuple) else self._item.batch
        for channel in self._channels:
            yield from (batch for _, batch in channel.times.waiting())
            yield from channel.reader.waiting()

    def position(self) -> dict[str, Any] | None:
        """Behind the records that were taken, as JSON; None within a record, and while rows wait to be decided."""
        if self._within or self.holds:
            return None
        return {
            "seq": self.seq,
            "arrived": self._arrived,
            "reached": self._reached,
            "draining": sorted(self._passing.draining),
            "streams": {name: self._saved(number) for name, number in self._numbers.items()},
        }

    def _saved(self, number: int) -> dict[str, Any]:
        """Where a stream is."""
        channel = self._channels[number]
        return {
            "heard": self._passing.heard.get(number),
            "rests": number in self.resting,
            "last": channel.times.last,
            "reader": channel.reader.save(),
        }

    def seek(self, position: dict[str, Any]) -> None:
        """Goes on behind a position, before the first item is taken."""
        self.seq, self._arrived, self._reached = position["seq"], position["arrived"], position["reached"]
        if self._arrived:
            self._passing.listen(len(self._channels))
        for number in position["draining"]:
            self._passing.drain(number)
        for name, saved in position["streams"].items():
            self._load(name, self._numbers[name], saved)
        self.resting = frozenset(self._numbers[name] for name, saved in position["streams"].items() if saved["rests"])
        self._instants = tuple(self._instants_ahead()) if self._arrived else self._instants

    def _load(self, name: str, number: int, saved: dict[str, Any]) -> None:
        channel, stream = self._channels[number], self._streams.get(name)
        channel.times.last = saved["last"]
        if saved["heard"] is not None:
            self._passing.heard[number] = saved["heard"]
        used = saved["reader"]["version"]
        # What a stream of the same name had begun, which was deleted, does not go on.
        if stream is not None and self.seq > stream.born:
            channel.reader.load(saved["reader"], stream.version_of(used) if used else None)


def _without_bad_lines(items: Iterable[ReadItem], stream: str) -> Iterator[ReadItem]:
    """What is good of a body: whoever sent it knows of the rest."""
    return (item for item in items if not isinstance(item, Diagnostic) and is_of_stream(item, stream))
