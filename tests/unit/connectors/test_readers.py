from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.connectors.documents import JsonLdReader, TrigReader
from thalweg.connectors.readers import (
    ArrowReader,
    FactLinesReader,
    JsonLinesReader,
    MappedCsvReader,
    QuadReader,
    SniffingReader,
    TripleReader,
    format_by_content,
    format_of,
    open_reader,
)
from thalweg.diagnostics import Diagnostic
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import Clock


def read(blocks, name="-"):
    """What comes out, written as fact streams are; diagnostics as code and place."""
    words = Dictionary()
    reader = open_reader(name, "s", words, Clock())
    items = [*(item for block in blocks for item in reader.feed(block)), *reader.finish()]
    return [
        text
        for item in items
        for text in (
            [f"{item.code} {item.as_data()['line']}:{item.as_data()['column']}"]
            if isinstance(item, Diagnostic)
            else [f"{fact} at {item[0]}" for fact in item[1].facts(words)]
        )
    ]


@pytest.mark.parametrize(
    ("name", "reader"),
    [
        ("a.facts", FactLinesReader),
        ("a.facts.gz", FactLinesReader),
        ("a.b/c.jsonl", JsonLinesReader),
        ("a.ndjson.gz", JsonLinesReader),
        ("a.tnt", TripleReader),
        ("a.nq.gz", QuadReader),
        ("a.trig", TrigReader),
        ("a.jsonld.gz", JsonLdReader),
        ("a.csv", MappedCsvReader),
        ("a.parquet", ArrowReader),
        ("-", SniffingReader),
        ("tcp://localhost:9", SniffingReader),
        ("/dev/fd/63", SniffingReader),
    ],
)
def test_the_ending_says_the_format(name, reader):
    assert isinstance(open_reader(name, None, Dictionary(), Clock()), reader)


def test_an_unknown_ending_says_nothing():
    assert format_of("readings.txt") is format_of("readings") is format_of("gz") is None


@pytest.mark.parametrize(
    "text", [b"p(a) at 3.\n", b"\n \n p(a) at 3.", b'{"t":3,"facts":["p(a)"]}', b' \n{"t":3,"facts":["p(a)"]}\n']
)
@pytest.mark.parametrize("step", [1, 5, 100])
def test_the_content_says_the_format(text, step):
    assert read([text[start : start + step] for start in range(0, len(text), step)]) == ["p(a) at 3"]


@pytest.mark.parametrize("text", [b"3 <s> <p> <o> .\n", b"\n# comment\n3 <s> <p> <o> ."])
@pytest.mark.parametrize("step", [1, 5, 100])
def test_a_digit_or_a_comment_begins_triples(text, step):
    assert read([text[start : start + step] for start in range(0, len(text), step)]) == ["<p>(<s>,<o>) at 3"]


PREFIX = "@prefix ex: <http://ex.org/> .\n"


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ('{"t": 3', "json"),
        ("{t: 3}", "json"),
        ('{ "@id": 3', "jsonld"),
        ('[\n{"t"', "jsonld"),
        ("3 <a> <b> <c> .", "triples"),
        ('# a\n"1970-01-01T00:00:00Z" <a>', "triples"),
        ("<a> <b> <c> <d> .\n", "quads"),
        ("# a\n_:a <b> <c> .\n<d>", "quads"),
        ("<a> { <b> <c> <d> }", "trig"),
        ("_:a {", "trig"),
        ("<a> <b> <c> ; <d> <e> .\n", "trig"),
        ("PREFIX ex: <http://ex.org/>", "trig"),
        ("@base <http://ex.org/> .", "trig"),
        ("GRAPH <a> {", "trig"),
        ("[] <b> <c> .", "trig"),
        (PREFIX + "ex:g { ex:a ex:b ex:c }\n", "trig"),
        (PREFIX + "<a> <b> ex:c .\n", "trig"),
        (PREFIX + "ex:p(a) at 3.", "facts"),
        (PREFIX + "ex:p at 3.", "facts"),
        (PREFIX + "% facts", "facts"),
        ("<http://ex.org/p>(a) at 3.", "facts"),
        ("p(a) at 3.", "facts"),
        ("prefix(a) at 3.", "facts"),
        ("\ufeffp(a) at 3.", "facts"),
        ("p.\n", "facts"),
    ],
)
def test_how_a_stream_begins_says_its_format(text, format):
    data = text.encode()
    assert format_by_content(data) == format
    # Seen byte by byte, nothing is decided too early.
    assert {format_by_content(data[:end]) for end in range(len(data))} <= {None, format}


@pytest.mark.parametrize("text", ["p(a) at 3.", "3 <a> <p> <b> .", "fact,t\np(a),3"])
@pytest.mark.parametrize("name", ["in.facts", "in.tnt", "in.csv"])
def test_a_mark_of_the_byte_order_is_passed_over(name, text):
    assert read([b"\xef\xbb\xbf" + text.encode()], name) == read([text.encode()], name)


def test_nothing_is_an_empty_stream():
    assert read([]) == read([b""]) == read([b" \n"]) == []


TEXT = 'p(a) at 3. % first\nq("ü",b) at 3.\n\np(b at 4.\np(c) at 5. p(d) at 5.'


@given(st.lists(st.integers(0, len(TEXT.encode()))))
def test_blocks_may_end_anywhere(cuts):
    data = TEXT.encode()
    places = [0, *sorted(cuts), len(data)]
    blocks = [data[start:end] for start, end in pairwise(places)]
    found = read(blocks, "in.facts")
    assert [line for line in found if line[0] != "E"] == ["p(a) at 3", 'q("ü",b) at 3', "p(c) at 5", "p(d) at 5"]
    assert [line.partition(":")[0] for line in found if line[0] == "E"] == ["E301 4"]


def test_a_line_that_is_no_text_costs_that_line_only():
    data = b"p(a) at 3.\np(\xff) at 4.\np(b) at 5.\np( at 6.\np(c) at 7."
    found = read([data], "in.facts")
    assert found[:3] == ["p(a) at 3", "E301 2:3", "p(b) at 5"]
    assert found[3].startswith("E301 4:")
    assert found[4:] == ["p(c) at 7"]
    assert read([b"p(\xff) at 4."], "in.facts") == ["E301 1:3"]


def test_what_a_reader_saved_stays_as_it_was_while_it_reads_on():
    time = b'<e1> <http://www.w3.org/ns/prov#generatedAtTime> "36"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    lines = [b"<a> <p> <b> <e1> .\n", b"<a> <p> <c> <e1> .\n"]
    words = Dictionary()
    reader = QuadReader(words, "in.nq", "in", Clock(), "in")
    assert not list(reader.feed(time + lines[0]))
    saved = reader.save()
    assert not list(reader.feed(lines[1]))
    again = QuadReader(words, "in.nq", "in", Clock(), "in")
    again.load(saved)
    (_, batch), *rest = [*again.feed(lines[1]), *again.finish()]
    assert not rest
    assert [str(fact) for fact in batch.facts(words)] == ["<p>(<a>,<b>)", "<p>(<a>,<c>)"]
