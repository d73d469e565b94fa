"""Events become abstract events: the classes of their individuals, at their tick.

A `Classifier` is taken through time tick by tick, and keeps nothing between two ticks but its cache.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from thalweg.answers.event_answers import AbstractLine, RejectedLine, UndecidedEvents, event_answer
from thalweg.answers.record import Answer
from thalweg.diagnostics import Diagnostic
from thalweg.kinds.classes.ladder import SELECTION, UNDECIDED, Ladder, way_out
from thalweg.kinds.classes.signatures import Decisions, Signatures
from thalweg.languages.owl.dl.datatypes_of import expected_kinds
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.literals import parts

INCONSISTENT: Final = "inconsistent"


@dataclass(frozen=True, slots=True)
class ClassifiedEvent:
    """An event: the name of its graph, its facts as words, why it was `rejected`, individuals with their classes."""

    graph: str
    facts: list[tuple[str, tuple[int, ...]]]
    rejected: str = ""
    classes: Sequence[tuple[str, str]] = ()


class Classifier:
    """Classifies events. `hidden` are the places of classes that everything is in."""

    def __init__(
        self,
        ladder: Ladder,
        hidden: frozenset[int],
        first: int | None,
        report: Callable[[Diagnostic], None],
        dictionary: Dictionary | None = None,
    ) -> None:
        self.first = first
        self.now: int | None = None
        self.dictionary = Dictionary() if dictionary is None else dictionary
        self._datatypes = Datatypes(expected_kinds(ladder.program.axioms), ladder.program.form.roles, report)
        self._signatures = Signatures(ladder.program, self.dictionary.spell, self._datatypes.look)
        self.decisions = Decisions(ladder, self._signatures)
        self.counts: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        self.reasons: Counter[str] = Counter()
        self._labels = {place: wanted.label for place, wanted in enumerate(ladder.program.asked) if place not in hidden}

    def advance(self, to: int, batches: Sequence[Batch]) -> list[Answer]:
        """The classes of the events of a tick."""
        self.begin(to)
        lines: list[AbstractLine] = []
        rejected: dict[str, list[str]] = {INCONSISTENT: [], UNDECIDED: []}
        for event in self.classified(batches):
            if event.rejected:
                rejected[event.rejected].append(event.graph)
            lines += [AbstractLine(to, label, individual, event.graph) for label, individual in event.classes]
        rejections = (RejectedLine(to, why, tuple(sorted(graphs))) for why, graphs in rejected.items() if graphs)
        answers: list[AbstractLine | RejectedLine] = sorted([*lines, *rejections], key=str)
        return [event_answer(answers)] if answers else []

    def begin(self, tick: int) -> None:
        """Goes to a tick."""
        self.first = tick if self.first is None else self.first
        self.now = tick

    def classified(self, batches: Iterable[Batch]) -> Iterator[ClassifiedEvent]:
        """The events of a tick with their classes."""
        for batch in batches:
            for graph, rows in batch.events():
                facts = [(signature.name, words) for signature, words in rows if 0 < signature.arity < 3]
                if facts:
                    yield self.classify(graph, facts)

    def classify(self, graph: str, facts: list[tuple[str, tuple[int, ...]]]) -> ClassifiedEvent:
        """An event of a graph with its classes."""
        self.counts["events"] += 1
        decision, subjects = self.decisions.decide(facts)
        if decision.classes is None:
            self.counts[INCONSISTENT] += 1
            return ClassifiedEvent(graph, facts, INCONSISTENT)
        if decision.by == SELECTION:
            self.counts["dropped"] += 1
            return ClassifiedEvent(graph, facts)
        if decision.by == UNDECIDED:
            self.counts[UNDECIDED] += 1
            self.examples.setdefault(decision.reason, graph)
            self.reasons[decision.reason] += 1
            return ClassifiedEvent(graph, facts, UNDECIDED)
        spell, labels = self.dictionary.spell, self._labels
        classes = [
            (labels[place], spell(subject))  # type: ignore[arg-type]
            for subject, places in zip(subjects, decision.classes, strict=True)
            for place in places
            if place in labels
        ]
        return ClassifiedEvent(graph, facts, classes=classes)

    def forget(self) -> None:
        """The words of terms may get another meaning."""
        self._signatures.forget()

    def summary(self) -> Iterator[Diagnostic]:
        """The events that were not decided, one warning for each reason."""
        return (events.warning() for events in self.undecided())

    def undecided(self) -> Iterator[UndecidedEvents]:
        """The events that were not decided, by their reasons."""
        for reason, count in self.reasons.items():
            yield UndecidedEvents(reason, count, self.examples[reason], way_out(reason))

    def start_counting(self) -> None:
        """Forgets what was done so far; of what is known, nothing."""
        for counts in (self.counts, self.reasons, self.examples, self.decisions.by, self.decisions.ladder.seconds):
            counts.clear()
        self.decisions.hits = self.decisions.misses = 0

    def account(self) -> dict[str, object]:
        """The counts of events and decisions, for the report."""
        ladder = self.decisions.ladder
        return {
            "events": self.counts["events"],
            "dropped": self.counts["dropped"],
            "inconsistent": self.counts[INCONSISTENT],
            "undecided": self.counts[UNDECIDED],
            "hits": self.decisions.hits,
            "misses": self.decisions.misses,
            "decided": dict(sorted(self.decisions.by.items())),
            "seconds": {by: round(seconds, 6) for by, seconds in sorted(ladder.seconds.items())},
        }


class Datatypes:
    """Warns once for each property whose numbers have another datatype than all ranges that the ontology has for it.

    And once for each of the `roles`, the object properties, that has a literal.
    """

    def __init__(
        self, expected: dict[str, frozenset[str]], roles: Iterable[str], report: Callable[[Diagnostic], None]
    ) -> None:
        self._expected = expected
        self._roles = set(roles)
        self._report = report

    def look(self, property: str, literal: str) -> None:
        """Looks at a literal of a property."""
        if property in self._roles:
            self._roles.remove(property)
            self._report(_literal_of_role(property, literal))
        expected = self._expected.get(property)
        if not expected:
            return
        datatype = parts(literal)[1]
        kind = _KINDS.get(datatype.rpartition("#")[2].rstrip(">"))
        if kind is None or kind in expected or expected.isdisjoint(_KINDS.values()):
            return
        del self._expected[property]
        ranges = " and ".join(f"xsd:{name}" for name in sorted(expected))
        message = (
            f"`{property}` has the value `{literal}`, an xsd:{kind}, but the ontology's ranges for it are of {ranges}: "
            "no such value is in them"
        )
        target = min(expected)
        help_ = f'write values as `"0.5"^^xsd:{target}`, or ranges as `xsd:{kind}[…]`: OWL 2 keeps datatypes apart'
        self._report(Diagnostic("W704", message, help=help_))


def _literal_of_role(property: str, literal: str) -> Diagnostic:
    message = (
        f"`{property}` has the value `{literal}`, but the ontology has axioms about it as an object property: "
        "they do not apply to literals"
    )
    help_ = (
        f"declare it in the ontology: `{property} a owl:DatatypeProperty`, or `Declaration(DataProperty({property}))`"
    )
    return Diagnostic("W705", message, help=help_)


_KINDS: Final = {"decimal": "decimal", "integer": "decimal", "double": "double", "float": "float"}
