"""What came of the premises of rules, as far as a warning at the end of a run needs it.

    room(D,r1)            whether a fact with `r1` came
    road(X,X)             whether a fact with the same value twice came
    V > 1200              how many readings there were, and the largest; no more once one is above 1200
    temp(D,_), room(D,_)  the values of each D; no more once both have had one in common

Batches are looked at a column at a time, and what has been found is not looked for again: premises that are met early,
as most are, cost nothing later.
"""

from collections.abc import Iterable, Sequence
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
from thalweg.model.records import record
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


SeenReadings = tuple[int, str | None, float, bool]
"""How many readings there were, the closest to the condition, as a term and as a number, and whether one met it."""


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

    def save(self) -> "SeenReadings":
        return self.readings, self.closest, self._best, self.is_met

    def merge(self, saved: "SeenReadings") -> None:
        """Adds readings that were seen elsewhere."""
        readings, closest, best, is_met = saved
        self.readings += readings
        self.is_met |= is_met
        if closest is not None and (self.closest is None or best > self._best):
            self.closest, self._best = closest, best

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
        self._see(self.rows(batch), words, _MOST_VALUES)

    def rows(self, batch: Batch) -> Words:
        """The facts of a batch that are of its predicate and on its stream."""
        pattern = self.pattern
        if pattern.signature not in batch.rows or pattern.stream not in (None, batch.stream):
            return np.zeros((0, pattern.signature.arity), dtype=np.int64)
        arity = pattern.signature.arity
        flat = np.asarray(batch.rows[pattern.signature], dtype=np.int64)
        return flat.reshape(-1, arity) if arity else np.zeros((1, 0), dtype=np.int64)

    def matching(self, rows: Words, words: Dictionary) -> Words:
        """Those of some rows that match the pattern."""
        for place, term in self.pattern.constants:
            rows = rows[rows[:, place] == words.code(term)]
        for place, other in self.pattern.equal:
            rows = rows[rows[:, place] == rows[:, other]]
        return rows

    def know(self, facts: Iterable[Fact], words: Dictionary) -> None:
        """Takes in facts of the background, however many values they have."""
        coded = [[words.code(term) for term in fact.terms] for fact in facts]
        self._see(np.array(coded, dtype=np.int64).reshape(len(coded), -1), words, len(coded) + _MOST_VALUES)

    def hear(self, note: "PremiseNote") -> None:
        """Takes in what was seen elsewhere."""
        self.has_come |= note.has_come
        for condition, readings in zip(self.conditions, note.conditions, strict=True):
            if not condition.is_met:
                condition.merge(readings)
        for place, values in note.columns:
            column = self.columns[place]
            if values is None:
                column.values = None
            elif values:
                column.add(values)

    def _see(self, rows: Words, words: Dictionary, most: int) -> None:
        rows = self.matching(rows, words)
        if not len(rows):
            return
        self.has_come = True
        for condition in self.conditions:
            if not condition.is_met:
                condition.see(rows, words)
        for column in self.columns.values():
            if column.values is not None:
                column.add(words.spell_column(np.unique(rows[:, column.place])), most)


@record
@dataclass(frozen=True)
class PremiseNote:
    """What was seen elsewhere of the facts of a pattern: readings, and the values of columns, unless there are many."""

    has_come: bool
    conditions: tuple[SeenReadings, ...]
    columns: tuple[tuple[int, tuple[str, ...] | None], ...]


class PremiseLookout:
    """Looks at facts of patterns that others are asked about; what columns have in common is not known here.

    >>> words = Dictionary()
    >>> facts = PremiseFacts(PremisePattern(Predicate("temp", 2)))
    >>> condition, column = facts.condition(1, ">", "30"), facts.column(0)
    >>> lookout = PremiseLookout([facts], words)
    >>> lookout.look(Batch({Predicate("temp", 2): [words.code("d1"), words.code("20")]}))
    >>> lookout.note()[0]
    PremiseNote(has_come=True, conditions=((1, '20', 20.0, False),), columns=((0, ('d1',)),))
    """

    def __init__(self, facts: Sequence[PremiseFacts], words: Dictionary) -> None:
        self._facts = [PremiseFacts(premise.pattern, conditions=[*map(_anew, premise.conditions)]) for premise in facts]
        self._words = words
        self._values = [{place: set[str]() for place in premise.columns} for premise in facts]

    def look(self, batch: Batch) -> None:
        for facts, columns in zip(self._facts, self._values, strict=True):
            rows = facts.matching(facts.rows(batch), self._words)
            if not len(rows):
                continue
            facts.look(batch, self._words)
            for place, values in columns.items():
                if len(values) <= _MOST_VALUES:
                    values.update(self._words.spell_column(np.unique(rows[:, place])))

    def note(self) -> tuple[PremiseNote, ...]:
        return tuple(
            PremiseNote(
                facts.has_come,
                tuple(condition.save() for condition in facts.conditions),
                tuple(
                    (place, tuple(sorted(values)) if len(values) <= _MOST_VALUES else None)
                    for place, values in columns.items()
                ),
            )
            for facts, columns in zip(self._facts, self._values, strict=True)
        )


def _anew(condition: Condition) -> Condition:
    return Condition(condition.column, condition.operator, condition.term)
