"""A fact: a predicate and its arguments, each a term in its canonical spelling.

Fact("speed", ("a", "12"))           from terms, as everything here spells them: `speed(a,12)`
PythonFact("speed", ("a", 12))       the same from values of Python, which users know as `thalweg.Fact`
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

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


_PART: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"|<[^<>]*>|[(),]|[^"<(),]+')


@lru_cache(maxsize=65_536)
def fact_of_text(text: str) -> Fact:
    """The fact that prints as a text; answer sets may have terms inside of terms.

    >>> fact_of_text('at(<http://ex.org/a(1)>,"b, c",3)').args
    (IRI('http://ex.org/a(1)'), 'b, c', 3)
    >>> fact_of_text("p(f(1,2),x)").terms, fact_of_text("go")
    (('f(1,2)', 'x'), Fact('go', ()))
    """
    name, bracket, arguments = text.partition("(") if text[0] != "<" else _after_iri(text)
    if not bracket:
        return Fact(name)
    inside = arguments[:-1]
    if '"' not in inside and "(" not in inside and "<" not in inside:
        return Fact(name, tuple(inside.split(",")))
    terms, depth = [""], 0
    for part in _PART.findall(inside):
        if part == "," and not depth:
            terms.append("")
            continue
        depth += (part == "(") - (part == ")")
        terms[-1] += part
    return Fact(name, tuple(terms))


def _after_iri(text: str) -> tuple[str, str, str]:
    end = text.index(">") + 1
    return text[:end], text[end : end + 1], text[end + 1 :]


class PythonFact(Fact):
    """A fact from values of Python: texts, numbers, `bool`, `datetime`, `date`, and `IRI("…")`.

    >>> str(PythonFact("site", ("b 7", 3)))
    'site("b 7",3)'
    >>> PythonFact("site", ("b 7", 3)).args
    ('b 7', 3)
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
