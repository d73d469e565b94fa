"""`EVERY A SEQ B`, the pattern that most subscriptions are: each A is matched with the next B that agrees with it.

A `Matcher` gives the same. Here an A is dropped when it is matched, so what is kept is the A's that wait, by what they
share with B, and nothing is made of an event that is not matched. That is several times as fast.
"""

import json
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any, Final

from thalweg.ir.pattern_semantics import Holds, Match, Occurring, Pair, Solution, pair_order
from thalweg.ir.patterns import Occurs, Pattern, Sequence
from thalweg.kinds.events import joins
from thalweg.kinds.events.begun_matches import Begun, within_of
from thalweg.kinds.events.matcher import Matcher
from thalweg.kinds.events.own_filters import OwnFilters
from thalweg.kinds.events.saved_events import event_data, read_event, read_solution

Key = Callable[[Solution], Any]
_LONG_AGO: Final = joins.LONG_AGO


def matcher(pattern: Pattern, holds: Holds) -> "Matcher | NextEvent":
    """The matcher of a pattern: `NextEvent` where that is simple enough."""
    return NextEvent(pattern, holds) if _is_simple(pattern) else Matcher(pattern, holds)


def _is_simple(pattern: Pattern) -> bool:
    """Whether a pattern is `EVERY A SEQ B` and single events decide its filters."""
    match pattern.operand:
        case Sequence((Occurs(first), Occurs(second))) if first != second and pattern.modifier == "EVERY":
            return not OwnFilters(pattern, lambda *_: True).joint
    return False


class NextEvent:
    """The matches of `EVERY A SEQ B`.

    >>> from thalweg.ir.pattern_semantics import Instance
    >>> pattern = Pattern(Sequence((Occurs("<a>", 0), Occurs("<b>", 1))), "EVERY", within=3)
    >>> found = NextEvent(pattern, lambda *_: True)
    >>> found.advance(1, {"<a>": [(Instance("<a>", 1, 1, "<x>"), ())]})
    []
    >>> [(one.start, one.end) for one in found.advance(4, {"<b>": [(Instance("<b>", 4, 4, "<y>"), ())]})]
    [(1, 4)]
    """

    due: int | None = None
    repeats = False

    def __init__(self, pattern: Pattern, holds: Holds) -> None:
        assert isinstance(pattern.operand, Sequence)
        first, second = pattern.operand.operands
        assert isinstance(first, Occurs)
        assert isinstance(second, Occurs)
        self._first, self._second, self._within = first.event, second.event, pattern.within
        self._filters = OwnFilters(pattern, holds)
        variables = {clause.event: sorted(clause.variables) for clause in pattern.clauses}
        of_first, of_second = variables.get(first.event, []), variables.get(second.event, [])
        shared = sorted(pattern.shared)
        self._key_of_first = _key([of_first.index(name) for name in shared])
        self._key_of_second = _key([of_second.index(name) for name in shared])
        # What is output of both solutions, one behind the other, sorted by name.
        names = [*of_first, *of_second]
        self._columns = [names.index(name) for name in sorted(set(names))]
        self._kept: dict[Any, list[Pair]] = {}
        self._size = 0
        self._most = joins.FEW

    def advance(self, now: int, arriving: Occurring) -> list[Match]:
        """The matches that end now, when what ends now comes in."""
        floor = _LONG_AGO if self._within is None else now - self._within
        matches = self._matched(now, self._filters.passing(self._second, arriving.get(self._second, ())), floor)
        kept, key = self._kept, self._key_of_first
        for pair in self._filters.passing(self._first, arriving.get(self._first, ())):
            if pair[0].start >= floor:
                here = key(pair[1])
                if here in kept:
                    kept[here].append(pair)
                else:
                    kept[here] = [pair]
                self._size += 1
        self._forget(floor)
        return matches

    def _matched(self, now: int, seconds: Iterable[Pair], floor: int) -> list[Match]:
        kept, key = self._kept, self._key_of_second
        met: dict[Any, list[Pair]] = {}
        for pair in seconds:
            here = key(pair[1])
            if here in kept:
                met.setdefault(here, []).append(pair)
        matches: list[Match] = []
        columns = self._columns
        for here, pairs in met.items():
            if len(pairs) > 1:
                pairs.sort(key=pair_order)
            waiting = kept.pop(here)
            self._size -= len(waiting)
            unmatched = []
            for first in waiting:
                event, solution = first
                if event.start < floor:
                    continue
                for other, bound in pairs:
                    if event.end < other.start:
                        joined = solution + bound
                        bindings = tuple([joined[column] for column in columns])
                        matches.append(Match(event.start, now, (event, other), bindings))
                        break
                else:
                    unmatched.append(first)
            if unmatched:
                kept[here] = unmatched
                self._size += len(unmatched)
        return matches

    def begun(self, now: int) -> list[Begun]:
        """The matches that have begun and can still be completed."""
        waiting = (pair for pairs in self._kept.values() for pair in pairs)
        begun = [Begun((event,), solution, within_of(event.start, self._within)) for event, solution in waiting]
        return sorted((match for match in begun if match.lasts(now)), key=lambda match: match.events[0].order)

    def forget(self, now: int) -> None:
        """Drops what has expired, where there may be much of it; `advance` does so where events come."""
        if self._within is not None:
            self._forget(now - self._within)

    def _forget(self, floor: int) -> None:
        if self._size > self._most:
            left = ((key, [pair for pair in pairs if pair[0].start >= floor]) for key, pairs in self._kept.items())
            self._kept = {key: pairs for key, pairs in left if pairs}
            self._size = sum(map(len, self._kept.values()))
            self._most = max(joins.FEW, joins.GROWTH * self._size)

    def save(self) -> bytes:
        """Its state, as bytes from which it can continue."""
        return json.dumps(
            [(event_data(event), solution) for pairs in self._kept.values() for event, solution in pairs]
        ).encode()

    def load(self, saved: bytes) -> None:
        """Brings one that has seen nothing to where another was saved."""
        for data, solution in json.loads(saved):
            pair = read_event(data), read_solution(solution)
            self._kept.setdefault(self._key_of_first(pair[1]), []).append(pair)
            self._size += 1


def _key(columns: list[int]) -> Key:
    """A function that returns the values of the shared variables of a solution."""
    return itemgetter(*columns) if columns else lambda solution: None
