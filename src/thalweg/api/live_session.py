"""A program that facts are pushed into: what a service or a notebook does with facts as they come.

Ticks are closed by `advance`, in the order of time: until then the facts of a tick may be pushed in any order, and
after that they are late. `async for` closes ticks by itself, each as soon as a fact of a later tick (later by more than
the delay) has been pushed.

With `clock="wall"` time passes by itself: what is pushed without a time is of now, and the ticks that can be closed are
those that the machine's clock has left, whether or not anything was pushed.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any

from thalweg.api.answer_values import Tick, tick_value, values_of
from thalweg.api.jobs import taken_over
from thalweg.api.kind_options import need_choice, usage
from thalweg.api.naming import fact_of
from thalweg.api.pushed_rows import Message, PushedRows, messages_of
from thalweg.api.sources import Table
from thalweg.api.timing import Moment, Timing
from thalweg.connectors.batches import code_facts
from thalweg.connectors.held_tables import is_table
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.languages.options import ChangeName
from thalweg.model.event import Event
from thalweg.model.fact import Fact, PythonFact
from thalweg.model.prefixes import Prefixes
from thalweg.model.python_values import PythonValue
from thalweg.runtimes.plausible_times import PATIENCE

if TYPE_CHECKING:
    from thalweg.api.jobs import PreparedRun
    from thalweg.engine.absence import Absence
    from thalweg.engine.proof import Proof
    from thalweg.kinds.part import Part
    from thalweg.runtimes.kept_program import RunProgram
    from thalweg.runtimes.wall_clock import PassingTime


@dataclass(frozen=True)
class SessionProgram:
    """The program of a session: its part, what a changed one must know of it, and what a snapshot must agree with."""

    part: "Part"
    run_program: "Callable[[], RunProgram]"
    identity: Callable[[], str]


class Session:
    """A program that is live: push facts, take changes, ask why.

    >>> from thalweg import open
    >>> with open("slow(S) :- speed(S,V) in [2], V < 20.") as session:
    ...     session.push("speed", "a", 12, at=3)
    ...     [change] = session.advance()
    ...     change.begin, session.now
    ((Fact('slow', ('a',)),), 3)
    """

    def __init__(
        self,
        job: "PreparedRun",
        timing: Timing,
        program: SessionProgram,
        prefixes: Prefixes,
        rows: PushedRows,
        passing: "PassingTime | None" = None,
    ) -> None:
        """Time goes by what is pushed, or where it is `passing`, by the machine's clock."""
        self._job = job
        self._program = program
        self._kept: bytes | None = None
        self._rows = rows
        self._timing = timing
        self._prefixes = prefixes
        self._passing = passing
        if passing is not None:
            passing.listen(0)
        self._pushed: list[Event] = []
        self._lock = Lock()
        self._closed = False
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    @property
    def now(self) -> Tick | None:
        """The last tick that was closed, as a `datetime` where times are timestamps; None before the first."""
        now: int | None = self._job.run.now
        return None if now is None else tick_value(now, self._timing.format)

    # In -------------------------------------------------------------------------------------------------------------

    def push(
        self,
        what: str | Fact | Message | list[Message] | Table,
        *args: PythonValue,
        at: Moment | None = None,
        stream: str | None = None,
    ) -> None:
        """Takes a fact with its tick or timestamp, as in `push("speed", "a", 12, at=3)`, or rows that become facts.

        Rows are a message (a `dict`), a list of them, or a table of pandas, polars or Arrow, and become facts by the
        `map` of the session; `at` is for mappings that say no time. Of rows that are wrong nothing is taken. Nothing is
        evaluated before `advance`. A fact of a tick that was closed is late. With `clock="wall"` what is pushed without
        `at` is of now.

        >>> from thalweg import open
        >>> with open("slow(S) :- speed(S,V), V < 20.", map="speed(sensor, v) at ts") as session:
        ...     session.push({"sensor": "a", "v": 12, "ts": "2026-11-15T08:00:03Z"})
        ...     print(*session.advance())
        {"t":"2026-11-15T08:00:03Z","begin":["slow(a)"],"end":[]}
        """
        if isinstance(what, str | Fact):
            self._push_fact(what, args, at, stream)
        elif not args and (rows := what if is_table(what) else messages_of(what)) is not None:
            self._push_rows(rows, at, stream)
        else:
            raise TypeError(f"{what!r} is neither a fact nor rows: a message is a dict, and many are a list of them")
        self._wake()

    def _push_fact(
        self, fact: str | Fact, args: tuple[PythonValue, ...], at: Moment | None, stream: str | None
    ) -> None:
        if isinstance(fact, Fact) and args:
            raise TypeError("a Fact has its arguments already: write push(fact, at=…)")
        pushed = fact if isinstance(fact, Fact) else PythonFact(fact, args)
        if at is not None:
            tick = self._tick(at)
        elif self._passing is not None:
            tick = self._passing.tick
        else:
            raise TypeError("a fact has a time: push(…, at=…)")
        with self._lock:
            self._need_open()
            self._pushed.append(Event(tick, (pushed,), stream))

    def _push_rows(self, rows: Any, at: Moment | None, stream: str | None) -> None:
        with self._lock:
            self._need_open()
            # What was pushed before comes before.
            self._take_pushed()
            run = self._job.run
            with self._one_notation("these rows"):
                tick = self._tick_of_rows() if at is None else self._tick_of(at)
                batches = self._rows.read(rows, run.dictionary, stream, tick)
            for tick, batch in batches:
                run.intake.put(tick, batch)

    def _tick_of_rows(self) -> int | None:
        """The tick of rows that say no time and were pushed without one; None where only the caller knows it."""
        return None if self._passing is None or self._rows.say_times else self._passing.tick

    # Out ------------------------------------------------------------------------------------------------------------

    def advance(self, to: Moment | None = None) -> list[Any]:
        """Closes every tick up to `to`, or up to the latest that was pushed; what changed on the way.

        With `clock="wall"` that is up to the latest that the machine's clock has left, by more than the delay.
        """
        if to is not None:
            last: int | None = self._tick(to)
        else:
            last = self._latest(is_over=True) if self._passing is None else self._left()
        return [] if last is None else self._close_up_to(last)

    def why(self, fact: str | Fact) -> "Proof | None":
        """The derivation of a fact at the last tick that was closed; None where it does not hold."""
        return self._ask("why", lambda concluded, goal: None if concluded.now is None else concluded.why(goal), fact)  # type: ignore[no-any-return]

    def why_not(self, fact: str | Fact) -> "Absence | None":
        """How far each rule got that could derive a fact; None where it holds."""
        return self._ask("why_not", lambda concluded, goal: concluded.why_not(goal), fact)  # type: ignore[no-any-return]

    async def __aiter__(self) -> AsyncIterator[Any]:
        """Changes as ticks are decided by what is pushed; ends, with all that is left, when the session is closed."""
        waiting = asyncio.get_running_loop(), asyncio.Event()
        self._waiting.append(waiting)
        try:
            closed, silence = False, 0.0
            while not closed:
                closed = self._closed
                latest = self._latest(is_over=closed or silence >= PATIENCE)
                decided = self._decided(latest, closed)
                if decided is not None:
                    for change in await asyncio.to_thread(self._close_up_to, decided, closing=closed):
                        yield change
                if not closed:
                    silence = await self._wait(waiting[1], silence)
        finally:
            self._waiting.remove(waiting)

    def _decided(self, latest: int | None, closed: bool) -> int | None:
        """The last tick for which nothing is waited for, where so much was pushed; None where there is none."""
        if self._passing is not None:
            return max(self._left(), latest) if closed and latest is not None else self._left()
        return latest if closed or latest is None else latest - self._timing.ticks()[2] - 1

    def _left(self) -> int:
        """The last tick that the machine's clock has left, by more than the delay."""
        assert self._passing is not None
        return self._passing.tick - self._passing.delay - 1

    async def _wait(self, pushed: asyncio.Event, silence: float) -> float:
        """Waits for what is pushed, or for time to matter; for how many seconds nothing was pushed.

        What waits because its time is doubtful is decided without more after some seconds.
        """
        patience = max(0.0, PATIENCE - silence) if self._job.run.intake.holds_pushed else None
        pauses = patience, None if self._passing is None else self._passing.pause()
        pause = min((seconds for seconds in pauses if seconds is not None), default=None)
        try:
            await asyncio.wait_for(pushed.wait(), pause)
        except TimeoutError:
            assert pause is not None
            return silence + pause
        pushed.clear()
        return 0.0

    # State ----------------------------------------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        """All that another session of the same program needs to go on from here."""
        from thalweg.model.arrow import encode, frame
        from thalweg.model.sealed import seal
        from thalweg.runtimes.embedded_checkpoint import FORMAT

        header = encode({"program": self._program.identity(), "order": self._rows.clock.save()}, {})
        with self._lock:
            self._need_open()
            self._take_pushed()
            if self._kept is None:
                self._kept = self._program.run_program().fresh(self._program.part, self._job.run.context).save()
            return seal(frame([header, self._job.run.save({}), self._kept]), FORMAT)

    def restore(self, snapshot: bytes, on_change: ChangeName = "refuse") -> None:
        """Goes on where a snapshot was taken; `RejectedError` where it is of another program, or damaged.

        With `on_change="begin"` it may be of another program: what is unchanged goes on, and all else begins at the
        next tick.

        >>> from thalweg import open
        >>> with open("slow(S) :- speed(S,V) in [9], V < 20.") as session:
        ...     session.push("speed", "a", 12, at=3)
        ...     taken, saved = session.advance(), session.snapshot()
        >>> changed = "slow(S) :- speed(S,V) in [9], V < 20. jam(S) :- slow(S)."
        >>> with open(changed, report=lambda diagnostic: None) as session:
        ...     session.restore(saved, on_change="begin")
        ...     print(*session.advance(to=4))
        {"t":4,"begin":["jam(a)"],"end":[]}
        """
        need_choice("on_change", on_change)
        from thalweg.model.arrow import DamagedError, decode, unframe
        from thalweg.model.sealed import OtherFormatError, unseal
        from thalweg.runtimes.embedded_checkpoint import FORMAT

        if self.now is not None or self._latest() is not None:
            raise RuntimeError("this session has begun: restore a snapshot into a new one")
        try:
            about, state, *kept = unframe(unseal(snapshot, FORMAT))
        except OtherFormatError as error:
            raise RejectedError([Diagnostic("E408", f"the snapshot {error}")]) from None
        except DamagedError:
            raise RejectedError([Diagnostic("E408", "this is not a snapshot of a session, or it is damaged")]) from None
        header, _ = decode(about)
        is_other = header.get("program") != self._program.identity()
        if is_other and (on_change == "refuse" or not kept):
            message = "the snapshot is of another program, or of other options"
            raise RejectedError([Diagnostic("E408", message, help="open the session as it was when it was taken")])
        with self._lock:
            self._go_on(state, kept[0] if kept else None, is_other)
            self._rows.clock.load(header.get("order", {}))

    def _go_on(self, state: bytes, saved: bytes | None, is_other: bool) -> None:
        """Brings the run to a saved state, perhaps that of another program."""
        from thalweg.runtimes.kept_program import KeptProgram
        from thalweg.runtimes.local import LocalRun

        run, part = self._job.run, self._program.part
        last = LocalRun.last_tick(state)
        if saved is None or last is None:
            run.load(state)
            return
        earlier, program = KeptProgram.load(saved), self._program.run_program()
        if not is_other:
            kept = earlier.resumed(part, run.context, program.units)
            run.reopen(kept.planned.plan, kept.planned.begins)
            run.load(state)
        else:
            program.check_settings(earlier, "the snapshot")
            kept, handover = earlier.succeeded(part, run.context, program.units, last + 1)
            run.reopen(kept.planned.plan, kept.planned.begins)
            run.begin(state, handover.succession)
            run.context.report(taken_over(handover.change, handover.first, self._timing))
        self._kept = kept.save()

    def close(self) -> None:
        """Ends the session; facts of ticks that were not closed are given up, except to an `async for`."""
        with self._lock:
            closed, self._closed = self._closed, True
        self._wake()
        if not closed and not self._waiting:
            self._end()

    def __enter__(self) -> "Session":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> "Session":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        now = self._job.run.now
        reached = "not begun" if now is None else f"at {self._timing.format.text(now)}"
        return f"<Session: {'closed' if self._closed else reached}>"

    # Inside ---------------------------------------------------------------------------------------------------------

    def _tick(self, at: Moment) -> int:
        with self._one_notation(repr(at)):
            return self._tick_of(at)

    def _tick_of(self, at: Moment) -> int:
        """The tick of a moment; `RejectedError` where it is none, or outside the timeline."""
        with usage():
            return self._timing.tick_of(at, self._rows.clock)

    @contextmanager
    def _one_notation(self, what: str) -> Iterator[None]:
        """`ValueError` where ticks and timestamps are mixed; the session keeps those that it had."""
        notation = self._timing.notation
        before = notation.stamped, notation.bare
        try:
            yield
            if notation.is_mixed:
                raise ValueError(f"{what}: a session has either ticks or timestamps, not both")
        except BaseException:
            notation.stamped, notation.bare = before
            raise

    def _need_open(self) -> None:
        if self._closed:
            raise RuntimeError("this session is closed")

    def _wake(self) -> None:
        for loop, event in self._waiting:
            loop.call_soon_threadsafe(event.set)

    def _close_up_to(self, tick: int, closing: bool = False) -> list[Any]:
        with self._lock:
            if not closing:
                self._need_open()
            self._take_pushed(is_over=True)
            answers = list(self._job.run.close_up_to(tick))
        if closing:
            self._end()
        return [value for answer in answers for value in values_of(answer, self._timing.format)]

    def _end(self) -> None:
        """Reports what was late, and gives up what reasons."""
        with self._job as job:
            job.run.end()

    def _latest(self, is_over: bool = False) -> int | None:
        """The latest tick that was pushed, but for those of a device whose clock was never set."""
        with self._lock:
            self._take_pushed(is_over)
            return self._job.run.intake.latest

    def _take_pushed(self, is_over: bool = False) -> None:
        """Takes what was pushed; with `is_over` nothing waits any longer because its time is doubtful."""
        pushed, self._pushed = self._pushed, []
        words, intake = self._job.run.dictionary, self._job.run.intake
        for event in _together(pushed):
            intake.put(event.tick, code_facts(event.facts, words, event.stream))
        if is_over:
            intake.put_all()

    def _ask(self, verb: str, ask: Callable[[Any, Fact], Any], fact: str | Fact) -> Any:
        derivations = self._job.run.derivations
        if not derivations.explains_facts:
            raise RejectedError([Diagnostic("E403", f"`{verb}` explains what rules derive, and there are none")])
        goal = fact_of(fact, self._prefixes) if isinstance(fact, str) else fact
        with self._lock:
            explanation = ask(derivations, goal)
        return None if explanation is None else replace(explanation, times=self._timing.format)


def _together(events: Iterable[Event]) -> list[Event]:
    """Events of one tick and stream that came one after the other as one event."""
    groups = groupby(events, key=lambda event: (event.tick, event.stream))
    return [
        Event(tick, tuple(fact for event in group for fact in event.facts), stream) for (tick, stream), group in groups
    ]
