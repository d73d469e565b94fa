"""StreamRule's experiments 2 and 3 (Pham, Ali, Mileo; listings 3 and 4) over generated universities; 1 is `citybench`.

Recursive rules, and rules with negation, by the three evaluators of `window_evaluators`. *Static*: one window of 5,000
to 100,000 triples. *Streaming*: 1,000 to 5,000 triples a second through windows of three seconds that slide by two.

The listings are repaired: `Profesor` and `Professor` are one, and the third rule of listing 4 asks for the advisor that
it suggests. The recursive program is also measured once as it is printed, when nobody can become a dean. Research
interests are not streamed, as in the paper's own setting: with them, all who share one teach each other's courses, and
100,000 triples give some 80 million facts. They are measured apart, all of them and with `#show` for those that matter.
"""

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from thalweg.bench import citybench
from thalweg.bench.plot import Lines, Panel, add_point, draw
from thalweg.bench.report import BenchmarkReport, BenchmarkTarget, at_least
from thalweg.bench.university import NAMESPACE, mingled
from thalweg.bench.window_evaluators import ENGINE, EVALUATORS, WHOLE, WINDOW, WindowRun, WindowScenario, series
from thalweg.model.vocabulary import Triple

SIZES: Final = (5_000, 10_000, 20_000, 30_000, 60_000, 100_000)
RATES: Final = (1_000, 2_000, 3_000, 5_000)
SLIDE: Final = 2

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


def _stream(rate: int) -> Iterator[list[Triple]]:
    triples = mingled()
    while True:
        yield list(islice(triples, rate))


SCENARIOS: Final = {name: WindowScenario(name, rules, _stream, SLIDE) for name, rules in PROGRAMS.items()}


def static(sizes: Sequence[int], name: str, by: Sequence[str] = tuple(EVALUATORS)) -> Iterator[WindowRun]:
    """One window of each size, all of it in one tick."""
    return series(SCENARIOS[name], sizes, 1, by)


def verdict(static_runs: Sequence[WindowRun], streamed: Sequence[WindowRun]) -> list[BenchmarkTarget]:
    """The runs against the targets."""
    return [*_of_static(static_runs), *_of_streaming(streamed)]


def _of_static(runs: Sequence[WindowRun]) -> Iterator[BenchmarkTarget]:
    by_size = {(run.by, run.program, run.rate): run for run in runs}
    for mine in runs:
        if mine.by == ENGINE:
            what = f"{mine.program}, {mine.rate:,} triples"
            yield BenchmarkTarget(f"{what}: finished", mine.stopped or "yes", not mine.stopped)
            other = by_size.get((WHOLE, mine.program, mine.rate))
            if other is not None and not (mine.stopped or other.stopped):
                size = other.megabytes / max(mine.megabytes, 0.1)
                yield at_least(f"{what}, at least 3 × faster than clingo on the whole", other.worst_s / mine.worst_s, 3)
                yield at_least(f"{what}, at least 3 × smaller than clingo on the whole", size, 3)


def _of_streaming(streamed: Sequence[WindowRun]) -> Iterator[BenchmarkTarget]:
    for run in streamed:
        if run.by == ENGINE:
            what = f"{run.program}, {run.rate:,} triples/s"
            within = run.worst_s <= SLIDE and not run.stopped
            yield BenchmarkTarget(
                f"{what}: every window within {SLIDE} s", run.stopped or f"{run.worst_s:.2f} s", within
            )
            yield BenchmarkTarget(f"{what}: memory flat", f"{run.growth:.2f} ×", run.growth <= 1.1)


def draw_runs(folder: Path, name: str, across: str, runs: Sequence[WindowRun]) -> None:
    """Seconds at the left, memory at the right: figures 11 and 12 are `static`, 13 to 16 are `streaming`."""
    seconds, memory = Lines(), Lines()
    for run in runs:
        if run.windows:
            add_point(seconds, f"{run.by}, {run.program}", run.rate, run.median_s)
            add_point(memory, f"{run.by}, {run.program}", run.rate, run.megabytes)
    panels = Panel(name, across, "seconds", seconds, log="y"), Panel(name, across, "MB", memory, log="y")
    draw(folder, name, panels, size=(5.5, 4))


_WITH_INTERESTS: Final = (
    "With research interests on the stream all who share one teach each other's courses: 100,000 triples give some 80 "
    "million facts. `#show` selects the predicates that matter: the others are not output, and not derived if no "
    "output depends on them."
)


def main(out: Path, quick: bool = False) -> None:
    """Runs it all, prints tables, and writes CSV files and pictures to the folder `streamrule` of `out`."""
    report = BenchmarkReport(out, "streamrule")
    sizes, rates, duration = ((5_000, 10_000), (1_000,), 11) if quick else (SIZES, RATES, 60)
    report.console.print(f"{os.cpu_count()} cores; each run in a process of its own")
    static_runs = [*static(sizes, "recursive"), *static(sizes[:1], "as printed", (WHOLE,))]
    report.show("one window; the rate is its triples", static_runs)
    report.console.print(_WITH_INTERESTS)
    interests = list(static(sizes[:2], "with interests", (WHOLE, ENGINE)))
    for name in ("with interests, advisors", "with interests, deans"):
        interests += static(sizes, name, (ENGINE,))
    report.show("one window, with research interests", interests)
    static_runs += interests
    report.write("static", static_runs)
    streamed = [run for name in ("recursive", "negation") for run in series(SCENARIOS[name], rates, duration)]
    report.add("streaming", streamed, f"windows of {WINDOW} s that slide by {SLIDE} s; the rate is triples a second")
    city = list(citybench.runs(citybench.FREQUENCIES[:2] if quick else citybench.FREQUENCIES, duration))
    report.add("city", city, f"windows of {WINDOW} s that slide by 1 s; the rate is observations a second")
    draw_runs(report.folder, "static", "triples", static_runs)
    draw_runs(report.folder, "streaming", "triples a second", streamed)
    report.close(verdict(static_runs, streamed))
