"""The verb `run`."""

import sys
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

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
from thalweg.cli.settings import Delivery, Solving, Spread, size_in_bytes

if TYPE_CHECKING:
    from thalweg.api import Job, Parts, Text, Timing
    from thalweg.languages.registry import Kind
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
        spread = Spread(runtime, master, partitions, checkpoint, tuple(jars or ()), verbose)
        delivery = Delivery(out, late, format, on_error)
        solving = Solving(slide, models, inputs, solve_limit, solver, workers, report)
        timing = api.Timing(tick, from_, to, delay)
        streams = [api.on_command_line(name) for name in stream or ()]
        kinds = frozenset(map(api.kind_of, programs))
        rules = {"--emit": emit != "snapshot"}
        ontologies = {
            "--profile": profile != "rl",
            "--keep": keep,
            "--schema-stream": schema_stream,
            "--literals": literals,
            "--witnesses": witnesses,
            "--as": as_ != "entailment",
            "--topology": topology,
            "--bolts": bolts,
        }
        _refuse_misfits(kinds, rules, ontologies, solving, window, memory)
        need_ontologies(programs, as_)
        if as_ == "consistency" and window is None and keep is None and stream:
            complain(same_tick())
        counts = keep or (None if "answer sets" in kinds else window) or "0"
        with usage():
            reading = api.Reading(
                profile, counts, schema_stream, literals, witnesses, as_, topology, bolts, spread=spread.on_spark
            )
            timing, reading = api.alone(programs, streams, timing, reading)
            first, last, _ = timing.ticks()
            api.Timing(tick, delay=counts).ticks()
            asking = solving.asking(window if "answer sets" in kinds else None)
            asking.check(timing.clock)
            names = signatures_of(inputs, programs)
            budget = None if memory is None else size_in_bytes(memory)
        need_something(streams, first, last)
        if as_ == "consistency" and format != "jsonl":
            refuse("clashes are written as lines of JSON: leave `--format` out")
        _fitting(kinds, spread, delivery, solving)
        reading = api.measured(reading, streams, timing)
        parts = api.load_parts(programs, background or (), tick, reading, asking, names, complain)
        announce_compilation()
        _run(parts, streams, timing, emit, delivery, spread, budget, solving.report)


def _refuse_misfits(
    kinds: "Collection[Kind]",
    rules: Mapping[str, object],
    ontologies: Mapping[str, object],
    solving: Solving,
    window: str | None,
    memory: str | None,
) -> None:
    """Refuses options of kinds that are not there."""
    if "answer sets" in kinds:
        alone = rules if len(kinds) == 1 else {}
        foreign = {} if "ontology" in kinds else ontologies
        misfits({**alone, "--memory": memory, **foreign}, "answer set programs (`.lp`)", only=False)
        return
    misfits(solving.given, "answer set programs (`.lp`)")
    if "ontology" not in kinds:
        misfits({"--window": window}, "answer set programs (`.lp`) and ontologies")
        misfits({"--keep": ontologies["--keep"]}, "ontologies")


def _fitting(kinds: "Collection[Kind]", spread: Spread, delivery: Delivery, solving: Solving) -> None:
    """Refuses what the place to run at, or the way in which answers are written, does not know."""
    if spread.on_spark:
        misfits({"--workers": solving.workers}, "`--runtime spark`", only=False)
    delivery.fit(spread)
    if delivery.is_parquet and "answer sets" in kinds:
        refuse("answer sets cannot be written as Parquet; use `--out answers.jsonl`")
    if delivery.is_parquet and not spread.on_spark:
        refuse("Parquet needs `--runtime spark`; otherwise use `--out answers.jsonl`")
    if solving.models == "all" and delivery.format != "jsonl":
        form = delivery.format
        refuse(f"several answer sets can only be written as `--format jsonl`; use `--models first` with `{form}`")


def _run(
    parts: "Parts",
    streams: "list[Text]",
    timing: "Timing",
    emit: Emit,
    delivery: Delivery,
    spread: Spread,
    budget: int | None,
    report: str | None,
) -> None:
    from thalweg import api
    from thalweg.connectors.interrupt import GRACE, Interrupt
    from thalweg.parts.answer_sets.report import Report as Account
    from thalweg.runtimes.spark.shutdown import leaving_in_time

    interrupt = Interrupt()
    with interrupt.listen(None if spread.on_spark else GRACE), Channel(report) as told:
        # What goes to the standard output is answers.
        account = Account(told.write if report != "-" else lambda line: print(line, end="", file=sys.stderr))
        listen: Listener = account.take if report else lambda solution, answered: None
        open_report = told.open if report and report != "-" else lambda: None

        def started(late: LateLines) -> "Job[Any]":
            return api.start(parts, streams, timing, emit, delivery.on_error, budget, late, complain, interrupt, listen)

        if spread.on_spark:
            with leaving_in_time(interrupt):
                api.run_on_spark(
                    parts,
                    streams,
                    timing,
                    spread.place(),
                    spread.buckets,
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
