"""Whether a `NOT` can extend a match: a question to the candidates of what it stands before.

What order asks of them is the same for all: they begin after everything that stands before the `NOT` in the sequences
around it has ended, and end before everything behind it begins. `WITHIN` gives a second pair of limits.
"""

from collections.abc import Callable, Iterator

from thalweg.ir.patterns import Absent, Both, Either, Operand, Pattern, Sequence, occurrences
from thalweg.kinds.events.joins import Arriving, Filled, KeptCandidates, Meeting, Node, Partial, absent_tree

Places = frozenset[int]
FAR: int = 2**62


class NegatedEvents:
    """A `NOT` of a pattern, and the candidates of its operand that may still extend a match."""

    def __init__(self, pattern: Pattern, absent: Absent, positive: Node, passes: Callable[[Filled], bool]) -> None:
        self._tree = absent_tree(pattern, absent)
        self._meeting = Meeting(positive, self._tree, tuple(sorted(pattern.shared)))
        self._kept = KeptCandidates(self._meeting.key)
        self._within = FAR if pattern.within is None else pattern.within
        self._passes = passes
        before, behind, branches = _around(pattern.operand, absent)
        self._before, self._behind, self._branches = before, behind, branches
        self.kept = (*self._tree.kept, self._kept)

    def observe(self, arriving: Arriving, floor: int, forgotten: int) -> None:
        """Takes what ends now; what began before `forgotten` is not asked for any more."""
        for candidate in self._tree.new(arriving, floor):
            self._kept.add(candidate)
        self._kept.forget(forgotten)

    def extends(self, match: Partial) -> bool:
        """Whether there is a candidate that extends a match."""
        filled = match.filled
        if not all(any(place in branch for place, _ in filled) for branch in self._branches):
            return False
        low = max([match.end - self._within, *(entry.end + 1 for place, entry in filled if place in self._before)])
        high = min([match.start + self._within, *(entry.start - 1 for place, entry in filled if place in self._behind)])
        for candidate in reversed(self._kept.all_of(self._meeting.key(match.values))):
            if candidate.end < low:
                return False
            if (
                candidate.start >= low
                and candidate.end <= high
                and self._meeting.agree(match.values, candidate.values)
                and self._passes(filled + candidate.filled)
            ):
                return True
        return False


def _around(operand: Operand, absent: Absent) -> tuple[Places, Places, tuple[Places, ...]]:
    """The positive places before a `NOT` and behind it in sequences, and those of the branches of `OR` around it."""
    before: Places = frozenset()
    behind: Places = frozenset()
    branches: list[Places] = []
    while operand is not absent:
        assert isinstance(operand, Sequence | Both | Either)
        number = next(n for n, part in enumerate(operand.operands) if _holds(part, absent))
        if isinstance(operand, Sequence):
            before |= _places(operand.operands[:number])
            behind |= _places(operand.operands[number + 1 :])
        if isinstance(operand, Either):
            branches.append(_places(operand.operands[number : number + 1]))
        operand = operand.operands[number]
    return before, behind, tuple(branches)


def _holds(operand: Operand, absent: Absent) -> bool:
    return operand is absent or any(_holds(part, absent) for part in _operands(operand))


def _operands(operand: Operand) -> Iterator[Operand]:
    if isinstance(operand, Sequence | Both | Either):
        yield from operand.operands


def _places(operands: tuple[Operand, ...]) -> Places:
    return frozenset(occurrence.place for operand in operands for occurrence in occurrences(operand, under_not=False))
