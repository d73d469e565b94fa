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
from thalweg.engine.regroup import NUMBERS, STATE, VALUE, rechain, regroup, state_words
from thalweg.engine.sorted_numbers import BLOCK, FREE_BLOCK, POOLS, nth
from thalweg.engine.totals import LIMBS, PLACES, SQUARE_LIMBS, exact
from thalweg.model.number import NO_VALUE, mantissa, ratio, root_of_ratio, scale

Words = NDArray[np.int64]
Places = NDArray[np.int32]

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
    """All groups of one aggregate, and the value that each has in the engine.

    `columns` says where the key stands in a row of the elements, and last the value; `share` is that of a quantile.
    """

    def __init__(self, function: str, columns: tuple[int, ...], share: str | None = None) -> None:
        self.function, self.width = _FUNCTIONS[function], len(columns) - 1
        self.share = Fraction(share or "0.5")
        key = STATE + state_words(self.function)
        self._scalars = np.zeros(layout.SCALARS, dtype=np.int64)
        self._scalars[layout.POOL + FREE_BLOCK : layout.POOL + POOLS] = self._scalars[layout.FREE] = -1
        self._scalars[[layout.FUNCTION, layout.WIDTH, layout.KEY, layout.STRIDE]] = (
            self.function,
            self.width,
            key,
            key + self.width,
        )
        self._scalars[layout.CHAINS] = _GROUPS
        if self.share.denominator <= layout.MOST_SHARES:
            self._scalars[[layout.PART, layout.WHOLE]] = self.share.as_integer_ratio()
        sizes = _GROUPS * np.array([key + self.width, 1, 1, 8, BLOCK + 2, self.width + 1, self.width + 1])
        self._arrays: list[Words] = [np.zeros(size, dtype=np.int64) for size in sizes]
        self._arrays[layout.HEADS].fill(-1)
        self._columns: Words = np.array(columns, dtype=np.int64)
        self._key = np.zeros(self.width + 1, dtype=np.int64)
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

    def change(self, rows: Words, came: Places, went: Places, relation: int, values: Words) -> tuple[Words, Words]:
        """Takes in elements that came and went; the rows to take back and to add, which are good until the next call.

        They are among the rows of an arena at some places, in one relation; `values` are those of the terms.
        """
        flat, halves = rows.reshape(-1), rows.view(np.int32).reshape(-1)
        self._scalars[layout.ENDED_ROWS : layout.ASKED + 1] = 0
        while not regroup(self._scalars, flat, halves, came, went, relation, self._columns, self._key, values):
            self._enlarge(int(self._scalars[layout.NEED]))
        ended, begun, undecided = self._scalars[layout.ENDED_ROWS : layout.ASKED + 1].tolist()
        wide = self.width + 1
        taken_back = self._arrays[layout.ENDED][: ended * wide].reshape(ended, wide)
        added = self._arrays[layout.BEGUN][: begun * wide].reshape(begun, wide)
        return self._answered(undecided, taken_back, added) if undecided else (taken_back, added)

    def _answered(self, undecided: int, taken_back: Words, added: Words) -> tuple[Words, Words]:
        """The changes together with those of the groups whose value the kernel leaves to Python."""
        groups, key = self._arrays[layout.GROUPS], int(self._scalars[layout.KEY])
        ended, begun = [taken_back], [added]
        for group in self._arrays[layout.TOUCHES][:undecided].tolist():
            before, after = int(groups[group + VALUE]), self._value(group)
            groups[group + VALUE] = after
            for rows, value in ((ended, before), (begun, after)):
                if value != NO_VALUE and before != after:
                    rows.append(np.array([[*groups[group + key : group + key + self.width], value]]))
        return np.concatenate(ended), np.concatenate(begun)

    def _enlarge(self, number: int) -> None:
        """Doubles the array that the kernel lacked room in."""
        array = self._arrays[number]
        if number == layout.HEADS:
            self._arrays[number] = np.full(2 * len(array), -1, dtype=np.int64)
            self._scalars[layout.CHAINS] = 2 * len(array)
        else:
            self._arrays[number] = np.concatenate((array, np.zeros_like(array)))
        self._address()
        if number == layout.HEADS:
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
        below, fraction = divmod(place, 1)
        pair = (int(below), min(int(below) + 1, numbers - 1))
        bags = self._arrays[layout.DIRECTORIES], self._arrays[layout.BLOCKS], words, state
        first, second = (_exact(int(nth(*bags, position))) for position in pair)
        value = first + fraction * (second - first)
        return ratio(value.numerator, value.denominator)


def _exact(word: int) -> Fraction:
    return Fraction(mantissa(word), 10 ** scale(word))
