"""A plan in this process: events come in, answers come out.

    items   pairs (tick, batch), those that are far, and diagnostics, in the order of arrival; None where the next item
            must be waited for
    blocks  what is made of what operators give; None where everything that can be said has been said

Everything moves in whole batches. At a None the timeline is brought up to the watermark, so that a live stream is
answered before the wait and not after it; where nothing waits, time passes once for each tick with input.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Protocol

import numpy as np

from thalweg.answers.emit import Shedding
from thalweg.answers.record import Answer
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.lines import SKIP
from thalweg.dataflow.context import Settings
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.engine.engine import Engine
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.saved_batches import load_batches, save_batches
from thalweg.model.time import AS_TICKS, TimeFormat
from thalweg.runtimes.late_facts import Late
from thalweg.runtimes.live_warnings import LiveWarnings
from thalweg.runtimes.plausible_times import Far, FarFacts, PlausibleTimes, limits_of
from thalweg.runtimes.reorder import Reorder
from thalweg.runtimes.unzoned_times import UnzonedTimes
from thalweg.runtimes.wall_clock import PassingTime
from thalweg.runtimes.watermark import Watermark

Item = tuple[int, Batch] | Far | Diagnostic | None


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
        """How many groups of streams there are (see `watermark`)."""

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
    """The error at which a run stops; what came from a live stream cannot be corrected, so it says how to go on."""
    if items.repeats or malformed.code != "E301":
        return malformed
    return replace(malformed, notes=(*malformed.notes, f"{SKIP} leaves such messages out and goes on"))


class Run(Protocol):
    """A plan at work, which is taken through time, makes answers of what its operators give, and can be asked why."""

    @property
    def first(self) -> int | None: ...
    @property
    def now(self) -> int | None: ...
    @property
    def dictionary(self) -> Dictionary: ...
    @property
    def shed(self) -> tuple[str, ...]: ...
    @property
    def unsure(self) -> tuple[str, ...]: ...
    def advance(self, to: int, facts: list[Batch], /) -> Iterable[Any]: ...
    def step(self, deltas: Iterable[Any], first: int, last: int, shed: tuple[str, ...], /) -> Iterator[Answer]: ...
    def finish(self) -> Iterator[Answer]: ...
    def collect(self, waiting: Iterable[Batch], /) -> None: ...

    @property
    def explains_facts(self) -> bool:
        """Whether it can be asked why a fact holds."""

    @property
    def engine(self) -> "Engine | None":
        """The engine of rules that stand alone."""

    def snapshot(self) -> bytes:
        """All that it must know to go on."""

    def resume(self, data: bytes, /) -> None:
        """Brings one that has not begun to where a snapshot was taken."""


class Presents(Protocol):
    """Gives answers their final form."""

    def present(self, block: Answer, /) -> Answer: ...


@dataclass(frozen=True, slots=True)
class Observing:
    """What is called while a run goes on.

    `look` sees every batch that comes in, and `observe` sees it with its tick; `late` takes lines about late facts;
    `summary` says at the end what deserves a warning, also in a run that was resumed and has not seen all that came;
    `warnings` are given while a live run goes on.
    """

    report: Callable[[Diagnostic], None] = lambda diagnostic: None
    look: Callable[[Batch], object] | None = None
    observe: Callable[[int, Batch], object] | None = None
    late: Callable[[str], None] | None = None
    summary: Callable[[bool], Iterable[Diagnostic]] = lambda resumed: ()
    warnings: LiveWarnings | None = None


class Checkpoint(Protocol):
    """Where the state of a run is kept, so that it can be resumed."""

    @property
    def is_due(self) -> bool:
        """Whether it is time to save the state again."""

    def pause(self) -> float:
        """The seconds until then."""

    def save(self, state: Callable[[], bytes], /) -> None:
        """Keeps the state; what was answered before stays."""

    def finish(self, malformed: Diagnostic | None, /) -> None:
        """The run is over, at a malformed line or at the end."""


class Embedded:
    """A program at work: `watch` gives answers their final form, and a `checkpoint` keeps the state of the run."""

    def __init__(
        self,
        run: Run,
        settings: Settings,
        watch: Presents,
        observing: Observing = Observing(),
        *,
        interrupt: Interrupt | None = None,
        checkpoint: Checkpoint | None = None,
        times: TimeFormat = AS_TICKS,
    ) -> None:
        self.run = run
        self.settings = settings
        self.late = Late(observing.late, times)
        self._times = times
        self._far = FarFacts()
        self._pushed: dict[str | None, PlausibleTimes] = {}
        self._latest: int | None = None
        self._unzoned = UnzonedTimes(settings.calendar.clock, observing.report)
        self._report = observing.report
        self._interrupt = interrupt or Interrupt()
        self._watermark = Watermark(settings.delay, settings.first, settings.last)
        self._buffer = Reorder()
        self._present = watch.present
        self._look = observing.look
        self._observe = observing.observe
        self._summary = observing.summary
        self._warnings = observing.warnings
        self._shedding = Shedding(observing.report)
        self._checkpoint = checkpoint
        self._resumed = False
        self._late_before = 0
        self._unsaved = False

    def answers(self, items: Items) -> Iterator[Answer | None]:
        """Runs to the end of the input, and on to the last tick that was asked for."""
        return (piece and self._present(piece) for piece in self._answers(items))

    def _answers(self, items: Items) -> Iterator[Answer | None]:
        malformed = None
        if self._warnings is not None:
            self._warnings.watch(lambda: chain(self.late.counts(), self._far.counts()))
        self._watermark.widen(items.groups)
        if self._checkpoint is not None and not self._resumed:
            # A run that ends at any time after this finds what it has written.
            self._save(self._checkpoint, items)
        for item in items:
            self._unzoned.see()
            self._unsaved = True
            if item is None:
                self._follow(items)
                yield from self._decided()
                yield from self._catch_up()
                yield None
                if self._warnings is not None:
                    self._warnings.look()
            elif isinstance(item, Diagnostic):
                if self.settings.on_error == "stop":
                    malformed = stopped_at(item, items)
                    break
                self._report(item)
            else:
                if isinstance(item, Far):
                    self._pass_over(item)
                else:
                    self._take(*item, items.group)
                yield from self._decided()
                if self.run.dictionary.wants_collection:
                    self.run.collect([*self._buffer.waiting(), *items.waiting()])
                if self._watermark.is_complete or (self._interrupt.asked and self._may_stop(items)):
                    break
            if self._checkpoint is not None and self._unsaved and self._checkpoint.is_due:
                self._save(self._checkpoint, items)
        if self._checkpoint is not None and self._goes_on_later(malformed):
            self._save(self._checkpoint, items)
            self.end()
            return
        yield from self._end(cut_short=malformed is not None or self._interrupt.asked)
        if self._checkpoint is not None:
            self._checkpoint.finish(malformed)
            items.acknowledge()
        if malformed is not None:
            raise RejectedError([malformed])
        for warning in self._summary(self._resumed):
            self._report(warning)

    def _take(self, tick: int, batch: Batch, group: int | None) -> None:
        if self._look is not None:
            self._look(batch)
        if self._observe is not None:
            self._observe(tick, batch)
        watermark = self._watermark.meet_in(group, tick)
        first, last = self._watermark.bounds
        if first <= tick <= last:
            if tick < watermark:
                facts = [str(fact) for fact in batch.facts(self.run.dictionary)]
                self.late.add(tick, watermark, batch.stream, facts)
            else:
                self._buffer.add(tick, batch)

    @property
    def late_facts(self) -> int:
        """How many facts went to the late channel, or would have: those that are far from all others, too.

        Not counting those before the run was resumed.
        """
        return self.late.count + self._far.count - self._late_before

    def _pass_over(self, far: Far) -> None:
        """Counts what is far, and hands it to the late channel."""
        tick, batch = far.tick, far.batch
        if self._look is not None:
            self._look(batch)
        facts = [str(fact) for fact in batch.facts(self.run.dictionary)]
        self._far.add(tick, facts, self._times)
        self.late.pass_on(tick, max(self._watermark.reached + 1, 0), batch.stream, facts)

    # Pushed facts ---------------------------------------------------------------------------------------------------

    def put(self, tick: int, batch: Batch) -> None:
        """Takes a batch that waits until its tick is closed; it is late if that has happened."""
        self._unzoned.see()
        for item in self._times_of(batch.stream).take((tick, batch)):
            self._put(item)

    def _times_of(self, stream: str | None) -> PlausibleTimes:
        """What looks at the times of what is pushed into a stream."""
        if stream not in self._pushed:
            passing = PassingTime(self.settings.calendar.clock)
            self._pushed[stream] = PlausibleTimes(limits_of(self.settings), lambda: passing.tick)
        return self._pushed[stream]

    def put_all(self) -> None:
        """Decides what was put and waits because its time is doubtful: nothing more is waited for."""
        for times in self._pushed.values():
            for item in times.release():
                self._put(item)

    @property
    def latest(self) -> int | None:
        """The latest tick that was put, without those that are far."""
        return self._latest

    @property
    def holds_pushed(self) -> bool:
        """Whether something that was put waits to be decided."""
        return any(times.is_holding for times in self._pushed.values())

    def _put(self, item: tuple[int, Batch] | Far | Diagnostic) -> None:
        if isinstance(item, Far):
            self._pass_over(item)
            return
        assert isinstance(item, tuple)
        tick, batch = item
        self._latest = tick if self._latest is None else max(tick, self._latest)
        if self._look is not None:
            self._look(batch)
        first, last = self._watermark.bounds
        watermark = self._watermark.of()
        if first <= tick <= last and tick < watermark:
            self.late.add(tick, watermark, batch.stream, [str(fact) for fact in batch.facts(self.run.dictionary)])
        elif first <= tick <= last:
            self._watermark.see(0, np.array([tick]))
            self._buffer.add(tick, batch)

    def close_up_to(self, tick: int) -> Iterator[Answer]:
        """Answers every tick up to one, with what was put."""
        self._watermark.close_up_to(tick)
        for decided, batches in self._buffer.up_to(self._watermark.reached):
            yield from map(self._present, self._advance(decided, batches))
        yield from map(self._present, self._catch_up())
        if self.run.dictionary.wants_collection:
            self.run.collect([*self._buffer.waiting(), *(batch for _, batch in self._undecided())])

    def _undecided(self) -> Iterator[tuple[int, Batch]]:
        return (event for times in self._pushed.values() for event in times.waiting())

    def end(self) -> None:
        """Reports what was late or shed, and what deserves a warning now that nothing more is put."""
        self._summarise()
        for warning in self._summary(self._resumed):
            self._report(warning)

    def _follow(self, items: Items) -> None:
        """Sees which groups of streams are silent, and which have ended; the last one ends with the input."""
        self._watermark.rest(items.resting)
        if len(items.ended) < items.groups:
            for group in items.ended:
                self._watermark.end(group)
        self._watermark.settle()

    def _decided(self) -> Iterator[Answer]:
        """Answers the ticks that have input and are decided."""
        for tick, batches in self._buffer.up_to(self._watermark.reached):
            yield from self._advance(tick, batches)

    def _advance(self, tick: int, batches: list[Batch]) -> Iterator[Answer]:
        now = self.run.now
        deltas = self.run.advance(tick, batches)
        start = self.run.first if now is None else now + 1
        assert start is not None
        yield from self.run.step(deltas, start, tick, self.run.shed)
        self._shedding.see(tick, self.run.shed, self.run.unsure)

    def _catch_up(self) -> Iterator[Answer]:
        """Answers the decided ticks after the last input."""
        decided, now = self._watermark.decided, self.run.now
        if decided is not None and (now is None or now < decided):
            yield from self._advance(decided, [])

    def _end(self, cut_short: bool) -> Iterator[Answer]:
        """Answers what is left, and reports what happened on the way."""
        for group in range(self._watermark.groups):
            self._watermark.end(group, cut_short)
        self._watermark.settle()
        yield from self._decided()
        yield from self._catch_up()
        yield from self.run.finish()
        self._summarise()

    def _summarise(self) -> None:
        for summary in (self.late.summary(), self._far.summary(), self._shedding.summary()):
            if summary is not None:
                self._report(summary)

    # Saving ---------------------------------------------------------------------------------------------------------

    def _may_stop(self, items: Items) -> bool:
        """Whether a run that is interrupted can stop here: one that is resumed must be able to say where it was."""
        return not items.holds if self._checkpoint is None else items.position() is not None

    def _goes_on_later(self, malformed: Diagnostic | None) -> bool:
        """Whether a run that can be resumed was interrupted: then its streams have not ended, and nothing is closed."""
        return self._interrupt.asked and malformed is None and not self._watermark.is_complete

    def _save(self, checkpoint: Checkpoint, items: Items) -> None:
        """Takes a checkpoint, unless the input cannot be read on from just here."""
        position = items.position()
        if position is not None:
            with self._interrupt.saving():
                checkpoint.save(lambda: self.save(position))
            items.acknowledge()
            self._unsaved = False

    def pause(self) -> float | None:
        """The seconds until a checkpoint or a warning is due although nothing arrives; None where neither will be."""
        checkpoint = None if self._checkpoint is None or not self._unsaved else self._checkpoint.pause()
        warning = None if self._warnings is None else self._warnings.pause()
        return min((seconds for seconds in (checkpoint, warning) if seconds is not None), default=None)

    def save(self, position: dict[str, Any]) -> bytes:
        """The state of the run between two items; `position` is where the input goes on."""
        header = {
            "position": position,
            "watermark": self._watermark.save(),
            "late": self.late.save(),
            "far": self._far.save(),
            "shedding": self._shedding.save(),
            "stamped": self.settings.calendar.clock.notation.stamped,
            "latest": self._latest,
            "pushed": [[stream, times.last] for stream, times in self._pushed.items()],
        }
        state = b"" if self.run.now is None else self.run.snapshot()
        words = self.run.dictionary
        return frame([encode(header, {}), state, self._buffer.save(words), save_batches(self._undecided(), words)])

    def load(self, saved: bytes) -> dict[str, Any]:
        """Brings a run that has not begun to a saved state; the position from which the input goes on."""
        about, _, waiting, undecided = unframe(saved)
        header, _ = decode(about)
        self._resumed = True
        self._watermark.load(header["watermark"])
        self.late.load(header["late"])
        self._far.load(header["far"])
        self._late_before = self.late.count + self._far.count
        self._shedding.load(header["shedding"])
        self.load_run(saved)
        self._buffer.load(waiting, self.run.dictionary)
        self._latest = header["latest"]
        for stream, last in header["pushed"]:
            self._times_of(stream).last = last
        for tick, batch in load_batches(undecided, self.run.dictionary):
            self._times_of(batch.stream).hold((tick, batch))
        position: dict[str, Any] = header["position"]
        return position

    def load_run(self, saved: bytes) -> None:
        """Brings the operators, and nothing else, to a saved state."""
        about, state, _, _ = unframe(saved)
        # What is answered before more is read is written as before.
        self.settings.calendar.clock.notation.stamped |= decode(about)[0]["stamped"]
        if state:
            self.run.resume(state)
