"""A plan in this process: events come in, answers come out.

    items   pairs (tick, batch), those that are far, and diagnostics, in the order of arrival; None where the next item
            must be waited for
    blocks  what is made of what operators give; None where everything that can be said has been said

Everything moves in whole batches. At a None the timeline is brought up to the watermark, so that a live stream is
answered before the wait and not after it; where nothing waits, time passes once for each tick with input. Of one tick,
answers of all operators come before the changes of rules, which are joined to one.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from itertools import chain, islice
from operator import attrgetter
from typing import Any, Protocol

from thalweg.answers.emit import Lasting, RowEmitter, Shedding, TextDelta, emitter_of
from thalweg.answers.record import Answer
from thalweg.connectors.mapping.tally import Tally
from thalweg.dataflow.context import Context
from thalweg.dataflow.executor import Executor, open_fragment, saved_tick
from thalweg.dataflow.operator import Output, TakesDefinitions
from thalweg.dataflow.plan import Plan
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.engine import Delta
from thalweg.kinds.part import Part
from thalweg.model.arrow import Lists, decode, encode, frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.model.time import AS_TICKS, TimeFormat
from thalweg.runtimes.derivations import Derivations
from thalweg.runtimes.intake import Intake, Items, stopped_at
from thalweg.runtimes.live_warnings import LiveWarnings
from thalweg.runtimes.observer import Observer


@dataclass(frozen=True, slots=True)
class Joined:
    """What all rules began and ended at one tick, as one change."""

    tick: int
    changes: tuple[Delta | TextDelta, ...]

    @property
    def begin_text(self) -> list[str]:
        return [fact for change in self.changes for fact in change.begin_text]

    @property
    def end_text(self) -> list[str]:
        return [fact for change in self.changes for fact in change.end_text]

    @property
    def unknown_text(self) -> list[str]:
        return []

    @property
    def until(self) -> dict[str, int]:
        return {fact: until for change in self.changes for fact, until in change.until.items()}

    @property
    def shed(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Succession:
    """A plan in place of another one, where a run goes on with a changed program.

    `earlier` is the plan so far, `begins` the first ticks of its operators that began later than the run. `origins` has
    the operators that go on, by their numbers in the new plan and in the earlier one. Of what rules show, predicates
    that `stay` go on; others end, and those that `appear` were not shown before.
    """

    earlier: Plan
    begins: Mapping[int, int]
    origins: Mapping[int, int]
    stay: frozenset[Predicate] = frozenset()
    appear: frozenset[Predicate] = frozenset()


@dataclass(frozen=True, slots=True)
class MovedStreams:
    """Where the live and the recorded streams of a run were among those it had before; None for one that is new."""

    live: tuple[int | None, ...]
    recorded: tuple[int | None, ...]
    had_recorded: bool

    def position(self, saved: dict[str, Any]) -> dict[str, Any]:
        """The position from which the streams go on; new ones from their beginning."""
        places = {"live": self.live, "recorded": self.recorded}
        return {
            kind: [None if place is None else saved[kind][place] for place in numbers]
            for kind, numbers in places.items()
        }

    def groups(self, count: int) -> list[int | None]:
        """The number that each group of streams had among `count`; recorded streams are one, behind the live ones."""
        recorded = count - 1 if self.had_recorded else None
        return [*self.live, *([recorded] if self.recorded else [])] or [None]

    @property
    def has_more_recorded(self) -> bool:
        """Whether there are recorded streams that are new."""
        return None in self.recorded


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


class LocalRun:
    """The operators of a part at work, which are taken through time; what they give becomes answers.

    The `observer` sees what comes; `mapped` knows what mappings made of it. A `checkpoint` keeps the state of the run;
    `warnings` are given while a live run goes on.
    """

    def __init__(
        self,
        part: Part,
        context: Context,
        observer: Observer = Observer(),
        *,
        checkpoint: Checkpoint | None = None,
        warnings: LiveWarnings | None = None,
        mapped: Tally | None = None,
        times: TimeFormat = AS_TICKS,
        plan: Plan | None = None,
        begins: Mapping[int, int] = {},
        emitter: RowEmitter[Any] | None = None,
    ) -> None:
        """Opens the operators; `RejectedError` where the settings have no meaning for the part.

        The `plan` is the part's own, unless some operators began later than the run: `begins` has their first ticks.
        Without an `emitter` answers are what the settings name.
        """
        self.context = context
        self._settings = settings = context.settings
        lasting = Lasting(part.guaranteed()) if settings.with_until else None
        self._emitter = emitter_of(settings.emit, lasting) if emitter is None else emitter
        self.dictionary = words = Dictionary()
        self._open_plan(part.plan(context, None) if plan is None else plan, begins)
        self._watch = watch = part.watch(context, None)
        self._report = report = context.report
        look = [look for look in (watch.look(words), observer.look) if look is not None]
        self.intake = Intake(
            settings, words, report, look=look, observe=observer.observe, write=observer.late, times=times
        )
        self._interrupt = context.interrupt
        self._mapped = mapped
        self._warnings = warnings
        self._shedding = Shedding(report)
        self._checkpoint = checkpoint
        self._resumed = False
        self._unsaved = False
        self._shown: int | None = None
        self._open: list[Delta | TextDelta] = []
        """Changes at the last tick, while there may be more."""

    def _open_plan(self, plan: Plan, begins: Mapping[int, int]) -> None:
        self.executor = open_fragment(plan, plan.numbers, self.context, self.dictionary, begins=begins)
        self.executor.first = self._settings.first
        self.derivations = Derivations(plan, self.executor)
        self._only_rules = self.derivations.only_rules
        self._operators = [node.operator for node in self.executor.nodes]

    def reopen(self, plan: Plan, begins: Mapping[int, int]) -> None:
        """Opens the operators of another plan in place of its own; nothing has been evaluated yet."""
        self.executor.close()
        self._open_plan(plan, begins)

    @property
    def now(self) -> int | None:
        """The last tick that was evaluated; None before the first."""
        return self.executor.now

    # Definitions that come and go -----------------------------------------------------------------------------------

    @property
    def definitions(self) -> TakesDefinitions | None:
        """The operator to which definitions can be added while the run goes on; None where there is none."""
        return next((operator for operator in self._operators if isinstance(operator, TakesDefinitions)), None)

    def add_definition(self, definition: Any) -> int | None:
        """Adds a definition between two ticks; its first tick, which is the next one, or None before the first.

        All others go on as if nothing had happened.
        """
        assert self.definitions is not None
        first = None if self.now is None else self.now + 1
        self.definitions.add_definition(definition, first)
        return first

    def remove_definition(self, name: str) -> None:
        """Takes a definition away that was added, and that no other uses."""
        assert self.definitions is not None
        self.definitions.remove_definition(name)

    # Items ----------------------------------------------------------------------------------------------------------

    def answers(self, items: Items) -> Iterator[Answer | None]:
        """Runs to the end of the input, and on to the last tick that was asked for."""
        present, blocks = self._watch.presenter(), self._answers(items)
        return blocks if present is None else (block and present(block) for block in blocks)

    def _answers(self, items: Items) -> Iterator[Answer | None]:
        malformed = None
        intake, watermark = self.intake, self.intake.watermark
        if self._warnings is not None:
            self._warnings.watch(intake.counts)
        watermark.widen(items.groups)
        if self._checkpoint is not None and not self._resumed:
            # A run that ends at any time after this finds what it has written.
            self._save(self._checkpoint, items)
        for item in items:
            intake.check_zone()
            self._unsaved = True
            if item is None:
                intake.follow(items)
                yield from self._decided()
                yield None
                if self._warnings is not None:
                    self._warnings.look()
            elif isinstance(item, Diagnostic):
                if self._settings.on_error == "stop" and item.severity == "error":
                    malformed = stopped_at(item, items)
                    break
                self._report(item)
            else:
                intake.take(item, items.group)
                for tick, batches in intake.decided():
                    yield from self.advance(tick, batches)
                if self.dictionary.wants_collection:
                    self.executor.collect([*intake.waiting(), *items.waiting()])
                if watermark.is_complete or (self._interrupt.asked and self._may_stop(items)):
                    break
            if self._checkpoint is not None and self._unsaved and self._checkpoint.is_due:
                self._save(self._checkpoint, items)
        if self._checkpoint is not None and self._goes_on_later(malformed):
            self._save(self._checkpoint, items)
            self.end()
            return
        intake.end(cut_short=malformed is not None or self._interrupt.asked)
        yield from self._decided()
        yield from self.finish()
        self._summarise()
        if self._checkpoint is not None:
            self._checkpoint.finish(malformed)
            items.acknowledge()
        if malformed is not None:
            raise RejectedError([malformed])
        self._warn()

    def _decided(self) -> Iterator[Answer]:
        """Answers every tick that is decided, also those after the last input."""
        for tick, batches in self.intake.decided():
            yield from self.advance(tick, batches)
        decided, now = self.intake.watermark.decided, self.executor.now
        if decided is not None and (now is None or now < decided):
            yield from self.advance(decided, [])

    def close_up_to(self, tick: int) -> Iterator[Answer]:
        """Answers every tick up to one, with what was put into the intake."""
        self.intake.watermark.close_up_to(tick)
        present, blocks = self._watch.presenter(), self._decided()
        yield from blocks if present is None else map(present, blocks)
        if self.dictionary.wants_collection:
            self.executor.collect(self.intake.waiting())

    def end(self) -> None:
        """Reports what was late or shed, and what deserves a warning now that nothing more comes."""
        self._summarise()
        self._warn()

    def _summarise(self) -> None:
        for summary in (*self.intake.summaries(), self._shedding.summary()):
            if summary is not None:
                self._report(summary)

    def _warn(self) -> None:
        # A run that was resumed has not seen all that came.
        own = () if self._resumed else chain(self._watch.summary(), self._notes())
        for warning in chain(own, () if self._mapped is None else self._mapped.summary(self._resumed)):
            self._report(warning)

    def _notes(self) -> Iterator[Diagnostic]:
        for operator in self._operators:
            yield from operator.notes(self.executor.now or 0, over=True).warnings

    def close(self) -> None:
        """Nothing more will be asked."""
        self.executor.close()

    # Output ---------------------------------------------------------------------------------------------------------

    def advance(self, tick: int, batches: Sequence[Batch]) -> Iterator[Answer]:
        """Evaluates every tick up to one; what is answered, in the order of time."""
        executor, now = self.executor, self.executor.now
        if self._only_rules:
            (operator,) = self._operators
            outputs = executor.advance_single(executor.nodes[0], tick, batches)
            deltas = [output.answer for output in outputs if output.answer is not None]
            shed = operator.shed
            first, self._shown = self._first(now) if self._shown is None else self._shown + 1, None
            deltas = self._with_open(deltas) if self._open else deltas
            yield from self._emitter.step(deltas, first, tick, shed)
            self._shedding.see(tick, shed, operator.unsure if shed else ())
            return
        joined = self._joined((output for _, output in executor.advance(tick, batches)), tick)
        self._shown = self._first(now) - 1 if self._shown is None else self._shown
        yield from self._emit(joined)
        if executor.is_decided:
            yield from self._emit_rules((), tick)

    def _first(self, now: int | None) -> int:
        """The first tick after one that was evaluated."""
        start = self.executor.first if now is None else now + 1
        assert start is not None
        return start

    def _with_open(self, deltas: list[Delta | TextDelta]) -> list[Delta | TextDelta]:
        """Changes behind those that were open, none of which is of a later tick than the first."""
        opened, self._open = self._open, []
        if not deltas or opened[-1].tick < deltas[0].tick:
            return [*opened, *deltas]
        last, first = opened.pop(), deltas[0]
        texts = [*last.begin_text, *first.begin_text], [*last.end_text, *first.end_text], first.unknown_text
        return [*opened, TextDelta(first.tick, *texts, first.shed, first.until), *deltas[1:]]

    def _joined(self, outputs: Iterable[Output], to: int) -> Iterator[Any]:
        """Answers, and behind those of a tick the changes of all rules as one."""
        opened, self._open = [Output(change.tick, change) for change in self._open], []
        changes: list[Delta | TextDelta] = []
        tick = None
        for output in merge(opened, outputs, key=attrgetter("tick")):
            if tick is not None and tick < output.tick and changes:
                yield Joined(tick, tuple(changes))
                changes = []
            tick = output.tick
            if isinstance(output.answer, Delta | TextDelta):
                changes.append(output.answer)
            elif output.answer is not None:
                yield output.answer
        if changes:
            assert tick is not None
            if tick == to and not self.executor.is_decided:
                self._open = changes
            else:
                yield Joined(tick, tuple(changes))

    def _emit(self, deltas: Iterable[Any]) -> Iterator[Answer]:
        for delta in deltas:
            if isinstance(delta, Joined):
                yield from self._emit_rules((delta,), delta.tick)
            else:
                yield from self._emit_rules((), delta.t - 1)
                yield delta

    def _emit_rules(self, deltas: Sequence[Joined], last: int) -> Iterator[Answer]:
        assert self._shown is not None
        if deltas or last > self._shown:
            first, self._shown = self._shown + 1, max(last, self._shown)
            yield from self._emitter.step(deltas, first, last, ())

    def finish(self) -> Iterator[Answer]:
        """What waited is evaluated, with what others still say of the last tick."""
        # Where no tick comes after a change of the program, nothing has ended.
        self._open = [change for change in self._open if change.tick <= (self.executor.now or 0)]
        if self.executor.now is not None and not self._only_rules:
            self._shown = self.executor.now - 1 if self._shown is None else self._shown
            yield from self._emit(self._joined((output for _, output in self.executor.finish()), self.executor.now))
            yield from self._emit_rules((), self.executor.now)
        yield from self._emitter.finish()

    # State ----------------------------------------------------------------------------------------------------------

    def _may_stop(self, items: Items) -> bool:
        """Whether a run that is interrupted can stop here: one that is resumed must be able to say where it was."""
        return not items.holds if self._checkpoint is None else items.position() is not None

    def _goes_on_later(self, malformed: Diagnostic | None) -> bool:
        """Whether a run that can be resumed was interrupted: then its streams have not ended, and nothing is closed."""
        return self._interrupt.asked and malformed is None and not self.intake.watermark.is_complete

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
        notation = self._settings.calendar.clock.notation
        written = {"stamped": notation.stamped, "bare": notation.bare}
        header = {"position": position, "shedding": self._shedding.save(), **written}
        state = b"" if self.executor.now is None else self.snapshot()
        return frame([encode(header, {}), self.intake.save(), state])

    def load(self, saved: bytes) -> dict[str, Any]:
        """Brings a run that has not begun to a saved state; the position from which the input goes on."""
        about, intake, _ = unframe(saved)
        header, _ = decode(about)
        self._resumed = True
        self._shedding.load(header["shedding"])
        self.load_operators(saved)
        self.intake.load(intake)
        if self.executor.now is not None:
            # Format 8 does not say what was decided while streams rested; what was evaluated was decided.
            self.intake.watermark.resume(self.executor.now)
        position: dict[str, Any] = header["position"]
        return position

    def begin(self, saved: bytes, succession: Succession, moved: MovedStreams | None = None) -> dict[str, Any]:
        """Goes on where a run of another plan was saved; operators that are new begin at the next tick.

        What rules said to hold, and nothing derives any more, ends there. Streams may have `moved`; the position is
        that of the earlier ones.
        """
        about, intake, state = unframe(saved)
        header, _ = decode(about)
        self._resumed = True
        self._shedding.load(header["shedding"])
        self._note_times(header)
        if state:
            self._succeed(state, succession)
        self.intake.load(intake)
        if moved is not None:
            watermark = self.intake.watermark
            watermark.regroup(moved.groups(len(watermark.highs)), moved.has_more_recorded)
        position: dict[str, Any] = header["position"]
        return position

    def _succeed(self, state: bytes, succession: Succession) -> None:
        _, _, executor = unframe(state)
        # What the earlier plan has to report was reported.
        plan, context = succession.earlier, replace(self.context, report=lambda diagnostic: None)
        earlier = open_fragment(plan, plan.numbers, context, self.dictionary, begins=succession.begins)
        earlier.load(executor)
        self._load_answers(state)
        self.executor.take_over(earlier, succession.origins)
        assert self.executor.now is not None
        ended = _shown_besides(earlier, succession.stay)
        if any(node.waiting is not None for node in earlier.nodes):
            # The last tick of what does not go on waited for a first window, which it will not see close.
            going_on = (number for number in succession.origins.values() if not plan.operators[number].shows_facts)
            earlier.close_last_tick({*going_on})
            before, ended = ended, _shown_besides(earlier, succession.stay)
            self._add_open(self.executor.now, [*(ended.keys() - before.keys())], [*(before.keys() - ended.keys())])
        begun = [
            fact
            for node in self.executor.nodes
            for name, facts in (node.operator.showing() if node.number in succession.origins else ())
            if name in succession.appear
            for fact in facts
        ]
        earlier.close()
        self._add_open(self.executor.now + 1, begun, [*ended])

    def _add_open(self, tick: int, begun: list[str], ended: list[str]) -> None:
        """Adds changes at a tick to those that are open, none of which is of a later one."""
        until: dict[str, int] = {}
        if self._open and self._open[-1].tick == tick:
            last = self._open.pop()
            begun, ended, until = [*last.begin_text, *begun], [*last.end_text, *ended], last.until
        if begun or ended:
            self._open.append(TextDelta(tick, begun, ended, until=until))

    @staticmethod
    def last_tick(saved: bytes) -> int | None:
        """The last tick that was evaluated when a run was saved; None before the first."""
        _, _, state = unframe(saved)
        if not state:
            return None
        _, _, executor = unframe(state)
        return saved_tick(executor)

    def load_operators(self, saved: bytes) -> None:
        """Brings the operators, and nothing else, to a saved state."""
        about, _, state = unframe(saved)
        self._note_times(decode(about)[0])
        if state:
            self.resume(state)

    def _note_times(self, header: dict[str, Any]) -> None:
        """What is answered before more is read is written as before."""
        notation = self._settings.calendar.clock.notation
        notation.stamped |= header["stamped"]
        # Earlier versions did not write this down.
        notation.bare |= header.get("bare", False)

    def snapshot(self) -> bytes:
        """Where all operators are, and what waits between them."""
        changes: dict[str, list[str]] = {"begin": [], "end": []}
        until: dict[str, int] = {}
        for change in self._open:
            changes["begin"] += change.begin_text
            changes["end"] += change.end_text
            until |= change.until
        counts = [[change.tick, len(change.begin_text), len(change.end_text)] for change in self._open]
        about = encode({"shown": self._shown, "open": counts, "until": until}, changes)
        return frame([about, encode({}, self._emitter.save()), self.executor.save()])

    def resume(self, data: bytes) -> None:
        """Goes on where a snapshot was taken of a plan of the same parts; this one has not begun."""
        _, _, executor = unframe(data)
        self.executor.load(executor)
        self._load_answers(data)

    def _load_answers(self, data: bytes) -> None:
        """Goes on with the answers of a snapshot."""
        about, emitter, _ = unframe(data)
        header, changes = decode(about)
        self._shown = header["shown"]
        self._emitter.load(decode(emitter)[1])
        begin, end = iter(changes["begin"].to_pylist()), iter(changes["end"].to_pylist())
        self._open = [
            TextDelta(tick, [*islice(begin, begun)], [*islice(end, ended)], until=header["until"])
            for tick, begun, ended in _counted(header["open"], changes)
        ]


def _shown_besides(executor: Executor, stay: Collection[Predicate]) -> dict[str, None]:
    """The facts that operators show, but for those of some predicates."""
    return {
        fact: None
        for node in executor.nodes
        for name, facts in (node.operator.showing() if node.reached is not None else ())
        if name not in stay
        for fact in facts
    }


def _counted(opened: list[list[int]] | int | None, changes: Lists) -> list[list[int]]:
    """The open ticks, and how many facts begin and end at each; format 8 has the tick alone."""
    if isinstance(opened, list):
        return opened
    return [] if opened is None else [[opened, len(changes["begin"]), len(changes["end"])]]
