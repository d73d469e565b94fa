"""What literals say by themselves."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.model.literals import DATATYPES, LITERAL, describe, stand_in
from thalweg.model.rdf import XSD, literal


def named(word: str) -> str:
    return f"<{XSD}{word}>"


def typed(text: str, word: str) -> str:
    return literal(text, named(word))


def value(term: str) -> str | None:
    return next((fact.terms[1] for fact in describe(term, ()) if fact.predicate == "literal"), None)


def types(term: str) -> set[str]:
    return {re.split("[#>]", fact.terms[2])[1] for fact in describe(term) if fact.predicate == "literal"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3", "3.0"),
        ("3", typed("+03", "byte")),
        ("0", typed("-0", "integer")),
        ("2.50", typed("2.5", "decimal")),
        (typed("1e3", "double"), typed("1000", "double")),
        (typed("INF", "float"), typed("1e39", "float")),
        (typed("1", "boolean"), typed("true", "boolean")),
        (typed("0a", "hexBinary"), typed("0A", "hexBinary")),
        (typed("QQ ==", "base64Binary"), typed("QQ==", "base64Binary")),
        ('"chat"@fr', '"chat@FR"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#PlainLiteral>'),
        ('"cat"', '"cat@"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#PlainLiteral>'),
        (typed("cat", "token"), '"cat"'),
        (typed("2000-02-29T24:00:00Z", "dateTime"), typed("2000-03-01T00:00:00.00-00:00", "dateTime")),
        (typed("1999-12-31T24:00:00", "dateTime"), typed("2000-01-01T00:00:00", "dateTime")),
    ],
)
def test_one_value_written_twice(one: str, other: str) -> None:
    assert value(one) is not None
    assert value(one) == value(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3", '"3"'),
        ("3", typed("3", "float")),
        (typed("3", "float"), typed("3", "double")),
        (typed("0.0", "float"), typed("-0.0", "float")),
        ('"chat"@fr', '"chat"@en'),
        ('"chat"@fr', '"chat"'),
        (typed("0a", "hexBinary"), typed("Cg==", "base64Binary")),
        (typed("a", "anyURI"), '"a"'),
        (typed("2000-01-01T12:00:00Z", "dateTime"), typed("2000-01-01T13:00:00+01:00", "dateTime")),
        (typed("2000-01-01T12:00:00Z", "dateTime"), typed("2000-01-01T12:00:00", "dateTime")),
    ],
)
def test_two_values(one: str, other: str) -> None:
    assert value(one) is not None
    assert value(other) is not None
    assert value(one) != value(other)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("cat", "integer"),
        ("3.0", "int"),
        ("300", "byte"),
        ("-1", "unsignedInt"),
        ("0", "positiveInteger"),
        ("yes", "boolean"),
        ("abc", "hexBinary"),
        ("a b", "NMTOKEN"),
        ("1a", "NCName"),
        ("a:b", "NCName"),
        (" cat", "token"),
        ("a\tb", "normalizedString"),
        ("1999-02-29T00:00:00", "dateTime"),
        ("2000-01-01T25:00:00", "dateTime"),
        ("2000-01-01T12:00:00", "dateTimeStamp"),
        ("2000-01-01", "dateTime"),
    ],
)
def test_ill_typed(text: str, word: str) -> None:
    term = f'"{text}"^^{named(word)}'.replace("\t", "\\t")
    facts = describe(term, [named(word)])
    assert [fact.predicate for fact in facts] == ["ill_typed", "outside", "outside"]
    assert [fact.terms[1] for fact in facts[1:]] == [LITERAL, named(word)]
    assert stand_in(term) is None


def test_the_datatypes_of_a_value() -> None:
    assert types("300") == {
        "Literal", "decimal", "integer", "nonNegativeInteger", "positiveInteger", "long", "int", "short",
        "unsignedLong", "unsignedInt", "unsignedShort",
    }  # fmt: skip
    assert types("2.5") == {"Literal", "decimal"}
    assert types("cat") == {
        "Literal", "PlainLiteral", "string", "normalizedString", "token", "language", "Name", "NCName", "NMTOKEN",
    }  # fmt: skip
    assert types('"a b"@en') == {"Literal", "PlainLiteral"}
    assert types(typed("2000-01-01T12:00:00Z", "dateTime")) == {"Literal", "dateTime", "dateTimeStamp"}


@pytest.mark.parametrize("term", ["<http://example.org/a>", "_:b", f'"3"^^<{XSD}gYear>'])
def test_nothing_is_said_about_the_rest(term: str) -> None:
    assert describe(term) == []


def test_the_datatypes_of_an_ontology_are_enough() -> None:
    facts = describe("3", [named("byte"), "<http://example.org/C>", named("string")])
    assert [(fact.predicate, fact.terms[-1]) for fact in facts] == [
        ("literal", LITERAL),
        ("literal", named("byte")),
        ("outside", named("string")),
    ]


@given(st.integers(-(2**70), 2**70), st.sampled_from(["integer", "long", "unsignedByte", "nonPositiveInteger"]))
def test_integers_are_where_their_bounds_say(number: int, word: str) -> None:
    bounds = {"integer": (None, None), "long": (-(2**63), 2**63 - 1), "unsignedByte": (0, 255)}
    low, high = bounds.get(word, (None, 0))
    inside = (low is None or number >= low) and (high is None or number <= high)
    assert (word in types(literal(str(number), named("integer")))) == inside


@given(st.text(alphabet="ab1.:-+eE \tZT@", max_size=6), st.sampled_from(sorted(DATATYPES)))
def test_a_literal_is_described_whatever_it_says(text: str, datatype: str) -> None:
    facts = describe(literal(text, datatype))
    about = [fact for fact in facts if fact.predicate != "ill_typed"]
    assert len(about) == len(DATATYPES) + 1
    assert len({fact.terms[1] for fact in facts if fact.predicate == "literal"}) <= 1
