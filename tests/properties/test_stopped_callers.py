"""*A caller that is stopped at any place leaves what it shares with others whole*: the pool of solver processes."""

import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from random import Random
from threading import Thread
from time import sleep
from types import FrameType
from typing import Any

import pytest

from thalweg.connectors.interrupt import StoppedError
from thalweg.diagnostics import FailedError
from thalweg.runtimes.thread_stop import ThreadStop
from thalweg.solvers.clingo import Task
from thalweg.solvers.pool import SolverPool, SolverShare


class StopAt:
    """Raises `StoppedError` in the thread that it traces, in front of the instruction with a number."""

    def __init__(self, number: int) -> None:
        self._left = number
        self.has_raised = False

    def __call__(self, frame: FrameType, event: str, arg: Any) -> "StopAt":
        frame.f_trace_opcodes = True
        if event == "opcode" and not self.has_raised:
            self._left -= 1
            if self._left < 0:
                self.has_raised = True
                raise StoppedError
        return self


def solve_until(stop: StopAt, share: SolverShare, tasks: list[Task]) -> None:
    sys.settrace(stop)
    try:
        share.solve(tasks)
    except StoppedError:
        pass
    finally:
        sys.settrace(None)


def in_time(thread: Thread) -> bool:
    """Whether a thread ends."""
    thread.start()
    thread.join(60)
    return not thread.is_alive()


@pytest.mark.parametrize("count", [1, 2])
def test_a_pool_solves_for_others_wherever_a_caller_was_stopped(count: int) -> None:
    number, has_raised = 0, True
    # An exception that it took back would have the interpreter look for it for ever, and trace nothing.
    assert ThreadStop().run(lambda: None)
    with SolverPool(1) as pool:
        pool.solve([Task("a.")])
        while has_raised:
            share, stop = pool.share(), StopAt(number)
            assert in_time(Thread(target=solve_until, args=(stop, share, [Task("a.")] * count), daemon=True)), number
            assert in_time(Thread(target=share.close, daemon=True)), number
            answers: list[Any] = []
            asks = Thread(target=lambda found=answers: found.append(pool.share().solve([Task("b.")])), daemon=True)
            assert in_time(asks), number
            assert [solved.answers for solved in answers[0]] == [(("b",),)], number
            has_raised = stop.has_raised
            number += 1
    assert number > 100


@pytest.mark.parametrize("seed", range(3))
def test_callers_that_share_a_pool_do_not_notice_each_other(seed: int) -> None:
    """Some are stopped, some run out of time, and some ask what is wrong: the others get their answers."""
    chance = Random(seed)
    wrong: list[str] = []

    def ask(share: SolverShare, name: str, count: int) -> None:
        for number in range(12):
            atoms = [f"{name}({number},{place})" for place in range(count)]
            found = share.solve([Task(f"{atom}.", limit=60) for atom in atoms])
            if [solved.answers for solved in found] != [((atom,),) for atom in atoms]:
                wrong.append(f"{name} at {number}")

    def trouble(share: SolverShare, tasks: list[Task]) -> None:
        while True:
            with suppress(FailedError):
                share.solve(tasks)

    with SolverPool(2) as pool, ThreadPoolExecutor(3) as threads:
        asking = [threads.submit(ask, pool.share(), name, chance.randint(1, 3)) for name in "abc"]
        while not all(future.done() for future in asking):
            share = pool.share()
            stop = ThreadStop(share.close)
            tasks = chance.choices((Task("n(0). n(X+1) :- n(X).", limit=0.05), Task("a(X)."), Task("a. {b}.")), k=2)
            thread = Thread(target=stop.run, args=[partial(trouble, share, tasks)], daemon=True)
            thread.start()
            sleep(chance.random() / 20)
            stop.ask()
            assert stop.wait(60)
            thread.join(60)
        for future in asking:
            future.result()
    assert wrong == []
