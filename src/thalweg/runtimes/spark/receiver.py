"""Receives what only the driver can, and writes it down as it came: tasks read it.

    transports ──blocks──▶ segments of the arrival log ──▶ acknowledged to brokers, when they are written
    Python     ──items───▶

Nothing is decoded here, unless it is there as values of Python already. What a stream says of time is found out by
tasks; what the machine's clock says of it (`PassingTime`) is noted with what came: which streams are silent, and which
tick it is.
"""

import json
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from thalweg.connectors.arrivals import QUEUED, arrivals, position_of
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.transport import Acknowledging, Keeping, Noticing, Positioned, Transport
from thalweg.diagnostics import Diagnostic, FailedError
from thalweg.model.arrow import frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.saved_batches import load_batches, save_batches
from thalweg.runtimes.intake import Items
from thalweg.runtimes.plausible_times import Far
from thalweg.runtimes.spark.arrival_log import ArrivalLog, Segment, lines_in
from thalweg.runtimes.spark.wire import warning_of, warning_text
from thalweg.runtimes.wall_clock import PassingTime

SEGMENT: Final = 4 << 20
"""Bytes of a segment from which on no more is waited for."""
MOST_WAITING: Final = 64 << 20
"""Bytes that may wait for a batch: more would only fill the disk."""
MOST_SEGMENTS: Final = 512
PAUSE: Final = 0.02
"""Seconds from one segment to the next: what comes meanwhile is written together."""
_CROWDED: Final = 0.1
"""Seconds after which it is looked for room again."""
_WORTH_CUTTING: Final = 1 << 20
"""Bytes from which on a segment says how many lines streams have brought, so that tasks can share them."""
_ITEMS: Final = 20_000
"""Values of Python that are written together."""
_ALERT: Final = 0.25
"""Seconds within which the receiver notices that it is to stop."""
_GRACE: Final = 0.05
"""Seconds that the receiver waits, once it is to stop, for a block that has come already."""
_LAST: Final = 10.0
"""Seconds that what was received may take to be written down at the end."""


Highest = Mapping[int, tuple[int, int]]
"""Of groups, the number of a segment, and a tick."""


class Receiver(Protocol):
    """Fills a log in a thread of its own, until there is nothing more, or it is to stop."""

    error: BaseException | None
    """What went wrong."""

    reached: int
    """The last tick to which the machine's clock has come, where time goes by it."""

    need_folder: Callable[[], None]
    """Raises an error if another run has taken the folder of the log."""

    def start(self) -> None:
        """Begins to receive."""

    def hear(self, highest: Highest) -> None:
        """Learns what a batch has read of groups: from which segment on, and their greatest ticks there."""

    def stop(self) -> None:
        """Ends without saying that the streams have ended: they may be read on. What has come is written down."""

    def finish(self) -> None:
        """Ends as if the streams had been cut off behind what has come, even while the next block is waited for."""


@dataclass(slots=True)
class _Written:
    """What is to become a segment."""

    blocks: list[bytes] = field(default_factory=list)
    arrivals: list[tuple[int, int, int]] = field(default_factory=list)
    begun: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    beats: list[int] = field(default_factory=list)
    size: int = 0

    def lines(self) -> Iterator[tuple[int, int]]:
        """The groups whose lines stand for themselves, as far as can be seen, and how many they have."""
        blocks: dict[int, list[bytes]] = {}
        for (group, _, _), block in zip(self.arrivals, self.blocks, strict=True):
            blocks.setdefault(group, []).append(block)
        for group, brought in blocks.items():
            if (lines := lines_in(brought)) is not None:
                yield group, lines

    def cut_off(self, group: int) -> tuple[int, bytes] | None:
        """Takes back what a group has brought behind its last line break, with the time of its arrival."""
        places = [place for place, (by, _, _) in enumerate(self.arrivals) if by == group]
        if not places:
            return None
        block, (_, moment, size) = self.blocks[places[-1]], self.arrivals[places[-1]]
        end = block.rfind(b"\n") + 1
        if end in (0, size):
            return None
        self.blocks[places[-1]], self.arrivals[places[-1]] = block[:end], (group, moment, end)
        self.size -= size - end
        return moment, block[end:]

    def add(self, group: int, moment: int, block: bytes) -> None:
        self.blocks.append(block)
        self.arrivals.append((group, moment, len(block)))
        self.size += len(block)


class _LogWriter(threading.Thread, ABC):
    """Writes segments, as many as there is room for."""

    _patience = _LAST

    def __init__(self, log: ArrivalLog) -> None:
        super().__init__(name="receiver", daemon=True)
        self.error: BaseException | None = None
        self.reached = -1
        self.need_folder: Callable[[], None] = lambda: None
        self._log = log
        self._stopped = threading.Event()
        self._writing = threading.Lock()
        self._is_cut = self._is_closed = False
        numbers = log.numbers()
        self._last = log.head(numbers[-1]) if numbers else None
        self._counts: dict[int, int] = dict(self._last.counts) if self._last is not None else {}
        self._positions: dict[int, Any] = dict(self._last.positions) if self._last is not None else {}
        self._over = set(self._last.ended) if self._last is not None else set[int]()
        self._next = _Written()
        self._sizes: dict[int, int] = dict.fromkeys(numbers, 0)

    def run(self) -> None:
        try:
            try:
                self._receive()
            finally:
                if self._stopped.is_set():
                    self._close()
        except BaseException as error:
            self.error = error

    @abstractmethod
    def _receive(self) -> None:
        """Receives until there is nothing more, or it is to stop."""

    def hear(self, highest: Highest) -> None:
        """Nothing depends on it."""

    def stop(self) -> None:
        self._end()

    def finish(self) -> None:
        self._end(is_cut=True)

    def _end(self, is_cut: bool = False) -> None:
        """Has what came written down, whether there is room or not: here, where the thread waits for a value."""
        with self._writing:
            if self._stopped.is_set() or not self.is_alive():
                self._stopped.set()
                return
            self._is_cut = is_cut
            self._stopped.set()
        self.join(self._patience)
        if self.is_alive():
            try:
                self._close()
            except FailedError as error:
                self.error = error

    def _close(self) -> None:
        """Writes the last segment."""
        with self._writing:
            if not self._is_closed:
                self._is_closed = True
                self._add_last()

    def _add_last(self) -> None:
        if self._is_cut or self._next.arrivals or self._next.ended:
            self._add(is_cut=self._is_cut)

    def _write(self, resting: Sequence[int] = ()) -> bool:
        """Writes what came, when there is room; whether it was written."""
        while not self._has_room() and not self._stopped.wait(_CROWDED):
            self._is_crowded()
        with self._writing:
            if self._stopped.is_set():
                return False
            self._add(resting)
            return True

    def _has_room(self) -> bool:
        if not self._is_free:
            # Batches may have taken some since.
            self._sizes = {number: self._sizes.get(number, 0) for number in self._log.numbers()}
        # The last segment stays, however large it is.
        return self._is_free or len(self._sizes) == 1

    @property
    def _is_free(self) -> bool:
        return len(self._sizes) < MOST_SEGMENTS and sum(self._sizes.values()) < MOST_WAITING

    def _is_crowded(self) -> None:
        """There is no room: nothing is received meanwhile."""

    def _add(self, resting: Sequence[int] = (), is_cut: bool = False) -> None:
        written, self._next = self._next, _Written()
        self._over.update(written.ended)
        segment = Segment(
            tuple(written.arrivals),
            tuple(written.begun),
            tuple(sorted(self._over)),
            tuple(resting),
            tuple(written.beats[:: max(1, len(written.beats) - 1)]),
            is_cut,
            tuple(self._counts.items()),
            tuple(self._positions.items()),
            tuple(written.lines()) if written.size >= _WORTH_CUTTING else (),
        )
        self.need_folder()
        try:
            self._sizes[self._log.add(segment, written.blocks)] = written.size
        except OSError as error:
            # Nothing may follow what is missing.
            self._is_closed = True
            self._stopped.set()
            message = f"what streams bring cannot be written down: {error.strerror}"
            raise FailedError(Diagnostic("E401", message, help="name a `--checkpoint` folder with room")) from error


class BlockReceiver(_LogWriter):
    """Receives transports, each a group with a number of its own."""

    def __init__(
        self,
        log: ArrivalLog,
        transports: Mapping[int, Transport],
        passing: PassingTime,
        keeps: Callable[[Transport], Keeping | None],
        report: Callable[[Diagnostic], None],
    ) -> None:
        """`keeps` gives a transport whose broker keeps messages for which the machine's clock waits.

        `report` gets what transports warn of.
        """
        super().__init__(log)
        self._report = report
        self._groups = [group for group in transports if group not in self._over]
        self._transports = [transports[group] for group in self._groups]
        self._passing = passing
        self._keeping = [keeps(transport) for transport in self._transports]
        self._gaps = [0] * len(self._groups)
        self._flowing = {*range(len(self._groups))}
        self._behind = [position_of(transport) for transport in self._transports]
        self._highest: Highest = {}
        # The segment from which on what a broker has kept may come.
        self._kept_from = [0] * len(self._groups)
        self._resting: tuple[int, ...] = () if self._last is None else self._last.resting
        for number, group in enumerate(self._groups):
            self._seek(number, group)

    def _seek(self, number: int, group: int) -> None:
        transport = self._transports[number]
        position = self._positions.get(group)
        if isinstance(transport, Acknowledging):
            transport.hold()
        if isinstance(transport, Positioned) and position is not None:
            transport.seek(position)
            self._behind[number] = transport.position()
        elif transport.live and self._counts.get(group):
            self._next.begun.append(group)

    def hear(self, highest: Highest) -> None:
        self._highest = highest

    def _receive(self) -> None:
        try:
            self._follow()
        except BaseException:
            # Its senders will not send it again.
            if self._next.arrivals or self._next.ended:
                self._note_positions()
                self._write(self._still_resting)
            raise

    def _follow(self) -> None:
        passing, skipped = self._passing, [self._skips(number) for number in range(len(self._groups))]
        passing.listen(len(self._transports))
        self._see_gaps()
        # Those that wait, one in the hands of each transport, and one in ours.
        is_drained, left = False, QUEUED + len(self._transports) + 1
        for arrival in arrivals(self._transports, Interrupt(), self._pause):
            if self._stopped.is_set():
                # What was received before is taken, and no more of streams that go on.
                if not left or (arrival is None and is_drained):
                    return
                is_drained, left = arrival is None, left - (arrival is not None)
            self._see_gaps()
            self._report_notices()
            if arrival is None:
                self._beat()
                if self._has_news:
                    self._settle(self._now_resting)
                    # What comes meanwhile is written together.
                    self._stopped.wait(PAUSE)
                continue
            number, block, position = arrival
            passing.hear(number)
            if skipped[number] and block:
                skipped[number] -= 1
            else:
                self._take(number, block, position)
            if self._next.size >= SEGMENT:
                resting, begun = self._still_resting, self._cut_off()
                try:
                    self._settle(resting)
                finally:
                    for group, (moment, block) in begun.items():
                        self._next.add(group, moment, block)
        if not self._stopped.is_set():
            self._settle(self._now_resting)

    def _cut_off(self) -> dict[int, tuple[int, bytes]]:
        """The lines that have begun, which are written with what follows: tasks can share whole lines.

        Not those of a transport that would be read on behind them.
        """
        return {
            group: begun
            for group, transport in zip(self._groups, self._transports, strict=True)
            if transport.live and not isinstance(transport, Positioned)
            if (begun := self._next.cut_off(group)) is not None
        }

    def _skips(self, number: int) -> int:
        """How many blocks of a recording were written before, which comes from its beginning again."""
        transport = self._transports[number]
        is_anew = not transport.live and not isinstance(transport, Positioned)
        return self._counts.get(self._groups[number], 0) if is_anew else 0

    def _take(self, number: int, block: bytes, position: Any) -> None:
        group = self._groups[number]
        # Another thread may cut the run off here.
        with self._writing:
            self._behind[number] = position
            if block:
                self._next.add(group, round(self._passing.now() * 1_000), block)
                self._counts[group] = self._counts.get(group, 0) + 1
            elif not self._stopped.is_set():
                # What ends while a run is being stopped may end because of that, as the sender of a pipe does.
                self._next.ended.append(group)
        if not block:
            self._flowing.discard(number)
            self._passing.forget(number)

    def _is_crowded(self) -> None:
        # That nothing is received is not the silence of streams.
        for number in self._flowing:
            self._passing.hear(number)

    def _settle(self, resting: tuple[int, ...]) -> None:
        """Writes what came, and then tells brokers."""
        self._resting = resting
        self._note_positions()
        if self._write(resting):
            self._acknowledge()

    def _add_last(self) -> None:
        self._note_positions()
        super()._add_last()
        self._acknowledge()

    def _acknowledge(self) -> None:
        for transport, position in zip(self._transports, self._behind, strict=True):
            if isinstance(transport, Acknowledging):
                transport.acknowledge(position)

    def _note_positions(self) -> None:
        for number, group in enumerate(self._groups):
            transport, position = self._transports[number], self._behind[number]
            if isinstance(transport, Acknowledging) and position is not None:
                self._positions[group] = transport.saved(position)
            elif isinstance(transport, Positioned) and position is not None:
                self._positions[group] = position

    @property
    def _has_news(self) -> bool:
        written = self._next
        return bool(written.arrivals or written.ended or written.beats) or self._now_resting != self._resting

    # Time that passes -------------------------------------------------------------------------------------------------

    @property
    def _now_resting(self) -> tuple[int, ...]:
        """The groups that hold no others back: those that are silent, or drained while others are not."""
        draining = self._passing.draining
        drained = self._flowing - draining if draining else frozenset[int]()
        numbers = (number for number in self._passing.silent | drained if self._transports[number].live)
        return tuple(sorted(self._groups[number] for number in numbers))

    @property
    def _still_resting(self) -> tuple[int, ...]:
        """The groups that have rested, and bring nothing now: more may have come of one that seems to be silent."""
        brought = {group for group, _, _ in self._next.arrivals}
        return tuple(group for group in self._resting if group not in brought)

    def _pause(self) -> float:
        if self._stopped.is_set():
            return _GRACE
        pause = self._passing.pause() if self._passing.matters else None
        return _ALERT if pause is None else min(pause, _ALERT)

    def _beat(self) -> None:
        """Notes the time where the machine's clock has come to another tick."""
        passing = self._passing
        if passing.by_wall and not passing.draining and passing.tick > self.reached:
            self.reached = passing.tick
            self._next.beats.append(round(passing.now() * 1_000))

    def _report_notices(self) -> None:
        for transport in self._transports:
            if isinstance(transport, Noticing):
                for warning in transport.notices():
                    self._report(warning)

    def _see_gaps(self) -> None:
        """Sees for which streams a broker may have kept something, and which of them have brought it."""
        for number in self._flowing:
            keeping = self._keeping[number]
            if keeping is None:
                continue
            if keeping.gaps > self._gaps[number]:
                self._gaps[number] = keeping.gaps
                self._kept_from[number] = self._log.end
                self._passing.drain(number)
            if number in self._passing.draining:
                segment, tick = self._highest.get(self._groups[number], (-1, -1))
                if segment >= self._kept_from[number]:
                    self._passing.meet(number, tick)
                match keeping.backlog(self._behind[number]):
                    case True:
                        self._passing.hear(number)
                    case False:
                        self._passing.drained(number)


class ItemReceiver(_LogWriter):
    """Writes down items that are decoded in this process: values of Python, and recordings at their own pace."""

    # The next value may never come.
    _patience = 1.0

    def __init__(self, log: ArrivalLog, words: Dictionary, items: Items) -> None:
        super().__init__(log)
        self._words = words
        self._items = items
        self._waiting: list[Coded] = []

    def _receive(self) -> None:
        if 0 in self._over:
            return
        skipped = self._counts.get(0, 0) if self._items.repeats else 0
        try:
            for item in self._items:
                if item is not None and skipped:
                    skipped -= 1
                elif item is not None:
                    self._waiting.append(item)
                if self._stopped.is_set():
                    return
                if self._waiting and (item is None or len(self._waiting) >= _ITEMS):
                    self._take()
        except BaseException:
            # What came before it is not lost with it.
            if self._waiting:
                self._take()
            raise
        self._next.ended.append(0)
        self._take()

    def _take(self) -> None:
        self._encode()
        self._write()
        if self._words.wants_collection:
            self._words.collect(words_of(self._items.waiting()))

    def _add_last(self) -> None:
        self._encode()
        super()._add_last()

    def _encode(self) -> None:
        """Makes a block of what waits, for the next segment."""
        items, self._waiting = self._waiting, []
        if items:
            self._next.add(0, round(time.time() * 1_000), save_items(items, self._words))
            self._counts[0] = self._counts.get(0, 0) + len(items)


Coded = tuple[int, Batch] | Far | Diagnostic


def words_of(batches: Iterable[Batch]) -> Any:
    """All words of some batches."""
    import numpy as np

    rows = (np.asarray(words, dtype=np.int64).reshape(-1) for batch in batches for words in batch.rows.values())
    return np.concatenate([np.zeros(0, dtype=np.int64), *rows])


def save_items(items: "Sequence[Coded]", words: Dictionary) -> bytes:
    """Items as bytes: their batches, and which of them are far or malformed."""
    events = [(item.tick, item.batch) if isinstance(item, Far) else item for item in items]
    far = [number for number, item in enumerate(items) if isinstance(item, Far)]
    wrong = [(number, warning_text(item)) for number, item in enumerate(items) if isinstance(item, Diagnostic)]
    batches = [event for event in events if isinstance(event, tuple)]
    return frame([json.dumps({"far": far, "wrong": wrong}).encode(), save_batches(batches, words)])


def load_items(data: bytes, words: Dictionary) -> "Iterator[Coded]":
    """The items that were saved, in the words of another dictionary.

    >>> there, here = Dictionary(), Dictionary()
    >>> items = [(3, Batch(stream="in")), Far(9, Batch()), Diagnostic("E301", "this is no fact"), (4, Batch())]
    >>> [type(item).__name__ for item in load_items(save_items(items, there), here)]
    ['tuple', 'Far', 'Diagnostic', 'tuple']
    """
    about, batches = unframe(data)
    header = json.loads(about)
    far, wrong = {*header["far"]}, dict(header["wrong"])
    number = 0
    for event in [*load_batches(batches, words), None]:
        while number in wrong:
            yield warning_of(wrong[number])
            number += 1
        if event is not None:
            yield Far(*event) if number in far else event
            number += 1
