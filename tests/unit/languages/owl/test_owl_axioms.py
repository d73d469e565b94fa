"""Axioms and expressions are values, and print in functional syntax."""

import pytest

from thalweg.languages.owl import axioms as ax
from thalweg.languages.owl import expressions as ex
from thalweg.languages.owl.axioms import mentioned, show

XSD = "http://www.w3.org/2001/XMLSchema#"


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (ax.DisjointClasses(("<Person>", "<Work>")), "DisjointClasses(<Person> <Work>)"),
        (ax.HasKey("<A>", ("<r>",), ()), "HasKey(<A> (<r>) ())"),
        (
            ax.SubObjectPropertyOf(ex.ObjectPropertyChain(("<r>", ex.ObjectInverseOf("<s>"))), "<t>"),
            "SubObjectPropertyOf(ObjectPropertyChain(<r> ObjectInverseOf(<s>)) <t>)",
        ),
        (ex.ObjectMaxCardinality(0, "<r>", "<A>"), "ObjectMaxCardinality(0 <r> <A>)"),
        (ex.DataMinCardinality(0, "<p>"), "DataMinCardinality(0 <p>)"),
        (
            ex.DatatypeRestriction(f"<{XSD}decimal>", ((f"<{XSD}minInclusive>", "0.5"),)),
            f'DatatypeRestriction(<{XSD}decimal> <{XSD}minInclusive> "0.5"^^<{XSD}decimal>)',
        ),
        (ex.DataOneOf(('"a b"', '"chat"@fr')), 'DataOneOf("a b" "chat"@fr)'),
        (ax.Declaration("Class", "<A>"), "Declaration(Class(<A>))"),
        (ax.ClassAssertion(ex.ObjectOneOf(("<a>", "_:b")), "<a>"), "ClassAssertion(ObjectOneOf(<a> _:b) <a>)"),
    ],
)
def test_it_prints_in_functional_syntax(node: object, text: str) -> None:
    assert show(node) == text


def test_members_of_a_family_differ() -> None:
    assert ex.ObjectSomeValuesFrom("<r>", "<A>") != ex.ObjectAllValuesFrom("<r>", "<A>")
    assert ax.EquivalentClasses(("<A>", "<B>")) != ax.DisjointClasses(("<A>", "<B>"))


def test_an_axiom_is_hashable_and_frozen() -> None:
    axiom = ax.SubClassOf("<A>", ex.ObjectSomeValuesFrom("<r>", "<B>"))
    assert {axiom, ax.SubClassOf("<A>", ex.ObjectSomeValuesFrom("<r>", "<B>"))} == {axiom}
    with pytest.raises(AttributeError):
        axiom.sub = "<C>"  # type: ignore[misc]


def test_every_term_is_mentioned() -> None:
    key = ax.HasKey(ex.ObjectHasValue("<r>", "<a>"), (ex.ObjectInverseOf("<s>"),), ("<p>",))
    assert list(mentioned(key)) == ["<r>", "<a>", "<s>", "<p>"]
