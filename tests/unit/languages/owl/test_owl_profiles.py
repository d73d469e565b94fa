"""Axioms outside a profile are named, each with the reason."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from thalweg.cli import app
from thalweg.languages.owl import axioms as ax
from thalweg.languages.owl import expressions as ex
from thalweg.languages.owl import structure
from thalweg.languages.owl.axioms import Axiom
from thalweg.languages.owl.expressions import THING
from thalweg.languages.owl.profiles import outside
from thalweg.model.rdf import XSD, read_graph

DATA = Path(__file__).parents[5] / "shared" / "data" / "owl2"
SOME = ex.ObjectSomeValuesFrom("<r>", "<B>")
SOME_THING = ex.ObjectSomeValuesFrom("<r>", THING)
ALL = ex.ObjectAllValuesFrom("<r>", "<B>")
AND = ex.ObjectIntersectionOf(("<B>", "<C>"))
OR = ex.ObjectUnionOf(("<B>", "<C>"))
NOT = ex.ObjectComplementOf("<B>")
VALUE = ex.ObjectHasValue("<r>", "<a>")


@pytest.mark.parametrize(
    ("axiom", "inside"),
    [
        (ax.SubClassOf("<A>", "<B>"), "rdfs pd rl ql"),
        (ax.SubClassOf("<A>", SOME), "ql"),
        (ax.SubClassOf("<A>", SOME_THING), "ql"),
        (ax.SubClassOf(SOME, "<A>"), "pd rl"),
        (ax.SubClassOf(SOME_THING, "<A>"), "rl ql"),
        (ax.SubClassOf("<A>", ALL), "pd rl"),
        (ax.SubClassOf(ALL, "<A>"), ""),
        (ax.SubClassOf("<A>", AND), "rl ql"),
        (ax.SubClassOf(AND, "<A>"), "rl"),
        (ax.SubClassOf(OR, "<A>"), "rl"),
        (ax.SubClassOf("<A>", OR), ""),
        (ax.SubClassOf("<A>", NOT), "rl ql"),
        (ax.SubClassOf(NOT, "<A>"), ""),
        (ax.SubClassOf("<A>", ex.ObjectComplementOf(OR)), "rl"),
        (ax.SubClassOf("<A>", ex.ObjectAllValuesFrom("<r>", SOME)), ""),
        (ax.SubClassOf("<A>", ex.ObjectSomeValuesFrom("<r>", SOME)), ""),
        (ax.SubClassOf("<A>", VALUE), "pd rl"),
        (ax.SubClassOf(ex.ObjectOneOf(("<a>", "<b>")), "<A>"), "rl"),
        (ax.SubClassOf("<A>", ex.ObjectMaxCardinality(1, "<r>", OR)), "rl"),
        (ax.SubClassOf("<A>", ex.ObjectMaxCardinality(2, "<r>")), ""),
        (ax.SubClassOf("<A>", ex.ObjectHasSelf("<r>")), ""),
        (ax.SubClassOf("<A>", THING), "rdfs pd ql"),
        (ax.SubClassOf("<A>", ex.NOTHING), "rl ql"),
        (ax.SubClassOf(ex.NOTHING, "<A>"), "rdfs pd rl ql"),
        (ax.EquivalentClasses(("<A>", "<B>")), "pd rl ql"),
        (ax.EquivalentClasses(("<A>", SOME)), ""),
        (ax.EquivalentClasses(("<A>", SOME_THING)), "ql"),
        (ax.EquivalentClasses(("<A>", AND)), "rl"),
        (ax.EquivalentClasses(("<A>", VALUE)), "pd rl"),
        (ax.DisjointClasses(("<A>", SOME_THING)), "rl ql"),
        (ax.DisjointUnion("<A>", ("<B>", "<C>")), ""),
        (ax.ObjectPropertyDomain("<r>", SOME), "ql"),
        (ax.ClassAssertion(SOME, "<a>"), ""),
        (ax.ClassAssertion(NOT, "<a>"), "rl"),
        (ax.SubObjectPropertyOf("<r>", "<s>"), "rdfs pd rl ql"),
        (ax.SubObjectPropertyOf(ex.ObjectInverseOf("<r>"), "<s>"), "rl ql"),
        (ax.SubObjectPropertyOf(ex.ObjectPropertyChain(("<r>", "<s>")), "<r>"), "rl"),
        (ax.SubObjectPropertyOf(f"<{ex.OWL}topObjectProperty>", "<r>"), "ql"),
        (ax.TransitiveObjectProperty("<r>"), "pd rl"),
        (ax.SymmetricObjectProperty("<r>"), "pd rl ql"),
        (ax.ReflexiveObjectProperty("<r>"), "ql"),
        (ax.AsymmetricObjectProperty("<r>"), "rl ql"),
        (ax.HasKey("<A>", ("<r>",), ()), "rl"),
        (ax.SameIndividual(("<a>", "<b>")), "pd rl"),
        (ax.DifferentIndividuals(("<a>", "<b>")), "rl ql"),
        (ax.NegativeObjectPropertyAssertion("<r>", "<a>", "<b>"), "rl"),
        (ax.DataPropertyRange("<p>", f"<{XSD}double>"), "rdfs pd rl"),
        (ax.DataPropertyRange("<p>", f"<{ex.OWL}real>"), "rdfs pd ql"),
        (ax.DataPropertyRange("<p>", ex.DataOneOf(("1", "2"))), "rdfs pd"),
        (ax.DataPropertyAssertion("<p>", "<a>", f'"2000-01-01"^^<{XSD}date>'), "rdfs pd"),
    ],
)
def test_an_axiom_is_inside_these_profiles(axiom: Axiom, inside: str) -> None:
    assert [profile for profile in ("rdfs", "pd", "rl", "ql") if outside(axiom, profile) is None] == inside.split()


@pytest.mark.parametrize(
    ("axiom", "profile", "reason"),
    [
        (ax.SubClassOf("<A>", SOME), "rl", "an existential on the right is outside OWL 2 RL"),
        (ax.SubClassOf(SOME, "<A>"), "ql", "an existential over more than `owl:Thing` on the left is outside OWL 2 QL"),
        (ax.EquivalentClasses(("<A>", SOME)), "pd", "an existential in an equivalence is outside pD*"),
        (
            ax.SubClassOf("<A>", ex.ObjectMaxCardinality(2, "<r>")),
            "rl",
            "a maximum cardinality of 2 on the right is outside OWL 2 RL",
        ),
        (ax.HasKey("<A>", ("<r>",), ()), "ql", "`HasKey` is outside OWL 2 QL"),
    ],
)
def test_the_sentence_names_the_axiom_and_says_why(axiom: Axiom, profile: str, reason: str) -> None:
    assert outside(axiom, profile) == f"`{ax.show(axiom)}`: {reason}"


# What the tests say of themselves and the text of the profiles does not bear out: filler integers are inside RL,
# reflexive properties are not, irreflexive ones are inside QL; and here anonymous individuals are, too.
DISPUTED = {
    ("consistent-integer-filler", "rl"),
    ("inconsistent-integer-filler", "rl"),
    ("New-Feature-ReflexiveProperty-001", "rl"),
    ("New-Feature-IrreflexiveProperty-001", "ql"),
    ("owl2-rl-anonymous-individual", "ql"),
    ("WebOnt-I5.3-008", "ql"),
    ("WebOnt-I5.3-011", "ql"),
}


@pytest.mark.skipif(not DATA.exists(), reason="no test data here")
def test_the_w3c_tests_are_in_the_profiles_that_they_say() -> None:
    disputed = set()
    for test in json.loads((DATA / "index.json").read_text(encoding="utf-8")):
        files = [DATA / test["dir"] / f"{part}.rdf" for part in ("premise", "conclusion", "nonconclusion")]
        # Where there is no RDF to read, and where the files go beyond OWL 2 DL, the profile says nothing.
        if "DL" not in test["species"] or not files[0].exists():
            continue
        for profile in ("rl", "ql"):
            inside = all(
                outside(axiom, profile) is None for file in files if file.exists() for axiom in axioms_of(file)
            )
            if inside != (profile.upper() in test["profiles"]):
                disputed.add((test["dir"], profile))
    assert disputed <= DISPUTED


def axioms_of(path: Path) -> tuple[Axiom, ...]:
    quads = read_graph(path.read_bytes(), "rdfxml", base="http://example.org/")
    return structure.read(quad[:3] for quad in quads).axioms


UNIVERSITY = """Prefix(:=<http://ex.org/>)
Ontology(
  EquivalentClasses(:Chair ObjectIntersectionOf(:Person ObjectSomeValuesFrom(:headOf :Department)))
  DisjointClasses(:Chair :Student)
)"""
FACTS = """@prefix : <http://ex.org/> .
:Person(:ann) at 1. :headOf(:ann,:cs) at 1. :Department(:cs) at 1. :Chair(:bob) at 1. :Student(:bob) at 1.
"""


@pytest.mark.parametrize(
    ("options", "unused", "facts"),
    [
        ("--profile rl", "SubClassOf(:Chair ObjectSomeValuesFrom(:headOf :Department))", ":Chair(:ann) :Person(:bob)"),
        (
            "--profile ql",
            "SubClassOf(ObjectIntersectionOf(:Person ObjectSomeValuesFrom(:headOf :Department)) :Chair)",
            ":Person(:bob)",
        ),
        (
            "--as consistency --window 5",
            "SubClassOf(ObjectIntersectionOf(:Person ObjectSomeValuesFrom(:headOf :Department)) :Chair)",
            "",
        ),
        ("--profile pd", "EquivalentClasses(:Chair", ""),
        ("--profile rdfs", "EquivalentClasses(:Chair", ""),
    ],
)
def test_of_an_axiom_that_is_used_in_part_only_the_rest_is_reported(
    options: str, unused: str, facts: str, tmp_path: Path
) -> None:
    (tmp_path / "u.ofn").write_text(UNIVERSITY)
    (tmp_path / "u.facts").write_text(FACTS)
    command = ["run", str(tmp_path / "u.ofn"), "--stream", str(tmp_path / "u.facts"), *options.split()]
    result = CliRunner().invoke(app, command, catch_exceptions=False)
    assert result.exit_code == 0
    lines = [line for line in result.stderr.splitlines() if "W409" in line and ":Chair" in line]
    assert [f"`{unused}" in line for line in lines if "Disjoint" not in line] == [True]
    assert ("the other parts of its axiom are used" in result.stderr) == unused.startswith("SubClassOf")
    short = result.stdout.replace("<http://ex.org/", ":").replace(">", "")
    assert [fact for fact in facts.split() if fact not in short] == []
