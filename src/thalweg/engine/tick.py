"""The kernel that evaluates one tick: begin, feed, then stratum by stratum.

In a stratum, in this order:

    negated     rows that have come to be negate answers: their heads are taken back
    lowered     what rested on a row that was taken back is taken back too, until nothing more is
    rederived   each row that was taken back gets the best horizon that its other derivations give
    ended       rows that are gone stop negating: the answers they hid are derived
    grown       every row whose horizon rose fires its rules, until no horizon rises
    settled     rows whose horizon has passed are dead; the strata above get to know

The first four have nothing to do in a stratum that rests on no negation, aggregate or tuple window. The kernel comes
back early, with NEED set, when an array is full, or when it has taken as many steps as it was given; it remembers where
it was and firing a rule twice changes nothing, so Python enlarges the array, or lets signals and other threads have
their turn, and calls it again. A step is a row that is fed, handled, released or looked at in a join: some tens of
nanoseconds.
"""

from typing import Any

from thalweg.engine.arena import (
    AHEAD,
    begin,
    die,
    find,
    foresee,
    has_room,
    lift,
    listed,
    lower,
    raise_row,
    record,
    reschedule,
    take_step,
)
from thalweg.engine.compiled import entry, is_kept, is_ready, kernel
from thalweg.engine.layout import (
    ARITY,
    BEGUN,
    BEST,
    BORN,
    COLUMNS,
    DEAD,
    DELETE,
    DIED,
    ENDED,
    EXPIRING,
    FEED_BATCH,
    FEED_CLOCK,
    FEED_FOREVER,
    FEED_RETRACT,
    FEED_ROW,
    FEED_RUN,
    FEED_SEEN,
    FEED_TIMED,
    FEED_UNTIL,
    FIRING,
    FIRST,
    FLAG,
    GROW,
    HELD,
    IN_EXPIRING,
    LENGTHS,
    LEVEL,
    LIST_LENGTH,
    LOG,
    LOW,
    LOWERED,
    NEED,
    NOW,
    ON_COUNT,
    ON_GROWTH,
    ON_HEAD,
    ON_NEGATED,
    PAUSED,
    PHASE,
    POSITION,
    QUEUED,
    RAISED,
    REDERIVE,
    RELATION,
    SETTLED,
    STEPS,
    STRATUM,
    TABLE_STEPS,
    TABLE_TAKEN_BACK,
    TARGET,
    TUPLE,
    Store,
    view,
    words_at,
)
from thalweg.engine.rules import count_up, fire, foresee_probe, lift_held, recount, uncomplete
from thalweg.model.time import FOREVER, NEVER

NEGATED, LOWERING, REDERIVING, ENDING, GROWING, SETTLING = range(6)


@entry
def step(
    table_words: Any, scalars: Any, tick: int, until: int, words: Any, feeds: Any, first: int, last: int, again: bool
) -> bool:
    """Begins `tick` unless it has begun, takes in `feeds`, and evaluates the strata from `first` to `last`.

    A feed is (kind, relation, size, target, first word, number of rows, words a row); UNTIL has a horizon for each row
    as its last word. The same is done for the ticks up
    to `until`, as long as nothing begins or ends for the world to see. False: call it `again`.
    """
    table, store = words_at(table_words), view(scalars)
    store.scalars[NEED] = 0
    store.scalars[STEPS] = table[TABLE_STEPS]
    if again:
        tick = store.scalars[TARGET]
    else:
        store.scalars[PAUSED] = -1
        _reset(store, tick, first)
    while True:
        if not begin(table, store, tick) or not _feed(table, store, words, feeds):
            return False
        while store.scalars[STRATUM] <= last:
            if not _stratum(table, store, store.scalars[STRATUM]):
                return False
            store.scalars[STRATUM] += 1
            store.scalars[PHASE] = NEGATED
            store.scalars[POSITION] = 0
        changes = store.scalars[LENGTHS + BEGUN] + store.scalars[LENGTHS + ENDED] + store.scalars[LENGTHS + RAISED]
        if tick >= until or changes > 0:
            return True
        tick += 1
        _reset(store, tick, first)
        if not take_step(store):
            return False


@kernel
def _reset(store: Store, tick: int, first: int) -> None:
    """Back to the start of a tick's work."""
    store.scalars[TARGET] = tick
    store.scalars[FIRING] = -1
    store.scalars[STRATUM] = first
    store.scalars[PHASE] = NEGATED
    store.scalars[POSITION] = 0
    store.scalars[FEED_BATCH] = 0
    store.scalars[FEED_ROW] = 0


# Feeding ------------------------------------------------------------------------------------------------------------


@kernel
def _feed(table: Any, store: Store, words: Any, feeds: Any) -> bool:
    scalars = store.scalars
    now = scalars[NOW]
    while scalars[FEED_BATCH] < feeds.shape[0]:
        batch = scalars[FEED_BATCH]
        kind, relation, size, target = feeds[batch, 0], feeds[batch, 1], feeds[batch, 2], feeds[batch, 3]
        start, rows, wide = feeds[batch, 4], feeds[batch, 5], feeds[batch, 6]
        until = FOREVER if kind == FEED_FOREVER or size >= FOREVER else now + size
        while scalars[FEED_ROW] < rows:
            if not take_step(store):
                return False
            place = start + scalars[FEED_ROW] * wide
            if kind in (FEED_SEEN, FEED_UNTIL) and scalars[FEED_ROW] + AHEAD < rows:
                foresee(table, store, relation, words, place + AHEAD * wide)
            for column in range(wide):
                store.scratch[TUPLE + column] = words[place + column]
            if kind == FEED_RUN:
                done = _run(table, store, relation, size, target)
            elif kind == FEED_RETRACT:
                done = _retract(table, store, relation)
            else:
                if kind in (FEED_TIMED, FEED_CLOCK):
                    store.scratch[TUPLE + wide] = (now << 2) | 1
                elif kind == FEED_UNTIL:
                    until = words[place + wide - 1]
                done = lift(table, store, relation, until) >= 0
            if not done:
                return False
            scalars[FEED_ROW] += 1
        scalars[FEED_BATCH] += 1
        scalars[FEED_ROW] = 0
    return True


@kernel
def _run(table: Any, store: Store, relation: int, size: int, target: int) -> bool:
    """Prolongs the run of ticks at which a fact came, and lifts the fact when its run fills the window."""
    now = store.scalars[NOW]
    place = table[record(table, relation) + ARITY]
    row = find(table, store, relation)
    start = store.words[row + COLUMNS + place] if row >= 0 and store.words[row] >= now else now
    row = lift(table, store, relation, now + 1)
    if row < 0:
        return False
    store.words[row + COLUMNS + place] = start
    if start > max(store.scalars[FIRST], now - size):
        return True
    return lift(table, store, target, now) >= 0


@kernel
def _retract(table: Any, store: Store, relation: int) -> bool:
    row = find(table, store, relation)
    if row < 0 or store.words[row] < store.scalars[NOW]:
        return True
    if not has_room(table, store):
        return False
    lower(table, store, row)
    return True


# One stratum --------------------------------------------------------------------------------------------------------


@kernel
def _stratum(table: Any, store: Store, level: int) -> bool:
    scalars = store.scalars
    if scalars[PHASE] == NEGATED and table[table[TABLE_TAKEN_BACK] + level] == 0:
        scalars[PHASE] = GROWING
    while scalars[PHASE] <= SETTLING:
        phase = scalars[PHASE]
        if phase == NEGATED:
            list_number = BORN
        elif phase in (LOWERING, REDERIVING):
            list_number = LOW
        elif phase == ENDING:
            list_number = DIED
        elif phase == GROWING:
            list_number = LOG
        else:
            list_number = EXPIRING
        while scalars[POSITION] < scalars[LENGTHS + list_number] or scalars[HELD] > 0:
            position = scalars[POSITION]
            if position == scalars[LENGTHS + list_number]:
                if not lift_held(table, store):
                    return False
                continue
            row = listed(store, list_number, position)
            # A rule that was interrupted needs its registers as they are.
            resumed = scalars[PAUSED] >= 0
            if not resumed and not take_step(store):
                return False
            if phase == GROWING and position + 2 * AHEAD < scalars[LENGTHS + LOG] and not resumed:
                _foresee_growth(table, store, level, listed(store, LOG, position + 2 * AHEAD), False)
                _foresee_growth(table, store, level, listed(store, LOG, position + AHEAD), True)
            if row >= 0 and not _handle(table, store, level, phase, row, position):
                return False
            scalars[POSITION] = position + 1
        if phase == SETTLING and not _settle_lowered(table, store, level):
            return False
        scalars[POSITION] = 0
        scalars[PHASE] = phase + 1
    return True


@kernel
def _handle(table: Any, store: Store, level: int, phase: int, row: int, position: int) -> bool:
    at = record(table, store.halves[2 * row + RELATION])
    now = store.scalars[NOW]
    if phase == GROWING:
        store.halves[2 * row + FLAG] &= ~QUEUED
        if store.words[row] < now or _grow(table, store, level, row, at):
            return True
        store.halves[2 * row + FLAG] |= QUEUED
        return False
    if phase == NEGATED:
        return store.words[row] < now or _fire_all(table, store, table[at + ON_NEGATED], level, row, DELETE, FOREVER)
    if phase == LOWERING:
        counts = table[at + ON_COUNT]
        if counts >= 0 and table[counts + 3] == level and not uncomplete(table, store, counts, row):
            return False
        return _fire_all(table, store, table[at + ON_GROWTH], level, row, DELETE, store.olds[position])
    if phase == REDERIVING:
        if table[at + LEVEL] != level or store.words[row] >= now:
            return True
        return _rederive(table, store, row, at)
    if phase == ENDING:
        return _fire_all(table, store, table[at + ON_NEGATED], level, row, GROW, FOREVER)
    return table[at + LEVEL] != level or _settle(table, store, row)


@kernel
def _fire_all(table: Any, store: Store, variants: int, level: int, row: int, why: int, horizon: int) -> bool:
    """Fires the variants of a list that belong to a stratum; a list is its length, then pairs (stratum, variant)."""
    for number in range(table[variants]):
        if table[variants + 1 + 2 * number] != level:
            continue
        variant = table[variants + 2 + 2 * number]
        # Those before the one that was interrupted have been fired.
        if store.scalars[PAUSED] >= 0 and store.scalars[PAUSED] != variant:
            continue
        if not fire(table, store, variant, row, why, horizon):
            return False
    return True


@kernel
def _grow(table: Any, store: Store, level: int, row: int, at: int) -> bool:
    counts = table[at + ON_COUNT]
    if counts >= 0 and table[counts + 3] == level and not count_up(table, store, counts, row):
        return False
    return _fire_all(table, store, table[at + ON_GROWTH], level, row, GROW, store.words[row])


@kernel
def _foresee_growth(table: Any, store: Store, level: int, row: int, near: bool) -> None:
    variants = table[record(table, store.halves[2 * row + RELATION]) + ON_GROWTH]
    for number in range(table[variants]):
        if table[variants + 1 + 2 * number] == level:
            foresee_probe(table, store, table[variants + 2 + 2 * number], row, near)


@kernel
def _rederive(table: Any, store: Store, row: int, at: int) -> bool:
    if not has_room(table, store):
        return False
    if store.scalars[PAUSED] < 0:
        store.scalars[BEST] = NEVER
    heads = table[at + ON_HEAD]
    if not _fire_all(table, store, heads, table[at + LEVEL], row, REDERIVE, FOREVER):
        return False
    counted = table[heads + 1 + 2 * table[heads]]
    if counted >= 0:
        recount(table, store, counted, row)
    if store.scalars[BEST] >= store.scalars[NOW]:
        raise_row(table, store, row, store.scalars[BEST])
    return True


@kernel
def _settle(table: Any, store: Store, row: int) -> bool:
    """Decides about a row that was to end now."""
    if not store.halves[2 * row + FLAG] & IN_EXPIRING:
        return True
    if not has_room(table, store):
        return False
    store.halves[2 * row + FLAG] &= ~IN_EXPIRING
    if store.words[row] >= store.scalars[NOW]:
        reschedule(table, store, row)
    else:
        die(table, store, row)
    return True


@kernel
def _settle_lowered(table: Any, store: Store, level: int) -> bool:
    """Decides about the rows that were taken back; those that lost nothing are forgotten."""
    while store.scalars[SETTLED] < store.scalars[LENGTHS + LOW]:
        if not take_step(store) or not has_room(table, store):
            return False
        place = store.scalars[SETTLED]
        store.scalars[SETTLED] = place + 1
        row = listed(store, LOW, place)
        if (
            row < 0
            or table[record(table, store.halves[2 * row + RELATION]) + LEVEL] != level
            or store.halves[2 * row + FLAG] & DEAD
        ):
            continue
        if store.words[row] < store.scalars[NOW]:
            die(table, store, row)
        elif store.words[row] >= store.olds[place]:
            store.halves[2 * row + FLAG] &= ~LOWERED
            store.lists[LOW * store.scalars[LIST_LENGTH] + place] = -1
        else:
            reschedule(table, store, row)
    store.scalars[SETTLED] = 0
    return True


def kernels_ready() -> bool:
    """Whether the kernels have been compiled before by this installation; else the first tick takes a while."""
    return is_ready(step)


def kernels_kept() -> bool:
    """Whether what kernels are compiled to is kept; where no folder can be written to each process compiles them."""
    return is_kept(step)
