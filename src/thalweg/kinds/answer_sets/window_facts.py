"""The facts that open windows hold, kept beside an evaluator: all that another one must know to answer on."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from thalweg.answers.record import Answer
from thalweg.dataflow.operator import Updates
from thalweg.dataflow.updates import Heard
from thalweg.diagnostics import Source
from thalweg.engine import Given
from thalweg.kinds.answer_sets.windowed import Answered, AnswerEvaluator, Connected, Windowed
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.saved_batches import load_batches, save_batches


def program_text(source: Source, inputs: Iterable[Predicate], background: Iterable[Fact]) -> str:
    """An answer set program as a saved state of it knows it."""
    return "\n".join([source.text, *inputs, *map(str, background)])


class Held:
    """An evaluator, and the facts that its windows hold; while it is `silent` nothing is solved."""

    def __init__(self, evaluator: AnswerEvaluator) -> None:
        self.silent = False
        self._evaluator = evaluator
        self._kept: deque[tuple[int, Sequence[Batch]]] = deque()

    @property
    def dictionary(self) -> Dictionary:
        return self._evaluator.dictionary

    def add(self, position: int, batches: Sequence[Batch]) -> None:
        self._kept.append((position, batches))
        self._evaluator.add(position, batches)

    def answer(self, first: int, last: int) -> Answered:
        while self._kept and self._kept[0][0] < first:
            self._kept.popleft()
        return Answered(()) if self.silent else self._evaluator.answer(first, last)

    def collect(self, waiting: Iterable[Batch]) -> None:
        self._evaluator.collect([*waiting, *(batch for _, batches in self._kept for batch in batches)])

    def close(self) -> None:
        self._evaluator.close()

    def words(self) -> Iterator[NDArray[np.int64]]:
        """The words of the facts that are kept."""
        for _, batches in self._kept:
            for batch in batches:
                yield from (np.asarray(words, dtype=np.int64).reshape(-1) for words in batch.rows.values())

    def save(self) -> bytes:
        """The facts, each batch with its position."""
        kept = ((position, batch) for position, batches in self._kept for batch in batches)
        return save_batches(kept, self.dictionary)

    def load(self, saved: bytes) -> None:
        """Gives a new evaluator the facts that another one had."""
        for position, batch in load_batches(saved, self.dictionary):
            self.add(position, [batch])


class HeldWindows:
    """Windows and what is in them: facts of streams, and facts that other parts of a plan derive.

    Where it `saves`, the facts that windows hold are kept, so that the state can be saved.
    """

    def __init__(self, windowed: Windowed, evaluator: Connected, saves: bool) -> None:
        self.windowed = windowed
        self._evaluator = evaluator
        self._held: Held | None = None
        if saves:
            self._held = windowed.evaluator = evaluator if isinstance(evaluator, Held) else Held(evaluator)
        self._derived = Heard()

    def silence(self, silent: bool) -> None:
        """From now on nothing is solved, or everything is."""
        if self._held is not None:
            self._held.silent = silent

    def advance(self, tick: int, first: int | None, updates: Updates) -> Iterator[Answer]:
        """Takes what comes at a tick; the answers of all windows that close up to it. `first` is that of the run."""
        windowed = self.windowed
        if windowed.first is None:
            windowed.first = tick if first is None else first
        if updates.held:
            if tick > windowed.first:
                # Windows that close before hold what held until now.
                yield from windowed.advance(tick - 1, ())
            self._hold(_joined(updates.held))
            windowed.refresh()
        yield from windowed.advance(tick, updates.events)

    def _hold(self, changes: list[Given]) -> None:
        begun, ended = Batch(), Batch()
        for change in changes:
            for batch, rows in ((begun, change.begun), (ended, change.ended)):
                if len(rows):
                    batch.rows[change.signature] = rows.reshape(-1)
        self._evaluator.hold(begun, ended)
        if self._held is not None:
            self._derived.change(("", 0, change) for change in changes)

    def words_in_use(self) -> NDArray[np.int64]:
        """The words of the facts that are kept, and of what the evaluator needs."""
        kept = () if self._held is None else self._held.words()
        return np.concatenate([self._evaluator.words_in_use(), *kept, *self._derived.words()])

    def snapshot(self) -> bytes:
        """How far the windows have come, and what they hold."""
        assert self._held is not None
        derived = self._derived.save(self.windowed.dictionary)
        return frame([encode(self.windowed.save(), {}), self._held.save(), derived])

    def resume(self, data: bytes) -> None:
        """Goes on where a snapshot was taken."""
        assert self._held is not None
        about, facts, derived = unframe(data)
        self.windowed.load(decode(about)[0])
        self._held.load(facts)
        self._derived.load(derived, self.windowed.dictionary)
        for batch in self._derived.events():
            self._evaluator.hold(batch, Batch())

    def close(self) -> None:
        """Nothing more will be asked."""
        self.windowed.close()


def _joined(changes: Sequence[Given]) -> list[Given]:
    """One change of each predicate; several buckets may give facts of the same one.

    >>> p, none = Predicate("p", 1), np.zeros((0, 1), dtype=np.int64)
    >>> (change,) = _joined([Given(p, False, np.array([[5]]), none), Given(p, False, np.array([[9]]), none)])
    >>> change.begun.tolist(), change.ended.tolist()
    ([[5], [9]], [])
    """
    by_name: dict[Predicate, list[Given]] = {}
    for change in changes:
        by_name.setdefault(change.signature, []).append(change)
    return [
        Given(
            name,
            False,
            np.concatenate([change.begun for change in group]),
            np.concatenate([change.ended for change in group]),
        )
        for name, group in by_name.items()
    ]
