"""Batches wait here until their ticks are decided (see `watermark`), and leave in the order of time."""

from collections.abc import Iterator
from heapq import heappop, heappush

from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.saved_batches import load_batches, save_batches


class Reorder:
    """Batches of one or many streams, by tick; those of one tick stay in the order of arrival.

    >>> buffer = Reorder()
    >>> for tick in (5, 7, 6, 5): buffer.add(tick, Batch())
    >>> [(tick, len(batches)) for tick, batches in buffer.up_to(6)], len(buffer.waiting())
    ([(5, 2), (6, 1)], 1)
    """

    def __init__(self) -> None:
        self._batches: dict[int, list[Batch]] = {}
        self._ticks: list[int] = []

    def add(self, tick: int, batch: Batch) -> None:
        """Takes a batch, whose tick is not decided yet."""
        waiting = self._batches.get(tick)
        if waiting is None:
            self._batches[tick] = [batch]
            heappush(self._ticks, tick)
        else:
            waiting.append(batch)

    def up_to(self, last: int) -> Iterator[tuple[int, list[Batch]]]:
        """Takes out the batches up to a tick."""
        while self._ticks and self._ticks[0] <= last:
            tick = heappop(self._ticks)
            yield tick, self._batches.pop(tick)

    def save(self, words: Dictionary) -> bytes:
        """The waiting batches as bytes."""
        waiting = ((tick, batch) for tick, batches in self._batches.items() for batch in batches)
        return save_batches(waiting, words)

    def load(self, saved: bytes, words: Dictionary) -> None:
        """Takes in the batches that were saved."""
        for tick, batch in load_batches(saved, words):
            self.add(tick, batch)

    def waiting(self) -> list[Batch]:
        """The batches that wait."""
        return [batch for batches in self._batches.values() for batch in batches]
