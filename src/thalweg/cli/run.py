"""The verb `run`."""

import gc
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from thalweg.cli import options
from thalweg.cli.errors import (
    announce_compilation,
    complain,
    complaining,
    misfits,
    need_ontologies,
    need_something,
    outcome,
    profile_of_events,
    refuse,
    same_tick,
    signatures_of,
    stoppable,
    understood,
    usage,
)
from thalweg.cli.settings import Delivery, RuntimeOptions, size_in_bytes
from thalweg.cli.write_answers import Channel, LateLines, deliver
from thalweg.model.predicate import Predicate

if TYPE_CHECKING:
    from thalweg.api import Job, Part, SolveOptions, Tally, Text, Timing
    from thalweg.diagnostics import Diagnostic
    from thalweg.parts.abstraction import AbstractionReport
    from thalweg.parts.answer_sets.solve_report import Report as Account
    from thalweg.runtimes.embedded_checkpoint import EmbeddedCheckpoint


def run(
    programs: options.Programs,
    stream: options.Stream = None,
    background: options.Background = None,
    map_: options.Map = None,
    emit: options.Emit = "changes",
    from_: options.From = None,
    to: options.To = None,
    tick: options.Tick = "1s",
    delay: options.Delay = "0s",
    zone: options.Zone = "UTC",
    times: options.Times = None,
    profile: options.Profile = "rl",
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
    event: options.Events = None,
    show: options.Show = None,
    prefix: options.Prefix = None,
    late: options.Late = None,
    out: options.Out = None,
    format: options.Format = "jsonl",
    on_error: options.OnError = "stop",
    runtime: options.Runtime = "embedded",
    master: options.Master = None,
    partitions: options.Partitions = None,
    checkpoint: options.Checkpoint = None,
    jars: options.Jars = None,
    verbose: options.Verbose = False,
    memory: options.Memory = None,
) -> None:
    """Run programs over streams.

    Answers are written as soon as they are final: a live stream is answered as it arrives, and Ctrl-C ends it cleanly.
    """
    from thalweg import api

    with outcome(), stoppable():
        target = RuntimeOptions(runtime, master, partitions, checkpoint, tuple(jars or ()), verbose)
        delivery = Delivery(out, late, format, on_error)
        timing = api.Timing(tick, from_, to, delay, zone, times)
        streams = [api.on_command_line(name) for name in stream or ()]
        known = understood(programs)
        profile = profile_of_events(known, profile)
        given = {
            "--emit": emit != "changes",
            "--memory": memory,
            "--profile": profile != "rl",
            "--keep": keep,
            "--schema-stream": schema_stream,
            "--literals": literals,
            "--witnesses": witnesses,
            "--as": as_ != "entailment",
            "--topology": topology,
            "--bolts": bolts,
            "--classes": classes,
            "--reasoner": reasoner != "auto",
        }
        solving = {
            "--slide": slide,
            "--models": models,
            "--inputs": inputs,
            "--solve-limit": solve_limit,
            "--solver": solver,
            "--workers": workers,
            "--report": report if as_ != "abstraction" else None,
        }
        _refuse_misfits(known, given, solving, window)
        _refuse_for_queries(known, {**given, "--show": show})
        _refuse_for_events(known, {**given, "--show": show}, window, event, _has_rules(programs))
        need_ontologies(programs, as_)
        if as_ == "consistency" and window is None and keep is None and stream:
            complain(same_tick())
        # With answer sets a window is what they are asked over.
        slides = "--slide" in known
        counts = keep or (None if slides else window) or "0"
        with usage():
            ontology = api.OntologyOptions(
                profile,
                counts,
                schema_stream,
                literals,
                witnesses,
                as_,
                topology,
                bolts,
                spread=target.on_spark,
                classes=classes,
                reasoner=reasoner,
                prefixes=tuple(api.given_prefixes(prefix or ()).items()),
            )
            timing, ontology = api.default_timing(programs, streams, timing, ontology)
            first, last, _ = timing.ticks()
            timing.calendar  # noqa: B018
            api.Timing(tick, delay=counts).ticks()
            asked = api.SolveOptions(
                models or "first", window if slides else None, slide, solve_limit, solver or "auto", workers
            )
            asked.check(timing.clock)
            names = signatures_of(inputs, programs)
            prefixes = api.prefixes_of([*programs, *(background or ())], api.given_prefixes(prefix or ()))
            shown = None if show is None else api.predicates_of(show, prefixes)
            if event:
                asked_events = api.predicates_of([Predicate(name, 1) for name in event], prefixes)
                shown = (*(shown or ()), *asked_events)
            budget = None if memory is None else size_in_bytes(memory)
        need_something(streams, first, last)
        if as_ == "consistency" and format != "jsonl":
            refuse("clashes are written as lines of JSON: leave `--format` out")
        if as_ == "abstraction" and emit != "changes":
            refuse("an event is a point of the output: `--emit` cannot be used with `--as abstraction`")
        _fitting(known, target, delivery, asked)
        ontology = api.with_frequencies(ontology, streams, timing)
        tell = complaining(prefixes, verbose)
        mapped = api.mapped_by(map_ or (), programs, background or (), api.given_prefixes(prefix or ()))
        part = api.load_part(programs, background or (), tick, ontology, asked, names, tell, shown, mapped)
        if as_ != "abstraction":
            announce_compilation()
        _run(part, streams, timing, emit, delivery, target, budget, report, tell, mapped)


def _refuse_misfits(
    known: Collection[str], given: Mapping[str, object], solving: Mapping[str, object], window: str | None
) -> None:
    """Refuses options that have no meaning for any of the programs."""
    if "--slide" in known:
        # Answer set programs cannot keep to a budget, whatever they run beside.
        foreign = {name: value for name, value in given.items() if name not in known or name == "--memory"}
        misfits(foreign, "answer set programs (`.lp`)", only=False)
        return
    misfits(solving, "answer set programs (`.lp`)")
    if "--window" not in known:
        misfits({"--window": window}, "answer set programs (`.lp`) and ontologies")
        misfits({"--keep": given["--keep"]}, "ontologies")


def _refuse_for_queries(known: Collection[str], given: Mapping[str, object]) -> None:
    """Refuses what has no meaning where there are continuous queries, and nothing else."""
    if "--emit" not in known and "--slide" not in known:
        misfits(given, "continuous queries (`.rspql`)", only=False)


def _refuse_for_events(
    known: Collection[str], given: Mapping[str, object], window: str | None, event: list[str] | None, beside: bool
) -> None:
    """Refuses what has no meaning for events, and what has a meaning for them only; rules may stand `beside` them."""
    if "--event" not in known:
        misfits({"--event": event}, "events (`.tw`)")
    else:
        others = _BESIDE_EVENTS if beside else ("--reasoner",)
        foreign = {name: value for name, value in given.items() if name not in others}
        misfits({**foreign, "--window": None if beside else window}, "events (`.tw`)", only=False)


def _has_rules(programs: Sequence[Path]) -> bool:
    """Whether there are rules or answer sets that are not an ontology's."""
    from thalweg.api import language_of_program

    languages = map(language_of_program, programs)
    return any(not one.specialised and one.understands & {"--emit", "--slide"} for one in languages)


# What shapes the answers of rules and answer sets has a meaning where they stand beside events.
_BESIDE_EVENTS: Final = ("--reasoner", "--emit", "--show")


def _fitting(known: Collection[str], target: RuntimeOptions, delivery: Delivery, asked: "SolveOptions") -> None:
    """Refuses what the runtime, or the way in which answers are written, does not know."""
    if target.on_spark:
        misfits({"--workers": asked.workers}, "`--runtime spark`", only=False)
    delivery.fit(target)
    if delivery.is_parquet and "--slide" in known:
        refuse("answer sets cannot be written as Parquet; use `--out answers.jsonl`")
    if delivery.is_parquet and not target.on_spark:
        refuse("Parquet needs `--runtime spark`; otherwise use `--out answers.jsonl`")
    if asked.models == "all" and delivery.format != "jsonl":
        form = delivery.format
        refuse(f"several answer sets can only be written as `--format jsonl`; use `--models first` with `{form}`")


def _run(
    part: "Part",
    streams: "list[Text]",
    timing: "Timing",
    emit: options.Emit,
    delivery: Delivery,
    target: RuntimeOptions,
    budget: int | None,
    report: str | None,
    tell: "Callable[[Diagnostic], None]",
    mapped: "Tally | None",
) -> None:
    from thalweg import api
    from thalweg.connectors.interrupt import GRACE, Interrupt

    interrupt = Interrupt()
    with interrupt.listen(None if target.on_spark else GRACE), Channel("report", report) as channel:
        account = None if report is None else _account(part, report, channel)
        listen: Callable[[Any, Any], None] = account.take if account is not None else lambda solution, answered: None
        open_report = channel.open if report and report != "-" else lambda: None

        def started(late: LateLines, checkpoint: "EmbeddedCheckpoint | None" = None) -> "Job":
            given = part, streams, timing, emit, delivery.on_error, budget
            job = api.start(*given, late, tell, interrupt, listen, checkpoint=checkpoint, mapped=mapped)
            # What was loaded stays to the end, and need not be searched for garbage again and again.
            gc.freeze()
            return job

        if target.on_spark:
            from thalweg.runtimes.spark.shutdown import leaving_in_time

            with leaving_in_time(interrupt):
                api.run_on_spark(
                    part,
                    streams,
                    timing,
                    target.target(streams),
                    target.buckets,
                    emit=emit,
                    on_error=delivery.on_error,
                    out=delivery.out,
                    late=delivery.late,
                    format=delivery.format,
                    memory=budget,
                    report=tell,
                    interrupt=interrupt,
                    listen=listen,
                    ready=open_report,
                    mapped=mapped,
                )
        elif target.checkpoint is None:
            deliver(started, delivery, timing.format, interrupt, open_report)
        else:
            given = target.checkpoint, part, streams, timing, emit, delivery.on_error, budget
            with api.open_checkpoint(
                *given, out=delivery.out, late=delivery.late, format=delivery.format, mapped=mapped
            ) as checkpoint:
                if checkpoint.over is not None:
                    tell(checkpoint.over)
                    return
                resumed = partial(started, checkpoint=checkpoint)
                deliver(resumed, delivery, timing.format, interrupt, open_report, checkpoint.open)
        if account is not None:
            account.finish()


def _account(part: "Part", report: str, channel: Channel) -> "Account | AbstractionReport":
    from thalweg.parts.abstraction import Abstraction, AbstractionReport
    from thalweg.parts.answer_sets.solve_report import Report as Account

    # What goes to the standard output is answers.
    write = channel.write if report != "-" else lambda line: print(line, end="", file=sys.stderr)
    return AbstractionReport(write) if isinstance(part, Abstraction) else Account(write)
