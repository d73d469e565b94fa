"""Parts, ready to run over their streams: in this process, or on Spark."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from thalweg.api.sources import On, absolute, named, on_command_line
from thalweg.api.timing import Timing
from thalweg.connectors.interrupt import Interrupt
from thalweg.diagnostics import Diagnostic, Rejected, warn
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import Clock
from thalweg.parts.part import Context, Part

if TYPE_CHECKING:
    # The engine's compiler takes a moment to import, and `check` can do without it.
    from thalweg.connectors.transport import Transport
    from thalweg.parts.answer_sets.windowed import Listener
    from thalweg.runtimes.embedded import Embedded, Items
    from thalweg.runtimes.emit import AnswerBlock
    from thalweg.runtimes.spark.run import Outcome, SparkTarget


@dataclass(frozen=True, slots=True)
class Job:
    """A part, ready to run over its streams."""

    runtime: "Embedded[Any]"
    inputs: "Items"
    transports: "Sequence[Transport]"
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
    emit: str = "snapshot",
    on_error: Literal["stop", "skip"] = "stop",
    memory: int | None = None,
    late: Callable[[str], None] | None = None,
    report: Callable[[Diagnostic], None] = warn,
    interrupt: Interrupt | None = None,
    listen: "Listener" = lambda solution, answered: None,
) -> Job:
    """Opens the streams and makes what reasons; nothing has been read or evaluated yet."""
    from thalweg.runtimes.embedded import Embedded, Settings

    settings = Settings(*timing.ticks(), emit, on_error, memory)
    interrupt = interrupt or Interrupt()
    evaluation = part.start(Context(settings, timing.clock, report, interrupt, listen))
    try:
        transports = _opened(on)
    except BaseException:
        evaluation.close()
        raise
    runtime = Embedded(
        evaluation.reasoner,
        settings,
        emitter=evaluation.emitter,
        advance=evaluation.advance,
        present=evaluation.present,
        look=evaluation.look,
        summary=evaluation.summary,
        write_late=late,
        report=report,
        interrupt=interrupt,
    )
    items = _items(on, transports, evaluation.reasoner.dictionary, timing.clock, interrupt)
    return Job(runtime, items, transports, evaluation.close)


def run_on_spark(
    part: Part,
    on: On,
    timing: Timing,
    target: "SparkTarget",
    partitions: int = 2,
    *,
    emit: str = "snapshot",
    on_error: Literal["stop", "skip"] = "stop",
    out: str | None = None,
    late: str | None = None,
    format: str = "jsonl",
    memory: int | None = None,
    report: Callable[[Diagnostic], None] = warn,
    interrupt: Interrupt | None = None,
    listen: "Listener" = lambda solution, answered: None,
    ready: Callable[[], None] = lambda: None,
) -> "Outcome":
    """Runs a part on Spark from streams to a sink; raises what is wrong with the streams when all is answered.

    `memory` is a budget in bytes for each bucket of each stage; `ready` is called when nothing stands against the run
    any more.
    """
    from thalweg.runtimes.embedded import Settings
    from thalweg.runtimes.emit import formatter
    from thalweg.runtimes.spark.session import need_spark

    need_spark()
    from thalweg.runtimes.spark.delivery import Delivery
    from thalweg.runtimes.spark.run import is_claimed, run

    settings = Settings(*timing.ticks(), emit, on_error, memory)
    interrupt = interrupt or Interrupt()
    work = part.spread(Context(settings, timing.clock, report, interrupt, listen), partitions)
    write = formatter(format, timing.clock)

    def deliver(ledger: Path) -> Delivery:
        ready()
        presented = lambda block: write(work.present(block))  # noqa: E731
        return Delivery(ledger, out, late, work.job.settings.emit, presented, work.combine, report=report)

    resumed = is_claimed(target.checkpoint)
    with _streaming(on, timing, {"--out": out, "--late": late}, format) as (items, options):
        outcome = run(
            work.job, items, target, deliver, interrupt, report, options=options, start=work.start, look=work.look
        )
    work.finish()
    outcome = _ended(outcome, report)
    for found in () if resumed else work.summary():
        report(found)
    return outcome


@contextmanager
def _streaming(
    on: On, timing: Timing, sinks: dict[str, str | None], format: str
) -> "Iterator[tuple[Callable[[Dictionary], Items], dict[str, object]]]":
    """Opens streams for a run that may be resumed: how to read them, and what must be the same then."""
    names, transports = named(on), _opened(on)

    def items(words: "Dictionary") -> "Items":
        # The streams are read beside the main thread, which is the one that gets Ctrl-C.
        return _items(on, transports, words, timing.clock, Interrupt())

    options: dict[str, object] = {
        "--stream": None if names is None else [absolute(name) for name in names],
        **{option: name and absolute(on_command_line(name)) for option, name in sinks.items()},
        "--format": format,
        "--tick": timing.clock.tick_length,
    }
    try:
        yield items, options
    finally:
        for transport in transports:
            transport.close()


def _ended(outcome: "Outcome", report: Callable[[Diagnostic], None]) -> "Outcome":
    for summary in (outcome.late_told, outcome.shed_told):
        if summary is not None:
            report(summary)
    if outcome.malformed is not None:
        raise Rejected([outcome.malformed])
    return outcome


def run_to(part: Part, on: On, timing: Timing, report: Callable[[Diagnostic], None] = warn) -> Any:
    """What reasons, at the last tick; its answers on the way are forgotten."""
    with start(part, on, timing, "changes", report=report) as job:
        for _ in job.pieces():
            pass
        return job.runtime.engine


def _opened(on: On) -> "Sequence[Transport]":
    """The streams, where names say which."""
    from thalweg.runtimes.inputs import open_all

    return open_all(named(on) or ())


def _items(on: On, transports: "Sequence[Transport]", words: Dictionary, clock: Clock, interrupt: Interrupt) -> "Items":
    """What comes, from streams that are open or from Python itself."""
    from thalweg.runtimes.inputs import Streams, Values

    if named(on) is None:
        return Values(on, words)  # type: ignore[arg-type]
    return Streams(transports, words, clock, interrupt)
