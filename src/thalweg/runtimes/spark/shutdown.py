"""A run on Spark that is asked to end is gone in time: no new answers after one second, no process after five.

Spark ends politely when its batch does, and a batch may take minutes. So a thread beside the run counts the seconds:

    0 s     asked: where Spark is still starting, its processes are killed; else it may finish what it is doing
    1 s     nothing more is delivered; a batch is delivered as a whole or not at all
    3 s     the processes of Spark that are left are killed
    4.5 s   this process ends, whatever it is waiting for, and its exit code says that it hung

A killed batch is done again by the run that is resumed.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from time import monotonic
from typing import Final, Protocol

from thalweg.connectors.interrupt import Interrupt
from thalweg.runtimes.spark.session import kill_processes

QUIET: Final = 1.0
POLITE: Final = 3.0
GONE: Final = 4.5
HUNG: Final = 3
"""The exit code of a process that did not end by itself: it failed while running."""
_PAUSE: Final = 0.05


class Ends(Protocol):
    """What can be stopped from delivering."""

    def end(self) -> None:
        """Nothing is delivered after this."""


class Guard(AbstractContextManager["Guard"]):
    """Watches over a run, and ends what does not end by itself in time.

    >>> with Guard(Interrupt()) as guard:
    ...     guard.quiet
    False
    """

    def __init__(self, interrupt: Interrupt) -> None:
        self._interrupt = interrupt
        self._over = threading.Event()
        self._delivery: Ends | None = None
        self.quiet = False

    def __enter__(self) -> "Guard":
        threading.Thread(target=self._watch, name="guard", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def delivering(self, delivery: Ends) -> None:
        """From now on there may be answers to finish; before that there was nothing to lose."""
        self._delivery = delivery

    def _watch(self) -> None:
        if not _asked(self._interrupt, self._over) or self._over.is_set():
            return
        interrupted_at = monotonic()
        if self._delivery is not None:
            self._wait_until(interrupted_at + QUIET)
            self._delivery.end()
            self.quiet = True
            self._wait_until(interrupted_at + POLITE)
        # Again and again: the run may be about to start another one.
        while not self._over.wait(_PAUSE):
            kill_processes()

    def _wait_until(self, moment: float) -> None:
        self._over.wait(max(0.0, moment - monotonic()))


@contextmanager
def leaving_in_time(interrupt: Interrupt) -> Iterator[None]:
    """A process that is asked to end while this lasts is gone in time, even if it hangs; for the command line.

    One that hangs says so on stderr, and its exit code is `HUNG`.
    """
    over = threading.Event()

    def watch() -> None:
        if _asked(interrupt, over):
            # On purpose not ended by `over`: what comes after this may hang, too.
            threading.Event().wait(GONE)
            leave_by_force()

    threading.Thread(target=watch, name="leaving", daemon=True).start()
    try:
        yield
    finally:
        over.set()


def leave_by_force() -> None:
    """Ends this process, which hangs: it says so on stderr, and its exit code is `HUNG`."""
    # Not through `sys.stderr`: what hangs may have its lock.
    os.write(2, f"stopped by force: the run did not end within {GONE} s of the signal\n".encode())
    os._exit(HUNG)


def _asked(interrupt: Interrupt, over: threading.Event) -> bool:
    """Waits until a run is asked to end, or is over; whether it was asked, be it a moment before it was over."""
    while not interrupt.asked:
        if over.wait(_PAUSE):
            return interrupt.asked
    return True
