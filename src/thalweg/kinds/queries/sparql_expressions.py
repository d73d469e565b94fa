"""SPARQL expressions over columns of words: each combination of terms is asked once, many at a time.

Only SPARQL knows which comparisons are errors, how a date without a zone compares, and what `1 / 3` is. So it is asked,
with the terms as `VALUES`, and the answers are kept. Plain numbers that are compared with a number need no
question: there the engine's exact numbers are SPARQL's.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from thalweg.languages.rspql.lowered import Aggregation, SparqlExpression
from thalweg.model.dictionary import Dictionary
from thalweg.model.number import NO_VALUE
from thalweg.model.rdf import as_ntriples
from thalweg.solvers.sparql import SparqlStore

Words = NDArray[np.int64]
Key = tuple[int, ...]
Terms = tuple[str | None, ...]
Place = tuple[tuple[str, ...], tuple[int, ...], str]
"""What a term is sorted by."""

UNBOUND: Final = NO_VALUE
"""The word of a variable that is not bound."""

_DIGITS: Final = re.compile("([0-9]+)")
_AT_ONCE: Final = 2_000
_MOST: Final = 1 << 18
_TRUE: Final = 1
_SMALL: Final = 1 << 40
_PLACES: Final = 6


class Asking:
    """The answers of one query's expressions, in the words of a dictionary."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._collections = dictionary.collections
        self._store = SparqlStore()
        self._answers: dict[tuple[str, tuple[str, ...], bool], dict[Key, int]] = {}
        self._places: dict[int, Place] = {}
        self._entries = 0

    def holds(self, expression: SparqlExpression, rows: Words) -> NDArray[np.bool_]:
        """For which rows of terms a condition is true; their columns are the known variables.

        >>> words = Dictionary()
        >>> terms = "7", '"31.5"^^<http://www.w3.org/2001/XMLSchema#double>', "<http://ex.org/a>"
        >>> rows = np.array([[words.code(term)] for term in terms])
        >>> Asking(words).holds(SparqlExpression("(?v > 30)", ("v",), (">", "30")), rows).tolist()
        [False, True, False]
        """
        if expression.bound is None or not len(rows):
            true: NDArray[np.bool_] = self._answered(expression, rows, False) == _TRUE
            return true
        operator, number = expression.bound
        operands = rows[:, 1] if number == "?" else np.array([self._dictionary.code(number)])
        truths, decided = _compared(rows[:, 0], operator, operands)
        if not decided.all():
            truths[~decided] = self._answered(expression, rows[~decided], False) == _TRUE
        return truths

    def values(self, expression: SparqlExpression, rows: Words) -> Words:
        """The words of an expression's values, `UNBOUND` where it is an error.

        >>> words = Dictionary()
        >>> rows = np.array([[words.code("7")], [words.code("a")]])
        >>> found = Asking(words).values(SparqlExpression("(?v + 1)", ("v",)), rows)
        >>> found[1] == UNBOUND, words.spell(int(found[0]))
        (np.True_, '8')
        """
        return self._answered(expression, rows, True)

    def _answered(self, expression: SparqlExpression, rows: Words, for_value: bool) -> Words:
        self._forget()
        answers = self._answers.setdefault((expression.text, expression.known, for_value), {})
        keys = list(map(tuple, rows.tolist()))
        missing = [key for key in dict.fromkeys(keys) if key not in answers]
        for start in range(0, len(missing), _AT_ONCE):
            chunk = missing[start : start + _AT_ONCE]
            answers.update(zip(chunk, self._ask(expression, chunk, for_value), strict=True))
            self._entries += len(chunk)
        return np.fromiter(map(answers.__getitem__, keys), dtype=np.int64, count=len(keys))

    def _forget(self) -> None:
        """Forgets all where words may stand for other terms now, or there is too much."""
        if self._collections != self._dictionary.collections or self._entries + len(self._places) > _MOST:
            self._answers, self._places, self._entries = {}, {}, 0
            self._collections = self._dictionary.collections

    def aggregated(self, aggregation: Aggregation, bags: Sequence[Mapping[Key, int]]) -> list[int]:
        """The words of an aggregate's values over bags of what its variables are bound to.

        >>> words = Dictionary()
        >>> bag = {(words.code("2"),): 2, (words.code("3.5"),): 1}
        >>> found = Asking(words).aggregated(Aggregation("SUM", "?v", ("v",), False, "t"), [bag, {}])
        >>> [words.spell(word) for word in found]
        ['7.5', '0']
        """
        call = (
            f"({aggregation.function}({'DISTINCT ' if aggregation.distinct else ''}{aggregation.argument}) AS ?value__)"
        )
        answers = [UNBOUND] * len(bags)
        for rows in self._by_blank(aggregation, bags):
            store, pattern = _given(aggregation.variables, rows)
            inner = f"{{ SELECT ?row__ {call} WHERE {{ {pattern} }} GROUP BY ?row__ }}"
            for number, value in self._valued(store or self._store, inner):
                answers[number] = value
        if not all(bags):
            inner = f"BIND(0 AS ?row__) {{ SELECT {call} WHERE {{ FILTER(false) }} }}"
            of_nothing = dict(self._valued(self._store, inner)).get(0, UNBOUND)
            answers = [value if bag else of_nothing for value, bag in zip(answers, bags, strict=True)]
        return answers

    def _by_blank(
        self, aggregation: Aggregation, bags: Sequence[Mapping[Key, int]]
    ) -> Iterator[list[tuple[int, Terms]]]:
        """The elements of bags with the numbers of these, and apart from them those of bags with blank nodes."""
        listed: tuple[list[tuple[int, Terms]], ...] = [], []
        for number, bag in enumerate(bags):
            elements = [(self._terms(element), count) for element, count in bag.items()]
            repeated = [
                (number, terms) for terms, count in elements for _ in range(1 if aggregation.distinct else count)
            ]
            listed[any(_is_blank(terms) for terms, _ in elements)].extend(repeated)
        return filter(None, listed)

    def order(self, row: Key) -> tuple[Place, ...]:
        """What rows are sorted by: their terms, numbers within these by their value. So are names that are counted on.

        >>> words = Dictionary()
        >>> rows = [(words.code(f"<http://ex.org/{name}>"),) for name in ("o10", "o9", "p")]
        >>> [words.spell(word) for word, in sorted(rows, key=Asking(words).order)]
        ['<http://ex.org/o9>', '<http://ex.org/o10>', '<http://ex.org/p>']
        """
        self._forget()
        places = self._places
        for word in row:
            if word not in places:
                term = "" if word == UNBOUND else self._dictionary.spell(word)
                parts = _DIGITS.split(term)
                places[word] = tuple(parts[::2]), tuple(map(int, parts[1::2])), term
        return tuple(places[word] for word in row)

    def _ask(self, expression: SparqlExpression, keys: Sequence[Key], for_value: bool) -> list[int]:
        rows = list(enumerate(map(self._terms, keys)))
        answers = [UNBOUND if for_value else 0] * len(keys)
        # Blank nodes take a way of their own, which is slow.
        for chunk in ([row for row in rows if _is_blank(row[1]) is blank] for blank in (False, True)):
            if not chunk:
                continue
            store, pattern = _given(expression.known, chunk)
            store = store or self._store
            if for_value:
                results = self._valued(store, f"{pattern} BIND(({expression.text}) AS ?value__)")
            else:
                query = f"SELECT ?row__ WHERE {{ {pattern} FILTER({expression.text}) }}"
                results = [(int(row or 0), _TRUE) for (row,) in store.ask(query)]
            for number, value in results:
                answers[number] = value
        return answers

    def _terms(self, key: Key) -> Terms:
        spell = self._dictionary.spell
        return tuple(None if word == UNBOUND else as_ntriples(spell(word)) for word in key)

    def _valued(self, store: SparqlStore, pattern: str) -> list[tuple[int, int]]:
        """The numbers of rows and the words of their values."""
        rows = store.ask(f"SELECT ?row__ ?value__ WHERE {{ {pattern} }}")
        return [(int(row or 0), self._dictionary.code(value)) for row, value in rows if value is not None]


def _is_blank(row: Terms) -> bool:
    return any(term is not None and term[0] == "_" for term in row)


def _given(names: Sequence[str], rows: Sequence[tuple[int, Terms]]) -> tuple[SparqlStore | None, str]:
    """Rows of terms as a pattern, and the store that it is asked of, if it needs one of its own."""
    if not any(_is_blank(row) for _, row in rows):
        return None, _as_values(names, rows)
    # Blank nodes cannot be written as values: the rows are triples.
    store, triples = SparqlStore(), []
    for place, (number, row) in enumerate(rows):
        triples.append((f"<urn:row:{place}>", "<urn:row>", str(number)))
        bound = ((name, term) for name, term in zip(names, row, strict=True) if term is not None)
        triples += [(f"<urn:row:{place}>", f"<urn:{name}>", term) for name, term in bound]
    store.extend(triples)
    return store, "?r__ <urn:row> ?row__ " + " ".join(f"OPTIONAL {{ ?r__ <urn:{name}> ?{name} }}" for name in names)


def _as_values(names: Sequence[str], rows: Sequence[tuple[int, Terms]]) -> str:
    """Rows of terms as SPARQL writes them.

    >>> _as_values(("x", "y"), [(0, ("<http://ex.org/a>", None))])
    'VALUES (?row__ ?x ?y) { (0 <http://ex.org/a> UNDEF) }'
    """
    lines = " ".join(f"({' '.join((str(number), *(term or 'UNDEF' for term in row)))})" for number, row in rows)
    return f"VALUES ({' '.join(f'?{name}' for name in ('row__', *names))}) {{ {lines} }}"


def _compared(words: Words, operator: str, operands: Words) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether plain numbers satisfy a comparison, and which pairs are plain numbers of a size that makes it exact.

    >>> words = Dictionary()
    >>> rows = np.array([words.code(term) for term in ("29.5", "31", "a")])
    >>> [one.tolist() for one in _compared(rows, ">", np.array([words.code("30")]))]
    [[False, True, False], [True, True, False]]
    """
    (left, first), (right, second) = map(_scaled, (words, operands))
    decided = first & second
    return _COMPARE[operator](left, right) & decided, decided


def _scaled(words: Words) -> tuple[Words, NDArray[np.bool_]]:
    """Numbers multiplied by the same power of ten, and which words are numbers for which that is exact."""
    integers, decimals = words & 3 == 1, words & 3 == 2
    mantissas = np.where(integers, words >> 2, words >> 8)
    places = np.where(decimals, words >> 2 & 63, 0)
    exact = (integers | decimals) & (np.abs(mantissas) < _SMALL) & (places <= _PLACES)
    return np.where(exact, mantissas, 0) * 10 ** (_PLACES - np.where(exact, places, 0)), exact


_COMPARE: Final = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "=": np.equal,
    "!=": np.not_equal,
}
