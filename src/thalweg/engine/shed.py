"""Shedding the oldest facts over a memory budget, which is restoring less than was saved.

Over a memory budget the oldest facts are shed. Each memory that lost rows is remembered with the greatest horizon
among them: up to that tick it lacks something. While it does, the engine works with a plan that draws no conclusion
from what is missing (`planning/withhold.py`), and with the whole plan again from the tick on at which nothing is
missed any more. So all that is output is true. What was output and can no longer be derived, and what ends while
another derivation of it may be missing, becomes *unknown*; when it is known again and holds, it begins again.

What is recorded of something incomplete is incomplete for as long as a rule may look back at it, and for ever where it
rests on its own past: nobody knows any more what it would have been.

Some rows are never shed. Runs, clocks and links are few, and would make much unknown. A tuple window holds as many
facts as its program says, and only as many new ones would make it whole again. What stays for ever would be missing
for ever, and so would what is recorded of conclusions that may end at any tick, where these rest on their own past.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thalweg.engine.checkpoint import State, fed_relations, joined, load, run_relations, save
from thalweg.engine.completeness import current_target, weigh
from thalweg.engine.decoder import Rows, of_relations, relation_mask
from thalweg.engine.layout import COLUMNS, LINKS, RELATION
from thalweg.engine.memory import ROOM
from thalweg.model.time import FOREVER
from thalweg.planning.rule_plan import Relation

if TYPE_CHECKING:
    from thalweg.engine.delta import Delta
    from thalweg.engine.engine import PlanEngine


def settle(engine: "PlanEngine", changes: "list[Delta]") -> None:
    """Plans again where relations have become complete, or incomplete, by the tick that has been evaluated."""
    assert engine.now is not None
    for recording in engine.plan.recordings:
        if recording.source.number in engine.plan.incomplete:
            # What was missing at this tick is missed by those who look back at it.
            until = min(engine.now + recording.size, FOREVER)
            engine.lacking[recording.target.name] = max(until, engine.lacking.get(recording.target.name, 0))
    engine.lacking = {name: until for name, until in engine.lacking.items() if until >= engine.now}
    weigh(engine)
    if engine.incomplete != engine.plan.incomplete:
        before, state = standing(engine), save(engine)
        _plan_again(engine, state)
        add_difference(engine, before, changes)


def _plan_again(engine: "PlanEngine", state: State) -> None:
    """Brings the engine to a state with a plan for what is incomplete now.

    Without its budget, which is held when the tick is over: until then, terms count that nothing uses any more.
    """
    budget, engine.memory = engine.memory, None
    try:
        engine.adopt(engine.replan(current_target(engine)))
        load(engine, state)
        engine.remembered.reconcile(engine)
    finally:
        engine.memory = budget


def forget_oldest(engine: "PlanEngine", changes: "list[Delta]") -> None:
    """Halves the windows, oldest facts first, until what is needed fits; `changes` get what is unknown by that."""
    assert engine.memory is not None
    # Terms that nothing uses are given back by the runtime, which knows the facts that still wait to come in.
    engine.dictionary.crowded = True
    budget = engine.memory // ROOM
    if engine.needed <= budget:
        return
    before, state = standing(engine), save(engine)
    while engine.needed > budget and (middle := _middle(engine, state)) is not None:
        shed(engine, state, middle)
    add_difference(engine, before, changes)


def shed(engine: "PlanEngine", state: State, upto: int) -> None:
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


def _middle(engine: "PlanEngine", state: State) -> int | None:
    """The tick by which half of what time will drop is gone; None where there is nothing to shed."""
    ends = joined([state.memories[name].until for name in _passing(engine)])
    ends = ends[(ends > state.now) & (ends < FOREVER)]
    return int(np.median(ends)) if len(ends) else None


def _passing(engine: "PlanEngine") -> list[str]:
    """The memories from which facts may be shed."""
    plan = engine.plan
    kept = run_relations(engine) | {relation.number for relation in (*plan.clocks.values(), *plan.beats.values())}
    kept |= {recording.target.number for recording in plan.recordings if recording.kind in ("followed", "streak")}
    kept |= set() if plan.first_tick is None else {plan.first_tick.number}
    kept |= set() if plan.representative is None else {plan.representative.number}
    return [plan.relations[number].name for number in sorted(fed_relations(engine) - kept)]


# Before and after ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Standing:
    """Copies of rows at a moment: those that are output or exported, and those exported with their last ticks.

    `withheld` are the numbers of the relations that the plan takes for incomplete.
    """

    rows: Rows
    lasting: Rows
    withheld: frozenset[int]


def standing(engine: "PlanEngine") -> Standing:
    """Copies of the rows that others know of, to be compared with those of another plan (see `add_difference`)."""
    plan = engine.plan
    lasting = [plan.exports[key] for key in plan.exports.keys() & engine.program.hints.irrevocable]
    followed = [plan.exports[key] for key in plan.exports.keys() - engine.program.hints.irrevocable]
    rows = _living(engine, [*plan.outputs.values(), *followed])
    visible = rows if engine.equals is None else engine.equals.visible(rows)
    return Standing(visible, _living(engine, lasting), engine.plan.incomplete)


def _living(engine: "PlanEngine", relations: Iterable[Relation]) -> Rows:
    arrays, mask = engine.arrays, relation_mask(engine.plan, relations)
    places = np.flatnonzero(mask[arrays.relations] & (arrays.horizons >= (engine.now or 0)))
    return _in_common(engine, arrays.rows[places])


def _in_common(engine: "PlanEngine", rows: Rows | None) -> Rows:
    """Rows without what depends on the plan's rules: the links of its indexes."""
    width = int(engine.arrays.scalars[LINKS])
    return np.zeros((0, width), dtype=np.int64) if rows is None else np.ascontiguousarray(rows[:, :width])


def add_difference(engine: "PlanEngine", before: Standing, changes: "list[Delta]") -> None:
    """Adds how the output has changed since `before`, within the tick, to the changes.

    What is there no longer and may lack rows has become unknown; what was found unknown and lacks none has ended.
    """
    after, without = standing(engine), partial(_without, engine.decoder.arities)
    last = changes.pop() if changes and changes[-1].tick == engine.now else None
    rows = (_in_common(engine, rows) for rows in (last.rows if last else (None,) * 4))
    begun, ended, unknown, raised = rows
    gone, came = without(before.rows, after.rows), without(after.rows, before.rows)
    lost = without(np.concatenate((unknown, without(gone, begun))), came)
    doubtful = of_relations(lost, engine.incomplete)
    begun = np.concatenate((without(begun, gone), without(without(came, ended), unknown)))
    ended = np.concatenate((without(ended, came), lost[~doubtful]))
    raised = np.concatenate((raised, without(after.lasting, before.lasting, with_horizon=True)))
    difference = begun, ended, lost[doubtful], raised
    if last is not None or any(map(len, difference)) or before.withheld != after.withheld:
        engine.add_change(changes, *difference)


def _without(arities: Rows, rows: Rows, removed: Rows, with_horizon: bool = False) -> Rows:
    """The rows that are not among others."""
    if not len(rows) or not len(removed):
        return rows
    facts, removed_facts = (_facts_in(arities, block, with_horizon) for block in (rows, removed))
    return rows[~np.isin(facts, removed_facts)]


def _facts_in(arities: Rows, rows: Rows, with_horizon: bool) -> NDArray[np.void]:
    """Relation and columns of each row, as one value: what makes it the same fact in another arena."""
    relations = rows.view(np.int32)[:, RELATION : RELATION + 1]
    columns = rows[:, COLUMNS:]
    unused = np.arange(columns.shape[1]) >= arities[relations]
    facts = np.hstack((relations.astype(np.int64), np.where(unused, 0, columns), rows[:, : int(with_horizon)]))
    return np.ascontiguousarray(facts).view(np.dtype((np.void, facts.itemsize * facts.shape[1]))).reshape(-1)
