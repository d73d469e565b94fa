"""The W3C's tests of OWL 2: how conclusions are denied, how verdicts are counted, and the verdict itself."""

import csv
import json
from pathlib import Path

import pytest

from thalweg.bench import conformance
from thalweg.bench.conformance import (
    CONSISTENT,
    FAIL,
    FOLLOWS,
    FOLLOWS_NOT,
    INCONSISTENT,
    NOT_SUPPORTED,
    PASS,
    Test,
    Verdict,
    close_by_rules,
    counts,
    find_tests,
    read_triples,
    run_test,
    verdict_of,
)
from thalweg.bench.refutation import ClosedGraph, follows
from thalweg.diagnostics import RejectedError
from thalweg.model.fact import Fact
from thalweg.model.rdf import read_graph
from thalweg.model.vocabulary import Triple

DATA = Path(__file__).parents[4] / "shared" / "data" / "owl2"
PREFIXES = """
@prefix : <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""

# Each conclusion follows from its premise, and not without it.
FOLLOWING = [
    (":C rdfs:subClassOf :D . :x a :C", ":x a :D"),
    (":C rdfs:subClassOf :D . :D rdfs:subClassOf :E", ":C rdfs:subClassOf :E"),
    (":C owl:equivalentClass :D", ":D owl:equivalentClass :C"),
    (":C owl:disjointWith :D", ":D owl:disjointWith :C"),
    ("[] a owl:AllDisjointClasses ; owl:members (:C :D :E)", ":D owl:disjointWith :E"),
    (":C owl:disjointWith :D . :x a :C", ":x a [ owl:complementOf :D ]"),
    (":p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :r", ":p rdfs:subPropertyOf :r"),
    (":p owl:inverseOf :q", ":q owl:inverseOf :p"),
    (":p owl:inverseOf :q . :p a owl:FunctionalProperty", ":q a owl:InverseFunctionalProperty"),
    (":p owl:inverseOf :q . :p a owl:TransitiveProperty", ":q a owl:TransitiveProperty"),
    (":p owl:inverseOf :q . :p a owl:IrreflexiveProperty", ":q a owl:IrreflexiveProperty"),
    (":p owl:inverseOf :q . :p a owl:AsymmetricProperty", ":q a owl:AsymmetricProperty"),
    (":p owl:inverseOf :p", ":p a owl:SymmetricProperty"),
    (":p owl:inverseOf :q . :p rdfs:domain :C", ":q rdfs:range :C"),
    (":p owl:propertyDisjointWith :q . :x :p :y . :x :q :z", ":y owl:differentFrom :z"),
    (":p a owl:FunctionalProperty . :x :p :y . :x :p :z", ":y owl:sameAs :z"),
    (":p owl:propertyDisjointWith :q . :x :p :y", "[] a owl:NegativePropertyAssertion ; "
     "owl:sourceIndividual :x ; owl:assertionProperty :q ; owl:targetIndividual :y"),
    (":p a owl:TransitiveProperty", ":p owl:propertyChainAxiom (:p :p :p)"),
    (":p rdfs:subPropertyOf :q . :C owl:hasKey (:q)", ":C owl:hasKey (:p)"),
    (":C owl:disjointUnionOf (:D :E)", ":D rdfs:subClassOf :C . :D owl:disjointWith :E"),
    (":D rdfs:subClassOf :C . :E rdfs:subClassOf :C", "[ owl:unionOf (:D :E) ] rdfs:subClassOf :C"),
    (":C rdfs:subClassOf :D , :E", ":C rdfs:subClassOf [ owl:intersectionOf (:D :E) ]"),
    (":p rdfs:domain :C", "[ owl:onProperty :p ; owl:someValuesFrom owl:Thing ] rdfs:subClassOf :C"),
    (":p rdfs:range :C", "owl:Thing rdfs:subClassOf [ owl:onProperty :p ; owl:allValuesFrom :C ]"),
    (":p a owl:FunctionalProperty", ':C rdfs:subClassOf [ owl:onProperty :p ; owl:maxCardinality 1 ]'),
    (":p rdfs:domain :C", "[ owl:onProperty :p ; owl:minCardinality 2 ] rdfs:subClassOf :C"),
    (":C rdfs:subClassOf [ owl:onProperty :p ; owl:hasValue :y ]",
     ":C rdfs:subClassOf [ owl:onProperty :p ; owl:minCardinality 1 ]"),
    (":x :p :y . :y a :C", ":x :p [ a :C ]"),
    (":x a [ owl:onProperty :p ; owl:someValuesFrom :C ] . :C rdfs:subClassOf :D", ":x :p [ a :D ]"),
    (":C owl:oneOf (:x :y) . :x a :D . :y a :D", ":C rdfs:subClassOf :C . :x a :C , :D"),
    (":p rdfs:range xsd:short , xsd:nonNegativeInteger", ":p rdfs:range xsd:unsignedShort"),
]  # fmt: skip
# These do not follow, though something like it does.
NOT_FOLLOWING = [
    (":C rdfs:subClassOf :D", ":D rdfs:subClassOf :C"),
    (":C rdfs:subClassOf :D", ":C owl:equivalentClass :D"),
    (":x :p :y . :y a :C . :x :p :z . :z a :D", ":x :p _:b . _:b a :C , :D"),
    (":x :p :y . :z :q :w", ":x :p _:b . :z :q _:b"),
    (":x :p :y", "_:a :p _:b . _:b :p _:a"),
    (":x :p :y", ":x :p _:b . _:b owl:differentFrom :y"),
    (":x :p :y", "_:b :q :y"),
    (":C rdfs:subClassOf :D", ":C rdfs:subClassOf [ owl:intersectionOf (:D :E) ]"),
    ("[] a owl:AllDisjointClasses ; owl:members (:C :D)", "[] a owl:AllDisjointClasses ; owl:members (:C :D :E)"),
    (":x a [ owl:onProperty :p ; owl:minCardinality 1 ]", ":x a [ owl:onProperty :p ; owl:minCardinality 2 ]"),
    (':x :p 1', ":x a [ owl:onProperty :p ; owl:minQualifiedCardinality 1 ; owl:onDataRange xsd:string ]"),
    (":p rdfs:range xsd:short", ":p rdfs:range xsd:unsignedByte"),
]  # fmt: skip


def graph(text: str, scope: str) -> list[Triple]:
    return [(s, p, o) for s, p, o, _ in read_graph(f"{PREFIXES}{text} .".encode(), "turtle", scope=scope)]


@pytest.mark.parametrize(("premise", "conclusion"), FOLLOWING)
def test_what_follows_is_found(premise: str, conclusion: str) -> None:
    assert follows(graph(premise, "premise"), graph(conclusion, "conclusion"), close_by_rules)
    assert not follows([], graph(conclusion, "conclusion"), close_by_rules)


@pytest.mark.parametrize(("premise", "conclusion"), NOT_FOLLOWING)
def test_what_does_not_follow_is_not(premise: str, conclusion: str) -> None:
    assert not follows(graph(premise, "premise"), graph(conclusion, "conclusion"), close_by_rules)


def test_a_declaration_is_a_claim_under_the_rdf_based_semantics_only() -> None:
    claim = graph(":p a owl:DatatypeProperty", "conclusion")
    assert follows([], claim, close_by_rules, direct=True)
    assert not follows([], claim, close_by_rules, direct=False)


def test_from_a_contradiction_everything_follows() -> None:
    assert follows(graph(":x a owl:Nothing", "premise"), graph(":y a :C", "conclusion"), close_by_rules)


@pytest.mark.parametrize(
    ("kind", "profiles", "contradiction", "outcome"),
    [
        (CONSISTENT, ("RL",), False, PASS),
        (CONSISTENT, ("RL",), True, FAIL),
        (CONSISTENT, ("EL",), False, NOT_SUPPORTED),
        (CONSISTENT, ("EL",), True, FAIL),
        (INCONSISTENT, ("RL",), False, FAIL),
        (INCONSISTENT, ("EL",), True, PASS),
        (INCONSISTENT, (), False, NOT_SUPPORTED),
        (FOLLOWS, ("EL", "RL"), False, FAIL),
        (FOLLOWS, (), True, PASS),
        (FOLLOWS_NOT, ("RL",), False, PASS),
        (FOLLOWS_NOT, ("QL",), True, FAIL),
    ],
)
def test_what_is_found_counts_everywhere(
    kind: str, profiles: tuple[str, ...], contradiction: bool, outcome: str
) -> None:
    conclusion = Path("conclusion.rdf") if kind in (FOLLOWS, FOLLOWS_NOT) else None
    test = Test("t", kind, profiles, Path("premise.rdf"), conclusion)
    verdict = run_test(
        test,
        lambda path: [("<x>", "<p>", "<y>")] if path == conclusion else [],
        lambda triples: ClosedGraph([], [Fact("inconsistent")] if contradiction else []),
    )
    assert verdict.outcome == outcome
    assert bool(verdict.reason) == (outcome != PASS)


def test_what_cannot_be_read_is_not_supported(tmp_path: Path) -> None:
    path = tmp_path / "premise.ofn"
    path.write_text("Ontology(nonsense", encoding="utf-8")
    verdict = run_test(Test("t", CONSISTENT, ("RL",), path), read_triples, close_by_rules)
    assert verdict.outcome == NOT_SUPPORTED


def test_what_is_imported_is_missed(tmp_path: Path) -> None:
    imports = ("<a>", "<http://www.w3.org/2002/07/owl#imports>", "<b>")
    test = Test("t", FOLLOWS, ("RL",), tmp_path, tmp_path)
    verdict = run_test(test, lambda path: [imports, ("<x>", "<p>", "<y>")], lambda triples: ClosedGraph([], []))
    assert (verdict.outcome, "<b>" in verdict.reason) == (NOT_SUPPORTED, True)


def test_tests_are_found(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    folder.mkdir()
    meta = {"id": "one", "types": ["ConsistencyTest", "NegativeEntailmentTest", "ProfileIdentificationTest"]}
    (folder / "meta.json").write_text(json.dumps(meta | {"profiles": ["RL"], "species": ["FULL"]}), encoding="utf-8")
    for name in ("premise.rdf", "premise.ofn", "nonconclusion.ofn"):
        (folder / name).touch()
    first, second = find_tests(tmp_path)
    assert (first.kind, first.premise.name, first.conclusion, first.direct) == (CONSISTENT, "premise.rdf", None, False)
    assert second.kind == FOLLOWS_NOT
    assert second.conclusion == folder / "nonconclusion.ofn"


def test_a_test_counts_for_each_of_its_profiles() -> None:
    both = Test("both", CONSISTENT, ("RL", "EL"), Path("premise.rdf"))
    neither = Test("neither", CONSISTENT, (), Path("premise.rdf"))
    found = counts([Verdict(both, PASS), Verdict(neither, NOT_SUPPORTED, "so it is")])
    assert [found[profile, CONSISTENT].total() for profile in ("RL", "EL", "QL", "other")] == [1, 1, 0, 1]


def test_the_verdict_sees_what_is_wrong() -> None:
    tests = [Test(str(number), FOLLOWS, ("RL",), Path("premise.rdf")) for number in range(20)]
    passed = [Verdict(test, PASS) for test in tests]
    assert all(target.holds for target in verdict_of([*passed[:17], *(Verdict(test, FAIL) for test in tests[17:])]))
    assert not all(target.holds for target in verdict_of([*passed[:16], *(Verdict(test, FAIL) for test in tests[16:])]))
    wrong = Verdict(Test("t", CONSISTENT, (), Path("premise.rdf")), FAIL)
    assert [target.claim for target in verdict_of([*passed, wrong]) if not target.holds] == [
        "nothing wrong is found, in any test"
    ]


def test_without_tests_there_is_a_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_DATA", str(tmp_path))
    with pytest.raises(RejectedError, match="THALWEG_DATA"):
        conformance.main(tmp_path)


def test_the_rules_conform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    if not DATA.is_dir():
        pytest.skip("the tests of OWL 2 are not there")
    monkeypatch.setenv("THALWEG_DATA", str(DATA.parent))
    conformance.main(tmp_path, quick=True)
    assert "positive entailment" in capsys.readouterr().out
    with (tmp_path / "conformance" / "verdict.csv").open(encoding="utf-8") as file:
        targets = list(csv.DictReader(file))
    assert len(targets) == 8
    assert [target["target"] for target in targets if target["holds"] != "1"] == []
    with (tmp_path / "conformance" / "results.csv").open(encoding="utf-8") as file:
        assert [row["test"] for row in csv.DictReader(file) if row["outcome"] != PASS] == ["WebOnt-imports-011"]
    assert not (tmp_path / "conformance" / "conformance.md").exists()
