"""Numbers as single machine words, and exact decimal arithmetic on them.

The same functions serve the naive interpreter, as plain Python, and the kernels, compiled: what they compute cannot
differ. A term is coded in one 64-bit word whose lowest two bits say what it is:

    …00   an entry of the dictionary (a text, a literal with a datatype, an IRI)
    …01   an integer of 62 bits
    …10   a decimal: 56 bits of mantissa, 6 bits of scale; 12.50 is 1250 at scale 2
    …11   no value: what arithmetic gives that has no answer (division by zero, overflow, a word that is no number)

Comparisons and calculations look at the *value* of a word. A number is its own value; that of an entry stands beside
its spelling (`dictionary`), in one word as well (`values.value_word`):

    …00   a time: microseconds since 1970
    …01   an integer, …10 a decimal, as above
    011   no value: an IRI, a literal of another datatype
    111   a text, and in the bits above its first seven bytes, which mostly decide which of two comes first

Numbers that were read keep their spelling (12.50 stays 12.50); numbers that were computed are as short as they can
be (12.25 + 0.25 is 12.5, 0.5 + 0.5 is 1). What does not fit is rounded to 16 significant digits where it has a
fraction, and is no value where it has none. Python's integers never overflow and a kernel's do, so every operation
checks its operands first; that is also what keeps both readings of this file equal.
"""

from collections.abc import Callable
from math import isqrt
from typing import Final, TypeVar

F = TypeVar("F", bound=Callable[..., object])

SHARED: Final[list[Callable[..., object]]] = []
"""The functions that kernels use, too: the engine hands them to its compiler, which nobody else has to import."""

NO_VALUE: Final = 3
LARGEST_INTEGER: Final = 2**61 - 1
LARGEST_MANTISSA: Final = 2**55 - 1
LARGEST_SCALE: Final = 63
_WORD: Final = 2**62
_HALF: Final = 2**31

ADD: Final = 0
SUBTRACT: Final = 1
MULTIPLY: Final = 2
DIVIDE: Final = 3
MODULO: Final = 4
OPERATORS: Final = {"+": ADD, "-": SUBTRACT, "*": MULTIPLY, "/": DIVIDE, "mod": MODULO}

ABSOLUTE: Final = 5
FLOOR: Final = 6
CEILING: Final = 7
ROUND: Final = 8
MINIMUM: Final = 9
MAXIMUM: Final = 10
SQUARE_ROOT: Final = 11
NUMERIC_FUNCTIONS: Final = {
    "abs": ABSOLUTE,
    "floor": FLOOR,
    "ceil": CEILING,
    "round": ROUND,
    "min": MINIMUM,
    "max": MAXIMUM,
    "sqrt": SQUARE_ROOT,
}
"""The functions of one or two numbers; those of one take zero for the other."""
ZERO: Final = 1
# No number that has a word has more digits than this before or behind its point.
_MOST_DIGITS: Final = 63

EQUAL: Final = 0
UNEQUAL: Final = 1
LESS: Final = 2
AT_MOST: Final = 3
GREATER: Final = 4
AT_LEAST: Final = 5
IS_LITERAL: Final = 6
IS_RESOURCE: Final = 7
IS_INTEGER: Final = 8
IS_NON_INTEGER: Final = 9
DIFFERENT: Final = 10
COMPARISONS: Final = {
    "=": EQUAL,
    "!=": UNEQUAL,
    "<": LESS,
    "<=": AT_MOST,
    ">": GREATER,
    ">=": AT_LEAST,
    "is literal": IS_LITERAL,
    "is resource": IS_RESOURCE,
    "is integer": IS_INTEGER,
    "is non_integer": IS_NON_INTEGER,
    "!==": DIFFERENT,
}

# What a comparison by value gives; texts that begin alike are UNDECIDED, kinds that have no common order DIVERSE.
FAILS: Final = 0
HOLDS: Final = 1
UNDECIDED: Final = 2
DIVERSE: Final = 3


def shared(function: F) -> F:
    """Marks a function of plain Python that kernels use, too."""
    SHARED.append(function)
    return function


@shared
def mantissa(word: int) -> int:
    return word >> 2 if word & 3 == 1 else word >> 8


@shared
def scale(word: int) -> int:
    return 0 if word & 3 == 1 else (word >> 2) & 63


@shared
def word_of(digits: int, places: int) -> int:
    """The shortest word for `digits * 10**-places`, rounded where it has too many digits."""
    while places > 0 and digits % 10 == 0:
        digits //= 10
        places -= 1
    while places > 0 and (abs(digits) > LARGEST_MANTISSA or places > LARGEST_SCALE):
        digits = (digits + 5) // 10
        places -= 1
    while places > 0 and digits % 10 == 0:
        digits //= 10
        places -= 1
    if places > 0:
        return (digits << 8) | (places << 2) | 2
    if abs(digits) > LARGEST_INTEGER:
        return NO_VALUE
    return (digits << 2) | 1


@shared
def _fits(digits: int, places: int) -> bool:
    """Whether `digits * 10**places` stays inside a machine word."""
    return places <= 18 and abs(digits) <= _WORD // 10**places


@shared
def order(left: int, right: int) -> int:
    """-1, 0 or 1 as one number is below, equal to or above the other."""
    first, second = mantissa(left), mantissa(right)
    shift = scale(left) - scale(right)
    if first == 0 or second == 0:
        shift = 0
    if shift < 0:
        if not _fits(first, -shift):
            return -1 if first < 0 else 1
        first *= 10 ** (-shift)
    elif shift > 0:
        if not _fits(second, shift):
            return 1 if second < 0 else -1
        second *= 10**shift
    if first < second:
        return -1
    return 1 if first > second else 0


@shared
def agrees(operator: int, sign: int) -> bool:
    """Whether a comparison holds between two values of which one is below (-1), equal to (0) or above (1) the other."""
    if operator == EQUAL:
        return sign == 0
    if operator == UNEQUAL:
        return sign != 0
    if operator == LESS:
        return sign < 0
    if operator == AT_MOST:
        return sign <= 0
    if operator == GREATER:
        return sign > 0
    return sign >= 0


@shared
def is_of_kind(operator: int, word: int) -> bool:
    """Whether a term is a literal, a resource, an integer of 32 bits or none."""
    if operator in (IS_LITERAL, IS_RESOURCE):
        return (word & 7 != 0) == (operator == IS_LITERAL)
    return (word & 3 == 1 and -_HALF <= word >> 2 < _HALF) == (operator == IS_INTEGER)


@shared
def _is_number(value: int) -> bool:
    return value & 3 == 1 or value & 3 == 2


@shared
def _difference(left: int, right: int, first: int, second: int) -> int:
    """-1, 0 or 1 for two terms of one kind that have an order, given with their values; else UNDECIDED or DIVERSE."""
    if _is_number(first) and _is_number(second):
        return order(first, second)
    if first & 3 != second & 3 or first == NO_VALUE or second == NO_VALUE:
        return DIVERSE
    if first == second:
        return 0 if first & 3 == 0 or left == right else UNDECIDED
    return -1 if first < second else 1


@shared
def compare(operator: int, left: int, right: int, first: int, second: int) -> int:
    """HOLDS or FAILS for a comparison of two terms, given with their values; else UNDECIDED or DIVERSE.

    `=` and `!=` compare any two terms, by value where both are numbers or times; `<` and its like compare numbers,
    texts and times with their own kind.
    """
    if IS_LITERAL <= operator <= IS_NON_INTEGER:
        return HOLDS if is_of_kind(operator, left) else FAILS
    if operator == DIFFERENT:
        return HOLDS if left != right else FAILS
    if operator in (EQUAL, UNEQUAL):
        same = left == right or _difference(left, right, first, second) == 0
        return HOLDS if same == (operator == EQUAL) else FAILS
    sign = _difference(left, right, first, second)
    if sign >= UNDECIDED:
        return sign
    return HOLDS if agrees(operator, sign) else FAILS


@shared
def _sum(left: int, right: int, sign: int) -> int:
    first, second = mantissa(left), mantissa(right) * sign
    places_first, places_second = scale(left), scale(right)
    while places_first != places_second:
        if places_first < places_second:
            if _fits(first, 1):
                first *= 10
                places_first += 1
            else:
                second = (second + 5) // 10
                places_second -= 1
        elif _fits(second, 1):
            second *= 10
            places_second += 1
        else:
            first = (first + 5) // 10
            places_first -= 1
    if abs(first) > LARGEST_INTEGER or abs(second) > LARGEST_INTEGER:
        if places_first == 0:
            return NO_VALUE
        first, second, places_first = (first + 5) // 10, (second + 5) // 10, places_first - 1
    return word_of(first + second, places_first)


@shared
def _product(left: int, right: int) -> int:
    first, second = mantissa(left), mantissa(right)
    places_first, places_second = scale(left), scale(right)
    while second != 0 and abs(first) > _WORD // abs(second):
        if places_first > 0 and (abs(first) >= abs(second) or places_second == 0):
            first = (first + 5) // 10
            places_first -= 1
        elif places_second > 0:
            second = (second + 5) // 10
            places_second -= 1
        else:
            return NO_VALUE
    return word_of(first * second, places_first + places_second)


@shared
def _quotient(left: int, right: int) -> int:
    top, bottom = mantissa(left), mantissa(right)
    places = scale(left) - scale(right)
    if bottom == 0:
        return NO_VALUE
    if places < 0 and _fits(top, -places):
        top *= 10 ** (-places)
        places = 0
    negative = (top < 0) != (bottom < 0)
    top, bottom = abs(top), abs(bottom)
    digits, remainder = top // bottom, top % bottom
    # Long division by hand: one more digit at a time, because a kernel has no wider word to divide in.
    while (remainder != 0 or places < 0) and places < LARGEST_SCALE and digits <= LARGEST_MANTISSA // 100:
        remainder *= 10
        digits = digits * 10 + remainder // bottom
        remainder %= bottom
        places += 1
    if remainder * 2 >= bottom:
        digits += 1
    while places < 0:
        if not _fits(digits, 1):
            return NO_VALUE
        digits *= 10
        places += 1
    return word_of(-digits if negative else digits, places)


@shared
def calculate(operator: int, left: int, right: int) -> int:
    """The value of an operator or a function of two values, which must be numbers, or NO_VALUE."""
    if left & 3 == 0 or right & 3 == 0 or left & 3 == 3 or right & 3 == 3:
        return NO_VALUE
    if operator == ADD:
        return _sum(left, right, 1)
    if operator == SUBTRACT:
        return _sum(left, right, -1)
    if operator == MULTIPLY:
        return _product(left, right)
    if operator == DIVIDE:
        return _quotient(left, right)
    if operator > MODULO:
        return _function(operator, left, right)
    if left & 3 != 1 or right & 3 != 1 or right >> 2 == 0:
        return NO_VALUE
    return ((left >> 2) % (right >> 2)) << 2 | 1


@shared
def absolute(word: int) -> int:
    """The number without its sign, in its shortest form."""
    return word_of(abs(mantissa(word)), scale(word))


@shared
def rounded(word: int, digits: int) -> int:
    """The number with that many digits behind the point (before it, where negative); halves go away from zero."""
    value, places = mantissa(word), scale(word)
    size = abs(value)
    while places > digits and size > 0:
        # Only the last of the digits that go decides: rounding one after the other would round twice.
        size = (size + 5) // 10 if places == digits + 1 else size // 10
        places -= 1
    if size == 0:
        return 1
    while places < 0:
        if not _fits(size, 1):
            return NO_VALUE
        size *= 10
        places += 1
    return word_of(size if value > 0 else -size, places)


@shared
def floor_of(word: int) -> int:
    """The greatest integer that is not greater."""
    value, places = mantissa(word), scale(word)
    while places > 0:
        value //= 10
        places -= 1
    return word_of(value, 0)


@shared
def ceiling_of(word: int) -> int:
    """The least integer that is not less."""
    value, places = -mantissa(word), scale(word)
    while places > 0:
        value //= 10
        places -= 1
    return word_of(-value, 0)


@shared
def square_root(word: int) -> int:
    """The square root, rounded like a quotient; of a negative number NO_VALUE."""
    value, places = mantissa(word), scale(word)
    if value < 0:
        return NO_VALUE
    if places % 2 == 1:
        # The digits are taken in pairs from the point on; a mantissa of 55 bits has room for one more.
        value, places = value * 10, places + 1
    pairs = 0
    while pairs < 9 and value >= 100 ** (pairs + 1):
        pairs += 1
    root, remainder, after = 0, 0, 0
    places //= 2
    while pairs >= 0 or (remainder != 0 and root <= LARGEST_MANTISSA // 100 and places + after < LARGEST_SCALE):
        pair = 0
        if pairs >= 0:
            pair = value // 100**pairs % 100
            pairs -= 1
        else:
            after += 1
        remainder = remainder * 100 + pair
        digit = 0
        while (20 * root + digit + 1) * (digit + 1) <= remainder:
            digit += 1
        remainder -= (20 * root + digit) * digit
        root = root * 10 + digit
    if remainder > root:
        root += 1
    return word_of(root, places + after)


@shared
def shortest(word: int) -> int:
    """The same number in its shortest form."""
    return word_of(mantissa(word), scale(word))


@shared
def _function(function: int, first: int, second: int) -> int:
    if function == ABSOLUTE:
        return absolute(first)
    if function == FLOOR:
        return floor_of(first)
    if function == CEILING:
        return ceiling_of(first)
    if function == ROUND:
        # Digits are a number like any other: rounding to one and a half of them has no value.
        is_count = second & 3 == 1 and -_MOST_DIGITS <= second >> 2 <= _MOST_DIGITS
        return rounded(first, second >> 2) if is_count else NO_VALUE
    if function == MINIMUM:
        return shortest(first if order(first, second) < 0 else second)
    if function == MAXIMUM:
        return shortest(first if order(first, second) > 0 else second)
    return square_root(first)


def ratio(top: int, bottom: int) -> int:
    """The number nearest to a fraction of any size, with 16 significant digits where it does not end before.

    >>> show_number(ratio(2, 3)), show_number(ratio(-7, 2))
    ('0.6666666666666667', '-3.5')
    """
    size, places = abs(top), 0
    if bottom < 0:
        top, bottom = -top, -bottom
    while size % bottom and places < LARGEST_SCALE and size // bottom < 10**15:
        size *= 10
        places += 1
    digits = (2 * size + bottom) // (2 * bottom)
    return word_of(-digits if top < 0 else digits, places)


def root_of_ratio(top: int, bottom: int) -> int:
    """The square root of a fraction of any size that is not negative, with as many digits as `square_root` has.

    >>> show_number(root_of_ratio(4, 3)), show_number(root_of_ratio(9, 4))
    ('1.154700538379252', '1.5')
    """
    root, places = isqrt(top // bottom), 0
    while root * root * bottom != top * 100**places and root <= LARGEST_MANTISSA // 100 and places < LARGEST_SCALE:
        places += 1
        root = isqrt(top * 100**places // bottom)
    if (2 * root + 1) ** 2 * bottom <= 4 * top * 100**places:
        root += 1
    return word_of(root, places)


def read_number(text: str) -> int | None:
    """The word for a spelled number, or None where it is too large to be one.

    >>> show_number(read_number("12.50")), show_number(read_number("2.5e-3")), show_number(read_number("9e-9999999999"))
    ('12.50', '0.0025', '0')
    """
    digits, _, exponent = text.lower().partition("e")
    integer, _, fraction = digits.partition(".")
    value, places = int(integer + fraction), len(fraction) - int(exponent or 0)
    if places < 0:
        value, places = value * 10 ** min(-places, 30), 0
    if places == 0:
        return (value << 2) | 1 if abs(value) <= LARGEST_INTEGER else None
    if abs(value) > LARGEST_MANTISSA or places > LARGEST_SCALE:
        # Rounding goes place by place: what is far below the last one is rounded to nothing at once.
        word = word_of(value, places) if places <= LARGEST_SCALE + len(digits) else word_of(0, 0)
        return None if word == NO_VALUE else word
    return (value << 8) | (places << 2) | 2


def show_number(word: int) -> str:
    """The spelling of a number's word.

    >>> show_number(calculate(DIVIDE, read_number("1"), read_number("8")))
    '0.125'
    """
    if word & 3 == 1:
        return str(word >> 2)
    # Most of what is written are decimals, so this does without calls.
    value, places = word >> 8, word >> 2 & 63
    digits = str(value if value >= 0 else -value)
    if places == 0:
        return digits if value >= 0 else f"-{digits}"
    if len(digits) <= places:
        digits = digits.rjust(places + 1, "0")
    return f"{'' if value >= 0 else '-'}{digits[:-places]}.{digits[-places:]}"


def total(words: "list[int]") -> int:
    """The exact sum of numbers, rounded once at the end."""
    return word_of(sum(mantissa(word) * 10 ** (LARGEST_SCALE - scale(word)) for word in words), LARGEST_SCALE)
