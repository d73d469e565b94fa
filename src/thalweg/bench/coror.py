"""Ontologies in motion: Stream Coror's evaluation (its figures 6-2 to 6-13), and on to sizes that it did not try.

Four questions: what a closure costs; what one triple more or less costs when all of them pass through a window; what
replacing a share of the data costs beside reasoning anew, by our engine and by owlrl; whether a budget of memory holds.
Times differ from machine to machine; the verdict is about ratios within one run.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import count, islice, pairwise
from math import inf
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np

from thalweg import api
from thalweg.bench.command import COMMAND
from thalweg.bench.plot import Lines, Panel, add_point, draw
from thalweg.bench.processes import MEGABYTE, Samples, isolated, resident, sample_memory, timed
from thalweg.bench.report import BenchmarkReport, BenchmarkTarget, at_least, at_most
from thalweg.bench.subjects import Subject, generated_subject, universities, well_known
from thalweg.connectors.batches import code_facts
from thalweg.connectors.ontology_documents import read_triples
from thalweg.ir.nodes import Program
from thalweg.kinds.rules.rule_engine import RuleEngine
from thalweg.languages.owl.program import as_fact, over_triples, specialised
from thalweg.model.rdf import as_ntriples
from thalweg.model.vocabulary import Triple

PROFILES: Final = ("rdfs", "pd", "rl")
ENGINE: Final = "engine"
GENERIC: Final = "engine, over triples"
OWLRL: Final = "owlrl"
_SEMANTICS: Final = {"rdfs": "RDFS_Semantics", "rl": "OWLRL_Semantics"}
_SHARES: Final = (1, 2, 5, 10, 20, 40, 70, 100)
_STEPS: Final = 2_000
_FEW: Final = 10
# How often the command is looked at for its first answer, ten times a second.
_PATIENCE: Final = 100


@dataclass(frozen=True, slots=True)
class ClosureCost:
    """The cost of a closure: seconds, and megabytes that the process grew by while compiling and reasoning.

    The rates are those of reasoning alone.
    """

    by: str
    profile: str
    triples: int
    entailed: int
    read: float
    compile: float
    reason: float
    megabytes: float
    triples_per_s: float
    entailed_per_s: float

    @property
    def total(self) -> float:
        return self.read + self.compile + self.reason


@dataclass(frozen=True, slots=True)
class Sliding:
    """The cost of one triple more and of one less at a number of live ones: microseconds. `run` does both at once."""

    by: str
    profile: str
    live: int
    add: float
    add_99: float
    expire: float | None = None
    expire_99: float | None = None
    bytes_per_triple: float | None = None


@dataclass(frozen=True, slots=True)
class Renewal:
    """The cost of replacing a share of the data, incrementally and from scratch: milliseconds; `compile` in seconds."""

    ontology: str
    profile: str
    axioms: int
    rules: int
    data: int
    percent: float
    replaced: int
    incremental: float
    scratch: float
    owlrl: float | None
    compile: float

    @property
    def gain(self) -> float:
        return self.scratch / self.incremental


@dataclass(frozen=True, slots=True)
class Budget:
    """How far a process grew under a budget of megabytes, and how many of its answers are marked partial."""

    budget: int | None
    triples: int
    growth: float
    answers: int
    partial: int


# Closures ---------------------------------------------------------------------------------------------------------


def closures(subject: Subject, quick: bool) -> list[ClosureCost]:
    """Each in a process of its own, so that what one left behind does not hide what another needs."""
    large, small = 100_000, 3_000 if quick else 20_000
    wanted = [(ENGINE, profile, large) for profile in PROFILES]
    for profile in _SEMANTICS:
        wanted += [(ENGINE, profile, small), (GENERIC, profile, small)]
        wanted += [(OWLRL, profile, small)] * has_owlrl()
    with tempfile.TemporaryDirectory() as folder:
        for size in (large, small):
            _write(Path(folder, f"{size}.nt"), (*subject.schema, *subject.data(size)))
        return [_isolated_closure(by, profile, f"{folder}/{size}.nt") for by, profile, size in wanted]


def has_owlrl() -> bool:
    return find_spec("owlrl") is not None


def _write(path: Path, triples: Sequence[Triple]) -> None:
    path.write_text("".join(map(_line, triples)), encoding="utf-8")


def _line(triple: Triple) -> str:
    return f"{' '.join(map(as_ntriples, triple))} .\n"


def _isolated_closure(by: str, profile: str, path: str) -> ClosureCost:
    outcome = isolated(close_by_owlrl if by == OWLRL else close, by, profile, path, seconds=inf)
    assert outcome.result is not None, outcome.stopped
    return outcome.result


def close(by: str, profile: str, path: str) -> ClosureCost:
    """The closure of a document by our engine. The kernels are loaded before the clock starts."""
    RuleEngine(specialised("", (), profile), first=0).advance(0)
    read, triples = timed(lambda: read_triples(path))
    before = resident()
    generic = by == GENERIC
    program = over_triples if generic else lambda triples, profile: specialised("", triples, profile)
    compiling, engine = timed(lambda: RuleEngine(program(triples, profile), first=0))
    reasoning, _ = timed(lambda: engine.advance(0))
    return _closure(by, profile, len(triples), len(engine.output_rows()), (read, compiling, reasoning), before)


def close_by_owlrl(by: str, profile: str, path: str) -> ClosureCost:
    """The same by owlrl."""
    graph = import_module("rdflib").Graph()
    read, _ = timed(lambda: graph.parse(path, format="nt"))
    size, before = len(graph), resident()
    reasoning = expand(graph, profile)
    return _closure(by, profile, size, len(graph) - size, (read, 0.0, reasoning), before)


def _closure(
    by: str, profile: str, triples: int, entailed: int, seconds: tuple[float, float, float], before: int
) -> ClosureCost:
    grown, reasoning = (resident() - before) / MEGABYTE, seconds[-1]
    return ClosureCost(by, profile, triples, entailed, *seconds, grown, triples / reasoning, entailed / reasoning)


def expand(graph: Any, profile: str) -> float:
    """Seconds that owlrl takes to add all that follows to a graph of rdflib."""
    owlrl = import_module("owlrl")
    reasoner = owlrl.DeductiveClosure(getattr(owlrl, _SEMANTICS[profile]))
    return timed(lambda: reasoner.expand(graph))[0]


# Windows ----------------------------------------------------------------------------------------------------------


def slide(subject: Subject, profile: str, live: int, steps: int = _STEPS) -> Sliding:
    """One triple comes at each even tick, and at each odd one the oldest goes, once `live` of them are there."""
    triples = _shuffled(subject.data(live + steps))
    engine = RuleEngine(specialised(subject.name, subject.schema, profile, 2 * live), first=0)
    come, gone = np.zeros(len(triples)), np.zeros(len(triples))
    for place, triple in enumerate(triples):
        batch = code_facts([as_fact(triple)], engine.dictionary)
        begin = time.perf_counter()
        engine.advance(2 * place, batch)
        middle = time.perf_counter()
        engine.advance(2 * place + 1)
        come[place], gone[place] = middle - begin, time.perf_counter() - middle
    return Sliding(ENGINE, profile, live, *_typical(come[live:]), *_typical(gone[live:]), engine.size / live)


def slide_through_run(subject: Subject, profile: str, live: int, steps: int = _STEPS) -> Sliding:
    """The same as a user meets it, from facts to spelled answers: at each tick one triple comes and one goes."""
    triples = _shuffled(subject.data(live + steps))
    program = specialised(subject.name, subject.schema, profile, live - 1)
    moments = list[float]()

    def events() -> Iterator[Any]:
        for tick, triple in enumerate(triples):
            moments.append(time.perf_counter())
            yield tick, [as_fact(triple)]

    for answer in api.run(program, stream=events(), emit="changes"):
        str(answer)
    durations = np.array([after - before for before, after in pairwise(moments[live:])])
    return Sliding("run", profile, live, *_typical(durations))


def _shuffled(triples: list[Triple]) -> list[Triple]:
    Random(0).shuffle(triples)
    return triples


def _typical(seconds: Any) -> tuple[float, float]:
    """The median and what 99 % do not exceed, in microseconds."""
    return float(np.median(seconds) * 1e6), float(np.percentile(seconds, 99) * 1e6)


# Renewal ----------------------------------------------------------------------------------------------------------


def renew(
    subject: Subject, profile: str, data: int, shares: Sequence[float], with_owlrl: bool, rounds: int = 7
) -> list[Renewal]:
    """Replaces a share of the data at every tick; the rest is background.

    From scratch means: a new engine, already planned, and data that are already coded. What differs is how much must
    be reasoned about. `with_owlrl`: by owlrl as well, once, for it reasons about the same amount whatever the share.
    """
    triples = _shuffled(subject.data(2 * data))
    compiling, program = timed(lambda: specialised(subject.name, subject.schema, profile))
    owlrl_seconds = _owlrl_alone(subject, profile, triples[:data]) if with_owlrl and has_owlrl() else None
    anew = statistics.median(from_scratch(program, triples[first : first + data])[0] for first in range(3))
    measured = []
    for percent in shares:
        replaced = max(1, round(data * percent / 100))
        # The first fills the engine, and the second is the first to forget.
        times = [step[0] for step in islice(replacing(subject, profile, triples, replaced), 2, 2 + rounds)]
        sizes = len(subject.schema), len(program.rules), data
        costs = statistics.median(times) * 1e3, anew * 1e3, None if owlrl_seconds is None else owlrl_seconds * 1e3
        measured.append(Renewal(subject.name, profile, *sizes, percent, replaced, *costs, compiling))
    return measured


def replacing(
    subject: Subject, profile: str, triples: Sequence[Triple], replaced: int
) -> Iterator[tuple[float, RuleEngine, Sequence[Triple]]]:
    """Seconds for each replacement, the engine after it, and what it should now reason about; for ever.

    Half of the triples are there at a time, and some of them are replaced by others.
    """
    kept = len(triples) // 2 - replaced
    retained, waiting = triples[:kept], triples[kept:]
    engine = RuleEngine(specialised(subject.name, (*subject.schema, *retained), profile), first=0)
    for tick in count():
        start = tick * replaced % (len(waiting) - replaced + 1)
        fresh = waiting[start : start + replaced]
        batch = code_facts(map(as_fact, fresh), engine.dictionary)
        begin = time.perf_counter()
        engine.advance(tick, batch)
        yield time.perf_counter() - begin, engine, (*retained, *fresh)


def from_scratch(program: Program, triples: Sequence[Triple]) -> tuple[float, RuleEngine]:
    """Seconds for reasoning anew, and the engine that did."""
    engine = RuleEngine(program, first=0)
    batch = code_facts(map(as_fact, triples), engine.dictionary)
    return timed(lambda: engine.advance(0, batch))[0], engine


def _owlrl_alone(subject: Subject, profile: str, triples: Sequence[Triple]) -> float:
    """Seconds by owlrl, which does not offer pD*; the rules of OWL 2 RL take its place."""
    graph = import_module("rdflib").Graph()
    graph.parse(data="".join(map(_line, (*subject.schema, *triples))), format="nt")
    return expand(graph, profile if profile in _SEMANTICS else "rl")


def renewals(quick: bool) -> list[Renewal]:
    """Shares of the well-known ontologies; ontologies that grow; data that grow."""
    data, profiles = (500, ("pd",)) if quick else (2_000, ("pd", "rl"))
    lubm, ontologies = universities(), well_known()
    growing = next((ontology for ontology in ontologies if ontology.name == "mad_cows"), lubm)
    measured = list[Renewal]()
    for profile in profiles:
        with_owlrl = profile == "pd"
        for subject in (*ontologies, lubm):
            measured += renew(subject, profile, data if subject is not lubm else 4 * data, _SHARES, with_owlrl)
        for classes in (25, 100, 400) if quick else (25, 100, 400, 1_000):
            measured += renew(generated_subject(classes), profile, data, (1,), with_owlrl and classes <= 100)
        for size in (5_000, 20_000, 50_000) if quick else (10_000, 40_000, 160_000):
            measured += renew(growing, profile, size, (100 * _FEW / size,), with_owlrl=False)
    return measured


# Budgets ----------------------------------------------------------------------------------------------------------


def keep_to_budget(subject: Subject, triples: int, budget: int | None) -> tuple[Budget, Samples]:
    """The command as a user runs it, over a window that holds everything; its memory from the first answer on."""
    with tempfile.TemporaryDirectory() as folder:
        ontology, out = Path(folder, "ontology.nt"), Path(folder, "out")
        _write(ontology, subject.schema)
        command = [*COMMAND, str(ontology), "--stream", "-", "--profile", "rl", "--window", str(triples)]
        command += ["--emit", "changes", "--out", str(out)]
        command += [] if budget is None else ["--memory", f"{budget}M"]
        samples = sample_memory(command, _blocks(_shuffled(subject.data(triples))), lambda: _answered(out))
        answers = out.read_text(encoding="utf-8").splitlines()
    growth = (max(size for _, size in samples) - samples[0][1]) / MEGABYTE
    return Budget(budget, triples, growth, len(answers), sum('"partial":true' in line for line in answers)), samples


def _blocks(triples: Sequence[Triple], blocks: int = 100) -> Iterator[tuple[int, str]]:
    """Ten triples to start with, and the others in blocks."""
    lines = [f"{tick} {_line(triple)}" for tick, triple in enumerate(triples)]
    starts = [0, *range(10, len(lines), max(1, len(lines) // blocks)), len(lines)]
    return ((end - start, "".join(lines[start:end])) for start, end in pairwise(starts))


def _answered(out: Path) -> bool:
    """Whether the command has answered; it is given time to start, and more triples if nothing follows from these."""
    for _ in range(_PATIENCE):
        if out.exists() and out.stat().st_size > 0:
            return True
        time.sleep(0.1)
    return False


# The whole --------------------------------------------------------------------------------------------------------


def main(out: Path, quick: bool = False) -> None:
    """Measures, prints the tables, and writes CSV files and pictures to the folder `coror` of `out`."""
    report, lubm = BenchmarkReport(out, "coror"), universities()
    report.log(f"closures of {lubm.name}")
    closed = closures(lubm, quick)
    report.log("one triple more, one less")
    sizes = (10_000, 100_000) if quick else (1_000, 10_000, 100_000, 1_000_000)
    slid = [slide(lubm, profile, live) for profile in PROFILES for live in sizes]
    slid += [slide_through_run(lubm, profile, 10_000) for profile in PROFILES]
    report.log("replacing shares of the data")
    renewed = renewals(quick)
    report.log("budgets of memory")
    runs = [keep_to_budget(lubm, 80_000, budget) for budget in ((32,) if quick else (None, 32))]
    budgets = [budget for budget, _ in runs]
    report.add("closures", closed)
    report.add("windows", slid)
    report.add("renewals", renewed)
    report.add("budgets", budgets)
    if not has_owlrl():
        report.console.print("owlrl is not installed, so nothing is compared with it: `pip install owlrl`")
    draw_results(slid, renewed, {_name_of(budget): samples for budget, samples in runs}, report.folder)
    report.close(verdict(closed, slid, renewed, budgets))


def _name_of(budget: Budget) -> str:
    return "no budget" if budget.budget is None else f"{budget.budget} MB"


def verdict(
    closed: Sequence[ClosureCost], slid: Sequence[Sliding], renewed: Sequence[Renewal], budgets: Sequence[Budget]
) -> list[BenchmarkTarget]:
    """The measurements against the targets."""
    return [*_of_closures(closed), *_of_windows(slid), *_of_renewals(renewed), *_of_budgets(budgets)]


def _of_closures(closed: Sequence[ClosureCost]) -> Iterator[BenchmarkTarget]:
    largest = max(closure.triples for closure in closed)
    for closure in closed:
        if closure.triples == largest:
            yield at_most(f"closure of {largest:,} triples, {closure.profile}, with reading", closure.total, 5, "s")
    by_kind = {(closure.by, closure.profile): closure for closure in closed if closure.triples < largest}
    for (by, profile), other in by_kind.items():
        for mine in (by_kind[ENGINE, profile], by_kind[GENERIC, profile]) if by == OWLRL else ():
            claim = f"{mine.by}: {profile} of {other.triples:,} triples, with reading, at least 5 × faster than owlrl"
            yield at_least(claim, other.total / mine.total, 5)


def _of_windows(slid: Sequence[Sliding]) -> Iterator[BenchmarkTarget]:
    for by, profile in dict.fromkeys((sliding.by, sliding.profile) for sliding in slid):
        group = [sliding for sliding in slid if (sliding.by, sliding.profile) == (by, profile)]
        what = f"{by}: {profile} with up to {max(sliding.live for sliding in group):,} live, 99 % of"
        yield at_most(f"{what} additions", max(sliding.add_99 for sliding in group), 1_000, "µs")
        if by == ENGINE:
            yield at_most(f"{what} expiries", max(sliding.expire_99 or 0 for sliding in group), 1_000, "µs")
    by_size = {(sliding.profile, sliding.live): sliding for sliding in slid if sliding.by == ENGINE}
    for (profile, live), small in by_size.items():
        large = by_size.get((profile, live * 10))
        if large is not None and live >= 10_000:
            ratio = (large.add + (large.expire or 0)) / (small.add + (small.expire or 0))
            claim = f"{profile}: one more and one less, at {large.live:,} at most 1.5 × the cost at {live:,}"
            yield BenchmarkTarget(claim, f"{ratio:.2f} ×", ratio <= 1.5)


def _of_renewals(renewed: Sequence[Renewal]) -> Iterator[BenchmarkTarget]:
    for renewal in renewed:
        what = f"{renewal.ontology}, {renewal.profile}, {renewal.data:,} triples, {renewal.percent:.3g} % replaced"
        if renewal.percent <= 1:
            yield at_least(f"{what}, at least 5 × faster than from scratch", renewal.gain, 5)
        if renewal.owlrl is not None and renewal.percent == 1:
            yield at_least(f"{what}, at least 5 × faster than owlrl", renewal.owlrl / renewal.incremental, 5)
    for name, group in _by_ontology(renewed).items():
        slower = [renewal.percent for renewal in group if renewal.gain < 1]
        figure = f"from {slower[0]} % on" if slower else "never"
        yield BenchmarkTarget(
            f"{name}: from scratch is faster at 40 % or more only", figure, not slower or slower[0] >= 40
        )


def _by_ontology(renewed: Sequence[Renewal]) -> dict[str, list[Renewal]]:
    """The runs over all shares, by ontology and profile."""
    groups: dict[str, list[Renewal]] = {}
    for renewal in renewed:
        groups.setdefault(f"{renewal.ontology}, {renewal.profile}, {renewal.data:,} triples", []).append(renewal)
    return {name: group for name, group in groups.items() if len(group) > 1}


def _of_budgets(budgets: Sequence[Budget]) -> Iterator[BenchmarkTarget]:
    for budget in budgets:
        if budget.budget is not None:
            what = f"{budget.triples:,} triples in a window under a budget of {budget.budget} MB"
            yield at_most(f"{what}, growth of the process", budget.growth, budget.budget, "MB")
            yield BenchmarkTarget(f"{what}, answers are marked partial", f"{budget.partial:,}", budget.partial > 0)


# Pictures ---------------------------------------------------------------------------------------------------------


def draw_results(
    slid: Sequence[Sliding], renewed: Sequence[Renewal], samples: dict[str, Samples], folder: Path
) -> None:
    """Figures 6-2 to 6-4 are `added`, 6-5 `shares`, 6-6 and 6-7 `windows`, 6-8 to 6-11 `ontologies` and `data`."""
    windows, by_name = Lines(), _by_ontology(renewed)
    for run in slid:
        if run.by == ENGINE:
            add_point(windows, f"{run.profile}, one more", run.live, run.add)
            add_point(windows, f"{run.profile}, one less", run.live, run.expire)
    gains: Lines = {name: [(run.percent, run.gain) for run in group] for name, group in by_name.items()}
    added: Lines = {name: [(run.replaced, run.incremental) for run in group] for name, group in by_name.items()}
    ontologies = _by_size([run for run in renewed if run.percent == 1], lambda run: run.axioms)
    data = _by_size([run for run in renewed if run.percent < 1], lambda run: run.data)
    memory: Lines = {
        name: [(sent, (size - points[0][1]) / MEGABYTE) for sent, size in points] for name, points in samples.items()
    }
    for panel in (
        Panel("windows", "triples in the window", "µs a triple", windows, log="x"),
        Panel("shares", "% of the data replaced", "× faster than from scratch", gains, log="xy"),
        Panel("added", "triples replaced", "ms", added, log="xy"),
        Panel("ontologies", "triples of the ontology", "ms", ontologies, log="xy"),
        Panel("data", f"triples, {_FEW} of them replaced", "ms", data, log="xy"),
        Panel("memory", "triples so far", "MB grown", memory),
    ):
        draw(folder, panel.title, [panel], size=(7, 4))


def _by_size(renewed: Sequence[Renewal], size: Callable[[Renewal], float]) -> Lines:
    """By some size: replacing a share, from scratch, by owlrl."""
    lines = Lines()
    for renewal in renewed:
        if renewal.profile == "pd":
            add_point(lines, "engine", size(renewal), renewal.incremental)
            add_point(lines, "from scratch", size(renewal), renewal.scratch)
            add_point(lines, "owlrl", size(renewal), renewal.owlrl)
    return lines
