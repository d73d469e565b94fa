"""Events, and their coded form."""

from collections.abc import Iterator
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

    def in_order(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Signature and words of each fact, in the order of arrival where it is known.

        >>> list(Batch({"p/1": [5, 9], "q/0": []}, ["p/1", "q/0", "p/1"]).in_order())
        [('p/1', (5,)), ('q/0', ()), ('p/1', (9,))]
        """
        widths = {signature: int(signature.rpartition("/")[2]) for signature in self.rows}
        flat = {
            signature: np.asarray(words, dtype=np.int64).reshape(-1).tolist() for signature, words in self.rows.items()
        }
        places = dict.fromkeys(self.rows, 0)
        for signature in self.order or _in_groups(flat, widths):
            place, wide = places[signature], widths[signature]
            places[signature] = place + wide
            yield signature, tuple(flat[signature][place : place + wide])


def _in_groups(flat: dict[str, list[int]], widths: dict[str, int]) -> Iterator[str]:
    for signature, words in flat.items():
        yield from [signature] * (len(words) // widths[signature] if widths[signature] else 1)
