"""Events at work in this process: what comes is classified, patterns are matched, and what is asked for is output.

It is taken through time tick by tick. What it keeps is what patterns keep.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from thalweg.answers.event_answers import AbstractLine, ComplexLine, EventLine, RejectedLine, event_answer
from thalweg.answers.record import Answer
from thalweg.diagnostics import Diagnostic
from thalweg.engine.proof import Proof
from thalweg.ir.pattern_semantics import Instance, Solution, TripleTerms
from thalweg.kinds.classes.abstract_events import ClassifiedEvent, Classifier
from thalweg.kinds.classes.ladder import Ladder
from thalweg.kinds.events.concluded_events import Conclusion
from thalweg.kinds.events.event_layers import EventLayers
from thalweg.kinds.events.restrictions import known_besides
from thalweg.kinds.events.usable_events import UsableEvents
from thalweg.kinds.events.why_event import EventExplanation, EventReasons
from thalweg.languages.cascade.event_definitions import CascadeProgram
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.rdf import RDF_TYPE


@dataclass(frozen=True, slots=True)
class ArrivedEvent:
    """An event of a stream, its tick and the events that it is by its classes; or why it was rejected."""

    tick: int
    graph: str
    rejected: str
    instances: tuple[Instance, ...]


class EventRun:
    """A cascade of events; one that `explains` keeps what it found at its last tick."""

    def __init__(
        self,
        program: CascadeProgram,
        ladder: Ladder,
        output: frozenset[str],
        first: int | None,
        report: Callable[[Diagnostic], None],
        dictionary: Dictionary | None = None,
        explains: bool = False,
    ) -> None:
        self._classifier = Classifier(ladder, frozenset(), first, report, dictionary)
        self._known = known_besides(ladder.program)
        names = frozenset(event.name for event in program.events) if explains else frozenset()
        self._layers = EventLayers(program, self._known, looked_at=names)
        self._usable = UsableEvents(program, self._known, output | names)
        self._reasons = EventReasons(program, ladder, self._known) if explains else None
        self._found: list[tuple[Instance, Solution]] = []
        self._rejected: list[RejectedLine] = []
        self._output = output
        self._undefined = frozenset(name for name, _ in program.undefined)

    @property
    def first(self) -> int | None:
        return self._classifier.first

    @first.setter
    def first(self, tick: int | None) -> None:
        self._classifier.first = tick

    @property
    def now(self) -> int | None:
        return self._classifier.now

    @property
    def dictionary(self) -> Dictionary:
        return self._classifier.dictionary

    def advance(
        self,
        to: int,
        batches: Sequence[Batch],
        concluded: Sequence[list[Conclusion]] = (),
    ) -> list[Answer]:
        """What is known at a tick, and at those before it since the last one.

        What rules beside it have `concluded` of an individual is an event without a name.
        """
        self._classifier.begin(to)
        events: dict[str, list[Instance]] = {}
        lines: list[EventLine] = []
        rejected: dict[str, list[str]] = {}
        here = chain(self._classifier.classified(batches), map(self._concluded, concluded))
        for event in (self._arrived(to, classified) for classified in here):
            if event.rejected:
                rejected.setdefault(event.rejected, []).append(event.graph)
            for instance in event.instances:
                events.setdefault(instance.event, []).append(instance)
                if instance.event in self._output:
                    lines.append(AbstractLine(to, instance.event, instance.individual, instance.graph))
        self._rejected = [RejectedLine(to, why, tuple(sorted(graphs))) for why, graphs in rejected.items()]
        lines += self._rejected
        matched = self._layers.advance(to, events)
        for tick, (complex_event, bindings) in matched:
            if complex_event.event in self._output:
                lines.append(ComplexLine(tick, complex_event, bindings))
        if self._reasons is not None:
            abstract: list[tuple[Instance, Solution]] = [
                (instance, ()) for instances in events.values() for instance in instances
            ]
            self._found = [*abstract, *(match for tick, match in matched if tick == to)]
        answers = sorted(lines, key=lambda line: (line.t, str(line)))
        return [event_answer(answers)] if answers else []

    def _arrived(self, tick: int, event: ClassifiedEvent) -> ArrivedEvent:
        arrived = instances(tick, self._usable.of(event), self._spelling)
        return ArrivedEvent(tick, event.graph, event.rejected, tuple(arrived))

    @property
    def _spelling(self) -> Dictionary | None:
        """The dictionary that spells triples, where something looks at the triples of events."""
        return self.dictionary if self._layers.looks or self._reasons is not None else None

    @property
    def explains(self) -> bool:
        """Whether it can be asked why."""
        return self._reasons is not None

    @property
    def found(self) -> Sequence[tuple[Instance, Solution]]:
        """The events of its last tick, where it can be asked why."""
        return self._found

    def steps(self, event: Instance) -> Proof:
        """An event as a step of a derivation."""
        assert self._reasons is not None
        return self._reasons.steps(event)

    def why_event(self, fact: Fact) -> EventExplanation | None:
        """Why there is an event at the last tick, or how far its matches are; None where none has this name."""
        assert self._reasons is not None
        now = 0 if self.now is None else self.now
        begun = self._layers.begun(fact.predicate, now)
        return self._reasons.explanation(fact, now, self._found, begun, self._rejected)

    def _concluded(self, graph: list[Conclusion]) -> ClassifiedEvent:
        return concluded_event(self._classifier, graph, self._undefined)

    def summary(self) -> Iterator[Diagnostic]:
        """Warnings about events that could not be decided."""
        yield from self._classifier.summary()
        yield from self._known.doubts()

    def looks(self, after: int, before: int) -> Iterable[int]:
        """The ticks between two others at which it looks at what holds: it reads conclusions themselves."""
        return ()

    def words_in_use(self) -> NDArray[np.int64]:
        """None, as others may get another meaning now: patterns keep terms as text."""
        self._classifier.forget()
        return np.zeros(0, dtype=np.int64)

    def snapshot(self) -> bytes:
        """Its state, as bytes from which it can continue."""
        return json.dumps({"first": self.first, "now": self.now, "layers": self._layers.save().decode()}).encode()

    def resume(self, data: bytes) -> None:
        """Goes on where a snapshot was taken."""
        saved = json.loads(data)
        self._classifier.first, self._classifier.now = saved["first"], saved["now"]
        self._layers.load(saved["layers"].encode())


def concluded_event(classifier: Classifier, graph: list[Conclusion], names: Collection[str]) -> ClassifiedEvent:
    """An event of conclusions; patterns may use the classes of some `names`, which no text defines."""
    event = classifier.classify("", [(name.name, words) for name, words in graph])
    used = [name for name, words in event.facts if len(words) == 1 and name in names]
    if not used or event.rejected:
        return event
    individual = classifier.dictionary.spell(event.facts[0][1][0])
    return replace(event, classes=[*event.classes, *((name, individual) for name in used)])


def instances(tick: int, event: ClassifiedEvent, words: Dictionary | None) -> Iterator[Instance]:
    """The events that an event of the stream is; with its triples, where there are words to spell them."""
    triples = tuple(_triples(event, words)) if event.classes and words is not None else ()
    for name, individual in event.classes:
        yield Instance(name, tick, tick, individual, event.graph, triples=triples)


def _triples(event: ClassifiedEvent, words: Dictionary) -> Iterator[TripleTerms]:
    for name, codes in event.facts:
        terms = [words.spell(code) for code in codes]
        yield (terms[0], name, terms[1]) if len(terms) == 2 else (terms[0], RDF_TYPE, name)
