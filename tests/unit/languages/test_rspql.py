"""How queries are read: windows, names, and the SPARQL that is left."""

import pytest

from thalweg.diagnostics import Source
from thalweg.languages.rspql.read_query import read_query

WINDOW = "FROM NAMED WINDOW :w ON STREAM :s [RANGE 10, SLIDE 2]"


def read(text, tick_length=1_000):
    query, found = read_query(Source("q.rspql", f"PREFIX : <http://ex.org/> {text}"), tick_length)
    assert query is not None, found
    return query


def wrong(text):
    return [(one.code, one.span.source.text[one.span.start : one.span.end]) for one in found_in(text)]


def found_in(text):
    return read_query(Source("q.rspql", f"PREFIX : <http://ex.org/> {text}"))[1]


@pytest.mark.parametrize(
    ("written", "ticks"),
    [
        ("[RANGE 10, SLIDE 2]", (10, 2, False)),
        ("[RANGE 10 STEP 2]", (10, 2, False)),
        ("[RANGE 10s, SLIDE 2 s]", (10, 2, False)),
        ("[range PT5M slide PT1M]", (300, 60, False)),
        ("[RANGE P1DT1H STEP PT0.5H]", None),
        ("[RANGE P1DT1H STEP PT30M]", (90_000, 1_800, False)),
        ("[RANGE PT2.000S]", (2, 2, False)),
        ("[RANGE 3 min]", (180, 180, False)),
        ("[RANGE 1h, SLIDE 10m ALIGN]", (3_600, 600, True)),
        ("[RANGE 1h, SLIDE 10m] ALIGN", (3_600, 600, True)),
    ],
)
def test_windows(written, ticks):
    text = f"ASK FROM NAMED WINDOW :w ON :s {written} {{ WINDOW :w {{ ?s ?p ?o }} }}"
    if ticks is None:
        assert [code for code, _ in wrong(text)] == ["E101"]
        return
    window = read(text).windows[0]
    assert (window.range, window.slide, window.aligned) == ticks


def test_a_window_in_ticks_of_another_length():
    text = "ASK FROM NAMED WINDOW :w ON :s [RANGE 3s, SLIDE 500ms] { WINDOW :w { ?s ?p ?o } }"
    window = read(text, tick_length=500).windows[0]
    assert (window.range, window.slide) == (6, 1)


@pytest.mark.parametrize(
    ("register", "name", "output"),
    [
        ("", "q", "RSTREAM"),
        ("REGISTER RSTREAM <http://ex.org/n> AS", "<http://ex.org/n>", "RSTREAM"),
        ("register istream :n as", "<http://ex.org/n>", "ISTREAM"),
        ("REGISTER DSTREAM n AS", "n", "DSTREAM"),
        ("REGISTER STREAM :n AS", "<http://ex.org/n>", "RSTREAM"),
    ],
)
def test_what_a_query_is_called_and_outputs(register, name, output):
    query = read(f"{register} SELECT * {WINDOW} {{ WINDOW :w {{ ?s ?p ?o }} }}")
    assert (query.name, query.output) == (name, output)


def test_the_output_may_stand_behind_the_form():
    query = read(f"REGISTER STREAM :n AS CONSTRUCT ISTREAM {{ ?s :is ?o }} {WINDOW} {{ WINDOW :w {{ ?s ?p ?o }} }}")
    assert (query.output, query.template) == ("ISTREAM", (("?s", "<http://ex.org/is>", "?o"),))


@pytest.mark.parametrize(
    ("select", "columns"),
    [
        ("SELECT ?o ?s", ("o", "s")),
        ("SELECT *", ("s", "p", "o")),
        ("SELECT DISTINCT *", ("s", "p", "o")),
        ("SELECT (COUNT(*) AS ?n)", ("n",)),
        ("ASK", ()),
        ("CONSTRUCT { ?o :of ?s }", ("o", "s")),
        ("CONSTRUCT { :a :b 3 }", ("any",)),
    ],
)
def test_columns(select, columns):
    assert read(f"{select} {WINDOW} {{ WINDOW :w {{ ?s ?p ?o }} }}").columns == columns


def test_a_star_is_written_out():
    assert "SELECT DISTINCT ?z ?p ?a " in read(f"SELECT DISTINCT * {WINDOW} {{ WINDOW :w {{ ?z ?p ?a }} }}").text


def test_blank_nodes_of_a_template_are_named_alike_every_time():
    text = f"CONSTRUCT {{ ?s :has [ :v ?o ] . _:x :of _:x }} {WINDOW} {{ WINDOW :w {{ ?s ?p ?o }} }}"
    query = read(text)
    assert query.template == read(text).template
    assert "DISTINCT" not in query.text
    assert {term for triple in query.template for term in triple if term.startswith("_")} == {"_:0", "_:1"}


def test_graphs_and_windows_are_kept_apart_where_variables_stand_for_them():
    query = read(f"SELECT * {WINDOW} {{ WINDOW ?w {{ ?s ?p ?o }} GRAPH ?g {{ ?s ?q ?o }} }}")
    assert "{ VALUES ?w { <http://ex.org/w> } GRAPH ?w { ?s ?p ?o } }" in query.text
    assert "{ GRAPH ?g { ?s ?q ?o } FILTER(?g NOT IN (<http://ex.org/w>)) }" in query.text


def test_the_graphs_of_from_are_apart():
    query = read(f"SELECT * FROM :g {WINDOW} FROM NAMED :h {{ WINDOW :w {{ ?s ?p ?o }} }}")
    assert (query.default, query.named) == (("<http://ex.org/g>",), ("<http://ex.org/h>",))
    assert "FROM" not in query.text


def test_relative_names():
    text = "SELECT * FROM NAMED WINDOW <w> ON <s> [RANGE 2] { WINDOW <w> { ?s <p> ?o } }"
    query = read(text)
    assert query.windows[0].name == "<urn:thalweg:iri:w>"
    assert "<urn:thalweg:iri:p>" in query.text
    query = read(f"BASE <http://base.org/x/> {text}")
    assert query.windows[0].name == "<http://base.org/x/w>"
    assert "<http://base.org/x/p>" in query.text


def test_texts_and_comments_are_left_alone():
    query = read(f"""SELECT * {WINDOW} # FROM STREAM <x> WINDOW :nowhere {{
        {{ WINDOW :w {{ ?s :says "WINDOW :v {{ GRAPH ?g" , '''FROM STREAM''' }} }}""")
    assert '"WINDOW :v { GRAPH ?g"' in query.text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SELECT * { ?s ?p ?o }", [("E604", "SELECT")]),
        ("INSERT DATA { :a :b :c }", [("E604", "INSERT")]),
        (f"SELECT * {WINDOW} {{ WINDOW :w {{ ?s ?p }} }}", [("E101", "?s")]),
        (f"SELECT * {WINDOW} {{ WINDOW :w {{ ?s ?p ?o }} ", [("E101", "{")]),
        (f"SELECT * {WINDOW} {{ WINDOW :x {{ ?s ?p ?o }} }}", [("W605", WINDOW), ("E603", ":x")]),
        (f"SELECT ?s ?s {WINDOW} {{ WINDOW :w {{ ?s ?p ?o }} }}", [("E101", "")]),
        (f"SELECT * {WINDOW} {{ WINDOW :w {{ ?s ?p ?o FILTER(?x = 1) }} }}", [("W607", "?x")]),
        (f"SELECT * {WINDOW} {{ WINDOW :w {{ ?s ?p ?o OPTIONAL {{ ?s :q ?x FILTER(?x = ?o) }} }} }}", []),
        (f"SELECT ?s {WINDOW} {{ WINDOW :w {{ ?s ?p ?o }} }} GROUP BY ?s HAVING (COUNT(*) > 1)", []),
        (f"SELECT * {WINDOW} {{ WINDOW :w {{ ?s ?p ?o FILTER EXISTS {{ ?s :q ?x FILTER(?x = ?o) }} }} }}", []),
        ("", [("E101", "PREFIX")]),
    ],
)
def test_what_is_wrong_and_where(text, found):
    assert wrong(text) == found


def test_deep_nesting_is_refused_and_not_followed():
    assert [one.code for one in found_in(f"SELECT * {WINDOW} {'{' * 5_000}{'}' * 5_000}")] == ["E302"]
