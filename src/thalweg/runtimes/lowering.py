"""Windows answered by the incremental engine, where an answer set program is rules with one answer.

The engine's ticks are panes: facts of one pane enter and leave windows together, so that nothing is evaluated but what
some window asks for.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from time import perf_counter
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from thalweg.engine import Engine
from thalweg.ir.nodes import Program
from thalweg.languages.asp.lower import INCONSISTENT
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.listing import Listing
from thalweg.planning.copies import set_aside
from thalweg.runtimes.answer_sets import Answered, Share
from thalweg.runtimes.windows import Frame


class Lowered:
    """Rules over windows of `frame.panes` ticks."""

    def __init__(
        self,
        rules: Program,
        frame: Frame,
        inputs: tuple[str, ...],
        background: Iterable[Fact] = (),
        limit: float | None = None,
    ) -> None:
        rules = replace(rules, background=(*rules.background, *background))
        self._shown = rules.derived if rules.told is None else rules.told
        rules, self._copies = set_aside(rules)
        # All of it is told again for each window, so nothing is gained by telling changes apart.
        self._engine = Engine(rules, first=0, tells=False)
        self._frame = frame
        self._inputs = inputs
        self._limit = limit
        self._pane = 0
        self._waiting: list[Batch] = []
        self._arrived: deque[tuple[int, int]] = deque()
        self._seconds = 0.0
        # Answers that somebody may still read: their terms must be kept.
        self._told: list[ref[Listing]] = []

    @property
    def dictionary(self) -> Dictionary:
        return self._engine.dictionary

    def add(self, position: int, batches: Sequence[Batch]) -> None:
        self._go_on(position)
        self._waiting += batches
        self._arrived.append((position, sum(map(_size, batches))))

    def answer(self, first: int, last: int) -> Answered:
        self._go_on(last)
        self._evaluate()
        began = perf_counter()
        facts = self._listing()
        self._told = [told for told in self._told if told() is not None] + [ref(facts)]
        self._seconds += perf_counter() - began
        while self._arrived and self._arrived[0][0] < first:
            self._arrived.popleft()
        sets = () if INCONSISTENT.signature in facts.rows else (facts,)
        share = Share(self._inputs, sum(size for _, size in self._arrived), self._seconds, len(sets))
        self._seconds = 0.0
        return Answered(sets, shares=(share,), overtime=self._limit is not None and share.seconds > self._limit)

    def _listing(self) -> Listing:
        """All that is shown; some of it has another name in the engine."""
        found = self._engine.listing().rows
        rows = {signature: some for signature, some in found.items() if signature in self._shown}
        for signature, copies in self._copies.items():
            parts = [found[copy.source][:, copy.order] for copy in copies if copy.source in found]
            if parts:
                rows[signature] = parts[0] if len(parts) == 1 else _distinct(np.concatenate(parts))
        return Listing(self._engine.dictionary, rows)

    def _go_on(self, position: int) -> None:
        """To the pane of a position; what waits belongs to the one before."""
        pane = position // self._frame.pane
        if pane > self._pane:
            if self._waiting:
                self._evaluate()
            self._pane = pane

    def _evaluate(self) -> None:
        """Takes what waits, at the end of the pane."""
        began = perf_counter()
        self._engine.advance(self._pane, self._waiting)
        self._waiting = []
        self._seconds += perf_counter() - began

    def collect(self, waiting: Iterable[Batch]) -> None:
        read = (facts.rows for told in self._told if (facts := told()) is not None)
        self._engine.collect([*waiting, *self._waiting, *(Batch(dict(rows)) for rows in read)])

    def close(self) -> None:
        """The engine has nothing to close."""


def _distinct(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each row once.

    >>> _distinct(np.array([[2, 1], [1, 1], [2, 1]])).tolist()
    [[1, 1], [2, 1]]
    """
    if not rows.shape[1]:
        return rows[:1]
    rows = rows[np.lexsort(rows.T[::-1])]
    differs = np.ones(len(rows), dtype=bool)
    differs[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return rows[differs]


def _size(batch: Batch) -> int:
    """How many facts there are."""
    return len(batch.order) or sum(
        np.size(words) // max(1, int(signature.rpartition("/")[2])) for signature, words in batch.rows.items()
    )
