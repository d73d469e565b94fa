"""DL-Lite_R: what OWL 2 QL says, in a few shapes.

    SubClassOf(A ObjectSomeValuesFrom(r B))     becomes     A ⊑ ∃r'B    r'B ⊑ r    ∃(r'B)⁻ ⊑ B
    ObjectPropertyRange(r C)                    becomes     ∃r⁻ ⊑ C
    DisjointClasses(A B C)                      becomes     a group of which nothing is in two
    InverseObjectProperties(r s)                becomes     r ⊑ s⁻    s ⊑ r⁻

A basic concept is a name or ∃r, a role a property or its inverse; inclusions have one of them on each side. That is
why everything follows along single paths: an individual is in a concept when a path of inclusions leads there from
something that is said of it. `r'B` is a role that only individuals without a name stand in. What can go wrong is not
there: with a conjunction on the left, or a filler, paths meet, and this page would be wrong.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations, permutations
from typing import Generic, NamedTuple, TypeVar

from thalweg.languages.owl import axioms as ax
from thalweg.languages.owl import expressions as ex
from thalweg.languages.owl.axioms import Axiom, Declaration, show
from thalweg.languages.owl.expressions import ClassExpression, ObjectProperty
from thalweg.languages.owl.kinds import DATA, OBJECT
from thalweg.model.fact import Fact


class Role(NamedTuple):
    """A property, or the inverse of one. A fresh one stands for a property and the class of its values."""

    name: str
    inverse: bool = False
    fresh: bool = False

    def flipped(self) -> "Role":
        """The inverse role."""
        return Role(self.name, not self.inverse, self.fresh)


class Existential(NamedTuple):
    """∃role: whatever has a value."""

    role: Role


Basic = str | Existential


T = TypeVar("T", Basic, Role)


@dataclass(frozen=True, slots=True)
class Inclusion(Generic[T]):
    """`sub` ⊑ `sup` for concepts or for roles, and the number of the axiom that says so."""

    sub: T
    sup: T
    axiom: int


@dataclass(frozen=True, slots=True)
class Disjoint(Generic[T]):
    """Nothing, or no pair, is in two of the members. A concept that nothing is in stands here twice."""

    members: tuple[T, ...]
    axiom: int


@dataclass(slots=True)
class TBox:
    """An ontology in these shapes; `skipped` has what does not fit in, and why."""

    axioms: list[Axiom] = field(default_factory=list)
    inclusions: list[Inclusion[Basic]] = field(default_factory=list)
    role_inclusions: list[Inclusion[Role]] = field(default_factory=list)
    disjoint: list[Disjoint[Basic]] = field(default_factory=list)
    disjoint_roles: list[Disjoint[Role]] = field(default_factory=list)
    reflexive: list[tuple[Role, int]] = field(default_factory=list)
    irreflexive: list[tuple[Role, int]] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    data_properties: set[str] = field(default_factory=set)
    skipped: list[tuple[Axiom, str]] = field(default_factory=list)
    declared: list[Declaration] = field(default_factory=list)

    def basics(self) -> list[Basic]:
        """The concepts on both sides of inclusions, and in disjointnesses."""
        sides = [basic for inclusion in self.inclusions for basic in (inclusion.sub, inclusion.sup)]
        return [*sides, *(basic for group in self.disjoint for basic in group.members)]

    def classes(self) -> dict[str, None]:
        """The named classes, each once."""
        asserted = [fact.predicate for fact in self.facts if len(fact.terms) == 1]
        named = [basic for basic in self.basics() if isinstance(basic, str)]
        declared = [declaration.name for declaration in self.declared if declaration.kind == "Class"]
        return dict.fromkeys(name for name in (*named, *asserted, *declared) if name not in (ex.THING, ex.NOTHING))

    def properties(self) -> dict[str, None]:
        """The named properties, each once."""
        roles = [basic.role for basic in self.basics() if isinstance(basic, Existential)]
        roles += [role for inclusion in self.role_inclusions for role in (inclusion.sub, inclusion.sup)]
        roles += [role for group in self.disjoint_roles for role in group.members]
        roles += [role for role, _ in (*self.reflexive, *self.irreflexive)]
        asserted = [fact.predicate for fact in self.facts if len(fact.terms) == 2]
        declared = [declaration.name for declaration in self.declared if declaration.kind in (OBJECT, DATA)]
        return dict.fromkeys([*(role.name for role in roles if not role.fresh), *asserted, *declared])


class _UnsupportedError(Exception):
    """An axiom, or a part of it, does not fit in."""


_UNCHECKED = "literals are not checked against data ranges"
_TWICE = "it contradicts itself"


def normal_form(axioms: Iterable[Axiom], declarations: Iterable[Declaration] = ()) -> TBox:
    """An ontology in the shapes of DL-Lite_R.

    >>> tbox = normal_form([ax.ObjectPropertyRange("<r>", "<C>")])
    >>> tbox.inclusions == [Inclusion(Existential(Role("<r>", inverse=True)), "<C>", 0)]
    True
    """
    declared = list(declarations)
    data = {declaration.name for declaration in declared if declaration.kind == DATA}
    reader = _Normaliser(TBox(declared=declared, data_properties=data))
    for axiom in axioms:
        reader.read(axiom)
    return reader.tbox


class _Normaliser:
    """Takes axioms one by one. What an axiom says in part is kept, and the axiom is skipped all the same."""

    def __init__(self, tbox: TBox) -> None:
        self.tbox = tbox
        self.numbers: dict[str, int] = {}

    def read(self, axiom: Axiom) -> None:
        self.tbox.axioms.append(axiom)
        self.number = len(self.tbox.axioms) - 1
        try:
            self.dispatch(axiom)
        except _UnsupportedError as reason:
            self.tbox.skipped.append((axiom, str(reason)))

    def dispatch(self, axiom: Axiom) -> None:
        match axiom:
            case ax.SubClassOf(sub, sup):
                self.include(sub, sup)
            case ax.EquivalentClasses(classes):
                self.all_of(partial(self.include, sub, sup) for sub, sup in permutations(classes, 2))
            case ax.DisjointClasses(classes):
                self.disjoint([list(self.left(member)) for member in classes])
            case ax.PropertyDomain(name, expression):
                self.note_data(axiom, (name,))
                self.right(Existential(self.role(name)), expression)
            case ax.ObjectPropertyRange(name, expression):
                self.right(Existential(self.role(name).flipped()), expression)
            case ax.SubObjectPropertyOf() | ax.SubDataPropertyOf() | ax.PropertiesAxiom():
                self.properties(axiom)
            case ax.InverseObjectProperties(first, second):
                self.subrole(self.role(first), self.role(second).flipped())
                self.subrole(self.role(second), self.role(first).flipped())
            case ax.Characteristic():
                self.characteristic(axiom)
            case ax.ClassAssertion(str(name), individual):
                self.tbox.facts.append(Fact(name, (individual,)))
            case ax.ObjectPropertyAssertion(name, subject, value) | ax.DataPropertyAssertion(name, subject, value):
                self.note_data(axiom, (name,))
                role = self.role(name)
                self.tbox.facts.append(Fact(role.name, (value, subject) if role.inverse else (subject, value)))
            case ax.DifferentIndividuals(individuals):
                if len(set(individuals)) < len(individuals):
                    raise _UnsupportedError(_TWICE)
            case ax.DataPropertyRange(_, ex.LITERAL):
                pass
            case ax.DataPropertyRange() | ax.DatatypeDefinition():
                raise _UnsupportedError(_UNCHECKED)
            case _:
                raise _UnsupportedError(f"`{type(axiom).__name__}` is not supported here")

    def properties(self, axiom: Axiom) -> None:
        match axiom:
            case ax.SubObjectPropertyOf(sub, sup) | ax.SubDataPropertyOf(sub, sup):
                if isinstance(sub, ex.ObjectPropertyChain):
                    raise _UnsupportedError("a property chain is not supported here")
                self.note_data(axiom, (sub, sup))
                if sub not in ex.EMPTY and sup not in ex.UNIVERSAL:
                    self.subrole(self.role(sub), self.role(sup))
            case ax.EquivalentObjectProperties(names) | ax.EquivalentDataProperties(names):
                self.note_data(axiom, names)
                for first, second in permutations(map(self.role, names), 2):
                    self.subrole(first, second)
            case ax.DisjointObjectProperties(names) | ax.DisjointDataProperties(names):
                self.note_data(axiom, names)
                self.tbox.disjoint_roles.append(Disjoint(tuple(map(self.role, names)), self.number))

    def characteristic(self, axiom: ax.Characteristic) -> None:
        role = self.role(axiom.property)
        match axiom:
            case ax.SymmetricObjectProperty():
                self.subrole(role, role.flipped())
            case ax.AsymmetricObjectProperty():
                self.tbox.disjoint_roles.append(Disjoint((role, role.flipped()), self.number))
            case ax.ReflexiveObjectProperty():
                self.tbox.reflexive.append((role, self.number))
            case ax.IrreflexiveObjectProperty():
                self.tbox.irreflexive.append((role, self.number))
            case _:
                raise _UnsupportedError(f"`{type(axiom).__name__}` is not supported here")

    def note_data(self, axiom: Axiom, names: Iterable[object]) -> None:
        if "Data" in type(axiom).__name__:
            self.tbox.data_properties.update(name for name in names if isinstance(name, str))

    def role(self, name: ObjectProperty) -> Role:
        if isinstance(name, ex.ObjectInverseOf):
            return self.role(name.property).flipped()
        if name in ex.UNIVERSAL | ex.EMPTY:
            raise _UnsupportedError("a property that is built in is not supported here")
        return Role(name)

    def subrole(self, sub: Role, sup: Role) -> None:
        self.tbox.role_inclusions.append(Inclusion(sub, sup, self.number))

    def include(self, sub: ClassExpression, sup: ClassExpression) -> None:
        for basic in self.left(sub):
            self.right(basic, sup)

    def all_of(self, steps: Iterable[Callable[[], None]]) -> None:
        """Every step that fits in, and then the first reason why another does not."""
        reasons: list[_UnsupportedError] = []
        for step in steps:
            try:
                step()
            except _UnsupportedError as reason:
                reasons.append(reason)
        if reasons:
            raise reasons[0]

    def disjoint(self, members: list[list[Basic]]) -> None:
        if all(len(basics) == 1 for basics in members):
            self.tbox.disjoint.append(Disjoint(tuple(basics[0] for basics in members), self.number))
            return
        for left, other in combinations(members, 2):
            self.tbox.disjoint += [Disjoint((first, second), self.number) for first in left for second in other]

    def left(self, expression: ClassExpression) -> Iterator[Basic]:
        """The basic concepts that a class on the left is the union of."""
        match expression:
            case ex.NOTHING | ex.ObjectSomeValuesFrom(_, ex.NOTHING):
                return
            case str():
                yield expression
            case ex.ObjectUnionOf(classes):
                for operand in classes:
                    yield from self.left(operand)
            case ex.ObjectSomeValuesFrom(name, ex.THING) | ex.ObjectMinCardinality(1, name, None):
                yield Existential(self.role(name))
            case ex.DataSomeValuesFrom(name, ex.LITERAL) | ex.DataMinCardinality(1, name, None):
                self.tbox.data_properties.add(name)
                yield Existential(self.role(name))
            case ex.DataSomeValuesFrom():
                raise _UnsupportedError(_UNCHECKED)
            case _:
                raise _UnsupportedError(f"`{type(expression).__name__}` on the left is not supported here")

    def right(self, sub: Basic, expression: ClassExpression) -> None:
        """`sub` ⊑ `expression`."""
        match expression:
            case ex.THING:
                return
            case ex.NOTHING | ex.ObjectSomeValuesFrom(_, ex.NOTHING):
                self.tbox.disjoint.append(Disjoint((sub, sub), self.number))
            case str():
                self.tbox.inclusions.append(Inclusion(sub, expression, self.number))
            case ex.ObjectIntersectionOf(classes):
                self.all_of(partial(self.right, sub, part) for part in classes)
            case ex.ObjectComplementOf(negated):
                self.tbox.disjoint += [Disjoint((sub, basic), self.number) for basic in self.left(negated)]
            case ex.ObjectSomeValuesFrom(name, filler) | ex.ObjectMinCardinality(1, name, filler):
                self.exists(sub, self.role(name), ex.THING if filler is None else filler)
            case ex.DataSomeValuesFrom(name) | ex.DataMinCardinality(1, name):
                self.tbox.data_properties.add(name)
                self.exists(sub, self.role(name), ex.THING)
            case _:
                raise _UnsupportedError(f"`{type(expression).__name__}` on the right is not supported here")

    def exists(self, sub: Basic, role: Role, filler: ClassExpression) -> None:
        """`sub` ⊑ ∃`role`.`filler`, by way of a role of its own where there is a filler."""
        if filler == ex.THING:
            self.tbox.inclusions.append(Inclusion(sub, Existential(role), self.number))
            return
        # A class without a name gets a number: a predicate is one word.
        number = self.numbers.setdefault(show(filler), len(self.numbers) + 1)
        value = filler if isinstance(filler, str) else str(number)
        fresh = Role(f"{'inverse' if role.inverse else ''}{role.name}'{value}", fresh=True)
        self.tbox.inclusions.append(Inclusion(sub, Existential(fresh), self.number))
        self.subrole(fresh, role)
        self.right(Existential(fresh.flipped()), filler)
