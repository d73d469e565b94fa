"""Terms to words and back.

Numbers are their own words; every other term gets an entry, and its word is the entry and three bits: 000 for a
resource, 100 for a text or another literal, so that a word alone says what it stands for. Beside each entry stands
the value of its term, which comparisons and calculations look at (`number`). Entries are given back when nothing that
lives uses them, so that the dictionary follows the window and not the run: `collect` gets the words in use.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from thalweg.model.fact import Fact
from thalweg.model.number import read_number, show_number
from thalweg.model.term import is_literal, is_number
from thalweg.model.values import value_word

_BYTES_AN_ENTRY: Final = 140
_FIRST_VALUES: Final = 64

SpellNumbers = Callable[[NDArray[np.int64]], list[str]]


def _show_numbers(words: NDArray[np.int64]) -> list[str]:
    return list(map(show_number, words.tolist()))


class Dictionary:
    """Terms and their words, one dictionary for each engine; `canonical` may map a term to another spelling.

    >>> words = Dictionary()
    >>> words.spell(words.code("road1")), words.spell(words.code("12.50"))
    ('road1', '12.50')
    """

    def __init__(self) -> None:
        self.words: dict[str, int] = {}
        # Resources and literals have lists of their own; both are entered by the same number.
        self._spellings: tuple[list[str | None], list[str | None]] = [], []
        self._free: tuple[list[int], list[int]] = [], []
        self.values: NDArray[np.int64] = np.zeros(_FIRST_VALUES, dtype=np.int64)
        """The value of each term that has an entry, by its word without the last two bits.

        It is another array when there are more terms than fit into it: kernels must be given its address again.
        """
        self._after_collection = 0
        self._characters = 0
        self.collections = 0
        self.crowded = False
        self.canonical: Callable[[str], str] | None = None

    def __len__(self) -> int:
        return len(self.words)

    @property
    def size(self) -> int:
        """About how many bytes it holds: what Python takes for a string, a number, and their places."""
        return self._characters + _BYTES_AN_ENTRY * len(self.words) + self.values.nbytes

    def code(self, term: str) -> int:
        """The word of a term; a new term gets an entry."""
        word = self.words.get(term)
        if word is not None:
            return word
        if is_number(term):
            number = read_number(term)
            if number is not None:
                return number
        if self.canonical is not None and (meant := self.canonical(term)) != term:
            self.words[term] = word = self.code(meant)
            return word
        literal = is_literal(term)
        spellings, free = self._spellings[literal], self._free[literal]
        if free:
            entry = free.pop()
            spellings[entry] = term
        else:
            entry = len(spellings)
            spellings.append(term)
        self.words[term] = word = entry << 3 | literal << 2
        if word >> 2 >= len(self.values):
            self.values = np.concatenate((self.values, np.zeros_like(self.values)))
        self.values[word >> 2] = value_word(term)
        self._characters += len(term)
        return word

    def spell(self, word: int) -> str:
        """The term of a word."""
        if word & 3:
            return str(word >> 2) if word & 3 == 1 else show_number(word)
        spelling = self._spellings[word >> 2 & 1][word >> 3]
        assert spelling is not None, "a word outlived its entry"
        return spelling

    def numbers(self, words: NDArray[np.int64]) -> NDArray[np.int64]:
        """The words as numbers: a term that stands for one becomes its value, and everything else 0.

        >>> words = Dictionary()
        >>> terms = "a", "2", '"1"^^<http://www.w3.org/2001/XMLSchema#int>'
        >>> words.numbers(np.array([words.code(term) for term in terms])).tolist()
        [0, 9, 5]
        """
        if (words & 3).all():
            return words
        entries = words & 3 == 0
        values = np.where(entries, self.values[np.where(entries, words >> 2, 0)], words)
        return np.where((values & 3 == 1) | (values & 3 == 2), values, 0)

    def spell_column(self, words: NDArray[np.int64], numbers: SpellNumbers = _show_numbers) -> list[str]:
        """The terms of many words, quickly where all of them are of one kind; `numbers` spells what is not whole.

        >>> Dictionary().spell_column(np.array([5, 9]))
        ['1', '2']
        """
        if (words & 3 == 1).all():
            return list(map(str, (words >> 2).tolist()))
        kinds = words & 7
        for literal, spellings in enumerate(self._spellings):
            if (kinds == literal << 2).all():
                return list(map(spellings.__getitem__, (words >> 3).tolist()))  # type: ignore[arg-type]
        # Averages are mostly decimals, and integers here and there.
        return numbers(words) if (words & 3).all() else list(map(self.spell, words.tolist()))

    def spell_rows(self, predicate: str, rows: NDArray[np.int64], numbers: SpellNumbers = _show_numbers) -> list[str]:
        """Facts as text, from the words of their arguments.

        >>> Dictionary().spell_rows("p", np.array([[5, 9], [13, 17]]))
        ['p(1,2)', 'p(3,4)']
        """
        if rows.shape[1] == 0:
            return [predicate] * len(rows)
        columns = [self.spell_column(column, numbers) for column in rows.T]
        return [f"{predicate}({','.join(terms)})" for terms in zip(*columns, strict=True)]

    def spell_column_of_facts(self, predicate: str, rows: NDArray[np.int64]) -> Any:
        """The same as a column of Arrow, much faster where there are many.

        >>> words = Dictionary()
        >>> words.spell_column_of_facts("p", np.array([[5, words.code("a")]])).to_pylist()
        ['p(1,a)']
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        if rows.shape[1] == 0:
            return pa.array([predicate] * len(rows), type=pa.string())
        terms = pc.binary_join_element_wise(*(self._spelled(column) for column in rows.T), ",")
        return pc.binary_join_element_wise(f"{predicate}(", terms, ")", "")

    def _spelled(self, words: NDArray[np.int64]) -> Any:
        import pyarrow as pa

        kinds = words & 3
        if (kinds == 1).all():
            return pa.array(words >> 2).cast(pa.string())
        if kinds.any():
            return pa.array(self.spell_column(words), type=pa.string())
        used, places = np.unique(words, return_inverse=True)
        return pa.array(self.spell_column(used), type=pa.string()).take(pa.array(places))

    def fact(self, predicate: str, words: Iterable[int]) -> Fact:
        """A fact from its words."""
        return Fact(predicate, tuple(self.spell(word) for word in words))

    @property
    def wants_collection(self) -> bool:
        """Whether so much has been added since the last collection that another one pays, or memory is short."""
        return self.crowded or len(self) > self._after_collection * 3 // 2 + 65_536

    def collect(self, in_use: NDArray[np.int64]) -> None:
        """Frees every entry whose word is not in use."""
        for literal, (spellings, free) in enumerate(zip(self._spellings, self._free, strict=True)):
            used = in_use[in_use & 7 == literal << 2] >> 3
            live = np.zeros(len(spellings), dtype=bool)
            # Among the words are numbers of other things, which mean nothing here.
            live[used[used < len(spellings)]] = True
            live[free] = True
            for entry in np.flatnonzero(~live).tolist():
                spellings[entry] = None
                free.append(entry)
        # Filled anew, in place: readers hold on to it, and a table that entries only leave and enter keeps growing.
        self.words.clear()
        for literal, spellings in enumerate(self._spellings):
            entries = ((entry, term) for entry, term in enumerate(spellings) if term is not None)
            self.words.update((term, entry << 3 | literal << 2) for entry, term in entries)
        self.collections += 1
        self._after_collection = len(self)
        self._characters = sum(map(len, self.words))
        self.crowded = False
