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
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import repeat
from threading import Condition, Lock, Thread, Timer
from time import perf_counter, sleep
from typing import IO, Final, NamedTuple, Protocol

from thalweg.diagnostics import Diagnostic, FailedError
from thalweg.model.machine import SHARE, allowed
from thalweg.solvers.clingo import Solved, Task, UnsolvableError, solve

RENEWAL: Final = 1_000_000
# A process that is given a few seconds more than the limit finds the time to end its search. From then on it has all
# the time that it needs to say what it has found.
_GRACE: Final = 0.25
_LOOK: Final = 0.5

_MAIN: Final = "import sys; sys.path[:] = {path!r}; from thalweg.solvers.pool import work; work()"


class Solvers(Protocol):
    """What solves tasks: processes on this machine, or executors elsewhere."""

    def solve(self, tasks: Sequence[Task]) -> list[Solved]:
        """The results of tasks, in the order of the tasks."""

    def close(self) -> None:
        """Nothing more will be asked."""


class PoolClosedError(RuntimeError):
    """A pool, or a share of it, was closed while it was used."""


class SolverPool:
    """Processes, made when they are needed; with none, tasks are solved in this process.

    Several callers, each in a thread of its own, may use one pool: each has a `share` of it.

    >>> with SolverPool(1) as pool:
    ...     [solved.answers for solved in pool.solve([Task("q :- p.", "p."), Task("q :- p. :- not p.")])]
    [(('p', 'q'),), ()]
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._workers = [SolverProcess() for _ in range(size)]
        self._idle = deque(self._workers)
        self._freed = Condition()
        self._threads = ThreadPoolExecutor(max(1, size))
        self._own = SolverShare(self)

    def solve(self, tasks: Sequence[Task]) -> list[Solved]:
        """The results of the tasks, in their order; the time that one has waited for another is part of its limit."""
        return self._own.solve(tasks)

    def share(self) -> "SolverShare":
        """The pool for one of several callers, whose tasks can be ended without those of the others."""
        return SolverShare(self)

    def run(self, tasks: Sequence[Task], share: "SolverShare") -> list[Solved]:
        """The results of tasks of a share, in their order."""
        elapsed = _TimeSolving()
        if not self._size:
            return [_in_time(task, elapsed, _here) for task in tasks]
        if len(tasks) == 1:
            return [self._ask(tasks[0], elapsed, share)]
        return list(self._threads.map(self._ask, tasks, repeat(elapsed), repeat(share)))

    def _ask(self, task: Task, elapsed: "_TimeSolving", share: "SolverShare") -> Solved:
        with self._worker(share) as worker:
            return _in_time(task, elapsed, worker.ask)

    @contextmanager
    def _worker(self, share: "SolverShare") -> "Iterator[SolverProcess]":
        """A process that nobody else uses meanwhile; waits for one."""
        with self._freed:
            self._freed.wait_for(lambda: self._idle or share.is_closed or self._own.is_closed)
            if share.is_closed or self._own.is_closed:
                raise PoolClosedError("this pool of solver processes, or the share of it, was closed")
            worker = self._idle.popleft()
            share.busy.add(worker)
        try:
            yield worker
        finally:
            with self._freed:
                share.busy.discard(worker)
            if share.is_closed:
                # It may have been killed just when it had answered.
                worker.end()
            with self._freed:
                self._idle.append(worker)
                self._freed.notify()

    def end_share(self, share: "SolverShare") -> None:
        """Ends what the processes do for a share, whoever waits for it, and gives them back to the others."""
        with self._freed:
            share.is_closed = True
            for worker in share.busy:
                worker.kill()
            self._freed.notify_all()

    def __enter__(self) -> "SolverPool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the processes, whatever they are doing and for whomever."""
        self._own.close()
        for worker in self._workers:
            worker.kill()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.end()


class SolverShare:
    """A pool as one of several callers uses it: others cost it no part of its limits, and it can be ended alone.

    >>> with SolverPool(1) as pool:
    ...     share, other = pool.share(), pool.share()
    ...     share.close()
    ...     [solved.answers for solved in other.solve([Task("q :- p.", "p.")])]
    [(('p', 'q'),)]
    """

    def __init__(self, pool: SolverPool) -> None:
        self._pool = pool
        self.busy: set[SolverProcess] = set()
        """The processes that solve for it."""
        self.is_closed = False

    def solve(self, tasks: Sequence[Task]) -> list[Solved]:
        """The results of tasks, in their order. The limit of each counts while any of these tasks is being solved."""
        return self._pool.run(tasks, self)

    def close(self) -> None:
        """Ends what is being solved for it, which fails; may be called from any thread."""
        self._pool.end_share(self)


class _TimeSolving:
    """The seconds during which any of several tasks was being solved."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._solving = 0
        self._before = self._since = 0.0

    @property
    def seconds(self) -> float:
        return self._before + (perf_counter() - self._since if self._solving else 0.0)

    def __enter__(self) -> float:
        """One of them begins; the seconds before that."""
        with self._lock:
            if not self._solving:
                self._since = perf_counter()
            self._solving += 1
            return self.seconds

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self._solving == 1:
                self._before = self.seconds
            self._solving -= 1


class SolverProcess:
    """Runs one solver process at a time, and starts another when that has ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._atoms = 0
        self._lock = Lock()
        self._killed = False

    def ask(self, task: Task) -> Solved:
        try:
            return self._ask(task, self._process or self._start())
        except BaseException:
            # What it still answers would be taken for the answer to the next task.
            self.end()
            raise

    def _ask(self, task: Task, process: "subprocess.Popen[bytes]") -> Solved:
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
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        with self._lock:
            self._process, self._atoms = process, 0
            if self._killed:
                process.kill()
        assert process.stdout is not None
        # The limit is for solving: it must not begin before the process is ready.
        process.stdout.read(1)
        return process

    def kill(self) -> None:
        """Ends the process, perhaps in the middle of a task, or one that is just being started."""
        with self._lock:
            self._killed = True
            if self._process is not None:
                self._process.kill()

    def end(self) -> None:
        """Ends the process; the next task begins another one."""
        with self._lock:
            process, self._process, self._killed = self._process, None, False
        if process is not None:
            process.kill()
            process.communicate()


def _in_time(task: Task, elapsed: _TimeSolving, solver: Callable[[Task], Solved]) -> Solved:
    """Solves a task in what is left of its time."""
    with elapsed as before:
        if task.limit is None:
            return solver(task)
        left = task.limit - before
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
