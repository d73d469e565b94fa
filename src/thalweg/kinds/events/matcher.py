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
    KeptCandidates,
    Partial,
    greatest,
    least,
    positive_tree,
)
from thalweg.kinds.events.negated_events import NegatedEvents
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
        self._absences = [
            NegatedEvents(pattern, operand, self._tree, self._passes) for operand in nots(pattern.operand)
        ]
        self._shown = _shown(pattern)
        self._columns = _columns(pattern, self._shown)
        names = [operand.event for operand in occurrences(pattern.operand, under_not=False)]
        # Where a name occurs once, its event and the bindings say which place was filled, and how.
        self.repeats = len(set(names)) < len(names)
        everywhere = frozenset(operand.place for operand in occurrences(pattern.operand))
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
        matches = self._overdue(now)
        if self._finished:
            return matches
        passing = self._own_filters.passing
        entries = {name: [Entry(*pair) for pair in passing(name, pairs)] for name, pairs in arriving.items()}
        floor = LONG_AGO if self._within is None else now - self._within
        # What waits until its time is over may be disturbed by what came as long before it.
        forgotten = floor - self._within if self._waits and self._within is not None else floor
        for absence in self._absences:
            absence.observe(entries, floor, forgotten)
        ready = self._ready(entries, floor)
        return matches + self._selected([*ready, *self._pending.pop(now, ())], now)

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
        partials = self._tree.new(entries, floor)
        if self._joint_filters:
            partials = [partial for partial in partials if self._passes(partial.filled)]
        if not self._waits or self._within is None:
            return partials
        ready = []
        for partial in partials:
            if self._is_open(partial):
                self._pending.setdefault(partial.start + self._within, []).append(partial)
            else:
                ready.append(partial)
        return ready

    def _passes(self, filled: Filled) -> bool:
        if not self._joint_filters:
            return True
        pairs = [(entry.instance, entry.solution) for _, entry in filled]
        return all(
            self._holds(condition, binding)
            for condition in self._joint_filters
            for binding in joint_bindings(self._pattern, pairs, condition.variables)
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
        for candidate in ready:
            group = self._group(candidate)
            if not (group is not None and group.settled) and not self._is_disturbed(candidate):
                groups.setdefault(group, []).append(candidate)
        for group in groups:
            if group is not None:
                group.settled = True
        chosen = [candidates[0] if len(candidates) == 1 else self._best(candidates) for candidates in groups.values()]
        if chosen and self._pattern.modifier is None:
            self._finish()
        return self._different([self._match(candidate, end) for candidate in chosen])

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
            start = max([candidate.start for candidate in group])
            return max([candidate for candidate in group if candidate.start == start], key=self._rank)
        if self._pattern.modifier == "FIRST":
            start = min([candidate.start for candidate in group])
            group = [candidate for candidate in group if candidate.start == start]
        return min(group, key=self._rank) if len(group) > 1 else group[0]

    def _rank(self, candidate: Partial) -> tuple[object, ...]:
        return rank((entry.instance for _, entry in candidate.filled), self._bindings(candidate.filled))

    def _finish(self) -> None:
        """One match in all: nothing is needed any more."""
        self._finished = True
        self._pending.clear()
        for kept in self._all_kept():
            kept.clear()

    def _match(self, candidate: Partial, end: int) -> Match:
        events = tuple([entry.instance for _, entry in candidate.filled])
        return Match(candidate.start, end, events, self._bindings(candidate.filled))

    def _bindings(self, filled: Filled) -> Solution:
        if self._columns is not None:
            return tuple([filled[number][1].solution[column] for number, column in self._columns])
        bindings = {name: entry.solution[column][1] for place, entry in filled for name, column in self._shown[place]}
        return tuple(sorted(bindings.items()))

    def _different(self, matches: list[Match]) -> list[Match]:
        """Matches of the same events are one, with a line for each different binding."""
        if not self.repeats:
            return matches
        matches.sort(key=lambda match: rank(match.events, match.bindings))
        new = []
        for match in matches:
            line = frozenset(match.events), match.bindings
            if line not in self._output:
                new.append(match)
                self._output[line] = match.start + (self._within or 0)
        if matches:
            # The same events end at another tick only where an open NOT lets them wait.
            self._output = {line: last for line, last in self._output.items() if last >= matches[0].end}
        return new

    def begun(self, now: int) -> list[Begun]:
        """The matches that have begun and can still be completed; those with an open `NOT` wait for their time."""
        matches = [
            Begun(
                tuple(entry.instance for _, entry in partial.filled),
                tuple(sorted({pair for _, entry in partial.filled for pair in entry.solution})),
                within_of(partial.start, self._within),
                complete,
            )
            for partials, complete in (
                ((partial for kept in self._tree.kept for partial in kept if not _is_settled(partial)), False),
                (
                    (
                        partial
                        for partials in self._pending.values()
                        for partial in partials
                        if not self._is_disturbed(partial)
                    ),
                    True,
                ),
            )
            for partial in partials
        ]
        return sorted(
            (match for match in dict.fromkeys(matches) if match.lasts(now)),
            key=lambda match: [event.order for event in match.events],
        )

    def _is_disturbed(self, candidate: Partial) -> bool:
        return any(absence.extends(candidate) for absence in self._absences)

    # Going on elsewhere ----------------------------------------------------------------------------------------------

    def _all_kept(self) -> list[KeptCandidates]:
        return [*self._tree.kept, *(kept for absence in self._absences for kept in absence.kept)]

    def save(self) -> bytes:
        """Its state, as bytes from which it can continue."""
        numbers: dict[Entry, int] = {}

        def number(entry: Entry) -> int:
            return numbers.setdefault(entry, len(numbers))

        def begins(partial: Partial) -> int | None:
            return None if partial.begins is None else number(partial.begins)

        def saved(partials: Iterable[Partial]) -> list[object]:
            return [
                (
                    partial.start,
                    partial.end,
                    partial.values,
                    [(place, number(entry)) for place, entry in partial.filled],
                    begins(partial),
                )
                for partial in partials
            ]

        state = {
            "kept": [saved(kept) for kept in self._all_kept()],
            "pending": [[end, saved(partials)] for end, partials in self._pending.items()],
            "output": [
                [[event_data(event) for event in events], line, last] for (events, line), last in self._output.items()
            ],
            "finished": self._finished,
        }
        entries = [[event_data(entry.instance), entry.solution, entry.settled] for entry in numbers]
        return json.dumps({"entries": entries, **state}).encode()

    def load(self, saved: bytes) -> None:
        """Brings one that has seen nothing to where another was saved."""
        state = json.loads(saved)
        entries = [Entry(read_event(data), read_solution(terms), settled) for data, terms, settled in state["entries"]]

        def partial(
            start: int, end: int, values: list[str | None], filled: list[list[int]], begins: int | None
        ) -> Partial:
            places = tuple((place, entries[number]) for place, number in filled)
            return Partial(start, end, places, tuple(values), None if begins is None else entries[begins])

        for kept, partials in zip(self._all_kept(), state["kept"], strict=True):
            for data in partials:
                kept.add(partial(*data))
        self._pending = {end: [partial(*data) for data in partials] for end, partials in state["pending"]}
        self._output = {
            (frozenset(map(read_event, events)), read_solution(line)): last for events, line, last in state["output"]
        }
        self._finished = state["finished"]


def _is_settled(candidate: Partial) -> bool:
    return candidate.begins is not None and candidate.begins.settled


def _shown(pattern: Pattern) -> dict[int, list[tuple[str, int]]]:
    """The variables that are output, for each place, and where the solutions of its clause have them."""
    places = list(occurrences(pattern.operand, under_not=False))
    names = [occurrence.event for occurrence in places]
    variables = {clause.event: sorted(clause.variables) for clause in pattern.clauses}
    return {
        occurrence.place: [
            (name, column)
            for column, name in enumerate(variables.get(occurrence.event, ()))
            if name in pattern.shared or names.count(occurrence.event) == 1
        ]
        for occurrence in places
    }


def _columns(pattern: Pattern, shown: Mapping[int, list[tuple[str, int]]]) -> list[tuple[int, int]] | None:
    """Where a match has the variables that are output, by their names; None where not all places are always filled."""
    if any(isinstance(operand, Either) for operand in _within(pattern.operand)):
        return None
    columns: dict[str, tuple[int, int]] = {}
    for number, operand in enumerate(occurrences(pattern.operand, under_not=False)):
        for name, column in shown[operand.place]:
            columns.setdefault(name, (number, column))
    return [columns[name] for name in sorted(columns)]


def _within(operand: Operand) -> Iterator[Operand]:
    yield operand
    if isinstance(operand, Sequence | Both | Either):
        for part in operand.operands:
            yield from _within(part)
