"""Variables for graphs stand for each graph in turn: around sub-selects, and on both sides of MINUS."""

import pytest

from thalweg import api
from thalweg.model.event import Event
from thalweg.model.fact import Fact

PREFIX = "PREFIX : <http://example.org/>"
CLAUSES = " ".join(f"FROM NAMED WINDOW :{name} ON STREAM :{name} [RANGE 1, SLIDE 1]" for name in "ab")
GRAPHS = "@prefix : <http://example.org/> . :g1 { :x :p 1 , 2 . } :g2 { :x :p 3 . }"


@pytest.mark.parametrize(
    ("pattern", "rows"),
    [
        ("WINDOW ?w { SELECT (COUNT(*) AS ?n) { ?s ?p ?o } }", [("a", "2"), ("b", "1")]),
        ("WINDOW ?w { ?s :p ?n MINUS { ?t :p ?m } }", [("a", "1"), ("a", "2"), ("b", "3")]),
        ("GRAPH ?w { SELECT (COUNT(*) AS ?n) { ?s ?p ?o } }", [("g1", "2"), ("g2", "1")]),
        ("GRAPH ?w { VALUES ?w { :g1 } { SELECT ?n { ?s ?p ?n } } }", [("g1", "1"), ("g1", "2")]),
        ("GRAPH ?w { ?s :p ?n MINUS { ?t :p ?m } }", [("g1", "1"), ("g1", "2"), ("g2", "3")]),
    ],
)
def test_each_graph_is_asked_by_itself(tmp_path, pattern: str, rows: list[tuple[str, str]]) -> None:
    query, known = tmp_path / "q.rspql", tmp_path / "known.trig"
    seen = "WINDOW :a { ?x :p 1 } WINDOW :b { ?x :p 3 }"
    query.write_text(f"{PREFIX} SELECT ?w ?n {CLAUSES} {{ {pattern} {seen} }}", encoding="utf-8")
    known.write_text(GRAPHS, encoding="utf-8")
    events = [event(0, "a", "1", "2"), event(0, "b", "3")]
    (answer,) = api.run(query, events, background=known)
    assert [(row["w"].removeprefix("http://example.org/"), str(row["n"])) for row in answer.rows] == rows


def event(tick: int, stream: str, *values: str) -> Event:
    facts = (Fact("<http://example.org/p>", ("<http://example.org/x>", value)) for value in values)
    return Event(tick, tuple(facts), stream)
