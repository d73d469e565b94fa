"""What rules and answer sets conclude, as events: an individual's, when it begins to be in a class that is asked for.

    jam(r1) begins, while speed(r1,4) holds        an event of r1 with the graph { r1 a :jam ; :speed 4 }

The graph of the event is what is concluded of the individual at that tick.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from thalweg.engine import Given
from thalweg.model.dictionary import Dictionary
from thalweg.model.predicate import Predicate
from thalweg.model.saved_rows import load_rows, save_rows

Row = tuple[int, ...]
Conclusion = tuple[Predicate, Row]


class ConcludedEvents:
    """What holds of each individual; an event begins with a conclusion of one of the `classes`.

    >>> jam, speed, none = Predicate("jam", 1), Predicate("speed", 2), np.zeros((0, 1), dtype=np.int64)
    >>> events = ConcludedEvents({jam})
    >>> list(events.take([Given(speed, False, np.array([[5, 4]]), none)]))
    []
    >>> list(events.take([Given(jam, False, np.array([[5]]), none)]))
    [[('speed/2', (5, 4)), ('jam/1', (5,))]]
    """

    def __init__(self, classes: Collection[Predicate]) -> None:
        self._classes = classes
        self._holding: dict[int, dict[Conclusion, None]] = {}

    def take(self, changes: Sequence[Given]) -> Iterator[list[Conclusion]]:
        """What begins and ends at a tick; the graphs of the events that begin."""
        begun: list[Conclusion] = []
        for change in changes:
            for row in map(tuple, change.ended.tolist()):
                self._end(change.signature, row)
            for row in map(tuple, change.begun.tolist()):
                self._holding.setdefault(row[0], {})[change.signature, row] = None
                if change.signature in self._classes:
                    begun.append((change.signature, row))
        subjects = dict.fromkeys(row[0] for name, row in begun if (name, row) in self._holding.get(row[0], {}))
        return (list(self._holding[subject]) for subject in subjects)

    def _end(self, name: Predicate, row: Row) -> None:
        facts = self._holding.get(row[0], {})
        facts.pop((name, row), None)
        if not facts:
            self._holding.pop(row[0], None)

    def words(self) -> NDArray[np.int64]:
        """The words of the terms that are still needed."""
        rows = (row for facts in self._holding.values() for _, row in facts)
        return np.array([word for row in rows for word in row], dtype=np.int64)

    def save(self, words: Dictionary) -> bytes:
        """All conclusions that hold, as bytes."""
        tables: dict[Predicate, list[Row]] = {}
        for facts in self._holding.values():
            for name, row in facts:
                tables.setdefault(name, []).append(row)
        return save_rows(((name, np.array(rows, dtype=np.int64)) for name, rows in tables.items()), words)

    def load(self, data: bytes, words: Dictionary) -> None:
        """Brings one that has seen nothing to where another was saved."""
        for label, rows in load_rows(data, words):
            self._restore(Predicate.read(label), map(tuple, rows.tolist()))

    def _restore(self, name: Predicate, rows: Iterable[Row]) -> None:
        for row in rows:
            self._holding.setdefault(row[0], {})[name, row] = None
