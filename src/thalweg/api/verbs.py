"""What Python users call: run, open, check, explain, why. Options have the names of the command line.

`--from` and `--to` are `start` and `end`, because `from` is a word of Python; `--as` is `as_`. Options that only some
kinds of programs have are in `run_options`; all are rows of the table of options (`languages/options.py`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from thalweg.api import jobs
from thalweg.api.answer_stream import Answers
from thalweg.api.deployed_call import verb
from thalweg.api.kind_options import ResolvedOptions, is_nothing, need_choice, resolve_options, usage, wrong_usage
from thalweg.api.live_session import Session, SessionProgram
from thalweg.api.loading import EVERYTHING, analyse_resolved, examine, load_part, load_resolved
from thalweg.api.naming import fact_of
from thalweg.api.pushed_rows import PushedRows
from thalweg.api.run_options import KindKeywords, RunOptions
from thalweg.api.saved_reasoner import need_recordings, refused, saved_reasoner
from thalweg.api.sources import Background, On, Text, as_list, named
from thalweg.api.spark_answers import RecordFormat, SparkAnswers
from thalweg.api.timing import Moment, Timing
from thalweg.api.unmapped_tables import check_tables
from thalweg.diagnostics import Diagnostic, RejectedError, Source, warn
from thalweg.ir.nodes import Program
from thalweg.kinds.part import Part
from thalweg.languages.deployment.read_deployment import setting_text
from thalweg.languages.options import Decomposition, Emit, OnError, Passing, RuntimeName, SplitName, Times
from thalweg.model.byte_size import size_in_bytes
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.time import Duration
from thalweg.runtimes.observer import Observer, Report

if TYPE_CHECKING:
    from thalweg.engine.absence import Absence
    from thalweg.engine.proof import Proof
    from thalweg.explain.document import PlanDocument
    from thalweg.kinds.events.why_event import EventExplanation
    from thalweg.kinds.queries.why_row import RowProof
    from thalweg.runtimes.spark.run import SparkTarget

__all__ = ["Source", "check", "explain", "load", "open", "run", "why", "why_event", "why_not", "why_row"]

Programs = Program | Text | Sequence[Program | Text]


class WhyKeywords(KindKeywords, total=False):
    """What `why`, `why_not`, `why_row` and `why_event` take besides those, each as `run` does.

    `background`, `map`, `start`, `tick`, `delay`, `zone`, `times`, `max_ahead`, `report`. Where no time is said, the
    `checkpoint` of a run in one process is asked at its last tick, and no stream is read.
    """

    background: Background
    map: str | Iterable[str]
    start: Moment | None
    tick: Duration
    delay: int | Duration
    zone: str | None
    times: Times | None
    max_ahead: Duration
    report: Report
    checkpoint: str | Path


@verb
def run(
    program: Programs,
    stream: On = (),
    *,
    background: Background = (),
    map: str | Iterable[str] = (),
    emit: Emit = "changes",
    start: Moment | None = None,
    end: Moment | None = None,
    tick: Duration = "1s",
    delay: int | Duration = 0,
    zone: str | None = None,
    times: Times | None = None,
    clock: Passing = "events",
    idle: Duration | None = None,
    max_ahead: Duration = "1 d",
    show: str | Iterable[str] | None = None,
    late: Callable[[str], None] | None = None,
    on_error: OnError = "stop",
    memory: int | str | None = None,
    runtime: RuntimeName = "embedded",
    master: str | None = None,
    partitions: int | None = None,
    split: SplitName | None = None,
    conf: Mapping[str, object] | None = None,
    archive: str | Path | None = None,
    report: Report = warn,
    **kinds: Unpack[KindKeywords],
) -> Answers:
    """Runs programs over streams; the `Answers` are values that print as lines of JSON.

    What is wrong with programs, options or streams is raised here, as a `RejectedError`. Answers are evaluated as they
    are read: those of a live stream come while it flows. What deserves a warning goes to `report`, and is a
    `ThalwegWarning` without one. Several programs of different kinds are parts of one plan. `show` names the predicates
    that are output, as in `"jam/1, ex:Camera/1"`; it overrides `#show`. `late` takes lines about late facts. `map` says
    what facts the rows of tables and the messages of devices are: `"speed(sensor, v) at ts"`, one or several. With
    `clock="wall"` time passes on live streams while nothing comes, and one that is silent for `idle` does not hold
    others back. A row whose timestamp is more than `max_ahead` beyond the last one waits for three others, and is left
    out if most of them are before it. With `runtime="spark"` it runs there, and all answers come when it has ended;
    parts of several kinds are `split` over the partitions where it pays (`auto`) or `always`. A session that is open is
    used, and stays open; else one is opened, with the settings of `conf` and, on a cluster, the Python environment that
    is packed in `archive`.

    >>> for change in run("q(X) :- p(X) in [1].", stream=[(3, "p(a)")], end=5):
    ...     print(change)
    {"t":3,"begin":["q(a)"],"end":[]}
    {"t":5,"begin":[],"end":["q(a)"]}
    """
    need_choice("runtime", runtime)
    need_choice("on_error", on_error)
    timing = Timing(tick, start, end, delay, zone, times, clock, idle, max_ahead)
    options = RunOptions(timing, emit, on_error, _budget(memory), show, map, runtime, split, kinds=kinds)
    observer = Observer(report, late)
    resolved, part = _prepared(program, stream, background, options, report)
    columns, times_of_run = part.answer_columns(emit), resolved.timing.format

    if on_error == "stop":
        check_tables(stream, resolved.mapped)
    if options.on_spark:
        target = partial(_target, stream, master, _settings(conf or {}), archive)
        start_there = partial(_on_spark, part, stream, resolved.run, observer, target, partitions)
        if not jobs.repeats(stream) or named(stream) is None:
            raise wrong_usage("in Python a run on Spark reads files and tables: see `thalweg.spark.reason` for others")
        return Answers(start_there, repeats=True, columns=columns, times=times_of_run)

    def starting() -> jobs.PreparedRun:
        return jobs.start(part, stream, _counting_anew(resolved.run), observer)

    return Answers(starting, repeats=jobs.repeats(stream), columns=columns, times=times_of_run)


@verb
def open(
    program: Programs,
    *,
    background: Background = (),
    map: str | Iterable[str] = (),
    emit: Emit = "changes",
    start: Moment | None = None,
    tick: Duration = "1s",
    delay: int | Duration = 0,
    zone: str | None = None,
    times: Times | None = None,
    clock: Passing = "events",
    max_ahead: Duration = "1 d",
    show: str | Iterable[str] | None = None,
    late: Callable[[str], None] | None = None,
    on_error: OnError = "stop",
    memory: int | str | None = None,
    report: Report = warn,
    **kinds: Unpack[KindKeywords],
) -> Session:
    """A `Session` of programs that facts are pushed into, or rows that `map` makes facts of.

    A row that is wrong is raised where it is pushed; with `on_error="skip"` it is reported and left out. With
    `clock="wall"` time passes by itself: ticks can be closed when the machine's clock has left them.

    >>> with open("q(X) :- p(X) in [1].") as session:
    ...     session.push("p", "a", at=3)
    ...     print(*session.advance(to=5))
    {"t":3,"begin":["q(a)"],"end":[]} {"t":5,"begin":[],"end":["q(a)"]}
    """
    need_choice("on_error", on_error)
    timing = Timing(tick, start, None, delay, zone, times, clock, max_ahead=max_ahead)
    options = RunOptions(timing, emit, on_error, _budget(memory), show, map, kinds=kinds)
    # Pushed facts are a stream, although it has no name.
    resolved, part = _prepared(program, iter(()), background, options, report)
    job = jobs.start(part, iter(()), resolved.run, Observer(report, late), explains=True, saves=True)
    identity = partial(jobs.identity, part, resolved.run)
    live = SessionProgram(part, partial(jobs.run_program, part, resolved.run), identity)
    rows = PushedRows(resolved.timing.clock, resolved.mapped, on_error, report)
    passing = jobs.passing_of(resolved.timing) if clock == "wall" else None
    return Session(job, resolved.timing, live, resolved.prefixes, rows, passing)


@verb
def load(
    *programs: Program | Text,
    background: Background = (),
    map: str | Iterable[str] = (),
    tick: Duration = "1s",
    show: str | Iterable[str] | None = None,
    report: Report = warn,
    **kinds: Unpack[KindKeywords],
) -> Program:
    """One program from many, with its background; raises `RejectedError` with all that is wrong, reports the warnings.

    `show` names what it outputs, `"jam/1"` for example; by default that is what `#show` says, or all it derives.

    >>> load("q(X) :- p(X) in [3].").derived
    frozenset({'q/1'})
    """
    texts, facts = as_list(programs), as_list(background)
    resolved = resolve_options(texts, iter(()), facts, RunOptions(Timing(tick), show=show, map=map, kinds=kinds))
    about = facts, tick, resolved.ontology
    return load_part(texts, *about, report=report, show=resolved.shown, mapped=resolved.mapped).rules


@verb
def check(
    *programs: Program | Text,
    background: Background = (),
    map: str | Iterable[str] = (),
    tick: Duration = "1s",
    show: str | Iterable[str] | None = None,
    **kinds: Unpack[KindKeywords],
) -> list[Diagnostic]:
    """All that is wrong with programs, and what deserves a warning.

    >>> [found.code for found in check("q(X,Y) :- p(X).")]
    ['E203']
    """
    texts, facts = as_list(programs), as_list(background)
    resolved = resolve_options(texts, iter(()), facts, RunOptions(Timing(tick), show=show, map=map, kinds=kinds))
    return examine(*analyse_resolved(texts, facts, resolved))


@verb
def explain(
    *programs: Program | Text,
    background: Background = (),
    map: str | Iterable[str] = (),
    tick: Duration = "1s",
    partitions: int | None = None,
    split: SplitName | None = None,
    decomposition: Decomposition = "sound",
    report: Report = warn,
    **kinds: Unpack[KindKeywords],
) -> "PlanDocument":
    """How programs are evaluated: a plan with `as_text`, `as_data` and `as_svg`; on Spark where there are partitions.

    `decomposition="paper"` shows answer set programs with the communities of the paper.

    >>> print(explain("q(X) :- p(X) in [3].").as_data()["strata"])
    [['q/1']]
    """
    texts, facts = as_list(programs), as_list(background)
    runtime: RuntimeName = "embedded" if partitions is None else "spark"
    options = RunOptions(Timing(tick), map=map, runtime=runtime, kinds=kinds)
    resolved = resolve_options(texts, iter(()), facts, options)
    part = load_resolved(texts, facts, replace(resolved, shown=None), report)
    plan = part.explain(partitions, decomposition == "paper", split or "auto")
    for warning in plan.warnings if decomposition == "paper" else ():
        report(warning)
    return plan


@verb
def why(
    program: Programs, fact: str | Fact, at: Moment | None = None, stream: On = (), **kinds: Unpack[WhyKeywords]
) -> "Proof | None":
    """The derivation of a fact at a tick, or where none is said as a checkpoint has it; None where it does not hold.

    The fact may be written with the prefixes that the program declares, and with those that are given.

    >>> print(why("q(X) :- p(X) in [1].", "q(a)", at=4, stream=[(3, "p(a)")]).render().split()[0])
    q(a)
    """
    resolved, engine = _run_to(program, at, stream, kinds)
    _check_rules(engine, "why")
    proof: Proof | None = None if engine.now is None else engine.why(_fact(fact, resolved))
    return None if proof is None else replace(proof, times=resolved.timing.format)


@verb
def why_row(
    program: Programs, row: str, at: Moment | None = None, stream: On = (), **kinds: Unpack[WhyKeywords]
) -> "RowProof | None":
    """What a row of a continuous query rests on, at the last evaluation up to a tick; None where it is not there.

    The row is an object of JSON as answers have it, or pairs such as `?s=ex:a ?n=3`; not all columns need be given. Of
    a CONSTRUCT a fact is asked for.

    >>> query = "SELECT ?s FROM NAMED WINDOW <w> ON <in> [RANGE 3, SLIDE 1] { WINDOW <w> { ?s <urn:thalweg:p> ?o } }"
    >>> events = [(2, "p(<http://a>,1)"), (3, "p(<b>,1)")]
    >>> why_row(Source("q.rspql", query), "?s=<http://a>", at=4, stream=events).until
    4
    """
    _need_time(at, "rows of a query")
    resolved, query = _run_to(program, at, stream, kinds)
    proof: RowProof | None = query.why_row(row, resolved.prefixes)
    return None if proof is None else replace(proof, times=resolved.timing.format)


@verb
def why_event(
    program: Programs, name: str | Fact, at: Moment | None = None, stream: On = (), **kinds: Unpack[WhyKeywords]
) -> "EventExplanation | None":
    """Why there is an event at a tick, or which matches have begun; None where no program defines it.

    The name is written as in `:Jam`, or with what it binds or the individuals of its events: `:Jam(:road1)`.

    >>> events = Source("e.tw", "PREFIX : <http://ex.org/> NAMED EVENT :Seen { MATCH EVERY :p AND :p WITHIN (3 s) }")
    >>> rules = Source("r.lars", "@prefix : <http://ex.org/> . :p(X) :- q(X).")
    >>> why_event([events, rules], ":Seen", at=4, stream=[(4, "q(a)")]).proof.event.individuals
    frozenset({'a'})
    """
    _need_time(at, "events")
    resolved, run = _run_to(program, at, stream, kinds)
    explanation: EventExplanation | None = run.why_event(_fact(name, resolved)) if run.explains_events else None
    return None if explanation is None else replace(explanation, times=resolved.timing.format)


@verb
def why_not(
    program: Programs, fact: str | Fact, at: Moment | None = None, stream: On = (), **kinds: Unpack[WhyKeywords]
) -> "Absence | None":
    """How far each rule got that could derive a fact at a tick; None where the fact holds.

    >>> absent = why_not("slow(S) :- speed(S,V), V < 20.", "slow(a)", at=4, stream=[(4, "speed(a,30)")])
    >>> absent.rules[0].attempts[0].reason
    '`30 < 20` is false'
    """
    came: set[Predicate] = set()
    resolved, engine = _run_to(program, at, stream, kinds, look=lambda batch: came.update(batch.rows))
    _check_rules(engine, "why_not")
    absence: Absence | None = engine.why_not(_fact(fact, resolved), None if at is None else came)
    return None if absence is None else replace(absence, times=resolved.timing.format)


def _check_rules(run: Any, verb: str) -> None:
    """`RejectedError` where there are events alone: `why` is about what rules derive."""
    if not run.explains_facts:
        message, help_ = f"`{verb}` explains what rules derive, and there are none", "use `why_event` for events"
        raise RejectedError([Diagnostic("E403", message, help=help_)])


def _need_time(at: Moment | None, what: str) -> None:
    """`RejectedError` where a checkpoint would have to say what `what` rest on."""
    if at is None:
        raise refused(
            f"a checkpoint does not keep what {what} rest on", "give a recording as `stream`, and a time `at`"
        )


def _settings(conf: Mapping[str, object]) -> dict[str, str]:
    from thalweg.runtimes.spark.session_settings import read_settings

    with usage():
        return read_settings(f"{key}={setting_text(value)}" for key, value in conf.items())


def _target(stream: On, master: str | None, conf: Mapping[str, str], archive: str | Path | None) -> "SparkTarget":
    from thalweg.runtimes.spark.session import need_spark

    need_spark()
    from thalweg.runtimes.spark.run import SparkTarget
    from thalweg.runtimes.spark.startup import is_small

    shipped = None if archive is None else str(archive)
    return SparkTarget(master, short=is_small(named(stream) or ()), conf=conf, archive=shipped)


def _on_spark(
    part: Part,
    stream: On,
    options: RunOptions,
    observer: Observer,
    target: Callable[[], "SparkTarget"],
    partitions: int | None,
) -> SparkAnswers:
    """A run on Spark that begins when its answers are read."""
    times, place = options.timing.format, target()

    def deliver(path: Path, late_path: Path) -> None:
        jobs.run_on_spark(
            part,
            stream,
            _counting_anew(options),
            place,
            partitions,
            out=str(path),
            late=None if observer.late is None else str(late_path),
            written=RecordFormat(times=times),
            observer=observer,
        )

    return SparkAnswers(deliver, times, observer.late)


def _counting_anew(options: RunOptions) -> RunOptions:
    """Options with mappings that have counted nothing: a run that is read again counts again what they find."""
    return replace(options, mapped=deepcopy(options.mapped))


def _budget(memory: int | str | None) -> int | None:
    with usage():
        return size_in_bytes(memory) if isinstance(memory, str) else memory


def _fact(fact: str | Fact, resolved: ResolvedOptions) -> Fact:
    return fact_of(fact, resolved.prefixes) if isinstance(fact, str) else fact


def _prepared(
    program: Programs, stream: On, background: Background, options: RunOptions, report: Report
) -> tuple[ResolvedOptions, Part]:
    """What the options of a run mean, and what it evaluates."""
    programs, facts = as_list(program), as_list(background)
    resolved = resolve_options(programs, stream, facts, options)
    for warning in resolved.warnings:
        report(warning)
    return resolved, load_resolved(programs, facts, resolved, report)


def _run_to(
    program: Programs,
    at: Moment | None,
    stream: On,
    keywords: "WhyKeywords",
    look: Callable[[Batch], object] | None = None,
) -> tuple[ResolvedOptions, Any]:
    """What the options of `why` mean, and what reasons, at a tick; it keeps what it does not show."""
    report, checkpoint = keywords.get("report", warn), keywords.get("checkpoint")
    on = iter(()) if at is None and checkpoint is not None else stream
    need_recordings(on)
    if at is None and checkpoint is None:
        raise wrong_usage("a time is needed: give `at`, or the `checkpoint` of a run, which is asked at its last tick")
    programs, facts = as_list(program), as_list(keywords.get("background", ()))
    # The streams of a run say what some of its options mean, also where they are not read.
    resolved = resolve_options(
        programs, on if is_nothing(stream) else stream, facts, RunOptions.of({**keywords, "at": at})
    )
    about = programs, facts, resolved.timing.tick, resolved.ontology
    part = load_part(*about, report=report, show=EVERYTHING, mapped=resolved.mapped)
    if checkpoint is not None and at is None:
        return resolved, saved_reasoner(checkpoint, part, resolved.timing, report)
    return resolved, jobs.run_to(part, on, resolved.run, Observer(report, look=look))
