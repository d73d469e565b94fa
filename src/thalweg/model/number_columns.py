"""Numbers as words, a column at a time: what `number` does for one spelling, for many doubles at once."""

from decimal import Decimal
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from thalweg.model.number import LARGEST_INTEGER, NO_VALUE, read_number, shortest

_EXACT: Final = 10.0**15
"""Doubles have all decimals of fewer digits than this, each as the only one of its length."""
_PLACES: Final = 16
_POWERS: Final = [10.0**places for places in range(_PLACES)]
_LONGEST: Final = 200


def integer_words(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The words of integers; `NO_VALUE` where one is too large.

    >>> integer_words(np.array([1, -2, 2**62])).tolist()
    [5, -7, 3]
    """
    words: NDArray[np.int64] = numbers << 2 | 1
    if len(numbers) and (numbers.max() > LARGEST_INTEGER or numbers.min() < -LARGEST_INTEGER):
        words = np.where((numbers > LARGEST_INTEGER) | (numbers < -LARGEST_INTEGER), NO_VALUE, words)
    return words


def double_words(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """The words of the shortest decimals that stand for doubles, as they are printed; `NO_VALUE` where there is none.

    >>> from thalweg.model.number import show_number
    >>> [show_number(word) for word in double_words(np.array([44.0, 21.5, -0.001, 1e-9])).tolist()]
    ['44', '21.5', '-0.001', '0.000000001']
    >>> double_words(np.array([np.inf, np.nan])).tolist()
    [3, 3]
    """
    words = np.full(len(numbers), NO_VALUE, dtype=np.int64)
    left, remaining = np.arange(len(numbers)), numbers
    with np.errstate(invalid="ignore", over="ignore"):
        for places, power in enumerate(_POWERS):
            digits = np.rint(remaining * power)
            # A quotient of two exact doubles is the double nearest to the decimal, which is how decimals are read.
            exact = (np.abs(digits) < _EXACT) & (digits / power == remaining)
            # Most columns have one number of places, so often it is all or nothing.
            if exact.any():
                mantissas = digits[exact].astype(np.int64)
                words[left[exact]] = mantissas << 2 | 1 if places == 0 else mantissas << 8 | places << 2 | 2
                left, remaining = left[~exact], remaining[~exact]
            if not len(left):
                return words
    for place, number in zip(left.tolist(), remaining.tolist(), strict=True):
        words[place] = _word(number)
    return words


def decimal_word(spelling: str) -> int | None:
    """The word of a spelled number in its shortest form; None where it is too large or too long.

    >>> decimal_word("44.0"), decimal_word("1e400")
    (177, None)
    """
    exponent = spelling.lower().partition("e")[2]
    if len(spelling) > _LONGEST or len(exponent) > 4 or abs(int(exponent or 0)) > _LONGEST:
        return None
    word = read_number(spelling)
    return None if word is None else shortest(word)


def _word(number: Any) -> int:
    word = decimal_word(f"{Decimal(repr(number)):f}") if abs(number) < float("inf") else None
    return NO_VALUE if word is None else word


def doubles(words: NDArray[np.int64]) -> NDArray[np.float64]:
    """The doubles nearest to numbers, to look at many of them at once.

    >>> doubles(double_words(np.array([44.0, -21.5]))).tolist()
    [44.0, -21.5]
    """
    decimal = words & 3 == 2
    digits = np.where(decimal, words >> 8, words >> 2).astype(np.float64)
    nearest: NDArray[np.float64] = digits / 10.0 ** np.where(decimal, words >> 2 & 63, 0)
    return nearest
