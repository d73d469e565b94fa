"""Windows of triples answered by clingo on the whole program, by clingo piece by piece, or by the engine; and measured.

Each run has a process of its own, which is stopped after ten minutes or at 8 GB, or when it takes twice as long as the
stream lasts. All are given the same text, lines of triples. clingo's answer is read into Python's strings, in clingo's
spelling where the program was not taken apart; the engine's is sorted, spelled and written.
"""

import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from math import nan
from typing import Final, Protocol

from thalweg.answers.emit import Solution
from thalweg.bench.processes import MEGABYTE, Footprint, cpu_seconds, isolated, resident
from thalweg.connectors.ntriples import TripleReader
from thalweg.diagnostics import Source
from thalweg.kinds.answer_sets.lowering import Lowered
from thalweg.kinds.answer_sets.solving import Solving
from thalweg.kinds.answer_sets.windowed import ProgramInputs
from thalweg.kinds.rules.rule_engine import RuleEngine
from thalweg.languages.asp.frame import Frame
from thalweg.languages.asp.program import AspProgram
from thalweg.languages.asp.reader import read_program
from thalweg.model.fact import Fact
from thalweg.model.rdf import as_ntriples, fact_of, term
from thalweg.model.time import Clock
from thalweg.model.vocabulary import Triple
from thalweg.solvers.clingo import Task, solve
from thalweg.solvers.pool import SolverPool

WINDOW: Final = 3
_LINES: Final = 500
# A run that takes longer than the stream by this factor is stopped.
_PATIENCE: Final = 2

Blocks = Sequence[str]
"""Triples as a file has them, `36 <s> <p> <o> .` on each line, some lines at a time."""


def blocks(triples: Iterable[Triple], tick: int = 0) -> Blocks:
    """The triples of a tick as text.

    >>> blocks([("<http://a>", "<http://p>", "3")], 36)
    ['36 <http://a> <http://p> "3"^^<http://www.w3.org/2001/XMLSchema#integer> .\\n']
    """
    lines = (f"{tick} {' '.join(map(as_ntriples, triple))} .\n" for triple in triples)
    return list(iter(lambda: "".join(islice(lines, _LINES)), ""))


@dataclass(frozen=True, slots=True)
class WindowScenario:
    """A program, and a stream for it: the triples of each second at a given rate."""

    name: str
    rules: str
    stream: Callable[[int], Iterator[Iterable[Triple]]]
    slide: int
    background: tuple[Fact, ...] = ()

    def program(self) -> AspProgram:
        program, problems = read_program(Source(f"{self.name}.lp", self.rules))
        assert not problems
        return program


class WindowEvaluator(Protocol):
    """Answers windows of `WINDOW` ticks."""

    def add(self, blocks: Blocks) -> None:
        """Takes the triples of the next tick."""

    def answer(self) -> int:
        """The number of facts shown of the window that ends with the last tick."""

    def close(self) -> None: ...


class Whole:
    """The whole program and all facts of a window, given to clingo."""

    def __init__(self, scenario: WindowScenario) -> None:
        self._program = scenario.program()
        self._symbol = lru_cache(maxsize=65_536)(self._program.names.as_symbol_text)
        self._background = list(self._texts(scenario.background))
        self._held: list[list[str]] = []

    def _texts(self, facts: Iterable[Fact]) -> Iterator[str]:
        for fact in facts:
            for name, args in self._program.names.atoms(fact):
                yield f"{name}({','.join(map(self._symbol, args))})."

    def add(self, blocks: Blocks) -> None:
        self._held.append([text for block in blocks for text in self._texts(map(_fact, block.splitlines()))])
        del self._held[:-WINDOW]

    def answer(self) -> int:
        text = "\n".join(line for lines in (self._background, *self._held) for line in lines)
        return len(solve(Task(self._program.text(), text)).answers[0])

    def close(self) -> None:
        """Nothing is kept."""


def _fact(line: str) -> Fact:
    _, subject, predicate, object = line[:-2].split(" ", 3)
    return fact_of(subject, predicate, term(object) if object[0] == '"' else object)


class Incremental:
    """A reasoner of our own, which reads triples as runs do. Its answers are sorted and written, but not kept."""

    def __init__(self, program: AspProgram, reasoner: Solving | Lowered) -> None:
        self._reasoner, self._inputs, self._tick = reasoner, ProgramInputs(program), -1
        self._reader = TripleReader(reasoner.dictionary, "stream", None, Clock(), "stream")

    def add(self, blocks: Blocks) -> None:
        self._tick += 1
        items = [item for block in blocks for item in self._reader.feed(block.encode())]
        self._reasoner.add(self._tick, [self._inputs.only(item[1]) for item in items if isinstance(item, tuple)])
        if self._reasoner.dictionary.wants_collection:
            self._reasoner.dictionary.collect(self._reasoner.words_in_use())

    def answer(self) -> int:
        start = self._tick - WINDOW + 1
        facts = self._reasoner.answer(start, self._tick).sets[0]
        if isinstance(self._reasoner, Lowered):
            with open(os.devnull, "w", encoding="utf-8") as out:
                out.writelines(Solution(self._tick, start, (facts,)).jsonl())
        return len(facts)

    def close(self) -> None:
        self._reasoner.close()


def in_pieces(scenario: WindowScenario) -> WindowEvaluator:
    """Piece by piece, by two processes of clingo, which have started before the clock does."""
    program, pool = scenario.program(), SolverPool(2)
    pool.solve([Task("")] * 2)
    return Incremental(program, Solving(program, pool, background=scenario.background, buckets=2))


def by_engine(scenario: WindowScenario) -> WindowEvaluator:
    """The rules that the program is lowered to, by the engine; its kernels are loaded before the clock starts."""
    program = scenario.program()
    rules = program.lowered(WINDOW)
    assert rules is not None
    RuleEngine(rules, first=0).advance(0)
    return Incremental(program, Lowered(rules, Frame(WINDOW), program.inputs, scenario.background))


WHOLE: Final = "clingo, whole"
PIECES: Final = "clingo, in pieces"
ENGINE: Final = "engine"
EVALUATORS: Final[dict[str, Callable[[WindowScenario], WindowEvaluator]]] = {
    WHOLE: Whole,
    PIECES: in_pieces,
    ENGINE: by_engine,
}


@dataclass(frozen=True, slots=True)
class WindowRun:
    """Windows along a stream: seconds that each took, with all that came since the one before; memory and its growth.

    `core_s` is how many seconds of a core a window took on average. The figures are those of the windows that were
    answered before the run was stopped.
    """

    by: str
    program: str
    rate: int
    windows: int
    answers: int
    median_s: float
    worst_s: float
    core_s: float
    megabytes: float
    growth: float
    stopped: str = ""


def measure(by: str, scenario: WindowScenario, rate: int, duration: int) -> WindowRun:
    """A stream in this process, as fast as it goes; the first window is warm-up unless it is the only one."""
    stream, evaluator = scenario.stream(rate), EVALUATORS[by](scenario)
    first, footprint = min(WINDOW, duration) - 1, Footprint()
    taken, sizes, spent, cores, answers, stopped = list[float](), list[int](), 0.0, 0.0, 0, ""
    for tick in range(duration):
        text = blocks(next(stream), tick)
        began, before = time.perf_counter(), cpu_seconds()
        evaluator.add(text)
        closes = tick >= first and (tick - first) % scenario.slide == 0
        if closes:
            answers = evaluator.answer()
        spent, cores = spent + time.perf_counter() - began, cores + cpu_seconds() - before
        if closes:
            taken.append(spent)
            sizes.append(resident())
            spent = 0.0
        if duration > 1 and sum(taken) > _PATIENCE * duration:
            stopped = f"cannot keep up, after {len(taken)} windows"
            break
    grown = footprint.grown() / MEGABYTE
    evaluator.close()
    steady = taken[1:] or taken
    figures = statistics.median(steady), max(steady), cores / len(taken), grown, _growth(sizes)
    return WindowRun(by, scenario.name, rate, len(taken), answers, *figures, stopped)


def _growth(sizes: Sequence[int]) -> float:
    """The mean of the last third as a multiple of that of the second."""
    third = max(1, len(sizes) // 3)
    return statistics.fmean(sizes[-third:]) / statistics.fmean(sizes[third : 2 * third] or sizes)


def series(
    scenario: WindowScenario,
    rates: Sequence[int],
    duration: int,
    by: Iterable[str] = EVALUATORS,
    seconds: float = 600.0,
) -> Iterator[WindowRun]:
    """All rates by all evaluators, each in a process of its own; after one that was stopped, no higher rates."""
    for evaluator in by:
        for rate in rates:
            outcome = isolated(measure, evaluator, scenario, rate, duration, seconds=seconds)
            run = outcome.result or WindowRun(
                evaluator, scenario.name, rate, 0, 0, nan, nan, nan, nan, nan, outcome.stopped
            )
            yield run
            if run.stopped:
                break
