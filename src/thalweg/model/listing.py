"""Facts as rows of words, put in order and spelled only when they are read, some at a time.

Millions of facts take a hundred times more room as text than as words, and writing them down needs few at once.
Their order is that of their text, and found without it: terms are ranked by their text, and rows by the ranks of their
terms. That is the same order because no term, with the comma or the bracket behind it, is the beginning of another.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import chain, islice
from math import prod
from operator import add
from typing import Any, Final, overload

import numpy as np
from numpy.typing import NDArray

from thalweg.model.dictionary import Dictionary
from thalweg.model.predicate import Predicate

Rows = NDArray[np.int64]
_AT_ONCE: Final = 1_024
_TOO_MANY: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class Wrapping:
    """The format of a fact: the text before and after it, and how characters of its own are escaped.

    `escape` must look at one character at a time, so that it can be applied to the terms, which are few.
    """

    before: str = ""
    after: str = ""
    escape: Callable[[str], str] = str

    def __call__(self, text: str) -> str:
        return f"{self.before}{self.escape(text)}{self.after}"


PLAIN: Final = Wrapping()


class Listing(Sequence[str]):
    """Facts in the order of their text; equal to any other sequence of the same texts.

    >>> words = Dictionary()
    >>> rows = {Predicate("q", 0): np.zeros((1, 0), int), Predicate("p", 2): np.array([[9, words.code("b")], [5, 5]])}
    >>> facts = Listing(words, rows)
    >>> list(facts), len(facts), facts == ("p(1,1)", "p(2,b)", "q")
    (['p(1,1)', 'p(2,b)', 'q'], 3, True)
    """

    def __init__(self, dictionary: Dictionary, rows: Mapping[Predicate, Rows]) -> None:
        self._dictionary = dictionary
        self.rows = rows

    def parts(self, wrapping: Wrapping = PLAIN) -> Iterator[Sequence[str]]:
        """All facts in order, some at a time."""
        for signatures in self._alike():
            if len(signatures) == 1:
                yield from self._spelled(signatures[0], wrapping)
            else:
                # Their order is that of the bare text.
                for facts in _merged([self._spelled(signature, PLAIN) for signature in signatures]):
                    yield list(map(wrapping, facts))

    def _alike(self) -> Iterable[list[Predicate]]:
        """Signatures in order; with those that differ in nothing but how many arguments there are."""
        groups: dict[str, list[Predicate]] = {}
        for signature in self.rows:
            groups.setdefault(f"{signature.name}(" if signature.arity else signature.name, []).append(signature)
        return (groups[beginning] for beginning in sorted(groups))

    def _spelled(self, signature: Predicate, wrapping: Wrapping) -> Iterator[list[str]]:
        """The facts of one signature in order, some at a time."""
        name, rows = signature.name, self.rows[signature]
        if not rows.shape[1]:
            yield [wrapping(name)] * len(rows)
            return
        last = rows.shape[1] - 1
        columns = [self._ranked(column, ")" if place == last else ",") for place, column in enumerate(rows.T)]
        texts = [list(map(wrapping.escape, spellings)) for spellings, _ in columns]
        beginning = f"{wrapping.before}{wrapping.escape(name)}("
        texts[0] = [f"{beginning}{text}" for text in texts[0]]
        texts[last] = [f"{text}{wrapping.after}" for text in texts[last]]
        for ranks in _in_order([ranks for _, ranks in columns], [len(spellings) for spellings, _ in columns]):
            yield _joined(
                [
                    map(spellings.__getitem__, column_ranks.tolist())
                    for spellings, column_ranks in zip(texts, ranks, strict=True)
                ]
            )

    def _ranked(self, words: Rows, behind: str) -> tuple[list[str], NDArray[np.int32]]:
        """The texts of terms with what stands behind them, in order, and which of them each word has."""
        used, places = np.unique(words, return_inverse=True)
        texts = [f"{term}{behind}" for term in self._dictionary.spell_column(used)]
        distinct = sorted(set(texts))
        rank = dict(zip(distinct, range(len(distinct)), strict=True))
        return distinct, np.array([rank[text] for text in texts], dtype=np.int32)[places]

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


def _in_order(columns: list[NDArray[np.int32]], sizes: list[int]) -> Iterator[list[NDArray[np.int64]]]:
    """The rows of some columns of ranks in order, some at a time; each rank is smaller than the size of its column.

    >>> [[column.tolist() for column in some] for some in _in_order([np.array([1, 0, 1]), np.array([0, 3, 2])], [2, 4])]
    [[[0, 1, 1], [3, 0, 2]]]
    """
    if prod(sizes) >= _TOO_MANY:
        order = np.lexsort(columns[::-1])
        for start in range(0, len(order), _AT_ONCE):
            yield [ranks[order[start : start + _AT_ONCE]].astype(np.int64) for ranks in columns]
        return
    # All ranks of a row make one number, which is sorted faster and takes less room than an order of rows.
    keys = columns[0].astype(np.int64)
    for ranks, size in zip(columns[1:], sizes[1:], strict=True):
        keys *= size
        keys += ranks
    keys.sort()
    for start in range(0, len(keys), _AT_ONCE):
        quotients, decoded = keys[start : start + _AT_ONCE], list[NDArray[np.int64]]()
        for size in sizes[:0:-1]:
            quotients, last = np.divmod(quotients, size)
            decoded.append(last)
        yield [quotients, *reversed(decoded)]


def _joined(texts: list[Iterator[str]]) -> list[str]:
    if len(texts) == 1:
        return list(texts[0])
    return list(map(add, *texts) if len(texts) == 2 else map("".join, zip(*texts, strict=True)))


def _merged(runs: Sequence[Iterator[list[str]]]) -> Iterator[list[str]]:
    """Facts that are in order, each for itself, in one order."""
    facts = merge(*map(chain.from_iterable, runs))
    while batch := list(islice(facts, _AT_ONCE)):
        yield batch


def in_parts(facts: Sequence[str], wrapping: Wrapping = PLAIN) -> Iterable[Sequence[str]]:
    """Facts some at a time, where that makes a difference, in what they are written in.

    >>> list(in_parts(("p(1)", "p(2)"), Wrapping(after=".")))
    [['p(1).', 'p(2).']]
    """
    return facts.parts(wrapping) if isinstance(facts, Listing) else (list(map(wrapping, facts)),)
