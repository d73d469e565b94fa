"""The arrays of an engine: made, and enlarged when a kernel asks for it."""

import ctypes
import math
import mmap
from contextlib import suppress
from typing import Any, Final

import numpy as np

from thalweg.engine.arena import relink
from thalweg.engine.assemble import KernelTable
from thalweg.engine.layout import (
    ADDRESSES,
    ANSWERS,
    CHAINS,
    COLUMNS,
    ENTRIES,
    FIRST_CHAIN,
    FRAME,
    FREE,
    HEADS,
    HEAP_LENGTH,
    HIGH,
    INDEX,
    INDEXES,
    KEY,
    LENGTHS,
    LINKS,
    LISTS,
    LOW,
    MOST_HELD,
    NEED,
    NEEDS_HEADS,
    NEEDS_HEAP,
    NEEDS_ROWS,
    NOW,
    ROWS,
    SCRATCH,
    STACK,
    TABLE_LINKS,
    TABLE_SLOTS,
    TUPLE,
    Arrays,
)
from thalweg.engine.pointers import CHECKED

ROOM: Final = 3
"""The part of a budget that the state may take: while an array grows, it and a larger one live at once."""

MOST_WORDS: Final = 2**31 - 1
"""Rows and chains are named by half words."""

_BEFORE_TIME = -(2**62)
_MMAP_THRESHOLD: Final = -3
_ROWS = 256
_MANY: Final = 20_000
_HUGE: Final = 1 << 22
_PIECE: Final = 1 << 21
_PART: Final = 50_000


class FullError(Exception):
    """An array has reached the largest size that the engine can address, or that the system gives."""


def new_arrays(table: KernelTable) -> Arrays:
    """Empty arrays for a table's relations."""
    scalars = np.zeros(table.scalars, dtype=np.int64)
    scalars[FREE] = -1
    scalars[NOW] = _BEFORE_TIME
    scalars[LINKS] = table.words[TABLE_LINKS]
    return _addressed(
        Arrays(
            rows=_zeros((_ROWS, table.stride), np.int64),
            heads=_no_heads(table, scalars),
            lists=_zeros((LISTS, _ROWS), np.int32),
            olds=_zeros((_ROWS,), np.int64),
            heap=np.zeros(64, dtype=np.int64),
            scratch=_scratch(table),
            scalars=scalars,
        )
    )


def _scratch(table: KernelTable) -> np.ndarray[Any, Any]:
    """The scratch; in checked mode with a flag for each word that the plan has no use for."""
    if not CHECKED:
        return np.zeros(SCRATCH, dtype=np.int64)
    scratch = np.zeros(2 * SCRATCH, dtype=np.int64)
    flags = scratch[SCRATCH:]
    flags.fill(1)
    width = int(table.words[TABLE_LINKS]) - COLUMNS
    for start, length in (
        (0, table.registers),
        (KEY, width),
        (TUPLE, width + 1),
        (STACK, FRAME * table.lookups),
        *((ANSWERS + answer * (COLUMNS + width), COLUMNS + width) for answer in range(MOST_HELD)),
    ):
        flags[start : start + length] = 0
    return scratch


def _zeros(shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """Zeros in pages of their own: those that nobody has written to cost nothing yet, and any can be given back.

    They begin where a cache line begins, so that a row of eight words touches one line and not two.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    pages = mmap.mmap(-1, size, **private)
    if size >= _HUGE:
        _advise(pages, "MADV_HUGEPAGE", 0, size)
    return np.frombuffer(pages, dtype=dtype).reshape(shape)


def _advise(pages: mmap.mmap, what: str, start: int, length: int) -> None:
    """Tells the system how pages are used, where it listens."""
    with suppress(OSError):
        if hasattr(mmap, what):
            pages.madvise(getattr(mmap, what), start, length)


def _more_rows(rows: np.ndarray[Any, Any], count: int) -> np.ndarray[Any, Any]:
    """The same rows and room for more. What has been copied is given back at once: it never takes room twice."""
    larger = _zeros((count, rows.shape[1]), np.int64)
    buffer: Any = rows.base
    old, new = rows.reshape(-1).view(np.uint8), larger.reshape(-1).view(np.uint8)
    for start in range(0, len(old), _PIECE):
        end = min(start + _PIECE, len(old))
        new[start:end] = old[start:end]
        _advise(buffer.base.obj, "MADV_DONTNEED", start, end - start)
    return larger


def _no_heads(table: KernelTable, scalars: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Empty chains, for each index as many as it has entries and half as many again, or up to three times as many.

    Each index has its own number, because chains that are not needed cost cache lines that are.
    """
    indexes = scalars[INDEXES : INDEXES + INDEX * int(table.words[TABLE_SLOTS])].reshape(-1, INDEX)
    chains = _chains(indexes[:, ENTRIES])
    indexes[:, CHAINS] = chains
    indexes[:, FIRST_CHAIN] = np.cumsum([0, *chains[:-1]])
    heads = _zeros((sum(chains),), np.int32)
    heads.fill(-1)
    return heads


def _chains(entries: np.ndarray[Any, Any]) -> list[int]:
    return [1 << max(6, (count * 3 // 2).bit_length()) for count in entries.tolist()]


def _addressed(arrays: Arrays) -> Arrays:
    """Writes addresses and sizes into the scalars, where the kernels look for them."""
    sizes = (len(arrays.rows), arrays.lists.shape[1], len(arrays.heap), arrays.stride)
    arrays.scalars[ROWS : ROWS + len(sizes)] = sizes
    arrays.scalars[HEADS] = len(arrays.heads)
    addresses = [array.ctypes.data for array in arrays[:-1]]
    arrays.scalars[ADDRESSES : ADDRESSES + len(addresses)] = addresses
    return arrays


def enlarge(table: KernelTable, arrays: Arrays) -> Arrays:
    """The same state with more of what the last kernel call lacked; raises `FullError` where the system has no more."""
    try:
        larger = _addressed(_larger(table, arrays))
    except (OSError, MemoryError) as error:
        raise FullError from error
    if larger.heads is not arrays.heads:
        _relink(table, larger)
    return larger


def _relink(table: KernelTable, arrays: Arrays) -> None:
    """Enters every row into the hash table, in parts: signals and other threads have their turn between them."""
    scalars = arrays.scalars
    scalars[INDEXES + ENTRIES : INDEXES + INDEX * int(table.words[TABLE_SLOTS]) : INDEX] = 0
    part = _PART * arrays.stride
    for first in range(0, int(scalars[HIGH]), part):
        relink(table.words, scalars, first, min(first + part, int(scalars[HIGH])))


def enlarged_by(table: KernelTable, arrays: Arrays) -> int:
    """How many bytes `enlarge` is going to add; raises `FullError` where it cannot."""
    need = int(arrays.scalars[NEED])
    if need == NEEDS_ROWS:
        words = _next_rows(arrays) * arrays.stride
        if words > MOST_WORDS:
            raise FullError
        return words * 8 - arrays.rows.nbytes
    if need == NEEDS_HEADS:
        slots = int(table.words[TABLE_SLOTS])
        chains = sum(_chains(arrays.scalars[INDEXES + ENTRIES : INDEXES + INDEX * slots : INDEX]))
        if chains > MOST_WORDS:
            raise FullError
        return chains * 4 - arrays.heads.nbytes
    return arrays.heap.nbytes if need == NEEDS_HEAP else arrays.lists.nbytes + arrays.olds.nbytes


def _next_rows(arrays: Arrays) -> int:
    """How many rows there is room for next. The larger the arena, the dearer is room that nothing needs."""
    many = len(arrays.rows)
    return many * 3 // 2 if many < _MANY else many * 5 // 4


def _larger(table: KernelTable, arrays: Arrays) -> Arrays:
    need = int(arrays.scalars[NEED])
    if need == NEEDS_ROWS:
        return arrays._replace(rows=_more_rows(arrays.rows, _next_rows(arrays)))
    if need == NEEDS_HEADS:
        return arrays._replace(heads=_no_heads(table, arrays.scalars))
    if need == NEEDS_HEAP:
        return arrays._replace(heap=np.concatenate((arrays.heap, np.zeros_like(arrays.heap))))
    lists = _zeros((LISTS, arrays.lists.shape[1] * 2), np.int32)
    for list_number, length in enumerate(arrays.scalars[LENGTHS : LENGTHS + LISTS]):
        lists[list_number, :length] = arrays.lists[list_number, :length]
    olds = _zeros((lists.shape[1],), np.int64)
    olds[: arrays.scalars[LENGTHS + LOW]] = arrays.olds[: arrays.scalars[LENGTHS + LOW]]
    return arrays._replace(lists=lists, olds=olds)


def give_back_memory() -> None:
    """Tells the allocator of Linux to return large arrays at once; by itself it keeps some for later."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").mallopt(_MMAP_THRESHOLD, 1 << 18)


def size_of(arrays: Arrays) -> int:
    """Bytes held."""
    return sum(array.nbytes for array in arrays)


def next_end(arrays: Arrays) -> int | None:
    """The next tick at which something may end by itself."""
    return int(arrays.heap[0]) if arrays.scalars[HEAP_LENGTH] else None
