"""The page of axioms says what is the case."""

import re
from pathlib import Path

import pytest

from thalweg.ir.text import show as text
from thalweg.languages.owl import syntaxes
from thalweg.languages.owl.axioms import Axiom
from thalweg.languages.owl.profiles import outside
from thalweg.languages.owl.ql import rewrite

pytest.importorskip("pyhornedowl")

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "owl-axioms.md"
PROFILES = ("rdfs", "pd", "rl", "ql")
ONTOLOGY = """Prefix(:=<http://example.org/>) Prefix(owl:=<http://www.w3.org/2002/07/owl#>)
Prefix(rdfs:=<http://www.w3.org/2000/01/rdf-schema#>) Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>)
Ontology(Declaration(ObjectProperty(:r)) Declaration(ObjectProperty(:s)) Declaration(DataProperty(:p)) {})"""
# Predicates for values are left out unless something asks for them.
ASKING = "ObjectPropertyDomain(:r :D) DataPropertyDomain(:p :D)"


def axioms_of(functional: str) -> tuple[Axiom, ...]:
    return syntaxes.read(ONTOLOGY.format(functional), "ofn").axioms


def rules_of(axioms: tuple[Axiom, ...]) -> set[str]:
    shown = (
        text(rule).replace("<http://www.w3.org/2002/07/owl#", "<http://example.org/owl:")
        for rule in rewrite(axioms).rules
    )
    return {re.sub(r"<http://example.org/([^>]*)>", r"\1", rule) for rule in shown}


ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if re.match(r"\| `\w+\(", line)
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row[0]))
def test_a_row_is_true(row: list[str]) -> None:
    (axiom,) = axioms_of(row[0].strip("`"))
    assert row[1:5] == ["✓" if outside(axiom, profile) is None else "–" for profile in PROFILES]
    rules = set(re.findall(r"`([^`]* :- [^`]*)`", row[5]))
    alone = rules_of((axiom,))
    assert rules == alone if alone else rules <= rules_of((axiom, *axioms_of(ASKING)))


def test_every_axiom_has_a_row() -> None:
    known = {re.match(r"`(\w+)\(", row[0]).group(1) for row in ROWS}  # type: ignore[union-attr]
    families = {
        "ClassesAxiom",
        "PropertiesAxiom",
        "PropertyDomain",
        "Characteristic",
        "IndividualsAxiom",
        "PropertyAssertion",
    }
    kinds = (kind for part in Axiom.__subclasses__() for kind in (part.__subclasses__() or [part]))
    assert known == {kind.__name__ for kind in kinds} - families
