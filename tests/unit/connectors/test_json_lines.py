import pytest

from thalweg.connectors.json_lines import JsonLinesReader
from thalweg.diagnostics import Diagnostic
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import Clock
from thalweg.runtimes.late import facts

CLOCK = Clock()


def read(text, clock=CLOCK, step=None):
    """Events as (tick, stream, facts), and diagnostics; the text comes in blocks of `step` bytes."""
    words = Dictionary()
    reader = JsonLinesReader(words, "in.jsonl", "in", clock, "in")
    data = text.encode() if isinstance(text, str) else text
    blocks = [data[start : start + (step or len(data))] for start in range(0, len(data), step or len(data) or 1)]
    items = [*(item for block in blocks for item in reader.feed(block)), *reader.finish()]
    return [
        item if isinstance(item, Diagnostic) else (item[0], item[1].stream, [*map(str, facts(item[1], words))])
        for item in items
    ]


def test_events():
    assert read('{"t": 36, "stream": "s", "facts": ["a(x1, y)", "b"]}\n\n{"t":37,"facts":[]}') == [
        (36, "s", ["a(x1,y)", "b"]),
        (37, "in", []),
    ]


@pytest.mark.parametrize("step", [1, 2, 7, 1000])
def test_blocks_may_end_anywhere(step):
    text = '{"t": 36, "facts": ["a(\\"ä\\")"]}\n{"t": 37, "facts": ["b"]}\n'
    assert read(text, step=step) == [(36, "in", ['a("ä")']), (37, "in", ["b"])]


def test_timestamps_go_through_the_clock():
    assert read('{"t": "1970-01-01T00:01:30Z", "facts": ["a"]}', Clock(tick_length=10_000)) == [(9, "in", ["a"])]


def test_answers_and_late_facts_can_be_read_back():
    assert read('{"t":4,"facts":["a"],"partial":true}\n{"t":3,"watermark":5,"stream":null,"facts":["b"]}') == [
        (4, "in", ["a"]),
        (3, None, ["b"]),
    ]


@pytest.mark.parametrize(
    ("line", "code", "column", "part"),
    [
        ('{"t": 36, "facts": ["a"]', "E301", 25, "not JSON"),
        ('{"t": 36}', "E301", 1, "`facts`"),
        ('{"facts": []}', "E301", 1, "`t`"),
        ("[]", "E301", 1, "not an event"),
        ('{"t": -1, "facts": []}', "E301", 1, "no tick"),
        ('{"t": true, "facts": []}', "E301", 1, "no tick"),
        ('{"t": 1.5, "facts": []}', "E301", 1, "no tick"),
        ('{"t": "noon", "facts": []}', "E301", 1, "noon"),
        ('{"t": 1, "facts": "a"}', "E301", 1, "list"),
        ('{"t": 1, "facts": [1]}', "E301", 1, "list"),
        ('{"t": 1, "stream": 2, "facts": []}', "E301", 1, "stream"),
        ('{"t": 1, "facts": ["a", "b(X)"]}', "E301", None, "X"),
        ('{"t": 1, "graph": 3}', "E301", 1, "neither Turtle in a string nor JSON-LD"),
        ('{"t": 1, "graph": "<a> <b> x ."}', "E301", 19, "x is not a valid RDF object (at 1:9 of the graph)"),
        ('{"t": 1, "graph": {"@id": 3}}', "E301", 19, "of the graph"),
        ('{"@id": "x", "http://a/p": 3}', "E301", 1, "belongs to no event"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(line, code, column, part):
    before, found, after = read(f'{{"t":1,"facts":[]}}\n{line}\n{{"t":2,"facts":[]}}\n')
    assert (before[0], after[0]) == (1, 2)
    data = found.as_data()
    assert (data["code"], data["file"], data["line"]) == (code, "in.jsonl", 2)
    assert column in (None, data["column"])
    assert part in found.message


@pytest.mark.parametrize("text", ["a at 1. b", "a at 1.\\nb", "b :- a", "@prefix : <http://a/>. b", "/* b", "b % c"])
def test_only_one_fact_fits_into_a_string(text):
    found, after = read(f'{{"t": 1, "facts": ["{text}"]}}\n{{"t": 1, "facts": ["b"]}}')
    assert found.code == "E301"
    assert after == (1, "in", ["b"])


def test_facts_may_be_written_freely():
    line = '{"t": 1, "facts": [" a( x , \\"b, c\\" ) ", "b.", "c(<http://ex.org/x>,-1.50)", "<http://ex.org/d>(1)"]}'
    assert read(line) == [
        (1, "in", ['a(x,"b, c")', "b", "c(<http://ex.org/x>,-1.50)", "<http://ex.org/d>(1)"]),
    ]


def test_a_mistake_in_a_fact_is_told_at_its_place_in_the_line():
    (found,) = read('{"t": 1, "facts": ["good(a)", "bad(a,,b)"]}')
    line = found.span.source.text
    assert line.index("bad") <= found.span.start < line.index("bad") + len("bad(a,,b)")


def test_what_is_no_text_is_told():
    (found,) = read(b'{"t": 1, "facts": ["\xff"]}\n')
    assert found.code == "E301"
    assert "UTF-8" in found.message


def test_a_graph_is_turtle_or_json_ld():
    text = '{"t": 1, "graph": "@prefix : <http://a/> . :s :p 3, <b> ; a :C ."}\n{"t": 2, "stream": "s", "graph": '
    assert read(text + '{"@id": "s", "http://a/p": {"@id": "b"}}}') == [
        (1, "in", ["<http://a/p>(<http://a/s>,3)", "<http://a/p>(<http://a/s>,<b>)", "<http://a/C>(<http://a/s>)"]),
        (2, "s", ["<http://a/p>(<s>,<b>)"]),
    ]


def test_an_empty_graph_says_what_time_it_is():
    assert read('{"t": 1, "graph": ""}') == [(1, "in", [])]


def test_blank_nodes_of_graphs_are_distinct():
    (_, _, one), (_, _, other) = read('{"t": 1, "graph": "_:b a <C> ."}\n{"t": 1, "graph": "_:b a <C> ."}')
    assert one != other


def test_a_line_may_be_a_document_of_json_ld():
    time = '"http://www.w3.org/ns/prov#generatedAtTime"'
    graph = '"@graph": {"@id": "a", "http://a/p": 1}'
    assert read(f'{{"@id": "e", {time}: 5, {graph}}}\n[{{"@id": "f", {time}: 6, {graph}}}]') == [
        (5, "in", ["<http://a/p>(<a>,1)"]),
        (6, "in", ["<http://a/p>(<a>,1)"]),
    ]


def test_a_mistake_in_a_line_that_is_no_utf_8_is_told():
    (found,) = read(b'{"t": 1, "facts": ["p(\xed\xa0\x80"]}')
    assert found.code == "E301"


def test_brackets_without_end_are_told():
    (found,) = read('{"t": 1, "facts": ' + "[" * 100_000)
    assert "nested too deeply" in found.message


@pytest.mark.parametrize(
    "line", ['{"t": 1, "facts": ["p(\\"\\ud800\\")"]}', '{"t": 1, "stream": "\\ud800", "facts": ["p"]}']
)
def test_half_a_character_is_told(line):
    (found,) = read(line)
    assert "half a character" in found.message
