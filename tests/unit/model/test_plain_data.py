"""Values come back from data as they were, what was one value stays one, and no other code is run."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, timedelta, timezone
from enum import Enum
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple
from unittest.mock import patch
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.model import plain_data
from thalweg.model.arrow import DamagedError, encode
from thalweg.model.fact import Fact, PythonFact
from thalweg.model.plain_data import as_data, of_data
from thalweg.model.predicate import Predicate, interned


@pytest.fixture(autouse=True, scope="module")
def _of_a_language() -> Iterator[None]:
    """The classes of this module are those of a language that is installed."""
    plain_data._maker.cache_clear()
    with patch.object(plain_data, "_packages_of_languages", lambda: iter([__name__.partition(".")[0]])):
        yield
    plain_data._maker.cache_clear()


class Colour(Enum):
    RED = 1


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclass(frozen=True, slots=True)
class Slotted:
    value: Any


@dataclass(frozen=True)
class Lazy:
    value: Any
    hidden: int = field(default=3, init=False)

    @cached_property
    def computed(self) -> object:
        return lambda: self.value


@dataclass
class Function:
    number: int
    run: Any = None

    def taken_apart(self) -> tuple[int]:
        return (self.number,)

    @classmethod
    def put_together(cls, *parts: int) -> "Function":
        return cls(parts[0], lambda: parts[0])


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8"))
hashable = st.recursive(
    scalars | st.just(Colour.RED) | st.builds(interned, st.text("abc", min_size=1), st.integers(0, 3)),
    lambda inner: st.lists(inner).map(tuple) | st.builds(Pair, inner, inner) | st.builds(Slotted, inner),
)
values = st.recursive(
    hashable,
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(hashable, inner)
        | st.frozensets(hashable)
        | st.sets(hashable)
        | st.builds(Lazy, inner)
    ),
)


def typed(value: Any) -> Any:
    """A value with the types of all that it is made of: 1, 1.0 and True are equal."""
    match value:
        case dict():
            return [(typed(key), typed(item)) for key, item in value.items()]
        case list() | tuple():
            return type(value), [typed(item) for item in value]
        case set() | frozenset():
            return type(value), sorted(map(repr, map(typed, value)))
        case Slotted() | Lazy():
            return type(value), typed(value.value)
    return type(value), repr(value)


@given(values)
def test_values_come_back_as_they_were(value: Any) -> None:
    assert typed(of_data(as_data(value))) == typed(value)


@pytest.mark.parametrize(
    "value", [float("inf"), -0.0, UTC, timezone(timedelta(hours=5, minutes=30)), ZoneInfo("Europe/Rome"), 1 << 200]
)
def test_numbers_and_zones(value: Any) -> None:
    assert repr(of_data(as_data(value))) == repr(value)


def test_what_is_one_value_stays_one() -> None:
    shared = Lazy(("a", 1))
    first, second, third = of_data(as_data([shared, shared, Lazy(("a", 1))]))
    assert first is second
    assert first is not third


def test_predicates_are_those_of_the_process() -> None:
    assert of_data(as_data((Predicate("speed", 2),)))[0] is interned("speed", 2)


def test_what_was_computed_is_computed_again() -> None:
    value = Lazy(4)
    assert callable(value.computed)
    copy = of_data(as_data(value))
    assert "computed" not in vars(copy)
    assert copy == value


def test_a_class_may_say_what_it_is_made_of() -> None:
    assert of_data(as_data([Function(7, print)]))[0].run() == 7


@pytest.mark.parametrize("count", [3, 1_000])
def test_facts_keep_their_terms(count: int) -> None:
    facts = tuple(Fact(f"p{number % 3}", tuple(map(str, range(number % 4)))) for number in range(count))
    assert of_data(as_data((facts, facts))) == (facts, facts)
    spelled = (PythonFact("site", ("b 7", 3)),) * count
    assert of_data(as_data(spelled)) == spelled


def test_damage_is_noticed() -> None:
    data = bytearray(as_data(("abc", 1)))
    data[len(data) // 2] ^= 1
    with pytest.raises(DamagedError):
        of_data(bytes(data))


NAMES = ["os:system", "subprocess:Popen", "thalweg.model.plain_data:of_data", "this:x", "buckets:Delivered"]


@pytest.mark.parametrize("name", NAMES)
def test_only_classes_of_plans_are_made(name: str) -> None:
    import_module("buckets")
    sys.modules.pop("this", None)
    with pytest.raises((ValueError, TypeError)):
        of_data(encode({"nodes": ["true", [name, 0]]}, {}))
    assert "this" not in sys.modules


def test_functions_are_not_data() -> None:
    with pytest.raises(AssertionError, match="not data"):
        as_data([print])
