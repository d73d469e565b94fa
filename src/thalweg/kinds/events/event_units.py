"""The events of a `.tw` as units of a program that may change (`kinds/units`): each is one, and so is a selection.

    a class       its expression, the axioms and data that can matter to it; it hears streams, or what is selected
    a pattern     its text, the triples that its clauses look up, and what follows of them; it reads the events it uses
    a selection   its text and what it sees besides its windows; all classes read it

Which events are output is not part of it: an event is a point of the output, and nothing of it is kept.
"""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from thalweg.ir.event_names import binding_name
from thalweg.ir.pattern_semantics import TripleTerms
from thalweg.ir.patterns import Pattern
from thalweg.kinds.classes.ontology_text import OntologyText, digest
from thalweg.kinds.definitions import Definition
from thalweg.languages.cascade.event_definitions import ClassText, NamedEvent
from thalweg.model.predicate import Predicate
from thalweg.model.rdf import RDF_TYPE

if TYPE_CHECKING:
    from thalweg.kinds.events import EventCascade
    from thalweg.languages.rspql.query import Query

SELECTION: Final = "the selection of events"
_LAYOUT: Final = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|<[^<>\s]*>)|(?:#[^\n]*|\s+)+""")
_PREFIX: Final = re.compile(r"PREFIX (\S*:) <[^<>\s]*> ?", re.IGNORECASE)


def event_title(name: str) -> str:
    """What people call the unit of an event.

    >>> event_title("<http://e/Jam>")
    'the event `<http://e/Jam>`'
    """
    return f"the event `{name}`"


def event_definitions(part: "EventCascade") -> tuple[Definition, ...]:
    """All units of a cascade."""
    return tuple(_Units(part).all())


class _Units:
    def __init__(self, part: "EventCascade") -> None:
        self._program = part.program
        known = part.classifier().program
        self._targets = {target.label: target.name for target in known.asked}
        self._ontology = OntologyText(known)
        self._lookup = None if known.lookup is None else OntologyText(known.lookup)
        self._same = repr(sorted(known.same.items()))
        self._names = known.lookup.looked_up if known.lookup is not None else frozenset()
        self._triples = _by_name(known.triples)
        self._defined = {event.name for event in self._program.events}

    def all(self) -> Iterator[Definition]:
        """The selection and the events."""
        if self._program.selections:
            queries = (selection.query for selection in self._program.selections)
            texts = [_selected(query) for query in queries if query is not None]
            yield Definition(SELECTION, digest(repr((texts, self._program.background))), hears=True)
        for event in self._program.events:
            if isinstance(event.definition, ClassText):
                yield self._class(event, event.definition)
            else:
                yield self._pattern(event, event.definition)

    def _class(self, event: NamedEvent, definition: ClassText) -> Definition:
        text = digest("class", definition.text, self._ontology.about([self._targets[event.name]]))
        is_selected = bool(self._program.selections)
        return Definition(
            event_title(event.name),
            text,
            frozenset({Predicate(event.name, 1)}),
            frozenset({SELECTION} if is_selected else ()),
            hears=not is_selected,
            reads=True,
        )

    def _pattern(self, event: NamedEvent, pattern: Pattern) -> Definition:
        concluded = event.uses - self._defined
        gives = {Predicate(event.name, 1), *(Predicate(binding_name(event.name, name), 2) for name in pattern.bound)}
        uses = {event_title(name) for name in event.uses & self._defined}
        # What is concluded waits for windows to close, too.
        uses |= {SELECTION} if concluded and self._program.selections else set()
        return Definition(
            event_title(event.name),
            digest("pattern", repr(pattern), self._looked_up(pattern)),
            frozenset(gives),
            frozenset(uses),
            reads=bool(concluded),
        )

    def _looked_up(self, pattern: Pattern) -> str:
        """What the clauses of a pattern find besides the triples of events."""
        triples = [triple for clause in pattern.clauses for triple in clause.triples]
        if not triples:
            return ""
        names = {triple.object if triple.predicate == RDF_TYPE else triple.predicate for triple in triples}
        if any(name[0] == "?" for name in names):
            names = {*self._triples, *self._names}
        stated = (self._triples[name] for name in sorted(names) if name in self._triples)
        follows = "" if self._lookup is None else self._lookup.entailed(names & self._names)
        return digest(self._same, *stated, follows)


def _selected(query: "Query") -> tuple[object, ...]:
    """What a selection depends on: its text without layout, and without prefixes that it does not use."""
    text = _LAYOUT.sub(lambda match: match[1] or " ", query.text)
    body = _PREFIX.sub("", text)
    prefixes = sorted(declared[0] for declared in _PREFIX.finditer(text) if declared[1] in body)
    return query.windows, query.default, query.named, prefixes, body.strip()


def _by_name(triples: Iterable[TripleTerms]) -> dict[str, str]:
    """A text for the triples of each property, and of each class."""
    named: dict[str, list[TripleTerms]] = {}
    for triple in triples:
        named.setdefault(triple[2] if triple[1] == RDF_TYPE else triple[1], []).append(triple)
    return {name: digest(*map(repr, sorted(own))) for name, own in named.items()}
