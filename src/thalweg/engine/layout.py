"""The layout of the arrays that Python and the kernels share."""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.engine.compiled import kernel
from thalweg.engine.pointers import halves_region, words_region
from thalweg.planning.check_capacity import MOST_COLUMNS, MOST_LOOKUPS, MOST_REGISTERS


class Arrays(NamedTuple):
    """The state of an engine: one arena of rows, its hash table, its calendar and the lists of the current tick.

    A row is a few words side by side, so that looking at it costs one cache line:

        horizon · relation, flags · later, earlier · columns … · one (next, previous) for each index

    The horizon is the last tick for which the row is guaranteed. Earlier and later say where in the calendar the row
    stands: in which chunk and at which place of it. The chunks of a tick are rows themselves, of the relation CHUNK,
    with the names of other rows for columns; they hang on a row of the relation BUCKET, which is found by its tick.
    Later also links chunks, and rows that are free. The other pairs link a row into chains of the hash table, which has
    a part for each index number (a group of scalars from INDEXES on says how large it is and where it begins). Rows are
    named by the place of their first word, which must fit a half word (see `memory.MOST_WORDS`).

    What a plan decides the size of (rows, scalars, the table) is allocated from the plan. The scratch has a fixed size,
    and `planning.check_capacity` refuses the programs that would need more.
    """

    rows: NDArray[np.int64]
    heads: NDArray[np.int32]
    lists: NDArray[np.int32]
    olds: NDArray[np.int64]
    heap: NDArray[np.int64]
    scratch: NDArray[np.int64]
    scalars: NDArray[np.int64]

    @property
    def stride(self) -> int:
        return self.rows.shape[1]

    @property
    def used(self) -> int:
        """How many rows have ever been in use at once."""
        return int(self.scalars[HIGH]) // self.stride

    @property
    def horizons(self) -> NDArray[np.int64]:
        return self.rows[: self.used, 0]

    @property
    def relations(self) -> NDArray[np.int32]:
        return self.rows.view(np.int32)[: self.used, RELATION]

    @property
    def columns(self) -> NDArray[np.int64]:
        return self.rows[: self.used, COLUMNS : int(self.scalars[LINKS])]

    def places(self, list_number: int) -> NDArray[np.int32]:
        """The rows of a list by their names."""
        return self.lists[list_number, : self.scalars[LENGTHS + list_number]]

    def listed(self, list_number: int) -> NDArray[np.int32]:
        """The rows of a list, counted from 0."""
        return self.places(list_number) // self.stride

    def rows_in(self, list_number: int) -> NDArray[np.int64] | None:
        """A copy of the rows of a list, or None when it is empty."""
        length = self.scalars[LENGTHS + list_number]
        if length > 1:
            places = self.places(list_number)
            # A row may rise more than once in a tick; it begins and ends at most once.
            places = np.unique(places) if list_number == RAISED else places
            return self.rows.take(places // self.stride, axis=0)
        if not length:
            return None
        row = self.lists[list_number, 0] // self.stride
        return self.rows[row : row + 1].copy()


class Store(NamedTuple):
    """The same as kernels see it: pointers (see `pointers`), to the rows by words and by half words.

    Arrays would be counted as references at every call between kernels, which costs more than the calls. The addresses
    stand in the scalars, so that a call from Python unpacks one array and not nine. The values belong to the
    dictionary, and the memo has what kernels asked Python for (`memo`).
    """

    words: Any
    halves: Any
    heads: Any
    lists: Any
    olds: Any
    heap: Any
    scratch: Any
    values: Any
    memo: Any
    scalars: Any


# Places in a row: the horizon is its first word, the next four are half words.
RELATION: Final = 2
FLAG: Final = 3
LATER: Final = 4
EARLIER: Final = 5
COLUMNS: Final = 3

# Scalars: fixed ones, then a group for each index, then the first tick of each tuple window (see TABLE_TUPLES).
NOW: Final = 0
FIRST: Final = 1
FREE: Final = 2
HIGH: Final = 3
LIVE: Final = 4
HELD: Final = 5
HEAP_LENGTH: Final = 6
NEED: Final = 7
STRATUM: Final = 8
PHASE: Final = 9
POSITION: Final = 10
FEED_BATCH: Final = 11
FEED_ROW: Final = 12
BEST: Final = 13
LIFTED: Final = 14
ROWS: Final = 16
LIST_LENGTH: Final = 17
HEAP: Final = 18
STRIDE: Final = 19
LINKS: Final = 20
STEPS: Final = 21
FIRING: Final = 22
TARGET: Final = 23
LENGTHS: Final = 24
ADDRESSES: Final = 32
PAUSED: Final = 40
DEPTH: Final = 41
RELEASED: Final = 42
SETTLED: Final = 43
HEADS: Final = 44
VALUES_LENGTH: Final = 45
MEMO_LENGTH: Final = 46
RESUMED: Final = 47
HORIZON: Final = 48
CALLED: Final = 49
INDEXES: Final = 56

# The scalars of an index: how many rows it has, how many chains, and which is its first.
INDEX: Final = 4
ENTRIES: Final = 0
CHAINS: Final = 1
FIRST_CHAIN: Final = 2

# Lists of the current tick; their lengths are the scalars from LENGTHS on.
LOG: Final = 0
LOW: Final = 1
BORN: Final = 2
DIED: Final = 3
EXPIRING: Final = 4
BEGUN: Final = 5
ENDED: Final = 6
RAISED: Final = 7
LISTS: Final = 8

# Why a kernel came back early: what it lacked, that it has taken as many steps as it was given, or that the result of a
# call (three scalars from CALLED on) is not in the memo.
NEEDS_ROWS: Final = 1
NEEDS_LISTS: Final = 2
NEEDS_HEADS: Final = 3
NEEDS_HEAP: Final = 4
NEEDS_PAUSE: Final = 5
NEEDS_RESULT: Final = 6

# Flags of a row.
QUEUED: Final = 1
IN_CALENDAR: Final = 2
IN_EXPIRING: Final = 4
LOWERED: Final = 8
COUNTED: Final = 16
DEAD: Final = 32

# Flags of a relation.
IS_OUTPUT: Final = 1
IS_WATCHED: Final = 2
IS_CONSUMED: Final = 4
IS_COUNTER: Final = 8
IS_LASTING: Final = 16

# The table: its head, then a record for each relation.
TABLE_RELATIONS: Final = 0
TABLE_STRATA: Final = 1
TABLE_SLOTS: Final = 2
TABLE_TAKEN_BACK: Final = 3
TABLE_BUCKET: Final = 4
TABLE_WAKE: Final = 5
TABLE_LINKS: Final = 6
TABLE_CHUNK: Final = 7
TABLE_TUPLES: Final = 8
TABLE_STEPS: Final = 9
TABLE_HEAD: Final = 10

RECORD: Final = 10
ARITY: Final = 0
SLOTS: Final = 1
LEVEL: Final = 2
FLAGS: Final = 3
SLOT_COLUMNS: Final = 4
ON_GROWTH: Final = 5
ON_NEGATED: Final = 6
ON_HEAD: Final = 7
ON_COUNT: Final = 8
COUNTS_INTO: Final = 9

# Steps of a rule.
STEP_PROBE: Final = 1
STEP_TEST: Final = 2
STEP_CALCULATE: Final = 3
STEP_ABSENT: Final = 4
STEP_CLIP: Final = 5
STEP_HOP: Final = 6
STEP_EMIT: Final = 7
STEP_MOVE: Final = 8
STEP_EXTEND: Final = 9
STEP_CALL: Final = 10

# What a step does with a column of a row.
BIND: Final = 0
SAME: Final = 1
EQUALS: Final = 2

# Where a word of a term may stand: no term has this one.
NO_TERM: Final = -1

# Kinds of operands.
LITERAL: Final = 0
REGISTER: Final = 1

# What a rule is fired for.
GROW: Final = 0
DELETE: Final = 1
REDERIVE: Final = 2

# Scratch: registers, the key of a look-up, the columns of a row and a word more, look-ups under way, answers held back.
# Most programs use only the first words of each. These must not start multiples of 4 KiB apart: to the processor they
# would look like the same place, and a load of one would wait for a store to another.
_APART: Final = 64
FRAME: Final = 3
KEY: Final = MOST_REGISTERS + _APART
TUPLE: Final = KEY + MOST_COLUMNS
STACK: Final = TUPLE + MOST_COLUMNS + _APART
ANSWERS: Final = STACK + FRAME * MOST_LOOKUPS + _APART
MOST_HELD: Final = 16
SCRATCH: Final = ANSWERS + MOST_HELD * (COLUMNS + MOST_COLUMNS)
"""In checked mode as many words follow, each of which says whether its partner is beyond what the plan may use."""

# Kinds of feeds.
FEED_SEEN: Final = 0
FEED_TIMED: Final = 1
FEED_RUN: Final = 2
FEED_FOREVER: Final = 3
FEED_RETRACT: Final = 4
FEED_CLOCK: Final = 5
FEED_UNTIL: Final = 6

# Windows of a count.
COUNT_TIME: Final = 0
COUNT_HOP: Final = 1
COUNT_TUPLE: Final = 2


@kernel
def words_at(array: Any) -> Any:
    """The pointer to an array of words."""
    return words_region(np.int64(array.ctypes.data), np.int64(len(array)), np.int64(0))


@kernel
def view(scalars: Any) -> Store:
    """The store behind the addresses in the scalars."""
    rows, length, scratch = scalars[ROWS] * scalars[STRIDE], scalars[LIST_LENGTH], scalars[ADDRESSES + 5]
    return Store(
        words_region(scalars[ADDRESSES], rows, np.int64(0)),
        halves_region(scalars[ADDRESSES], 2 * rows, np.int64(0)),
        halves_region(scalars[ADDRESSES + 1], scalars[HEADS], np.int64(0)),
        halves_region(scalars[ADDRESSES + 2], LISTS * length, np.int64(0)),
        words_region(scalars[ADDRESSES + 3], length, np.int64(0)),
        words_region(scalars[ADDRESSES + 4], scalars[HEAP], np.int64(0)),
        words_region(scratch, np.int64(SCRATCH), scratch + 8 * SCRATCH),
        words_region(scalars[ADDRESSES + 6], scalars[VALUES_LENGTH], np.int64(0)),
        words_region(scalars[ADDRESSES + 7], scalars[MEMO_LENGTH], np.int64(0)),
        words_at(scalars),
    )
