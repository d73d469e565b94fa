"""The W3C's tests of OWL 2 DL: what follows is found, what does not is not, and nothing is guessed."""

import pytest

from thalweg.bench.conformance import CONSISTENT, FOLLOWS, FOLLOWS_NOT
from thalweg.bench.dl_conformance import (
    FAIL,
    HERMIT,
    MODELS,
    PASS,
    UNDECIDED,
    Decided,
    DlVerdict,
    consistent,
    counted_dl,
    dl_failures,
    dl_targets,
    entails,
    run_dl_test,
)
from thalweg.model.rdf import read_graph
from thalweg.model.vocabulary import Triple

PREFIXES = """
@prefix : <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
NAMES = """
:A a owl:Class . :B a owl:Class . :C a owl:Class . :p a owl:ObjectProperty . :w a owl:DatatypeProperty .
:note a owl:AnnotationProperty .
"""


def read(text: str) -> list[Triple]:
    return [(one, name, other) for one, name, other, _ in read_graph(f"{PREFIXES}{text}".encode(), "turtle", base="x")]


@pytest.mark.parametrize(
    ("premise", "conclusion", "follows"),
    [
        (":A rdfs:subClassOf [ owl:unionOf (:B :C) ] . :B rdfs:subClassOf :C . :x a :A", ":x a :C", True),
        (":A rdfs:subClassOf [ owl:unionOf (:B :C) ] . :x a :A", ":x a :C", False),
        (":w rdfs:range xsd:short", ":w rdfs:range xsd:byte", False),
        (":x a :A", ':x :note "annotations claim nothing"', True),
        (":x a :A . :x a [ owl:complementOf :A ]", ":x a :B", True),
        (":A rdfs:subClassOf :B", ":A a owl:Class . :A rdfs:subClassOf [ owl:unionOf (:B :C) ]", True),
    ],
)
def test_what_follows_and_what_does_not(premise: str, conclusion: str, follows: bool) -> None:
    found = entails(
        read(f"{NAMES}{premise} ."), read(f"{NAMES}{conclusion} ."), lambda given: consistent(given, "none")
    )
    assert found.holds is follows
    assert found.by == MODELS


@pytest.mark.hermit
def test_hermit_is_asked_for_the_rest() -> None:
    premise, conclusion = read(f"{NAMES}:w rdfs:range xsd:byte ."), read(f"{NAMES}:w rdfs:range xsd:short .")
    assert entails(premise, conclusion) == Decided(True, HERMIT)
    assert entails(premise, conclusion, lambda given: consistent(given, "none")).holds is None


def test_what_cannot_be_decided_is_not_guessed() -> None:
    found = entails(read(":x a :A ."), read(":x a :B ."), lambda _: Decided(None, HERMIT, "no time left"))
    assert found == Decided(None, HERMIT, "no time left")


def test_what_is_not_read_is_undecided_unless_the_rest_contradicts() -> None:
    odd = "[] owl:onProperty :p . "
    assert consistent(read(f"{NAMES}{odd}"), "none").holds is None
    assert consistent(read(f"{NAMES}{odd} :x a owl:Nothing ."), "none").holds is False


def test_outcomes() -> None:
    premise, member = read(f"{NAMES} :A rdfs:subClassOf :B . :x a :A ."), read(":x a :B .")
    assert run_dl_test("t", FOLLOWS, premise, member, True) == DlVerdict("t", FOLLOWS, PASS)
    wrong = run_dl_test("t", FOLLOWS_NOT, premise, member, False)
    assert wrong.outcome == FAIL
    other = run_dl_test("t", CONSISTENT, [*premise, *read("<o> owl:imports <http://example.org/o> .")], None, False)
    assert other.outcome == UNDECIDED
    assert "not part of the tests" in other.reason


def test_counts() -> None:
    verdicts = [
        DlVerdict("a", FOLLOWS, PASS),
        DlVerdict("b", FOLLOWS, PASS, HERMIT),
        DlVerdict("c", FOLLOWS, UNDECIDED),
    ]
    assert counted_dl(verdicts)[-1] == {
        "tests for": "all",
        "tests": 3,
        "pass": 2,
        "fail": 0,
        "undecided": 1,
        "passed without HermiT": 1,
    }
    assert [row["test"] for row in dl_failures(verdicts)] == ["c"]
    assert [target.holds for target in dl_targets(verdicts)] == [True, False]
