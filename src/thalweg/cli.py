"""The verbs.

Exit codes: 0 done · 1 the program or data was rejected (diagnostics on stderr, nothing half-written) · 2 wrong usage
· 3 it failed while running (what had been delivered stays delivered).

Only typer is imported up here: a verb imports what it needs, so that help comes at once.
"""

import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

if TYPE_CHECKING:
    from thalweg.api import Job, Timing
    from thalweg.connectors.transport import Sink
    from thalweg.diagnostics import Diagnostic
    from thalweg.languages.asp import AspProgram
    from thalweg.model.fact import Fact
    from thalweg.planning.explain import Explanation
    from thalweg.planning.explain_answer_sets import ExplainedAnswerSets
    from thalweg.planning.explain_topology import ExplainedTopology
    from thalweg.runtimes.asking import Asking
    from thalweg.runtimes.emit import Spell
    from thalweg.runtimes.solving import Solvers

app = typer.Typer(
    help="A stream reasoner that knows until when each conclusion holds.",
    epilog="Try it: `thalweg demo`, or `thalweg run rules.lars --stream readings.facts`.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)

Programs = Annotated[
    list[str],
    typer.Argument(
        metavar="PROGRAM",
        help="Rule programs (`.lars`), answer set programs (`.lp`) and ontologies "
        "(`.ttl .owl .rdf .nt .jsonld .ofn .omn`); many make one.",
    ),
]
Profile = Annotated[
    Literal["rdfs", "pd", "rl", "ql"],
    typer.Option(help="What an ontology means: RDFS, pD*, OWL 2 RL, or OWL 2 QL for instances."),
]
Window = Annotated[
    str,
    typer.Option(
        metavar="DURATION|TICKS", help="For ontologies: how long a triple of a stream counts after its own tick."
    ),
]
Inputs = Annotated[
    str | None, typer.Option(metavar="p/2,…", help="For `.lp`: what streams bring; else what no rule derives.")
]
SchemaStream = Annotated[
    bool,
    typer.Option(
        "--schema-stream",
        help="For ontologies: triples about classes and properties come on streams too; slower.",
    ),
]
Stream = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE|URI",
        help="Where facts come from: files (`.facts .jsonl .tnt .nq .trig .jsonld .csv`, also `.gz`, and `.parquet`), "
        "folders of them, `-` for standard input, `tcp://`, `mqtt://` or `kafka://`. Several are merged by time.",
    ),
]
Background = Annotated[
    list[str] | None,
    typer.Option(metavar="FILE", help="Facts that hold at every tick: lines such as `road(a).`, or any RDF."),
]
Tick = Annotated[str, typer.Option(metavar="DURATION", help="How long a tick lasts: `1s`, `100ms`, `5 min`.")]
Delay = Annotated[
    str, typer.Option(metavar="DURATION|TICKS", help="How far events may come out of order without being late.")
]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="T", help="First tick, or a timestamp; else that of the first event."),
]
As = Annotated[
    Literal["entailment", "consistency", "abstraction"],
    typer.Option("--as", help="For ontologies: tell what follows, or who contradicts them and why."),
]
Topology = Annotated[
    Literal["ntm", "ltm", "auto"] | None,
    typer.Option(
        help="For `--as consistency`: every disjoint pair in one bolt, classes that rise through bolts, or the "
        "cheapest way there is, which is the default.",
    ),
]
Bolts = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="For `ltm`: on how many bolts; for `auto`: on how many at most.")
]
Literals = Annotated[
    bool, typer.Option("--literals", help="For `pd`: literals get blank nodes that stand for them (rules lg-*).")
]
Witnesses = Annotated[
    bool, typer.Option("--witnesses", help="For `pd`: values that restrictions promise get blank nodes (pD*sv).")
]


@app.command(epilog="Example: `thalweg run slow.lars --stream readings.facts --emit changes`")
def run(
    programs: Programs,
    stream: Stream = None,
    background: Background = None,
    emit: Annotated[
        Literal["snapshot", "changes", "intervals"],
        typer.Option(
            help="`snapshot`: all that holds, every tick; `changes`: what began and what ended; "
            "`intervals`: each fact with its first and last tick, when it ends."
        ),
    ] = "snapshot",
    from_: From = None,
    to: Annotated[
        str | None,
        typer.Option(metavar="T", help="Last tick, or a timestamp; else that of the last event."),
    ] = None,
    tick: Tick = "1s",
    delay: Delay = "0s",
    profile: Profile = "rl",
    window: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION|TICKS|'N #'",
            help="For `.lp`: how long a window is, or of how many facts (`'100 #'`); else a tick. For ontologies: how "
            "long a triple of a stream counts after its own tick; else not at all.",
        ),
    ] = None,
    slide: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION|TICKS|'N #'", help="For `.lp`: from window to window; else as long as a window."
        ),
    ] = None,
    models: Annotated[
        Literal["first", "all", "brave", "cautious"] | None,
        typer.Option(help="For `.lp`: one answer set (the default), all, or what holds in some or in all of them."),
    ] = None,
    inputs: Inputs = None,
    solve_limit: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="For `.lp`: time for a window; what takes longer is marked incomplete."),
    ] = None,
    solver: Annotated[
        Literal["auto", "clingo", "engine"] | None,
        typer.Option(help="For `.lp`: `auto` takes the incremental engine where it can, and clingo elsewhere."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="For `.lp`: processes that solve; else one for each core.")
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="For `.lp`: what each part of the program had to do; `-` is standard error."),
    ] = None,
    schema_stream: SchemaStream = False,
    literals: Literals = False,
    witnesses: Witnesses = False,
    as_: As = "entailment",
    topology: Topology = None,
    bolts: Bolts = None,
    late: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where late facts go, as lines of JSON; else they are counted.")
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="FILE|URI", help="Where answers go; else to the standard output.")
    ] = None,
    format: Annotated[
        Literal["jsonl", "atoms", "nquads", "jsonld"],
        typer.Option(help="Lines of JSON, facts such as `q(x) at 41.`, or RDF with its validity."),
    ] = "jsonl",
    on_error: Annotated[
        Literal["stop", "skip"],
        typer.Option(help="At a malformed line: answer what came before and stop, or report it and go on."),
    ] = "stop",
    runtime: Annotated[
        Literal["embedded", "spark"], typer.Option(help="Where to run: in this process, or on Apache Spark.")
    ] = "embedded",
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="Spark's master: `spark://host:7077`; else this machine.")
    ] = None,
    partitions: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="How many partitions to spread over on Spark; else 2.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where a run on Spark keeps what it needs to be resumed after a crash."),
    ] = None,
    jars: Annotated[
        list[str] | None, typer.Option("--jar", metavar="FILE", help="A jar that Spark needs besides its own.")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show what Spark writes to its log.")] = False,
    memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Budget such as `32M`; where it is exceeded answers are marked partial."),
    ] = None,
) -> None:
    """Run programs over streams.

    Answers come as they are decided: a live stream is answered while it flows, and Ctrl-C ends it cleanly.
    """
    from thalweg import api
    from thalweg.connectors.interrupt import Interrupt
    from thalweg.connectors.open import open_output
    from thalweg.runtimes.asking import Asking
    from thalweg.runtimes.emit import spelling

    with _outcome():
        solving = {
            "--slide": slide,
            "--models": models,
            "--inputs": inputs,
            "--solve-limit": solve_limit,
            "--solver": solver,
            "--workers": workers,
            "--report": report,
        }
        _unmixed(programs)
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
                "--checkpoint": checkpoint,
            }
            _misfits(foreign, "does not go with answer set programs (`.lp`)")
            on_spark = {"--master": master, "--partitions": partitions, "--jar": jars}
            _misfits(on_spark if runtime == "embedded" else {}, "goes with `--runtime spark`")
            in_process = {"--workers": workers, "--solver engine": solver == "engine"}
            _misfits(in_process if runtime == "spark" else {}, "does not go with `--runtime spark`")
            if out is not None and out.endswith(".parquet"):
                _refuse("answer sets are not written as Parquet; write `--out answers.jsonl`")
            if models == "all" and format != "jsonl":
                _refuse(f"several answer sets are written as `--format jsonl`; `{format}` goes with `--models first`")
            with _usage():
                timing = api.Timing(tick, from_, to, delay)
                workers = partitions or 2 if runtime == "spark" else workers
                asking = Asking(models or "first", window, slide, solve_limit, solver or "auto", workers)
                first, last, _ = timing.ticks()
                asking.check(timing.clock)
                names = _signatures(inputs, programs)
            if not stream and (first is None or last is None):
                _refuse("there is nothing to run on: give a `--stream`, or both `--from` and `--to`")
            asked, facts = api.load_answer_sets(programs, background or (), names, _complain)
            executors = None
            if runtime == "spark":
                from thalweg.runtimes.spark.crew import SparkCrew

                executors = partial(SparkCrew, master, partitions or 2, verbose=verbose, jars=jars or ())
            _ask(asked, facts, stream or (), timing, asking, late, out, format, on_error, report, executors)
            return
        _misfits(solving, "goes with answer set programs (`.lp`)")
        _need_ontologies(programs, as_)
        if as_ == "consistency" and window is None and stream:
            _complain(_same_tick())
        window = window or "0"
        with _usage():
            reading = api.Reading(
                profile, window, schema_stream, literals, witnesses, as_, topology, bolts, spread=runtime == "spark"
            )
            timing, reading = api.alone(programs, stream, api.Timing(tick, from_, to, delay), reading)
            first, last, _ = timing.ticks()
            api.Timing(tick, delay=window).ticks()
            budget = None if memory is None else _bytes(memory)
        if not stream and (first is None or last is None):
            _refuse("there is nothing to run on: give a `--stream`, or both `--from` and `--to`")
        spark_only = {"--master": master, "--partitions": partitions, "--checkpoint": checkpoint, "--jar": jars}
        if runtime == "embedded" and (given := [name for name, value in spark_only.items() if value]):
            _refuse(f"{' and '.join(given)} goes with `--runtime spark`")
        if runtime == "embedded" and out is not None and out.endswith(".parquet"):
            _refuse("Parquet is written with `--runtime spark`; here write `--out answers.jsonl`")
        if as_ == "consistency" and format != "jsonl":
            _refuse("clashes are told as lines of JSON: leave `--format` out")
        if runtime == "spark" and memory is not None:
            _refuse("`--memory` goes with the embedded runtime: on Spark the executors have their own settings")
        reading = api.measured(reading, stream, timing)
        program = api.load(*programs, background=background or (), tick=tick, reading=reading, report=_complain)
        interrupt = Interrupt()
        _announce_compilation()
        if runtime == "spark":
            from thalweg.runtimes.spark.session import need_spark

            need_spark()
            from thalweg.runtimes.spark.run import Place

            if checkpoint is not None and (packed := [name for name in (out, late) if name and name.endswith(".gz")]):
                _refuse(
                    f"`{packed[0]}` cannot be written on after a crash: with `--checkpoint` give a name without `.gz`"
                )
            place = Place(master, checkpoint, tuple(jars or ()), verbose)
            with interrupt.listen():
                api.run_on_spark(
                    program,
                    stream or (),
                    timing,
                    place,
                    partitions or 2,
                    emit=emit,
                    on_error=on_error,
                    out=out,
                    late=late,
                    format=format,
                    report=_complain,
                    interrupt=interrupt,
                )
            return
        with interrupt.listen(), Channel(late) as channel:
            late_line = channel.write if late else None
            with api.start(
                program, stream or (), timing, emit, on_error, budget, late_line, _complain, interrupt
            ) as job:
                channel.open()
                _deliver(job, open_output(out), spelling(format, timing.clock))


def _ask(
    program: "AspProgram",
    facts: "list[Fact]",
    stream: Sequence[str],
    timing: "Timing",
    asking: "Asking",
    late: str | None,
    out: str | None,
    format: str,
    on_error: Literal["stop", "skip"],
    report: str | None,
    executors: "Callable[[], Solvers] | None",
) -> None:
    """Runs an answer set program."""
    from thalweg import api
    from thalweg.connectors.interrupt import Interrupt
    from thalweg.connectors.open import open_output
    from thalweg.runtimes.emit import spelling
    from thalweg.runtimes.report import Report

    interrupt = Interrupt()
    with interrupt.listen(), Channel(late) as channel, Channel(report) as told:
        # What goes to the standard output is answers.
        account = Report(told.write if report != "-" else lambda line: print(line, end="", file=sys.stderr))
        with api.ask(
            program,
            stream,
            timing,
            asking,
            facts,
            on_error,
            channel.write if late else None,
            _complain,
            interrupt,
            account.take if report else lambda solution, shares: None,
            executors,
        ) as job:
            channel.open()
            if report != "-":
                told.open()
            _deliver(job, open_output(out), spelling(format, timing.clock))
        if report:
            account.finish()


def _signatures(inputs: str | None, programs: Sequence[str]) -> list[str]:
    """The signatures of `--inputs`."""
    from thalweg import api
    from thalweg.languages.asp import signatures

    if inputs is not None and not any(map(api.is_answer_sets, programs)):
        raise ValueError("`--inputs` goes with answer set programs (`.lp`)")
    return [] if inputs is None else signatures(inputs)


def _unmixed(programs: Sequence[str]) -> None:
    from thalweg import api

    if len({api.is_answer_sets(one) for one in programs}) > 1:
        _refuse("answer set programs (`.lp`) run on their own: leave the other programs out, or run them apart")


def _misfits(options: Mapping[str, object], sentence: str) -> None:
    """Options that have no meaning here are refused, not passed over."""
    if given := [name for name, value in options.items() if value is not None and value is not False]:
        _refuse(f"`{'` and `'.join(given)}` {sentence}")


@app.command(epilog="Example: `thalweg check slow.lars`")
def check(
    programs: Programs,
    background: Background = None,
    tick: Tick = "1s",
    profile: Profile = "rl",
    inputs: Inputs = None,
    as_: As = "entailment",
    format: Annotated[Literal["text", "json"], typer.Option(help="For people, or as data.")] = "text",
) -> None:
    """Parse and analyse programs; tell all that is wrong, and run nothing."""
    from thalweg import api

    with _outcome():
        with _usage():
            api.Timing(tick).clock  # noqa: B018
            reading = api.Reading(profile, task=as_)
            names = _signatures(inputs, programs)
        _need_ontologies(programs, as_)
        if any(map(api.is_answer_sets, programs)):
            found = api.check(*programs, background=background or (), tick=tick, inputs=names)
            size = "answer sets"
        else:
            program, found = api.analyse(programs, background or (), tick, reading)
            size = f"rules: {len(program.rules)}, facts: {len(program.background)}"
        if format == "json":
            print(json.dumps([one.as_data() for one in found], ensure_ascii=False, indent=2))
        else:
            for one in found:
                _complain(one)
            if not found:
                print(f"nothing to complain about ({size})")
        if any(one.severity == "error" for one in found):
            raise typer.Exit(1)


@app.command(epilog="Example: `thalweg explain slow.lars --format svg > plan.svg`")
def explain(
    programs: Programs,
    background: Background = None,
    tick: Tick = "1s",
    profile: Profile = "rl",
    window: Window = "0",
    schema_stream: SchemaStream = False,
    literals: Literals = False,
    witnesses: Witnesses = False,
    inputs: Inputs = None,
    decomposition: Annotated[
        Literal["sound", "paper"],
        typer.Option(help="For `.lp`: our communities, or those that were published, with a warning where they err."),
    ] = "sound",
    as_: As = "entailment",
    topology: Topology = None,
    bolts: Bolts = None,
    format: Annotated[Literal["text", "json", "svg"], typer.Option(help="For people, as data, or drawn.")] = "text",
    runtime: Annotated[
        Literal["embedded", "spark"], typer.Option(help="`spark` also shows stages, keys and what cannot be split.")
    ] = "embedded",
    partitions: Annotated[int, typer.Option(metavar="N", min=1, help="Buckets of a stage on Spark.")] = 2,
) -> None:
    """Show the plan: strata, windows, what is shared, the order of joins, how it is spread over partitions."""
    from thalweg import api

    with _outcome():
        from thalweg.planning.explain import explain as explain_program

        with _usage():
            api.Timing(tick, delay=window).ticks()
            reading = api.Reading(
                profile, window, schema_stream, literals, witnesses, as_, topology, bolts, spread=runtime == "spark"
            )
            names = _signatures(inputs, programs)
        _need_ontologies(programs, as_)
        if decomposition == "paper" and not any(map(api.is_answer_sets, programs)):
            _refuse("`--decomposition` goes with answer set programs (`.lp`)")
        spread = partitions if runtime == "spark" else None
        plan: Explanation | ExplainedAnswerSets | ExplainedTopology
        if any(map(api.is_answer_sets, programs)):
            plan = api.explain_answer_sets(programs, background or (), names, decomposition == "paper", _complain, tick)
            _complain(*plan.warnings)
        elif as_ == "consistency":
            plan = api.explain_checks(programs, background or (), tick, reading, spread, _complain)
        else:
            program = api.load(*programs, background=background or (), tick=tick, reading=reading, report=_complain)
            plan = explain_program(program, spread)
        if format == "json":
            print(json.dumps(plan.as_data(), ensure_ascii=False, indent=2))
        else:
            print(plan.as_svg() if format == "svg" else plan.as_text())


@app.command(epilog="Example: `thalweg why slow.lars 'slow(a)' --at 12 --stream readings.facts`")
def why(
    arguments: Annotated[list[str], typer.Argument(metavar="PROGRAM... FACT", help="Programs, and last the fact.")],
    at: Annotated[str, typer.Option(metavar="T", help="The tick, or a timestamp, at which to ask.")],
    stream: Stream = None,
    background: Background = None,
    from_: From = None,
    tick: Tick = "1s",
    delay: Delay = "0s",
    profile: Profile = "rl",
    window: Window = "0",
    schema_stream: SchemaStream = False,
    literals: Literals = False,
    witnesses: Witnesses = False,
    as_: As = "entailment",
    topology: Topology = None,
    bolts: Bolts = None,
    format: Annotated[Literal["text", "json"], typer.Option(help="For people, or as data.")] = "text",
) -> None:
    """Show the derivation of a fact, and until when each step of it holds."""
    from thalweg import api
    from thalweg.diagnostics import Rejected
    from thalweg.languages.lars.facts import read_fact

    with _outcome():
        if any(map(api.is_answer_sets, arguments)):
            _refuse("`why` knows rules (`.lars`), not answer sets: write it as rules, or see `thalweg explain`")
        *programs, fact = arguments
        if not programs:
            _refuse("both a program and a fact are needed")
        _need_ontologies(programs, as_)
        with _usage():
            reading = api.Reading(profile, window, schema_stream, literals, witnesses, as_, topology, bolts)
            timing, reading = api.alone(programs, stream, api.Timing(tick, from_, at, delay), reading)
            timing.ticks()
            api.Timing(tick, delay=window).ticks()
        program = api.load(*programs, background=background or (), tick=tick, reading=reading)
        asked = read_fact(fact)
        _announce_compilation()
        engine = api.run_to(program, stream or (), timing)
        proof = None if engine.now is None else engine.why(asked)
        if proof is None:
            raise Rejected([_does_not_hold(asked, at, [] if engine.now is None else engine.facts())])
        print(json.dumps(proof.as_data(), ensure_ascii=False, indent=2) if format == "json" else proof.render())


def _does_not_hold(asked: "Fact", at: str, holding: "list[Fact]") -> "Diagnostic":
    from thalweg.diagnostics import Diagnostic

    akin = sorted(str(fact) for fact in holding if fact.signature == asked.signature)
    shown = ", ".join(akin[:5]) + (f" and {len(akin) - 5} more" if len(akin) > 5 else "")
    note = (
        f"of {asked.signature} there holds {shown}" if akin else f"no rule derives anything of {asked.signature} then"
    )
    help_ = _CLASH_SHAPE if asked.predicate == "inconsistent" else ""
    return Diagnostic("E405", f"`{asked}` does not hold at {at}", notes=(note,), help=help_)


_CLASH_SHAPE: Final = (
    'write `inconsistent("AXIOM",<INDIVIDUAL>,<INDIVIDUAL>)`, with the axiom as `run` tells it, and the individual '
    "twice; for an axiom about a pair, `<INDIVIDUAL>,<OTHER>`"
)


@app.command(epilog="Example: `thalweg demo --out timeline.svg`")
def demo(
    out: Annotated[
        str, typer.Option(metavar="FILE", help="Where the picture of the timeline goes, as SVG.")
    ] = "thalweg-demo.svg",
    runtime: Annotated[
        Literal["spark", "embedded"], typer.Option(help="On Apache Spark on this machine, or in this process.")
    ] = "spark",
) -> None:
    """Watch half an hour of a city's traffic on Spark, in about a minute; the data comes with the package."""
    with _outcome():
        from rich.console import Console

        from thalweg.demo import main as show

        _announce_compilation()
        show(Console(), Path(out), runtime)


@app.command(epilog="Example: `thalweg bench laser --quick`")
def bench(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Which benchmark: `laser`, `spark`, `coror`, `consistency`, `conformance` or `streamrule`.",
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the results go.")] = Path("bench-results"),
    quick: Annotated[bool, typer.Option("--quick", help="A short version, to see that it works.")] = False,
) -> None:
    """Run a published benchmark; a table, a CSV and a picture are the result."""
    from importlib import import_module

    with _outcome():
        if name not in BENCHMARKS:
            _refuse(f"there is no benchmark `{name}`; there is {', '.join(BENCHMARKS)}")
        _announce_compilation()
        import_module(f"thalweg.bench.{name}").main(out, quick)


BENCHMARKS = ("laser", "spark", "coror", "consistency", "conformance", "streamrule")


class Channel:
    """A file for late facts that is made only once everything else is in order."""

    def __init__(self, name: str | None) -> None:
        self._name = name
        self._sink: Sink | None = None

    def open(self) -> None:
        if self._name is not None:
            from thalweg.connectors.open import open_output

            self._sink = open_output(self._name)

    def write(self, line: str) -> None:
        assert self._sink is not None
        self._sink.write(line.encode())
        self._sink.flush()

    def __enter__(self) -> "Channel":
        return self

    def __exit__(self, *_: object) -> None:
        if self._sink is not None and self._sink is not sys.stdout.buffer:
            self._sink.close()


def _deliver(job: "Job[Any]", sink: "Sink", spell: "Spell") -> None:
    from thalweg.runtimes.progress import Meter

    meter = Meter(job.transports, answers_on_terminal=sink is sys.stdout.buffer and sys.stdout.isatty())
    engine = job.runtime.engine
    with _writing(sink):
        try:
            for piece in job.pieces():
                if piece is None:
                    sink.flush()
                else:
                    for text in spell(piece):
                        sink.write(text.encode())
                    meter.beat(engine.now)
        finally:
            meter.close()


@contextmanager
def _writing(sink: "Sink") -> Iterator[None]:
    """What has been written is handed on, however it ends; a sink that takes no more is a failure."""
    from thalweg.diagnostics import Diagnostic, Failed

    to_stdout = sink is sys.stdout.buffer
    try:
        try:
            yield
        finally:
            sink.flush() if to_stdout else sink.close()
    except OSError as error:
        if to_stdout:
            _forget_stdout()
            if isinstance(error, BrokenPipeError):
                # Whoever read the answers has seen enough.
                return
        raise Failed(Diagnostic("E401", f"the answers cannot be written: {error.strerror}")) from error


@contextmanager
def _outcome() -> Iterator[None]:
    """Turns how a verb ended into an exit code, and what is wrong into sentences."""
    from thalweg.diagnostics import Failed, Rejected

    try:
        yield
        sys.stdout.flush()
    except Rejected as error:
        _complain(*error.diagnostics)
        raise typer.Exit(1) from None
    except Failed as error:
        _complain(error.diagnostic)
        raise typer.Exit(3) from None
    except BrokenPipeError:
        _forget_stdout()
    except typer.Exit:
        raise
    except Exception:
        traceback.print_exc()
        raise typer.Exit(3) from None


def _forget_stdout() -> None:
    """What nobody takes must not be offered again when the interpreter ends: it would complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _usage() -> Iterator[None]:
    """An option that cannot be understood is wrong usage."""
    try:
        yield
    except ValueError as error:
        _refuse(str(error))


def _need_ontologies(programs: list[str], task: str) -> None:
    """What is checked for consistency is an ontology and nothing else."""
    from thalweg.api import is_ontology

    others = [name for name in programs if not is_ontology(name)]
    if task == "consistency" and others:
        _refuse(f"`--as consistency` checks ontologies, and `{others[0]}` is none: leave it out")


def _same_tick() -> "Diagnostic":
    from thalweg.diagnostics import Diagnostic

    message = "without `--window` only facts of the same tick can contradict each other"
    help_ = "say how long a fact counts, for example `--window 5min`; `--window 0` if this is what you want"
    return Diagnostic("W412", message, help=help_)


def _refuse(message: str) -> None:
    from thalweg.diagnostics import Diagnostic

    _complain(Diagnostic("E403", message))
    raise typer.Exit(2)


def _complain(*found: "Diagnostic") -> None:
    sys.stdout.flush()
    for one in found:
        print(one.render(), file=sys.stderr)


def _announce_compilation() -> None:
    from thalweg.engine import kernels_ready

    if not kernels_ready():
        print("compiling kernels, once per installation …", file=sys.stderr, flush=True)


def _bytes(text: str) -> int:
    """A size in bytes.

    >>> _bytes("32M")
    33554432
    """
    found = re.fullmatch(r"([0-9]+)([KMG]?)B?", text.strip(), re.IGNORECASE)
    if not found:
        raise ValueError(f"`{text}` is not a size; write `32M` or `1G`")
    return int(found.group(1)) << {"": 0, "K": 10, "M": 20, "G": 30}[found.group(2).upper()]


def main() -> None:
    """The command `thalweg`."""
    app()
