"""The filters of a pattern that single events decide, and those that need several."""

from collections.abc import Iterable, Mapping

from thalweg.ir.pattern_semantics import Holds, Pair, Solution
from thalweg.ir.patterns import Clause, Filter, Pattern


class OwnFilters:
    """Lets events pass whose solutions keep to the filters that they decide; `joint` are those that remain."""

    def __init__(self, pattern: Pattern, holds: Holds) -> None:
        self._holds = holds
        self._of = {clause.event: _covered(pattern, clause) for clause in pattern.clauses}
        self.joint = [
            condition for clause in pattern.clauses for condition in clause.filters if not _alone(pattern, condition)
        ]

    def passing(self, name: str, pairs: Iterable[Pair]) -> Iterable[Pair]:
        """The events of a name that pass."""
        filters = self._of.get(name)
        if not filters:
            return pairs
        return [
            pair
            for pair in pairs
            if all(self._holds(condition, _taken(pair[1], condition.variables)) for condition in filters)
        ]


def _covered(pattern: Pattern, clause: Clause) -> list[Filter]:
    """The filters that an event of a name with its solution decides."""
    return [
        condition
        for other in pattern.clauses
        for condition in other.filters
        if set(condition.variables) <= clause.variables
    ]


def _alone(pattern: Pattern, condition: Filter) -> bool:
    """Whether single events decide a filter: those of one name bind all of it, or all that bind some of it."""
    wanted, shared = set(condition.variables), pattern.shared
    if any(clause.variables & wanted - shared and wanted <= clause.variables for clause in pattern.clauses):
        return True
    return bool(wanted) and all(wanted <= clause.variables for clause in pattern.clauses if clause.variables & wanted)


def _taken(solution: Solution, names: Iterable[str]) -> Mapping[str, str]:
    terms = dict(solution)
    return {name: terms[name] for name in names}
