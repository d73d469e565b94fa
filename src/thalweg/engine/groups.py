"""Aggregates, maintained from the elements that came and went.

The groups of an aggregate are kept in arrays and changed by a kernel (`regroup`); here the arrays are made and
enlarged, and the values found for which machine words are too short. All values are exact, or rounded once: a million
additions and subtractions leave no dust behind.
"""

from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from thalweg.engine import regroup as layout
from thalweg.engine.regroup import ASKS, NUMBERS, STATE, VALUE, rechain, regroup, state_words
from thalweg.engine.sorted_numbers import BLOCK, FREE_BLOCK, POOLS, nth
from thalweg.engine.totals import LIMBS, PLACES, SQUARE_LIMBS, exact
from thalweg.model.number import NO_VALUE, mantissa, ratio, root_of_ratio, scale

Words = NDArray[np.int64]

_FUNCTIONS: Final = {
    "count": layout.COUNT,
    "sum": layout.SUM,
    "avg": layout.AVERAGE,
    "stddev": layout.DEVIATION,
    "min": layout.LEAST,
    "max": layout.GREATEST,
    "median": layout.QUANTILE,
    "quantile": layout.QUANTILE,
}
_GROUPS: Final = 16


class GroupState:
    """All groups of one aggregate, and the value that each has in the engine; `share` is that of a quantile."""

    def __init__(self, function: str, width: int, share: str | None = None) -> None:
        self.function, self.width = _FUNCTIONS[function], width
        self.share = Fraction(share or "0.5")
        key = STATE + state_words(self.function)
        self._scalars = np.zeros(layout.SCALARS, dtype=np.int64)
        self._scalars[layout.POOL + FREE_BLOCK : layout.POOL + POOLS] = self._scalars[layout.FREE] = -1
        self._scalars[[layout.FUNCTION, layout.WIDTH, layout.KEY, layout.STRIDE]] = (
            self.function,
            width,
            key,
            key + width,
        )
        self._scalars[layout.CHAINS] = _GROUPS
        if self.share.denominator <= layout.MOST_SHARES:
            self._scalars[[layout.PART, layout.WHOLE]] = self.share.as_integer_ratio()
        sizes = _GROUPS * np.array([key + width, 1, 1, 8, BLOCK + 2, width + 3])
        self._arrays: list[Words] = [np.zeros(size, dtype=np.int64) for size in sizes]
        self._arrays[layout.HEADS].fill(-1)
        self._address()

    def _address(self) -> None:
        """Writes where the arrays are, and how large, into the scalars, where the kernel looks for it."""
        for number, array in enumerate(self._arrays):
            self._scalars[layout.ADDRESSES + number] = array.ctypes.data
            self._scalars[layout.LENGTHS + number] = len(array)

    @property
    def size(self) -> int:
        """Bytes held."""
        return sum(array.nbytes for array in self._arrays)

    def change(self, came: Words, went: Words) -> tuple[Words, Words]:
        """Takes in rows of elements that came and went; the rows to take back and the rows to add."""
        self._scalars[layout.CHANGED] = 0
        while not regroup(self._scalars, came.reshape(-1), went.reshape(-1), came.shape[1]):
            self._enlarge(int(self._scalars[layout.NEED]))
        many, wide = int(self._scalars[layout.CHANGED]), self.width + 3
        found = self._arrays[layout.CHANGES][: many * wide].reshape(many, wide)
        for place in np.flatnonzero(found[:, -2] == ASKS).tolist():
            group = int(found[place, -1])
            found[place, -2] = self._arrays[layout.GROUPS][group + VALUE] = self._value(group)
        before, after = found[:, -3], found[:, -2]
        ended = (before != NO_VALUE) & (before != after)
        begun = (after != NO_VALUE) & (before != after)
        return found[ended, : wide - 2], np.column_stack((found[begun, : self.width], after[begun]))

    def _enlarge(self, which: int) -> None:
        """Doubles the array that the kernel lacked room in."""
        array = self._arrays[which]
        if which == layout.HEADS:
            self._arrays[which] = np.full(2 * len(array), -1, dtype=np.int64)
            self._scalars[layout.CHAINS] = 2 * len(array)
        else:
            self._arrays[which] = np.concatenate((array, np.zeros_like(array)))
        self._address()
        if which == layout.HEADS:
            rechain(self._scalars)

    def _value(self, group: int) -> int:
        """The value of a group in integers of any size."""
        words = self._arrays[layout.GROUPS]
        numbers, state = int(words[group + NUMBERS]), group + STATE
        if self.function == layout.DEVIATION:
            limbs = words[state : state + LIMBS + SQUARE_LIMBS].tolist()
            total, squares = exact(limbs[:LIMBS]), exact(limbs[LIMBS:])
            return root_of_ratio(numbers * squares - total * total, numbers * (numbers - 1) * 10 ** (2 * PLACES))
        place = self.share * (numbers - 1)
        below, rest = divmod(place, 1)
        pair = (int(below), min(int(below) + 1, numbers - 1))
        bags = self._arrays[layout.DIRECTORIES], self._arrays[layout.BLOCKS], words, state
        first, second = (_exact(int(nth(*bags, each))) for each in pair)
        found = first + rest * (second - first)
        return ratio(found.numerator, found.denominator)


def _exact(word: int) -> Fraction:
    return Fraction(mantissa(word), 10 ** scale(word))
