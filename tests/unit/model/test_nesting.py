"""What is nested too deeply is refused before a parser ends the process."""

import pytest

import thalweg
from thalweg import Source
from thalweg.model.nesting import MOST_NESTED, too_deep

DEEP = 100_000


@pytest.mark.parametrize("text", ["p(1). " * DEEP, "a, " * DEEP, "p(1+1).\n" * DEEP, '"((("' * DEEP, ":- -a.\n" * DEEP])
def test_what_stands_side_by_side_is_not_nested(text: str) -> None:
    assert too_deep(text) is None


@pytest.mark.parametrize("part", ["(", "f(1,", "-", "1+", "f(1,1)+", "[", "1..", "|", "(1,2)-("])
def test_brackets_and_operators_are_levels(part: str) -> None:
    assert too_deep(part * 30) is None
    assert too_deep(part * (MOST_NESTED + 1)) is not None


RULES = {
    "rules.lars": ["q(X) :- p(Y), X = {}Y{}.", "q({}1{}).", "q :- p(X), r(Y), X < {}Y{}."],
    "sets.lp": ["q({}1{}).", "q(X) :- p(X), X < {}1{}.", ":- q(X), p({}X{})."],
}


@pytest.mark.parametrize(("name", "rule"), [(name, rule) for name, rules in RULES.items() for rule in rules])
@pytest.mark.parametrize(("begin", "end"), [("(", ")"), ("-(", ")"), ("1+", ""), ("-", "")])
def test_programs(name: str, rule: str, begin: str, end: str) -> None:
    fits = MOST_NESTED // 2 - 2
    for times, codes in ((fits, set()), (DEEP, {"E302"})):
        found = thalweg.check(Source(name, rule.format(begin * times, end * times)))
        assert {one.code for one in found if one.severity == "error"} == codes


EXPRESSIONS = {
    "o.ofn": ("Prefix(:=<http://e/>) Ontology(SubClassOf(:A {}:B{}))", "ObjectSomeValuesFrom(:r ", ")"),
    "o.omn": ("Prefix: : <http://e/>\nOntology: <http://e/o>\nClass: :A\n SubClassOf: {}:B{}\n", ":r some (", ")"),
    "o.owx": (
        '<?xml version="1.0"?><Ontology xmlns="http://www.w3.org/2002/07/owl#"><SubClassOf><Class IRI="http://e/A"/>'
        '{}<Class IRI="http://e/B"/>{}</SubClassOf></Ontology>',
        "<ObjectComplementOf>",
        "</ObjectComplementOf>",
    ),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_ontologies(name: str) -> None:
    pytest.importorskip("pyhornedowl")
    text, begin, end = EXPRESSIONS[name]
    for times, codes in ((10, set()), (DEEP, {"E302"})):
        found = thalweg.check(Source(name, text.format(begin * times, end * times)))
        assert {one.code for one in found if one.severity == "error"} == codes


def test_json_lines() -> None:
    for graph in ("[" * DEEP + "]" * DEEP, '{"a":' * DEEP + "1" + "}" * DEEP):
        with pytest.raises(thalweg.RejectedError, match="nested too deeply"):
            list(thalweg.run("q :- p.", stream=Source("in.jsonl", f'{{"t":1,"graph":{graph}}}')))
