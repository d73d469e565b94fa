"""Rows of the arena become facts, text and columns of words."""

from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise
from operator import itemgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from thalweg.engine.layout import COLUMNS, RELATION
from thalweg.engine.number_text import spell_numbers
from thalweg.model.dictionary import Dictionary
from thalweg.model.fact import Fact
from thalweg.model.triples import ANY_TRIPLE, as_facts
from thalweg.planning.rule_plan import Relation, RulePlan

Rows = NDArray[np.int64]

_FEW: Final = 16
"""So many rows are spelled faster one by one than column by column."""


class Decoder:
    """Knows the arity of each relation of a plan and, of those that are output, the predicate."""

    def __init__(self, plan: RulePlan, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self.predicates = {relation.number: signature.name for signature, relation in plan.outputs.items()}
        self.arities = np.array([relation.arity for relation in plan.relations] + [0, 0, 0], dtype=np.int64)

    def by_predicate(self, rows: Rows | None) -> Iterator[tuple[str, Rows]]:
        """The columns of rows, predicate by predicate."""
        if rows is None:
            return
        relations = rows.view(np.int32)[:, RELATION]
        numbers = np.flatnonzero(np.bincount(relations)).tolist()
        for number in numbers:
            if number in self.predicates:
                columns = rows[:, COLUMNS : COLUMNS + self.arities[number]]
                yield from self.named(number, columns[relations == number] if len(numbers) > 1 else columns)

    def named(self, number: int, columns: Rows) -> Iterator[tuple[str, Rows]]:
        """The columns of a relation with the predicates that they belong to."""
        if self.predicates[number] == ANY_TRIPLE:
            yield from as_facts(columns, self._dictionary)
        else:
            yield self.predicates[number], columns

    def by_relation(self, rows: Rows | None) -> dict[int, Rows]:
        """The rows of each relation, by its number."""
        if rows is None or not len(rows):
            return {}
        relations = rows.view(np.int32)[:, RELATION]
        if len(rows) == 1 or (relations == relations[0]).all():
            return {int(relations[0]): rows}
        order = relations.argsort(kind="stable")
        ordered, numbers = rows.take(order, axis=0), relations.take(order)
        starts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist()]
        pairs = zip(numbers[starts].tolist(), pairwise([*starts, len(rows)]), strict=True)
        return {number: ordered[start:end] for number, (start, end) in pairs}

    def columns_of(self, relation: Relation, rows: Rows | None, with_horizon: bool = False) -> Rows:
        """The columns of the rows that belong to one relation."""
        if rows is None:
            return np.zeros((0, relation.arity + with_horizon), dtype=np.int64)
        return self.columns(relation, rows[rows.view(np.int32)[:, RELATION] == relation.number], with_horizon)

    def columns(self, relation: Relation, rows: Rows, with_horizon: bool = False) -> Rows:
        """The columns of rows that all belong to one relation; its horizon may be the last."""
        columns: Rows = rows[:, COLUMNS : COLUMNS + relation.arity]
        return np.hstack((columns, rows[:, :1])) if with_horizon else columns

    def spell(self, rows: Rows | None) -> list[Fact]:
        """Facts from their rows."""
        spell = self._dictionary.spell
        return [
            Fact(predicate, tuple(map(spell, row)))
            for predicate, part in self.by_predicate(rows)
            for row in part.tolist()
        ]

    def spell_text(self, rows: Rows | None) -> list[str]:
        """Facts as text, from their rows."""
        if rows is not None and len(rows) <= _FEW and ANY_TRIPLE not in self.predicates.values():
            return self._spell_few(rows)
        spell = self._dictionary.spell_rows
        texts = [spell(predicate, part, spell_numbers) for predicate, part in self.by_predicate(rows)]
        return texts[0] if len(texts) == 1 else [text for group in texts for text in group]

    def _spell_few(self, rows: Rows) -> list[str]:
        """The same in the same order, one by one."""
        spell, predicates, texts = self._dictionary.spell, self.predicates, []
        numbered = zip(rows.view(np.int32)[:, RELATION].tolist(), rows[:, COLUMNS:].tolist(), strict=True)
        for number, words in sorted(numbered, key=itemgetter(0)):
            name = predicates.get(number)
            if name is not None:
                arity = int(self.arities[number])
                texts.append(f"{name}({','.join(map(spell, words[:arity]))})" if arity else name)
        return texts


def relation_mask(plan: RulePlan, relations: Iterable[Relation]) -> NDArray[np.bool_]:
    """Which numbers of relations are those of some; free rows and the arena's own rows have numbers at the end."""
    mask = np.zeros(len(plan.relations) + 4, dtype=bool)
    mask[[relation.number for relation in relations]] = True
    return mask


def of_relations(rows: Rows, numbers: Collection[int]) -> NDArray[np.bool_]:
    """Which rows belong to some relations."""
    return np.isin(rows.view(np.int32)[:, RELATION], list(numbers))
