"""Who answers windows: clingo on the whole program, clingo piece by piece, and our engine, behind one signature."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final, Protocol

from thalweg.connectors.triples import TripleReader
from thalweg.engine import Engine
from thalweg.languages.asp.frame import Frame
from thalweg.languages.asp.program import AspProgram
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.rdf import as_ntriples, fact_of, term
from thalweg.model.time import Clock
from thalweg.model.vocabulary import Triple
from thalweg.parts.answer_sets.lowering import Lowered
from thalweg.parts.answer_sets.solving import Solving
from thalweg.parts.answer_sets.windowed import Inputs
from thalweg.runtimes.emit import Solution
from thalweg.solvers.clingo import Task, solve
from thalweg.solvers.pool import SolverPool

WHOLE: Final = "clingo, whole"
PIECES: Final = "clingo, in pieces"
ENGINE: Final = "engine"
_LINES: Final = 500


Blocks = Sequence[str]
"""Triples as a file has them, `36 <s> <p> <o> .` on each line, some lines at a time."""


def blocks(triples: Iterable[Triple], tick: int = 0) -> Blocks:
    """The triples of a tick, written down.

    >>> blocks([("<http://a>", "<http://p>", "3")], 36)
    ['36 <http://a> <http://p> "3"^^<http://www.w3.org/2001/XMLSchema#integer> .\\n']
    """
    lines = (f"{tick} {' '.join(map(as_ntriples, triple))} .\n" for triple in triples)
    return list(iter(lambda: "".join(islice(lines, _LINES)), ""))


class Evaluator(Protocol):
    """Answers windows of so many ticks."""

    def add(self, blocks: Blocks) -> None:
        """The triples of the next tick."""

    def answer(self) -> int:
        """How many facts are shown of the window that ends with the last tick."""

    def close(self) -> None:
        """Nothing more will be asked."""


class Whole:
    """The whole program and all facts of a window, handed to clingo."""

    def __init__(self, program: AspProgram, ticks: int, background: Sequence[Fact] = ()) -> None:
        self._program, self._ticks = program, ticks
        self._symbol = lru_cache(maxsize=65_536)(program.names.as_symbol_text)
        self._always = list(self._texts(background))
        self._held: list[list[str]] = []

    def _texts(self, facts: Iterable[Fact]) -> Iterator[str]:
        for fact in facts:
            for name, args in self._program.names.atoms(fact):
                yield f"{name}({','.join(map(self._symbol, args))})."

    def add(self, blocks: Blocks) -> None:
        self._held.append([text for block in blocks for text in self._texts(map(_fact, block.splitlines()))])
        del self._held[: -self._ticks]

    def answer(self) -> int:
        text = "\n".join(line for some in (self._always, *self._held) for line in some)
        return len(solve(Task(self._program.text(), text)).answers[0])

    def close(self) -> None:
        """Nothing is kept."""


def _fact(line: str) -> Fact:
    _, subject, predicate, object = line[:-2].split(" ", 3)
    return fact_of(subject, predicate, term(object) if object[0] == '"' else object)


class Pieces:
    """Piece by piece, by two processes of clingo, which have started before the clock does."""

    def __init__(self, program: AspProgram, ticks: int, background: Sequence[Fact] = ()) -> None:
        pool = SolverPool(2)
        pool.solve([Task("")] * 2)
        self._solving = Solving(program, pool, background=background, buckets=2)
        self._door = _Door(program, self._solving.dictionary)
        self._ticks, self._position = ticks, -1

    def add(self, blocks: Blocks) -> None:
        self._position += 1
        self._solving.add(self._position, self._door.take(blocks))
        if self._solving.dictionary.wants_collection:
            self._solving.collect(())

    def answer(self) -> int:
        return len(self._solving.answer(self._position - self._ticks + 1, self._position).sets[0])

    def close(self) -> None:
        self._solving.close()


class Incremental:
    """The rules that the program becomes, by our engine. Its answers are sorted and written, to where nobody looks."""

    def __init__(self, program: AspProgram, ticks: int, background: Sequence[Fact] = ()) -> None:
        rules = program.lowered(ticks)
        assert rules is not None
        # Kernels are loaded before the clock starts.
        Engine(rules, first=0).advance(0)
        self._lowered = Lowered(rules, Frame(ticks), program.inputs, background)
        self._door = _Door(program, self._lowered.dictionary)
        self._ticks, self._position = ticks, -1

    def add(self, blocks: Blocks) -> None:
        self._position += 1
        self._lowered.add(self._position, self._door.take(blocks))
        if self._lowered.dictionary.wants_collection:
            self._lowered.collect(())

    def answer(self) -> int:
        start = self._position - self._ticks + 1
        (facts,) = self._lowered.answer(start, self._position).sets
        with open(os.devnull, "w", encoding="utf-8") as out:
            out.writelines(Solution(self._position, start, (facts,)).jsonl())
        return len(facts)

    def close(self) -> None:
        self._lowered.close()


class _Door:
    """Reads triples as runs do, and keeps what the program takes."""

    def __init__(self, program: AspProgram, words: Dictionary) -> None:
        self._reader = TripleReader(words, "stream", None, Clock(), "stream")
        self._inputs = Inputs(program)

    def take(self, blocks: Blocks) -> list[Batch]:
        read = (item for block in blocks for item in self._reader.feed(block))
        return [self._inputs.only(item[1]) for item in read if isinstance(item, tuple)]


MAKERS: Final[dict[str, Callable[[AspProgram, int, Sequence[Fact]], Evaluator]]] = {
    WHOLE: Whole,
    PIECES: Pieces,
    ENGINE: Incremental,
}
EVALUATORS: Final = tuple(MAKERS)
