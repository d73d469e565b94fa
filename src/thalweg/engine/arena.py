"""Kernels for the arena: rows, their indexes and the calendar of their ends.

Nothing here knows a rule. A function that may run out of room asks `has_room` first and changes nothing if it has
none; the caller comes back to Python, which enlarges the arrays, and is called again.
"""

from typing import Any

from thalweg.engine.compiled import entry, kernel
from thalweg.engine.layout import (
    ARITY,
    BEGUN,
    BORN,
    CHAINS,
    COLUMNS,
    COUNTED,
    COUNTS_INTO,
    DEAD,
    DIED,
    EARLIER,
    ENDED,
    ENTRIES,
    EXPIRING,
    FIRST_CHAIN,
    FLAG,
    FLAGS,
    FREE,
    HEAP,
    HEAP_LENGTH,
    HIGH,
    IN_CALENDAR,
    IN_EXPIRING,
    INDEX,
    INDEXES,
    IS_CONSUMED,
    IS_COUNTER,
    IS_LASTING,
    IS_OUTPUT,
    IS_WATCHED,
    KEY,
    LATER,
    LENGTHS,
    LIST_LENGTH,
    LISTS,
    LIVE,
    LOG,
    LOW,
    LOWERED,
    NEED,
    NEEDS_HEADS,
    NEEDS_HEAP,
    NEEDS_LISTS,
    NEEDS_PAUSE,
    NEEDS_ROWS,
    NOW,
    QUEUED,
    RAISED,
    RECORD,
    RELATION,
    RELEASED,
    ROWS,
    SLOT_COLUMNS,
    SLOTS,
    STEPS,
    STRIDE,
    TABLE_BUCKET,
    TABLE_CHUNK,
    TABLE_HEAD,
    TABLE_LINKS,
    TABLE_SLOTS,
    TABLE_WAKE,
    TUPLE,
    Store,
    view,
    words_at,
)
from thalweg.engine.pointers import prefetch
from thalweg.model.time import FOREVER, NEVER

_FACTOR = -7046029254386353131
_SPARE_ROWS = 4
_SPARE_ENTRIES = 4
AHEAD = 12


@kernel
def record(table: Any, relation: int) -> int:
    return TABLE_HEAD + relation * RECORD


@kernel
def _mix(code: int, word: int) -> int:
    code = (code ^ word) * _FACTOR
    return code ^ (code >> 31)


@kernel
def _head(store: Store, slot: int, code: int) -> int:
    """Where the chain of a hash code starts."""
    at = INDEXES + INDEX * slot
    return store.scalars[at + FIRST_CHAIN] + (code & (store.scalars[at + CHAINS] - 1))


@kernel
def has_room(table: Any, store: Store) -> bool:
    """Whether a row, its ring and its entries in every list can be added; says what is missing otherwise."""
    scalars = store.scalars
    if scalars[LIVE] + _SPARE_ROWS > scalars[ROWS]:
        scalars[NEED] = NEEDS_ROWS
    elif scalars[HEAP_LENGTH] + _SPARE_ENTRIES > scalars[HEAP]:
        scalars[NEED] = NEEDS_HEAP
    else:
        for slot in range(table[TABLE_SLOTS]):
            at = INDEXES + INDEX * slot
            if scalars[at + ENTRIES] + _SPARE_ROWS > scalars[at + CHAINS]:
                scalars[NEED] = NEEDS_HEADS
                return False
        limit = scalars[LIST_LENGTH] - _SPARE_ENTRIES
        for number in range(LISTS):
            if scalars[LENGTHS + number] > limit:
                scalars[NEED] = NEEDS_LISTS
                return False
        return True
    return False


@kernel
def take_step(store: Store) -> bool:
    """Counts a step; False when there are none left, and it is time to let Python look around."""
    store.scalars[STEPS] -= 1
    if store.scalars[STEPS] >= 0:
        return True
    store.scalars[NEED] = NEEDS_PAUSE
    return False


@kernel
def append(store: Store, list_number: int, row: int) -> None:
    length = store.scalars[LENGTHS + list_number]
    store.lists[list_number * store.scalars[LIST_LENGTH] + length] = row
    store.scalars[LENGTHS + list_number] = length + 1


@kernel
def listed(store: Store, list_number: int, place: int) -> int:
    return store.lists[list_number * store.scalars[LIST_LENGTH] + place]


# Rows and indexes ---------------------------------------------------------------------------------------------------


@kernel
def _take_row(store: Store) -> int:
    scalars = store.scalars
    row = scalars[FREE]
    if row >= 0:
        scalars[FREE] = store.halves[2 * row + LATER]
    else:
        row = scalars[HIGH]
        scalars[HIGH] = row + scalars[STRIDE]
    scalars[LIVE] += 1
    store.halves[2 * row + FLAG] = 0
    return row


@kernel
def _link(table: Any, store: Store, row: int) -> None:
    relation = store.halves[2 * row + RELATION]
    at = record(table, relation)
    for slot in range(table[at + SLOTS]):
        columns = table[table[at + SLOT_COLUMNS] + slot]
        code = relation
        for position in range(table[columns]):
            code = _mix(code, store.words[row + COLUMNS + table[columns + 1 + position]])
        head = _head(store, slot, code)
        store.scalars[INDEXES + INDEX * slot + ENTRIES] += 1
        link = 2 * (table[TABLE_LINKS] + slot)
        first = store.heads[head]
        store.halves[2 * row + link] = first
        store.halves[2 * row + link + 1] = ~head
        if first >= 0:
            store.halves[2 * first + link + 1] = row
        store.heads[head] = row


@kernel
def _unlink(table: Any, store: Store, row: int) -> None:
    at = record(table, store.halves[2 * row + RELATION])
    for slot in range(table[at + SLOTS]):
        link = 2 * (table[TABLE_LINKS] + slot)
        after, before = store.halves[2 * row + link], store.halves[2 * row + link + 1]
        if before >= 0:
            store.halves[2 * before + link] = after
        else:
            store.heads[~before] = after
        if after >= 0:
            store.halves[2 * after + link + 1] = before
        store.scalars[INDEXES + INDEX * slot + ENTRIES] -= 1


@entry
def relink(table_words: Any, scalars: Any, first: int, last: int) -> None:
    """Fills a hash table without entries with the rows that live, from the row `first` up to the row `last`."""
    table, store = words_at(table_words), view(scalars)
    for row in range(first, last, store.scalars[STRIDE]):
        if store.halves[2 * row + RELATION] >= 0:
            _link(table, store, row)


@kernel
def release(table: Any, store: Store, row: int) -> None:
    """Gives a row back."""
    _unlink(table, store, row)
    if store.halves[2 * row + FLAG] & IN_CALENDAR:
        _leave_calendar(table, store, row)
    _give_back(store, row)


@kernel
def _give_back(store: Store, row: int) -> None:
    store.halves[2 * row + RELATION] = -1
    store.words[row] = NEVER
    store.halves[2 * row + FLAG] = 0
    store.halves[2 * row + LATER] = store.scalars[FREE]
    store.scalars[FREE] = row
    store.scalars[LIVE] -= 1


@kernel
def _foresee_release(table: Any, store: Store, row: int) -> None:
    """Fetches the neighbours of a row that is soon to be given back."""
    at = record(table, store.halves[2 * row + RELATION])
    for slot in range(table[at + SLOTS]):
        link = 2 * (table[TABLE_LINKS] + slot)
        after, before = store.halves[2 * row + link], store.halves[2 * row + link + 1]
        if before >= 0:
            prefetch(store.words, before + table[TABLE_LINKS])
        else:
            prefetch(store.heads, ~before)
        if after >= 0:
            prefetch(store.words, after + table[TABLE_LINKS])


@kernel
def foresee(table: Any, store: Store, relation: int, words: Any, place: int) -> int:
    """Fetches the heads of the chains that a row is soon to be looked up in; which is the first of them."""
    at = record(table, relation)
    first = 0
    for slot in range(table[at + SLOTS]):
        columns = table[table[at + SLOT_COLUMNS] + slot]
        code = relation
        for position in range(table[columns]):
            code = _mix(code, words[place + table[columns + 1 + position]])
        head = _head(store, slot, code)
        prefetch(store.heads, head)
        if slot == 0:
            first = head
    return first


@kernel
def chain(store: Store, relation: int, slot: int, keys: int) -> int:
    """Where the chain starts in which the rows stand whose columns of an index are the words at KEY."""
    code = relation
    for position in range(keys):
        code = _mix(code, store.scratch[KEY + position])
    return _head(store, slot, code)


@kernel
def find(table: Any, store: Store, relation: int) -> int:
    """The row of the words at TUPLE, or -1."""
    arity = table[record(table, relation) + ARITY]
    code = relation
    for column in range(arity):
        code = _mix(code, store.scratch[TUPLE + column])
    link = 2 * table[TABLE_LINKS]
    row = store.heads[_head(store, 0, code)]
    while row >= 0:
        if store.halves[2 * row + RELATION] == relation:
            same = True
            for column in range(arity):
                if store.words[row + COLUMNS + column] != store.scratch[TUPLE + column]:
                    same = False
                    break
            if same:
                return row
        row = store.halves[2 * row + link]
    return -1


@entry
def mentioning(table_words: Any, scalars: Any, indexes: Any, words: Any, matches: Any) -> int:
    """Counts the rows that hold now and contain one of some words, and writes as many as fit to `matches`.

    `indexes` has for each column to be looked at the relation of the rows, a relation that has copies of all of them,
    the column, and the number of the index of that other relation by that column alone.
    """
    table, store = words_at(table_words), view(scalars)
    count = 0
    for position in range(len(words)):
        for index in range(len(indexes)):
            relation, copies, column, slot = indexes[index]
            store.scratch[KEY] = words[position]
            link = 2 * (table[TABLE_LINKS] + slot)
            copy = store.heads[chain(store, copies, slot, 1)]
            while copy >= 0:
                if (
                    store.halves[2 * copy + RELATION] == copies
                    and store.words[copy + COLUMNS + column] == words[position]
                ):
                    for place in range(table[record(table, relation) + ARITY]):
                        store.scratch[TUPLE + place] = store.words[copy + COLUMNS + place]
                    row = find(table, store, relation)
                    if row >= 0 and store.words[row] >= store.scalars[NOW]:
                        if count < len(matches):
                            matches[count] = row
                        count += 1
                copy = store.halves[2 * copy + link]
    return count


# The calendar: a heap of ticks, and for each a bucket: a header and chunks of the rows to look at then ---------------


@kernel
def _push_tick(store: Store, tick: int) -> None:
    heap = store.heap
    place = store.scalars[HEAP_LENGTH]
    store.scalars[HEAP_LENGTH] = place + 1
    while place > 0:
        parent = (place - 1) >> 1
        if heap[parent] <= tick:
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = tick


@kernel
def _pop_tick(store: Store) -> None:
    heap = store.heap
    length = store.scalars[HEAP_LENGTH] - 1
    store.scalars[HEAP_LENGTH] = length
    moved = heap[length]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= length:
            break
        if child + 1 < length and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= moved:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = moved


@kernel
def _bucket(table: Any, store: Store, tick: int) -> int:
    """The header of a tick's ring, or -1."""
    relation = table[TABLE_BUCKET]
    link = 2 * table[TABLE_LINKS]
    row = store.heads[_head(store, 0, _mix(relation, tick))]
    while row >= 0:
        if store.halves[2 * row + RELATION] == relation and store.words[row + COLUMNS] == tick:
            return row
        row = store.halves[2 * row + link]
    return -1


@kernel
def _room_in_chunk(store: Store) -> int:
    return 2 * (store.scalars[STRIDE] - COLUMNS)


@kernel
def _new_chunk(table: Any, store: Store, header: int) -> int:
    """An empty chunk in front of a bucket's others."""
    chunk = _take_row(store)
    store.halves[2 * chunk + RELATION] = table[TABLE_CHUNK]
    store.words[chunk] = FOREVER
    store.halves[2 * chunk + LATER] = store.halves[2 * header + LATER]
    store.halves[2 * chunk + EARLIER] = header
    store.halves[2 * header + LATER] = chunk
    return chunk


@kernel
def schedule(table: Any, store: Store, row: int, tick: int) -> None:
    """Has the row looked at when `tick` begins."""
    header = _bucket(table, store, tick)
    if header < 0:
        header = _take_row(store)
        store.halves[2 * header + RELATION] = table[TABLE_BUCKET]
        store.words[header] = FOREVER
        store.words[header + COLUMNS] = tick
        store.halves[2 * header + LATER] = -1
        _link(table, store, header)
        _push_tick(store, tick)
    chunk = store.halves[2 * header + LATER]
    if chunk < 0 or store.halves[2 * chunk + FLAG] == _room_in_chunk(store):
        chunk = _new_chunk(table, store, header)
    place = store.halves[2 * chunk + FLAG]
    store.halves[2 * chunk + FLAG] = place + 1
    store.halves[2 * (chunk + COLUMNS) + place] = row
    store.halves[2 * row + LATER] = place
    store.halves[2 * row + EARLIER] = chunk
    store.halves[2 * row + FLAG] |= IN_CALENDAR


@kernel
def _take_last(table: Any, store: Store, header: int) -> int:
    """Takes the last row out of a bucket that has one."""
    chunk = store.halves[2 * header + LATER]
    place = store.halves[2 * chunk + FLAG] - 1
    row = store.halves[2 * (chunk + COLUMNS) + place]
    store.halves[2 * chunk + FLAG] = place
    store.halves[2 * row + FLAG] &= ~IN_CALENDAR
    if place == 0:
        store.halves[2 * header + LATER] = store.halves[2 * chunk + LATER]
        _give_back(store, chunk)
    return row


@kernel
def _leave_calendar(table: Any, store: Store, row: int) -> None:
    """Takes a row out of its bucket; the bucket's last row fills the hole."""
    chunk, place = store.halves[2 * row + EARLIER], store.halves[2 * row + LATER]
    last = _take_last(table, store, store.halves[2 * chunk + EARLIER])
    if last != row:
        store.halves[2 * (chunk + COLUMNS) + place] = last
        store.halves[2 * last + EARLIER] = chunk
        store.halves[2 * last + LATER] = place
        store.halves[2 * last + FLAG] |= IN_CALENDAR
        store.halves[2 * row + FLAG] &= ~IN_CALENDAR


@kernel
def _foresee_chunk(store: Store, chunk: int) -> None:
    """Fetches the rows of a chunk, and the chunk after it."""
    if chunk >= 0:
        for place in range(store.halves[2 * chunk + FLAG]):
            prefetch(store.words, store.halves[2 * (chunk + COLUMNS) + place])
        following = store.halves[2 * chunk + LATER]
        if following >= 0:
            prefetch(store.words, following)


@kernel
def reschedule(table: Any, store: Store, row: int) -> None:
    """Moves a row whose horizon has come nearer."""
    if store.halves[2 * row + FLAG] & IN_CALENDAR:
        _leave_calendar(table, store, row)
    if store.words[row] < FOREVER and not store.halves[2 * row + FLAG] & IN_EXPIRING:
        schedule(table, store, row, store.words[row] + 1)


@kernel
def wake(table: Any, store: Store, row: int, tick: int) -> bool:
    """Has the row fire its rules again when `tick` begins; False when there is no room."""
    if not has_room(table, store):
        return False
    proxy = _take_row(store)
    store.halves[2 * proxy + RELATION] = table[TABLE_WAKE]
    store.words[proxy] = NEVER
    store.words[proxy + COLUMNS] = row
    schedule(table, store, proxy, tick)
    return True


@kernel
def begin(table: Any, store: Store, tick: int) -> bool:
    """Starts a tick: frees what died in the last one and collects what may end; False when it must be called again."""
    scalars = store.scalars
    if scalars[NOW] != tick:
        for place in range(scalars[LENGTHS + LOW]):
            row = listed(store, LOW, place)
            if row >= 0:
                store.halves[2 * row + FLAG] &= ~LOWERED
        scalars[LENGTHS + LOW] = 0
        while scalars[RELEASED] < scalars[LENGTHS + DIED]:
            if not take_step(store):
                return False
            place = scalars[RELEASED]
            scalars[RELEASED] = place + 1
            if place + AHEAD < scalars[LENGTHS + DIED]:
                _foresee_release(table, store, listed(store, DIED, place + AHEAD))
            row = listed(store, DIED, place)
            at = record(table, store.halves[2 * row + RELATION])
            if table[at + FLAGS] & IS_COUNTER:
                stays = store.words[row + COLUMNS + table[at + ARITY]] > 0
            else:
                # What ended while a tick was looked at may have come back before it was over.
                stays = store.words[row] >= scalars[NOW]
            if stays:
                store.halves[2 * row + FLAG] &= ~DEAD
            else:
                release(table, store, row)
        scalars[RELEASED] = 0
        for list_number in range(LISTS):
            scalars[LENGTHS + list_number] = 0
        scalars[NOW] = tick
    while scalars[HEAP_LENGTH] > 0 and store.heap[0] <= tick:
        header = _bucket(table, store, store.heap[0])
        ahead = chunk = store.halves[2 * header + LATER]
        _foresee_chunk(store, chunk)
        while chunk >= 0:
            if not take_step(store) or not has_room(table, store):
                return False
            if chunk == ahead:
                ahead = store.halves[2 * chunk + LATER]
                _foresee_chunk(store, ahead)
            row = _take_last(table, store, header)
            chunk = store.halves[2 * header + LATER]
            if store.halves[2 * row + RELATION] == table[TABLE_WAKE]:
                target = store.words[row + COLUMNS]
                release(table, store, row)
                enqueue(table, store, target)
            elif store.words[row] >= tick:
                reschedule(table, store, row)
            else:
                store.halves[2 * row + FLAG] |= IN_EXPIRING
                append(store, EXPIRING, row)
                uncount(table, store, row)
        release(table, store, header)
        _pop_tick(store)
    return True


# Horizons -----------------------------------------------------------------------------------------------------------


@kernel
def enqueue(table: Any, store: Store, row: int) -> None:
    """Has the rules see the row, once."""
    relation = store.halves[2 * row + RELATION]
    if relation < 0 or store.words[row] < store.scalars[NOW] or store.halves[2 * row + FLAG] & QUEUED:
        return
    if table[record(table, relation) + FLAGS] & IS_CONSUMED:
        store.halves[2 * row + FLAG] |= QUEUED
        append(store, LOG, row)


@kernel
def lift(table: Any, store: Store, relation: int, horizon: int) -> int:
    """Guarantees the fact at TUPLE until `horizon`; its row, or -1 when there is no room."""
    row = find(table, store, relation)
    if row >= 0 and horizon <= store.words[row]:
        return row
    if not has_room(table, store):
        return -1
    if row >= 0:
        raise_row(table, store, row, horizon)
        return row
    row = _take_row(store)
    at = record(table, relation)
    for column in range(table[at + ARITY]):
        store.words[row + COLUMNS + column] = store.scratch[TUPLE + column]
    store.halves[2 * row + RELATION] = relation
    store.words[row] = horizon
    _link(table, store, row)
    if horizon < FOREVER:
        schedule(table, store, row, horizon + 1)
    flags = table[at + FLAGS]
    if flags & IS_WATCHED:
        append(store, BORN, row)
    if flags & IS_OUTPUT:
        append(store, BEGUN, row)
    if flags & IS_LASTING:
        append(store, RAISED, row)
    enqueue(table, store, row)
    return row


@kernel
def raise_row(table: Any, store: Store, row: int, horizon: int) -> None:
    """A longer guarantee for a row that exists. The calendar finds out when it comes to the row."""
    store.words[row] = horizon
    if horizon < FOREVER and not store.halves[2 * row + FLAG] & (IN_CALENDAR | IN_EXPIRING):
        schedule(table, store, row, horizon + 1)
    if table[record(table, store.halves[2 * row + RELATION]) + FLAGS] & IS_LASTING:
        append(store, RAISED, row)
    enqueue(table, store, row)


@kernel
def lower(table: Any, store: Store, row: int) -> None:
    """Takes a guarantee back; whether anything remains of it is found out by deriving the row again."""
    store.olds[store.scalars[LENGTHS + LOW]] = store.words[row]
    append(store, LOW, row)
    store.words[row] = NEVER
    store.halves[2 * row + FLAG] |= LOWERED
    uncount(table, store, row)


@kernel
def uncount(table: Any, store: Store, row: int) -> None:
    """One tick less for the counter that the row was counted in."""
    if not store.halves[2 * row + FLAG] & COUNTED:
        return
    store.halves[2 * row + FLAG] &= ~COUNTED
    at = record(table, store.halves[2 * row + RELATION])
    counter_relation = table[table[at + COUNTS_INTO]]
    for column in range(table[at + ARITY] - 1):
        store.scratch[TUPLE + column] = store.words[row + COLUMNS + column]
    counter = find(table, store, counter_relation)
    place = counter + COLUMNS + table[at + ARITY] - 1
    store.words[place] -= 1
    if store.words[place] == 0 and not store.halves[2 * counter + FLAG] & DEAD:
        store.halves[2 * counter + FLAG] |= DEAD
        append(store, DIED, counter)


@kernel
def die(table: Any, store: Store, row: int) -> None:
    """The row does not hold any more; its place is given back when the next tick begins."""
    store.halves[2 * row + FLAG] |= DEAD
    append(store, DIED, row)
    if table[record(table, store.halves[2 * row + RELATION]) + FLAGS] & IS_OUTPUT:
        append(store, ENDED, row)
