"""Programs, ready to run over their streams: in this process, or on Spark."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar
from uuid import uuid4

from thalweg.api.parts import Parts
from thalweg.api.sources import On, named, on_command_line, whole
from thalweg.api.timing import Timing
from thalweg.connectors.interrupt import Interrupt
from thalweg.diagnostics import Diagnostic, Rejected, warn
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import Clock
from thalweg.parts.answer_sets.solve_options import check_solver, evaluator

if TYPE_CHECKING:
    # The engine's compiler takes a moment to import, and `check` can do without it.
    from thalweg.connectors.transport import Transport
    from thalweg.model.event import Batch
    from thalweg.parts.answer_sets.windowed import Listener
    from thalweg.runtimes.consistency.clashes import Explaining
    from thalweg.runtimes.embedded import Embedded, Items, Reasoner, Settings
    from thalweg.runtimes.emit import Emitter, Piece, Spell
    from thalweg.runtimes.spark.job import Job as SparkJob
    from thalweg.runtimes.spark.run import Outcome, Place
    from thalweg.runtimes.spark.worker_cache import Start

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
    parts: Parts,
    on: On,
    timing: Timing,
    emit: str = "snapshot",
    on_error: Literal["stop", "skip"] = "stop",
    memory: int | None = None,
    late: Callable[[str], None] | None = None,
    report: Callable[[Diagnostic], None] = warn,
    interrupt: Interrupt | None = None,
    listen: "Listener" = lambda solution, answered: None,
) -> "Job[Any]":
    """Opens the streams and makes what reasons; nothing has been read or evaluated yet."""
    from thalweg.runtimes.embedded import Embedded, Settings

    settings = Settings(*timing.ticks(), emit, on_error, memory)
    interrupt = interrupt or Interrupt()
    evaluated = _evaluated(parts, settings, timing.clock, report, interrupt, listen)
    try:
        transports = _opened(on)
    except BaseException:
        evaluated.close()
        raise
    runtime = Embedded(
        evaluated.reasoner,
        settings,
        fixed=parts.rules is not None and parts.rules.static_schema,
        emitter=evaluated.emitter,
        explaining=evaluated.explaining,
        write_late=late,
        report=report,
        interrupt=interrupt,
    )
    items = _items(on, transports, evaluated.reasoner.dictionary, timing.clock, interrupt)
    return Job(runtime, items, transports, evaluated.close)


@dataclass(frozen=True, slots=True)
class _Evaluated:
    """What reasons about parts; what it answers with besides, where that is not the usual."""

    reasoner: "Reasoner"
    emitter: "Emitter | None" = None
    explaining: "Explaining | None" = None
    close: Callable[[], None] = lambda: None


def _evaluated(
    parts: Parts,
    settings: "Settings",
    clock: Clock,
    report: Callable[[Diagnostic], None],
    interrupt: Interrupt,
    listen: "Listener",
) -> _Evaluated:
    from thalweg.engine import Engine

    if parts.answer_sets is None:
        assert parts.rules is not None
        engine = Engine(parts.rules, first=settings.first, memory=settings.memory)
        if parts.rules.reasons is None:
            return _Evaluated(engine)
        from thalweg.runtimes.consistency.clashes import Explaining

        return _Evaluated(engine, explaining=Explaining(engine, settings.emit))
    from thalweg.parts.answer_sets.windowed import Inputs, Windowed

    frame = parts.asking.frame(clock, parts.answer_sets)
    if not parts.is_mixed:
        answerer = evaluator(parts.answer_sets, parts.asking, frame, parts.background)
        inputs = Inputs(parts.answer_sets, report, answerer.dictionary)
        windowed = Windowed(answerer, inputs, frame, settings.first, report, listen, interrupt)
        return _Evaluated(windowed, windowed, close=windowed.close)
    from thalweg.parts.cascade import Chain
    from thalweg.runtimes.emit import EMITTERS

    wiring, words = parts.wiring(), Dictionary()
    derived = [name for _, name in wiring.reads]
    answerer = evaluator(parts.answer_sets, parts.asking, frame, parts.background, None, words, derived)
    inputs = Inputs(parts.answer_sets, report, words)
    on_change = parts.asking.window is None and parts.answer_sets.window is None
    windowed = Windowed(answerer, inputs, frame, settings.first, report, listen, interrupt, on_change=on_change)
    chain = Chain(wiring, windowed, answerer, EMITTERS[settings.emit](), settings.first, report)
    return _Evaluated(chain, chain, close=chain.close)


def run_on_spark(
    parts: Parts,
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
    listen: "Listener" = lambda solution, answered: None,
    ready: Callable[[], None] = lambda: None,
) -> "Outcome":
    """Runs parts on Spark from streams to a sink; raises what is wrong with the streams when all is answered.

    `memory` is a budget in bytes for each bucket of each stage; `ready` is called when nothing stands against the run
    any more.
    """
    from thalweg.runtimes.embedded import Settings
    from thalweg.runtimes.emit import spelling
    from thalweg.runtimes.spark.session import need_spark

    if parts.is_mixed:
        message = "rules and answer set programs can run together only with `--runtime embedded`"
        raise Rejected([Diagnostic("E403", message, help="leave out `--runtime spark`, or run them separately")])
    need_spark()
    from thalweg.runtimes.spark.deliver import Delivery
    from thalweg.runtimes.spark.run import run

    settings = Settings(*timing.ticks(), emit, on_error, memory)
    spread = _spread(parts, settings, timing.clock, partitions, spelling(format, timing.clock), report, listen)

    def deliver(ledger: Path) -> Delivery:
        ready()
        return Delivery(ledger, out, late, spread.job.settings.emit, spread.spell, spread.pieces, report=report)

    with _streaming(on, timing, {"--out": out, "--late": late}, format) as (items, options):
        outcome = run(
            spread.job,
            items,
            place,
            deliver,
            interrupt or Interrupt(),
            report,
            options=options,
            start=spread.start,
            look=spread.look,
        )
    spread.finish()
    return _ended(outcome, report)


@dataclass(frozen=True, slots=True)
class _Spread:
    """A job for Spark, what does its work in a bucket, and what becomes of the answers in the driver."""

    job: "SparkJob"
    start: "Start"
    spell: "Spell"
    pieces: Any = None
    look: "Callable[[Dictionary], Callable[[Batch], object]] | None" = None
    finish: Callable[[], None] = lambda: None


def _spread(
    parts: Parts,
    settings: "Settings",
    clock: Clock,
    partitions: int,
    spell: "Spell",
    report: Callable[[Diagnostic], None],
    listen: "Listener",
) -> _Spread:
    program = parts.answer_sets
    if program is None:
        from thalweg.planning.route_justifications import keep_reasons
        from thalweg.runtimes.consistency.clashes import as_clashes
        from thalweg.runtimes.spark.job import Job as SparkJob
        from thalweg.runtimes.spark.worker import Worker

        assert parts.rules is not None
        rules = SparkJob(keep_reasons(parts.rules), settings, partitions, name=uuid4().hex)
        return _Spread(rules, Worker, spell if parts.rules.reasons is None else lambda one: spell(as_clashes(one)))
    from thalweg.parts.answer_sets.spark_cell import Cell
    from thalweg.parts.answer_sets.spark_combine import Combining
    from thalweg.parts.answer_sets.spark_job import asked_job
    from thalweg.parts.answer_sets.windowed import Inputs

    frame = parts.asking.frame(clock, program)
    check_solver(program, parts.asking)
    job = asked_job(program, parts.background, parts.asking, frame, settings, partitions, uuid4().hex)
    combining = Combining(job, listen, report)
    return _Spread(
        job, Cell, spell, combining.pieces, lambda words: Inputs(program, report, words).only, combining.finish
    )


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


def run_to(parts: Parts, on: On, timing: "Timing", report: Callable[[Diagnostic], None] = warn) -> Any:
    """What reasons, at the last tick; its answers on the way are forgotten."""
    with start(parts, on, timing, "changes", report=report) as job:
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
