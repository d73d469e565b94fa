"""Kernels that fire rules: a rule is a table of steps, and this is the machine that runs it.

A rule starts from one row (of a positive atom, of a negated atom, or of its head) and joins the others by nested
look-ups, carrying the least horizon met so far. What it does with an answer depends on why it was fired:

    GROW       the head is guaranteed until that horizon (a little later: see `_hold`)
    DELETE     the head loses its guarantee if it rested on this answer
    REDERIVE   the best horizon over all answers for one head row is noted

Facts meet where their words are the same; comparisons and calculations look at values (`model.number`).
"""

from typing import Any

from thalweg.engine.arena import chain, find, foresee, has_room, lift, lower, record, wake
from thalweg.engine.calls import ORDER, called
from thalweg.engine.compiled import kernel
from thalweg.engine.layout import (
    ANSWERS,
    ARITY,
    BEST,
    BIND,
    COLUMNS,
    COUNT_HOP,
    COUNT_TIME,
    COUNTED,
    DELETE,
    DEPTH,
    FIRING,
    FIRST,
    FLAG,
    FRAME,
    GROW,
    HELD,
    HORIZON,
    KEY,
    LIFTED,
    LOWERED,
    MOST_HELD,
    NEED,
    NEEDS_PAUSE,
    NEEDS_RESULT,
    NO_TERM,
    NOW,
    PAUSED,
    REDERIVE,
    REGISTER,
    RELATION,
    RESUMED,
    SAME,
    STACK,
    STEP_ABSENT,
    STEP_CALCULATE,
    STEP_CALL,
    STEP_CLIP,
    STEP_EXTEND,
    STEP_HOP,
    STEP_MOVE,
    STEP_PROBE,
    STEP_TEST,
    STEPS,
    TABLE_LINKS,
    TABLE_TUPLES,
    TUPLE,
    Store,
)
from thalweg.engine.pointers import prefetch
from thalweg.model.number import DIVERSE, FAILS, HOLDS, NO_VALUE, UNDECIDED, agrees, calculate, compare
from thalweg.model.time import FOREVER, NEVER


@kernel
def _operand(table: Any, store: Store, place: int) -> int:
    word = table[place + 1]
    return store.scratch[word] if table[place] == REGISTER else word


@kernel
def _value(store: Store, word: int) -> int:
    """The value of a term in comparisons and calculations."""
    return word if word & 3 != 0 else store.values[word >> 2]


@kernel
def _test(table: Any, store: Store, step: int, left: int, right: int) -> int:
    """Whether a comparison holds; UNDECIDED where a call must be answered first, which is noted.

    The first two terms that have no common order are noted behind the step.
    """
    operator = table[step + 1]
    outcome = compare(operator, left, right, _value(store, left), _value(store, right))
    if outcome == UNDECIDED:
        place = called(store, ORDER, left, right)
        if place >= 0:
            return HOLDS if agrees(operator, store.memo[place] >> 2) else FAILS
    elif outcome == DIVERSE and table[step + 6] == NO_TERM:
        table[step + 6], table[step + 7] = left, right
    return outcome


@kernel
def _interrupt(store: Store, variant: int, depth: int, step: int, horizon: int, need: int) -> bool:
    """Notes where a rule must go on: at a step, or (-1) with the next row of the deepest look-up. Always False."""
    store.scalars[PAUSED] = variant
    store.scalars[DEPTH] = depth
    store.scalars[RESUMED] = step
    store.scalars[HORIZON] = horizon
    store.scalars[NEED] = need
    return False


@kernel
def _fits(table: Any, store: Store, row: int, place: int, columns: int) -> bool:
    """Whether a row agrees with what is bound; binds the rest."""
    start = row + COLUMNS
    for column in range(columns):
        word = store.words[start + column]
        what, operand = table[place + 2 * column], table[place + 2 * column + 1]
        if what == BIND:
            store.scratch[operand] = word
        elif (store.scratch[operand] if what == SAME else operand) != word:
            return False
    return True


@kernel
def _conclude(table: Any, store: Store, step: int) -> None:
    """Puts the answer of a rule at TUPLE."""
    for column in range(table[step + 2]):
        store.scratch[TUPLE + column] = _operand(table, store, step + 5 + 2 * column)


@kernel
def _emit(table: Any, store: Store, step: int, horizon: int, why: int, trigger: int) -> bool:
    """Does with an answer what the rule was fired for; False when there is no room."""
    if store.scalars[HELD] == MOST_HELD and not lift_held(table, store):
        return False
    relation, columns, timed = table[step + 1], table[step + 2], table[step + 3]
    _conclude(table, store, step)
    if timed:
        tick = store.scratch[TUPLE + columns - 1]
        if tick & 3 != 1 or (tick >> 2) < store.scalars[FIRST]:
            return True
        if why == GROW and (tick >> 2) > horizon:
            # Another variant of the rule may have found the same, and it may be kept back.
            if not lift_held(table, store):
                return False
            _conclude(table, store, step)
            row = find(table, store, relation)
            table[step + 5 + 2 * columns] += row < 0 or store.words[row] < store.scalars[NOW]
    if why == GROW:
        _hold(table, store, relation, columns, horizon)
        return True
    if why == REDERIVE:
        for column in range(columns):
            if store.words[trigger + COLUMNS + column] != store.scratch[TUPLE + column]:
                return True
        store.scalars[BEST] = max(store.scalars[BEST], horizon)
        return True
    row = find(table, store, relation)
    if row >= 0 and store.words[row] >= store.scalars[NOW] and horizon >= store.words[row]:
        if not has_room(table, store):
            return False
        lower(table, store, row)
    return True


@kernel
def _answer(table: Any, number: int) -> int:
    """Where an answer that was kept back stands; each has as much room as a row without its links."""
    return ANSWERS + number * table[TABLE_LINKS]


@kernel
def _hold(table: Any, store: Store, relation: int, columns: int, horizon: int) -> None:
    """Keeps the answer at TUPLE back for a while, so that its chain has been fetched when it is lifted."""
    scalars = store.scalars
    answer = _answer(table, scalars[HELD])
    store.scratch[answer] = relation
    store.scratch[answer + 1] = horizon
    store.scratch[answer + 2] = foresee(table, store, relation, store.scratch, TUPLE)
    for column in range(columns):
        store.scratch[answer + COLUMNS + column] = store.scratch[TUPLE + column]
    scalars[HELD] += 1


@kernel
def lift_held(table: Any, store: Store) -> bool:
    """Lifts the answers that were kept back; False when there is no room."""
    scalars = store.scalars
    if scalars[LIFTED] == 0:
        for number in range(scalars[HELD]):
            row = store.heads[store.scratch[_answer(table, number) + 2]]
            if row >= 0:
                prefetch(store.words, row)
    while scalars[LIFTED] < scalars[HELD]:
        answer = _answer(table, scalars[LIFTED])
        relation = store.scratch[answer]
        for column in range(table[record(table, relation) + ARITY]):
            store.scratch[TUPLE + column] = store.scratch[answer + COLUMNS + column]
        if lift(table, store, relation, store.scratch[answer + 1]) < 0:
            return False
        scalars[LIFTED] += 1
    scalars[LIFTED] = scalars[HELD] = 0
    return True


@kernel
def _absent(table: Any, store: Store, step: int) -> bool:
    for column in range(table[step + 2]):
        store.scratch[TUPLE + column] = _operand(table, store, step + 3 + 2 * column)
    row = find(table, store, table[step + 1])
    return row < 0 or store.words[row] < store.scalars[NOW]


@kernel
def fire(table: Any, store: Store, variant: int, trigger: int, why: int, horizon: int) -> bool:
    """Runs one variant of a rule from one row; False when there is no room (nothing is lost by running it again).

    Where it runs out of steps, or needs the result of a call, it notes where it was and goes on from there when it is
    run again: one row may have more answers than a pause can wait for.
    """
    scratch, now = store.scratch, store.scalars[NOW]
    columns = table[variant]
    step = variant + 1 + 2 * columns
    depth, steps = 0, store.scalars[STEPS]
    store.scalars[FIRING] = variant
    backtrack = store.scalars[PAUSED] == variant
    if backtrack:
        depth = store.scalars[DEPTH]
        store.scalars[PAUSED] = -1
        if store.scalars[RESUMED] >= 0:
            step, horizon = store.scalars[RESUMED], store.scalars[HORIZON]
            backtrack = False
    elif not _fits(table, store, trigger, variant + 1, columns):
        return True
    while True:
        while not backtrack:
            code = table[step]
            if code == STEP_PROBE:
                keys = table[step + 3]
                for position in range(keys):
                    scratch[KEY + position] = _operand(table, store, step + 5 + 2 * position)
                frame = STACK + FRAME * depth
                depth += 1
                scratch[frame] = step
                scratch[frame + 1] = store.heads[chain(store, table[step + 1], table[step + 2], keys)]
                scratch[frame + 2] = horizon
                backtrack = True
            elif code == STEP_TEST:
                left, right = _operand(table, store, step + 2), _operand(table, store, step + 4)
                outcome = _test(table, store, step, left, right)
                if outcome == HOLDS:
                    step += 8
                elif outcome == UNDECIDED:
                    store.scalars[STEPS] = steps
                    return _interrupt(store, variant, depth, step, horizon, NEEDS_RESULT)
                else:
                    backtrack = True
            elif code == STEP_CALCULATE:
                left, right = _operand(table, store, step + 3), _operand(table, store, step + 5)
                word = calculate(table[step + 2], _value(store, left), _value(store, right))
                scratch[table[step + 1]] = word
                if word == NO_VALUE:
                    backtrack = True
                else:
                    step += 7
            elif code == STEP_CALL:
                left, right = _operand(table, store, step + 3), _operand(table, store, step + 5)
                place = called(store, table[step + 2], left, right)
                if place < 0:
                    store.scalars[STEPS] = steps
                    return _interrupt(store, variant, depth, step, horizon, NEEDS_RESULT)
                scratch[table[step + 1]] = store.memo[place]
                if store.memo[place] == NO_VALUE:
                    backtrack = True
                else:
                    step += 7
            elif code == STEP_MOVE:
                scratch[table[step + 1]] = _operand(table, store, step + 2)
                step += 4
            elif code == STEP_ABSENT:
                # Taking back must find every answer that may have rested on the old state, so it ignores negation.
                if why == DELETE or _absent(table, store, step):
                    step += 3 + 2 * table[step + 2]
                else:
                    backtrack = True
            elif code in (STEP_CLIP, STEP_HOP):
                # The last word is how far apart hops are, or by how many ticks a row is shown later.
                tick, size, hop = scratch[table[step + 1]] >> 2, table[step + 2], table[step + 3]
                start, end = tick + hop, min(tick + size, FOREVER)
                if code == STEP_HOP:
                    start = -((-tick) // hop) * hop
                    last = (tick + size) // hop * hop
                    end = last + hop - 1 if last >= start else NEVER
                if end < now:
                    backtrack = True
                elif start > now:
                    if why == GROW and not wake(table, store, trigger, start):
                        store.scalars[STEPS] = steps
                        return False
                    backtrack = True
                else:
                    horizon = min(horizon, end)
                    step += 4
            elif code == STEP_EXTEND:
                horizon = min(horizon + table[step + 1], FOREVER)
                step += 2
            else:
                if not _emit(table, store, step, horizon, why, trigger):
                    store.scalars[STEPS] = steps
                    return False
                # The head was complete before these look-ups, which have found as much as there was to hope for.
                while why == GROW and depth > table[step + 4] and scratch[STACK + FRAME * (depth - 1) + 2] == horizon:
                    depth -= 1
                backtrack = True
        while backtrack:
            if depth == 0:
                store.scalars[STEPS] = steps
                return True
            frame = STACK + FRAME * (depth - 1)
            probe, row, before = scratch[frame], scratch[frame + 1], scratch[frame + 2]
            relation, slot, keys, wide = table[probe + 1], table[probe + 2], table[probe + 3], table[probe + 4]
            after = probe + 5 + 2 * keys
            link = 2 * (table[TABLE_LINKS] + slot)
            while row >= 0:
                if steps <= 0:
                    scratch[frame + 1] = row
                    return _interrupt(store, variant, depth, -1, horizon, NEEDS_PAUSE)
                steps -= 1
                following = store.halves[2 * row + link]
                if store.halves[2 * row + RELATION] == relation:
                    until = store.words[row]
                    if why == DELETE and store.halves[2 * row + FLAG] & LOWERED:
                        until = FOREVER
                    if until >= now and _fits(table, store, row, after, wide):
                        scratch[frame + 1] = following
                        horizon = min(before, until)
                        step = after + 2 * wide
                        backtrack = False
                        break
                row = following
            if backtrack:
                depth -= 1


@kernel
def foresee_probe(table: Any, store: Store, variant: int, trigger: int, near: bool) -> None:
    """Fetches the chain that a rule is soon to look into first."""
    columns = table[variant]
    step = variant + 1 + 2 * columns
    if table[step] == STEP_PROBE and _fits(table, store, trigger, variant + 1, columns):
        keys = table[step + 3]
        for position in range(keys):
            store.scratch[KEY + position] = _operand(table, store, step + 5 + 2 * position)
        place = chain(store, table[step + 1], table[step + 2], keys)
        if near:
            row = store.heads[place]
            if row >= 0:
                prefetch(store.words, row)
        else:
            prefetch(store.heads, place)


# Counting the ticks of a window -------------------------------------------------------------------------------------


@kernel
def _complete(table: Any, store: Store, count: int, ticks: int) -> int:
    """Until when `always` holds for the fact at TUPLE if `ticks` ticks of it are there; NEVER if it does not."""
    now, first = store.scalars[NOW], store.scalars[FIRST]
    kind, size, hop = table[count + 4], table[count + 5], table[count + 6]
    if kind == COUNT_TIME:
        return now if ticks == min(size, now - first) + 1 else NEVER
    if kind != COUNT_HOP:
        return now if ticks == now - store.scalars[table[TABLE_TUPLES] + size] + 1 else NEVER
    end = now // hop * hop
    start = max(first, end - size)
    if end < first or ticks != end - start + 1:
        return NEVER
    until = end + hop - 1
    source = table[count + 1]
    place = table[record(table, source) + ARITY] - 1
    for tick in range(start, end + 1):
        store.scratch[TUPLE + place] = (tick << 2) | 1
        row = find(table, store, source)
        if row < 0:
            return NEVER
        until = min(until, store.words[row])
    return until if until >= now else NEVER


@kernel
def _counted(table: Any, store: Store, count: int) -> int:
    """How many ticks of the fact at TUPLE are there."""
    counter = find(table, store, table[count])
    if counter < 0:
        return 0
    return store.words[counter + COLUMNS + table[record(table, table[count]) + ARITY]]


@kernel
def count_up(table: Any, store: Store, count: int, row: int) -> bool:
    """Counts a row (X,U) once, and lifts X when its window is complete; False when there is no room."""
    counter_relation = table[count]
    arity = table[record(table, counter_relation) + ARITY]
    for column in range(arity):
        store.scratch[TUPLE + column] = store.words[row + COLUMNS + column]
    if not store.halves[2 * row + FLAG] & COUNTED:
        existing = find(table, store, counter_relation)
        counter = lift(table, store, counter_relation, FOREVER)
        if counter < 0:
            return False
        place = counter + COLUMNS + arity
        store.words[place] = 1 if existing < 0 else store.words[place] + 1
        store.halves[2 * row + FLAG] |= COUNTED
    until = _complete(table, store, count, _counted(table, store, count))
    return until == NEVER or lift(table, store, table[count + 2], until) >= 0


@kernel
def uncomplete(table: Any, store: Store, count: int, row: int) -> bool:
    """Takes X back because a row (X,U) was; False when there is no room."""
    target = table[count + 2]
    for column in range(table[record(table, target) + ARITY]):
        store.scratch[TUPLE + column] = store.words[row + COLUMNS + column]
    target_row = find(table, store, target)
    if target_row >= 0 and store.words[target_row] >= store.scalars[NOW]:
        if not has_room(table, store):
            return False
        lower(table, store, target_row)
    return True


@kernel
def recount(table: Any, store: Store, count: int, row: int) -> None:
    """Notes until when `always` holds for a row that was taken back."""
    for column in range(table[record(table, table[count + 2]) + ARITY]):
        store.scratch[TUPLE + column] = store.words[row + COLUMNS + column]
    store.scalars[BEST] = max(store.scalars[BEST], _complete(table, store, count, _counted(table, store, count)))
