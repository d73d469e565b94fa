"""An evaluator of a program whose inputs turn out while it runs.

A stream may bring facts of a predicate that the program also derives. They are input like others, which changes how the
program is decomposed and whether rules can evaluate it: another evaluator is made, and given what windows hold.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thalweg.kinds.answer_sets.window_facts import Held
from thalweg.kinds.answer_sets.windowed import Connected, Unread
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate

if TYPE_CHECKING:
    from thalweg.languages.asp.program import AspProgram

Solve = Callable[["AspProgram", Dictionary | None], Connected]
"""Makes the evaluator of a program; facts are coded with a dictionary, or with one of its own."""


class Growing(Held):
    """The evaluator of a program, until there is one with more inputs."""

    _evaluator: Connected

    def __init__(self, solve: Solve, program: "AspProgram", dictionary: Dictionary | None = None) -> None:
        super().__init__(solve(program, dictionary))
        self._solve = solve
        self._holding: dict[tuple[Predicate, tuple[int, ...]], None] = {}
        # Answers of earlier evaluators.
        self._unread: Unread = []

    def grow(self, program: "AspProgram") -> None:
        """Goes on with a program that has more inputs."""
        before = self._evaluator
        self._evaluator = self._solve(program, before.dictionary)
        self._unread = [*self.unread(), *before.unread()]
        before.close()
        facts = Batch()
        for signature, words in self._holding:
            facts.add(signature, [*words])
        self._evaluator.hold(facts, Batch())
        for position, batches in self._kept:
            self._evaluator.add(position, batches)

    def hold(self, begun: Batch, ended: Batch) -> None:
        for key in ended.in_order():
            self._holding.pop(key, None)
        self._holding.update(dict.fromkeys(begun.in_order()))
        self._evaluator.hold(begun, ended)

    def unread(self) -> Unread:
        return [answer for answer in self._unread if answer() is not None]

    def words_in_use(self) -> NDArray[np.int64]:
        rows = (words for batch in self._former() for words in batch.rows.values())
        former = (np.asarray(words, dtype=np.int64).reshape(-1) for words in rows)
        return np.concatenate([self._evaluator.words_in_use(), *self.words(), *former])

    def collect(self, waiting: Iterable[Batch]) -> None:
        super().collect([*waiting, *self._former()])

    def _former(self) -> list[Batch]:
        """The rows of answers of earlier evaluators that may still be read."""
        return [Batch(dict(facts.rows)) for answer in self._unread if (facts := answer()) is not None]
