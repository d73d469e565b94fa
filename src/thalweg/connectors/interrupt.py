"""Ctrl-C as a request to end, not as an accident in the middle of something.

A wait for input ends at once; anything else goes on to its next safe point and asks there.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupted(Exception):  # noqa: N818
    """A wait for input was ended by the user."""


class Interrupt:
    """Whether the user has asked to end.

    >>> interrupt = Interrupt()
    >>> interrupt.asked
    False
    """

    def __init__(self) -> None:
        self.asked = False
        self._waiting = False

    def ask(self, _signal: int = 0, _frame: FrameType | None = None) -> None:
        """Asks to end; asking twice means now."""
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        if self._waiting:
            raise Interrupted

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Around a wait that an interrupt may end, and around nothing else."""
        self._waiting = True
        try:
            if self.asked:
                raise Interrupted
            yield
        finally:
            self._waiting = False

    @contextmanager
    def listen(self) -> Iterator[None]:
        """While this lasts, SIGINT and SIGTERM ask to end."""
        before = {number: signal.signal(number, self.ask) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
