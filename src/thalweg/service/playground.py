"""Programs tried out once: each in a process of its own, with limits of time and memory, which opens no file.

    {"sources": […], "stream": {"name": "s.facts", "text": "p(a) at 3."}, "to": 5, "why": ["q(a)"]}
    becomes {"lines": […], "proofs": {"q(a)": {…}}, "history": {…}, "diagnostics": []}

What is evaluated is not trusted: it may run for ever, and take all memory that it gets. So a process begins for each
request (`playground_process`), and ends, with those that it has started, when the request does.
"""

import json
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Condition
from typing import Any, Final

from thalweg.diagnostics import Diagnostic
from thalweg.service.process_limits import LimitedProcess
from thalweg.service.refused import RefusedError, refusal

_COMMAND: Final = (sys.executable, "-m", "thalweg.service.playground_process")
_AGAIN: Final = {"Retry-After": "5"}
_LESS: Final = "end earlier (`to`), send less, or bound what the program derives"
_ENDED: Final = frozenset((-signal.SIGKILL, -signal.SIGXCPU, -signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS))
"""How a process ends that the system has ended, or that got no memory where native code needs some."""


class Playground:
    """Evaluates what requests hold; `most` at once, and a few more wait."""

    def __init__(self, most: int = 2, waiting: int = 8) -> None:
        self._most = most
        self._most_waiting = waiting
        self._changed = Condition()
        self._waiting = 0
        self._running: set[LimitedProcess] = set()
        self._is_closed = False

    def evaluate(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of a request, after seconds perhaps: call it from a thread that may wait.

        `RefusedError`: 400 where something is rejected, 408 where it took too long, 413 where it is too large or gives
        too much, 503 where too many wait already, or the service ends.
        """
        request = json.dumps(body).encode()
        with self._process() as process:
            written = process.communicate(request)
        if self._is_closed:
            raise refusal(503, "the service ends", headers=_AGAIN)
        if process.returncode in _ENDED:
            raise refusal(408, process.excess or "it was ended by the system: it took too much time or memory", _LESS)
        if process.returncode:
            raise RuntimeError(f"the process of the playground has failed: {process.errors()}")
        reply = json.loads(written)
        if reply["status"] != 200:
            raise PlaygroundError(reply["status"], reply["body"])
        answer: dict[str, Any] = reply["body"]
        return answer

    @contextmanager
    def _process(self) -> Iterator[LimitedProcess]:
        """A process, once there is room for it."""
        process = self._begin()
        try:
            yield process
        finally:
            process.kill()
            with self._changed:
                self._running.discard(process)
                self._changed.notify_all()

    def _begin(self) -> LimitedProcess:
        with self._changed:
            if len(self._running) >= self._most and self._waiting >= self._most_waiting:
                raise refusal(503, f"{self._most_waiting} evaluations wait already", headers=_AGAIN)
            self._waiting += 1
            try:
                self._changed.wait_for(lambda: self._is_closed or len(self._running) < self._most)
            finally:
                self._waiting -= 1
            if self._is_closed:
                raise refusal(503, "the service ends", headers=_AGAIN)
            process = LimitedProcess(_COMMAND)
            self._running.add(process)
            return process

    def close(self) -> None:
        """Ends what is being evaluated, and refuses what comes."""
        with self._changed:
            self._is_closed = True
            for process in self._running:
                process.kill()
            self._changed.notify_all()


class PlaygroundError(RefusedError):
    """A request is refused by the process that evaluates it; `data` is what that says."""

    def __init__(self, status: int, data: dict[str, Any]) -> None:
        super().__init__(status, (_diagnostic(**described) for described in data["diagnostics"]))
        self._data = data

    def as_data(self) -> dict[str, object]:
        """The same with the places that it names, whose texts only that process had."""
        return self._data


def _diagnostic(code: str, message: str, help: str = "", **_: object) -> Diagnostic:
    return Diagnostic(code, message, help=help)
