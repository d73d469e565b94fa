"""Numbers that clingo does not have are text to it: a program that compares numbers gets a warning, once."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from thalweg.diagnostics import Diagnostic
from thalweg.languages.asp.terms import GREATEST, LEAST, Names, is_text_to_clingo
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate

# A stream that has brought this many other literals is not looked at any longer.
_MOST_LITERALS: Final = 100_000


class Numbers:
    """Looks at incoming batches, and reports the first number that clingo does not have.

    >>> from thalweg.model.event import Batch
    >>> dictionary, batch = Dictionary(), Batch()
    >>> for term in ("7", "20.5"): batch.add(Predicate("speed", 1), [dictionary.code(term)])
    >>> Numbers(dictionary, lambda diagnostic: print(diagnostic.code, diagnostic.message)).look(batch)
    W508 `20.5` in `speed/1` is not an integer of 32 bits: clingo compares it as text
    """

    def __init__(self, dictionary: Dictionary, report: Callable[[Diagnostic], None]) -> None:
        self._dictionary = dictionary
        self._report = report
        self._literals = 0
        self._reported = False

    def look(self, batch: Batch) -> None:
        """Reports the first number in a batch that clingo does not have, once."""
        for signature, words in () if self._reported else batch.rows.items():
            term = self._first(np.asarray(words, dtype=np.int64).reshape(-1))
            if term is not None:
                self._reported = True
                self._report(_no_number(term, signature))
                return

    def _first(self, words: NDArray[np.int64]) -> str | None:
        kind, value = words & 3, words >> 2
        odd = (kind == 2) | ((kind == 1) & ((value < LEAST) | (value > GREATEST)))
        if odd.any():
            return self._dictionary.spell(int(words[odd.argmax()]))
        literals = words[words & 7 == 4] if self._literals < _MOST_LITERALS else words[:0]
        literals = np.unique(literals[self._dictionary.values[literals >> 2] & 7 != 7])
        self._literals += len(literals)
        return next(filter(is_text_to_clingo, map(self._dictionary.spell, map(int, literals))), None)


def in_facts(facts: Iterable[Fact], names: Names) -> Iterator[Diagnostic]:
    """Reports the first such number in facts that the program reads.

    >>> limit = Fact("limit", ("7.5",))
    >>> [diagnostic.message for diagnostic in in_facts([limit], Names({}, frozenset({limit.signature})))]
    ['`7.5` in `limit/1` is not an integer of 32 bits: clingo compares it as text']
    """
    mattering = (fact for fact in facts if names.known_as(fact.signature))
    terms = ((term, fact.signature) for fact in mattering for term in fact.terms if is_text_to_clingo(term))
    yield from (_no_number(*pair) for pair in islice(terms, 1))


def _no_number(term: str, signature: Predicate) -> Diagnostic:
    return Diagnostic(
        "W508", f"`{term}` in `{signature}` is not an integer of 32 bits: clingo compares it as text", help=_HELP
    )


_HELP: Final = "clingo has integers of 32 bits only: scale the numbers (`205` tenths), or write the program as `.lars`"
