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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from queue import SimpleQueue
from threading import Lock, Thread, Timer
from time import perf_counter, sleep
from typing import IO, Final, NamedTuple, Protocol
from weakref import finalize

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

    Several callers, each in a thread of its own, may use one pool: each has a `share` of it. Every process belongs to a
    thread of the pool, and callers only wait for what comes out of a queue: so a caller that is stopped at any place
    (`ThreadStop`) leaves the pool whole.

    >>> with SolverPool(1) as pool:
    ...     [solved.answers for solved in pool.solve([Task("q :- p.", "p."), Task("q :- p. :- not p.")])]
    [(('p', 'q'),), ()]
    """

    def __init__(self, size: int) -> None:
        self._workers = [SolverProcess() for _ in range(size)]
        self._questions: SimpleQueue[_Question | None] = SimpleQueue()
        self._calls: set[_Call] = set()
        self.is_closed = False
        self._own = SolverShare(self)
        self._threads = [Thread(target=_serve, args=(worker, self._questions), daemon=True) for worker in self._workers]
        for thread in self._threads:
            thread.start()
        self._dismiss = finalize(self, _dismiss, self._questions, size)

    def solve(self, tasks: Sequence[Task]) -> list[Solved]:
        """The results of the tasks, in their order; the time that one has waited for another is part of its limit."""
        return self._own.solve(tasks)

    def share(self) -> "SolverShare":
        """The pool for one of several callers, whose tasks can be ended without those of the others."""
        return SolverShare(self)

    def run(self, tasks: Sequence[Task], share: "SolverShare") -> list[Solved]:
        """The results of tasks of a share, in their order."""
        call = _Call(share)
        try:
            self._calls.add(call)
            if self.is_closed or share.is_closed:
                raise _closed()
            if not self._workers:
                return [_in_time(task, call.elapsed, _here) for task in tasks]
            for number, task in enumerate(tasks):
                self._questions.put(_Question(call, number, task))
            results = dict(call.next() for _ in tasks)
            return [results[number] for number in range(len(tasks))]
        finally:
            call.is_over = True
            self._calls.discard(call)

    def end_share(self, share: "SolverShare") -> None:
        """Ends the calls of a share, whoever waits for them."""
        for call in list(self._calls):
            if call.share is share:
                call.end()

    def __enter__(self) -> "SolverPool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the processes, whatever they are doing and for whomever."""
        self.is_closed = True
        for call in list(self._calls):
            call.end()
        for worker in self._workers:
            worker.kill()
        self._dismiss()
        for thread in self._threads:
            thread.join()


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
        self._lock = Lock()
        self._busy: set[SolverProcess] = set()
        self.is_closed = False

    def solve(self, tasks: Sequence[Task]) -> list[Solved]:
        """The results of tasks, in their order. The limit of each counts while any of these tasks is being solved."""
        return self._pool.run(tasks, self)

    def close(self) -> None:
        """Ends what is being solved for it, which fails; may be called from any thread."""
        with self._lock:
            self.is_closed = True
            for worker in self._busy:
                worker.kill()
        self._pool.end_share(self)

    @contextmanager
    def using(self, worker: "SolverProcess") -> "Iterator[None]":
        """While a process solves for it; in a thread of the pool."""
        with self._lock:
            if self.is_closed:
                raise _closed()
            self._busy.add(worker)
        try:
            yield
        finally:
            with self._lock:
                self._busy.discard(worker)
            if self.is_closed:
                # It may have been killed just when it had answered.
                worker.end()


class _Call:
    """Tasks that a caller waits for."""

    def __init__(self, share: SolverShare) -> None:
        self.share = share
        self.elapsed = _TimeSolving()
        self.results: SimpleQueue[tuple[int, Solved | BaseException]] = SimpleQueue()
        self.is_over = False

    def next(self) -> tuple[int, Solved]:
        """The next result, with the number of its task; what went wrong is raised."""
        number, result = self.results.get()
        if isinstance(result, BaseException):
            raise result
        return number, result

    def end(self) -> None:
        """Has the caller wait no longer, and nothing more of it be asked."""
        self.is_over = True
        self.results.put((-1, _closed()))


@dataclass(frozen=True, slots=True)
class _Question:
    """A task of a call, by its number there."""

    call: _Call
    number: int
    task: Task

    def ask(self, worker: "SolverProcess") -> None:
        """Has a process answer it, if that is still waited for."""
        call = self.call
        if call.is_over:
            return
        result: Solved | BaseException
        try:
            with call.share.using(worker):
                result = _in_time(self.task, call.elapsed, worker.ask)
        except BaseException as error:
            result = error
        call.results.put((self.number, result))


def _serve(worker: "SolverProcess", questions: "SimpleQueue[_Question | None]") -> None:
    """Has a process answer one question after the other; the thread's function does not keep the pool."""
    while (question := questions.get()) is not None:
        question.ask(worker)
        # The wait for the next one must not keep what this one was about.
        del question
    worker.end()


def _dismiss(questions: "SimpleQueue[_Question | None]", threads: int) -> None:
    """Ends threads of a pool."""
    for _ in range(threads):
        questions.put(None)


def _closed() -> PoolClosedError:
    return PoolClosedError("this pool of solver processes, or the share of it, was closed")


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
