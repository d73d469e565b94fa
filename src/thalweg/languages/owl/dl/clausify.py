"""Axioms become rules and guards.

    SubClassOf(ObjectIntersectionOf(<A> ObjectSomeValuesFrom(<r> <B>)) <C>)

becomes

    SomeValues(r, B, F)  ClassClause((A, F), (C,))

with a class `F` that has no name. An expression on a left side gets a class that holds *at least* its members, one on
a right side a class that holds *at most* its members; so nothing is said but what the axiom says. What is forbidden on
the left is allowed on the right, and the other way round: a clause gathers both. The table is in
`solvers/dl/normal_form.py`.
"""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import combinations, pairwise, product
from typing import Final

from thalweg.languages.owl import axioms as ax
from thalweg.languages.owl import expressions as ex
from thalweg.languages.owl.axioms import Axiom, show
from thalweg.languages.owl.dl.data_ranges import Ranges, is_ordered, regions, value
from thalweg.languages.owl.expressions import EMPTY, LITERAL, NOTHING, THING, UNIVERSAL, ClassExpression, DataRange
from thalweg.model.vocabulary import OWL
from thalweg.solvers.dl.normal_form import (
    EVERYTHING,
    AtLeast,
    AtMost,
    ClassClause,
    DataAll,
    DataAtLeast,
    DataAtMost,
    DataSome,
    FormGrowth,
    NormalForm,
    OneOf,
    SomeValues,
)

Sides = tuple[tuple[int, ...], tuple[int, ...]]
"""The classes on the left of an arrow, and those on the right."""

_NEVER: Final[Sides] = ((), ())
_EMPTY_ROLE: Final = f"<{OWL}bottomObjectProperty>"


def clausify(axioms: Iterable[Axiom], ranges: Ranges, classes: Iterable[str] = ()) -> NormalForm:
    """The normal form of axioms; `classes` get a number although no axiom names them.

    >>> form = clausify([ax.SubClassOf(ex.ObjectSomeValuesFrom("<r>", "<B>"), "<A>")], Ranges())
    >>> form.some[-1].role == form.roles["<r>"], form.some[-1].filler == form.classes["<B>"], form.is_horn
    (True, True, True)
    """
    return GrowingForm(axioms, ranges, classes).form


class GrowingForm:
    """The normal form of axioms, to which definitions of classes are added later.

    >>> growing = GrowingForm([ax.SubClassOf("<B>", "<A>"), ax.ObjectPropertyDomain("<r>", "<A>")], Ranges())
    >>> both = ex.ObjectIntersectionOf(("<A>", ex.ObjectSomeValuesFrom("<r>", "<B>")))
    >>> growing.takes(both), growing.takes(ex.ObjectComplementOf("<A>")), growing.takes("<New>")
    (True, False, False)
    >>> growth = growing.define("<N>", both)
    >>> len(growth.clauses), len(growth.some), growing.form.classes["<N>"] == growth.clauses[0].heads[0]
    (1, 1, True)
    """

    def __init__(self, axioms: Iterable[Axiom], ranges: Ranges, classes: Iterable[str] = ()) -> None:
        self._clausifier = clausifier = _Clausifier(ranges)
        for name in (NOTHING, *classes):
            clausifier.class_(name)
        clausifier.role(_EMPTY_ROLE)
        for axiom in axioms:
            clausifier.add(axiom)
        self.form = clausifier.form
        self.form.ranges = ranges.tests
        self.form.region = regions(ranges)
        self.form.samples = ranges.samples()
        self.form.unsupported += ranges.unreadable

    def takes(self, expression: ClassExpression) -> bool:
        """Whether rules say what is in a class, about names that are there: then nothing else changes with it."""
        form = self.form
        match expression:
            case str():
                return expression in form.classes and expression != NOTHING
            case ex.ObjectIntersectionOf(classes) | ex.ObjectUnionOf(classes):
                return all(map(self.takes, classes))
            case ex.ObjectSomeValuesFrom(property, filler):
                return _name(property) in form.roles and (filler == THING or self.takes(filler))
            case ex.ObjectHasValue(property, _):
                return _name(property) in form.roles
            case ex.DataSomeValuesFrom(name, range):
                return name in form.data and is_ordered(range)
        return False

    def define(self, name: str, expression: ClassExpression) -> FormGrowth:
        """Puts all members of a class that it takes into a class of a new name; what that adds."""
        form, clausifier = self.form, self._clausifier
        known, clauses, some, data_some = {*form.nominals}, len(form.clauses), len(form.some), len(form.data_some)
        ranges = len(form.ranges)
        clausifier.class_(name)
        clausifier.include(expression, name)
        if len(form.ranges) > ranges:
            form.region = regions(clausifier.ranges)
            # Only what must have a value looks for one.
            form.samples = clausifier.ranges.samples() if form.data_at_least else form.samples
        nominals = ((individual, of) for individual, of in form.nominals.items() if individual not in known)
        return FormGrowth(
            tuple(form.clauses[clauses:]), tuple(form.some[some:]), tuple(form.data_some[data_some:]), tuple(nominals)
        )


def _name(property: ex.ObjectProperty) -> str:
    return property.property if isinstance(property, ex.ObjectInverseOf) else property


class _Clausifier:
    """A normal form while it is made."""

    def __init__(self, ranges: Ranges) -> None:
        self.form = NormalForm()
        self.ranges = ranges
        self._left: dict[ClassExpression, int] = {}
        self._right: dict[ClassExpression, int] = {}

    # Names ------------------------------------------------------------------------------------------------------------

    def class_(self, name: str) -> int:
        if name == THING:
            return EVERYTHING
        if name not in self.form.classes:
            self.form.classes[name] = self.form.fresh()
            if name == NOTHING:
                self.emit((self.form.classes[name],), ())
        return self.form.classes[name]

    def role(self, property: ex.ObjectProperty) -> int:
        if isinstance(property, ex.ObjectInverseOf):
            return self.role(property.property) ^ 1
        if property not in self.form.roles:
            self.form.roles[property] = 2 * len(self.form.roles)
            if property in UNIVERSAL:
                self.form.unsupported.append("the universal property")
            if property in EMPTY:
                self.emit((self.left(ex.ObjectSomeValuesFrom(property, THING)),), ())
        return self.form.roles[property]

    def data(self, property: str) -> int:
        if property not in self.form.data:
            self.form.data[property] = len(self.form.data)
            if property in UNIVERSAL:
                self.form.unsupported.append("the universal property")
            if property in EMPTY:
                self.emit((self.left(ex.DataSomeValuesFrom(property, LITERAL)),), ())
        return self.form.data[property]

    def nominal(self, individual: str) -> int:
        """The class of one individual, which that individual is in."""
        if individual not in self.form.nominals:
            self.form.nominals[individual] = self.form.fresh()
        return self.form.nominals[individual]

    # Axioms -----------------------------------------------------------------------------------------------------------

    def add(self, axiom: Axiom) -> None:
        match axiom:
            case ax.SubClassOf(sub, sup):
                self.include(sub, sup)
            case ax.EquivalentClasses(classes):
                for member, other in (*pairwise(classes), (classes[-1], classes[0])):
                    self.include(member, other)
            case ax.DisjointClasses(classes):
                for member, other in combinations(classes, 2):
                    self.include(ex.ObjectIntersectionOf((member, other)), NOTHING)
            case ax.DisjointUnion(name, classes):
                self.add(ax.EquivalentClasses((name, ex.ObjectUnionOf(classes))))
                self.add(ax.DisjointClasses(classes))
            case ax.HasKey(of, properties, data):
                self.form.unsupported.append("keys")
                # The names count although there is no rule.
                self.left(of)
                _ = [*map(self.role, properties), *map(self.data, data)]
            case ax.DatatypeDefinition() | ax.SameIndividual() | ax.DifferentIndividuals():
                # Definitions are part of the ranges, and equality is part of the data.
                pass
            case ax.ClassAssertion(of, individual):
                self.emit((self.nominal(individual),), (self.right(of),))
            case _:
                self.add_property(axiom)

    def add_property(self, axiom: Axiom) -> None:
        match axiom:
            case ax.SubObjectPropertyOf(ex.ObjectPropertyChain(steps), sup):
                self.chain(list(map(self.role, steps)), self.role(sup))
            case ax.SubObjectPropertyOf(str() | ex.ObjectInverseOf() as sub, sup):
                self.form.super_roles.append((self.role(sub), self.role(sup)))
            case ax.EquivalentObjectProperties(properties):
                for equivalent, other in (*pairwise(properties), (properties[-1], properties[0])):
                    self.form.super_roles.append((self.role(equivalent), self.role(other)))
            case ax.DisjointObjectProperties(properties):
                self.form.disjoint_roles += combinations(map(self.role, properties), 2)
            case ax.InverseObjectProperties(first, second):
                role, inverse = self.role(first), self.role(second) ^ 1
                self.form.super_roles += ((role, inverse), (inverse, role))
            case ax.SubDataPropertyOf(sub, sup):
                self.form.super_data.append((self.data(sub), self.data(sup)))
            case ax.EquivalentDataProperties(properties):
                for equivalent, other in (*pairwise(properties), (properties[-1], properties[0])):
                    self.form.super_data.append((self.data(str(equivalent)), self.data(str(other))))
            case ax.DisjointDataProperties(properties):
                self.form.disjoint_data += combinations((self.data(str(disjoint)) for disjoint in properties), 2)
            case ax.ObjectPropertyDomain(property, domain):
                self.include(ex.ObjectSomeValuesFrom(property, THING), domain)
            case ax.DataPropertyDomain(property, domain):
                self.include(ex.DataSomeValuesFrom(str(property), LITERAL), domain)
            case ax.ObjectPropertyRange(property, range):
                self.form.some.append(SomeValues(self.role(property) ^ 1, EVERYTHING, self.right(range)))
            case ax.DataPropertyRange(property, range):
                self.form.data_all.append(DataAll(EVERYTHING, self.data(property), self.ranges.number(range)))
            case ax.Characteristic(property):
                self.characteristic(axiom, property)
            case ax.NegativeObjectPropertyAssertion(property, subject, object_):
                pair = (object_, subject) if isinstance(property, ex.ObjectInverseOf) else (subject, object_)
                self.form.absent.append((self.role(property) & ~1, *pair))
            case ax.NegativeDataPropertyAssertion(property, subject, literal):
                self.form.absent_data.append((self.data(str(property)), subject, value(literal)))
            case _:
                raise TypeError(f"{show(axiom)} has no normal form")

    def characteristic(self, axiom: Axiom, property: ex.ObjectProperty) -> None:
        match axiom:
            case ax.FunctionalObjectProperty():
                self.form.at_most.append(AtMost(EVERYTHING, 1, self.role(property), EVERYTHING))
            case ax.InverseFunctionalObjectProperty():
                self.form.at_most.append(AtMost(EVERYTHING, 1, self.role(property) ^ 1, EVERYTHING))
            case ax.FunctionalDataProperty():
                most = DataAtMost(EVERYTHING, 1, self.data(str(property)), self.ranges.number(LITERAL))
                self.form.data_at_most.append(most)
            case ax.ReflexiveObjectProperty():
                self.form.gives_self.append((EVERYTHING, self.role(property)))
            case ax.IrreflexiveObjectProperty():
                self.form.irreflexive.append(self.role(property))
            case ax.SymmetricObjectProperty():
                self.form.super_roles.append((self.role(property), self.role(property) ^ 1))
            case ax.AsymmetricObjectProperty():
                self.form.disjoint_roles.append((self.role(property), self.role(property) ^ 1))
            case ax.TransitiveObjectProperty():
                self.chain([self.role(property)] * 2, self.role(property))
            case _:
                raise TypeError(f"{show(axiom)} has no normal form")

    def chain(self, steps: list[int], sup: int) -> None:
        """Adds a chain of any length as chains of two, over new properties in between."""
        if len(steps) == 1:
            self.form.super_roles.append((steps[0], sup))
            return
        first = steps[0]
        for number, step in enumerate(steps[1:], 2):
            composed = sup if number == len(steps) else self.role(f"_:step {len(self.form.roles)}")
            self.form.chains.append((first, step, composed))
            first = composed

    # Classes ----------------------------------------------------------------------------------------------------------

    def include(self, sub: ClassExpression, sup: ClassExpression) -> None:
        """Adds the clauses that put all members of `sub` into `sup`."""
        clauses = self.clauses(sup)
        for body, heads in self.alternatives(sub):
            for more, more_heads in clauses:
                self.emit((*body, *more), (*heads, *more_heads))

    def emit(self, body: tuple[int, ...], heads: tuple[int, ...]) -> None:
        if EVERYTHING in heads or not set(body).isdisjoint(heads):
            return
        needed = tuple(dict.fromkeys(number for number in body if number != EVERYTHING)) or (EVERYTHING,)
        self.form.clauses.append(ClassClause(needed, tuple(dict.fromkeys(heads))))

    def left(self, expression: ClassExpression) -> int:
        """The number of a class that contains at least the members of an expression."""
        if isinstance(expression, str) and expression != NOTHING:
            return self.class_(expression)
        if expression not in self._left:
            alternatives = self.alternatives(expression)
            match alternatives:
                case [((only,), ())]:
                    self._left[expression] = only
                case _:
                    self._left[expression] = superclass = self.form.fresh()
                    for body, heads in alternatives:
                        self.emit(body, (*heads, superclass))
        return self._left[expression]

    def right(self, expression: ClassExpression) -> int:
        """The number of a class that contains at most the members of an expression."""
        if isinstance(expression, str):
            return self.class_(expression)
        if expression not in self._right:
            self._right[expression] = subclass = self.form.fresh()
            self.restrict(subclass, expression)
        return self._right[expression]

    def alternatives(self, expression: ClassExpression) -> list[Sides]:
        """A class as a union of what is in some classes and not in others."""
        match expression:
            case str():
                if expression in (THING, NOTHING):
                    return [_NEVER] if expression == THING else []
                return [((self.class_(expression),), ())]
            case ex.ObjectIntersectionOf(classes):
                return _crossed(
                    [self.few(self.alternatives(operand), partial(self.left, operand)) for operand in classes]
                )
            case ex.ObjectUnionOf(classes):
                return [sides for operand in classes for sides in self.alternatives(operand)]
            case ex.ObjectComplementOf(negated):
                return self.clauses(negated)
            case ex.ObjectOneOf(individuals):
                return [((self.nominal(individual),), ()) for individual in individuals]
            case ex.ObjectExactCardinality(number, property, filler):
                return self.alternatives(_exactly(number, property, filler))
            case ex.DataExactCardinality(number, name, range):
                return self.alternatives(_exactly_literals(number, name, range))
        return self.restriction_alternatives(expression)

    def restriction_alternatives(self, expression: ClassExpression) -> list[Sides]:
        match expression:
            case ex.ObjectSomeValuesFrom(property, filler) | ex.ObjectMinCardinality(1, property, filler):
                return self.derived(expression, lambda head: self.some(property, self.left(filler or THING), head))
            case ex.ObjectHasValue(property, individual):
                return self.derived(expression, lambda head: self.some(property, self.nominal(individual), head))
            case ex.ObjectHasSelf(property):
                return self.derived(expression, lambda head: self.form.has_self.append((self.role(property), head)))
            case ex.ObjectAllValuesFrom(property, filler):
                return self.unless(ex.ObjectSomeValuesFrom(property, ex.ObjectComplementOf(filler)))
            case ex.ObjectMinCardinality(number, property, filler):
                return self.unless(ex.ObjectMaxCardinality(number - 1, property, filler)) if number else [_NEVER]
            case ex.ObjectMaxCardinality(number, property, filler):
                return self.unless(ex.ObjectMinCardinality(number + 1, property, filler))
            case ex.DataSomeValuesFrom(name, range) | ex.DataMinCardinality(1, name, range):
                return self.derived(expression, lambda head: self.data_some(name, range or LITERAL, head))
            case ex.DataHasValue(name, literal):
                return self.derived(expression, lambda head: self.data_some(name, ex.DataOneOf((literal,)), head))
            case ex.DataAllValuesFrom(name, range):
                return self.unless(ex.DataSomeValuesFrom(name, ex.DataComplementOf(range)))
            case ex.DataMinCardinality(number, name, range):
                return self.unless(ex.DataMaxCardinality(number - 1, name, range)) if number else [_NEVER]
            case ex.DataMaxCardinality(number, name, range):
                return self.unless(ex.DataMinCardinality(number + 1, name, range))
        raise TypeError(f"{show(expression)} is not a class")

    def clauses(self, expression: ClassExpression) -> list[Sides]:
        """A class as an intersection of implications."""
        match expression:
            case str():
                if expression in (THING, NOTHING):
                    return [] if expression == THING else [_NEVER]
                return [((), (self.class_(expression),))]
            case ex.ObjectIntersectionOf(classes):
                return [sides for operand in classes for sides in self.clauses(operand)]
            case ex.ObjectUnionOf(classes):
                return _crossed([self.one(self.clauses(operand), partial(self.right, operand)) for operand in classes])
            case ex.ObjectComplementOf(negated):
                return self.alternatives(negated)
        return [((), (self.right(expression),))]

    def few(self, sides: list[Sides], name: Callable[[], int]) -> list[Sides]:
        """Several alternatives as one class, so that they are not multiplied with others."""
        return sides if len(sides) <= 1 else [((name(),), ())]

    def one(self, sides: list[Sides], name: Callable[[], int]) -> list[Sides]:
        """Several implications as one class."""
        return sides if len(sides) <= 1 else [((), (name(),))]

    def restrict(self, subclass: int, expression: ClassExpression) -> None:
        """Adds what keeps everything out of `subclass` that is not in the expression."""
        match expression:
            case ex.ObjectSomeValuesFrom(property, filler):
                self.at_least(subclass, 1, property, filler)
            case ex.ObjectMinCardinality(number, property, filler):
                self.at_least(subclass, number, property, filler)
            case ex.ObjectAllValuesFrom(property, filler):
                self.form.some.append(SomeValues(self.role(property) ^ 1, subclass, self.right(filler)))
            case ex.ObjectHasValue(property, individual):
                # The individual keeps its place in whatever part of the data is looked at.
                self.nominal(individual)
                self.form.gives_value.append((subclass, self.role(property), individual))
            case ex.ObjectHasSelf(property):
                self.form.gives_self.append((subclass, self.role(property)))
            case ex.ObjectMaxCardinality(number, property, filler):
                self.at_most(subclass, number, property, filler)
            case ex.ObjectExactCardinality(number, property, filler):
                self.restrict(subclass, _exactly(number, property, filler))
            case ex.ObjectOneOf(individuals):
                for member in individuals:
                    self.nominal(member)
                self.form.one_of.append(OneOf(subclass, individuals))
            case ex.DataSomeValuesFrom(name, range):
                self.form.data_at_least.append(DataAtLeast(subclass, 1, self.data(name), self.ranges.number(range)))
            case ex.DataMinCardinality(number, name, range):
                limit = DataAtLeast(subclass, number, self.data(name), self.ranges.number(range or LITERAL))
                self.form.data_at_least += (limit,) if number else ()
            case ex.DataAllValuesFrom(name, range):
                self.form.data_all.append(DataAll(subclass, self.data(name), self.ranges.number(range)))
            case ex.DataHasValue(name, literal):
                self.ranges.number(ex.DataOneOf((literal,)))
                self.form.gives_literal.append((subclass, self.data(name), value(literal)))
            case ex.DataMaxCardinality(number, name, range):
                most = DataAtMost(subclass, number, self.data(name), self.ranges.number(range or LITERAL))
                self.form.data_at_most.append(most)
            case ex.DataExactCardinality(number, name, range):
                self.restrict(subclass, _exactly_literals(number, name, range))
            case _:
                for body, heads in self.clauses(expression):
                    self.emit((subclass, *body), heads)

    def at_least(self, subclass: int, number: int, property: ex.ObjectProperty, filler: ClassExpression | None) -> None:
        if number:
            self.form.at_least.append(AtLeast(subclass, number, self.role(property), self.right(filler or THING)))

    def at_most(self, subclass: int, number: int, property: ex.ObjectProperty, filler: ClassExpression | None) -> None:
        inside = self.left(filler or THING)
        if number:
            self.form.at_most.append(AtMost(subclass, number, self.role(property), inside))
            return
        having = self.form.fresh()
        self.some(property, inside, having)
        self.emit((subclass, having), ())

    def derived(self, expression: ClassExpression, rule: Callable[[int], None]) -> list[Sides]:
        """The class that a rule puts members of an expression into; the same expression has one rule."""
        if expression not in self._left:
            self._left[expression] = self.form.fresh()
            rule(self._left[expression])
        return [((self._left[expression],), ())]

    def unless(self, opposite: ClassExpression) -> list[Sides]:
        return [((), (self.right(opposite),))]

    def some(self, property: ex.ObjectProperty, filler: int, head: int) -> None:
        self.form.some.append(SomeValues(self.role(property), filler, head))

    def data_some(self, name: str, range: DataRange, head: int) -> None:
        self.form.data_some.append(DataSome(self.data(name), self.ranges.number(range), head))


def _crossed(sides: list[list[Sides]]) -> list[Sides]:
    """All ways to choose one element of each list, each joined to one pair of bodies and heads."""
    return [
        (
            tuple(number for body, _ in chosen for number in body),
            tuple(number for _, heads in chosen for number in heads),
        )
        for chosen in product(*sides)
    ]


def _exactly(number: int, property: ex.ObjectProperty, filler: ClassExpression | None) -> ClassExpression:
    limits = (ex.ObjectMinCardinality(number, property, filler), ex.ObjectMaxCardinality(number, property, filler))
    return ex.ObjectIntersectionOf(limits)


def _exactly_literals(number: int, name: str, range: DataRange | None) -> ClassExpression:
    limits = (ex.DataMinCardinality(number, name, range), ex.DataMaxCardinality(number, name, range))
    return ex.ObjectIntersectionOf(limits)
