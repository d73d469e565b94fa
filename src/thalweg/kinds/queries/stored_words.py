"""Words of terms as SPARQL's store keeps them (`stored_terms`), looked up by entry: each term is brought to it once."""

import re
from typing import Final

import numpy as np
from numpy.typing import NDArray

from thalweg.languages.rspql.stored_terms import stored
from thalweg.model.dictionary import Dictionary
from thalweg.solvers.sparql import is_known

Words = NDArray[np.int64]

_UNSEEN: Final = -1
_NONE: Final = -2
_PLAIN: Final = re.compile(r"<[a-z]+:/?/?[\w./#~-]+>")
"""IRIs that need no closer look."""


class StoredWords:
    """The words that a query's rules see instead of those of a dictionary."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._collections = dictionary.collections
        self._table: Words = np.full(64, _UNSEEN, dtype=np.int64)

    def of(self, rows: Words) -> Words:
        """The rows with other words for some; without those in which RDF does not know a term.

        >>> words = Dictionary()
        >>> rows = np.array([[words.code("<http://ex.org/a>"), words.code("2.50")], [words.code("<http://[/>"), 5]])
        >>> [words.spell(word) for row in StoredWords(words).of(rows).tolist() for word in row]
        ['<http://ex.org/a>', '2.5']
        """
        if not rows.size:
            return rows
        stored = self._found(rows)
        missing = stored == _UNSEEN
        if missing.any():
            for word in np.unique(rows[missing]).tolist():
                entry = self._stored(word)
                self._make_room()
                self._table[word >> 2] = entry
            stored = self._found(rows)
        # Decimals with a zero at the end, unless it is all that stands behind the point.
        long = (stored & 3 == 2) & ((stored >> 8) % 10 == 0) & ((stored >> 2 & 63) > 1)
        if long.any():
            stored[long] = [self._coded(word) for word in stored[long].tolist()]
        unknown = stored == _NONE
        return stored[~unknown.any(axis=1)] if unknown.any() else stored

    def _found(self, rows: Words) -> Words:
        if self._collections != self._dictionary.collections:
            self._collections = self._dictionary.collections
            self._table[:] = _UNSEEN
        self._make_room()
        entries = rows & 3 == 0
        stored: Words = np.where(entries, self._table[np.where(entries, rows >> 2, 0)], rows)
        return stored

    def _make_room(self) -> None:
        lacking = len(self._dictionary.values) - len(self._table)
        if lacking > 0:
            self._table = np.concatenate((self._table, np.full(lacking, _UNSEEN, dtype=np.int64)))

    def _stored(self, word: int) -> int:
        term = self._dictionary.spell(word)
        if term[0] == "<" and not _PLAIN.fullmatch(term) and not is_known(term):
            return _NONE
        return self._coded(word) if term[0] == '"' and term[-1] == ">" else word

    def _coded(self, word: int) -> int:
        return self._dictionary.code(stored(self._dictionary.spell(word)))
