"""Ends what a thread is doing, at the request of another one.

A run that is asked to end (`Interrupt`) goes on to its next safe point, which may be far: a tick that never ends has
none. Here an exception is raised in the thread as soon as it is in Python again. Kernels come back after some thousand
steps; waits for solver processes are ended by whoever can, so `ends` is called first. A native call that does not come
back, as a SPARQL evaluation, is not ended: `wait` says so.
"""

import ctypes
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock, Thread, get_ident
from time import monotonic
from typing import Final

from thalweg.connectors.interrupt import StoppedError

_LATER: Final = 120.0
"""For so many seconds it is tried again where the thread could not be stopped at once."""
_IMPORT: Final = "<frozen importlib"
_COMPILER: Final = "numba."
_AGAIN: Final = 0.5
"""Seconds after which the exception is raised again: where Python calls a finalizer, exceptions are lost."""


class ThreadStop:
    """A function that runs in this thread, and can be stopped from others.

    The engines that were at work in it refuse to be used afterwards (`BusyError`).

    >>> from threading import Thread
    >>> stop, outcomes = ThreadStop(), []
    >>> def for_ever():
    ...     while True: pass
    >>> thread = Thread(target=lambda: outcomes.append(stop.run(for_ever)))
    >>> thread.start(); stop.ask(); stop.wait(60), thread.join(), outcomes
    (True, None, [False])
    """

    def __init__(self, ends: Callable[[], object] = lambda: None) -> None:
        """`ends` ends what the function may be waiting for: `share.close` of solvers, for example."""
        self.asked = False
        self._ends = ends
        self._lock = Lock()
        self._thread: int | None = None
        self._left = Event()

    def run(self, work: Callable[[], object]) -> bool:
        """Calls a function, once; whether it has returned. What it raises after a request to stop is dropped."""
        try:
            try:
                if self._enter():
                    work()
                return not self.asked
            finally:
                self._leave()
        except BaseException:
            if not self.asked:
                raise
            # The request may have come just while the thread was leaving.
            self._leave()
            return False

    def ask(self) -> None:
        """Has the function stopped, or not begun; returns at once."""
        self.asked = True
        self._ends()
        if not self._raise():
            Thread(target=self.wait, args=[_LATER], daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Waits until the function, which was asked to stop, has ended; False where it has not within some seconds."""
        until = monotonic() + seconds
        while not self._left.wait(max(0.0, min(_AGAIN, until - monotonic()))):
            if monotonic() >= until:
                return False
            self._raise()
        return True

    def _enter(self) -> bool:
        """Takes requests for this thread from now on, unless there was one already."""
        with self._lock:
            self._thread = get_ident()
        return not self.asked

    def _leave(self) -> None:
        """From here on nothing is raised in this thread any more."""
        while self._thread is not None:
            # What is on its way comes here: if it was taken back, all threads would go on looking for it.
            with suppress(StoppedError), self._lock:
                self._thread = None
        self._left.set()

    def _raise(self) -> bool:
        """Has the exception raised; False where it must be tried again."""
        with self._lock:
            if self._thread is None:
                return True
            if _holds_locks_of_all(self._thread):
                return False
            _raise_in(self._thread, StoppedError)
            return True


def _holds_locks_of_all(thread: int) -> bool:
    """Whether a thread imports or compiles, or is about to have a lock: all others would wait for that for ever.

    It is asked again, because such a thing comes to an end.
    """
    frame = innermost = sys._current_frames().get(thread)
    if innermost is not None and innermost.f_code.co_name == "__enter__":
        return True
    while frame is not None:
        if frame.f_code.co_filename.startswith(_IMPORT) or frame.f_globals.get("__name__", "").startswith(_COMPILER):
            return True
        frame = frame.f_back
    return False


def _raise_in(thread: int, error: type[BaseException]) -> None:
    """Has an exception raised in a thread when it executes Python next."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))
