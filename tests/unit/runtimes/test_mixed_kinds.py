"""What `<` could not compare is reported once, at the end of a run."""

import pytest

import thalweg
from thalweg import Diagnostic, Source


def reported(rules: str, facts: list[tuple[int, str]]) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    list(thalweg.run(rules, stream=facts, report=found.append))
    return found


@pytest.mark.parametrize(
    ("rules", "facts", "messages"),
    [
        ("a(V) :- p(V), V > 20.", ["p(1)", "p(30)"], []),
        ("a(V) :- p(V), V > 20.", ['p("n/a")', "p(x)", "p(<i>)"], [("V > 20", '"n/a"', "a text", "20", "a number")]),
        ("a(V) :- p(V), V > 20.", ["p(<i>)"], [("V > 20", "<i>", "an IRI", "20", "a number")]),
        ("a(V) :- p(V), 5 < V <= 20.", ["p(x)"], [("5 < V", "5", "a number", "x", "a text")]),
        ("a(V) :- p(V), V < 5.\nb(V) :- p(V), V < 5.", ["p(x)"], [("V < 5", "x", "a text", "5", "a number")] * 2),
        ("n(N) :- N = count{V : p(V), V < 5}.", ["p(x)"], [("V < 5", "x", "a text", "5", "a number")]),
        ("a(V) :- p(V), V >= @1970-01-02.", ["p(3)"], [("V >= ", "3", "a number", "1970-01-02", "a time")]),
        ("a(V) :- p(V), V != 5, V = x, V !== 3.", ["p(x)", "p(3)"], []),
    ],
)
def test_each_comparison_is_reported_once(rules: str, facts: list[str], messages: list[tuple[str, ...]]) -> None:
    found = reported(rules, list(enumerate(facts)))
    assert [one.code for one in found] == ["W305"] * len(messages)
    for one, parts in zip(found, messages, strict=True):
        assert all(part in one.message for part in parts)
        assert one.span is not None
        assert one.span.source.text[one.span.start : one.span.end]


def test_what_was_reported_before_the_run_is_not_reported_again() -> None:
    assert [one.code for one in reported('a(V) :- p(V), V > "20".', [(1, "p(1)")])] == ["W207"]


def test_rules_around_an_answer_set_program_are_watched() -> None:
    found: list[Diagnostic] = []
    programs = ["a(V) :- p(V), V > 20.", Source("x.lp", "b(X) :- a(X).")]
    list(thalweg.run(programs, stream=[(1, ["p(x)", "p(30)"])], report=found.append))
    assert [one.code for one in found] == ["W305"]
