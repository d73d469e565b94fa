"""The facts that open windows hold, kept beside an evaluator: all that another one must know to answer on."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from thalweg.diagnostics import Source
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.saved_batches import load_batches, save_batches
from thalweg.parts.answer_sets.windowed import Answered, Evaluator, Windowed


def program_text(source: Source, inputs: Iterable[Predicate], background: Iterable[Fact]) -> str:
    """An answer set program as a saved state of it knows it."""
    return "\n".join([source.text, *inputs, *map(str, background)])


class Held:
    """An evaluator, and the facts that its windows hold; while it is `silent` nothing is solved."""

    def __init__(self, evaluator: Evaluator) -> None:
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
    """Windows whose state can be saved: from now on the facts that they hold are kept."""

    def __init__(self, windowed: Windowed) -> None:
        self._windowed = windowed
        evaluator = windowed.evaluator
        self._held = windowed.evaluator = evaluator if isinstance(evaluator, Held) else Held(evaluator)

    def words(self) -> Iterator[NDArray[np.int64]]:
        return self._held.words()

    def snapshot(self) -> bytes:
        """How far the windows have come, and what they hold."""
        return frame([encode(self._windowed.save(), {}), self._held.save()])

    def resume(self, data: bytes) -> None:
        """Goes on where a snapshot was taken."""
        about, held = unframe(data)
        self._windowed.load(decode(about)[0])
        self._held.load(held)
