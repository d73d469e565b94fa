"""Why a fact holds."""

from pathlib import Path

from thalweg import api
from thalweg.engine.proof import Proof
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.model.fact import Fact
from thalweg.model.vocabulary import SAME_AS


def test_a_derivation_ends_at_stream_facts_and_knows_its_end():
    proof = api.why(
        "q(X) :- r(X), s(X) in [5]. r(X) :- p(X,V) in [3], V > 1.", "q(a)", at=4, stream=[(2, "s(a)"), (3, "p(a,2)")]
    )
    assert proof is not None
    assert proof.until == 6
    assert proof.rule == "q(X) :- r(X), s(X) in [5]."
    assert [(step.claim, step.kind, step.until) for step in proof.because] == [
        ("r(a)", "rule", 6),
        ("s(a) in [5] at 2", "stream", 7),
    ]


def test_the_derivation_that_lasts_longest_is_shown():
    proof = api.why("q :- p(X) in [5].", "q", at=4, stream=[(1, "p(a)"), (4, "p(b)")])
    assert proof is not None
    assert (proof.until, proof.because[0].claim) == (9, "p(b) in [5] at 4")


def test_nothing_is_its_own_reason():
    engine = Engine(api.load("p(X,Y) :- e(X,Y) in [9]. p(X,Z) :- p(X,Y), p(Y,Z)."))
    engine.advance(1, [Fact("e", pair) for pair in (("a", "b"), ("b", "a"))])
    proof = engine.why(Fact("p", ("a", "a")))
    assert proof is not None

    def leaves(step):
        return [leaf for inner in step.because for leaf in leaves(inner)] if step.because else [step.claim]

    assert sorted(leaves(proof)) == ["e(a,b) in [9] at 1", "e(b,a) in [9] at 1"]


def test_a_circle_has_its_reason_outside():
    rules = "a(X) :- b(X). b(X) :- a(X). b(X) :- c(X)."
    proof = api.why(rules, "a(k)", at=1, stream=[(1, "c(k)")])
    assert proof is not None
    assert proof.because[0].because[0].claim == "c(k) at 1"


def test_what_must_stay_absent_is_named():
    proof = api.why("a(X) :- b(X). b(X) :- p(X) in [4], not q(X,_) in [2].", "a(x)", at=1, stream=[(1, "p(x)")])
    assert proof is not None
    assert proof.until == 5
    assert proof.unless == ("q(x,_) in [2]",)
    assert [step.claim for step in proof.because[0].because] == ["p(x) in [4] at 1", "not q(x,_) in [2]"]


def test_a_number_of_nothing_names_what_must_stay_absent():
    rules = "n(R,N) :- road(R), N = count{C : at(C,R) in [5]}. road(r)."
    proof = api.why(rules, "n(r,0)", at=1, stream=[(1, "at(c,q)")])
    assert proof is not None
    assert proof.unless == ("at(C,r) in [5]",)


def test_an_aggregate_shows_its_elements():
    proof = api.why("n(N) :- N = sum{V,T : p(X,V) at T in [4]}.", "n(5)", at=2, stream=[(1, "p(x,2)"), (2, "p(y,3)")])
    assert proof is not None
    (value,) = proof.because
    assert (value.claim, len(value.because)) == ("sum = 5 of 2", 2)
    assert (proof.until, proof.unless) == (5, ("an element comes",))


def test_always_over_what_is_derived():
    proof = api.why(
        "h at T :- p(V) at T in [3], V > 1. a :- h always in [1].", "a", at=2, stream=[(1, "p(2)"), (2, "p(2)")]
    )
    assert proof is not None
    assert proof.because[0].kind == "every tick"


def test_always_over_what_is_streamed_names_its_ticks():
    proof = api.why("a(X) :- p(X) always in [2].", "a(x)", at=6, stream=[(tick, "p(x)") for tick in (1, 3, 4, 5, 6)])
    assert proof is not None
    (run,) = proof.because
    assert [step.claim for step in run.because] == ["p(x) at 3", "… and at each of the 2 ticks between", "p(x) at 6"]


def test_a_tuple_window_holds_until_it_is_pushed_out():
    proof = api.why("a(X) :- p(X) in [2 #].", "a(x)", at=1, stream=[(1, "p(x)")])
    assert proof is not None
    assert (proof.until, proof.unless) == (None, ("newer facts push it out",))


def test_a_fact_that_does_not_hold_has_no_proof():
    assert api.why("q(X) :- p(X) in [1].", "q(a)", at=5, stream=[(3, "p(a)")]) is None
    assert api.why("q(X) :- p(X) in [1].", "p(a)", at=3, stream=[(3, "p(a)")]) is None


def test_what_is_said_of_equal_things_rests_on_what_makes_them_equal(tmp_path: Path):
    ontology = tmp_path / "x.ttl"
    ontology.write_text(
        "@prefix : <http://e/> . @prefix owl: <http://www.w3.org/2002/07/owl#> . "
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "
        ":A rdfs:subClassOf :B . :mail a owl:InverseFunctionalProperty ."
    )
    stream = [
        (0, f"{SAME_AS}(<y>,<z>)"),
        (1, ["<http://e/mail>(<z>,<m>)", "<http://e/mail>(<x>,<m>)"]),
        (2, "<http://e/A>(<y>)"),
    ]

    def reasons(fact: str) -> set[str]:
        proof = api.why(ontology, fact, at=2, stream=stream, profile="rl", window=5)
        assert proof is not None
        assert proof.until == 5
        return {leaf.claim.replace(SAME_AS, "same").replace("http://e/", "") for leaf in leaves(proof)}

    everything = {"same(<y>,<z>) in [5] at 0", "<mail>(<z>,<m>) in [5] at 1", "<mail>(<x>,<m>) in [5] at 1"}
    assert reasons("<http://e/B>(<x>)") == everything | {"<A>(<y>) in [5] at 2"}
    # What nothing was derived of itself holds because of who stands for it.
    assert reasons("<http://e/B>(<z>)") == everything | {"<A>(<y>) in [5] at 2"}
    assert reasons(f"{SAME_AS}(<x>,<y>)") == everything
    assert api.why(ontology, "<http://e/B>(<m>)", at=2, stream=stream, profile="rl", window=5) is None


def leaves(proof: Proof) -> list[Proof]:
    return [leaf for step in proof.because for leaf in leaves(step)] if proof.because else [proof]
