"""Matches of a pattern as events come: tick by tick what `ir/pattern_semantics.py` says of the whole stream.

Candidates come from a tree of joins (`joins.py`). Those with an open `NOT` wait until their time is over; then, or at
once, each `NOT` is asked whether it extends them (`disturbed.py`), and the modifier selects among those that end now.
The selection never depends on what comes later, so nothing is taken back.

What is kept is bounded by `WITHIN`: once the bound, and twice where a `NOT` is open.
"""

import json
from collections.abc import Iterable, Iterator, Mapping

from thalweg.ir.pattern_semantics import (
    Holds,
    Instance,
    Match,
    Occurring,
    Solution,
    has_open_not,
    joint_bindings,
    nots,
    rank,
)
from thalweg.ir.patterns import Both, Either, Operand, Pattern, Sequence, occurrences
from thalweg.kinds.events.begun_matches import Begun, within_of
from thalweg.kinds.events.joins import (
    LONG_AGO,
    Arriving,
    Entry,
    Filled,
    Kept,
    Partial,
    greatest,
    least,
    positive_tree,
)
from thalweg.kinds.events.negated_events import Absence
from thalweg.kinds.events.own_filters import OwnFilters
from thalweg.kinds.events.saved_events import event_data, read_event, read_solution

Line = tuple[frozenset[Instance], Solution]


class Matcher:
    """The matches of one pattern.

    >>> from thalweg.ir.patterns import Occurs, Sequence
    >>> matcher = Matcher(Pattern(Sequence((Occurs("<a>", 0), Occurs("<b>", 1))), "EVERY", within=3), lambda *_: True)
    >>> matcher.advance(1, {"<a>": [(Instance("<a>", 1, 1, "<x>"), ())]})
    []
    >>> [(one.start, one.end) for one in matcher.advance(4, {"<b>": [(Instance("<b>", 4, 4, "<y>"), ())]})]
    [(1, 4)]
    """

    def __init__(self, pattern: Pattern, holds: Holds) -> None:
        self._pattern = pattern
        self._holds = holds
        self._within = pattern.within
        self._tree = positive_tree(pattern)
        self._own_filters = OwnFilters(pattern, holds)
        self._joint_filters = self._own_filters.joint
        self._absences = [Absence(pattern, one, self._tree, self._passes) for one in nots(pattern.operand)]
        self._shown = _shown(pattern)
        self._columns = _columns(pattern, self._shown)
        names = [one.event for one in occurrences(pattern.operand, under_not=False)]
        # Where a name occurs once, its event and the bindings say which place was filled, and how.
        self.repeats = len(set(names)) < len(names)
        everywhere = frozenset(one.place for one in occurrences(pattern.operand))
        self._waits = has_open_not(pattern.operand, everywhere)
        self._open: dict[tuple[int, ...], bool] = {}
        self._pending: dict[int, list[Partial]] = {}
        self._output: dict[Line, int] = {}
        self._finished = False

    @property
    def due(self) -> int | None:
        """The tick at which something ends even if no event comes."""
        return min(self._pending, default=None)

    def advance(self, now: int, arriving: Occurring) -> list[Match]:
        """The matches that end now, and those that ended since the last tick, when what ends now comes in.

        Pairs of a name are different from each other; they come at the tick at which their events end.
        """
        found = self._overdue(now)
        if self._finished:
            return found
        passing = self._own_filters.passing
        entries = {name: [Entry(*pair) for pair in passing(name, pairs)] for name, pairs in arriving.items()}
        floor = LONG_AGO if self._within is None else now - self._within
        # What waits until its time is over may be disturbed by what came as long before it.
        forgotten = floor - self._within if self._waits and self._within is not None else floor
        for absence in self._absences:
            absence.observe(entries, floor, forgotten)
        ready = self._ready(entries, floor)
        return found + self._selected([*ready, *self._pending.pop(now, ())], now)

    def forget(self, now: int) -> None:
        """Drops what has expired, where there may be much of it; `advance` does so where events come."""
        if self._within is not None:
            # What waits until its time is over may be disturbed by what came as long before it.
            for kept in self._all_kept():
                kept.forget(now - (2 if self._waits else 1) * self._within)

    def _overdue(self, now: int) -> list[Match]:
        ends = sorted(end for end in self._pending if end < now)
        return [match for end in ends for match in self._selected(self._pending.pop(end, []), end)]

    def _ready(self, entries: Arriving, floor: int) -> list[Partial]:
        """The candidates that are complete and end now; the others wait."""
        found = self._tree.new(entries, floor)
        if self._joint_filters:
            found = [one for one in found if self._passes(one.filled)]
        if not self._waits or self._within is None:
            return found
        ready = []
        for one in found:
            if self._is_open(one):
                self._pending.setdefault(one.start + self._within, []).append(one)
            else:
                ready.append(one)
        return ready

    def _passes(self, filled: Filled) -> bool:
        if not self._joint_filters:
            return True
        pairs = [(one.instance, one.solution) for _, one in filled]
        return all(
            self._holds(one, binding)
            for one in self._joint_filters
            for binding in joint_bindings(self._pattern, pairs, one.variables)
        )

    def _is_open(self, candidate: Partial) -> bool:
        places = tuple([place for place, _ in candidate.filled])
        if places not in self._open:
            self._open[places] = has_open_not(self._pattern.operand, frozenset(places))
        return self._open[places]

    # Selection -------------------------------------------------------------------------------------------------------

    def _selected(self, ready: list[Partial], end: int) -> list[Match]:
        """What the modifier selects of the candidates that end at a tick."""
        if not ready or self._finished:
            return []
        groups: dict[Entry | None, list[Partial]] = {}
        for one in ready:
            group = self._group(one)
            if not (group is not None and group.settled) and not self._is_disturbed(one):
                groups.setdefault(group, []).append(one)
        for group in groups:
            if group is not None:
                group.settled = True
        chosen = [some[0] if len(some) == 1 else self._best(some) for some in groups.values()]
        if chosen and self._pattern.modifier is None:
            self._finish()
        return self._different([self._match(one, end) for one in chosen])

    def _group(self, candidate: Partial) -> Entry | None:
        match self._pattern.modifier:
            case None:
                return None
            case "EVERY":
                return candidate.begins or least(candidate.filled)
        return greatest(candidate.filled)

    def _best(self, group: list[Partial]) -> Partial:
        """The one of a group that is selected; most are decided without a look at names."""
        if self._pattern.modifier == "LAST":
            start = max([one.start for one in group])
            return max([one for one in group if one.start == start], key=self._rank)
        if self._pattern.modifier == "FIRST":
            start = min([one.start for one in group])
            group = [one for one in group if one.start == start]
        return min(group, key=self._rank) if len(group) > 1 else group[0]

    def _rank(self, candidate: Partial) -> tuple[object, ...]:
        return rank((one.instance for _, one in candidate.filled), self._bindings(candidate.filled))

    def _finish(self) -> None:
        """One match in all: nothing is needed any more."""
        self._finished = True
        self._pending.clear()
        for kept in self._all_kept():
            kept.clear()

    def _match(self, candidate: Partial, end: int) -> Match:
        events = tuple([one.instance for _, one in candidate.filled])
        return Match(candidate.start, end, events, self._bindings(candidate.filled))

    def _bindings(self, filled: Filled) -> Solution:
        if self._columns is not None:
            return tuple([filled[number][1].solution[column] for number, column in self._columns])
        found = {name: entry.solution[column][1] for place, entry in filled for name, column in self._shown[place]}
        return tuple(sorted(found.items()))

    def _different(self, found: list[Match]) -> list[Match]:
        """Matches of the same events are one, with a line for each different binding."""
        if not self.repeats:
            return found
        found.sort(key=lambda one: rank(one.events, one.bindings))
        new = []
        for one in found:
            line = frozenset(one.events), one.bindings
            if line not in self._output:
                new.append(one)
                self._output[line] = one.start + (self._within or 0)
        if found:
            # The same events end at another tick only where an open NOT lets them wait.
            self._output = {line: last for line, last in self._output.items() if last >= found[0].end}
        return new

    def begun(self, now: int) -> list[Begun]:
        """The matches that have begun and can still be completed; those with an open `NOT` wait for their time."""
        found = [
            Begun(
                tuple(entry.instance for _, entry in one.filled),
                tuple(sorted({pair for _, entry in one.filled for pair in entry.solution})),
                within_of(one.start, self._within),
                complete,
            )
            for some, complete in (
                ((one for kept in self._tree.kept for one in kept if not _is_settled(one)), False),
                ((one for some in self._pending.values() for one in some if not self._is_disturbed(one)), True),
            )
            for one in some
        ]
        return sorted(
            (one for one in dict.fromkeys(found) if one.lasts(now)), key=lambda one: [each.order for each in one.events]
        )

    def _is_disturbed(self, candidate: Partial) -> bool:
        return any(each.extends(candidate) for each in self._absences)

    # Going on elsewhere ----------------------------------------------------------------------------------------------

    def _all_kept(self) -> list[Kept]:
        return [*self._tree.kept, *(kept for one in self._absences for kept in one.kept)]

    def save(self) -> bytes:
        """All that it must know to go on."""
        numbers: dict[Entry, int] = {}

        def number(entry: Entry) -> int:
            return numbers.setdefault(entry, len(numbers))

        def begins(one: Partial) -> int | None:
            return None if one.begins is None else number(one.begins)

        def saved(some: Iterable[Partial]) -> list[object]:
            return [
                (one.start, one.end, one.values, [(place, number(each)) for place, each in one.filled], begins(one))
                for one in some
            ]

        state = {
            "kept": [saved(kept) for kept in self._all_kept()],
            "pending": [[end, saved(some)] for end, some in self._pending.items()],
            "output": [
                [[event_data(one) for one in events], line, last] for (events, line), last in self._output.items()
            ],
            "finished": self._finished,
        }
        entries = [[event_data(one.instance), one.solution, one.settled] for one in numbers]
        return json.dumps({"entries": entries, **state}).encode()

    def load(self, saved: bytes) -> None:
        """Brings one that has seen nothing to where another was saved."""
        state = json.loads(saved)
        entries = [Entry(read_event(one), read_solution(terms), settled) for one, terms, settled in state["entries"]]

        def partial(
            start: int, end: int, values: list[str | None], filled: list[list[int]], begins: int | None
        ) -> Partial:
            places = tuple((place, entries[number]) for place, number in filled)
            return Partial(start, end, places, tuple(values), None if begins is None else entries[begins])

        for kept, some in zip(self._all_kept(), state["kept"], strict=True):
            for one in some:
                kept.add(partial(*one))
        self._pending = {end: [partial(*one) for one in some] for end, some in state["pending"]}
        self._output = {
            (frozenset(map(read_event, events)), read_solution(line)): last for events, line, last in state["output"]
        }
        self._finished = state["finished"]


def _is_settled(candidate: Partial) -> bool:
    return candidate.begins is not None and candidate.begins.settled


def _shown(pattern: Pattern) -> dict[int, list[tuple[str, int]]]:
    """The variables that are output, for each place, and where the solutions of its clause have them."""
    places = list(occurrences(pattern.operand, under_not=False))
    names = [one.event for one in places]
    variables = {clause.event: sorted(clause.variables) for clause in pattern.clauses}
    return {
        one.place: [
            (name, column)
            for column, name in enumerate(variables.get(one.event, ()))
            if name in pattern.shared or names.count(one.event) == 1
        ]
        for one in places
    }


def _columns(pattern: Pattern, shown: Mapping[int, list[tuple[str, int]]]) -> list[tuple[int, int]] | None:
    """Where a match has the variables that are output, by their names; None where not all places are always filled."""
    if any(isinstance(one, Either) for one in _within(pattern.operand)):
        return None
    found: dict[str, tuple[int, int]] = {}
    for number, one in enumerate(occurrences(pattern.operand, under_not=False)):
        for name, column in shown[one.place]:
            found.setdefault(name, (number, column))
    return [found[name] for name in sorted(found)]


def _within(operand: Operand) -> Iterator[Operand]:
    yield operand
    if isinstance(operand, Sequence | Both | Either):
        for one in operand.operands:
            yield from _within(one)
