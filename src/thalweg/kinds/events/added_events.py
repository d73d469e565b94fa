"""Events that are added to a running cascade, and where the clauses of their patterns look things up.

NAMED EVENT :Jam { MATCH :High SEQ :High WITHIN (10 m) }      from tick 12 on
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.ir.patterns import Pattern, occurrences
from thalweg.kinds.classes.entailed_triples import EntailedTriples
from thalweg.kinds.events.event_clauses import TripleIndex
from thalweg.languages.cascade.event_definitions import CascadeProgram, NamedEvent
from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram
from thalweg.languages.owl.dl.askable_ontology import AskableOntology
from thalweg.model.predicate import Predicate

if TYPE_CHECKING:
    from thalweg.kinds.events import EventCascade


@dataclass(frozen=True, slots=True)
class AddedEvent:
    """An event that was added to a cascade, and its first tick; None where it began with the run."""

    event: NamedEvent
    first: int | None = None


class AddedKnowledge:
    """What clauses look up: the index of the cascade, or where an ontology says more about their names, one with that.

    Patterns whose clauses are about the same names share an index.
    """

    def __init__(self, part: "EventCascade", index: TripleIndex, ontology: AskableOntology) -> None:
        self._index = index
        self._ontology = ontology
        self._looked_up = part.program.looked_up
        # An index goes when no pattern looks into it any more.
        self._indexes: WeakValueDictionary[frozenset[Predicate] | None, TripleIndex] = WeakValueDictionary()

    def index_for(self, pattern: Pattern) -> TripleIndex:
        """Where the clauses of a pattern look."""
        names = CascadeProgram((NamedEvent("", pattern),)).looked_up
        if self._looked_up is None or (names is not None and names <= self._looked_up):
            return self._index
        index = self._indexes.get(names)
        if index is None:
            lookup = self._ontology.lookup(names)
            index = self._indexes[names] = self._index if lookup is None else _index_of(lookup)
        return index

    def doubts(self) -> Iterator[Diagnostic]:
        """What could not be found out about triples, besides what the cascade's own index says."""
        for index in {*self._indexes.values()} - {self._index}:
            yield from index.doubts()


def _index_of(lookup: AbstractionProgram) -> TripleIndex:
    return TripleIndex(lookup.triples, EntailedTriples(lookup))


def check_added(part: "EventCascade", event: NamedEvent, names: Iterable[str]) -> None:
    """`RejectedError` where an event cannot be added beside those of some `names`: what it reads is not there.

    What rules and answer sets conclude is brought to a cascade as far as its own text reads it.
    """
    definition = event.definition
    known = {*names, *(name for name, _ in part.program.undefined)}
    if isinstance(definition, Pattern):
        missing = [used for used in occurrences(definition.operand) if used.event not in known]
        wrong = [
            Diagnostic("E801", f"the event `{used.event}` is not defined", used.span, "use an event of the program")
            for used in missing
        ]
        if wrong:
            raise RejectedError(wrong)
    unheard = sorted(_unheard(part, event))
    if unheard:
        message = f"the events of the program do not read `{unheard[0]}`, which other parts of it conclude"
        raise RejectedError([Diagnostic("E817", message, definition.span, "read it in the text of the program, too")])


def _unheard(part: "EventCascade", event: NamedEvent) -> frozenset[Predicate]:
    """What an event would read of the conclusions of other parts, and is not brought to the cascade."""
    beside, program = part.beside, CascadeProgram((event,))
    classes = frozenset(Predicate(name, 1) for name in program.named_classes)
    roles = frozenset(Predicate(name, 2) for name in program.named_classes)
    looked_up = beside.concluded if program.looked_up is None else program.looked_up
    # What is known of an individual matters where a conclusion about it is an event.
    graphs = roles | looked_up if beside.classes else frozenset()
    return ((classes | graphs) & beside.concluded) - beside.classes - beside.known
