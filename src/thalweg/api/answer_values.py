"""Answers as values of Python: what a runtime answers is text, and here its facts are `Fact` values.

    Change      t, begin, end          what began and ended at a tick
    Snapshot    t, facts               all that holds at a tick
    Interval    fact, start, until     a fact with its first and last tick
    Solution    t, start, sets         answer sets of a window (`.lp`)
    Bindings    t, start, rows         rows of a SELECT, by variable; `ConstructedGraph` and `Truth` of other queries
    ComplexEvent   t, event, start, end, bindings, events     a match (`.tw`); `AbstractEvent` of a class

Where an ontology is checked, `Clash` values stand in the place of facts. Each prints as the line of JSON that the
command line writes.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, dataclass, field, fields
from datetime import datetime
from functools import partial
from typing import Any

from thalweg.answers import clash_answers as clashes
from thalweg.answers import emit, event_answers, query_answers
from thalweg.ir.pattern_semantics import Instance
from thalweg.model.fact import Fact, fact_of_text
from thalweg.model.python_values import PythonValue, value_of
from thalweg.model.time import AS_TICKS, TimeFormat

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

    def __repr__(self) -> str:
        """The fields that say something: most answers are neither partial nor incomplete."""
        shown = (
            (attribute.name, getattr(self, attribute.name))
            for attribute in fields(self)
            if attribute.repr and not self._is_default(attribute)
        )
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown)})"

    def _is_default(self, attribute: Field[Any]) -> bool:
        return attribute.default is not MISSING and getattr(self, attribute.name) == attribute.default


@dataclass(frozen=True, slots=True)
class Clash:
    """An individual, alone or together with an `other`, breaks an axiom of an ontology, because of facts.

    `because` has the facts with their times, as text; it is None where a clash ends.
    """

    individual: PythonValue
    axiom: str
    because: tuple[str, ...] | None = None
    other: PythonValue | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Change(_Line):
    """What began to hold at a tick, and what ended; `unknown` may have ended, if facts were shed for want of memory."""

    t: Tick
    begin: Facts
    end: Facts
    unknown: Facts = ()
    partial: bool = False
    shed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Snapshot(_Line):
    """All that holds at a tick; all that is known to hold where it is `partial`."""

    t: Tick
    facts: Facts
    partial: bool = False
    shed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Interval(_Line):
    """A fact, and the ticks over which it holds without a break; `until` is None while it still does."""

    fact: Fact
    start: Tick
    until: Tick | None
    partial: bool = False
    shed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Solution(_Line):
    """The answer sets of the window from `start` to `t`: none where it is inconsistent."""

    t: Tick
    start: Tick
    sets: tuple[Facts, ...]
    incomplete: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class Bindings(_Line):
    """The rows of a SELECT over the window from `start` to `t`, each with the values of its variables."""

    t: Tick
    start: Tick
    rows: tuple[dict[str, PythonValue], ...]


@dataclass(frozen=True, slots=True, repr=False)
class ConstructedGraph(_Line):
    """The triples of a CONSTRUCT over the window from `start` to `t`."""

    t: Tick
    start: Tick
    facts: Facts


@dataclass(frozen=True, slots=True, repr=False)
class Truth(_Line):
    """The answer of an ASK over the window from `start` to `t`."""

    t: Tick
    start: Tick
    answer: bool


@dataclass(frozen=True, slots=True, repr=False)
class AbstractEvent(_Line):
    """An event of the stream is of a class: the `individual` in it, and the name of its `graph`, if it has one."""

    t: Tick
    event: PythonValue
    start: Tick
    end: Tick
    individual: PythonValue
    graph: PythonValue | None = None


@dataclass(frozen=True, slots=True, repr=False)
class ComplexEvent(_Line):
    """A match of a pattern from `start` to `end`, with what it binds and the events that it is made of."""

    t: Tick
    event: PythonValue
    start: Tick
    end: Tick
    bindings: dict[str, PythonValue]
    events: tuple["AbstractEvent | ComplexEvent", ...]


@dataclass(frozen=True, slots=True, repr=False)
class RejectedEvents(_Line):
    """Events of a tick that have no classes, and why: they are `inconsistent` or `undecided`."""

    t: Tick
    why: str
    graphs: tuple[PythonValue | None, ...]


AnswerValue = Any
"""Any of these."""


def value_of_answer(answer: emit.Answer, times: TimeFormat = AS_TICKS) -> AnswerValue:
    """An answer with values of Python.

    >>> change = value_of_answer(emit.Change(4, ("jam(a,3)",), ()))
    >>> change.begin[0].args, str(change)
    (('a', 3), '{"t":4,"begin":["jam(a,3)"],"end":[]}')
    >>> change
    Change(t=4, begin=(Fact('jam', ('a', 3)),), end=())
    """
    at, own = partial(tick_value, times=times), (answer, times)
    facts = _clashes(times) if isinstance(answer, _OF_CLASHES) else _facts
    match answer:
        case emit.Change(t, begun, ended, is_partial, shed, unknown):
            return Change(at(t), facts(begun), facts(ended), facts(unknown), is_partial, shed, _answer=own)
        case emit.Snapshot(t, atoms, is_partial, shed):
            kind = clashes.Clashing if isinstance(answer, clashes.Inconsistent) else emit.SnapshotRun
            return Snapshot(at(t), facts(atoms), is_partial, shed, _answer=(kind(t, t, atoms, is_partial, shed), times))
        case emit.Interval(fact, start, until, is_partial, shed):
            end = None if until is None else at(until)
            return Interval(facts([fact])[0], at(start), end, is_partial, shed, _answer=own)
        case emit.Solution(t, start, sets, incomplete):
            return Solution(at(t), at(start), tuple(map(_facts, sets)), incomplete, _answer=own)
        case query_answers.Bindings(t, start, objects):
            rows = tuple({name: value_of(term) for name, term in json.loads(row).items()} for row in objects)
            return Bindings(at(t), at(start), rows, _answer=own)
        case query_answers.ConstructedGraph(t, start, atoms):
            return ConstructedGraph(at(t), at(start), _facts(atoms), _answer=own)
        case query_answers.Truth(t, start, truth):
            return Truth(at(t), at(start), truth, _answer=own)
        case event_answers.AbstractEvent() | event_answers.ComplexEvent() | event_answers.RejectedEvents():
            return _event(answer, times)
    return answer


def _event(line: event_answers.EventLine, times: TimeFormat) -> AbstractEvent | ComplexEvent | RejectedEvents:
    t, own = tick_value(line.t, times), (event_answers.EventAnswers((line,)), times)
    match line:
        case event_answers.AbstractEvent():
            at = t if line.at is None else tick_value(line.at, times)
            named = value_of(line.event), at, at, value_of(line.individual), _graph(line.graph)
            return AbstractEvent(t, *named, _answer=own)
        case event_answers.ComplexEvent():
            instance = line.instance
            ticks = tick_value(instance.start, times), tick_value(instance.end, times)
            bindings = {name: value_of(term) for name, term in line.bindings}
            inside = tuple(_inner(inner, times) for inner in instance.events)
            return ComplexEvent(t, value_of(instance.event), *ticks, bindings, inside, _answer=own)
        case event_answers.RejectedEvents():
            return RejectedEvents(t, line.why, tuple(map(_graph, line.graphs)), _answer=own)


def _inner(instance: Instance, times: TimeFormat) -> Any:
    """An event inside of another, as if it were output when it is over."""
    if instance.events:
        return _event(event_answers.ComplexEvent(instance.end, instance), times)
    return _event(event_answers.AbstractEvent(instance.end, instance.event, instance.individual, instance.graph), times)


def _graph(name: str) -> PythonValue | None:
    return value_of(name) if name else None


def tick_value(tick: int, times: TimeFormat) -> Tick:
    """A tick as answers have it: where streams have timestamps, its first instant."""
    return (times.calendar.moment(tick) or tick) if times.iso else tick


def _facts(texts: Iterable[str]) -> Facts:
    return tuple(map(fact_of_text, texts))


_OF_CLASHES = clashes.ClashChange | clashes.Inconsistent | clashes.ClashInterval


def _clashes(times: TimeFormat) -> Callable[[Iterable[str]], Any]:
    """Returns a function that reads texts of clashes."""

    def read(text: str) -> Clash:
        clash = clashes.Clash.read(text).at(times)
        other = None if clash.other is None else value_of(clash.other)
        return Clash(value_of(clash.individual), clash.axiom, clash.because, other)

    return lambda texts: tuple(map(read, texts))
