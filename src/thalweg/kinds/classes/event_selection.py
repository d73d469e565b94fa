"""Drops events that have no class asked for, before the ladder: by a summary of the background.

    830 roads, 19,090 properties of roads      become      5 kinds of roads, 10 kinds of properties

Individuals of the background that look alike (the same classes by rules, the same literals up to their cells, and
neighbours that look alike) become one. In OWL two names may stand for the same thing, so a model of ontology, summary
and event is also one of ontology, background and event: each name is read as its kind. Where such a model has no
subject in a class asked for, the event has no class and does not contradict: it is dropped. All others are kept, and
so are those that may contradict. The ladder looks for the model; a table keeps what it found, by the kinds of the
individuals and the cells of the literals, and does not grow with the background.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from thalweg.kinds.classes.ladder import UNDECIDED, EventFacts, Ladder
from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram
from thalweg.model.rdf import OWN

MOST_KINDS: Final = 4_096
_FEW: Final = 64
_MOST_KEPT: Final = 100_000
# The signature of an event (`signatures.py`): its facts and subjects, those of the background by number.
Key = tuple[Any, ...]


class EventSelection:
    """Says which events can have a class; `numbers` has the individuals of the background as signatures number them.

    `size` is the number of kinds; `works` is False where nothing is dropped: there is no background, the individuals of
    the background have little in common, or a reasoner decides everything.
    """

    def __init__(self, ladder: Ladder, numbers: Mapping[str, int]) -> None:
        program = ladder.program
        self._same = program.same
        self._kind_of = kinds(ladder)
        places = {name: place for place, name in enumerate(dict.fromkeys(self._kind_of.values()))}
        self.size = len(places)
        self._places = [0] * len(numbers)
        for individual, number in numbers.items():
            self._places[number] = places.get(self._kind(individual), 0)
        self._ladder = Ladder(summary(program, self._kind_of), "none", ladder.least.rules)
        self._table: dict[Key, bool] = {}
        self.works = self._ladder.consistent and not program.form.unsupported and bool(self._kind_of)

    def drops(self, key: Key, event: Callable[[], EventFacts]) -> bool:
        """Whether an event with this signature has no class asked for, and does not contradict."""
        if not self.works:
            return False
        kind = self._summarised(key)
        dropped = self._table.get(kind)
        if dropped is None:
            decision = self._ladder.decide(self._event(event()))
            dropped = decision.by != UNDECIDED and decision.classes is not None and not any(decision.classes)
            if len(self._table) >= _MOST_KEPT:
                del self._table[next(iter(self._table))]
            self._table[kind] = dropped
        return dropped

    def _summarised(self, key: Key) -> Key:
        """A signature with the kinds of the individuals of the background instead of these."""
        places = self._places
        facts, about, *equal = key
        return (
            frozenset(
                (
                    predicate,
                    places[individual] if individual >= 0 else individual,
                    places[other] if other >= 0 else other,
                    cell,
                )
                for predicate, individual, other, cell in facts
            ),
            frozenset(places[individual] if individual >= 0 else individual for individual in about),
            *(
                (cell, predicate, places[individual] if individual >= 0 else individual, number)
                for cell, predicate, individual, number in equal
            ),
        )

    def _kind(self, individual: str) -> str:
        individual = self._same.get(individual, individual)
        return self._kind_of.get(individual, individual)

    def _event(self, event: EventFacts) -> EventFacts:
        """An event with the kinds of the individuals of the background instead of these."""
        kind = self._kind
        pairs = (
            tuple((kind(individual), kind(other)) for individual, other in pairs)
            for pairs in (event.equal, event.different)
        )
        return EventFacts(tuple(map(kind, event.subjects)), event.facts.renamed(kind), *pairs)


def kinds(ladder: Ladder) -> dict[str, str]:
    """The kind of each individual of the background; one that an axiom names is a kind of its own.

    None has a kind where there would be about as many kinds as individuals.
    """
    program, types = ladder.program, ladder.least.types
    individuals = [
        individual for individual in sorted(program.fixed) if program.same.get(individual, individual) == individual
    ]
    literals: dict[str, set[object]] = {individual: set() for individual in individuals}
    for name, individual, literal in program.background.literals:
        literals[individual].add((name, program.cell(literal)))
    named = program.named
    initial = _numbered(
        individual if individual in named else (frozenset(types[individual]), frozenset(literals[individual]))
        for individual in individuals
    )
    most = max(_FEW, min(MOST_KINDS, len(individuals) // 4))
    if len(set(initial)) > most:
        return {}
    place = {individual: number for number, individual in enumerate(individuals)}
    edges = [(name, place[individual], place[other]) for name, individual, other in program.background.edges]
    refined = _refined(initial, edges, most)
    return {
        individual: individual if individual in named else f"{OWN}kind:{kind}>"
        for individual, kind in zip(individuals, refined, strict=True)
    }


def _refined(current: list[int], edges: Sequence[tuple[str, int, int]], most: int) -> list[int]:
    """Finer kinds: individuals of one kind have neighbours of the same kinds, unless that would be too many kinds.

    >>> _refined([0, 0, 0, 1], [("<r>", 0, 3), ("<r>", 1, 2)], 10)
    [0, 1, 2, 3]
    """
    while True:
        near: list[set[tuple[object, object]]] = [set() for _ in current]
        for name, individual, other in edges:
            near[individual].add((name, current[other]))
            near[other].add((current[individual], name))
        finer = _numbered((kind, frozenset(seen)) for kind, seen in zip(current, near, strict=True))
        count = len(set(finer))
        if count == len(set(current)) or count > most:
            return current
        current = finer


def _numbered(items: Iterable[object]) -> list[int]:
    """The numbers of items in the order of their first occurrences; equal items have the same."""
    numbers: dict[object, int] = {}
    return [numbers.setdefault(item, len(numbers)) for item in items]


def summary(program: AbstractionProgram, kind_of: Mapping[str, str]) -> AbstractionProgram:
    """The program with one individual for all of a kind, and one literal of each cell where these are not compared."""
    facts = program.background.renamed(lambda individual: kind_of.get(individual, individual))
    if not program.compares_values:
        cells = {(name, individual, program.cell(literal)): literal for name, individual, literal in facts.literals}
        facts = replace(
            facts, literals=tuple((name, individual, literal) for (name, individual, _), literal in cells.items())
        )
    return replace(program, background=facts, same={}, triples=())
