"""What a saved state must agree with: one text for everything that a program's answers depend on.

Every field of a program counts, so that a field that is added later cannot be forgotten. Where something was written
does not, nor the order in which sets are stored.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from thalweg.ir.nodes import Program, Rule
from thalweg.ir.text import show
from thalweg.model.fact import Fact


def fingerprint(program: Program) -> str:
    """A text that is the same for equal programs only.

    >>> one, other = Program(background=(Fact("p", ("a",)),)), Program(background=(Fact("p", ("b",)),))
    >>> fingerprint(one) == fingerprint(Program(background=one.background)), fingerprint(one) == fingerprint(other)
    (True, False)
    """
    digest = hashlib.sha256()
    for part in _parts(program):
        digest.update(part.encode())
        digest.update(b"\n")
    return digest.hexdigest()


def _parts(value: object) -> Iterator[str]:
    """A text for each part of a value, which together stand for no other value."""
    match value:
        case Rule():
            yield show(value)
        case Fact():
            yield str(value)
        case tuple():
            yield f"{len(value)} in order"
            for item in value:
                yield from _parts(item)
        case frozenset():
            yield f"{len(value)} in any order"
            yield from sorted("\n".join(_parts(item)) for item in value)
        case None | bool() | int() | str():
            yield repr(value)
        case _ if is_dataclass(value):
            yield type(value).__name__
            for attribute in fields(value):
                yield attribute.name
                yield from _parts(getattr(value, attribute.name))
        case _:
            raise TypeError(f"{type(value).__name__} is not part of a program")
