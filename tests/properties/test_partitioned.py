"""Spread over buckets, cut into batches, lost and rebuilt: the answers stay those of the naive interpreter."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, repeat
from typing import Any

import pytest
from hypothesis import Phase, assume, event, given, settings
from hypothesis import strategies as st
from test_ontologies import STREAMS, WINDOW, ontologies
from test_ontologies import data as statements

from buckets import rule_job
from thalweg.dataflow.context import Context, Settings
from thalweg.diagnostics import Source
from thalweg.ir import semantics
from thalweg.ir.dependency import strata
from thalweg.ir.nodes import Interface, Program
from thalweg.kinds.rules.rule_part import Rules
from thalweg.languages.lars import read
from thalweg.languages.lars.facts import read_fact
from thalweg.languages.owl.program import over_triples, specialised
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.model.rdf import fact_of
from thalweg.model.time import FOREVER, Clock
from thalweg.model.vocabulary import Triple
from thalweg.planning.partition import partition
from thalweg.planning.placing import place_rules
from thalweg.runtimes.inputs import Values
from thalweg.runtimes.local import LocalRun
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.pack import Packer
from thalweg.runtimes.spark.wire import ANSWERS, FAILURE, OUT, Parcel, error_of, unwrap
from thalweg.runtimes.spark.worker import Worker
from thalweg.runtimes.watermark import Watermark
from thalweg.testing.evaluators import Changes, Difference, Evaluator, arrived, by_engine, by_semantics
from thalweg.testing.strategies import Scenario, programs, remembering_scenarios, scenarios

Answers = list[tuple[object, ...]]
Renewal = Callable[["Bucket"], Worker]


def by_stages(partitions: int, cuts: Sequence[int] = ()) -> Evaluator:
    """The changes as the stages of a cluster give them, in this process: partitioned, in as many batches as are cut."""

    def evaluate(program: Program, events: Sequence[Event], first: int, last: int) -> Changes:
        job = rule_job(program, Settings(first=first, last=last, emit="changes"), partitions)
        workers = {
            (stage, bucket): Worker(job, stage, bucket)
            for stage in range(len(job.fragments))
            for bucket in job.buckets(stage)
        }
        found: dict[int, tuple[set[str], ...]] = {}
        watermark = Watermark()
        for start, end in pairwise([0, *cuts, len(events)]):
            packer = Packer(job, 0, (0,))
            items = arrived(events[start:end], packer.words, watermark)
            post = list(packer.pack(items, ended=end == len(events)))
            for key, worker in workers.items():
                post += worker.process([each.payload for each in post if (each.fragment, each.bucket) == key])
            for each in post:
                if each.fragment == FAILURE:
                    raise error_of(unwrap(each.payload).header["error"])
                if each.fragment == OUT:
                    lists = unwrap(each.payload).lists
                    facts = lists["facts"].to_pylist()
                    for tick, ended, fact in zip(lists["ticks"], lists["ended"], facts, strict=True):
                        found.setdefault(int(tick), (set(), set(), set()))[int(ended)].add(fact)
        return {tick: Difference(*map(frozenset, some)) for tick, some in sorted(found.items())}

    return evaluate


@dataclass(slots=True)
class Bucket:
    """A worker, and what the state store would know of it: every batch that it was given."""

    job: Job
    stage: int
    number: int
    worker: Worker
    journal: list[list[bytes]]

    def process(self, post: list[Parcel]) -> list[Parcel]:
        mine = [each.payload for each in post if (each.fragment, each.bucket) == (self.stage, self.number)]
        self.journal.append(mine)
        return self.worker.process(mine)

    def fresh(self) -> Worker:
        return Worker(self.job, self.stage, self.number)


def kept(bucket: Bucket) -> Worker:
    return bucket.worker


def loaded(bucket: Bucket) -> Worker:
    saved, worker = bucket.worker.save(), bucket.fresh()
    worker.load(saved)
    return worker


def replayed(bucket: Bucket) -> Worker:
    worker = bucket.fresh()
    for payloads in bucket.journal:
        worker.process(payloads)
    return worker


def answers(job: Job, events: Sequence[Event], cuts: Sequence[int], renewals: Iterator[Renewal]) -> Answers:
    """All that the buckets tell the world; after each batch every bucket gets the worker that a renewal makes."""
    buckets = [
        Bucket(job, stage, number, Worker(job, stage, number), [])
        for stage in range(len(job.fragments))
        for number in job.buckets(stage)
    ]
    told: Answers = []
    watermark = Watermark(job.settings.delay)
    for start, end in pairwise([0, *cuts, len(events)]):
        packer = Packer(job, 0, (0,))
        post = list(packer.pack(arrived(events[start:end], packer.words, watermark), ended=end == len(events)))
        for bucket in buckets:
            post += bucket.process(post)
        for bucket in buckets:
            bucket.worker = next(renewals)(bucket)
        for content in (unwrap(each.payload) for each in post if each.fragment == OUT):
            assert content.kind == ANSWERS, "nothing is late"
            told += zip(*map(_plain, content.lists.values()), strict=True)
    return sorted(told)


def _plain(values: Any) -> list[Any]:
    return values if isinstance(values, list) else list(values.tolist())


def meant(scenario: Scenario, emit: str) -> Answers:
    """What the naive interpreter says, in the rows that buckets tell."""
    found = semantics.answers(scenario.program, scenario.events, scenario.first, scenario.last)
    snapshots = [(tick, {str(fact) for fact in facts}) for tick, facts in found]
    if emit == "snapshot":
        return sorted((tick, fact) for tick, facts in snapshots for fact in facts)
    steps = list(pairwise([(scenario.first - 1, set()), *snapshots, (scenario.last + 1, set())]))
    if emit == "changes":
        began = [(tick, 0, fact) for (_, before), (tick, facts) in steps[:-1] for fact in facts - before]
        return sorted(began + [(tick, 1, fact) for (_, old), (tick, new) in steps[:-1] for fact in old - new])
    told: Answers = []
    since: dict[str, int] = {}
    for (_, before), (tick, facts) in steps:
        told += [(since[fact], tick - 1 if tick <= scenario.last else -1, fact) for fact in before - facts]
        since.update(dict.fromkeys(facts - before, tick))
    return sorted(told)


def cuts(data: st.DataObject, events: Sequence[Event]) -> list[int]:
    return sorted(data.draw(st.lists(st.integers(0, len(events)), max_size=5), label="cuts"))


def check(scenario: Scenario, data: st.DataObject, *renewals: Renewal) -> None:
    """Any emit, any number of buckets, any batches, each bucket renewed in any of some ways."""
    emit = data.draw(st.sampled_from(("changes", "intervals", "snapshot")), label="emit")
    partitions = data.draw(st.integers(1, 4), label="partitions")
    job = rule_job(scenario.program, Settings(scenario.first, scenario.last, emit=emit), partitions)
    event(f"{sum(fragment.width > 1 for fragment in job.fragments)} of {len(job.fragments)} fragments are split")
    chosen = iter(lambda: data.draw(st.sampled_from(renewals)), None)
    assert answers(job, scenario.events, cuts(data, scenario.events), chosen) == meant(scenario, emit)


@given(scenarios(), st.integers(1, 4), st.data())
def test_partitioned_is_whole(scenario: Scenario, partitions: int, data: st.DataObject) -> None:
    asked = (scenario.program, scenario.events, scenario.first, scenario.last)
    assert by_stages(partitions, cuts(data, scenario.events))(*asked) == by_semantics(*asked)


@given(remembering_scenarios(), st.integers(1, 4), st.data())
def test_partitioned_is_whole_where_rules_remember(scenario: Scenario, partitions: int, data: st.DataObject) -> None:
    asked = (scenario.program, scenario.events, scenario.first, scenario.last)
    assert by_stages(partitions, cuts(data, scenario.events))(*asked) == by_semantics(*asked)


@given(st.one_of(scenarios(), remembering_scenarios()), st.integers(1, 4), st.data())
def test_what_is_guaranteed_is_the_same_in_buckets_and_kept(
    scenario: Scenario, partitions: int, data: st.DataObject
) -> None:
    program = scenario.program
    how = Settings(scenario.first, scenario.last, with_until=True)
    run = LocalRun(Rules(program), Context(how, Clock(), lambda _: None))
    items = Values(scenario.events, run.dictionary)
    changes = [change for change in run.answers(items) if change is not None]
    promised = {
        (change.t, fact): until
        for change in changes
        for fact, until in zip(change.columns[0], change.columns[3], strict=False)
        if until < FOREVER
    }
    rows = answers(rule_job(program, how, partitions), scenario.events, cuts(data, scenario.events), repeat(kept))
    assert {(tick, fact): until for tick, ended, fact, until in rows if not ended and until < FOREVER} == promised
    for (tick, fact), until in promised.items():
        assert not any(fact in change.columns[1] for change in changes if tick < change.t <= until), (fact, tick, until)


@given(st.one_of(scenarios(), remembering_scenarios()), st.data())
def test_a_worker_goes_on_from_what_another_saved(scenario: Scenario, data: st.DataObject) -> None:
    check(scenario, data, loaded)


@given(st.one_of(scenarios(), remembering_scenarios()), st.data())
def test_a_worker_goes_on_from_what_another_was_given(scenario: Scenario, data: st.DataObject) -> None:
    check(scenario, data, replayed)


@given(st.one_of(scenarios(tuples=False), remembering_scenarios(tuples=False)), st.integers(0, 6), st.data())
def test_any_order_inside_the_delay(scenario: Scenario, delay: int, data: st.DataObject) -> None:
    held = [data.draw(st.integers(0, delay)) for _ in scenario.events]
    order = sorted(range(len(held)), key=lambda place: scenario.events[place].tick + held[place])
    shuffled = [scenario.events[place] for place in order]
    how = Settings(scenario.first, scenario.last, delay, "changes")
    job = rule_job(scenario.program, how, data.draw(st.integers(1, 4)))
    ways = iter(lambda: data.draw(st.sampled_from((kept, loaded, replayed))), None)
    assert answers(job, shuffled, cuts(data, shuffled), ways) == meant(scenario, "changes")


@st.composite
def triple_streams(draw: st.DrawFn) -> list[Event]:
    return [Event(tick, (fact_of(*triple),)) for tick, triple in sorted(draw(STREAMS), key=lambda each: each[0])]


@pytest.mark.parametrize("profile", ["rdfs", "pd", "rl"])
@settings(max_examples=settings().max_examples * 3 // 10)
@given(ontologies(), st.lists(statements(), max_size=3), triple_streams(), st.integers(2, 3), st.data())
def test_an_ontology_in_stages_is_an_ontology_in_one_engine(
    profile: str,
    ontology: list[Triple],
    known: list[Triple],
    events: list[Event],
    partitions: int,
    data: st.DataObject,
) -> None:
    program = specialised("x.ttl", [*ontology, *known], profile, WINDOW)
    stages = partition(program).stages
    event(f"{sum(stage.split for stage in stages)} of {len(stages)} fragments are split")
    asked = (program, events, 0, 9)
    assert by_stages(partitions, cuts(data, events))(*asked) == by_engine(*asked)


@settings(max_examples=settings().max_examples * 3 // 10)
@given(ontologies(), triple_streams(), st.integers(2, 3), st.data())
def test_an_ontology_goes_on_from_what_was_saved_or_given(
    ontology: list[Triple], events: list[Event], partitions: int, data: st.DataObject
) -> None:
    program = specialised("x.ttl", ontology, "rl", WINDOW)
    emit = data.draw(st.sampled_from(("changes", "intervals", "snapshot")), label="emit")
    whole, spread = (rule_job(program, Settings(0, 9, emit=emit), number) for number in (1, partitions))
    ways = iter(lambda: data.draw(st.sampled_from((kept, loaded, replayed))), None)
    assert answers(spread, events, cuts(data, events), ways) == answers(whole, events, [], repeat(kept))


@pytest.mark.parametrize("profile", ["rdfs", "pd", "rl"])
@settings(max_examples=max(5, settings().max_examples // 50))
@given(ontologies(), triple_streams(), st.data())
def test_rules_over_triples_in_stages_are_those_in_one_engine(
    profile: str, ontology: list[Triple], events: list[Event], data: st.DataObject
) -> None:
    asked = (over_triples(ontology, profile, WINDOW), events, 0, 9)
    assert by_stages(2, cuts(data, events))(*asked) == by_engine(*asked)


# Rules that pass facts on, some of them through recursion that no key can split, and a few that have no key at all.
PASSING_ON = (
    "p(Y,X) :- p(X,Y){}.",
    "p(X,Y) :- q(X,Y){}.",
    "q(Y,X) :- p(X,Y){}, not r(X).",
    "q(X,Y) :- q(X,Z){}, s(Z,Y){}.",
    "q(Z,Y) :- s(X,Z){}, q(X,Y).",
    "p(X,Y) at T :- p(Y,X) at T in [2].",
    "p(X,Y) :- p(Y,X) always in [1].",
    "a(X) :- p(X,Y){}.",
    "a(X) :- a(Y){}, s(Y,X){}.",
    "a(X) :- c(X){}.",
    "b(X) :- a(X), not p(X,X).",
    "b(X) :- s(X,Y), s(Z,W){}, r(W).",
    "b(X) at T :- s(X,Y), r(W) at T in [2].",
    "b(X) :- s(X,Y){}, not r(Y).",
    "c(X) :- b(X){}, r(X).",
    "d(X) :- b(X), not a(X).",
    "d(X) :- c(Y){}, r(X).",
)


@st.composite
def passing_on(draw: st.DrawFn) -> Program:
    """Programs that say what they tell, and what streams bring besides."""
    windows = st.sampled_from(("", " in [1]", " in [2]"))
    chosen = draw(st.lists(st.sampled_from(PASSING_ON), min_size=2, max_size=6, unique=True))
    program = read(Source("test.lars", "\n".join(rule.replace("{}", draw(windows)) for rule in chosen)))
    assume(strata(program) is not None)
    derived = sorted(program.derived)
    told = draw(st.sets(st.sampled_from(derived), min_size=1))
    streamed = derived if draw(st.booleans()) else draw(st.sets(st.sampled_from(derived)))
    return replace(program, interface=Interface(inputs=frozenset(streamed), outputs=frozenset(told)))


@st.composite
def passed_on(draw: st.DrawFn) -> list[Event]:
    terms = st.sampled_from("xyz")
    pairs = st.builds(lambda name, one, other: Fact(name, (one, other)), st.sampled_from("ppqs"), terms, terms)
    single = st.builds(lambda name, one: Fact(name, (one,)), st.sampled_from("arrc"), terms)
    facts = draw(st.lists(st.tuples(st.integers(0, 5), pairs | single), min_size=1, max_size=6))
    return [Event(tick, (fact,)) for tick, fact in sorted(facts, key=lambda each: each[0])]


@given(passing_on(), passed_on(), st.integers(2, 3), st.data())
def test_what_follows_facts_through_buckets_is_what_follows(
    program: Program, events: list[Event], partitions: int, data: st.DataObject
) -> None:
    asked = (events, 0, 8)
    meant = only(program.outputs, by_semantics(program, *asked))
    assert by_stages(partitions, cuts(data, events))(program, *asked) == meant


def only(told: frozenset[str], changes: Changes) -> Changes:
    def kept(facts: frozenset[str]) -> frozenset[str]:
        return frozenset(fact for fact in facts if read_fact(fact).signature in told)

    found = {tick: Difference(kept(change.begin), kept(change.end)) for tick, change in changes.items()}
    return {tick: change for tick, change in found.items() if change}


def test_much_follows_facts_and_some_rules_are_set_apart() -> None:
    """Else the property above would be about nothing."""
    found = []

    @settings(max_examples=min(200, 8 * settings().max_examples), phases=[Phase.generate])
    @given(passing_on())
    def count(program: Program) -> None:
        placing = place_rules(program)
        found.append((bool(placing.carried), bool(placing.early)))

    count()
    assert sum(carried for carried, _ in found) > len(found) / 10
    assert sum(early for _, early in found) > len(found) / 100


def test_many_programs_are_spread_and_chained() -> None:
    """Else the properties above would be about nothing."""
    found = []

    @settings(max_examples=min(300, 12 * settings().max_examples), phases=[Phase.generate])
    @given(programs())
    def count(program: Program) -> None:
        stages = partition(program).stages
        found.append((sum(stage.split for stage in stages), len(stages)))

    count()
    assert sum(split > 0 for split, _ in found) > len(found) / 5
    assert sum(stages > 1 for _, stages in found) > len(found) / 5
    assert sum(split > 1 for split, _ in found) > len(found) / 20
