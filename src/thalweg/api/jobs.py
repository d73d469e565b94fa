"""Programs, ready to run over their streams: in this process, or on Spark."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Literal, TypeVar
from uuid import uuid4

from thalweg.api.sources import On, named, on_command_line, whole
from thalweg.api.timing import Timing
from thalweg.connectors.interrupt import Interrupt
from thalweg.diagnostics import Diagnostic, Rejected, warn
from thalweg.ir.nodes import Program
from thalweg.model.dictionary import Dictionary
from thalweg.model.fact import Fact
from thalweg.model.time import Clock
from thalweg.runtimes.asking import Asking, check_solver, evaluator

if TYPE_CHECKING:
    # The engine's compiler takes a moment to import, and `check` can do without it.
    from thalweg.connectors.transport import Transport
    from thalweg.engine import Engine
    from thalweg.languages.asp import AspProgram
    from thalweg.runtimes.answer_sets import Listener, Windowed
    from thalweg.runtimes.embedded import Embedded, Items, Reasoner
    from thalweg.runtimes.emit import Piece
    from thalweg.runtimes.spark.run import Outcome, Place

R = TypeVar("R", bound="Reasoner")


@dataclass(frozen=True, slots=True)
class Job(Generic[R]):
    """A program, ready to run over its streams."""

    runtime: "Embedded[R]"
    inputs: "Items"
    transports: "Sequence[Transport]"
    end: Callable[[], None] = lambda: None

    def pieces(self) -> "Iterator[Piece | None]":
        return self.runtime.answers(self.inputs)

    def __enter__(self) -> "Job[R]":
        return self

    def __exit__(self, *_: object) -> None:
        for transport in self.transports:
            transport.close()
        self.end()


def start(
    program: Program,
    on: On,
    timing: Timing,
    emit: str = "snapshot",
    on_error: Literal["stop", "skip"] = "stop",
    memory: int | None = None,
    late: Callable[[str], None] | None = None,
    report: Callable[[Diagnostic], None] = warn,
    interrupt: Interrupt | None = None,
) -> "Job[Engine]":
    """Opens the streams and makes the engine; nothing has been read or evaluated yet."""
    from thalweg.engine import Engine
    from thalweg.runtimes.embedded import Embedded, Settings

    first, last, delay = timing.ticks()
    interrupt = interrupt or Interrupt()
    transports = _opened(on)
    settings = Settings(first, last, delay, emit, on_error)
    engine = Engine(program, first=first, memory=memory)
    explaining = None
    if program.reasons is not None:
        from thalweg.runtimes.clashes import Explaining

        explaining = Explaining(engine, emit)
    runtime = Embedded(
        engine,
        settings,
        fixed=program.fixed,
        explaining=explaining,
        write_late=late,
        report=report,
        interrupt=interrupt,
    )
    return Job(runtime, _items(on, transports, engine.dictionary, timing.clock, interrupt), transports)


def ask(
    program: "AspProgram",
    on: On,
    timing: Timing,
    asking: Asking = Asking(),
    background: Iterable[Fact] = (),
    on_error: Literal["stop", "skip"] = "stop",
    late: Callable[[str], None] | None = None,
    report: Callable[[Diagnostic], None] = warn,
    interrupt: Interrupt | None = None,
    listen: "Listener" = lambda solution, answered: None,
) -> "Job[Windowed]":
    """The same for an answer set program."""
    from thalweg.runtimes.answer_sets import Inputs, Windowed
    from thalweg.runtimes.embedded import Embedded, Settings

    first, last, delay = timing.ticks()
    interrupt = interrupt or Interrupt()
    frame = asking.frame(timing.clock, program)
    answerer = evaluator(program, asking, frame, background)
    transports = _opened(on)
    windowed = Windowed(answerer, Inputs(program, report, answerer.dictionary), frame, first, report, listen, interrupt)
    settings = Settings(first, last, delay, on_error=on_error)
    runtime = Embedded(windowed, settings, emitter=windowed, write_late=late, report=report, interrupt=interrupt)
    inputs = _items(on, transports, windowed.dictionary, timing.clock, interrupt)
    return Job(runtime, inputs, transports, windowed.close)


def run_on_spark(
    program: Program,
    on: On,
    timing: Timing,
    place: "Place",
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
) -> "Outcome":
    """Runs a program on Spark from streams to a sink; raises what is wrong with the streams when all is answered.

    `memory` is a budget in bytes for each bucket of each stage.
    """
    from thalweg.planning.reasons import keep_reasons
    from thalweg.runtimes.clashes import as_clashes
    from thalweg.runtimes.embedded import Settings
    from thalweg.runtimes.emit import spelling
    from thalweg.runtimes.spark.session import need_spark

    need_spark()
    from thalweg.runtimes.spark.deliver import Delivery
    from thalweg.runtimes.spark.job import Job as SparkJob
    from thalweg.runtimes.spark.run import run

    settings = Settings(*timing.ticks(), emit, on_error, memory)
    job = SparkJob(keep_reasons(program), settings, partitions, name=uuid4().hex)
    spell = spelling(format, timing.clock)
    say = spell if program.reasons is None else lambda piece: spell(as_clashes(piece))
    with _streaming(on, timing, {"--out": out, "--late": late}, format) as (items, options):
        outcome = run(
            job,
            items,
            place,
            lambda ledger: Delivery(ledger, out, late, emit, say, report=report),
            interrupt or Interrupt(),
            report,
            options=options,
        )
    return _ended(outcome, report)


def ask_on_spark(
    program: "AspProgram",
    on: On,
    timing: Timing,
    place: "Place",
    partitions: int = 2,
    *,
    asking: Asking = Asking(),
    background: Iterable[Fact] = (),
    on_error: Literal["stop", "skip"] = "stop",
    out: str | None = None,
    late: str | None = None,
    format: str = "jsonl",
    report: Callable[[Diagnostic], None] = warn,
    interrupt: Interrupt | None = None,
    listen: "Listener" = lambda solution, answered: None,
    ready: Callable[[], None] = lambda: None,
) -> "Outcome":
    """The same for an answer set program; `ready` is called when nothing stands against the run any more."""
    from thalweg.runtimes.answer_sets import Inputs
    from thalweg.runtimes.embedded import Settings
    from thalweg.runtimes.emit import spelling
    from thalweg.runtimes.spark.session import need_spark

    need_spark()
    from thalweg.runtimes.spark.asked import asked_job
    from thalweg.runtimes.spark.cell import Cell
    from thalweg.runtimes.spark.combining import Combining
    from thalweg.runtimes.spark.deliver import Delivery
    from thalweg.runtimes.spark.run import run

    first, last, delay = timing.ticks()
    frame = asking.frame(timing.clock, program)
    check_solver(program, asking)
    settings = Settings(first, last, delay, on_error=on_error)
    job = asked_job(program, background, asking, frame, settings, partitions, uuid4().hex)
    combining = Combining(job, listen, report)
    spell = spelling(format, timing.clock)

    def deliver(ledger: Path) -> Delivery:
        ready()
        return Delivery(ledger, out, late, job.settings.emit, spell, combining.pieces)

    with _streaming(on, timing, {"--out": out, "--late": late}, format) as (items, options):
        outcome = run(
            job,
            items,
            place,
            deliver,
            interrupt or Interrupt(),
            report,
            options=options,
            start=Cell,
            look=lambda words: Inputs(program, report, words).only,
        )
    combining.finish()
    return _ended(outcome, report)


@contextmanager
def _streaming(
    on: On, timing: Timing, sinks: dict[str, str | None], format: str
) -> "Iterator[tuple[Callable[[Dictionary], Items], dict[str, object]]]":
    """Opens streams for a run that may be resumed: how to read them, and what must be the same then."""
    names, transports = named(on), _opened(on)

    def items(words: "Dictionary") -> "Items":
        # The streams are read beside the main thread, which is the one that hears of Ctrl-C.
        return _items(on, transports, words, timing.clock, Interrupt())

    options: dict[str, object] = {
        "--stream": None if names is None else [whole(name) for name in names],
        **{option: name and whole(on_command_line(name)) for option, name in sinks.items()},
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


def run_to(program: Program, on: On, timing: "Timing", report: Callable[[Diagnostic], None] = warn) -> "Engine":
    """The engine at the last tick; its answers on the way are forgotten."""
    with start(program, on, timing, "changes", report=report) as job:
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
