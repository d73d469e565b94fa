"""The examples of the paper that input dependency comes from, and where it has to be corrected."""

from pathlib import Path

import pytest

from thalweg.diagnostics import Source
from thalweg.languages.asp.reader import read_program
from thalweg.model.predicate import Predicate
from thalweg.planning.input_dependency import Dependency, analyse
from thalweg.planning.published import Published
from thalweg.solvers.clingo import solve_once

TRAFFIC = """
very_slow_speed(X) :- average_speed(X,Y), Y < 20.
many_cars(X) :- car_number(X,Y), Y > 40.
traffic_jam(X) :- very_slow_speed(X), many_cars(X), not traffic_light(X).
car_fire(X) :- car_in_smoke(C,high), car_speed(C,0), car_location(C,X).
give_notification(X) :- traffic_jam(X).
give_notification(X) :- car_fire(X).
"""
R7 = "traffic_jam(X) :- car_fire(X), many_cars(X)."
JAM = (Predicate("average_speed", 2), Predicate("car_number", 2), Predicate("traffic_light", 1))
FIRE = (Predicate("car_in_smoke", 2), Predicate("car_location", 2), Predicate("car_speed", 2))
STREAMRULE = Path(__file__).parents[4] / "shared" / "data" / "streamrule"


def dependency(text: str, *inputs: Predicate) -> Dependency:
    program, wrong = read_program(Source("x.lp", text), inputs)
    assert not wrong
    return analyse(program.outlines, program.inputs)


def pairs(*groups: tuple[str, ...]) -> set[tuple[str, str]]:
    return {(one, other) for group in groups for one in group for other in group if one < other}


def test_example_1() -> None:
    found = dependency(TRAFFIC)
    assert ("traffic_light/1", "traffic_jam/1") in found.directed
    assert len(found.directed) == 10
    assert set(found.undirected) == pairs(FIRE) | {
        ("many_cars/1", "very_slow_speed/1"),
        ("many_cars/1", "traffic_light/1"),
        ("traffic_light/1", "very_slow_speed/1"),
        ("traffic_light/1", "traffic_light/1"),
    }


def test_example_2_and_its_components() -> None:
    found = dependency(TRAFFIC)
    assert set(found.edges) == pairs(JAM, FIRE)
    assert found.communities == (JAM, FIRE)
    assert [piece.rules for piece in found.pieces] == [(0, 1, 2, 4), (3, 5)]
    assert Published(found).communities == found.communities
    assert Published(found).doubts == ()


def test_example_3() -> None:
    found = dependency(TRAFFIC + R7)
    second = tuple(sorted((*FIRE, "car_number/2")))
    assert set(found.edges) == pairs(JAM, second)
    assert found.communities == (JAM, second)
    assert Published(found).communities == found.communities


def test_proposition_2_needs_its_correction() -> None:
    found = dependency("a(X) :- p(X), not q(X). b(X) :- p(X), r(X).")
    assert found.communities == (("p/1", "q/1"), ("p/1", "r/1"))
    assert [found.rules_of(each) for each in found.communities] == [(0,), (1,)]
    (doubt,) = Published(found).doubts
    assert doubt.reason == "in the community p/1, r/1 the rule `a(X) :- p(X), not q(X).` is evaluated without q/1"
    assert doubt.diagnostic.code == "W503"


def test_two_atoms_of_one_derived_predicate_meet() -> None:
    found = dependency("a(X) :- p(X). a(X) :- q(X). d(X,Y) :- a(X), a(Y).")
    assert found.communities == (("p/1", "q/1"),)
    assert Published(found).communities == (("p/1",), ("q/1",))
    assert [doubt.reason for doubt in Published(found).doubts] == [
        "p/1, q/1 meet in `d(X,Y) :- a(X), a(Y).`, and no community has all of them"
    ]


def test_what_is_counted_must_be_complete() -> None:
    found = dependency("a(X) :- p(X). a(X) :- q(X). n(N) :- N = #count{X : a(X)}.")
    assert found.communities == (("p/1", "q/1"),)
    assert Published(found).doubts


def test_communities_with_much_in_common_are_merged() -> None:
    found = dependency("a :- p, q, r. b :- q, r, s.")
    assert found.communities == (("p/0", "q/0", "r/0", "s/0"),)
    assert dependency("a :- p, q. b :- q, r.").communities == (("p/0", "q/0"), ("q/0", "r/0"))


def test_choices_are_solved_as_a_whole() -> None:
    found = dependency("{a} :- p. b :- a, q. c :- r. :- c, s. d(1). e :- d(X), u.")
    assert not found.deterministic
    assert [(part.inputs, part.deterministic) for part in found.parts] == [
        (("p/0", "q/0"), False),
        (("r/0", "s/0"), True),
        (("u/0",), True),
    ]


def test_facts_of_the_program_connect_nothing() -> None:
    found = dependency("{a(X)} :- d(X), p. {b(X)} :- d(X), q. d(1..3).")
    assert [(part.rules, part.inputs) for part in found.parts] == [((0, 2), ("p/0",)), ((1, 2), ("q/0",))]


@pytest.mark.parametrize("text", ["a :- not b. b :- not a.", "a ; b :- p.", "a :- #count{X : b(X)} > 0. b(1) :- a."])
def test_more_than_one_answer(text: str) -> None:
    assert not dependency(text).deterministic


def test_constraints_do_not_multiply_answers() -> None:
    assert dependency("a(X) :- p(X). :- a(X), not q(X).").deterministic


def test_weak_constraints_belong_together() -> None:
    assert len(dependency("{a}. {b}. :~ a. [1@1] :~ b. [1@1]").parts) == 1
    assert len(dependency("{a}. {b}. :~ a. [1@1]").parts) == 2


def test_keys() -> None:
    found = dependency(TRAFFIC)
    jam, fire = map(found.keys, found.pieces)
    assert jam is not None
    assert {name: jam[name] for name in JAM} == dict.fromkeys(JAM, 0)
    assert fire == dict.fromkeys(FIRE, 0)
    crossed = dependency("a(X) :- p(X,Y), q(Y,X), r(Y).")
    assert crossed.keys(crossed.pieces[0]) == {"p/2": 1, "q/2": 0, "r/1": 0}
    for without in (
        "a(X,Y) :- p(X), q(Y).",
        "a(X,Z) :- p(X,Y), p(Y,Z).",
        "n(N) :- N = #count{X : p(X)}.",
        "a :- p, q.",
    ):
        found = dependency(without)
        assert found.keys(found.pieces[0]) is None
    known = dependency("a(1). a(X) :- p(X). b(X) :- a(X), not q(X).")
    assert known.keys(known.pieces[0]) is None


@pytest.mark.skipif(not STREAMRULE.exists(), reason="the data of StreamRule is not here")
def test_universities_in_pieces() -> None:
    program, wrong = read_program(Source("lubm.lp", (STREAMRULE / "lubm.txt").read_text()))
    assert not wrong
    facts = (STREAMRULE / "facts_first500.lp").read_text().splitlines()
    expected = (STREAMRULE / "expected_lubm_first500.lp").read_text().splitlines()
    found = analyse(program.outlines, program.inputs)
    assert len(found.communities) == 3
    answers = set[str]()
    for piece in found.pieces:
        own = [fact for fact in facts if Predicate(fact.partition("(")[0], 2) in piece.inputs]
        answers |= set(solve_once(program.text(piece.rules), "\n".join(own)))
    assert sorted(answers) == sorted(fact.rstrip(".") for fact in expected if fact)
