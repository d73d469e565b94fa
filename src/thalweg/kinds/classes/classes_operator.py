"""The classes of events as an operator: buckets take whole events in turn, and nothing is kept between two ticks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from thalweg.dataflow.context import Context
from thalweg.dataflow.exchange import GATHER, Exchange
from thalweg.dataflow.operator import NO_NOTES, NO_WORDS, Notes, Operator, OpSpec, Output, Share, Updates, Words
from thalweg.dataflow.state import StateFormat
from thalweg.ir.annotate_terms import SUPPLIED
from thalweg.kinds.classes import Abstraction
from thalweg.kinds.classes.abstract_events import Classifier
from thalweg.kinds.classes.bucket_classifier import BucketClassifier
from thalweg.model.dictionary import Dictionary
from thalweg.model.predicate import Predicate


def routes_of_events(signature: Predicate) -> tuple[tuple[int, Exchange], ...]:
    """Events come with all their facts, but for what is only about terms."""
    return () if signature in SUPPLIED else ((0, GATHER),)


@dataclass(frozen=True)
class ClassesSpec(OpSpec):
    """The classes of events, in buckets where it is `split`."""

    part: Abstraction
    split: bool = False

    shares: ClassVar[bool] = False
    keeps_events: ClassVar[bool] = True
    by_event: ClassVar[bool] = True

    def width(self, partitions: int) -> int:
        return partitions if self.split else 1

    def routes(self, signature: Predicate) -> tuple[tuple[int, Exchange], ...]:
        return routes_of_events(signature)

    def open(self, context: Context, dictionary: Dictionary, share: Share) -> "ClassesOperator | ClassesInBucket":
        if self.split:
            return ClassesInBucket(BucketClassifier(self.part.program, context, dictionary, account=True))
        return ClassesOperator(self.part.classifier(context, dictionary), context)


class ClassesOperator(Operator):
    """Classifies all events of a run."""

    format: ClassVar[StateFormat] = StateFormat("classes")

    def __init__(self, classifier: Classifier, context: Context) -> None:
        self.classifier = classifier
        self._context = context

    def advance(self, tick: int, updates: Updates) -> Iterator[Output]:
        return (Output(tick, block) for block in self.classifier.advance(tick, updates.events))

    def finish(self) -> Iterator[Output]:
        """Reports what could not be decided; every event was answered at its tick."""
        for warning in self.classifier.summary():
            self._context.report(warning)
        return iter(())

    def words_in_use(self) -> Words:
        """None, and so words may get another meaning."""
        self.classifier.forget()
        return NO_WORDS

    def save(self) -> bytes:
        """Nothing: the cache fills itself again."""
        return b""

    def load(self, data: bytes) -> None:
        """There is nothing to load."""

    def close(self) -> None:
        """Reports what was done."""
        self._context.listen(None, self.classifier.account())


class ClassesInBucket(Operator):
    """Classifies the events of a bucket."""

    format: ClassVar[StateFormat] = ClassesOperator.format

    def __init__(self, bucket: BucketClassifier) -> None:
        self._bucket = bucket

    def advance(self, tick: int, updates: Updates) -> list[Output]:
        if self.quiet:
            return []
        with self._bucket.at(tick) as classifier:
            return [Output(tick, block) for block in classifier.advance(tick, updates.events)]

    def notes(self, decided: int, over: bool) -> Notes:
        """What was done and what could not be decided goes to where all buckets are added up."""
        self._bucket.report(over)
        return NO_NOTES

    def words_in_use(self) -> Words:
        """None, and so words may get another meaning."""
        self._bucket.classifier.forget()
        return NO_WORDS

    def save(self) -> bytes:
        """Nothing: the cache fills itself again."""
        return b""

    def load(self, data: bytes) -> None:
        """There is nothing to load."""
