"""Queries beside other parts: what they make is a stream, and what others hold is one to them."""

import pytest

import thalweg
from thalweg import api
from thalweg.diagnostics import Source
from thalweg.model.event import Event
from thalweg.model.fact import Fact

PREFIX = "PREFIX : <http://ex/>"
MADE = Source(
    "made.rspql",
    f"{PREFIX} CONSTRUCT {{ ?x :above ?v }} FROM NAMED WINDOW :w ON STREAM :in [RANGE 2s, SLIDE 2s]"
    " WHERE { WINDOW :w { ?x :value ?v FILTER(?v > 30) } }",
)
CHOICE = Source("choice.lp", "#prefix ex: <http://ex/>. ex_hot(X) :- ex_above(X,_), not ex_off(X). #show ex_hot/1.")
HEARD = Source(
    "heard.rspql",
    f"{PREFIX} SELECT ?x FROM NAMED WINDOW :w ON STREAM :choice [RANGE 3s, SLIDE 3s]"
    " WHERE { WINDOW :w { ?x a :hot } }",
)
A, B = "<http://ex/a>", "<http://ex/b>"


def value(tick: int, *pairs: tuple[str, int]) -> Event:
    return Event(tick, tuple(Fact("<http://ex/value>", (name, str(number))) for name, number in pairs), "in")


def run(*programs: Source, end: int = 5) -> list[str]:
    events = [value(0, (A, 40), (B, 20)), value(3, (B, 50))]
    answers = api.run(list(programs), stream=events, emit="changes", end=end)
    return [str(one).replace("http://ex/", "") for one in answers]


def test_an_answer_set_program_reads_what_a_query_makes() -> None:
    assert [line for line in run(MADE, CHOICE) if "answers" in line] == [
        '{"t":0,"window":[0,0],"answers":[[]]}',
        '{"t":1,"window":[1,1],"answers":[["<hot>(<a>)"]]}',
        '{"t":2,"window":[2,2],"answers":[[]]}',
        '{"t":3,"window":[3,3],"answers":[["<hot>(<b>)"]]}',
        '{"t":4,"window":[4,4],"answers":[[]]}',
    ]


def test_a_query_hears_what_answers_hold() -> None:
    assert [line for line in run(MADE, CHOICE, HEARD) if "bindings" in line] == [
        '{"t":2,"window":[0,2],"bindings":[{"x":"<a>"}]}',
        '{"t":5,"window":[3,5],"bindings":[{"x":"<b>"}]}',
    ]


def test_what_holds_through_a_window_is_in_it() -> None:
    """Also where it neither begins nor ends there."""
    rules = Source("choice.lars", "@prefix : <http://ex/> . :hot(X) :- :value(X,V) in [9], V > 30.")
    assert [line for line in run(rules, HEARD, end=8) if "bindings" in line] == [
        '{"t":2,"window":[0,2],"bindings":[{"x":"<a>"}]}',
        '{"t":5,"window":[3,5],"bindings":[{"x":"<a>"},{"x":"<b>"}]}',
        '{"t":8,"window":[6,8],"bindings":[{"x":"<a>"},{"x":"<b>"}]}',
    ]


def test_a_query_reads_what_follows_from_an_ontology() -> None:
    """On the stream that is called as the ontology's file; the stream of facts has no conclusions."""
    domain = "<http://ex/value> <http://www.w3.org/2000/01/rdf-schema#domain> <http://ex/Sensor> ."
    text = f"{PREFIX} SELECT ?x FROM NAMED WINDOW :w ON STREAM :%s [RANGE 3] {{ WINDOW :w {{ ?x a :Sensor }} }}"
    found = {
        stream: [line for line in run(Source("city.ttl", domain), Source("q.rspql", text % stream)) if "bind" in line]
        for stream in ("city", "in")
    }
    assert found == {
        "city": [
            '{"t":2,"window":[0,2],"bindings":[{"x":"<a>"},{"x":"<b>"}]}',
            '{"t":5,"window":[3,5],"bindings":[{"x":"<b>"}]}',
        ],
        "in": ['{"t":2,"window":[0,2],"bindings":[]}', '{"t":5,"window":[3,5],"bindings":[]}'],
    }


def test_a_query_must_not_hear_what_rests_on_it() -> None:
    rules = Source("in.lars", "@prefix : <http://ex/> . :value(X,V) :- :above(X,V).")
    with pytest.raises(thalweg.RejectedError) as refused:
        run(MADE, rules)
    (found,) = refused.value.diagnostics
    assert (found.code, found.span.source.name) == ("E513", "in.lars")
    assert found.message == "the query `made` reads `<http://ex/value>/2`, which depends on its own answers"


def test_explain_says_which_streams_a_query_reads() -> None:
    part = api.load_part([MADE, CHOICE, HEARD], report=lambda _: None)
    parts = part.explain().as_data()["parts"]
    assert [(one["kind"], one["streams"]) for one in parts] == [
        ("query made", [{"stream": "in", "from": 0}]),
        ("answer sets", []),
        ("query heard", [{"stream": "choice", "from": 2}]),
    ]
    assert {"predicate": "ex_above/2", "from": 0} in parts[1]["reads"]
    lines = {line.strip() for line in part.explain().as_text().splitlines()}
    assert {"reads the stream in", "reads the stream choice from part 2", "outputs rows of ?x"} <= lines


def test_queries_are_drawn_with_what_they_read_and_output() -> None:
    drawn = api.load_part([MADE, CHOICE, HEARD], report=lambda _: None).explain().as_svg()
    assert [text for text in ("query made", "query heard", "rows of ?x", "in") if f">{text}<" not in drawn] == []
