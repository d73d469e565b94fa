"""Kernels that look up calls whose results only Python can find (`memo`).

A kernel has the words of terms and their values, but neither spellings nor a calendar. So the result of `upper(X)` or
`hour(T)`, and which of two texts that begin alike comes first, stands in a hash table, a word each under the function
and the words of its arguments:

    function + 1 · first · second · result
"""

from typing import Any, Final

from thalweg.engine.compiled import entry, kernel
from thalweg.engine.layout import CALLED, MEMO_LENGTH, Store, words_at
from thalweg.model.functions import LOOKED_UP

ENTRY: Final = 4
ORDER: Final = LOOKED_UP.index("order")
_FACTOR: Final = -7046029254386353131
"""2^64 divided by the golden ratio, as a signed word."""


@kernel
def _place(memo: Any, length: int, function: int, first: int, second: int) -> int:
    """Where a call stands in the table, or the free place where it would."""
    code = ((function ^ first) * _FACTOR ^ second) * _FACTOR
    place = ((code >> 30) & (length // ENTRY - 1)) * ENTRY
    while memo[place] != 0 and not (
        memo[place] == function + 1 and memo[place + 1] == first and memo[place + 2] == second
    ):
        place = (place + ENTRY) & (length - 1)
    return place


@kernel
def called(store: Store, function: int, first: int, second: int) -> int:
    """Where the result of a call stands; -1 where Python must be asked for it, which is noted."""
    place = _place(store.memo, store.scalars[MEMO_LENGTH], function, first, second)
    if store.memo[place] != 0:
        return place + 3
    store.scalars[CALLED] = function
    store.scalars[CALLED + 1] = first
    store.scalars[CALLED + 2] = second
    return -1


@entry
def enter(table: Any, function: int, first: int, second: int, result: int) -> None:
    memo = words_at(table)
    place = _place(memo, len(table), function, first, second)
    memo[place], memo[place + 1], memo[place + 2], memo[place + 3] = function + 1, first, second, result
