"""A generation of a program: one thread around the same run as `thalweg run`, over what the log has.

    folder/checkpoint     of the run (see `embedded_checkpoint`), with how many lines it had answered
    folder/lines-…        what it answered (see `answer_lines`)

At each None, which says that the next item must be waited for, its thread answers questions.
"""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock
from typing import Any, Literal, TypeVar

from thalweg.model.time import TimeFormat
from thalweg.runtimes.local import LocalRun
from thalweg.service.answer_lines import AnswerLines
from thalweg.service.holding import Holding

State = Literal["catching-up", "live", "failed", "stopping"]

T = TypeVar("T")


class Generation:
    """A program at work from a place of the log on. All attributes may be read from any thread."""

    number: int
    name: str
    """The name of the program."""
    lines: AnswerLines
    lock: Lock
    """Held where `holding`, `lines` and `t` change, so that who holds it sees all three at one line."""
    holding: Holding
    """Under `lock`; take `RegisteredProgram.snapshot` instead where you can."""
    state: State
    because: list[dict[str, Any]]
    """The diagnostics of its failure, as data."""
    t: int | None
    """The last tick that was evaluated."""
    times: TimeFormat
    """How its ticks are written: `times.data(generation.t)`."""
    seq: int
    """The last record of the log that was wholly taken."""
    from_seq: int
    """The record of the log behind which it began."""
    progress: float
    """Which share of what it had to catch up with it has, from 0 to 1."""
    cpu: float
    """Seconds of CPU of its thread."""
    bytes: int
    """Memory of its engines."""
    late: int
    """How many facts were late or far."""

    def late_lines(self, limit: int) -> list[str]:
        """The latest lines about late facts, as `--late` writes them, without the end of the line."""
        raise NotImplementedError

    def ask(self, question: Callable[[LocalRun], T], seconds: float) -> Future[T]:
        """Calls a function with the run, on the program's thread, when it waits or between two records.

        The future has a `RefusedError` where the program has failed or stops (409), or does not come to it within so
        many seconds (503).
        """
        raise NotImplementedError

    def stop(self, save: bool, seconds: float) -> bool:
        """Ends the thread: between two items and with its state saved if it comes to that, else in the middle.

        False where it could not be ended in that time, because a call that cannot be stopped has not returned.
        """
        raise NotImplementedError
