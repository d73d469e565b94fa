"""All topologies find the same, and what they find is inconsistent by definition.

The definition is taken from the axioms as they are written. An individual is in a class when the axioms, applied until
nothing new comes, say so; whoever has a value by a role also has one without a name, about which nothing is known but
how it came about. An individual breaks an axiom when it does so itself, or when such a value of it does.
"""

from collections.abc import Iterator
from itertools import combinations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from thalweg.ir.nodes import Interface, Program
from thalweg.ir.semantics import output
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.languages.owl import axioms as ax
from thalweg.languages.owl import expressions as ex
from thalweg.languages.owl.axiom_rules import INCONSISTENT
from thalweg.languages.owl.axioms import Axiom, Declaration, show
from thalweg.languages.owl.consistency_rules import ConsistencyRules, by_bolts
from thalweg.languages.owl.disjointness import by_sides
from thalweg.languages.owl.expressions import NOTHING, THING, ClassExpression, ObjectInverseOf, ObjectProperty
from thalweg.languages.owl.negative import close
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.term import unquote
from thalweg.planning import topology

CLASSES = tuple(f"<{name}>" for name in "ABCDEFG")
PROPERTIES = ("<r>", "<s>", "<t>")
ROLES: tuple[ObjectProperty, ...] = (*PROPERTIES, *map(ObjectInverseOf, PROPERTIES))
DECLARED = [
    *(Declaration("Class", name) for name in CLASSES),
    *(Declaration("ObjectProperty", name) for name in PROPERTIES),
]
INDIVIDUALS = ("<a>", "<b>", "<c>")

Broken = set[tuple[str, str, str]]


def inverse(role: ObjectProperty) -> ObjectProperty:
    return role.property if isinstance(role, ObjectInverseOf) else ObjectInverseOf(role)


class Definition:
    """What some axioms say, by definition."""

    def __init__(self, axioms: list[Axiom]) -> None:
        self.axioms = axioms
        self.inclusions = list(self.class_inclusions())
        self.above = {role: self.roles_above(role) for role in ROLES}
        self.reflexive = {
            sup
            for axiom in axioms
            if isinstance(axiom, ax.ReflexiveObjectProperty)
            for sup in self.above[axiom.property]
        }
        self.reflexive |= set(map(inverse, self.reflexive))

    def class_inclusions(self) -> Iterator[tuple[ClassExpression, ClassExpression]]:
        for axiom in self.axioms:
            match axiom:
                case ax.SubClassOf(sub, sup):
                    yield sub, sup
                case ax.EquivalentClasses((one, other)):
                    yield from ((one, other), (other, one))
                case ax.ObjectPropertyDomain(role, domain):
                    yield ex.ObjectSomeValuesFrom(role, THING), domain
                case ax.ObjectPropertyRange(role, range_):
                    yield ex.ObjectSomeValuesFrom(inverse(role), THING), range_

    def roles_above(self, role: ObjectProperty) -> set[ObjectProperty]:
        steps: set[tuple[ObjectProperty, ObjectProperty]] = set()
        for axiom in self.axioms:
            match axiom:
                case ax.SubObjectPropertyOf(sub, sup):
                    steps.add((sub, sup))  # type: ignore[arg-type]
                case ax.InverseObjectProperties(one, other):
                    steps |= {(one, inverse(other)), (other, inverse(one))}
                case ax.SymmetricObjectProperty(one):
                    steps.add((one, inverse(one)))
        steps |= {(inverse(sub), inverse(sup)) for sub, sup in steps}
        found = {role}
        while new := {sup for sub, sup in steps if sub in found} - found:
            found |= new
        return found

    def saturated(self, classes: set[str], roles: set[ObjectProperty]) -> tuple[set[str], set[ObjectProperty]]:
        """The classes that something is in, and the roles by which it has a value."""
        classes, roles = set(classes), roles | self.reflexive
        before = -1
        while len(classes) + len(roles) > before:
            before = len(classes) + len(roles)
            roles = {sup for role in roles for sup in self.above[role]}
            for sub, sup in self.inclusions:
                if self.holds(sub, classes, roles):
                    self.put(sup, classes, roles)
        return classes, roles

    def holds(self, expression: ClassExpression, classes: set[str], roles: set[ObjectProperty]) -> bool:
        match expression:
            case str():
                return expression == THING or expression in classes
            case ex.ObjectSomeValuesFrom(role, _):
                return role in roles
            case ex.ObjectIntersectionOf(parts):
                return all(self.holds(part, classes, roles) for part in parts)
            case ex.ObjectUnionOf(parts):
                return any(self.holds(part, classes, roles) for part in parts)
        raise AssertionError(expression)

    def put(self, expression: ClassExpression, classes: set[str], roles: set[ObjectProperty]) -> None:
        match expression:
            case str() if expression not in (THING, NOTHING):
                classes.add(expression)
            case ex.ObjectSomeValuesFrom(role, _):
                roles.add(role)
            case ex.ObjectIntersectionOf(parts):
                for part in parts:
                    self.put(part, classes, roles)

    def values(self, classes: set[str], roles: set[ObjectProperty]) -> Iterator[tuple[ObjectProperty, ClassExpression]]:
        """The values without a name that something in these has: by which role, and in which class."""
        yield from ((role, THING) for role in roles)
        for sub, sup in self.inclusions:
            if self.holds(sub, classes, roles):
                for part in sup.classes if isinstance(sup, ex.ObjectIntersectionOf) else (sup,):
                    if isinstance(part, ex.ObjectSomeValuesFrom):
                        yield part.property, part.filler

    def broken(self, classes: set[str], roles: set[ObjectProperty]) -> set[str]:
        """The axioms that something breaks that is in these, or one of its values without a name."""
        found = self.broken_here(classes, roles)
        waiting, seen = list(self.values(classes, roles)), set[str]()
        while waiting:
            role, filler = waiting.pop()
            if f"{role} {filler}" in seen:
                continue
            seen.add(f"{role} {filler}")
            start, asked = set[str](), {inverse(role)}
            self.put(filler, start, asked)
            value = self.saturated(start, asked)
            found |= self.broken_here(*value) | self.broken_by(self.above[role])
            found |= self.forbidden_filler(role, filler, value)
            waiting += self.values(*value)
        return found

    def forbidden_filler(
        self, role: ObjectProperty, filler: ClassExpression, value: tuple[set[str], set[ObjectProperty]]
    ) -> set[str]:
        """The axioms that ask for a value outside a class that it is in."""
        asking = [axiom for axiom in self.axioms if isinstance(axiom, ax.SubClassOf)]
        wanted = ex.ObjectSomeValuesFrom(role, filler)
        if not isinstance(filler, ex.ObjectComplementOf) or not self.holds(filler.negated, *value):
            return set()
        return {show(axiom) for axiom in asking if axiom.sup == wanted}

    def broken_here(self, classes: set[str], roles: set[ObjectProperty]) -> set[str]:
        found = set()
        for axiom in self.axioms:
            match axiom:
                case ax.DisjointClasses(members):
                    if sum(self.holds(member, classes, roles) for member in members) > 1:
                        found.add(show(axiom))
                case ax.SubClassOf(sub, ex.ObjectComplementOf(negated)):
                    if self.holds(sub, classes, roles) and self.holds(negated, classes, roles):
                        found.add(show(axiom))
                case ax.SubClassOf(sub, sup) if sup == NOTHING:
                    if self.holds(sub, classes, roles):
                        found.add(show(axiom))
        return found | self.broken_by(self.reflexive, itself=True)

    def broken_by(self, roles: set[ObjectProperty], itself: bool = False) -> set[str]:
        """The axioms that a pair breaks that is in these roles; one of two different things unless told."""
        found = set()
        for axiom in self.axioms:
            match axiom:
                case ax.DisjointObjectProperties(members):
                    ways = (members, tuple(map(inverse, members)))
                    if any(sum(member in roles for member in way) > 1 for way in ways):
                        found.add(show(axiom))
                case ax.AsymmetricObjectProperty(role):
                    if role in roles and inverse(role) in roles:
                        found.add(show(axiom))
                case ax.IrreflexiveObjectProperty(role):
                    if itself and role in roles:
                        found.add(show(axiom))
        return found

    def inconsistent(self, facts: list[Fact]) -> Broken:
        individuals = {term for fact in facts for term in fact.terms}
        pairs: dict[tuple[str, str], set[ObjectProperty]] = {(one, one): set(self.reflexive) for one in individuals}
        for fact in facts:
            if len(fact.terms) == 2:
                one, other = fact.terms
                pairs.setdefault((one, other), set()).update(self.above[fact.predicate])
                pairs.setdefault((other, one), set()).update(self.above[ObjectInverseOf(fact.predicate)])
        found: Broken = set()
        for one in individuals:
            classes = {fact.predicate for fact in facts if fact.terms == (one,)}
            roles = {role for (subject, _), known in pairs.items() if subject == one for role in known}
            found |= {(axiom, one, one) for axiom in self.broken(*self.saturated(classes, roles))}
        return found | {broken for pair, known in pairs.items() for broken in self.broken_pairs(pair, known)}

    def broken_pairs(self, pair: tuple[str, str], roles: set[ObjectProperty]) -> Iterator[tuple[str, str, str]]:
        for axiom in self.axioms:
            match axiom:
                case ax.DisjointObjectProperties(members):
                    if sum(member in roles for member in members) > 1:
                        yield show(axiom), *pair
                case ax.AsymmetricObjectProperty(role):
                    if role in roles and inverse(role) in roles:
                        yield show(axiom), *pair
                case ax.IrreflexiveObjectProperty(role):
                    if role in roles and pair[0] == pair[1]:
                        yield show(axiom), *pair


def topologies(axioms: list[Axiom]) -> Iterator[tuple[str, ConsistencyRules]]:
    found = close(axioms, DECLARED)
    known = found.taxonomy()
    count = len(topology.groups(known))
    yield "ntm", by_bolts(found, topology.ntm(known))
    for first in range(count + 1):
        yield f"ltm-{first}", by_bolts(found, topology.assigned(known, (first, count - first)))
    if count > 2:
        yield "ltm", by_bolts(found, topology.ltm(known, bolts=count))
    yield "sides", by_sides(found)


def told(facts: Iterator[Fact] | frozenset[Fact] | list[Fact]) -> Broken:
    return {(unquote(fact.terms[0]), *fact.terms[1:]) for fact in facts if fact.predicate == INCONSISTENT}  # type: ignore[misc]


def by_semantics(checks: ConsistencyRules, facts: list[Fact]) -> Broken:
    return told(output(Program(checks.rules, checks.background), 0, 0, [(fact, 0, None) for fact in facts]))


def by_engine(checks: ConsistencyRules, facts: list[Fact]) -> Broken:
    engine = Engine(
        Program(checks.rules, checks.background, Interface(outputs=frozenset({Predicate(INCONSISTENT, 3)})))
    )
    return told([fact for change in engine.advance(to=0, facts=facts) for fact in change.begin])


def some(role: ObjectProperty) -> ClassExpression:
    return ex.ObjectSomeValuesFrom(role, THING)


CLASS = st.sampled_from(CLASSES)
ROLE = st.sampled_from(ROLES)
BASIC: st.SearchStrategy[ClassExpression] = st.one_of(CLASS, CLASS, CLASS, ROLE.map(some))
MEET = st.lists(BASIC, min_size=2, max_size=3).map(lambda parts: ex.ObjectIntersectionOf(tuple(parts)))
UNION = st.lists(BASIC, min_size=2, max_size=2).map(lambda parts: ex.ObjectUnionOf(tuple(parts)))
LEFT: st.SearchStrategy[ClassExpression] = st.one_of(BASIC, BASIC, BASIC, MEET, UNION, st.just(THING))
FILLER = st.one_of(CLASS, CLASS.map(ex.ObjectComplementOf), st.just(THING))
RIGHT: st.SearchStrategy[ClassExpression] = st.one_of(
    BASIC,
    BASIC,
    st.builds(ex.ObjectSomeValuesFrom, ROLE, FILLER),
    MEET,
    st.just(NOTHING),
    LEFT.map(ex.ObjectComplementOf),
)
AXIOM: st.SearchStrategy[Axiom] = st.one_of(
    st.builds(ax.SubClassOf, CLASS, CLASS),
    st.builds(ax.SubClassOf, LEFT, RIGHT),
    st.lists(CLASS, min_size=2, max_size=4, unique=True).map(lambda found: ax.DisjointClasses(tuple(found))),
    st.lists(LEFT, min_size=2, max_size=3).map(lambda found: ax.DisjointClasses(tuple(found))),
    st.builds(lambda name, meet: ax.EquivalentClasses((name, meet)), CLASS, MEET),
    st.builds(ax.ObjectPropertyDomain, ROLE, BASIC),
    st.builds(ax.ObjectPropertyRange, ROLE, BASIC),
    st.builds(ax.SubObjectPropertyOf, ROLE, ROLE),
    st.builds(ax.InverseObjectProperties, ROLE, ROLE),
    st.lists(ROLE, min_size=2, max_size=3).map(lambda roles: ax.DisjointObjectProperties(tuple(roles))),
    st.sampled_from([ax.SymmetricObjectProperty, ax.AsymmetricObjectProperty, ax.IrreflexiveObjectProperty]).flatmap(
        lambda kind: ROLE.map(kind)
    ),
    st.just(ax.ReflexiveObjectProperty("<r>")),
)
PLAIN: st.SearchStrategy[Axiom] = st.one_of(
    st.builds(ax.SubClassOf, CLASS, CLASS),
    st.lists(CLASS, min_size=2, max_size=3, unique=True).map(lambda found: ax.DisjointClasses(tuple(found))),
)
INDIVIDUAL = st.sampled_from(INDIVIDUALS)
FACT = st.one_of(
    st.builds(lambda name, one: Fact(name, (one,)), CLASS, INDIVIDUAL),
    st.builds(lambda name, one, other: Fact(name, (one, other)), st.sampled_from(PROPERTIES), INDIVIDUAL, INDIVIDUAL),
)
FACTS = st.lists(FACT, min_size=1, max_size=8, unique=True)


@given(st.lists(AXIOM, min_size=1, max_size=7, unique_by=show), FACTS)
@example(
    [
        ax.ReflexiveObjectProperty("<r>"),
        ax.SubObjectPropertyOf("<r>", "<s>"),
        ax.DisjointObjectProperties(("<t>", "<s>")),
        ax.DisjointClasses(("<A>", "<B>")),
        ax.DisjointClasses(("<A>", "<C>")),
    ],
    [Fact("<t>", ("<a>", "<a>")), Fact("<t>", ("<a>", "<b>"))],
)
def test_topologies_find_what_is_inconsistent_by_definition(axioms: list[Axiom], facts: list[Fact]) -> None:
    expected = Definition(axioms).inconsistent(facts)
    for name, checks in topologies(axioms):
        assert by_semantics(checks, facts) == expected, name


STAFF: list[Axiom] = [
    ax.SubClassOf("<A>", "<B>"),
    ax.SubClassOf("<C>", "<B>"),
    ax.SubClassOf("<D>", "<A>"),
    ax.SubClassOf("<E>", "<A>"),
    ax.DisjointClasses(("<B>", "<F>")),
    ax.DisjointClasses(("<A>", "<C>")),
    ax.DisjointClasses(("<D>", "<E>")),
    ax.DisjointClasses(("<C>", "<D>")),
]


@st.composite
def hierarchies(draw: st.DrawFn) -> list[Axiom]:
    """A few levels of classes, each below some of those before it, and pairs of them that are disjoint."""
    axioms: list[Axiom] = []
    for position in range(1, len(CLASSES)):
        above = draw(st.lists(st.sampled_from(CLASSES[:position]), max_size=2, unique=True))
        axioms += [ax.SubClassOf(CLASSES[position], sup) for sup in above]
    axioms += draw(st.lists(PLAIN, max_size=1))
    pairs = draw(st.lists(st.sampled_from([*combinations(CLASSES, 2)]), min_size=1, max_size=7, unique=True))
    return [*axioms, *map(ax.DisjointClasses, pairs)]


# One individual for every two classes.
EVERY_TWO = [Fact(name, (f"<{one[1]}{other[1]}>",)) for one, other in combinations(CLASSES, 2) for name in (one, other)]


# Members of D, or of F, break the axiom about A and B without another fact.
ALONE: list[Axiom] = [
    ax.SubClassOf("<B>", "<A>"),
    ax.SubClassOf("<D>", "<A>"),
    ax.SubClassOf("<D>", "<B>"),
    ax.SubClassOf("<F>", "<B>"),
    ax.DisjointClasses(("<A>", "<B>")),
    ax.DisjointClasses(("<C>", "<D>")),
    ax.DisjointClasses(("<D>", "<F>")),
]


@given(hierarchies())
@example(STAFF)
@example(ALONE)
def test_whoever_is_in_two_classes_is_found_by_all_topologies(axioms: list[Axiom]) -> None:
    expected = Definition(axioms).inconsistent(EVERY_TWO)
    for name, checks in topologies(axioms):
        assert by_engine(checks, EVERY_TWO) == expected, name


@given(st.lists(AXIOM, min_size=1, max_size=7, unique_by=show))
def test_the_closure_counts_what_no_individual_can_be_in(axioms: list[Axiom]) -> None:
    meaning = Definition(axioms)

    def is_apart(*concepts: ClassExpression) -> bool:
        classes = {concept for concept in concepts if isinstance(concept, str)}
        roles = {concept.property for concept in concepts if isinstance(concept, ex.ObjectSomeValuesFrom)}
        return bool(meaning.broken(*meaning.saturated(classes, roles)))

    named = sum(is_apart(*pair) for pair in combinations(CLASSES, 2))
    every = sum(is_apart(*pair) for pair in combinations((*CLASSES, *map(some, ROLES)), 2))
    found = close(axioms, DECLARED)
    assert found.closure() == (named, every - named)
    assert {name for name in found.unsatisfiable() if name in CLASSES} == set(filter(is_apart, CLASSES))


@pytest.mark.parametrize("limit", [0, 100_000])
@settings(max_examples=min(60, 3 * settings().max_examples), deadline=None)
@given(
    axioms=st.lists(st.one_of(PLAIN, st.just(ax.DisjointClasses(CLASSES))), min_size=1, max_size=8, unique_by=show),
    facts=FACTS,
)
def test_sides_are_looked_at_one_by_one_where_the_table_would_be_large(
    limit: int, axioms: list[Axiom], facts: list[Fact]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("thalweg.languages.owl.disjointness._TABLE", limit)
        checks = by_sides(close(axioms, DECLARED))
    assert by_semantics(checks, facts) == Definition(axioms).inconsistent(facts)
