"""What arrives at one place of a plan: events, held facts of several others as one, and what holds as events.

held     a fact that two parts give begins with the first of them, and ends with the last
heard    what holds becomes an event of a stream at each tick that its reader looks at
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from thalweg.engine import Given
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.model.saved_batches import load_batches, save_batches
from thalweg.model.saved_rows import load_rows, save_rows

Rows = NDArray[np.int64]
Key = tuple[Predicate, bool]


@dataclass(slots=True)
class Arrivals:
    """What has come to a place for one tick: `heard` has the stream of each, and a number for who said it."""

    batches: list[Batch] = field(default_factory=list)
    given: list[Given] = field(default_factory=list)
    heard: list[tuple[str, int, Given]] = field(default_factory=list)

    def words(self) -> Iterator[Rows]:
        """The words that are needed until it is taken in."""
        for batch in self.batches:
            yield from (np.asarray(words, dtype=np.int64).reshape(-1) for words in batch.rows.values())
        for each in (*self.given, *(one for _, _, one in self.heard)):
            yield from (each.begun.reshape(-1), each.ended.reshape(-1))

    def save(self, tick: int, words: Dictionary) -> bytes:
        """All of it, with its tick."""
        tables = [
            ((stream, source, each.signature, each.timed, which), rows)
            for stream, source, each in (*((None, 0, one) for one in self.given), *self.heard)
            for which, rows in (("begun", each.begun), ("ended", each.ended))
        ]
        batches = save_batches(((tick, batch) for batch in self.batches), words)
        return frame([encode({"tick": tick}, {}), batches, save_rows(tables, words)])

    @classmethod
    def load(cls, data: bytes, words: Dictionary) -> "tuple[int, Arrivals]":
        """What was saved, and its tick."""
        about, batches, rows = unframe(data)
        found = cls([batch for _, batch in load_batches(batches, words)])
        tables = iter(load_rows(rows, words))
        for ((stream, source, name, timed, _), begun), (_, ended) in zip(tables, tables, strict=True):
            each = Given(Predicate.read(name), timed, begun, ended)
            if stream is None:
                found.given.append(each)
            else:
                found.heard.append((stream, source, each))
        return decode(about)[0]["tick"], found


class Union:
    """Held facts that several parts give, counted: to their reader each is one fact.

    >>> p, row, none = Predicate("p", 1), np.array([[5]]), np.zeros((0, 1), dtype=np.int64)
    >>> union = Union({(p, False)})
    >>> begins, ends = Given(p, False, row, none), Given(p, False, none, row)
    >>> [[(len(one.begun), len(one.ended)) for one in union.turn(some)] for some in ([begins, begins], [ends], [ends])]
    [[(1, 0)], [], [(0, 1)]]
    """

    def __init__(self, shared: Iterable[Key]) -> None:
        self._count: dict[Key, Counter[tuple[int, ...]]] = {key: Counter() for key in shared}

    def turn(self, given: Iterable[Given]) -> list[Given]:
        """What begins and ends to the reader; of one tick, from all that give something."""
        found: list[Given] = []
        steps: dict[Key, Counter[tuple[int, ...]]] = {}
        for each in given:
            if (each.signature, each.timed) in self._count:
                changes = steps.setdefault((each.signature, each.timed), Counter())
                changes.update(map(tuple, each.begun.tolist()))
                changes.subtract(map(tuple, each.ended.tolist()))
            else:
                found.append(each)
        return found + [one for key, changes in steps.items() if (one := self._change(key, changes)) is not None]

    def _change(self, key: Key, changes: "Counter[tuple[int, ...]]") -> Given | None:
        count, width = self._count[key], key[0].arity + key[1]
        begun = [row for row, step in changes.items() if step > 0 and not count[row]]
        ended = [row for row, step in changes.items() if step < 0 and count[row] == -step]
        for row, step in changes.items():
            count[row] += step
        for row in ended:
            del count[row]
        return Given(*key, _table(begun, width), _table(ended, width)) if begun or ended else None

    def words(self) -> Iterator[Rows]:
        return (_table(list(rows), key[0].arity + key[1]).reshape(-1) for key, rows in self._count.items())

    def save(self, words: Dictionary) -> bytes:
        """Who counts: each row as often as it is given."""
        tables = (
            (key, _table(list(count.elements()), key[0].arity + key[1])) for key, count in sorted(self._count.items())
        )
        return save_rows(tables, words)

    def load(self, data: bytes, words: Dictionary) -> None:
        for (name, timed), rows in load_rows(data, words):
            self._count[Predicate.read(name), timed] = Counter(map(tuple, rows.tolist()))


class Heard:
    """What holds, as events of streams: each stream has one at a tick, with all that holds of it then."""

    def __init__(self) -> None:
        self._holding: dict[tuple[str, int, Predicate], dict[tuple[int, ...], None]] = {}

    def change(self, heard: Iterable[tuple[str, int, Given]]) -> None:
        """Facts begin and end."""
        for stream, source, each in heard:
            rows = self._holding.setdefault((stream, source, each.signature), {})
            for row in map(tuple, each.ended.tolist()):
                rows.pop(row, None)
            rows.update(dict.fromkeys(map(tuple, each.begun.tolist())))

    def events(self) -> list[Batch]:
        """An event of each stream on which something holds."""
        found: dict[str, dict[Predicate, dict[tuple[int, ...], None]]] = {}
        for (stream, _, name), rows in self._holding.items():
            if rows:
                found.setdefault(stream, {}).setdefault(name, {}).update(rows)
        return [
            Batch({name: _table(list(rows), name.arity).reshape(-1) for name, rows in some.items()}, [], stream)
            for stream, some in sorted(found.items())
        ]

    def words(self) -> Iterator[Rows]:
        return (_table(list(rows), name.arity).reshape(-1) for (_, _, name), rows in self._holding.items())

    def save(self, words: Dictionary) -> bytes:
        return save_rows(((key, _table(list(rows), key[2].arity)) for key, rows in self._holding.items()), words)

    def load(self, data: bytes, words: Dictionary) -> None:
        for (stream, source, name), rows in load_rows(data, words):
            self._holding[stream, source, Predicate.read(name)] = dict.fromkeys(map(tuple, rows.tolist()))


def _table(rows: list[tuple[int, ...]], width: int) -> Rows:
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)
