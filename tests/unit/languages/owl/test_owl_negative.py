"""What ontologies forbid: closures, what is empty, what is outside."""

from itertools import combinations
from pathlib import Path

import pytest

from thalweg.connectors.ontology_documents import read_triples
from thalweg.languages.owl import axioms as ax
from thalweg.languages.owl import expressions as ex
from thalweg.languages.owl import structure
from thalweg.languages.owl.axioms import Axiom, show
from thalweg.languages.owl.expressions import NOTHING, THING, ObjectInverseOf
from thalweg.languages.owl.negative import close
from thalweg.planning import topology

NPD = Path(__file__).parents[5] / "shared" / "data" / "npd" / "npd-v2-ql.owl.gz"

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


def some(role: ex.ObjectProperty) -> ex.ObjectSomeValuesFrom:
    return ex.ObjectSomeValuesFrom(role, THING)


def test_the_ten_axioms_of_the_university_forbid_37_pairs() -> None:
    assert close(UNIVERSITY).closure() == (37, 0)


def test_one_axiom_for_four_classes_says_the_same_as_six() -> None:
    four = ax.DisjointClasses(("<Person>", "<Publication>", "<Organization>", "<Work>"))
    pairs = set(map(ax.DisjointClasses, combinations(four.classes, 2)))
    assert close([four, *(axiom for axiom in UNIVERSITY if axiom not in pairs)]).closure() == (37, 0)


def test_domains_and_ranges_are_counted_apart() -> None:
    axioms = [
        *UNIVERSITY,
        ax.ObjectPropertyDomain("<teaches>", "<Faculty>"),
        ax.ObjectPropertyRange("<teaches>", "<Work>"),
    ]
    # The domain is apart from Student, Admin, three publications, Organization and Work; the range from all but Work;
    # and the one is apart from the other.
    assert close(axioms).closure() == (37, 7 + 9 + 1)


def test_subroles_and_inverses_pass_it_on() -> None:
    axioms = [
        ax.SubObjectPropertyOf("<lectures>", "<teaches>"),
        ax.InverseObjectProperties("<taughtBy>", "<teaches>"),
        ax.ObjectPropertyDomain("<teaches>", "<A>"),
        ax.DisjointClasses(("<A>", "<B>")),
    ]
    assert close(axioms).closure() == (1, 3)


def test_what_asks_for_a_value_that_cannot_be_is_empty() -> None:
    axioms = [
        ax.SubClassOf("<A>", some("<r>")),
        ax.SubClassOf("<B>", ex.ObjectSomeValuesFrom("<s>", "<A>")),
        ax.ObjectPropertyRange("<r>", "<C>"),
        ax.ObjectPropertyRange("<r>", "<D>"),
        ax.DisjointClasses(("<C>", "<D>")),
    ]
    reason = ("DisjointClasses(<C> <D>)",)
    assert close(axioms).unsatisfiable() == {"<A>": reason, "<B>": reason, "<r>": reason}


def test_an_empty_class_shares_nothing_with_any() -> None:
    found = close([ax.SubClassOf("<A>", NOTHING), ax.SubClassOf("<B>", "<C>")])
    assert found.unsatisfiable() == {"<A>": (f"SubClassOf(<A> {NOTHING})",)}
    assert found.closure() == (2, 0)


def test_a_symmetric_role_cannot_be_asymmetric() -> None:
    found = close([ax.SymmetricObjectProperty("<r>"), ax.AsymmetricObjectProperty("<r>")])
    assert found.unsatisfiable() == {"<r>": ("AsymmetricObjectProperty(<r>)",)}


def test_nothing_is_when_a_reflexive_role_is_irreflexive() -> None:
    axioms: list[Axiom] = [
        ax.ReflexiveObjectProperty("<r>"),
        ax.SubObjectPropertyOf("<r>", ObjectInverseOf("<s>")),
        ax.IrreflexiveObjectProperty("<s>"),
        ax.SubClassOf("<A>", "<B>"),
    ]
    assert set(close(axioms).unsatisfiable()) == {"<A>", "<B>", "<r>", "<s>", THING}


def test_conjunctions_bring_pairs_together() -> None:
    meet = ex.ObjectIntersectionOf(("<A>", "<B>"))
    assert close([ax.SubClassOf(meet, NOTHING)]).closure() == (1, 0)
    assert close([ax.SubClassOf(meet, "<C>"), ax.DisjointClasses(("<C>", "<A>"))]).closure() == (2, 0)
    below_both = [ax.SubClassOf("<D>", "<A>"), ax.SubClassOf("<D>", "<B>"), ax.SubClassOf(meet, NOTHING)]
    assert set(close(below_both).unsatisfiable()) == {"<D>"}


def test_a_conjunction_under_a_complement_is_one_on_the_left() -> None:
    axiom = ax.SubClassOf("<A>", ex.ObjectComplementOf(ex.ObjectIntersectionOf(("<B>", some("<r>")))))
    found = close([axiom, ax.SubClassOf("<A>", "<B>")])
    assert found.closure() == (0, 1)
    assert found.disjoint[0].axiom == show(axiom)
    assert not found.skipped


def test_an_equivalence_with_a_conjunction_says_both() -> None:
    named = ax.EquivalentClasses(("<C>", ex.ObjectIntersectionOf(("<A>", "<B>"))))
    found = close([named, ax.DisjointClasses(("<C>", "<D>")), ax.SubClassOf("<E>", "<C>")])
    assert not found.skipped
    assert {found.name(n) for n in range(len(found.concepts)) if found.order.below[0] >> n & 1} >= {"<C>", "<E>"}
    assert found.closure() == (2, 0)


def test_of_a_disjoint_union_the_disjointness_is_kept_and_the_rest_named() -> None:
    axiom = ax.DisjointUnion("<A>", ("<B>", "<C>"))
    found = close([axiom, ax.DisjointClasses(("<A>", "<D>"))])
    assert found.closure() == (4, 0)
    assert [named for named, _ in found.skipped] == [axiom]


@pytest.mark.parametrize(
    "axiom",
    [
        ax.TransitiveObjectProperty("<r>"),
        ax.FunctionalObjectProperty("<r>"),
        ax.SubClassOf("<A>", ex.ObjectAllValuesFrom("<r>", "<B>")),
        ax.SubClassOf(ex.ObjectSomeValuesFrom("<r>", "<A>"), "<B>"),
        ax.SubClassOf(ex.ObjectIntersectionOf(("<A>", ex.ObjectSomeValuesFrom("<r>", "<B>"))), "<C>"),
        ax.SubClassOf("<A>", ex.ObjectUnionOf(("<B>", "<C>"))),
    ],
    ids=show,
)
def test_what_is_outside_is_named_as_it_was_written(axiom: Axiom) -> None:
    assert [named for named, _ in close([axiom]).skipped] == [axiom]


def test_the_direction_that_is_outside_is_named() -> None:
    union = ex.ObjectUnionOf(("<B>", "<C>"))
    skipped = close([ax.EquivalentClasses(("<A>", union))]).skipped
    assert [named for named, _ in skipped] == [ax.SubClassOf("<A>", union)]


def test_a_deep_hierarchy_is_closed() -> None:
    chain = [ax.SubClassOf(f"<A{n}>", f"<A{n + 1}>") for n in range(3000)]
    # Every class of the chain is apart from B.
    assert close([*chain, ax.DisjointClasses(("<A3000>", "<B>"))]).closure() == (3001, 0)


def test_a_cycle_is_one_class() -> None:
    ring = [ax.SubClassOf(f"<A{n}>", f"<A{(n + 1) % 50}>") for n in range(50)]
    assert close([*ring, ax.DisjointClasses(("<A7>", "<B>"))]).closure() == (50, 0)


@pytest.mark.skipif(not NPD.exists(), reason="needs the shared data")
def test_the_petroleum_directorate() -> None:
    ontology = structure.read(read_triples(NPD))
    found = close(ontology.axioms, ontology.declarations)
    assert found.unsatisfiable() == {}
    assert found.closure() == (15_949, 38_306)
    assert {type(axiom).__name__ for axiom, _ in found.skipped} == {"DataPropertyRange"}
    known = found.taxonomy()
    assert sum(name[0] == "<" for name in known.classes) == 329
    assert len(topology.groups(known)) == 5
    assert len(topology.ntm(known)[0].conjunctions) == 15_949 + 38_306
