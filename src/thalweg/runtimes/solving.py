"""Windows answered by clingo, piece by piece.

Each piece of a program (`input_dependency`) gets the facts of its own inputs, each fact once, in the order of their
text: so neither the order of arrival nor the way in which a stream was cut has a say in which answer set comes first. A
piece whose facts are those of the window before has the same answer.
"""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np

from thalweg.languages.asp import AspProgram, Names
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.planning.input_dependency import Piece, analyse
from thalweg.runtimes.answer_sets import Answered, Share
from thalweg.runtimes.late import facts
from thalweg.solvers.clingo import Solved, Task
from thalweg.solvers.combine import combine
from thalweg.solvers.crew import Crew

_ARGUMENT: Final = re.compile(r'-?[A-Za-z0-9_\']+|"(?:[^"\\]|\\.)*"|#inf|#sup')
_ATOM: Final = re.compile(
    rf"(?P<sign>-?)(?P<name>[a-z_'][A-Za-z0-9_']*)(?:\((?P<args>(?:{_ARGUMENT.pattern})(?:,(?:{_ARGUMENT.pattern}))*)\))?\Z"
)

Texts = dict[str, list[str]]
"""Facts as clingo reads them, by signature."""


class Solving:
    """An answer set program on clingo; the background is part of every window."""

    def __init__(
        self, program: AspProgram, crew: Crew, models: str = "first", limit: float | None = None,
        background: Iterable[Fact] = (),
    ) -> None:  # fmt: skip
        self.dictionary = Dictionary()
        self._pieces = analyse(program.outlines, program.inputs).pieces
        self._tasks = [Task(text_of(program, piece), "", models, limit) for piece in self._pieces]
        self._crew = crew
        self._inputs = frozenset(program.inputs)
        self._atoms = program.names.atoms
        self._symbol = lru_cache(maxsize=65_536)(program.names.as_symbol_text)
        self._spelled = lru_cache(maxsize=65_536)(lambda text: spelled(text, program.names))
        self._background = self._texts(background)
        self._held: deque[tuple[int, Texts]] = deque()
        self._last: list[tuple[str, Solved] | None] = [None for _ in self._pieces]

    def add(self, position: int, batches: Sequence[Batch]) -> None:
        found = self._texts(fact for batch in batches for fact in facts(batch, self.dictionary))
        if found:
            self._held.append((position, found))

    def _texts(self, facts: Iterable[Fact]) -> Texts:
        found: Texts = {}
        for fact in facts:
            for name, args in self._atoms(fact):
                signature = f"{name}/{len(args)}"
                if signature in self._inputs:
                    text = f"{name}({','.join(map(self._symbol, args))})." if args else f"{name}."
                    found.setdefault(signature, []).append(text)
        return found

    def answer(self, first: int, last: int) -> Answered:
        while self._held and self._held[0][0] < first:
            self._held.popleft()
        windows = [self._window(piece) for piece in self._pieces]
        solved = self._solve(["\n".join(window) for window in windows])
        shares = tuple(
            Share(piece.inputs, len(window), one.seconds, len(one.answers))
            for piece, window, one in zip(self._pieces, windows, solved, strict=True)
        )
        answers, complete = combine(solved)
        return Answered(tuple(sorted(map(self._spell, answers))), complete, shares)

    def _spell(self, answer: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(sorted(map(self._spelled, answer)))

    def _window(self, piece: Piece) -> list[str]:
        held = [self._background, *(found for _, found in self._held)]
        return sorted({text for found in held for name in piece.inputs for text in found.get(name, ())})

    def _solve(self, windows: list[str]) -> list[Solved]:
        """What is known is not asked again."""
        new = [number for number, window in enumerate(windows) if not self._knows(number, window)]
        asked = [replace(self._tasks[number], facts=windows[number]) for number in new]
        answers = dict(zip(new, self._crew.solve(asked), strict=True))
        for number, solved in answers.items():
            self._last[number] = windows[number], replace(solved, seconds=0.0)
        return [answers[number] if number in answers else last[1] for number, last in enumerate(self._last) if last]

    def _knows(self, number: int, window: str) -> bool:
        last = self._last[number]
        return last is not None and last[0] == window and last[1].complete

    def collect(self, waiting: Iterable[Batch]) -> None:
        # Facts in windows are kept as text.
        words = [np.asarray(words, dtype=np.int64).reshape(-1) for batch in waiting for words in batch.rows.values()]
        self.dictionary.collect(np.concatenate([np.zeros(0, dtype=np.int64), *words]))

    def close(self) -> None:
        self._crew.close()


def spelled(text: str, names: Names) -> str:
    r"""An atom, or another term that is shown, in our spelling; what no term can hold stays as clingo prints it.

    >>> names = Names({"ub": "http://ub#"})
    >>> spelled('ub_dean("<http://x>",ub_y)', names), spelled('-q("\\"2.5\\"")', names), spelled("p(f(1),-2)", names)
    ('<http://ub#dean>(<http://x>,<http://ub#y>)', '-q(2.5)', 'p(f(1),-2)')
    """
    found = _ATOM.match(text)
    if found is None:
        return names.as_term(text)
    args = tuple(_ARGUMENT.findall(found["args"] or ""))
    return f"{found['sign']}{names.fact(found['name'], args)}"


def text_of(program: AspProgram, piece: Piece) -> str:
    """What clingo evaluates of a program; without `#show` that is what it derives."""
    shown = "\n".join(f"#show {signature}." for signature in sorted(program.shown)) or "#show."
    return f"{program.text(piece.rules)}\n{shown}\n"
