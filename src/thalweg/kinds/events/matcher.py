"""Matches of patterns as events come: tick by tick what `ir/pattern_semantics.py` says of the whole stream.

Candidates come from a tree of joins (`joins.py`). Those with an open `NOT` wait until their time is over; then, or at
once, each `NOT` is asked whether it extends them, and the modifier selects among those that end now. The selection
never depends on what comes later, so nothing is taken back. What is kept is bounded by `WITHIN`: once the bound, and
twice where a `NOT` is open.

Most subscriptions are `EVERY A SEQ B`: each A is matched with the next B that agrees with it. That needs no joins.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any, NamedTuple

from thalweg.ir.pattern_semantics import (
    Holds,
    Instance,
    Match,
    Occurring,
    Pair,
    Solution,
    has_open_not,
    joint_bindings,
    nots,
    pair_order,
    rank,
)
from thalweg.ir.patterns import Both, Either, Occurs, Operand, Pattern, Sequence, occurrences
from thalweg.kinds.events import joins
from thalweg.kinds.events.event_clauses import OwnFilters
from thalweg.kinds.events.joins import (
    LONG_AGO,
    Arriving,
    Entry,
    Filled,
    KeptCandidates,
    NegatedEvents,
    Partial,
    greatest,
    least,
    positive_tree,
)

Line = tuple[frozenset[Instance], Solution]
"""The events of a match, and what it binds."""


class Begun(NamedTuple):
    """A match that has begun: its events so far, what they bind, and the last tick at which it can be completed.

    It is `complete` where nothing but its time is missing: it is output then, unless a `NOT` is disturbed.
    """

    events: tuple[Instance, ...]
    bindings: Solution
    until: int | None
    complete: bool = False

    def lasts(self, now: int) -> bool:
        """Whether its time is not over."""
        return self.until is None or self.until > now


def _last_tick(start: int, within: int | None) -> int | None:
    """The last tick of a match that began at a tick; None where nothing bounds it.

    >>> _last_tick(3, 10), _last_tick(3, None)
    (13, None)
    """
    return None if within is None else start + within


def matcher(pattern: Pattern, holds: Holds) -> "Matcher | NextEvent":
    """The matcher of a pattern: `NextEvent` where that is simple enough."""
    return NextEvent(pattern, holds) if _is_simple(pattern) else Matcher(pattern, holds)


def _is_simple(pattern: Pattern) -> bool:
    """Whether a pattern is `EVERY A SEQ B` and single events decide its filters."""
    match pattern.operand:
        case Sequence((Occurs(first), Occurs(second))) if first != second and pattern.modifier == "EVERY":
            return not OwnFilters(pattern, lambda *_: True).joint
    return False


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
                _last_tick(partial.start, self._within),
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


# `EVERY A SEQ B` ------------------------------------------------------------------------------------------------------


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
        floor = LONG_AGO if self._within is None else now - self._within
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
        begun = [Begun((event,), solution, _last_tick(event.start, self._within)) for event, solution in waiting]
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


def _key(columns: list[int]) -> Callable[[Solution], Any]:
    """A function that returns the values of the shared variables of a solution."""
    return itemgetter(*columns) if columns else lambda solution: None


# Saved events ---------------------------------------------------------------------------------------------------------


def event_data(event: Instance) -> list[object]:
    """An event as what JSON can write.

    >>> read_event(event_data(Instance("<A>", 1, 2, "<x>"))).individual
    '<x>'
    """
    parts = [event_data(part) for part in event.events]
    return [event.event, event.start, event.end, event.individual, event.graph, parts, event.triples]


def read_event(data: list[Any]) -> Instance:
    """The event that was written."""
    event, start, end, individual, graph, parts, triples = data
    terms = tuple((subject, predicate, target) for subject, predicate, target in triples)
    return Instance(event, start, end, individual, graph, tuple(map(read_event, parts)), terms)


def read_solution(pairs: Iterable[Iterable[str]]) -> Solution:
    """The solution that was written as pairs."""
    return tuple((name, term) for name, term in pairs)
