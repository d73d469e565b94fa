"""Why something held at a tick that is over: the log is read again up to there, by a run that is thrown away.

It begins at the nearest checkpoint before the tick that is kept, else at the beginning of the log, and its answers go
nowhere.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from thalweg.api import jobs
from thalweg.connectors.interrupt import Interrupt
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.predicate import Predicate
from thalweg.model.time import Notation, TimeFormat
from thalweg.runtimes.checkpoint_folder import Claim
from thalweg.runtimes.embedded_checkpoint import FORMAT, EmbeddedCheckpoint
from thalweg.runtimes.local import LocalRun
from thalweg.runtimes.observer import Observer
from thalweg.runtimes.thread_stop import ThreadStop
from thalweg.service.generation import Generation, SharedParts, named_streams, read_log, run_program
from thalweg.service.generation_items import GenerationItems, position_of
from thalweg.service.in_time import in_time
from thalweg.service.program_text import CompiledProgram
from thalweg.service.refused import RefusedError, refusal
from thalweg.service.why_answer import WhyAnswer, absent, why_answer

if TYPE_CHECKING:
    from thalweg.service.service import Service

LIMIT: Final = 10.0
"""Seconds that a question may take."""

_NEVER: Final = 1e9


def why_then(service: "Service", generation: Generation, text: str, at: str, seconds: float = LIMIT) -> dict[str, Any]:
    """{"t": …, "proof": …} of a fact, an event or a row of a query at a tick, as `why --at … --format json` prints it.

    It waits for a thread that evaluates: call it from one that may wait. `RefusedError`: 400 where the fact or the time
    cannot be read, 404 where it did not hold (with `why_not`), 408 after so many seconds, 410 where the log does not
    reach back to the tick.
    """
    compiled = generation.text.compiled(everything=True)
    tick = _tick(generation, compiled, at)
    if generation.t is None or tick > generation.t:
        now = "no tick is" if generation.t is None else f"the last one is {generation.times.text(generation.t)}"
        raise refusal(400, f"`{at}` is not decided yet: {now}", "leave `at` out to ask about now")
    around = service.parts
    folder = generation.reaching(tick) if generation.explains_facts else None
    if folder is None and around.log.first > generation.from_seq + 1:
        raise refusal(410, f"the log no longer reaches back to {at}", "keep it for longer: `thalweg serve --retain`")
    replay = _Replay(around, generation, compiled, tick, folder)
    return _answered(text, _in_time(lambda: replay.why(text), replay, seconds), generation.times, tick)


def why_now(generation: Generation, text: str, seconds: float = LIMIT) -> dict[str, Any]:
    """The same at the last tick of a generation, on its own thread."""

    def ask(run: LocalRun) -> tuple[WhyAnswer, int | None]:
        return why_answer(run.derivations, text, generation.prefixes, generation.times), run.now

    try:
        answer, now = generation.ask(ask, seconds).result()
    except RejectedError as error:
        raise _refused(error) from None
    return _answered(text, answer, generation.times, now)


def _answered(text: str, answer: WhyAnswer, times: TimeFormat, tick: int | None) -> dict[str, Any]:
    at = None if tick is None else times.text(tick)
    if answer.holds:
        return {"t": None if tick is None else times.data(tick), "proof": answer.data}
    raise RefusedError(404, absent(text, at), about={} if answer.data is None else {"why_not": answer.data})


def _refused(error: RejectedError) -> RefusedError:
    return error if isinstance(error, RefusedError) else RefusedError(400, error.diagnostics)


def _tick(generation: Generation, compiled: CompiledProgram, at: str) -> int:
    """The tick of a time as users write it; how they do says nothing about the streams."""
    timing = replace(compiled.options.timing, notation=Notation())
    try:
        return timing.tick_of(at)
    except ValueError as error:
        raise RefusedError(400, Diagnostic("E403", f"`at`: {error}")) from None


class _Nothing:
    """Nothing is kept with a checkpoint that is thrown away."""

    def save(self) -> dict[str, Any]:
        return {}

    def load(self, saved: dict[str, Any]) -> None:
        pass

    def settled(self) -> None:
        pass


@dataclass(slots=True)
class _Replay:
    """A run over the log up to a tick, from a checkpoint in a `folder` or from where the generation began."""

    around: SharedParts
    generation: Generation
    compiled: CompiledProgram
    tick: int
    folder: Path | None
    interrupt: Interrupt = field(default_factory=Interrupt)
    items: GenerationItems | None = None
    came: set[Predicate] = field(default_factory=set)

    def why(self, text: str) -> WhyAnswer:
        """Why something held at the tick, or why not."""
        with ExitStack() as stack:
            checkpoint = None if self.folder is None else self._copied(stack, self.folder)
            job = stack.enter_context(self._started(checkpoint))
            for answer in job.pieces():
                if answer is None and self.items is not None and self.items.is_at_head:
                    break
            for _ in job.run.close_up_to(self.tick):
                pass
            # What came before a checkpoint is not known.
            came = self.came if checkpoint is None else None
            return why_answer(job.run.derivations, text, self.compiled.prefixes, job.times, came)

    def _copied(self, stack: ExitStack, folder: Path) -> EmbeddedCheckpoint:
        """A checkpoint that this run may write to."""
        copy = Path(stack.enter_context(TemporaryDirectory())) / "checkpoint"
        try:
            copytree(folder, copy)
        except OSError:
            message, way_out = (
                "a checkpoint that this needs has just been removed, or there is no room for it",
                "ask again",
            )
            raise refusal(503, message, way_out, {"Retry-After": "1"}) from None
        text = self.generation.text
        claim = Claim(text.fingerprint, text.fingerprint, {}, FORMAT)
        program = run_program(text, self.compiled)
        return stack.enter_context(EmbeddedCheckpoint(copy, claim, every=_NEVER, program=program))

    def _started(self, checkpoint: EmbeddedCheckpoint | None) -> jobs.PreparedRun:
        text, compiled, generation = self.generation.text, self.compiled, self.generation
        # As the streams write times: what was asked must not be the first to write one in another way.
        timing = replace(compiled.options.timing, last=str(generation.times.data(self.tick)))
        options = replace(compiled.options, timing=timing)
        active = generation.beginning.subscriptions(compiled.part)
        if checkpoint is not None and checkpoint.state is not None:
            active.load(position_of(checkpoint.state)["subscriptions"])

        def read(run: LocalRun) -> GenerationItems:
            items = read_log(
                self.around,
                text,
                replace(compiled, options=options),
                run,
                self.interrupt,
                generation.from_seq,
                lambda: False,
                lambda record: active.take(record, run),
            )
            self.items = GenerationItems(items, _Nothing())
            return self.items

        return jobs.start(
            active.part,
            named_streams(text),
            options,
            Observer(lambda warning: None, look=lambda batch: self.came.update(batch.rows), warns_live=False),
            interrupt=self.interrupt,
            checkpoint=checkpoint,
            explains=True,
            solvers=self.around.solvers() if text.is_solved else None,
            items=read,
        )


def _in_time(work: Callable[[], WhyAnswer], replay: _Replay, seconds: float) -> WhyAnswer:
    """What a function gives; `RefusedError` (408) after some seconds."""

    def end(stop: ThreadStop, thread: Thread) -> None:
        replay.interrupt.asked = True
        replay.around.log.wake()
        thread.join(_PATIENCE)
        if thread.is_alive() and replay.items is not None:
            replay.items.unless_reading(stop.ask)

    try:
        return in_time(work, seconds, f"why {replay.generation.name}", end)
    except RejectedError as error:
        raise _refused(error) from None
    except TimeoutError:
        raise refusal(408, f"it could not be found out in {seconds:g} seconds", "ask about a later time") from None


_PATIENCE: Final = 0.3
