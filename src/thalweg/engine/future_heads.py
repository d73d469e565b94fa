"""How many conclusions were in the future for as long as they followed: they never held.

A kernel counts them behind the last step of each rule whose head has a time, so that other rules pay nothing.
"""

from thalweg.diagnostics import Span
from thalweg.engine.assemble import KernelTable
from thalweg.ir.nodes import Rule


class FutureHeads:
    """Counts such conclusions by rule: a rule has several variants, and is planned again now and then."""

    def __init__(self) -> None:
        self._table: KernelTable | None = None
        self._known: dict[tuple[Rule, Span], int] = {}

    def follow(self, table: KernelTable) -> None:
        """Looks at another table from now on."""
        self._take()
        self._table = table

    def found(self) -> list[tuple[Rule, int]]:
        """The rules with such conclusions so far, and how many there were."""
        self._take()
        return [(rule, count) for (rule, _), count in self._known.items()]

    def _take(self) -> None:
        for place, rule in {} if self._table is None else self._table.timed.items():
            assert self._table is not None
            count, self._table.words[place] = int(self._table.words[place]), 0
            if count:
                key = rule, rule.span
                self._known[key] = self._known.get(key, 0) + count
