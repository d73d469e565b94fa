"""Values as data that another process makes again: no code travels, as it would with a pickle.

A value is written as a list of nodes, each after those that it is made of: what occurs twice is written once, and is
one value there, too. Dataclasses and named tuples are written by the names of their classes and the values of their
fields; what they have computed of these is computed there again. Many facts are columns of Arrow, because a background
may have a hundred thousand.

    Not(Atom("p"))    "p"   ["thalweg.ir.nodes:Atom", 0]   ["thalweg.ir.nodes:Not", 1]

`model/records` writes small values of a few known classes, such as those of a saved state; this is for whole plans.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from datetime import timedelta, timezone, tzinfo
from enum import Enum
from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable
from zoneinfo import ZoneInfo

import numpy as np

from thalweg.model.arrow import Lists, decode, encode
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate, interned

LANGUAGES: Final = "thalweg.languages"
"""The entry points of languages that are installed beside Thalweg; their packages may have classes of plans."""
_SCALARS: Final = frozenset({str, int, bool, type(None)})
_MANY: Final = 64
"""Facts in a row that are worth columns."""

_COLLECTIONS: Final[dict[str, Callable[[Iterable[Any]], Any]]] = {
    "tuple": tuple,
    "list": list,
    "set": set,
    "frozenset": frozenset,
}
_REBUILT: Final[dict[str, Callable[..., Any]]] = {
    "float": float,
    "dict": lambda *items: dict(zip(items[::2], items[1::2], strict=True)),
    "predicate": interned,
    "offset": lambda seconds: timezone(timedelta(seconds=seconds)),
    "zone": ZoneInfo,
    "path": Path,
}
_BUILT_IN: Final[tuple[tuple[type, str, Callable[[Any], Iterable[Any]]], ...]] = (
    (float, "float", lambda number: [repr(number)]),
    (dict, "dict", lambda items: [part for pair in items.items() for part in pair]),
    (Predicate, "predicate", lambda predicate: [predicate.name, predicate.arity]),
    (ZoneInfo, "zone", lambda zone: [zone.key]),
    (Path, "path", lambda path: [str(path)]),
    (tzinfo, "offset", lambda zone: [round(zone.utcoffset(None).total_seconds())]),
)


@runtime_checkable
class TakenApart(Protocol):
    """A class with values that cannot be made of their fields alone, as where a field is a function."""

    def taken_apart(self) -> tuple[Any, ...]:
        """Values that it can be made of."""

    @classmethod
    def put_together(cls, *parts: Any) -> Any:
        """The value that was taken apart."""


def as_data(value: Any) -> bytes:
    """A value as bytes, with a checksum.

    >>> of_data(as_data({"speed": (Fact("speed", ("a", "12")), None, 2.5)}))
    {'speed': (Fact('speed', ('a', 12)), None, 2.5)}
    """
    writer = _Writer()
    writer.place(value)
    return encode({"nodes": writer.nodes}, writer.columns)


def of_data(data: bytes) -> Any:
    """The value that was written; `DamagedError` where the bytes were changed since."""
    header, columns = decode(data)
    values: list[Any] = []
    for node in header["nodes"]:
        values.append(_value(node, values, columns) if isinstance(node, list) else node)
    return values[-1]


# Writing --------------------------------------------------------------------------------------------------------------


class _Writer:
    """The nodes of a value, and columns of facts."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.columns: Lists = {}
        self._places: dict[Any, int] = {}
        # A number stands for an object as long as the object lives.
        self._alive: list[Any] = []

    def place(self, value: Any) -> int:
        """The number of the node of a value, which is written if it is new."""
        key = (type(value), value) if type(value) in _SCALARS else id(value)
        place = self._places.get(key)
        if place is None:
            node = value if type(value) in _SCALARS else self._node(value)
            self.nodes.append(node)
            place = self._places[key] = len(self.nodes) - 1
            self._alive.append(value)
        return place

    def _node(self, value: Any) -> list[Any]:
        kind: Any = type(value)
        if kind is tuple and len(value) >= _MANY and all(type(item) is Fact for item in value):
            return self._facts(value)
        if kind.__name__ in _COLLECTIONS and kind.__module__ == "builtins":
            return [kind.__name__, *map(self.place, value)]
        name, parts = _form(kind)
        return [name, *map(self.place, parts(value))]

    def _facts(self, facts: Sequence[Fact]) -> list[Any]:
        number = len(self.columns)
        self.columns |= {
            f"names{number}": [fact.predicate for fact in facts],
            f"arities{number}": np.array([len(fact.terms) for fact in facts], dtype=np.int64),
            f"terms{number}": [term for fact in facts for term in fact.terms],
        }
        return ["facts", number]


@lru_cache(maxsize=4_096)
def _form(cls: type) -> tuple[str, Callable[[Any], Iterable[Any]]]:
    """The name by which values of a class are made again, and what gives the parts that they are made of."""
    for base, name, parts in _BUILT_IN:
        if issubclass(cls, base):
            return name, parts
    name = f"{cls.__module__}:{cls.__qualname__}"
    if issubclass(cls, Enum):
        return name, lambda value: [value.name]
    if issubclass(cls, TakenApart):
        return name, lambda value: value.taken_apart()
    if issubclass(cls, tuple):
        return name, iter
    assert is_dataclass(cls), f"{cls.__name__} is not data"
    names = [field.name for field in fields(cls)]
    return name, lambda value: [getattr(value, name) for name in names]


# Reading --------------------------------------------------------------------------------------------------------------


def _value(node: list[Any], values: list[Any], columns: Lists) -> Any:
    name, *places = node
    if name == "facts":
        return tuple(_facts(places[0], columns))
    parts = [values[place] for place in places]
    if name in _COLLECTIONS:
        return _COLLECTIONS[name](parts)
    return _REBUILT[name](*parts) if name in _REBUILT else _maker(name)(parts)


def _facts(number: int, columns: Lists) -> Iterator[Fact]:
    names, terms = (columns[f"{column}{number}"].to_pylist() for column in ("names", "terms"))
    start = 0
    for name, arity in zip(names, columns[f"arities{number}"].tolist(), strict=True):
        yield Fact(name, tuple(terms[start : start + arity]))
        start += arity


@lru_cache(maxsize=4_096)
def _maker(name: str) -> Callable[[list[Any]], Any]:
    """What makes a value of a class from its parts."""
    cls = _class(name)
    if issubclass(cls, Enum):
        return lambda parts: cls[parts[0]]
    if issubclass(cls, TakenApart):
        return lambda parts: cls.put_together(*parts)
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return lambda parts: tuple.__new__(cls, parts)
    if not is_dataclass(cls):
        raise ValueError(f"{name} is not a class of plans")
    names = [field.name for field in fields(cls)]
    return lambda parts: _filled(cls, names, parts)


def _filled(cls: Any, names: list[str], parts: list[Any]) -> Any:
    value: Any = object.__new__(cls)
    for name, part in zip(names, parts, strict=True):
        object.__setattr__(value, name, part)
    return value


def _class(name: str) -> Any:
    module, _, path = name.partition(":")
    package = module.partition(".")[0]
    # What is written names classes, and must not reach those of other packages. To look for languages, the metadata of
    # all that is installed is read.
    if package != "thalweg" and package not in _packages_of_languages():
        raise ValueError(f"{name} is not a class of Thalweg or of a language that is installed")
    value: Any = import_module(module)
    for attribute in path.split("."):
        value = getattr(value, attribute)
    return value


def _packages_of_languages() -> Iterator[str]:
    return (entry.module.partition(".")[0] for entry in entry_points(group=LANGUAGES))
