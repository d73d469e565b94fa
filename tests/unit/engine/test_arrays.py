"""The arrays of an engine: how large they are, and that enlarging one keeps all that stands in the others."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from workbench import Workbench, arrive, retract, until

from thalweg.engine.layout import (
    ADDRESSES,
    CHAINS,
    ENTRIES,
    HEADS,
    HEAP,
    INDEX,
    INDEXES,
    LIST_LENGTH,
    LISTS,
    LOW,
    NEED,
    NEEDS_HEADS,
    NEEDS_HEAP,
    NEEDS_LISTS,
    NEEDS_ROWS,
    ROWS,
    TABLE_LINKS,
    TABLE_SLOTS,
)
from thalweg.engine.memory import MOST_WORDS, FullError, enlarge, enlarged_by, next_end, size_of

RULES = "q(A,C) :- p(A,B), p(B,C), not r(A) in [9]."
P = "p/2 derived"
EVERY_NEED = pytest.mark.parametrize("need", [NEEDS_ROWS, NEEDS_HEADS, NEEDS_HEAP, NEEDS_LISTS])


def in_use() -> Workbench:
    """One in the middle of a tick: rows with many ends, places that were given back, and lists that are not empty."""
    bench = Workbench(RULES, given=["p/2"])
    bench.run(0, *(until(P, f"a{n} a{n % 7}", n) for n in range(5, 40)))
    bench.run(1, *(retract(P, f"a{n} a{n % 7}") for n in range(10, 20)))
    bench.run(2, arrive("r", "a5"), retract(P, "a7 a0"), until(P, "x y", 50))
    assert bench.free()
    assert [which for which in range(LISTS) if bench.listed(which)]
    return bench


def picture(bench: Workbench) -> Any:
    """All that a kernel can find in the arrays, whatever their sizes."""
    return (
        bench.arrays.rows[: bench.arrays.used, : bench.table.words[TABLE_LINKS]].tolist(),
        bench.free(),
        bench.chunks(),
        [bench.listed(which) for which in range(LISTS)],
        bench.arrays.olds[: len(bench.arrays.listed(LOW))].tolist(),
        {key: sorted(bench.chain(P, (0,), key)) for key in ("a5", "a7", "x", "nobody")},
    )


# Sizes --------------------------------------------------------------------------------------------------------------


def test_empty_arrays_are_small() -> None:
    bench = Workbench(RULES)
    assert bench.arrays.rows.shape == (256, bench.table.stride)
    assert bench.arrays.lists.shape == (LISTS, 256)
    assert bench.arrays.used == 0
    assert next_end(bench.arrays) is None


def test_kernels_find_arrays_and_sizes_among_the_scalars() -> None:
    bench = in_use()
    for _ in bench.calls(3, *(until(P, f"b{n} c", 3 + n) for n in range(400))):
        pass
    addresses = [array.ctypes.data for array in bench.arrays[:-1]]
    assert bench.arrays.scalars[ADDRESSES : ADDRESSES + len(addresses)].tolist() == addresses
    sizes = [len(bench.arrays.rows), bench.arrays.lists.shape[1], len(bench.arrays.heap), len(bench.arrays.heads)]
    assert [bench.scalar(which) for which in (ROWS, LIST_LENGTH, HEAP, HEADS)] == sizes


def test_the_size_is_that_of_all_arrays() -> None:
    arrays = Workbench(RULES).arrays
    rows, lists, olds = 256 * arrays.stride * 8, LISTS * 256 * 4, 256 * 8
    rest = arrays.heads.nbytes + arrays.heap.nbytes + arrays.scratch.nbytes + arrays.scalars.nbytes
    assert size_of(arrays) == rows + lists + olds + rest


def test_a_row_begins_where_a_cache_line_begins() -> None:
    assert Workbench(RULES).arrays.rows.ctypes.data % 64 == 0


# Enlarging ----------------------------------------------------------------------------------------------------------


@EVERY_NEED
def test_enlarging_keeps_rows_chains_lists_and_calendar(need: int) -> None:
    bench = in_use()
    before = picture(bench)
    bench.arrays.scalars[NEED] = need
    bench.arrays = enlarge(bench.table, bench.arrays)
    assert picture(bench) == before
    bench.audit()


@EVERY_NEED
def test_what_is_enlarged_goes_on_as_if_it_had_not_been(need: int) -> None:
    bench, other = in_use(), in_use()
    bench.arrays.scalars[NEED] = need
    bench.arrays = enlarge(bench.table, bench.arrays)
    for tick in range(3, 60):
        for each in (bench, other):
            each.run(tick, until(P, f"a{tick} a{tick % 5}", tick + 7))
        assert bench.rows("q/2 derived") == other.rows("q/2 derived")
        assert bench.calendar() == other.calendar()
    bench.audit()


@EVERY_NEED
def test_how_much_will_be_added_is_known_before(need: int) -> None:
    bench = in_use()
    bench.arrays.scalars[NEED] = need
    expected, before = enlarged_by(bench.table, bench.arrays), size_of(bench.arrays)
    assert size_of(enlarge(bench.table, bench.arrays)) == before + expected
    assert expected > 0 or need == NEEDS_HEADS


def test_rows_grow_by_half_while_they_are_few_and_by_a_quarter_later() -> None:
    bench, sizes = Workbench("q(X) :- p(X) in [9]."), [256]
    for need in bench.calls(0, arrive("p", *map(str, range(40_000)))):
        if need == "rows":
            sizes.append(len(bench.arrays.rows))
    sizes = sorted({*sizes, len(bench.arrays.rows)})
    assert all(new == (old * 3 // 2 if old < 20_000 else old * 5 // 4) for old, new in pairwise(sizes))
    assert len(bench.rows("q/1 derived")) == 40_000


def test_each_index_has_half_as_many_chains_again_as_rows() -> None:
    bench = Workbench(RULES, given=["p/2"])
    bench.run(0, *(until(P, f"a {n}", 9) for n in range(1000)))
    bench.arrays.scalars[NEED] = NEEDS_HEADS
    bench.arrays = enlarge(bench.table, bench.arrays)
    for slot in range(int(bench.table.words[TABLE_SLOTS])):
        entries, chains = (bench.scalar(INDEXES + INDEX * slot + which) for which in (ENTRIES, CHAINS))
        assert chains & (chains - 1) == 0
        assert max(64, entries * 3 // 2) <= chains <= max(64, entries * 3)


# Limits -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("words", "fits"), [(MOST_WORDS * 4 // 5 - 100, True), (MOST_WORDS * 4 // 5 + 100, False)])
def test_rows_have_names_of_31_bits(words: int, fits: bool) -> None:
    bench = Workbench(RULES)
    # As large as that, without taking any memory.
    rows = np.broadcast_to(np.int64(0), (words // bench.table.stride, bench.table.stride))
    arrays = bench.arrays._replace(rows=rows)
    arrays.scalars[NEED] = NEEDS_ROWS
    if fits:
        assert enlarged_by(bench.table, arrays) == pytest.approx(rows.nbytes / 4, rel=1e-6)
    else:
        with pytest.raises(FullError):
            enlarged_by(bench.table, arrays)


@pytest.mark.parametrize(("entries", "fits"), [(2**29, True), (2**30, False)])
def test_chains_have_names_of_31_bits(entries: int, fits: bool) -> None:
    bench = Workbench("q(X) :- p(X) in [9].")
    bench.arrays.scalars[NEED] = NEEDS_HEADS
    bench.arrays.scalars[INDEXES + ENTRIES] = entries
    if fits:
        assert enlarged_by(bench.table, bench.arrays) > 2**31
    else:
        with pytest.raises(FullError):
            enlarged_by(bench.table, bench.arrays)


# The next end -------------------------------------------------------------------------------------------------------


def test_the_next_end_is_the_first_tick_of_the_calendar() -> None:
    bench = Workbench("q(X) :- p(X) in [9].")
    bench.run(0, until("p/1 in [9]", "a", 7), until("p/1 in [9]", "b", 4))
    assert next_end(bench.arrays) == 5
    bench.run(5)
    assert next_end(bench.arrays) == 8
    bench.run(8)
    assert next_end(bench.arrays) is None
