"""A predicate: a name and a number of arguments, written `p/2`.

The value is its text: it compares, sorts, hashes and is written to files as `p/2`, at the cost of a string. Only this
module puts such a text together or takes it apart.
"""

from functools import lru_cache
from typing import Any, Final

_LONGEST: Final = 9
"""Digits of an arity: no fact has more arguments, and Python refuses to read some thousand digits."""


class Predicate(str):
    """`speed/2`: the name `speed`, and two arguments.

    >>> speed = Predicate("speed", 2)
    >>> speed, speed.name, speed.arity
    ('speed/2', 'speed', 2)
    """

    __slots__ = ("arity", "name")

    name: str
    arity: int

    def __new__(cls, name: str, arity: int) -> "Predicate":
        self = super().__new__(cls, f"{name}/{arity}")
        self.name = name
        self.arity = arity
        return self

    @staticmethod
    def read(text: str) -> "Predicate":
        """The predicate with this text; raises `ValueError` where it has no name or no arity.

        >>> Predicate.read("<http://example.org/p>/2").name
        '<http://example.org/p>'
        """
        name, _, arity = text.rpartition("/")
        if not name or not (arity.isascii() and arity.isdigit() and len(arity) <= _LONGEST):
            raise ValueError(f"`{text}` is not a predicate such as `speed/2`")
        return interned(name, int(arity))

    def renamed(self, name: str) -> "Predicate":
        """Another name with the same number of arguments.

        >>> Predicate("speed", 2).renamed("fast")
        'fast/2'
        """
        return interned(name, self.arity)

    def __reduce__(self) -> tuple[Any, ...]:
        return interned, (self.name, self.arity)


@lru_cache(maxsize=65_536)
def interned(name: str, arity: int) -> Predicate:
    """The predicate with a name and an arity, made once: finding it is faster than building it for each fact.

    >>> interned("speed", 2) is interned("speed", 2)
    True
    """
    return Predicate(name, arity)
