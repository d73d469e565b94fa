"""Universities are the same whoever asks, and speak the words of their ontology."""

from itertools import chain

import pytest

from thalweg.bench import university
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.languages.owl.program import specialised
from thalweg.model.vocabulary import TYPE, Triple


def word(name: str) -> str:
    return f"<{university.NAMESPACE}{name}>"


def test_departments_do_not_depend_on_how_many_there_are() -> None:
    few, many = university.data(5_000), university.data(20_000)
    assert few == many[:5_000]
    assert len(set(many)) == 20_000


def test_another_seed_makes_other_departments() -> None:
    assert set(university.department(0, seed=1)) != set(university.department(0, seed=2))


def test_departments_of_one_university_meet_in_it() -> None:
    first, second, other = (set(university.department(number)) for number in (0, 1, university.PER_UNIVERSITY))
    home = "<http://www.University0.example/>", TYPE, word("University")
    assert home in first & second
    assert home not in other
    assert {s for s, _, _ in first} & {s for s, _, _ in second} == {home[0]}


def test_data_speak_the_words_of_the_ontology() -> None:
    stated = {term for triple in university.ontology() for term in triple}
    used = set(chain.from_iterable((p, o) if p == TYPE else (p,) for _, p, o in university.data(10_000))) - {TYPE}
    assert used <= stated
    assert {"Chair", "Employee"}.isdisjoint(name.rpartition("#")[2][:-1] for name in used), "these must be concluded"


def test_words_come_from_the_namespace_that_is_asked_for() -> None:
    theirs = university.data(500, namespace="http://other.example/onto#")
    assert all(p == TYPE or p.startswith("<http://other.example/onto#") for _, p, _ in theirs)


PLACE = "http://www.Department0.University0.example/"


def entailed(profile: str, triples: list[Triple]) -> set[str]:
    engine = Engine(specialised("x", [*university.ontology(), *triples], profile), first=0)
    engine.advance(0)
    return set(map(str, engine.facts()))


@pytest.mark.parametrize("profile", ["pd", "rl"])
def test_what_follows_needs_properties(profile: str) -> None:
    found = entailed(profile, list(university.department(0)))
    assert f"{word('member')}(<{PLACE}>,<{PLACE}FullProfessor0>)" in found, "below, and inverse"
    assert f"{word('subOrganizationOf')}(<{PLACE}ResearchGroup0>,<http://www.University0.example/>)" in found


def test_what_follows_needs_definitions() -> None:
    triples = list(university.department(0))
    assistants = [s for s, _, o in triples if o == word("ResearchAssistant")]
    # That they work for a group is left to the ontology: a group is an organization, so they are employed.
    found = entailed("rl", [each for each in triples if each[1] != word("worksFor")])
    assert f"{word('Chair')}(<{PLACE}FullProfessor0>)" in found
    assert assistants
    assert {f"{word('Employee')}({each})" for each in assistants} <= found
