"""Ontologies in motion: Stream Coror's evaluation (its figures 6-2 to 6-13), and on to sizes that it did not try.

Four questions: what a closure costs; what one triple more or less costs when all of them pass through a window; what
replacing a share of the data costs beside reasoning anew, by our engine and by owlrl; whether a budget of memory holds.
Times differ from machine to machine; the verdict is about ratios within one run.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from itertools import count, islice, pairwise
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any, Final, TypeVar

import numpy as np
from rich.console import Console

from thalweg import api
from thalweg.bench.ontologies import Subject, made, universities, well_known
from thalweg.bench.plot import Lines, draw_lines, finish, panels, save
from thalweg.bench.table import Target, records_table, verdict_table, write_records, write_verdict
from thalweg.connectors.batches import code_facts
from thalweg.connectors.ontology_documents import read_triples
from thalweg.engine import Engine
from thalweg.ir.nodes import Program
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
_MEGABYTE: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Closure:
    """What all that follows costs: seconds, and megabytes that the process grew by while compiling and reasoning.

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
    """What one triple more and one less cost while so many live in a window: microseconds. `run` does both at once."""

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
    """What replacing a share of the data costs, by itself and from scratch: milliseconds; `compile` in seconds."""

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


Samples = list[tuple[int, int]]
Made = TypeVar("Made")


# Closures ---------------------------------------------------------------------------------------------------------


def closures(subject: Subject, quick: bool) -> list[Closure]:
    """Each in a process of its own, so that what one left behind does not hide what another needs."""
    large, small = 100_000, 3_000 if quick else 20_000
    wanted = [(ENGINE, profile, large) for profile in PROFILES]
    for profile in _SEMANTICS:
        wanted += [(ENGINE, profile, small), (GENERIC, profile, small)]
        wanted += [(OWLRL, profile, small)] * has_owlrl()
    with tempfile.TemporaryDirectory() as folder:
        paths = {size: _written(subject, size, Path(folder, f"{size}.nt")) for size in (large, small)}
        return [_apart(_MEASURES[by], by, profile, str(paths[size])) for by, profile, size in wanted]


def has_owlrl() -> bool:
    return find_spec("owlrl") is not None


def _written(subject: Subject, size: int, path: Path) -> Path:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(_line(triple) for triple in (*subject.schema, *subject.data(size)))
    return path


def _line(triple: Triple) -> str:
    return f"{' '.join(map(as_ntriples, triple))} .\n"


def _apart(work: Callable[..., Closure], *arguments: str) -> Closure:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def close(by: str, profile: str, path: str) -> Closure:
    """The closure of a document by our engine. The kernels are loaded before the clock starts."""
    Engine(specialised("", (), profile), first=0).advance(0)
    read, triples = _timed(lambda: read_triples(path))
    before = resident()
    compile = over_triples if by == GENERIC else _specialised
    compiling, engine = _timed(lambda: Engine(compile(triples, profile), first=0))
    reasoning, _ = _timed(lambda: engine.advance(0))
    return _closure(by, profile, len(triples), len(engine.output_rows()), read, compiling, reasoning, before)


def _specialised(triples: Sequence[Triple], profile: str) -> Program:
    return specialised("", triples, profile)


def close_by_owlrl(by: str, profile: str, path: str) -> Closure:
    """The same by owlrl."""
    graph = import_module("rdflib").Graph()
    read, _ = _timed(lambda: graph.parse(path, format="nt"))
    size, before = len(graph), resident()
    reasoning = expand(graph, profile)
    return _closure(by, profile, size, len(graph) - size, read, 0.0, reasoning, before)


def _closure(
    by: str, profile: str, triples: int, entailed: int, read: float, compile: float, reason: float, before: int
) -> Closure:
    grown = (resident() - before) / _MEGABYTE
    rates = triples / reason, entailed / reason
    return Closure(by, profile, triples, entailed, read, compile, reason, grown, *rates)


def expand(graph: Any, profile: str) -> float:
    """Seconds that owlrl takes to add to a graph of rdflib all that follows."""
    owlrl = import_module("owlrl")
    reasoner = owlrl.DeductiveClosure(getattr(owlrl, _SEMANTICS[profile]))
    return _timed(lambda: reasoner.expand(graph))[0]


_MEASURES: Final = {ENGINE: close, GENERIC: close, OWLRL: close_by_owlrl}


def _timed(work: Callable[[], Made]) -> tuple[float, Made]:
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def resident(pid: int | str = "self") -> int:
    """Bytes of a process that are in memory; 0 where nobody tells."""
    path = Path(f"/proc/{pid}/statm")
    return int(path.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if path.exists() else 0


# Windows ----------------------------------------------------------------------------------------------------------


def slide(subject: Subject, profile: str, live: int, steps: int = _STEPS) -> Sliding:
    """One triple comes at each even tick, and at each odd one the oldest goes, once so many live."""
    triples = _shuffled(subject.data(live + steps))
    engine = Engine(specialised(subject.name, subject.schema, profile, 2 * live), first=0)
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

    for answer in api.run(program, on=events(), emit="changes"):
        str(answer)
    both = np.array([after - before for before, after in pairwise(moments[live:])])
    return Sliding("run", profile, live, *_typical(both))


def _shuffled(triples: list[Triple]) -> list[Triple]:
    Random(0).shuffle(triples)
    return triples


def _typical(seconds: Any) -> tuple[float, float]:
    """The median and what 99 % do not exceed, in microseconds."""
    return float(np.median(seconds) * 1e6), float(np.percentile(seconds, 99) * 1e6)


# Renewal ----------------------------------------------------------------------------------------------------------


def renew(
    subject: Subject, profile: str, data: int, shares: Sequence[float], beside: bool, rounds: int = 7
) -> list[Renewal]:
    """Replaces a share of the data at every tick; the rest is background.

    From scratch means: a new engine, already planned, and data that are already coded. What differs is how much must
    be reasoned about. `beside`: by owlrl as well, once, for it reasons about the same amount whatever the share.
    """
    triples = _shuffled(subject.data(2 * data))
    compiling, program = _timed(lambda: specialised(subject.name, subject.schema, profile))
    others = _owlrl_alone(subject, profile, triples[:data]) if beside and has_owlrl() else None
    anew = statistics.median(from_scratch(program, triples[first : first + data])[0] for first in range(3))
    found = []
    for percent in shares:
        replaced = max(1, round(data * percent / 100))
        # The first fills the engine, and the second is the first to forget.
        times = [each[0] for each in islice(replacing(subject, profile, triples, replaced), 2, 2 + rounds)]
        found.append(
            Renewal(
                subject.name, profile, len(subject.schema), len(program.rules), data, percent, replaced,
                statistics.median(times) * 1e3, anew * 1e3,
                None if others is None else others * 1e3, compiling,
            )
        )  # fmt: skip
    return found


def replacing(
    subject: Subject, profile: str, triples: Sequence[Triple], replaced: int
) -> Iterator[tuple[float, Engine, Sequence[Triple]]]:
    """Seconds for each replacement, the engine after it, and what it should now reason about; for ever.

    Half of the triples are there at a time, of which so many are replaced by some that were not.
    """
    lasting = len(triples) // 2 - replaced
    known, waiting = triples[:lasting], triples[lasting:]
    engine = Engine(specialised(subject.name, (*subject.schema, *known), profile), first=0)
    for tick in count():
        start = tick * replaced % (len(waiting) - replaced + 1)
        fresh = waiting[start : start + replaced]
        batch = code_facts(map(as_fact, fresh), engine.dictionary)
        begin = time.perf_counter()
        engine.advance(tick, batch)
        yield time.perf_counter() - begin, engine, (*known, *fresh)


def from_scratch(program: Program, triples: Sequence[Triple]) -> tuple[float, Engine]:
    """Seconds for reasoning anew, and the engine that did."""
    engine = Engine(program, first=0)
    batch = code_facts(map(as_fact, triples), engine.dictionary)
    return _timed(lambda: engine.advance(0, batch))[0], engine


def _owlrl_alone(subject: Subject, profile: str, triples: Sequence[Triple]) -> float:
    """pD* is not among what owlrl offers; the rules of OWL 2 RL take its place."""
    graph = import_module("rdflib").Graph()
    graph.parse(data="".join(map(_line, (*subject.schema, *triples))), format="nt")
    return expand(graph, profile if profile in _SEMANTICS else "rl")


def renewals(quick: bool) -> list[Renewal]:
    """Shares of the well-known ontologies; ontologies that grow; data that grow."""
    data, profiles = (500, ("pd",)) if quick else (2_000, ("pd", "rl"))
    lubm, known = universities(), well_known()
    growing = next((each for each in known if each.name == "mad_cows"), lubm)
    found = list[Renewal]()
    for profile in profiles:
        beside = profile == "pd"
        for subject in (*known, lubm):
            found += renew(subject, profile, data if subject is not lubm else 4 * data, _SHARES, beside)
        for classes in (25, 100, 400) if quick else (25, 100, 400, 1_000):
            found += renew(made(classes), profile, data, (1,), beside and classes <= 100)
        for size in (5_000, 20_000, 50_000) if quick else (10_000, 40_000, 160_000):
            found += renew(growing, profile, size, (100 * _FEW / size,), beside=False)
    return found


# Budgets ----------------------------------------------------------------------------------------------------------


def keep_to_budget(subject: Subject, triples: int, budget: int | None) -> tuple[Budget, Samples]:
    """The command as a user runs it, over a window that holds everything; its memory along the way."""
    with tempfile.TemporaryDirectory() as folder:
        ontology, out = _written(replace(subject, data=lambda _: []), 0, Path(folder, "ontology.nt")), f"{folder}/out"
        command = [sys.executable, "-m", "thalweg", "run", str(ontology), "--stream", "-"]
        command += ["--profile", "rl", "--window", str(triples), "--emit", "changes", "--out", out]
        command += [] if budget is None else ["--memory", f"{budget}M"]
        samples = _sampled(command, out, _shuffled(subject.data(triples)))
        told = Path(out).read_text(encoding="utf-8").splitlines()
    growth = (max(size for _, size in samples) - samples[0][1]) / _MEGABYTE
    return Budget(budget, triples, growth, len(told), sum('"partial":true' in line for line in told)), samples


_PATIENCE: Final = 100


def _sampled(command: list[str], out: str, triples: list[Triple], blocks: int = 100) -> Samples:
    """Triples so far and bytes resident, from the first answer on."""
    size = len(triples) // blocks
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdin is not None
        sent, samples = 0, Samples()
        while sent < len(triples) and process.poll() is None:
            number = size if samples else 10
            block = triples[sent : sent + number]
            process.stdin.writelines(f"{sent + place} {_line(triple)}" for place, triple in enumerate(block))
            process.stdin.flush()
            sent += len(block)
            if samples or _answered(out):
                samples.append((sent, resident(process.pid)))
        process.stdin.close()
    assert process.returncode == 0, "the command failed"
    return [each for each in samples if each[1]]


def _answered(out: str) -> bool:
    """Whether it is at work; it is given time to start, and more triples if nothing follows from the first."""
    for _ in range(_PATIENCE):
        if Path(out).exists() and Path(out).stat().st_size > 0:
            return True
        time.sleep(0.1)
    return False


# The whole --------------------------------------------------------------------------------------------------------


def main(out: Path, quick: bool = False) -> None:
    """Measures, prints the tables, and writes CSV files and pictures to the folder `coror` of `out`."""
    folder, console, log = out / "coror", Console(), Console(stderr=True)
    folder.mkdir(parents=True, exist_ok=True)
    lubm = universities()
    log.log(f"closures of {lubm.name}")
    closed = closures(lubm, quick)
    log.log("one triple more, one less")
    sizes = (10_000, 100_000) if quick else (1_000, 10_000, 100_000, 1_000_000)
    slid = [slide(lubm, profile, live) for profile in PROFILES for live in sizes]
    slid += [slide_through_run(lubm, profile, 10_000) for profile in PROFILES]
    log.log("replacing shares of the data")
    renewed = renewals(quick)
    log.log("budgets of memory")
    runs = [keep_to_budget(lubm, 80_000, budget) for budget in ((32,) if quick else (None, 32))]
    budgets = [budget for budget, _ in runs]
    targets = verdict(closed, slid, renewed, budgets)
    tables: dict[str, Sequence[Any]] = {"closures": closed, "windows": slid, "renewals": renewed, "budgets": budgets}
    for name, results in tables.items():
        console.print(records_table(name, results))
        write_records(results, folder / f"{name}.csv")
    if not has_owlrl():
        console.print("owlrl is not installed, so nothing is compared with it: `pip install owlrl`")
    console.print(verdict_table(targets))
    write_verdict(targets, folder / "verdict.csv")
    draw(slid, renewed, {_name_of(budget): samples for budget, samples in runs}, folder)
    console.print(f"tables and pictures are in {folder}")


def _name_of(budget: Budget) -> str:
    return "no budget" if budget.budget is None else f"{budget.budget} MB"


def verdict(
    closed: Sequence[Closure], slid: Sequence[Sliding], renewed: Sequence[Renewal], budgets: Sequence[Budget]
) -> list[Target]:
    """What was found against the targets."""
    return [*_of_closures(closed), *_of_windows(slid), *_of_renewals(renewed), *_of_budgets(budgets)]


def _of_closures(closed: Sequence[Closure]) -> Iterator[Target]:
    largest = max(each.triples for each in closed)
    for each in closed:
        if each.triples == largest:
            yield _below(f"closure of {largest:,} triples, {each.profile}, with reading", each.total, 5, "s")
    by_kind = {(each.by, each.profile): each for each in closed if each.triples < largest}
    for (by, profile), other in by_kind.items():
        for mine in (by_kind[ENGINE, profile], by_kind[GENERIC, profile]) if by == OWLRL else ():
            claim = f"{mine.by}: {profile} of {other.triples:,} triples, with reading, at least 5 × faster than owlrl"
            yield _at_least(claim, other.total / mine.total, 5)


def _of_windows(slid: Sequence[Sliding]) -> Iterator[Target]:
    for by, profile in dict.fromkeys((each.by, each.profile) for each in slid):
        some = [each for each in slid if (each.by, each.profile) == (by, profile)]
        what = f"{by}: {profile} with up to {max(each.live for each in some):,} live, 99 % of"
        yield _below(f"{what} additions", max(each.add_99 for each in some), 1_000, "µs")
        if by == ENGINE:
            yield _below(f"{what} expiries", max(each.expire_99 or 0 for each in some), 1_000, "µs")
    by_size = {(each.profile, each.live): each for each in slid if each.by == ENGINE}
    for (profile, live), small in by_size.items():
        large = by_size.get((profile, live * 10))
        if large is not None and live >= 10_000:
            ratio = (large.add + (large.expire or 0)) / (small.add + (small.expire or 0))
            claim = f"{profile}: one more and one less, at {large.live:,} at most 1.5 × the cost at {live:,}"
            yield Target(claim, f"{ratio:.2f} ×", ratio <= 1.5)


def _of_renewals(renewed: Sequence[Renewal]) -> Iterator[Target]:
    for each in renewed:
        what = f"{each.ontology}, {each.profile}, {each.data:,} triples, {each.percent:.3g} % replaced"
        if each.percent <= 1:
            yield _at_least(f"{what}, at least 5 × faster than from scratch", each.gain, 5)
        if each.owlrl is not None and each.percent == 1:
            yield _at_least(f"{what}, at least 5 × faster than owlrl", each.owlrl / each.incremental, 5)
    for name, some in _by_ontology(renewed).items():
        slower = [each.percent for each in some if each.gain < 1]
        found = f"from {slower[0]} % on" if slower else "never"
        yield Target(f"{name}: from scratch is faster at 40 % or more only", found, not slower or slower[0] >= 40)


def _by_ontology(renewed: Sequence[Renewal]) -> dict[str, list[Renewal]]:
    """The runs over all shares, by ontology and profile."""
    found: dict[str, list[Renewal]] = {}
    for each in renewed:
        found.setdefault(f"{each.ontology}, {each.profile}, {each.data:,} triples", []).append(each)
    return {name: some for name, some in found.items() if len(some) > 1}


def _of_budgets(budgets: Sequence[Budget]) -> Iterator[Target]:
    for each in budgets:
        if each.budget is not None:
            what = f"{each.triples:,} triples in a window under a budget of {each.budget} MB"
            yield _below(f"{what}, growth of the process", each.growth, each.budget, "MB")
            yield Target(f"{what}, answers are marked partial", f"{each.partial:,}", each.partial > 0)


def _below(what: str, found: float, limit: float, unit: str) -> Target:
    return Target(f"{what}, at most {limit:,} {unit}", f"{found:,.3g} {unit}", found <= limit)


def _at_least(claim: str, ratio: float, limit: float) -> Target:
    return Target(claim, f"{ratio:,.1f} ×", ratio >= limit)


# Pictures ---------------------------------------------------------------------------------------------------------


def draw(slid: Sequence[Sliding], renewed: Sequence[Renewal], samples: dict[str, Samples], out: Path) -> None:
    """Figures 6-2 to 6-4 are `added`, 6-5 `shares`, 6-6 and 6-7 `windows`, 6-8 to 6-11 `ontologies` and `data`."""
    windows, shares, added, memory = Lines(), Lines(), Lines(), Lines()
    for each in slid:
        if each.by == ENGINE:
            windows.setdefault(f"{each.profile}, one more", []).append((each.live, each.add))
            windows.setdefault(f"{each.profile}, one less", []).append((each.live, each.expire or 0))
    for name, some in _by_ontology(renewed).items():
        shares[name] = [(each.percent, each.gain) for each in some]
        added[name] = [(each.replaced, each.incremental) for each in some]
    for name, points in samples.items():
        memory[name] = [(sent, (size - points[0][1]) / _MEGABYTE) for sent, size in points]
    _draw(out, "windows", windows, "triples in the window", "µs a triple", log="x")
    _draw(out, "shares", shares, "% of the data replaced", "× faster than from scratch", log="xy")
    _draw(out, "added", added, "triples replaced", "ms", log="xy")
    grown, made_grow = [each for each in renewed if each.percent < 1], [each for each in renewed if each.percent == 1]
    _draw(out, "ontologies", _sizes(made_grow, lambda each: each.axioms), "triples of the ontology", "ms", log="xy")
    _draw(out, "data", _sizes(grown, lambda each: each.data), f"triples, {_FEW} of them replaced", "ms", log="xy")
    _draw(out, "memory", memory, "triples so far", "MB grown", log="")


def _sizes(renewed: Sequence[Renewal], size: Callable[[Renewal], float]) -> Lines:
    """By some size: replacing a share, from scratch, by owlrl."""
    lines = Lines()
    for each in renewed:
        if each.profile == "pd":
            for name, value in (("engine", each.incremental), ("from scratch", each.scratch), ("owlrl", each.owlrl)):
                if value is not None:
                    lines.setdefault(name, []).append((size(each), value))
    return lines


def _draw(out: Path, name: str, lines: Lines, across: str, up: str, log: str) -> None:
    figure, (axes,) = panels(1, (7, 4))
    draw_lines(axes, lines)
    axes.set(xlabel=across, ylabel=up, title=name)
    axes.set(**{f"{axis}scale": "log" for axis in log})
    finish(axes)
    save(figure, out, name)
