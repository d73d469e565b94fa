"""Tuple windows: which facts are in, and which are pushed out."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from thalweg.model.predicate import Predicate
from thalweg.planning.plan import TupleFeed

Arrival = tuple[Predicate, tuple[int, ...], int]
"""Signature, words, tick."""


@dataclass(slots=True)
class TupleState:
    """The facts of one tuple window, oldest first, and how many have ever come."""

    feed: TupleFeed
    inside: deque[Arrival] = field(default_factory=deque)
    total: int = 0

    def advance(
        self, tick: int, arrivals: Iterator[tuple[Predicate, tuple[int, ...], str | None]]
    ) -> tuple[list[Arrival], list[Arrival]]:
        """Takes in the facts of a tick; those that came to stay, and those pushed out that were there before."""
        counted = self.feed.window.of
        fresh = dict.fromkeys(
            (signature, words, tick)
            for signature, words, stream in arrivals
            if self.feed.stream in (None, stream) and counted in (None, signature)
        )
        self.inside.extend(fresh)
        self.total += len(fresh)
        gone = [self.inside.popleft() for _ in range(len(self.inside) - self.feed.window.size)]
        entered = list(fresh)[-self.feed.window.size :]
        return entered, [arrival for arrival in gone if arrival[2] < tick]

    def start(self, first: int) -> int:
        """The first tick of the window."""
        return self.inside[0][2] if self.total > self.feed.window.size else first
