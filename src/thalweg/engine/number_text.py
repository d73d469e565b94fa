"""Numbers as text, many at a time: a kernel writes the digits, and Python takes the text apart."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from thalweg.engine.compiled import entry

_LONGEST: Final = 68
"""A sign, a zero, a point, 63 digits, and the line break."""
_BREAK, _POINT, _MINUS, _ZERO = 10, 46, 45, 48


@entry
def _write(words: Any, text: Any) -> int:
    """Writes each number and a line break; how long the text is."""
    end = 0
    for position in range(len(words)):
        word = words[position]
        value, places = (word >> 2, 0) if word & 3 == 1 else (word >> 8, (word >> 2) & 63)
        if value < 0:
            text[end] = _MINUS
            end += 1
            value = -value
        digits, quotient = 1, value // 10
        while quotient > 0:
            quotient //= 10
            digits += 1
        # A zero before the point, if there is nothing else.
        size = max(digits, places + 1) + (1 if places > 0 else 0)
        place = end + size - 1
        for number in range(max(digits, places + 1)):
            if places > 0 and number == places:
                text[place] = _POINT
                place -= 1
            text[place] = _ZERO + value % 10
            value //= 10
            place -= 1
        text[end + size] = _BREAK
        end += size + 1
    return end


def spell_numbers(words: NDArray[np.int64]) -> list[str]:
    """The spelling of each number, as `show_number` has it.

    >>> spell_numbers(np.array([5, -7, 2050 << 8 | 2 << 2 | 2, -1 << 8 | 3 << 2 | 2]))
    ['1', '-2', '20.50', '-0.001']
    """
    text = np.empty(_LONGEST * len(words), dtype=np.uint8)
    end = _write(np.ascontiguousarray(words), text)
    return text[:end].tobytes().decode("ascii").split("\n")[:-1]
