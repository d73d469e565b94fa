"""Saving and restoring an engine, as Arrow; and shedding facts, which is restoring less.

The state is what the windows still need: the rows that were fed, each with its horizon, and the contents of the tuple
windows. Everything derived is derived again from them in one evaluation, so a restore costs what replaying the windows
costs, and the answers after it are those of an engine that never stopped.

Over a memory budget the oldest facts are shed. Each memory that lost rows is remembered with the greatest horizon
among them: up to that tick it lacks something. While it does, the engine works with a plan that draws no conclusion
from what is missing (`planning/withhold.py`), and with the whole plan again from the tick on at which nothing is
missed any more. So all that is output is true. What was output and can no longer be derived, and what ends while
another derivation of it may be missing, becomes *unknown*; when it is known again and holds, it begins again.

Some rows are never shed. Runs, clocks and links are few, and would make much unknown. A tuple window holds as many
facts as its program says, and only as many new ones would make it whole again. What stays for ever would be missing
for ever.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thalweg.engine.feeds import Feeds
from thalweg.engine.layout import FEED_FOREVER, FEED_SEEN, FIRST
from thalweg.engine.memory import ROOM
from thalweg.engine.tuples import Arrival
from thalweg.ir.fingerprint import fingerprint
from thalweg.model.arrow import Lists, decode, encode, recoded
from thalweg.model.predicate import Predicate
from thalweg.model.time import FOREVER

if TYPE_CHECKING:
    from thalweg.engine.engine import Change, Engine

Words = NDArray[np.int64]


class MismatchError(ValueError):
    """A saved state belongs to another program."""


@dataclass(slots=True)
class Memory:
    """The rows of one memory, their horizons, and where it keeps runs, the first tick of each."""

    rows: Words
    until: Words
    start: Words

    def kept(self, which: NDArray[np.bool_]) -> "Memory":
        return Memory(self.rows[which], self.until[which], self.start[which])


@dataclass(slots=True)
class State:
    """What an engine must know to go on, in the words of its dictionary."""

    first: int
    now: int
    memories: dict[str, Memory] = field(default_factory=dict)
    windows: list[tuple[int, list[Arrival]]] = field(default_factory=list)


def save(engine: "Engine") -> State:
    """What the windows still need."""
    assert engine.first is not None
    assert engine.now is not None
    state = State(engine.first, engine.now)
    arrays, runs = engine.arrays, _runs(engine)
    for number in sorted(_fed(engine)):
        relation = engine.plan.relations[number]
        found = np.flatnonzero((arrays.relations == number) & (arrays.horizons >= engine.now))
        rows = arrays.columns[found]
        start = rows[:, relation.arity] if number in runs else np.zeros(len(found), dtype=np.int64)
        state.memories[relation.name] = Memory(rows[:, : relation.arity], arrays.horizons[found], start)
    state.windows = [(window.total, list(window.inside)) for window in engine.tuples]
    return state


def _runs(engine: "Engine") -> set[int]:
    return {feed.relation.number for feeds in engine.plan.feeds.values() for feed in feeds if feed.kind == "run"}


def _fed(engine: "Engine") -> set[int]:
    """The relations whose rows come from outside; what holds for ever is fed again at the start."""
    plan = engine.plan
    fed = [feed.relation for feeds in plan.feeds.values() for feed in feeds]
    fed += [feed.target for feeds in plan.feeds.values() for feed in feeds if feed.target is not None]
    fed += [*plan.clocks.values(), *plan.beats.values(), *plan.given.values()]
    fed += [plan.links] if plan.links else []
    fed += [relation for feed in plan.tuples for relation in feed.relations.values()]
    fed += [feed.ticks for feed in plan.tuples if feed.ticks is not None]
    return {relation.number for relation in fed}


def load(engine: "Engine", state: State) -> None:
    """Brings an engine without history to a saved state."""
    engine.first, engine.now = state.first, state.now
    engine.arrays.scalars[FIRST] = state.first
    for number, (window, (total, inside)) in enumerate(zip(engine.tuples, state.windows, strict=True)):
        window.total, window.inside = total, deque(inside)
        engine.arrays.scalars[engine.table.tuple_starts + number] = window.start(state.first)
    feeds = Feeds()
    engine.feed_background(feeds)
    for name, memory in state.memories.items():
        relation = engine.plan.memories[name]
        # One feed for each horizon: rows of one feed share theirs.
        order = np.argsort(memory.until, kind="stable")
        ends, starts = np.unique(memory.until[order], return_index=True)
        for until, part in zip(ends.tolist(), np.split(order, starts[1:]), strict=False):
            rows = memory.rows[part]
            kind = FEED_FOREVER if until >= FOREVER else FEED_SEEN
            index = np.array([(kind, relation.number, until - state.now, -1, 0, 0, relation.arity)])
            feeds.put(index, rows.reshape(-1), len(rows))
    engine.evaluate(state.now, *feeds.arrays())
    if engine.equals is not None:
        engine.equals.resume(state.now)
    for number in _runs(engine):
        _set_starts(engine, number, state.memories[engine.plan.relations[number].name])


def _set_starts(engine: "Engine", number: int, memory: Memory) -> None:
    """Gives the runs back the ticks at which they began: the same rows, brought into the same order."""
    arity, columns = engine.plan.relations[number].arity, engine.arrays.columns
    found = np.flatnonzero(engine.arrays.relations == number)
    if arity == 0:
        columns[found, 0] = memory.start
        return
    places, rows = np.lexsort(columns[found, :arity].T), np.lexsort(memory.rows.T)
    columns[found[places], arity] = memory.start[rows]


def rebuild(engine: "Engine") -> None:
    """Makes the plan anew, because a derived predicate turned out to be streamed, and keeps the state."""
    engine.spell_changes()
    state = save(engine)
    engine.prepare()
    load(engine, state)


def settle(engine: "Engine", changes: "list[Change]") -> None:
    """Plans again where relations have become complete, or incomplete, by the tick that has been evaluated."""
    assert engine.now is not None
    engine.lacking = {name: until for name, until in engine.lacking.items() if until >= engine.now}
    engine.weigh()
    if engine.incomplete != engine.withheld:
        before, state = engine.standing(), save(engine)
        _plan_again(engine, state)
        engine.tell(before, changes)


def _plan_again(engine: "Engine", state: State) -> None:
    """Brings the engine to a state with a plan for what is incomplete now.

    Without its budget, which is held when the tick is over: until then, terms count that nothing uses any more.
    """
    budget, engine.memory = engine.memory, None
    try:
        engine.prepare()
        load(engine, state)
    finally:
        engine.memory = budget


def forget_oldest(engine: "Engine", changes: "list[Change]") -> None:
    """Halves the windows, oldest facts first, until what is needed fits; `changes` get what is unknown by that."""
    assert engine.memory is not None
    # Terms that nothing uses are given back by whoever knows which facts still wait to come in.
    engine.dictionary.crowded = True
    budget = engine.memory // ROOM
    if engine.needed <= budget:
        return
    before, state = engine.standing(), save(engine)
    while engine.needed > budget and (middle := _middle(engine, state)) is not None:
        shed(engine, state, middle)
    engine.tell(before, changes)


def shed(engine: "Engine", state: State, upto: int) -> None:
    """Drops the facts that would leave their windows by a tick, and brings the engine to what is left of a state.

    Those that leave with the present tick stay: they are gone at the next one.
    """
    for name in _passing(engine):
        memory = state.memories[name]
        old = (memory.until > state.now) & (memory.until <= upto)
        if old.any():
            engine.lacking[name] = max(int(memory.until[old].max()), engine.lacking.get(name, 0))
            state.memories[name] = memory.kept(~old)
            engine.dropped += int(np.count_nonzero(old))
    _plan_again(engine, state)


def _middle(engine: "Engine", state: State) -> int | None:
    """The tick by which half of what time will drop is gone; None where there is nothing to shed."""
    ends = _joined([state.memories[name].until for name in _passing(engine)])
    ends = ends[(ends > state.now) & (ends < FOREVER)]
    return int(np.median(ends)) if len(ends) else None


def _passing(engine: "Engine") -> list[str]:
    """The memories from which facts may be shed."""
    plan = engine.plan
    kept = _runs(engine) | {each.number for each in (*plan.clocks.values(), *plan.beats.values())}
    kept |= set() if plan.links is None else {plan.links.number}
    return [plan.relations[number].name for number in sorted(_fed(engine) - kept)]


def snapshot(engine: "Engine") -> bytes:
    """The state as Arrow: one row, whose lists hold the words of all memories, and the terms they stand for."""
    state = save(engine)
    memories = list(state.memories.values())
    inside = [(number, *arrival) for number, (_, arrivals) in enumerate(state.windows) for arrival in arrivals]
    columns: Lists = {
        "memories": list(state.memories),
        "rows": np.array([len(memory.rows) for memory in memories], dtype=np.int64),
        "words": _joined([memory.rows.reshape(-1) for memory in memories]),
        "until": _joined([memory.until for memory in memories]),
        "start": _joined([memory.start for memory in memories]),
        "windows": np.array([number for number, _, _, _ in inside], dtype=np.int64),
        "signatures": [signature for _, signature, _, _ in inside],
        "arrived": np.array([word for _, _, words, _ in inside for word in words], dtype=np.int64),
        "ticks": np.array([tick for _, _, _, tick in inside], dtype=np.int64),
    }
    used = np.unique(_joined([columns["words"], columns["arrived"]]))
    codes = used[used & 3 == 0]
    columns |= {"codes": codes, "terms": engine.dictionary.spell_column(codes)}
    about = {
        "first": state.first,
        "now": state.now,
        "lacking": engine.lacking,
        "doubts": [[*key, list(names)] for key, names in engine.doubts.items()],
        "mixed": sorted(engine.mixed),
        "totals": [total for total, _ in state.windows],
        "program": _fingerprint(engine),
    }
    return encode(about, columns)


def restore(engine: "Engine", data: bytes) -> "Engine":
    """Brings a new engine to a saved state; `DamagedError` or `MismatchError` where the bytes are no state of it."""
    about, columns = decode(data)
    if about.get("program") != _fingerprint(engine):
        raise MismatchError("the saved state belongs to another program")
    engine.mixed = frozenset(map(Predicate.read, about["mixed"]))
    engine.lacking = about["lacking"]
    engine.doubts = {
        (Predicate.read(text), timed): tuple(map(Predicate.read, names)) for text, timed, names in about["doubts"]
    }
    engine.prepare()
    codes, renewed = (
        columns["codes"],
        np.array([engine.dictionary.code(term) for term in columns["terms"].to_pylist()], np.int64),
    )
    words, arrived = (recoded(columns[name], codes, renewed) for name in ("words", "arrived"))
    state = State(about["first"], about["now"])
    taken, width = 0, 0
    for name, rows in zip(columns["memories"].to_pylist(), columns["rows"].tolist(), strict=True):
        arity, after = engine.plan.memories[name].arity, taken + rows
        part = words[width : width + rows * arity].reshape(rows, arity)
        state.memories[name] = Memory(part, columns["until"][taken:after], columns["start"][taken:after])
        taken, width = after, width + rows * arity
    state.windows = [(total, []) for total in about["totals"]]
    place, flat = 0, arrived.tolist()
    signatures = map(Predicate.read, columns["signatures"].to_pylist())
    for number, signature, tick in zip(columns["windows"].tolist(), signatures, columns["ticks"].tolist(), strict=True):
        after = place + signature.arity
        state.windows[number][1].append((signature, tuple(flat[place:after]), tick))
        place = after
    load(engine, state)
    return engine


def _joined(parts: list[Words]) -> Words:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _fingerprint(engine: "Engine") -> str:
    return fingerprint(engine.program)
