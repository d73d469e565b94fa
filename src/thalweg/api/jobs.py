"""Parts, ready to run over their streams: in this process, or on Spark."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from thalweg.api.sources import On, absolute, named, on_command_line, unnamed
from thalweg.api.timing import Timing
from thalweg.connectors.held_tables import HeldTable
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.mapping.tally import Tally
from thalweg.diagnostics import Diagnostic, RejectedError, Source, warn
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.time import TimeFormat
from thalweg.dataflow.context import Context, Settings
from thalweg.parts.part import Part

if TYPE_CHECKING:
    # The engine's compiler takes a moment to import, and `check` can do without it.
    from thalweg.connectors.transport import Transport
    from thalweg.parts.answer_sets.windowed import Listener
    from thalweg.runtimes.answer_formats import AnswerFormat
    from thalweg.runtimes.embedded import Embedded, Items
    from thalweg.runtimes.embedded_checkpoint import EmbeddedCheckpoint
    from thalweg.runtimes.emit import AnswerBlock
    from thalweg.runtimes.live_warnings import LiveWarnings
    from thalweg.runtimes.spark.run import Outcome, SparkTarget
    from thalweg.runtimes.spark.spool import Observe


@dataclass(frozen=True, slots=True)
class Job:
    """A part, ready to run over its streams."""

    runtime: "Embedded[Any]"
    inputs: "Items"
    transports: "Sequence[Transport]"
    times: TimeFormat
    end: Callable[[], None] = lambda: None

    def pieces(self) -> "Iterator[AnswerBlock | None]":
        return self.runtime.answers(self.inputs)

    def __enter__(self) -> "Job":
        return self

    def __exit__(self, *_: object) -> None:
        for transport in self.transports:
            transport.close()
        self.end()


def start(
    part: Part,
    on: On,
    timing: Timing,
    emit: str = "changes",
    on_error: Literal["stop", "skip"] = "stop",
    memory: int | None = None,
    late: Callable[[str], None] | None = None,
    report: Callable[[Diagnostic], None] = warn,
    interrupt: Interrupt | None = None,
    listen: "Listener" = lambda solution, answered: None,
    look: Callable[[Batch], object] | None = None,
    checkpoint: "EmbeddedCheckpoint | None" = None,
    explains: bool = False,
    with_until: bool = False,
    observe: Callable[[int, Batch], object] | None = None,
    mapped: Tally | None = None,
    progress: bool = False,
    saves: bool = False,
    warns_live: bool = True,
) -> Job:
    """Opens the streams and makes what reasons; nothing has been evaluated yet, unless a `checkpoint` says so.

    `look` sees every batch that comes in, `observe` with its tick, too. A job that `explains` will be asked why, and
    one that `saves` for its state. What is `mapped` becomes facts. `with_until`, changes say until when what begins is
    guaranteed. With `progress`, the job reports at its end how far those rules got that concluded nothing; one that
    `warns_live` does not wait for the end with other warnings.
    """
    from thalweg.runtimes.embedded import Embedded
    from thalweg.runtimes.inputs import Streams

    settings = _settings(timing, emit, on_error, memory, with_until)
    interrupt = interrupt or Interrupt()
    transports = _opened(on, mapped, resumable=checkpoint is not None)
    context = _context(settings, timing, report, interrupt, listen, transports)
    try:
        evaluation = part.start(
            replace(context, saves=saves or checkpoint is not None, explains=explains, progress=progress)
        )
    except BaseException:
        for transport in transports:
            transport.close()
        raise
    warnings = _live_warnings(report, mapped) if warns_live else None
    runtime = Embedded(
        evaluation.reasoner,
        settings,
        emitter=evaluation.emitter,
        advance=evaluation.advance,
        present=evaluation.present,
        look=_in_turn([observer for observer in (evaluation.look, look) if observer is not None]),
        # A run that was resumed has not seen all that came.
        summary=lambda resumed: chain(() if resumed else evaluation.summary(), _mapped(mapped, resumed)),
        write_late=late,
        report=report,
        interrupt=interrupt,
        state=evaluation.state,
        checkpoint=checkpoint,
        times=timing.format,
        observe=observe,
        warnings=warnings,
    )
    items = _items(on, transports, evaluation.reasoner.dictionary, timing, interrupt, mapped)
    if isinstance(items, Streams):
        items.wake(runtime.pause)
    job = Job(runtime, items, transports, timing.format, evaluation.close)
    if checkpoint is not None:
        _resume(job, checkpoint)
    return job


def started(part: Part, timing: Timing, emit: str, report: Callable[[Diagnostic], None]) -> "Embedded[Any]":
    """Starts the reasoner without any stream, so that it can be brought to a saved state."""
    from thalweg.runtimes.embedded import Embedded

    settings = _settings(timing, emit, "stop", None)
    context = _context(settings, timing, report, Interrupt(), lambda solution, answered: None, ())
    evaluation = part.start(replace(context, saves=True))
    return Embedded(evaluation.reasoner, settings, emitter=evaluation.emitter, state=evaluation.state)


def _settings(
    timing: Timing, emit: str, on_error: Literal["stop", "skip"], memory: int | None, with_until: bool = False
) -> Settings:
    ahead = timing.max_ahead_milliseconds
    return Settings(*timing.ticks(), emit, on_error, memory, timing.calendar, with_until, ahead)


def _live_warnings(report: Callable[[Diagnostic], None], mapped: Tally | None) -> "LiveWarnings":
    """The warnings that a live run gives while it goes on."""
    from thalweg.runtimes.live_warnings import LiveWarnings

    warnings = LiveWarnings(report)
    if mapped is not None:
        warnings.watch(mapped.counts)
    return warnings


def _mapped(mapped: Tally | None, resumed: bool) -> Iterator[Diagnostic]:
    """The warnings of mappings at the end."""
    return iter(()) if mapped is None else mapped.summary(resumed)


def _resume(job: Job, checkpoint: "EmbeddedCheckpoint") -> None:
    """Brings a job to where its checkpoint was taken, and makes the checkpoint its own."""
    from thalweg.engine.checkpoint import MismatchError
    from thalweg.runtimes.checkpoint_folder import refused
    from thalweg.runtimes.inputs import Streams

    assert isinstance(job.inputs, Streams)
    try:
        if checkpoint.state is not None:
            job.inputs.seek(job.runtime.load(checkpoint.state))
        job.inputs.hold()
        checkpoint.claim()
    except MismatchError as error:
        job.__exit__()
        raise refused(f"`{checkpoint.folder}`: {error}") from None
    except BaseException:
        job.__exit__()
        raise


def open_checkpoint(
    folder: Path,
    part: Part,
    on: On,
    timing: Timing,
    emit: str = "changes",
    on_error: Literal["stop", "skip"] = "stop",
    memory: int | None = None,
    *,
    out: str | None = None,
    late: str | None = None,
    format: str = "jsonl",
    mapped: Tally | None = None,
) -> "EmbeddedCheckpoint":
    """The checkpoint folder of a run in this process, to be used in a `with`, which reads it.

    `RejectedError` where the part cannot be resumed.
    """
    from thalweg.runtimes.checkpoint_folder import Claim
    from thalweg.runtimes.embedded_checkpoint import FORMAT, EmbeddedCheckpoint

    text, fingerprint = _identity(part, timing, emit, on_error, memory)
    options = _unchanging(on, timing, {"--out": out, "--late": late}, format, mapped) | {"--emit": emit}
    return EmbeddedCheckpoint(folder, Claim(text, fingerprint, options, FORMAT))


def identity(part: Part, timing: Timing, emit: str, memory: int | None) -> str:
    """The identity that a snapshot of a session must agree with; `RejectedError` where the part cannot be saved."""
    return _identity(part, timing, emit, "stop", memory)[1]


def _identity(
    part: Part, timing: Timing, emit: str, on_error: Literal["stop", "skip"], memory: int | None
) -> tuple[str, str]:
    """The program as people read it, and a fingerprint of it with all that its state depends on."""
    from hashlib import sha256

    from thalweg.runtimes.embedded_checkpoint import FORMAT

    settings = _settings(timing, emit, on_error, memory)
    text, fingerprint = part.identity(Context(settings, timing.clock, lambda diagnostic: None))
    return text, sha256(repr((FORMAT, "embedded", fingerprint, settings)).encode()).hexdigest()


def repeats(on: On) -> bool:
    """Whether streams can be read a second time, from the beginning."""
    names = named(on)
    if names is None:
        return isinstance(on, Sequence)
    return all(isinstance(name, Path | Source | HeldTable) for name in unnamed(names))


def run_on_spark(
    part: Part,
    on: On,
    timing: Timing,
    target: "SparkTarget",
    partitions: int = 2,
    *,
    emit: str = "changes",
    on_error: Literal["stop", "skip"] = "stop",
    out: str | None = None,
    late: str | None = None,
    written: "AnswerFormat | None" = None,
    memory: int | None = None,
    report: Callable[[Diagnostic], None] = warn,
    interrupt: Interrupt | None = None,
    listen: "Listener" = lambda solution, answered: None,
    ready: Callable[[], None] = lambda: None,
    look: Callable[[Batch], object] = lambda batch: None,
    see: "Callable[[AnswerBlock], None]" = lambda block: None,
    with_until: bool = False,
    observe: "Observe | None" = None,
    mapped: Tally | None = None,
    progress: bool = False,
    warns_live: bool = True,
) -> "Outcome":
    """Runs a part on Spark from streams to a sink; raises what is wrong with the streams when all is answered.

    `memory` is a budget in bytes for each bucket of each stage; `ready` is called when nothing stands against the run
    any more, `look` with every batch that comes in, `observe` with its tick, too, `see` with every block of answers.
    `with_until`, the outcome says until when what holds at the end is guaranteed. At the end it is said how far rules
    made `progress` that concluded nothing. A live run that `warns_live` does not wait for the end.
    """
    from thalweg.runtimes.answer_formats import AnswerFormat
    from thalweg.runtimes.spark.session import need_spark

    need_spark()
    from thalweg.runtimes.continued_output import need_no_output
    from thalweg.runtimes.spark.delivery import Delivery
    from thalweg.runtimes.spark.run import LEDGER, is_claimed, run

    if target.checkpoint is not None and not (target.checkpoint / LEDGER).exists():
        need_no_output(out)
        need_no_output(late)
    interrupt = interrupt or Interrupt()
    how = written or AnswerFormat(times=timing.format, columns=part.answer_columns(emit))
    settings = _settings(timing, emit, on_error, memory, with_until or how.format == "text")

    def deliver(ledger: Path) -> Delivery:
        ready()
        shows_facts = work.job.plan.shows_facts
        return Delivery(ledger, out, late, emit, how, report, listen, work.present, see, shows_facts)

    def looking(words: Dictionary) -> Callable[[Batch], object]:
        looks = [look] if work.look is None else [work.look(words), look]
        return lambda batch: [observer(batch) for observer in looks]

    resumed = is_claimed(target.checkpoint)
    with _streaming(on, timing, mapped) as (items, transports):
        context = _context(settings, timing, report, interrupt, listen, transports)
        work = part.spread(replace(context, progress=progress), partitions)
        options = _unchanging(on, timing, {"--out": out, "--late": late}, how.format, mapped)
        outcome = run(
            work.job,
            items,
            target,
            deliver,
            interrupt,
            report,
            options=options,
            look=looking,
            observe=observe,
            compiles=part.compiles,
            warnings=_live_warnings(report, mapped)
            if warns_live and any(transport.live for transport in transports)
            else None,
        )
    outcome = _ended(outcome, report)
    for diagnostic in chain(() if resumed else work.summary(), _mapped(mapped, resumed)):
        report(diagnostic)
    return outcome


@contextmanager
def _streaming(
    on: On, timing: Timing, mapped: Tally | None
) -> "Iterator[tuple[Callable[[Dictionary], Items], Sequence[Transport]]]":
    """Opens streams for a run that may be resumed, and says how to read them."""
    transports = _opened(on, mapped)

    def items(words: "Dictionary") -> "Items":
        # The streams are read beside the main thread, which is the one that gets Ctrl-C.
        return _items(on, transports, words, timing, Interrupt(), mapped)

    try:
        yield items, transports
    finally:
        for transport in transports:
            transport.close()


def _unchanging(
    on: On, timing: Timing, sinks: dict[str, str | None], format: str, mapped: Tally | None
) -> dict[str, object]:
    """The options of a run that must be the same when it is resumed, apart from those that its settings have."""
    names = named(on)
    return {
        "--stream": None if names is None else [absolute(name) for name in names],
        **{option: name and absolute(on_command_line(name)) for option, name in sinks.items()},
        "--format": format,
        "--tick": timing.clock.tick_length,
        "--zone": timing.zone or "UTC",
        "--times": timing.times,
        **({"--map": list(map(str, mapped.mappings))} if mapped is not None and mapped.mappings else {}),
        **({"`separator` and the like": repr(mapped.stated)} if mapped is not None and mapped.stated else {}),
        **({"`zone`": {name: str(zone) for name, zone in mapped.zones.items()}} if mapped and mapped.zones else {}),
    }


def _ended(outcome: "Outcome", report: Callable[[Diagnostic], None]) -> "Outcome":
    for summary in (outcome.late_warning, outcome.shed_warning):
        if summary is not None:
            report(summary)
    if outcome.malformed is not None:
        raise RejectedError([outcome.malformed])
    return outcome


def run_to(
    part: Part,
    on: On,
    timing: Timing,
    report: Callable[[Diagnostic], None] = warn,
    look: Callable[[Batch], object] | None = None,
    mapped: Tally | None = None,
) -> Any:
    """Runs to the last tick and returns the reasoner; earlier answers are dropped. `look` sees every batch."""
    with start(part, on, timing, "changes", report=report, look=look, explains=True, mapped=mapped) as job:
        for _ in job.pieces():
            pass
        return job.runtime.engine


def _in_turn(looks: Sequence[Callable[[Batch], object]]) -> Callable[[Batch], object] | None:
    """Several that look at batches as one."""
    return (lambda batch: [look(batch) for look in looks]) if looks else None


def _opened(on: On, mapped: Tally | None = None, resumable: bool = False) -> "Sequence[Transport]":
    """The streams, where names say which; `resumable`, those that can be read on by another process."""
    from thalweg.runtimes.inputs import check_resumable, open_all

    transports = open_all(named(on) or (), mapped)
    if resumable:
        check_resumable(transports)
    return transports


def _context(
    settings: Settings,
    timing: Timing,
    report: Callable[[Diagnostic], None],
    interrupt: Interrupt,
    listen: "Listener",
    transports: "Sequence[Transport]",
) -> Context:
    names, may_name = tuple(transport.stream for transport in transports), partial(_may_name_streams, transports)
    return Context(settings, timing.clock, report, interrupt, listen, streams=names, names_streams=may_name)


def _may_name_streams(transports: "Sequence[Transport]") -> bool:
    """Whether what comes may be of a stream with another name than that of what brings it."""
    from thalweg.connectors.readers import names_streams

    return not transports or any(transport.live or names_streams(transport.name) for transport in transports)


def _items(
    on: On,
    transports: "Sequence[Transport]",
    words: Dictionary,
    timing: Timing,
    interrupt: Interrupt,
    mapped: Tally | None,
) -> "Items":
    """The items of a run, from open streams or from Python itself."""
    from thalweg.runtimes.far_times import TimeLimits
    from thalweg.runtimes.inputs import Streams, Values
    from thalweg.runtimes.passing_time import PassingTime

    clock = timing.clock
    limits = TimeLimits(clock, timing.max_ahead_milliseconds, timing.ticks()[2])
    if named(on) is None:
        return Values(on, words, clock, mapped, limits)  # type: ignore[arg-type]
    passing = PassingTime(clock, timing.passing == "wall", timing.idle_seconds, delay=timing.ticks()[2])
    return Streams(transports, words, clock, interrupt, mapped, passing, limits)
