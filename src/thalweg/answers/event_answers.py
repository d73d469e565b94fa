"""What is output of events: classes of individuals, complex events, and events that have no classes.

    {"t":5,"event":"<High>","from":5,"to":5,"individual":"<obs1>","graph":"<g1>"}
    {"t":12,"event":"<Jam>","from":5,"to":12,"bindings":{"loc":"<loc1>"},"events":[…]}
    {"t":7,"inconsistent":[{"graph":"<g3>"}]}

In formats of facts and of RDF an event is the facts that rules read: `<High>(<obs1>)` of a class, and of a complex
event `<Jam>(<id>)` and `<Jam_loc>(<id>,<loc1>)`. The id is made of its name, its ticks and its events, so it is the
same in every run.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from json.encoder import encode_basestring as quoted
from typing import Any

from thalweg.answers.record import Answer
from thalweg.diagnostics import Diagnostic
from thalweg.ir.event_names import binding_name, event_id
from thalweg.ir.pattern_semantics import Instance, Solution, rank
from thalweg.model.fact import Fact
from thalweg.model.records import record
from thalweg.model.time import AS_TICKS, TimeFormat

record(Instance)

Identity = tuple[str, int, int, frozenset[Instance]]
"""What makes two complex events the same: not the order in which events fill places."""


def identity(event: Instance) -> Identity:
    """The name, the ticks and the events of a complex event."""
    return event.event, event.start, event.end, frozenset(event.events)


def united(events: Iterable[Instance]) -> dict[Identity, Instance]:
    """Complex events by their identities, each with its events in the order that ranks first.

    >>> a, b = Instance("<a>", 1, 1, "<x>"), Instance("<b>", 1, 1, "<x>")
    >>> (event,) = united(Instance("<c>", 1, 1, events=order) for order in ((b, a), (a, b))).values()
    >>> [inner.event for inner in event.events]
    ['<a>', '<b>']
    """
    single: dict[Identity, Instance] = {}
    for event in events:
        key = identity(event)
        if (other := single.setdefault(key, event)) is not event:
            single[key] = min(other, event, key=lambda instance: rank(instance.events, ()))
    return single


@record
@dataclass(frozen=True, slots=True)
class AbstractLine:
    """An individual is in a class, by the graph of an event; `graph` is empty where the event has no name.

    The event is of another tick, `at`, where a selection knows it later.

    >>> print(AbstractLine(5, "<High>", "<obs1>", "<g1>"))
    {"t":5,"event":"<High>","from":5,"to":5,"individual":"<obs1>","graph":"<g1>"}
    """

    t: int
    event: str
    individual: str
    graph: str = ""
    at: int | None = None

    def __str__(self) -> str:
        return self.json()

    def json(self, times: TimeFormat = AS_TICKS) -> str:
        graph = f',"graph":{quoted(self.graph)}' if self.graph else ""
        tick = times.json(self.t if self.at is None else self.at)
        about = f'"from":{tick},"to":{tick},"individual":{quoted(self.individual)}{graph}'
        return f'{{"t":{times.json(self.t)},"event":{quoted(self.event)},{about}}}'

    def facts(self) -> Iterator[Fact]:
        """The facts that rules read of the event."""
        yield Fact(self.event, (self.individual,))


@record
@dataclass(frozen=True, slots=True)
class ComplexLine:
    """A complex event that is known at tick `t`, with what its pattern binds.

    >>> high = Instance("<High>", 5, 5, "<obs1>", "<g1>")
    >>> print(ComplexLine(12, Instance("<Jam>", 5, 12, events=(high,)), (("loc", "<loc1>"),)))
    {"t":12,"event":"<Jam>","from":5,"to":12,"bindings":{"loc":"<loc1>"},"events":[{"event":"<High>","individual":"<obs1>","graph":"<g1>","from":5,"to":5}]}
    """

    t: int
    instance: Instance
    bindings: Solution = ()

    @property
    def event(self) -> str:
        return self.instance.event

    def __str__(self) -> str:
        return self.json()

    def json(self, times: TimeFormat = AS_TICKS) -> str:
        instance = self.instance
        bound = ",".join(f"{quoted(name)}:{quoted(term)}" for name, term in self.bindings)
        events = ",".join(event_json(event, times) for event in instance.events)
        about = f'{_ticks(instance, times)},"bindings":{{{bound}}},"events":[{events}]'
        return f'{{"t":{times.json(self.t)},"event":{quoted(instance.event)},{about}}}'

    def facts(self) -> Iterator[Fact]:
        """The facts that rules read of the event."""
        id_ = event_id(self.instance)
        yield Fact(self.event, (id_,))
        for name, term in self.bindings:
            yield Fact(binding_name(self.event, name), (id_, term))


def _ticks(event: Instance, times: TimeFormat) -> str:
    return f'"from":{times.json(event.start)},"to":{times.json(event.end)}'


def event_json(event: Instance, times: TimeFormat) -> str:
    """An event inside of another."""
    ticks = _ticks(event, times)
    if event.events:
        inside = ",".join(event_json(part, times) for part in event.events)
        return f'{{"event":{quoted(event.event)},{ticks},"events":[{inside}]}}'
    graph = f',"graph":{quoted(event.graph)}' if event.graph else ""
    return f'{{"event":{quoted(event.event)},"individual":{quoted(event.individual)}{graph},{ticks}}}'


@record
@dataclass(frozen=True, slots=True)
class RejectedLine:
    """The events of a tick that have no classes: they are `inconsistent`, or `undecided`.

    >>> print(RejectedLine(7, "inconsistent", ("<g3>", "")))
    {"t":7,"inconsistent":[{"graph":"<g3>"},{}]}
    """

    t: int
    why: str
    graphs: tuple[str, ...]

    def __str__(self) -> str:
        return self.json()

    def json(self, times: TimeFormat = AS_TICKS) -> str:
        listed = ",".join(f'{{"graph":{quoted(graph)}}}' if graph else "{}" for graph in self.graphs)
        return f'{{"t":{times.json(self.t)},"{self.why}":[{listed}]}}'

    def facts(self) -> Iterator[Fact]:
        """Nothing."""
        return iter(())


EventLine = AbstractLine | ComplexLine | RejectedLine


def event_answer(lines: Sequence[EventLine]) -> Answer:
    """The answer of a tick about its events, whose lines are in order."""
    return Answer("events", lines[0].t, (tuple(lines),))


def ordered_lines(lines: Iterable[EventLine]) -> list[EventLine]:
    """Lines in their order: one for the rejected events of a reason, and one order of events in a complex event.

    >>> lines = [RejectedLine(7, "inconsistent", ("<h>",)), RejectedLine(7, "inconsistent", ("<g>",))]
    >>> print(*ordered_lines(lines))
    {"t":7,"inconsistent":[{"graph":"<g>"},{"graph":"<h>"}]}
    """
    abstract: list[EventLine] = []
    rejected: dict[tuple[int, str], list[str]] = {}
    matched: list[ComplexLine] = []
    for line in lines:
        match line:
            case RejectedLine(tick, why, graphs):
                rejected.setdefault((tick, why), []).extend(graphs)
            case ComplexLine():
                matched.append(line)
            case _:
                abstract.append(line)
    events = united(line.instance for line in matched) if len(matched) > 1 else {}
    shown = (replace(line, instance=events[identity(line.instance)]) if events else line for line in matched)
    without = (RejectedLine(tick, why, tuple(sorted(graphs))) for (tick, why), graphs in rejected.items())
    return sorted([*abstract, *shown, *without], key=lambda line: (line.t, str(line)))


def merged_events(answers: Sequence[Answer]) -> Answer:
    """The answers of several buckets for one tick, merged into one."""
    if len(answers) == 1:
        return answers[0]
    return event_answer(ordered_lines(line for answer in answers for line in answer.columns[0]))


def facts_of_events(lines: Iterable[EventLine]) -> tuple[str, ...]:
    """The facts that rules read of events, each once: events that differ in bindings only are one."""
    return tuple(dict.fromkeys(str(fact) for line in lines for fact in line.facts()))


@record
@dataclass(frozen=True, slots=True)
class UndecidedEvents:
    """How many events could not be decided for a reason, the graph of an example, and a way out.

    >>> UndecidedEvents("there is no reasoner", 2, "<g>", "").warning().message
    '2 events are undecided, such as `<g>`: there is no reasoner'
    """

    reason: str
    count: int
    example: str
    way_out: str

    def warning(self) -> Diagnostic:
        """W703."""
        example = f", such as `{self.example}`" if self.example else ""
        message = f"{self.count} event{'s are' if self.count > 1 else ' is'} undecided{example}: {self.reason}"
        return Diagnostic("W703", message, help=self.way_out)


class UndecidedTotals:
    """Adds up the undecided events of all buckets, by reason; the first example of a reason stays.

    >>> totals = UndecidedTotals()
    >>> for graph in ("<g>", "<h>"):
    ...     totals.take(UndecidedEvents("there is no reasoner", 2, graph, ""))
    >>> [warning.message for warning in totals.summary()]
    ['4 events are undecided, such as `<g>`: there is no reasoner']
    """

    def __init__(self) -> None:
        self._reasons: dict[str, UndecidedEvents] = {}

    def hear(self, note: object) -> bool:
        """Adds what a bucket notes, where that is of undecided events, and says whether it was."""
        if isinstance(note, UndecidedEvents):
            self.take(note)
        return isinstance(note, UndecidedEvents)

    def take(self, more: UndecidedEvents) -> None:
        """Adds what a bucket did not decide in a batch."""
        before = self._reasons.get(more.reason)
        self._reasons[more.reason] = more if before is None else replace(before, count=before.count + more.count)

    def summary(self) -> Iterator[Diagnostic]:
        """A warning for each reason."""
        return (events.warning() for events in self._reasons.values())


def added(account: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Two accounts of what was done, as one.

    >>> added({"hits": 2, "seconds": {"rules": 0.5}}, {"hits": 1, "seconds": {"cases": 0.25}})
    {'hits': 3, 'seconds': {'rules': 0.5, 'cases': 0.25}}
    """
    total = dict(account)
    for name, value in more.items():
        if isinstance(value, Mapping):
            total[name] = added(total.get(name, {}), value)
        else:
            total[name] = round(total.get(name, 0) + value, 6)
    return total
