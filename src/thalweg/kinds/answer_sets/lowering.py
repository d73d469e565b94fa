"""Windows answered by the incremental engine, where an answer set program is rules with one answer.

The engine's ticks are panes: facts of one pane enter and leave windows together, so that nothing is evaluated but what
some window asks for.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from time import perf_counter
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from thalweg.engine import Given
from thalweg.ir.nodes import Program
from thalweg.kinds.answer_sets.windowed import Answered, PieceShare, Unread
from thalweg.kinds.rules.rule_engine import RuleEngine
from thalweg.languages.asp.frame import Frame
from thalweg.languages.asp.lower import INCONSISTENT
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.listing import Listing
from thalweg.model.predicate import Predicate
from thalweg.planning.drop_renamings import drop_renamings


class Lowered:
    """Rules over windows of `frame.panes` ticks."""

    def __init__(
        self,
        rules: Program,
        frame: Frame,
        inputs: tuple[Predicate, ...],
        background: Iterable[Fact] = (),
        limit: float | None = None,
        tally: "PieceTally | None" = None,
        dictionary: Dictionary | None = None,
        derived: Iterable[Predicate] = (),
    ) -> None:
        interface = replace(rules.interface, imports=frozenset((name, False) for name in derived))
        rules = replace(rules, background=(*rules.background, *background), interface=interface)
        self._shown = rules.outputs
        rules, self._copies = drop_renamings(rules)
        # All of it is told again for each window, so nothing is gained by telling changes apart.
        self._engine = RuleEngine(rules, first=0, with_changes=False, dictionary=dictionary)
        self._frame = frame
        self._tally = tally or PieceTally([inputs], lambda signature: set(inputs))
        self._limit = limit
        self._pane = 0
        self._waiting: list[Batch] = []
        self._turns: dict[tuple[Predicate, tuple[int, ...]], int] = {}
        self._arrived: deque[tuple[int, list[int]]] = deque()
        self._seconds = 0.0
        self._answers: Unread = []

    @property
    def dictionary(self) -> Dictionary:
        return self._engine.dictionary

    def add(self, position: int, batches: Sequence[Batch]) -> None:
        self._go_on(position)
        self._waiting += batches
        self._arrived.append((position, self._tally.count(batches)))

    def answer(self, first: int, last: int) -> Answered:
        self._go_on(last)
        self._evaluate()
        began = perf_counter()
        facts = self._listing()
        self._answers = [*self.unread(), ref(facts)]
        self._seconds += perf_counter() - began
        while self._arrived and self._arrived[0][0] < first:
            self._arrived.popleft()
        sets = () if INCONSISTENT.signature in facts.rows else (facts,)
        seconds, self._seconds = self._seconds, 0.0
        shares = self._tally.shares([counts for _, counts in self._arrived], seconds, len(sets))
        overtime = self._limit is not None and seconds > self._limit
        return Answered(sets, shares=shares, overtime=overtime, together=seconds)

    def _listing(self) -> Listing:
        """All that is shown; some of it has another name in the engine."""
        tables = self._engine.listing().rows
        rows = {signature: table for signature, table in tables.items() if signature in self._shown}
        for signature, copies in self._copies.items():
            parts = [tables[copy.source][:, copy.order] for copy in copies if copy.source in tables]
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
        self._engine.advance(self._pane, self._waiting, self._given())
        self._waiting = []
        self._seconds += perf_counter() - began

    def hold(self, begun: Batch, ended: Batch) -> None:
        for batch, step in ((ended, -1), (begun, 1)):
            for key in batch.in_order():
                self._turns[key] = self._turns.get(key, 0) + step

    def _given(self) -> list[Given]:
        """What has begun and ended since the last evaluation of what other parts derive."""
        changes = []
        for signature in {name for name, _ in self._turns}:
            ended, begun = (
                [words for (name, words), turn in self._turns.items() if name == signature and turn == sign]
                for sign in (-1, 1)
            )
            first, last = (
                np.array(rows, dtype=np.int64).reshape(len(rows), signature.arity) for rows in (begun, ended)
            )
            changes.append(Given(signature, False, first, last))
        self._turns = {}
        return changes

    def unread(self) -> Unread:
        return [answer for answer in self._answers if answer() is not None]

    def words_in_use(self) -> NDArray[np.int64]:
        waiting = [np.asarray(words).reshape(-1) for batch in self._needed() for words in batch.rows.values()]
        return np.concatenate([self._engine.words_in_use(), *waiting])

    def _needed(self) -> list[Batch]:
        """What waits for the engine, and answers that may still be read."""
        read = (facts.rows for answer in self._answers if (facts := answer()) is not None)
        turns = Batch()
        for signature, words in self._turns:
            turns.add(signature, [*words])
        return [*self._waiting, turns, *(Batch(dict(rows)) for rows in read)]

    def close(self) -> None:
        """The engine has nothing to close."""


class PieceTally:
    """How many facts come to each piece of a program; `known_as` says which inputs facts of a signature are.

    >>> from thalweg.model.event import Batch
    >>> p, q, r = (Predicate(name, 1) for name in "pqr")
    >>> tally = PieceTally([(p, q), (p, r)], lambda signature: {signature})
    >>> tally.count([Batch({p: [1, 2], q: [3]})])
    [3, 2]
    """

    def __init__(
        self, pieces: Sequence[tuple[Predicate, ...]], known_as: Callable[[Predicate], set[Predicate]]
    ) -> None:
        self._pieces = pieces
        self._known_as = known_as
        self._takers: dict[Predicate, list[int]] = {}

    def count(self, batches: Sequence[Batch]) -> list[int]:
        """How many of the facts come to each piece."""
        counts = [0] * len(self._pieces)
        for signature, size in (pair for batch in batches for pair in _sizes(batch)):
            for piece in self._takers.get(signature) or self._learn(signature):
                counts[piece] += size
        return counts

    def _learn(self, signature: Predicate) -> list[int]:
        names = self._known_as(signature)
        takers = [number for number, inputs in enumerate(self._pieces) if not names.isdisjoint(inputs)]
        self._takers[signature] = takers
        return takers

    def shares(self, counts: Sequence[Sequence[int]], seconds: float, answers: int) -> tuple[PieceShare, ...]:
        """What is known of pieces that are evaluated together; of a single one, everything."""
        alone = len(self._pieces) == 1
        return tuple(
            PieceShare(
                inputs,
                sum(window[number] for window in counts),
                seconds if alone else None,
                answers if alone or answers else None,
            )
            for number, inputs in enumerate(self._pieces)
        )


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


def _sizes(batch: Batch) -> Iterator[tuple[Predicate, int]]:
    """How many facts there are of each signature."""
    for signature, words in batch.rows.items():
        yield signature, np.size(words) // signature.arity if signature.arity else 1
