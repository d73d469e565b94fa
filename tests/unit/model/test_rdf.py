"""RDF terms become the terms that the rule language writes."""

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.languages.lars.terms import ReadingError, canonical
from thalweg.model.rdf import XSD, blank, literal, number, term
from thalweg.model.term import is_term, quote

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
LEXICAL = TEXTS | st.from_regex(r"-?[0-9]{1,25}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)
TAGS = st.sampled_from(
    ["", "@en", "@EN-gb", *(f"<{XSD}{name}>" for name in ("integer", "decimal", "double", "string", "dateTime"))]
)


def ntriples(text, tag):
    """A literal as another library writes it."""
    if tag.startswith("@"):
        return str(ox.Literal(text, language=tag[1:]))
    return str(ox.Literal(text, datatype=ox.NamedNode(tag[1:-1])) if tag else ox.Literal(text))


@given(LEXICAL, TAGS)
def test_a_literal_is_the_term_that_a_rule_writes(text, tag):
    written = quote(text) + (f"^^{tag}" if tag.startswith("<") else tag)
    try:
        assert literal(text, tag) == canonical(written, {})
    except ReadingError:
        # Too large to calculate with, which a stream may bring all the same: it stays what it is.
        assert literal(text, tag) == written


@given(LEXICAL, TAGS)
def test_every_way_to_write_a_literal_is_one_term(text, tag):
    found = term(ntriples(text, tag))
    assert found == literal(text, tag)
    assert is_term(found)


@given(LEXICAL, TAGS)
def test_a_spelled_literal_is_spelled_for_good(text, tag):
    found = literal(text, tag)
    if found[0] == '"':
        assert term(found) == found


@pytest.mark.parametrize(
    ("written", "spelled"),
    [
        ("<http://example.org/a>", "<http://example.org/a>"),
        (r"<http://example.org/\u00e9\U0001F600>", "<http://example.org/é😀>"),
        ("<s>", "<s>"),
        (r'"\u0041\t\b\f\'\"\\"', '"A\\t\b\f\'\\"\\\\"'),
        (f'"007"^^<{XSD}integer>', "7"),
        (f'"2.50"^^<{XSD}decimal>', "2.50"),
        (f'"2.50"^^<{XSD}double>', f'"2.50"^^<{XSD}double>'),
        (f'"seven"^^<{XSD}integer>', f'"seven"^^<{XSD}integer>'),
        (f'"{10**30}"^^<{XSD}integer>', f'"{10**30}"^^<{XSD}integer>'),
        (f'"x"^^<{XSD}string>', '"x"'),
        ('"x"@EN-GB', '"x"@en-gb'),
        ('"3"', '"3"'),
    ],
)
def test_terms(written, spelled):
    assert term(written) == spelled
    assert is_term(spelled)


def test_literals_that_differ_in_their_tags_are_different_terms():
    tags = ["", "@en", "@fr", f"<{XSD}integer>", f"<{XSD}double>", f"<{XSD}date>"]
    assert len({literal("3", tag) for tag in tags}) == len(tags)


@pytest.mark.parametrize("written", ["<>", r"<a\u0020b>", r'"\uD800"', r'"\U00110000"', "<a\u00a0b>", r'"x"^^<\u003e>'])
def test_what_stands_for_no_term_is_told(written):
    with pytest.raises(ValueError, match=r"is not an IRI|is no character"):
        term(written)


@given(st.tuples(TEXTS, TEXTS), st.tuples(TEXTS, TEXTS))
def test_blank_nodes_are_the_same_only_in_the_same_stream(one, other):
    assert (blank(*one) == blank(*other)) == (one == other)


@given(TEXTS, TEXTS)
def test_a_blank_node_can_be_read_as_a_fact(label, scope):
    assert canonical(blank(label, scope), {}) == blank(label, scope)
    assert is_term(blank(label, scope))


@pytest.mark.parametrize("text", ["", "x", "1e9999", "1" * 300, "--1", "1.", ".5", "1_0", "٣"])
def test_what_is_no_number(text):
    assert number(text) is None
