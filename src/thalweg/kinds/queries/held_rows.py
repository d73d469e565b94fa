"""Rows that begin and end elsewhere: what has come of them waits for the next evaluation."""

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from thalweg.engine import Given
from thalweg.kinds.queries.solutions import Changes
from thalweg.kinds.queries.sparql_expressions import Words
from thalweg.model.dictionary import Dictionary
from thalweg.model.predicate import Predicate
from thalweg.model.saved_rows import load_rows, save_rows

Row = tuple[int, ...]


class HeldRows:
    """Rows as held facts of other operators; of some predicates those that stand are kept."""

    def __init__(self, kept: Iterable[Predicate]) -> None:
        self._changes: list[tuple[int, Given]] = []
        self._standing: dict[Predicate, dict[Row, None]] = {name: {} for name in kept}

    @property
    def waiting(self) -> bool:
        """Whether rows have changed since the last evaluation."""
        return bool(self._changes)

    @property
    def standing(self) -> dict[Predicate, Words]:
        """The rows that stand since the last evaluation."""
        return {name: _table(name, rows) for name, rows in self._standing.items()}

    def take(self, tick: int, changes: Iterable[Given]) -> None:
        """Keeps rows that begin and end at a tick until the next evaluation."""
        self._changes += ((tick, change) for change in changes)

    def turn(self, tick: int) -> Changes:
        """The rows that begin and end up to a tick."""
        steps: dict[Predicate, Counter[Row]] = {}
        for _, change in (change for change in self._changes if change[0] <= tick):
            counts = steps.setdefault(change.signature, Counter())
            counts.update(map(tuple, change.begun.tolist()))
            counts.subtract(map(tuple, change.ended.tolist()))
        self._changes = [change for change in self._changes if change[0] > tick]
        changes = {}
        for name, counts in steps.items():
            begun = [row for row, step in counts.items() if step > 0]
            ended = [row for row, step in counts.items() if step < 0]
            if name in self._standing:
                for row in ended:
                    del self._standing[name][row]
                self._standing[name].update(dict.fromkeys(begun))
            changes[name] = _table(name, begun), _table(name, ended)
        return changes

    def words(self) -> Iterator[Words]:
        """The words of all rows."""
        yield from (rows.reshape(-1) for rows in self.standing.values())
        yield from (rows.reshape(-1) for _, change in self._changes for rows in (change.begun, change.ended))

    def save(self, words: Dictionary) -> bytes:
        """All rows."""
        standing = [([name], rows) for name, rows in self.standing.items()]
        waiting = [
            ([change.signature, tick, sign], rows)
            for tick, change in self._changes
            for sign, rows in (("begun", change.begun), ("ended", change.ended))
        ]
        return save_rows([*standing, *waiting], words)

    def load(self, data: bytes, words: Dictionary) -> None:
        """Goes on where another one was saved."""
        for (text, *when), rows in load_rows(data, words):
            name = Predicate.read(text)
            if not when:
                self._standing[name] = dict.fromkeys(map(tuple, rows.tolist()))
                continue
            tick, sign = when
            pair = (rows, rows[:0]) if sign == "begun" else (rows[:0], rows)
            self._changes.append((tick, Given(name, False, *pair)))


def _table(name: Predicate, rows: Iterable[Row]) -> Words:
    listed = list(rows)
    return np.array(listed, dtype=np.int64).reshape(len(listed), name.arity)
