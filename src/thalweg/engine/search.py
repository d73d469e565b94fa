"""Rows that hold now, found by the hash indexes that rules have, without a kernel.

`why` asks for a few rows among hundreds of thousands. The kernel's functions are Python as well: `chain` runs here on
the arrays themselves, one look-up a call, which needs no compiling and costs some microseconds. Where no index has
some of the columns that are known, the rows of the relation are looked through; they are copied once for that.
"""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.engine.arena import chain, record
from thalweg.engine.layout import COLUMNS, KEY, RELATION, SLOT_COLUMNS, SLOTS, TABLE_LINKS, Store

if TYPE_CHECKING:
    from thalweg.engine.engine import PlanEngine

Words = tuple[int, ...]
Rows = NDArray[np.int64]


class Row(NamedTuple):
    """A row that holds: its place in the arena, its words, its horizon."""

    place: int
    words: Words
    horizon: int


class Search:
    """Looks rows up in an engine that stands still; what is found is in the order of the arena."""

    def __init__(self, engine: "PlanEngine") -> None:
        arrays = engine.arrays
        self._arrays, self._relations, self._views = arrays, engine.plan.relations, engine.plan.views
        self._table, self._now = engine.table.words, engine.now or 0
        self._store = Store(
            words=arrays.rows.reshape(-1),
            halves=arrays.rows.view(np.int32).reshape(-1),
            heads=arrays.heads,
            lists=arrays.lists,
            olds=arrays.olds,
            heap=arrays.heap,
            scratch=np.zeros_like(arrays.scratch),
            values=engine.dictionary.values,
            memo=np.zeros(0, dtype=np.int64),
            scalars=arrays.scalars,
        )
        self._slots: dict[int, list[Words]] = {}
        self._copies: dict[int, tuple[Rows, Rows, Rows]] = {}

    def find(self, relation: int, words: Words) -> Row | None:
        """The row of a relation with these words, if it holds."""
        return next(iter(self.matching(relation, tuple(range(len(words))), words)), None)

    def matching(self, relation: int, columns: Words, key: Words, most: int | None = None) -> list[Row]:
        """The rows of a relation with some words in some columns; all of them, or at `most` some."""
        view = self._views.get(relation)
        if view is not None:
            order = view.order
            source_rows = self.matching(view.source.number, tuple(order[column] for column in columns), key, most)
            return [row._replace(words=tuple(row.words[column] for column in order)) for row in source_rows]
        slot = self._slot(relation, columns)
        if slot is None:
            return self._looked_through(relation, columns, key, most)
        wanted = dict(zip(columns, key, strict=True))
        keys = [wanted[column] for column in self._slots[relation][slot]]
        rows = (row for row in self._chained(relation, slot, keys) if row.horizon >= self._now)
        fitting = (row for row in rows if all(row.words[column] == word for column, word in wanted.items()))
        return sorted(islice(fitting, most))

    def word(self, row: Row, column: int) -> int:
        """What stands in a column, also one behind those that rules know."""
        return int(self._store.words[row.place + COLUMNS + column])

    def _slot(self, relation: int, columns: Words) -> int | None:
        """The index with most of the columns and no other; None where all have others, or none."""
        if relation not in self._slots:
            self._slots[relation] = list(self._indexes(relation))
        wanted = set(columns)
        fitting = [
            (len(index), -slot)
            for slot, index in enumerate(self._slots[relation])
            if index == columns or (index and wanted >= {*index})
        ]
        return -max(fitting)[1] if fitting else None

    def _indexes(self, relation: int) -> Iterator[Words]:
        """The columns of each index of a relation."""
        table, at = self._table, record(self._table, relation)
        for slot in range(table[at + SLOTS]):
            columns = table[table[at + SLOT_COLUMNS] + slot]
            yield tuple(table[columns + 1 : columns + 1 + table[columns]].tolist())

    def _chained(self, relation: int, slot: int, keys: list[int]) -> Iterator[Row]:
        """The rows of a relation in the chain of some words; others may stand in it, too."""
        store, arity = self._store, self._relations[relation].arity
        store.scratch[KEY : KEY + len(keys)] = keys
        link = 2 * (self._table[TABLE_LINKS] + slot)
        # Hash codes are meant to overflow.
        with np.errstate(over="ignore"):
            place = int(store.heads[chain(store, relation, slot, len(keys))])
        while place >= 0:
            if store.halves[2 * place + RELATION] == relation:
                first = place + COLUMNS
                yield Row(place, tuple(store.words[first : first + arity].tolist()), int(store.words[place]))
            place = int(store.halves[2 * place + link])

    def _looked_through(self, relation: int, columns: Words, key: Words, most: int | None) -> list[Row]:
        if relation not in self._copies:
            arrays, arity = self._arrays, self._relations[relation].arity
            numbers = np.flatnonzero((arrays.relations == relation) & (arrays.horizons >= self._now))
            self._copies[relation] = numbers * arrays.stride, arrays.columns[numbers, :arity], arrays.horizons[numbers]
        places, words, horizons = self._copies[relation]
        fits = np.ones(len(places), dtype=bool)
        for column, word in zip(columns, key, strict=True):
            fits &= words[:, column] == word
        chosen = np.flatnonzero(fits)[:most]
        return [
            Row(place, tuple(row), horizon)
            for place, row, horizon in zip(
                places[chosen].tolist(), words[chosen].tolist(), horizons[chosen].tolist(), strict=True
            )
        ]
