"""The verb `run`."""

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

from thalweg.cli import options
from thalweg.cli.deployed_command import GivenSources
from thalweg.cli.errors import (
    announce_compilation,
    complain,
    complaining,
    misfits,
    need_something,
    outcome,
    refuse,
    stoppable,
    usage,
)
from thalweg.cli.picture import Pencil, drawn
from thalweg.cli.settings import Delivery, RuntimeOptions
from thalweg.cli.summary import RunSummary, summarised
from thalweg.cli.write_answers import Channel, LateLines, deliver

if TYPE_CHECKING:
    from thalweg.api import Job, Part, SolveOptions, Tally, Timing
    from thalweg.diagnostics import Diagnostic
    from thalweg.parts.abstraction import AbstractionReport
    from thalweg.parts.answer_sets.solve_report import Report as Account
    from thalweg.runtimes.answer_formats import AnswerFormat
    from thalweg.runtimes.embedded_checkpoint import EmbeddedCheckpoint
    from thalweg.runtimes.emit import AnswerBlock


def run(
    context: typer.Context,
    programs: options.Programs,
    stream: options.Stream = None,
    background: options.Background = None,
    map_: options.Map = None,
    emit: options.Emit = "changes",
    from_: options.From = None,
    to: options.To = None,
    tick: options.Tick = "1s",
    delay: options.Delay = "0s",
    clock: options.ClockOption = "events",
    idle: options.Idle = None,
    max_ahead: options.MaxAhead = "1 d",
    zone: options.Zone = None,
    times: options.Times = None,
    profile: options.Profile = None,
    window: options.Windows = None,
    keep: options.Keep = None,
    slide: options.Slide = None,
    models: options.Models = None,
    inputs: options.Inputs = None,
    solve_limit: options.SolveLimit = None,
    solver: options.Solver = None,
    workers: options.Workers = None,
    report: options.Report = None,
    schema_stream: options.SchemaStream = False,
    literals: options.Literals = False,
    witnesses: options.Witnesses = False,
    as_: options.As = "entailment",
    topology: options.Topology = None,
    bolts: options.Bolts = None,
    classes: options.Classes = None,
    reasoner: options.Reasoner = "auto",
    individuals: options.Individuals = "subjects",
    event: options.Events = None,
    show: options.Show = None,
    prefix: options.Prefix = None,
    late: options.Late = None,
    out: options.Out = None,
    answer_format: options.AnswerFormat = None,
    on_error: options.OnError = "stop",
    runtime: options.Runtime = "embedded",
    master: options.Master = None,
    partitions: options.Partitions = None,
    checkpoint: options.Checkpoint = None,
    jars: options.Jars = None,
    picture: options.Picture = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    memory: options.Memory = None,
) -> None:
    """Run programs over streams.

    Answers are written as soon as they are final: a live stream is answered as it arrives, and Ctrl-C ends it cleanly.
    """
    from thalweg import api
    from thalweg.model.byte_size import size_in_bytes
    from thalweg.runtimes.answer_formats import AnswerFormat
    from thalweg.runtimes.picture_files import check_picture

    with outcome() as ending, stoppable():
        target = RuntimeOptions(runtime, master, partitions, checkpoint, tuple(jars or ()), verbose)
        timing = api.Timing(tick, from_, to, delay, zone, times, clock, idle, max_ahead)
        given_sources = GivenSources.of(context, stream, background, map_)
        streams, facts = given_sources.streams, given_sources.background
        with usage():
            delivery = Delivery.of(out, late, answer_format, on_error)
            if picture is not None:
                check_picture(picture)
            timing.calendar, timing.idle_seconds, timing.max_ahead_milliseconds  # noqa: B018
            budget = None if memory is None else size_in_bytes(memory)
            prefixes = api.given_prefixes(prefix or ())
        kinds: api.KindKeywords = {
            "profile": profile,
            "window": window,
            "keep": keep,
            "schema_stream": schema_stream,
            "literals": literals,
            "witnesses": witnesses,
            "as_": as_,
            "topology": topology,
            "bolts": bolts,
            "classes": classes,
            "reasoner": reasoner,
            "individuals": individuals,
            "prefix": prefixes,
            "slide": slide,
            "models": models,
            "inputs": inputs,
            "solve_limit": solve_limit,
            "solver": solver,
            "workers": workers,
            "event": event,
        }
        request = api.ask(
            programs,
            streams,
            facts,
            timing,
            kinds,
            emit=emit,
            memory=memory,
            show=show,
            report=report,
            mappings=given_sources.mappings,
            on_spark=target.on_spark,
        )
        ending.prefixes = request.prefixes
        complain(*request.warnings)
        first, last, _ = request.timing.ticks()
        need_something(streams, first, last)
        if as_ == "consistency" and not (delivery.is_table or delivery.format in ("jsonl", "text")):
            refuse("clashes are written as lines of JSON, as text or as a table: leave `--format` out")
        _fitting(target, delivery, request.solving)
        tell = complaining(request.prefixes, verbose)
        arguments = programs, facts, tick, request.ontology, request.solving, request.inputs, tell, request.shown
        with _nothing_collected():
            part = api.load_part(*arguments, request.mapped)
        if part.compiles:
            announce_compilation()
        columns, brief = part.answer_columns(emit), request.prefixes.shorten
        written = AnswerFormat(delivery.format, request.timing.format, columns, delivery.is_coloured, brief)
        progress = not quiet and (verbose or sys.stderr.isatty())
        given_run = (
            *(part, streams, request.timing, emit, delivery, written, target, budget, report, tell, request.mapped),
            progress,
            not quiet,
        )
        with summarised(part, quiet) as summary, drawn(picture, written) as pencil:
            _run(*given_run, summary, pencil)


def _fitting(target: RuntimeOptions, delivery: Delivery, solving: "SolveOptions") -> None:
    """Refuses what the runtime, or the way in which answers are written, does not know."""
    if target.on_spark:
        misfits({"--workers": solving.workers}, "`--runtime spark`", only=False)
    delivery.fit(target)
    if solving.models == "all" and not (delivery.is_table or delivery.format in ("jsonl", "text")):
        form = delivery.format
        refuse(f"several answer sets cannot be written as `{form}`: use `jsonl` or a table, or `--models first`")


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Turns garbage collection off while loading: searching what is loaded takes a third of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _run(
    part: "Part",
    streams: list[Any],
    timing: "Timing",
    emit: options.Emit,
    delivery: Delivery,
    written: "AnswerFormat",
    target: RuntimeOptions,
    budget: int | None,
    report: str | None,
    tell: "Callable[[Diagnostic], None]",
    mapped: "Tally | None",
    progress: bool,
    warns_live: bool,
    summary: RunSummary,
    pencil: Pencil,
) -> None:
    from thalweg import api
    from thalweg.connectors.interrupt import GRACE, Interrupt

    def see(block: "AnswerBlock") -> None:
        summary.see(block)
        pencil.see(block)

    def report_and_count(diagnostic: "Diagnostic") -> None:
        summary.hear(diagnostic)
        tell(diagnostic)

    interrupt = Interrupt()
    with interrupt.listen(None if target.on_spark else GRACE), Channel("report", report) as channel:
        account = None if report is None else _account(part, report, channel)
        listen: Callable[[Any, Any], None] = account.take if account is not None else lambda solution, answered: None
        open_report = channel.open if report and report != "-" else lambda: None

        def started(late: LateLines, checkpoint: "EmbeddedCheckpoint | None" = None) -> "Job":
            arguments = (
                part,
                streams,
                timing,
                emit,
                delivery.on_error,
                budget,
                late,
                report_and_count,
                interrupt,
                listen,
            )
            with _nothing_collected():
                job = api.start(
                    *arguments,
                    summary.look,
                    checkpoint=checkpoint,
                    with_until=written.format == "text",
                    observe=pencil.observe if pencil.is_used else None,
                    mapped=mapped,
                    progress=progress,
                    warns_live=warns_live,
                )
            pencil.engine = job.runtime.engine
            # What was loaded stays to the end, and need not be searched for garbage again and again.
            gc.freeze()
            return job

        if target.on_spark:
            from thalweg.runtimes.spark.shutdown import leaving_in_time

            with leaving_in_time(interrupt):
                ended = api.run_on_spark(
                    part,
                    streams,
                    timing,
                    target.target(streams),
                    target.buckets,
                    emit=emit,
                    on_error=delivery.on_error,
                    out=delivery.out,
                    late=delivery.late,
                    written=written,
                    memory=budget,
                    report=report_and_count,
                    interrupt=interrupt,
                    listen=listen,
                    ready=open_report,
                    look=summary.look,
                    see=see,
                    with_until=pencil.is_used,
                    observe=pencil.observe_elsewhere if pencil.is_used else None,
                    mapped=mapped,
                    progress=progress,
                    warns_live=warns_live,
                )
                summary.late = ended.late
            pencil.ends = ended.guaranteed
            pencil.prove(part, timing)
        elif target.checkpoint is None:
            deliver(started, delivery, written, interrupt, open_report, summary=summary, see=see)
        else:
            arguments = target.checkpoint, part, streams, timing, emit, delivery.on_error, budget
            with api.open_checkpoint(
                *arguments, out=delivery.out, late=delivery.late, format=delivery.format, mapped=mapped
            ) as checkpoint:
                if checkpoint.over is not None:
                    tell(checkpoint.over)
                    summary.is_wanted = False
                    return

                def opened(purpose: str, name: str | None) -> Any:
                    sink = checkpoint.open(purpose, name)
                    # What was answered before it was stopped counts.
                    summary.has_answered |= purpose != "late" and checkpoint.state is not None
                    return sink

                resumed = partial(started, checkpoint=checkpoint)
                deliver(resumed, delivery, written, interrupt, open_report, opened, summary, see)
        summary.keeps_late, summary.was_stopped = delivery.late is not None, interrupt.asked
        if account is not None:
            account.finish()


def _account(part: "Part", report: str, channel: Channel) -> "Account | AbstractionReport":
    from thalweg.parts.abstraction import Abstraction, AbstractionReport
    from thalweg.parts.answer_sets.solve_report import Report as Account

    # What goes to the standard output is answers.
    write = channel.write if report != "-" else lambda line: print(line, end="", file=sys.stderr)
    return AbstractionReport(write) if isinstance(part, Abstraction) else Account(write)
