"""The kernel that maintains the groups of an aggregate from the elements that came and went.

A group is a few words side by side, found by its key in a hash table of chains:

    next · elements · numbers · value · noted · total, squares or bag · key …

`count` needs no more than the elements; `sum` and `avg` keep an exact total (`totals`), `stddev` that of the squares as
well; `min`, `max`, `median` and `quantile` keep a sorted bag (`sorted_numbers`). After all changes have been taken in,
each group that was touched gives its value; where the value is another than before, the kernel lists the row that has
ended and the row that has begun: the key and the value.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from thalweg.engine.compiled import entry, kernel
from thalweg.engine.layout import COLUMNS, RELATION, words_at
from thalweg.engine.pointers import words_region
from thalweg.engine.sorted_numbers import (
    BAG,
    BLOCK,
    BLOCKS_USED,
    DIRECTORY_USED,
    POOLS,
    directory_room,
    insert,
    nth,
    remove,
)
from thalweg.engine.totals import LIMBS, SQUARE_LIMBS, add_number, add_square, total_word
from thalweg.model.number import DIVIDE, NO_VALUE, calculate, mantissa, scale, shortest, word_of

COUNT: Final = 0
SUM: Final = 1
AVERAGE: Final = 2
DEVIATION: Final = 3
LEAST: Final = 4
GREATEST: Final = 5
QUANTILE: Final = 6

# Words of a group.
NEXT: Final = 0
ELEMENTS: Final = 1
NUMBERS: Final = 2
VALUE: Final = 3
NOTED: Final = 4
STATE: Final = 5

# Scalars, and after them those of the pools.
FUNCTION: Final = 0
WIDTH: Final = 1
KEY: Final = 2
STRIDE: Final = 3
FREE: Final = 4
USED: Final = 5
LIVE: Final = 6
CHAINS: Final = 7
TOUCHED: Final = 8
POSITION: Final = 9
NEED: Final = 10
PART: Final = 11
WHOLE: Final = 12
ENDED_ROWS: Final = 13
BEGUN_ROWS: Final = 14
ASKED: Final = 15
ADDRESSES: Final = 16
LENGTHS: Final = 24
POOL: Final = 32
SCALARS: Final = POOL + POOLS

GROUPS, HEADS, TOUCHES, DIRECTORIES, BLOCKS, ENDED, BEGUN = range(7)

# Numbers that are shorter can be halved without rounding, and shares that are coarser be multiplied without overflow.
_SHORT: Final = 10**14
MOST_SHARES: Final = 10**9

ASKS: Final = 7
"""In place of a value: the group is listed, and the rest is done with integers of any size."""

_STATES: Final = {COUNT: 0, SUM: 2 * LIMBS, AVERAGE: 2 * LIMBS, DEVIATION: LIMBS + SQUARE_LIMBS}
_FACTOR: Final = -7046029254386353131
"""2^64 divided by the golden ratio, as a signed word."""


class GroupStore(NamedTuple):
    """The arrays of the groups, as pointers."""

    groups: Any
    heads: Any
    touched: Any
    directories: Any
    blocks: Any
    ended: Any
    begun: Any
    scalars: Any


def state_words(function: int) -> int:
    """How many words a group has for its total or its bag."""
    return _STATES.get(function, BAG)


@kernel
def _view(scalars: Any) -> GroupStore:
    return GroupStore(
        words_region(scalars[ADDRESSES + GROUPS], scalars[LENGTHS + GROUPS], np.int64(0)),
        words_region(scalars[ADDRESSES + HEADS], scalars[LENGTHS + HEADS], np.int64(0)),
        words_region(scalars[ADDRESSES + TOUCHES], scalars[LENGTHS + TOUCHES], np.int64(0)),
        words_region(scalars[ADDRESSES + DIRECTORIES], scalars[LENGTHS + DIRECTORIES], np.int64(0)),
        words_region(scalars[ADDRESSES + BLOCKS], scalars[LENGTHS + BLOCKS], np.int64(0)),
        words_region(scalars[ADDRESSES + ENDED], scalars[LENGTHS + ENDED], np.int64(0)),
        words_region(scalars[ADDRESSES + BEGUN], scalars[LENGTHS + BEGUN], np.int64(0)),
        words_at(scalars),
    )


@kernel
def _chain(store: GroupStore, key: Any, start: int) -> int:
    code = np.int64(0)
    for column in range(store.scalars[WIDTH]):
        code = (code ^ key[start + column]) * _FACTOR
        code ^= (code >> 29) & 0x7FFFFFFFF
    return code & (store.scalars[CHAINS] - 1)


@kernel
def _find(store: GroupStore, rows: Any, start: int) -> int:
    width, at = store.scalars[WIDTH], store.scalars[KEY]
    group = store.heads[_chain(store, rows, start)]
    while group >= 0:
        same = True
        for column in range(width):
            if store.groups[group + at + column] != rows[start + column]:
                same = False
                break
        if same:
            return group
        group = store.groups[group + NEXT]
    return group


@kernel
def _new_group(store: GroupStore, rows: Any, start: int) -> int:
    scalars = store.scalars
    group = scalars[FREE]
    if group >= 0:
        scalars[FREE] = store.groups[group + NEXT]
    else:
        group = scalars[USED]
        scalars[USED] = group + scalars[STRIDE]
    for offset in range(scalars[KEY]):
        store.groups[group + offset] = 0
    store.groups[group + VALUE] = NO_VALUE
    for column in range(scalars[WIDTH]):
        store.groups[group + scalars[KEY] + column] = rows[start + column]
    chain = _chain(store, rows, start)
    store.groups[group + NEXT] = store.heads[chain]
    store.heads[chain] = group
    scalars[LIVE] += 1
    return group


@kernel
def _forget(store: GroupStore, group: int) -> None:
    """Gives a group without elements back."""
    scalars = store.scalars
    chain = _chain(store, store.groups, group + scalars[KEY])
    current = store.heads[chain]
    if current == group:
        store.heads[chain] = store.groups[group + NEXT]
    else:
        while store.groups[current + NEXT] != group:
            current = store.groups[current + NEXT]
        store.groups[current + NEXT] = store.groups[group + NEXT]
    store.groups[group + NEXT] = scalars[FREE]
    scalars[FREE] = group
    scalars[LIVE] -= 1


@kernel
def _has_room(store: GroupStore, group: int) -> bool:
    """Whether one more element fits, in a group or (-1) in a new one."""
    scalars = store.scalars
    scalars[NEED] = -1
    if group < 0 and scalars[FREE] < 0 and scalars[USED] + scalars[STRIDE] > scalars[LENGTHS + GROUPS]:
        scalars[NEED] = GROUPS
    elif group < 0 and scalars[LIVE] >= scalars[CHAINS]:
        scalars[NEED] = HEADS
    elif scalars[TOUCHED] >= scalars[LENGTHS + TOUCHES]:
        scalars[NEED] = TOUCHES
    elif scalars[FUNCTION] >= LEAST:
        room = 5 if group < 0 else directory_room(store.directories, store.groups, group + STATE)
        if scalars[POOL + BLOCKS_USED] + 2 * (BLOCK + 2) > scalars[LENGTHS + BLOCKS]:
            scalars[NEED] = BLOCKS
        elif scalars[POOL + DIRECTORY_USED] + room > scalars[LENGTHS + DIRECTORIES]:
            scalars[NEED] = DIRECTORIES
    return scalars[NEED] < 0


@kernel
def _take(store: GroupStore, group: int, word: int, sign: int) -> None:
    """Adds an element to a group, or takes it away."""
    function = store.scalars[FUNCTION]
    store.groups[group + ELEMENTS] += sign
    if store.groups[group + NOTED] == 0:
        store.groups[group + NOTED] = 1
        store.touched[store.scalars[TOUCHED]] = group
        store.scalars[TOUCHED] += 1
    if word & 3 == 0:
        return
    store.groups[group + NUMBERS] += sign
    if function >= LEAST:
        direction = -1 if function == GREATEST else 1
        where = store.directories, store.blocks, store.groups, store.scalars
        if sign > 0:
            insert(where[0], where[1], where[2], where[3], POOL, group + STATE, direction, word)
        else:
            remove(where[0], where[1], where[2], where[3], POOL, group + STATE, direction, word)
    elif function >= SUM:
        add_number(store.groups, group + STATE, word, sign)
        if function == DEVIATION:
            add_square(store.groups, group + STATE + LIMBS, word, sign)


@kernel
def _value(store: GroupStore, group: int) -> int:
    """The word of a group's value, NO_VALUE where it has none, ASKS where Python must find it."""
    function, numbers = store.scalars[FUNCTION], store.groups[group + NUMBERS]
    if store.groups[group + ELEMENTS] == 0:
        return NO_VALUE
    if function == COUNT:
        return store.groups[group + ELEMENTS] << 2 | 1
    if function == SUM:
        return total_word(store.groups, group + STATE, group + STATE + LIMBS)
    if numbers == 0 or (function == DEVIATION and numbers < 2):
        return NO_VALUE
    if function == AVERAGE:
        total = total_word(store.groups, group + STATE, group + STATE + LIMBS)
        return calculate(DIVIDE, total, numbers << 2 | 1)
    if function == DEVIATION:
        return ASKS
    if function in (LEAST, GREATEST):
        return shortest(nth(store.directories, store.blocks, store.groups, group + STATE, 0))
    return _between(store, group, numbers)


@kernel
def _between(store: GroupStore, group: int, numbers: int) -> int:
    """A quantile where it is easy to tell: at one of the numbers, or in the middle of two that are not too long."""
    scalars = store.scalars
    if scalars[WHOLE] == 0:
        return ASKS
    place = scalars[PART] * (numbers - 1)
    below = nth(store.directories, store.blocks, store.groups, group + STATE, place // scalars[WHOLE])
    if place % scalars[WHOLE] == 0:
        return word_of(mantissa(below), scale(below)) if scale(below) == 0 or abs(mantissa(below)) < _SHORT else ASKS
    if 2 * (place % scalars[WHOLE]) != scalars[WHOLE]:
        return ASKS
    above = nth(store.directories, store.blocks, store.groups, group + STATE, place // scalars[WHOLE] + 1)
    if scale(below) != scale(above) or abs(mantissa(below)) >= _SHORT or abs(mantissa(above)) >= _SHORT:
        return ASKS
    return word_of(5 * (mantissa(below) + mantissa(above)), scale(below) + 1) if scale(below) < 63 else ASKS


@kernel
def _list_row(store: GroupStore, rows: Any, count: int, group: int, value: int) -> None:
    """Adds the key of a group and a value to a list of rows, unless there is no value."""
    scalars = store.scalars
    if value != NO_VALUE:
        width = scalars[WIDTH]
        at = scalars[count] * (width + 1)
        for column in range(width):
            rows[at + column] = store.groups[group + scalars[KEY] + column]
        rows[at + width] = value
        scalars[count] += 1


@kernel
def _number(values: Any, word: int) -> int:
    """A word as a number: a term that stands for one becomes its value, and everything else 0."""
    value = word if word & 3 != 0 else values[word >> 2]
    return value if value & 3 == 1 or value & 3 == 2 else 0


@entry
def regroup(
    scalars: Any, rows: Any, halves: Any, came: Any, went: Any, relation: int, columns: Any, key: Any, values: Any
) -> bool:
    """Takes in elements that came and went, and lists the changes; False: make room and call it again.

    `came` and `went` are places in the arena, `rows` by words and by half words, of which those of one `relation`
    matter; `columns` says in which of their columns the key stands, and last the value. `key` is for the kernel to
    write to; `values` are those of the dictionary.
    """
    store, width, many = _view(scalars), scalars[WIDTH], len(came)
    words, named, of_terms = words_at(rows), words_at(key), words_at(values)
    while scalars[POSITION] < many + len(went):
        position = scalars[POSITION]
        row = came[position] if position < many else went[position - many]
        if halves[2 * row + RELATION] == relation:
            for column in range(width):
                named[column] = words[row + COLUMNS + columns[column]]
            group = _find(store, named, 0)
            if not _has_room(store, group):
                return False
            if group < 0:
                group = _new_group(store, named, 0)
            _take(store, group, _number(of_terms, words[row + COLUMNS + columns[width]]), 1 if position < many else -1)
        scalars[POSITION] = position + 1
    if scalars[TOUCHED] * (width + 1) > scalars[LENGTHS + ENDED]:
        scalars[NEED] = ENDED
        return False
    if scalars[TOUCHED] * (width + 1) > scalars[LENGTHS + BEGUN]:
        scalars[NEED] = BEGUN
        return False
    for number in range(scalars[TOUCHED]):
        group = store.touched[number]
        store.groups[group + NOTED] = 0
        value = _value(store, group)
        if value == ASKS:
            store.touched[scalars[ASKED]] = group
            scalars[ASKED] += 1
        elif value != store.groups[group + VALUE]:
            _list_row(store, store.ended, ENDED_ROWS, group, store.groups[group + VALUE])
            _list_row(store, store.begun, BEGUN_ROWS, group, value)
            store.groups[group + VALUE] = value
        if store.groups[group + ELEMENTS] == 0:
            _forget(store, group)
    scalars[TOUCHED] = scalars[POSITION] = 0
    return True


@entry
def rechain(scalars: Any) -> None:
    """Enters every group that has elements into an empty hash table."""
    store = _view(scalars)
    free = scalars[FREE]
    while free >= 0:
        store.groups[free + NOTED] = -1
        free = store.groups[free + NEXT]
    for group in range(0, scalars[USED], scalars[STRIDE]):
        if store.groups[group + NOTED] >= 0:
            chain = _chain(store, store.groups, group + scalars[KEY])
            store.groups[group + NEXT] = store.heads[chain]
            store.heads[chain] = group
