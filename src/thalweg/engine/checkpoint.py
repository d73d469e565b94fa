"""Saving and restoring an engine, as Arrow; and forgetting, which is restoring less.

The state is what the windows still need: the rows that were fed, each with its horizon, and the contents of the tuple
windows. Everything derived is derived again from them in one evaluation, so a restore costs what replaying the windows
costs, and the answers after it are those of an engine that never stopped.
"""

import hashlib
import json
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from thalweg.engine.engine import Change, Feeds
from thalweg.engine.layout import FEED_FOREVER, FEED_SEEN, FIRST, TUPLE_STARTS
from thalweg.ir.text import show
from thalweg.model.time import FOREVER

if TYPE_CHECKING:
    from thalweg.engine.engine import Engine

_SCHEMA = pa.schema(
    [("memory", pa.string()), ("terms", pa.list_(pa.string())), ("until", pa.int64()), ("start", pa.int64())]
)


class MismatchError(ValueError):
    """A saved state belongs to another program."""


@dataclass(slots=True)
class State:
    """Fed rows as (memory, terms, horizon, start of the run), tuple windows as (signature, terms, tick)."""

    first: int
    now: int
    partial_until: int
    mixed: list[str]
    rows: list[tuple[str, tuple[str, ...], int, int]] = field(default_factory=list)
    windows: list[tuple[int, list[tuple[str, tuple[str, ...], int]]]] = field(default_factory=list)


def save(engine: "Engine") -> State:
    """What the windows still need."""
    assert engine.first is not None
    assert engine.now is not None
    state = State(engine.first, engine.now, engine.partial_until, sorted(engine.mixed))
    spell, arrays = engine.dictionary.spell, engine.arrays
    runs = {feed.relation.number for feeds in engine.plan.feeds.values() for feed in feeds if feed.kind == "run"}
    for number in sorted(_fed(engine)):
        relation = engine.plan.relations[number]
        rows = np.flatnonzero((arrays.relations == number) & (arrays.horizons >= engine.now))
        starts = arrays.columns[rows, relation.arity].tolist() if number in runs else [0] * len(rows)
        words = arrays.columns[rows, : relation.arity].tolist()
        for row, until, start in zip(words, arrays.horizons[rows].tolist(), starts, strict=True):
            state.rows.append((relation.name, tuple(map(spell, row)), until, start))
    for window in engine.tuples:
        inside = [(signature, tuple(map(spell, words)), tick) for signature, words, tick in window.inside]
        state.windows.append((window.total, inside))
    return state


def _fed(engine: "Engine") -> set[int]:
    """The relations whose rows come from outside; what holds for ever is fed again at the start."""
    plan = engine.plan
    fed = [feed.relation for feeds in plan.feeds.values() for feed in feeds]
    fed += [feed.target for feeds in plan.feeds.values() for feed in feeds if feed.target is not None]
    fed += [*plan.clocks.values(), *plan.beats.values(), *plan.openings.values()]
    fed += [relation for feed in plan.tuples for relation in feed.relations.values()]
    fed += [feed.ticks for feed in plan.tuples if feed.ticks is not None]
    return {relation.number for relation in fed}


def load(engine: "Engine", state: State) -> None:
    """Brings an engine without history to a saved state."""
    engine.first, engine.now, engine.partial_until = state.first, state.now, state.partial_until
    engine.arrays.scalars[FIRST] = state.first
    code = engine.dictionary.code
    for number, (window, (total, inside)) in enumerate(zip(engine.tuples, state.windows, strict=True)):
        window.total = total
        window.inside = deque((signature, tuple(map(code, terms)), tick) for signature, terms, tick in inside)
        engine.arrays.scalars[TUPLE_STARTS + number] = window.start(state.first)
    feeds = Feeds()
    engine._feed_background(feeds)
    together: dict[tuple[str, int], list[int]] = {}
    starts: dict[tuple[int, ...], int] = {}
    for memory, terms, until, start in state.rows:
        words = [code(term) for term in terms]
        together.setdefault((memory, until), []).extend(words or [0])
        starts[(engine.plan.memories[memory].number, *words)] = start
    for (memory, until), flat in together.items():
        relation = engine.plan.memories[memory]
        kind = FEED_FOREVER if until >= FOREVER else FEED_SEEN
        feeds.add(
            kind, relation.number, until - state.now, -1, flat, len(flat) // max(relation.arity, 1), relation.arity
        )
    engine._evaluate(state.now, *feeds.arrays())
    _set_runs(engine, starts)


def _set_runs(engine: "Engine", starts: dict[tuple[int, ...], int]) -> None:
    for relation in {feed.relation for feeds in engine.plan.feeds.values() for feed in feeds if feed.kind == "run"}:
        columns = engine.arrays.columns
        for row in np.flatnonzero(engine.arrays.relations == relation.number).tolist():
            columns[row, relation.arity] = starts[(relation.number, *columns[row, : relation.arity].tolist())]


def rebuild(engine: "Engine") -> None:
    """Makes the plan anew, because a derived predicate turned out to be streamed, and keeps the state."""
    engine.spell_changes()
    state = save(engine)
    engine._prepare()
    load(engine, state)


def forget_oldest(engine: "Engine", changes: list[Change]) -> None:
    """Halves the windows, oldest facts first, until the arrays fit the budget; what ends thereby is told."""
    assert engine.memory is not None
    before = set(engine.facts())
    state = save(engine)
    while engine.size > engine.memory and state.rows:
        state.rows.sort(key=lambda row: row[2])
        forgotten = (len(state.rows) + 1) // 2
        engine.partial_until = max(engine.partial_until, *(min(row[2], FOREVER - 1) for row in state.rows[:forgotten]))
        state.partial_until = engine.partial_until
        del state.rows[:forgotten]
        for number, (total, inside) in enumerate(state.windows):
            state.windows[number] = (total, inside[len(inside) // 2 :])
        engine.collect()
        engine._prepare()
        load(engine, state)
    engine.tell(before, changes)


def snapshot(engine: "Engine") -> bytes:
    """The state as an Arrow file."""
    state = save(engine)
    windows = [
        (f"#{number}", [signature, *terms], tick, 0)
        for number, (_, inside) in enumerate(state.windows)
        for signature, terms, tick in inside
    ]
    columns = zip(*(*state.rows, *windows), strict=True) if state.rows or windows else ((), (), (), ())
    about = {
        "first": state.first,
        "now": state.now,
        "partial_until": state.partial_until,
        "mixed": state.mixed,
        "totals": [total for total, _ in state.windows],
        "program": _fingerprint(engine),
    }
    schema = _SCHEMA.with_metadata({"thalweg": json.dumps(about)})
    arrays = [pa.array(list(column), type=each.type) for column, each in zip(columns, _SCHEMA, strict=True)]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema) as writer:
        writer.write_batch(pa.record_batch(arrays, schema=schema))
    data: bytes = sink.getvalue().to_pybytes()
    return data


def restore(engine: "Engine", data: bytes) -> "Engine":
    """Brings a new engine to a saved state."""
    table = pa.ipc.open_file(pa.BufferReader(data)).read_all()
    about = json.loads(table.schema.metadata[b"thalweg"])
    if about["program"] != _fingerprint(engine):
        raise MismatchError("the saved state belongs to another program")
    engine.mixed = frozenset(about["mixed"])
    engine._prepare()
    state = State(about["first"], about["now"], about["partial_until"], about["mixed"])
    inside: dict[str, list[tuple[str, tuple[str, ...], int]]] = {}
    for row in table.to_pylist():
        if row["memory"].startswith("#"):
            signature, *terms = row["terms"]
            inside.setdefault(row["memory"], []).append((signature, tuple(terms), row["until"]))
        else:
            state.rows.append((row["memory"], tuple(row["terms"]), row["until"], row["start"]))
    state.windows = [(total, inside.get(f"#{number}", [])) for number, total in enumerate(about["totals"])]
    load(engine, state)
    return engine


def _fingerprint(engine: "Engine") -> str:
    return hashlib.sha256(show(engine.program).encode()).hexdigest()
