"""How candidates of a pattern are found as events come: a tree of joins, each of which keeps what may still be joined.

    :A         Leaf            an event with a solution of its clause is a candidate
    p SEQ q    Follows         keeps candidates of p; a new one of q is joined with those that were over before it
    p AND q    Conjunction     keeps both sides; whichever is new is joined with the other
    p OR q     Alternatives

A new candidate always ends now. So `SEQ` keeps nothing of its right side, and what is kept is in the order in which it
ended. Candidates are found by a hash of the shared variables that both sides bind in every case; variables that only
some branch of an `OR` binds are compared one by one.

What is kept is forgotten when it can no longer be part of a candidate within the bound: when it is met, and all of it
from time to time, so that at most twice as many are kept as are needed.

Whether a `NOT` extends a match is a question to the candidates of what it stands before. What order asks of them is the
same for all: they begin after everything that stands before the `NOT` in the sequences around it has ended, and end
before everything behind it begins. `WITHIN` gives a second pair of limits.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any, Final

from thalweg.ir.pattern_semantics import Instance, Solution, pair_order, without_nots
from thalweg.ir.patterns import Absent, Both, Either, Occurs, Operand, Pattern, Sequence, occurrences

LONG_AGO: Final = -(2**62)
_FAR: Final = 2**62
# What is not needed is dropped when this many are kept, and this many times as many as were needed last.
FEW: Final = 256
GROWTH: Final = 2


class Entry:
    """An event with a solution of its clause.

    `settled`: what the modifier gives for this event, as the beginning or as the end of a match, has been given.
    """

    __slots__ = ("end", "instance", "settled", "solution", "start")

    def __init__(self, instance: Instance, solution: Solution, settled: bool = False) -> None:
        self.instance = instance
        self.solution = solution
        self.start = instance.start
        self.end = instance.end
        self.settled = settled


Filled = tuple[tuple[int, Entry], ...]
"""Places from left to right, and what fills them."""
Values = tuple[str | None, ...]
"""What the shared variables of the pattern are bound to, in the order of their names."""


class Partial:
    """A candidate of an operand; `begins` is the event that every match with it begins with, where this is known."""

    __slots__ = ("begins", "end", "filled", "start", "values")

    def __init__(self, start: int, end: int, filled: Filled, values: Values, begins: Entry | None = None) -> None:
        self.start = start
        self.end = end
        self.filled = filled
        self.values = values
        self.begins = begins


Shared = tuple[str, ...]
Arriving = Mapping[str, list[Entry]]
Key = Callable[[Values], Any]


class KeptCandidates:
    """Candidates by what their shared variables are bound to, in the order in which they ended."""

    def __init__(self, key: Key) -> None:
        self.key = key
        self.of: dict[Any, list[Partial]] = {}
        self._size = 0
        self._most = FEW

    def __iter__(self) -> Iterator[Partial]:
        return (partial for bucket in self.of.values() for partial in bucket)

    def add(self, partial: Partial) -> None:
        key = self.key(partial.values)
        bucket = self.of.get(key)
        if bucket is None:
            self.of[key] = [partial]
        else:
            bucket.append(partial)
        self._size += 1

    def needed(self, key: Any, floor: int) -> list[Partial]:
        """The candidates with a key that are needed: they began at `floor` or later, and are not settled."""
        bucket = self.of.get(key)
        if bucket is None:
            return []
        for partial in bucket:
            if partial.start < floor or (partial.begins is not None and partial.begins.settled):
                break
        else:
            return bucket
        remaining = _needed(bucket, floor)
        self._size += len(remaining) - len(bucket)
        if remaining:
            self.of[key] = remaining
        else:
            del self.of[key]
        return remaining

    def all_of(self, key: Any) -> list[Partial]:
        """The candidates with a key, needed or not."""
        return self.of.get(key, [])

    def clear(self) -> None:
        """Drops everything."""
        self.of = {}
        self._size = 0

    def forget(self, floor: int) -> None:
        """Drops what is not needed, where there may be much of it."""
        if self._size > self._most:
            left = ((key, _needed(bucket, floor)) for key, bucket in self.of.items())
            self.of = {key: bucket for key, bucket in left if bucket}
            self._size = sum(map(len, self.of.values()))
            self._most = max(FEW, GROWTH * self._size)


def _needed(bucket: Iterable[Partial], floor: int) -> list[Partial]:
    return [
        partial
        for partial in bucket
        if partial.start >= floor and not (partial.begins is not None and partial.begins.settled)
    ]


class Leaf:
    """Events of a name, at a place."""

    kept: tuple[KeptCandidates, ...] = ()
    certain: frozenset[str]
    possible: frozenset[str]

    def __init__(self, occurs: Occurs, variables: Iterable[str], shared: Shared) -> None:
        bound = sorted(variables)
        self._event = occurs.event
        self._place = occurs.place
        self._columns = [bound.index(name) if name in bound else None for name in shared]
        # Most patterns have one shared variable, or none.
        self._only = self._columns[0] if len(shared) == 1 else None
        self._nothing: Values = (None,) * len(shared)
        self.certain = self.possible = frozenset(name for name in shared if name in bound)

    def new(self, arriving: Arriving, floor: int) -> list[Partial]:
        """The candidates that end now and began at `floor` or later."""
        place, columns = self._place, self._columns
        entries = arriving.get(self._event, ())
        if self._only is not None:
            only = self._only
            return [
                Partial(entry.start, entry.end, ((place, entry),), (entry.solution[only][1],))
                for entry in entries
                if entry.start >= floor
            ]
        if not self.possible:
            nothing = self._nothing
            return [
                Partial(entry.start, entry.end, ((place, entry),), nothing) for entry in entries if entry.start >= floor
            ]
        return [
            Partial(
                entry.start,
                entry.end,
                ((place, entry),),
                tuple([None if column is None else entry.solution[column][1] for column in columns]),
            )
            for entry in entries
            if entry.start >= floor
        ]


class Alternatives:
    """Candidates of any branch."""

    kept: tuple[KeptCandidates, ...]
    certain: frozenset[str]
    possible: frozenset[str]

    def __init__(self, branches: "list[Node]") -> None:
        self._branches = branches
        self.certain = frozenset.intersection(*(branch.certain for branch in branches))
        self.possible = frozenset.union(*(branch.possible for branch in branches))
        self.kept = tuple(kept for branch in branches for kept in branch.kept)

    def new(self, arriving: Arriving, floor: int) -> list[Partial]:
        """The candidates that end now and began at `floor` or later."""
        return [partial for branch in self._branches for partial in branch.new(arriving, floor)]


class Meeting:
    """Which candidates of two operands agree: the key that both have, and what has to be compared besides."""

    certain: frozenset[str]
    possible: frozenset[str]

    def __init__(self, left: "Node | Meeting", right: "Node | Meeting", shared: Shared) -> None:
        self.certain = left.certain | right.certain
        self.possible = left.possible | right.possible
        key = [number for number, name in enumerate(shared) if name in left.certain & right.certain]
        self.key: Key = itemgetter(*key) if key else _no_key
        self._loose = [
            number
            for number, name in enumerate(shared)
            if name in left.possible & right.possible and name not in left.certain & right.certain
        ]

    @property
    def is_exact(self) -> bool:
        """Whether candidates with the same key always agree."""
        return not self._loose

    def agree(self, left: Values, right: Values) -> bool:
        """Whether candidates with the same key agree on everything else."""
        return not self._loose or all(
            left[column] is None or right[column] is None or left[column] == right[column] for column in self._loose
        )


def _no_key(values: Values) -> None:
    return None


def _united(left: Values, right: Values) -> Values:
    if left == right:
        return left
    return tuple([other if value is None else value for value, other in zip(left, right, strict=True)])


class _Join:
    """Two operands, and the candidates of the left one that may still be joined."""

    kept: tuple[KeptCandidates, ...]
    certain: frozenset[str]
    possible: frozenset[str]

    def __init__(self, left: "Node", right: "Node", shared: Shared, marks: bool = False) -> None:
        self._left, self._right, self._marks = left, right, marks
        self._meeting = meeting = Meeting(left, right, shared)
        self.certain, self.possible = meeting.certain, meeting.possible
        self._lefts = KeptCandidates(meeting.key)
        self.kept = (*left.kept, *right.kept, self._lefts)


class Follows(_Join):
    """One operand after another; with `marks`, every match begins with the least event of the left one."""

    def new(self, arriving: Arriving, floor: int) -> list[Partial]:
        """The candidates that end now and began at `floor` or later."""
        lefts = self._left.new(arriving, floor)
        partials = []
        kept, key, is_exact, agree = self._lefts, self._meeting.key, self._meeting.is_exact, self._meeting.agree
        buckets = kept.of
        for right in self._right.new(arriving, floor):
            values, start = right.values, right.start
            here = key(values)
            if here not in buckets:
                continue
            for left in kept.needed(here, floor):
                if left.end >= start:
                    break
                if is_exact or agree(left.values, values):
                    united = values if left.values == values else _united(left.values, values)
                    partials.append(Partial(left.start, right.end, left.filled + right.filled, united, left.begins))
        for left in lefts:
            if self._marks:
                left.begins = left.filled[0][1] if len(left.filled) == 1 else least(left.filled)
            kept.add(left)
        kept.forget(floor)
        return partials


class Conjunction(_Join):
    """Two operands in any order; with `marks`, nothing is found that begins with an event which is settled."""

    def __init__(self, left: "Node", right: "Node", shared: Shared, marks: bool = False) -> None:
        super().__init__(left, right, shared, marks)
        self._rights = KeptCandidates(self._meeting.key)
        self.kept = (*self.kept, self._rights)

    def new(self, arriving: Arriving, floor: int) -> list[Partial]:
        """The candidates that end now and began at `floor` or later."""
        pairs = []
        key = self._meeting.key
        for left in self._left.new(arriving, floor):
            pairs += [(left, right) for right in self._rights.needed(key(left.values), floor)]
            self._lefts.add(left)
        for right in self._right.new(arriving, floor):
            pairs += [(left, right) for left in self._lefts.needed(key(right.values), floor)]
            self._rights.add(right)
        self._lefts.forget(floor)
        self._rights.forget(floor)
        return [
            Partial(
                min(left.start, right.start),
                max(left.end, right.end),
                left.filled + right.filled,
                _united(left.values, right.values),
            )
            for left, right in pairs
            if self._meeting.agree(left.values, right.values) and not (self._marks and _is_settled(left, right))
        ]


def _is_settled(left: Partial, right: Partial) -> bool:
    """Whether what two candidates would begin with is settled, as far as their ticks say."""
    first = left if left.start < right.start else right
    return left.start != right.start and least(first.filled).settled


Node = Leaf | Alternatives | Follows | Conjunction


def least(filled: Filled) -> Entry:
    """The event that a match begins with."""
    if len(filled) == 1:
        return filled[0][1]
    start = min([entry.start for _, entry in filled])
    first = [entry for _, entry in filled if entry.start == start]
    return first[0] if len(first) == 1 else min(first, key=_order)


def greatest(filled: Filled) -> Entry:
    """The event that a match is completed by."""
    end = max([entry.end for _, entry in filled])
    last = [entry for _, entry in filled if entry.end == end]
    return last[0] if len(last) == 1 else max(last, key=_order)


def _order(entry: Entry) -> tuple[object, ...]:
    return pair_order((entry.instance, entry.solution))


def positive_tree(pattern: Pattern) -> Node:
    """The joins of a pattern without its `NOT`s."""
    return _tree(pattern, without_nots(pattern.operand), marks=pattern.modifier == "EVERY")


def _tree(pattern: Pattern, operand: Operand | None, marks: bool = False) -> Node:
    shared = tuple(sorted(pattern.shared))
    match operand:
        case Occurs(event):
            bound = (clause.variables for clause in pattern.clauses if clause.event == event)
            return Leaf(operand, frozenset().union(*bound), shared)
        case Either(operands):
            return Alternatives([_tree(pattern, branch, marks) for branch in operands])
        case Sequence((first, *remaining)):
            tree = _tree(pattern, first)
            for number, branch in enumerate(remaining):
                tree = Follows(tree, _tree(pattern, branch), shared, marks and number == 0)
            return tree
        case Both((first, *remaining)):
            tree = _tree(pattern, first)
            for number, branch in enumerate(remaining, start=1):
                tree = Conjunction(tree, _tree(pattern, branch), shared, marks and number == len(remaining))
            return tree
    raise AssertionError(f"a pattern without positive events: {operand}")


# NOT ------------------------------------------------------------------------------------------------------------------


Places = frozenset[int]


class NegatedEvents:
    """A `NOT` of a pattern, and the candidates of its operand that may still extend a match."""

    def __init__(self, pattern: Pattern, absent: Absent, positive: Node, passes: Callable[[Filled], bool]) -> None:
        self._tree = _tree(pattern, absent.operand)
        self._meeting = Meeting(positive, self._tree, tuple(sorted(pattern.shared)))
        self._kept = KeptCandidates(self._meeting.key)
        self._within = _FAR if pattern.within is None else pattern.within
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
