"""A run over items that its caller reads, with solvers that it shares: what a service around several runs needs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from thalweg.answers.emit import Intervals
from thalweg.api import jobs
from thalweg.api.answer_values import values_of
from thalweg.api.loading import load_part
from thalweg.api.run_options import RunOptions
from thalweg.api.timing import Timing
from thalweg.connectors.batches import code_facts
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.named_source import NamedSource
from thalweg.diagnostics import Diagnostic, Source
from thalweg.kinds.answer_sets.solve_options import SolveOptions
from thalweg.model.event import Batch
from thalweg.model.fact import PythonFact
from thalweg.runtimes.intake import Item
from thalweg.runtimes.local import LocalRun
from thalweg.runtimes.observer import Observer
from thalweg.solvers.pool import SolverPool

PROGRAM = Source("fast.lars", "fast(C) :- speed(C,V) in [3], V > 80. twice(C) :- fast(C), seen(C) in [9].")
NORTH = [NamedSource("north", "north")]
Listed = Sequence[tuple[int, tuple[str, tuple[str | int, ...]]]]


def listed(readings: Iterable[tuple[int, str, int, int]]) -> Listed:
    """Facts with their ticks, of cars with a number."""
    return [
        (tick, (name, (f"c{car}", speed) if name == "speed" else (f"c{car}",))) for tick, name, car, speed in readings
    ]


EVENTS = listed((tick, "speed" if tick % 3 else "seen", tick % 4, tick * 7) for tick in range(1, 30))
RANDOM = st.lists(
    st.tuples(st.integers(0, 12), st.sampled_from(("speed", "seen")), st.integers(0, 3), st.integers(60, 100)),
    max_size=20,
)


class ListedItems:
    """The items of a list from a place on, where somebody may ask the run to end."""

    repeats, holds, groups, group = True, False, 1, 0
    resting: frozenset[int] = frozenset()
    ended: frozenset[int] = frozenset()

    def __init__(
        self, run: LocalRun, stops: Callable[[int], object] = lambda place: None, events: Listed = EVENTS
    ) -> None:
        self._words, self._stops, self._events = run.dictionary, stops, events
        self.place = 0
        self.acknowledged: list[int] = []

    def __iter__(self) -> Iterator[Item]:
        while self.place < len(self._events):
            tick, (name, values) = self._events[self.place]
            self.place += 1
            self._stops(self.place)
            yield tick, code_facts([PythonFact(name, values)], self._words, "north")
            yield None

    def waiting(self) -> Iterator[Batch]:
        return iter(())

    def position(self) -> dict[str, Any]:
        return {"place": self.place}

    def seek(self, position: dict[str, Any]) -> None:
        self.place = position["place"]

    def acknowledge(self) -> None:
        self.acknowledged.append(self.place)

    def wake(self, pause: Callable[[], float | None]) -> None:
        pass

    def hold(self) -> None:
        pass


def printed(job: jobs.PreparedRun) -> list[str]:
    """The answers of a run, a line for each."""
    return [str(value) for answer in job.pieces() if answer for value in values_of(answer, job.times)]


@given(RANDOM, st.integers(0, 3))
def test_items_that_are_read_elsewhere_are_answered_like_a_stream(readings: list[Any], delay: int) -> None:
    """Facts that come too late included."""
    events, part, options = listed(readings), load_part([PROGRAM]), RunOptions(Timing(delay=delay))
    lines = "".join(f"{name}({','.join(map(str, values))}) at {tick}.\n" for tick, (name, values) in events)
    text, late, late_of_text = Source("north.facts", lines), list[Diagnostic](), list[Diagnostic]()
    with jobs.start(part, text, options, Observer(late_of_text.append, warns_live=False)) as job:
        expected = printed(job)
    with jobs.start(
        part, NORTH, options, Observer(late.append, warns_live=False), items=partial(ListedItems, events=events)
    ) as job:
        assert printed(job) == expected
    assert [warning.message for warning in late if warning.code == "W302"] == [
        warning.message for warning in late_of_text if warning.code == "W302"
    ]


def test_items_are_answered() -> None:
    with jobs.start(load_part([PROGRAM]), NORTH, RunOptions(), items=ListedItems) as job:
        assert len(printed(job)) > 10


def test_a_run_over_items_goes_on_from_their_position(tmp_path: Path) -> None:
    part, options = load_part([PROGRAM]), RunOptions()
    with jobs.start(part, NORTH, options, items=ListedItems, emitter=Intervals()) as job:
        whole = printed(job)

    def run_to(last: int) -> list[str]:
        interrupt = Interrupt()

        def opened(run: LocalRun) -> ListedItems:
            items.append(ListedItems(run, lambda place: place == last and interrupt.ask()))
            return items[-1]

        with (
            jobs.open_checkpoint(tmp_path / "checkpoint", part, NORTH, options) as checkpoint,
            jobs.start(
                part, NORTH, options, interrupt=interrupt, checkpoint=checkpoint, items=opened, emitter=Intervals()
            ) as job,
        ):
            return printed(job)

    items: list[ListedItems] = []
    answered = [line for last in (7, 16, 23, 0) for line in run_to(last)]
    assert answered == whole
    assert [taken.acknowledged[-1] for taken in items] == [7, 16, 23, len(EVENTS)]


def test_runs_in_several_threads_share_solvers() -> None:
    program = Source("fast.lp", "fast(C) :- speed(C,V), V > 80. {slow(C)} :- speed(C,V), not fast(C).")
    part = load_part([program], solving=SolveOptions(window=5, solver="clingo", models="all"), inputs=["speed/2"])

    def answered(pool: SolverPool | None) -> list[str]:
        share = None if pool is None else pool.share()
        with jobs.start(part, NORTH, RunOptions(), items=ListedItems, solvers=share) as job:
            return printed(job)

    expected = answered(None)
    with SolverPool(2) as pool, ThreadPoolExecutor(4) as threads:
        assert list(threads.map(answered, [pool] * 4)) == [expected] * 4
    assert any("fast(c1)" in line for line in expected)
