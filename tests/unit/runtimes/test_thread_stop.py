"""A thread that another one stops: in the middle of a tick, and while it waits for a solver."""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from threading import Event, Thread
from types import ModuleType
from typing import Any

import pytest

import thalweg
from thalweg.engine import PlanEngine
from thalweg.runtimes.thread_stop import ThreadStop
from thalweg.solvers.clingo import Task
from thalweg.solvers.pool import SolverPool

LONG = "odd :- p(X), p(Y), p(Z), X + Y + Z < 0."
"""Over three thousand facts, 27 thousand million times nothing."""


def started(stop: ThreadStop, work: Callable[[], object]) -> "tuple[Thread, list[bool]]":
    outcomes: list[bool] = []
    thread = Thread(target=lambda: outcomes.append(stop.run(work)), daemon=True)
    thread.start()
    return thread, outcomes


def ended(stop: ThreadStop, work: Callable[[], object], begun: Event) -> list[bool]:
    """Whether the function returned, once it has begun and was asked to stop."""
    thread, outcomes = started(stop, work)
    assert begun.wait(60)
    stop.ask()
    assert stop.wait(60)
    thread.join(60)
    return outcomes


def test_a_long_tick_is_stopped_and_its_engine_is_of_no_use_after_that(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, evaluate = Event(), PlanEngine.evaluate

    def noted(engine: PlanEngine, *args: Any, **keywords: Any) -> None:
        begun.set()
        evaluate(engine, *args, **keywords)

    monkeypatch.setattr(PlanEngine, "evaluate", noted)
    with thalweg.open(LONG) as session:
        for number in range(3_000):
            session.push("p", number, at=1)
        assert ended(ThreadStop(), session.advance, begun) == [False]
        with pytest.raises(thalweg.BusyError, match="stopped in the middle"):
            session.advance(to=2)


def test_a_wait_for_a_solver_is_ended() -> None:
    begun = Event()
    with SolverPool(1) as pool:
        pool.solve([Task("a.")])
        share = pool.share()

        def work() -> None:
            begun.set()
            share.solve([Task("n(0). n(X+1) :- n(X).")])

        assert ended(ThreadStop(share.close), work, begun) == [False]
        assert pool.share().solve([Task("a.")])[0].answers == (("a",),)


def test_what_was_asked_to_stop_does_not_begin() -> None:
    stop, calls = ThreadStop(), []
    stop.ask()
    assert not stop.run(lambda: calls.append(1))
    assert calls == []


def test_a_function_that_returns_or_fails_by_itself_does_so() -> None:
    calls: list[int] = []
    assert ThreadStop().run(lambda: calls.append(1))
    assert calls == [1]
    with pytest.raises(ZeroDivisionError):
        ThreadStop().run(lambda: 1 // 0)


def test_nothing_is_raised_in_a_thread_that_has_left() -> None:
    stop, left, asked = ThreadStop(), Event(), Event()
    outcomes: list[object] = []

    def thread() -> None:
        outcomes.append(stop.run(lambda: None))
        left.set()
        asked.wait(60)
        outcomes.append(sum(range(1_000)))

    worker = Thread(target=thread)
    worker.start()
    assert left.wait(60)
    stop.ask()
    asked.set()
    worker.join(60)
    assert outcomes == [True, 499_500]


def test_whenever_it_is_asked_nothing_comes_afterwards() -> None:
    """The request may come before the function, in it, behind it, or while the thread is leaving."""
    outcomes: list[bool] = []

    def stopped(stop: ThreadStop, steps: int) -> None:
        outcomes.append(stop.run(lambda: sum(1 for _ in range(steps))))
        # What would still be raised would be raised here.
        assert sum(1 for _ in range(2_000)) == 2_000
        outcomes.append(True)

    for number in range(400):
        stop = ThreadStop()
        thread = Thread(target=stopped, args=(stop, 50 * number))
        thread.start()
        stop.ask()
        assert stop.wait(60)
        thread.join(60)
    assert outcomes[1::2] == [True] * 400
    assert {*outcomes[::2]} <= {True, False}


def test_what_does_not_come_back_is_not_waited_for() -> None:
    stop, begun, goes_on = ThreadStop(), Event(), Event()

    def work() -> None:
        begun.set()
        goes_on.wait(60)

    thread, outcomes = started(stop, work)
    assert begun.wait(60)
    stop.ask()
    assert not stop.wait(0.01)
    goes_on.set()
    assert stop.wait(60)
    thread.join(60)
    assert outcomes == [False]


def test_an_import_is_not_stopped_in_the_middle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others would wait for ever for what it has locked."""
    text = (
        "from time import sleep\nimport begun_import\nbegun_import.begun.set()\n"
        + "sleep(0.01)\n" * 60
        + "is_whole = True\n"
    )
    (tmp_path / "imported_slowly.py").write_text(text)
    begun = Event()
    gate = ModuleType("begun_import")
    gate.begun = begun  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "begun_import", gate)
    monkeypatch.syspath_prepend(str(tmp_path))

    def work() -> None:
        import_module("imported_slowly")
        while True:
            pass

    assert ended(ThreadStop(), work, begun) == [False]
    assert sys.modules.pop("imported_slowly").is_whole  # type: ignore[attr-defined]
