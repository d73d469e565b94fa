"""Answers over a memory budget are sound: what is output is true, whatever was shed, and nothing ends that goes on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count, pairwise

from hypothesis import assume, event, given
from hypothesis import strategies as st

from buckets import engine_of, rule_job, worker_with
from thalweg.dataflow.context import Settings
from thalweg.diagnostics import Source
from thalweg.engine import Delta
from thalweg.engine.checkpoint import save
from thalweg.engine.shed import add_difference, shed, standing
from thalweg.ir.dependency import strata
from thalweg.ir.nodes import Program
from thalweg.ir.semantics import answers
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.languages.lars import read
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.model.time import Calendar
from thalweg.runtimes.spark.pack import Packer
from thalweg.runtimes.spark.wire import OUT, Content, unwrap
from thalweg.runtimes.spark.worker import Worker
from thalweg.runtimes.watermark import Watermark
from thalweg.testing.evaluators import Changes, Difference, arrived, batch_of, by_engine, changes_of, differences
from thalweg.testing.strategies import Scenario, remembering_scenarios, scenarios

Sheddings = dict[int, tuple[int, int]]
"""Ticks at which facts are shed: by when these would have left their windows, and which of three engines do so."""


def tight(sheddings: Sheddings) -> type[Engine]:
    """Engines that shed facts at certain ticks, whatever they take; the first, fourth and so on do the same."""
    numbers = count()

    class Tight(Engine):
        def __init__(
            self,
            program: Program,
            first: int | None = None,
            memory: int | None = 0,
            calendar: Calendar | None = None,
            dictionary: Dictionary | None = None,
        ) -> None:
            super().__init__(program, first, memory=0, calendar=calendar, dictionary=dictionary)
            self.number = next(numbers) % 3

        def _forget(self, changes: list[Delta]) -> None:
            assert self.now is not None
            upto, which = sheddings.get(self.now, (0, 0))
            if which >> self.number & 1:
                before = standing(self)
                shed(self, save(self), upto)
                add_difference(self, before, changes)

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

    def compare(self, tick: int, partial: bool) -> None:
        assert self.holding == self.truth[tick] if not partial else self.holding <= self.truth[tick]
        if self.holding != self.truth[tick]:
            event("something is missing")


def truth_of(scenario: Scenario) -> dict[int, set[str]]:
    """What the naive interpreter says; where the engine disagrees without a budget, that is another property's find."""
    asked = (scenario.program, scenario.events, scenario.first, scenario.last)
    found = {tick: set(map(str, facts)) for tick, facts in answers(*asked)}
    assume(by_engine(*asked) == changes_of(found.items()))
    return found


# Rules with everything that draws conclusions from what is missing; in any of some windows.
RULES = (
    "a(X) :- r(X){}, not p(X){}.",
    "a(X) :- p(X){}.",
    "a(X) :- r(X){}.",
    "a(X) :- r(X){}, not e(X,_){}.",
    "b(X) :- r(X){}, not a(X).",
    "b(X) :- e(X,Y){}, b(Y).",
    "b(X) :- p(X){}, e(X,X){}.",
    "n(N) :- N = count{X : p(X){}}.",
    "n(N) :- r(X){}, N = sum{Y : e(X,Y){}}.",
    "c(X) :- p(X) always{}.",
    "c(X) :- r(X){}, not p(X) always{}.",
    "c(X) :- a(X) always{}.",
    "c(X) at T :- e(X,Y) at T{}, p(Y){}.",
    "d(X) :- r(X){}, not c(X){}.",
    "d(X) :- n(X), not b(X).",
    "d(X) :- r(X){}, N = max{Y : e(X,Y){}, b(Y)}, N > 1.",
)
# The same with conclusions that are recorded: `a` and `b`.
REMEMBERING = (
    "a(X) :- a(X) before [1], not r(X).",
    "b(X) :- r(X){}, not a(X) before [3].",
    "c(X) :- b(X) before [2].",
    "c(X) :- p(X) before [4], not b(X){}.",
    "d(X) :- a(X) at T before [2].",
)
WINDOWS = (" in [1]", " in [2]", " in [4]", " in [7]", " in [9]", " in [5 step 2]")
TUPLES = (*WINDOWS, " in [2 #]", " in [3 # p/1]")


@st.composite
def dense(draw: st.DrawFn, remembering: bool = False) -> Scenario:
    """Programs that read much, and streams that bring something at most ticks."""
    known = (*RULES, *REMEMBERING, *REMEMBERING) if remembering else RULES
    rules = draw(st.lists(st.sampled_from(known), min_size=1, max_size=5, unique=True))
    text = "\n".join(_windowed(draw, rule) for rule in rules)
    program = read(Source("test.lars", f"#record a/1, b/1.\n{text}" if remembering else text))
    assume(strata(program) is not None)
    terms = st.sampled_from(("x", "y", "1", "2"))
    single = st.builds(lambda name, one: Fact(name, (one,)), st.sampled_from("prp"), terms)
    pairs = st.builds(lambda one, other: Fact("e", (one, other)), terms, terms)
    arriving = draw(st.lists(st.lists(single | pairs, max_size=3), min_size=4, max_size=9))
    events = tuple(Event(tick, tuple(facts)) for tick, facts in enumerate(arriving) if facts)
    return Scenario(program, events, 0, len(arriving) + draw(st.integers(0, 12)))


def _windowed(draw: st.DrawFn, rule: str) -> str:
    first, *rest = rule.split("{}")
    for part in rest:
        streamed = first.rpartition(" ")[2][:2] in ("p(", "e(", "r(")
        window = draw(st.sampled_from(TUPLES if streamed and "# p/1" not in first else WINDOWS))
        first += (window if "# p/1" not in window or first.rpartition(" ")[2][:2] == "p(" else " in [4]") + part
    return first


SCENARIOS = dense() | dense() | dense(remembering=True) | scenarios() | remembering_scenarios()


def sheddings(scenario: Scenario, engines: int = 1) -> st.SearchStrategy[Sheddings]:
    ticks = st.integers(scenario.first, scenario.last)
    how = st.tuples(st.integers(1, 12), st.integers(1, 2**engines - 1))
    return st.dictionaries(ticks, how, min_size=1, max_size=5).map(
        lambda found: {tick: (tick + more, which) for tick, (more, which) in found.items()}
    )


@given(SCENARIOS, st.data())
def test_what_is_output_over_a_budget_is_true(scenario: Scenario, data: st.DataObject) -> None:
    """Empty ticks are crossed one by one or in larger steps, and an engine may go on from what another one saved.

    What is not marked as partial is the whole answer.
    """
    consumer, made = Consumer(truth_of(scenario)), tight(data.draw(sheddings(scenario)))
    engine, stop = made(scenario.program, scenario.first), data.draw(st.integers(scenario.first, scenario.last))
    for tick in range(scenario.first, scenario.last + 1):
        arriving = [batch_of(engine.dictionary, event) for event in scenario.events if event.tick == tick]
        if arriving or tick in (stop, scenario.last) or data.draw(st.booleans()):
            consumer.hear(differences(engine.advance(tick, arriving)))
            consumer.compare(tick, engine.partial)
        if tick == stop:
            before, engine = engine, made.restore(scenario.program, engine.snapshot())
            engine.number = before.number  # type: ignore[attr-defined]
            assert (engine.shed, engine.unsure, engine.incomplete) == (before.shed, before.unsure, before.incomplete)
        if engine.now == tick:
            assert consumer.holding == set(map(str, engine.facts()))


@given(SCENARIOS, st.integers(1, 3), st.data())
def test_what_stages_output_over_a_budget_is_true(scenario: Scenario, partitions: int, data: st.DataObject) -> None:
    """Buckets shed facts of their own; workers are saved and loaded, or replay batches in which nothing was shed."""
    job = rule_job(scenario.program, Settings(scenario.first, scenario.last, emit="changes", memory=0), partitions)
    engine = tight(data.draw(sheddings(scenario, engines=3)))
    stages = [(stage, bucket) for stage in range(len(job.fragments)) for bucket in job.buckets(stage)]
    workers = {place: worker_with(engine, job, *place) for place in stages}
    consumer, missing, watermark = Consumer(truth_of(scenario)), set[int](), Watermark()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(scenario.events)), max_size=4)))
    for start, end in pairwise([0, *cuts, len(scenario.events)]):
        packer = Packer(job, 0, (0,))
        items = arrived(scenario.events[start:end], packer.words, watermark)
        post = list(packer.pack(items, ended=end == len(scenario.events)))
        for place, worker in workers.items():
            saved, mine = worker.save(), [each.payload for each in post if (each.fragment, each.bucket) == place]
            post += worker.process(mine)
            workers[place] = data.draw(st.sampled_from((_kept, _loaded, _replayed)))(worker, saved, mine)
        contents = [unwrap(each.payload) for each in post if each.fragment == OUT]
        consumer.hear(_told_by(contents))
        for _, first, last in (span for content in contents for span in content.header.get("missing", ())):
            missing |= set(range(first, last + 1))
    consumer.compare(scenario.last, partial=scenario.last in missing)


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
    renewed = worker_with(type(engine_of(worker)), worker.job, worker.fragment, worker.bucket)
    renewed.load(saved)
    engine_of(renewed).number = engine_of(worker).number
    return renewed


def _told_by(contents: Iterable[Content]) -> Changes:
    found: dict[int, tuple[set[str], ...]] = {}
    for lists in (content.lists for content in contents):
        for tick, what, fact in zip(lists["ticks"], lists["ended"], lists["facts"].to_pylist(), strict=True):
            found.setdefault(int(tick), (set(), set(), set()))[int(what)].add(fact)
    return {tick: Difference(*map(frozenset, some)) for tick, some in sorted(found.items())}
