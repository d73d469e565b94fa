"""Tuple windows: which facts are in, and which are pushed out."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from thalweg.engine import last_by_key as layout
from thalweg.engine.feeds import plain
from thalweg.engine.last_by_key import take
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.planning.rule_plan import KeyedFeed, TupleFeed

Arrival = tuple[Predicate, tuple[int, ...], int]
"""Signature, words, tick."""

Rows = NDArray[np.int64]

_NO_WORDS: Final = np.zeros(0, dtype=np.int64)
_FACTS: Final = 64
"""How many facts by key there is room for at first."""


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


class KeyedState:
    """The last facts of each key, as rows (X,U), in arrays that a kernel changes (`last_by_key`).

    A key stays as long as the engine does: only another fact of the same key pushes a fact out.
    """

    def __init__(self, feed: KeyedFeed) -> None:
        self.feed = feed
        self._wide = feed.relation.arity
        self._by = np.array(feed.window.by, dtype=np.int64)
        self._allocate(_FACTS)
        self._make_scratch(1)

    def _allocate(self, capacity: int) -> None:
        """Empty arrays for as many facts, each of which may be the only one of its key."""
        self._capacity = capacity
        self._keys = np.empty(capacity * layout.KEY, dtype=np.int64)
        self._facts = np.empty(capacity * (layout.WORDS + self._wide), dtype=np.int64)
        self._heads = np.full(_power_of_two(capacity), -1, dtype=np.int64)
        self._scalars = np.zeros(layout.SCALARS, dtype=np.int64)

    def _make_scratch(self, most: int) -> None:
        """Allocates the arrays that the kernel writes to, for a number of facts that come at once."""
        self._seen = np.empty(_power_of_two(2 * most), dtype=np.int64)
        self._key_of = np.empty(most, dtype=np.int64)
        self._entered, self._left = np.empty((2, most * self._wide), dtype=np.int64)

    @property
    def size(self) -> int:
        """Bytes held."""
        return self._keys.nbytes + self._facts.nbytes + self._heads.nbytes

    @property
    def rows(self) -> Rows:
        """The rows that the windows hold, in the order of arrival."""
        wide = layout.WORDS + self._wide
        facts = self._facts[: self._scalars[layout.FACTS_USED]].reshape(-1, wide)
        return facts[np.argsort(facts[:, layout.NUMBER]), layout.WORDS :]

    def advance(self, tick: int, batches: Sequence[Batch]) -> tuple[Rows, Rows]:
        """Takes in the facts of a tick; the rows that came to stay, and those pushed out that were there before.

        Both are good until the next call.
        """
        signature, stream = self.feed.signature, self.feed.stream
        parts = [
            batch.rows[signature] for batch in batches if stream in (None, batch.stream) and signature in batch.rows
        ]
        flat = [np.asarray(part, dtype=np.int64).reshape(-1) for part in parts]
        words = flat[0] if len(flat) == 1 else np.concatenate([*flat, _NO_WORDS])
        arrived = np.empty((len(words) // (self._wide - 1), self._wide), dtype=np.int64)
        arrived[:, :-1] = words.reshape(-1, self._wide - 1)
        arrived[:, -1] = tick << 2 | 1
        return self.take(arrived)

    def take(self, rows: Rows) -> tuple[Rows, Rows]:
        """Takes in rows (X,U); returns the rows that came to stay, and those pushed out that were there before."""
        many = len(rows)
        if not many:
            return rows, rows
        wide = layout.WORDS + self._wide
        if int(self._scalars[layout.FACTS_USED]) // wide + many > self._capacity:
            earlier = self.rows
            self._allocate(2 * (len(earlier) + many))
            self.take(earlier)
        if many > len(self._key_of):
            self._make_scratch(2 * many)
        take(
            plain(rows.reshape(-1)),
            self._wide,
            self._by,
            self.feed.window.size,
            self._keys,
            self._heads,
            self._facts,
            self._scalars,
            self._seen,
            self._key_of,
            self._entered,
            self._left,
        )
        came, went = self._scalars[layout.ENTERED : layout.LEFT + 1].tolist()
        entered, left = self._entered[: came * self._wide], self._left[: went * self._wide]
        return entered.reshape(-1, self._wide), left.reshape(-1, self._wide)


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()
