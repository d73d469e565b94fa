"""Questions to a program, which its own thread answers where it waits or between two records.

Nobody but that thread may touch what reasons; so a question is a function that waits until the thread comes by.
"""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Lock, Timer
from typing import Any, TypeVar

from thalweg.runtimes.local import LocalRun
from thalweg.service.refused import RefusedError, refusal

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Question:
    function: Callable[[LocalRun], Any]
    future: "Future[Any]" = field(default_factory=Future)
    timer: Timer | None = None


class Questions:
    """Those that wait. `ask` is for any thread, `answer` for the program's."""

    def __init__(self) -> None:
        self._waiting: deque[_Question] = deque()
        self._lock = Lock()
        self._over: RefusedError | None = None

    @property
    def are_waiting(self) -> bool:
        """Whether the thread should come by."""
        return bool(self._waiting)

    def ask(self, function: Callable[[LocalRun], T], seconds: float) -> "Future[T]":
        """The future of an answer; it has a `RefusedError` (503) where there is none after so many seconds."""
        question = _Question(function)
        question.timer = Timer(seconds, self._give_up, [question])
        question.timer.daemon = True
        with self._lock:
            if self._over is not None:
                question.future.set_exception(self._over)
                return question.future
            self._waiting.append(question)
        question.timer.start()
        return question.future

    def answer(self, run: LocalRun) -> None:
        """Answers all that wait."""
        while (question := self._next()) is not None:
            try:
                question.future.set_result(question.function(run))
            except Exception as error:
                question.future.set_exception(error)
            except BaseException:
                # The program is being stopped in the middle of the answer.
                question.future.set_exception(_stopped())
                raise

    def close(self, refusal: RefusedError | None = None) -> None:
        """Nothing is answered any more: what waits, and what comes, is refused."""
        with self._lock:
            self._over = refusal or _stopped()
        while (question := self._next()) is not None:
            question.future.set_exception(self._over)

    def _next(self) -> _Question | None:
        with self._lock:
            question = self._waiting.popleft() if self._waiting else None
        if question is not None and question.timer is not None:
            question.timer.cancel()
        return question

    def _give_up(self, question: _Question) -> None:
        with self._lock:
            if question not in self._waiting:
                return
            self._waiting.remove(question)
        message = "the program is busy with what has come, and has not come to this question in time"
        question.future.set_exception(refusal(503, message, "ask again in a few seconds", {"Retry-After": "2"}))


def _stopped() -> RefusedError:
    return refusal(409, "the program has stopped, or is being stopped")
