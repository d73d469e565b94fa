"""A run on Spark from streams to sinks: reads, reasons, delivers, and can be resumed.

The checkpoint folder holds everything: what live streams have brought (`inbox`), how streams are read (`streams.json`),
Spark's own checkpoint, what has been delivered, and which program it all belongs to. Without one, a temporary folder
serves and is gone at the end.
"""

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from thalweg.connectors.interrupt import Interrupt
from thalweg.diagnostics import Counted, Diagnostic, FailedError, RejectedError
from thalweg.engine import kernels_ready
from thalweg.ir.nodes import Program
from thalweg.kinds.rules.rule_engine import RuleEngine
from thalweg.model.sealed import unseal_json
from thalweg.runtimes.checkpoint_folder import (
    MANIFEST,
    Claim,
    FolderCheck,
    complete,
    ended_at,
    locked,
    read_sealed,
)
from thalweg.runtimes.live_warnings import LiveWarnings
from thalweg.runtimes.spark.answer_chunks import chunks_of
from thalweg.runtimes.spark.available_now import says_where_batches_begin
from thalweg.runtimes.spark.changed_job import (
    check_alike,
    forget_change,
    handover,
    keep,
    note_change,
    on_its_way,
    owners_of,
    read_kept,
)
from thalweg.runtimes.spark.checkpoint_format import FORMAT
from thalweg.runtimes.spark.delivery import REPORTS, Delivered, Delivery
from thalweg.runtimes.spark.failure_cause import cause_of
from thalweg.runtimes.spark.feed import SparkFeed, read_stopped
from thalweg.runtimes.spark.handover import BucketHandover, KeptJob
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.offset_log import CHECKPOINT, last_batch
from thalweg.runtimes.spark.packages import missing_package
from thalweg.runtimes.spark.partition_count import move, usual_buckets, usual_partitions
from thalweg.runtimes.spark.progress_line import ProgressLine
from thalweg.runtimes.spark.query_settings import NO_DATA
from thalweg.runtimes.spark.session import (
    java_errors,
    java_may_be_gone,
    log_error,
    log_hint,
    open_session,
    running_settings,
    stop_session,
)
from thalweg.runtimes.spark.session_settings import LOCAL, is_local
from thalweg.runtimes.spark.shipped_job import ship, ship_handover
from thalweg.runtimes.spark.shutdown import Guard
from thalweg.runtimes.spark.stage_stores import StageStores
from thalweg.runtimes.spark.visible_checkpoint import check_visible
from thalweg.runtimes.stored_path import CheckpointPath, StoredPath

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from thalweg.runtimes.spark.early_session import EarlySession
    from thalweg.runtimes.spark.lake_sink import LakeSink

PAUSE: Final = 0.05
LEDGER: Final = "delivered.json"
BUCKETS_OPTION: Final = "buckets"


@dataclass(frozen=True, slots=True)
class SparkTarget:
    """Where to run: the address of a master, a folder for checkpoints, jars that Spark needs besides.

    A `short` run takes no time to optimise the code of Java. `conf` are settings of Spark, `archive` a Python
    environment for the machines of a cluster, `formats` those that Spark needs packages for. A `session` was opened
    here before, because something had to be read; an `early` one is being opened.
    """

    master: str | None = None
    checkpoint: CheckpointPath | None = None
    jars: tuple[str, ...] = ()
    verbose: bool = False
    short: bool = False
    conf: Mapping[str, str] = field(default_factory=dict)
    archive: str | None = None
    formats: tuple[str, ...] = ()
    session: "SparkSession | None" = None
    early: "EarlySession | None" = None

    @property
    def settings(self) -> dict[str, str]:
        """What is known of the session of a run there before it is open."""
        stated = {} if self.master is None else {"spark.master": self.master}
        running = {} if self.early is not None else running_settings()
        return {"spark.master": LOCAL, **running, **stated, **self.conf}

    @property
    def is_local(self) -> bool:
        """Whether the session of a run there has no other machine."""
        return is_local(self.settings["spark.master"])

    def open_session(self, partitions: int) -> "SparkSession":
        """The session that was opened for the run, the one that is open, or a new one there."""
        if self.early is not None:
            return self.early.take(partitions)
        return self.session or open_session(
            self.master,
            partitions,
            verbose=self.verbose,
            jars=self.jars,
            conf=self.conf,
            archive=self.archive,
            formats=self.formats,
            short=self.short,
        )


@dataclass(slots=True)
class RunOutcome:
    """How a run ended."""

    batches: int = 0
    answers: int = 0
    late_warning: Diagnostic | None = None
    far_warning: Diagnostic | None = None
    shed_warning: Diagnostic | None = None
    malformed: Diagnostic | None = None
    late: int = 0
    guaranteed: dict[str, int] = field(default_factory=dict)
    """Until which tick what holds at the end is guaranteed, where that was asked for."""


def run(
    job: Job,
    open_feed: Callable[[CheckpointPath], SparkFeed],
    target: SparkTarget,
    deliver: Callable[[CheckpointPath, SparkFeed], Delivery],
    interrupt: Interrupt,
    report: Callable[[Diagnostic], None],
    partitions: int,
    watch: "Callable[[StreamingQuery, Delivery], None] | None" = None,
    options: Mapping[str, object] | None = None,
    compiles: bool = True,
    warnings: LiveWarnings | None = None,
    sink: "LakeSink | None" = None,
    change: "RunChange | None" = None,
) -> RunOutcome:
    """Runs a job to the end of its streams, or until it is interrupted; `open_feed` opens what brings facts to it.

    With a `sink`, Spark itself writes the answers. What `compiles` needs the engine's kernels. `warnings` are given
    while a live run goes on. A run is resumed with the same `options`: what was read and where answers went cannot
    change on the way. A `change` says what of a checkpoint may be another program's.
    """
    with ExitStack() as stack:
        folder = target.checkpoint or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="thalweg-")))
        check_path(folder)
        need_folder = stack.enter_context(locked(folder))
        guard = stack.enter_context(Guard(interrupt))
        claim = Claim(job.text, job.fingerprint, {**(options or {}), BUCKETS_OPTION: job.width}, FORMAT)
        earlier = _earlier(folder, claim, change)
        if (folder / LEDGER).exists() and Delivered.read(folder / LEDGER).over:
            return _over(folder, report)
        if compiles:
            compile_kernels()
        feed = open_feed(folder)
        try:
            session = target.open_session(partitions)
        except Exception as error:
            # An interrupt kills a Java that is starting, which then fails in many ways.
            if interrupt.asked:
                log_error("starting, while the run was interrupted")
                return RunOutcome()
            if isinstance(error, java_errors()):
                raise failure(error) from error
            raise
        stack.callback(stop_session, session)
        _check(session, folder, partitions, sink)
        claim.make(folder)
        if change is not None and target.checkpoint is not None:
            keep(folder, change.kept)
            earlier = earlier or _itself(session, change.kept, folder)
        delivery = deliver(folder / LEDGER, feed)
        delivery.need_folder = need_folder
        stack.callback(delivery.close)
        guard.delivering(delivery)
        if warnings is not None:
            warnings.watch(lambda: _counts(delivery, feed))
        feed.start(need_folder)
        stack.callback(feed.stop)
        with _failures(interrupt, delivery):
            must_stop = partial(_must_stop, interrupt, guard, feed, target, need_folder)
            if earlier is not None:
                assert change is not None
                _finish(session, earlier.job, feed, delivery, folder, sink, must_stop)
                if must_stop():
                    return RunOutcome()
                _hand_over(session, earlier, change, folder)
            writing = writer_of(session, job, feed, delivery, folder, sink)
            _move(session, writing, folder, partitions, must_stop)
            if earlier is not None:
                StageStores.of(session, location_of(folder)).empty(earlier.job.fingerprint, job, partitions)
                note_change(folder, earlier.job, job)
            query = _triggered(writing, job).start()
            stack.callback(_stop, query)
            shown = stack.enter_context(ProgressLine(query, delivery.on_terminal))
            _follow(query, job, feed, delivery, must_stop, watch or _beat(shown, feed, warnings))
        feed.stop()
        if feed.error is not None:
            raise feed.error
        if feed.malformed is not None:
            delivery.withdraw()
        shed = delivery.shedding.summary()
        late, far = delivery.late, feed.far
        return RunOutcome(
            delivery.done.batch + 1,
            delivery.rows,
            late.summary(),
            far.summary(),
            shed,
            feed.malformed,
            late.count + far.count,
            delivery.guaranteed,
        )


@dataclass(frozen=True, slots=True)
class RunChange:
    """What is kept of the job of a run for a changed one, and whether it `begins` itself where another one was.

    `report` is told what goes on, and from which tick on the rest is evaluated.
    """

    kept: KeptJob
    begins: bool
    report: Callable[[BucketHandover], object]


def _earlier(folder: CheckpointPath, claim: Claim, change: RunChange | None) -> KeptJob | None:
    """The job that the state of a checkpoint is of, where that is another one and this may take over."""
    if change is None or not (folder / MANIFEST).exists():
        claim.check(folder)
        return None
    own, owners = claim.fingerprint, owners_of(folder)
    if own != owners.batch:
        other = claim.other_program(folder, begins=True)
        if not change.begins or owners.is_changing:
            raise on_its_way(str(folder)) if owners.is_changing or other is None else other
    claim.check_options(folder)
    if own == owners.state or last_batch(folder) is None:
        # What was noted of a change is known by the manifest from here on.
        claim.make(folder, anew=claim.other_program(folder) is not None)
        forget_change(folder, change.kept.job)
        return None
    earlier = read_kept(folder, owners.state)
    check_alike(earlier.job, change.kept.job, str(folder))
    return earlier


def _itself(session: "SparkSession", kept: KeptJob, folder: CheckpointPath) -> KeptJob | None:
    """The job of a run, where its state was kept for a changed one that was killed before its first batch."""
    stores = StageStores.of(session, location_of(folder))
    if stores.are_taken_from(kept.job.fingerprint):
        return kept
    stores.settle()
    return None


def _finish(
    session: "SparkSession",
    earlier: Job,
    feed: SparkFeed,
    delivery: Delivery,
    folder: CheckpointPath,
    sink: "LakeSink | None",
    must_stop: Callable[[], bool],
) -> None:
    """Has an earlier job finish the batch that it has begun: Spark keeps what a first attempt has left of its state."""
    last = last_batch(folder)
    if last is not None and not (last.is_complete or last.moves) and owners_of(folder).batch == earlier.fingerprint:
        _run_once(writer_of(session, earlier, feed, delivery, folder, sink), must_stop)


def _hand_over(session: "SparkSession", earlier: KeptJob, change: RunChange, folder: CheckpointPath) -> None:
    """Sends what an earlier job has left to the workers of a changed one."""
    left = handover(session, location_of(folder), earlier, change.kept)
    if earlier is not change.kept:
        change.report(left)
    ship_handover(session, change.kept.job, left)


def _check(session: "SparkSession", folder: CheckpointPath, partitions: int, sink: "LakeSink | None") -> None:
    """Looks at the checkpoint and at where answers are to go, before anything says that the folder is that of this run.

    Spark reads some settings only now.
    """
    try:
        check_visible(session, uri_of(folder), partitions)
        if sink is not None and last_batch(folder) is None:
            sink.begin(session)
    except java_errors() as error:
        raise failure(error) from error


def _over(folder: CheckpointPath, report: Callable[[Diagnostic], None]) -> RunOutcome:
    """A run that is over stays over; one that ended at a malformed line says so again."""
    if (stopped := read_stopped(folder)) is not None:
        raise ended_at(folder, stopped[2].render())
    report(complete(folder))
    return RunOutcome()


def check_path(folder: CheckpointPath) -> None:
    """Refuses a folder of which Spark would read every file of a batch as often as the batch has files."""
    if pattern := re.search(r"[][{}*?\\]", str(folder.absolute())):
        message = f"cannot use `{folder}` for checkpoints: Spark takes `{pattern[0]}` in a path for a pattern"
        raise RejectedError([Diagnostic("E401", message, help="name a folder without such a character")])


def compile_kernels() -> None:
    """Compiles the engine's kernels here, where they are missing, and not in every worker at once."""
    if not kernels_ready():
        # The smallest program: this one may take long at its first tick.
        RuleEngine(Program()).advance(0)


def partitions_of(target: SparkTarget) -> int:
    """The number of partitions of a run, where none is stated: those that it had, or one for each core."""
    last = None if target.checkpoint is None else last_batch(target.checkpoint)
    return usual_partitions(target.settings) if last is None else last.partitions


def buckets_of(target: SparkTarget, partitions: int) -> int:
    """The number of buckets of a run: as many as partitions where it cannot be resumed, else for the life of it."""
    folder = target.checkpoint
    if folder is None:
        return partitions
    if is_claimed(folder):
        claimed: int = read_sealed(folder / MANIFEST, FORMAT, unseal_json)["options"].get(BUCKETS_OPTION, partitions)
        return claimed
    return usual_buckets(partitions, is_local=target.is_local)


def is_claimed(folder: CheckpointPath | None) -> bool:
    """Whether a run that is to use a checkpoint folder goes on with an earlier one."""
    return folder is not None and (folder / MANIFEST).exists()


def writer_of(
    session: "SparkSession",
    job: Job,
    feed: SparkFeed,
    delivery: Delivery,
    folder: CheckpointPath,
    sink: "LakeSink | None" = None,
) -> "DataStreamWriter":
    """The query that reads, reasons and delivers, to the `sink` of Spark where there is one, ready to be started."""
    from thalweg.runtimes.spark.dataframe import chain

    def deliver(answers: Any, batch: int) -> None:
        if sink is None and not delivery.has_many and not is_one_batch(job):
            delivery.deliver(batch, answers.toArrow())
        else:
            _deliver_kept(answers, batch, delivery, sink)

    shipped = ship(session, job)
    parcels = feed.load(session, shipped)
    if job.closes:
        from thalweg.runtimes.spark.start_source import start_rows

        parcels = parcels.unionAll(start_rows(session, delivery.done.batch + 1))
    writing = chain(shipped, parcels).writeStream.foreachBatch(deliver)
    if job.closes:
        # All has been read when a batch without data follows.
        session.conf.set(NO_DATA, "true")
    return writing.option("checkpointLocation", location_of(folder))


def is_one_batch(job: Job) -> bool:
    """Whether all recordings of a job are read in one batch, with however many answers."""
    return job.closes and not says_where_batches_begin()


def _triggered(writing: "DataStreamWriter", job: Job) -> "DataStreamWriter":
    """The query with when its batches begin."""
    return writing.trigger(availableNow=True) if job.closes else writing.trigger(processingTime="0 seconds")


def location_of(folder: CheckpointPath) -> str:
    """Where Spark keeps its own checkpoint of a run."""
    return uri_of(folder / CHECKPOINT)


def uri_of(folder: CheckpointPath) -> str:
    """A folder as Spark knows it: what users name, without options of ours."""
    return folder.uri.partition("?")[0] if isinstance(folder, StoredPath) else f"file:{folder.absolute()}"


def _move(
    session: "SparkSession",
    writing: "DataStreamWriter",
    folder: CheckpointPath,
    partitions: int,
    must_stop: Callable[[], bool],
) -> None:
    """Moves the state of a run that is resumed to its partitions; a batch that was begun with others is done first."""
    last = last_batch(folder)
    if last is None:
        return
    if last.partitions != partitions and not (last.is_complete or last.moves):
        _run_once(writing, must_stop)
        if must_stop():
            return
        last = replace(last, is_complete=True)
    move(session, location_of(folder), last, partitions)


def _run_once(writing: "DataStreamWriter", must_stop: Callable[[], bool]) -> None:
    """Runs the batch that was begun, unless it must stop."""
    once = writing.trigger(once=True).start()
    try:
        while not once.awaitTermination(PAUSE):  # type: ignore[arg-type]
            if must_stop():
                return
    finally:
        _stop(once)


def _deliver_kept(rows: Any, batch: int, delivery: Delivery, sink: "LakeSink | None") -> None:
    """Has the answers of a batch written by Spark, or some at a time; what is reported of it comes to the driver."""
    from pyspark.sql import functions as F  # noqa: N812

    is_report = F.col("kind").isin(*REPORTS)
    kept = rows.persist()
    try:
        reports = kept.where(is_report).toArrow()
        if sink is not None:
            delivery.deliver(batch, reports, lambda: sink.write(kept, delivery.done.run, batch))
        elif delivery.takes_chunks(reports):
            delivery.deliver(batch, reports, chunks=partial(chunks_of, kept.where(~is_report)))
        else:
            delivery.deliver(batch, kept.toArrow())
    finally:
        kept.unpersist()


def _stop(query: "StreamingQuery") -> None:
    with java_may_be_gone("stopping the query"):
        query.stop()


def _counts(delivery: Delivery, feed: SparkFeed) -> Iterator[Counted]:
    """The counts of far facts, which the driver knows at once, and of late ones, which the workers report."""
    yield from feed.far.counts()
    yield from delivery.late.counts()


def _beat(
    shown: ProgressLine, feed: SparkFeed, warnings: LiveWarnings | None
) -> "Callable[[StreamingQuery, Delivery], None]":
    def beat(query: "StreamingQuery", delivery: Delivery) -> None:
        if warnings is not None:
            warnings.look()
        last = delivery.done.tick
        shown.beat(last, feed.facts, max(0, feed.reached - last))

    return beat


def _follow(
    query: "StreamingQuery",
    job: Job,
    feed: SparkFeed,
    delivery: Delivery,
    must_stop: Callable[[], bool],
    watch: "Callable[[StreamingQuery, Delivery], None]",
) -> None:
    """Waits until all has been answered, or until it must stop."""
    while not delivery.done.over:
        watch(query, delivery)
        if feed.error is not None or must_stop():
            return
        if job.ends and not job.closes and feed.malformed is not None and delivery.is_settled:
            # Streams that go on may never come to the tick at which another one has stopped.
            return
        if query.awaitTermination(PAUSE):  # type: ignore[arg-type]
            if not delivery.done.over:
                _check_ended(job, delivery)
            return


def _check_ended(job: Job, delivery: Delivery) -> None:
    """`FailedError` where a query has ended and the run is not over, unless there was nothing to read."""
    if not job.closes:
        raise FailedError(Diagnostic("E407", "Spark stopped the run"))
    if delivery.done.has_read:
        # It was killed between the last batch and the one that closes the time.
        message = "all was read before, and nothing new has come that could close the last ticks"
        way_out = "run it again when there is more to read, or from the beginning: new checkpoint, another output"
        raise FailedError(Diagnostic("E407", message, help=way_out))


def _must_stop(
    interrupt: Interrupt, guard: Guard, feed: SparkFeed, target: SparkTarget, need_folder: FolderCheck
) -> bool:
    """Whether a run that is interrupted stops now: one that can be resumed does; others answer what they have read.

    `RejectedError` where another run has taken the checkpoint.
    """
    need_folder(is_saving=False)
    if not interrupt.asked:
        return False
    if target.checkpoint is None:
        feed.finish()
    return target.checkpoint is not None or guard.quiet


@contextmanager
def _failures(interrupt: Interrupt, delivery: Delivery) -> Iterator[None]:
    """Turns an exception of Spark into a `FailedError` with one sentence."""
    try:
        yield
    except Exception as error:
        if delivery.error is not None:
            raise delivery.error from error
        # The signal may have ended Java, too.
        if interrupt.asked:
            log_error("running, while the run was interrupted")
            return
        if isinstance(error, FailedError | RejectedError):
            raise
        raise failure(error) from error


def failure(error: Exception) -> FailedError:
    """An exception of Spark as an error with one sentence."""
    try:
        text = str(getattr(error, "desc", None) or error)
    except java_errors():
        # An error of Java is spelled by Java, which may be what went away.
        text = "the Java process has ended"
    if (missing := missing_package(error, version("pyspark"))) is not None:
        return FailedError(missing)
    if "UnknownTopicOrPartitionException" in text:
        message = "the brokers have no such topic as the run reads or writes"
        return FailedError(Diagnostic("E404", message, help="create it, or look at its name"))
    help_ = f"{log_hint()}; with `--checkpoint` the run can be resumed"
    return FailedError(Diagnostic("E407", f"the run failed in Spark: {cause_of(text)}", help=help_))
