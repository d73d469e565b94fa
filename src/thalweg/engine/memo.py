"""The results of calls that kernels asked for, one table for each engine.

A kernel that does not find a call in the table (`calls`) notes it in the scalars and comes back; Python enters its
result, and the rule goes on where it was. The table is emptied when it is large, and when the dictionary has given
words back: they may stand for other terms now.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from thalweg.engine.calls import ENTRY, enter
from thalweg.engine.layout import ADDRESSES, CALLED, MEMO_LENGTH, VALUES_LENGTH
from thalweg.model.dictionary import Dictionary
from thalweg.model.functions import LOOKED_UP, look_up
from thalweg.model.number import NO_VALUE
from thalweg.model.time import Calendar

_FIRST: Final = 64
_MOST: Final = 1 << 17


class Memo:
    """The table of one engine."""

    def __init__(self, dictionary: Dictionary, calendar: Calendar) -> None:
        self.calendar = calendar
        self._dictionary = dictionary
        self._collections = dictionary.collections
        self._table = np.zeros(_FIRST * ENTRY, dtype=np.int64)
        self._entries = 0
        self._lent: tuple[NDArray[np.int64] | None, ...] = (None, None, None)

    @property
    def size(self) -> int:
        """Bytes held."""
        return self._table.nbytes

    def lend(self, scalars: NDArray[np.int64]) -> None:
        """Writes where the table and the values of the dictionary are into the scalars, where kernels look for them.

        What was lent is held on to: another thread may add terms to the dictionary while a kernel looks at it.
        """
        if self._collections != self._dictionary.collections:
            self._clear()
        values, table = self._dictionary.values, self._table
        lent = self._lent
        if lent[0] is scalars and lent[1] is values and lent[2] is table:
            return
        self._lent = scalars, values, table
        scalars[ADDRESSES + 6] = values.ctypes.data
        scalars[ADDRESSES + 7] = table.ctypes.data
        scalars[VALUES_LENGTH] = len(values)
        scalars[MEMO_LENGTH] = len(table)

    def answer(self, scalars: NDArray[np.int64]) -> None:
        """Enters the result of the call that a kernel has noted."""
        function, *words = scalars[CALLED : CALLED + 3].tolist()
        first, second = map(self._dictionary.spell, words)
        result = look_up(LOOKED_UP[function], first, second, self.calendar)
        if 2 * (self._entries + 1) * ENTRY > len(self._table):
            self._enlarge()
        enter(self._table, function, *words, NO_VALUE if result is None else self._dictionary.code(result))
        self._entries += 1
        self.lend(scalars)

    def _enlarge(self) -> None:
        if len(self._table) >= _MOST * ENTRY:
            self._clear()
            return
        entries = self._table.reshape(-1, ENTRY)
        self._table = np.zeros(2 * len(self._table), dtype=np.int64)
        for function, first, second, result in entries[entries[:, 0] != 0].tolist():
            enter(self._table, function - 1, first, second, result)

    def _clear(self) -> None:
        self._table = np.zeros(_FIRST * ENTRY, dtype=np.int64)
        self._entries = 0
        self._collections = self._dictionary.collections
