"""A fact: a predicate and its arguments, each a term in its canonical spelling.

Fact("speed", ("a", "12"))           from terms, as everything here spells them: `speed(a,12)`
PythonFact("speed", ("a", 12))       the same from values of Python, which users know as `thalweg.Fact`
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from thalweg.model.predicate import Predicate, interned

if TYPE_CHECKING:
    from thalweg.model.python_values import PythonValue


class Fact(NamedTuple):
    """`speed(a,12)`; prints as it is read.

    >>> str(Fact("speed", ("a", "12")))
    'speed(a,12)'
    """

    predicate: str
    terms: tuple[str, ...] = ()

    @property
    def signature(self) -> Predicate:
        return interned(self.predicate, len(self.terms))

    @property
    def args(self) -> "tuple[PythonValue, ...]":
        """The arguments as values of Python.

        >>> Fact("site", ('"b 7"', "3", "<http://example.org/a>")).args
        ('b 7', 3, IRI('http://example.org/a'))
        """
        # Not before it is needed: values are spelled by modules that know facts.
        from thalweg.model.python_values import value_of

        return tuple(map(value_of, self.terms))

    def __str__(self) -> str:
        return f"{self.predicate}({','.join(self.terms)})" if self.terms else self.predicate

    def __repr__(self) -> str:
        return f"Fact({self.predicate!r}, {self.args!r})"


class PythonFact(Fact):
    """A fact from values of Python: texts, numbers, `bool`, `datetime`, `date`, and `IRI("…")`.

    >>> str(PythonFact("site", ("b 7", 3)))
    'site("b 7",3)'
    >>> PythonFact("site", ("b 7", 3)) == Fact("site", ('"b 7"', "3"))
    True
    """

    __slots__ = ()

    def __new__(cls, predicate: str, args: "Iterable[PythonValue]" = ()) -> "PythonFact":
        from thalweg.model.python_values import predicate_of, term_of

        if isinstance(args, str):
            raise TypeError(f"the arguments of a fact are a tuple: write Fact({predicate!r}, ({args!r},))")
        return super().__new__(cls, predicate_of(predicate), tuple(map(term_of, args)))

    def __reduce__(self) -> "tuple[type[Fact], tuple[str, tuple[str, ...]]]":
        # Its terms are not values any more.
        return Fact, (self.predicate, self.terms)
