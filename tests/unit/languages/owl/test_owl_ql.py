"""OWL 2 QL as rules, against a chase: values are invented until nothing more can depend on them."""

from itertools import combinations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from thalweg.ir.nodes import Program, Rule
from thalweg.ir.semantics import evaluate
from thalweg.ir.text import show as text
from thalweg.languages.owl import axioms as ax
from thalweg.languages.owl import expressions as ex
from thalweg.languages.owl.axiom_rules import INCONSISTENT
from thalweg.languages.owl.axioms import Axiom, Declaration, show, within
from thalweg.languages.owl.expressions import NOTHING, THING, ClassExpression, ObjectInverseOf, ObjectProperty
from thalweg.languages.owl.kinds import OBJECT
from thalweg.languages.owl.ql import is_auxiliary, rewrite
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.term import quote, unquote

CLASSES = ("<A>", "<B>", "<C>")
ROLES: tuple[ObjectProperty, ...] = ("<r>", "<s>", ObjectInverseOf("<r>"), ObjectInverseOf("<s>"))
DECLARED = [*(Declaration("Class", name) for name in CLASSES), *(Declaration(OBJECT, name) for name in ("<r>", "<s>"))]
INDIVIDUALS = ("<a>", "<b>", "<c>")

Pair = tuple[str, str]


class Chase:
    """The individuals that an ontology asks for, and what it says about them. Invented ones are named `1`, `2`, …"""

    def __init__(self, axioms: list[Axiom], facts: list[Fact]) -> None:
        self.axioms = axioms
        self.depth = dict.fromkeys((term for fact in facts for term in fact.terms), 0)
        self.members: set[Pair] = {(fact.predicate, fact.terms[0]) for fact in facts if len(fact.terms) == 1}
        self.related: set[tuple[str, str, str]] = {(f.predicate, *f.terms) for f in facts if len(f.terms) == 2}  # type: ignore[misc]
        self.invented: dict[tuple[ex.ObjectSomeValuesFrom, str], str] = {}
        asked = {show(part) for axiom in axioms for part in existentials(axiom)}
        # A value's class depends on nothing but what asked for it, so that every sort of value is met by this depth.
        self.deepest = len(asked) + 1
        while self.step():
            pass

    def size(self) -> int:
        return len(self.members) + len(self.related)

    def step(self) -> bool:
        before = self.size()
        for axiom in self.axioms:
            self.apply(axiom)
        return self.size() > before

    def pairs(self, role: ObjectProperty) -> set[Pair]:
        name = role if isinstance(role, str) else role.property
        found = {(one, other) for found, one, other in self.related if found == name}
        return found if isinstance(role, str) else {(other, one) for one, other in found}

    def relate(self, role: ObjectProperty, pairs: set[Pair]) -> None:
        for one, other in pairs:
            self.related.add((role, one, other) if isinstance(role, str) else (role.property, other, one))

    def extension(self, expression: ClassExpression) -> set[str]:
        """What is in a class on the left."""
        match expression:
            case ex.THING:
                return set(self.depth)
            case str():
                return {one for name, one in self.members if name == expression}
            case ex.ObjectSomeValuesFrom(role, ex.THING):
                return {one for one, _ in self.pairs(role)}
        raise AssertionError(expression)

    def conclude(self, one: str, expression: ClassExpression) -> None:
        match expression:
            case ex.THING | ex.NOTHING | ex.ObjectComplementOf():
                pass
            case str():
                self.members.add((expression, one))
            case ex.ObjectIntersectionOf(classes):
                for part in classes:
                    self.conclude(one, part)
            case ex.ObjectSomeValuesFrom(role, filler):
                self.invent(one, expression, role, filler)

    def invent(self, one: str, asked: ex.ObjectSomeValuesFrom, role: ObjectProperty, filler: ClassExpression) -> None:
        if (asked, one) not in self.invented and self.depth[one] < self.deepest:
            self.invented[asked, one] = value = str(len(self.invented))
            self.depth[value] = self.depth[one] + 1
        if (asked, one) in self.invented:
            self.relate(role, {(one, self.invented[asked, one])})
            self.conclude(self.invented[asked, one], filler)

    def apply(self, axiom: Axiom) -> None:
        match axiom:
            case ax.SubClassOf(sub, sup):
                self.conclude_all(self.extension(sub), sup)
            case ax.EquivalentClasses((first, second)):
                self.conclude_all(self.extension(first), second)
                self.conclude_all(self.extension(second), first)
            case ax.ObjectPropertyDomain(role, found):
                self.conclude_all({one for one, _ in self.pairs(role)}, found)
            case ax.ObjectPropertyRange(role, found):
                self.conclude_all({other for _, other in self.pairs(role)}, found)
            case ax.SubObjectPropertyOf(sub, sup) if not isinstance(sub, ex.ObjectPropertyChain):
                self.relate(sup, self.pairs(sub))
            case ax.EquivalentObjectProperties((first, second)):
                self.relate(second, self.pairs(first))
                self.relate(first, self.pairs(second))
            case ax.InverseObjectProperties(first, second):
                self.relate(second, {(other, one) for one, other in self.pairs(first)})
                self.relate(first, {(other, one) for one, other in self.pairs(second)})
            case ax.SymmetricObjectProperty(role):
                self.relate(role, {(other, one) for one, other in self.pairs(role)})
            case ax.ReflexiveObjectProperty(role):
                self.relate(role, {(one, one) for one in self.depth})

    def conclude_all(self, ones: set[str], expression: ClassExpression) -> None:
        for one in ones:
            self.conclude(one, expression)

    def broken(self) -> set[str]:
        """The axioms that cannot be, with what there is."""
        return {show(axiom) for axiom in self.axioms if self.breaks(axiom)}

    def breaks(self, axiom: Axiom) -> bool:
        match axiom:
            case ax.SubClassOf(sub, sup):
                return any(self.forbids(one, sup) for one in self.extension(sub))
            case ax.ObjectPropertyDomain(role, found):
                return any(self.forbids(one, found) for one, _ in self.pairs(role))
            case ax.ObjectPropertyRange(role, found):
                return any(self.forbids(other, found) for _, other in self.pairs(role))
            case ax.EquivalentClasses((first, second)):
                return self.breaks(ax.SubClassOf(first, second)) or self.breaks(ax.SubClassOf(second, first))
            case ax.DisjointClasses(classes):
                return any(self.extension(one) & self.extension(other) for one, other in combinations(classes, 2))
            case ax.DisjointObjectProperties((first, second)):
                return bool(self.pairs(first) & self.pairs(second))
            case ax.AsymmetricObjectProperty(role):
                return bool(self.pairs(role) & {(other, one) for one, other in self.pairs(role)})
            case ax.IrreflexiveObjectProperty(role):
                return any(one == other for one, other in self.pairs(role))
        return False

    def forbids(self, one: str, expression: ClassExpression) -> bool:
        match expression:
            case ex.NOTHING:
                return True
            case ex.ObjectComplementOf(negated):
                return one in self.extension(negated)
            case ex.ObjectIntersectionOf(classes):
                return any(self.forbids(one, part) for part in classes)
            case ex.ObjectSomeValuesFrom(_, filler) if (expression, one) in self.invented:
                return self.forbids(self.invented[expression, one], filler)
            case ex.ObjectSomeValuesFrom(_, ex.NOTHING):
                return True
        return False

    def entailed(self) -> set[Fact]:
        """What holds of individuals that have a name."""
        named = {one for one, depth in self.depth.items() if depth == 0}
        members = {Fact(name, (one,)) for name, one in self.members if one in named and name != THING}
        return members | {Fact(name, (one, other)) for name, one, other in self.related if {one, other} <= named}


def existentials(axiom: object) -> list[ex.ObjectSomeValuesFrom]:
    """Every existential inside an axiom, on whichever side."""
    return [part for part in within(axiom) if isinstance(part, ex.ObjectSomeValuesFrom)]


def derived(axioms: list[Axiom], facts: list[Fact]) -> tuple[set[Fact], set[str]]:
    """What the rules say: facts, and the axioms that are broken."""
    found = rewrite(axioms, declarations=DECLARED)
    program = Program(found.rules, (*facts, *found.facts))
    pairs = evaluate(program, 0, 0, []).derived
    every = {Fact(signature.name, args) for signature, rows in pairs.items() for args, _ in rows}
    broken = {unquote(fact.terms[0]) for fact in every if fact.predicate == INCONSISTENT}
    visible = {fact for fact in every if not is_auxiliary(fact.predicate) and fact.predicate != INCONSISTENT}
    return {fact for fact in visible | {*facts, *found.facts} if fact.predicate != THING}, broken


roles = st.sampled_from(ROLES)
named_roles = st.sampled_from(("<r>", "<s>"))
existential = st.builds(ex.ObjectSomeValuesFrom, roles, st.just(THING))
left = st.one_of(st.sampled_from(CLASSES), st.sampled_from(CLASSES), existential, st.just(THING))
facts = st.one_of(
    st.builds(lambda name, one: Fact(name, (one,)), st.sampled_from(CLASSES), st.sampled_from(INDIVIDUALS)),
    st.builds(
        lambda name, one, other: Fact(name, (one, other)),
        named_roles,
        st.sampled_from(INDIVIDUALS),
        st.sampled_from(INDIVIDUALS),
    ),
)


@st.composite
def ontologies(draw: st.DrawFn) -> list[Axiom]:
    """A few axioms of OWL 2 QL with few existentials, so that the chase stays small."""
    filler = st.sampled_from((*CLASSES, THING))
    pool = draw(st.lists(st.builds(ex.ObjectSomeValuesFrom, roles, filler), min_size=1, max_size=2))
    simple = st.one_of(st.sampled_from(CLASSES), st.sampled_from(pool), left.map(ex.ObjectComplementOf))
    right = st.one_of(
        simple,
        st.just(NOTHING),
        st.lists(simple, min_size=2, max_size=2).map(lambda parts: ex.ObjectIntersectionOf(tuple(parts))),
    )
    inclusion = st.builds(ax.SubClassOf, left, right)
    names = st.sampled_from(CLASSES)
    axiom = st.one_of(
        inclusion,
        inclusion,
        st.builds(lambda one, other: ax.EquivalentClasses((one, other)), names, names),
        st.lists(left, min_size=2, max_size=7, unique_by=show).map(lambda found: ax.DisjointClasses(tuple(found))),
        st.builds(ax.ObjectPropertyDomain, roles, right),
        st.builds(ax.ObjectPropertyRange, roles, right),
        st.builds(ax.SubObjectPropertyOf, roles, roles),
        st.builds(lambda one, other: ax.EquivalentObjectProperties((one, other)), roles, roles),
        st.builds(lambda one, other: ax.DisjointObjectProperties((one, other)), roles, roles),
        st.builds(ax.InverseObjectProperties, named_roles, named_roles),
        st.builds(ax.SymmetricObjectProperty, roles),
        st.builds(ax.AsymmetricObjectProperty, roles),
        st.builds(ax.ReflexiveObjectProperty, roles),
        st.builds(ax.IrreflexiveObjectProperty, roles),
    )
    return draw(st.lists(axiom, min_size=1, max_size=7))


@given(ontologies(), st.lists(facts, min_size=1, max_size=5))
@example(
    [ax.DisjointClasses((ex.ObjectSomeValuesFrom("<r>", THING), ex.ObjectSomeValuesFrom("<s>", THING)))],
    [Fact("<r>", ("<a>", "<b>")), Fact("<s>", ("<a>", "<c>"))],
)
@example(
    [
        ax.SubClassOf("<A>", ex.ObjectSomeValuesFrom("<r>", "<B>")),
        ax.SubClassOf("<B>", ex.ObjectSomeValuesFrom("<s>", "<C>")),
        ax.DisjointClasses(("<C>", ex.ObjectSomeValuesFrom(ObjectInverseOf("<s>"), THING))),
    ],
    [Fact("<A>", ("<a>",))],
)
def test_rules_derive_what_the_chase_entails(axioms: list[Axiom], given_facts: list[Fact]) -> None:
    chase = Chase(axioms, given_facts)
    found, broken = derived(axioms, given_facts)
    assert found == chase.entailed()
    assert bool(broken) == bool(chase.broken())
    assert broken <= chase.broken()


def rules_of(*axioms: Axiom) -> list[str]:
    return list(map(text, rewrite(axioms).rules))


SOME_R = ex.ObjectSomeValuesFrom("<r>", THING)


@pytest.mark.parametrize(
    ("axioms", "rules"),
    [
        ([ax.SubClassOf("<A>", "<B>")], ["<B>(X) :- <A>(X)."]),
        ([ax.SubClassOf("<A>", SOME_R)], []),
        ([ax.ObjectPropertyDomain("<r>", "<B>")], ["<B>(X) :- <r>(X,_)."]),
        ([ax.ObjectPropertyRange("<r>", "<B>")], ["<B>(X) :- <r>(_,X)."]),
        ([ax.DataPropertyDomain("<age>", "<B>")], ["<B>(X) :- <age>(X,_)."]),
        ([ax.SymmetricObjectProperty("<r>")], ["<r>(Y,X) :- <r>(X,Y)."]),
        ([ax.InverseObjectProperties("<r>", "<s>")], ["<s>(Y,X) :- <r>(X,Y).", "<r>(Y,X) :- <s>(X,Y)."]),
        ([ax.SubDataPropertyOf("<p>", "<q>")], ["<q>(X,Y) :- <p>(X,Y)."]),
        (
            [ax.SubClassOf("<A>", ex.ObjectSomeValuesFrom("<r>", "<C>")), ax.SubClassOf(SOME_R, "<B>")],
            [
                "some'<r>'<C>(X) :- <A>(X).",
                "<B>(X) :- some'<r>(X).",
                "some'<r>(X) :- some'<r>'<C>(X).",
                "some'<r>(X) :- <r>(X,_).",
            ],
        ),
        ([ax.DisjointClasses(("<A>", "<B>"))], ['inconsistent("DisjointClasses(<A> <B>)",X,X) :- <A>(X), <B>(X).']),
        ([ax.SubClassOf("<A>", NOTHING)], [f"inconsistent({quote(f'SubClassOf(<A> {NOTHING})')},X,X) :- <A>(X)."]),
        (
            [ax.AsymmetricObjectProperty("<r>")],
            ['inconsistent("AsymmetricObjectProperty(<r>)",X,Y) :- <r>(X,Y), <r>(Y,X).'],
        ),
        ([ax.IrreflexiveObjectProperty("<r>")], ['inconsistent("IrreflexiveObjectProperty(<r>)",X,X) :- <r>(X,X).']),
    ],
)
def test_an_axiom_becomes_these_rules(axioms: list[Axiom], rules: list[str]) -> None:
    assert sorted(rules_of(*axioms)) == sorted(rules)


def test_a_value_in_a_class_without_a_name_is_found() -> None:
    nested = ex.ObjectSomeValuesFrom("<r>", ex.ObjectSomeValuesFrom("<s>", "<C>"))
    axioms: list[Axiom] = [ax.SubClassOf("<A>", nested), ax.SubClassOf(SOME_R, "<B>"), ax.SubClassOf("<C>", NOTHING)]
    found, broken = derived(axioms, [Fact("<A>", ("<a>",))])
    assert Fact("<B>", ("<a>",)) in found
    assert broken == {show(axioms[2])}
    assert "some'<r>'1(X) :- <A>(X)." in rules_of(*axioms)


def test_everything_that_is_spoken_of_is_an_individual() -> None:
    axioms: list[Axiom] = [ax.ReflexiveObjectProperty("<r>"), ax.SubDataPropertyOf("<p>", "<q>")]
    found, _ = derived(axioms, [Fact("<p>", ("<a>", "3")), Fact("<r>", ("<b>", "<c>"))])
    assert {fact.terms for fact in found if fact.predicate == "<r>"} == {
        ("<a>", "<a>"),
        ("<b>", "<b>"),
        ("<c>", "<c>"),
        ("<b>", "<c>"),
    }


def test_a_large_group_of_disjoint_classes_costs_a_rule_a_class() -> None:
    names = tuple(f"<C{number}>" for number in range(50))
    axioms: list[Axiom] = [ax.DisjointClasses(names)]
    assert len(rewrite(axioms).rules) == 51
    found = rewrite(axioms)
    program = Program(found.rules, (Fact("<C3>", ("<a>",)), Fact("<C7>", ("<a>",)), Fact("<C7>", ("<b>",))))
    broken = evaluate(program, 0, 0, []).derived[Predicate(INCONSISTENT, 3)]
    assert {args[1] for args, _ in broken} == {"<a>"}


def test_a_rule_points_at_its_axiom() -> None:
    axioms: list[Axiom] = [ax.SubClassOf("<A>", SOME_R), ax.SubClassOf("<B>", "<C>")]
    found = rewrite(axioms, "onto.ttl")
    rule: Rule = found.rules[0]
    assert rule.span.source.name == "onto.ttl"
    assert rule.span.source.text[rule.span.start : rule.span.end] == "SubClassOf(<B> <C>)"
    assert rule.span.source.position(rule.span.start) == (2, 1)


def test_of_an_axiom_outside_the_profile_the_rest_has_rules() -> None:
    transitive = ax.TransitiveObjectProperty("<r>")
    union = ax.EquivalentClasses(("<A>", ex.ObjectUnionOf(("<B>", "<C>"))))
    found = rewrite([transitive, union])
    assert sorted(map(text, found.rules)) == ["<A>(X) :- <B>(X).", "<A>(X) :- <C>(X)."]


def test_assertions_are_facts() -> None:
    found = rewrite(
        [
            ax.ClassAssertion("<A>", "<a>"),
            ax.ObjectPropertyAssertion(ObjectInverseOf("<r>"), "<a>", "<b>"),
            ax.DataPropertyAssertion("<p>", "<a>", "3"),
        ]
    )
    assert found.facts == (Fact("<A>", ("<a>",)), Fact("<r>", ("<b>", "<a>")), Fact("<p>", ("<a>", "3")))
