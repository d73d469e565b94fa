"""Documents that would end the process, take its memory or its time: a diagnostic, and only the document is lost."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import thalweg
from thalweg import RejectedError, Source
from thalweg.connectors.documents import JSON, Cutter
from thalweg.connectors.readers import open_reader
from thalweg.diagnostics import Diagnostic
from thalweg.ir.nodes import (
    Aggregate,
    Atom,
    Comparison,
    Constant,
    InWindow,
    Not,
    Now,
    Program,
    Rule,
    TimeWindow,
    Variable,
)
from thalweg.languages.deployment.read_deployment import read_deployment
from thalweg.model.dictionary import Dictionary
from thalweg.model.fact import Fact
from thalweg.model.nesting import check_document
from thalweg.model.rdf import LONGEST_TERM, RdfSyntaxError, read_graph
from thalweg.model.time import Clock

RULE = "q(X) :- <http://e.org/p>(X,Y).\n"
EVENT = (
    '{{"@id": "http://e.org/g{0}", "http://www.w3.org/ns/prov#generatedAtTime": {0},'
    ' "@graph": {{"@id": "http://e.org/a{0}", "http://e.org/p": 1}}}}\n'
)
RDF = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e.org/">'
X = Variable("X")
P = Atom("p", (X,))


def deep(kind: str, levels: int) -> tuple[bytes, str]:
    """A document of so many levels, and its format."""
    text, format = {
        "objects": ('{"http://e.org/p":' * levels + "1" + "}" * levels, "jsonld"),
        "lists": ('{"http://e.org/p":' + '{"@list":[' * levels + "1" + "]}" * levels + "}", "jsonld"),
        "never closed": ('{"http://e.org/p":' * levels, "jsonld"),
        "elements": (RDF + "<e:C><e:p>" * levels + "</e:p></e:C>" * levels + "</rdf:RDF>", "rdfxml"),
        "attributes": (RDF + '<e:C e:q="/>">' * levels, "rdfxml"),
        "triples": ("<urn:a> <urn:p> " + "<<( <urn:a> <urn:p> " * levels + "1" + " )>>" * levels + " .", "turtle"),
        "quads": ("<urn:a> <urn:p> " + "<<( <urn:a> <urn:p> " * levels + '"1"' + " )>>" * levels + " .", "nquads"),
    }[kind]
    return text.encode(), format


def test_a_deep_document_costs_itself_only(tmp_path: Path) -> None:
    (tmp_path / "q.lars").write_text(RULE)
    (tmp_path / "in.jsonld").write_text(EVENT.format(1) + deep("objects", 4_000)[0].decode() + "\n" + EVENT.format(2))
    command = [
        sys.executable,
        "-c",
        "from thalweg.cli import main; main()",
        "run",
        "q.lars",
        "--stream",
        "in.jsonld",
        "--on-error",
    ]
    skipped = subprocess.run([*command, "skip"], cwd=tmp_path, capture_output=True, text=True)
    assert skipped.returncode == 0
    assert "a1" in skipped.stdout
    assert "a2" in skipped.stdout
    assert "error[E301]: this is nested more than 200 levels deep\n  in.jsonld:2:" in skipped.stderr
    stopped = subprocess.run([*command, "stop"], cwd=tmp_path, capture_output=True, text=True)
    assert (stopped.returncode, "E301" in stopped.stderr) == (3, True)


@pytest.mark.parametrize("kind", ["objects", "lists", "never closed", "elements", "attributes", "triples", "quads"])
def test_depth_is_checked_before_the_parser(kind: str) -> None:
    data, format = deep(kind, 100_000)
    with pytest.raises(RdfSyntaxError, match="levels deep"):
        list(read_graph(data, format))


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ('{"http://e.org/p": "' + "[{" * 1_000 + '\\""}', "jsonld"),
        ("[" + '{"http://e.org/p": [1]},' * 1_000 + "{}]", "jsonld"),
        (RDF + "<e:C/>" * 5_000 + "<!--" + "<a>" * 5_000 + "--></rdf:RDF>", "rdfxml"),
        (RDF + "<e:C e:p='>'/>" * 5_000 + "</rdf:RDF>", "rdfxml"),
        ("<urn:a> <urn:p> " + ", ".join(f'"<<{number}"' for number in range(500)) + " .", "turtle"),
        ("# <<\n" * 500 + "<urn:a> <urn:p> 1 .", "turtle"),
    ],
)
def test_what_only_looks_deep_is_read(text: str, format: str) -> None:
    check_document(text.encode(), format)
    assert list(read_graph(text.encode(), format))


def test_an_ontology_that_is_too_deep_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.rdf").write_bytes(deep("elements", 20_000)[0])
    assert [found.code for found in thalweg.check(tmp_path / "a.rdf")] == ["E101"]


def test_a_literal_that_is_too_long_is_rejected() -> None:
    text = f'<urn:a> <urn:p> "{"x" * (LONGEST_TERM + 1)}" .'
    [found] = thalweg.check("a :- b.", background=Source("long.ttl", text))
    assert (found.code, "16 MiB" in found.message) == ("E101", True)


@pytest.mark.parametrize(
    ("name", "begin", "end", "after"),
    [
        ("in.facts", b'p(a) at 1.\np("', b'") at 1.\n', b"p(b) at 2.\n"),
        ("in.jsonl", b'{"t": 1, "facts": ["p(a)"]}\n{"t": 1, "facts": ["', b'"]}\n', b'{"t": 2, "facts": ["p(b)"]}'),
        (
            "in.trig",
            b'<urn:a> <urn:p> """',
            b'""" .\n',
            b"<urn:e> <http://www.w3.org/ns/prov#generatedAtTime> 2 .\n<urn:e> { <urn:a> <urn:p> 1 }",
        ),
        ("in.jsonld", b'{"urn:p": "', b'"}\n', EVENT.format(2).encode()),
    ],
)
def test_a_stream_goes_on_behind_a_literal_of_two_gigabytes(name: str, begin: bytes, end: bytes, after: bytes) -> None:
    def blocks() -> Iterator[bytes]:
        yield begin
        yield from [b"x" * (1 << 24)] * 128
        yield end + after

    reader = open_reader(name, "in", Dictionary(), Clock())
    items = [item for block in blocks() for item in reader.feed(block)]
    items += reader.finish()
    [wrong] = [item for item in items if isinstance(item, Diagnostic)]
    assert (wrong.code, " MiB, more than can be read" in wrong.message) == ("E301", True)
    assert [item[0] for item in items if not isinstance(item, Diagnostic)][-1] == 2


def test_what_is_skipped_is_saved() -> None:
    reader = open_reader("in.facts", "in", Dictionary(), Clock())
    for block in [b"x" * (1 << 24)] * 5:
        list(reader.feed(block))
    other = open_reader("in.facts", "in", Dictionary(), Clock())
    other.load(reader.save())  # type: ignore[arg-type]
    assert [item[0] for item in other.feed(b"xxx\np(b) at 2.\n")] == [2]  # type: ignore[index]


def test_a_long_document_of_short_literals_is_read() -> None:
    cutter = Cutter(JSON)
    for block in (b"[", *[b'{"http://e.org/p": "' + b"x" * (1 << 20) + b'"},'] * (LONGEST_TERM >> 19)):
        assert cutter.cut(block) == []
    assert len(cutter.cut(b"{}]")) == 1


# Programs and deployments ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("levels", [51, 150, 5_000])
def test_a_deep_pattern_is_rejected(levels: int) -> None:
    text = f"PREFIX : <http://e.org/>\nNAMED EVENT :B {{ MATCH EVERY {'(' * levels}:A{')' * levels} }}"
    found = thalweg.check(Source("deep.tw", text))
    assert [one.message for one in found if one.code == "E101"] == ["this is nested more than 50 levels deep"]


@pytest.mark.parametrize(
    "text", ["program = " + "[" * 200_000 + "]" * 200_000, "program = {" + ".".join("a" * 20_000) + " = 1}"]
)
def test_a_deep_deployment_is_rejected(text: str) -> None:
    with pytest.raises(RejectedError) as error:
        read_deployment(Source("deep.toml", text))
    assert [found.code for found in error.value.diagnostics] == ["E302"]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (Rule(P, (P,)), "`Atom` cannot stand in the body of a rule"),
        (Rule(P, (Not(P),)), "`Atom` cannot stand in the body of a rule"),  # type: ignore[arg-type]
        (Rule(P, (Aggregate(X, "count", (X,), (P,)),)), "`Atom` cannot stand in the body of a rule"),
        (Rule(P, (InWindow("p", TimeWindow(0)),)), "`str` cannot stand in a formula"),  # type: ignore[arg-type]
        (Rule("p", (Now(P),)), "`str` cannot stand in the head of a rule"),  # type: ignore[arg-type]
        (Rule(Atom("q", ("X",)), (Now(P),)), "`str` cannot stand in the arguments of an atom"),  # type: ignore[arg-type]
        (Rule(P, (Now(P), Comparison("<", X, 3))), "`int` cannot stand in the arguments of an atom"),  # type: ignore[arg-type]
        (Rule(P, [Now(P)]), "`list` cannot stand in the place of a body"),  # type: ignore[arg-type]
        (P, "`Atom` cannot stand in the rules of a program"),
    ],
)
def test_a_rule_of_other_nodes_is_rejected(rule: Rule, message: str) -> None:
    with pytest.raises(RejectedError) as error:
        thalweg.run(Program((rule,)), stream=[(1, ["p(a)"])])
    assert [(found.code, found.message) for found in error.value.diagnostics] == [("E304", message)]


def test_a_rule_of_the_right_nodes_is_run() -> None:
    rule = Rule(Atom("q", (X,)), (Now(P), Comparison("!=", X, Constant("b"))))
    assert [str(fact) for answer in thalweg.run(Program((rule,)), stream=[(1, ["p(a)"])]) for fact in answer.begin] == [
        "q(a)"
    ]


# Graphs of rdflib -----------------------------------------------------------------------------------------------------


def test_a_graph_of_rdflib_is_background_and_ontology() -> None:
    rdflib = pytest.importorskip("rdflib")
    graph = rdflib.Graph().parse(data="<http://e.org/a> <http://e.org/p> [] .", format="turtle")
    for background in (graph, [graph, "k(b)."], {"known": graph}):
        [answer] = thalweg.run(RULE, stream=[(1, ["k"])], background=background)
        assert [str(fact) for fact in answer.begin] == ["q(<http://e.org/a>)"]
    schema = "@prefix : <http://e.org/> . :p <http://www.w3.org/2000/01/rdf-schema#domain> :C ."
    ontology = rdflib.Graph().parse(data=schema, format="turtle")
    [answer] = thalweg.run([ontology], stream=[(1, ["<http://e.org/p>(a,b)"])], profile="rdfs")
    assert Fact("<http://e.org/C>", ("a",)) in answer.begin


@pytest.mark.filterwarnings("ignore:Dataset:DeprecationWarning")
def test_the_default_graph_of_a_dataset_has_no_name() -> None:
    rdflib = pytest.importorskip("rdflib")
    dataset = rdflib.Dataset()
    dataset.add((rdflib.URIRef("urn:a"), rdflib.URIRef("urn:p"), rdflib.Literal(1)))
    dataset.graph(rdflib.URIRef("urn:g")).add((rdflib.URIRef("urn:b"), rdflib.URIRef("urn:p"), rdflib.Literal(2)))
    query = Source(
        "q.rspql", "SELECT ?s FROM NAMED WINDOW <w> ON <s> [RANGE 1s] { ?s <urn:p> ?o WINDOW <w> { ?x ?y ?z } }"
    )
    [*answers] = thalweg.run(query, stream={"s": "<urn:k>(<urn:x>,b) at 1.\n"}, background=dataset)
    assert "urn:a" in str(answers)
    assert "urn:b" not in str(answers)


def test_a_graph_of_rdflib_is_not_a_stream() -> None:
    rdflib = pytest.importorskip("rdflib")
    graph = rdflib.Graph().parse(data="<http://e.org/a> <http://e.org/p> 1 .", format="turtle")
    for stream in (graph, [graph], {"s": graph}):
        with pytest.raises(TypeError, match=r"has no times: give it as `background`"):
            list(thalweg.run(RULE, stream=stream))
    with pytest.raises(TypeError, match="is not a fact"):
        list(thalweg.run(RULE, stream=[(1, graph)]))


_QUERY = "SELECT ?s FROM NAMED WINDOW <w> ON <north> [RANGE 3s] {{ WINDOW <w> {{ ?s <urn:p> ?o {0} }} }}"


@pytest.mark.parametrize(
    "part",
    [
        "{} UNION ",
        "OPTIONAL {} ",
        "MINUS {} ",
        "; <urn:p> ?o ",
        ", ?o ",
        ". ?s <urn:p> ?o ",
        "FILTER(?o > 1) ",
        "BIND(1 AS ?{0}) ",
        "<urn:l> ({0}) ",
    ],
)
def test_a_long_query_does_not_end_the_process(part: str) -> None:
    written = part if part.startswith("<") else part.replace("{0}", "x") * 10_000
    text = _QUERY.format(written.replace("{0}", "1 " * 10_000))
    with pytest.raises(RejectedError) as caught:
        thalweg.run(Source("q.rspql", text), stream=[(1, "p(a)")])
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["E302"]


@pytest.mark.parametrize(
    "condition", ["(" * 5_000 + "?v" + ")" * 5_000, "!" * 5_000 + "?v", " || ".join(["?v"] * 5_000)]
)
def test_a_deep_filter_of_an_event_does_not_end_the_process(condition: str) -> None:
    text = (
        "NAMED EVENT <urn:b> AS <urn:b>\nNAMED EVENT <urn:s> { MATCH EVERY <urn:b> SEQ <urn:b> WITHIN (3 s)"
        f" IF {{ EVENT <urn:b> {{ ?o <urn:v> ?v FILTER({condition}) }} }} }}"
    )
    with pytest.raises(RejectedError) as caught:
        thalweg.run(Source("s.tw", text), stream=[(1, "p(a)")])
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["E302"]


def test_a_long_clause_of_an_event_is_refused() -> None:
    text = (
        "NAMED EVENT <urn:b> AS <urn:b>\nNAMED EVENT <urn:s> { MATCH EVERY <urn:b> SEQ <urn:b> WITHIN (3 s)"
        f" IF {{ EVENT <urn:b> {{ ?o <urn:v> ?v {'FILTER(?v > 1) ' * 201} }} }} }}"
    )
    with pytest.raises(RejectedError) as caught:
        thalweg.run(Source("s.tw", text), stream=[(1, "p(a)")])
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["E302"]
