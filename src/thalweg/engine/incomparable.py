"""What `<` and its like could not compare: terms of different kinds, for which a comparison is false.

A kernel notes the first two such terms of each comparison behind its step in the table, so that a comparison of terms
of one kind costs nothing more. The table keeps these terms alive in the dictionary.
"""

from typing import NamedTuple

from thalweg.diagnostics import Span
from thalweg.engine.assemble import KernelTable
from thalweg.engine.layout import NO_TERM
from thalweg.ir.nodes import Comparison
from thalweg.model.dictionary import Dictionary


class Incomparable(NamedTuple):
    """A comparison, and the first two terms that it could not compare."""

    comparison: Comparison
    left: str
    right: str


class IncomparableTerms:
    """Collects such terms by comparison: a rule has several variants, and is planned again now and then."""

    def __init__(self, words: Dictionary) -> None:
        self._words = words
        self._table: KernelTable | None = None
        self._known: dict[tuple[Comparison, Span], Incomparable] = {}

    def follow(self, table: KernelTable) -> None:
        """Looks at another table from now on."""
        self._take()
        self._table = table

    def found(self) -> list[Incomparable]:
        """What could not be compared so far."""
        self._take()
        return list(self._known.values())

    def _take(self) -> None:
        if self._table is None:
            return
        for place, comparison in self._table.orders.items():
            left, right = self._table.words[place : place + 2].tolist()
            if left != NO_TERM:
                noted = Incomparable(comparison, self._words.spell(left), self._words.spell(right))
                # Two rules may compare the same: comparisons are equal wherever they are written.
                self._known.setdefault((comparison, comparison.span), noted)
