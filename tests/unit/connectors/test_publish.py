"""Facts as graphs that other libraries read, and that we read again."""

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.connectors.publish import PublishedGraph
from thalweg.model.fact import Fact
from thalweg.model.rdf import fact_of, literal, read_graph

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
NAMES = st.sampled_from(["<http://example.org/a>", "<http://example.org/é#b>", "<a>", "<p>", "road1", "x"])
ARGUMENTS = NAMES | st.sampled_from(["7", "-2.50"]) | st.builds(literal, TEXTS, st.sampled_from(["", "@en", "<urn:t>"]))
FACTS = st.builds(lambda name, args: str(Fact(name, tuple(args))), NAMES, st.lists(ARGUMENTS, max_size=3))
SAID = (("<http://example.org/by>", '"me"'), ("<http://example.org/at>", "<http://example.org/home>"))


@pytest.mark.parametrize("format", ["nquads", "jsonld"])
@given(facts=st.lists(FACTS, unique=True, max_size=6))
def test_facts_are_read_as_what_they_were(format, facts):
    text = getattr(PublishedGraph("<urn:g>", tuple(facts), SAID), format)()
    quads = list(read_graph(text.encode(), format))
    assert {str(fact_of(*quad[:3])) for quad in quads if quad[3] == "<urn:g>"} == set(facts)
    assert [quad[1] for quad in quads if quad[3] is None] == [predicate for predicate, _ in SAID]


@given(facts=st.lists(FACTS, unique=True, max_size=6))
def test_both_syntaxes_say_the_same_to_another_library(facts):
    graph = PublishedGraph("<urn:g>", tuple(facts), SAID)
    lines = ox.parse(graph.nquads(), format=ox.RdfFormat.N_QUADS)
    assert set(lines) == set(ox.parse(graph.jsonld(), format=ox.RdfFormat.JSON_LD))


def test_lines_are_sorted_and_what_is_said_comes_first():
    graph = PublishedGraph(
        "<urn:g>", ("<http://a/z>(<http://a/a>)", "<http://a/p>(<http://a/a>,3)", "<http://a/p>(_:b,3)"), SAID
    )
    lines = graph.nquads().splitlines()
    assert [line.split()[0] for line in lines] == ["<urn:g>", "<urn:g>", "<http://a/a>", "<http://a/a>", "_:b"]
    assert lines[2:] == sorted(lines[2:])


def test_a_document_of_json_ld_is_one_line():
    text = PublishedGraph("<urn:g>", ('<http://a/p>(<http://a/a>,"a\\nb")',), SAID).jsonld()
    assert text.count("\n") == 1
    assert text.endswith("}\n")
