"""Why there is an event: the events that it is made of, what their clauses found, and why each is of its class.

Where there is no such event, the matches that have begun, and until when each can still be completed.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from thalweg.answers.event_answers import RejectedLine
from thalweg.engine.proof import Proof
from thalweg.ir.event_names import event_id
from thalweg.ir.pattern_semantics import Instance, Pair, Solution, bindings_of, joint_bindings, rank
from thalweg.ir.pattern_text import show_pattern
from thalweg.ir.patterns import Clause, Pattern
from thalweg.kinds.classes.ladder import Ladder
from thalweg.kinds.classes.why_class import ClassProof, why_class
from thalweg.kinds.events.added_classes import AddedClasses
from thalweg.kinds.events.event_clauses import Subscriptions, TripleIndex, holds
from thalweg.kinds.events.matcher import Begun
from thalweg.languages.cascade.event_definitions import CascadeProgram, ClassText
from thalweg.model.explanation import Explanation
from thalweg.model.fact import Fact
from thalweg.model.time import AS_TICKS, TimeFormat

MOST_SHOWN: Final = 5
"""How many matches that have begun are shown, and how many events besides the one that is explained."""


@dataclass(frozen=True, slots=True)
class Found:
    """A triple of a clause as it was found, in the graph of the event or in the background."""

    triple: str
    source: str


@dataclass(frozen=True, slots=True)
class EventProof:
    """An event, the definition that it is one by, and why."""

    event: Instance
    definition: str
    bindings: Solution = ()
    found: tuple[Found, ...] = ()
    filters: tuple[str, ...] = ()
    membership: ClassProof | None = None
    parts: "tuple[EventProof, ...]" = field(default=())

    def render(self, times: TimeFormat = AS_TICKS) -> str:
        """The proof as an indented text."""
        return "\n".join(self._lines(times))

    def _lines(self, times: TimeFormat) -> Iterator[str]:
        yield f"{_short(self.event, times)}   {self.definition}"
        if self.bindings:
            yield f"  binds {_bound_text(self.bindings)}"
        for match in self.found:
            yield f"  clause  {match.triple}   ({match.source})"
        for condition in self.filters:
            yield f"  filter  {condition}"
        if self.membership is not None:
            yield f"  is in its class, decided by {self.membership.decided_by}, because of"
            yield from (f"    {line}" for line in self.membership.lines())
        for part in self.parts:
            yield from (f"  {line}" for line in part._lines(times))

    def as_data(self, times: TimeFormat = AS_TICKS) -> dict[str, object]:
        """The proof as a dictionary that JSON can write."""
        data = {**_event_summary(self.event, times), "definition": self.definition}
        if self.event.events:
            data["bindings"] = dict(self.bindings)
            data["events"] = [part.as_data(times) for part in self.parts]
        if self.found:
            data["clause"] = [{"triple": match.triple, "in": match.source} for match in self.found]
        if self.filters:
            data["filters"] = list(self.filters)
        if self.membership is not None:
            data["because"] = self.membership.as_data()
        return data


@dataclass(frozen=True, slots=True)
class EventExplanation(Explanation):
    """Why the first event of a name is known at a tick, which `others` there are, and what has begun."""

    name: str
    tick: int
    definition: str
    proof: EventProof | None
    others: tuple[tuple[Instance, Solution], ...]
    begun: tuple[Begun, ...]
    is_class: bool
    rejected: tuple[RejectedLine, ...] = ()
    times: TimeFormat = field(default=AS_TICKS, compare=False, repr=False)

    def render(self, times: TimeFormat = AS_TICKS) -> str:
        """As text: the proof, or what has begun where there is none."""
        if self.proof is not None:
            also = [
                f"also {_short(event, times)}{f' with {_bound_text(bound)}' if bound else ''}"
                for event, bound in self.others[:MOST_SHOWN]
            ]
            more = len(self.others) - MOST_SHOWN
            return "\n".join([self.proof.render(times), *also, *([f"and {more} more"] if more > 0 else [])])
        if self.is_class:
            lines = [f"  {self.name} is {self.definition}: no event of this tick is in it"]
            return "\n".join(
                [*lines, *(f"  {events.why}, so without classes: {_graphs(events)}" for events in self.rejected)]
            )
        lines = [f"  {self.name} is {self.definition}"]
        if not self.begun:
            return "\n".join([*lines, "  no match has begun"])
        lines += [f"  begun: {_begun_text(match, times)}" for match in self.begun[:MOST_SHOWN]]
        more = len(self.begun) - MOST_SHOWN
        return "\n".join([*lines, *([f"  and {more} more have begun"] if more > 0 else [])])

    def as_data(self, times: TimeFormat = AS_TICKS) -> dict[str, object]:
        return {
            "event": self.name,
            "t": times.data(self.tick),
            "definition": self.definition,
            "proof": None if self.proof is None else self.proof.as_data(times),
            "others": [
                {**_event_summary(event, times), **({"bindings": dict(bound)} if event.events else {})}
                for event, bound in self.others
            ],
            "begun": [_begun_data(match, times) for match in self.begun],
            **{events.why: list(events.graphs) for events in self.rejected},
        }


class EventReasons:
    """Explains events of a program."""

    def __init__(self, program: CascadeProgram, ladder: Ladder, index: TripleIndex) -> None:
        self._definitions = {event.name: event.definition for event in program.events}
        self._ladder = ladder
        self.added: AddedClasses | None = None
        """What decides the classes of events that were added."""
        # Where the clauses of patterns that were added look.
        self._indexes: dict[str, TripleIndex] = {}
        self._index = index
        self._background = frozenset(ladder.program.triples)

    def add(self, name: str, definition: ClassText | Pattern, index: TripleIndex) -> None:
        """Knows an event more."""
        self._definitions[name] = definition
        self._indexes[name] = index

    def remove(self, name: str) -> None:
        """Knows an event less."""
        del self._definitions[name], self._indexes[name]

    def explanation(
        self,
        fact: Fact,
        tick: int,
        events: Iterable[tuple[Instance, Solution]],
        begun: Sequence[Begun],
        rejected: Sequence[RejectedLine] = (),
    ) -> EventExplanation | None:
        """Why there is an event at a tick, or how far it is; None where no event has this name.

        The terms of the fact that is asked about are individuals or graphs of its events, or what it binds.
        """
        name, definition = fact.predicate, self._definitions.get(fact.predicate)
        if definition is None:
            return None
        wanted = set(fact.terms)
        pairs = sorted(
            (pair for pair in events if pair[0].event == name and wanted <= _terms(*pair)),
            key=lambda pair: rank([pair[0]], pair[1]),
        )
        proof = self.proof(*pairs[0]) if pairs else None
        near = tuple(
            match
            for match in begun
            if wanted <= {term for _, term in match.bindings}.union(*(_terms(event, ()) for event in match.events))
        )
        is_class, also = isinstance(definition, ClassText), tuple(pairs[1:])
        return EventExplanation(name, tick, _text(definition), proof, also, near, is_class, tuple(rejected))

    def proof(
        self, event: Instance, bindings: Solution = (), within: Pattern | None = None, values: Solution = ()
    ) -> EventProof:
        """Why there is an event; of one that is part of a match, also what the clause of the pattern found.

        `bindings` are what the event binds, or what was found at it; `values` are what the whole match binds.
        """
        definition = self._definitions.get(event.event)
        triples, filters = self._clause(event, bindings, within, values) if within is not None else ((), ())
        if isinstance(definition, Pattern):
            pairs = self._pairs(event, definition, () if within is not None else bindings)
            bound = bindings_of(definition, pairs)
            parts = tuple(self.proof(part, solution, definition, bound) for part, solution in pairs)
            return EventProof(event, _text(definition), bound, triples, filters, parts=parts)
        if definition is None:
            return EventProof(event, "concluded by rules", found=triples, filters=filters)
        ladder, label = (self._ladder, event.event)
        if self.added is not None and event.event in self.added:
            ladder, label = self.added.decider(event.event) or (ladder, self.added.label_of(event.event))
        membership = why_class(ladder, event.triples, event.individual, label)
        return EventProof(event, _text(definition), found=triples, filters=filters, membership=membership)

    def steps(self, event: Instance) -> Proof:
        """An event as a step of a derivation: by its definition, because of its events or the triples of its graph."""
        definition = self._definitions.get(event.event)
        rule = "what rules conclude" if definition is None else _text(definition)
        rule += f", graph {event.graph}" if event.graph else ""
        about = event_id(event) if event.events else event.individual
        because = [self.steps(part) for part in event.events]
        because += [Proof(" ".join(triple), None, "triple") for triple in sorted(event.triples)] if not because else []
        return Proof(f"{event.event}({about}) at {event.end}", None, "event", rule, because=tuple(because))

    def _pairs(self, event: Instance, pattern: Pattern, bindings: Solution) -> list[Pair]:
        """The events of a match with what was found at each: the first that agree, with what it binds as well."""
        clauses = {clause.event: clause for clause in pattern.clauses}
        index = self._indexes.get(event.event, self._index)
        choices = [_solutions(part, clauses.get(part.event), index) for part in event.events]
        filters = [condition for clause in pattern.clauses for condition in clause.filters]
        for solutions in _agreeing(choices, pattern.shared, dict(bindings)):
            pairs = list(zip(event.events, solutions, strict=True))
            joint = (
                (condition, binding)
                for condition in filters
                for binding in joint_bindings(pattern, pairs, condition.variables)
            )
            if all(holds(condition, binding) for condition, binding in joint):
                return pairs
        return [(part, ()) for part in event.events]

    def _clause(
        self, event: Instance, solution: Solution, pattern: Pattern, values: Solution
    ) -> tuple[tuple[Found, ...], tuple[str, ...]]:
        """What the clause of an event found, as triples, and its filters."""
        clause = next((candidate for candidate in pattern.clauses if candidate.event == event.event), None)
        if clause is None or not solution:
            return (), ()
        bound = dict(solution)
        triples = [
            tuple(
                bound[term[1:]] if term[0] == "?" else term
                for term in (triple.subject, triple.predicate, triple.object)
            )
            for triple in clause.triples
        ]
        matches = tuple(Found(" ".join(triple), self._source(triple, event)) for triple in triples)
        return matches, tuple(_filters(clause, {**dict(values), **bound}))

    def _source(self, triple: tuple[str, ...], event: Instance) -> str:
        if triple in event.triples:
            return "event"
        return "background" if triple in self._background else "follows from the ontology"


def _solutions(event: Instance, clause: Clause | None, index: TripleIndex) -> list[Solution]:
    return [solution for _, solution in Subscriptions([(0, clause)], index).asked(event)]


def _agreeing(
    choices: Sequence[Sequence[Solution]], shared: Collection[str], bound: Mapping[str, str]
) -> Iterator[tuple[Solution, ...]]:
    """One solution of each, in all ways in which they agree on what is shared, and with what is bound.

    >>> list(_agreeing([[(("r", "<x>"),)], [(("r", "<y>"),), (("r", "<x>"),)]], {"r"}, {}))
    [((('r', '<x>'),), (('r', '<x>'),))]
    """
    if not choices:
        yield ()
        return
    for solution in choices[0]:
        if all(bound.get(name, term) == term for name, term in solution):
            more = {name: term for name, term in solution if name in shared}
            for following in _agreeing(choices[1:], shared, {**bound, **more}):
                yield solution, *following


def _filters(clause: Clause, values: Mapping[str, str]) -> Iterator[str]:
    for condition in clause.filters:
        bound = ", ".join(f"?{name}={values[name]}" for name in condition.variables if name in values)
        yield f"{condition.text} holds with {bound}" if bound else condition.text


def _graphs(rejected: RejectedLine) -> str:
    return ", ".join(graph or "a graph without a name" for graph in rejected.graphs)


def _text(definition: ClassText | Pattern) -> str:
    return definition.text if isinstance(definition, ClassText) else show_pattern(definition)


def _terms(event: Instance, bindings: Solution) -> set[str]:
    """All by which an event can be named."""
    own = {event.individual, event.graph, *(term for _, term in bindings), *([event_id(event)] if event.events else [])}
    return own.union(*(_terms(part, ()) for part in event.events))


# Texts ---------------------------------------------------------------------------------------------------------------


def _begun_text(match: Begun, times: TimeFormat) -> str:
    """A match that has begun, and until when it can be completed."""
    listed = ", ".join(_short(event, times) for event in match.events)
    bound = f" with {_bound_text(match.bindings)}" if match.bindings else ""
    until = "" if match.until is None else times.text(match.until)
    if match.complete:
        return f"{listed}{bound}: is output at {until}, unless it is disturbed before"
    return f"{listed}{bound}: can be completed {f'until {until}' if until else 'for ever'}"


def _begun_data(match: Begun, times: TimeFormat) -> dict[str, object]:
    events = [_event_summary(event, times) for event in match.events]
    until = None if match.until is None else times.data(match.until)
    return {"events": events, "bindings": dict(match.bindings), "until": until, "complete": match.complete}


def _short(event: Instance, times: TimeFormat = AS_TICKS) -> str:
    """An event in a few words.

    >>> _short(Instance("<A>", 3, 3, "<x>", "<g>"))
    '<A>(<x>) at 3 in <g>'
    """
    start, end = times.text(event.start), times.text(event.end)
    when = f"at {start}" if event.start == event.end else f"from {start} to {end}"
    if event.events:
        individuals = ", ".join(sorted(event.individuals))
        return f"{event.event} {when} of {individuals}"
    graph = f" in {event.graph}" if event.graph else ""
    return f"{event.event}({event.individual}) {when}{graph}"


def _bound_text(bindings: Solution) -> str:
    """What is bound, as it is asked for in a query."""
    return " ".join(f"?{name}={term}" for name, term in bindings)


def _event_summary(event: Instance, times: TimeFormat = AS_TICKS) -> dict[str, object]:
    """An event as data, without those that it is made of."""
    data: dict[str, object] = {"event": event.event, "from": times.data(event.start), "to": times.data(event.end)}
    if not event.events:
        data |= {"individual": event.individual, "graph": event.graph}
    return data
