"""Leaves out events that no pattern can use: their graphs lack a predicate that a clause asks for.

    EVENT :High { ?o :note ?text }      an event without a `:note`, where neither background nor ontology give one

Such an event has no solution of its clause, so it fills no place, also not one under `NOT`. It has been classified, for
one that contradicts is reported whatever patterns ask; what is saved is making it an event and looking it up.
"""

from collections.abc import Container

from thalweg.ir.patterns import Clause, Pattern, occurrences
from thalweg.kinds.classes.classifier import ClassifiedEvent
from thalweg.kinds.events.restrictions import TripleIndex
from thalweg.languages.cascade.event_definitions import CascadeProgram
from thalweg.model.rdf import RDF_TYPE


class UsableEvents:
    """What patterns need of events; those that are `wanted` anyway stay whatever they have."""

    def __init__(self, program: CascadeProgram, background: TripleIndex, wanted: Container[str]) -> None:
        needs: dict[str, list[frozenset[str]]] = {}
        for event in program.events:
            if isinstance(event.definition, Pattern):
                clauses = {clause.event: clause for clause in event.definition.clauses}
                for name in {occurrence.event for occurrence in occurrences(event.definition.operand)}:
                    clause = clauses.get(name)
                    needs.setdefault(name, []).append(_needed(clause, background) if clause else frozenset())
        self._needs = {name: needed for name, needed in needs.items() if name not in wanted and all(needed)}

    def of(self, event: ClassifiedEvent) -> ClassifiedEvent:
        """An event with the classes by which it can be used."""
        if not self._needs or not event.classes:
            return event
        has = {name for name, words in event.facts if len(words) == 2}
        kept = [membership for membership in event.classes if self._is_usable(membership[0], has)]
        return event if len(kept) == len(event.classes) else ClassifiedEvent(event.graph, event.facts, "", kept)

    def _is_usable(self, name: str, has: set[str]) -> bool:
        needs = self._needs.get(name)
        return needs is None or any(needed <= has for needed in needs)


def _needed(clause: Clause, background: TripleIndex) -> frozenset[str]:
    """The predicates of a clause that only the graph of an event can have."""
    predicates = {triple.predicate for triple in clause.triples if triple.predicate[0] != "?"}
    return frozenset(
        predicate for predicate in predicates if predicate != RDF_TYPE and not background.may_have(predicate)
    )
