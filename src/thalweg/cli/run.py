"""The verb `run`, for rules and ontologies; answer set programs are asked in `answer_sets`."""

from typing import TYPE_CHECKING, Any

from thalweg.cli.answer_sets import run_answer_sets
from thalweg.cli.asked import Delivery, Solving, Spread, size_in_bytes
from thalweg.cli.deliver import LateLines, deliver
from thalweg.cli.ending import (
    announce_compilation,
    complain,
    misfits,
    need_ontologies,
    need_something,
    outcome,
    refuse,
    same_tick,
    stoppable,
    unmixed,
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

if TYPE_CHECKING:
    from thalweg.api import Job, Text, Timing
    from thalweg.ir.nodes import Program


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

    Answers come as they are decided: a live stream is answered while it flows, and Ctrl-C ends it cleanly.
    """
    from thalweg import api

    with outcome(), stoppable():
        spread = Spread(runtime, master, partitions, checkpoint, tuple(jars or ()), verbose)
        delivery = Delivery(out, late, format, on_error)
        solving = Solving(slide, models, inputs, solve_limit, solver, workers, report)
        timing = api.Timing(tick, from_, to, delay)
        streams = [api.on_command_line(name) for name in stream or ()]
        unmixed(programs)
        if any(map(api.is_answer_sets, programs)):
            foreign = {
                "--emit": emit != "snapshot",
                "--memory": memory,
                "--profile": profile != "rl",
                "--schema-stream": schema_stream,
                "--literals": literals,
                "--witnesses": witnesses,
                "--as": as_ != "entailment",
                "--topology": topology,
                "--bolts": bolts,
            }
            misfits(foreign, "answer set programs (`.lp`)", only=False)
            run_answer_sets(programs, streams, background or (), window, timing, solving, delivery, spread)
            return
        misfits(solving.given, "answer set programs (`.lp`)")
        if not any(map(api.is_ontology, programs)):
            misfits({"--window": window}, "answer set programs (`.lp`) and ontologies")
        need_ontologies(programs, as_)
        if as_ == "consistency" and window is None and stream:
            complain(same_tick())
        with usage():
            reading = api.Reading(
                profile, window or "0", schema_stream, literals, witnesses, as_, topology, bolts, spread=spread.on_spark
            )
            timing, reading = api.alone(programs, streams, timing, reading)
            first, last, _ = timing.ticks()
            api.Timing(tick, delay=window or "0").ticks()
            budget = None if memory is None else size_in_bytes(memory)
        need_something(streams, first, last)
        if as_ == "consistency" and format != "jsonl":
            refuse("clashes are told as lines of JSON: leave `--format` out")
        _fitting(spread, delivery)
        reading = api.measured(reading, streams, timing)
        program = api.load(*programs, background=background or (), tick=tick, reading=reading, report=complain)
        announce_compilation()
        if spread.on_spark:
            _run_on_spark(program, streams, timing, emit, delivery, spread, budget)
        else:
            _run_here(program, streams, timing, emit, delivery, budget)


def _fitting(spread: Spread, delivery: Delivery) -> None:
    """Refuses what the place to run at does not know."""
    delivery.fit(spread)
    if delivery.is_parquet and not spread.on_spark:
        refuse("Parquet is written with `--runtime spark`; here write `--out answers.jsonl`")


def _run_here(
    program: "Program", streams: "list[Text]", timing: "Timing", emit: Emit, delivery: Delivery, budget: int | None
) -> None:
    from thalweg import api
    from thalweg.connectors.interrupt import GRACE, Interrupt

    interrupt = Interrupt()

    def started(late: LateLines) -> "Job[Any]":
        return api.start(program, streams, timing, emit, delivery.on_error, budget, late, complain, interrupt)

    with interrupt.listen(GRACE):
        deliver(started, delivery, timing.clock, interrupt)


def _run_on_spark(
    program: "Program",
    streams: "list[Text]",
    timing: "Timing",
    emit: Emit,
    delivery: Delivery,
    spread: Spread,
    budget: int | None,
) -> None:
    from thalweg import api
    from thalweg.connectors.interrupt import Interrupt
    from thalweg.runtimes.spark.shutdown import leaving_in_time

    interrupt = Interrupt()
    with interrupt.listen(), leaving_in_time(interrupt):
        api.run_on_spark(
            program,
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
        )
