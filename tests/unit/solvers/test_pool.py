"""Processes that solve: in order, within a limit, and anew when they have seen enough."""

import gc
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

import pytest

from thalweg.diagnostics import FailedError
from thalweg.solvers import pool
from thalweg.solvers.clingo import Solved, Task
from thalweg.solvers.pool import PoolClosedError, SolverPool, SolverProcess, SolverShare

PIGEONS = "1 { in(P,1..11) } 1 :- P = 1..12. :- in(P,H), in(Q,H), P < Q."
ENDLESS = "n(0). n(X+1) :- n(X)."


def test_answers_come_in_the_order_of_the_tasks() -> None:
    with SolverPool(2) as workers:
        found = workers.solve([Task(f"a({number}).") for number in range(6)])
    assert [solved.answers for solved in found] == [((f"a({number})",),) for number in range(6)]


def test_without_processes_everything_is_solved_here() -> None:
    with SolverPool(0) as here, SolverPool(1) as there:
        tasks = [Task("{a; b}.", models=models) for models in ("first", "all", "brave", "cautious")]
        assert [one.answers for one in here.solve(tasks)] == [one.answers for one in there.solve(tasks)]


@pytest.mark.parametrize("program", [PIGEONS, ENDLESS], ids=["solving", "grounding"])
def test_a_limit_ends_what_takes_too_long_and_the_next_task_is_solved(program: str) -> None:
    with SolverPool(1) as workers:
        slow, quick = workers.solve([Task(program, limit=0.3), Task("a.", limit=10.0)])
    assert (slow.answers, slow.complete) == ((), False)
    assert (quick.answers, quick.complete) == ((("a",),), True)


def test_what_was_found_in_time_is_told() -> None:
    with SolverPool(1) as workers:
        (found,) = workers.solve([Task("{ a(1..40) }.", models="all", limit=0.3)])
    assert found.answers
    assert not found.complete


def test_the_best_so_far_is_told() -> None:
    hard = "{ a(1..60) }. :- #sum { X*X*7\\101,X : a(X) } != 1234. #minimize { (X*37)\\91,X : a(X) }."
    with SolverPool(1) as workers:
        (found,) = workers.solve([Task(hard, models="all", limit=0.5)])
    assert found.complete or len(found.answers) <= 1


def test_a_process_that_has_grounded_enough_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "RENEWAL", 50)
    with SolverPool(1) as workers:
        (worker,) = workers._workers
        seen = set()
        for _ in range(4):
            workers.solve([Task("a(1..20).")])
            seen.add(worker._process and worker._process.pid)
    assert None in seen


def test_what_clingo_cannot_do_is_a_failure_with_its_own_words() -> None:
    with SolverPool(1) as workers:
        with pytest.raises(FailedError, match="unsafe"):
            workers.solve([Task("a(X).")])
        assert workers.solve([Task("a.")])[0].answers == (("a",),)


def test_a_process_that_dies_is_a_failure() -> None:
    with SolverPool(1) as workers:
        workers.solve([Task("a.")])
        process = workers._workers[0]._process
        assert process is not None
        process.kill()
        process.wait()
        with pytest.raises(FailedError, match="has ended"):
            workers.solve([Task("a.")])
        assert workers.solve([Task("a.")])[0].answers == (("a",),)


@pytest.mark.parametrize("size", [0, 1])
def test_waiting_is_part_of_the_limit(size: int) -> None:
    with SolverPool(size) as workers:
        slow, waiting = workers.solve([Task(PIGEONS, limit=0.3), Task(PIGEONS, limit=0.3)])
    assert not slow.complete
    assert not waiting.complete
    assert waiting.seconds < slow.seconds


def test_a_pool_that_fails_does_not_wait_for_what_never_ends() -> None:
    with pytest.raises(FailedError, match="unsafe"), SolverPool(2) as workers:
        workers.solve([Task("a(X)."), Task(ENDLESS)])


@contextmanager
def solving(share: SolverShare, task: Task, monkeypatch: pytest.MonkeyPatch) -> "Iterator[Future[list[Solved]]]":
    """A task that a process has got, while another thread waits for it."""
    begun, ask = Event(), SolverProcess.ask

    def noted(worker: SolverProcess, task: Task) -> Solved:
        begun.set()
        return ask(worker, task)

    monkeypatch.setattr(SolverProcess, "ask", noted)
    with ThreadPoolExecutor(1) as threads:
        future = threads.submit(share.solve, [task])
        try:
            assert begun.wait(60)
            yield future
        finally:
            if not future.done():
                share.close()


def test_what_others_take_is_no_part_of_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    with SolverPool(1) as workers:
        workers.solve([Task("a.")])
        with solving(workers.share(), Task(PIGEONS, limit=1.0), monkeypatch) as slow:
            (quick,) = workers.share().solve([Task("b.", limit=0.5)])
            assert not slow.result()[0].complete
    assert (quick.answers, quick.complete) == ((("b",),), True)


@pytest.mark.parametrize("program", [PIGEONS, ENDLESS], ids=["solving", "grounding"])
def test_a_share_that_is_closed_ends_its_tasks_and_leaves_the_others(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SolverPool(2) as workers:
        share, other = workers.share(), workers.share()
        with solving(share, Task(program), monkeypatch) as endless:
            share.close()
            with pytest.raises(PoolClosedError):
                endless.result(60)
        with pytest.raises(PoolClosedError):
            share.solve([Task("a.")])
        found = other.solve([Task(f"a({number}).") for number in range(4)])
    assert [solved.answers for solved in found] == [((f"a({number})",),) for number in range(4)]


def test_a_share_that_is_closed_does_not_wait_for_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    with SolverPool(1) as workers, ThreadPoolExecutor(1) as threads:
        share, other = workers.share(), workers.share()
        with solving(other, Task(ENDLESS), monkeypatch) as endless:
            waiting = threads.submit(share.solve, [Task("a."), Task("b.")])
            share.close()
            with pytest.raises(PoolClosedError):
                waiting.result(60)
            other.close()
            with pytest.raises(PoolClosedError):
                endless.result(60)


def test_a_pool_that_nobody_has_any_more_ends_its_threads_and_processes() -> None:
    workers = SolverPool(1)
    workers.solve([Task("a.")])
    (thread,), (worker,) = workers._threads, workers._workers
    del workers
    gc.collect()
    thread.join(60)
    assert not thread.is_alive()
    assert worker._process is None
