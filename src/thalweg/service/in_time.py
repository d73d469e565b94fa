"""Work that may take too long is done in a thread of its own, which is stopped then."""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

from thalweg.runtimes.thread_stop import ThreadStop

T = TypeVar("T")


def in_time(
    work: Callable[[], T], seconds: float, name: str, end: Callable[[ThreadStop, Thread], None] | None = None
) -> T:
    """What a function gives that a thread of a name calls; `TimeoutError` after some seconds.

    Then `end` has the thread ended; by default it is stopped as soon as it is in Python again.

    >>> in_time(lambda: 3, 60, "counts")
    3
    """
    future: Future[T] = Future()
    stop = ThreadStop()

    def call() -> None:
        try:
            future.set_result(work())
        except Exception as error:
            future.set_exception(error)

    thread = Thread(target=stop.run, args=[call], name=name, daemon=True)
    thread.start()
    try:
        return future.result(seconds)
    except TimeoutError:
        if future.done():
            # The work itself has raised it.
            raise
        if end is None:
            stop.ask()
        else:
            end(stop, thread)
        raise
