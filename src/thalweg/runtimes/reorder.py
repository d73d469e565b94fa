"""The watermark buffer: what may still be overtaken waits here, and leaves in the order of time.

    watermark = highest tick seen - delay        decided: every tick before it        late: an event of such a tick

Whether an event is late depends on the events before it and on nothing else (not on blocks, not on what has been
evaluated so far), so a stream gives the same answers however it is cut.
"""

from collections.abc import Iterator
from heapq import heappop, heappush

from thalweg.model.event import Batch


class Reorder:
    """Batches of one or many streams, by tick; those of one tick stay in the order of arrival.

    >>> buffer = Reorder(delay=2)
    >>> [buffer.add(tick, Batch()) for tick in (5, 7, 6, 8, 5)]
    [True, True, True, True, False]
    >>> [tick for tick, batches in buffer.decided()], [tick for tick, batches in buffer.rest()]
    ([5], [6, 7, 8])
    """

    def __init__(self, delay: int = 0) -> None:
        self.delay = delay
        self.highest: int | None = None
        self._batches: dict[int, list[Batch]] = {}
        self._ticks: list[int] = []

    @property
    def watermark(self) -> int | None:
        """Every tick before this one is decided."""
        return None if self.highest is None else self.highest - self.delay

    def add(self, tick: int, batch: Batch) -> bool:
        """Takes a batch, unless its tick has been decided: then it is late, and False comes back."""
        if self.highest is None or tick > self.highest:
            self.highest = tick
        elif tick < self.highest - self.delay:
            return False
        waiting = self._batches.get(tick)
        if waiting is None:
            self._batches[tick] = [batch]
            heappush(self._ticks, tick)
        else:
            waiting.append(batch)
        return True

    def decided(self) -> Iterator[tuple[int, list[Batch]]]:
        """Takes out what the watermark has passed."""
        while self._ticks and self.highest is not None and self._ticks[0] < self.highest - self.delay:
            tick = heappop(self._ticks)
            yield tick, self._batches.pop(tick)

    def rest(self) -> Iterator[tuple[int, list[Batch]]]:
        """Takes out everything: nothing more will come."""
        while self._ticks:
            tick = heappop(self._ticks)
            yield tick, self._batches.pop(tick)

    def waiting(self) -> list[Batch]:
        """What is still held."""
        return [batch for batches in self._batches.values() for batch in batches]
