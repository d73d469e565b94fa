"""Exchanges: how updates go from one operator to the buckets of another.

Hash         by the hash of one column; the canon says which terms count as equal
Broadcast    all to every bucket
Gather       all to one bucket
Multicast    each record to the buckets that a function of the record names

Operators that take whole events in turn say so themselves (`OpSpec.by_event`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from thalweg.model.dictionary import Dictionary

if TYPE_CHECKING:
    from thalweg.dataflow.context import Context

Words = NDArray[np.int64]
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class Canon(Protocol):
    """Which terms count as equal: equal ones have equal hashes in every process."""

    def hashes(self, column: Words, words: Dictionary) -> Words:
        """A number from 0 for each term of a column."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms are equal if they are spelled alike."""

    def hashes(self, column: Words, words: Dictionary) -> Words:
        """Hashes of the spelling of terms: equal in every process, though dictionaries number terms differently.

        >>> here, there = Dictionary(), Dictionary()
        >>> _ = there.code("y")
        >>> one, other = (Terms().hashes(np.array([each.code("x")]), each) for each in (here, there))
        >>> bool(one == other)
        True
        """
        mixed = column.astype(np.uint64)
        terms = np.flatnonzero(column & 3 == 0)
        if len(terms):
            used, places = np.unique(column[terms], return_inverse=True)
            spelled = words.spell_column(used)
            hashes = np.fromiter((crc32(term.encode()) << 2 for term in spelled), dtype=np.uint64, count=len(used))
            mixed[terms] = hashes[places]
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
        return ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(1)).astype(np.int64)


TERMS: Final = Terms()


def spelled_hashes(column: Words, words: Dictionary, canonical: Callable[[str], str]) -> Words:
    """A number for each term of a column, by a canonical spelling of it."""
    used, places = np.unique(column, return_inverse=True)
    hashes = [crc32(canonical(term).encode()) for term in map(words.spell, used.tolist())]
    return np.array(hashes, dtype=np.int64)[places]


class Exchange(Protocol):
    """Chooses the buckets of rows; `is_exclusive`: each row goes to one of them."""

    is_exclusive: ClassVar[bool]

    def buckets_of(self, rows: Words, words: Dictionary, buckets: range) -> Words | None:
        """The bucket of each row; None where every bucket gets all of them."""


@dataclass(frozen=True, slots=True)
class Hash:
    """By the hash of one column."""

    column: int
    canon: Canon = TERMS
    is_exclusive: ClassVar[bool] = True

    def buckets_of(self, rows: Words, words: Dictionary, buckets: range) -> Words | None:
        if len(buckets) == 1:
            return np.full(len(rows), buckets[0], dtype=np.int64)
        return buckets[0] + self.canon.hashes(rows[:, self.column], words) % len(buckets)


@dataclass(frozen=True, slots=True)
class Broadcast:
    """All to every bucket."""

    is_exclusive: ClassVar[bool] = False

    def buckets_of(self, rows: Words, words: Dictionary, buckets: range) -> Words | None:
        return None


@dataclass(frozen=True, slots=True)
class Gather:
    """All to the first bucket."""

    is_exclusive: ClassVar[bool] = True

    def buckets_of(self, rows: Words, words: Dictionary, buckets: range) -> Words | None:
        return np.full(len(rows), buckets[0], dtype=np.int64)


class Multicast(ABC):
    """Sends each record to buckets of its own."""

    @abstractmethod
    def addresses(self, context: "Context", buckets: range) -> Callable[[Any], Iterable[int]]:
        """A function from a record to the buckets that need it."""


BROADCAST: Final = Broadcast()
GATHER: Final = Gather()
