"""Predicates: a text that knows its name and how many arguments its facts have."""

import json
import pickle
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate, interned

SPEED = Predicate("speed", 2)


def test_it_is_its_text() -> None:
    assert SPEED == "speed/2"
    assert hash(SPEED) == hash("speed/2")
    assert {"speed/2": 1}[SPEED] == {SPEED: 1}["speed/2"] == 1
    assert f"{SPEED}" == str(SPEED) == "speed/2"
    assert repr(SPEED) == "'speed/2'"


def test_it_knows_its_parts() -> None:
    assert (SPEED.name, SPEED.arity) == ("speed", 2)


def test_it_sorts_as_text() -> None:
    some = [Predicate("p", 2), Predicate("p", 10), Predicate("a", 9)]
    assert sorted(some) == sorted(map(str, some)) == ["a/9", "p/10", "p/2"]


@given(st.text(min_size=1), st.integers(0, 10_000))
def test_what_is_written_reads_back(name: str, arity: int) -> None:
    found = Predicate.read(str(Predicate(name, arity)))
    assert (found.name, found.arity) == (name, arity)


@pytest.mark.parametrize(
    "text", ["", "speed", "speed/", "/2", "speed/-1", "speed/2.5", "speed/²", "speed/ 2", f"speed/{'9' * 5000}"]
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a predicate"):
        Predicate.read(text)


@pytest.mark.parametrize("copy", [deepcopy(SPEED), pickle.loads(pickle.dumps(SPEED))])
def test_a_copy_knows_as_much(copy: Predicate) -> None:
    assert (copy, copy.name, copy.arity) == ("speed/2", "speed", 2)


def test_json_has_its_text() -> None:
    assert json.dumps({SPEED: [SPEED]}) == '{"speed/2": ["speed/2"]}'


def test_another_name_has_as_many_arguments() -> None:
    assert SPEED.renamed("pace") == Predicate("pace", 2)


def test_facts_of_one_predicate_share_it() -> None:
    assert Fact("speed", ("a", "1")).signature is Fact("speed", ("b", "2")).signature is interned("speed", 2)
