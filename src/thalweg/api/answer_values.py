"""Answers as values of Python: views of the record that a run answers with, in which facts are `Fact` values.

    Change      t, begin, end          what began and ended at a tick
    Snapshot    t, facts               all that holds at a tick
    Interval    fact, start, until     a fact with its first and last tick
    Solution    t, start, sets         answer sets of a window (`.lp`)
    Bindings    t, start, rows         rows of a SELECT, by variable; `ConstructedGraph` and `Truth` of other queries
    ComplexEvent   t, event, start, end, bindings, events     a match (`.tw`); `AbstractEvent` of a class

Where an ontology is checked, `Clash` values stand in the place of facts. Each prints as the line of JSON that the
command line writes. Texts are read when they are looked at.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Final

from thalweg.answers.event_answers import AbstractLine, ComplexLine, RejectedLine
from thalweg.answers.jsonl import jsonl
from thalweg.answers.record import Answer, BrokenAxiom, singles
from thalweg.ir.pattern_semantics import Instance
from thalweg.model.fact import Fact, fact_of_text
from thalweg.model.python_values import PythonValue, value_of
from thalweg.model.time import AS_TICKS, FOREVER, TimeFormat

Facts = tuple[Fact, ...]
Tick = int | datetime
"""A tick; where streams have timestamps, its first instant."""


class AnswerView:
    """An answer of one line, with times as the run writes them; two are equal where their attributes are."""

    __match_args__: ClassVar[tuple[str, ...]] = ()
    _defaults: ClassVar[Mapping[str, object]] = MappingProxyType({})
    """What attributes are where they say nothing: then they are not shown."""

    _answer: Answer
    _times: TimeFormat

    def __init__(self, answer: Answer, times: TimeFormat = AS_TICKS) -> None:
        self.__dict__.update(_answer=answer, _times=times)

    def __str__(self) -> str:
        return "".join(jsonl(self._answer, self._times))[:-1]

    def __repr__(self) -> str:
        """The attributes that say something: most answers are neither partial nor incomplete."""
        values = ((name, getattr(self, name)) for name in self.__match_args__)
        shown = (f"{name}={value!r}" for name, value in values if value != self._defaults.get(name, _SHOWN))
        return f"{type(self).__name__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        return self._values == other._values if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"answers cannot be changed: `{name}`")

    @property
    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__match_args__)

    def _facts(self, texts: Sequence[str]) -> Facts:
        """Facts, or clashes in the place of facts."""
        read: Callable[[str], Any] = self._clash if self._answer.of_clashes else fact_of_text
        return tuple(map(read, texts))

    def _clash(self, text: str) -> "Clash":
        clash = BrokenAxiom.read(text).at(self._times)
        other = None if clash.other is None else value_of(clash.other)
        return Clash(value_of(clash.individual), clash.axiom, clash.because, other)


class _AtTick(AnswerView):
    """An answer that is known at a tick."""

    @property
    def t(self) -> Tick:
        return tick_value(self._answer.t, self._times)


class _OfWindow(_AtTick):
    """An answer over a window."""

    @property
    def start(self) -> Tick:
        return tick_value(self._answer.start, self._times)


class _OfFacts(AnswerView):
    """An answer that is partial where facts were shed for want of memory."""

    @property
    def partial(self) -> bool:
        return bool(self._answer.shed)

    @property
    def shed(self) -> tuple[str, ...]:
        return self._answer.shed


_SHOWN: Final = object()
_PARTIAL: Final[Mapping[str, object]] = MappingProxyType({"partial": False, "shed": ()})


@dataclass(frozen=True, slots=True)
class Clash:
    """An individual, alone or together with an `other`, breaks an axiom of an ontology, because of facts.

    `because` has the facts with their times, as text; it is None where a clash ends.
    """

    individual: PythonValue
    axiom: str
    because: tuple[str, ...] | None = None
    other: PythonValue | None = None


class Change(_OfFacts, _AtTick):
    """What began to hold at a tick, and what ended; `unknown` may have ended, if facts were shed for want of memory."""

    __match_args__ = ("t", "begin", "end", "unknown", "partial", "shed")
    _defaults = MappingProxyType({"unknown": (), **_PARTIAL})

    @cached_property
    def begin(self) -> Facts:
        return self._facts(self._answer.columns[0])

    @cached_property
    def end(self) -> Facts:
        return self._facts(self._answer.columns[1])

    @cached_property
    def unknown(self) -> Facts:
        return self._facts(self._answer.columns[2])


class Snapshot(_OfFacts, _AtTick):
    """All that holds at a tick; all that is known to hold where it is `partial`."""

    __match_args__ = ("t", "facts", "partial", "shed")
    _defaults = _PARTIAL

    @cached_property
    def facts(self) -> Facts:
        return self._facts(self._answer.columns[0])


class Interval(_OfFacts):
    """A fact, and the ticks over which it holds without a break; `until` is None while it still does."""

    __match_args__ = ("fact", "start", "until", "partial", "shed")
    _defaults = _PARTIAL

    @cached_property
    def fact(self) -> Fact:
        (fact,) = self._facts(self._answer.columns[0])
        return fact

    @property
    def start(self) -> Tick:
        return tick_value(self._answer.columns[1][0], self._times)

    @property
    def until(self) -> Tick | None:
        return None if self._answer.t == FOREVER else tick_value(self._answer.t, self._times)


class Solution(_OfWindow):
    """The answer sets of the window from `start` to `t`: none where it is inconsistent."""

    __match_args__ = ("t", "start", "sets", "incomplete")
    _defaults = MappingProxyType({"incomplete": False})

    @cached_property
    def sets(self) -> tuple[Facts, ...]:
        return tuple(map(self._facts, self._answer.columns))

    @property
    def incomplete(self) -> bool:
        return self._answer.incomplete


class Bindings(_OfWindow):
    """The rows of a SELECT over the window from `start` to `t`, each with the values of its variables."""

    __match_args__ = ("t", "start", "rows")

    @cached_property
    def rows(self) -> tuple[dict[str, PythonValue], ...]:
        objects = map(json.loads, self._answer.columns[0])
        return tuple({name: value_of(term) for name, term in row.items()} for row in objects)


class ConstructedGraph(_OfWindow):
    """The triples of a CONSTRUCT over the window from `start` to `t`."""

    __match_args__ = ("t", "start", "facts")

    @cached_property
    def facts(self) -> Facts:
        return self._facts(self._answer.columns[0])


class Truth(_OfWindow):
    """The answer of an ASK over the window from `start` to `t`."""

    __match_args__ = ("t", "start", "answer")

    @property
    def answer(self) -> bool:
        return bool(self._answer.columns[0][0])


class _EventView(_AtTick):
    """A line about events."""

    @property
    def _line(self) -> Any:
        return self._answer.columns[0][0]


class AbstractEvent(_EventView):
    """An event of the stream is of a class: the `individual` in it, and the name of its `graph`, if it has one."""

    __match_args__ = ("t", "event", "start", "end", "individual", "graph")
    _defaults = MappingProxyType({"graph": None})

    @property
    def event(self) -> PythonValue:
        return value_of(self._line.event)

    @property
    def start(self) -> Tick:
        return self.t if self._line.at is None else tick_value(self._line.at, self._times)

    @property
    def end(self) -> Tick:
        return self.start

    @property
    def individual(self) -> PythonValue:
        return value_of(self._line.individual)

    @property
    def graph(self) -> PythonValue | None:
        return _graph(self._line.graph)


class ComplexEvent(_EventView):
    """A match of a pattern from `start` to `end`, with what it binds and the events that it is made of."""

    __match_args__ = ("t", "event", "start", "end", "bindings", "events")

    @property
    def event(self) -> PythonValue:
        return value_of(self._line.event)

    @property
    def start(self) -> Tick:
        return tick_value(self._line.instance.start, self._times)

    @property
    def end(self) -> Tick:
        return tick_value(self._line.instance.end, self._times)

    @cached_property
    def bindings(self) -> dict[str, PythonValue]:
        return {name: value_of(term) for name, term in self._line.bindings}

    @cached_property
    def events(self) -> tuple["AbstractEvent | ComplexEvent", ...]:
        return tuple(_inner(event, self._times) for event in self._line.instance.events)


class RejectedEvents(_EventView):
    """Events of a tick that have no classes, and why: they are `inconsistent` or `undecided`."""

    __match_args__ = ("t", "why", "graphs")

    @property
    def why(self) -> str:
        return str(self._line.why)

    @cached_property
    def graphs(self) -> tuple[PythonValue | None, ...]:
        return tuple(map(_graph, self._line.graphs))


_OF_EVENTS: Final[Mapping[type, type[AnswerView]]] = MappingProxyType(
    {AbstractLine: AbstractEvent, ComplexLine: ComplexEvent, RejectedLine: RejectedEvents}
)
_VIEWS: Final[Mapping[str, type[AnswerView]]] = MappingProxyType(
    {
        "changes": Change,
        "snapshot": Snapshot,
        "intervals": Interval,
        "answer sets": Solution,
        "rows": Bindings,
        "triples": ConstructedGraph,
        "truth": Truth,
    }
)


def values_of(answer: Answer, times: TimeFormat = AS_TICKS) -> Iterator[Any]:
    """An answer with values of Python, one for each of its lines.

    >>> from thalweg.answers.record import changes
    >>> (change,) = values_of(changes(4, ("jam(a,3)",)))
    >>> change.begin[0].args, str(change)
    (('a', 3), '{"t":4,"begin":["jam(a,3)"],"end":[]}')
    >>> change
    Change(t=4, begin=(Fact('jam', ('a', 3)),), end=())
    """
    for single in singles(answer):
        view = _VIEWS.get(single.kind) or _OF_EVENTS[type(single.columns[0][0])]
        yield view(single, times)


def record_of(value: AnswerView) -> Answer:
    """The record that a value shows."""
    return value._answer


def _inner(instance: Instance, times: TimeFormat) -> Any:
    """An event inside of another, as if it were output when it is over."""
    if instance.events:
        return ComplexEvent(Answer("events", instance.end, ((ComplexLine(instance.end, instance),),)), times)
    line = AbstractLine(instance.end, instance.event, instance.individual, instance.graph)
    return AbstractEvent(Answer("events", instance.end, ((line,),)), times)


def _graph(name: str) -> PythonValue | None:
    return value_of(name) if name else None


def tick_value(tick: int, times: TimeFormat) -> Tick:
    """A tick as answers have it: where streams have timestamps, its first instant."""
    return (times.calendar.moment(tick) or tick) if times.iso else tick
