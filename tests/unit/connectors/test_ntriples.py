from pathlib import Path

import numpy as np
import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.connectors.readers import open_reader
from thalweg.diagnostics import Diagnostic
from thalweg.languages.lars.facts import read_fact
from thalweg.model.dictionary import Dictionary
from thalweg.model.rdf import RDF_TYPE, XSD, blank, literal
from thalweg.model.time import Clock

CLOCK = Clock()
W3C = Path(__file__).parents[4] / "shared" / "data" / "w3c" / "rdf-n-triples"


def read(text, name="in.tnt", step=None, clock=CLOCK):
    """Batches as (tick, facts), and diagnostics; the text comes in blocks of `step` bytes."""
    words = Dictionary()
    reader = open_reader(name, "in", words, clock)
    data = text.encode() if isinstance(text, str) else text
    size = step or len(data) or 1
    blocks = [data[start : start + size] for start in range(0, len(data), size)]
    items = [item for block in blocks for item in reader.feed(block)] + list(reader.finish())
    return [item if isinstance(item, Diagnostic) else (item[0], [*map(str, item[1].facts(words))]) for item in items]


def flat(items):
    return [f"{fact} at {tick}" for tick, found in items for fact in found]


def test_a_triple_is_a_fact():
    text = f'36 <s> <p> <o> .\n36 <s> {RDF_TYPE} <C> .\n37 <s> <p> "3"^^<{XSD}integer> .\n'
    assert read(text) == [(36, ["<p>(<s>,<o>)", "<C>(<s>)"]), (37, ["<p>(<s>,3)"])]


def test_a_class_without_a_name_stays_an_argument():
    assert read(f'1 <s> {RDF_TYPE} "C" .\n1 <s> {RDF_TYPE} _:c .\n') == [
        (1, [f'{RDF_TYPE}(<s>,"C")', f"{RDF_TYPE}(<s>,_:in_0_c)"])
    ]


@pytest.mark.parametrize(
    "line",
    [
        "36 <s> <p> <o> .",
        "36\t<s>  <p>\t<o>.",
        "36<s><p><o>.",
        " 36 <s> <p> <o> . # comment",
        "1970-01-01T00:00:36Z <s> <p> <o> .",
        "1970-01-01T01:00:36.5+01:00 <s> <p> <o> .",
        '"1970-01-01T00:00:36Z" <s> <p> <o> .',
        f'"1970-01-01T00:00:36Z"^^<{XSD}dateTime> <s> <p> <o> .',
        f'"36"^^<{XSD}integer> <s> <p> <o> .',
        "36 <s> <p> <o> .\r",
        "\ufeff36 <s> <p> <o> .",
        r"36 <\u0073> <p> <\U0000006F> .",
    ],
)
def test_many_ways_to_write_one_line(line):
    assert read(line) == read(line + "\n") == [(36, ["<p>(<s>,<o>)"])]


def test_timestamps_go_through_the_clock():
    assert read("1970-01-01T00:01:30Z <s> <p> <o> .", clock=Clock(tick_length=10_000)) == [(9, ["<p>(<s>,<o>)"])]


def test_blank_lines_and_comments_do_not_end_a_run():
    assert read("# a\n\n1 <s> <p> <a> .\n \t\n# b\n1 <s> <p> <b> .\n") == [(1, ["<p>(<s>,<a>)", "<p>(<s>,<b>)"])]


def test_a_run_is_one_batch_however_its_time_is_written():
    text = "3 <s> <p> <a> .\n1970-01-01T00:00:03Z <s> <p> <b> .\n3 _:c <p> <b> .\n2 <s> <p> <a> .\n"
    assert [tick for tick, _ in read(text)] == [3, 2]


def test_a_blank_node_is_not_a_term_that_is_spelled_like_it():
    words = Dictionary()
    words.code("_:b")
    words.code("_:in_0_b")
    (_, batch), *_ = open_reader("in.tnt", "in", words, CLOCK).feed(b"1 _:b <p> _:in_0_b .\n")
    assert [str(fact) for fact in batch.facts(words)] == ["<p>(_:in_0_b,_:in_0_in__0__b)"]


LINE = st.sampled_from(
    ["1 <s> <p> <o> .", '2 <s> <p> "ü" .', "1 _:b <q> <o> .", "# no", "", "3 <s> <p .", '2 <s> <p> "\\t"@EN . # x']
)


@given(st.lists(LINE), st.integers(1, 40))
def test_blocks_may_end_anywhere(lines, step):
    text = "\n".join(lines)
    whole, cut = read(text), read(text, step=step)
    assert flat(one for one in whole if isinstance(one, tuple)) == flat(one for one in cut if isinstance(one, tuple))
    assert [one for one in whole if isinstance(one, Diagnostic)] == [one for one in cut if isinstance(one, Diagnostic)]


@pytest.mark.parametrize(
    ("line", "column", "part"),
    [
        ("<s> <p> <o> .", 1, "expected a tick or a timestamp, found `<s>`"),
        ("-1 <s> <p> <o> .", 1, "expected a tick"),
        ("3x <s> <p> <o> .", 2, "expected a subject, an IRI `<…>` or a blank node `_:b`, found `x`"),
        ("2014-13-01T00:00:00Z <s> <p> <o> .", 1, "neither a tick nor a timestamp"),
        ("1960-01-01T00:00:00Z <s> <p> <o> .", 1, "outside the timeline"),
        (f"{2**62} <s> <p> <o> .", 1, "outside the timeline"),
        ('3 "s" <p> <o> .', 3, 'found `"s"`'),
        ("3 <s> _:p <o> .", 7, "expected a predicate, an IRI `<…>`, found `_:p`"),
        ("3 <s> <p> .", 11, "expected an object"),
        ("3 <s> <p> 3 .", 11, "expected an object"),
        ('3 <s> <p> "o .', 11, "expected an object"),
        (r'3 <s> <p> "\x" .', 11, "expected an object"),
        ("3 <s> <p> <o>", 14, "expected a full stop, found the end of the line"),
        ("3 <s> <p> <o> <g> .", 15, "expected a full stop, found `<g>`"),
        ("3 <s> <p> <o> . x", 17, "expected the end of the line, found `x`"),
        ("3 <s> <p> <> .", 11, "`<>` is not an IRI"),
        (r'3 <s> <p> "\uD800" .', 11, "not a character"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(line, column, part):
    before, found, after = read(f"1 <s> <p> <o> .\n{line}\n4 <s> <p> <o> .\n")
    assert (before[0], after[0]) == (1, 4)
    data = found.as_data()
    assert (data["code"], data["file"], data["line"], data["column"]) == ("E301", "in.tnt", 2, column)
    assert part in found.message


def test_a_line_that_is_no_text_costs_that_line_only():
    first, found, last = read(b"1 <s> <p> <o> .\n2 <s> <p> <\xff> .\n3 <s> <p> <o> .\n")
    assert (first[0], found.as_data()["line"], last[0]) == (1, 2, 3)
    assert "UTF-8" in found.message


def test_the_dictionary_may_be_collected_between_any_two_batches():
    words = Dictionary()
    reader = open_reader("in.tnt", "in", words, CLOCK)
    found = []
    for tick, batch in reader.feed(b'1 <a> <p> <b> .\n1 _:a <p> "b" .\n2 <c> <p> "b" .\n3 <a> <p> "x"@EN .\n'):
        found += [f"{fact} at {tick}" for fact in batch.facts(words)]
        # Nothing is in use any more: every entry goes to somebody else.
        words.collect(np.array([], dtype=np.int64))
    assert found == ["<p>(<a>,<b>) at 1", "<p>(_:in_0_a,b) at 1", "<p>(<c>,b) at 2", '<p>(<a>,"x"@en) at 3']


# What another library writes, and what the standard says -------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NAMED = st.builds(
    lambda tail: ox.NamedNode(f"http://example.org/{tail}"), st.sampled_from(["a", "b", "é", "%20", "x#y"])
)
BLANKS = st.builds(ox.BlankNode, st.from_regex(r"[A-Za-z0-9_]{1,5}", fullmatch=True))
LITERALS = st.one_of(
    st.builds(ox.Literal, TEXT),
    st.builds(lambda text: ox.Literal(text, language="en-GB"), TEXT),
    st.builds(ox.Literal, st.integers(-(10**20), 10**20)),
    st.builds(lambda text: ox.Literal(text, datatype=ox.NamedNode(f"{XSD}double")), TEXT),
)
TRIPLES = st.builds(ox.Triple, NAMED | BLANKS, NAMED, NAMED | BLANKS | LITERALS)


def spelled(node):
    """The term of another library's term."""
    if isinstance(node, ox.BlankNode):
        return blank(node.value, "in")
    if isinstance(node, ox.Literal):
        return literal(node.value, f"@{node.language}" if node.language else str(node.datatype))
    return f"<{node.value}>"


@given(st.lists(TRIPLES, max_size=5))
def test_what_another_library_writes_is_read(triples):
    text = "".join(f"7 {triple} .\n" for triple in triples)
    expected = [f"<{one.predicate.value}>({spelled(one.subject)},{spelled(one.object)})" for one in triples]
    assert read(text) == ([(7, expected)] if triples else [])


@given(TRIPLES)
def test_what_is_read_prints_as_a_fact_that_can_be_read(triple):
    ((_, (fact,)),) = read(f"7 {triple} .")
    if isinstance(triple.object, ox.Literal) and "integer>" in fact:
        return  # An integer too large for a rule to write.
    assert str(read_fact(fact)) == fact


@pytest.mark.parametrize("path", sorted(W3C.glob("*.nt")) or [None], ids=lambda path: path.name if path else "absent")
def test_the_standard(path):
    if path is None:
        pytest.skip("the tests of the W3C are not here")
    lines = path.read_bytes().split(b"\n")
    stamped = [line if not line.strip() or line.lstrip()[:1] == b"#" else b"1 " + line for line in lines]
    found = read(b"\n".join(stamped))
    # Relative IRIs are names here like any other.
    bad = "-bad-" in path.name and not path.name.startswith(tuple(f"nt-syntax-bad-uri-0{n}" for n in (6, 7, 8, 9)))
    assert any(isinstance(one, Diagnostic) for one in found) == bad
    if "-bad-" not in path.name:
        read_there = [
            f"<{one.predicate.value}>({spelled(one.subject)},{spelled(one.object)})"
            for one in ox.parse(path.read_bytes(), format=ox.RdfFormat.N_TRIPLES)
        ]
        assert [fact for _, facts in found for fact in facts] == read_there
