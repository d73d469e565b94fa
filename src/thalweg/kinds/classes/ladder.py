"""Which classes the individuals of an event are in: exact, by the cheapest means that decides it.

    selection   a model of event and summary has no class asked for (`EventSelection`)
    rules       the least model keeps to all guards: it is a model, so nothing else is entailed
    repair      a model was found in which no individual is in more classes than rules derive
    cases       what is left was decided by trying all cases: each is entailed, or a model without it was found
    reasoner    HermiT was asked, about the axioms that can matter and the data that is connected with the event

What rules derive is entailed, whatever comes later. A contradiction that they derive is one; that there is none is
shown by a model. Where nothing decides and there is no reasoner, the event is *undecided*, and nothing is guessed.

The selection drops events that have no class asked for, before all else, by a summary of the background:

    830 roads, 19,090 properties of roads      become      5 kinds of roads, 10 kinds of properties

Individuals of the background that look alike (the same classes by rules, the same literals up to their cells, and
neighbours that look alike) become one. In OWL two names may stand for the same thing, so a model of ontology, summary
and event is also one of ontology, background and event: each name is read as its kind. Where such a model has no
subject in a class asked for, the event has no class and does not contradict: it is dropped. All others are kept, and
so are those that may contradict. A ladder looks for the model; a table keeps what it found, by the kinds of the
individuals and the cells of the literals, and does not grow with the background.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from time import perf_counter
from typing import Any, Final

from thalweg.languages.owl.axioms import DifferentIndividuals, show
from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram, Facts
from thalweg.languages.owl.dl.data_ranges import value
from thalweg.model.rdf import OWN, as_resource
from thalweg.solvers.dl import hermit
from thalweg.solvers.dl.classify import with_subsumptions
from thalweg.solvers.dl.least_model import Individual, Model, RuleIndex
from thalweg.solvers.dl.model_search import Membership, Outcome, find_model
from thalweg.solvers.dl.normal_form import FormGrowth

SELECTION: Final = "selection"
RULES: Final = "rules"
REPAIR: Final = "repair"
CASES: Final = "cases"
REASONER: Final = "reasoner"
UNDECIDED: Final = "undecided"
# An individual that nothing is said of.
_ANY: Final = f"{OWN}any>"
# Larger parts of the background are not searched again for one event.
_MOST_INDIVIDUALS: Final = 120
_MOST_DIFFERENT: Final = 60
_REPAIR_STEPS: Final = 100
# Of a summary: how many kinds are made in any case, and at most; and how many signatures of events are kept.
_FEW_KINDS: Final = 64
_MOST_KINDS: Final = 4_096
_MOST_KEPT: Final = 100_000

Key = tuple[Any, ...]
"""The signature of an event (`classifier.py`): its facts and subjects, those of the background by number."""


@dataclass(frozen=True, slots=True)
class EventFacts:
    """The facts of an event whose names matter; `equal` and `different` are pairs of individuals."""

    subjects: tuple[str, ...]
    facts: Facts
    equal: tuple[tuple[str, str], ...] = ()
    different: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """The numbers of the classes that each subject is in, by its place; None for an event that contradicts.

    `by` says what decided; an undecided event has the classes that are entailed for certain.
    """

    classes: tuple[tuple[int, ...], ...] | None
    by: str
    reason: str = ""


def way_out(reason: str) -> str:
    """What can be done where an event is undecided for a reason.

    >>> way_out("HermiT failed: it has run out of time")
    'change the axioms that HermiT fails at, or choose classes that do without them by `--classes`'
    """
    if "OutOfMemoryError" in reason:
        return hermit.MORE_MEMORY
    if reason.startswith("HermiT"):
        return "change the axioms that HermiT fails at, or choose classes that do without them by `--classes`"
    return "`pip install 'thalweg[dl]'` and `--reasoner auto` ask HermiT"


@dataclass(slots=True)
class Ladder:
    """A program with its background closed, ready for events; `reasoner` is `auto`, `hermit` or `none`.

    `rules` are those of the program, where they have been made before.
    """

    program: AbstractionProgram
    reasoner: str = "auto"
    rules: RuleIndex | None = field(default=None, repr=False)
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    least: Model = field(init=False, repr=False)
    repaired: Model = field(init=False, repr=False)
    consistent: bool = field(init=False, default=True)
    _wanted: dict[int, int] = field(init=False, repr=False)
    _part_of: dict[Individual, int] = field(init=False, repr=False)
    _parts: dict[int, list[str]] = field(init=False, repr=False)
    _unclean: set[int] = field(init=False, repr=False)
    _unrepaired: set[int] = field(init=False, repr=False)
    _facts_of: dict[int, Facts] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        program = self.program
        numbers = program.form.classes
        self._wanted = {
            numbers[wanted.name]: place for place, wanted in enumerate(program.asked) if wanted.name in numbers
        }
        self._connect()
        rules = self.rules or RuleIndex(with_subsumptions(program.form))
        self.least = self.repaired = Model(rules)
        fill(self.least, program)
        if not self.least.close():
            self.consistent = False
            return
        pending = list(self.least.pending)
        self._unclean = {
            self._part(individual) for guard, individual in pending if self.least.violates(guard, individual)
        }
        self._unrepaired = set()
        if self._unclean and not program.form.unsupported:
            self.repaired = Model(rules)
            fill(self.repaired, program)
            self._repair()
        self.least.forget_trail()
        self.repaired.forget_trail()

    # The background ---------------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        """Numbers the parts of the background that are not connected with each other."""
        data, parent = self.program.background, dict[str, str]()

        def find(node: str) -> str:
            while (above := parent.setdefault(node, node)) != node:
                parent[node] = parent.setdefault(above, above)
                node = parent[node]
            return node

        for _, node, other in data.edges:
            parent[find(node)] = find(other)
        for node in self.program.fixed:
            find(node)
        roots: dict[str, int] = {}
        cuts = self.program.cuts
        self._part_of = {node: roots.setdefault(find(node), len(roots)) if cuts else 0 for node in sorted(parent)}
        self._parts = defaultdict(list)
        for individual, part in self._part_of.items():
            self._parts[part].append(str(individual))
        self._facts_of = {}

    def _part(self, individual: Individual) -> int:
        return self._part_of.get(individual, 0 if not self.program.cuts else -1)

    def _repair(self) -> None:
        """Makes a model of the background, choice by choice; the parts where that failed are noted."""
        model = self.repaired
        model.close()
        agenda = list(model.pending)
        for guard, individual in agenda:
            if model.violates(guard, individual):
                model.forget_trail()
                model.pending.append((guard, individual))
                if find_model(model, steps=_REPAIR_STEPS) is not Outcome.MODEL:
                    model.undo((0, 0))
                    self._unrepaired.add(self._part(_owner(individual)))
        # An individual that several parts share may rest on one of those without a model.
        if self._unrepaired and any(_owner(individual) is None for individual in model.types):
            self._unrepaired |= self._unclean

    def grow(self, program: AbstractionProgram, growth: FormGrowth) -> None:
        """Goes on with a program that has a class more, whose definition adds this to the normal form."""
        self.program = program
        place = len(program.asked) - 1
        self._wanted[program.form.classes[program.asked[place].name]] = place
        self.least.rules.grow(growth, program.form)
        self.least.grow(growth)
        if self.repaired is not self.least:
            self.repaired.grow(growth)

    # Events -----------------------------------------------------------------------------------------------------------

    def decide(self, event: EventFacts) -> Decision:
        """The classes of an event's subjects."""
        before = perf_counter()
        decision = self._decide(self.merged(event))
        self.seconds[decision.by] += perf_counter() - before
        return decision

    def _decide(self, event: EventFacts) -> Decision:
        model = self.least
        mark = model.mark()
        try:
            self.enter(model, event)
            if not model.close():
                return Decision(None, RULES)
            lower = self._memberships(model, event)
            if self.program.form.unsupported or event.equal:
                return self._ask(event, lower)
            parts = self._touched(event)
            clean = parts.isdisjoint(self._unclean)
            if clean and not model.violations(mark[1]):
                return self._decision(event, lower, RULES)
            searched = self._search(event, parts, clean, mark, lower)
        finally:
            model.undo(mark)
        return searched if isinstance(searched, Decision) else self._ask(event, searched)

    def merged(self, event: EventFacts) -> EventFacts:
        """An event with one name for equal individuals, where all but one of these are its own."""
        if not event.equal or self.program.has_keys:
            return event
        stands_for: dict[str, str] = {}
        fixed, same = self.program.fixed, self.program.same

        def find(individual: str) -> str:
            individual = same.get(individual, individual)
            while individual in stands_for:
                individual = stands_for[individual]
            return individual

        for pair in event.equal:
            individual, other = sorted(map(find, pair), key=lambda individual: (individual not in fixed, individual))
            if individual != other:
                if other in fixed:
                    return event
                stands_for[other] = individual
        different = tuple((find(individual), find(other)) for individual, other in event.different)
        return EventFacts(tuple(map(find, event.subjects)), event.facts.renamed(find), (), different)

    def _search(
        self, event: EventFacts, parts: set[int], clean: bool, mark: tuple[int, int], lower: set[Membership]
    ) -> Decision | set[Membership]:
        """The decision by models; where there is none, what is entailed for certain."""
        if not clean and parts.isdisjoint(self._unrepaired):
            model = self.repaired
            start = model.mark()
            self.enter(model, event)
            exists = self._without_others(event, model, start[1], lower)
            model.undo(start)
            if exists:
                return self._decision(event, lower, REPAIR)
        if not clean:
            if sum(len(self._parts[part]) for part in parts if part >= 0) > _MOST_INDIVIDUALS:
                return lower
            for part in sorted(parts):
                for individual in self._parts.get(part, ()):
                    if individual in self.least.types:
                        self.least.pending += self.least.guards_of(individual)
        elif self._without_others(event, self.least, mark[1], lower):
            return self._decision(event, lower, REPAIR)
        return self._by_cases(event, mark[1], lower)

    def _without_others(self, event: EventFacts, model: Model, start: int, lower: set[Membership]) -> bool:
        """Whether there is a model in which the subjects are in no other classes."""
        excluded = [
            (of, individual)
            for individual in self._subjects(event)
            for of in self._wanted
            if (of, individual) not in lower
        ]
        here = model.mark()
        exists = find_model(model, excluded, start) is Outcome.MODEL
        model.undo(here)
        return exists

    def _by_cases(self, event: EventFacts, start: int, lower: set[Membership]) -> Decision | set[Membership]:
        model = self.least
        here = model.mark()
        outcome = find_model(model, (), start)
        memberships = self._memberships(model, event) if outcome is Outcome.MODEL else set()
        model.undo(here)
        if outcome is Outcome.CLOSED:
            return Decision(None, CASES)
        if outcome is Outcome.UNKNOWN:
            return lower
        entailed, open_ = set(lower), memberships - lower
        for membership in sorted(open_, key=repr):
            if membership in open_:
                outcome = find_model(model, [membership], start)
                if outcome is Outcome.MODEL:
                    open_ &= self._memberships(model, event)
                model.undo(here)
                if outcome is Outcome.CLOSED:
                    entailed.add(membership)
                    open_.discard(membership)
        return entailed if open_ else self._decision(event, entailed, CASES)

    def enter(self, model: Model, event: EventFacts) -> None:
        """Puts the facts of an event into a model."""
        for subject in self._subjects(event):
            model.add_individual(subject)
        _add(model, self.program, event.facts)
        for individual, other in event.different:
            model.add_different(individual, other)

    def is_clean(self, event: EventFacts) -> bool:
        """Whether the least model keeps to all guards in the parts of the background that an event touches."""
        return self._touched(event).isdisjoint(self._unclean)

    def is_repaired(self, event: EventFacts) -> bool:
        """Whether there is a model of the parts of the background that an event touches."""
        return self._touched(event).isdisjoint(self._unrepaired)

    def touches(self, event: EventFacts, individual: str) -> bool:
        """Whether an event touches the part of the background that an individual is in."""
        return self._part(individual) in self._touched(event)

    def individuals_around(self, event: EventFacts) -> list[str]:
        """The individuals of an event, and those of the background that are connected with it."""
        individuals = dict.fromkeys(
            individual for part in sorted(self._touched(event)) for individual in self._parts.get(part, ())
        )
        return list(individuals | dict.fromkeys(self._named(event)))

    def _touched(self, event: EventFacts) -> set[int]:
        return {self._part(individual) for individual in self._named(event)}

    def _named(self, event: EventFacts) -> set[str]:
        facts = event.facts
        named = {individual for _, *individuals in (*facts.classes, *facts.edges) for individual in individuals}
        named |= {individual for _, individual, _ in facts.literals} | set(self._subjects(event))
        return named | {individual for pair in (*event.equal, *event.different) for individual in pair}

    def _subjects(self, event: EventFacts) -> list[str]:
        return [self.program.same.get(individual, individual) for individual in event.subjects]

    def _memberships(self, model: Model, event: EventFacts) -> set[Membership]:
        wanted = self._wanted
        return {
            (of, individual) for individual in self._subjects(event) for of in model.types[individual] if of in wanted
        }

    def _decision(self, event: EventFacts, memberships: Collection[Membership], by: str, reason: str = "") -> Decision:
        by_subject: dict[Individual, list[int]] = defaultdict(list)
        for of, individual in memberships:
            by_subject[individual].append(self._wanted[of])
        return Decision(
            tuple(tuple(sorted(by_subject[individual])) for individual in self._subjects(event)), by, reason
        )

    # The reasoner -----------------------------------------------------------------------------------------------------

    def ask(self, event: EventFacts) -> Decision:
        """The decision of the reasoner, whatever could be decided without it."""
        return self._ask(event, set())

    def _ask(self, event: EventFacts, lower: set[Membership]) -> Decision:
        if self.reasoner == "none":
            return self._decision(event, lower, UNDECIDED, "rules cannot decide it, and `--reasoner none` was given")
        if self.reasoner == "auto" and not hermit.is_installed():
            return self._decision(event, lower, UNDECIDED, "rules cannot decide it, and HermiT is not installed")
        subjects = self._subjects(event)
        if self.program.has_keys and any(individual[0] == "_" for individual in subjects):
            return self._decision(event, lower, UNDECIDED, "HermiT gives no classes of blank nodes beside keys")
        names = {
            individual: f"{OWN}node:{individual[2:]}>" if individual[0] == "_" else as_resource(individual)
            for individual in subjects
        }
        try:
            types = hermit.types(self.question(event, names), set(names.values()), self._known(lower, names))
        except hermit.UndecidedError as error:
            return self._decision(event, lower, UNDECIDED, f"HermiT failed: {error}")
        if types is None:
            return Decision(None, REASONER)
        places = {wanted.name: place for place, wanted in enumerate(self.program.asked)}
        kinds = (types[names[individual]] for individual in subjects)
        return Decision(
            tuple(tuple(sorted(places[of] for of in classes if of in places)) for classes in kinds), REASONER
        )

    def _known(self, lower: set[Membership], names: dict[str, str]) -> dict[str, set[str]]:
        """The classes that need not be confirmed: entailed ones, and those that are not asked for."""
        asked_names = {wanted.name for wanted in self.program.asked}
        confirmed = {name: {of for of in self.program.form.classes if of not in asked_names} for name in names.values()}
        for of, individual in lower:
            confirmed[names[str(individual)]].add(self.program.asked[self._wanted[of]].name)
        return confirmed

    def question(self, event: EventFacts, names: dict[str, str]) -> Iterator[str]:
        """The axioms that decide an event, as text; a blank node that is asked about needs a name."""
        yield from map(show, self.program.axioms)
        for part in sorted(self._touched(event) if self.program.cuts else {0}):
            yield from map(show, self._facts_in(part).axioms())

        def rename(individual: str) -> str:
            return names.get(individual, individual)

        yield from map(show, event.facts.renamed(rename).axioms())
        yield from (
            f"ClassAssertion(<http://www.w3.org/2002/07/owl#Thing> {individual})" for individual in names.values()
        )
        yield from (f"SameIndividual({rename(individual)} {rename(other)})" for individual, other in event.equal)
        yield from (
            f"DifferentIndividuals({rename(individual)} {rename(other)})" for individual, other in event.different
        )

    def _facts_in(self, part: int) -> Facts:
        """The background of one part."""
        if not self._facts_of:
            self._facts_of = _grouped(self.program.background, self._part_of)
        return self._facts_of.get(part, Facts())

    # The ontology as a whole ---------------------------------------------------------------------------------------

    def held_by_everything(self) -> frozenset[int]:
        """The places of the classes that everything is in."""
        decision = self.decide(EventFacts((_ANY,), Facts()))
        return frozenset(() if decision.classes is None else decision.classes[0])

    def hidden(self) -> frozenset[int]:
        """The places of the classes that are not shown: where none were chosen, those that everything is in."""
        return frozenset() if self.program.chosen else self.held_by_everything()

    def doubtful(self) -> Iterator[str]:
        """An individual of each part of the background of which no model was found; and one of no part."""
        yield _ANY
        parts = [0] if self.program.form.unsupported else sorted(self._unrepaired)
        yield from (self._parts[part][0] for part in parts if self._parts[part])

    def facts_about(self, individual: str) -> Facts:
        """The part of the background that an individual is in."""
        return self._facts_in(self._part(individual))


def fill(model: Model, program: AbstractionProgram) -> None:
    """Puts the background into a model; `close` draws the conclusions."""
    for individual in sorted(program.fixed):
        model.add_individual(program.same.get(individual, individual))
    _add(model, program, program.background)
    for axiom in program.axioms:
        if isinstance(axiom, DifferentIndividuals) and len(axiom.individuals) <= _MOST_DIFFERENT:
            for first, other in combinations(axiom.individuals, 2):
                model.add_different(first, other)


def _add(model: Model, program: AbstractionProgram, facts: Facts) -> None:
    form = program.form
    for of, individual in facts.classes:
        model.add_individual(individual)
        if of in form.classes:
            model.add_class(form.classes[of], individual)
    for role, subject, other in facts.edges:
        if role in form.roles:
            model.add_edge(form.roles[role], subject, other)
    for name, individual, literal in facts.literals:
        if name in form.data:
            model.add_literal(form.data[name], individual, value(literal))


def _grouped(facts: Facts, part_of: dict[Individual, int]) -> dict[int, Facts]:
    classes: dict[int, list[tuple[str, str]]] = defaultdict(list)
    edges: dict[int, list[tuple[str, str, str]]] = defaultdict(list)
    literals: dict[int, list[tuple[str, str, str]]] = defaultdict(list)
    for fact in facts.classes:
        classes[part_of[fact[1]]].append(fact)
    for edge in facts.edges:
        edges[part_of[edge[1]]].append(edge)
    for literal in facts.literals:
        literals[part_of[literal[1]]].append(literal)
    parts = {*classes, *edges, *literals}
    return {part: Facts(tuple(classes[part]), tuple(edges[part]), tuple(literals[part])) for part in parts}


def _owner(individual: Individual) -> Individual:
    """The individual with a name that another one was made for."""
    while isinstance(individual, tuple):
        individual = individual[0]
    return individual


# Selection -----------------------------------------------------------------------------------------------------------


class EventSelection:
    """Says which events can have a class; `numbers` has the individuals of the background as signatures number them.

    `size` is the number of kinds; `works` is False where nothing is dropped: there is no background, the individuals of
    the background have little in common, or a reasoner decides everything.
    """

    def __init__(self, ladder: Ladder, numbers: Mapping[str, int]) -> None:
        program = ladder.program
        self._same = program.same
        self._kind_of = _kinds(ladder)
        places = {name: place for place, name in enumerate(dict.fromkeys(self._kind_of.values()))}
        self.size = len(places)
        self._places = [0] * len(numbers)
        for individual, number in numbers.items():
            self._places[number] = places.get(self._kind(individual), 0)
        self._ladder = Ladder(_summary(program, self._kind_of), "none", ladder.least.rules)
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


def _kinds(ladder: Ladder) -> dict[str, str]:
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
    most = max(_FEW_KINDS, min(_MOST_KINDS, len(individuals) // 4))
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


def _summary(program: AbstractionProgram, kind_of: Mapping[str, str]) -> AbstractionProgram:
    """The program with one individual for all of a kind, and one literal of each cell where these are not compared."""
    facts = program.background.renamed(lambda individual: kind_of.get(individual, individual))
    if not program.compares_values:
        cells = {(name, individual, program.cell(literal)): literal for name, individual, literal in facts.literals}
        facts = replace(
            facts, literals=tuple((name, individual, literal) for (name, individual, _), literal in cells.items())
        )
    return replace(program, background=facts, same={}, triples=())
