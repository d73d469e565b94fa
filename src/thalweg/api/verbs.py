"""What Python users call: run, open, check, explain, why. Options have the names of the command line.

`--from` and `--to` are `start` and `end`, because `from` is a word of Python; `--as` is `as_`. Options that only some
kinds of programs have are in `kind_options`.
"""

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Unpack

from thalweg.api import jobs
from thalweg.api.answer_stream import Answers
from thalweg.api.deployed_call import verb
from thalweg.api.kind_options import Asked, KindKeywords, ask, need_choice, usage, wrong_usage
from thalweg.api.live_session import Session
from thalweg.api.loading import EVERYTHING, analyse, examine, load_part
from thalweg.api.naming import fact_of
from thalweg.api.pushed_rows import PushedRows
from thalweg.api.saved_reasoner import need_recordings, refused, saved_reasoner
from thalweg.api.sources import Background, On, Text, as_list, named
from thalweg.api.spark_answers import BlockFormat, SparkAnswers
from thalweg.api.timing import Moment, Timing
from thalweg.api.unmapped_tables import check_tables
from thalweg.diagnostics import Diagnostic, RejectedError, Source, warn
from thalweg.ir.nodes import Program
from thalweg.model.byte_size import size_in_bytes
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.time import Duration
from thalweg.parts.part import Part

if TYPE_CHECKING:
    from thalweg.engine.absence import Absence
    from thalweg.engine.proof import Proof
    from thalweg.explain.document import PlanDocument
    from thalweg.parts.patterns.why_event import EventExplanation
    from thalweg.parts.queries.why_row import RowProof

__all__ = ["Source", "check", "explain", "load", "open", "run", "why", "why_event", "why_not", "why_row"]

_TIMES: Final = {"tick", "delay", "zone", "times", "max_ahead"}

Programs = Program | Text | Sequence[Program | Text]
Report = Callable[[Diagnostic], None]


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
    times: Literal["iso", "ticks"] | None
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
    emit: Literal["changes", "snapshot", "intervals"] = "changes",
    start: Moment | None = None,
    end: Moment | None = None,
    tick: Duration = "1s",
    delay: int | Duration = 0,
    zone: str | None = None,
    times: Literal["iso", "ticks"] | None = None,
    clock: Literal["events", "wall"] = "events",
    idle: Duration | None = None,
    max_ahead: Duration = "1 d",
    show: str | Iterable[str] | None = None,
    late: Callable[[str], None] | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    memory: int | str | None = None,
    runtime: Literal["embedded", "spark"] = "embedded",
    master: str | None = None,
    partitions: int | None = None,
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
    out if most of them are before it. With `runtime="spark"` it runs there, and all answers come when it has ended.

    >>> for change in run("q(X) :- p(X) in [1].", stream=[(3, "p(a)")], end=5):
    ...     print(change)
    {"t":3,"begin":["q(a)"],"end":[]}
    {"t":5,"begin":[],"end":["q(a)"]}
    """
    need_choice("runtime", runtime, "embedded", "spark")
    need_choice("on_error", on_error, "stop", "skip")
    budget = _budget(memory)
    asked, part = _prepared(
        program,
        stream,
        background,
        Timing(tick, start, end, delay, zone, times, clock, idle, max_ahead),
        kinds,
        emit,
        budget,
        show,
        report,
        map,
        on_spark=runtime == "spark",
    )
    columns = part.answer_columns(emit)

    if on_error == "stop":
        check_tables(stream, asked.mapped)
    if runtime == "spark":
        start_there = partial(_on_spark, part, stream, asked, emit, on_error, budget, late, report, master, partitions)
        if not jobs.repeats(stream) or named(stream) is None:
            raise wrong_usage("in Python a run on Spark reads files and tables: see `thalweg.spark.reason` for others")
        return Answers(start_there, repeats=True, columns=columns, times=asked.timing.format)

    def starting() -> jobs.Job:
        # A run that is read again counts again what its mappings find.
        given = part, stream, asked.timing, emit, on_error, budget, late, report
        return jobs.start(*given, mapped=deepcopy(asked.mapped))

    return Answers(starting, repeats=jobs.repeats(stream), columns=columns, times=asked.timing.format)


@verb
def open(
    program: Programs,
    *,
    background: Background = (),
    map: str | Iterable[str] = (),
    emit: Literal["changes", "snapshot", "intervals"] = "changes",
    start: Moment | None = None,
    tick: Duration = "1s",
    delay: int | Duration = 0,
    zone: str | None = None,
    times: Literal["iso", "ticks"] | None = None,
    max_ahead: Duration = "1 d",
    show: str | Iterable[str] | None = None,
    late: Callable[[str], None] | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    memory: int | str | None = None,
    report: Report = warn,
    **kinds: Unpack[KindKeywords],
) -> Session:
    """A `Session` of programs that facts are pushed into, or rows that `map` makes facts of.

    A row that is wrong is raised where it is pushed; with `on_error="skip"` it is reported and left out.

    >>> with open("q(X) :- p(X) in [1].") as session:
    ...     session.push("p", "a", at=3)
    ...     print(*session.advance(to=5))
    {"t":3,"begin":["q(a)"],"end":[]} {"t":5,"begin":[],"end":["q(a)"]}
    """
    need_choice("on_error", on_error, "stop", "skip")
    budget = _budget(memory)
    timing = Timing(tick, start, None, delay, zone, times, max_ahead=max_ahead)
    # Pushed facts are a stream, although it has no name.
    asked, part = _prepared(program, iter(()), background, timing, kinds, emit, budget, show, report, map)
    mapped = asked.mapped
    given = part, iter(()), asked.timing, emit, on_error, budget, late, report
    job = jobs.start(*given, explains=True, mapped=mapped, saves=True)
    identity = partial(jobs.identity, part, asked.timing, emit, budget)
    rows = PushedRows(asked.timing.clock, mapped, on_error, report)
    return Session(job, asked.timing, identity, asked.prefixes, rows)


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
    given, facts = as_list(programs), as_list(background)
    asked = ask(given, iter(()), facts, Timing(tick), kinds, show=show, mappings=map)
    return load_part(given, facts, tick, asked.ontology, report=report, show=asked.shown, mapped=asked.mapped).rules


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
    given, facts = as_list(programs), as_list(background)
    asked = ask(given, iter(()), facts, Timing(tick), kinds, show=show, mappings=map)
    about = asked.ontology, asked.solving, asked.inputs, asked.shown, asked.mapped
    return examine(*analyse(given, facts, tick, *about))


@verb
def explain(
    *programs: Program | Text,
    background: Background = (),
    map: str | Iterable[str] = (),
    tick: Duration = "1s",
    partitions: int | None = None,
    decomposition: Literal["sound", "paper"] = "sound",
    report: Report = warn,
    **kinds: Unpack[KindKeywords],
) -> "PlanDocument":
    """How programs are evaluated: a plan with `as_text`, `as_data` and `as_svg`; on Spark where there are partitions.

    `decomposition="paper"` shows answer set programs with the communities of the paper.

    >>> print(explain("q(X) :- p(X) in [3].").as_data()["strata"])
    [['q/1']]
    """
    given, facts, spread = as_list(programs), as_list(background), partitions is not None
    asked = ask(given, iter(()), facts, Timing(tick), kinds, mappings=map, on_spark=spread)
    about = facts, tick, asked.ontology, asked.solving, asked.inputs, report, None, asked.mapped
    part = load_part(given, *about)
    plan = part.explain(partitions, decomposition == "paper")
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
    asked, engine = _run_to(program, at, stream, kinds)
    _check_rules(engine, "why")
    proof: Proof | None = None if engine.now is None else engine.why(_fact(fact, asked))
    return None if proof is None else replace(proof, times=asked.timing.format)


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
    asked, ran = _run_to(program, at, stream, kinds)
    proof: RowProof | None = ran.why(row, asked.prefixes)
    return None if proof is None else replace(proof, times=asked.timing.format)


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
    asked, engine = _run_to(program, at, stream, kinds)
    found: EventExplanation | None = engine.why_event(_fact(name, asked)) if hasattr(engine, "why_event") else None
    return None if found is None else replace(found, times=asked.timing.format)


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
    asked, engine = _run_to(program, at, stream, kinds, look=lambda batch: came.update(batch.rows))
    _check_rules(engine, "why_not")
    absence: Absence | None = engine.why_not(_fact(fact, asked), None if at is None else came)
    return None if absence is None else replace(absence, times=asked.timing.format)


def _check_rules(engine: object, verb: str) -> None:
    """`RejectedError` where there are events alone: `why` is about what rules derive."""
    if not hasattr(engine, verb):
        message, help_ = f"`{verb}` explains what rules derive, and there are none", "use `why_event` for events"
        raise RejectedError([Diagnostic("E403", message, help=help_)])


def _need_time(at: Moment | None, what: str) -> None:
    """`RejectedError` where a checkpoint would have to say what `what` rest on."""
    if at is None:
        raise refused(
            f"a checkpoint does not keep what {what} rest on", "give a recording as `stream`, and a time `at`"
        )


def _on_spark(
    part: Part,
    stream: On,
    asked: Asked,
    emit: str,
    on_error: Literal["stop", "skip"],
    memory: int | None,
    late: Callable[[str], None] | None,
    report: Report,
    master: str | None,
    partitions: int | None,
) -> SparkAnswers:
    """A run on Spark that begins when its answers are read."""
    from thalweg.runtimes.spark.session import need_spark

    need_spark()
    from thalweg.runtimes.spark.run import SparkTarget
    from thalweg.runtimes.spark.startup import is_small

    def deliver(path: Path, late_path: Path) -> None:
        target = SparkTarget(master, None, (), False, short=is_small(named(stream) or ()))
        jobs.run_on_spark(
            part,
            stream,
            asked.timing,
            target,
            partitions or 2,
            emit=emit,
            on_error=on_error,
            out=str(path),
            late=None if late is None else str(late_path),
            written=BlockFormat(times=asked.timing.format),
            memory=memory,
            report=report,
            mapped=deepcopy(asked.mapped),
        )

    return SparkAnswers(deliver, asked.timing.format, late)


def _budget(memory: int | str | None) -> int | None:
    with usage():
        return size_in_bytes(memory) if isinstance(memory, str) else memory


def _fact(fact: str | Fact, asked: Asked) -> Fact:
    return fact_of(fact, asked.prefixes) if isinstance(fact, str) else fact


def _prepared(
    program: Programs,
    stream: On,
    background: Background,
    timing: Timing,
    kinds: KindKeywords,
    emit: str,
    memory: int | None,
    show: str | Iterable[str] | None,
    report: Report,
    map: str | Iterable[str] = (),
    on_spark: bool = False,
) -> tuple[Asked, Part]:
    """What a run evaluates, and how."""
    programs = as_list(program)
    facts = as_list(background)
    asked = ask(
        programs, stream, facts, timing, kinds, emit=emit, memory=memory, show=show, mappings=map, on_spark=on_spark
    )
    for warning in asked.warnings:
        report(warning)
    given = programs, facts, timing.tick, asked.ontology, asked.solving, asked.inputs, report, asked.shown
    return asked, load_part(*given, asked.mapped)


def _run_to(
    program: Programs,
    at: Moment | None,
    stream: On,
    options: "WhyKeywords",
    look: Callable[[Batch], object] | None = None,
) -> tuple[Asked, Any]:
    """What the options of `why` mean, and what reasons, at a tick; it keeps what it does not show."""
    given: dict[str, Any] = {**options}
    report, background, map = given.pop("report", warn), given.pop("background", ()), given.pop("map", ())
    timing = Timing(
        last=at, first=given.pop("start", None), **{name: given.pop(name) for name in _TIMES & given.keys()}
    )
    checkpoint = given.pop("checkpoint", None)
    on = iter(()) if at is None and checkpoint is not None else stream
    need_recordings(on)
    if at is None and checkpoint is None:
        raise wrong_usage("a time is needed: give `at`, or the `checkpoint` of a run, which is asked at its last tick")
    programs, facts = as_list(program), as_list(background)
    asked = ask(programs, on, facts, timing, given, mappings=map)
    loaded = programs, facts, timing.tick, asked.ontology
    part = load_part(*loaded, report=report, show=EVERYTHING, mapped=asked.mapped)
    if at is None:
        return asked, saved_reasoner(Path(checkpoint), part, asked.timing, report)
    return asked, jobs.run_to(part, on, asked.timing, report, look, asked.mapped)
