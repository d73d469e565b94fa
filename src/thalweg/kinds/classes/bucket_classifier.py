"""A classifier in a bucket of many: it shares the background with the other buckets of its process.

What it did since the last batch goes to the driver, where that of all buckets is added up.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from thalweg.dataflow.context import Context
from thalweg.kinds.classes.abstract_events import Classifier
from thalweg.kinds.classes.closed_background import closed_background
from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram
from thalweg.model.dictionary import Dictionary


class BucketClassifier:
    """Classifies the events of a bucket; with an `account`, what it does is reported."""

    def __init__(
        self, program: AbstractionProgram, context: Context, dictionary: Dictionary, account: bool = False
    ) -> None:
        self._closed = closed_background(context.run, program)
        self._context = context
        self._account = account
        ladder, hidden, first = self._closed.ladder, self._closed.hidden, context.settings.first
        self.classifier = Classifier(ladder, hidden, first, context.report, dictionary)

    @contextmanager
    def at(self, tick: int) -> Iterator[Classifier]:
        """The classifier at a tick, while no other bucket of the process uses the background."""
        with self._closed.lock:
            self.classifier.begin(tick)
            yield self.classifier

    def report(self, over: bool) -> None:
        """Reports what was done since the last time: the account, and which events could not be decided."""
        classifier = self.classifier
        if classifier.now is None or not (over or classifier.counts):
            return
        with self._closed.lock:
            if self._account:
                self._context.listen(None, classifier.account())
            for events in classifier.undecided():
                self._context.listen(None, events)
            classifier.start_counting()
