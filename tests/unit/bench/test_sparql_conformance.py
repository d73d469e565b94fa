"""Tests of SPARQL: how manifests and results are read, when answers are the same, and how verdicts are counted."""

from pathlib import Path

import pytest

from thalweg.bench.one_window import as_continuous
from thalweg.bench.oxigraph import SparqlAnswer, ask, node, read_answer, read_bindings, read_rows, same, store, triple
from thalweg.bench.query_ways import NotRulesError
from thalweg.bench.sparql_conformance import (
    FAIL,
    NO_RULES,
    PASS,
    PER_WINDOW,
    PYOXIGRAPH,
    RULES,
    WAYS,
    counted_sparql,
    failures,
    not_rules,
    run_sparql_test,
    sparql_targets,
)
from thalweg.bench.sparql_tests import (
    ACCEPTED,
    EVALUATION,
    REJECTED,
    SparqlTest,
    by_pyoxigraph,
    expected,
    find_sparql_tests,
)

DATA = Path(__file__).parents[4] / "shared" / "data" / "w3c" / "sparql11"
MANIFEST = """
@prefix mf: <http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#> . @prefix : <http://example.org/manifest#> .
@prefix qt: <http://www.w3.org/2001/sw/DataAccess/tests/test-query#> .
<> a mf:Manifest ; mf:entries ( :graphs :wrong :right :update ) .
:graphs a mf:QueryEvaluationTest ; mf:action [ qt:query <graphs.rq> ; qt:data <default.ttl> ;
    qt:graphData <one.ttl> , <two.ttl> ] ; mf:result <graphs.ttl> .
:wrong a mf:NegativeSyntaxTest11 ; mf:action <wrong.rq> .
:right a mf:PositiveSyntaxTest11 ; mf:action <graphs.rq> .
:update a mf:UpdateEvaluationTest ; mf:action <graphs.rq> .
"""
RESULTS = """
@prefix rs: <http://www.w3.org/2001/sw/DataAccess/tests/result-set#> .
[] a rs:ResultSet ; rs:resultVariable "g" , "n" ;
   rs:solution [ rs:binding [ rs:variable "g" ; rs:value <one.ttl> ] , [ rs:variable "n" ; rs:value 1.0 ] ] ;
   rs:solution [ rs:binding [ rs:variable "g" ; rs:value <two.ttl> ] ] .
"""
QUERY = "SELECT ?g ?n { GRAPH ?g { ?s a <C> } OPTIONAL { ?s <p> ?n } }"


@pytest.fixture
def group(tmp_path: Path) -> Path:
    """A folder of tests with one group."""
    folder = tmp_path / "own"
    folder.mkdir()
    files = {
        "manifest.ttl": MANIFEST,
        "graphs.rq": QUERY,
        "wrong.rq": "SELECT ?g {",
        "default.ttl": "<a> <p> 1.00 .",
        "one.ttl": "<a> a <C> .",
        "two.ttl": "<b> a <C> .",
        "graphs.ttl": RESULTS,
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_manifests_are_read(group: Path) -> None:
    graphs, right, wrong = find_sparql_tests(group)
    assert (graphs.name, graphs.kind, graphs.group) == ("graphs", EVALUATION, "own")
    assert [path.name for path in (graphs.query, *graphs.data)] == ["graphs.rq", "default.ttl"]
    assert sorted(path.name for path in graphs.graphs) == ["one.ttl", "two.ttl"]
    assert (right.kind, wrong.kind, wrong.query.name, wrong.result) == (ACCEPTED, REJECTED, "wrong.rq", None)


def test_pyoxigraph_is_asked_as_the_manifest_says(group: Path) -> None:
    graphs, right, wrong = find_sparql_tests(group)
    assert same(by_pyoxigraph(graphs), expected(graphs))
    assert [each.outcomes for each in map(_by_pyoxigraph, (graphs, right, wrong))] == [{PYOXIGRAPH: PASS}] * 3


def _by_pyoxigraph(test: SparqlTest):
    return run_sparql_test(test, {PYOXIGRAPH: by_pyoxigraph})


def test_results_are_read_in_every_form(tmp_path: Path) -> None:
    data = store((), (), "http://example.org/")
    texts = {
        "a.srj": '{"head":{"vars":["x"]},"results":{"bindings":[{"x":{"type":"literal","value":"b"}},{}]}}',
        "a.srx": '<sparql xmlns="http://www.w3.org/2005/sparql-results#"><head><variable name="x"/></head><results>'
        '<result><binding name="x"><literal>b</literal></binding></result><result></result></results></sparql>',
    }
    wanted = ask(data, 'SELECT ?x { VALUES ?x { "b" UNDEF } }', "http://example.org/")
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert same(read_answer(tmp_path / name, ""), wanted)
    (tmp_path / "g.ttl").write_text("<http://a> <http://p> 1 .", encoding="utf-8")
    made = ask(data, "CONSTRUCT { <http://a> <http://p> 1 } {}", "http://example.org/")
    assert same(read_answer(tmp_path / "g.ttl", "http://example.org/"), made)
    assert same(ask(data, "ASK {}", "http://example.org/"), SparqlAnswer(True))


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("?x\n1\n1\n", "?x\n1\n", False),
        ("?x\n1\n2\n", "?x\n2\n1\n", True),
        ("?x\n1\n", "?x\n1.0\n", False),
        ("?x\n1.50\n", "?x\n1.5\n", True),
        ("?x\n1e0\n", '?x\n"1.0"^^<http://www.w3.org/2001/XMLSchema#double>\n', True),
        ("?x\n_:a\n_:a\n", "?x\n_:b\n_:c\n", False),
        ("?x\t?y\n_:a\t_:b\n_:b\t_:a\n", "?x\t?y\n_:c\t_:d\n_:d\t_:c\n", True),
        ("?x\t?y\n_:a\t_:b\n_:b\t_:a\n", "?x\t?y\n_:c\t_:d\n_:d\t_:d\n", False),
        ("?x\t?y\n1\t\n", "?x\t?y\n\t1\n", False),
    ],
)
def test_when_rows_are_the_same(one: str, other: str, equal: bool) -> None:
    assert same(read_rows(one), read_rows(other)) == equal


def test_order_counts_where_both_have_one() -> None:
    up, down = ({"x": node("1")}, {"x": node("2")}), ({"x": node("2")}, {"x": node("1")})
    assert same(SparqlAnswer(rows=up, ordered=True), SparqlAnswer(rows=down))
    assert not same(SparqlAnswer(rows=up, ordered=True), SparqlAnswer(rows=down, ordered=True))


def test_printed_rows_are_read_back() -> None:
    printed = read_bindings([{"x": "<http://a>", "n": "2.5", "l": '"chat"@fr', "b": "_:b0"}])
    assert same(printed, read_rows('?x\t?n\t?l\t?b\n<http://a>\t2.5\t"chat"@fr\t_:z\n'))
    assert str(SparqlAnswer(triples=(triple("<http://a>", "<http://p>", "3"),))) == "1 triples"


@pytest.mark.parametrize(
    ("query", "wrapped"),
    [
        ("SELECT (EXISTS { ?x ?y ?z } AS ?e) WHERE { ?s ?p '}' } LIMIT 1",
         "SELECT (EXISTS { ?x ?y ?z } AS ?e) CLAUSE WHERE { WINDOW <urn:window> { ?s ?p '}' } } LIMIT 1"),
        ("ASK { GRAPH <g> { ?s ?p ?o } }", "ASK CLAUSE { WINDOW <urn:window> { GRAPH <g> { ?s ?p ?o } } }"),
        ("CONSTRUCT { ?s a ?p } WHERE { ?s ?p ?o }",
         "CONSTRUCT { ?s a ?p } CLAUSE WHERE { WINDOW <urn:window> { ?s ?p ?o } }"),
        ("CONSTRUCT FROM <g> WHERE { ?s ?p ?o }",
         "CONSTRUCT { ?s ?p ?o } CLAUSE WHERE { WINDOW <urn:window> { ?s ?p ?o } }"),
    ],
)  # fmt: skip
def test_a_query_is_put_around_a_window(query: str, wrapped: str) -> None:
    found = as_continuous(query).replace(
        "FROM NAMED WINDOW <urn:window> ON STREAM <urn:stream> [RANGE 1s, SLIDE 1s]", "CLAUSE"
    )
    assert " ".join(found.split()) == wrapped


def test_what_is_wrong_stays_wrong() -> None:
    assert "WINDOW <urn:window> {" not in as_continuous("CONSTRUCT WHERE { ?s ?p ?o FILTER(?o > 1) }", wraps=False)


def test_verdicts_are_counted_and_failures_have_reasons(group: Path) -> None:
    def not_for_rules(test: SparqlTest) -> SparqlAnswer:
        raise NotRulesError("it is too hard")

    def refuses(test: SparqlTest) -> SparqlAnswer:
        raise SyntaxError("no")

    graphs, right, wrong = find_sparql_tests(group)
    ways = {PYOXIGRAPH: by_pyoxigraph, RULES: not_for_rules, PER_WINDOW: lambda test: SparqlAnswer()}
    verdicts = [run_sparql_test(test, ways) for test in (graphs, right)]
    assert verdicts[0].outcomes == {PYOXIGRAPH: PASS, RULES: NO_RULES, PER_WINDOW: FAIL}
    assert failures(verdicts) == [{"test": "own, graphs", "by": PER_WINDOW, "reason": "0 rows instead of 2 rows"}]
    assert not_rules(verdicts) == [{"reason": "it is too hard", "queries": 2}]
    assert counted_sparql(verdicts)[-1] == {
        "group": "all", "tests": 2, PYOXIGRAPH: 2, PER_WINDOW: 1, "compiled": 0, RULES: 0,
    }  # fmt: skip
    assert [target.holds for target in sparql_targets(verdicts)] == [False]
    refused = [run_sparql_test(test, {PYOXIGRAPH: refuses}) for test in (graphs, wrong)]
    assert [each.outcomes[PYOXIGRAPH] for each in refused] == [FAIL, PASS]
    taken = run_sparql_test(wrong, {PYOXIGRAPH: lambda test: SparqlAnswer()})
    assert taken.outcomes[PYOXIGRAPH] == FAIL


@pytest.mark.parametrize("text", ["SELECT ?x { ?x a <C> }", "ASK { ?x a <C> }", "CONSTRUCT WHERE { ?x a <C> }"])
def test_every_form_is_answered_in_every_way(group: Path, text: str) -> None:
    data, query = group / "own" / "one.ttl", group / "own" / "form.rq"
    query.write_text(text, encoding="utf-8")
    test = SparqlTest("own", "form", EVALUATION, query, (data,))
    answers = [way(test) for way in WAYS.values()]
    assert len(answers) == 3
    assert all(same(each, answers[0]) for each in answers)
    assert str(answers[0]) in ("true", "1 rows", "1 triples")


def test_what_is_no_query_is_rejected_in_every_way(group: Path) -> None:
    verdict = run_sparql_test(find_sparql_tests(group)[2])
    assert set(verdict.outcomes.values()) == {PASS}


@pytest.mark.slow
def test_what_pyoxigraph_passes_is_passed() -> None:
    if not DATA.is_dir():
        pytest.skip("the tests of SPARQL are not there")
    verdicts = list(map(run_sparql_test, find_sparql_tests(DATA)))
    assert sum(each.outcomes[PYOXIGRAPH] == PASS for each in verdicts) == 224
    assert [target.figure for target in sparql_targets(verdicts)] == ["224 of 224"]
