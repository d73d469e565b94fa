"""Classes of events in buckets: each takes whole events of streams in turn, and the conclusions of its individuals.

events of streams ──by event───▶ Classify ──▶ the buckets of patterns that look them up
conclusions ─────by individual─▶     └──────▶ answers, or where events become facts
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

from thalweg.answers.event_answers import AbstractLine, EventLine, RejectedLine
from thalweg.dataflow.context import Context
from thalweg.dataflow.exchange import Exchange, Hash
from thalweg.dataflow.operator import NO_NOTES, HeldKey, Notes, Operator, OpSpec, Output, Share, Updates, Words
from thalweg.dataflow.state import StateFormat
from thalweg.kinds.classes.abstract_events import ClassifiedEvent, Classifier
from thalweg.kinds.classes.bucket_classifier import BucketClassifier
from thalweg.kinds.classes.classes_operator import routes_of_events
from thalweg.kinds.events.concluded_events import ConcludedEvents, Conclusion
from thalweg.kinds.events.event_run import concluded_event, instances
from thalweg.kinds.events.match_operator import answered, without_inner_triples
from thalweg.kinds.events.shared_index import shared_index
from thalweg.kinds.events.usable_events import UsableEvents
from thalweg.model.dictionary import Dictionary
from thalweg.model.predicate import Predicate

if TYPE_CHECKING:
    from thalweg.explain.plan_stage import PlanStage
    from thalweg.kinds.events import EventCascade


@dataclass(frozen=True)
class ClassifySpec(OpSpec):
    """The classes of a cascade; where it is `published`, all its events become facts.

    `keyed`: some of its patterns are split by variables. With `only_streams`, what other parts give is classified
    elsewhere, so that events of streams need not wait for it.
    """

    part: "EventCascade"
    published: bool = False
    keyed: bool = False
    only_streams: bool = False

    shares: ClassVar[bool] = False
    keeps_events: ClassVar[bool] = True
    by_event: ClassVar[bool] = True

    def width(self, partitions: int) -> int:
        return partitions

    def routes(self, signature: Predicate) -> tuple[tuple[int, Exchange], ...]:
        return routes_of_events(signature)

    def held_routes(self, key: HeldKey) -> tuple[tuple[Predicate, Exchange], ...]:
        """A conclusion goes to the bucket of its individual."""
        return () if self.only_streams else ((key[0], Hash(0)),)

    @property
    def takes_events(self) -> bool:
        return not self.only_streams

    def placement(self, partitions: int) -> "PlanStage":
        if self.keyed:
            return self.part.placements(partitions)[0]
        from thalweg.explain.plan_stage import PlanStage

        names = tuple(name for name, _ in self.part.program.classes)
        return PlanStage(names, ("event",), partitions, "events come in turn")

    def open(self, context: Context, dictionary: Dictionary, share: Share) -> "Classify":
        return Classify(self.part, self.published, context, dictionary)


@dataclass(frozen=True)
class ClassifyOthersSpec(OpSpec):
    """The classes of what other parts of a plan give, in one bucket."""

    part: "EventCascade"

    reads_streams = False
    takes_events = True

    def open(self, context: Context, dictionary: Dictionary, share: Share) -> "Classify":
        return Classify(self.part, True, context, dictionary)


class Classify(Operator):
    """The events of a bucket with their classes."""

    format: ClassVar[StateFormat] = StateFormat("classify")

    def __init__(self, part: "EventCascade", published: bool, context: Context, dictionary: Dictionary) -> None:
        self._bucket = BucketClassifier(part.classifier().program, context, dictionary)
        self._context = context
        self._dictionary = dictionary
        self._published = published
        self._output = part.names if published else part.output
        self._concluded = ConcludedEvents(part.beside.classes)
        self._undefined = frozenset(name for name, _ in part.program.undefined)
        self._used = frozenset(name for event in part.program.events for name in event.uses)
        self._looked_at = part.program.looked_at
        self._index = shared_index(context.run, part).index
        self._usable = UsableEvents(part.program, self._index, self._output)

    def advance(self, tick: int, updates: Updates) -> Iterator[Output]:
        graphs = list(self._concluded.take(updates.held))
        if self.quiet:
            return
        lines: list[EventLine] = []
        records: list[Any] = []
        words = self._dictionary if self._looked_at else None
        with self._bucket.at(tick) as classifier:
            for event in map(self._usable.of, self._events(classifier, updates, graphs)):
                if event.rejected:
                    lines.append(RejectedLine(tick, event.rejected, (event.graph,)))
                for instance in instances(tick, event, words):
                    if instance.event in self._used:
                        records.append(without_inner_triples(instance, self._looked_at))
                    if instance.event in self._output:
                        lines.append(AbstractLine(tick, instance.event, instance.individual, instance.graph))
        if lines or records:
            yield answered(tick, lines, records, self._published)

    def _events(
        self, classifier: Classifier, updates: Updates, graphs: list[list[Conclusion]]
    ) -> Iterator[ClassifiedEvent]:
        concluded = (concluded_event(classifier, graph, self._undefined) for graph in graphs)
        return chain(classifier.classified(updates.events), concluded)

    def finish(self) -> Iterator[Output]:
        """Reports where more may follow of events than was looked up; every event was answered at its tick."""
        for doubt in self._index.doubts():
            self._context.report(doubt)
        return iter(())

    def notes(self, decided: int, over: bool) -> Notes:
        """What could not be decided goes to where all buckets are added up."""
        self._bucket.report(over)
        return NO_NOTES

    def words_in_use(self) -> Words:
        """The words of conclusions that are still needed."""
        self._bucket.classifier.forget()
        return self._concluded.words()

    def save(self) -> bytes:
        """The conclusions that hold; the cache fills itself again."""
        return self._concluded.save(self._dictionary)

    def load(self, data: bytes) -> None:
        self._concluded.load(data, self._dictionary)
