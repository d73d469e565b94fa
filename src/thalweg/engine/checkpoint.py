"""Saving and restoring an engine, as Arrow.

The state is what the windows still need: the rows that were fed, each with its horizon, the contents of the tuple
windows, in the order of arrival, and what is recorded: it may rest on input that is long gone. Everything derived is
derived again from them in one evaluation, so a restore costs what replaying the windows costs, and the answers after it
are those of an engine that never stopped.
"""

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from thalweg.engine.completeness import current_target, weigh
from thalweg.engine.feeds import Feeds
from thalweg.engine.layout import FEED_FOREVER, FEED_SEEN, FIRST
from thalweg.engine.remember import Note
from thalweg.engine.tuples import Arrival
from thalweg.ir.fingerprint import fingerprint
from thalweg.model.arrow import Lists, decode, encode, recoded
from thalweg.model.predicate import Predicate
from thalweg.model.time import FOREVER
from thalweg.planning.rule_plan import Relation, RulePlan

if TYPE_CHECKING:
    from thalweg.engine.engine import PlanEngine

Words = NDArray[np.int64]


_FORMAT: Final = 3
"""Changes when a state is saved in another way."""


class MismatchError(ValueError):
    """A saved state belongs to another program."""


@dataclass(slots=True)
class SavedMemory:
    """The rows of one memory, their horizons, and where it keeps runs, the first tick of each."""

    rows: Words
    until: Words
    start: Words

    def kept(self, mask: NDArray[np.bool_]) -> "SavedMemory":
        return SavedMemory(self.rows[mask], self.until[mask], self.start[mask])


@dataclass(slots=True)
class State:
    """What an engine must know to go on, in the words of its dictionary.

    `notes` are rows of memories that are fed at the next tick, `waiting` those that may be fed at a certain tick.
    """

    first: int
    now: int
    memories: dict[str, SavedMemory] = field(default_factory=dict)
    windows: list[tuple[int, list[Arrival]]] = field(default_factory=list)
    notes: list[tuple[str, SavedMemory]] = field(default_factory=list)
    waiting: list[tuple[str, SavedMemory]] = field(default_factory=list)


def save(engine: "PlanEngine") -> State:
    """The state of an engine: the rows that its windows still need."""
    assert engine.first is not None
    assert engine.now is not None
    state = State(engine.first, engine.now)
    arrays, runs = engine.arrays, run_relations(engine)
    for number in sorted(fed_relations(engine)):
        relation = engine.plan.relations[number]
        places = np.flatnonzero((arrays.relations == number) & (arrays.horizons >= engine.now))
        rows = arrays.columns[places]
        start = rows[:, relation.arity] if number in runs else np.zeros(len(places), dtype=np.int64)
        state.memories[relation.name] = SavedMemory(rows[:, : relation.arity], arrays.horizons[places], start)
    for keyed in engine.keyed:
        # The same rows, but in the order of arrival.
        state.memories[keyed.feed.relation.name].rows = keyed.rows
    state.windows = [(window.total, list(window.inside)) for window in engine.tuples]
    state.notes = _by_name(engine.remembered.notes)
    state.waiting = _by_name(engine.remembered.waiting())
    return state


def _by_name(notes: list[Note]) -> list[tuple[str, SavedMemory]]:
    return [(relation.name, SavedMemory(rows, until, np.zeros_like(until))) for relation, rows, until in notes]


def run_relations(engine: "PlanEngine") -> set[int]:
    """The relations that keep runs."""
    return {feed.relation.number for feeds in engine.plan.feeds.values() for feed in feeds if feed.kind == "run"}


def fed_relations(engine: "PlanEngine") -> set[int]:
    """The relations whose rows come from outside; what holds for ever is fed again at the start."""
    plan = engine.plan
    fed = [feed.relation for feeds in plan.feeds.values() for feed in feeds]
    fed += [feed.target for feeds in plan.feeds.values() for feed in feeds if feed.target is not None]
    fed += [*plan.clocks.values(), *plan.beats.values(), *plan.imports.values()]
    fed += [plan.representative] if plan.representative else []
    fed += plan.counted
    fed += [recording.target for recording in plan.recordings]
    fed += [plan.first_tick] if plan.first_tick else []
    return {relation.number for relation in fed}


def load(engine: "PlanEngine", state: State) -> None:
    """Brings an engine without history to a saved state."""
    engine.first, engine.now = state.first, state.now
    engine.arrays.scalars[FIRST] = state.first
    for number, (window, (total, inside)) in enumerate(zip(engine.tuples, state.windows, strict=True)):
        window.total, window.inside = total, deque(inside)
        engine.arrays.scalars[engine.table.tuple_starts + number] = window.start(state.first)
    for keyed in engine.keyed:
        keyed.take(state.memories[keyed.feed.relation.name].rows)
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
    engine.remembered.resume(
        *(
            [Note(engine.plan.memories[name], memory.rows, memory.until) for name, memory in saved]
            for saved in (state.notes, state.waiting)
        )
    )
    for number in run_relations(engine):
        _set_starts(engine, number, state.memories[engine.plan.relations[number].name])


def _set_starts(engine: "PlanEngine", number: int, memory: SavedMemory) -> None:
    """Gives the runs back the ticks at which they began: the same rows, brought into the same order."""
    arity, columns = engine.plan.relations[number].arity, engine.arrays.columns
    run_rows = np.flatnonzero(engine.arrays.relations == number)
    if arity == 0:
        columns[run_rows, 0] = memory.start
        return
    places, rows = np.lexsort(columns[run_rows, :arity].T), np.lexsort(memory.rows.T)
    columns[run_rows[places], arity] = memory.start[rows]


def rebuild(engine: "PlanEngine", plan: RulePlan) -> None:
    """Goes on with another plan, because a derived predicate turned out to be streamed, and keeps the state."""
    engine.spell_changes()
    state = save(engine)
    engine.adopt(plan)
    load(engine, state)


def take_over(engine: "PlanEngine", other: "PlanEngine") -> None:
    """Brings an engine without history to where another one is, whose rules include its own.

    What only other rules need is left behind.
    """
    state = save(other)
    own = engine.program.derived | {name for name, _ in engine.program.interface.imports}
    engine.doubts = {key: names for key, names in other.doubts.items() if key in engine.plan.imports}
    engine.adopt(engine.replan(replace(current_target(engine), mixed=other.plan.target.mixed & own)))
    memories, fed = engine.plan.memories, fed_relations(engine)
    engine.lacking = {name: until for name, until in other.lacking.items() if name in memories}
    weigh(engine)
    state.memories = {name: saved for name, saved in state.memories.items() if _is_fed(memories.get(name), fed)}
    for number in fed - {memories[name].number for name in state.memories}:
        relation = engine.plan.relations[number]
        nothing = np.zeros(0, dtype=np.int64)
        state.memories[relation.name] = SavedMemory(np.zeros((0, relation.arity), np.int64), nothing, nothing)
    windows = {(saved.feed.window, saved.feed.stream): (saved.total, list(saved.inside)) for saved in other.tuples}
    state.windows = [windows[window.feed.window, window.feed.stream] for window in engine.tuples]
    state.notes = [(name, saved) for name, saved in state.notes if name in memories]
    state.waiting = [(name, saved) for name, saved in state.waiting if name in memories]
    load(engine, state)


def _is_fed(relation: Relation | None, fed: set[int]) -> bool:
    return relation is not None and relation.number in fed


def snapshot(engine: "PlanEngine") -> bytes:
    """The state as Arrow: one row, whose lists hold the words of all memories, and the terms they stand for."""
    state = save(engine)
    # Notes are saved behind the memories, and what waits behind the notes.
    saved = [*state.memories.items(), *state.notes, *state.waiting]
    memories = [memory for _, memory in saved]
    inside = [(number, *arrival) for number, (_, arrivals) in enumerate(state.windows) for arrival in arrivals]
    columns: Lists = {
        "memories": [name for name, _ in saved],
        "rows": np.array([len(memory.rows) for memory in memories], dtype=np.int64),
        "words": joined([memory.rows.reshape(-1) for memory in memories]),
        "until": joined([memory.until for memory in memories]),
        "start": joined([memory.start for memory in memories]),
        "windows": np.array([number for number, _, _, _ in inside], dtype=np.int64),
        "signatures": [signature for _, signature, _, _ in inside],
        "arrived": np.array([word for _, _, words, _ in inside for word in words], dtype=np.int64),
        "ticks": np.array([tick for _, _, _, tick in inside], dtype=np.int64),
    }
    used = np.unique(joined([columns["words"], columns["arrived"]]))
    codes = used[used & 3 == 0]
    columns |= {"codes": codes, "terms": engine.dictionary.spell_column(codes)}
    about = {
        "format": _FORMAT,
        "notes": len(state.notes),
        "waiting": len(state.waiting),
        "first": state.first,
        "now": state.now,
        "lacking": engine.lacking,
        "doubts": [[*key, list(names)] for key, names in engine.doubts.items()],
        "mixed": sorted(engine.plan.target.mixed),
        "totals": [total for total, _ in state.windows],
        "program": _fingerprint(engine),
    }
    return encode(about, columns)


def restore(engine: "PlanEngine", data: bytes) -> None:
    """Brings a new engine to a saved state; `DamagedError` or `MismatchError` where the bytes hold none."""
    about, columns = decode(data)
    if about.get("program") != _fingerprint(engine):
        raise MismatchError("the saved state belongs to another program")
    if about.get("format") != _FORMAT:
        raise MismatchError("the saved state was saved by another version")
    engine.lacking = about["lacking"]
    engine.doubts = {
        (Predicate.read(text), timed): tuple(map(Predicate.read, names)) for text, timed, names in about["doubts"]
    }
    mixed = frozenset(map(Predicate.read, about["mixed"]))
    engine.adopt(engine.replan(replace(current_target(engine), mixed=mixed)))
    codes, renewed = (
        columns["codes"],
        np.array([engine.dictionary.code(term) for term in columns["terms"].to_pylist()], np.int64),
    )
    words, arrived = (recoded(columns[name], codes, renewed) for name in ("words", "arrived"))
    state = State(about["first"], about["now"])
    taken, width = 0, 0
    saved: list[tuple[str, SavedMemory]] = []
    for name, rows in zip(columns["memories"].to_pylist(), columns["rows"].tolist(), strict=True):
        arity, after = engine.plan.memories[name].arity, taken + rows
        part = words[width : width + rows * arity].reshape(rows, arity)
        saved.append((name, SavedMemory(part, columns["until"][taken:after], columns["start"][taken:after])))
        taken, width = after, width + rows * arity
    waiting = len(saved) - about["waiting"]
    notes = waiting - about["notes"]
    state.memories, state.notes, state.waiting = dict(saved[:notes]), saved[notes:waiting], saved[waiting:]
    state.windows = [(total, []) for total in about["totals"]]
    place, flat = 0, arrived.tolist()
    signatures = map(Predicate.read, columns["signatures"].to_pylist())
    for number, signature, tick in zip(columns["windows"].tolist(), signatures, columns["ticks"].tolist(), strict=True):
        after = place + signature.arity
        state.windows[number][1].append((signature, tuple(flat[place:after]), tick))
        place = after
    load(engine, state)


def joined(parts: list[Words]) -> Words:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _fingerprint(engine: "PlanEngine") -> str:
    """Of all but what is output: no memory depends on that, so a state may be asked about what a run does not show."""
    program = engine.program
    return fingerprint(replace(program, interface=replace(program.interface, outputs=None)))
