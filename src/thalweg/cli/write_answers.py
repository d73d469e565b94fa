"""Answers and late facts on their way out: nothing is made before all is in order, and nothing is lost at the end."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from thalweg.cli.errors import forget_stdout
from thalweg.cli.settings import Delivery

if TYPE_CHECKING:
    from thalweg.api import Job
    from thalweg.connectors.interrupt import Interrupt
    from thalweg.connectors.transport import Sink
    from thalweg.model.time import TimeFormat
    from thalweg.runtimes.emit import Formatter


Opener = Callable[[str, str | None], "Sink"]
"""Opens the output for answers (`out`), late facts (`late`) or the report (`report`), under the name that it has."""


def open_anew(purpose: str, name: str | None) -> "Sink":
    """Opens an output; what was in a file is gone."""
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
"""What takes lines about late facts, if they are kept."""


def deliver(
    starting: "Callable[[LateLines], Job]",
    delivery: Delivery,
    times: "TimeFormat",
    interrupt: "Interrupt",
    ready: Callable[[], None] = lambda: None,
    opener: Opener = open_anew,
) -> None:
    """Runs a job, and writes what it answers; files are opened, and `ready` is called, when it has started."""
    from thalweg.runtimes.emit import formatter

    with Channel("late", delivery.late, opener) as channel, starting(channel.write if delivery.late else None) as job:
        channel.open()
        ready()
        _write(job, opener("out", delivery.out), formatter(delivery.format, times), interrupt)


def _write(job: "Job", sink: "Sink", format: "Formatter", interrupt: "Interrupt") -> None:
    from thalweg.runtimes.progress import Meter

    meter = Meter(job.transports, answers_on_terminal=sink is sys.stdout.buffer and sys.stdout.isatty())
    engine = job.runtime.engine
    with _writing(sink):
        try:
            for piece in job.pieces():
                if piece is None:
                    sink.flush()
                else:
                    interrupt.writing = True
                    for text in format(piece):
                        sink.write(text.encode())
                    interrupt.writing = False
                    interrupt.check()
                    meter.beat(engine.now)
        finally:
            meter.close()


@contextmanager
def _writing(sink: "Sink") -> Iterator[None]:
    """What has been written is handed on, however it ends; a sink that takes no more is a failure."""
    from thalweg.diagnostics import Diagnostic, FailedError

    to_stdout = sink is sys.stdout.buffer
    try:
        try:
            yield
        finally:
            sink.flush() if to_stdout else sink.close()
    except OSError as error:
        if to_stdout:
            forget_stdout()
            if isinstance(error, BrokenPipeError):
                # The reader of the answers has seen enough.
                return
        raise FailedError(Diagnostic("E401", f"the answers cannot be written: {error.strerror}")) from error
