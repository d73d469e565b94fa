"""Events as one operator: classes and patterns together, as they are in one process.

Beside other parts of a plan, what these conclude comes in as events, and events go out as facts.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from thalweg.answers.event_answers import AbstractLine, ComplexLine, EventLine, RejectedLine, event_answer
from thalweg.dataflow.context import Context
from thalweg.dataflow.exchange import Exchange
from thalweg.dataflow.operator import Operator, OpSpec, Output, Share, Updates, Words
from thalweg.dataflow.state import StateFormat
from thalweg.engine.proof import Proof
from thalweg.ir.pattern_semantics import Instance
from thalweg.kinds.classes.classes_operator import routes_of_events
from thalweg.kinds.events.concluded_events import ConcludedEvents
from thalweg.kinds.events.event_facts import batch_of
from thalweg.kinds.events.event_run import EventRun
from thalweg.kinds.events.why_event import EventExplanation
from thalweg.model.arrow import frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate

if TYPE_CHECKING:
    from thalweg.kinds.events import EventCascade

# So many facts are kept for derivations that rest on events of earlier ticks.
_MOST_KEPT: Final = 100_000
_WINDOW: Final = re.compile(r" (?:in|always|before) \[[^\]]*\]\Z")


def facts_of(lines: Iterable[EventLine]) -> list[Fact]:
    """The facts that events are to others, each once."""
    return list(dict.fromkeys(fact for line in lines for fact in line.facts()))


def output_of(
    tick: int, lines: Iterable[EventLine], output: frozenset[str], facts: Sequence[Fact], words: Dictionary, name: str
) -> Output:
    """What events of a tick are: lines of those that are output, and facts of the stream with a name."""
    shown = tuple(line for line in lines if isinstance(line, RejectedLine) or line.event in output)
    return Output(tick, event_answer(shown) if shown else None, events=(batch_of(facts, words, name),) if facts else ())


@dataclass(frozen=True)
class EventsSpec(OpSpec):
    """Classes and patterns together; with `streams`, which other parts make, they are facts of a stream, too."""

    part: "EventCascade"
    streams: tuple[str, ...] | None = None

    keeps_events: ClassVar[bool] = True
    gives_events: ClassVar[bool] = True

    def routes(self, signature: Predicate) -> tuple[tuple[int, Exchange], ...]:
        return routes_of_events(signature)

    def open(self, context: Context, dictionary: Dictionary, share: Share) -> "EventStream":
        return EventStream(self.part, self.streams, context, dictionary)


class EventStream(Operator):
    """Events at work: those named in `output` are answers, and beside other parts all are facts of the stream."""

    format: ClassVar[StateFormat] = StateFormat("events")

    def __init__(
        self, part: "EventCascade", streams: tuple[str, ...] | None, context: Context, dictionary: Dictionary
    ) -> None:
        self._name = part.program.name
        self._output = part.output
        self._published = streams is not None
        self._concluded = ConcludedEvents(part.beside.classes)
        self._report = context.report
        context = replace(context, streams=(*context.streams, *streams)) if streams else context
        self._run: EventRun = part.run(context, part.names if self._published else part.output, dictionary)
        self._last: tuple[int, frozenset[Fact]] = (-1, frozenset())
        self._instances: dict[str, Instance] = {}

    def advance(self, tick: int, updates: Updates) -> Iterator[Output]:
        if self._run.first is None:
            self._run.first = self.first
        graphs = list(self._concluded.take(updates.held))
        for answer in self._run.advance(tick, updates.events, graphs):
            for at, lines in groupby(answer.columns[0], key=lambda line: line.t):
                yield self._outputs(at, list(lines))

    def _outputs(self, tick: int, lines: Sequence[EventLine]) -> Output:
        if not self._published:
            return Output(tick, event_answer(lines))
        facts = facts_of(lines)
        self._last = tick, frozenset(facts)
        self._remember(lines)
        return output_of(tick, lines, self._output, facts, self._run.dictionary, self._name)

    def _remember(self, lines: Sequence[EventLine]) -> None:
        """Keeps the latest events by the facts that they are, where it will be asked why."""
        if not self._run.explains:
            return
        instances = {(event.event, event.individual, event.graph): event for event, _ in self._run.found}
        for line in lines:
            instance = line.instance if isinstance(line, ComplexLine) else None
            if isinstance(line, AbstractLine):
                instance = instances.get((line.event, line.individual, line.graph))
            if instance is not None:
                self._instances |= {f"{fact} at {line.t}": instance for fact in line.facts()}
        while len(self._instances) > _MOST_KEPT:
            del self._instances[next(iter(self._instances))]

    def finish(self) -> Iterator[Output]:
        """What could not be decided is reported; every event was answered at its tick."""
        for diagnostic in self._run.summary():
            self._report(diagnostic)
        return iter(())

    def looks(self, after: int, before: int) -> Iterable[int]:
        return self._run.looks(after, before)

    def words_in_use(self) -> Words:
        """The words of conclusions and windows that are still needed; patterns keep terms as text."""
        return np.concatenate([self._run.words_in_use(), self._concluded.words()])

    def why(self, fact: Fact) -> Proof | None:
        """The event that a fact is, at its tick."""
        tick, facts = self._last
        if tick != self._run.now or fact not in facts:
            return None
        return Proof(str(fact), tick, "event", rule=f"an event of `{self._name}`")

    def event_behind(self, leaf: Proof) -> Proof | None:
        """A fact of a derivation with the events, and the triples of graphs, that it is as an event."""
        written, _, tick = leaf.claim.rpartition(" at ")
        instance = self._instances.get(f"{_WINDOW.sub('', written)} at {tick}")
        return None if instance is None else replace(self._run.steps(instance), claim=leaf.claim, until=leaf.until)

    def why_event(self, fact: Fact) -> EventExplanation | None:
        """Why there is an event at the last tick, or how far its matches are; None where none has this name."""
        return self._run.why_event(fact)

    def lacking(self, fact: Fact) -> str:
        return f"there is no event `{fact}` at this tick"

    def save(self) -> bytes:
        return frame([self._run.snapshot(), self._concluded.save(self._run.dictionary)])

    def load(self, data: bytes) -> None:
        run, concluded = unframe(data)
        self._run.resume(run)
        self._concluded.load(concluded, self._run.dictionary)
