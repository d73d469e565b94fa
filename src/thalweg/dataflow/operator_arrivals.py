"""What comes to an operator at a tick, from the operators that it reads.

held     a fact that two operators give begins with the first of them, and ends with the last
heard    what holds becomes an event of a stream at each tick that its reader looks at
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from thalweg.dataflow.operator import Doubt, HeldKey, Updates, Words
from thalweg.engine import Given
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.model.records import as_json, of_json
from thalweg.model.saved_batches import load_batches, save_batches
from thalweg.model.saved_rows import load_rows, save_rows

Row = tuple[int, ...]


@dataclass(slots=True)
class Arrivals:
    """What has come for one tick: `heard` has the stream of each change, and the number of the operator it is from."""

    events: list[Batch] = field(default_factory=list)
    held: list[Given] = field(default_factory=list)
    heard: list[tuple[str, int, Given]] = field(default_factory=list)
    records: list[Any] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)
    givers: set[tuple[int, HeldKey]] = field(default_factory=set, compare=False, repr=False)
    """The operators of this fragment that have given something, by predicate."""

    def give(self, source: int, change: Given) -> None:
        """Takes held facts of an operator; what it gives in several outputs of one tick is netted."""
        key = change.signature, change.timed
        if (source, key) in self.givers:
            same = [earlier for earlier in self.held if (earlier.signature, earlier.timed) == key]
            self.held = [earlier for earlier in self.held if (earlier.signature, earlier.timed) != key]
            self.held += netted([*same, change])
        else:
            self.givers.add((source, key))
            self.held.append(change)

    def add(self, more: "Arrivals") -> None:
        """Takes in what has come for the same tick."""
        self.events += more.events
        self.held += more.held
        self.heard += more.heard
        self.records += more.records
        self.doubts += more.doubts

    def read_here(self, keys: Collection[object], numbers: Mapping[int, int]) -> "Arrivals":
        """What of it an operator of another plan reads: held facts of some keys, and what has a number there."""
        held = [change for change in self.held if (change.signature, change.timed) in keys]
        heard = [(stream, numbers[source], change) for stream, source, change in self.heard if source in numbers]
        return Arrivals(list(self.events), held, heard, list(self.records), list(self.doubts))

    def updates(self, changes: list[Given]) -> Updates:
        """The updates for an operator, with `changes` of held facts as it sees them."""
        return Updates(self.events, changes, self.records, self.doubts)

    def words(self) -> Iterator[Words]:
        """The words that are needed until it is taken in."""
        for batch in self.events:
            yield from (np.asarray(words, dtype=np.int64).reshape(-1) for words in batch.rows.values())
        for change in (*self.held, *(change for _, _, change in self.heard)):
            yield from (change.begun.reshape(-1), change.ended.reshape(-1))

    def save(self, tick: int, words: Dictionary) -> bytes:
        """The arrivals and their tick as bytes."""
        changes = [*((None, 0, change) for change in self.held), *self.heard]
        tables = [
            ((stream, source, change.signature, change.timed, side), rows)
            for stream, source, change in changes
            for side, rows in (("begun", change.begun), ("ended", change.ended))
        ]
        batches = save_batches(((tick, batch) for batch in self.events), words)
        doubts = [[*key, sender, list(names)] for key, sender, names in self.doubts]
        about = {"tick": tick, "records": as_json(self.records), "doubts": doubts}
        if lasting := [place for place, change in enumerate(self.held) if change.lasting]:
            about |= {"lasting": lasting}
        return frame([encode(about, {}), batches, save_rows(tables, words)])

    @classmethod
    def load(cls, data: bytes, words: Dictionary) -> "tuple[int, Arrivals]":
        """The tick and the arrivals that were saved."""
        about, batches, rows = unframe(data)
        header, _ = decode(about)
        arrivals = cls([batch for _, batch in load_batches(batches, words)])
        tables, lasting = iter(load_rows(rows, words)), {*header.get("lasting", ())}
        for ((stream, source, name, timed, _), begun), (_, ended) in zip(tables, tables, strict=True):
            is_lasting = stream is None and len(arrivals.held) in lasting
            change = Given(Predicate.read(name), timed, begun, ended, is_lasting)
            if stream is None:
                arrivals.held.append(change)
            else:
                arrivals.heard.append((stream, source, change))
        arrivals.records += of_json(header["records"])
        for name, timed, sender, names in header["doubts"]:
            arrivals.doubts.append(((Predicate.read(name), timed), sender, tuple(map(Predicate.read, names))))
        return header["tick"], arrivals


class Union:
    """Held facts that several operators give, counted: to their reader each is one fact.

    >>> p, row, none = Predicate("p", 1), np.array([[5]]), np.zeros((0, 1), dtype=np.int64)
    >>> union = Union({(p, False)})
    >>> begins, ends = Given(p, False, row, none), Given(p, False, none, row)
    >>> [[(len(change.begun), len(change.ended)) for change in union.turn(came)]
    ...     for came in ([begins, begins], [ends], [ends])]
    [[(1, 0)], [], [(0, 1)]]
    """

    def __init__(self, shared: Iterable[HeldKey]) -> None:
        self._count: dict[HeldKey, Counter[Row]] = {key: Counter() for key in shared}

    def take_over(self, other: "Union") -> None:
        """Goes on where another one is, for the predicates that are counted here."""
        for key, count in other._count.items():
            if key in self._count:
                self._count[key] = count

    def counts(self, key: HeldKey) -> bool:
        """Whether facts of a key are counted, because several operators give them."""
        return key in self._count

    def turn(self, updates: list[Given]) -> list[Given]:
        """The changes of one tick as the reader sees them: a fact that several operators give begins and ends once."""
        if not self._count:
            return updates
        single: list[Given] = []
        steps: dict[HeldKey, Counter[Row]] = {}
        for change in updates:
            if (change.signature, change.timed) in self._count:
                changes = steps.setdefault((change.signature, change.timed), Counter())
                changes.update(map(tuple, change.begun.tolist()))
                changes.subtract(map(tuple, change.ended.tolist()))
            else:
                single.append(change)
        return single + [turn for key, changes in steps.items() if (turn := self._change(key, changes)) is not None]

    def _change(self, key: HeldKey, changes: "Counter[Row]") -> Given | None:
        count, width = self._count[key], key[0].arity + key[1]
        begun = [row for row, step in changes.items() if step > 0 and not count[row]]
        ended = [row for row, step in changes.items() if step < 0 and count[row] == -step]
        for row, step in changes.items():
            count[row] += step
        for row in ended:
            del count[row]
        return Given(*key, _table(begun, width), _table(ended, width)) if begun or ended else None

    def words(self) -> Iterator[Words]:
        """The words of the facts that are counted."""
        return (_table(list(count), key[0].arity + key[1]).reshape(-1) for key, count in self._count.items())

    def save(self, words: Dictionary) -> bytes:
        """The facts that hold, as often as they are given."""
        tables = (
            (key, _table(list(count.elements()), key[0].arity + key[1])) for key, count in sorted(self._count.items())
        )
        return save_rows(tables, words)

    def load(self, data: bytes, words: Dictionary) -> None:
        """Goes on where another one was saved."""
        for (name, timed), rows in load_rows(data, words):
            self._count[Predicate.read(name), timed] = Counter(map(tuple, rows.tolist()))


def netted(held: list[Given]) -> list[Given]:
    """Changes of one tick, each predicate once: what begins and ends again, or ends and begins again, does neither.

    >>> p, row, none = Predicate("p", 1), np.array([[5]]), np.zeros((0, 1), dtype=np.int64)
    >>> [(len(change.begun), len(change.ended)) for change in netted([Given(p, False, row, none)] * 1)]
    [(1, 0)]
    >>> netted([Given(p, False, row, none), Given(p, False, none, row)])
    []
    """
    keys = [(change.signature, change.timed) for change in held]
    if len({*keys}) == len(keys):
        return held
    steps: dict[HeldKey, Counter[Row]] = {key: Counter() for key in keys}
    for key, change in zip(keys, held, strict=True):
        steps[key].update(map(tuple, change.begun.tolist()))
        steps[key].subtract(map(tuple, change.ended.tolist()))
    changes = []
    for key, rows in steps.items():
        begun, ended = ([row for row, step in rows.items() if step * sign > 0] for sign in (1, -1))
        if begun or ended:
            width = key[0].arity + key[1]
            changes.append(Given(*key, _table(begun, width), _table(ended, width)))
    return changes


class Heard:
    """What holds, as events of streams: each stream has an event at a tick, with all that holds of it then."""

    def __init__(self) -> None:
        self._holding: dict[tuple[str, int, Predicate], dict[Row, None]] = {}

    def change(self, heard: Iterable[tuple[str, int, Given]]) -> None:
        """Facts begin and end."""
        for stream, source, change in heard:
            rows = self._holding.setdefault((stream, source, change.signature), {})
            for row in map(tuple, change.ended.tolist()):
                rows.pop(row, None)
            rows.update(dict.fromkeys(map(tuple, change.begun.tolist())))

    def take_over(self, other: "Heard", numbers: Mapping[int, int]) -> None:
        """Goes on where another one is, for the operators that have numbers here."""
        for (stream, source, name), rows in other._holding.items():
            if source in numbers:
                self._holding[stream, numbers[source], name] = rows

    def events(self) -> list[Batch]:
        """An event of each stream on which something holds."""
        streams: dict[str, dict[Predicate, dict[Row, None]]] = {}
        for (stream, _, name), rows in self._holding.items():
            if rows:
                streams.setdefault(stream, {}).setdefault(name, {}).update(rows)
        return [
            Batch({name: _table(list(rows), name.arity).reshape(-1) for name, rows in facts.items()}, [], stream)
            for stream, facts in sorted(streams.items())
        ]

    def words(self) -> Iterator[Words]:
        """The words of the facts that hold."""
        return (_table(list(rows), name.arity).reshape(-1) for (_, _, name), rows in self._holding.items())

    def save(self, words: Dictionary) -> bytes:
        """All that holds."""
        return save_rows(((key, _table(list(rows), key[2].arity)) for key, rows in self._holding.items()), words)

    def load(self, data: bytes, words: Dictionary) -> None:
        """Goes on where another one was saved."""
        for (stream, source, name), rows in load_rows(data, words):
            self._holding[stream, source, Predicate.read(name)] = dict.fromkeys(map(tuple, rows.tolist()))


def since(first: int, change: Given) -> Given:
    """A change without facts of ticks before the first, and without those that are guaranteed until then only."""
    begun, ended = change.begun, change.ended
    if change.timed:
        column = -2 if change.lasting else -1
        begun, ended = (rows[rows[:, column] >> 2 >= first] for rows in (begun, ended))
    if change.lasting:
        begun = begun[begun[:, -1] >= first]
    return replace(change, begun=begun, ended=ended)


def _table(rows: list[Row], width: int) -> Words:
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)
