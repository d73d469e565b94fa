"""Runs that go on with a changed program, in one process and without a folder."""

from collections.abc import Iterable, Iterator

from thalweg.answers.record import Answer
from thalweg.dataflow.context import Context, Settings
from thalweg.kinds.part import Part
from thalweg.kinds.units import ProgramChange, Units, units_of
from thalweg.model.event import Batch, Event
from thalweg.model.time import Clock
from thalweg.runtimes.kept_program import KeptProgram, RunProgram
from thalweg.runtimes.local import LocalRun


class ChangingRun:
    """A run whose program can be changed between two ticks; what it answers is collected."""

    def __init__(self, part: Part, first: int, emit: str = "changes") -> None:
        self.context = Context(Settings(first=first, emit=emit), Clock(), lambda diagnostic: None, saves=True)
        self.kept = RunProgram({}, self.units(part)).fresh(part, self.context)
        self.run = LocalRun(part, self.context)
        self.answers: list[Answer] = []

    def units(self, part: Part) -> Units:
        """The units of a part, in the context of the run."""
        return units_of(part, self.context)

    def advance(self, tick: int, events: Iterable[Event]) -> None:
        """Answers up to a tick, at which events come."""
        batches = [self._batch(event) for event in events]
        self.answers += self.run.advance(tick, batches)

    def _batch(self, event: Event) -> Batch:
        batch, words = Batch({}, [], event.stream), self.run.dictionary
        for fact in event.facts:
            batch.add(fact.signature, [words.code(term) for term in fact.terms])
        return batch

    def resume(self, part: Part) -> None:
        """Goes on in another process with the same program."""
        saved = self.run.save({})
        self.kept = KeptProgram.load(self.kept.save()).resumed(part, self.context, self.units(part))
        self.run = LocalRun(part, self.context, plan=self.kept.planned.plan, begins=self.kept.planned.begins)
        self.run.load(saved)

    def change(self, part: Part, first: int | None = None, change: ProgramChange | None = None) -> ProgramChange:
        """Goes on with another program, whose new units begin at the next tick, or at the `first` for them.

        The `change` is what begins, where that is to be more than has changed.
        """
        saved = self.run.save({})
        last = LocalRun.last_tick(saved)
        assert last is not None
        earlier = KeptProgram.load(self.kept.save())
        first = last + 1 if first is None else first
        self.kept, handover = earlier.succeeded(part, self.context, self.units(part), first, change=change)
        self.run = LocalRun(part, self.context, plan=self.kept.planned.plan, begins=self.kept.planned.begins)
        self.run.begin(saved, handover.succession)
        return handover.change

    def finish(self) -> list[Answer]:
        """All answers, now that nothing more comes."""
        self.answers += self.run.finish()
        return self.answers


def by_tick(events: Iterable[Event], first: int, last: int) -> Iterator[tuple[int, list[Event]]]:
    """The ticks of a run at which something comes, and the last one."""
    arrived: dict[int, list[Event]] = {}
    for event in events:
        if first <= event.tick <= last:
            arrived.setdefault(event.tick, []).append(event)
    arrived.setdefault(last, [])
    yield from sorted(arrived.items())
