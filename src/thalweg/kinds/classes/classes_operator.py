"""The classes of events as an operator: buckets take whole events in turn, and nothing is kept between two ticks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from thalweg.answers.event_answers import AbstractEvent, EventAnswers, RejectedEvents
from thalweg.dataflow.context import Context
from thalweg.dataflow.operator import NO_NOTES, NO_WORDS, Notes, Operator, Output, Share, Updates, Words
from thalweg.dataflow.state import StateFormat
from thalweg.kinds.classes import Abstraction
from thalweg.kinds.classes.classifier import BucketClassifier, Classifier, ClassifierSpec
from thalweg.model.dictionary import Dictionary


@dataclass(frozen=True)
class ClassesSpec(ClassifierSpec):
    """The classes of events, in buckets where it is `split`."""

    part: Abstraction
    split: bool = False

    shares: ClassVar[bool] = False
    by_event: ClassVar[bool] = True

    def width(self, partitions: int) -> int:
        return partitions if self.split else 1

    def open(self, context: Context, dictionary: Dictionary, share: Share) -> "ClassesOperator":
        if self.split:
            return ClassesInBucket(BucketClassifier(self.part.program, context, dictionary), context)
        ladder, doubts = self.part.ladder()
        for doubt in doubts:
            context.report(doubt)
        return ClassesOperator(Classifier(ladder, context.report, dictionary, ladder.hidden()), context)


class ClassesOperator(Operator):
    """Classifies all events of a run."""

    format: ClassVar[StateFormat] = StateFormat("classes")

    def __init__(self, classifier: Classifier, context: Context) -> None:
        self._classifier = classifier
        self._context = context

    def advance(self, tick: int, updates: Updates) -> list[Output]:
        lines: list[AbstractEvent | RejectedEvents] = []
        rejected: dict[str, list[str]] = {}
        for event in self._classifier.classified(tick, updates.events):
            if event.rejected:
                rejected.setdefault(event.rejected, []).append(event.graph)
            lines += [AbstractEvent(tick, label, individual, event.graph) for label, individual in event.classes]
        lines += (RejectedEvents(tick, why, tuple(sorted(graphs))) for why, graphs in rejected.items())
        return [Output(tick, EventAnswers(tuple(sorted(lines, key=str))))] if lines else []

    def finish(self) -> Iterator[Output]:
        """Reports what could not be decided; every event was answered at its tick."""
        for warning in self._classifier.summary():
            self._context.report(warning)
        return iter(())

    def words_in_use(self) -> Words:
        """None, and so words may get another meaning."""
        self._classifier.forget()
        return NO_WORDS

    def save(self) -> bytes:
        """Nothing: the cache fills itself again."""
        return b""

    def load(self, data: bytes) -> None:
        """There is nothing to load."""

    def close(self) -> None:
        """Reports what was done."""
        self._context.listen(None, self._classifier.account())


class ClassesInBucket(ClassesOperator):
    """Classifies the events of a bucket."""

    def __init__(self, classifier: BucketClassifier, context: Context) -> None:
        super().__init__(classifier, context)
        self._bucket = classifier

    def advance(self, tick: int, updates: Updates) -> list[Output]:
        if self.quiet:
            return []
        with self._bucket.lock:
            return super().advance(tick, updates)

    def notes(self, decided: int, over: bool) -> Notes:
        """What was done and what could not be decided goes to where all buckets are added up."""
        self._bucket.report(over, account=True)
        return NO_NOTES

    def finish(self) -> Iterator[Output]:
        """Nothing; every event was answered at its tick."""
        return iter(())

    def close(self) -> None:
        """Nothing: what was done was reported with each batch."""
