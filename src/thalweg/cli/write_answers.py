"""Answers and late facts on their way out: nothing is made before all is in order, and nothing is lost at the end."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg.cli.errors import forget_stdout
from thalweg.cli.settings import OutputOptions
from thalweg.cli.summary import RunSummary

if TYPE_CHECKING:
    from thalweg.answers.answer_formats import AnswerFormat
    from thalweg.answers.record import Answer
    from thalweg.answers.table import AnswerTable, ParquetFile, ParquetParts
    from thalweg.api import Observer, PreparedRun
    from thalweg.connectors.interrupt import Interrupt
    from thalweg.connectors.transport import Sink


Look = Callable[["Answer"], None]
"""Receives blocks of answers when they have been written."""

Opener = Callable[[str, str | None], Any]
"""Opens the output for answers (`out`, as Parquet `table`), late facts (`late`) or the report, by its name."""


def open_anew(purpose: str, name: str | None) -> Any:
    """Opens an output; what was in a file is gone."""
    if purpose == "table":
        from thalweg.answers.table import ParquetFile

        return ParquetFile(Path(name or ""))
    from thalweg.connectors.open import open_output

    return open_output(name)


class Channel:
    """A file for late facts, or for the report, that is made only once everything else is in order."""

    def __init__(self, purpose: str, name: str | None, opener: Opener = open_anew) -> None:
        self._purpose = purpose
        self._name = name
        self._opener = opener
        self._sink: Sink | None = None

    def open(self) -> None:
        if self._name is not None:
            self._sink = self._opener(self._purpose, self._name)

    def write(self, line: str) -> None:
        assert self._sink is not None
        self._sink.write(line.encode())
        self._sink.flush()

    def __enter__(self) -> "Channel":
        return self

    def __exit__(self, *_: object) -> None:
        if self._sink is not None and self._sink is not sys.stdout.buffer:
            self._sink.close()


LateLines = Callable[[str], None] | None
"""Receives lines about late facts, if they are kept."""


def deliver(
    starting: "Callable[[LateLines], PreparedRun]",
    delivery: OutputOptions,
    written: "AnswerFormat",
    interrupt: "Interrupt",
    observer: "Observer",
    opener: Opener = open_anew,
    summary: RunSummary | None = None,
) -> None:
    """Runs a job, and writes what it answers; files are opened, and the observer is `ready`, when it has started.

    The observer sees every block of answers that has been written; the `summary` gets the number of late facts.
    """
    with Channel("late", delivery.late, opener) as channel, starting(channel.write if delivery.late else None) as job:
        channel.open()
        observer.ready()
        try:
            if written.is_parquet:
                _write_table(job, opener("table", delivery.out), written.table, observer.see)
            else:
                _write(job, opener("out", delivery.out), written, interrupt, observer.see)
        finally:
            if summary is not None:
                summary.late = job.run.intake.dropped


def _write(job: "PreparedRun", sink: "Sink", written: "AnswerFormat", interrupt: "Interrupt", see: Look) -> None:
    from thalweg.cli.progress_bar import Meter

    meter = Meter(job.transports, answers_on_terminal=sink is sys.stdout.buffer and sys.stdout.isatty())
    run, format = job.run, written.formatter()
    # A table without rows has a header, one that is rejected is not there.
    header = "" if _goes_on(sink) else written.header
    with _writing(sink):
        try:
            for piece in job.pieces():
                if piece is None:
                    sink.flush()
                else:
                    interrupt.writing = True
                    for text in format(piece):
                        sink.write((header + text).encode())
                        header = ""
                    interrupt.writing = False
                    see(piece)
                    interrupt.check()
                    meter.beat(run.now)
            sink.write(header.encode())
        finally:
            meter.close()


def _goes_on(sink: "Sink") -> bool:
    """Whether an earlier part of the run has written to a file."""
    return sink is not sys.stdout.buffer and bool(getattr(sink, "tell", lambda: 0)())


def _write_table(job: "PreparedRun", sink: "ParquetFile | ParquetParts", table: "AnswerTable", see: Look) -> None:
    from thalweg.answers.table import ParquetFile
    from thalweg.diagnostics import RejectedError

    sink.begin(table)
    answered = False
    try:
        for piece in job.pieces():
            if piece is not None:
                sink.add(table.rows(piece))
                see(piece)
                answered = True
    except RejectedError:
        if isinstance(sink, ParquetFile) and not answered:
            sink.withdraw()
        else:
            sink.close()
        raise
    except BaseException:
        sink.close()
        raise
    sink.close()


@contextmanager
def _writing(sink: "Sink") -> Iterator[None]:
    """Flushes and closes the sink, however the run ends; a sink that takes no more is a failure."""
    from thalweg.connectors.files import NewFile
    from thalweg.diagnostics import Diagnostic, FailedError, RejectedError

    to_stdout = sink is sys.stdout.buffer
    try:
        try:
            yield
        except RejectedError:
            if isinstance(sink, NewFile):
                sink.withdraw()
            raise
        finally:
            sink.flush() if to_stdout else sink.close()
    except OSError as error:
        if to_stdout:
            forget_stdout()
            if isinstance(error, BrokenPipeError):
                # The reader of the answers has seen enough.
                return
        raise FailedError(Diagnostic("E401", f"the answers cannot be written: {error.strerror}")) from error
