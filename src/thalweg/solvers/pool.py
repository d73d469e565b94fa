"""Processes that solve: side by side, within a time limit, and without growing.

Three things about clingo make a process the right place for it. It never gives back the names that it has seen, so a
stream with ever new ones fills the memory: a process that has grounded `RENEWAL` atoms is replaced. Grounding cannot be
interrupted: a process that overstays the limit is ended, and its answer is incomplete. And what Python does around
it (spelling facts, reading answers) happens on one core however many threads there are.

A task holds all that is needed to solve it, so any process of the pool can take any task.
"""

import os
import pickle
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import repeat
from queue import SimpleQueue
from threading import Thread, Timer
from time import perf_counter, sleep
from typing import IO, Final, NamedTuple

from thalweg.diagnostics import Diagnostic, FailedError
from thalweg.model.machine import SHARE, allowed
from thalweg.solvers.clingo import Solved, Task, UnsolvableError, solve

RENEWAL: Final = 1_000_000
# A process that is given a few seconds more than the limit finds the time to end its search. From then on it has all
# the time that it needs to say what it has found.
_GRACE: Final = 0.25
_LOOK: Final = 0.5

_MAIN: Final = "import sys; sys.path[:] = {path!r}; from thalweg.solvers.pool import work; work()"


class SolverPool:
    """Processes, made when they are needed; with none, tasks are solved in this process.

    >>> with SolverPool(1) as pool:
    ...     [solved.answers for solved in pool.solve([Task("q :- p.", "p."), Task("q :- p. :- not p.")])]
    [(('p', 'q'),), ()]
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._idle: SimpleQueue[SolverProcess] = SimpleQueue()
        self._workers = [SolverProcess() for _ in range(size)]
        self._threads = ThreadPoolExecutor(max(1, size))
        for worker in self._workers:
            self._idle.put(worker)

    def solve(self, tasks: Sequence[Task]) -> list[Solved]:
        """The results of the tasks, in their order; the time that one has waited for another is part of its limit."""
        began = perf_counter()
        if not self._size:
            return [_in_time(task, began, _here) for task in tasks]
        if len(tasks) == 1:
            return [self._ask(tasks[0], began)]
        return list(self._threads.map(self._ask, tasks, repeat(began)))

    def _ask(self, task: Task, began: float) -> Solved:
        worker = self._idle.get()
        try:
            return _in_time(task, began, worker.ask)
        finally:
            self._idle.put(worker)

    def __enter__(self) -> "SolverPool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the processes, whatever they are doing."""
        for worker in self._workers:
            worker.kill()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.end()


class SolverProcess:
    """Runs one solver process at a time, and starts another when that has ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._atoms = 0

    def ask(self, task: Task) -> Solved:
        process = self._process or self._start()
        late = Timer(0 if task.limit is None else task.limit + _GRACE, process.kill)
        if task.limit is not None:
            late.start()
        try:
            reply = _exchange(process, task, late.cancel)
        finally:
            late.cancel()
        if isinstance(reply, Solved):
            self._atoms += reply.atoms
            if self._atoms > RENEWAL:
                self.end()
            return reply
        self.end()
        if reply is None and late.finished.is_set() and task.limit is not None:
            return Solved((), complete=False, seconds=task.limit + _GRACE)
        raise _failed(reply or "its process has ended, possibly out of memory")

    def _start(self) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-c", _MAIN.format(path=sys.path)]
        self._process = process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._atoms = 0
        assert process.stdout is not None
        # The limit is for solving: it must not begin before the process is ready.
        process.stdout.read(1)
        return process

    def kill(self) -> None:
        """Ends the process, perhaps in the middle of a task."""
        if self._process is not None:
            self._process.kill()

    def end(self) -> None:
        """Ends the process; the next task begins another one."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def _in_time(task: Task, began: float, solver: Callable[[Task], Solved]) -> Solved:
    """Solves a task in what is left of its time."""
    if task.limit is None:
        return solver(task)
    left = task.limit - (perf_counter() - began)
    return solver(replace(task, limit=left)) if left > 0 else Solved((), complete=False)


def _exchange(process: "subprocess.Popen[bytes]", task: Task, over: Callable[[], object]) -> Solved | str | None:
    """Sends a task to the process, and calls `over` when its search is over.

    Returns the answer, an error message, or None where the process has ended.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        _send(process.stdin, task)
        if process.stdout.read(1):
            over()
        reply = pickle.load(process.stdout)
    except (EOFError, OSError, pickle.UnpicklingError):
        return None
    return _unpacked(reply) if isinstance(reply, _Packed) else str(reply)


class _Packed(NamedTuple):
    """An answer on its way: one text for each answer set, which is faster to send than a hundred thousand atoms."""

    solved: Solved
    texts: tuple[str, ...]


def _packed(solved: Solved) -> _Packed:
    return _Packed(replace(solved, answers=()), tuple(map("\n".join, solved.answers)))


def _unpacked(packed: _Packed) -> Solved:
    """The answer as it was: clingo writes a line break in a string as an escape, and no atom as an empty text.

    >>> solved = Solved((("a", "b"), ("c",), ()))
    >>> _unpacked(_packed(solved)) == solved
    True
    """
    return replace(packed.solved, answers=tuple(tuple(text.split("\n")) if text else () for text in packed.texts))


def _send(pipe: IO[bytes], value: object) -> None:
    pickle.dump(value, pipe, protocol=5)
    pipe.flush()


def _here(task: Task) -> Solved:
    try:
        return solve(task)
    except UnsolvableError as error:
        raise _failed(str(error)) from error


def _failed(message: str) -> FailedError:
    return FailedError(Diagnostic("E504", f"clingo has not solved a window: {message.strip()}"))


def _end_with(parent: int) -> None:
    """Nobody waits for an answer when the process that gives out the tasks is gone, however it went."""
    while os.getppid() == parent:
        sleep(_LOOK)
    os._exit(1)


def work() -> None:
    """The main loop of a process of the pool: solves the tasks that come in until its input ends."""
    # Ctrl-C is for the process that gives out the tasks.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A program that counts for ever must not take the machine with it: clingo fails when it gets no more.
    limit = int(SHARE * allowed())
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))
    Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    source, sink = sys.stdin.buffer, sys.stdout.buffer

    def ready() -> None:
        sink.write(b"!")
        sink.flush()

    ready()
    while True:
        try:
            task = pickle.load(source)
        except EOFError:
            return
        try:
            _send(sink, _packed(solve(task, ready)))
        except UnsolvableError as error:
            if isinstance(error.__cause__, MemoryError):
                # There is no room left to say so; the other process knows what the end of this one means.
                os._exit(1)
            ready()
            _send(sink, str(error))
