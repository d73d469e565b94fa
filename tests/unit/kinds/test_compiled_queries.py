"""Queries by rules: when facts are fed, what is counted, what SPARQL is asked, and what is kept."""

from collections import Counter

import pytest

from thalweg.diagnostics import Source
from thalweg.kinds.queries.choose_evaluator import choose_evaluator, placement
from thalweg.kinds.queries.compiled_query import CompiledQuery
from thalweg.kinds.queries.per_window import PerWindow
from thalweg.languages.rspql.closings import closings_of, evaluation_ticks
from thalweg.languages.rspql.lower import lower
from thalweg.languages.rspql.lowered import LoweredQuery
from thalweg.languages.rspql.read_query import read_query
from thalweg.model.dataset import Dataset
from thalweg.model.event import Batch
from thalweg.model.fact import Fact

WINDOW = "FROM NAMED WINDOW :w ON STREAM :s [RANGE 3, SLIDE 1]"
DOUBLE = '"{}"^^<http://www.w3.org/2001/XMLSchema#double>'


def read(form, pattern, windows=WINDOW, behind=""):
    query, found = read_query(Source("q.rspql", f"PREFIX : <urn:> {form} {windows} WHERE {{ {pattern} }} {behind}"))
    assert query is not None, found
    return query


def compiled(query, background=Dataset(), graphs=()):
    made = lower(query, graphs)
    assert isinstance(made, LoweredQuery), made
    evaluator = CompiledQuery(query, made, background)
    evaluator.begin(0)
    return evaluator


def p(subject, value, name="p"):
    return Fact(f"<urn:{name}>", (f"<urn:{subject}>", value))


def add(evaluator, tick, facts, stream="<urn:s>"):
    batch = Batch(stream=stream)
    for fact in facts:
        batch.add(fact.signature, [evaluator.dictionary.code(term) for term in fact.terms])
    evaluator.add(tick, [batch])


def states(query, evaluator, stream, last):
    """The rows of every evaluation."""
    rows, found = Counter(), {}
    ticks = set(evaluation_ticks([closings_of(window, 0) for window in query.windows], 0, last))
    for tick in range(last + 1):
        add(evaluator, tick, stream.get(tick, ()))
        if tick in ticks:
            changed = evaluator.evaluate(tick)
            rows = rows + Counter(changed.begin) - Counter(changed.end)
            found[tick] = sorted(rows.elements(), key=str)
    return found


@pytest.mark.parametrize(("size", "slide"), [(3, 1), (3, 2), (4, 3), (2, 3), (1, 1)])
def test_a_fact_is_shown_while_windows_show_it(size, slide):
    query = read("SELECT ?v", "WINDOW :w { ?x :p ?v }", f"FROM NAMED WINDOW :w ON :s [RANGE {size}, SLIDE {slide}]")
    stream = {tick: [p("a", str(tick))] for tick in range(12)}
    expected = {
        close: sorted((str(tick),) for tick in range(close - size + 1, close + 1))
        for close in range(size - 1, 12, slide)
    }
    assert states(query, compiled(query), stream, 11) == expected


def test_a_window_that_has_not_closed_yet_is_empty():
    windows = f"{WINDOW} FROM NAMED WINDOW :u ON :s [RANGE 6, SLIDE 2]"
    query = read("SELECT ?v ?o", "WINDOW :w { :a :p ?v } OPTIONAL { WINDOW :u { :b :p ?o } }", windows)
    found = states(query, compiled(query), {0: [p("b", "7")], 4: [p("a", "1")]}, 6)
    assert found[4] == [("1", None)]
    assert found[5] == [("1", "7")]


def test_alternatives_of_a_path_count_as_often_as_they_match():
    query = read("SELECT ?v", "WINDOW :w { :a (:p|:q) ?v }")
    found = states(query, compiled(query), {0: [p("a", "1"), p("a", "1", "q")]}, 2)
    assert found[2] == [("1",), ("1",)]


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("?v > 1", ["2", DOUBLE.format("INF")]),
        ("!(?v > 1)", ["1"]),
        ("?v != 1", ["2", "<urn:x>", '"1"', DOUBLE.format("INF")]),
        ("BOUND(?never) || ?v = 1.0", ["1"]),
        ("isBlank(?v)", ["_:n"]),
    ],
)
def test_errors_and_kinds_are_those_of_sparql(condition, kept):
    query = read("SELECT ?v", f"WINDOW :w {{ :a :p ?v }} FILTER({condition})")
    terms = ["1", "2", "<urn:x>", '"1"', "_:n", DOUBLE.format("INF")]
    found = states(query, compiled(query), {0: [p("a", term) for term in terms]}, 2)
    by_sparql = states(query, started(PerWindow(query, Dataset())), {0: [p("a", term) for term in terms]}, 2)
    assert found == by_sparql
    assert {row[0] for row in found[2]} >= set(kept)


def started(evaluator):
    evaluator.begin(0)
    return evaluator


def test_numbers_are_known_by_value():
    query = read("SELECT ?v ?x", "WINDOW :w { ?x :p ?v . ?x :q ?v }")
    int_ = '"02"^^<http://www.w3.org/2001/XMLSchema#int>'
    facts = [p("a", "2.50"), p("a", "2.5", "q"), p("b", int_), p("b", "2", "q"), p("c", "2.0"), p("c", "2", "q")]
    assert states(query, compiled(query), {0: facts}, 2)[2] == [("2", "<urn:b>"), ("2.5", "<urn:a>")]


@pytest.mark.parametrize("function", ["COUNT", "SUM", "AVG", "MIN", "MAX", "COUNT DISTINCT", "SUM DISTINCT"])
def test_a_group_of_numbers_is_that_of_sparql_whatever_comes_and_goes(function):
    name, _, distinct = function.partition(" ")
    query = read(f"SELECT (COUNT(*) AS ?n) ({name}({distinct} ?v) AS ?a)", "WINDOW :w { ?x :p ?v }")
    values = {0: ["1", "2", "2.5"], 1: ["2"], 2: [DOUBLE.format("1.5"), '"x"'], 3: ["7"], 6: ["2.5", "1.5"], 7: ["-3"]}
    stream = {tick: [p(f"s{tick}{n}", term) for n, term in enumerate(some)] for tick, some in values.items()}
    assert states(query, compiled(query), stream, 12) == states(query, started(PerWindow(query, Dataset())), stream, 12)


def test_rows_stay_the_same_where_another_alternative_takes_over():
    query = read("SELECT DISTINCT ?x", "WINDOW :w { { ?x :p 1 } UNION { ?x :q ?v FILTER(?v > ?x || ?v = 1) } }")
    evaluator = compiled(query)
    add(evaluator, 0, [p("a", "1")])
    add(evaluator, 1, [p("a", "1", "q")])
    assert evaluator.evaluate(2) == ([("<urn:a>",)], [])
    assert evaluator.evaluate(3) == ([], [])
    assert evaluator.evaluate(4) == ([], [("<urn:a>",)])


BACKGROUND = Dataset.of([p("a", "0")], {"<urn:g>": [p("a", "1")], "<urn:h>": [p("a", "2")]})


@pytest.mark.parametrize(
    ("clauses", "pattern", "found"),
    [
        ("", ":a :p ?v", ["0"]),
        ("", "GRAPH :g { :a :p ?v }", ["1"]),
        ("", "GRAPH ?g { :a :p ?v }", ["1", "2"]),
        ("", "WINDOW ?g { :a :p ?v }", ["9"]),
        ("FROM :g FROM :h", ":a :p ?v", ["1", "2"]),
        ("FROM NAMED :h", "GRAPH ?g { :a :p ?v }", ["2"]),
        ("FROM NAMED :h", "GRAPH :g { :a :p ?v }", []),
    ],
)
def test_graphs_of_the_background(clauses, pattern, found):
    query = read("SELECT ?v", f"WINDOW :w {{ ?x :p ?y }} {pattern}", f"{WINDOW} {clauses}")
    evaluator = compiled(query, BACKGROUND, ("<urn:g>", "<urn:h>"))
    assert states(query, evaluator, {0: [p("a", "9")]}, 2)[2] == [(value,) for value in found]


QUERIES = {
    "rows": read("SELECT ?x ?v", "WINDOW :w { ?x :p ?v OPTIONAL { ?x :q ?o FILTER(?o < ?v) } }"),
    "groups": read("SELECT ?x (SUM(?v) AS ?s)", "WINDOW :w { ?x :p ?v }", behind="GROUP BY ?x"),
    "distinct": read("SELECT DISTINCT ?n", "WINDOW :w { ?x :p ?v } BIND(?v * 2 AS ?n)"),
    "two windows": read(
        "SELECT ?x",
        "WINDOW :w { ?x :p ?v } WINDOW :u { ?x :p ?o }",
        f"{WINDOW} FROM NAMED WINDOW :u ON :s [RANGE 4, SLIDE 3]",
    ),
}


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("saved_at", range(8))
def test_it_goes_on_where_it_was_saved(name, saved_at):
    query = QUERIES[name]
    stream = {t: [p("ab"[t % 2], str(t % 3)), p("b", str(t % 4), "q")] for t in range(9)}
    ticks = set(evaluation_ticks([closings_of(window, 0) for window in query.windows], 0, 8))
    found = {}
    for resumes in (False, True):
        evaluator, found[resumes] = compiled(query), []
        for tick in range(9):
            add(evaluator, tick, stream[tick])
            if tick in ticks:
                found[resumes].append([Counter(rows) for rows in evaluator.evaluate(tick)])
            if resumes and tick == saved_at:
                made = lower(query)
                assert isinstance(made, LoweredQuery)
                saved, evaluator = evaluator.snapshot(), CompiledQuery(query, made)
                evaluator.resume(saved)
    assert found[True] == found[False]


@pytest.mark.parametrize("name", QUERIES)
def test_terms_are_forgotten_as_windows_slide(name):
    query = QUERIES[name]
    evaluator = compiled(query)
    sizes = []
    for tick in range(60):
        add(evaluator, tick, [p(f"x{tick}_{n}", str(n)) for n in range(20)])
        if tick >= 5:
            evaluator.evaluate(tick)
        evaluator.dictionary.collect(evaluator.words_in_use())
        sizes.append(len(evaluator.dictionary))
    assert max(sizes) < 200


def test_a_fact_that_is_no_triple_is_reported_once():
    query, found = read("SELECT ?v", "WINDOW :w { ?x :p ?v }"), []
    made = lower(query)
    assert isinstance(made, LoweredQuery)
    evaluator = started(CompiledQuery(query, made, report=found.append))
    add(evaluator, 0, [p("a", "1"), Fact("go"), Fact("<urn:p>", ("7", "8"))])
    add(evaluator, 1, [Fact("<urn:p>", ('"x y"', "8"))])
    assert evaluator.evaluate(2).begin == [("1",)]
    assert [one.code for one in found] == ["W608"]


def test_a_query_shares_a_dictionary_that_is_still_empty():
    evaluator = compiled(read("SELECT ?v", "WINDOW :w { ?x :p ?v }"))
    shared = choose_evaluator(evaluator._query, Dataset(), evaluator.dictionary, lambda found: None)
    assert shared.dictionary is evaluator.dictionary


def test_what_runs_where():
    assert placement(read("SELECT ?v", "WINDOW :w { ?x :p ?v }", behind="ORDER BY ?v")).rules
    sparql = placement(read("SELECT ?v", "WINDOW :w { ?x :p ?v }", behind="ORDER BY ?v LIMIT 3"))
    assert (sparql.rules, sparql.reasons) == ((), ("LIMIT and OFFSET choose among all rows of an evaluation",))
    explained = choose_evaluator(read("SELECT ?v", "WINDOW :w { ?x :p ?v }"), Dataset(), None, lambda found: None, True)
    assert isinstance(explained, PerWindow)
