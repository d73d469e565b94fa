"""Stream consistency: the experiments of Gao, Dell'Aglio, Pan and Bernstein (figures 5 and 6), and larger ontologies.

NTM, LTM-0 to LTM-n (two bolts, the first n groups in the first), the best LTM of each length, and auto check the same
stream, each tick in turn, so that all meet the same noise. Individuals are what they are, told in words more or less
general, and now and then somebody is wrong. Times differ from machine to machine; the verdict is about ratios within
one run.
"""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from thalweg.bench.ontologies import folder
from thalweg.bench.plot import draw_consistency
from thalweg.bench.table import Target, records_table, verdict_table, write_records, write_verdict
from thalweg.connectors.ontology_documents import read_triples
from thalweg.engine import Engine
from thalweg.engine.memory import size_of
from thalweg.ir.nodes import Program
from thalweg.languages.owl.checking import checked
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.model.vocabulary import OWL, RDFS, Triple
from thalweg.planning.choose_topology import Choice, lay_out
from thalweg.planning.topology import Taxonomy, Topology, assigned, bits, groups, ltm, ntm

AUTO: Final = "auto"
NTM: Final = "NTM"
NPD: Final = "NPD"
MADE: Final = "generated (as large as NPD)"
_SUBCLASS, _DISJOINT = f"<{RDFS}subClassOf>", f"<{OWL}disjointWith>"
_NOISE: Final = 0.01
_PEOPLE: Final = 100_000


@dataclass(frozen=True)
class Subject:
    """An ontology of classes."""

    name: str
    triples: tuple[Triple, ...]

    @cached_property
    def known(self) -> Taxonomy:
        return Taxonomy(*checked(self.name, self.triples, 0, lambda _: None).closed.taxonomy())

    def program(self, topology: Topology | None, window: int) -> Program:
        return checked(self.name, self.triples, window, lambda _: topology).program

    def topologies(self) -> dict[str, Topology | None]:
        """What is measured: LTM-n has the first n groups in the first of two bolts; `LTM, k bolts` is the best of k."""
        known, count = self.known, len(groups(self.known))
        found: dict[str, Topology | None] = {NTM: ntm(known)}
        found |= {f"LTM-{first}": assigned(known, (first, count - first)) for first in range(count + 1)}
        found |= {f"LTM, {bolts} bolts": ltm(known, bolts) for bolts in range(3, count + 1)}
        return found | {AUTO: lay_out(known, AUTO).topology}


def subjects(console: Console) -> list[Subject]:
    """LUBM's classes with disjointness of our own, and NPD's where it is at hand; else as many that are made up."""
    university = Subject("LUBM", tuple(read_triples(Path(__file__).with_name("university_disjoint.ttl"))))
    path = folder() / "npd" / "npd-v2-ql.owl.gz"
    if path.exists():
        return [university, Subject(NPD, tuple(read_triples(path)))]
    console.print(
        f"{path} is not there: an ontology as large is generated instead, and NPD is left out of the verdict. "
        "THALWEG_DATA names the folder that has `npd`."
    )
    return [university, Subject(MADE, tuple(made(330, 51)))]


def made(classes: int, disjoint: int, seed: int = 0) -> Iterator[Triple]:
    """A hierarchy of so many classes, and so many pairs of them that share no member.

    >>> len(list(made(100, 20)))
    119
    """
    random = Random(seed)
    yield from (
        (_class(n), _SUBCLASS, _class(random.randrange(max(0, n // 4 - 3), max(1, n // 2)))) for n in range(1, classes)
    )
    pairs: dict[tuple[int, int], None] = {}
    while len(pairs) < disjoint:
        one, other = sorted(random.sample(range(1, classes), 2))
        # Classes of about the same height, as people call disjoint what stands side by side.
        if other < 2 * one:
            pairs[one, other] = None
    yield from ((_class(one), _DISJOINT, _class(other)) for one, other in pairs)


def _class(number: int) -> str:
    return f"<http://example.org/made#C{number}>"


# The stream -------------------------------------------------------------------------------------------------------


@dataclass
class Stream:
    """Assertions about people, so many a tick; the same for everybody who asks.

    Where somebody is wrong, any class is told; `aimed`, one that the person cannot be in, or else few would clash among
    thousands of classes.
    """

    known: Taxonomy
    rate: int
    people: int = _PEOPLE
    share: tuple[int, int] = (0, 1)
    aimed: bool = False
    names: list[str] = field(init=False)
    ways: list[NDArray[np.int64]] = field(init=False)

    def __post_init__(self) -> None:
        """Keeps the classes that have a name, and what each may also be called."""
        wanted = [place for place, name in enumerate(self.known.classes) if name[0] == "<"]
        number = {place: n for n, place in enumerate(wanted)}
        self.names = [self.known.classes[place] for place in wanted]
        above = ([number[n] for n in bits(self.known.above[place]) if n in number] for place in wanted)
        self.ways = [np.array(each, dtype=np.int64) for each in above]

    @cached_property
    def against(self) -> list[list[int]]:
        """For each class those that are disjoint with one above it."""
        number = {name: n for n, name in enumerate(self.names)}
        apart: dict[int, list[int]] = {}
        for pair in self.known.disjoint:
            if all(name in number for name in pair):
                one, other = (number[name] for name in pair)
                apart.setdefault(one, []).append(other)
                apart.setdefault(other, []).append(one)
        return [[n for way in ways for n in apart.get(int(way), ())] or [home] for home, ways in enumerate(self.ways)]

    def tick(self, tick: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Who is said to be what: numbers of people, and of classes."""
        random = np.random.default_rng((7, tick))
        people, draws = random.integers(0, self.people, self.rate), random.random(self.rate)
        homes = people * 2_654_435_761 % len(self.names)
        told = np.array(
            [self.ways[home][int(draw * len(self.ways[home]))] for home, draw in zip(homes, draws, strict=True)]
        )
        wrong = random.random(self.rate) < _NOISE
        told[wrong] = random.integers(0, len(self.names), int(wrong.sum()))
        if self.aimed:
            told[wrong] = [self.against[home][0] for home in homes[wrong].tolist()]
        mine = people % self.share[1] == self.share[0]
        return people[mine], told[mine]

    def batch(self, tick: int, engine: Engine) -> Batch:
        people, told = self.tick(tick)
        code = engine.dictionary.code
        words = np.array([code(f"<http://example.org/person{each}>") for each in people.tolist()], dtype=np.int64)
        return Batch({Predicate(self.names[kind], 1): words[told == kind] for kind in np.unique(told).tolist()})


# Measuring --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Result:
    """What a topology did on a number of cores: tuples a second, and what it holds of how many assertions."""

    ontology: str
    topology: str
    cores: int
    tuples_per_s: float
    conjunctions: str
    inferences: str
    cached: int
    assertions: int
    bytes_each: float
    clashes: int


class Contender:
    """A topology at work, and the time it took."""

    def __init__(self, name: str, topology: Topology | None, subject: Subject, window: int) -> None:
        self.name, self.topology = name, topology
        self.engine = Engine(subject.program(topology, window), first=0)
        self.engine.advance(0)
        self.before, self.bytes_before = self.engine.live, size_of(self.engine.arrays)
        self.seconds, self.tuples, self.clashes = 0.0, 0, 0

    def step(self, tick: int, stream: Stream, counts: bool) -> None:
        batch = stream.batch(tick, self.engine)
        begin = time.perf_counter()
        changes = self.engine.advance(tick, batch)
        if counts:
            self.seconds += time.perf_counter() - begin
            self.tuples += sum(len(words) for words in batch.rows.values())
        self.clashes += sum(len(change.begin) for change in changes)

    def result(self, subject: Subject, cores: int, assertions: int, rate: float | None = None) -> Result:
        held = size_of(self.engine.arrays) - self.bytes_before
        return Result(
            subject.name, self.name, cores, rate or self.tuples / self.seconds,
            *_operations(self.topology), self.engine.live - self.before, assertions, held / assertions, self.clashes,
        )  # fmt: skip


def _operations(topology: Topology | None) -> tuple[str, str]:
    """The conjunctions and inferences of each bolt."""
    if topology is None:
        return "1 for all", "0"
    counts = [(len(bolt.conjunctions), len(bolt.inferences)) for bolt in topology]
    return " + ".join(str(one) for one, _ in counts), " + ".join(str(other) for _, other in counts)


def contest(subject: Subject, window: int, ticks: int, rate: int, people: int = _PEOPLE) -> list[Result]:
    """All topologies on one core, tick by tick in turn."""
    stream = Stream(subject.known, rate, people)
    contenders = [Contender(name, topology, subject, window) for name, topology in subject.topologies().items()]
    for tick in range(1, ticks + 1):
        for contender in contenders:
            contender.step(tick, stream, counts=tick > window)
    live = assertions(stream, ticks, window)
    assert len({contender.clashes for contender in contenders}) == 1, "topologies disagree"
    return [contender.result(subject, 1, live) for contender in contenders]


def assertions(stream: Stream, last: int, window: int) -> int:
    """How many different assertions a window holds."""
    pairs = [np.column_stack(stream.tick(tick)) for tick in range(last - window, last + 1)]
    return len(np.unique(np.concatenate(pairs), axis=0))


def on_two_cores(subject: Subject, names: Sequence[str], window: int, ticks: int, rate: int) -> list[Result]:
    """Some topologies in two processes, each with half of the people, one topology after the other."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        found = []
        for name in names:
            topology = subject.topologies()[name]
            parts = [pool.submit(_half, name, topology, subject, window, ticks, rate, part) for part in range(2)]
            both = [part.result() for part in parts]
            tuples_per_s = sum(each.tuples_per_s for each in both)
            found.append(_together(both, tuples_per_s))
    return found


def _half(
    name: str, topology: Topology | None, subject: Subject, window: int, ticks: int, rate: int, part: int
) -> Result:
    stream = Stream(subject.known, rate, share=(part, 2))
    contender = Contender(name, topology, subject, window)
    for tick in range(1, ticks + 1):
        contender.step(tick, stream, counts=tick > window)
    return contender.result(subject, 2, assertions(stream, ticks, window))


def _together(parts: Sequence[Result], rate: float) -> Result:
    first = parts[0]
    held = sum(part.bytes_each * part.assertions for part in parts) / sum(part.assertions for part in parts)
    return Result(
        first.ontology, first.topology, 2, rate, first.conjunctions, first.inferences,
        sum(part.cached for part in parts), sum(part.assertions for part in parts), held,
        sum(part.clashes for part in parts),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Large:
    """What an ontology costs before the first fact, in seconds, and then a fact, in microseconds.

    Those classes are checked that are in a disjoint pair, or below one that is.
    """

    ontology: str
    classes: int
    checked: int
    disjoint: int
    closing: float
    compiling: float
    planning: float
    us_a_fact: float
    clashes: int


def large(name: str, triples: Sequence[Triple], facts: int) -> Large:
    """Closes and compiles an ontology by auto, and runs it for a while."""
    marks: list[tuple[float, Taxonomy, Choice]] = []

    def bolts(found: tuple[object, ...]) -> Topology | None:
        closed = time.perf_counter()
        known = Taxonomy(*found)  # type: ignore[arg-type]
        marks.append((closed, known, lay_out(known, AUTO)))
        return marks[-1][2].topology

    begin = time.perf_counter()
    found = checked(name, triples, 10, bolts)
    compiled = time.perf_counter()
    engine = Engine(found.program, first=0)
    engine.advance(0)
    planned = time.perf_counter()
    closed, known, _ = marks[0]
    stream = Stream(known, 1_000, people=max(10, facts // 100), aimed=True)
    clashes, spent = 0, 0.0
    for tick in range(1, facts // 1_000 + 1):
        batch = stream.batch(tick, engine)
        start = time.perf_counter()
        clashes += sum(len(change.begin) for change in engine.advance(tick, batch))
        spent += time.perf_counter() - start
    micro = spent / (facts // 1_000 * 1_000) * 1e6
    return Large(
        name,
        len(found.closed.classes()),
        len(known.classes),
        len(known.disjoint),
        closed - begin,
        compiled - begin,
        planned - compiled,
        micro,
        clashes,
    )


# Results ----------------------------------------------------------------------------------------------------------


def main(out: Path, quick: bool = False) -> None:
    """Measures, prints the tables, and writes CSV files and pictures to the folder `consistency` of `out`."""
    place, console, log = out / "consistency", Console(), Console(stderr=True)
    place.mkdir(parents=True, exist_ok=True)
    window, ticks, rate = (10, 20, 2_000) if quick else (20, 80, 4_000)
    results: list[Result] = []
    for subject in subjects(console):
        log.log(f"{subject.name}: every topology in turn")
        results += contest(subject, window, ticks, rate)
        log.log(f"{subject.name}: two cores")
        results += on_two_cores(subject, (NTM, best_ltm(results, subject.name).topology, AUTO), window, ticks, rate)
    log.log("large ontologies")
    sizes = [large(subject.name, subject.triples, 20_000), large("generated", list(made(20_000, 5_000)), 20_000)]
    targets = [*verdict(results), *of_sizes(sizes)]
    for name, rows in (("topologies", results), ("ontologies", sizes)):
        console.print(records_table(name, rows))
        write_records(rows, place / f"{name}.csv")
    console.print(verdict_table(targets))
    write_verdict(targets, place / "verdict.csv")
    draw_consistency(results, place)
    console.print(f"tables and pictures are in {place}")


def best_ltm(results: Sequence[Result], ontology: str) -> Result:
    """The fastest pipeline on one core."""
    some = [
        each for each in results if each.ontology == ontology and each.topology.startswith("LTM") and each.cores == 1
    ]
    return max(some, key=lambda each: each.tuples_per_s)


def verdict(results: Sequence[Result]) -> Iterator[Target]:
    """What was found against the targets: on one core, in one run; of NPD, where it was measured."""
    yield from _of_npd([each for each in results if each.ontology == NPD and each.cores == 1])
    for ontology in dict.fromkeys(each.ontology for each in results):
        mine = next(e for e in results if (e.ontology, e.topology, e.cores) == (ontology, AUTO, 1))
        ratio = mine.tuples_per_s / best_ltm(results, ontology).tuples_per_s
        yield _at_least(f"{ontology}: auto, not below the best LTM", ratio, 1)


def _of_npd(results: Sequence[Result]) -> Iterator[Target]:
    if not results:
        return
    by_name = {each.topology: each for each in results}
    plain, best, auto = by_name[NTM], best_ltm(results, NPD), by_name[AUTO]
    yield _at_least(f"NPD: the best LTM ({best.topology}), at least 2 × NTM", best.tuples_per_s / plain.tuples_per_s, 2)
    yield _at_least("NPD: auto, at least 5 × NTM", auto.tuples_per_s / plain.tuples_per_s, 5)
    yield Target("NPD: bytes a cached assertion by auto, at most 100", f"{auto.bytes_each:.0f}", auto.bytes_each <= 100)


def of_sizes(sizes: Sequence[Large]) -> Iterator[Target]:
    """What ontologies cost before the first fact, and that clashes with the large one were found."""
    for each in sizes:
        size = f"{each.ontology}: {each.classes:,} classes ({each.checked:,} checked), {each.disjoint:,} disjoint pairs"
        ready = each.compiling + each.planning
        if each.ontology == NPD:
            yield Target(f"{size}, closed in 2 s", f"{each.closing:.2f} s", each.closing <= 2)
        elif each.ontology != MADE:
            yield Target(f"{size}, compiled in 30 s", f"{ready:.2f} s", ready <= 30)
            yield Target(f"{size}, clashes found", f"{each.clashes:,}", each.clashes > 0)


def _at_least(claim: str, ratio: float, limit: float) -> Target:
    return Target(claim, f"{ratio:,.2f} ×", ratio >= limit)
