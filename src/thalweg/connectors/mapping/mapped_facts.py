"""Rows become facts: each mapping gives columns of words and ticks, and runs of one tick become batches.

No row is touched by itself: arguments are coded column by column (`cells`), times likewise (`instants`), and a batch
is a slice of the result. A row that is no fact, or that must be said something about, is a place where runs are cut.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Mapping as Table
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from thalweg.connectors.batches import Item
from thalweg.connectors.mapping.cells import Coded, Column, Words, code_argument
from thalweg.connectors.mapping.instants import instants
from thalweg.connectors.mapping.mapping import Cell, Mapping, Path
from thalweg.connectors.mapping.tally import Tally
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.model.rdf import RDF_TYPE, names_a_predicate
from thalweg.model.time import Clock

Said = dict[int, list[Callable[[], Iterable[Item]]]]
"""What there is to say about rows, besides facts: it comes before the facts of its row."""

_MEMBERSHIP: Final = Predicate(RDF_TYPE, 2)
_BEFORE: Final = (
    "this time is before 1970, where the timeline begins; "
    "the clock of the device was probably not set: correct the time, or leave such rows out with `--on-error skip`"
)


@dataclass(frozen=True, slots=True)
class Columns:
    """What a mapping needs of some rows: each column, and the row of each of its cells, where rows have several."""

    columns: Table[Path, Column]
    count: int
    rows: NDArray[np.int64] | None = None
    comma: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of one mapping: rows they come from, ticks, and arguments, a line of the matrix for each."""

    mapping: Mapping
    rows: NDArray[np.int64]
    ticks: Words
    arguments: Words
    wrong: dict[int, tuple[Path | None, str]] = field(default_factory=dict)

    def part(self, start: int, end: int) -> Words:
        return self.arguments[start:end].reshape(-1)


def facts_of(
    mapping: Mapping, given: Columns, words: Dictionary, clock: Clock, tally: Tally, arrival: int | None = None
) -> list[Facts]:
    """The facts that a mapping makes of rows, all of one predicate unless it is `rdf:type` of a column.

    Those without a time of their own are of the tick of `arrival`.
    """
    coded: list[tuple[Path | None, Coded]] = []
    if mapping.time is not None:
        times = instants(given.columns[mapping.time.path], mapping.time, clock)
        clock.notation.stamped = True
        ticks = (times.words - clock.epoch * 1_000) // (clock.tick_length * 1_000)
        if len(ticks) and int(ticks.min()) < 0:
            times.wrong.update((row, _BEFORE) for row in np.flatnonzero(ticks < 0).tolist())
        coded.append((mapping.time.path, times))
    else:
        assert arrival is not None, "a recorded stream has no time of arrival"
        ticks = np.full(given.count, arrival, dtype=np.int64)
    for argument in mapping.arguments:
        path = argument.path if isinstance(argument, Cell) else None
        coded.append((path, code_argument(argument, dict(given.columns), given.count, words, given.comma)))
    arguments = _matrix([one.words for _, one in coded[mapping.time is not None :]], given.count)
    rows = np.arange(given.count) if given.rows is None else given.rows
    kept, wrong = _kept(mapping, coded, given.count, rows, tally)
    if kept is not None:
        rows, ticks, arguments = rows[kept], ticks[kept], arguments[kept]
    if len(rows) or wrong:
        tally.fitted(mapping, len(rows))
    facts = Facts(mapping, rows, ticks, arguments, wrong)
    return [facts] if mapping.predicate != _MEMBERSHIP else _by_class(facts, words)


def _by_class(facts: Facts, words: Dictionary) -> list[Facts]:
    """Memberships as facts of their classes: `rdf:type(x,C)` is `C(x)`; what names no class is wrong."""
    mapping, wrong = facts.mapping, dict(facts.wrong)
    made: list[Facts] = []
    for word in np.unique(facts.arguments[:, 1]).tolist():
        name = words.spell(word)
        chosen = facts.arguments[:, 1] == word
        if names_a_predicate(name):
            one = replace(mapping, predicate=Predicate(name, 1))
            made.append(Facts(one, facts.rows[chosen], facts.ticks[chosen], facts.arguments[chosen, :1]))
        else:
            reason = f"`{name}` is not a class; an IRI of a column is written `<{{column}}>`"
            wrong.update((row, (None, reason)) for row in facts.rows[chosen].tolist())
    none = np.zeros(0, dtype=np.int64)
    return [*made, Facts(mapping, none, none, none.reshape(0, 2), wrong)]


def _matrix(columns: list[Words], count: int) -> Words:
    return np.stack(columns, axis=1) if columns else np.zeros((count, 0), dtype=np.int64)


def _kept(
    mapping: Mapping, coded: Iterable[tuple[Path | None, Coded]], count: int, rows: NDArray[np.int64], tally: Tally
) -> tuple[NDArray[np.bool_] | None, dict[int, tuple[Path | None, str]]]:
    """Which cells are facts, None where all are; and what is wrong with others, by row."""
    kept: NDArray[np.bool_] | None = None
    wrong: dict[int, tuple[Path | None, str]] = {}
    for path, one in coded:
        if one.null is not None:
            kept = np.ones(count, dtype=bool) if kept is None else kept
            if fresh := int((one.null & kept).sum()):
                tally.empty(mapping, path or mapping.paths[0], fresh)
            kept &= ~one.null
    for path, one in coded:
        for place, reason in one.wrong.items():
            kept = np.ones(count, dtype=bool) if kept is None else kept
            if kept[place]:
                kept[place] = False
                wrong[int(rows[place])] = path, reason
    return kept, wrong


class Runs:
    """The batches of some facts in the order of the rows; between them what else there is to say about rows.

    `waiting` has the words of all that has not been taken.
    """

    def __init__(self, found: Sequence[Facts], stream: str | None, said: Said) -> None:
        self._found = [one for one in found if len(one.rows)]
        self._stream = stream
        self._said = said
        self._done = 0

    def __iter__(self) -> Iterator[Item]:
        order, ticks, places = self._merged()
        starts = _starts(ticks)
        said = sorted(self._said)
        cuts = np.searchsorted(order, said) if said else np.zeros(0, dtype=np.int64)
        if said:
            starts = np.union1d(starts, cuts[cuts < len(order)])
        ends = [*starts[1:].tolist(), len(order)][: len(starts)]
        parts = [np.searchsorted(place, [*starts, len(order)]).tolist() for place in places]
        # A row of which several facts are made has arrived once.
        first_of_row = np.concatenate((np.ones(1, dtype=bool), order[1:] != order[:-1])) if len(order) else order
        arrived = np.add.reduceat(first_of_row, starts, dtype=np.int64).tolist() if len(starts) else []
        at = 0
        for number, (start, end, tick) in enumerate(zip(starts.tolist(), ends, ticks[starts].tolist(), strict=True)):
            while at < len(said) and cuts[at] <= start:
                yield from self._about(said[at])
                at += 1
            self._done = end
            yield tick, self._batch([(part[number], part[number + 1]) for part in parts], arrived[number])
        for row in said[at:]:
            yield from self._about(row)

    def _about(self, row: int) -> Iterator[Item]:
        for say in self._said[row]:
            yield from say()

    def _batch(self, parts: list[tuple[int, int]], arrived: int) -> Batch:
        batch = Batch(stream=self._stream, arrived=arrived)
        for one, (start, end) in zip(self._found, parts, strict=True):
            if start < end:
                signature = one.mapping.predicate
                rows = one.part(start, end)
                before = batch.rows.get(signature)
                batch.rows[signature] = rows if before is None else np.concatenate((before, rows))
        return batch

    def _merged(self) -> tuple[NDArray[np.int64], Words, list[NDArray[np.int64]]]:
        """The row and the tick of each fact, all mappings together in the order of rows; the places of each mapping."""
        if not self._found:
            none = np.zeros(0, dtype=np.int64)
            return none, none, []
        if len(self._found) == 1:
            return self._found[0].rows, self._found[0].ticks, [np.arange(len(self._found[0].rows))]
        rows = np.concatenate([one.rows for one in self._found])
        order = np.argsort(rows, kind="stable")
        ticks = np.concatenate([one.ticks for one in self._found])[order]
        whose = np.repeat(np.arange(len(self._found)), [len(one.rows) for one in self._found])[order]
        return rows[order], ticks, [np.flatnonzero(whose == number) for number in range(len(self._found))]

    def waiting(self) -> Iterator[Batch]:
        """What has been coded, taken or not: the words of it must not be given to other terms."""
        for one in self._found:
            yield Batch({one.mapping.predicate: one.arguments.reshape(-1)})


def _starts(ticks: Words) -> NDArray[Any]:
    if not len(ticks):
        return np.zeros(0, dtype=np.int64)
    return np.concatenate((np.zeros(1, dtype=np.int64), np.flatnonzero(ticks[1:] != ticks[:-1]) + 1))
