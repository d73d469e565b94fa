"""Parts, ready to run over their streams: in this process, or on Spark."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from thalweg.api.run_options import RunOptions
from thalweg.api.sources import On, absolute, named, on_command_line, unnamed
from thalweg.api.timing import Timing
from thalweg.connectors.held_tables import HeldTable
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.lake import KAFKA, TABLES, lake_stream
from thalweg.connectors.mapping.mapping import Mapping
from thalweg.connectors.mapping.tally import Tally
from thalweg.connectors.named_source import NamedSource
from thalweg.dataflow.context import Context, Settings
from thalweg.diagnostics import Diagnostic, RejectedError, Source
from thalweg.kinds.part import Part
from thalweg.languages.options import ChangeName
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.model.time import TimeFormat
from thalweg.runtimes.observer import Observer

if TYPE_CHECKING:
    # The engine's compiler takes a moment to import, and `check` can do without it.
    from thalweg.answers.answer_formats import AnswerFormat
    from thalweg.answers.emit import RowEmitter
    from thalweg.answers.record import Answer
    from thalweg.connectors.lake import LakeOutput
    from thalweg.connectors.transport import Transport
    from thalweg.kinds.units import ProgramChange, Units
    from thalweg.runtimes.derivations import Derivations
    from thalweg.runtimes.embedded_checkpoint import EmbeddedCheckpoint
    from thalweg.runtimes.inputs import Values
    from thalweg.runtimes.intake import Items, ReadItems
    from thalweg.runtimes.kept_program import KeptProgram, RunProgram
    from thalweg.runtimes.live_warnings import LiveWarnings
    from thalweg.runtimes.local import LocalRun
    from thalweg.runtimes.spark.feed import SparkFeed
    from thalweg.runtimes.spark.lake_sink import LakeSink
    from thalweg.runtimes.spark.run import RunOutcome, SparkTarget
    from thalweg.runtimes.stored_path import CheckpointPath
    from thalweg.runtimes.wall_clock import PassingTime
    from thalweg.solvers.pool import Solvers

_MOST_NAMED: Final = 6
"""Units of a changed program that a sentence names."""
_MOST_REASONS: Final = 2
"""Reasons that the warning of a changed program gives; `explain --checkpoint` gives all."""


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A part, ready to run over its streams."""

    run: "LocalRun"
    inputs: "Items"
    transports: "Sequence[Transport]"
    times: TimeFormat

    def pieces(self) -> "Iterator[Answer | None]":
        return self.run.answers(self.inputs)

    def __enter__(self) -> "PreparedRun":
        return self

    def __exit__(self, *_: object) -> None:
        for transport in self.transports:
            transport.close()
        self.run.close()


def start(
    part: Part,
    on: On,
    options: RunOptions,
    observer: Observer = Observer(),
    *,
    interrupt: Interrupt | None = None,
    checkpoint: "EmbeddedCheckpoint | None" = None,
    explains: bool = False,
    saves: bool = False,
    items: "Callable[[LocalRun], ReadItems] | None" = None,
    emitter: "RowEmitter[Any] | None" = None,
    solvers: "Solvers | None" = None,
) -> PreparedRun:
    """Opens the streams and makes what reasons; nothing has been evaluated yet, unless a `checkpoint` says so.

    The `observer` is called while it runs. A job that `explains` will be asked why, and one that `saves` for its state.
    Who reads the streams in another way passes `items`: it is called with the run, whose dictionary codes the terms,
    and nothing is opened; `on` then has the names of the streams, as `NamedSource(name, name)`. An `emitter` takes the
    place of that which the options name. The `solvers` are those of an answer set program, which stay open: the `share`
    of a `SolverPool`, for example.
    """
    from thalweg.runtimes.inputs import Values
    from thalweg.runtimes.local import LocalRun

    timing, mapped = options.timing, options.mapped
    settings = _settings(options, observer.with_until)
    interrupt = interrupt or Interrupt()
    transports = () if items else _opened(on, mapped, resumable=checkpoint is not None)
    context = replace(
        _context(settings, timing, observer, interrupt, transports),
        saves=saves or checkpoint is not None,
        explains=explains,
        solvers=solvers,
    )
    if items is None:
        sources = _named_sources(on, transports)
    else:
        sources = [(source.name, True) for source in named(on) or () if isinstance(source, NamedSource)]
        context = replace(context, streams=tuple(name for name, _ in sources), names_streams=lambda: False)
    try:
        planned = None if checkpoint is None else checkpoint.plan(part, context, sources)
        run = LocalRun(
            part,
            context,
            observer,
            checkpoint=checkpoint,
            warnings=_live_warnings(observer.report, mapped) if observer.warns_live else None,
            mapped=mapped,
            times=timing.format,
            plan=None if planned is None else planned.plan,
            begins={} if planned is None else planned.begins,
            emitter=emitter,
        )
    except BaseException:
        for transport in transports:
            transport.close()
        raise
    inputs = items(run) if items else _items(on, transports, run.dictionary, timing, interrupt, mapped)
    job = PreparedRun(run, inputs, transports, timing.format)
    if not isinstance(inputs, Values):
        inputs.wake(run.pause)
        if checkpoint is not None:
            _resume(job, inputs, checkpoint)
    if checkpoint is not None and checkpoint.handover is not None:
        observer.report(taken_over(checkpoint.handover.change, checkpoint.handover.first, timing))
    return job


def taken_over(change: "ProgramChange", tick: int, timing: Timing) -> Diagnostic:
    """W422: what goes on with a changed program, and what begins at a tick."""
    from thalweg.kinds.change_reasons import listed

    first = timing.format.text(tick)
    parts = [
        f"{_named_units(change.begun)} {'begin' if len(change.begun) > 1 else 'begins'} at {first}"
        if change.begun
        else "",
        f"{_named_units(change.same)} {'go' if len(change.same) > 1 else 'goes'} on" if change.same else "",
        f"{_named_units(change.gone)} {'are' if len(change.gone) > 1 else 'is'} gone" if change.gone else "",
    ]
    because = "; ".join(f"{listed([name])} {reason}" for name, reason in islice(change.reasons.items(), _MOST_REASONS))
    return Diagnostic("W422", f"the program has changed: {'; '.join(filter(None, parts))}", help=because)


def _named_units(names: Sequence[str]) -> str:
    from thalweg.kinds.change_reasons import listed

    return listed(names, _MOST_NAMED)


def started(
    part: Part, options: RunOptions, report: Callable[[Diagnostic], None], kept: "KeptProgram | None" = None
) -> "LocalRun":
    """Opens the operators without any stream, so that they can be brought to a saved state.

    What is `kept` of the program says which of them began later than the run.
    """
    from thalweg.runtimes.local import LocalRun

    context = replace(_context(_settings(options), options.timing, Observer(report), Interrupt(), ()), saves=True)
    if kept is None:
        return LocalRun(part, context)
    planned = kept.resumed(part, context, _units(part, options)).planned
    return LocalRun(part, context, plan=planned.plan, begins=planned.begins)


def _settings(options: RunOptions, with_until: bool = False) -> Settings:
    timing, ahead = options.timing, options.timing.max_ahead_milliseconds
    chosen = options.emit, options.on_error, options.memory
    return Settings(*timing.ticks(), *chosen, timing.calendar, with_until, ahead)


def _live_warnings(report: Callable[[Diagnostic], None], mapped: Tally | None) -> "LiveWarnings":
    """The warnings that a live run gives while it goes on."""
    from thalweg.runtimes.live_warnings import LiveWarnings

    warnings = LiveWarnings(report)
    if mapped is not None:
        warnings.watch(mapped.counts)
    return warnings


def _mapped(mapped: Tally | None, resumed: bool) -> Iterator[Diagnostic]:
    """The warnings of mappings at the end."""
    return iter(()) if mapped is None else mapped.summary(resumed)


def _resume(job: PreparedRun, items: "ReadItems", checkpoint: "EmbeddedCheckpoint") -> None:
    """Brings a job to where its checkpoint was taken, and makes the checkpoint its own."""
    from thalweg.engine.checkpoint import MismatchError
    from thalweg.runtimes.checkpoint_folder import refused
    from thalweg.runtimes.inputs import Streams

    try:
        if checkpoint.state is not None and checkpoint.handover is not None:
            handover = checkpoint.handover
            position = job.run.begin(checkpoint.state, handover.succession, handover.moved)
            if handover.moved is not None and isinstance(items, Streams):
                position = handover.moved.position(position)
            items.seek(position)
        elif checkpoint.state is not None:
            items.seek(job.run.load(checkpoint.state))
        items.hold()
        checkpoint.claim()
    except MismatchError as error:
        job.__exit__()
        raise refused(f"`{checkpoint.folder}`: {error}") from None
    except BaseException:
        job.__exit__()
        raise


def open_checkpoint(
    folder: "CheckpointPath",
    part: Part,
    on: On,
    options: RunOptions,
    *,
    out: str | None = None,
    late: str | None = None,
    format: str = "jsonl",
    on_change: ChangeName = "refuse",
) -> "EmbeddedCheckpoint":
    """The checkpoint folder of a run in this process, to be used in a `with`, which reads it.

    `on_change` says what becomes of a folder that belongs to another program. `RejectedError` where the part cannot be
    resumed.
    """
    from thalweg.runtimes.checkpoint_folder import Claim
    from thalweg.runtimes.embedded_checkpoint import FORMAT, EmbeddedCheckpoint

    text, fingerprint = _identity(part, options)
    unchanging = _unchanging(on, options, {"--out": out, "--late": late}, format) | {"--emit": options.emit}
    program = replace(run_program(part, options, on), begins=on_change == "begin")
    return EmbeddedCheckpoint(folder, Claim(text, fingerprint, unchanging, FORMAT), program=program)


def run_program(part: Part, options: RunOptions, on: On = (), kept: "Units | None" = None) -> "RunProgram":
    """What a changed program must know of one that runs over streams; what is not stated of these may be `kept`."""
    from thalweg.runtimes.kept_program import RunProgram

    return RunProgram(_named_settings(_settings(options)), _units(part, options, on, kept))


def _units(part: Part, options: RunOptions, on: On = (), kept: "Units | None" = None) -> "Units":
    """What may go on, or begin, where the program of a run changes."""
    from thalweg.kinds.units import units_of

    mappings = options.mapped.mappings if options.mapped is not None else ()
    # Which streams a mapping is for is said of these.
    texts = [(mapping.predicate, repr(replace(mapping, stream=None))) for mapping in mappings]
    streams = list(named(on) or ())
    sources = [(absolute(source), _brought(source, mappings, is_only=len(streams) == 1)) for source in streams]
    if kept is not None:
        texts, sources = texts or list(kept.mappings), sources or list(kept.sources)
    return units_of(part, Context(_settings(options), options.timing.clock, lambda diagnostic: None), texts, sources)


def _brought(source: object, mappings: Sequence[Mapping], is_only: bool) -> frozenset[Predicate] | None:
    """The predicates that a stream with mappings of its own brings; None where it may be any."""
    if not isinstance(source, NamedSource):
        return None
    names = {source.name, None} if is_only else {source.name}
    return frozenset(mapping.predicate for mapping in mappings if mapping.stream in names) or None


def _named_sources(on: On, transports: "Sequence[Transport]") -> "list[tuple[str, bool]]":
    """The streams of a run, and which of them are live."""
    return [(absolute(name), transport.live) for name, transport in zip(named(on) or (), transports, strict=True)]


def _named_settings(settings: Settings) -> dict[str, str]:
    """The settings that stay the same for all of a run, by their options."""
    named = {"first": "--from", "last": "--to"}
    names = (attribute.name for attribute in fields(Settings) if attribute.repr)
    return {named.get(name, f"--{name.replace('_', '-')}"): repr(getattr(settings, name)) for name in names}


def identity(part: Part, options: RunOptions) -> str:
    """The identity that a snapshot of a session must agree with; `RejectedError` where the part cannot be saved."""
    return _identity(part, replace(options, on_error="stop"))[1]


def _identity(part: Part, options: RunOptions) -> tuple[str, str]:
    """The program as people read it, and a fingerprint of it with all that its state depends on."""
    from hashlib import sha256

    settings = _settings(options)
    text, fingerprint = part.identity(Context(settings, options.timing.clock, lambda diagnostic: None))
    return text, sha256(repr(("embedded", fingerprint, settings)).encode()).hexdigest()


def repeats(on: On) -> bool:
    """Whether streams can be read a second time, from the beginning."""
    names = named(on)
    if names is None:
        return isinstance(on, Sequence)
    return all(isinstance(name, Path | Source | HeldTable) for name in unnamed(names))


def run_on_spark(
    part: Part,
    on: On,
    options: RunOptions,
    target: "SparkTarget",
    partitions: int | None = None,
    *,
    out: str | None = None,
    elsewhere: "LakeOutput | None" = None,
    late: str | None = None,
    written: "AnswerFormat | None" = None,
    observer: Observer = Observer(),
    interrupt: Interrupt | None = None,
    on_change: ChangeName = "refuse",
) -> "RunOutcome":
    """Runs a part on Spark from streams to a sink; raises what is wrong with the streams when all is answered.

    Answers are `written` to `out`, or by Spark itself `elsewhere`, and lines about late facts to `late`. A run that is
    resumed goes on with the partitions it had, unless others are stated. The memory of the options is a budget for each
    bucket of each stage. `on_change` says what becomes of a checkpoint of another program. If the observer is
    interested in it, the outcome says until when what holds at the end is guaranteed.
    """
    from thalweg.answers.answer_formats import AnswerFormat
    from thalweg.runtimes.spark.session import need_spark

    need_spark()
    from thalweg.runtimes.continued_output import need_no_output
    from thalweg.runtimes.spark.delivery import Delivery
    from thalweg.runtimes.spark.feed import FeedOptions, groups_of, is_decoded, open_feed
    from thalweg.runtimes.spark.handover import KeptJob
    from thalweg.runtimes.spark.job import spread
    from thalweg.runtimes.spark.lake_sources import formats_of, has_lakes, lake_job
    from thalweg.runtimes.spark.run import LEDGER, RunChange, buckets_of, is_claimed, partitions_of, run

    if target.checkpoint is not None and not (target.checkpoint / LEDGER).exists():
        need_no_output(None if elsewhere else out)
        need_no_output(late)
    interrupt, timing = interrupt or Interrupt(), options.timing
    report, mapped = observer.report, options.mapped
    how = written or AnswerFormat(times=timing.format, columns=part.answer_columns(options.emit))
    settings = _settings(options, observer.with_until or how.format == "text")

    def deliver(ledger: "CheckpointPath", feed: "SparkFeed") -> Delivery:
        observer.ready()
        present = work.watch.presenter() or (lambda answer: answer)
        watching = report, listen, present, observer.see
        count = None if elsewhere is None else observer.count
        return Delivery(ledger, out, late, options.emit, how, *watching, work.job.plan.shows_facts, feed.hear, count)

    def listen(solution: Any, note: Any) -> None:
        if not work.watch.hear(note):
            observer.listen(solution, note)

    def looking(words: Dictionary) -> Callable[[Batch], object]:
        looks = [work.watch.look(words), observer.look]
        return _in_turn([look for look in looks if look is not None]) or (lambda batch: None)

    resumed = is_claimed(target.checkpoint)
    with _streaming(on, timing, mapped, _lakes(on, timing, mapped, observer)) as (items, transports):
        context = _context(settings, timing, observer, interrupt, transports)
        count = partitions or partitions_of(target)
        work = spread(part, replace(context, split=options.split or "auto"), buckets_of(target, count))
        unchanging = _unchanging(on, options, {"--out": out, "--late": late}, how.format)
        is_live = any(transport.live for transport in transports)
        decoded = is_decoded(transports)
        target = replace(target, formats=formats_of(transports, elsewhere))
        if has_lakes(transports):
            _check_lakes(timing, observer)
            job = lake_job(work.job, transports, timing.idle_seconds)
        else:
            job = replace(work.job, groups=groups_of(transports, decoded))
        feed_options = FeedOptions(
            timing.clock,
            passing_of(timing),
            report,
            looking,
            observer.observe,
            work.watch.scout(),
            work.watch.hear,
            mapped,
            items if decoded else None,
        )
        outcome = run(
            job,
            partial(open_feed, job, transports, feed_options),
            target,
            deliver,
            interrupt,
            report,
            count,
            options=unchanging,
            compiles=part.compiles,
            warnings=_live_warnings(report, mapped) if observer.warns_live and is_live else None,
            sink=None if elsewhere is None else _sink(part, elsewhere, options),
            change=None
            if target.checkpoint is None
            else RunChange(
                KeptJob.of(job, part, _units(part, options, on)),
                on_change == "begin",
                lambda left: report(taken_over(left.succession.change, left.first, timing)),
            ),
        )
    outcome = _ended(outcome, report)
    # What a live run has received is not known before its first batch.
    is_known = not resumed and not (is_live and not outcome.batches)
    for warning in chain(work.watch.summary() if is_known else (), _mapped(mapped, not is_known)):
        report(warning)
    return outcome


@contextmanager
def _streaming(
    on: On, timing: Timing, mapped: Tally | None, lakes: Collection[str]
) -> "Iterator[tuple[Callable[[Dictionary], Items], Sequence[Transport]]]":
    """Opens streams for a run that may be resumed, and says how to read them."""
    transports = _opened(on, mapped, lakes=lakes)

    def items(words: "Dictionary") -> "Items":
        # The streams are read beside the main thread, which is the one that gets Ctrl-C.
        return _items(on, transports, words, timing, Interrupt(), mapped)

    try:
        yield items, transports
    finally:
        for transport in transports:
            transport.close()


def _sink(part: Part, output: "LakeOutput", options: RunOptions) -> "LakeSink":
    """Where Spark writes answers, with the columns of their kind; times are timestamps where they can be told to be."""
    from thalweg.runtimes.spark.answer_frame import AnswerFrame, sql_types
    from thalweg.runtimes.spark.lake_sink import LakeSink

    timing, mapped = options.timing, options.mapped
    is_mapped = mapped is not None and any(mapping.time is not None for mapping in mapped.mappings)
    times = TimeFormat(timing.calendar, timing.times or ("iso" if is_mapped else "ticks"))
    typed = part.typed_columns(options.emit, None, {})
    assert typed is not None, "answers about all predicates have columns"
    frame = AnswerFrame(typed.columns, times, types=sql_types(typed.types), emit=options.emit)
    return LakeSink(output, frame, timing.clock.tick_length)


def _lakes(on: On, timing: Timing, mapped: Tally | None, observer: Observer) -> Collection[str]:
    """The formats of streams that Spark reads by itself.

    A topic of Kafka is read by the driver where the time of arrival matters, or a picture shows what comes.
    """
    timeless = [mapping for mapping in (mapped.mappings if mapped is not None else ()) if mapping.time is None]
    by_arrival = any(mapping.serves(name) for mapping in timeless for name in _topics(on))
    needs_driver = timing.passing == "wall" or by_arrival or observer.observe is not None
    return TABLES if needs_driver else (KAFKA, *TABLES)


def _topics(on: On) -> Iterator[str]:
    """The names of streams that are topics of Kafka."""
    for source in named(on) or ():
        origin = source.origin if isinstance(source, NamedSource) else source
        lake = lake_stream(origin) if isinstance(origin, str) else None
        if lake is not None and lake.format == KAFKA:
            yield source.name if isinstance(source, NamedSource) else lake.stream


def _check_lakes(timing: Timing, observer: Observer) -> None:
    """`RejectedError` where an option needs facts, or a clock, that the driver does not see."""
    if observer.observe is not None:
        message = "a picture shows facts that streams bring, and Spark reads these streams without this process"
        raise RejectedError([Diagnostic("E403", message, help="leave `--picture` out, or record the streams first")])
    if timing.passing == "wall":
        message = "`--clock wall` is for streams that this process receives, and Spark reads these by itself"
        raise RejectedError([Diagnostic("E403", message, help="leave it out, or let silent streams rest: `--idle 5s`")])


def _unchanging(on: On, options: RunOptions, sinks: dict[str, str | None], format: str) -> dict[str, object]:
    """The options of a run that must be the same when it is resumed, apart from those that its settings have."""
    names, timing, mapped = named(on), options.timing, options.mapped
    return {
        "--stream": None if names is None else [absolute(name) for name in names],
        **{option: name and absolute(on_command_line(name)) for option, name in sinks.items()},
        "--format": format,
        "--tick": timing.clock.tick_length,
        "--zone": timing.zone or "UTC",
        "--times": timing.times,
        **({"--map": list(map(str, mapped.mappings))} if mapped is not None and mapped.mappings else {}),
        **({"`separator` and the like": repr(mapped.stated)} if mapped is not None and mapped.stated else {}),
        **({"`zone`": {name: str(zone) for name, zone in mapped.zones.items()}} if mapped and mapped.zones else {}),
    }


def _ended(outcome: "RunOutcome", report: Callable[[Diagnostic], None]) -> "RunOutcome":
    for summary in (outcome.late_warning, outcome.far_warning, outcome.shed_warning):
        if summary is not None:
            report(summary)
    if outcome.malformed is not None:
        raise RejectedError([outcome.malformed])
    return outcome


def run_to(
    part: Part,
    on: On,
    options: RunOptions,
    observer: Observer = Observer(),
) -> "Derivations":
    """Runs to the last tick and returns what can be asked why; earlier answers are dropped."""
    with start(part, on, options, observer, explains=True) as job:
        for _ in job.pieces():
            pass
        return job.run.derivations


def _in_turn(looks: Sequence[Callable[[Batch], object]]) -> Callable[[Batch], object] | None:
    """One function that calls several, which look at batches; None without any."""
    return (lambda batch: [look(batch) for look in looks]) if looks else None


def _opened(
    on: On, mapped: Tally | None = None, resumable: bool = False, lakes: Collection[str] = ()
) -> "Sequence[Transport]":
    """The streams, where names say which; `resumable`, those that can be read on by another process.

    What is of a format of `lakes` is left to Spark.
    """
    from thalweg.runtimes.inputs import check_resumable, open_all

    transports = open_all(named(on) or (), mapped, lakes)
    if resumable:
        check_resumable(transports)
    return transports


def _context(
    settings: Settings,
    timing: Timing,
    observer: Observer,
    interrupt: Interrupt,
    transports: "Sequence[Transport]",
) -> Context:
    """The run that a part is evaluated in."""
    return Context(
        settings,
        timing.clock,
        observer.report,
        interrupt,
        observer.listen,
        streams=tuple(transport.stream for transport in transports),
        names_streams=partial(_may_name_streams, transports),
        progress=observer.progress,
    )


def _may_name_streams(transports: "Sequence[Transport]") -> bool:
    """Whether what comes may be of a stream with another name than that of what brings it."""
    from thalweg.connectors.readers import names_streams

    return not transports or any(transport.live or names_streams(transport) for transport in transports)


def _items(
    on: On,
    transports: "Sequence[Transport]",
    words: Dictionary,
    timing: Timing,
    interrupt: Interrupt,
    mapped: Tally | None,
) -> "Values | ReadItems":
    """The items of a run, from open streams or from Python itself."""
    from thalweg.runtimes.inputs import Streams, Values
    from thalweg.runtimes.plausible_times import TimeLimits

    clock = timing.clock
    limits = TimeLimits(clock, timing.max_ahead_milliseconds, timing.ticks()[2])
    if named(on) is None:
        return Values(on, words, clock, mapped, limits)  # type: ignore[arg-type]
    return Streams(transports, words, clock, interrupt, mapped, passing_of(timing), limits)


def passing_of(timing: Timing) -> "PassingTime":
    """Time as it passes by itself on live streams."""
    from thalweg.runtimes.wall_clock import PassingTime

    return PassingTime(timing.clock, timing.passing == "wall", timing.idle_seconds, delay=timing.ticks()[2])
