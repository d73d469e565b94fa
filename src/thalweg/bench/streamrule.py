"""StreamRule's experiments 2 and 3 (Pham, Ali, Mileo; listings 3 and 4) over universities that we make ourselves.

Experiment 1 is `citybench`.

Recursive rules, and rules with negation, by three evaluators: clingo on the whole program, clingo piece by piece (on
two processes), and our engine. *Static*: one window of 5,000 to 100,000 triples. *Streaming*: 1,000 to 5,000 triples a
second through windows of three seconds that slide by two. Each run has a process of its own, which is ended after ten
minutes or at 8 GB, or when it takes twice as long as the stream lasts; the tables say so. Memory is what that process,
and those that it started, grew by at most, from the first fact to the last answer. All are given the same text, lines
of triples. clingo's answer is read into Python's strings, in clingo's spelling where the program was not taken apart;
the engine's is sorted, spelled and written.

The listings are repaired: `Profesor` and `Professor` are one, and the third rule of listing 4 asks for the advisor that
it suggests. The recursive program is also measured once as it is printed, when nobody can become a dean. Research
interests are not streamed, as in the paper's own setting: with them, all who share one teach each other's courses, and
100,000 triples give some 80 million facts. They are measured apart, all of them and with `#show` for those that matter.
"""

import os
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import nan
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from thalweg.bench import citybench
from thalweg.bench.coror import resident
from thalweg.bench.evaluators import ENGINE, EVALUATORS, MAKERS, WHOLE, blocks
from thalweg.bench.isolated import Footprint, apart, busy
from thalweg.bench.plot import Lines, draw_lines, finish, panels, save
from thalweg.bench.table import Target, verdict_table, write_records, write_verdict
from thalweg.bench.university import NAMESPACE, mingled
from thalweg.diagnostics import Source
from thalweg.languages.asp.program import AspProgram
from thalweg.languages.asp.reader import read_program

SIZES: Final = (5_000, 10_000, 20_000, 30_000, 60_000, 100_000)
RATES: Final = (1_000, 2_000, 3_000, 5_000)
WINDOW, SLIDE = 3, 2
_LONGEST: Final = 600.0
_LARGEST: Final = 8_000_000_000
# Who takes so many times longer than the stream lasts is stopped.
_PATIENCE: Final = 2
_MEGABYTE: Final = 1_000_000

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
"""
_SHOWN: Final = """
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
_SLIP: Final = ("canBecomeDean(X,U) :- professor(X)", "canBecomeDean(X,U) :- profesor(X)")
PROGRAMS: Final = {
    "recursive": _HEADER + _SHARED + _SHOWN + _LISTING_3,
    "as printed": _HEADER + _SHARED.replace(*_SLIP) + _SHOWN + _LISTING_3,
    "negation": _HEADER + _SHARED + _SHOWN + _LISTING_4,
    "with interests": _HEADER + _SHARED + _SHOWN + _LISTING_3 + INTERESTS,
    "with interests, advisors": _HEADER + _SHARED + _LISTING_3 + INTERESTS + "#show suggestAdvisor/2.\n",
    "with interests, deans": _HEADER + _SHARED + _LISTING_3 + INTERESTS + "#show canBecomeDean/2.\n",
}


@dataclass(frozen=True, slots=True)
class Static:
    """One window: how many facts were shown, and what that took; or why it was stopped.

    `busy` is how many seconds of a core it took, which on a machine that has other work to do says more.
    """

    by: str
    program: str
    triples: int
    answers: int
    seconds: float | None
    busy: float
    megabytes: float
    stopped: str = ""


@dataclass(frozen=True, slots=True)
class Streaming:
    """Windows along a stream: seconds that each took, with all that came since the one before; and memory.

    `busy` is how many seconds of a core a window took on average. Who cannot keep up is stopped: the figures are those
    of the windows that it has answered.
    """

    by: str
    program: str
    rate: int
    windows: int
    median: float
    worst: float
    busy: float
    megabytes: float
    growth: float
    stopped: str = ""


def program(name: str) -> AspProgram:
    """One of the programs, read.

    >>> program("recursive").inputs[:2]
    ('ub_AssistantProfessor/1', 'ub_AssociateProfessor/1')
    """
    found, wrong = read_program(Source(f"{name}.lp", PROGRAMS[name]))
    assert not wrong
    return found


# Measuring --------------------------------------------------------------------------------------------------------


def measure_static(by: str, name: str, triples: int) -> Static:
    """One window in this process."""
    text = blocks(islice(mingled(), triples))
    evaluator = MAKERS[by](program(name), WINDOW, ())
    footprint = Footprint()
    began, before = time.perf_counter(), busy()
    evaluator.add(text)
    answers = evaluator.answer()
    seconds, cores = time.perf_counter() - began, busy() - before
    grown = footprint.grown()
    evaluator.close()
    return Static(by, name, triples, answers, seconds, cores, grown / _MEGABYTE)


def measure_streaming(by: str, name: str, rate: int, duration: int) -> Streaming:
    """A stream in this process, as fast as it goes; the first window is warm-up."""
    source = mingled()
    evaluator = MAKERS[by](program(name), WINDOW, ())
    footprint = Footprint()
    taken, spent, cores, sizes, stopped = list[float](), 0.0, 0.0, list[int](), ""
    for tick in range(duration):
        text = blocks(islice(source, rate), tick)
        began, before = time.perf_counter(), busy()
        evaluator.add(text)
        closes = tick >= WINDOW - 1 and (tick - WINDOW + 1) % SLIDE == 0
        if closes:
            evaluator.answer()
        spent, cores = spent + time.perf_counter() - began, cores + busy() - before
        if closes:
            taken.append(spent)
            sizes.append(resident())
            spent = 0.0
        if sum(taken) > _PATIENCE * duration:
            stopped = f"cannot keep up, after {len(taken)} windows"
            break
    grown = footprint.grown()
    evaluator.close()
    steady = taken[1:] or taken
    figures = statistics.median(steady), max(steady), cores / len(taken), grown / _MEGABYTE, _growth(sizes)
    return Streaming(by, name, rate, len(taken), *figures, stopped)


def _growth(sizes: Sequence[int]) -> float:
    """How much larger something is in the last third of its time than in the second."""
    third = max(1, len(sizes) // 3)
    return statistics.fmean(sizes[-third:]) / statistics.fmean(sizes[third : 2 * third] or sizes)


def streaming(rates: Sequence[int], name: str, duration: int, by: Sequence[str] = EVALUATORS) -> Iterator[Streaming]:
    """All rates by all evaluators; who was stopped is not asked for more."""
    for each in by:
        for rate in rates:
            ended = apart(measure_streaming, each, name, rate, duration, seconds=_LONGEST, memory=_LARGEST)
            found = ended.result or Streaming(each, name, rate, 0, nan, nan, nan, nan, nan, ended.why)
            yield found
            if found.stopped:
                break


def static(sizes: Sequence[int], name: str, by: Sequence[str] = EVALUATORS) -> Iterator[Static]:
    """All sizes by all evaluators; who took too long, or too much, is not asked for more."""
    for each in by:
        for size in sizes:
            found = apart(measure_static, each, name, size, seconds=_LONGEST, memory=_LARGEST)
            yield found.result or Static(each, name, size, 0, None, nan, nan, found.why)
            if found.result is None:
                break


# Results ----------------------------------------------------------------------------------------------------------


def verdict(found: Sequence[Static], streamed: Sequence[Streaming]) -> list[Target]:
    """What was found against the targets."""
    return [*_of_static(found), *_of_streaming(streamed)]


def _of_static(found: Sequence[Static]) -> Iterator[Target]:
    by_size = {(each.by, each.program, each.triples): each for each in found}
    for (by, name, triples), mine in by_size.items():
        other = by_size.get((WHOLE, name, triples))
        if by != ENGINE:
            continue
        yield Target(f"{name}, {triples:,} triples: finished", mine.stopped or "yes", mine.seconds is not None)
        if other is not None and mine.seconds and other.seconds:
            what = f"{name}, {triples:,} triples, at least 3 ×"
            yield _at_least(f"{what} faster than clingo on the whole", other.seconds / mine.seconds)
            yield _at_least(f"{what} smaller than clingo on the whole", other.megabytes / max(mine.megabytes, 0.1))


def _of_streaming(streamed: Sequence[Streaming]) -> Iterator[Target]:
    for each in streamed:
        if each.by == ENGINE:
            what = f"{each.program}, {each.rate:,} triples/s"
            within = each.worst <= SLIDE and not each.stopped
            yield Target(f"{what}: every window within {SLIDE} s", each.stopped or f"{each.worst:.2f} s", within)
            yield Target(f"{what}: memory flat", f"{each.growth:.2f} ×", each.growth <= 1.1)


def _at_least(claim: str, ratio: float) -> Target:
    return Target(claim, f"{ratio:,.1f} ×", ratio >= 3)


def static_table(found: Sequence[Static]) -> Table:
    table = Table(title="one window: facts shown, seconds, seconds of a core, megabytes")
    for column in ("program", "triples", "by", "shown", "s", "core s", "MB"):
        table.add_column(column, justify="left" if column in ("program", "by") else "right")
    for each in found:
        took = each.stopped if each.seconds is None else f"{each.seconds:.2f}"
        cells = f"{each.triples:,}", each.by, f"{each.answers:,}", took, f"{each.busy:.2f}", f"{each.megabytes:,.1f}"
        table.add_row(each.program, *cells)
    return table


def streaming_table(streamed: Sequence[Streaming]) -> Table:
    table = Table(title=f"windows of {WINDOW} s that slide by {SLIDE} s: seconds a window; megabytes, and their growth")
    for column in ("program", "triples/s", "by", "windows", "median s", "worst s", "core s", "MB", "growth"):
        table.add_column(column, justify="left" if column in ("program", "by") else "right")
    for each in streamed:
        seconds = f"{each.median:.2f}", f"{each.worst:.2f}", f"{each.busy:.2f}"
        cells = each.stopped or str(each.windows), *seconds, f"{each.megabytes:,.0f}", f"{each.growth:.2f}"
        table.add_row(each.program, f"{each.rate:,}", each.by, *cells)
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
        [(each.by, each.program, each.rate, each.median, each.megabytes) for each in streamed if each.windows],
    )


def _draw(out: Path, name: str, across: str, points: Sequence[tuple[str, str, int, float, float]]) -> None:
    figure, both = panels(2, (11, 4))
    for place, (axes, label) in enumerate(zip(both, ("seconds", "MB"), strict=True)):
        lines = Lines()
        for by, program, x, *values in points:
            lines.setdefault(f"{by}, {program}", []).append((x, values[place]))
        draw_lines(axes, lines)
        axes.set(xlabel=across, ylabel=label, title=name, yscale="log")
        finish(axes)
    save(figure, out, name)


_WITH_INTERESTS: Final = (
    "With research interests on the stream all who share one teach each other's courses: 100,000 triples give some 80 "
    "million facts. `#show` asks for the predicates that matter: the others are not told, and not derived if nothing "
    "that is told rests on them."
)


def main(out: Path, quick: bool = False) -> None:
    """Runs it all, prints tables, and writes CSV files and pictures to the folder `streamrule` of `out`.

    `quick` takes small sizes and short streams.
    """
    place, console = out / "streamrule", Console()
    place.mkdir(parents=True, exist_ok=True)
    sizes, rates, duration = ((5_000, 10_000), (1_000,), 11) if quick else (SIZES, RATES, 60)
    console.print(f"{os.cpu_count()} cores; each run in a process of its own")
    found = [*static(sizes, "recursive"), *static(sizes[:1], "as printed", (WHOLE,))]
    console.print(static_table(found))
    console.print(_WITH_INTERESTS)
    found += static(sizes[:2], "with interests", (WHOLE, ENGINE))
    for name in ("with interests, advisors", "with interests, deans"):
        found += static(sizes, name, (ENGINE,))
    console.print(static_table([each for each in found if each.program.startswith("with")]))
    streamed = [each for name in ("recursive", "negation") for each in streaming(rates, name, duration)]
    console.print(streaming_table(streamed))
    city = list(citybench.measured((1, 2) if quick else citybench.FREQUENCIES, duration))
    console.print(citybench.table(city))
    targets = verdict(found, streamed)
    console.print(verdict_table(targets))
    write_records(found, place / "static.csv")
    write_records(streamed, place / "streaming.csv")
    write_records(city, place / "city.csv")
    write_verdict(targets, place / "verdict.csv")
    draw(found, streamed, place)
    console.print(f"tables and pictures are in {place}")
