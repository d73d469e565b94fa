"""A generation of a program: one thread around the same run as `thalweg run`, over what the log has.

    folder/checkpoint     of the run (see `embedded_checkpoint`), with how many lines it had answered
    folder/lines-…        what it answered (see `answer_lines`)

At each None, which says that the next item must be waited for, its thread answers questions.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from errno import EDQUOT, EIO, ENOSPC, EROFS
from pathlib import Path
from shutil import copytree, rmtree
from threading import Event, RLock, Thread
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from thalweg.answers.jsonl import lines as lines_of_json
from thalweg.answers.record import Answer, singles
from thalweg.api import jobs
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.named_source import NamedSource
from thalweg.dataflow.operator import Concludes
from thalweg.diagnostics import Diagnostic, FailedError, RejectedError
from thalweg.kinds.part import Part
from thalweg.model.prefixes import NO_PREFIXES
from thalweg.model.time import AS_TICKS, FOREVER, NEVER, TimeFormat
from thalweg.runtimes.checkpoint_folder import Claim
from thalweg.runtimes.embedded_checkpoint import FORMAT, STATE, EmbeddedCheckpoint
from thalweg.runtimes.kept_program import RunProgram
from thalweg.runtimes.local import LocalRun
from thalweg.runtimes.observer import Observer
from thalweg.runtimes.plausible_times import TimeLimits
from thalweg.runtimes.thread_stop import ThreadStop
from thalweg.service.answer_lines import AnswerLines, Line
from thalweg.service.counted_plan import PlanCounter
from thalweg.service.earlier_checkpoints import EarlierCheckpoints
from thalweg.service.generation_items import GenerationItems, position_of
from thalweg.service.holding import Holding
from thalweg.service.log import DiskFullError, Log, LogRecord
from thalweg.service.logged_items import LoggedItems
from thalweg.service.program_text import CompiledProgram, ProgramText
from thalweg.service.questions import Questions
from thalweg.service.refused import RefusedError, has_failed, refusal
from thalweg.service.streams import LoggedStreams
from thalweg.service.subscriptions import NO_SUBSCRIPTIONS, ActiveSubscriptions, EarlierSubscriptions

if TYPE_CHECKING:
    from thalweg.solvers.pool import Solvers

State = Literal["catching-up", "live", "failed", "stopping"]

T = TypeVar("T")

_LATE: Final = 1_000
"""Lines about late facts that are kept in memory; a checkpoint has fewer."""
_SAVED_LATE: Final = 100
_WARNINGS: Final = 20
_MOST_WAITING: Final = 512
"""Answers that wait until others may see them, where the program has much to catch up with."""
_NEAR: Final = 100
"""Records: a program that is so near to the end of the log has caught up."""
_DISK: Final = frozenset((ENOSPC, EDQUOT, EROFS, EIO))
_AGAIN: Final = 0.2
_PATIENCE: Final = 0.3
"""Seconds that a thread has to end by itself, before it is stopped."""


@dataclass(frozen=True, slots=True)
class SharedParts:
    """What the generations of all programs share; `retention` says what is dropped of their answers.

    That is what was answered before an instant (seconds since 1970), or is beyond so many bytes.
    """

    log: Log
    streams: LoggedStreams
    solvers: "Callable[[], Solvers | None]" = lambda: None
    retention: Callable[[], tuple[float, int]] = lambda: (0.0, 1 << 62)


@dataclass(frozen=True, slots=True)
class Beginning:
    """Which generation of a program it is, and behind which record of the log it begins.

    It goes on where it was saved in its `folder`.
    """

    name: str
    number: int
    text: ProgramText
    folder: Path
    after: int
    kept_from: Path | None = None
    """The folder of a generation from which it keeps what is unchanged."""
    subscribed: EarlierSubscriptions = NO_SUBSCRIPTIONS
    """The subscriptions that it begins with."""

    def as_data(self) -> dict[str, Any]:
        """It as JSON, as the file of a program has it."""
        kept = {} if self.kept_from is None else {"kept_from": int(self.kept_from.name)}
        subscribed = self.subscribed.as_data()
        return {
            "number": self.number,
            "after": self.after,
            "subscribed": subscribed,
            "body": self.text.as_data(),
            **kept,
        }

    def subscriptions(self, part: Part) -> ActiveSubscriptions:
        """Those that it begins with, for its part."""
        return ActiveSubscriptions(self.text, part, self.name, self.subscribed)


class Generation:
    """A program at work from a place of the log on. All attributes may be read from any thread."""

    def __init__(
        self,
        beginning: Beginning,
        around: SharedParts,
        heard: "Callable[[Generation], None]" = lambda generation: None,
        compiled: CompiledProgram | None = None,
    ) -> None:
        """`heard` is called on its thread when there are more lines, time has passed, or its state is another one."""
        self.name = beginning.name
        self.number = beginning.number
        self.text = beginning.text
        self.folder = beginning.folder
        self.from_seq = beginning.after
        self.lines = AnswerLines(beginning.folder)
        self.holding = Holding()
        self.counter = PlanCounter()
        self.lock = RLock()
        self.state: State = "catching-up"
        self.because: list[dict[str, Any]] = []
        self.warnings: deque[dict[str, Any]] = deque(maxlen=_WARNINGS)
        self.t: int | None = None
        self.times = AS_TICKS if compiled is None else compiled.options.timing.format
        self.bytes = 0
        self.late = 0
        self.awaits: tuple[str, ...] = ()
        """The streams that have said nothing yet, and hold back the others."""
        self.is_open = False
        """Whether it has gone back to its checkpoint: lines behind that are gone, and come again."""
        self.settled_lines = 0
        """How many lines a checkpoint has."""
        self.explains_facts = False
        """Whether a checkpoint of it can be asked why: where there are rules, or several parts."""
        self.prefixes = NO_PREFIXES if compiled is None else compiled.prefixes
        self.subscriptions: ActiveSubscriptions | None = None
        self.beginning = beginning
        self._around = around
        self._heard = heard
        self._compiled = compiled
        self._interrupt = Interrupt()
        self._questions = Questions()
        self._items: GenerationItems | None = None
        self._checkpoint: EmbeddedCheckpoint | None = None
        self._is_saved = Event()
        self._earlier = EarlierCheckpoints(beginning.folder)
        self._late_lines: deque[str] = deque(maxlen=_LATE)
        self._waiting: list[tuple[Answer, list[Line]]] = []
        self._saved_seq = beginning.after
        self._saving_lines = 0
        self._target = self._log_end = around.log.last
        self._cpu = 0.0
        self._is_given_up = False
        self._solvers: Solvers | None = None
        self._stop = ThreadStop(self._end_solving)
        self._thread = Thread(target=self._live, name=f"{self.name} {self.number}", daemon=True)
        for warning in () if compiled is None else compiled.warnings:
            self._warn(warning)
        around.log.keep(self._key, 0)

    @property
    def _key(self) -> str:
        return f"program {self.name} {self.number}"

    # For any thread -------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begins, or goes on where it was saved."""
        self._thread.start()

    @property
    def seq(self) -> int:
        """The last record of the log that was wholly taken."""
        return self._saved_seq if self._items is None else self._items.seq

    @property
    def progress(self) -> float:
        """Which share of what it had to catch up with it has, from 0 to 1."""
        if self.state == "live":
            return 1.0
        way = self._around.log.last - self.from_seq
        return min(1.0, max(0.0, (self.seq - self.from_seq) / way)) if way > 0 else 0.0

    @property
    def cpu(self) -> float:
        """Seconds of CPU of its thread."""
        thread = self._thread
        if thread.is_alive() and thread.ident is not None:
            try:
                return time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
            except OSError:
                pass  # It has just ended.
        return self._cpu

    def late_lines(self, limit: int) -> list[str]:
        """The latest lines about late facts, as `--late` writes them, without the end of the line."""
        lines = list(self._late_lines)
        return lines[max(0, len(lines) - limit) :]

    def due(self) -> float | None:
        """Seconds until time must pass for it although nothing comes; None where it need not."""
        return None if self._items is None or self.state in ("failed", "stopping") else self._items.due()

    def ask(self, question: Callable[[LocalRun], T], seconds: float) -> Future[T]:
        """Calls a function with the run, on the program's thread, when it waits or between two records.

        The future has a `RefusedError` where the program has failed or stops (409), or does not come to it within so
        many seconds (503).
        """
        future = self._questions.ask(question, seconds)
        self._around.log.wake()
        return future

    def save(self, seconds: float) -> None:
        """Has a checkpoint taken, and waits for it; where it is not possible in that time there is an earlier one."""
        self._is_saved.clear()
        try:
            self.ask(lambda run: None if self._checkpoint is None else self._checkpoint.hurry(), seconds).result()
        except RefusedError:
            return
        self._is_saved.wait(seconds)

    def stop(self, save: bool, seconds: float) -> bool:
        """Ends the thread: between two items and with its state saved if it comes to that, else in the middle.

        False where it could not be ended in that time, because a call that cannot be stopped has not returned.
        """
        until = time.monotonic() + seconds
        self.ask_to_stop(save)
        self._thread.join(max(0.0, seconds / 2 if save else min(_PATIENCE, seconds)))
        while self._thread.is_alive() and time.monotonic() < until:
            self._stop_now()
            self._thread.join(min(_AGAIN, max(0.0, until - time.monotonic())))
        return not self._thread.is_alive()

    def _stop_now(self) -> None:
        """Ends what the thread is doing, unless it reads the log: then it is about to see that it is to end."""
        if self._items is None:
            self._stop.ask()
        else:
            self._items.unless_reading(self._stop.ask)

    def join(self) -> None:
        """Waits until the thread has ended."""
        self._thread.join()

    def reaching(self, tick: int) -> Path | None:
        """The folder of the nearest checkpoint before a tick that is kept; None where there is none."""
        return self._earlier.reaching(tick)

    def forget(self) -> None:
        """Removes what it has kept, behind its end."""
        self._around.log.keep(self._key, None)
        rmtree(self.folder, ignore_errors=True)

    def ask_to_stop(self, save: bool) -> None:
        """Has the thread end, with its state saved or not, and does not wait for that."""
        if self.state != "failed":
            self.state = "stopping"
        self._is_given_up = not save
        if self._items is not None:
            self._items.is_given_up = not save
        self._interrupt.asked = True
        if not save:
            self._end_solving()
        self._around.log.wake()

    def _end_solving(self) -> None:
        if self._solvers is not None:
            self._solvers.close()

    def subscribed_up_to(self, seq: int) -> EarlierSubscriptions:
        """The subscriptions of the records up to one, for a generation of the same program that begins there."""
        taken, active = self.seq, self.subscriptions
        # A change that is taken meanwhile is taken again, which comes to the same.
        earlier = self.beginning.subscribed if active is None or self._items is None else active.earlier(taken)
        return earlier.up_to(seq)

    # On its thread --------------------------------------------------------------------------------------------------

    def _live(self) -> None:
        try:
            self._stop.run(self._work)
        except RejectedError as error:
            self._fail(*error.diagnostics)
        except FailedError as error:
            self._fail(error.diagnostic)
        except OSError as error:
            self._fail(_unwritten(error.strerror or str(error)) if error.errno in _DISK else _unforeseen(error))
        except DiskFullError as error:
            self._fail(_unwritten(str(error)))
        except MemoryError:
            self._fail(Diagnostic("E410", "the system has no more memory for this program"))
        except Exception as error:
            self._fail(_unforeseen(error))
        finally:
            self._cpu = time.thread_time()
            self._questions.close(has_failed() if self.state == "failed" else None)
            self.lines.close()
            self._heard(self)

    def _work(self) -> None:
        with ExitStack() as stack:
            self._evaluate(stack.enter_context(self._opened(stack)))

    def _fail(self, *diagnostics: Diagnostic) -> None:
        if not self._interrupt.asked:
            # Where the disk is full, too, they come again after a restart.
            with suppress(DiskFullError):
                self._show(self.t)
            self.because = [diagnostic.as_data() for diagnostic in diagnostics]
            self.state = "failed"
            # It may be restarted as long as the log is kept anyway; until then it needs nothing.
            self._around.log.keep(self._key, None)

    @contextmanager
    def _opened(self, stack: ExitStack) -> Iterator[jobs.PreparedRun]:
        """The run, where its checkpoint was taken."""
        compiled = self._compiled or self.text.compiled(self._warn)
        self._compiled = None
        self.times, self.prefixes = compiled.options.timing.format, compiled.prefixes
        active = self.beginning.subscriptions(compiled.part)
        checkpoint = stack.enter_context(self._open_checkpoint(compiled))
        # Where it keeps what is unchanged, the checkpoint is of another body, which had its own.
        if checkpoint.state is not None and not checkpoint.is_changed:
            active.load(position_of(checkpoint.state)["subscriptions"])
        self.subscriptions, self._checkpoint = active, checkpoint
        self._solvers = self._around.solvers() if self.text.is_solved else None
        observer = Observer(self._warn, self._note_late, self.counter.look, with_until=True)
        with jobs.start(
            active.part,
            named_streams(self.text),
            compiled.options,
            observer,
            interrupt=self._interrupt,
            checkpoint=checkpoint,
            explains=True,
            solvers=self._solvers,
            items=lambda run: self._read(run, compiled, checkpoint),
        ) as job:
            yield job

    def _open_checkpoint(self, compiled: CompiledProgram) -> EmbeddedCheckpoint:
        """Its checkpoint; it begins anew where that cannot be read, as long as the log has everything."""
        folder = self.folder / "checkpoint"
        program = replace(run_program(self.text, compiled), begins=self.beginning.kept_from is not None)
        claim = Claim(self.text.fingerprint, self.text.fingerprint, {}, FORMAT)
        self._take_over(folder)
        try:
            with EmbeddedCheckpoint(folder, claim, program=program) as checkpoint:
                self._need_logged(checkpoint)
        except RejectedError as error:
            if self._around.log.first > self.from_seq + 1 or self.beginning.kept_from is not None:
                raise
            for diagnostic in error.diagnostics:
                self._warn(diagnostic)
            rmtree(folder)
        if not (folder / STATE).exists():
            self.lines.cut(0)
        return EmbeddedCheckpoint(folder, claim, program=program)

    def _need_logged(self, checkpoint: EmbeddedCheckpoint) -> None:
        """`RejectedError` where the log has lost what a checkpoint has taken: other records will have its numbers."""
        if checkpoint.state is None or checkpoint.is_changed:
            return
        end, seq = self._log_end, position_of(checkpoint.state)["items"]["seq"]
        if seq > end:
            message = f"the checkpoint of the program is behind record {seq}, and the log ended with {end}"
            raise RejectedError([Diagnostic("E408", message, help='restart it from `"earliest"` or `"now"`')])

    def _take_over(self, folder: Path) -> None:
        """Begins with the checkpoint of the generation of which it keeps what is unchanged."""
        kept_from = self.beginning.kept_from
        if kept_from is not None and not folder.exists():
            copy = folder.with_name("checkpoint.copied")
            rmtree(copy, ignore_errors=True)
            copytree(kept_from / "checkpoint", copy)
            copy.rename(folder)

    def _read(self, run: LocalRun, compiled: CompiledProgram, checkpoint: EmbeddedCheckpoint) -> GenerationItems:
        active = self.subscriptions
        assert active is not None
        items = read_log(
            self._around,
            self.text,
            compiled,
            run,
            self._interrupt,
            self.from_seq,
            lambda: self._questions.are_waiting,
            lambda record: active.take(record, run),
        )
        if checkpoint.state is None:
            self._take_subscriptions(active, run)
        self._items = GenerationItems(items, _Kept(self, run, begins=checkpoint.handover is not None))
        self._items.is_given_up = self._is_given_up
        return self._items

    def _take_subscriptions(self, active: ActiveSubscriptions, run: LocalRun) -> None:
        """Takes the changes that come in the log before it begins, and that it does not begin with."""
        seq = self.beginning.subscribed.taken
        while seq < self.from_seq and (records := self._around.log.read(seq)):
            for record in records:
                if record.kind == "subscription" and record.seq <= self.from_seq:
                    active.take(record, run)
            seq = records[-1].seq

    def _evaluate(self, job: jobs.PreparedRun) -> None:
        run = job.run
        self._need_all()
        for node in run.executor.nodes:
            if isinstance(node.operator, Concludes):
                node.operator.engine.limit = self.text.memory
        self._note(run)
        for answer in job.pieces():
            if answer is None:
                self._pause(run)
            else:
                self._waiting.append((answer, numbered(answer, self.times)))
                if len(self._waiting) >= _MOST_WAITING:
                    self._show(run.now)
        self._show(run.now)

    def _need_all(self) -> None:
        """`RefusedError` where the log has lost what comes next; that may happen while a program has failed."""
        first = self._around.log.first
        if first > self.seq + 1:
            message = f"the log begins with record {first}, and the program had come to {self.seq}"
            raise refusal(410, message, 'restart it from `"earliest"` or `"now"`')

    def _pause(self, run: LocalRun) -> None:
        """What waits can be seen; questions are answered."""
        self._show(run.now)
        self._note(run)
        self._questions.answer(run)
        # The first pause comes before the first item.
        self.is_open = True
        self._heard(self)

    def _show(self, now: int | None) -> None:
        """Everybody may see what was answered, and what holds by that, at once."""
        waiting, self._waiting = self._waiting, []
        with self.lock:
            if waiting:
                # First, because they may be refused: what holds is what the lines say.
                self.lines.add([line for _, lines in waiting for line in lines])
            for answer, _ in waiting:
                self.holding.apply(answer)
                self.counter.see(answer)
            self.t = now

    def _note(self, run: LocalRun) -> None:
        """Notes what others may want to know of it."""
        self.bytes = sum(
            node.operator.engine.size for node in run.executor.nodes if isinstance(node.operator, Concludes)
        )
        self.late = run.intake.late.count + run.intake.far.count
        self.explains_facts = run.derivations.explains_facts
        self.awaits = self._silent(run)
        if self.state == "catching-up" and self.seq >= self._target:
            last = self._around.log.last
            if last - self.seq <= _NEAR:
                self.state = "live"
            self._target = last

    def _silent(self, run: LocalRun) -> tuple[str, ...]:
        """The streams that have said nothing, where another one has and nothing lets them rest."""
        highs, resting = run.intake.watermark.highs, frozenset() if self._items is None else self._items.resting
        if max(highs) == NEVER:
            return ()
        return tuple(
            stream
            for number, (stream, high) in enumerate(zip(self.text.streams, highs, strict=False))
            if high == NEVER and number not in resting
        )

    def _warn(self, warning: Diagnostic) -> None:
        self.warnings.append(warning.as_data())

    def _note_late(self, line: str) -> None:
        self._late_lines.append(line.rstrip("\n"))


@dataclass(frozen=True, slots=True)
class _Kept:
    """What is kept of a generation with a checkpoint, on its thread."""

    generation: Generation
    run: LocalRun
    begins: bool
    """Whether what it loads is of another generation, whose lines are not its own."""

    def save(self) -> dict[str, Any]:
        generation = self.generation
        generation._show(self.run.now)
        late = generation.late_lines(_SAVED_LATE)
        assert generation.subscriptions is not None
        generation._saving_lines = generation.lines.settle()
        return {
            "lines": generation._saving_lines,
            "holding": generation.holding.save(),
            "subscriptions": generation.subscriptions.save(),
            "late": late,
        }

    def load(self, saved: dict[str, Any]) -> None:
        generation = self.generation
        with generation.lock:
            generation.lines.cut(0 if self.begins else saved["lines"])
            generation.holding.load(saved["holding"])
            generation.t = self.run.now
        generation._saving_lines = generation.lines.last
        generation._late_lines.extend(saved["late"])
        self.settled()

    def settled(self) -> None:
        generation = self.generation
        generation._saved_seq, generation.settled_lines = generation.seq, generation._saving_lines
        generation._around.log.keep(generation._key, generation.seq)
        generation._is_saved.set()
        instant, most = generation._around.retention()
        generation.lines.drop_before(instant, most)
        if generation.t is not None:
            generation._earlier.keep(generation.seq, generation.t)
            generation._earlier.drop_before(instant, most)


def read_log(
    around: SharedParts,
    text: ProgramText,
    compiled: CompiledProgram,
    run: LocalRun,
    interrupt: Interrupt,
    after: int,
    asked: Callable[[], bool],
    subscribed: Callable[[LogRecord], None],
) -> LoggedItems:
    """What a program reads of the log, behind a record, as its options say."""
    timing = compiled.options.timing
    delay = timing.ticks()[2]
    return LoggedItems(
        around.log,
        around.streams,
        text.streams,
        run.dictionary,
        timing.clock,
        interrupt=interrupt,
        by_wall=timing.passing == "wall",
        idle=timing.idle_seconds,
        delay=delay,
        limits=TimeLimits(timing.clock, timing.max_ahead_milliseconds, delay),
        after=after,
        pause=run.pause,
        asked=asked,
        subscribed=subscribed,
    )


def run_program(text: ProgramText, compiled: CompiledProgram) -> RunProgram:
    """What a changed program must know of one: its units, and the settings that stay the same.

    The memory budget is not one of them.
    """
    timing = compiled.options.timing
    program = jobs.run_program(compiled.part, compiled.options, named_streams(text))
    settings = {name: value for name, value in program.settings.items() if name != "--memory"}
    times = {"--tick": timing.clock.tick_length, "--zone": timing.zone or "UTC", "--times": timing.times}
    return replace(program, settings=settings | {name: repr(value) for name, value in times.items()})


def named_streams(text: ProgramText) -> list[NamedSource]:
    """The streams of a program, as runs know them."""
    return [NamedSource(name, name) for name in text.streams]


def numbered(answer: Answer, times: TimeFormat) -> list[Line]:
    """The lines of an answer, as `thalweg run --format jsonl` writes them.

    >>> from thalweg.answers.record import changes
    >>> numbered(changes(3, ("jam(a)",), until=(13,)), AS_TICKS)
    [Line(text=b'{"t":3,"begin":["jam(a)"],"end":[]}', t=3, until={'jam(a)': 13})]
    """
    texts = [text.encode() for text in lines_of_json(answer, times)]
    if len(texts) == 1:
        return [Line(texts[0], answer.t, _until(answer))]
    return [Line(text, single.t) for text, single in zip(texts, singles(answer), strict=True)]


def _until(answer: Answer) -> dict[str, int]:
    if answer.kind != "changes" or answer.of_clashes:
        return {}
    begin, _, _, until = answer.columns
    return {fact: tick for fact, tick in zip(begin, until, strict=False) if tick < FOREVER}


def _unwritten(why: str) -> Diagnostic:
    message = f"what the program answers cannot be written to the disk: {why}"
    return Diagnostic("E401", message, help='make room, then restart the program from `"checkpoint"`')


def _unforeseen(error: Exception) -> Diagnostic:
    """The diagnostic of an error that nobody has thought of: the other programs go on."""
    message = f"the program has failed: {type(error).__name__}: {error}"
    return Diagnostic("E904", message, help="this is a fault of Thalweg: please report it, with the program")
