"""StreamRule's experiments 2 and 3 (Pham, Ali, Mileo; listings 3 and 4) over universities that we make ourselves.

Recursive rules, and rules with negation, by three evaluators: clingo on the whole program, clingo piece by piece (on
two processes), and our engine. *Static*: one window of 5,000 to 100,000 triples. *Streaming*: 1,000 to 5,000 triples a
second through windows of three seconds that slide by two. Each run has a process of its own; memory is what that
process, and those that it started, grew by at most.

The listings are repaired: `Profesor` and `Professor` are one, and the third rule of listing 4 asks for the advisor that
it suggests; `printed` keeps the words of the paper. Research interests are not streamed, as in the paper's own setting:
with them, all who share one teach each other's courses, and 100,000 triples give some 80 million facts.
"""

import csv
import os
import resource
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, dataclass, fields
from multiprocessing import get_context
from pathlib import Path
from typing import Final, TypeVar

from rich.console import Console
from rich.table import Table

from thalweg.bench.coror import Lines, resident
from thalweg.bench.plot import pyplot  # type: ignore[attr-defined]
from thalweg.bench.table import Target, verdict_table, write_verdict
from thalweg.bench.university import NAMESPACE, data
from thalweg.diagnostics import Source
from thalweg.engine import Engine
from thalweg.languages.asp import AspProgram
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.rdf import fact_of
from thalweg.runtimes.solving import Solving
from thalweg.solvers.clingo import Task, solve
from thalweg.solvers.crew import Crew
from thalweg.solvers.programs import read_program

WHOLE: Final = "clingo, whole"
PIECES: Final = "clingo, in pieces"
ENGINE: Final = "engine"
EVALUATORS: Final = (WHOLE, PIECES, ENGINE)
SIZES: Final = (5_000, 10_000, 20_000, 30_000, 60_000, 100_000)
RATES: Final = (1_000, 2_000, 3_000, 5_000)
WINDOW, SLIDE = 3, 2
_LONGEST: Final = 600.0
_MEGABYTE: Final = 1_000_000
Made = TypeVar("Made")

_HEADER: Final = f"""
#prefix ub: <{NAMESPACE}>.
#prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>.
#input ub_teacherOf/2.
"""
_SHARED: Final = """
professor(X) :- ub_FullProfessor(X).
professor(X) :- ub_AssociateProfessor(X).
professor(X) :- ub_AssistantProfessor(X).
canBecomeDean(X,U) :- professor(X), ub_worksFor(X,D), ub_subOrganizationOf(D,U).
commonPublication(X,Y) :- ub_publicationAuthor(P,X), ub_publicationAuthor(P,Y).
commonResearchInterests(X,Y) :- commonPublication(X,Y).
ub_teacherOf(Y,C) :- commonResearchInterests(X,Y), ub_teacherOf(X,C).
commonResearchInterests(X,Y) :- ub_advisor(X,Z), ub_advisor(Y,Z).
canRequestRecommendationLetter(X,Z) :- ub_advisor(X,Z).
teaches(X,Y) :- ub_teacherOf(X,C), ub_takesCourse(Y,C).
teaches(X,Y) :- ub_teachingAssistantOf(X,C), ub_takesCourse(Y,C).
#show canBecomeDean/2. #show canBecomeHeadOf/2. #show commonResearchInterests/2.
#show canRequestRecommendationLetter/2. #show teaches/2. #show suggestAdvisor/2.
"""
_LISTING_3: Final = """
canBecomeHeadOf(X,D) :- ub_worksFor(X,D).
canRequestRecommendationLetter(X,Z) :- teaches(Z,X).
suggestAdvisor(X,Y) :- teaches(Y,X).
"""
_LISTING_4: Final = """
canBecomeHeadOf(X,D) :- ub_worksFor(X,D), ub_headOf(Z,D), not commonResearchInterests(X,Z).
cannotRequestRecommendationLetter(X,Z) :- teaches(Z,X), not ub_advisor(X,Z).
suggestAdvisor(X,Y) :- teaches(Y,X), not ub_advisor(X,Y).
#show cannotRequestRecommendationLetter/2.
"""
INTERESTS: Final = "commonResearchInterests(X,Y) :- ub_researchInterest(X,R), ub_researchInterest(Y,R).\n"
PROGRAMS: Final = {
    "recursive": _HEADER + _SHARED + _LISTING_3,
    "negation": _HEADER + _SHARED + _LISTING_4,
    "recursive, with interests": _HEADER + _SHARED + _LISTING_3 + INTERESTS,
}


def printed(text: str) -> str:
    """A program with the slip of the paper, by which nobody can become a dean.

    >>> "canBecomeDean(X,U) :- profesor(X)" in printed(PROGRAMS["recursive"])
    True
    """
    return text.replace("canBecomeDean(X,U) :- professor(X)", "canBecomeDean(X,U) :- profesor(X)")


@dataclass(frozen=True, slots=True)
class Static:
    """One window: how many facts were shown, and what that took. Without seconds it took too long."""

    by: str
    program: str
    triples: int
    answers: int
    seconds: float | None
    megabytes: float


@dataclass(frozen=True, slots=True)
class Streaming:
    """Windows along a stream: seconds that each took, with all that came since the one before; and memory."""

    by: str
    program: str
    rate: int
    windows: int
    median: float
    worst: float
    megabytes: float
    growth: float


def program(name: str) -> AspProgram:
    """One of the programs, read.

    >>> program("recursive").inputs[:2]
    ('ub_AssistantProfessor/1', 'ub_AssociateProfessor/1')
    """
    found, wrong = read_program(Source(f"{name}.lp", PROGRAMS[name]))
    assert not wrong
    return found


def facts_of(triples: int) -> list[Fact]:
    return [fact_of(*triple) for triple in data(triples)]


# Evaluators -------------------------------------------------------------------------------------------------------


class Whole:
    """The whole program and all facts of a window, handed to clingo."""

    def __init__(self, program: AspProgram) -> None:
        self._program = program
        self._held: list[list[str]] = []

    def add(self, facts: Sequence[Fact]) -> None:
        names = self._program.names
        self._held.append(
            [
                f"{name}({','.join(map(names.as_symbol_text, args))})."
                for one in facts
                for name, args in names.atoms(one)
            ]
        )
        del self._held[:-WINDOW]

    def answer(self) -> int:
        text = "\n".join(line for some in self._held for line in some)
        return len(solve(Task(self._program.text(), text)).answers[0])

    def close(self) -> None:
        pass


class Pieces:
    """Piece by piece, by two processes of clingo."""

    def __init__(self, program: AspProgram) -> None:
        self._solving = Solving(program, Crew(2))
        self._position = -1

    def add(self, facts: Sequence[Fact]) -> None:
        batch = Batch()
        for fact in facts:
            batch.add(fact.signature, [self._solving.dictionary.code(term) for term in fact.args])
        self._position += 1
        self._solving.add(self._position, [batch])

    def answer(self) -> int:
        return len(self._solving.answer(self._position - WINDOW + 1, self._position).sets[0])

    def close(self) -> None:
        self._solving.close()


class Incremental:
    """The rules that the program becomes, by our engine. The answer is spelled, as clingo's is."""

    def __init__(self, program: AspProgram) -> None:
        rules = program.lowered(WINDOW)
        assert rules is not None
        self._inputs = program.names.atoms
        # Kernels are loaded before the clock starts.
        Engine(rules, first=0).advance(0)
        self._engine = Engine(rules, first=0)
        self._tick = -1

    def add(self, facts: Sequence[Fact]) -> None:
        self._tick += 1
        self._engine.advance(self._tick, [fact for fact in facts if any(True for _ in self._inputs(fact))])

    def answer(self) -> int:
        return len(self._engine.spell_text(self._engine.output_rows()))

    def close(self) -> None:
        pass


_MAKERS: Final[dict[str, Callable[[AspProgram], Whole | Pieces | Incremental]]] = {
    WHOLE: Whole,
    PIECES: Pieces,
    ENGINE: Incremental,
}


def peak() -> int:
    """Bytes that this process, and the largest of its children, have had at most."""
    own, children = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return (own + children) * 1024


def measure_static(by: str, name: str, triples: int) -> Static:
    """One window in this process."""
    facts = facts_of(triples)
    evaluator = _MAKERS[by](program(name))
    before = max(resident(), peak())
    began = time.perf_counter()
    evaluator.add(facts)
    answers = evaluator.answer()
    seconds = time.perf_counter() - began
    evaluator.close()
    return Static(by, name, triples, answers, seconds, (peak() - before) / _MEGABYTE)


def measure_streaming(by: str, name: str, rate: int, duration: int) -> Streaming:
    """A stream in this process, as fast as it goes; the first window is warm-up."""
    facts = facts_of(rate * duration)
    evaluator = _MAKERS[by](program(name))
    before = resident()
    taken, spent, sizes = [], 0.0, []
    for tick in range(duration):
        began = time.perf_counter()
        evaluator.add(facts[tick * rate : (tick + 1) * rate])
        closes = tick >= WINDOW - 1 and (tick - WINDOW + 1) % SLIDE == 0
        if closes:
            evaluator.answer()
        spent += time.perf_counter() - began
        if closes:
            taken.append(spent)
            sizes.append(resident())
            spent = 0.0
    evaluator.close()
    steady = taken[1:] or taken
    third = max(1, len(sizes) // 3)
    growth = statistics.fmean(sizes[-third:]) / statistics.fmean(sizes[third : 2 * third] or sizes)
    grown = (max(peak(), max(sizes)) - before) / _MEGABYTE
    return Streaming(by, name, rate, len(taken), statistics.median(steady), max(steady), grown, growth)


def static(sizes: Sequence[int], name: str) -> Iterator[Static]:
    """All sizes by all evaluators; who took too long is not asked for more."""
    for by in EVALUATORS:
        for size in sizes:
            found = _apart(measure_static, by, name, size)
            yield found
            if found.seconds is not None and found.seconds > _LONGEST:
                break


def _apart(work: Callable[..., Made], *arguments: object) -> Made:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


# Results ----------------------------------------------------------------------------------------------------------


def verdict(found: Sequence[Static], streamed: Sequence[Streaming]) -> list[Target]:
    """What was found against the targets."""
    return [*_of_static(found), *_of_streaming(streamed)]


def _of_static(found: Sequence[Static]) -> Iterator[Target]:
    by_size = {(each.by, each.program, each.triples): each for each in found}
    for (by, name, triples), mine in by_size.items():
        other = by_size.get((WHOLE, name, triples))
        if by != ENGINE or other is None:
            continue
        assert mine.seconds
        assert other.seconds
        what = f"{name}, {triples:,} triples, at least 3 ×"
        yield _at_least(f"{what} faster than clingo on the whole", other.seconds / mine.seconds)
        yield _at_least(f"{what} smaller than clingo on the whole", other.megabytes / max(mine.megabytes, 1))


def _of_streaming(streamed: Sequence[Streaming]) -> Iterator[Target]:
    for each in streamed:
        if each.by == ENGINE:
            what = f"{each.program}, {each.rate:,} triples/s"
            yield Target(f"{what}: every window within {SLIDE} s", f"{each.worst:.2f} s", each.worst <= SLIDE)
            yield Target(f"{what}: memory flat", f"{each.growth:.2f} ×", each.growth <= 1.1)


def _at_least(claim: str, ratio: float) -> Target:
    return Target(claim, f"{ratio:,.1f} ×", ratio >= 3)


def static_table(found: Sequence[Static]) -> Table:
    table = Table(title="one window: facts shown, seconds, megabytes")
    for column in ("program", "triples", "by", "shown", "s", "MB"):
        table.add_column(column, justify="left" if column in ("program", "by") else "right")
    for each in found:
        seconds = "–" if each.seconds is None else f"{each.seconds:.2f}"
        cells = f"{each.triples:,}", each.by, f"{each.answers:,}", seconds, f"{each.megabytes:,.0f}"
        table.add_row(each.program, *cells)
    return table


def streaming_table(streamed: Sequence[Streaming]) -> Table:
    table = Table(title=f"windows of {WINDOW} s that slide by {SLIDE} s: seconds a window; megabytes, and their growth")
    for column in ("program", "triples/s", "by", "windows", "median s", "worst s", "MB", "growth"):
        table.add_column(column, justify="left" if column in ("program", "by") else "right")
    for each in streamed:
        cells = f"{each.median:.2f}", f"{each.worst:.2f}", f"{each.megabytes:,.0f}", f"{each.growth:.2f}"
        table.add_row(each.program, f"{each.rate:,}", each.by, str(each.windows), *cells)
    return table


def draw(found: Sequence[Static], streamed: Sequence[Streaming], out: Path) -> None:
    """Figures 11 and 12 are `static`, 13 to 16 are `streaming`: seconds at the left, memory at the right."""
    kept = [each for each in found if each.seconds is not None]
    _draw(
        out,
        "static",
        "triples",
        [(each.by, each.program, each.triples, each.seconds or 0, each.megabytes) for each in kept],
    )
    _draw(
        out,
        "streaming",
        "triples a second",
        [(each.by, each.program, each.rate, each.median, each.megabytes) for each in streamed],
    )


def _draw(out: Path, name: str, across: str, points: Sequence[tuple[str, str, int, float, float]]) -> None:
    figure, panels = pyplot.subplots(1, 2, figsize=(11, 4))
    for place, (axes, label) in enumerate(zip(panels, ("seconds", "MB"), strict=True)):
        lines = Lines()
        for by, program, x, *values in points:
            lines.setdefault(f"{by}, {program}", []).append((x, values[place]))
        for line, some in lines.items():
            axes.plot(*zip(*sorted(some), strict=True), "o-", label=line, markersize=3)
        axes.set(xlabel=across, ylabel=label, title=name, yscale="log")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=6)
    figure.tight_layout()
    for ending in ("svg", "png"):
        figure.savefig(out / f"{name}.{ending}", dpi=150)
    pyplot.close(figure)


def write(rows: Sequence[Static] | Sequence[Streaming], path: Path) -> None:
    if rows:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([each.name for each in fields(rows[0])])
            writer.writerows(map(astuple, rows))


def main(out: Path, quick: bool) -> None:
    """Runs it all, prints tables, and writes CSV files and pictures; `quick` takes small sizes and short streams."""
    out.mkdir(parents=True, exist_ok=True)
    console = Console()
    sizes, rates, duration = ((5_000, 10_000), (1_000,), 11) if quick else (SIZES, RATES, 60)
    console.print(f"{os.cpu_count()} cores; each run in a process of its own")
    found = list(static(sizes, "recursive"))
    console.print(static_table(found))
    streamed = [
        _apart(measure_streaming, by, name, rate, duration)
        for name in ("recursive", "negation")
        for by in EVALUATORS
        for rate in rates
    ]
    console.print(streaming_table(streamed))
    targets = verdict(found, streamed)
    console.print(verdict_table(targets))
    write(found, out / "static.csv")
    write(streamed, out / "streaming.csv")
    write_verdict(targets, out / "verdict.csv")
    draw(found, streamed, out)
