"""Kernels for exact sums of decimals of any size, kept as limbs of seventeen digits.

A sum is the limbs from the least significant on, each at most a few times the base in size and of either sign; the
decimal point stands after the fourth, so that integers begin with a limb of their own and no number that a word can
hold is cut off. Adding and taking away leave nothing behind: the limbs of a sum do not depend on the order.
"""

from typing import Any, Final

from thalweg.engine.compiled import kernel
from thalweg.model.number import LARGEST_INTEGER, LARGEST_MANTISSA, LARGEST_SCALE, NO_VALUE, ZERO, mantissa, scale

DIGITS: Final = 17
BASE: Final = 10**DIGITS
PLACES: Final = 4 * DIGITS
"""How many of a sum's digits stand after the point."""
LIMBS: Final = 7
SQUARE_LIMBS: Final = 12
"""Sums of squares have twice as many places."""
_PART: Final = 10**6
_WORD: Final = 2**62


@kernel
def _carry(words: Any, limb: int, last: int) -> None:
    """Keeps the limbs from `limb` on within bounds; the last one is never full."""
    while limb < last and (words[limb] >= BASE or words[limb] <= -BASE):
        carried = words[limb] // BASE
        words[limb] -= carried * BASE
        words[limb + 1] += carried
        limb += 1


@kernel
def _add_at(words: Any, start: int, limbs: int, digits: int, shift: int) -> None:
    """Adds `digits * 10**shift`."""
    limb, within = start + shift // DIGITS, shift % DIGITS
    split = 10 ** (DIGITS - within)
    above = digits // split
    words[limb] += (digits - above * split) * 10**within
    words[limb + 1] += above
    last = start + limbs - 1
    _carry(words, limb, last)
    _carry(words, limb + 1, last)


@kernel
def add_number(words: Any, start: int, word: int, sign: int) -> None:
    """Adds a number to the sum that begins at `start`, or takes it away."""
    _add_at(words, start, LIMBS, sign * mantissa(word), PLACES - scale(word))


@kernel
def add_square(words: Any, start: int, word: int, sign: int) -> None:
    """Adds the square of a number to the sum of squares that begins at `start`, or takes it away."""
    size, shift = abs(mantissa(word)), 2 * (PLACES - scale(word))
    low, middle, high = size % _PART, size // _PART % _PART, size // _PART // _PART
    _add_at(words, start, SQUARE_LIMBS, sign * low * low, shift)
    _add_at(words, start, SQUARE_LIMBS, sign * 2 * low * middle, shift + 6)
    _add_at(words, start, SQUARE_LIMBS, sign * (middle * middle + 2 * low * high), shift + 12)
    _add_at(words, start, SQUARE_LIMBS, sign * 2 * middle * high, shift + 18)
    _add_at(words, start, SQUARE_LIMBS, sign * high * high, shift + 24)


@kernel
def total_word(words: Any, start: int, scratch: int) -> int:
    """The word of a sum, as `model.number.word_of` makes it; the limbs from `scratch` on are used on the way."""
    negative = _magnitude(words, start, scratch)
    low, high = 0, LIMBS - 1
    while high > 0 and words[scratch + high] == 0:
        high -= 1
    while low < high and words[scratch + low] == 0:
        low += 1
    places = PLACES - DIGITS * low
    top = words[scratch + high]
    if top == 0:
        return ZERO
    # Mostly few digits are left: then one word holds them all, and the limbs are not needed any more.
    digits, within = words[scratch + low], DIGITS
    for zeros in (8, 4, 2, 1, 1):
        if places >= zeros and digits % 10**zeros == 0:
            digits //= 10**zeros
            within -= zeros
            places -= zeros
    if high == low or (high == low + 1 and top <= _WORD // 10**within):
        digits += top * 10**within if high > low else 0
        if places <= LARGEST_SCALE and digits <= (LARGEST_MANTISSA if places > 0 else LARGEST_INTEGER):
            while places < 0:
                if digits > LARGEST_INTEGER // 10:
                    return NO_VALUE
                digits *= 10
                places += 1
            digits = -digits if negative else digits
            return (digits << 8) | (places << 2) | 2 if places > 0 else (digits << 2) | 1
    for limb in range(LIMBS):
        words[scratch + limb] = words[scratch + limb + low] if limb + low < LIMBS else 0
    return _rounded(words, scratch, negative, PLACES - DIGITS * low)


@kernel
def _magnitude(words: Any, start: int, scratch: int) -> bool:
    """Copies a sum without its sign, each limb within the base; whether it is negative."""
    sign = 0
    for limb in range(LIMBS - 1, -1, -1):
        if sign == 0 and words[start + limb] != 0:
            sign = 1 if words[start + limb] > 0 else -1
    for limb in range(LIMBS):
        words[scratch + limb] = sign * words[start + limb]
    for limb in range(LIMBS - 1):
        if words[scratch + limb] < 0 or words[scratch + limb] >= BASE:
            carried = words[scratch + limb] // BASE
            words[scratch + limb] -= carried * BASE
            words[scratch + limb + 1] += carried
    return sign < 0


@kernel
def _rounded(words: Any, scratch: int, negative: bool, places: int) -> int:
    """The word of a sum whose digits may be too many for one: it loses the last ones, as in `word_of`."""
    while places > 0 and words[scratch] % 10 == 0:
        _divide(words, scratch, 0)
        places -= 1
    while places > 0 and (_exceeds(words, scratch, LARGEST_MANTISSA) or places > LARGEST_SCALE):
        # Halves go up, which for a number below zero is towards it.
        _divide(words, scratch, 4 if negative else 5)
        places -= 1
    while places > 0 and words[scratch] % 10 == 0:
        _divide(words, scratch, 0)
        places -= 1
    if places < 0 or _exceeds(words, scratch, LARGEST_INTEGER):
        return NO_VALUE
    digits = words[scratch] + BASE * words[scratch + 1]
    digits = -digits if negative else digits
    return (digits << 8) | (places << 2) | 2 if places > 0 else (digits << 2) | 1


@kernel
def _exceeds(words: Any, scratch: int, limit: int) -> bool:
    for limb in range(2, LIMBS):
        if words[scratch + limb] != 0:
            return True
    return words[scratch + 1] > limit // BASE or (words[scratch + 1] == limit // BASE and words[scratch] > limit % BASE)


@kernel
def _divide(words: Any, scratch: int, added: int) -> None:
    """Adds a digit to a magnitude and divides it by ten."""
    words[scratch] += added
    for limb in range(LIMBS - 1):
        if words[scratch + limb] >= BASE:
            words[scratch + limb] -= BASE
            words[scratch + limb + 1] += 1
    remainder = 0
    for limb in range(LIMBS - 1, -1, -1):
        digits = remainder * BASE + words[scratch + limb]
        words[scratch + limb] = digits // 10
        remainder = digits % 10


def exact(limbs: "list[int]") -> int:
    """The integer that limbs stand for, however large.

    >>> exact([1, 2]) == 2 * BASE + 1
    True
    """
    return sum(limb * BASE**place for place, limb in enumerate(limbs))
