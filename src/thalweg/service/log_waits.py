"""Threads that wait for the log to go on, or for something else that they are woken for."""

import time
from collections.abc import Callable
from threading import Condition


class LogWaits:
    """What is to be waited for: that the log has reached a number.

    >>> waits = LogWaits(7)
    >>> waits.wait(6, None, lambda: False), waits.wait(7, 0, lambda: False), waits.wait(7, None, lambda: True)
    (True, False, False)
    """

    def __init__(self, last: int) -> None:
        """The log has reached a number."""
        self._last = last
        self._news = Condition()
        self._wakes = 0
        self._is_closed = False

    def reach(self, last: int) -> None:
        """The log has reached another number."""
        with self._news:
            self._last = last
            self._news.notify_all()

    def wake(self) -> None:
        """Has all waits look at what they await."""
        with self._news:
            self._wakes += 1
            self._news.notify_all()

    def close(self) -> None:
        """Ends all waits: the log will reach no other number."""
        with self._news:
            self._is_closed = True
            self._news.notify_all()

    def wait(self, after: int, seconds: float | None, awaited: Callable[[], bool]) -> bool:
        """Waits until the log is behind a number, and returns whether it is; see `Log.wait`."""
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            wakes = self._wakes
            # Without the lock: it may take one that is held where `wake` is called.
            if awaited():
                return self._last > after
            with self._news:
                while self._wakes == wakes:
                    left = None if end is None else end - time.monotonic()
                    if self._last > after or self._is_closed or (left is not None and left <= 0):
                        return self._last > after
                    self._news.wait(left)
