"""A fact: a predicate and its arguments, each a term in its canonical spelling."""

from typing import NamedTuple

from thalweg.model.predicate import Predicate, interned


class Fact(NamedTuple):
    """`speed(a,12)`; prints as it is read.

    >>> str(Fact("speed", ("a", "12")))
    'speed(a,12)'
    """

    predicate: str
    args: tuple[str, ...] = ()

    @property
    def signature(self) -> Predicate:
        return interned(self.predicate, len(self.args))

    def __str__(self) -> str:
        return f"{self.predicate}({','.join(self.args)})" if self.args else self.predicate
