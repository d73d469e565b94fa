"""What an ontology entails of the triples of an event, for clauses that look them up.

    TransitiveObjectProperty(:in)       the event says  :o :in :room1, the background  :room1 :in :wing2
    ?o :in ?place                       finds :room1, and :wing2

What rules derive is entailed. Where the least model keeps to all guards, nothing else is; nor where another model has
no more of the names that are looked up. What it has more is asked of the reasoner, triple by triple. Individuals that
are stated to be equal have each other's triples.
"""

from collections.abc import Collection, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, Final

from thalweg.diagnostics import Diagnostic
from thalweg.kinds.classes.classifier import Signatures
from thalweg.kinds.classes.ladder import EventFacts, Ladder
from thalweg.languages.owl.axioms import within
from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram, Facts
from thalweg.languages.owl.dl.data_ranges import value
from thalweg.languages.owl.expressions import UNIVERSAL
from thalweg.languages.owl.kinds import is_reserved
from thalweg.model.rdf import OWN, RDF_TYPE, as_resource
from thalweg.model.term import is_literal
from thalweg.model.vocabulary import DIFFERENT_FROM, SAME_AS, Triple
from thalweg.solvers.dl import hermit
from thalweg.solvers.dl.least_model import Model
from thalweg.solvers.dl.model_search import Outcome, find_model

Atom = tuple[str, str, Hashable]
"""A subject, a class or property, and a value: an individual, a literal's value, or None for a class."""

_ANY: Final = f"{OWN}any>"
_MOST_KEPT: Final = 4_096
_MOST_SHAPES: Final = 65_536
_MOST_ASKED: Final = 500
_ROLE: Final = f"{OWN}has:"


@dataclass(eq=False)
class _Names:
    """Where a model has what is looked up: the tables of properties, by identity, and the numbers of classes."""

    model: Model
    program: AbstractionProgram
    classes: dict[int, str]
    owners: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Of each set of the model that the background made: the name of its table, empty for classes, and whose it is."""

    def __post_init__(self) -> None:
        form, model = self.program.form, self.model
        wanted = self.program.looked_up
        self.tables: dict[int, tuple[str, dict[Any, set[Any]]]] = {id(model.types): ("", model.types)}
        for names, tables in ((form.roles, model.edges), (form.data, model.literals)):
            for name, number in names.items():
                if name in wanted:
                    self.tables[id(tables[number])] = name, tables[number]
        for name, table in self.tables.values():
            self.owners |= {
                id(members): (name, individual) for individual, members in table.items() if isinstance(individual, str)
            }

    def all(self) -> set[Atom]:
        """All atoms of individuals with a name."""
        atoms: set[Atom] = set()
        for name, table in self.tables.values():
            for individual, members in table.items():
                if isinstance(individual, str):
                    atoms.update(self._atoms(name, individual, members))
        return atoms

    def since(self, mark: int) -> set[Atom]:
        """The atoms that came since a mark."""
        new: dict[int, tuple[str, str]] = {}
        atoms: set[Atom] = set()
        for container, item in self.model.trail(mark):
            if type(container) is dict:
                if id(container) in self.tables and isinstance(item, str):
                    new[id(container[item])] = self.tables[id(container)][0], item
            elif owner := new.get(id(container)) or self.owners.get(id(container)):
                atoms.update(self._atoms(*owner, (item,)))
        return atoms

    def _atoms(self, name: str, individual: str, members: Iterable[Any]) -> Iterator[Atom]:
        for item in members:
            if not name:
                if item in self.classes:
                    yield individual, self.classes[item], None
            elif name in self.program.form.data or isinstance(item, str):
                yield individual, name, item


class EntailedTriples:
    """What follows of events, and of the background alone."""

    def __init__(self, program: AbstractionProgram) -> None:
        self._program = program
        self._ladder = Ladder(program, program.reasoner)
        self._signatures = Signatures(program)
        self._known: dict[tuple[Triple, ...], tuple[Triple, ...]] = {}
        self._terms = _spelled(program.background)
        self._shapes = _Shapes(program, self._terms)
        self._of_shapes: dict[Hashable, tuple[tuple[str | int, str, str | int], ...]] = {}
        self.undecided = 0
        self._reason = ""
        classes = {number: name for name, number in program.form.classes.items() if name in program.looked_up}
        self._least = _Names(self._ladder.least, program, classes)
        self._repaired = _Names(self._ladder.repaired, program, classes)
        self._aliases = _groups(program.same.items())
        self._own: Mapping[Any, str] = {}
        sure = self._least.all()
        # What a model of the background has and rules do not derive; it may be entailed, alone or with an event.
        self._doubtful = self._repaired.all() - sure
        sure |= self._asked(
            EventFacts(tuple({individual for individual, *_ in self._doubtful}), Facts()), self._doubtful
        )
        for individual in self._ladder.doubtful():
            if individual in program.fixed:
                alone = EventFacts((individual,), Facts())
                sure |= self._asked(alone, self._possible(alone) - sure)
        self._doubtful -= sure
        self._background = sure
        sure |= set(self._of_others())
        self.background = tuple(self._new(sure, program.triples))

    def may_give(self, property: str) -> bool:
        """Whether triples of a property may follow where none are stated: an axiom mentions it, or OWL itself does.

        What follows of equal individuals has a triple of the same property behind it.
        """
        return is_reserved(property) or property in UNIVERSAL or property in self._mentioned

    @cached_property
    def _mentioned(self) -> frozenset[object]:
        return frozenset(part for axiom in self._program.axioms for part in within(axiom) if isinstance(part, str))

    def _of_others(self) -> Iterator[Atom]:
        """What follows of individuals that no axiom is about: what holds of everything."""
        atoms = self._of_event(EventFacts((_ANY,), Facts()))
        types = self._ladder.least.types
        individuals = (
            (individual for individual in _individuals(self._program.triples) if individual not in types)
            if atoms
            else ()
        )
        for individual in individuals:
            yield from (
                (individual, name, individual if target == _ANY else target)
                for any_, name, target in atoms
                if any_ == _ANY
            )

    def of(self, graph: Sequence[Triple]) -> tuple[Triple, ...]:
        """The triples that follow of a graph and the background together, and that neither states.

        Nothing more follows of a graph that contradicts the ontology.
        """
        key = tuple(graph)
        triples = self._known.get(key)
        if triples is None:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            self._known[key] = triples = self._of_shape(key)
        return triples

    def _of_shape(self, graph: tuple[Triple, ...]) -> tuple[Triple, ...]:
        """What follows of a graph; of graphs that differ in names of their own only it is found out once."""
        if self._aliases or self._program.form.unsupported or any(name == SAME_AS for _, name, _ in graph):
            return self._found_out(graph)
        shape, own = self._shapes.of(graph)
        numbered = self._of_shapes.get(shape)
        if numbered is None:
            if len(self._of_shapes) >= _MOST_SHAPES:
                self._of_shapes.clear()
            numbers = {term: number for number, term in enumerate(own)}
            triples = self._found_out(graph)
            numbered = tuple(
                (numbers.get(subject, subject), name, numbers.get(target, target)) for subject, name, target in triples
            )
            self._of_shapes[shape] = numbered
        return tuple(
            (
                own[subject] if isinstance(subject, int) else subject,
                name,
                own[target] if isinstance(target, int) else target,
            )
            for subject, name, target in numbered
        )

    def _found_out(self, graph: tuple[Triple, ...]) -> tuple[Triple, ...]:
        pairs = [(subject, target) for subject, name, target in graph if name == SAME_AS]
        aliases = _groups([*self._program.same.items(), *pairs]) if pairs else self._aliases
        return tuple(self._new(self._entailed(graph), {*graph, *self.background}, graph, aliases))

    def _entailed(self, graph: Sequence[Triple]) -> set[Atom]:
        facts = [
            (target, (subject,)) if name == RDF_TYPE else (name, (subject, target)) for subject, name, target in graph
        ]
        event = self._ladder.merged(self._signatures.event(_individuals(graph), facts))
        self._own = _spelled(event.facts)
        return self._of_event(event)

    def _of_event(self, event: EventFacts) -> set[Atom]:
        """What follows of an event besides what follows of the background."""
        ladder, model = self._ladder, self._ladder.least
        is_asked = bool(self._program.form.unsupported or event.equal)
        is_clean = ladder.is_clean(event)
        more = None if is_asked or is_clean else self._beside(event)
        # A model that has nothing more than what is stated decides alone.
        if more is not None and more <= _stated(event.facts):
            return more
        mark = model.mark()
        try:
            ladder.enter(model, event)
            if not model.close():
                return set()
            sure = self._least.since(mark[0])
            if is_clean and not is_asked:
                if not model.violations(mark[1]):
                    return sure
                more = self._of_model(self._least, mark)
        finally:
            model.undo(mark)
        more = self._possible(event) if more is None else more
        return sure | self._asked(event, more - sure - self._background)

    def _possible(self, event: EventFacts) -> set[Atom]:
        """All that could be entailed, where no model says that something is not; literals are not among it."""
        individuals = self._ladder.individuals_around(event)
        atoms: set[Atom] = {
            (individual, name, None) for individual in individuals for name in self._least.classes.values()
        }
        roles = self._program.looked_up & self._program.form.roles.keys()
        if len(individuals) ** 2 * len(roles) <= _MOST_ASKED:
            atoms.update(product(individuals, roles, individuals))
        else:
            self._undecided("no model was found of a large part of the background")
        return atoms

    def _of_model(self, names: _Names, mark: tuple[int, int]) -> set[Atom] | None:
        """What a model has that is found beside the least one; None where none is found."""
        return names.since(mark[0]) if find_model(names.model, (), mark[1]) is Outcome.MODEL else None

    def _beside(self, event: EventFacts) -> set[Atom] | None:
        """The atoms of a model that extends the repaired background by an event; None where there is none."""
        model = self._ladder.repaired
        mark = model.mark()
        try:
            self._ladder.enter(model, event)
            if not model.close() or not self._ladder.is_repaired(event):
                return None
            atoms = self._of_model(self._repaired, mark)
        finally:
            model.undo(mark)
        return (
            None if atoms is None else atoms | {atom for atom in self._doubtful if self._ladder.touches(event, atom[0])}
        )

    # The reasoner -----------------------------------------------------------------------------------------------------

    def _asked(self, event: EventFacts, atoms: Collection[Atom]) -> set[Atom]:
        """The atoms that the reasoner says are entailed."""
        if not atoms:
            return set()
        if self._ladder.reasoner == "none" or not hermit.is_installed() or len(atoms) > _MOST_ASKED:
            return self._undecided("rules do not decide it, and HermiT is not asked")
        wanted = sorted((atom for atom in atoms if self._triple(atom) is not None), key=repr)
        named = {individual for individual, *_ in wanted} | {
            target for _, name, target in wanted if name in self._program.form.roles
        }
        names = {
            individual: f"{OWN}node:{individual[2:]}>" if individual[0] == "_" else as_resource(individual)
            for individual in map(str, named)
        }
        question = [*self._ladder.question(event, names)]
        for number, (_, name, target) in enumerate(wanted):
            if target is not None:
                has = self._has(name, target, names)
                question.append(f"SubClassOf({has} {_ROLE}{number}>)")
        try:
            types = hermit.types(question, set(names.values()))
        except hermit.UndecidedError:
            return self._undecided("HermiT fails")
        if types is None:
            return set()
        classes = {
            number: name if target is None else f"{_ROLE}{number}>" for number, (_, name, target) in enumerate(wanted)
        }
        return {atom for number, atom in enumerate(wanted) if classes[number] in types[names[atom[0]]]}

    def _has(self, name: str, target: Hashable, names: Mapping[str, str]) -> str:
        if name in self._program.form.data:
            return f"DataHasValue({name} {self._literal(target)})"
        return f"ObjectHasValue({name} {names[str(target)]})"

    def _literal(self, target: Hashable) -> str | None:
        """How the event, or else the background, writes a value; one that only an axiom has is not looked up."""
        return self._own.get(target) or self._terms.get(target)

    def _undecided(self, reason: str) -> set[Atom]:
        self.undecided += 1
        self._reason = self._reason or reason
        return set()

    def summary(self) -> Iterator[Diagnostic]:
        """W811: where more may follow than was looked up."""
        if self.undecided:
            several = f"of {self.undecided} graphs" if self.undecided > 1 else "of a graph"
            message = f"more triples may follow {several} than clauses were looked up in: {self._reason}"
            help_ = "make what clauses ask for part of the class of the event, or state it"
            yield Diagnostic("W811", message, help=help_)

    # Triples ----------------------------------------------------------------------------------------------------------

    def _new(
        self,
        atoms: Collection[Atom],
        stated: Collection[Triple],
        graph: Sequence[Triple] = (),
        aliases: Mapping[str, Sequence[str]] | None = None,
    ) -> Iterator[Triple]:
        """Atoms as triples, and what is stated, under all names of equal individuals; without what is stated."""
        groups = self._aliases if aliases is None else aliases
        seen = set(stated)
        alike = self._alike(graph or stated, groups)
        for triple in (*(statement for atom in atoms if (statement := self._triple(atom)) is not None), *alike):
            for statement in _under_all_names(triple, groups):
                if statement not in seen:
                    seen.add(statement)
                    yield statement

    def _triple(self, atom: Atom) -> Triple | None:
        subject, name, target = atom
        if target is None:
            return subject, RDF_TYPE, name
        if name in self._program.form.data:
            literal = self._literal(target)
            return None if literal is None else (subject, name, literal)
        return subject, name, str(target)

    def _alike(self, stated: Iterable[Triple], groups: Mapping[str, Sequence[str]]) -> Iterator[Triple]:
        """What is stated of individuals that equal others, in the background as well where only this graph says so."""
        if groups:
            yield from (triple for triple in stated if triple[0] in groups or triple[2] in groups)
        if groups is not self._aliases:
            triples = (*self._program.triples, *self.background)
            yield from (triple for triple in triples if triple[0] in groups or triple[2] in groups)


class _Shapes:
    """Graphs without the names of their own: individuals and literals are numbered as they occur.

    Of a literal two things are left: which others it equals, and its cell, which no axiom can tell from others
    (`owl/dl/data_ranges.py`). One that equals a literal of the background stays as it is written.
    """

    def __init__(self, program: AbstractionProgram, background: Container[Hashable]) -> None:
        form = program.form
        self._fixed, self._classes, self._data = program.fixed, form.classes, form.data
        self._pairs = {*form.roles, *form.data, DIFFERENT_FROM}
        self._cell = program.cell
        self._background = background
        self._literals: dict[str, tuple[Hashable, Hashable]] = {}

    def of(self, graph: Sequence[Triple]) -> tuple[Hashable, list[str]]:
        """The shape of a graph, and what the numbers in it stand for."""
        numbers: dict[str, int] = {}
        values: dict[Hashable, int] = {}
        fixed = self._fixed

        def number(term: str) -> int:
            return numbers.setdefault(term, len(numbers))

        shape: list[Hashable] = []
        for individual, name, target in graph:
            subject = individual if individual in fixed else number(individual)
            if name == RDF_TYPE:
                shape.append((subject, target if target in self._classes else ""))
            elif is_literal(target):
                if name in self._data:
                    same, cell = self._literals.get(target) or self._literal(target)
                    shape.append((subject, name, number(target), values.setdefault(same, len(values)), cell))
                else:
                    shape.append((subject, ""))
            else:
                other = target if target in fixed else number(target)
                shape.append((subject, name if name in self._pairs else "", other))
        return tuple(shape), list(numbers)

    def _literal(self, literal: str) -> tuple[Hashable, Hashable]:
        """The value of a literal, and its cell."""
        content = value(literal)
        if len(self._literals) >= _MOST_SHAPES:
            self._literals.clear()
        entry = self._literals[literal] = content, literal if content in self._background else self._cell(literal)
        return entry


def _individuals(triples: Iterable[Triple]) -> tuple[str, ...]:
    """What triples are about, without those about classes and properties."""
    individuals: dict[str, None] = {}
    for subject, name, target in triples:
        about_one = not is_reserved(target) if name == RDF_TYPE else not is_reserved(name)
        if about_one or name in (SAME_AS, DIFFERENT_FROM):
            individuals[subject] = None
            if name != RDF_TYPE and not is_literal(target):
                individuals[target] = None
    return tuple(individuals)


def _groups(pairs: Iterable[tuple[str, str]]) -> dict[str, Sequence[str]]:
    """Each individual that equals others, with all of them.

    >>> _groups([("<a>", "<b>"), ("<c>", "<b>")])["<c>"]
    ['<b>', '<a>', '<c>']
    """
    groups: dict[str, list[str]] = {}
    for individual, other in pairs:
        first, second = groups.setdefault(other, [other]), groups.setdefault(individual, [individual])
        if first is not second:
            first += second
            groups |= dict.fromkeys(second, first)
    return dict(groups)


def _under_all_names(triple: Triple, groups: Mapping[str, Sequence[str]]) -> Iterator[Triple]:
    individual, name, target = triple
    for subject, other in product(groups.get(individual, (individual,)), groups.get(target, (target,))):
        yield subject, name, other


def _stated(facts: Facts) -> set[Atom]:
    classes = ((subject, of, None) for of, subject in facts.classes)
    edges = ((subject, role, other) for role, subject, other in facts.edges)
    return {*classes, *edges, *((subject, name, value(literal)) for name, subject, literal in facts.literals)}


def _spelled(facts: Facts) -> Mapping[Any, str]:
    """Values of literals, and how they are written."""
    return {value(literal): literal for _, _, literal in facts.literals}
