"""Events as one operator: classes and patterns together, as they are in one process.

Beside other parts of a plan, what these conclude comes in as events, and events go out as facts.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar, Final

from thalweg.answers.event_answers import AbstractLine, ComplexLine, EventLine, RejectedLine, event_answer
from thalweg.dataflow.context import Context
from thalweg.dataflow.operator import Operator, Output, Share, Updates, Words
from thalweg.dataflow.state import StateFormat
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.engine.proof import Proof
from thalweg.ir.pattern_semantics import Instance
from thalweg.ir.patterns import Pattern
from thalweg.kinds.classes.classifier import Classifier, ClassifierSpec
from thalweg.kinds.events.added_classes import AddedClasses
from thalweg.kinds.events.added_events import AddedEvent, AddedKnowledge, check_added
from thalweg.kinds.events.event_clauses import known_besides
from thalweg.kinds.events.event_layers import BoundEvent, EventLayers
from thalweg.kinds.events.event_stages import ArrivingEvents, facts_of, output_of
from thalweg.kinds.events.why_event import EventExplanation, EventReasons
from thalweg.languages.cascade.event_definitions import ClassText, NamedEvent
from thalweg.languages.owl.dl.askable_ontology import AskableOntology
from thalweg.model.arrow import frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.fact import Fact

if TYPE_CHECKING:
    from thalweg.kinds.events import EventCascade

# So many facts are kept for derivations that rest on events of earlier ticks.
_MOST_KEPT: Final = 100_000
_WINDOW: Final = re.compile(r" (?:in|always|before) \[[^\]]*\]\Z")


@dataclass(frozen=True)
class EventsSpec(ClassifierSpec):
    """Classes and patterns together; with `streams`, which other parts make, they are facts of a stream, too."""

    part: "EventCascade"
    streams: tuple[str, ...] | None = None

    gives_events: ClassVar[bool] = True

    def open(self, context: Context, dictionary: Dictionary, share: Share) -> "EventsOperator":
        if not self.part.program.selections:
            return EventsOperator(self, context, dictionary)
        from thalweg.kinds.events.selected_events import SelectingOperator

        return SelectingOperator(self, context, dictionary)


class EventsOperator(Operator):
    """Events at work: those named in `output` are answers, and beside other parts all are facts of the stream.

    One that will be asked why keeps what it found at its last tick.
    """

    format: ClassVar[StateFormat] = StateFormat("events")

    def __init__(self, spec: EventsSpec, context: Context, dictionary: Dictionary) -> None:
        part, program = spec.part, spec.part.program
        ladder, doubts = part.classifier().ladder()
        for doubt in doubts:
            context.report(doubt)
        self._context = context
        self._name = program.name
        self._published = spec.streams is not None
        self._part = part
        self._shown = {*part.output}
        self._output = {*(part.names if self._published else part.output)}
        self._first = context.settings.first
        explained = part.names if context.explains else frozenset()
        self._index = known_besides(ladder.program)
        self._layers = EventLayers(program, self._index, looked_at=explained, begins=dict(part.since))
        self._reasons = EventReasons(program, ladder, self._index) if context.explains else None
        self._classifier = Classifier(ladder, context.report, dictionary)
        # A definition that is added later may look at the triples of events that are kept now.
        words = dictionary if self._layers.looks or context.explains or context.saves else None
        self._wanted = self._output | explained
        self._arriving = ArrivingEvents(part, self._classifier, self._index, self._wanted, words)
        self._found: list[BoundEvent] = []
        self._rejected: list[RejectedLine] = []
        self._last: tuple[int, frozenset[Fact]] = (-1, frozenset())
        self._instances: dict[str, Instance] = {}
        self._added: dict[str, AddedEvent] = {}
        self._add(part.added)

    @property
    def dictionary(self) -> Dictionary:
        """The words of its terms."""
        return self._classifier.dictionary

    def advance(self, tick: int, updates: Updates) -> Iterator[Output]:
        if self._first is None:
            self._first = tick if self.first is None else self.first
        beginning = self._arriving.beginning(self._classifier.now, tick)
        if beginning is not None:
            yield from self._advanced(beginning, Updates())
        yield from self._advanced(tick, updates)

    def _advanced(self, tick: int, updates: Updates) -> Iterator[Output]:
        lines = sorted(self._lines(tick, updates), key=lambda line: (line.t, str(line)))
        for at, group in groupby(lines, key=lambda line: line.t):
            yield self._given(at, list(group))

    def _lines(self, tick: int, updates: Updates) -> Iterator[EventLine]:
        """What is known at a tick, and at those before it since the last one."""
        events: dict[str, list[Instance]] = {}
        renewed: dict[str, list[Instance]] = {}
        rejected: dict[str, list[str]] = {}
        graphs = self._arriving.concluded(updates.held)
        for event in self._arriving.at(tick, updates.events, graphs):
            if event.rejected:
                rejected.setdefault(event.rejected, []).append(event.graph)
            for instance in event.instances:
                (renewed if event.renewed else events).setdefault(instance.event, []).append(instance)
                if instance.event in self._output:
                    yield AbstractLine(tick, instance.event, instance.individual, instance.graph)
        yield from self._reject(tick, rejected)
        matched = self._layers.advance(tick, events, renewed)
        if self._reasons is not None:
            both = (*events.values(), *renewed.values())
            self._found = [(instance, ()) for instances in both for instance in instances]
            self._found += (match for at, match in matched if at == tick)
        for at, (complex_event, bindings) in matched:
            if complex_event.event in self._output:
                yield ComplexLine(at, complex_event, bindings)

    def _reject(self, tick: int, graphs_of: dict[str, list[str]]) -> list[RejectedLine]:
        """Events without classes, one line for each reason."""
        self._rejected = [RejectedLine(tick, why, tuple(sorted(graphs))) for why, graphs in graphs_of.items()]
        return self._rejected

    def _given(self, tick: int, lines: Sequence[EventLine]) -> Output:
        if not self._published:
            return Output(tick, event_answer(lines))
        facts = facts_of(lines if not self._added else filter(self._is_own, lines))
        self._last = tick, frozenset(facts)
        self._remember(lines)
        return output_of(tick, lines, self._shown, facts, self.dictionary, self._name)

    def _is_own(self, line: EventLine) -> bool:
        """Whether a line is of the cascade's own text: what was added is no fact for other parts."""
        return isinstance(line, RejectedLine) or line.event not in self._added

    def _remember(self, lines: Sequence[EventLine]) -> None:
        """Keeps the latest events by the facts that they are, where it will be asked why."""
        if self._reasons is None:
            return
        instances = {(event.event, event.individual, event.graph): event for event, _ in self._found}
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
        for diagnostic in self._doubts():
            self._context.report(diagnostic)
        return iter(())

    def _doubts(self) -> Iterator[Diagnostic]:
        yield from self._classifier.summary()
        if self._arriving.added is not None:
            yield from self._arriving.added.summary()
        yield from self._index.doubts()
        if self._added:
            yield from self._knowledge.doubts()

    def words_in_use(self) -> Words:
        """The words of conclusions that are still needed; patterns keep terms as text."""
        return self._arriving.words_in_use()

    # Events that come and go ------------------------------------------------------------------------------------------

    @cached_property
    def _ontology(self) -> AskableOntology:
        return self._part.askable()

    @cached_property
    def _knowledge(self) -> AddedKnowledge:
        return AddedKnowledge(self._part, self._index, self._ontology)

    def check_definition(self, definition: NamedEvent) -> None:
        """`RejectedError` where an event cannot be added."""
        check_added(self._part, definition, [*self._part.names, *self._added])
        class_text = definition.definition
        if isinstance(class_text, ClassText):
            try:
                self._ontology.read(class_text.text)
            except RejectedError as error:
                raise RejectedError(map(class_text.placed, error.diagnostics)) from None

    def add_definition(self, definition: NamedEvent, first: int | None) -> None:
        """Adds an event over those that are there; it knows what ends from its first tick on, and is output."""
        self._add((AddedEvent(definition, first),))

    def remove_definition(self, name: str) -> None:
        """Takes an event away that was added, and that no other uses."""
        definition = self._added.pop(name).event.definition
        if isinstance(definition, Pattern):
            index = self._knowledge.index_for(definition)
            self._layers.remove(name)
        else:
            assert self._arriving.added is not None
            self._arriving.added.remove(name)
            index = self._index
        self._arriving.remove(name, definition, index)
        if self._reasons is not None:
            self._reasons.remove(name)
        for names in (self._shown, self._output, self._wanted):
            names.discard(name)

    def _add(self, events: Sequence[AddedEvent]) -> None:
        self._add_classes({added.event.name: added.event.definition for added in events})
        for added in events:
            name, definition = added.event.name, added.event.definition
            index = self._knowledge.index_for(definition) if isinstance(definition, Pattern) else self._index
            if isinstance(definition, Pattern):
                self._layers.add(name, definition, index, added.first)
            self._added[name] = added
            self._arriving.add(name, definition, added.first, index)
            if self._reasons is not None:
                self._reasons.add(name, definition, index)
            for names in (self._shown, self._output, self._wanted):
                names.add(name)
        if events and self._layers.looks:
            self._arriving.spell_triples(self.dictionary)

    def _add_classes(self, definitions: Mapping[str, ClassText | Pattern]) -> None:
        classes = [(name, text.text) for name, text in definitions.items() if isinstance(text, ClassText)]
        if not classes:
            return
        if self._arriving.added is None:
            own = ((text.text, name) for name, text in self._part.program.classes)
            self._arriving.added = AddedClasses(self._ontology, own, self._context.report, self.dictionary)
            if self._reasons is not None:
                self._reasons.added = self._arriving.added
        self._arriving.added.add(classes)

    # Why --------------------------------------------------------------------------------------------------------------

    def why(self, fact: Fact) -> Proof | None:
        """The event that a fact is, at its tick."""
        tick, facts = self._last
        if tick != self._classifier.now or fact not in facts:
            return None
        return Proof(str(fact), tick, "event", rule=f"an event of `{self._name}`")

    def event_behind(self, leaf: Proof) -> Proof | None:
        """A fact of a derivation with the events, and the triples of graphs, that it is as an event."""
        written, _, tick = leaf.claim.rpartition(" at ")
        instance = self._instances.get(f"{_WINDOW.sub('', written)} at {tick}")
        if instance is None or self._reasons is None:
            return None
        return replace(self._reasons.steps(instance), claim=leaf.claim, until=leaf.until)

    def why_event(self, fact: Fact) -> EventExplanation | None:
        """Why there is an event at the last tick, or how far its matches are; None where none has this name."""
        assert self._reasons is not None
        now = self._classifier.now or 0
        begun = self._layers.begun(fact.predicate, now)
        return self._reasons.explanation(fact, now, self._found, begun, self._rejected)

    def lacking(self, fact: Fact) -> str:
        return f"there is no event `{fact}` at this tick"

    # Going on elsewhere -----------------------------------------------------------------------------------------------

    def save(self) -> bytes:
        return frame([self._snapshot(), self._arriving.save()])

    def load(self, data: bytes) -> None:
        state, arriving = unframe(data)
        self._resume(state)
        self._arriving.load(arriving)

    def take_over(self, other: Operator) -> None:
        """Goes on definition by definition; those that began at another tick than there are new."""
        assert isinstance(other, EventsOperator)
        self._first, self._classifier.now = other._first, other._classifier.now
        if other._classifier.now is not None:
            self._layers.take_over(other._layers, other._classifier.now)
        self._arriving.take_over(other._arriving)

    def _snapshot(self) -> bytes:
        now, layers = self._classifier.now, self._layers.save().decode()
        about: dict[str, object] = {"first": self._first, "now": now, "layers": layers}
        if self._added:
            about["added"] = self._layers.save_added()
        return json.dumps(about).encode()

    def _resume(self, data: bytes) -> None:
        saved = json.loads(data)
        self._first, self._classifier.now = saved["first"], saved["now"]
        self._layers.load(saved["layers"].encode())
        self._layers.load_added(saved.get("added", {}))
