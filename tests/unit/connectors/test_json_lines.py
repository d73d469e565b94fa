import json
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.connectors.json_lines import JsonLinesReader
from thalweg.diagnostics import Diagnostic
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import Clock

CLOCK = Clock()


def read(text, clock=CLOCK, step=None):
    """Events as (tick, stream, facts), and diagnostics; the text comes in blocks of `step` bytes."""
    words = Dictionary()
    reader = JsonLinesReader(words, "in.jsonl", "in", clock, "in")
    data = text.encode() if isinstance(text, str) else text
    blocks = [data[start : start + (step or len(data))] for start in range(0, len(data), step or len(data) or 1)]
    items = [*(item for block in blocks for item in reader.feed(block)), *reader.finish()]
    return [
        item if isinstance(item, Diagnostic) else (item[0], item[1].stream, [*map(str, item[1].facts(words))])
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
        ('{"t": -1, "facts": []}', "E301", 1, "not a tick"),
        ('{"t": true, "facts": []}', "E301", 1, "not a tick"),
        ('{"t": 1.5, "facts": []}', "E301", 1, "not a tick"),
        ('{"t": "noon", "facts": []}', "E301", 1, "noon"),
        ('{"t": 1, "facts": "a"}', "E301", 1, "list"),
        ('{"t": 1, "facts": [1]}', "E301", 1, "list"),
        ('{"t": 1, "stream": 2, "facts": []}', "E301", 1, "stream"),
        ('{"t": 1, "facts": ["a", "b(X)"]}', "E301", None, "X"),
        ('{"t": 1, "graph": 3}', "E301", 1, "neither Turtle in a string nor JSON-LD"),
        ('{"t": 1, "graph": "<a> <b> x ."}', "E301", 19, "x is not a valid RDF object (at 1:9 of the graph)"),
        ('{"t": 1, "graph": {"@id": 3}}', "E301", 19, "of the graph"),
        ('{"@id": "x", "http://a/p": 3}', "E301", 1, "is not part of an event"),
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


def test_an_escape_that_is_half_a_character_is_refused_and_a_pair_is_one():
    (found,) = read(r'{"t": 36, "facts": ["a(\"\ud800\")"]}')
    assert (found.code, found.message) == ("E301", r"an escape such as `\ud800` is half of a surrogate pair")
    assert read(r'{"t": 36, "facts": ["a(\"\ud83d\ude97\")"]}') == [(36, "in", ['a("🚗")'])]


def test_lines_of_one_tick_and_stream_are_one_batch():
    lines = [
        f'{{"t":{t},"stream":"{s}","facts":["a(x{n})"]}}' for n, (t, s) in enumerate(["1a", "1a", "1b", "2b", "2b"])
    ]
    assert read("\n".join(lines) + "\n") == [
        (1, "a", ["a(x0)", "a(x1)"]),
        (1, "b", ["a(x2)"]),
        (2, "b", ["a(x3)", "a(x4)"]),
    ]


def test_a_line_is_answered_when_it_comes():
    reader = JsonLinesReader(Dictionary(), "in.jsonl", "in", CLOCK, "in")
    line = b'{"t":1,"facts":["a"]}\n'
    assert [[tick for tick, _ in reader.feed(block)] for block in (line, line[:9], line[9:])] == [[1], [], [1]]


def test_the_dictionary_may_be_collected_between_two_batches():
    words = Dictionary()
    reader = JsonLinesReader(words, "in.jsonl", "in", CLOCK, "in")
    facts = [[f"a(x{n},y{n % 3})", f"b(x{n})"] for n in range(5)]
    found = []
    for _, batch in reader.feed(
        "".join(json.dumps({"t": t, "facts": some}) + "\n" for t, some in enumerate(facts)).encode()
    ):
        found.append([*map(str, batch.facts(words))])
        words.collect(np.array([words.code("y0")]))
    assert found == facts


@pytest.mark.parametrize("count", [1, 40])
def test_many_facts_of_many_predicates_keep_their_order(count):
    facts = [
        fact for n in range(count) for fact in (f"a(x{n},{n})", f"b({n}.5)", "c", f'd("e, f",<http://ex.org/{n}>)')
    ]
    text = "".join(json.dumps({"t": 1, "facts": [fact]}) + "\n" for fact in facts)
    assert read(text) == [(1, "in", facts)]
    # Everything is known now, which is another way through the reader.
    assert read(text, step=len(text)) + read(text + text, step=len(text)) == [(1, "in", facts)] * 3


def test_a_malformed_fact_costs_its_line_and_no_other():
    lines = ['{"t":1,"facts":["a(x)"]}'] * 50
    lines[20] = '{"t":1,"facts":["a(x)","a(,)"]}'
    found = read("\n".join(lines))
    wrong = [one for one in found if isinstance(one, Diagnostic)]
    assert [one.as_data()["line"] for one in wrong] == [21]
    assert sum(len(one[2]) for one in found if not isinstance(one, Diagnostic)) == 49


@pytest.mark.parametrize(
    ("text", "ticks", "lines"),
    [
        ('{"t":1,"facts":["a"\n]}\n{"t":2,"facts":["b"]}', [2], [1, 2]),
        ('{"t":1,"facts":["a"\n"b"]}', [], [1, 2]),
        ('{"t":1,"facts":["a"],"x":[1\n2]},{"t":2,"facts":["b"]}', [], [1, 2]),
        ('{"t":1,"facts":["a"],"x":[1\n2]}\n{"t":2,"facts":["a"]},NaN,{"t":3,"facts":["b"]}', [], [1, 2, 3]),
        ('{"t":1,"facts":["a"]},\n{"t":2,"facts":["b"]}', [2], [1]),
        ('{"t":1,"facts":["a"]}{"t":2,"facts":["b"]}\n{"t":3,"facts":["b"]}', [3], [1]),
        ('{"t":1,"facts":["a\nb"]}', [], [1, 2]),
        ('{"t":1,"facts":["a"]}\n\n  \r\n\n{"t":1,"facts":[}\n{"t":1,"facts":["a"]}', [1, 1], [5]),
        ('\ufeff{"t":1,"facts":["a"]}\r\n{"t":2,"facts":["a"]}\r\n', [1, 2], []),
        ('{"t":NaN,"facts":["a"]}\n{"t":Infinity,"facts":["a"]}\n{"t":1e0,"facts":["a"]}', [], [1, 2, 3]),
        ('{"t":1,"t":2,"facts":["a"],"facts":["b"]}', [2], []),
        (f'{{"t":1{"0" * 5000},"facts":["a"]}}\n{{"t":{2**61},"facts":["a"]}}', [], [1, 2]),
        (f'{{"t":{2**61 - 1},"facts":["a"]}}', [2**61 - 1], []),
        (f'{"[" * 100_000}\n{{"t":1,"facts":["a"]}}', [1], [1]),
        ('{"t":1,"facts":["a(\\"\\ud800\\")"]}\n{"t":1,"facts":["a(\\"\\ud83d\\ude00\\")"]}', [1], [1]),
        ('{"t":1,"stream":"\\udc00","facts":["a"]}\n{"t":1,"facts":["<http://a/\\udc00>(b)"]}', [], [1, 2]),
        ('{"t":1,"facts":["a("]}\n{"t":1,"facts":["a(x"]}', [], [1, 2]),
        ('{"t":1,"facts":["a)"]}\n{"t":1,"facts":["a(b)c)"]}', [], [1, 2]),
        ('{"t":1,"facts":["a(x\\n)"]}\n{"t":1,"facts":[""]}', [], [1, 2]),
        ('{"t":1,"facts":[null]}\n{"t":1,"facts":null}', [], [1, 2]),
        ('{"t":1,"facts":["a"]}\n{"t":1,"graph":"<a> <p> 3 ."}\n{"t":1,"facts":["a"]}', [1, 1, 1], []),
        ('{"t":true,"facts":["a"]}\n{"t":1,"facts":["a"]}\n{"t":1,"facts":["b"]}', [1, 1], [1]),
    ],
)  # fmt: skip
def test_tricky_lines(text, ticks, lines):
    found = read(text)
    assert [one[0] for one in found if not isinstance(one, Diagnostic)] == ticks
    assert [one.as_data()["line"] for one in found if isinstance(one, Diagnostic)] == lines


_LINES = st.sampled_from(
    [
        '{"t":1,"facts":["a(x,y)"]}',
        '{"t":1,"facts":["a(x,z)","b"]}',
        '{"t": 1, "stream": "s", "facts": ["a(3,-1.50)"]}',
        '{"t":2,"facts":["a( \\"u,v\\" , y)"]}\r',
        '{"t":2,"facts":[]}',
        '{"t":"1970-01-01T00:00:02Z","facts":["c(<http://ex.org/x>)"]}',
        '{"t":2,"facts":["a(X)"]}',
        '{"t":2,"facts":[1]}',
        '{"t":1,"graph":"<a> <p> 3 ."}',
        '{"t":1,"facts":["a"',
        '"b"]}',
        "]}",
        ',{"t":1,"facts":["a"]}',
        "",
        " ",
    ]
)


@given(st.lists(_LINES, max_size=80))
def test_property_a_block_says_what_its_lines_say(lines):
    def merged(items):
        for (diagnostic, *when), group in groupby(
            items, lambda one: (one, 0, 0) if _is_wrong(one) else (None, *one[:2])
        ):
            yield diagnostic.render() if diagnostic else (*when, [fact for _, _, facts in group for fact in facts])

    text = "".join(f"{line}\n" for line in lines)
    assert list(merged(read(text))) == list(merged(read(text, step=1)))


def _is_wrong(item):
    return isinstance(item, Diagnostic)


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
    assert "half of a surrogate pair" in found.message
