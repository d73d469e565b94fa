"""Which facts of streams and background are about certain things, and until when they count.

Nothing is kept for it. Rows are found by the indexes that rules have, so that an answer costs what is found;
where rules have none, as for properties, the rows that live are looked through on demand.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.engine.arena import mentioning
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.time import FOREVER

if TYPE_CHECKING:
    from thalweg.engine.engine import PlanEngine

Rows = NDArray[np.int64]
_A_FEW: Final = 16


class TimedFact(NamedTuple):
    """A fact, its last tick, and the last tick of evaluation at which it counts; None for what holds at all times."""

    fact: Fact
    tick: int | None
    until: int | None

    def __str__(self) -> str:
        return str(self.fact) if self.tick is None else f"{self.fact} at {self.tick}"


def facts_about(engine: "PlanEngine", terms: Sequence[str]) -> Iterator[TimedFact]:
    """The facts that have come in, still count, and have one of the terms among their arguments."""
    sizes = _sizes(engine)
    words = np.array([engine.dictionary.code(term) for term in terms], dtype=np.int64)
    rows = np.unique(np.concatenate((_indexed(engine, words), *_looked_through(engine, words, sizes))))
    spell = engine.dictionary.spell
    for relation, horizon, words in zip(
        engine.arrays.relations[rows].tolist(),
        engine.arrays.horizons[rows].tolist(),
        engine.arrays.columns[rows].tolist(),
        strict=True,
    ):
        if relation in sizes:
            signature, size = sizes[relation]
            fact = engine.plan.copies.origin(signature, tuple(map(spell, words[: signature.arity])))
            forever = horizon >= FOREVER
            yield TimedFact(fact, None if forever else horizon - size, None if forever else horizon)


def _sizes(engine: "PlanEngine") -> dict[int, tuple[Predicate, int]]:
    """The relations that streams are fed into: whose facts, and for how long."""
    feeds = engine.plan.feeds.items()
    return {
        feed.relation.number: (name, feed.size)
        for (name, _), predicate_feeds in feeds
        for feed in predicate_feeds
        if feed.kind == "seen"
    }


def _indexed(engine: "PlanEngine", words: Rows) -> Rows:
    arrays, buffer = engine.arrays, np.zeros(64, dtype=np.int64)
    while (count := mentioning(engine.table.words, arrays.scalars, engine.table.by_column, words, buffer)) > len(
        buffer
    ):
        buffer = np.zeros(count, dtype=np.int64)
    return buffer[:count] // arrays.stride


def _looked_through(engine: "PlanEngine", words: Rows, sizes: dict[int, tuple[Predicate, int]]) -> Iterator[Rows]:
    """The rows that no index leads to."""
    assert engine.now is not None
    arrays, indexed = engine.arrays, {(relation, column) for relation, _, column, _ in engine.table.by_column.tolist()}
    fed_as = {signature for signature, _ in engine.plan.copies.into.values()}
    missing: dict[int, list[int]] = {}
    for relation, (signature, _) in sizes.items():
        # What is fed as something else has its individual in front, and numbers behind it.
        for column in range(1 if signature in fed_as else signature.arity):
            if (relation, column) not in indexed:
                missing.setdefault(column, []).append(relation)
    for column, relations in missing.items():
        rows = _with_one_of(arrays.columns[:, column], words)
        lives = np.isin(arrays.relations[rows], relations) & (arrays.horizons[rows] >= engine.now)
        yield rows[lives]


def _with_one_of(values: Rows, words: Rows) -> Rows:
    """Where one of the words stands. A few comparisons are faster than what finds many at once."""
    if len(words) > _A_FEW:
        return np.flatnonzero(np.isin(values, words))
    return np.concatenate([np.flatnonzero(values == word) for word in words])
