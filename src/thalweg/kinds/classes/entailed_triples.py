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
from thalweg.kinds.classes.ladder import EventFacts, Ladder
from thalweg.kinds.classes.signatures import Signatures
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
            self.owners |= {id(some): (name, one) for one, some in table.items() if isinstance(one, str)}

    def all(self) -> set[Atom]:
        """All atoms of individuals with a name."""
        found: set[Atom] = set()
        for name, table in self.tables.values():
            for one, some in table.items():
                if isinstance(one, str):
                    found.update(self._atoms(name, one, some))
        return found

    def since(self, mark: int) -> set[Atom]:
        """The atoms that came since a mark."""
        new: dict[int, tuple[str, str]] = {}
        found: set[Atom] = set()
        for container, item in self.model.trail(mark):
            if type(container) is dict:
                if id(container) in self.tables and isinstance(item, str):
                    new[id(container[item])] = self.tables[id(container)][0], item
            elif owner := new.get(id(container)) or self.owners.get(id(container)):
                found.update(self._atoms(*owner, (item,)))
        return found

    def _atoms(self, name: str, one: str, some: Iterable[Any]) -> Iterator[Atom]:
        for item in some:
            if not name:
                if item in self.classes:
                    yield one, self.classes[item], None
            elif name in self.program.form.data or isinstance(item, str):
                yield one, name, item


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
        sure |= self._asked(EventFacts(tuple({one for one, *_ in self._doubtful}), Facts()), self._doubtful)
        for one in self._ladder.doubtful():
            if one in program.fixed:
                alone = EventFacts((one,), Facts())
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
        found = self._of_event(EventFacts((_ANY,), Facts()))
        known = self._ladder.least.types
        others = (one for one in _individuals(self._program.triples) if one not in known) if found else ()
        for one in others:
            yield from ((one, name, one if thing == _ANY else thing) for any_, name, thing in found if any_ == _ANY)

    def of(self, graph: Sequence[Triple]) -> tuple[Triple, ...]:
        """The triples that follow of a graph and the background together, and that neither states.

        Nothing more follows of a graph that contradicts the ontology.
        """
        key = tuple(graph)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            self._known[key] = found = self._of_shape(key)
        return found

    def _of_shape(self, graph: tuple[Triple, ...]) -> tuple[Triple, ...]:
        """What follows of a graph; of graphs that differ in names of their own only it is found out once."""
        if self._aliases or self._program.form.unsupported or any(name == SAME_AS for _, name, _ in graph):
            return self._found_out(graph)
        shape, own = self._shapes.of(graph)
        made = self._of_shapes.get(shape)
        if made is None:
            if len(self._of_shapes) >= _MOST_SHAPES:
                self._of_shapes.clear()
            numbers = {term: number for number, term in enumerate(own)}
            triples = self._found_out(graph)
            made = tuple((numbers.get(one, one), name, numbers.get(thing, thing)) for one, name, thing in triples)
            self._of_shapes[shape] = made
        return tuple(
            (own[one] if isinstance(one, int) else one, name, own[thing] if isinstance(thing, int) else thing)
            for one, name, thing in made
        )

    def _found_out(self, graph: tuple[Triple, ...]) -> tuple[Triple, ...]:
        pairs = [(one, thing) for one, name, thing in graph if name == SAME_AS]
        aliases = _groups([*self._program.same.items(), *pairs]) if pairs else self._aliases
        return tuple(self._new(self._entailed(graph), {*graph, *self.background}, graph, aliases))

    def _entailed(self, graph: Sequence[Triple]) -> set[Atom]:
        given = [(thing, (one,)) if name == RDF_TYPE else (name, (one, thing)) for one, name, thing in graph]
        event = self._ladder.merged(self._signatures.event(_individuals(graph), given))
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
        found: set[Atom] = {(one, name, None) for one in individuals for name in self._least.classes.values()}
        roles = self._program.looked_up & self._program.form.roles.keys()
        if len(individuals) ** 2 * len(roles) <= _MOST_ASKED:
            found.update(product(individuals, roles, individuals))
        else:
            self._undecided("no model was found of a large part of the background")
        return found

    def _of_model(self, names: _Names, mark: tuple[int, int]) -> set[Atom] | None:
        """What a model has that is found beside the least one; None where none is found."""
        return names.since(mark[0]) if find_model(names.model, (), mark[1]) is Outcome.MODEL else None

    def _beside(self, event: EventFacts) -> set[Atom] | None:
        """The same, on top of a model of the background."""
        model = self._ladder.repaired
        mark = model.mark()
        try:
            self._ladder.enter(model, event)
            if not model.close() or not self._ladder.is_repaired(event):
                return None
            found = self._of_model(self._repaired, mark)
        finally:
            model.undo(mark)
        return None if found is None else found | {one for one in self._doubtful if self._ladder.touches(event, one[0])}

    # The reasoner -----------------------------------------------------------------------------------------------------

    def _asked(self, event: EventFacts, atoms: Collection[Atom]) -> set[Atom]:
        """Those of some atoms that the reasoner says are entailed."""
        if not atoms:
            return set()
        if self._ladder.reasoner == "none" or not hermit.is_installed() or len(atoms) > _MOST_ASKED:
            return self._undecided("rules do not decide it, and HermiT is not asked")
        wanted = sorted((one for one in atoms if self._triple(one) is not None), key=repr)
        named = {one for one, *_ in wanted} | {thing for _, name, thing in wanted if name in self._program.form.roles}
        names = {one: f"{OWN}node:{one[2:]}>" if one[0] == "_" else as_resource(one) for one in map(str, named)}
        question = [*self._ladder.question(event, names)]
        for number, (_, name, thing) in enumerate(wanted):
            if thing is not None:
                has = self._has(name, thing, names)
                question.append(f"SubClassOf({has} {_ROLE}{number}>)")
        try:
            found = hermit.types(question, set(names.values()))
        except hermit.UndecidedError:
            return self._undecided("HermiT fails")
        if found is None:
            return set()
        classes = {
            number: name if thing is None else f"{_ROLE}{number}>" for number, (_, name, thing) in enumerate(wanted)
        }
        return {atom for number, atom in enumerate(wanted) if classes[number] in found[names[atom[0]]]}

    def _has(self, name: str, thing: Hashable, names: Mapping[str, str]) -> str:
        if name in self._program.form.data:
            return f"DataHasValue({name} {self._literal(thing)})"
        return f"ObjectHasValue({name} {names[str(thing)]})"

    def _literal(self, found: Hashable) -> str | None:
        """How the event, or else the background, writes a value; one that only an axiom has is not looked up."""
        return self._own.get(found) or self._terms.get(found)

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
        known = set(stated)
        alike = self._alike(graph or stated, groups)
        for triple in (*(one for atom in atoms if (one := self._triple(atom)) is not None), *alike):
            for one in _under_all_names(triple, groups):
                if one not in known:
                    known.add(one)
                    yield one

    def _triple(self, atom: Atom) -> Triple | None:
        one, name, thing = atom
        if thing is None:
            return one, RDF_TYPE, name
        if name in self._program.form.data:
            literal = self._literal(thing)
            return None if literal is None else (one, name, literal)
        return one, name, str(thing)

    def _alike(self, stated: Iterable[Triple], groups: Mapping[str, Sequence[str]]) -> Iterator[Triple]:
        """What is stated of individuals that equal others, in the background as well where only this graph says so."""
        if groups:
            yield from (one for one in stated if one[0] in groups or one[2] in groups)
        if groups is not self._aliases:
            triples = (*self._program.triples, *self.background)
            yield from (one for one in triples if one[0] in groups or one[2] in groups)


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
        for one, name, thing in graph:
            subject = one if one in fixed else number(one)
            if name == RDF_TYPE:
                shape.append((subject, thing if thing in self._classes else ""))
            elif is_literal(thing):
                if name in self._data:
                    same, cell = self._literals.get(thing) or self._literal(thing)
                    shape.append((subject, name, number(thing), values.setdefault(same, len(values)), cell))
                else:
                    shape.append((subject, ""))
            else:
                other = thing if thing in fixed else number(thing)
                shape.append((subject, name if name in self._pairs else "", other))
        return tuple(shape), list(numbers)

    def _literal(self, literal: str) -> tuple[Hashable, Hashable]:
        """The value of a literal, and its cell."""
        known = value(literal)
        if len(self._literals) >= _MOST_SHAPES:
            self._literals.clear()
        found = self._literals[literal] = known, literal if known in self._background else self._cell(literal)
        return found


def _individuals(triples: Iterable[Triple]) -> tuple[str, ...]:
    """What triples are about, without those about classes and properties."""
    found: dict[str, None] = {}
    for one, name, thing in triples:
        about_one = not is_reserved(thing) if name == RDF_TYPE else not is_reserved(name)
        if about_one or name in (SAME_AS, DIFFERENT_FROM):
            found[one] = None
            if name != RDF_TYPE and not is_literal(thing):
                found[thing] = None
    return tuple(found)


def _groups(pairs: Iterable[tuple[str, str]]) -> dict[str, Sequence[str]]:
    """Each individual that equals others, with all of them.

    >>> _groups([("<a>", "<b>"), ("<c>", "<b>")])["<c>"]
    ['<b>', '<a>', '<c>']
    """
    groups: dict[str, list[str]] = {}
    for one, other in pairs:
        first, second = groups.setdefault(other, [other]), groups.setdefault(one, [one])
        if first is not second:
            first += second
            groups |= dict.fromkeys(second, first)
    return dict(groups)


def _under_all_names(triple: Triple, groups: Mapping[str, Sequence[str]]) -> Iterator[Triple]:
    one, name, thing = triple
    for subject, other in product(groups.get(one, (one,)), groups.get(thing, (thing,))):
        yield subject, name, other


def _stated(facts: Facts) -> set[Atom]:
    classes = ((one, of, None) for of, one in facts.classes)
    edges = ((one, role, other) for role, one, other in facts.edges)
    return {*classes, *edges, *((one, name, value(literal)) for name, one, literal in facts.literals)}


def _spelled(facts: Facts) -> Mapping[Any, str]:
    """Values of literals, and how they are written."""
    return {value(literal): literal for _, _, literal in facts.literals}
