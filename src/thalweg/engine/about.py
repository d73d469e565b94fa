"""Which facts of streams and background speak of certain things, and until when they count.

Nothing is kept for it: the rows that live are looked at when somebody asks.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.model.fact import Fact
from thalweg.model.time import FOREVER

if TYPE_CHECKING:
    from thalweg.engine.engine import Engine


class Dated(NamedTuple):
    """A fact, its last tick, and the last tick of evaluation at which it counts; None for what holds at all times."""

    fact: Fact
    tick: int | None
    until: int | None

    def __str__(self) -> str:
        return str(self.fact) if self.tick is None else f"{self.fact} at {self.tick}"


def facts_about(engine: "Engine", terms: Sequence[str]) -> Iterator[Dated]:
    """The facts that have come in, still count, and have one of the terms among their arguments."""
    sizes = _sizes(engine)
    rows = _mentioning(engine, [engine.dictionary.code(term) for term in terms])
    spell = engine.dictionary.spell
    for relation, horizon, words in zip(
        engine.arrays.relations[rows].tolist(),
        engine.arrays.horizons[rows].tolist(),
        engine.arrays.columns[rows].tolist(),
        strict=True,
    ):
        if relation in sizes:
            signature, size = sizes[relation]
            arity = int(signature.rpartition("/")[2])
            fact = engine.gathering.origin(signature, tuple(map(spell, words[:arity])))
            forever = horizon >= FOREVER
            yield Dated(fact, None if forever else horizon - size, None if forever else horizon)


def _sizes(engine: "Engine") -> dict[int, tuple[str, int]]:
    """The relations that streams are fed into: whose facts, and for how long."""
    feeds = engine.plan.feeds.items()
    return {
        feed.relation.number: (name, feed.size) for (name, _), each in feeds for feed in each if feed.kind == "seen"
    }


def _mentioning(engine: "Engine", words: list[int]) -> NDArray[np.intp]:
    arrays = engine.arrays
    found = np.zeros(len(arrays.relations), dtype=np.bool_)
    for column in range(min(2, arrays.columns.shape[1])):
        found |= np.isin(arrays.columns[:, column], words)
    assert engine.now is not None
    return np.flatnonzero(found & (arrays.relations >= 0) & (arrays.horizons >= engine.now))
