"""Rows become facts: each mapping gives columns of words and ticks, and runs of one tick become batches.

No row is touched by itself: arguments are coded column by column (`cells`), times likewise (`instants`), and a batch
is a slice of the result. A row that is no fact, or that has a diagnostic, is a place where runs are cut.
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

RowReports = dict[int, list[Callable[[], Iterable[Item]]]]
"""Items about rows that are not facts, by row: each function returns those that precede the facts of its row."""

_MEMBERSHIP: Final = Predicate(RDF_TYPE, 2)
_BEFORE: Final = (
    "this time is before 1970, where the timeline begins; "
    "the clock of the device was probably not set: correct the time, or leave such rows out with `--on-error skip`"
)


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that a mapping needs, and the row of each of their cells, where rows have several."""

    columns: Table[Path, Column]
    count: int
    rows: NDArray[np.int64] | None = None
    comma: bool = False


@dataclass(frozen=True, slots=True)
class MappedFacts:
    """The facts of one mapping: rows they come from, ticks, and arguments, a line of the matrix for each."""

    mapping: Mapping
    rows: NDArray[np.int64]
    ticks: Words
    arguments: Words
    wrong: dict[int, tuple[Path | None, str]] = field(default_factory=dict)

    def part(self, start: int, end: int) -> Words:
        return self.arguments[start:end].reshape(-1)


def facts_of(
    mapping: Mapping, columns: Columns, words: Dictionary, clock: Clock, tally: Tally, arrival: int | None = None
) -> list[MappedFacts]:
    """The facts that a mapping makes of rows, all of one predicate unless it is `rdf:type` of a column.

    Those without a time of their own are of the tick of `arrival`.
    """
    coded: list[tuple[Path | None, Coded]] = []
    if mapping.time is not None:
        times = instants(columns.columns[mapping.time.path], mapping.time, clock)
        clock.notation.stamped = True
        ticks = (times.words - clock.epoch * 1_000) // (clock.tick_length * 1_000)
        if len(ticks) and int(ticks.min()) < 0:
            times.wrong.update((row, _BEFORE) for row in np.flatnonzero(ticks < 0).tolist())
        coded.append((mapping.time.path, times))
    else:
        assert arrival is not None, "a recorded stream has no time of arrival"
        ticks = np.full(columns.count, arrival, dtype=np.int64)
    for argument in mapping.arguments:
        path = argument.path if isinstance(argument, Cell) else None
        coded.append((path, code_argument(argument, dict(columns.columns), columns.count, words, columns.comma)))
    arguments = _matrix([column.words for _, column in coded[mapping.time is not None :]], columns.count)
    rows = np.arange(columns.count) if columns.rows is None else columns.rows
    kept, wrong = _kept(mapping, coded, columns.count, rows, tally)
    if kept is not None:
        rows, ticks, arguments = rows[kept], ticks[kept], arguments[kept]
    if len(rows) or wrong:
        tally.fitted(mapping, len(rows))
    facts = MappedFacts(mapping, rows, ticks, arguments, wrong)
    return [facts] if mapping.predicate != _MEMBERSHIP else _by_class(facts, words)


def _by_class(facts: MappedFacts, words: Dictionary) -> list[MappedFacts]:
    """Memberships as facts of their classes: `rdf:type(x,C)` is `C(x)`; what names no class is wrong."""
    mapping, wrong = facts.mapping, dict(facts.wrong)
    by_class: list[MappedFacts] = []
    for word in np.unique(facts.arguments[:, 1]).tolist():
        name = words.spell(word)
        chosen = facts.arguments[:, 1] == word
        if names_a_predicate(name):
            class_mapping = replace(mapping, predicate=Predicate(name, 1))
            by_class.append(
                MappedFacts(class_mapping, facts.rows[chosen], facts.ticks[chosen], facts.arguments[chosen, :1])
            )
        else:
            reason = f"`{name}` is not a class; an IRI of a column is written `<{{column}}>`"
            wrong.update((row, (None, reason)) for row in facts.rows[chosen].tolist())
    none = np.zeros(0, dtype=np.int64)
    return [*by_class, MappedFacts(mapping, none, none, none.reshape(0, 2), wrong)]


def _matrix(columns: list[Words], count: int) -> Words:
    return np.stack(columns, axis=1) if columns else np.zeros((count, 0), dtype=np.int64)


def _kept(
    mapping: Mapping, coded: Iterable[tuple[Path | None, Coded]], count: int, rows: NDArray[np.int64], tally: Tally
) -> tuple[NDArray[np.bool_] | None, dict[int, tuple[Path | None, str]]]:
    """Which cells are facts, None where all are; and what is wrong with others, by row."""
    kept: NDArray[np.bool_] | None = None
    wrong: dict[int, tuple[Path | None, str]] = {}
    for path, column in coded:
        if column.null is not None:
            kept = np.ones(count, dtype=bool) if kept is None else kept
            if fresh := int((column.null & kept).sum()):
                tally.empty(mapping, path or mapping.paths[0], fresh)
            kept &= ~column.null
    for path, column in coded:
        for place, reason in column.wrong.items():
            kept = np.ones(count, dtype=bool) if kept is None else kept
            if kept[place]:
                kept[place] = False
                wrong[int(rows[place])] = path, reason
    return kept, wrong


class Runs:
    """The batches of some facts in the order of the rows; between them what else there is to say about rows.

    `waiting` has the words of all that has not been taken.
    """

    def __init__(self, parts: Sequence[MappedFacts], stream: str | None, reports: RowReports) -> None:
        self._parts = [facts for facts in parts if len(facts.rows)]
        self._stream = stream
        self._reports = reports
        self._done = 0

    def __iter__(self) -> Iterator[Item]:
        order, ticks, places = self._merged()
        starts = _starts(ticks)
        reported = sorted(self._reports)
        cuts = np.searchsorted(order, reported) if reported else np.zeros(0, dtype=np.int64)
        if reported:
            starts = np.union1d(starts, cuts[cuts < len(order)])
        ends = [*starts[1:].tolist(), len(order)][: len(starts)]
        parts = [np.searchsorted(place, [*starts, len(order)]).tolist() for place in places]
        # A row of which several facts are made has arrived once.
        first_of_row = np.concatenate((np.ones(1, dtype=bool), order[1:] != order[:-1])) if len(order) else order
        arrived = np.add.reduceat(first_of_row, starts, dtype=np.int64).tolist() if len(starts) else []
        at = 0
        for number, (start, end, tick) in enumerate(zip(starts.tolist(), ends, ticks[starts].tolist(), strict=True)):
            while at < len(reported) and cuts[at] <= start:
                yield from self._about(reported[at])
                at += 1
            self._done = end
            yield tick, self._batch([(part[number], part[number + 1]) for part in parts], arrived[number])
        for row in reported[at:]:
            yield from self._about(row)

    def _about(self, row: int) -> Iterator[Item]:
        for say in self._reports[row]:
            yield from say()

    def _batch(self, parts: list[tuple[int, int]], arrived: int) -> Batch:
        batch = Batch(stream=self._stream, arrived=arrived)
        for facts, (start, end) in zip(self._parts, parts, strict=True):
            if start < end:
                signature = facts.mapping.predicate
                rows = facts.part(start, end)
                before = batch.rows.get(signature)
                batch.rows[signature] = rows if before is None else np.concatenate((before, rows))
        return batch

    def _merged(self) -> tuple[NDArray[np.int64], Words, list[NDArray[np.int64]]]:
        """The row and the tick of each fact, all mappings together in the order of rows; the places of each mapping."""
        if not self._parts:
            none = np.zeros(0, dtype=np.int64)
            return none, none, []
        if len(self._parts) == 1:
            return self._parts[0].rows, self._parts[0].ticks, [np.arange(len(self._parts[0].rows))]
        rows = np.concatenate([facts.rows for facts in self._parts])
        order = np.argsort(rows, kind="stable")
        ticks = np.concatenate([facts.ticks for facts in self._parts])[order]
        whose = np.repeat(np.arange(len(self._parts)), [len(facts.rows) for facts in self._parts])[order]
        return rows[order], ticks, [np.flatnonzero(whose == number) for number in range(len(self._parts))]

    def waiting(self) -> Iterator[Batch]:
        """All coded facts, taken or not: their words must not be reused for other terms."""
        for facts in self._parts:
            yield Batch({facts.mapping.predicate: facts.arguments.reshape(-1)})


def _starts(ticks: Words) -> NDArray[Any]:
    if not len(ticks):
        return np.zeros(0, dtype=np.int64)
    return np.concatenate((np.zeros(1, dtype=np.int64), np.flatnonzero(ticks[1:] != ticks[:-1]) + 1))
