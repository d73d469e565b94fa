"""Stream consistency: the experiments of Gao, Dell'Aglio, Pan and Bernstein (figures 5 and 6), and larger ontologies.

NTM, LTM-0 to LTM-n (two bolts, the first n groups in the first), the best LTM of each length, and auto check the same
stream, each tick in turn, so that all meet the same noise. Every person has a class; the stream asserts it or one above
it, and now and then a wrong one. Times differ from machine to machine; the verdict is about ratios within one run.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from thalweg.bench.plot import Panel, draw
from thalweg.bench.processes import timed
from thalweg.bench.report import BenchmarkReport, BenchmarkTarget, at_least
from thalweg.bench.subjects import data_folder
from thalweg.connectors.ontology_documents import read_triples
from thalweg.engine.memory import size_of
from thalweg.ir.nodes import Program
from thalweg.kinds.rules.rule_engine import RuleEngine
from thalweg.languages.owl.checking import checked
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.model.vocabulary import OWL, RDFS, Triple
from thalweg.planning.choose_topology import lay_out
from thalweg.planning.topology import Bolt, Taxonomy, Topology, assigned, bits, groups, ltm, ntm

AUTO: Final = "auto"
NTM: Final = "NTM"
NPD: Final = "NPD"
GENERATED: Final = "generated (as large as NPD)"
_SUBCLASS, _DISJOINT = f"<{RDFS}subClassOf>", f"<{OWL}disjointWith>"
_NOISE: Final = 0.01
_PEOPLE: Final = 100_000


@dataclass(frozen=True)
class Hierarchy:
    """An ontology of classes, some of them disjoint."""

    name: str
    triples: tuple[Triple, ...]

    @cached_property
    def taxonomy(self) -> Taxonomy:
        return checked(self.name, self.triples, 0, lambda _: None).closed.taxonomy()

    def program(self, topology: Topology | None, window: int) -> Program:
        return checked(self.name, self.triples, window, lambda _: topology).program

    def topologies(self) -> dict[str, Topology | None]:
        """The topologies: LTM-n has the first n groups in the first of two bolts; `LTM, k bolts` is the best of k."""
        taxonomy, count = self.taxonomy, len(groups(self.taxonomy))
        topologies: dict[str, Topology | None] = {NTM: ntm(taxonomy)}
        topologies |= {f"LTM-{first}": assigned(taxonomy, (first, count - first)) for first in range(count + 1)}
        topologies |= {f"LTM, {bolts} bolts": ltm(taxonomy, bolts) for bolts in range(3, count + 1)}
        return topologies | {AUTO: lay_out(taxonomy, AUTO).topology}


def hierarchies(console: Console) -> list[Hierarchy]:
    """LUBM's classes with disjointness of our own, and NPD's where it is at hand; else a generated one as large."""
    university = Hierarchy("LUBM", tuple(read_triples(Path(__file__).with_name("university_disjoint.ttl"))))
    path = data_folder() / "npd" / "npd-v2-ql.owl.gz"
    if path.exists():
        return [university, Hierarchy(NPD, tuple(read_triples(path)))]
    console.print(
        f"{path} does not exist: an ontology as large is generated instead, and NPD is left out of the verdict. "
        "THALWEG_DATA names the folder that has `npd`."
    )
    return [university, Hierarchy(GENERATED, tuple(generated(330, 51)))]


def generated(classes: int, disjoint: int) -> Iterator[Triple]:
    """A hierarchy with a number of classes, and a number of disjoint pairs of them.

    >>> len(list(generated(100, 20)))
    119
    """
    random = Random(0)
    yield from (
        (_class(n), _SUBCLASS, _class(random.randrange(max(0, n // 4 - 3), max(1, n // 2)))) for n in range(1, classes)
    )
    pairs: dict[tuple[int, int], None] = {}
    while len(pairs) < disjoint:
        first, second = sorted(random.sample(range(1, classes), 2))
        # Classes of about the same height, as in ontologies that people write.
        if second < 2 * first:
            pairs[first, second] = None
    yield from ((_class(first), _DISJOINT, _class(second)) for first, second in pairs)


def _class(number: int) -> str:
    return f"<http://example.org/made#C{number}>"


# The stream -------------------------------------------------------------------------------------------------------


@dataclass
class Stream:
    """Assertions about people, `rate` of them a tick, the same in every run.

    A wrong assertion has any class; with `aimed`, one that the person cannot be in, or else few would clash among
    thousands of classes.
    """

    taxonomy: Taxonomy
    rate: int
    people: int = _PEOPLE
    share: tuple[int, int] = (0, 1)
    aimed: bool = False
    names: list[str] = field(init=False)
    ways: list[NDArray[np.int64]] = field(init=False)

    def __post_init__(self) -> None:
        """Keeps the classes that have a name, and for each those above it."""
        wanted = [place for place, name in enumerate(self.taxonomy.classes) if name[0] == "<"]
        number = {place: n for n, place in enumerate(wanted)}
        self.names = [self.taxonomy.classes[place] for place in wanted]
        above = ([number[n] for n in bits(self.taxonomy.above[place]) if n in number] for place in wanted)
        self.ways = [np.array(ancestors, dtype=np.int64) for ancestors in above]

    @cached_property
    def against(self) -> list[list[int]]:
        """For each class those that are disjoint with one above it."""
        number = {name: n for n, name in enumerate(self.names)}
        disjoint: dict[int, list[int]] = {}
        for pair in self.taxonomy.disjoint:
            if all(name in number for name in pair):
                first, second = (number[name] for name in pair)
                disjoint.setdefault(first, []).append(second)
                disjoint.setdefault(second, []).append(first)
        return [
            [n for way in ways for n in disjoint.get(int(way), ())] or [home] for home, ways in enumerate(self.ways)
        ]

    def tick(self, tick: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The assertions of a tick: numbers of people, and of their classes."""
        random = np.random.default_rng((7, tick))
        people, draws = random.integers(0, self.people, self.rate), random.random(self.rate)
        homes = people * 2_654_435_761 % len(self.names)
        ways = [self.ways[home] for home in homes.tolist()]
        asserted = np.array([way[int(draw * len(way))] for way, draw in zip(ways, draws, strict=True)])
        wrong = random.random(self.rate) < _NOISE
        asserted[wrong] = random.integers(0, len(self.names), int(wrong.sum()))
        if self.aimed:
            asserted[wrong] = [self.against[home][0] for home in homes[wrong].tolist()]
        mine = people % self.share[1] == self.share[0]
        return people[mine], asserted[mine]

    def batch(self, tick: int, engine: RuleEngine) -> Batch:
        people, classes = self.tick(tick)
        code = engine.dictionary.code
        words = np.array([code(f"<http://example.org/person{person}>") for person in people.tolist()], dtype=np.int64)
        return Batch({Predicate(self.names[kind], 1): words[classes == kind] for kind in np.unique(classes).tolist()})


# Measuring --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TopologyResult:
    """Tuples a second of a topology on a number of cores, and what it caches of how many assertions."""

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


class TopologyContender:
    """An engine with one topology, and the time it took."""

    def __init__(self, program: Program) -> None:
        self.engine = RuleEngine(program, first=0)
        self.engine.advance(0)
        self._before, self._bytes_before = self.engine.live, size_of(self.engine.arrays)
        self.seconds, self.tuples, self.clashes = 0.0, 0, 0

    def step(self, tick: int, stream: Stream, counts: bool = True) -> None:
        batch = stream.batch(tick, self.engine)
        seconds, changes = timed(lambda: self.engine.advance(tick, batch))
        if counts:
            self.seconds += seconds
            self.tuples += sum(len(words) for words in batch.rows.values())
        self.clashes += sum(len(change.begin) for change in changes)

    @property
    def cached(self) -> int:
        return self.engine.live - self._before

    @property
    def bytes_held(self) -> int:
        return size_of(self.engine.arrays) - self._bytes_before


def run(ontology: Hierarchy, names: Sequence[str], stream: Stream, window: int, ticks: int) -> list[TopologyResult]:
    """Some topologies on one core, tick by tick in turn; what comes before the first window is full is warm-up."""
    topologies = {name: ontology.topologies()[name] for name in names}
    contenders = {name: TopologyContender(ontology.program(topology, window)) for name, topology in topologies.items()}
    for tick in range(1, ticks + 1):
        for contender in contenders.values():
            contender.step(tick, stream, counts=tick > window)
    assert len({contender.clashes for contender in contenders.values()}) == 1, "topologies disagree"
    live = assertions(stream, ticks, window)
    return [
        TopologyResult(
            ontology=ontology.name,
            topology=name,
            cores=stream.share[1],
            tuples_per_s=contender.tuples / contender.seconds,
            conjunctions=_per_bolt(topologies[name], lambda bolt: len(bolt.conjunctions)) or "1 for all",
            inferences=_per_bolt(topologies[name], lambda bolt: len(bolt.inferences)) or "0",
            cached=contender.cached,
            assertions=live,
            bytes_each=contender.bytes_held / live,
            clashes=contender.clashes,
        )
        for name, contender in contenders.items()
    ]


def _per_bolt(topology: Topology | None, number: Callable[[Bolt], int]) -> str:
    return " + ".join(str(number(bolt)) for bolt in topology or ())


def assertions(stream: Stream, last: int, window: int) -> int:
    """The number of different assertions that a window holds."""
    pairs = [np.column_stack(stream.tick(tick)) for tick in range(last - window, last + 1)]
    return len(np.unique(np.concatenate(pairs), axis=0))


def on_two_cores(ontology: Hierarchy, names: Sequence[str], window: int, ticks: int, rate: int) -> list[TopologyResult]:
    """Some topologies in two processes, each with half of the people, one topology after the other."""
    streams = [Stream(ontology.taxonomy, rate, share=(part, 2)) for part in range(2)]
    results = []
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for name in names:
            parts = [pool.submit(run, ontology, [name], stream, window, ticks) for stream in streams]
            results.append(_together(*(part.result()[0] for part in parts)))
    return results


def _together(first: TopologyResult, second: TopologyResult) -> TopologyResult:
    live = first.assertions + second.assertions
    return replace(
        first,
        tuples_per_s=first.tuples_per_s + second.tuples_per_s,
        cached=first.cached + second.cached,
        assertions=live,
        bytes_each=(first.bytes_each * first.assertions + second.bytes_each * second.assertions) / live,
        clashes=first.clashes + second.clashes,
    )


@dataclass(frozen=True, slots=True)
class Large:
    """The cost of an ontology before the first fact, in seconds, and then of a fact, in microseconds.

    Classes are checked if they are in a disjoint pair, or below one that is.
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
    closed: list[tuple[float, Taxonomy]] = []

    def bolts(taxonomy: Taxonomy) -> Topology | None:
        closed.append((time.perf_counter(), taxonomy))
        return lay_out(closed[0][1], AUTO).topology

    begin = time.perf_counter()
    compiling, compiled = timed(lambda: checked(name, triples, 10, bolts))
    planning, contender = timed(lambda: TopologyContender(compiled.program))
    closing, taxonomy = closed[0]
    stream = Stream(taxonomy, 1_000, people=max(10, facts // 100), aimed=True)
    for tick in range(1, facts // 1_000 + 1):
        contender.step(tick, stream)
    sizes = len(compiled.closed.classes()), len(taxonomy.classes), len(taxonomy.disjoint)
    cost = contender.seconds / contender.tuples * 1e6
    return Large(name, *sizes, closing - begin, compiling, planning, cost, contender.clashes)


# Results ----------------------------------------------------------------------------------------------------------


def main(out: Path, quick: bool = False) -> None:
    """Measures, prints the tables, and writes CSV files and pictures to the folder `consistency` of `out`."""
    report, results = BenchmarkReport(out, "consistency"), list[TopologyResult]()
    window, ticks, rate = (10, 20, 2_000) if quick else (20, 80, 4_000)
    for ontology in hierarchies(report.console):
        report.log(f"{ontology.name}: every topology in turn")
        results += run(ontology, list(ontology.topologies()), Stream(ontology.taxonomy, rate), window, ticks)
        report.log(f"{ontology.name}: two cores")
        results += on_two_cores(ontology, (NTM, best_ltm(results, ontology.name).topology, AUTO), window, ticks, rate)
    report.log("large ontologies")
    sizes = [large(ontology.name, ontology.triples, 20_000), large("generated", list(generated(20_000, 5_000)), 20_000)]
    report.add("topologies", results)
    report.add("ontologies", sizes)
    draw_results(results, report.folder)
    report.close([*verdict(results), *of_sizes(sizes)])


def best_ltm(results: Sequence[TopologyResult], ontology: str) -> TopologyResult:
    """The fastest pipeline on one core."""
    alone = (result for result in results if (result.ontology, result.cores) == (ontology, 1))
    return max(
        (result for result in alone if result.topology.startswith("LTM")), key=lambda result: result.tuples_per_s
    )


def verdict(results: Sequence[TopologyResult]) -> Iterator[BenchmarkTarget]:
    """The results against the targets: on one core, in one run; of NPD, where it was measured."""
    yield from _of_npd([result for result in results if result.ontology == NPD and result.cores == 1])
    for ontology in dict.fromkeys(result.ontology for result in results):
        mine = next(e for e in results if (e.ontology, e.topology, e.cores) == (ontology, AUTO, 1))
        ratio = mine.tuples_per_s / best_ltm(results, ontology).tuples_per_s
        yield at_least(f"{ontology}: auto, not below the best LTM", ratio, 1, digits=2)


def _of_npd(results: Sequence[TopologyResult]) -> Iterator[BenchmarkTarget]:
    if not results:
        return
    by_name = {result.topology: result for result in results}
    plain, best, auto = by_name[NTM], best_ltm(results, NPD), by_name[AUTO]
    yield at_least(
        f"NPD: the best LTM ({best.topology}), at least 2 × NTM", best.tuples_per_s / plain.tuples_per_s, 2, digits=2
    )
    yield at_least("NPD: auto, at least 5 × NTM", auto.tuples_per_s / plain.tuples_per_s, 5, digits=2)
    yield BenchmarkTarget(
        "NPD: bytes a cached assertion by auto, at most 100", f"{auto.bytes_each:.0f}", auto.bytes_each <= 100
    )


def of_sizes(sizes: Sequence[Large]) -> Iterator[BenchmarkTarget]:
    """The cost of ontologies before the first fact, and clashes with the large one."""
    for cost in sizes:
        size = f"{cost.ontology}: {cost.classes:,} classes ({cost.checked:,} checked), {cost.disjoint:,} disjoint pairs"
        ready = cost.compiling + cost.planning
        if cost.ontology == NPD:
            yield BenchmarkTarget(f"{size}, closed in 2 s", f"{cost.closing:.2f} s", cost.closing <= 2)
        elif cost.ontology != GENERATED:
            yield BenchmarkTarget(f"{size}, compiled in 30 s", f"{ready:.2f} s", ready <= 30)
            yield BenchmarkTarget(f"{size}, clashes found", f"{cost.clashes:,}", cost.clashes > 0)


def draw_results(results: Sequence[TopologyResult], folder: Path) -> None:
    """Throughput by topology and cores (the paper's figure 5); conjunctions by bolt, and cached tuples (figure 6)."""
    throughput, conjunctions, memory = list[Panel](), list[Panel](), list[Panel]()
    for name in dict.fromkeys(result.ontology for result in results):
        of_ontology = [result for result in results if result.ontology == name]
        alone = [result for result in of_ontology if result.cores == 1]
        by_cores = {
            label: {result.topology: result.tuples_per_s for result in of_ontology if result.cores == cores}
            for cores, label in ((1, "1 core"), (2, "2 cores"))
        }
        bolts: dict[str, dict[str, float]] = {}
        for result in alone:
            for bolt, number in enumerate(re.findall(r"\d+", result.conjunctions), 1):
                bolts.setdefault(f"bolt {bolt}", {})[result.topology] = int(number)
        cached = {"tuples": {result.topology: float(result.cached) for result in alone}}
        throughput.append(Panel(f"{name}: throughput", "", "tuples a second", bars=by_cores))
        title = f"{name}: conjunctions of each bolt"
        conjunctions.append(Panel(title, "", "conjunctions", bars=bolts, stacked=True, log="y"))
        memory.append(Panel(f"{name}: memory", "", "tuples cached", bars=cached))
    draw(folder, "topologies", throughput, conjunctions, memory, size=(6, 3.3))
