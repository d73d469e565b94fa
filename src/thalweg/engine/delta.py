"""What an engine takes from other parts of a program and what it outputs: the rows that begin and end at a tick."""

from dataclasses import dataclass, field
from functools import cache

import numpy as np

from thalweg.engine.decoder import Decoder, Rows
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.planning.rule_plan import Relation


@dataclass(frozen=True, slots=True)
class Given:
    """What began and what ended of one predicate that another part of the program derives: rows of words.

    Of a `lasting` one nothing is said to end: `begun` has a last column, the tick until which each row is guaranteed.
    """

    signature: Predicate
    timed: bool
    begun: Rows
    ended: Rows
    lasting: bool = False


@dataclass(eq=False, weakref_slot=True, slots=True)
class Delta:
    """What began, what ended and what became unknown at one tick. Facts are spelled when they are asked for.

    `shed` are the predicates of the facts that were shed for want of memory and are missing, `incomplete` the numbers
    of the relations that may lack rows because of it. `rows` began, ended, became unknown, and are guaranteed for
    longer than before.
    """

    tick: int
    shed: tuple[Predicate, ...]
    incomplete: frozenset[int]
    _decoder: Decoder = field(repr=False)
    rows: tuple[Rows | None, Rows | None, Rows | None, Rows | None] = field(repr=False)
    _facts: dict[int, list[Fact]] = field(default_factory=dict, repr=False)
    _by_relation: dict[int, dict[int, Rows]] = field(default_factory=dict, repr=False)

    @property
    def begin(self) -> list[Fact]:
        return self._spelled(0)

    @property
    def end(self) -> list[Fact]:
        return self._spelled(1)

    @property
    def unknown(self) -> list[Fact]:
        """What held at the tick before, and may hold or not: what it rests on was shed."""
        return self._spelled(2)

    def _spelled(self, index: int) -> list[Fact]:
        if index not in self._facts:
            self._facts[index] = self._decoder.spell(self.rows[index])
        return self._facts[index]

    def spell(self) -> None:
        """Spells all facts, before the rows lose their meaning."""
        for index in range(3):
            self._spelled(index)

    @property
    def begin_text(self) -> list[str]:
        return self._text(0)

    @property
    def end_text(self) -> list[str]:
        return self._text(1)

    @property
    def unknown_text(self) -> list[str]:
        return self._text(2)

    def _text(self, index: int) -> list[str]:
        facts = self._facts.get(index)
        return self._decoder.spell_text(self.rows[index]) if facts is None else list(map(str, facts))

    @property
    def until(self) -> dict[str, int]:
        """The last tick for which each fact that began is guaranteed."""
        rows = self.rows[0]
        if rows is None:
            return {}
        spell, horizons = self._decoder.spell_text, rows[:, 0]
        if len(rows) and (horizons == horizons[0]).all():
            return dict.fromkeys(spell(rows), int(horizons[0]))
        return {fact: until for until in np.unique(horizons).tolist() for fact in spell(rows[horizons == until])}

    @property
    def relations(self) -> frozenset[int]:
        """The numbers of the relations of which something began, ended, became unknown or is guaranteed for longer."""
        return frozenset().union(*(self._parts(index) for index in range(len(self.rows))))

    def _parts(self, index: int) -> dict[int, Rows]:
        parts = self._by_relation.get(index)
        if parts is None:
            parts = self._by_relation[index] = self._decoder.by_relation(self.rows[index])
        return parts

    def columns(self, relation: Relation) -> tuple[Rows, Rows, Rows]:
        """The rows of one relation that began, ended and became unknown, as words, to be passed on unspelled."""
        begun, ended, unknown = (self._columns(index, relation) for index in range(3))
        return begun, ended, unknown

    def begun_until(self, relation: Relation) -> Rows:
        """The rows of one relation that began, as words, each with the last tick for which it is guaranteed."""
        return self._columns(0, relation, with_horizon=True)

    def lasting(self, relation: Relation) -> Rows:
        """The rows of one relation that are guaranteed for longer than before, as words, each with its last tick."""
        return self._columns(3, relation, with_horizon=True)

    def _columns(self, index: int, relation: Relation, with_horizon: bool = False) -> Rows:
        rows = self._parts(index).get(relation.number)
        if rows is None:
            return no_rows(relation.arity + with_horizon)
        return self._decoder.columns(relation, rows, with_horizon)


@cache
def no_rows(width: int) -> Rows:
    """No rows with a number of columns.

    >>> no_rows(2).shape
    (0, 2)
    """
    return np.zeros((0, width), dtype=np.int64)
