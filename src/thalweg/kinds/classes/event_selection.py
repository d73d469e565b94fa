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
        for one, number in numbers.items():
            self._places[number] = places.get(self._kind(one), 0)
        self._ladder = Ladder(summary(program, self._kind_of), "none", ladder.least.rules)
        self._table: dict[Key, bool] = {}
        self.works = self._ladder.consistent and not program.form.unsupported and bool(self._kind_of)

    def drops(self, key: Key, event: Callable[[], EventFacts]) -> bool:
        """Whether an event with this signature has no class asked for, and does not contradict."""
        if not self.works:
            return False
        kind = self._summarised(key)
        found = self._table.get(kind)
        if found is None:
            decision = self._ladder.decide(self._event(event()))
            found = decision.by != UNDECIDED and decision.classes is not None and not any(decision.classes)
            if len(self._table) >= _MOST_KEPT:
                del self._table[next(iter(self._table))]
            self._table[kind] = found
        return found

    def _summarised(self, key: Key) -> Key:
        """A signature with the kinds of the individuals of the background instead of these."""
        places = self._places
        facts, about, *equal = key
        return (
            frozenset(
                (predicate, places[one] if one >= 0 else one, places[other] if other >= 0 else other, cell)
                for predicate, one, other, cell in facts
            ),
            frozenset(places[one] if one >= 0 else one for one in about),
            *((cell, predicate, places[one] if one >= 0 else one, number) for cell, predicate, one, number in equal),
        )

    def _kind(self, one: str) -> str:
        one = self._same.get(one, one)
        return self._kind_of.get(one, one)

    def _event(self, event: EventFacts) -> EventFacts:
        """An event with the kinds of the individuals of the background instead of these."""
        kind = self._kind
        pairs = (tuple((kind(one), kind(other)) for one, other in pairs) for pairs in (event.equal, event.different))
        return EventFacts(tuple(map(kind, event.subjects)), event.facts.renamed(kind), *pairs)


def kinds(ladder: Ladder) -> dict[str, str]:
    """The kind of each individual of the background; one that an axiom names is a kind of its own.

    None has a kind where there would be about as many kinds as individuals.
    """
    program, types = ladder.program, ladder.least.types
    individuals = [one for one in sorted(program.fixed) if program.same.get(one, one) == one]
    literals: dict[str, set[object]] = {one: set() for one in individuals}
    for name, one, literal in program.background.literals:
        literals[one].add((name, program.cell(literal)))
    named = program.named
    known = _numbered(one if one in named else (frozenset(types[one]), frozenset(literals[one])) for one in individuals)
    most = max(_FEW, min(MOST_KINDS, len(individuals) // 4))
    if len(set(known)) > most:
        return {}
    place = {one: number for number, one in enumerate(individuals)}
    edges = [(name, place[one], place[other]) for name, one, other in program.background.edges]
    refined = _refined(known, edges, most)
    return {one: one if one in named else f"{OWN}kind:{kind}>" for one, kind in zip(individuals, refined, strict=True)}


def _refined(known: list[int], edges: Sequence[tuple[str, int, int]], most: int) -> list[int]:
    """Finer kinds: individuals of one kind have neighbours of the same kinds, unless that would be too many kinds.

    >>> _refined([0, 0, 0, 1], [("<r>", 0, 3), ("<r>", 1, 2)], 10)
    [0, 1, 2, 3]
    """
    while True:
        near: list[set[tuple[object, object]]] = [set() for _ in known]
        for name, one, other in edges:
            near[one].add((name, known[other]))
            near[other].add((known[one], name))
        finer = _numbered((kind, frozenset(seen)) for kind, seen in zip(known, near, strict=True))
        count = len(set(finer))
        if count == len(set(known)) or count > most:
            return known
        known = finer


def _numbered(things: Iterable[object]) -> list[int]:
    """Equal things with the same number."""
    numbers: dict[object, int] = {}
    return [numbers.setdefault(thing, len(numbers)) for thing in things]


def summary(program: AbstractionProgram, kind_of: Mapping[str, str]) -> AbstractionProgram:
    """The program with one individual for all of a kind, and one literal of each cell where these are not compared."""
    facts = program.background.renamed(lambda one: kind_of.get(one, one))
    if not program.compares_values:
        cells = {(name, one, program.cell(literal)): literal for name, one, literal in facts.literals}
        facts = replace(facts, literals=tuple((name, one, literal) for (name, one, _), literal in cells.items()))
    return replace(program, background=facts, same={}, triples=())
