"""Aggregates follow their elements, in value and in size."""

import pytest

from thalweg.engine.groups import Group


def word(value: int) -> int:
    return value << 2 | 1


@pytest.mark.parametrize(("function", "stays"), [("min", 0), ("max", 100_000)])
def test_what_never_reaches_the_top_is_given_up_too(function, stays):
    group = Group(function)
    group.add(word(stays))
    for passing in range(1, 5_000):
        group.add(word(passing))
        group.remove(word(passing))
        assert group.value() == word(stays)
    assert len(group.heap) < 100
    assert len(group.present) < 100


@pytest.mark.parametrize(("function", "expected"), [("min", [3, 1, 1, 3]), ("max", [3, 3, 3, 3])])
def test_a_value_that_comes_again_counts_again(function, expected):
    group, found = Group(function), []
    for step, value in ((group.add, 3), (group.add, 1), (group.add, 1), (group.remove, 1)):
        step(word(value))
        found.append(group.value() >> 2)
    group.remove(word(1))
    assert found[:3] == expected[:3]
    assert group.value() >> 2 == expected[3]
    group.add(word(1))
    assert group.value() >> 2 == (1 if function == "min" else 3)
