"""The verb `run`."""

import gc
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import typer

from thalweg.cli.deployed_command import CommandSources
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
from thalweg.cli.parameters import Programs, Values, with_options
from thalweg.cli.picture import Pencil, drawn
from thalweg.cli.settings import OutputOptions, RuntimeOptions
from thalweg.cli.summary import RunSummary, summarised
from thalweg.cli.write_answers import Channel, LateLines, Opener, deliver, open_anew

if TYPE_CHECKING:
    from thalweg.answers.answer_formats import AnswerFormat
    from thalweg.answers.record import Answer
    from thalweg.api import Observer, Part, PreparedRun, RunOptions, SolveOptions
    from thalweg.connectors.interrupt import Interrupt
    from thalweg.diagnostics import Diagnostic
    from thalweg.kinds.part import Account
    from thalweg.runtimes.embedded_checkpoint import EmbeddedCheckpoint
    from thalweg.runtimes.spark.early_session import EarlySession
    from thalweg.runtimes.spark.run import SparkTarget
    from thalweg.runtimes.stored_path import CheckpointPath


@with_options("run")
def run(context: typer.Context, programs: Programs, values: Values) -> None:
    """Run programs over streams.

    Answers are written as soon as they are final: a live stream is answered as it arrives, and Ctrl-C ends it cleanly.
    """
    with outcome() as ending, stoppable(), ExitStack() as stack:
        target, picture, memory = RuntimeOptions.of(values), values["picture"], values["memory"]
        if (early := target.early_session(values)) is not None:
            stack.enter_context(early)
        from thalweg import api
        from thalweg.answers.answer_formats import AnswerFormat
        from thalweg.model.byte_size import size_in_bytes
        from thalweg.runtimes.picture_files import check_picture

        sources = CommandSources.of(context, values)
        options = api.RunOptions.of({**api.keywords_of("run", values), "map": sources.mappings})
        with usage():
            delivery, timing = OutputOptions.of(values), options.timing
            if picture is not None:
                check_picture(picture)
            timing.calendar, timing.idle_seconds, timing.max_ahead_milliseconds  # noqa: B018
            budget = None if memory is None else size_in_bytes(memory)
            kinds = {**options.kinds, "prefix": api.given_prefixes(values["prefix"] or ())}
        options = replace(options, memory=budget, report=values["report"], kinds=kinds)
        background, place = _background(sources, target, delivery)
        resolved = api.resolve_options(programs, sources.streams, background, options)
        ending.prefixes = resolved.prefixes
        complain(*resolved.warnings)
        first, last, _ = resolved.timing.ticks()
        need_something(sources.streams, first, last)
        if values["as_"] == "consistency" and not (delivery.is_table or delivery.format in ("jsonl", "text")):
            refuse("clashes are written as lines of JSON, as text or as a table: leave `--format` out")
        _fitting(target, delivery, resolved.solving)
        report = complaining(resolved.prefixes, values["verbose"])
        with _nothing_collected():
            part = api.load_resolved(programs, background, resolved, report)
        if part.compiles:
            announce_compilation()
        columns, brief = part.answer_columns(options.emit), resolved.prefixes.shorten
        written = AnswerFormat(delivery.format, resolved.timing.format, columns, delivery.is_coloured, brief)
        quiet = values["quiet"]
        progress = not quiet and (values["verbose"] or sys.stderr.isatty())
        observer = api.Observer(report, progress=progress, warns_live=not quiet)
        with summarised(part, quiet) as summary, drawn(picture, written) as pencil:
            work = _Run(part, sources.streams, resolved.run, target, delivery, written, summary, pencil, place, early)
            work.run(observer)


def _background(
    sources: CommandSources, target: RuntimeOptions, delivery: OutputOptions
) -> "tuple[list[Any], SparkTarget | None]":
    """The background with the tables that Spark has read, and where it has: a session that is open."""
    from thalweg.api.lake_background import has_lake_background, read_lakes

    if not target.on_spark or not has_lake_background(sources.background):
        return sources.background, None
    from thalweg.runtimes.spark.run import partitions_of

    place = target.target(sources.streams)
    partitions = target.partitions or partitions_of(place)
    return read_lakes(sources.background, place, sources.streams, delivery.elsewhere, partitions)


def _fitting(target: RuntimeOptions, delivery: OutputOptions, solving: "SolveOptions") -> None:
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


@dataclass(frozen=True, slots=True)
class _Run:
    """A run with all that follows it: how answers are written, its summary, its picture."""

    part: "Part"
    streams: list[Any]
    options: "RunOptions"
    target: RuntimeOptions
    delivery: OutputOptions
    written: "AnswerFormat"
    summary: RunSummary
    pencil: Pencil
    place: "SparkTarget | None" = None
    early: "EarlySession | None" = None

    def run(self, observer: "Observer") -> None:
        """Runs it where the options say; warnings are reported to the observer."""
        from thalweg.connectors.interrupt import GRACE, Interrupt

        interrupt, path = Interrupt(), self.options.report
        with interrupt.listen(None if self.target.on_spark else GRACE), Channel("report", path) as channel:
            account = None if path is None else _account(self.part, path, channel)
            following = self._following(observer)
            if account is not None:
                following = replace(following, listen=account.take)
            if path and path != "-":
                following = replace(following, ready=channel.open)
            if self.target.on_spark:
                self._on_spark(following, interrupt)
            elif self.target.checkpoint is None:
                self._deliver(following, interrupt)
            elif over := self._resume(self.target.checkpoint, following, interrupt):
                observer.report(over)
                self.summary.is_wanted = False
                return
            self.summary.keeps_late, self.summary.was_stopped = self.delivery.late is not None, interrupt.asked
            if account is not None:
                account.finish()

    def _following(self, observer: "Observer") -> "Observer":
        """The observer with what the summary and the picture are made of."""
        report, pencil = observer.report, self.pencil

        def see(answer: "Answer") -> None:
            self.summary.see(answer)
            pencil.see(answer)

        def report_and_count(warning: "Diagnostic") -> None:
            self.summary.hear(warning)
            report(warning)

        return replace(observer, report=report_and_count, look=self.summary.look, see=see, count=self.summary.count)

    def _on_spark(self, observer: "Observer", interrupt: "Interrupt") -> None:
        from thalweg import api
        from thalweg.runtimes.spark.shutdown import leaving_in_time

        if self.pencil.is_used:
            observer = replace(observer, with_until=True, observe=self.pencil.observe_elsewhere)
        with leaving_in_time(interrupt):
            outcome = api.run_on_spark(
                self.part,
                self.streams,
                self.options,
                self.place or self.target.target(self.streams, self.early),
                self.target.partitions,
                out=self.delivery.out,
                elsewhere=self.delivery.elsewhere,
                late=self.delivery.late,
                written=self.written,
                observer=observer,
                interrupt=interrupt,
                on_change=self.target.on_change,
            )
            self.summary.late = outcome.late
        self.pencil.ends = outcome.guaranteed
        self.pencil.prove(self.part, self.options.timing)

    def _deliver(
        self,
        observer: "Observer",
        interrupt: "Interrupt",
        checkpoint: "EmbeddedCheckpoint | None" = None,
        opener: Opener = open_anew,
    ) -> None:
        """Runs in this process, and writes the answers."""
        from thalweg import api

        observe = self.pencil.observe if self.pencil.is_used else None
        observer = replace(observer, with_until=self.written.format == "text", observe=observe)

        def started(late: LateLines) -> "PreparedRun":
            with _nothing_collected():
                job = api.start(
                    self.part,
                    self.streams,
                    self.options,
                    replace(observer, late=late),
                    interrupt=interrupt,
                    checkpoint=checkpoint,
                )
            self.pencil.engine = job.run.derivations.engine
            # What was loaded stays to the end, and need not be searched for garbage again and again.
            gc.freeze()
            return job

        deliver(started, self.delivery, self.written, interrupt, observer, opener, self.summary)

    def _resume(self, folder: "CheckpointPath", observer: "Observer", interrupt: "Interrupt") -> "Diagnostic | None":
        """Runs on from a checkpoint, which is kept on the way; a warning where the run was complete already."""
        from thalweg import api

        out, late = self.delivery.out, self.delivery.late
        with api.open_checkpoint(
            folder,
            self.part,
            self.streams,
            self.options,
            out=out,
            late=late,
            format=self.delivery.format,
            on_change=self.target.on_change,
        ) as checkpoint:
            if checkpoint.over is not None:
                return checkpoint.over

            def opened(purpose: str, name: str | None) -> Any:
                sink = checkpoint.open(purpose, name)
                # What was answered before it was stopped counts.
                self.summary.has_answered |= purpose != "late" and checkpoint.state is not None
                return sink

            self._deliver(observer, interrupt, checkpoint, opened)
        return None


def _account(part: "Part", report: str, channel: Channel) -> "Account":
    # What goes to the standard output is answers.
    write = channel.write if report != "-" else lambda line: print(line, end="", file=sys.stderr)
    return part.account(write)
