"""The first facts of a run whose engines are elsewhere, so that its first conclusions can be explained here."""

from typing import Final

from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch, Event
from thalweg.model.time import FOREVER

MOST_KEPT: Final = 20_000
"""Facts that are kept."""


class KeptBeginning:
    """Keeps what comes, as long as there is room.

    >>> kept, words = KeptBeginning(), Dictionary()
    >>> kept.add(3, Batch(), words)
    >>> len(kept.events), kept.decided(delay=0) == FOREVER
    (1, True)
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._facts = 0
        self._is_whole = True

    def add(self, tick: int, batch: Batch, words: Dictionary) -> None:
        """Sees what comes at a tick."""
        if self._facts >= MOST_KEPT:
            self._is_whole = False
            return
        facts = tuple(batch.facts(words))
        self._facts += len(facts)
        self.events.append(Event(tick, facts, batch.stream))

    def decided(self, delay: int) -> int:
        """The last tick of which everything is known by what was kept."""
        return FOREVER if self._is_whole else max(event.tick for event in self.events) - delay - 1
