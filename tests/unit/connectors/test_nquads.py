import gzip
import json
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg import run
from thalweg.connectors.readers import open_reader
from thalweg.diagnostics import Diagnostic
from thalweg.model.dictionary import Dictionary
from thalweg.model.rdf import GENERATED_AT, RDF_TYPE, XSD, literal
from thalweg.model.time import Clock

DATA = Path(__file__).parents[4] / "shared" / "data"


def at(event, tick):
    return f'{event} {GENERATED_AT} "{tick}"^^<{XSD}integer> .'


def read(*lines, step=None):
    """Batches as (tick, facts), and diagnostics; the text comes in blocks of `step` bytes."""
    words = Dictionary()
    reader = open_reader("in.nq", "in", words, Clock())
    data = "\n".join(lines).encode()
    size = step or len(data) or 1
    items = [item for start in range(0, len(data), size) for item in reader.feed(data[start : start + size])]
    items += reader.finish()
    return [item if isinstance(item, Diagnostic) else (item[0], [*map(str, item[1].facts(words))]) for item in items]


A, B, C = "<a> <p> <x> <e1> .", "<b> <p> <x> <e1> .", f"<c> {RDF_TYPE} <C> <e2> ."
WANTED = [(1, ["<p>(<a>,<x>)", "<p>(<b>,<x>)"]), (2, ["<C>(<c>)"])]


@pytest.mark.parametrize(
    "lines",
    [
        (at("<e1>", 1), A, B, at("<e2>", 2), C),
        (A, B, at("<e1>", 1), C, at("<e2>", 2)),
        (at("<e1>", 1), at("<e2>", 2), A, B, C),
        (A, at("<e1>", 1), B, at("<e2>", 2), C),
        (A, C, B, at("<e1>", 1), at("<e2>", 2)),
        (A, B, C, at("<e1>", 1), at("<e2>", 2)),
        ("# comment", at("<e1>", 1), "", A, at("<e1>", 1), B, C, at("<e2>", 2)),
    ],
)
def test_an_event_has_its_time_before_or_behind_its_quads(lines):
    assert read(*lines) == WANTED


def test_an_event_is_complete_when_another_one_follows():
    reader = open_reader("in.nq", "in", Dictionary(), Clock())
    assert list(reader.feed("\n".join([at("<e1>", 1), A, B, "<e1> <by> <sensor> .", ""]).encode())) == []
    assert [tick for tick, _ in reader.feed(C.encode() + b"\n")] == [1]
    assert list(reader.feed(at("<e2>", 2).encode() + b"\n")) == []
    assert [tick for tick, _ in reader.feed(at("<e3>", 3).encode() + b"\n")] == [2]
    assert list(reader.finish()) == []


def test_a_quad_that_comes_when_its_event_is_complete_has_no_time():
    first, second, found = read(at("<e1>", 1), A, at("<e2>", 2), C, B)
    assert (first[0], second[0]) == (1, 2)
    assert found.as_data()["line"] == 5
    assert "keep the quads of an event together" in found.help


def test_times_are_timestamps_or_ticks():
    time = f'<e1> {GENERATED_AT} "1970-01-01T00:00:36Z"^^<{XSD}dateTime> .'
    assert read(time, A) == read(at("<e1>", 36), A) == [(36, ["<p>(<a>,<x>)"])]


def test_an_event_may_be_a_blank_node_and_its_terms_may_have_escapes():
    assert read(at("_:e", 5), r'_:a <p> "\u0041\n"@EN _:e . # so it is') == [(5, ['<p>(_:in_0_a,"A\\n"@en)'])]


def test_what_else_is_said_of_an_event_is_no_part_of_it():
    assert read("<e1> <by> <sensor> .", at("<e1>", 1), "<s> <p> <o> .", A) == [(1, ["<p>(<a>,<x>)"])]
    assert read(at("<e1>", 1)) == []


def test_a_time_inside_an_event_is_a_fact_of_it():
    inside = f'<a> {GENERATED_AT} "9"^^<{XSD}integer> <e1> .'
    assert read(at("<e1>", 1), inside) == [(1, [f"{GENERATED_AT}(<a>,9)"])]


@pytest.mark.parametrize(
    ("line", "column", "part"),
    [
        ("<a> <p> <x> <e1>", 17, "expected a full stop"),
        ("<a> <p> <x> <e1> <e2> .", 18, "expected a full stop, found `<e2>`"),
        ('<a> <p> <x> "e1" .', 13, "expected a full stop"),
        ("<a> _:p <x> <e1> .", 5, "expected a predicate"),
        ("<a> <p> <> <e1> .", 9, "not an IRI"),
        (f'<e9> {GENERATED_AT} "noon" .', 50, "neither a tick nor a timestamp"),
        (f'<e9> {GENERATED_AT} "noon"^^<{XSD}dateTime> .', 50, "neither a tick nor a timestamp"),
        (f'<e9> {GENERATED_AT} "noon"@en .', 50, "not a time"),
        (at("<e1>", -1), 50, "not a time"),
        (at("<e1>", 2), 1, "different time"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(line, column, part):
    found, after = read(at("<e1>", 1), line, B)
    assert after == (1, ["<p>(<b>,<x>)"])
    data = found.as_data()
    assert (data["code"], data["file"], data["line"], data["column"]) == ("E301", "in.nq", 2, column)
    assert part in found.message


def test_an_event_without_a_time_is_told_at_the_end():
    event, found = read(A, at("<e1>", 1), "", C)
    assert event == (1, ["<p>(<a>,<x>)"])
    assert (found.code, found.as_data()["line"]) == ("E301", 4)
    assert "`<e2>` has no time" in found.message
    assert GENERATED_AT in found.help


def test_a_file_without_any_event_is_told():
    (found,) = read("", "<s> <p> <o> .", "<s> <p> <o2> .")
    assert (found.code, found.as_data()["line"]) == ("E301", 2)
    assert "no event" in found.message


@given(st.permutations([at("<e1>", 1), at("<e2>", 2), "<e1> <by> <s> .", A, C, "<oops"]), st.integers(1, 60))
def test_blocks_may_end_anywhere(lines, step):
    def outcome(items):
        stated = [f"{fact} at {one[0]}" for one in items if isinstance(one, tuple) for fact in one[1]]
        return stated, [one for one in items if isinstance(one, Diagnostic)]

    assert outcome(read(*lines, step=step)) == outcome(read(*lines))
    assert sorted(outcome(read(*lines))[0]) == ["<C>(<c>) at 2", "<p>(<a>,<x>) at 1"]


def test_a_program_with_prefixes_meets_the_facts(tmp_path):
    path = tmp_path / "in.nq.gz"
    lines = (at("<e>", 3), f'<http://ex.org/a> <http://ex.org/speed> "12"^^<{XSD}integer> <e> .')
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    rules = "@prefix ex: <http://ex.org/> .\nex:slow(S) :- ex:speed(S,V), V < 20."
    assert [str(answer) for answer in run(rules, stream=path)] == [
        '{"t":3,"begin":["<http://ex.org/slow>(<http://ex.org/a>)"],"end":[]}'
    ]


# Data from elsewhere -------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not (DATA / "citybench").exists(), reason="the data of CityBench are not here")
def test_the_events_of_a_city():
    packed = (DATA / "citybench" / "stream.jsonl.gz").read_bytes()
    events = [json.loads(line) for line in gzip.decompress(packed).splitlines()]
    lines, expected = [], []
    for number, event in enumerate(events):
        graph, tick = ox.NamedNode(f"http://example.org/event/{number}"), event["ts"] // 1000
        triples = list(ox.parse(event["ntriples"], format=ox.RdfFormat.N_TRIPLES))
        lines += [at(graph, tick), *(f"{one.triple} {graph} ." for one in triples)]
        expected += [f"{fact_of(one)} at {tick}" for one in triples]
    found = read(*lines)
    assert len(expected) > 1000
    assert [f"{fact} at {tick}" for tick, facts in found for fact in facts] == expected


def fact_of(quad):
    if str(quad.predicate) == RDF_TYPE:
        return f"{quad.object}({quad.subject})"
    is_literal = isinstance(quad.object, ox.Literal)
    shown = literal(quad.object.value, str(quad.object.datatype)) if is_literal else quad.object
    return f"{quad.predicate}({quad.subject},{shown})"


@pytest.mark.parametrize(
    "path",
    sorted((DATA / "w3c" / "rdf-n-quads").glob("*.nq")) or [None],
    ids=lambda path: path.name if path else "absent",
)
def test_the_standard(path):
    if path is None:
        pytest.skip("the tests of the W3C are not here")
    found = [one for one in read(path.read_text()) if isinstance(one, Diagnostic)]
    malformed = [one for one in found if "no time" not in one.message and "no event" not in one.message]
    # Relative IRIs are names here like any other.
    relative = ("nq-syntax-bad-uri-01", *(f"nt-syntax-bad-uri-0{n}" for n in (6, 7, 8, 9)))
    assert bool(malformed) == ("-bad-" in path.name and not path.name.startswith(relative))
