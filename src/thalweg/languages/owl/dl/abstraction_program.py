"""An ontology, its data and the classes asked for become a program that classifies events.

ontology      the axioms that can matter (`top_module`), as rules and guards (`clausify`), and as text for a reasoner
data          the facts whose names are among those of the axioms; equal individuals are one
classes       names, or expressions, each of which gets a name: `C` becomes `SubClassOf(C <urn:thalweg:asked:0>)`
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Final

from thalweg.languages.owl import axioms as ax
from thalweg.languages.owl import expressions as ex
from thalweg.languages.owl.axioms import Axiom, Ontology, within
from thalweg.languages.owl.dl.clausify import GrowingForm
from thalweg.languages.owl.dl.data_ranges import Ranges, cells, coerced, regions, value
from thalweg.languages.owl.dl.top_module import top_module
from thalweg.languages.owl.expressions import LITERAL, NOTHING, THING, UNIVERSAL, ClassExpression, DataRange
from thalweg.model.rdf import OWN
from thalweg.model.term import is_literal
from thalweg.model.vocabulary import Triple
from thalweg.solvers.dl.normal_form import FormGrowth, NormalForm

ASKED: Final = f"{OWN}asked:"
"""Begins the names of classes that were asked for as expressions."""


@dataclass(frozen=True, slots=True)
class TargetClass:
    """A class that events are classified by: how it is output, and its name among the axioms."""

    label: str
    name: str


@dataclass(frozen=True, slots=True)
class Facts:
    """Plain data: memberships, edges and literals, by name."""

    classes: tuple[tuple[str, str], ...] = ()
    edges: tuple[tuple[str, str, str], ...] = ()
    literals: tuple[tuple[str, str, str], ...] = ()

    @classmethod
    def of(cls, axioms: Iterable[Axiom], names: Container[str] | None = None) -> "Facts":
        """The assertions of plain data among axioms, of these names only where there are any."""
        classes, edges, literals = dict[Any, None](), dict[Any, None](), dict[Any, None]()
        for axiom in axioms:
            match axiom:
                case ax.ClassAssertion(str(of), subject) if names is None or of in names or of == NOTHING:
                    classes[of, subject] = None
                case ax.ObjectPropertyAssertion(ex.ObjectInverseOf(name), subject, other) if (
                    names is None or name in names
                ):
                    edges[name, other, subject] = None
                case ax.ObjectPropertyAssertion(str(name), subject, other) if names is None or name in names:
                    edges[name, subject, other] = None
                case ax.DataPropertyAssertion(str(name), subject, literal) if names is None or name in names:
                    literals[name, subject, literal] = None
        return cls(tuple(classes), tuple(edges), tuple(literals))

    def of_names(self, names: Container[str]) -> "Facts":
        """Those of some names, and what is said to be in the empty class."""
        return Facts(
            tuple(fact for fact in self.classes if fact[0] in names or fact[0] == NOTHING),
            tuple(fact for fact in self.edges if fact[0] in names),
            tuple(fact for fact in self.literals if fact[0] in names),
        )

    def renamed(self, name: Callable[[str], str]) -> "Facts":
        """The same with other names for the individuals, each fact once."""
        return Facts(
            tuple(dict.fromkeys((of, name(individual)) for of, individual in self.classes)),
            tuple(dict.fromkeys((role, name(individual), name(other)) for role, individual, other in self.edges)),
            tuple(
                dict.fromkeys((property, name(individual), literal) for property, individual, literal in self.literals)
            ),
        )

    def axioms(self) -> list[Axiom]:
        """The facts as assertions of OWL."""
        return [
            *(ax.ClassAssertion(of, individual) for of, individual in self.classes),
            *(ax.ObjectPropertyAssertion(role, subject, other) for role, subject, other in self.edges),
            *(ax.DataPropertyAssertion(name, subject, literal) for name, subject, literal in self.literals),
        ]


@dataclass(frozen=True)
class AbstractionProgram:
    """Everything that the classification of events needs.

    `chosen`: the classes were asked for by name; else all are, and those that everything is in are left out. `reasoner`
    is asked where rules do not decide. `individuals` are those of an event that are classified: its `subjects`, or
    `all`. `same` has the individual that stands for several equal ones.
    `compares_values`: it matters that two literals are equal. `cuts`: data that is not connected to an event cannot
    matter to it. `triples` are all those of the documents and of the background.
    """

    name: str
    asked: tuple[TargetClass, ...]
    axioms: tuple[Axiom, ...]
    form: NormalForm = field(repr=False)
    background: Facts = field(repr=False)
    same: Mapping[str, str]
    ranges: Ranges = field(repr=False)
    reasoner: str = "auto"
    individuals: str = "subjects"
    chosen: bool = True
    triples: tuple[Triple, ...] = field(default=(), repr=False)
    looked_up: frozenset[str] = frozenset()
    """The classes and properties whose assertions are looked up; `lookup` is the program that they follow by."""
    lookup: "AbstractionProgram | None" = field(default=None, repr=False)
    profile: str | None = None
    """The profile whose axioms are used, where these are not all."""

    def taken_apart(self) -> tuple[Any, ...]:
        """The fields without the tests of ranges, which are functions: another process makes them again."""
        bare = replace(self.form, ranges=[], region=None)
        return tuple(
            bare if part is self.form else part
            for part in (getattr(self, attribute.name) for attribute in fields(self))
        )

    @classmethod
    def put_together(cls, *parts: Any) -> "AbstractionProgram":
        """The program that was taken apart."""
        program = cls(*parts)
        program.form.ranges = program.ranges.tests
        program.form.region = regions(program.ranges)
        return program

    @cached_property
    def cuts(self) -> bool:
        parts = [part for axiom in self.axioms for part in within(axiom)]
        kinds = (ex.ObjectOneOf, ex.ObjectHasValue, ax.HasKey)
        return not any(isinstance(part, kinds) or (isinstance(part, str) and part in UNIVERSAL) for part in parts)

    @cached_property
    def compares_values(self) -> bool:
        form = self.form
        several = (limit for limit in form.data_at_least if limit.number > 1)
        return bool(form.data_at_most or form.disjoint_data or form.absent_data or any(several) or form.unsupported)

    @cached_property
    def has_keys(self) -> bool:
        return any(isinstance(axiom, ax.HasKey) for axiom in self.axioms)

    @cached_property
    def fixed(self) -> frozenset[str]:
        """The individuals that an event may mention and that are not its own."""
        data = self.background
        individuals = {individual for _, individual in data.classes} | {
            individual for _, *pair in data.edges for individual in pair
        }
        individuals |= {individual for _, individual, _ in data.literals}
        return frozenset(individuals | self.named | set(self.same))

    @cached_property
    def named(self) -> frozenset[str]:
        """The individuals that axioms name."""
        return frozenset(individual for axiom in self.axioms for individual in _individuals(axiom))

    @cached_property
    def cell(self) -> Callable[[str], object]:
        """The cell of a literal: no axiom tells two literals of one cell apart, except by their being equal."""
        values = {value(literal) for _, _, literal in self.background.literals} if self.compares_values else set()
        values |= {absent for _, _, absent in self.form.absent_data}
        return cells(self.ranges, values)


def compile_abstraction(
    name: str,
    ontology: Ontology,
    classes: Sequence[tuple[str, ClassExpression]] | None = None,
    properties: Iterable[str] = (),
) -> AbstractionProgram:
    """The program for classes with their labels; without any, for all named classes of the ontology.

    With `properties`, what follows of these can be looked up as well.

    >>> graph = Ontology((ax.SubClassOf("<B>", "<A>"), ax.SubClassOf("<A>", "<C>"), ax.ClassAssertion("<B>", "<x>")))
    >>> program = compile_abstraction("x", graph, [("<A>", "<A>")])
    >>> [ax.show(axiom) for axiom in program.axioms], program.background.classes
    (['SubClassOf(<B> <A>)'], (('<B>', '<x>'),))
    """
    prepared = PreparedOntology(ontology)
    asked = classes if classes is not None else _all_classes(ontology, prepared.schema)
    return prepared.program(name, asked, properties)


class PreparedOntology:
    """An ontology, ready to be compiled for one set of classes after the other."""

    def __init__(self, ontology: Ontology) -> None:
        self._same = same = _representatives(ontology.axioms)
        axioms = [
            coerced(_renamed(axiom, same)) for axiom in ontology.axioms if not isinstance(axiom, ax.SameIndividual)
        ]
        self._facts = Facts.of(axioms)
        self.schema = [axiom for unsplit in axioms if not _is_fact(unsplit) for axiom in _split(unsplit)]
        self._definition_of = {
            axiom.datatype: axiom.range for axiom in self.schema if isinstance(axiom, ax.DatatypeDefinition)
        }

    def program(
        self, name: str, classes: Sequence[tuple[str, ClassExpression]], properties: Iterable[str] = ()
    ) -> AbstractionProgram:
        """The program for classes with their labels, and perhaps for properties."""
        return self.growing(name, classes, properties).program

    def growing(
        self, name: str, classes: Sequence[tuple[str, ClassExpression]], properties: Iterable[str] = ()
    ) -> "GrowingProgram":
        """The same, as one to which classes can be added."""
        named, definitions = _named(classes)
        ranges = Ranges(self._definition_of)
        wanted = [*(target.name for target in named), *properties]
        inhabits = inhabited(self._definition_of, self.schema)
        module, names = top_module([*self.schema, *definitions], wanted, inhabits)
        growing = GrowingForm(module, ranges, [target.name for target in named])
        facts = self._facts.of_names(names)
        program = AbstractionProgram(name, named, tuple(module), growing.form, facts, self._same, ranges)
        return GrowingProgram(program, growing)


class GrowingProgram:
    """A program to which classes are added, as long as these are about names that matter to it anyway."""

    def __init__(self, program: AbstractionProgram, form: GrowingForm) -> None:
        self.program = program
        self._form = form

    def add(self, label: str, expression: ClassExpression) -> FormGrowth | None:
        """Adds a class; what the normal form has grown by. None where the program must be made anew."""
        before = self.program
        expression = coerced(expression)
        values = [part for part in within(expression) if isinstance(part, ex.ObjectHasValue)]
        is_near = all(value.individual in before.fixed for value in values) and not (values and before.cuts)
        if not is_near or not self._form.takes(expression):
            return None
        name = f"{ASKED}{len(before.asked)}>"
        growth = self._form.define(name, expression)
        asked, axioms = (*before.asked, TargetClass(label, name)), (*before.axioms, ax.SubClassOf(expression, name))
        self.program = replace(before, asked=asked, axioms=axioms)
        # What does not change with it is not found out again.
        for attribute in ("cuts", "compares_values", "has_keys", "fixed", "named"):
            vars(self.program)[attribute] = getattr(before, attribute)
        return growth


def _all_classes(ontology: Ontology, schema: Iterable[Axiom]) -> list[tuple[str, ClassExpression]]:
    """Every named class: those that are declared, and those that axioms or data name."""
    names = {declaration.name for declaration in ontology.declarations if declaration.kind == "Class"}
    names |= {axiom.of for axiom in ontology.axioms if isinstance(axiom, ax.ClassAssertion) and _is_name(axiom.of)}  # type: ignore[misc]
    for axiom in schema:
        names |= set(_classes(axiom))
    return [(name, name) for name in sorted(names - {THING, NOTHING})]


def _classes(node: Any) -> Iterable[str]:
    """The named classes in a construct."""
    match node:
        case ax.SubClassOf(sub, other):
            return {*_classes_in(sub), *_classes_in(other)}
        case ax.ClassesAxiom(classes):
            return {name for operand in classes for name in _classes_in(operand)}
        case ax.PropertyDomain(_, expression) | ax.ObjectPropertyRange(_, expression):
            return _classes_in(expression)
        case ax.ClassAssertion(expression, _) | ax.HasKey(expression, _, _):
            return _classes_in(expression)
    return ()


def _classes_in(expression: Any) -> set[str]:
    match expression:
        case str():
            return {expression}
        case ex.ObjectClasses(classes):
            return {name for operand in classes for name in _classes_in(operand)}
        case ex.ObjectComplementOf(negated):
            return _classes_in(negated)
        case ex.ObjectQuantifier(_, filler) | ex.ObjectCardinality(_, _, filler):
            return _classes_in(filler)
    return set()


def _named(classes: Sequence[tuple[str, ClassExpression]]) -> tuple[tuple[TargetClass, ...], list[Axiom]]:
    """The classes asked for, and axioms that give those without a name one."""
    targets, definitions = list[TargetClass](), list[Axiom]()
    taken: set[ClassExpression] = {THING, NOTHING}
    for number, (label, expression) in enumerate(classes):
        if isinstance(expression, str) and expression not in taken:
            taken.add(expression)
            targets.append(TargetClass(label, expression))
        else:
            name = f"{ASKED}{number}>"
            targets.append(TargetClass(label, name))
            definitions.append(ax.SubClassOf(coerced(expression), name))
    return tuple(targets), definitions


def _split(axiom: Axiom) -> list[Axiom]:
    """A disjoint union as an equivalence and a disjointness; any other axiom alone."""
    if isinstance(axiom, ax.DisjointUnion):
        union = ax.EquivalentClasses((axiom.name, ex.ObjectUnionOf(axiom.classes)))
        return [union, ax.DisjointClasses(axiom.classes)] if len(axiom.classes) > 1 else [union]
    return [axiom]


def inhabited(definitions: Mapping[str, DataRange], schema: Iterable[Axiom]) -> Callable[[DataRange], bool]:
    """Whether some value is known to be in a range."""
    ranges = Ranges(definitions)
    for axiom in schema:
        for part in within(axiom):
            if isinstance(part, ex.DataRanges | ex.DataOneOf | ex.DatatypeRestriction | ex.DataComplementOf):
                ranges.number(part)
    samples = ranges.samples()
    return lambda data_range: (
        data_range == LITERAL or (not ranges.unreadable and any(map(ranges.test(data_range), samples)))
    )


def _is_name(node: object) -> bool:
    return isinstance(node, str) and node[0] == "<"


def _is_fact(axiom: Axiom) -> bool:
    match axiom:
        case ax.ClassAssertion(of, _):
            return _is_name(of)
        case ax.ObjectPropertyAssertion() | ax.DataPropertyAssertion():
            return True
    return False


def _representatives(axioms: Iterable[Axiom]) -> dict[str, str]:
    """For each individual that is said to equal others, the one that stands for all of them."""
    parent: dict[str, str] = {}

    def find(individual: str) -> str:
        while parent.setdefault(individual, individual) != individual:
            individual = parent[individual]
        return individual

    for axiom in axioms:
        if isinstance(axiom, ax.SameIndividual):
            for other in axiom.individuals[1:]:
                first, second = sorted((find(axiom.individuals[0]), find(other)))
                parent[second] = first
    return {individual: find(individual) for individual in parent}


def _renamed(node: Any, same: Mapping[str, str]) -> Any:
    """A construct with one individual for all that are equal."""
    if not same:
        return node
    if isinstance(node, str):
        return same.get(node, node)
    if isinstance(node, tuple):
        return tuple(_renamed(part, same) for part in node)
    names: tuple[str, ...] = getattr(node, "__match_args__", ())
    return type(node)(*(_renamed(getattr(node, name), same) for name in names)) if names else node


def _individuals(node: Any) -> Iterable[str]:
    """The individuals that an axiom names."""
    for part in within(node):
        match part:
            case ex.ObjectOneOf(individuals) | ax.IndividualsAxiom(individuals):
                yield from individuals
            case ex.ObjectHasValue(_, individual) | ax.ClassAssertion(_, individual):
                yield individual
            case ax.PropertyAssertion(_, subject, object_):
                yield subject
                if not is_literal(object_):
                    yield object_
