"""The kernel that keeps the last facts of each key.

A key is a few words, found in a hash table of chains; its facts are a list from the oldest to the newest:

    key     next in its chain · oldest · newest · facts · waiting
    fact    next · number · words …

The words of a key are those of any of its facts. A fact that is pushed out gives its place to the one that pushes, so
nothing is ever freed, and what is held is what the windows hold. Nothing forgets a key either.
"""

from typing import Any, Final

from thalweg.engine.compiled import entry, kernel

# Words of a key.
CHAIN: Final = 0
OLDEST: Final = 1
NEWEST: Final = 2
FACTS: Final = 3
WAITING: Final = 4
KEY: Final = 5

# Words of a fact, and after them its columns.
NEXT: Final = 0
NUMBER: Final = 1
WORDS: Final = 2

# Scalars.
KEYS_USED: Final = 0
FACTS_USED: Final = 1
NUMBERED: Final = 2
ENTERED: Final = 3
LEFT: Final = 4
SCALARS: Final = 5

_FACTOR: Final = -7046029254386353131
"""2^64 divided by the golden ratio, as a signed word."""


@kernel
def _mix(code: int, word: int) -> int:
    code = (code ^ word) * _FACTOR
    return code ^ ((code >> 29) & 0x7FFFFFFFF)


@kernel
def _is_repeated(rows: Any, wide: int, number: int, seen: Any, places: int) -> bool:
    """Whether an earlier row is the same; `seen` is a hash table of the rows before, with a power of two of places."""
    code, start = 0, number * wide
    for column in range(wide):
        code = _mix(code, rows[start + column])
    place = code & (places - 1)
    while seen[place] >= 0:
        other, same = seen[place] * wide, True
        for column in range(wide):
            if rows[other + column] != rows[start + column]:
                same = False
                break
        if same:
            return True
        place = (place + 1) & (places - 1)
    seen[place] = number
    return False


@kernel
def _find(rows: Any, start: int, wide: int, by: Any, keys: Any, heads: Any, facts: Any, scalars: Any) -> int:
    """The key of a row; a new one gets the place of its first fact at once, for its words."""
    code = 0
    for column in by:
        code = _mix(code, rows[start + column])
    chain = code & (len(heads) - 1)
    key = heads[chain]
    while key >= 0:
        words, same = keys[key + OLDEST] + WORDS, True
        for column in by:
            if facts[words + column] != rows[start + column]:
                same = False
                break
        if same:
            return key
        key = keys[key + CHAIN]
    key, fact = scalars[KEYS_USED], scalars[FACTS_USED]
    scalars[KEYS_USED] += KEY
    scalars[FACTS_USED] += WORDS + wide
    for column in range(wide):
        facts[fact + WORDS + column] = rows[start + column]
    facts[fact + NEXT] = -1
    keys[key + CHAIN] = heads[chain]
    keys[key + OLDEST] = keys[key + NEWEST] = fact
    keys[key + FACTS] = keys[key + WAITING] = 0
    heads[chain] = key
    return key


@kernel
def _place(key: int, wide: int, size: int, keys: Any, facts: Any, scalars: Any, left: Any) -> int:
    """Where the next fact of a key goes; the one that it pushes out is listed in `left`."""
    if keys[key + FACTS] == 0:
        fact = keys[key + OLDEST]
        keys[key + FACTS] = 1
        return fact
    if keys[key + FACTS] < size:
        fact = scalars[FACTS_USED]
        scalars[FACTS_USED] += WORDS + wide
        keys[key + FACTS] += 1
    else:
        fact = keys[key + OLDEST]
        for column in range(wide):
            left[scalars[LEFT] * wide + column] = facts[fact + WORDS + column]
        scalars[LEFT] += 1
        keys[key + OLDEST] = facts[fact + NEXT] if size > 1 else fact
    if size > 1:
        facts[keys[key + NEWEST] + NEXT] = fact
    return fact


@entry
def take(
    rows: Any,
    wide: int,
    by: Any,
    size: int,
    keys: Any,
    heads: Any,
    facts: Any,
    scalars: Any,
    seen: Any,
    key_of: Any,
    entered: Any,
    left: Any,
) -> None:
    """Takes in flat rows in the order of arrival; lists those that stay, and those that were there and are pushed out.

    Rows that so many follow, for their key, that they would be pushed out at once are never put in. There is room
    for as many more keys and facts as there are rows; `seen` has twice as many places, a power of two, and of
    these as many are used as there are rows.
    """
    many, places = len(rows) // wide, 2
    while places < 2 * many:
        places *= 2
    for place in range(places):
        seen[place] = -1
    scalars[ENTERED] = scalars[LEFT] = 0
    for number in range(many):
        key_of[number] = -1
        if not _is_repeated(rows, wide, number, seen, places):
            key = _find(rows, number * wide, wide, by, keys, heads, facts, scalars)
            key_of[number] = key
            keys[key + WAITING] += 1
    for number in range(many):
        key, start = key_of[number], number * wide
        if key < 0:
            continue
        keys[key + WAITING] -= 1
        if keys[key + WAITING] >= size:
            continue
        fact = _place(key, wide, size, keys, facts, scalars, left)
        facts[fact + NEXT] = -1
        facts[fact + NUMBER] = scalars[NUMBERED]
        scalars[NUMBERED] += 1
        for column in range(wide):
            facts[fact + WORDS + column] = rows[start + column]
            entered[scalars[ENTERED] * wide + column] = rows[start + column]
        keys[key + NEWEST] = fact
        scalars[ENTERED] += 1
