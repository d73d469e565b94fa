"""A run over items that its caller reads, with solvers that it shares: what a service around several runs needs."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from thalweg.answers.emit import Intervals
from thalweg.api import jobs
from thalweg.api.answer_values import values_of
from thalweg.api.loading import load_part
from thalweg.api.run_options import RunOptions
from thalweg.connectors.batches import code_facts
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.named_source import NamedSource
from thalweg.diagnostics import Source
from thalweg.kinds.answer_sets.solve_options import SolveOptions
from thalweg.model.event import Batch
from thalweg.model.fact import PythonFact
from thalweg.runtimes.intake import Item
from thalweg.runtimes.local import LocalRun
from thalweg.solvers.pool import SolverPool

PROGRAM = Source("fast.lars", "fast(C) :- speed(C,V) in [3], V > 80. twice(C) :- fast(C), seen(C) in [9].")
NORTH = [NamedSource("north", "north")]
EVENTS = [(tick, ("speed" if tick % 3 else "seen", (f"c{tick % 4}", tick * 7))) for tick in range(1, 30)]
EVENTS = [(tick, (name, values if name == "speed" else values[:1])) for tick, (name, values) in EVENTS]


class ListedItems:
    """The items of a list from a place on, where somebody may ask the run to end."""

    repeats, holds, groups, group = True, False, 1, 0
    resting: frozenset[int] = frozenset()
    ended: frozenset[int] = frozenset()

    def __init__(self, run: LocalRun, stops: Callable[[int], object] = lambda place: None) -> None:
        self._words, self._stops = run.dictionary, stops
        self.place = 0
        self.acknowledged: list[int] = []

    def __iter__(self) -> Iterator[Item]:
        while self.place < len(EVENTS):
            tick, (name, values) = EVENTS[self.place]
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


def test_items_that_are_read_elsewhere_are_answered_like_a_stream() -> None:
    lines = "".join(f"{name}({','.join(map(str, values))}) at {tick}.\n" for tick, (name, values) in EVENTS)
    with jobs.start(load_part([PROGRAM]), Source("north.facts", lines), RunOptions()) as job:
        expected = printed(job)
    with jobs.start(load_part([PROGRAM]), NORTH, RunOptions(), items=ListedItems) as job:
        assert printed(job) == expected != []


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
