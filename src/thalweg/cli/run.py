"""The verb `run`."""

import sys
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from thalweg.cli.deliver import Channel, LateLines, deliver
from thalweg.cli.errors import (
    announce_compilation,
    complain,
    misfits,
    need_ontologies,
    need_something,
    outcome,
    refuse,
    same_tick,
    signatures_of,
    stoppable,
    understood,
    usage,
)
from thalweg.cli.options import (
    As,
    Background,
    Bolts,
    Checkpoint,
    Delay,
    Emit,
    Format,
    From,
    Inputs,
    Jars,
    Keep,
    Late,
    Literals,
    Master,
    Memory,
    Models,
    OnError,
    Out,
    Partitions,
    Profile,
    Programs,
    Report,
    Runtime,
    SchemaStream,
    Slide,
    SolveLimit,
    Solver,
    Stream,
    Tick,
    To,
    Topology,
    Verbose,
    Windows,
    Witnesses,
    Workers,
)
from thalweg.cli.settings import Delivery, RuntimeOptions, Solving, size_in_bytes

if TYPE_CHECKING:
    from thalweg.api import Job, Part, Text, Timing
    from thalweg.parts.answer_sets.windowed import Listener


def run(
    programs: Programs,
    stream: Stream = None,
    background: Background = None,
    emit: Emit = "snapshot",
    from_: From = None,
    to: To = None,
    tick: Tick = "1s",
    delay: Delay = "0s",
    profile: Profile = "rl",
    window: Windows = None,
    keep: Keep = None,
    slide: Slide = None,
    models: Models = None,
    inputs: Inputs = None,
    solve_limit: SolveLimit = None,
    solver: Solver = None,
    workers: Workers = None,
    report: Report = None,
    schema_stream: SchemaStream = False,
    literals: Literals = False,
    witnesses: Witnesses = False,
    as_: As = "entailment",
    topology: Topology = None,
    bolts: Bolts = None,
    late: Late = None,
    out: Out = None,
    format: Format = "jsonl",
    on_error: OnError = "stop",
    runtime: Runtime = "embedded",
    master: Master = None,
    partitions: Partitions = None,
    checkpoint: Checkpoint = None,
    jars: Jars = None,
    verbose: Verbose = False,
    memory: Memory = None,
) -> None:
    """Run programs over streams.

    Answers are written as soon as they are final: a live stream is answered as it arrives, and Ctrl-C ends it cleanly.
    """
    from thalweg import api

    with outcome(), stoppable():
        target = RuntimeOptions(runtime, master, partitions, checkpoint, tuple(jars or ()), verbose)
        delivery = Delivery(out, late, format, on_error)
        solving = Solving(slide, models, inputs, solve_limit, solver, workers, report)
        timing = api.Timing(tick, from_, to, delay)
        streams = [api.on_command_line(name) for name in stream or ()]
        known = understood(programs)
        given = {
            "--emit": emit != "snapshot",
            "--memory": memory,
            "--profile": profile != "rl",
            "--keep": keep,
            "--schema-stream": schema_stream,
            "--literals": literals,
            "--witnesses": witnesses,
            "--as": as_ != "entailment",
            "--topology": topology,
            "--bolts": bolts,
        }
        _refuse_misfits(known, given, solving, window)
        need_ontologies(programs, as_)
        if as_ == "consistency" and window is None and keep is None and stream:
            complain(same_tick())
        # With answer sets a window is what they are asked over.
        slides = "--slide" in known
        counts = keep or (None if slides else window) or "0"
        with usage():
            ontology = api.OntologyOptions(
                profile, counts, schema_stream, literals, witnesses, as_, topology, bolts, spread=target.on_spark
            )
            timing, ontology = api.default_timing(programs, streams, timing, ontology)
            first, last, _ = timing.ticks()
            api.Timing(tick, delay=counts).ticks()
            asked = solving.options(window if slides else None)
            asked.check(timing.clock)
            names = signatures_of(inputs, programs)
            budget = None if memory is None else size_in_bytes(memory)
        need_something(streams, first, last)
        if as_ == "consistency" and format != "jsonl":
            refuse("clashes are written as lines of JSON: leave `--format` out")
        _fitting(known, target, delivery, solving)
        ontology = api.with_frequencies(ontology, streams, timing)
        part = api.load_part(programs, background or (), tick, ontology, asked, names, complain)
        announce_compilation()
        _run(part, streams, timing, emit, delivery, target, budget, solving.report)


def _refuse_misfits(known: Collection[str], given: Mapping[str, object], solving: Solving, window: str | None) -> None:
    """Refuses options that have no meaning for any of the programs."""
    if "--slide" in known:
        # Answer set programs cannot keep to a budget, whatever they run beside.
        foreign = {name: value for name, value in given.items() if name not in known or name == "--memory"}
        misfits(foreign, "answer set programs (`.lp`)", only=False)
        return
    misfits(solving.given, "answer set programs (`.lp`)")
    if "--window" not in known:
        misfits({"--window": window}, "answer set programs (`.lp`) and ontologies")
        misfits({"--keep": given["--keep"]}, "ontologies")


def _fitting(known: Collection[str], target: RuntimeOptions, delivery: Delivery, solving: Solving) -> None:
    """Refuses what the runtime, or the way in which answers are written, does not know."""
    if target.on_spark:
        misfits({"--workers": solving.workers}, "`--runtime spark`", only=False)
    delivery.fit(target)
    if delivery.is_parquet and "--slide" in known:
        refuse("answer sets cannot be written as Parquet; use `--out answers.jsonl`")
    if delivery.is_parquet and not target.on_spark:
        refuse("Parquet needs `--runtime spark`; otherwise use `--out answers.jsonl`")
    if solving.models == "all" and delivery.format != "jsonl":
        form = delivery.format
        refuse(f"several answer sets can only be written as `--format jsonl`; use `--models first` with `{form}`")


def _run(
    part: "Part",
    streams: "list[Text]",
    timing: "Timing",
    emit: Emit,
    delivery: Delivery,
    target: RuntimeOptions,
    budget: int | None,
    report: str | None,
) -> None:
    from thalweg import api
    from thalweg.connectors.interrupt import GRACE, Interrupt
    from thalweg.parts.answer_sets.report import Report as Account
    from thalweg.runtimes.spark.shutdown import leaving_in_time

    interrupt = Interrupt()
    with interrupt.listen(None if target.on_spark else GRACE), Channel(report) as told:
        # What goes to the standard output is answers.
        account = Account(told.write if report != "-" else lambda line: print(line, end="", file=sys.stderr))
        listen: Listener = account.take if report else lambda solution, answered: None
        open_report = told.open if report and report != "-" else lambda: None

        def started(late: LateLines) -> "Job":
            return api.start(part, streams, timing, emit, delivery.on_error, budget, late, complain, interrupt, listen)

        if target.on_spark:
            with leaving_in_time(interrupt):
                api.run_on_spark(
                    part,
                    streams,
                    timing,
                    target.target(),
                    target.buckets,
                    emit=emit,
                    on_error=delivery.on_error,
                    out=delivery.out,
                    late=delivery.late,
                    format=delivery.format,
                    memory=budget,
                    report=complain,
                    interrupt=interrupt,
                    listen=listen,
                    ready=open_report,
                )
        else:
            deliver(started, delivery, timing.clock, interrupt, open_report)
        if report:
            account.finish()
