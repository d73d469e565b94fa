"""Who answers windows: clingo on the whole program, clingo piece by piece, and our engine, behind one signature."""

import os
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from thalweg.engine import Engine
from thalweg.languages.asp import AspProgram
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.runtimes.answer_sets import Inputs
from thalweg.runtimes.emit import Solution
from thalweg.runtimes.lowering import Lowered
from thalweg.runtimes.solving import Solving
from thalweg.runtimes.windows import Frame
from thalweg.solvers.clingo import Task, solve
from thalweg.solvers.crew import Crew

WHOLE: Final = "clingo, whole"
PIECES: Final = "clingo, in pieces"
ENGINE: Final = "engine"


class Evaluator(Protocol):
    """Answers windows of so many ticks."""

    def add(self, facts: Sequence[Fact]) -> None:
        """The facts of the next tick."""

    def answer(self) -> int:
        """How many facts are shown of the window that ends with the last tick."""

    def close(self) -> None:
        """Nothing more will be asked."""


class Whole:
    """The whole program and all facts of a window, handed to clingo."""

    def __init__(self, program: AspProgram, ticks: int, background: Sequence[Fact] = ()) -> None:
        self._program, self._ticks = program, ticks
        self._always = self._texts(background)
        self._held: list[list[str]] = []

    def _texts(self, facts: Sequence[Fact]) -> list[str]:
        names = self._program.names
        found = ((name, args) for one in facts for name, args in names.atoms(one))
        return [f"{name}({','.join(map(names.as_symbol_text, args))})." for name, args in found]

    def add(self, facts: Sequence[Fact]) -> None:
        self._held.append(self._texts(facts))
        del self._held[: -self._ticks]

    def answer(self) -> int:
        text = "\n".join(line for some in (self._always, *self._held) for line in some)
        return len(solve(Task(self._program.text(), text)).answers[0])

    def close(self) -> None:
        """Nothing is kept."""


class Pieces:
    """Piece by piece, by two processes of clingo."""

    def __init__(self, program: AspProgram, ticks: int, background: Sequence[Fact] = ()) -> None:
        self._solving = Solving(program, Crew(2), background=background)
        self._inputs, self._ticks = Inputs(program), ticks
        self._position = -1

    def add(self, facts: Sequence[Fact]) -> None:
        self._position += 1
        self._solving.add(self._position, [self._inputs.only(_batch(facts, self._solving.dictionary))])

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
        self._inputs, self._ticks = Inputs(program), ticks
        self._position = -1

    def add(self, facts: Sequence[Fact]) -> None:
        self._position += 1
        self._lowered.add(self._position, [self._inputs.only(_batch(facts, self._lowered.dictionary))])
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


def _batch(facts: Sequence[Fact], words: Dictionary) -> Batch:
    batch = Batch()
    for fact in facts:
        batch.add(fact.signature, [words.code(term) for term in fact.args])
    return batch


MAKERS: Final[dict[str, Callable[[AspProgram, int, Sequence[Fact]], Evaluator]]] = {
    WHOLE: Whole,
    PIECES: Pieces,
    ENGINE: Incremental,
}
EVALUATORS: Final = tuple(MAKERS)
