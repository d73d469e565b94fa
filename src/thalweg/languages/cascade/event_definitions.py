"""The definitions of events, as values."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from thalweg.diagnostics import NOWHERE, Diagnostic, Span
from thalweg.ir.nodes import Program
from thalweg.ir.patterns import Pattern, occurrences
from thalweg.languages.compile_options import OntologyOptions
from thalweg.model.dataset import Dataset
from thalweg.model.predicate import Predicate
from thalweg.model.rdf import RDF_TYPE

if TYPE_CHECKING:
    from thalweg.languages.rspql.query import Query

_IRI: Final = re.compile(r"<[^<>\s]+>")


@dataclass(frozen=True, slots=True)
class ClassText:
    """`AS`: a class expression in Manchester syntax, its names written as IRIs, and where each of its words stands."""

    text: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    places: Mapping[int, Span] = field(default_factory=dict, compare=False, repr=False)

    def placed(self, diagnostic: Diagnostic, start: int = 0) -> Diagnostic:
        """What is wrong with its text, which starts at an offset of what was read, with the place where it stands."""
        return replace(diagnostic, span=self.places.get(diagnostic.span.start - start, self.span))


@dataclass(frozen=True, slots=True)
class NamedEvent:
    """`NAMED EVENT`: what events of a name are; `span` is where the name stands."""

    name: str
    definition: ClassText | Pattern
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def uses(self) -> frozenset[str]:
        """The names of the events that it is made of."""
        if isinstance(self.definition, ClassText):
            return frozenset()
        return frozenset(occurrence.event for occurrence in occurrences(self.definition.operand))


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection in RSP-QL: its text without a query form, and the query for all its variables that it is."""

    text: str
    query: "Query | None" = field(default=None, repr=False)
    span: Span = field(default=NOWHERE, compare=False, repr=False)


def _in_brackets(definition: ClassText) -> str:
    """A class as one of a list."""
    return f"({definition.text})"


@dataclass(frozen=True, slots=True)
class CascadeProgram:
    """All definitions of a run, each of which comes behind those that it uses."""

    events: tuple[NamedEvent, ...] = ()
    selections: tuple[Selection, ...] = ()
    undefined: tuple[tuple[str, Diagnostic], ...] = ()
    """The names that patterns use and no text defines, with what is wrong unless rules conclude them."""
    background: Dataset = field(default=Dataset(), repr=False)
    """What selections see besides their windows."""
    tick_length: int = 1_000
    """In milliseconds."""
    name: str = ""
    """What others call the stream of its events: the name of the first file, without its ending."""

    @property
    def top(self) -> frozenset[str]:
        """The events that no other definition uses."""
        used = frozenset(name for event in self.events for name in event.uses)
        return frozenset(event.name for event in self.events) - used

    @property
    def classes(self) -> "list[tuple[str, ClassText]]":
        """The events that are classes."""
        return [(event.name, event.definition) for event in self.events if isinstance(event.definition, ClassText)]

    @property
    def named_classes(self) -> frozenset[str]:
        """The names that the classes of its events are written with, those of properties among them."""
        return frozenset(name for _, definition in self.classes for name in _IRI.findall(definition.text))

    @property
    def looked_up(self) -> frozenset[Predicate] | None:
        """The predicates, as rules have them, of the triples that clauses look up; None where that is any."""
        patterns = [event.definition for event in self.events if isinstance(event.definition, Pattern)]
        triples = [triple for pattern in patterns for clause in pattern.clauses for triple in clause.triples]
        if any((triple.object if triple.predicate == RDF_TYPE else triple.predicate)[0] == "?" for triple in triples):
            return None
        return frozenset(
            Predicate(triple.object, 1) if triple.predicate == RDF_TYPE else Predicate(triple.predicate, 2)
            for triple in triples
        )

    @property
    def looked_at(self) -> frozenset[str]:
        """The events whose triples are looked at by a clause, or make the graph of a complex event that is."""
        names: set[str] = set()
        for event in reversed(self.events):
            if isinstance(event.definition, Pattern):
                names |= {clause.event for clause in event.definition.clauses if clause.triples}
                names |= event.uses if event.name in names else frozenset()
        return frozenset(names)

    def needed(self, names: Collection[str]) -> "CascadeProgram":
        """The program with what some events are made of, and nothing else; all of it where one of them is unknown."""
        wanted = set(names)
        if not wanted <= {event.name for event in self.events}:
            return self
        for event in reversed(self.events):
            if event.name in wanted:
                wanted |= event.uses
        return replace(self, events=tuple(event for event in self.events if event.name in wanted))

    def asking(self, ontology: OntologyOptions) -> OntologyOptions:
        """What is asked of the ontologies beside it: the classes of its events."""
        texts = ", ".join(_in_brackets(definition) for _, definition in self.classes)
        names = self.looked_up
        looked_up = None if names is None else tuple(sorted(names))
        return replace(ontology, profile="dl", task="abstraction", classes=texts, looked_up=looked_up)

    def placed(self, diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
        """Diagnostics about the classes of events, with the places where the classes were written."""
        classes = {_in_brackets(definition): definition for _, definition in self.classes}
        for diagnostic in diagnostics:
            definition = classes.get(diagnostic.span.source.text)
            # Behind the bracket.
            yield diagnostic if definition is None else definition.placed(diagnostic, 1)

    def readers(self) -> Program:
        """An empty program: events read no conclusions of rules."""
        return Program()


class SyntaxProblem(Exception):  # noqa: N818
    """Reading cannot go on here."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.found = diagnostic
