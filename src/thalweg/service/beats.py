"""Beats: records that say nothing but that time has passed, written when a program needs to know it.

Programs that go by the wall clock, let silent streams rest, or hold rows with doubtful times answer in silence only
because of them. Where no program needs time to pass, nothing is written.
"""

from collections.abc import Callable

from thalweg.service.log import Log


class Beats:
    """A thread that appends a beat whenever `due` says 0; `due` is the least `due()` of the programs, in seconds."""

    def __init__(self, log: Log, due: Callable[[], float | None]) -> None:
        """Nothing is written before `start`."""

    def start(self) -> None:
        """Begins."""

    def look(self) -> None:
        """Has it look again at once, where a program has come or changed."""

    def close(self) -> None:
        """Ends the thread."""
