"""Values that travel between processes, or are saved, as JSON: dataclasses by their names, tuples as lists.

>>> from dataclasses import dataclass
>>> @record
... @dataclass(frozen=True)
... class Reading:
...     sensor: str
...     values: tuple[int, ...] = ()
>>> as_json(Reading("s1", (4, 5)))
{'Reading': ['s1', [4, 5]]}
>>> of_json(as_json(Reading("s1", (4, 5))))
Reading(sensor='s1', values=(4, 5))
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Final, TypeVar

C = TypeVar("C")
_CLASSES: Final[dict[str, tuple[type, tuple[str, ...]]]] = {}
_PAIRS: Final = ""
"""In place of a class: a mapping, as pairs."""


def record(cls: type[C]) -> type[C]:
    """Makes a dataclass known by its name; its fields are written in their order."""
    names = tuple(field.name for field in fields(cls))  # type: ignore[arg-type]
    assert _CLASSES.setdefault(cls.__name__, (cls, names))[0].__module__ == cls.__module__, "a name is for one class"
    _CLASSES[cls.__name__] = cls, names
    return cls


def as_json(value: Any) -> Any:
    """A value as what JSON can hold.

    >>> of_json(as_json({"a": (1, None)}))
    {'a': (1, None)}
    """
    if value is None or isinstance(value, str | int | float):
        return value
    name = type(value).__name__
    if name in _CLASSES:
        return {name: [as_json(getattr(value, field)) for field in _CLASSES[name][1]]}
    if isinstance(value, Mapping):
        return {_PAIRS: [[as_json(key), as_json(item)] for key, item in value.items()]}
    assert isinstance(value, Sequence | frozenset), f"{name} is not a record"
    return [as_json(item) for item in value]


def of_json(data: Any) -> Any:
    """The value that was written; sequences come back as tuples."""
    if isinstance(data, list):
        return tuple(map(of_json, data))
    if not isinstance(data, dict):
        return data
    ((name, content),) = data.items()
    if name == _PAIRS:
        return {of_json(key): of_json(item) for key, item in content}
    return _CLASSES[name][0](*map(of_json, content))
