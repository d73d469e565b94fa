"""Patterns over patterns: the complex events of a program, each behind those that it uses.

The events of a tick go up from definition to definition: a complex event that ends is an event of the definitions that
use it at the same tick. Where an open `NOT` lets one end between two ticks with events, that tick is taken first. A
pattern that no event is for is not looked at, so many subscriptions cost as much as the few that an event is for.

Where a run goes on with a changed program, patterns that are the same keep their matchers. One that began later knows
events that ended since.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from itertools import chain
from typing import Final

from thalweg.ir.pattern_semantics import Instance, Match, Pair, Solution, TripleTerms, rank
from thalweg.ir.patterns import Pattern, occurrences
from thalweg.kinds.events.event_clauses import Subscriptions, TripleIndex, holds, limits_of
from thalweg.kinds.events.matcher import Begun, Matcher, NextEvent, matcher
from thalweg.languages.cascade.event_definitions import CascadeProgram

BoundEvent = tuple[Instance, Solution]
"""A complex event, and what its pattern binds."""
Waiting = dict[int, dict[str, list[Pair]]]
"""The events of a tick by the numbers of the patterns that they are for."""
Owns = Callable[[str, Solution], bool]
"""Whether a pattern of a name takes a solution of one of its clauses."""
# Patterns that no event is for forget what has expired after so many ticks.
_SWEEP: Final = 1_024


@dataclass(frozen=True, slots=True)
class _Layer:
    name: str
    pattern: Pattern
    matcher: Matcher | NextEvent


def _are_different(events: list[Instance]) -> bool:
    """Whether no two events of a name are the same: graphs without a name may be about one individual."""
    return (
        len(events) == 1
        or bool(events[0].events)
        or len({(event.individual, event.graph) for event in events}) == len(events)
    )


class EventLayers:
    """The patterns of a program, each behind those that it uses.

    `owns` says whether a solution of a clause is looked at here; `looked_at` are the names of complex events whose
    triples others need, besides those that its own clauses do. `begins` has the first ticks of patterns that began
    later than the run: events that ended before are not for them.
    """

    def __init__(
        self,
        program: CascadeProgram,
        background: Iterable[TripleTerms] | TripleIndex,
        owns: Owns | None = None,
        looked_at: frozenset[str] = frozenset(),
        begins: Mapping[str, int] = {},
    ) -> None:
        index = background if isinstance(background, TripleIndex) else TripleIndex(background)
        self._owns = owns
        self._looked_at = {*program.looked_at, *looked_at}
        self._layers: dict[int, _Layer] = {}
        """By numbers: a pattern has a greater one than those that it uses."""
        self._numbers: dict[str, int] = {}
        self._next = 0
        self._begins: dict[int, int] = {}
        self._subscriptions: dict[str, Subscriptions] = {}
        # The ticks at which something ends without an event, with the number of its pattern.
        self._dues: list[tuple[int, int]] = []
        self._ticks = 0
        for event in program.events:
            if isinstance(event.definition, Pattern):
                self._add(event.name, event.definition, index, begins.get(event.name))
        self._own = self._next

    @property
    def looks(self) -> bool:
        """Whether some clause looks at the triples of events."""
        return any(subscriptions.looks for subscriptions in self._subscriptions.values())

    def add(self, name: str, pattern: Pattern, index: TripleIndex, begins: int | None) -> None:
        """Adds a pattern over events that are there; `begins` is its first tick, where the run has begun."""
        self._looked_at |= {clause.event for clause in pattern.clauses if clause.triples}
        self._add(name, pattern, index, begins)

    def _add(self, name: str, pattern: Pattern, index: TripleIndex, begins: int | None) -> None:
        number = self._next
        self._next += 1
        self._numbers[name] = number
        self._layers[number] = _Layer(name, pattern, matcher(pattern, holds))
        if begins is not None:
            self._begins[number] = begins
        clauses = {clause.event: clause for clause in pattern.clauses}
        for event in _used(pattern):
            clause = clauses.get(event)
            filters = [] if clause is None else limits_of(pattern, clause)
            self._subscriptions.setdefault(event, Subscriptions((), index)).add(number, clause, filters, index)

    def remove(self, name: str) -> None:
        """Takes a pattern away that no other uses."""
        number = self._numbers.pop(name)
        pattern = self._layers.pop(number).pattern
        self._begins.pop(number, None)
        for event in _used(pattern):
            self._subscriptions[event].remove(number)
            if self._subscriptions[event].is_empty:
                del self._subscriptions[event]
        self._dues = [due for due in self._dues if due[1] != number]
        heapify(self._dues)

    def advance(
        self, to: int, events: Mapping[str, list[Instance]], renewed: Mapping[str, list[Instance]] = {}
    ) -> list[tuple[int, BoundEvent]]:
        """The complex events that end up to a tick, with their ticks, when its abstract events come in.

        Those that are `renewed` are only for the patterns that begin at this tick.
        """
        matched = []
        while self._dues and self._dues[0][0] < to:
            due = self._dues[0][0]
            matched += [(due, match) for match in self._tick(due, {})]
        matched += [(to, match) for match in self._tick(to, events, renewed)]
        self._ticks += 1
        if self._ticks % _SWEEP == 0:
            for layer in self._layers.values():
                layer.matcher.forget(to)
        return matched

    def _tick(
        self, tick: int, events: Mapping[str, list[Instance]], renewed: Mapping[str, list[Instance]] = {}
    ) -> list[BoundEvent]:
        waiting: Waiting = {}
        while self._dues and self._dues[0][0] <= tick:
            waiting[heappop(self._dues)[1]] = {}
        for name, instances in events.items():
            self._hand_out(name, instances, waiting)
        for name, instances in renewed.items():
            self._hand_out(name, instances, waiting, is_renewed=True)
        results: list[BoundEvent] = []
        agenda = list(waiting)
        heapify(agenda)
        while agenda:
            number = heappop(agenda)
            layer = self._layers[number]
            matches = layer.matcher.advance(tick, waiting.pop(number))
            self._schedule(number)
            if matches:
                bound_events, complex_events = self._made(layer, matches)
                results += bound_events
                for new in self._hand_out(layer.name, complex_events, waiting):
                    heappush(agenda, new)
        return results

    def _schedule(self, number: int) -> None:
        due = self._layers[number].matcher.due
        if due is not None and (due, number) not in self._dues[:1]:
            heappush(self._dues, (due, number))

    def _hand_out(self, name: str, events: list[Instance], waiting: Waiting, is_renewed: bool = False) -> list[int]:
        """Gives events to the patterns that they are for; the numbers of those that had none before."""
        subscriptions = self._subscriptions.get(name)
        if subscriptions is None:
            return []
        new: list[int] = []
        for event in events:
            for number, solution in subscriptions.asked(event):
                if self._owns is not None and not self._owns(self._layers[number].name, solution):
                    continue
                if (self._begins or is_renewed) and not self._sees(number, event, is_renewed):
                    continue
                pairs = waiting.get(number)
                if pairs is None:
                    waiting[number] = pairs = {}
                    new.append(number)
                pairs.setdefault(name, []).append((event, solution))
        if is_renewed or not _are_different(events):
            for pairs in waiting.values():
                if name in pairs:
                    pairs[name] = list(dict.fromkeys(pairs[name]))
        return new

    def _sees(self, number: int, event: Instance, is_renewed: bool) -> bool:
        """Whether an event did not end before a pattern began."""
        begins = self._begins.get(number)
        return begins == event.end if is_renewed else begins is None or begins <= event.end

    def _made(self, layer: _Layer, matches: list[Match]) -> tuple[list[BoundEvent], list[Instance]]:
        """The complex events of matches with their bindings, and each of these events once."""
        if layer.matcher.repeats:
            matches.sort(key=lambda match: rank(match.events, match.bindings))
        subscriptions = self._subscriptions.get(layer.name)
        looks = layer.name in self._looked_at
        if subscriptions is None:
            return [(_event(layer.name, match, looks), match.bindings) for match in matches], []
        bound_events: list[BoundEvent] = []
        same: dict[object, Instance] = {}
        for match in matches:
            # Matches of the same events are one event, whatever they bind.
            key = match.start, match.end, frozenset(match.events)
            event = same.get(key)
            if event is None:
                same[key] = event = _event(layer.name, match, looks)
            bound_events.append((event, match.bindings))
        return bound_events, list(same.values())

    def begun(self, name: str, now: int) -> list[Begun]:
        """The matches of a pattern that have begun and can still be completed."""
        number = self._numbers.get(name)
        return [] if number is None else list(self._layers[number].matcher.begun(now))

    def take_over(self, other: "EventLayers", now: int) -> None:
        """Goes on where another program was after a tick `now`, with the patterns that had begun by then.

        Patterns of one name that began at one tick are the same. Nothing is copied: the other program is over.
        """
        for number, layer in self._layers.items():
            begins, origin = self._begins.get(number), other._numbers.get(layer.name)
            if origin is None or origin >= other._own:
                continue
            if other._begins.get(origin) == begins and (begins is None or begins <= now):
                self._layers[number] = replace(layer, matcher=other._layers[origin].matcher)
                self._schedule(number)

    def save(self) -> bytes:
        """The states of the program's patterns, as bytes from which they can continue."""
        own = (layer for number, layer in self._layers.items() if number < self._own)
        return json.dumps([layer.matcher.save().decode() for layer in own]).encode()

    def load(self, saved: bytes) -> None:
        """Brings patterns that have seen nothing to where others were saved."""
        own = (self._layers[number] for number in range(self._own))
        for layer, state in zip(own, json.loads(saved), strict=True):
            self._resume(layer.name, state)

    def save_added(self) -> dict[str, str]:
        """The states of the patterns that were added, by their names."""
        added = (layer for number, layer in self._layers.items() if number >= self._own)
        return {layer.name: layer.matcher.save().decode() for layer in added}

    def load_added(self, saved: Mapping[str, str]) -> None:
        """Brings those to where they were saved that have been added again."""
        for name, state in saved.items():
            if self._numbers.get(name, -1) >= self._own:
                self._resume(name, state)

    def _resume(self, name: str, state: str) -> None:
        number = self._numbers[name]
        self._layers[number].matcher.load(state.encode())
        self._schedule(number)


def _used(pattern: Pattern) -> list[str]:
    """The names of the events that a pattern is made of."""
    return sorted({occurrence.event for occurrence in occurrences(pattern.operand)})


def _event(name: str, match: Match, with_triples: bool) -> Instance:
    """A match as an event; its triples are needed where a clause looks at them."""
    triples = dict.fromkeys(triple for event in match.events for triple in _graph(event)) if with_triples else ()
    return Instance(name, match.start, match.end, events=match.events, triples=tuple(triples))


def _graph(event: Instance) -> Iterable[TripleTerms]:
    """The triples of an event; those of its events where no clause looked at them when it was made."""
    return event.triples or chain.from_iterable(map(_graph, event.events))
