"""Beats: records that say nothing but that time has passed, written when a program needs to know it.

Programs that go by the wall clock, let silent streams rest, or hold rows with doubtful times answer in silence only
because of them. Where no program needs time to pass, nothing is written.
"""

from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from typing import Final

from thalweg.service.log import DiskFullError, Log, LogBusyError, LogEntry

LOOK: Final = 0.1
"""Seconds until it looks again at most: what programs have been told meanwhile may make time matter sooner."""
_AGAIN: Final = 1.0
"""Seconds until it tries again, where the log could not take a beat."""
_LEAST: Final = 0.01
"""Seconds between two beats at least."""


class Beats:
    """A thread that appends a beat whenever `due` says 0; `due` is the least `due()` of the programs, in seconds."""

    def __init__(self, log: Log, due: Callable[[], float | None]) -> None:
        """Nothing is written before `start`."""
        self._log = log
        self._due = due
        self._changed = Event()
        self._is_closed = False
        self._thread = Thread(target=self._run, name="beats", daemon=True)

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    def _run(self) -> None:
        while not self._is_closed:
            due = self._due()
            seconds = LOOK if due is None else min(due, LOOK)
            self._changed.wait(seconds if seconds > 0 else self._beat())
            self._changed.clear()

    def _beat(self) -> float:
        """Appends a beat, which programs get from the log; seconds to wait then."""
        with suppress(LogBusyError, DiskFullError):
            self._log.append(LogEntry("beat")).result()
            return _LEAST
        return _AGAIN

    def look(self) -> None:
        """Has it look again at once, where a program has come or changed."""
        self._changed.set()

    def close(self) -> None:
        """Ends the thread."""
        self._is_closed = True
        self._changed.set()
        if self._thread.ident is not None:
            self._thread.join()
