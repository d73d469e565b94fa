"""Facts as rows of words, put in order and spelled only when they are read, some at a time.

Millions of facts take a hundred times more room as text than as words, and who writes them down needs few at once.
Their order is that of their text, and found without it: terms are ranked by their text, and rows by the ranks of their
terms. That is the same order because no term, with the comma or the bracket behind it, is the beginning of another.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import chain, islice, repeat
from typing import Any, Final, overload

import numpy as np
from numpy.typing import NDArray

from thalweg.model.dictionary import Dictionary

Rows = NDArray[np.int64]
_AT_ONCE: Final = 1_024


class Listing(Sequence[str]):
    """Facts in the order of their text; equal to any other sequence of the same texts.

    >>> words = Dictionary()
    >>> facts = Listing(words, {"q/0": np.zeros((1, 0), int), "p/2": np.array([[9, words.code("b")], [5, 5]])})
    >>> list(facts), len(facts), facts == ("p(1,1)", "p(2,b)", "q")
    (['p(1,1)', 'p(2,b)', 'q'], 3, True)
    """

    def __init__(self, dictionary: Dictionary, rows: Mapping[str, Rows]) -> None:
        self._dictionary = dictionary
        self.rows = rows

    def parts(self) -> Iterator[Sequence[str]]:
        """All facts in order, some at a time."""
        for signatures in self._alike():
            found = [self._spelled(signature) for signature in signatures]
            yield from found[0] if len(found) == 1 else _merged(found)

    def _alike(self) -> Iterable[list[str]]:
        """Signatures in order; with those that differ in nothing but how many arguments there are."""
        groups: dict[str, list[str]] = {}
        for signature in self.rows:
            name, _, arity = signature.rpartition("/")
            groups.setdefault(name if arity == "0" else f"{name}(", []).append(signature)
        return (groups[beginning] for beginning in sorted(groups))

    def _spelled(self, signature: str) -> Iterator[list[str]]:
        """The facts of one signature in order, some at a time."""
        name, rows = signature.rpartition("/")[0], self.rows[signature]
        if not rows.shape[1]:
            yield [name] * len(rows)
            return
        last = rows.shape[1] - 1
        columns = [self._ranked(column, ")" if place == last else ",") for place, column in enumerate(rows.T)]
        order = np.lexsort([ranks for _, ranks in reversed(columns)])
        for start in range(0, len(order), _AT_ONCE):
            some = order[start : start + _AT_ONCE]
            texts = [map(known.__getitem__, ranks[some].tolist()) for known, ranks in columns]
            yield list(map("".join, zip(repeat(f"{name}("), *texts, strict=False)))

    def _ranked(self, words: Rows, behind: str) -> tuple[list[str], NDArray[np.int32]]:
        """The texts of terms with what stands behind them, in order, and which of them each word has."""
        used, places = np.unique(words, return_inverse=True)
        texts = [f"{term}{behind}" for term in self._dictionary.spell_column(used)]
        known = sorted(set(texts))
        rank = dict(zip(known, range(len(known)), strict=True))
        return known, np.array([rank[text] for text in texts], dtype=np.int32)[places]

    def __len__(self) -> int:
        return sum(map(len, self.rows.values()))

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self.parts())

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        return tuple(self)[place]

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


def _merged(found: Sequence[Iterator[list[str]]]) -> Iterator[list[str]]:
    """Facts that are in order, each for itself, in one order."""
    facts = merge(*map(chain.from_iterable, found))
    while some := list(islice(facts, _AT_ONCE)):
        yield some


def in_parts(facts: Sequence[str]) -> Iterable[Sequence[str]]:
    """Facts some at a time, where that makes a difference.

    >>> list(in_parts(("p(1)", "p(2)")))
    [('p(1)', 'p(2)')]
    """
    return facts.parts() if isinstance(facts, Listing) else (facts,)
