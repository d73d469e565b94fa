"""Answers as values of Python: what a runtime answers is text, and here its facts are `Fact` values.

    Change      t, begin, end          what began and ended at a tick
    Snapshot    t, facts               all that holds at a tick
    Interval    fact, start, until     a fact with its first and last tick
    Solution    t, start, sets         answer sets of a window (`.lp`)
    Bindings    t, start, rows         rows of a SELECT, by variable; `ConstructedGraph` and `Truth` of other queries

Each prints as the line of JSON that the command line writes.
"""

import json
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Final

from thalweg.model.fact import Fact, fact_of_text
from thalweg.model.python_values import PythonValue, value_of
from thalweg.model.time import AS_TICKS, TimeFormat
from thalweg.runtimes import emit, query_answers

Facts = tuple[Fact, ...]
Tick = int | datetime
"""A tick; where streams have timestamps, its first instant."""


@dataclass(frozen=True, slots=True)
class _Line:
    """Prints as a runtime's answer does."""

    _answer: tuple[Any, TimeFormat] = field(repr=False, compare=False, kw_only=True)

    def __str__(self) -> str:
        block, times = self._answer
        return "".join(emit.as_jsonl(block, times))[:-1]


@dataclass(frozen=True, slots=True)
class Change(_Line):
    """What began to hold at a tick, and what ended; `unknown` may have ended, if facts were shed for want of memory."""

    t: Tick
    begin: Facts
    end: Facts
    unknown: Facts = ()
    partial: bool = False
    shed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot(_Line):
    """All that holds at a tick; all that is known to hold where it is `partial`."""

    t: Tick
    facts: Facts
    partial: bool = False
    shed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Interval(_Line):
    """A fact, and the ticks over which it holds without a break; `until` is None while it still does."""

    fact: Fact
    start: Tick
    until: Tick | None
    partial: bool = False
    shed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Solution(_Line):
    """The answer sets of the window from `start` to `t`: none where it is inconsistent."""

    t: Tick
    start: Tick
    sets: tuple[Facts, ...]
    incomplete: bool = False


@dataclass(frozen=True, slots=True)
class Bindings(_Line):
    """The rows of a SELECT over the window from `start` to `t`, each with the values of its variables."""

    t: Tick
    start: Tick
    rows: tuple[dict[str, PythonValue], ...]


@dataclass(frozen=True, slots=True)
class ConstructedGraph(_Line):
    """The triples of a CONSTRUCT over the window from `start` to `t`."""

    t: Tick
    start: Tick
    facts: Facts


@dataclass(frozen=True, slots=True)
class Truth(_Line):
    """The answer of an ASK over the window from `start` to `t`."""

    t: Tick
    start: Tick
    answer: bool


AnswerValue = Any
"""Any of these; clashes and events are as the runtime has them."""


_KINDS: Final = {
    emit.Change,
    emit.Snapshot,
    emit.Interval,
    emit.Solution,
    query_answers.Bindings,
    query_answers.ConstructedGraph,
    query_answers.Truth,
}


def value_of_answer(answer: emit.Answer, times: TimeFormat = AS_TICKS) -> AnswerValue:
    """An answer with values of Python.

    >>> change = value_of_answer(emit.Change(4, ("jam(a,3)",), ()))
    >>> change.begin[0].args, str(change)
    (('a', 3), '{"t":4,"begin":["jam(a,3)"],"end":[]}')
    """
    if type(answer) not in _KINDS:
        # Clashes are changes, snapshots and intervals of their own kind.
        return answer
    at, own = partial(tick_value, times=times), (answer, times)
    match answer:
        case emit.Change(t, begun, ended, is_partial, shed, unknown):
            return Change(at(t), _facts(begun), _facts(ended), _facts(unknown), is_partial, shed, _answer=own)
        case emit.Snapshot(t, facts, is_partial, shed):
            run = emit.SnapshotRun(t, t, facts, is_partial, shed)
            return Snapshot(at(t), _facts(facts), is_partial, shed, _answer=(run, times))
        case emit.Interval(fact, start, until, is_partial, shed):
            end = None if until is None else at(until)
            return Interval(fact_of_text(fact), at(start), end, is_partial, shed, _answer=own)
        case emit.Solution(t, start, sets, incomplete):
            return Solution(at(t), at(start), tuple(map(_facts, sets)), incomplete, _answer=own)
        case query_answers.Bindings(t, start, objects):
            rows = tuple({name: value_of(term) for name, term in json.loads(one).items()} for one in objects)
            return Bindings(at(t), at(start), rows, _answer=own)
        case query_answers.ConstructedGraph(t, start, facts):
            return ConstructedGraph(at(t), at(start), _facts(facts), _answer=own)
        case query_answers.Truth(t, start, truth):
            return Truth(at(t), at(start), truth, _answer=own)
    return answer


def tick_value(tick: int, times: TimeFormat) -> Tick:
    """A tick as answers have it: where streams have timestamps, its first instant."""
    return (times.calendar.moment(tick) or tick) if times.iso else tick


def _facts(texts: Any) -> Facts:
    return tuple(map(fact_of_text, texts))
