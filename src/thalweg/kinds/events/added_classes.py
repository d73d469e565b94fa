"""Classes that are added to a running cascade, decided beside its own: what decides these stays as it is.

    AS :Observation and (:value some xsd:double[> 5])        one class for all events that are defined so

A class about names that matter to the others anyway is added to what decides these, which goes on as it is. For others
what decides them is made anew: classes that came lately are compiled together, and apart from those that came before.
An event is classified once by each of the two, whatever the number of classes. One class that would make others harder
to decide, because no model can be looked for beside it, is decided alone.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Final

from thalweg.answers.event_answers import UndecidedTotals
from thalweg.diagnostics import Diagnostic
from thalweg.kinds.classes.classifier import INCONSISTENT, ClassifiedEvent, Classifier
from thalweg.kinds.classes.ladder import Ladder
from thalweg.languages.owl.dl.abstraction_program import GrowingProgram
from thalweg.languages.owl.dl.askable_ontology import AskableOntology
from thalweg.languages.owl.expressions import ClassExpression
from thalweg.model.dictionary import Dictionary

_MOST_RECENT: Final = 32


@dataclass(slots=True)
class _Group:
    """Classes that are decided together."""

    growing: GrowingProgram
    classifier: Classifier

    def add(self, text: str, expression: ClassExpression) -> bool:
        """Adds a class, where that is possible without making all anew."""
        growth = self.growing.add(text, expression)
        if growth is not None:
            self.classifier.grow(self.growing.program, growth)
        return growth is not None

    def add_undecided(self, totals: UndecidedTotals) -> None:
        """Adds the events that it could not decide."""
        for events in self.classifier.undecided():
            totals.take(events)


class AddedClasses:
    """The classes of events that were added; `own` are the names of the cascade's own classes by their expressions."""

    def __init__(
        self,
        ontology: AskableOntology,
        own: Iterable[tuple[str, str]],
        report: Callable[[Diagnostic], None],
        dictionary: Dictionary,
    ) -> None:
        self._ontology = ontology
        self._own = dict(own)
        self._report = report
        self._dictionary = dictionary
        self._text_of: dict[str, str] = {}
        # The events that a class is: one of the cascade's own by its name, another one by its expression.
        self._like_own: dict[str, dict[str, None]] = {}
        self._names: dict[str, dict[str, None]] = {}
        self._settled: tuple[str, ...] = ()
        self._recent: tuple[str, ...] = ()
        self._apart: tuple[str, ...] = ()
        self._groups: dict[tuple[str, ...], _Group] = {}
        # What groups could not decide that are no more.
        self._over = UndecidedTotals()

    def add(self, events: Iterable[tuple[str, str]]) -> None:
        """Adds events by their names and their class expressions."""
        new = []
        for name, text in events:
            self._text_of[name] = text
            if text not in self._own and text not in self._names and text not in self._compiled:
                new.append(text)
            table, label = self._place(text)
            table.setdefault(label, {})[name] = None
        if new:
            self._compile(tuple(new))

    def remove(self, name: str) -> None:
        """Takes an event away; classes that no event has any more are left out when they have become many."""
        table, label = self._place(self._text_of.pop(name))
        del table[label][name]
        if not table[label]:
            del table[label]
            if len(self._compiled) - len(self._names) > max(_MOST_RECENT, len(self._names)):
                self._sweep()

    def _sweep(self) -> None:
        for text in self._compiled:
            if text not in self._names:
                self._ontology.forget(text)
        self._decide(self._used(self._settled), self._used(self._recent), self._used(self._apart))

    def _place(self, text: str) -> tuple[dict[str, dict[str, None]], str]:
        """The table that has the events of a class, and what the class is called there."""
        return (self._like_own, self._own[text]) if text in self._own else (self._names, text)

    @property
    def _compiled(self) -> tuple[str, ...]:
        return (*self._settled, *self._recent, *self._apart)

    def _compile(self, new: tuple[str, ...]) -> None:
        new = tuple(text for text in new if not self._joins(text))
        if not new:
            return
        hard = self._hard(new)
        settled = self._settled
        recent = self._used(self._recent) + tuple(text for text in new if text not in hard)
        if len(recent) > _MOST_RECENT:
            settled, recent = self._used(settled) + recent, ()
        self._decide(settled, recent, self._used(self._apart) + hard)

    def _used(self, texts: Iterable[str]) -> tuple[str, ...]:
        """The classes that some event has."""
        return tuple(text for text in texts if text in self._names)

    def _decide(self, settled: tuple[str, ...], recent: tuple[str, ...], apart: tuple[str, ...]) -> None:
        """Has classes decided in groups; a group that is as before goes on."""
        self._settled, self._recent, self._apart = settled, recent, apart
        before = self._groups
        groups = (settled, recent, *((text,) for text in apart))
        self._groups = {texts: before.get(texts) or self._group(texts) for texts in groups if texts}
        for texts, group in before.items():
            if texts not in self._groups:
                group.add_undecided(self._over)

    def _joins(self, text: str) -> bool:
        """Whether a class could be added to those that are decided together, which go on as they are."""
        for texts in (self._settled, self._recent):
            if texts and self._groups[texts].add(text, self._ontology.read(text)):
                joined = (*texts, text)
                self._groups[joined] = self._groups.pop(texts)
                if texts == self._settled:
                    self._settled = joined
                else:
                    self._recent = joined
                return True
        return False

    def _hard(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        """The classes that bring in what no model is checked for, where the ontology does without."""
        is_hard = self._is_unsupported
        return tuple(text for text in texts if is_hard((text,))) if is_hard(texts) and not is_hard(()) else ()

    def _is_unsupported(self, texts: tuple[str, ...]) -> bool:
        return bool(self._ontology.program(texts).form.unsupported)

    def _group(self, texts: tuple[str, ...]) -> "_Group":
        growing = self._ontology.growing(texts)
        program = growing.program
        return _Group(growing, Classifier(Ladder(program, program.reasoner), self._report, self._dictionary))

    def more_of(self, event: ClassifiedEvent) -> list[tuple[str, str]]:
        """The events that were added that an event is, each with its individual."""
        if event.rejected == INCONSISTENT:
            return []
        more = list(_called(event.classes, self._like_own)) if self._like_own else []
        if self._names:
            for group in self._groups.values():
                more += _called(group.classifier.classify(event.graph, event.facts).classes, self._names)
        return more

    def __contains__(self, name: str) -> bool:
        return name in self._text_of

    def decider(self, name: str) -> tuple[Ladder, str] | None:
        """What decides the class of an event, and the class's label there; None where the cascade's own does."""
        text = self._text_of[name]
        for texts, group in self._groups.items():
            if text in texts:
                return group.classifier.decisions.ladder, text
        return None

    def label_of(self, name: str) -> str:
        """The label of an event's class, where the cascade's own decide it."""
        return self._own[self._text_of[name]]

    def forget(self) -> None:
        """The words of terms may get another meaning."""
        for group in self._groups.values():
            group.classifier.forget()

    def summary(self) -> Iterator[Diagnostic]:
        """The events that could not be decided, one warning for each reason."""
        totals = deepcopy(self._over)
        for group in self._groups.values():
            group.add_undecided(totals)
        return totals.summary()


def _called(classes: Iterable[tuple[str, str]], names: Mapping[str, Iterable[str]]) -> Iterator[tuple[str, str]]:
    """The events that individuals are by their classes."""
    return ((name, individual) for label, individual in classes for name in names.get(label, ()))
