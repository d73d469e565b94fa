"""Rows on their way into the kernel."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from thalweg.engine.layout import FEED_RUN, FEED_SEEN, FEED_TIMED
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.planning.rule_plan import Feed

Rows = NDArray[np.int64]
_KINDS = {"seen": FEED_SEEN, "timed": FEED_TIMED, "run": FEED_RUN}
_NO_WORDS: Rows = np.zeros(0, dtype=np.int64)
_NO_FEEDS: Rows = np.zeros((0, 7), dtype=np.int64)


class Feeds:
    """Rows on their way into the kernel: words, and for each feed (kind, relation, size, target, start, rows, wide)."""

    def __init__(self) -> None:
        self.length = 0
        self._words: list[Rows] = []
        self._index: list[Rows] = []
        self._starts: list[int] = []
        self._counts: list[int] = []

    def add(self, kind: int, relation: int, size: int, target: int, words: list[int], rows: int, wide: int) -> None:
        self.put(np.array([(kind, relation, size, target, 0, 0, wide)]), np.array(words, dtype=np.int64), rows)

    def put(self, feeds: Rows, words: Rows, rows: int) -> None:
        """The same rows for several feeds."""
        self._index.append(feeds)
        self._words.append(words)
        self._starts += [self.length] * len(feeds)
        self._counts += [rows] * len(feeds)
        self.length += len(words)

    def arrays(self) -> tuple[Rows, Rows]:
        if not self._index:
            return _NO_WORDS, _NO_FEEDS
        index = np.concatenate(self._index)
        index[:, 4] = self._starts
        index[:, 5] = self._counts
        return plain(self._words[0]) if len(self._words) == 1 else np.concatenate(self._words), index


def plain(words: Rows) -> Rows:
    """Words as a kernel takes them: it would be compiled once more for a slice, and for what cannot be written to.

    >>> plain(np.arange(6).reshape(3, 2)[:, 1]).flags.c_contiguous
    True
    """
    return words if words.flags.c_contiguous and words.flags.writeable else words.copy()


def gathered(batch: Batch, into: Mapping[Predicate, tuple[Predicate, Rows]], kept: Collection[Predicate]) -> Batch:
    """A batch in which some facts are fed as others, with constants added; those that are `kept` stay besides.

    >>> p, q, kind = Predicate("p", 1), Predicate("q", 1), Predicate("kind", 2)
    >>> fed = gathered(Batch({p: [8, 12], q: [16]}), {p: (kind, np.array([13]))}, ())
    >>> fed.rows[kind].tolist(), list(fed.rows)
    ([8, 13, 12, 13], ['q/1', 'kind/2'])
    """
    fed = Batch(stream=batch.stream)
    by_target: dict[Predicate, tuple[list[Rows], list[Rows]]] = {}
    for signature, rows in batch.rows.items():
        target = into.get(signature)
        if target is None or signature in kept:
            fed.rows[signature] = rows
        if target is not None:
            parts, constants = by_target.setdefault(target[0], ([], []))
            parts.append(rows.reshape(-1) if isinstance(rows, np.ndarray) else np.array(rows, dtype=np.int64))
            constants.append(target[1])
    for signature, (parts, constants) in by_target.items():
        added = np.repeat(np.array(constants), [len(part) for part in parts], axis=0)
        fed.rows[signature] = np.column_stack((np.concatenate(parts), added)).reshape(-1)
    return fed


def feed_index(signature: Predicate, feeds: Sequence[Feed]) -> Rows:
    """The feeds of one signature on one stream, as the kernel reads them."""
    wide = signature.arity
    return np.array(
        [
            (_KINDS[feed.kind], feed.relation.number, feed.size, feed.target.number if feed.target else -1, 0, 0, wide)
            for feed in feeds
        ],
        dtype=np.int64,
    )
