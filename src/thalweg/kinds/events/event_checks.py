"""Events of a text that can never happen, and those that its selection would lose.

Nothing can be in the class of an event:

    NAMED EVENT :X AS :Reading and :Room          where the ontology has DisjointClasses(:Reading :Room)

An individual of which nothing is known is put into the class: where that contradicts the ontology, the class is empty,
and so are the patterns that need one of its events.

An explicit selection loses events that a class asks for:

    :High = (:feature some :MainRoad) and (:value some xsd:double[> 0.025])
    WHERE { ?r a :MainRoad . WINDOW :w { ?o :feature ?r ; :value ?v FILTER(?v > 0.03) } }
    loses                    x :feature road1 ; :value 0.0275

Events are made up from what the classes ask for, and tried out. The derived selection of a class
(`owl/dl/selection.py`) says which events can be in it. Each of its cases becomes some events, with individuals of the
background and with values inside the ranges, near the numbers that the selection has. One that is in the class, and of
which nothing in the class is selected, is lost.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise, product
from typing import Final

from thalweg.diagnostics import Diagnostic
from thalweg.kinds.classes.classifier import Decisions, Signatures
from thalweg.kinds.classes.contradiction import minimal
from thalweg.kinds.classes.ladder import EventFacts, Ladder
from thalweg.kinds.events.event_clauses import TripleIndex
from thalweg.kinds.events.selected_events import SelectedEvents
from thalweg.kinds.queries.query_operator import StreamsRead
from thalweg.languages.cascade.event_definitions import CascadeProgram, Selection
from thalweg.languages.cascade.impossible_patterns import impossible_patterns
from thalweg.languages.cascade.token_reader import written
from thalweg.languages.owl import structure
from thalweg.languages.owl.axioms import Axiom, Declaration, Ontology, SubClassOf, mentioned, show
from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram, Facts, compile_abstraction
from thalweg.languages.owl.dl.clausify import clausify
from thalweg.languages.owl.dl.data_ranges import Ranges, value
from thalweg.languages.owl.dl.manchester import Vocabulary
from thalweg.languages.owl.dl.selection import Every, Pattern, SelectionAtom, Some, derive_selection
from thalweg.languages.rspql.algebra import patterns
from thalweg.languages.rspql.lexer import tokens
from thalweg.languages.rspql.names import local_name
from thalweg.languages.rspql.query import Query
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.literals import LITERAL
from thalweg.model.rdf import OWN, RDF_TYPE, XSD
from thalweg.model.vocabulary import OWL, RDF, RDFS

_ANY: Final = f"{OWN}any>"
# The words of OWL and of its datatypes.
_WORDS: Final = tuple(f"<{space}" for space in (XSD, RDF, RDFS, OWL))
_PROBE: Final = f"{OWN}probe:"
MadeUpEvent = tuple[Fact, ...]
"""The facts of an event that is tried out."""
_OWN: Final = f"{OWN}x>"
_MOST_CASES: Final = 64
_MOST_EVENTS: Final = 32
_MOST_VALUES: Final = 6
_MOST_FOUND: Final = 3


def impossible_events(program: CascadeProgram, abstraction: AbstractionProgram) -> Iterator[Diagnostic]:
    """W815 for each event whose class is empty, and for the patterns that therefore match nothing."""
    places = {event.name: event.span for event in program.events}
    empty = dict(_empty_classes(program, abstraction))
    for name, axioms in empty.items():
        message = f"`{written(places[name])}` can never happen: nothing can be in its class"
        help_ = "change the class, or one of these axioms" if axioms else "change the class, which contradicts itself"
        yield Diagnostic("W815", message, places[name], help_, tuple(axioms))
    reported = {name for name, _ in impossible_patterns(program.events, program.tick_length)}
    for name, diagnostic in impossible_patterns(program.events, program.tick_length, empty):
        if name not in reported:
            yield diagnostic


def _empty_classes(program: CascadeProgram, abstraction: AbstractionProgram) -> Iterator[tuple[str, list[str]]]:
    """The events whose class is empty, each with axioms that make it so."""
    ontology = _declaring(structure.read(abstraction.triples), program)
    vocabulary = Vocabulary(ontology)
    probes = {
        f"{_PROBE}{number}>": (name, vocabulary.read(definition.text, {}))
        for number, (name, definition) in enumerate(program.classes)
    }
    members = tuple(SubClassOf(probe, expression) for probe, (_, expression) in probes.items())
    extended = replace(ontology, axioms=(*ontology.axioms, *members))
    ladder = Ladder(
        compile_abstraction(abstraction.name, extended, [(iri, iri) for iri in probes]), abstraction.reasoner
    )
    for probe, (name, _) in probes.items():
        if ladder.consistent and _contradicts(ladder, probe):
            yield name, _reasons(ladder, probe)


def _declaring(ontology: Ontology, program: CascadeProgram) -> Ontology:
    """An ontology that has all names of the classes, some of which only rules may know."""
    declared = {name for names in Vocabulary(ontology).kinds.values() for name in names}
    kinds = ("Class", "ObjectProperty", "DataProperty")
    unknown = [name for name in sorted(program.named_classes - declared) if not name.startswith(_WORDS)]
    new = [Declaration(kind, name) for name in unknown for kind in kinds]
    return replace(ontology, declarations=(*ontology.declarations, *new))


def _contradicts(ladder: Ladder, probe: str) -> bool:
    return ladder.decide(EventFacts((_ANY,), Facts(classes=((probe, _ANY),)))).classes is None


def _reasons(ladder: Ladder, probe: str) -> list[str]:
    """As few axioms of the ontology as make a class empty."""
    program = ladder.program

    def suffice(axioms: Sequence[Axiom]) -> bool:
        form = clausify(axioms, Ranges(program.ranges.definitions), [probe])
        return _contradicts(Ladder(replace(program, axioms=tuple(axioms), form=form), ladder.reasoner), probe)

    axioms = minimal(list(program.axioms), suffice)
    return [show(axiom) for axiom in axioms if probe not in mentioned(axiom)]


# Lost events ----------------------------------------------------------------------------------------------------------


def lost_events(program: CascadeProgram, ladder: Ladder) -> Iterator[Diagnostic]:
    """W814, for each class of which the selection loses an event that could be made up."""
    for selection in program.selections:
        if selection.query is not None and ladder.consistent:
            search = _Search(program, ladder, selection, selection.query)
            for place, wanted in enumerate(ladder.program.asked):
                lost = search.lost(place)
                if lost is not None:
                    message = f"the selection loses events of `{wanted.label}`, such as `{_written(lost)}`"
                    help_ = (
                        "select what its class asks for, or leave the selection out: a filter is derived from classes"
                    )
                    yield Diagnostic("W814", message, selection.span, help_)


class _Search:
    """A search for an event of a class that the selection does not select."""

    def __init__(self, program: CascadeProgram, ladder: Ladder, selection: Selection, query: Query) -> None:
        self._program = ladder.program
        self._dataset = program.background
        self._query = query
        self._decisions = Decisions(ladder, Signatures(ladder.program))
        self._known = TripleIndex(ladder.program.triples)
        self._numbers = _numbers(selection.text, ladder.program)
        names = {window.name for window in query.windows}
        self._window = [
            pattern for pattern in patterns(query.algebra) if pattern.graph in names or (pattern.graph or "")[:1] == "?"
        ]
        self._read = {
            target if name == RDF_TYPE else name for _, name, target in (pattern.terms for pattern in self._window)
        }
        self._reads_all = any((name or "?")[0] == "?" for name in self._read)

    def lost(self, place: int) -> MadeUpEvent | None:
        """An event that is in a class and is not selected as one."""
        alone = replace(self._program, asked=(self._program.asked[place],))
        cases = islice(_cases(derive_selection(alone)), _MOST_CASES)
        events = [
            candidate
            for case in cases
            for candidate in islice(self._events(case), _MOST_EVENTS)
            if self._is_read(candidate)
        ]
        # Those with all that the selection asks for tell more than those without.
        for event in dict.fromkeys([*map(self._completed, events), *events]):
            if self._has_class(event, place) and not any(
                self._has_class(candidate, place) for candidate in self._selected(event)
            ):
                return event
        return None

    def _is_read(self, event: MadeUpEvent) -> bool:
        """Whether the selection looks at all names of an event: what states other classes is not meant by it."""
        return all(fact.predicate in self._read or self._reads_all for fact in event)

    def _completed(self, event: MadeUpEvent) -> MadeUpEvent:
        """An event with the other triples that the selection asks for of the same individual."""
        names = {fact.predicate for fact in event if fact.terms[0] == _OWN}
        subjects = {pattern.terms[0] for pattern in self._window if pattern.terms[1] in names}
        more = [
            Fact(str(target), (_OWN,)) if name == RDF_TYPE else Fact(str(name), (_OWN, _fresh(str(target))))
            for subject, name, target in (pattern.terms for pattern in self._window)
            if subject in subjects and (target if name == RDF_TYPE else name) not in names
        ]
        return tuple(dict.fromkeys([*event, *more]))

    def _has_class(self, event: MadeUpEvent, place: int) -> bool:
        if not event:
            return False
        decision, subjects = self._decisions.decide([(fact.predicate, fact.terms) for fact in event])
        pairs = zip(subjects, decision.classes or (), strict=False)
        return any(subject == _OWN and place in classes for subject, classes in pairs)

    def _selected(self, event: MadeUpEvent) -> Iterator[MadeUpEvent]:
        """What is selected of an event, on any of the streams."""
        for stream in dict.fromkeys(window.stream for window in self._query.windows):
            name, words = local_name(stream), Dictionary()
            streams = StreamsRead(self._query, [name])
            selection = SelectedEvents(self._query, self._dataset, words, streams, lambda _: None)
            selection.begin(0)
            batch = Batch(stream=name, graphs=[("", len(event))])
            for fact in event:
                batch.add(fact.signature, [words.code(term) for term in fact.terms])
            last = max(window.range + window.slide for window in self._query.windows)
            for tick, batches in ((0, [batch]), (last, [])):
                for _, selected in selection.advance(tick, batches):
                    yield from (part.facts for part in selected)

    # Events that a case of the derived selection describes ----------------------------------------------------------

    def _events(self, case: Sequence[SelectionAtom]) -> Iterator[MadeUpEvent]:
        literals = [atom for atom in case if atom.range is not None and not _is_met(atom, case)]
        resources = [atom for atom in case if atom.range is None and atom.name != "!="]
        elsewhere = [atom for atom in resources if "?x" not in (atom.subject, atom.thing)]
        own = [atom for atom in resources if atom not in elsewhere]
        bindings = list(islice(self._found(elsewhere, {}), _MOST_FOUND))
        for bound in bindings or [{}]:
            names = {"?x": _OWN, **bound}
            stated = [_fact(atom, names) for atom in (*own, *(() if bindings else elsewhere))]
            for values in product(*(self._values(atom) for atom in literals)):
                data = [
                    Fact(atom.name, (names.get(atom.subject, _fresh(atom.subject)), literal))
                    for atom, literal in zip(literals, values, strict=True)
                ]
                yield tuple(dict.fromkeys([*stated, *data]))

    def _found(self, atoms: Sequence[SelectionAtom], bound: dict[str, str]) -> Iterator[dict[str, str]]:
        """What variables stand for in the background; nothing where it says nothing of them."""
        if not atoms:
            yield from [bound] if bound else []
            return
        first, *remaining = atoms
        name, target = (first.name, first.thing) if first.thing else (RDF_TYPE, first.name)
        wanted = [bound.get(part) if part[0] == "?" else part for part in (first.subject, name, target)]
        for terms in self._known.matching(*wanted):
            new = dict(bound)
            pairs = zip((first.subject, name, target), terms, strict=True)
            if all(part[0] != "?" or new.setdefault(part, term) == term for part, term in pairs):
                yield from self._found(remaining, new)

    def _values(self, atom: SelectionAtom) -> list[str]:
        assert atom.range is not None
        test = self._program.ranges.test(atom.range)
        return [number for number in self._numbers if test(value(number))][:_MOST_VALUES]


def _cases(pattern: Pattern) -> Iterator[tuple[SelectionAtom, ...]]:
    """The ways to satisfy a pattern."""
    match pattern:
        case SelectionAtom():
            yield (pattern,)
        case Some(parts):
            for part in sorted(parts, key=str):
                yield from _cases(part)
        case Every(parts):
            for choice in product(*(list(islice(_cases(part), _MOST_CASES)) for part in sorted(parts, key=str))):
                yield tuple(dict.fromkeys(atom for atoms in choice for atom in atoms))


def _is_met(atom: SelectionAtom, case: Sequence[SelectionAtom]) -> bool:
    """Whether another literal of a case is what an atom asks for that takes any; a second one could contradict."""
    return atom.range == LITERAL and any(
        other.range is not None and other.range != LITERAL and (other.subject, other.name) == (atom.subject, atom.name)
        for other in case
    )


def _fact(atom: SelectionAtom, names: dict[str, str]) -> Fact:
    subject, target = (
        names.get(term, _fresh(term)) if term[:1] == "?" else term for term in (atom.subject, atom.thing)
    )
    return Fact(atom.name, (subject, target) if target else (subject,))


def _fresh(variable: str) -> str:
    return f"{OWN}{variable[1:]}>"


def _numbers(text: str, program: AbstractionProgram) -> list[str]:
    """Numbers that a selection or the ontology has, those between them, and one beyond; then samples of other kinds."""
    thresholds = {float(token.text) for token in tokens(text) if token.kind == "number"}
    for sample in program.ranges.literals:
        if sample.kind in ("double", "float", "decimal"):
            thresholds.add(float(sample.text))
    ordered = sorted(thresholds) or [0.0]
    between = [(low + high) / 2 for low, high in pairwise(ordered)]
    numbers = sorted(
        {*ordered, *between, ordered[0] - 1, ordered[-1] + 1}, key=lambda number: (number not in between, number)
    )
    written = [f'"{number!r}"^^<{XSD}{kind}>' for number in numbers for kind in ("double", "float")]
    written += [repr(number).removesuffix(".0") for number in numbers if "e" not in repr(number)]
    samples = program.ranges.samples()
    return [
        *written,
        *(f'"{sample.text}"^^<{XSD}{sample.kind}>' for sample in samples if sample.kind in ("string", "boolean")),
    ]


def _written(event: Iterable[Fact]) -> str:
    """An event for people to read, as facts."""
    return " ".join(f"{fact}" for fact in event).replace(_OWN, "x").replace(f"^^<{XSD}double>", "").replace(OWN, "<")
