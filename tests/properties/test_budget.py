"""Answers over a memory budget are sound: what is output is true, whatever was shed, and nothing ends that goes on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count, pairwise

from hypothesis import assume, event, given
from hypothesis import strategies as st

from thalweg.engine import Change, Engine
from thalweg.engine.checkpoint import save, shed
from thalweg.ir.nodes import Program
from thalweg.ir.semantics import answers
from thalweg.runtimes.embedded import Settings
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.pack import Packer, gather
from thalweg.runtimes.spark.wire import OUT, Content, unwrap
from thalweg.runtimes.spark.worker import Worker
from thalweg.testing.evaluators import Changes, Difference, batch_of, by_engine, changes_of, told
from thalweg.testing.strategies import Scenario, scenarios

Sheddings = dict[int, tuple[int, int]]
"""Ticks at which facts are shed: by when these would have left their windows, and which of three engines do so."""


def tight(sheddings: Sheddings) -> type[Engine]:
    """Engines that shed facts at certain ticks, whatever they take; the first, fourth and so on do the same."""
    numbers = count()

    class Tight(Engine):
        def __init__(self, program: Program, first: int | None = None, memory: int | None = 0) -> None:
            super().__init__(program, first, memory=0)
            self.number = next(numbers) % 3

        def _forget(self, changes: list[Change]) -> None:
            assert self.now is not None
            upto, which = sheddings.get(self.now, (0, 0))
            if which >> self.number & 1:
                before = self.standing()
                shed(self, save(self), upto)
                self.tell(before, changes)

    return Tight


@dataclass(slots=True)
class Consumer:
    """Adds up what it hears, and compares it with the truth."""

    truth: Mapping[int, set[str]]
    holding: set[str] = field(default_factory=set)

    def hear(self, changes: Changes) -> None:
        for tick, change in changes.items():
            assert not change.begin & self.holding
            assert change.end | change.unknown <= self.holding
            assert not change.end & change.unknown
            assert not change.end & self.truth[tick], "what goes on has not ended"
            self.holding = (self.holding | change.begin) - change.end - change.unknown
            assert self.holding <= self.truth[tick], "what is output is true"


def truth_of(scenario: Scenario) -> dict[int, set[str]]:
    """What the naive interpreter says; where the engine disagrees without a budget, that is another property's find."""
    asked = (scenario.program, scenario.events, scenario.first, scenario.last)
    found = {tick: set(map(str, facts)) for tick, facts in answers(*asked)}
    assume(by_engine(*asked) == changes_of(found.items()))
    return found


def sheddings(scenario: Scenario, engines: int = 1) -> st.SearchStrategy[Sheddings]:
    ticks = st.integers(scenario.first, scenario.last)
    how = st.tuples(st.integers(1, 9), st.integers(1, 2**engines - 1))
    return st.dictionaries(ticks, how, min_size=1, max_size=5).map(
        lambda found: {tick: (tick + more, which) for tick, (more, which) in found.items()}
    )


@given(scenarios(), st.data())
def test_what_is_output_over_a_budget_is_true(scenario: Scenario, data: st.DataObject) -> None:
    """Empty ticks are crossed one by one or in larger steps; what is not marked as partial is the whole answer."""
    truth = truth_of(scenario)
    engine, consumer = tight(data.draw(sheddings(scenario)))(scenario.program, scenario.first), Consumer(truth)
    for tick in range(scenario.first, scenario.last + 1):
        arriving = [batch_of(engine.dictionary, event) for event in scenario.events if event.tick == tick]
        if arriving or tick == scenario.last or data.draw(st.booleans()):
            consumer.hear(told(engine.advance(tick, arriving)))
            assert consumer.holding == set(map(str, engine.facts()))
            assert engine.partial or consumer.holding == truth[tick]
            if consumer.holding != truth[tick]:
                event("something is missing")


@given(scenarios(), st.data())
def test_stop_and_resume_over_a_budget_is_never_stopped(scenario: Scenario, data: st.DataObject) -> None:
    found, stop = data.draw(sheddings(scenario)), data.draw(st.integers(scenario.first, scenario.last))
    engine, never = (tight(found)(scenario.program, scenario.first) for _ in range(2))
    consumer = Consumer(truth_of(scenario))
    for tick in range(scenario.first, scenario.last + 1):
        arriving = [event for event in scenario.events if event.tick == tick]
        consumer.hear(told(engine.advance(tick, [batch_of(engine.dictionary, event) for event in arriving])))
        never.advance(tick, [batch_of(never.dictionary, event) for event in arriving])
        if tick == stop:
            engine = tight(found).restore(scenario.program, engine.snapshot())
        assert consumer.holding == set(map(str, engine.facts())) == set(map(str, never.facts()))
        assert (engine.shed, engine.unsure) == (never.shed, never.unsure)


@given(scenarios(), st.integers(1, 3), st.data())
def test_what_stages_output_over_a_budget_is_true(scenario: Scenario, partitions: int, data: st.DataObject) -> None:
    """Buckets shed facts of their own; workers are saved and loaded, or replay batches in which nothing was shed."""
    job = Job(scenario.program, Settings(scenario.first, scenario.last, emit="changes", memory=0), partitions)
    truth, engine = truth_of(scenario), tight(data.draw(sheddings(scenario, engines=3)))
    stages = [(stage, bucket) for stage in range(len(job.stages)) for bucket in job.buckets(stage)]
    workers = {place: Worker(job, *place, engine) for place in stages}
    consumer, missing = Consumer(truth), set[int]()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(scenario.events)), max_size=4)))
    for start, end in pairwise([0, *cuts, len(scenario.events)]):
        packer = Packer(job, 0, 0, ordered=True)
        items = [(event.tick, batch_of(packer.words, event)) for event in scenario.events[start:end]]
        post = list(packer.pack(gather(items), ended=end == len(scenario.events)))
        for place, worker in workers.items():
            saved, mine = worker.save(), [each.payload for each in post if (each.stage, each.bucket) == place]
            post += worker.process(mine)
            workers[place] = data.draw(st.sampled_from((_kept, _loaded, _replayed)))(worker, saved, mine)
        contents = [unwrap(each.payload) for each in post if each.stage == OUT]
        consumer.hear(_told_by(contents))
        for _, first, last in (span for content in contents for span in content.header.get("missing", ())):
            missing |= set(range(first, last + 1))
    if scenario.last not in missing:
        assert consumer.holding == truth[scenario.last]
    elif consumer.holding != truth[scenario.last]:
        event("something is missing")


def _kept(worker: Worker, saved: bytes, batch: list[bytes]) -> Worker:
    return worker


def _loaded(worker: Worker, saved: bytes, batch: list[bytes]) -> Worker:
    return _renewed(worker, worker.save())


def _replayed(worker: Worker, saved: bytes, batch: list[bytes]) -> Worker:
    if worker.must_save:
        return worker
    renewed = _renewed(worker, saved)
    renewed.replay(batch)
    return renewed


def _renewed(worker: Worker, saved: bytes) -> Worker:
    renewed = Worker(worker.job, worker.stage.number, worker.bucket, type(worker.engine))
    renewed.load(saved)
    renewed.engine.number = worker.engine.number  # type: ignore[attr-defined]
    return renewed


def _told_by(contents: Iterable[Content]) -> Changes:
    found: dict[int, tuple[set[str], ...]] = {}
    for lists in (content.lists for content in contents):
        for tick, what, fact in zip(lists["ticks"], lists["ended"], lists["facts"].to_pylist(), strict=True):
            found.setdefault(int(tick), (set(), set(), set()))[int(what)].add(fact)
    return {tick: Difference(*map(frozenset, some)) for tick, some in sorted(found.items())}
