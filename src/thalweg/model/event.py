"""Events, and their coded form."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from thalweg.model.fact import Fact


@dataclass(frozen=True, slots=True)
class Event:
    """What a stream delivers at once: facts at one tick.

    >>> Event(36, (Fact("a", ("x1", "y")),)).tick
    36
    """

    tick: int
    facts: tuple[Fact, ...]
    stream: str | None = None


@dataclass(slots=True)
class Batch:
    """The facts of one tick on one stream as words (see `number`), ready for the engine.

    `rows` has the words of each signature's facts, one fact after the other; `order` has the signature of each fact in
    the order of arrival. Only tuple windows look at the order: a batch of arrays may leave it out.
    """

    rows: dict[str, list[int] | NDArray[np.int64]] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    stream: str | None = None

    def add(self, signature: str, words: list[int]) -> None:
        """Appends one fact."""
        row = self.rows.setdefault(signature, [])
        assert isinstance(row, list)
        row.extend(words)
        self.order.append(signature)
