"""Clauses look up what is stated: a warning where the ontology may make more of it.

:in a owl:TransitiveProperty .        ?o :in ?district      an event that states `?o :in ?room` is not found by it
:Hot rdfs:subClassOf :Reading .       ?o a :Reading         nor is one that states `?o a :Hot`
"""

from collections.abc import Iterator, Sequence
from typing import Final

from thalweg.diagnostics import Diagnostic
from thalweg.ir.patterns import Pattern
from thalweg.languages.cascade.event_definitions import CascadeProgram
from thalweg.languages.cascade.token_reader import written
from thalweg.model.rdf import RDF_TYPE
from thalweg.model.vocabulary import Triple

_RDF: Final = RDF_TYPE.removesuffix("type>")
_RDFS: Final = "<http://www.w3.org/2000/01/rdf-schema#"
_OWL: Final = "<http://www.w3.org/2002/07/owl#"
# With these predicates the object, or the subject, may be concluded about individuals; `first` is of an intersection.
_OBJECTS: Final = {
    *(f"{_RDFS}{name}>" for name in ("subPropertyOf", "subClassOf", "domain", "range")),
    *(f"{_OWL}{name}>" for name in ("equivalentProperty", "equivalentClass", "inverseOf")),
}
_SUBJECTS: Final = {
    f"{_OWL}{name}>"
    for name in ("equivalentProperty", "equivalentClass", "inverseOf", "propertyChainAxiom", "disjointUnionOf")
}
_KINDS: Final = {f"{_OWL}{name}>" for name in ("SymmetricProperty", "TransitiveProperty", "ReflexiveProperty")}
_VALUES: Final = (f"{_OWL}hasValue>", f"{_OWL}hasSelf>")


def overlooked(program: CascadeProgram, triples: Sequence[Triple]) -> Iterator[Diagnostic]:
    """A warning for each triple of a clause that may also follow from the ontology."""
    concluded = set(_concluded(triples))
    members = {thing for _, predicate, thing in triples if predicate == f"{_RDF}first>"}
    for event in program.events:
        if isinstance(event.definition, Pattern):
            for triple in (one for clause in event.definition.clauses for one in clause.triples):
                is_type = triple.predicate == RDF_TYPE
                if (triple.object if is_type else triple.predicate) in (concluded | members if is_type else concluded):
                    message = f"more of `{written(triple.span)}` may follow from the ontology, which is not looked up"
                    help_ = "state it in the events or the background, or make it part of the class of the event"
                    yield Diagnostic("W811", message, triple.span, help_)


def _concluded(triples: Sequence[Triple]) -> Iterator[str]:
    """Classes and properties of which something may follow."""
    restrictions = {subject for subject, predicate, _ in triples if predicate in _VALUES}
    for subject, predicate, thing in triples:
        if predicate in _OBJECTS or (predicate == f"{_OWL}onProperty>" and subject in restrictions):
            yield thing
        if predicate in _SUBJECTS or (predicate == RDF_TYPE and thing in _KINDS):
            yield subject
