"""Events that can never happen, because nothing can be in their class.

    NAMED EVENT :X AS :Reading and :Room          where the ontology has DisjointClasses(:Reading :Room)

An individual of which nothing is known is put into the class: where that contradicts the ontology, the class is empty,
and so are the patterns that need one of its events.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from thalweg.diagnostics import Diagnostic
from thalweg.kinds.classes.contradiction import minimal
from thalweg.kinds.classes.ladder import EventFacts, Ladder
from thalweg.languages.cascade.event_definitions import CascadeProgram
from thalweg.languages.cascade.impossible_patterns import impossible_patterns
from thalweg.languages.cascade.token_reader import written
from thalweg.languages.owl import structure
from thalweg.languages.owl.axioms import Axiom, Declaration, Ontology, SubClassOf, mentioned, show
from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram, Facts, compile_abstraction
from thalweg.languages.owl.dl.clausify import clausify
from thalweg.languages.owl.dl.data_ranges import Ranges
from thalweg.languages.owl.dl.manchester import Vocabulary
from thalweg.model.rdf import OWN, XSD
from thalweg.model.vocabulary import OWL, RDF, RDFS

_ANY: Final = f"{OWN}any>"
# The words of OWL and of its datatypes.
_WORDS: Final = tuple(f"<{space}" for space in (XSD, RDF, RDFS, OWL))
_PROBE: Final = f"{OWN}probe:"


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
