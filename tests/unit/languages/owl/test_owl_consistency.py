"""Rules that find what an ontology forbids: their text, and what they tell."""

from collections import Counter
from itertools import combinations

import pytest

from thalweg.ir.nodes import Interface, Now, Program
from thalweg.ir.text import show
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.languages.owl import axioms as ax
from thalweg.languages.owl import expressions as ex
from thalweg.languages.owl.axiom_rules import INCONSISTENT
from thalweg.languages.owl.axioms import Axiom
from thalweg.languages.owl.consistency_rules import ConsistencyRules, by_bolts
from thalweg.languages.owl.disjointness import by_sides
from thalweg.languages.owl.expressions import NOTHING
from thalweg.languages.owl.negative import close
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.term import unquote
from thalweg.planning import topology

UNIVERSITY: list[Axiom] = [
    *(ax.SubClassOf(sub, "<Person>") for sub in ("<Student>", "<Employee>")),
    *(ax.SubClassOf(sub, "<Employee>") for sub in ("<Faculty>", "<Admin>")),
    *(ax.SubClassOf(sub, "<Publication>") for sub in ("<Article>", "<Book>")),
    *map(ax.DisjointClasses, combinations(("<Person>", "<Publication>", "<Organization>", "<Work>"), 2)),
    ax.DisjointClasses(("<Student>", "<Employee>")),
    ax.DisjointClasses(("<Article>", "<Book>")),
    ax.DisjointClasses(("<Faculty>", "<Admin>")),
    ax.DisjointClasses(("<Student>", "<Faculty>")),
]
METHODS = ("ntm", "ltm", "sides")


def checks_of(axioms: list[Axiom], method: str, bolts: int = 3) -> ConsistencyRules:
    found = close(axioms)
    known = found.taxonomy()
    if method == "sides":
        return by_sides(found)
    return by_bolts(found, topology.ntm(known) if method == "ntm" else topology.ltm(known, bolts))


def told(checks: ConsistencyRules, *facts: Fact) -> list[str]:
    engine = Engine(
        Program(checks.rules, checks.background, Interface(outputs=frozenset({Predicate(INCONSISTENT, 3)})))
    )
    begun = [fact for change in engine.advance(to=0, facts=facts) for fact in change.begin]
    return sorted(f"{unquote(fact.terms[0])} {' '.join(dict.fromkeys(fact.terms[1:]))}" for fact in begun)


def member(name: str, individual: str = "<bob>") -> Fact:
    return Fact(name, (individual,))


def test_ntm_is_one_rule_for_each_of_37_pairs() -> None:
    checks = checks_of(UNIVERSITY, "ntm")
    assert sum(len(rule.body) == 2 for rule in checks.rules) == 37


def test_ltm_has_the_conjunctions_of_its_bolts() -> None:
    checks = checks_of(UNIVERSITY, "ltm")
    bolt = dict(checks.pinned)
    pairs = [rule.head.signature for rule in checks.rules if rule.head.predicate.startswith("both'")]
    assert Counter(bolt[signature] for signature in pairs) == {0: 1, 1: 2, 2: 6}


@pytest.mark.parametrize("method", METHODS)
def test_a_faculty_member_is_no_work(method: str) -> None:
    checks = checks_of(UNIVERSITY, method)
    assert told(checks, member("<Faculty>"), member("<Work>"), member("<Work>", "<ann>")) == [
        "DisjointClasses(<Person> <Work>) <bob>"
    ]


@pytest.mark.parametrize("method", METHODS)
def test_an_axiom_that_another_makes_superfluous_is_told_as_well(method: str) -> None:
    checks = checks_of(UNIVERSITY, method)
    assert told(checks, member("<Student>"), member("<Faculty>")) == [
        "DisjointClasses(<Student> <Employee>) <bob>",
        "DisjointClasses(<Student> <Faculty>) <bob>",
    ]
    assert told(checks, member("<Student>"), member("<Admin>")) == ["DisjointClasses(<Student> <Employee>) <bob>"]


def test_rules_look_back_at_nobody_who_does_not_clash() -> None:
    checks = checks_of(UNIVERSITY, "ltm")
    looking_back = [rule for rule in checks.rules if rule.head.predicate == "kind'"]
    first = {show(rule.body[0]) for rule in looking_back}
    assert first == {"clashing'(X)"}
    # Only the two classes of the axiom that bolts lose sight of are looked at.
    assert {show(rule.body[1]) for rule in looking_back} == {"<Student>(X)", "<Faculty>(X)"}


def test_nothing_is_looked_back_at_where_no_axiom_is_superfluous() -> None:
    derived = {rule.head.predicate for rule in checks_of(UNIVERSITY[:-1], "ltm").rules}
    assert derived.isdisjoint({"clashing'", "kind'", "side'"})


@pytest.mark.parametrize("method", METHODS)
def test_a_role_assertion_counts_for_both_its_ends(method: str) -> None:
    axioms = [
        *UNIVERSITY,
        ax.ObjectPropertyDomain("<teaches>", "<Faculty>"),
        ax.ObjectPropertyRange("<teaches>", "<Work>"),
    ]
    checks = checks_of(axioms, method)
    teaches = Fact("<teaches>", ("<bob>", "<logic>"))
    assert told(checks, teaches, member("<Admin>"), member("<Book>", "<logic>")) == [
        "DisjointClasses(<Faculty> <Admin>) <bob>",
        "DisjointClasses(<Publication> <Work>) <logic>",
    ]


@pytest.mark.parametrize("method", METHODS)
def test_roles_are_checked_by_pairs(method: str) -> None:
    axioms: list[Axiom] = [
        ax.SubObjectPropertyOf("<fatherOf>", "<parentOf>"),
        ax.InverseObjectProperties("<childOf>", "<parentOf>"),
        ax.DisjointObjectProperties(("<parentOf>", "<siblingOf>")),
        ax.IrreflexiveObjectProperty("<parentOf>"),
        ax.AsymmetricObjectProperty("<parentOf>"),
        ax.DisjointClasses(("<A>", "<B>")),
        ax.DisjointClasses(("<C>", "<D>")),
        ax.SubClassOf("<C>", "<A>"),
    ]
    checks = checks_of(axioms, method)
    assert told(checks, Fact("<childOf>", ("<b>", "<a>")), Fact("<siblingOf>", ("<a>", "<b>"))) == [
        "DisjointObjectProperties(<parentOf> <siblingOf>) <a> <b>"
    ]
    assert told(checks, Fact("<childOf>", ("<b>", "<a>")), Fact("<siblingOf>", ("<b>", "<a>"))) == []
    assert told(checks, Fact("<fatherOf>", ("<a>", "<b>")), Fact("<childOf>", ("<a>", "<b>"))) == [
        "AsymmetricObjectProperty(<parentOf>) <a> <b>",
        "AsymmetricObjectProperty(<parentOf>) <b> <a>",
    ]
    assert "IrreflexiveObjectProperty(<parentOf>) <a>" in told(checks, Fact("<fatherOf>", ("<a>", "<a>")))


@pytest.mark.parametrize("method", METHODS)
def test_three_classes_may_be_forbidden_together(method: str) -> None:
    together = ex.ObjectIntersectionOf(("<Red>", "<Green>", "<Blue>"))
    axioms: list[Axiom] = [ax.SubClassOf(together, NOTHING), ax.SubClassOf("<Scarlet>", "<Red>")]
    checks = checks_of(axioms, method)
    assert told(checks, member("<Scarlet>"), member("<Green>")) == []
    assert told(checks, member("<Scarlet>"), member("<Green>"), member("<Blue>")) == [
        f"SubClassOf(ObjectIntersectionOf(<Red> <Green> <Blue>) {NOTHING}) <bob>"
    ]


@pytest.mark.parametrize("method", METHODS)
def test_an_empty_class_is_told_by_itself(method: str) -> None:
    checks = checks_of([ax.SubClassOf("<A>", NOTHING), ax.SubClassOf("<B>", "<A>")], method)
    assert told(checks, member("<B>")) == [f"SubClassOf(<A> {NOTHING}) <bob>"]


def test_a_pair_that_breaks_two_axioms_is_looked_for_once() -> None:
    axioms: list[Axiom] = [ax.DisjointClasses(("<A>", "<B>")), ax.DisjointClasses(("<A>", "<B>", "<C>"))]
    checks = checks_of(axioms, "ntm")
    both = [Now(atom) for atom in (rule.head for rule in checks.rules) if atom.predicate.startswith("both'")]
    assert sum(len(rule.body) == 2 for rule in checks.rules) == 3
    assert sum(rule.body == (both[0],) for rule in checks.rules) == 2


def test_by_sides_every_class_is_a_kind_and_every_pair_a_row() -> None:
    checks = checks_of(UNIVERSITY, "sides")
    assert len({show(rule.head) for rule in checks.rules if rule.head.predicate == "kind'"}) == 10
    assert len({frozenset(fact.terms[:2]) for fact in checks.background}) == 37


def test_a_rule_about_an_axiom_knows_its_line() -> None:
    rule = next(
        rule for rule in checks_of(UNIVERSITY, "ntm").rules if "<Article>" in show(rule) and "<Book>" in show(rule)
    )
    assert rule.span.source.text[rule.span.start : rule.span.end] == "DisjointClasses(<Article> <Book>)"


def test_a_large_ontology_is_one_rule_a_class() -> None:
    count = 3000
    axioms: list[Axiom] = [ax.SubClassOf(f"<C{n}>", f"<C{(n - 1) // 5}>") for n in range(1, count)]
    axioms += [ax.DisjointClasses((f"<C{5 * n + 1}>", f"<C{5 * n + 2}>")) for n in range(500)]
    checks = checks_of(axioms, "sides")
    assert len(checks.rules) <= count + 5
    leaf, other = "<C781>", "<C2>"
    assert told(checks, member(leaf), member(other)) == ["DisjointClasses(<C1> <C2>) <bob>"]
