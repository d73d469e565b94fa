"""Ctrl-C as a request to end, not as an accident in the middle of something.

A wait for input ends at once; anything else goes on to its next safe point and asks there. What has no safe point soon
enough, a long tick for example, is stopped where it is: Python handles an alarm between two calls of a kernel. A line
that is being written is given some time more.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

Handler = Callable[[int, FrameType | None], None]

GRACE: Final = 0.4
"""Seconds from the request to end until whatever is under way is stopped."""

_MORE: Final = 0.2


class StoppedError(BaseException):
    """A run was stopped in the middle of something, because it was asked to end and did not.

    It may be raised anywhere, so it is not an `Exception`, which others might take for their own.
    """


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
        self.writing = False
        self._waiting = False
        self._saving = False
        self._grace: float | None = None
        self._overtime = False

    def ask(self, _signal: int = 0, _frame: FrameType | None = None) -> None:
        """Asks to end; asking twice means now."""
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        if self._grace is not None:
            signal.setitimer(signal.ITIMER_REAL, self._grace, _MORE)
        if self._waiting:
            raise Interrupted

    def check(self) -> None:
        """Stops between two answers where there was no time left to stop before."""
        if self._overtime:
            raise StoppedError

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        """The time to end is over; where something is `writing` it has until the next alarm, `saving` all it needs."""
        if self._saving:
            return
        if self._overtime or not self.writing:
            raise StoppedError
        self._overtime = True

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
    def saving(self) -> Iterator[None]:
        """Around the taking of a checkpoint, which is not stopped; what comes after it has the whole grace again."""
        self._saving = True
        try:
            yield
        finally:
            self._saving = False
            if self.asked and self._grace is not None:
                signal.setitimer(signal.ITIMER_REAL, self._grace, _MORE)

    def wait(self, read: Callable[[], bytes]) -> bytes:
        """Waits for a block; an empty one, which ends a stream, where the user asks to end."""
        try:
            with self.waiting():
                return read()
        except Interrupted:
            return b""

    @contextmanager
    def listen(self, grace: float | None = None) -> Iterator[None]:
        """While this lasts, SIGINT and SIGTERM ask to end; what has not ended after the grace is stopped."""
        self._grace = grace
        handlers: dict[int, Handler] = {signal.SIGINT: self.ask, signal.SIGTERM: self.ask}
        if grace is not None:
            handlers[signal.SIGALRM] = self._stop
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            if grace is not None:
                signal.setitimer(signal.ITIMER_REAL, 0)
            for number, handler in before.items():
                signal.signal(number, handler)
