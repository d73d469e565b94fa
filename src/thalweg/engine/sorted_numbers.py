"""Kernels for many sorted bags of numbers, in blocks.

A bag is a directory of blocks, and a block up to `BLOCK` numbers in order; both lie in pools that all bags share:

    directory   capacity, then for each block its least number and its place
    block       how many numbers, then the numbers

Finding a number is a search in the directory and one in a block; adding or removing one moves part of a block. Blocks
that are full are split, empty ones are given back, and neighbours are not merged: a bag that shrinks keeps blocks that
are partly filled until they are empty. Numbers are ordered by value, or the other way round where `sign` is -1, and
equal ones by their words.
"""

from typing import Any, Final

from thalweg.engine.compiled import kernel
from thalweg.model.number import order

BLOCK: Final = 62
_BLOCK_WORDS: Final = BLOCK + 2
_FIRST_CAPACITY: Final = 2

# Where a bag keeps its own words, counted from where it begins.
COUNT: Final = 0
DIRECTORY: Final = 1
LENGTH: Final = 2
BAG: Final = 3

# Scalars of the pools, counted from where they begin: words in use of each, and what was given back.
DIRECTORY_USED: Final = 0
BLOCKS_USED: Final = 1
FREE_BLOCK: Final = 2
FREE_DIRECTORIES: Final = 3
_SIZES: Final = 32
POOLS: Final = FREE_DIRECTORIES + _SIZES


@kernel
def before(sign: int, left: int, right: int) -> bool:
    """Whether one number stands before another."""
    if left & right & 3 == 1:
        return (left < right) if sign > 0 else (left > right)
    comparison = sign * order(left, right)
    return comparison < 0 or (comparison == 0 and left < right)


@kernel
def directory_room(directories: Any, words: Any, bag: int) -> int:
    """The words of the directory that adding a number to a bag may take from the pool."""
    if words[bag + LENGTH] == 0:
        return 1 + 2 * _FIRST_CAPACITY
    capacity = directories[words[bag + DIRECTORY]]
    return 1 + 4 * capacity if words[bag + LENGTH] == capacity else 0


@kernel
def _new_block(blocks: Any, pools: Any, at: int) -> int:
    place = pools[at + FREE_BLOCK]
    if place >= 0:
        pools[at + FREE_BLOCK] = blocks[place]
    else:
        place = pools[at + BLOCKS_USED]
        pools[at + BLOCKS_USED] = place + _BLOCK_WORDS
    blocks[place] = 0
    return place


@kernel
def _size_class(capacity: int) -> int:
    size_class = 0
    while capacity > _FIRST_CAPACITY << size_class:
        size_class += 1
    return size_class


@kernel
def _new_directory(directories: Any, pools: Any, at: int, capacity: int) -> int:
    free = at + FREE_DIRECTORIES + _size_class(capacity)
    place = pools[free]
    if place >= 0:
        pools[free] = directories[place + 1]
    else:
        place = pools[at + DIRECTORY_USED]
        pools[at + DIRECTORY_USED] = place + 1 + 2 * capacity
    directories[place] = capacity
    return place


@kernel
def _give_back_directory(directories: Any, pools: Any, at: int, place: int) -> None:
    free = at + FREE_DIRECTORIES + _size_class(directories[place])
    directories[place + 1] = pools[free]
    pools[free] = place


@kernel
def _block_of(directories: Any, words: Any, bag: int, sign: int, word: int) -> int:
    """The last block that begins with the number or before it, else the first."""
    start, low, high = words[bag + DIRECTORY] + 1, 0, words[bag + LENGTH]
    while high - low > 1:
        middle = (low + high) // 2
        if before(sign, word, directories[start + 2 * middle]):
            high = middle
        else:
            low = middle
    return low


@kernel
def _place_in(blocks: Any, block: int, sign: int, word: int) -> int:
    """How many numbers of a block stand before a number."""
    low, high = 0, blocks[block]
    while low < high:
        middle = (low + high) // 2
        if before(sign, blocks[block + 1 + middle], word):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _insert_block(directories: Any, words: Any, pools: Any, at: int, bag: int, number: int, place: int) -> None:
    """Puts a block into a directory, as the one of that number."""
    old, length = words[bag + DIRECTORY], words[bag + LENGTH]
    if length == 0:
        words[bag + DIRECTORY] = old = _new_directory(directories, pools, at, _FIRST_CAPACITY)
    elif length == directories[old]:
        words[bag + DIRECTORY] = new = _new_directory(directories, pools, at, 2 * length)
        for offset in range(2 * length):
            directories[new + 1 + offset] = directories[old + 1 + offset]
        _give_back_directory(directories, pools, at, old)
        old = new
    start = old + 1
    for offset in range(2 * length - 1, 2 * number - 1, -1):
        directories[start + 2 + offset] = directories[start + offset]
    directories[start + 2 * number + 1] = place
    words[bag + LENGTH] = length + 1


@kernel
def insert(directories: Any, blocks: Any, words: Any, pools: Any, at: int, bag: int, sign: int, word: int) -> None:
    """Adds a number to a bag; there must be room for two blocks and `directory_room`."""
    if words[bag + LENGTH] == 0:
        block = _new_block(blocks, pools, at)
        _insert_block(directories, words, pools, at, bag, 0, block)
        number = 0
    else:
        number = _block_of(directories, words, bag, sign, word)
        block = directories[words[bag + DIRECTORY] + 2 + 2 * number]
        if blocks[block] == BLOCK:
            other, half = _new_block(blocks, pools, at), BLOCK // 2
            for offset in range(half, BLOCK):
                blocks[other + 1 + offset - half] = blocks[block + 1 + offset]
            blocks[other], blocks[block] = BLOCK - half, half
            _insert_block(directories, words, pools, at, bag, number + 1, other)
            directories[words[bag + DIRECTORY] + 1 + 2 * (number + 1)] = blocks[other + 1]
            if not before(sign, word, blocks[other + 1]):
                number, block = number + 1, other
    place, size = _place_in(blocks, block, sign, word), blocks[block]
    for offset in range(size, place, -1):
        blocks[block + 1 + offset] = blocks[block + offset]
    blocks[block + 1 + place] = word
    blocks[block] = size + 1
    if place == 0:
        directories[words[bag + DIRECTORY] + 1 + 2 * number] = word
    words[bag + COUNT] += 1


@kernel
def remove(directories: Any, blocks: Any, words: Any, pools: Any, at: int, bag: int, sign: int, word: int) -> None:
    """Takes a number that is there out of a bag."""
    number = _block_of(directories, words, bag, sign, word)
    directory = words[bag + DIRECTORY]
    block = directories[directory + 2 + 2 * number]
    place, size = _place_in(blocks, block, sign, word), blocks[block] - 1
    for offset in range(place, size):
        blocks[block + 1 + offset] = blocks[block + 2 + offset]
    blocks[block] = size
    words[bag + COUNT] -= 1
    if size > 0:
        if place == 0:
            directories[directory + 1 + 2 * number] = blocks[block + 1]
        return
    blocks[block] = pools[at + FREE_BLOCK]
    pools[at + FREE_BLOCK] = block
    words[bag + LENGTH] -= 1
    for offset in range(2 * number, 2 * words[bag + LENGTH]):
        directories[directory + 1 + offset] = directories[directory + 3 + offset]
    if words[bag + LENGTH] == 0:
        _give_back_directory(directories, pools, at, directory)


@kernel
def nth(directories: Any, blocks: Any, words: Any, bag: int, number: int) -> int:
    """The number that stands at a place of a bag, counted from 0."""
    directory = words[bag + DIRECTORY]
    for block_number in range(words[bag + LENGTH]):
        block = directories[directory + 2 + 2 * block_number]
        if number < blocks[block]:
            return blocks[block + 1 + number]
        number -= blocks[block]
    return -1
