"""TriG and JSON-LD as streams."""

import gzip
import json
from itertools import pairwise
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg import run
from thalweg.connectors.documents import JSON, TRIG, Cutter
from thalweg.connectors.readers import open_reader
from thalweg.diagnostics import Diagnostic
from thalweg.model.dictionary import Dictionary
from thalweg.model.rdf import Document, RdfSyntaxError, read_graph
from thalweg.model.time import Clock

W3C = Path(__file__).parents[4] / "shared" / "data" / "w3c" / "rdf-trig"


def read(text, name="in.trig", cuts=()):
    """Batches as (tick, facts), and diagnostics; the text comes in blocks that end at the cuts."""
    words = Dictionary()
    reader = open_reader(name, "in", words, Clock())
    data = text if isinstance(text, bytes) else text.encode()
    items = [item for start, end in pairwise([0, *sorted(cuts), len(data)]) for item in reader.feed(data[start:end])]
    items += reader.finish()
    return [item if isinstance(item, Diagnostic) else (item[0], [*map(str, item[1].facts(words))]) for item in items]


def places(found):
    return [(one.code, one.as_data()["line"], one.as_data()["column"]) for one in found if isinstance(one, Diagnostic)]


HEAD = """@prefix : <http://ex.org/> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
E1, E2 = ":e1 { :a :p :b . :a a :C }", ":e2 { :a :p 2.5 }"
T1, T2 = ':e1 prov:generatedAtTime "1970-01-01T00:00:01Z"^^xsd:dateTime .', ":e2 prov:generatedAtTime 2 ."
WANTED = [
    (1, ["<http://ex.org/p>(<http://ex.org/a>,<http://ex.org/b>)", "<http://ex.org/C>(<http://ex.org/a>)"]),
    (2, ["<http://ex.org/p>(<http://ex.org/a>,2.5)"]),
]


@pytest.mark.parametrize(
    "order", [(T1, E1, T2, E2), (E1, T1, E2, T2), (T1, T2, E1, E2), (E1, E2, T1, T2), (T1, "# }", E1, "{}", E2, T2)]
)
def test_an_event_has_its_time_before_or_behind_its_graph(order):
    assert read(HEAD + "\n".join(order)) == WANTED


def test_an_event_is_told_when_another_one_follows():
    reader = open_reader("in.trig", "in", Dictionary(), Clock())
    assert list(reader.feed(f"{HEAD}{T1} {E1}".encode())) == []
    assert [tick for tick, _ in reader.feed(E2.encode())] == [1]
    assert [tick for tick, _ in reader.feed(T2.encode())] == []
    assert [tick for tick, _ in reader.finish()] == [2]


STRINGS = """:e1 prov:generatedAtTime 1 . # a } that closes nothing
:e1 { :a :p "}", '}', ''' '' } \\''' ''', "a\\"}", :q\\&x }
:e2 prov:generatedAtTime 2 . :e2 { :a :p 1 }"""


@given(st.lists(st.integers(0, len(HEAD) + len(STRINGS))))
def test_blocks_may_end_anywhere(cuts):
    found = read(HEAD + STRINGS, cuts=cuts)
    assert found == read(HEAD + STRINGS)
    assert [(tick, len(stated)) for tick, stated in found] == [(1, 5), (2, 1)]


@pytest.mark.parametrize("step", [1, 5, 64, 10**6])
@pytest.mark.parametrize("path", sorted(W3C.glob("*.trig")) or [None], ids=lambda path: path.name if path else "absent")
def test_a_document_in_pieces_is_the_document(path, step):
    if path is None:
        pytest.skip("the tests of the W3C are not here")
    data = path.read_bytes()
    try:
        whole = isomorphic(read_graph(data, "trig", base="http://a/"))
    except RdfSyntaxError:
        return
    cutter, document = Cutter(TRIG), Document("trig", "http://a/")
    pieces = [piece for start in range(0, len(data), step) for piece in cutter.cut(data[start : start + step])]
    assert isomorphic(quad for _, piece in pieces + cutter.rest() for quad in document.read(piece)) == whole


def isomorphic(quads):
    """Quads in a form that is equal for graphs that are equal but for the names of blank nodes."""

    def node(term):
        if term is None:
            return ox.DefaultGraph()
        kind = {"<": ox.NamedNode, "_": ox.BlankNode}.get(term[0])
        return kind(term.strip("<>").removeprefix("_:")) if kind else ox.Literal(term)

    dataset = ox.Dataset(ox.Quad(*map(node, quad)) for quad in quads)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return dataset


def test_a_mistake_costs_its_graph_only():
    found = read(f"{HEAD}{T1}\n{E1}\n{T2}\n:e3 {{ :a :p :x . :a\n :p x }}\n{E2}")
    assert [one for one in found if isinstance(one, tuple)] == WANTED
    assert places(found) == [("E301", 8, 5)]
    (wrong,) = (one for one in found if isinstance(one, Diagnostic))
    assert wrong.span.source.text == " :p x }"
    assert "--on-error skip" in wrong.help


def test_what_comes_before_a_mistake_comes_first():
    first, wrong, second = read(f"{HEAD}{T1}\n{E1}\n{T2}\n:e3 {{ :a :p x }}\n{E2}")
    assert (first[0], second[0]) == (1, 2)
    assert isinstance(wrong, Diagnostic)


@pytest.mark.parametrize(
    ("text", "place", "part"),
    [
        (f"{E1}\n\n{E2} {T2}", (4, 1), "`<http://ex.org/e1>` has no time"),
        (f"{T1}\n:e1 prov:generatedAtTime 9 . {E1}", (4, 1), "different time"),
        (f"{T2} {E2}\n\n{E1}\n# next\n{T1} :e1 prov:generatedAtTime 9 .", (8, 1), "different time"),
        (':e1 prov:generatedAtTime "noon" .\n' + E1, (4, 1), "neither a tick nor a timestamp"),
        (":a :p :b .", (1, 1), "is not part of an event"),
        (f"{T1} :e1 {{ :a :p ", (4, None), "end"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text, place, part):
    found = [one for one in read(HEAD + text) if isinstance(one, Diagnostic)]
    assert part in found[0].message
    line, column = place
    assert places(found)[0][1] == line
    assert column in (None, places(found)[0][2])


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_other_encodings(encoding):
    text = f"{HEAD}{T1} {E1} {T2} {E2}"
    mark = b"\xff\xfe" if encoding == "utf-16-le" else b""
    data = mark + text.encode(encoding)
    assert read(data, cuts=[1, 3, 4, 101]) == WANTED


# JSON-LD -------------------------------------------------------------------------------------------------------------

CONTEXT = {
    "ex": "http://ex.org/",
    "time": {"@id": "http://www.w3.org/ns/prov#generatedAtTime", "@type": "http://www.w3.org/2001/XMLSchema#dateTime"},
}
ONE = {
    "@context": CONTEXT,
    "@id": "ex:e1",
    "time": "1970-01-01T00:00:01Z",
    "@graph": [{"@id": "ex:a", "ex:p": {"@id": "ex:b"}, "@type": "ex:C"}],
}
TWO = {
    "@graph": {
        "@id": "http://ex.org/a",
        "http://ex.org/p": {"@value": "2.5", "@type": "http://www.w3.org/2001/XMLSchema#decimal"},
    },
    "@id": "http://ex.org/e2",
    "http://www.w3.org/ns/prov#generatedAtTime": 2,
}
BOTH = {"@context": CONTEXT, "@graph": [{key: one[key] for key in one if key != "@context"} for one in (ONE, TWO)]}


STAMPED = json.loads(
    json.dumps(BOTH).replace('"http://www.w3.org/ns/prov#generatedAtTime": 2', '"time": "1970-01-01T00:00:02Z"')
)


def as_sets(found):
    return [(tick, set(stated)) for tick, stated in found]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(ONE) + json.dumps(TWO),
        json.dumps(ONE) + "\n" + json.dumps(TWO) + "\n",
        json.dumps(ONE, indent=2) + "\n\n" + json.dumps(TWO, indent=2),
        json.dumps([ONE, TWO]),
        json.dumps(BOTH, indent=1),
    ],
)
@pytest.mark.parametrize("name", ["in.jsonld", "-"])
def test_json_ld_of_one_document_or_many(text, name):
    assert as_sets(read(text, name)) == as_sets(WANTED)
    assert as_sets(read(text, name, range(1, len(text)))) == as_sets(WANTED)


def test_a_document_of_json_ld_is_told_at_its_end():
    reader = open_reader("in.jsonld", "in", Dictionary(), Clock())
    assert [tick for tick, _ in reader.feed(json.dumps(ONE).encode())] == [1]


def test_graphs_of_a_document_may_stand_in_any_order():
    said = [{"@id": "e1", "@graph": {"@id": name, "http://ex.org/p": 1}} for name in ("a", "b")]
    other = {"@id": "e2", "@graph": {"@id": "c", "http://ex.org/p": 1}}
    times = [{"@id": name, "http://www.w3.org/ns/prov#generatedAtTime": tick} for name, tick in (("e1", 1), ("e2", 2))]
    found = read(json.dumps([said[0], other, said[1], *times]), "in.jsonld")
    assert found == [(1, ["<http://ex.org/p>(<a>,1)", "<http://ex.org/p>(<b>,1)"]), (2, ["<http://ex.org/p>(<c>,1)"])]


def test_blank_nodes_of_documents_are_distinct():
    time = '"http://www.w3.org/ns/prov#generatedAtTime"'
    one = f'{{"@id": "e", {time}: 1, "@graph": {{"@id": "_:b", "@type": "http://ex.org/C"}}}}'
    found = [fact for _, stated in read(f"{one}\n{one}", "in.jsonld") for fact in stated]
    assert len(set(found)) == 2


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('{"@context": "https://schema.org", "name": "x"}', "are not fetched"),
        ('{"@id": "x", "name": "y"}', "has no triples"),
        ('{"@id": "x", "http://ex.org/p": "y"}', "is not part of an event"),
        ('{"@id": "x", "@graph": {"@id": "y", "http://ex.org/p": "y"}}', "has no time"),
        ('{"@id": }', ""),
    ],
)
def test_a_mistake_costs_its_document_only(text, part):
    found = read(f"{json.dumps(ONE)}\n\n{text}\n{json.dumps(TWO)}", "in.jsonld")
    assert as_sets(one for one in found if isinstance(one, tuple)) == as_sets(WANTED)
    (wrong,) = (one for one in found if isinstance(one, Diagnostic))
    assert wrong.as_data()["line"] == 3
    assert part in wrong.message
    assert wrong.help


def test_json_is_cut_where_values_end():
    assert Cutter(JSON).cut(b'{"a": "}{", "b": [{}]} [1]{"c') == [(1, b'{"a": "}{", "b": [{}]}'), (1, b"[1]")]


# Whole runs ----------------------------------------------------------------------------------------------------------

RULES = "@prefix : <http://ex.org/> .\n:q(X) :- :p(X,V) in [1], V != :b."


@pytest.mark.parametrize("ending", ["trig", "trig.gz", "jsonld", "jsonld.gz"])
def test_a_program_meets_the_facts(tmp_path, ending):
    later = '"1970-01-01T00:00:02Z"^^xsd:dateTime'
    text = f"{HEAD}{T1} {E1} {T2.replace(' 2 ', f' {later} ')} {E2}" if "trig" in ending else json.dumps(STAMPED)
    path = tmp_path / f"in.{ending}"
    path.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
    (answer,) = run(RULES, stream=path, emit="changes")
    assert list(map(str, answer.begin)) == ["<http://ex.org/q>(<http://ex.org/a>)"]


def test_files_of_a_folder_are_documents_of_their_own(tmp_path):
    folder = tmp_path / "city"
    folder.mkdir()
    for number in (1, 2):
        (folder / f"{number}.trig").write_text(f"{HEAD} :e prov:generatedAtTime {number} . :e {{ _:b :p 3 }}")
    found = [tuple(map(str, answer.begin)) for answer in run(RULES, stream=folder, emit="changes")]
    assert len(set(sum(found, ()))) == 2


@pytest.mark.parametrize("indent", [None, 2])
def test_a_message_is_a_document(indent):
    reader = open_reader("mqtt://localhost/city", "city", Dictionary(), Clock())
    for message, tick in ((ONE, 1), (TWO, 2)):
        block = json.dumps({"@id": message["@id"], **message}, indent=indent).encode() + b"\n"
        assert [found for found, _ in reader.feed(block)] == [tick]


@pytest.mark.parametrize("ending", ["ttl", "nt", "rdf", "owl", "ttl.gz"])
def test_a_document_without_times_is_no_stream(tmp_path, ending):
    path = tmp_path / f"in.{ending}"
    path.write_bytes(b"")
    with pytest.raises(Exception, match=r"E402.*files have no times(.|\n)*--background"):
        list(run(RULES, stream=path))


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("cuts", [(), range(0, 120, 7)])
def test_mistakes_are_found_on_their_line_whatever_ends_lines(end, cuts):
    time = "<http://www.w3.org/ns/prov#generatedAtTime>"
    lines = [f"<e1> {time} 1 .", "<e1> { <a> <p> 1 }", "<e2> {", "<a> @@ 1 }", f"<e3> {time} 3 .", "<e3> { <a> <p> 3 }"]
    found = read(end.join(lines), cuts=cuts)
    assert places(found) == [("E301", 4, 6)]
    assert [one for one in found if not isinstance(one, Diagnostic)] == [(1, ["<p>(<a>,1)"]), (3, ["<p>(<a>,3)"])]


def test_brackets_that_open_nothing_are_looked_at_once():
    cutter = Cutter(TRIG)
    assert cutter.cut(b"<" * 1_000_000 + b" } ")[0][1].endswith(b"}")
