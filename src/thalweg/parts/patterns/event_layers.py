"""Patterns over patterns: the events of a tick go up from definition to definition.

A complex event that ends is an event of the definitions that use it at the same tick. Where an open `NOT` lets one end
between two ticks with events, that tick is taken first.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from thalweg.ir.pattern_semantics import Instance, Match, Pair, Solution, TripleTerms, rank
from thalweg.ir.patterns import Clause, Pattern, occurrences
from thalweg.languages.cascade.event_definitions import CascadeProgram
from thalweg.parts.patterns.matcher import Matcher
from thalweg.parts.patterns.restrictions import Restriction, TripleIndex, holds

Found = tuple[Instance, Solution]
"""A complex event, and what its pattern binds."""


@dataclass(frozen=True)
class _Layer:
    name: str
    uses: tuple[str, ...]
    matcher: Matcher
    restrictions: Mapping[str, Restriction]

    def advance(self, tick: int, events: Mapping[str, list[Instance]]) -> list[Match]:
        return self.matcher.advance(
            tick, {name: self._pairs(name, events[name]) for name in self.uses if name in events}
        )

    def _pairs(self, name: str, events: list[Instance]) -> list[Pair]:
        restriction = self.restrictions.get(name)
        pairs: list[Pair] = []
        for event in events:
            pairs += [(event, ())] if restriction is None else [(event, one) for one in restriction.solutions(event)]
        return pairs if _are_different(events) else list(dict.fromkeys(pairs))


def _are_different(events: list[Instance]) -> bool:
    """Whether no two events of a name are the same: graphs without a name may be about one individual."""
    return bool(events[0].events) or len({(one.individual, one.graph) for one in events}) == len(events)


class EventLayers:
    """The patterns of a program, each behind those that it uses; `restriction` looks up a clause of a pattern."""

    def __init__(
        self,
        program: CascadeProgram,
        background: Iterable[TripleTerms] | TripleIndex,
        restriction: Callable[[str, Clause, TripleIndex], Restriction] = lambda _, *clause: Restriction(*clause),
    ) -> None:
        index = background if isinstance(background, TripleIndex) else TripleIndex(background)
        self._layers = [
            _layer(one.name, one.definition, index, restriction)
            for one in program.events
            if isinstance(one.definition, Pattern)
        ]
        self.looks = any(layer.restrictions for layer in self._layers)

    def advance(self, to: int, events: Mapping[str, list[Instance]]) -> list[tuple[int, Found]]:
        """The complex events that end up to a tick, with their ticks, when its abstract events come in."""
        found = []
        while (due := self._due()) is not None and due < to:
            found += [(due, one) for one in self._tick(due, {})]
        return found + [(to, one) for one in self._tick(to, events)]

    def _due(self) -> int | None:
        return min((due for layer in self._layers if (due := layer.matcher.due) is not None), default=None)

    def _tick(self, tick: int, events: Mapping[str, list[Instance]]) -> list[Found]:
        known = dict(events)
        found: list[Found] = []
        for layer in self._layers:
            same: dict[object, Instance] = {}
            matches = layer.advance(tick, known)
            if layer.matcher.repeats:
                matches.sort(key=lambda match: rank(match.events, match.bindings))
            for match in matches:
                # Matches of the same events are one event, whatever they bind.
                key = match.start, match.end, frozenset(match.events)
                event = same.setdefault(key, self._event(layer.name, match))
                found.append((event, match.bindings))
            if same:
                known[layer.name] = list(same.values())
        return found

    def _event(self, name: str, match: Match) -> Instance:
        triples = dict.fromkeys(triple for event in match.events for triple in event.triples)
        return Instance(name, match.start, match.end, events=match.events, triples=tuple(triples))

    def save(self) -> bytes:
        """All that the patterns must know to go on."""
        return json.dumps([layer.matcher.save().decode() for layer in self._layers]).encode()

    def load(self, saved: bytes) -> None:
        """Brings patterns that have seen nothing to where others were saved."""
        for layer, state in zip(self._layers, json.loads(saved), strict=True):
            layer.matcher.load(state.encode())


def _layer(
    name: str,
    pattern: Pattern,
    background: TripleIndex,
    restriction: Callable[[str, Clause, TripleIndex], Restriction],
) -> _Layer:
    restrictions = {one.event: restriction(name, one, background) for one in pattern.clauses if one.triples}
    uses = tuple(sorted({one.event for one in occurrences(pattern.operand)}))
    return _Layer(name, uses, Matcher(pattern, holds), restrictions)
