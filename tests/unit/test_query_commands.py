"""Continuous queries on the command line."""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from typer.testing import CliRunner

from thalweg import Source, check
from thalweg.cli import app

QUERY = """PREFIX : <http://ex.org/>
SELECT ?s ?v FROM NAMED WINDOW :w ON STREAM :readings [RANGE 2, SLIDE 1] WHERE { WINDOW :w { ?s :value ?v } }
"""
GRAPH = QUERY.replace("SELECT ?s ?v", "CONSTRUCT { ?s :saw ?v }")
EVENT = '{"t":%d,"graph":"<http://ex.org/%s> <http://ex.org/value> %d ."}\n'


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.rspql").write_text(QUERY)
    (tmp_path / "graph.rq").write_text(GRAPH)
    (tmp_path / "readings.jsonl").write_text(EVENT % (1, "a", 3) + EVENT % (3, "b", 4))
    return tmp_path


def thalweg(*arguments):
    return CliRunner().invoke(app, list(arguments))


def test_run():
    result = thalweg("run", "q.rspql", "--stream", "readings.jsonl")
    assert result.stdout.splitlines() == [
        '{"t":2,"window":[1,2],"bindings":[{"s":"<http://ex.org/a>","v":"3"}]}',
        '{"t":3,"window":[2,3],"bindings":[{"s":"<http://ex.org/b>","v":"4"}]}',
    ]


@pytest.mark.parametrize(
    ("format", "found"),
    [
        ("atoms", "<http://ex.org/saw>(<http://ex.org/a>,3) at 2."),
        (
            "nquads",
            '<http://ex.org/a> <http://ex.org/saw> "3"^^<http://www.w3.org/2001/XMLSchema#integer> <urn:thalweg:',
        ),
        ("jsonld", '"http://ex.org/saw"'),
        ("jsonl", '{"t":2,"window":[1,2],"graph":["<http://ex.org/saw>(<http://ex.org/a>,3)"]}'),
    ],
)
def test_a_graph_in_every_format(format, found):
    result = thalweg("run", "graph.rq", "--stream", "readings.jsonl", "--format", format)
    assert result.exit_code == 0
    assert found in result.stdout


@pytest.mark.parametrize(
    "options",
    [
        ("--format", "nquads"),
        ("--emit", "intervals"),
        ("--show", "p/1"),
        ("--memory", "3M"),
        ("--profile", "rdfs"),
        ("--window", "3"),
        ("--models", "all"),
    ],
)
def test_what_has_no_meaning_for_queries_is_wrong_usage(options):
    result = thalweg("run", "q.rspql", "--stream", "readings.jsonl", *options)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "error[E403]" in result.stderr


def test_changes_are_what_queries_output():
    assert thalweg("run", "q.rspql", "--stream", "readings.jsonl", "--emit", "changes").exit_code == 0


def test_a_run_that_is_complete_is_not_run_again(folder):
    command = ["run", "q.rspql", "--stream", "readings.jsonl", "--checkpoint", "state", "--out", "out.jsonl"]
    assert thalweg(*command).exit_code == 0
    written = (folder / "out.jsonl").read_text()
    assert "W416" in thalweg(*command).stderr
    assert len(written.splitlines()) == 2
    assert (folder / "out.jsonl").read_text() == written


def test_check_and_explain():
    assert thalweg("check", "q.rspql").stdout.startswith("no problems found")
    data = json.loads(thalweg("explain", "q.rspql", "--format", "json").stdout)
    assert (data["form"], data["columns"], data["windows"][0]["range"]) == ("SELECT", ["s", "v"], 2)
    assert "closes at t1+1, t1+2" in thalweg("explain", "q.rspql").stdout
    assert thalweg("explain", "q.rspql", "--format", "svg").stdout.startswith("<svg")


def test_explain_draws_the_stages_of_spark():
    drawn = thalweg("explain", "q.rspql", "--runtime", "spark", "--partitions", "3", "--format", "svg").stdout
    assert ">stage 0 · 3 partitions by s</text>" in drawn
    assert ">  because rows are counted together</text>" in drawn


def test_rows_are_a_table():
    result = thalweg("run", "q.rspql", "--stream", "readings.jsonl", "--format", "csv")
    assert result.stdout.splitlines() == [
        "t,window,s,v",
        '2,"[1,2]",<http://ex.org/a>,3',
        '3,"[2,3]",<http://ex.org/b>,4',
    ]


def test_a_stream_that_is_wrong_from_the_beginning_is_reported(folder):
    (folder / "readings.jsonl").write_text("oops\n")
    result = thalweg("run", "q.rspql", "--stream", "readings.jsonl")
    assert (result.exit_code, "error[E301]" in result.stderr) == (1, True)


def test_a_rejected_query_has_exit_code_1(folder):
    (folder / "q.rspql").write_text(QUERY.replace("WINDOW :w {", "WINDOW :v {"))
    result = thalweg("run", "q.rspql", "--stream", "readings.jsonl")
    assert result.exit_code == 1
    assert "error[E603]: window `:v` is not declared\n  q.rspql:2:89\n" in result.stderr


@pytest.mark.parametrize(
    ("program", "row"), [("q.rspql", "?s=:a"), ("q.rspql", '{"v":"3"}'), ("graph.rq", ":saw(:a,3)")]
)
def test_why(program, row):
    result = thalweg("why", program, row, "--at", "2", "--stream", "readings.jsonl")
    assert ":value(:a,3)   (window w, stream readings, at 1)" in result.stdout
    assert "stays until the evaluation of 2" in result.stdout
    data = json.loads(
        thalweg("why", program, row, "--at", "2", "--stream", "readings.jsonl", "--format", "json").stdout
    )
    assert data["solutions"][0][0]["ticks"] == [1]


def test_why_of_a_row_that_is_not_there():
    result = thalweg("why", "q.rspql", "?s=:b", "--at", "2", "--stream", "readings.jsonl")
    assert (result.exit_code, "E405" in result.stderr) == (1, True)


def test_a_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdflib.plugins.sparql.parser", None)
    found = check(Source("q.rspql", QUERY))
    assert [(one.code, "thalweg[rspql]" in one.help) for one in found] == [("E406", True)]


@pytest.mark.parametrize("clause", ["FROM", "FROM NAMED"])
@pytest.mark.parametrize("runtime", ["embedded", "check"])
def test_from_opens_nothing_and_says_so(folder, clause, runtime):
    asked = []

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

    (folder / "secret.ttl").write_text('<http://ex.org/a> <http://ex.org/value> "secret" .')
    with HTTPServer(("127.0.0.1", 0), Answering) as server:
        serving = Thread(target=server.serve_forever)
        serving.start()
        for graph in (f"http://127.0.0.1:{server.server_port}/g", (folder / "secret.ttl").as_uri()):
            pattern = "GRAPH ?g { ?s :value ?u }" if clause == "FROM NAMED" else "?s :value ?u"
            query = QUERY.replace("FROM NAMED", f"{clause} <{graph}> FROM NAMED").replace(
                "WHERE {", f"WHERE {{ OPTIONAL {{ {pattern} }}"
            )
            (folder / "q.rspql").write_text(query.replace("?s ?v FROM", "* FROM"))
            words = ["check", "q.rspql"] if runtime == "check" else ["run", "q.rspql", "--stream", "readings.jsonl"]
            result = thalweg(*words)
            assert result.exit_code == 0, result.output
            assert f"warning[W611]: `<{graph}>` is not a graph of the background: no file is opened" in result.stderr
            assert "name the file with `--background` and leave `FROM` out" in result.stderr
            assert "secret" not in result.stdout
        server.shutdown()
        serving.join()
    assert asked == []


def test_a_graph_of_the_background_is_meant_by_from(folder):
    (folder / "known.trig").write_text("<http://ex.org/g> { <http://ex.org/a> <http://ex.org/room> 7 }")
    known = "FROM <http://ex.org/g> FROM NAMED"
    (folder / "q.rspql").write_text(
        QUERY.replace("FROM NAMED", known).replace("WHERE {", "WHERE { ?s :room ?r").replace("?s ?v FROM", "?r FROM")
    )
    result = thalweg("run", "q.rspql", "--stream", "readings.jsonl", "--background", "known.trig")
    assert "W611" not in result.stderr
    assert '{"r":"7"}' in result.stdout


@pytest.mark.parametrize(
    "text", ["LOAD <{file}>", "LOAD SILENT <{file}> INTO GRAPH <urn:g>", QUERY + "; LOAD <{file}>"]
)
def test_load_opens_nothing_and_says_so(folder, text):
    (folder / "q.rspql").write_text(text.replace("{file}", (folder / "q.rspql").as_uri()))
    result = thalweg("check", "q.rspql")
    assert result.exit_code == 1
    assert (
        "error[E604]: `LOAD` is not supported: no file is opened for a query, and nothing is fetched" in result.stderr
    )
    assert "--background" in result.stderr
