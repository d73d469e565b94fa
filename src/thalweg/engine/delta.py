"""What an engine takes from other parts of a program and what it outputs: the rows that begin and end at a tick."""

from dataclasses import dataclass, field

from thalweg.engine.decoder import Decoder, Rows
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.planning.plan import Relation


@dataclass(frozen=True, slots=True)
class Given:
    """What began and what ended of one predicate that another part of the program derives: rows of words.

    Of a lasting one nothing is said to end: `begun` has a last column, the tick until which each row is guaranteed.
    """

    signature: Predicate
    timed: bool
    begun: Rows
    ended: Rows


@dataclass(eq=False, weakref_slot=True, slots=True)
class Delta:
    """What began, what ended and what became unknown at one tick. Facts are spelled when they are asked for.

    `shed` are the predicates of the facts that were shed for want of memory and are missing, `incomplete` the numbers
    of the relations that may lack rows because of it.
    """

    tick: int
    shed: tuple[Predicate, ...]
    incomplete: frozenset[int]
    _decoder: Decoder = field(repr=False)
    _begun: Rows | None = field(repr=False)
    _ended: Rows | None = field(repr=False)
    _unknown: Rows | None = field(default=None, repr=False)
    _raised: Rows | None = field(default=None, repr=False)
    _begin: list[Fact] | None = None
    _end: list[Fact] | None = None
    _lost: list[Fact] | None = None

    @property
    def partial(self) -> bool:
        """Whether the answer at this tick may lack something."""
        return bool(self.shed)

    @property
    def rows(self) -> tuple[Rows | None, Rows | None, Rows | None, Rows | None]:
        """The rows that began, ended, became unknown, and are guaranteed for longer than before."""
        return self._begun, self._ended, self._unknown, self._raised

    @property
    def begin(self) -> list[Fact]:
        if self._begin is None:
            self._begin = self._decoder.spell(self._begun)
        return self._begin

    @property
    def end(self) -> list[Fact]:
        if self._end is None:
            self._end = self._decoder.spell(self._ended)
        return self._end

    @property
    def unknown(self) -> list[Fact]:
        """What held at the tick before, and may hold or not: what it rests on was shed."""
        if self._lost is None:
            self._lost = self._decoder.spell(self._unknown)
        return self._lost

    def columns(self, relation: Relation) -> tuple[Rows, Rows, Rows]:
        """The rows of one relation that began, ended and became unknown, as words, to be passed on unspelled."""
        begun, ended, unknown, _ = (self._decoder.columns_of(relation, rows) for rows in self.rows)
        return begun, ended, unknown

    def lasting(self, relation: Relation) -> Rows:
        """The rows of one relation that are guaranteed for longer than before, as words, each with its last tick."""
        return self._decoder.columns_of(relation, self._raised, with_horizon=True)

    @property
    def begin_text(self) -> list[str]:
        return self._decoder.spell_text(self._begun) if self._begin is None else [str(fact) for fact in self._begin]

    @property
    def end_text(self) -> list[str]:
        return self._decoder.spell_text(self._ended) if self._end is None else [str(fact) for fact in self._end]

    @property
    def unknown_text(self) -> list[str]:
        return self._decoder.spell_text(self._unknown) if self._lost is None else [str(fact) for fact in self._lost]
