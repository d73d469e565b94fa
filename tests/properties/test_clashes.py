"""Clashes over a stream are those of each window by definition, whatever the topology and the way they are told; the
reasons suffice, none of them can be spared, and all of them are in the window.
"""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_consistency import AXIOM, DECLARED, FACT, Definition
from test_partitioned import Answers, answers, cuts, kept, loaded, replayed

from buckets import rule_job
from thalweg import Change, Clash, Interval, Snapshot, api
from thalweg.api.answer_values import record_of
from thalweg.dataflow.context import Settings
from thalweg.ir.nodes import Program
from thalweg.languages.lars.facts import read_fact
from thalweg.languages.owl import graph, structure
from thalweg.languages.owl.axioms import (
    Axiom,
    DisjointObjectProperties,
    Ontology,
    ReflexiveObjectProperty,
    SubClassOf,
    show,
)
from thalweg.languages.owl.checking import checked
from thalweg.languages.owl.expressions import (
    ObjectComplementOf,
    ObjectIntersectionOf,
    ObjectInverseOf,
    ObjectSomeValuesFrom,
)
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.model.python_values import term_of
from thalweg.model.time import FOREVER
from thalweg.planning.choose_topology import lay_out
from thalweg.planning.route_justifications import route_justifications
from thalweg.runtimes.spark.job import Job

Stream = list[tuple[int, list[Fact]]]
Named = set[tuple[str, str, str]]
TOPOLOGIES = (("ntm", None), ("ltm", None), ("ltm", 2), ("auto", None))

EVENT = st.tuples(st.integers(0, 9), st.lists(FACT, min_size=1, max_size=4, unique=True))
STREAM = st.lists(EVENT, min_size=1, max_size=6, unique_by=lambda event: event[0]).map(sorted)
AXIOMS = st.lists(AXIOM, min_size=1, max_size=6, unique_by=show)
LAST = 14


class Case:
    """An ontology, a stream and a window, and what should be told of them."""

    def __init__(self, axioms: list[Axiom], stream: Stream, window: int) -> None:
        self.triples = list(graph.triples(Ontology(tuple(axioms), DECLARED), "x"))
        self.meaning = Definition(list(structure.read(self.triples).axioms))
        self.stream, self.window = stream, window

    def program(self, topology: str, bolts: int | None) -> Program:
        return checked("x", self.triples, self.window, lambda known: lay_out(known, topology, bolts).topology).program

    def seen(self, tick: int) -> set[Fact]:
        return {fact for when, facts in self.stream for fact in facts if tick - self.window <= when <= tick}

    def expected(self, tick: int) -> Named:
        return self.meaning.inconsistent(list(self.seen(tick)))

    def check_reasons(self, clash: Clash, tick: int) -> None:
        assert clash.because is not None
        dated = [text.rpartition(" at ") for text in clash.because]
        facts = [read_fact(fact) for fact, _, _ in dated]
        for fact, (_, _, when) in zip(facts, dated, strict=True):
            assert tick - self.window <= int(when) <= tick
            assert (fact, int(when)) in {(each, t) for t, several in self.stream for each in several}
        assert list(clash.because) == sorted(clash.because)
        assert named(clash) in self.meaning.inconsistent(facts)
        for fact in facts:
            assert named(clash) not in self.meaning.inconsistent([each for each in facts if each != fact])


def named(clash: Clash) -> tuple[str, str, str]:
    return clash.axiom, term_of(clash.individual), term_of(clash.other or clash.individual)


def cases() -> st.SearchStrategy[Case]:
    return st.builds(Case, AXIOMS, STREAM, st.integers(0, 5))


def snapshots(program: Program, stream: Stream) -> Iterator[Snapshot]:
    for answer in api.run(program, stream=stream, start=0, end=LAST, emit="snapshot"):
        assert isinstance(answer, Snapshot)
        yield answer


@settings(max_examples=settings().max_examples * 3 // 5)
@given(cases())
def test_every_topology_tells_the_clashes_of_each_window(case: Case) -> None:
    first = list(snapshots(case.program("ntm", None), case.stream))
    assert [answer.t for answer in first] == list(range(LAST + 1))
    for answer in first:
        assert {named(clash) for clash in answer.facts} == case.expected(answer.t)
        for clash in answer.facts:
            case.check_reasons(clash, answer.t)
    for topology, bolts in TOPOLOGIES[1:]:
        assert list(snapshots(case.program(topology, bolts), case.stream)) == first, topology


@settings(max_examples=settings().max_examples * 2 // 5)
@given(cases(), st.sampled_from(TOPOLOGIES))
def test_changes_tell_each_clash_once_when_it_begins_and_once_when_it_ends(
    case: Case, topology: tuple[str, int | None]
) -> None:
    now: Named = set()
    told: dict[int, Change] = {}
    for answer in api.run(case.program(*topology), stream=case.stream, emit="changes", start=0, end=LAST):
        assert isinstance(answer, Change)
        told[answer.t] = answer
    for tick in range(LAST + 1):
        if tick in told:
            ended, begun = set(map(named, told[tick].end)), set(map(named, told[tick].begin))
            assert ended <= now
            assert begun.isdisjoint(now)
            now = (now - ended) | begun
            assert all(clash.because is None for clash in told[tick].end)
            for clash in told[tick].begin:
                case.check_reasons(clash, tick)
        assert now == case.expected(tick)


@settings(max_examples=settings().max_examples * 2 // 5)
@given(cases(), st.sampled_from(TOPOLOGIES))
def test_intervals_tell_from_when_to_when(case: Case, topology: tuple[str, int | None]) -> None:
    found: dict[int, Named] = {tick: set() for tick in range(LAST + 1)}
    for answer in api.run(case.program(*topology), stream=case.stream, emit="intervals", start=0, end=LAST):
        assert isinstance(answer, Interval)
        case.check_reasons(answer.fact, answer.start)
        for tick in range(answer.start, (LAST if answer.until is None else answer.until) + 1):
            found[tick].add(named(answer.fact))
    assert found == {tick: case.expected(tick) for tick in range(LAST + 1)}


def rows(case: Case, topology: tuple[str, int | None], emit: str) -> Answers:
    """What one process tells, in the rows that buckets tell."""
    found: Answers = []
    for answer in api.run(case.program(*topology), stream=case.stream, emit=emit, start=0, end=LAST):  # type: ignore[arg-type]
        record = record_of(answer)
        assert record.of_clashes
        match record.kind, record.columns:
            case "snapshot", (clashes,):
                found += [(record.t, text) for text in clashes]
            case "changes", (begun, ended, *_):
                found += [(record.t, 0, text) for text in begun] + [(record.t, 1, text) for text in ended]
            case "intervals", ((text,), (start,)):
                found.append((start, -1 if record.t == FOREVER else record.t, text))
    return sorted(found)


def spread(case: Case, topology: tuple[str, int | None], emit: str, partitions: int) -> Job:
    program = route_justifications(case.program(*topology))
    job = rule_job(program, Settings(0, LAST, emit=emit), partitions)
    assert all(spec.stage.split for spec in job.plan.operators) or not program.rules
    return job


@pytest.mark.parametrize(
    "axioms",
    [
        [ReflexiveObjectProperty("<r>"), DisjointObjectProperties(("<r>", ObjectInverseOf("<s>")))],
        [SubClassOf(ObjectIntersectionOf(("<A>", "<A>")), ObjectSomeValuesFrom("<r>", ObjectComplementOf("<A>")))],
    ],
)
def test_buckets_have_the_facts_behind_a_clash_where_it_is_output(axioms: list[Axiom]) -> None:
    facts = [Fact("<A>", ("<a>",)), Fact("<s>", ("<a>", "<a>")), Fact("<s>", ("<a>", "<b>"))]
    case = Case(axioms, [(0, facts)], 0)
    job = spread(case, ("auto", None), "changes", 3)
    events = [Event(tick, tuple(facts)) for tick, facts in case.stream]
    assert answers(job, events, [], iter(lambda: kept, None)) == rows(case, ("auto", None), "changes")


@settings(max_examples=settings().max_examples * 3 // 5)
@given(cases(), st.sampled_from(TOPOLOGIES), st.sampled_from(("changes", "intervals", "snapshot")), st.data())
def test_buckets_tell_what_one_process_tells(
    case: Case, topology: tuple[str, int | None], emit: str, data: st.DataObject
) -> None:
    job = spread(case, topology, emit, data.draw(st.integers(1, 3), label="partitions"))
    events = [Event(tick, tuple(facts)) for tick, facts in case.stream]
    ways = iter(lambda: data.draw(st.sampled_from((kept, loaded, replayed))), None)
    assert answers(job, events, cuts(data, events), ways) == rows(case, topology, emit)
