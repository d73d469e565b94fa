"""Why a fact does not hold."""

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings

from thalweg import api
from thalweg.engine import absence
from thalweg.engine.absence import Absence
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.model.fact import Fact
from thalweg.model.vocabulary import SAME_AS
from thalweg.testing.evaluators import feed
from thalweg.testing.strategies import Scenario, scenarios

Events = dict[int, list[str]]


def why_not(rules: str, fact: str, at: int, events: Events) -> Absence:
    found = api.why_not(rules, fact, at=at, stream=list(events.items()), report=lambda found: None)
    assert found is not None
    return found


def lines(rules: str, fact: str, at: int, events: Events) -> list[str]:
    """What is shown below the rules."""
    found = why_not(rules, fact, at, events).render().splitlines()
    return [line.strip() for line in found if not line.startswith("not by")]


def test_a_rule_is_shown_with_its_place_and_the_premise_that_failed():
    rules = "mean(X,N) :- sensor(X), N = avg{V,T : temp(X,V) at T in [9]}. hot(X) :- mean(X,N), N > 25. sensor(a1)."
    found = why_not(rules, "hot(a1)", 4, {1: ["temp(a1,20.2)"], 3: ["temp(a1,21)"]})
    assert found.render().splitlines() == [
        "not by hot(X) :- mean(X,N), N > 25.   (<text>:1:63)",
        "    mean(a1,20.6)   until 10 unless an element comes",
        "    but `20.6 > 25` is false",
    ]
    assert found.as_data() == {
        "claim": "hot(a1)",
        "holds": False,
        "at": 4,
        "rules": [
            {
                "rule": "hot(X) :- mean(X,N), N > 25.",
                "place": "<text>:1:63",
                "attempts": [
                    {
                        "held": [
                            {"claim": "mean(a1,20.6)", "kind": "rule", "until": 10, "unless": ["an element comes"]}
                        ],
                        "failed": "20.6 > 25",
                        "reason": "`20.6 > 25` is false",
                    }
                ],
            }
        ],
    }


def test_what_holds_has_no_absence():
    assert api.why_not("q(X) :- p(X) in [1].", "q(a)", at=4, stream=[(3, "p(a)")]) is None


def test_each_rule_is_tried():
    found = why_not("q(X) :- p(X), r(X). q(X) :- s(X,V), V > 3.", "q(1)", 1, {1: ["p(1)", "s(1,2)"]})
    assert [rule.attempts[0].reason for rule in found.rules] == [
        "no `r(1)`: `r/1` never came",
        "`2 > 3` is false",
    ]
    assert [step.claim for rule in found.rules for step in rule.attempts[0].held] == ["p(1) at 1", "s(1,2) at 1"]


def test_of_several_values_those_that_came_closest_are_shown():
    speeds = {4: [f"speed(b,{number})" for number in (40, 59, 41, 58, 57)]}
    assert lines("fast(S) :- speed(S,V) in [60], V > 90.", "fast(b)", 15, speeds) == [
        "speed(b,59) in [60] at 4   [stream] until 64",
        "but `59 > 90` is false",
        "speed(b,58) in [60] at 4   [stream] until 64",
        "but `58 > 90` is false",
        "speed(b,57) in [60] at 4   [stream] until 64",
        "but `57 > 90` is false",
        "… and 2 more that got as far",
    ]


def test_the_binding_that_got_furthest_is_shown():
    rules = "far(A,C) :- edge(A,B), edge(B,C), open(B)."
    edges = ["edge(a,x)", "edge(a,y)", "edge(y,c)", "open(x)"]
    assert lines(rules, "far(a,c)", 1, {1: edges}) == [
        "edge(a,y) at 1   [stream] until 1",
        "edge(y,c) at 1   [stream] until 1",
        "but no `open(y)`: `open(x)` came at 1",
    ]


@pytest.mark.parametrize(
    ("rules", "fact", "at", "events", "reason"),
    [
        ("a(X) :- p(X) in [5].", "a(x)", 3, {1: ["p(y)"]}, "no `p(x) in [5]`: `p(y)` came at 1"),
        (
            "a(X) :- p(X) in [5]. b(X) :- p(X) in [50].",
            "a(x)",
            12,
            {3: ["p(x)"]},
            "no `p(x) in [5]`: `p(x)` came at 3, 4 ticks too early for [5]",
        ),
        (
            "a(X) :- p(X). b(X) :- p(X) at U in [9].",
            "a(x)",
            4,
            {3: ["p(x)"]},
            "no `p(x)`: `p(x)` came at 3",
        ),
        ("a(X) :- b(X,3). b(X,V) :- p(X,V) in [5].", "a(x)", 2, {1: ["p(x,4)"]}, "no `b(x,3)`: `b(x,4)` holds until 6"),
        ("a(X) :- p(X,V), V > 3.", "a(x)", 1, {1: ["other(x,4)"]}, "no `p(x,_)`: `p/2` never came"),
        ("a(X) :- tempp(X).", "a(x)", 1, {1: ["temp(x)"]}, "no `tempp(x)`: `tempp/1` never came; `temp/1` did"),
        ("a(X) :- p(X).", "a(x)", 3, {1: ["p(x)"]}, "no `p(x)`: no fact of `p/1` is in a window"),
        ("a(X) :- p(X,X).", "a(x)", 1, {1: ["p(x,y)"]}, "no `p(x,x)`: `p(x,y)` came at 1"),
        ("a :- p(X,X).", "a", 1, {1: ["p(x,y)"]}, "no `p(X,X)`"),
        ("a(X) :- p(X), not q(X) in [4].", "a(x)", 2, {1: ["q(x)"], 2: ["p(x)"]}, "`q(x) in [4]` holds until 5"),
        ("a(X) :- p(X), not q(X,_) in [4].", "a(x)", 2, {1: ["q(x,7)"]}, "`q(x,7) in [4]` holds until 5"),
        ("a(X) :- p(X), not b(X). b(x).", "a(x)", 2, {2: ["p(x)"]}, "`b(x)` holds"),
        ("a(X) :- p(X,V), V * 2 > 9.", "a(x)", 1, {1: ["p(x,4)"]}, "`4 * 2 > 9` is false: `8 > 9`"),
        ("a(X) :- p(X,V), W = 1 / V.", "a(x)", 1, {1: ["p(x,0)"]}, "`1 / 0` has no value"),
        ("a(X,V+1) :- p(X,V).", "a(x,9)", 1, {1: ["p(x,4)"]}, "the rule concludes `a(x,5)`"),
        ("h at T :- p(V) at T in [3], V > 5.", "h", 4, {4: ["p(2)"]}, "`2 > 5` is false"),
        (
            "a(X) :- p(X) always in [3].",
            "a(x)",
            4,
            {1: ["p(x)"], 3: ["p(x)"], 4: ["p(x)"]},
            "no `p(x) always in [3]`: `p(x)` has come at every tick only since 3",
        ),
        (
            "a(X) :- p(X) always in [1].",
            "a(x)",
            3,
            {1: ["p(x)"], 2: ["p(x)"]},
            "no `p(x) always in [1]`: `p(x)` did not come at 3",
        ),
        ("a(X) :- p(X) in [1 #].", "a(x)", 2, {1: ["p(x)"], 2: ["p(y)"]}, "no `p(x) in [1 #]`: `p(y)` holds"),
        ("n(N) :- N = count{X : p(X) in [5]}.", "n(3)", 1, {1: ["p(x)", "p(y)"]}, "the count is 2, not 3"),
        ("n(N) :- N = count{X : p(X) in [5]}.", "n(3)", 1, {1: ["q"]}, "the rule concludes `n(0)`"),
        ("a :- N = count{X : p(X) in [5]}, N > 3.", "a", 1, {1: ["p(x)"]}, "`1 > 3` is false"),
        ("a :- N = count{X : p(X) in [5]}, N > 3.", "a", 1, {1: ["q"]}, "`0 > 3` is false"),
        ("m(N) :- N = max{X : p(X) in [5]}.", "m(3)", 1, {1: ["q"]}, "there is nothing to take the max of"),
    ],
)
def test_the_reason(rules: str, fact: str, at: int, events: Events, reason: str):
    (rule,) = why_not(rules, fact, at, events).rules
    assert [attempt.reason for attempt in rule.attempts] == [reason]


@pytest.mark.parametrize(
    ("rules", "fact", "note"),
    [
        ("slow(X) :- p(X).", "slwo(a)", "no rule derives `slwo/1`; `slow/1` is derived"),
        ("slow(X) :- p(X).", "slow(a,b)", "no rule derives `slow/2`; `slow/1` is derived"),
        ("slow(X) :- p(X).", "q(a)", "no rule derives `q/1`"),
        ("slow(X) :- p(X).", "p(b)", "no rule derives `p/1`: it is an input, and `why` explains what rules derive"),
        ("q(a) :- p(X). q(b) :- p(X).", "q(c)", "no rule derives `q(c)`: the heads are `q(a)`, `q(b)`"),
    ],
)
def test_the_note(rules: str, fact: str, note: str):
    found = why_not(rules, fact, 1, {1: ["p(a)"]})
    assert (found.note, found.rules) == (note, ())


def test_without_a_tick_there_is_nothing_to_look_at():
    found = Engine(api.load("q(X) :- p(X).")).why_not(Fact("q", ("a",)))
    assert found is not None
    assert (found.at, found.note) == (None, "no tick has been evaluated")


def test_an_engine_that_does_not_know_what_came_does_not_say_never():
    engine = Engine(api.load("q(X) :- p(X)."))
    engine.advance(1)
    found = engine.why_not(Fact("q", ("a",)))
    assert found is not None
    assert found.rules[0].attempts[0].reason == "no `p(a)`: no fact of `p/1` is in a window"


def test_only_so_many_rows_are_looked_at(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(absence, "_ROWS", 10)
    pairs = {1: [f"p({one},{other})" for one, other in product(range(9), range(9))]}
    found = why_not("a :- p(X,Y), p(Y,Z), Z > 99.", "a", 1, pairs)
    assert found.cut
    assert found.as_data()["cut"] is True
    assert "other values may have got further" in found.render()
    # What was not looked at is not claimed to be missing.
    assert "no `p" not in found.render()


def test_only_so_many_rules_are_shown():
    rules = " ".join(f"a(X) :- p{number}(X)." for number in range(20))
    found = why_not(rules, "a(x)", 1, {1: ["q"]})
    assert (len(found.rules), found.more_rules) == (8, 12)
    assert found.render().endswith("… nor by 12 more rules")


@settings(max_examples=min(5_000, 2 * settings().max_examples))
@given(scenarios())
def test_property_a_fact_either_holds_or_is_absent_for_a_reason(scenario: Scenario) -> None:
    engine = Engine(scenario.program, first=scenario.first)
    for _ in feed(engine, scenario.events):
        pass
    holding = set(engine.facts())
    terms = sorted({term for fact in holding for term in fact.terms} | {"a", "1"})[:3]
    for predicate in engine.plan.outputs:
        for args in product(terms, repeat=predicate.arity):
            fact = Fact(predicate.name, args)
            found = engine.why_not(fact)
            assert (found is None) == (fact in holding)
            assert found is None or found.note or found.rules, fact
            assert found is None or found.render()


def test_equal_things_are_asked_about_by_what_stands_for_them(tmp_path: Path):
    ontology = tmp_path / "x.ttl"
    ontology.write_text(
        "@prefix : <http://e/> . @prefix owl: <http://www.w3.org/2002/07/owl#> . "
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . :A rdfs:subClassOf :B ."
    )
    options = {"profile": "rl", "window": 5}
    stream = [(1, [f"{SAME_AS}(<y>,<z>)", "<http://e/A>(<x>)"])]
    found = api.why_not(ontology, "<http://e/B>(<z>)", at=2, stream=stream, **options)
    assert found is not None
    assert "no `<http://e/A>(<y>) in [5]`: `<http://e/A>(<x>)` holds until 6" in found.render()
    assert api.why_not(ontology, "<http://e/B>(<x>)", at=2, stream=stream, **options) is None
