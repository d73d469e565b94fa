"""Which facts a clash comes from: a smallest set of them.

All facts about an individual lead to a clash, so some of them do. They are left out one by one, the oldest first, as
long as the clash remains; what is left cannot be made smaller, and lasts as long as any reason does. Whether the clash
remains is asked of a small engine with rules that know no windows. It is made when it is first needed, and what it once
found is not asked again: of an individual nothing matters but which classes and properties it is in.
"""

from collections.abc import Sequence
from itertools import count
from typing import Final, NamedTuple

from thalweg.engine.lookup import TimedFact
from thalweg.ir.nodes import Program
from thalweg.kinds.rules.rule_engine import RuleEngine
from thalweg.model.fact import Fact
from thalweg.model.time import FOREVER

_MOST_REMEMBERED: Final = 10_000


class Broken(NamedTuple):
    """An axiom (as a term) and who breaks it: one individual, which then stands twice, or a pair."""

    axiom: str
    one: str
    other: str


class Justifier:
    """Knows what leads to a clash."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._engine: RuleEngine | None = None
        self._ticks = count(step=2)
        self._known: dict[tuple[str, bool, tuple[Fact, ...]], tuple[int, ...]] = {}

    def because(self, broken: Broken, facts: Sequence[TimedFact]) -> tuple[TimedFact, ...]:
        """A smallest set of facts that break the axiom, from those about the individuals that break it."""
        best: dict[Fact, TimedFact] = {}
        for dated in sorted(facts, key=_lasting_longest):
            pattern = _pattern(dated.fact, broken)
            if pattern is not None:
                best.setdefault(pattern, dated)
        patterns = tuple(reversed(best))
        chosen = self._smallest(broken, patterns)
        return tuple(best[patterns[place]] for place in chosen)

    def _smallest(self, broken: Broken, patterns: tuple[Fact, ...]) -> tuple[int, ...]:
        key = (broken.axiom, broken.one == broken.other, patterns)
        if key not in self._known:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            clash = Fact("inconsistent", (broken.axiom, "x", "x" if broken.one == broken.other else "y"))
            kept = list(range(len(patterns)))
            for place in range(len(patterns)):
                remaining = [index for index in kept if index != place]
                if self._suffice([patterns[index] for index in remaining], clash):
                    kept = remaining
            self._known[key] = tuple(kept)
        return self._known[key]

    def _suffice(self, facts: list[Fact], clash: Fact) -> bool:
        """Whether facts lead to a clash. Between two questions lies a tick without facts, so that all begins anew."""
        if self._engine is None:
            self._engine = RuleEngine(self._program, first=0)
        changes = self._engine.advance(next(self._ticks), facts)
        return any(clash in change.begin for change in changes)


def _lasting_longest(dated: TimedFact) -> tuple[int, str]:
    return (-FOREVER if dated.tick is None else -dated.tick), str(dated.fact)


def _pattern(fact: Fact, broken: Broken) -> Fact | None:
    """A fact with names that say who is who; None where it has nothing to do with the matter.

    Who breaks an axiom alone does so by what it is in and by what it has values of; a pair, by what relates the two.
    """
    if broken.one == broken.other:
        args = tuple("x" if term == broken.one else "z" for term in fact.terms)
        return Fact(fact.predicate, args) if "x" in args else None
    names = {broken.one: "x", broken.other: "y"}
    args = tuple(names.get(term, "z") for term in fact.terms)
    return Fact(fact.predicate, args) if {*args} == {"x", "y"} else None
