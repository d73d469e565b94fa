"""What came of the premises of rules, as far as a warning at the end of a run needs it.

    room(D,r1)            whether a fact with `r1` came
    road(X,X)             whether a fact with the same value twice came
    V > 1200              how many readings there were, and the largest; no more once one is above 1200
    temp(D,_), room(D,_)  the values of each D; no more once both have had one in common

Batches are looked at a column at a time, and what has been found is not looked for again: premises that are met early,
as most are, cost nothing later.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.number import COMPARISONS, agrees, order
from thalweg.model.number_columns import doubles
from thalweg.model.predicate import Predicate
from thalweg.model.values import number_of

Words = NDArray[np.int64]

_MOST_VALUES: Final = 1_000
"""Values that are kept of a column: where streams bring more, nothing is said about what they share."""

_NEAR: Final = 1e-12


@dataclass(frozen=True, slots=True)
class PremisePattern:
    """Facts of a predicate, on one stream if it is named, with constants in some columns and pairs of equal columns."""

    signature: Predicate
    stream: str | None = None
    constants: tuple[tuple[int, str], ...] = ()
    equal: tuple[tuple[int, int], ...] = ()


@dataclass(slots=True)
class Condition:
    """A column compared with a constant: how many readings came, and which number was closest to holding."""

    column: int
    operator: str
    term: str
    readings: int = 0
    closest: str | None = None
    is_met: bool = False
    _best: float = field(default=0.0, repr=False)

    def see(self, rows: Words, words: Dictionary) -> None:
        """Looks at the readings in some rows."""
        column, limit = rows[:, self.column], number_of(self.term)
        self.readings += len(column)
        if limit is None:
            self.is_met = bool((column == words.code(self.term)).any())
            return
        if limit & 3 == 1 and self.operator != "=" and (column & 3 == 1).all():
            self._see_integers(column, limit, words)
            return
        numbers = words.numbers(column)
        column, numbers = column[numbers != 0], numbers[numbers != 0]
        if len(numbers):
            values, bound = doubles(numbers), float(doubles(np.array([limit]))[0])
            self._approach(column, values, words)
            # What a double cannot tell apart is compared exactly.
            near = np.abs(values - bound) <= _NEAR * abs(bound)
            self.is_met = bool(_holds(self.operator, values[~near], bound).any()) or any(
                agrees(COMPARISONS[self.operator], order(number, limit)) for number in np.unique(numbers[near]).tolist()
            )

    def _see_integers(self, column: Words, limit: int, words: Dictionary) -> None:
        """The words of integers are in their order, so that one look finds the closest."""
        word = int(column.min() if self.operator.startswith("<") else column.max())
        signed = -(word >> 2) if self.operator.startswith("<") else word >> 2
        if self.closest is None or signed > self._best:
            self._best, self.closest = float(signed), words.spell(word)
        self.is_met = agrees(COMPARISONS[self.operator], order(word, limit))

    def _approach(self, column: Words, values: NDArray[np.float64], words: Dictionary) -> None:
        """Remembers the largest reading, or the smallest where the condition asks for less."""
        signed = -values if self.operator.startswith("<") else values
        place = int(np.argmax(signed))
        if self.closest is None or signed[place] > self._best:
            self._best, self.closest = float(signed[place]), words.spell(int(column[place]))


def _holds(operator: str, values: NDArray[np.float64], bound: float) -> NDArray[np.bool_]:
    """Where a comparison holds of values that are not near its bound."""
    if operator.startswith(">"):
        return values > bound
    return values < bound if operator.startswith("<") else values != values


@dataclass(slots=True, eq=False)
class PremiseColumn:
    """The values of a column that is joined with others; None once there were too many, or they need not be known."""

    place: int
    values: set[str] | None = field(default_factory=set)
    partners: "list[PremiseColumn]" = field(default_factory=list)

    def add(self, terms: Iterable[str], most: int = _MOST_VALUES) -> None:
        """Adds values; partners that have one of them as well are joined, and looked at no more."""
        if self.values is None:
            return
        new = set(terms) - self.values
        for partner in [*self.partners]:
            if partner.values is not None and partner.values.isdisjoint(new):
                continue
            self.partners.remove(partner)
            partner.partners.remove(self)
            if not partner.partners:
                partner.values = None
        self.values |= new
        if len(self.values) > most or not self.partners:
            self.values = None

    def is_apart_from(self, other: "PremiseColumn") -> bool:
        """Whether the two are known to have no value in common."""
        return other in self.partners and self.values is not None and other.values is not None


@dataclass(slots=True, eq=False)
class PremiseFacts:
    """What is known of the facts that match a pattern: whether some came, and what was asked about their columns."""

    pattern: PremisePattern
    has_come: bool = False
    conditions: list[Condition] = field(default_factory=list)
    columns: dict[int, PremiseColumn] = field(default_factory=dict)

    @property
    def is_settled(self) -> bool:
        """Whether nothing more can be learnt."""
        return (
            self.has_come
            and all(condition.is_met for condition in self.conditions)
            and all(column.values is None for column in self.columns.values())
        )

    def condition(self, column: int, operator: str, term: str) -> Condition:
        """The condition on a column, which is looked at from now on."""
        for condition in self.conditions:
            if (condition.column, condition.operator, condition.term) == (column, operator, term):
                return condition
        self.conditions.append(Condition(column, operator, term))
        return self.conditions[-1]

    def column(self, place: int) -> PremiseColumn:
        return self.columns.setdefault(place, PremiseColumn(place))

    def look(self, batch: Batch, words: Dictionary) -> None:
        """Looks at what a batch has of these facts."""
        if self.pattern.stream is None or batch.stream == self.pattern.stream:
            arity = self.pattern.signature.arity
            flat = np.asarray(batch.rows[self.pattern.signature], dtype=np.int64)
            self._see(flat.reshape(-1, arity) if arity else np.zeros((1, 0), dtype=np.int64), words, _MOST_VALUES)

    def know(self, facts: Iterable[Fact], words: Dictionary) -> None:
        """Takes in facts of the background, however many values they have."""
        coded = [[words.code(term) for term in fact.terms] for fact in facts]
        self._see(np.array(coded, dtype=np.int64).reshape(len(coded), -1), words, len(coded) + _MOST_VALUES)

    def _see(self, rows: Words, words: Dictionary, most: int) -> None:
        for place, term in self.pattern.constants:
            rows = rows[rows[:, place] == words.code(term)]
        for place, other in self.pattern.equal:
            rows = rows[rows[:, place] == rows[:, other]]
        if not len(rows):
            return
        self.has_come = True
        for condition in self.conditions:
            if not condition.is_met:
                condition.see(rows, words)
        for column in self.columns.values():
            if column.values is not None:
                column.add(words.spell_column(np.unique(rows[:, column.place])), most)
