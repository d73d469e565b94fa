"""Three ways to see one output stream: snapshots, changes, intervals.

    changes      what begins and ends, tick by tick
    snapshot     changes added up; one answer for every tick, also where nothing changes
    intervals    each fact from the tick at which it began to the tick before the one at which it ended

All three work from deltas alone, so ticks at which nothing changes cost nothing but the snapshots' own lines.

Over a memory budget an answer is *partial*: everything in it is true, something may be missing, and it names the
predicates of which facts were shed. What held at the tick before and may hold or not is *unknown*: it has not ended,
and is no longer part of what holds. When it is known again and holds, it begins again.

Answer sets come window by window instead: a `Solution` each; so do continuous queries (`query_answers`), and events
have the answers of their tick (`event_answers`). All can be written as JSON Lines, as atoms, or as graphs of RDF whose
names say from when to when they hold.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from json.encoder import encode_basestring as quoted
from operator import itemgetter
from typing import Any, Final, Generic, Protocol, TypeVar

import numpy as np

from thalweg.answers.event_answers import EventAnswers, EventLine
from thalweg.answers.query_answers import QueryAnswer
from thalweg.answers.shedding import MissingFacts, Span, shed_between
from thalweg.connectors.publish import Graph, Statements
from thalweg.model.arrow import Lists
from thalweg.model.listing import Wrapping, in_parts
from thalweg.model.predicate import Predicate
from thalweg.model.rdf import GENERATED_AT, OWN, XSD, as_ntriples, printed_fact
from thalweg.model.records import record
from thalweg.model.time import AS_TICKS, FOREVER, TimeFormat
from thalweg.model.triples import TRIPLES

_PARTIAL: Final = ',"partial":true'
_NOTE: Final = " % partial"

_TRUE: Final = f'"true"^^<{XSD}boolean>'
_INVALIDATED_AT: Final = "<http://www.w3.org/ns/prov#invalidatedAtTime>"
_UNKNOWN_FROM: Final = f"{OWN}unknownFrom>"
_VALID_FROM: Final = "<https://schema.org/validFrom>"
_VALID_THROUGH: Final = "<https://schema.org/validThrough>"

# Facts as strings of JSON.
_QUOTED: Final = Wrapping('"', '"', lambda text: quoted(text)[1:-1])

# A run is printed as one text; this many lines of it at most.
LONGEST_RUN: Final = 8_192


def _graph(name: str, facts: tuple[str, ...], partial: bool, shed: tuple[str, ...], *groups: Statements) -> Graph:
    """A graph with a name of our own; one that may lack something is another graph, and says so."""
    statements = tuple(statement for group in groups for statement in group)
    if not partial:
        return Graph(f"{OWN}{name}>", facts, statements)
    missing = tuple((f"{OWN}shed>", quoted(predicate)) for predicate in shed)
    return Graph(f"{OWN}{name}:partial>", facts, (*statements, (f"{OWN}partial>", _TRUE), *missing))


def time_statements(predicate: str, name: str, tick: int, times: TimeFormat) -> Statements:
    """A tick as a moment, and as itself; as itself alone where it lies beyond all calendars."""
    number = as_ntriples(str(tick))
    return (predicate, _moment(tick, times) or number), (f"{OWN}{name}>", number)


def _moment(tick: int, times: TimeFormat) -> str | None:
    """The moment at which a tick begins; the clock maps it to the same tick again.

    >>> from thalweg.model.time import Calendar, Clock
    >>> _moment(9, TimeFormat(Calendar(Clock(tick_length=100)))), _moment(10**15, TimeFormat())
    ('"1970-01-01T00:00:00.900Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>', None)
    """
    written = times.moment(tick)
    return None if written is None else f'"{written}"^^<{XSD}dateTime>'


def _listed(facts: tuple[str, ...]) -> str:
    # Mostly no character has to be quoted, which one look at all of them shows.
    text = '","'.join(facts)
    if len(quoted(text)) == len(text) + 2 * len(facts):
        return f'["{text}"]'
    # Quoting one string after the other beats `json.dumps`, which sets itself up anew for each of many short lists.
    return f"[{','.join(map(quoted, facts))}]"


def marked(partial: bool, shed: tuple[str, ...]) -> str:
    """How a line of JSON goes on that may lack something, and of which predicates facts were shed.

    >>> marked(True, ("p/1",)), marked(False, ())
    (',"shed":["p/1"],"partial":true', '')
    """
    if not partial:
        return ""
    return (f',"shed":{_listed(shed)}' if shed else "") + _PARTIAL


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that holds at a tick; all that is known to hold where it is partial.

    >>> print(Snapshot(41, ("q(x2,y,z)", "q(x3,y,z)")))
    {"t":41,"facts":["q(x2,y,z)","q(x3,y,z)"]}
    >>> print(Snapshot(42, ("q(x3,y,z)",), partial=True, shed=("p/2",)))
    {"t":42,"facts":["q(x3,y,z)"],"shed":["p/2"],"partial":true}
    """

    t: int
    facts: tuple[str, ...]
    partial: bool = False
    shed: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f'{{"t":{self.t},"facts":{_listed(self.facts)}{marked(self.partial, self.shed)}}}'


@record
@dataclass(frozen=True, slots=True)
class SnapshotRun:
    """The same snapshot for every tick from `first` to `last`."""

    first: int
    last: int
    facts: tuple[str, ...]
    partial: bool = False
    shed: tuple[str, ...] = ()

    def answers(self) -> Iterator[Snapshot]:
        return (Snapshot(tick, self.facts, self.partial, self.shed) for tick in range(self.first, self.last + 1))

    def jsonl(self, times: TimeFormat = AS_TICKS) -> str:
        tail = f',"facts":{_listed(self.facts)}{marked(self.partial, self.shed)}}}\n'
        return "".join([f'{{"t":{times.json(tick)}{tail}' for tick in range(self.first, self.last + 1)])

    def atoms(self, times: TimeFormat = AS_TICKS) -> str:
        """`q(x2,y,z) at 41.`, one fact a line."""
        end = f".{_NOTE * self.partial}\n"
        ticks = map(times.atom, range(self.first, self.last + 1)) if self.facts else ()
        return "".join([f"{fact} at {tick}{end}" for tick in ticks for fact in self.facts])

    def graphs(self, times: TimeFormat) -> Iterator[Graph]:
        """One for each tick at which something holds: an event of a stream that can be read again."""
        for tick in range(self.first, self.last + 1) if self.facts else ():
            when = time_statements(GENERATED_AT, "tick", tick, times)
            yield _graph(f"snapshot:{tick}", self.facts, self.partial, self.shed, when)


@record
@dataclass(frozen=True, slots=True)
class Change:
    """What began to hold at a tick, and what ended: held at the tick before, and no longer.

    `unknown` held at the tick before too, and whether it still does is not known: what it rests on was shed.

    >>> print(Change(40, ("q(x3,y,z)",), ("q(x1,y,z)",)))
    {"t":40,"begin":["q(x3,y,z)"],"end":["q(x1,y,z)"]}
    >>> print(Change(40, (), (), partial=True, shed=("p/2",), unknown=("q(x2,y,z)",)))
    {"t":40,"begin":[],"end":[],"unknown":["q(x2,y,z)"],"shed":["p/2"],"partial":true}
    """

    t: int
    begin: tuple[str, ...]
    end: tuple[str, ...]
    partial: bool = False
    shed: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    until: tuple[int, ...] = field(default=(), compare=False)
    """The last tick for which each fact of `begin` is guaranteed, where that was asked for."""

    def __str__(self) -> str:
        return self.jsonl()[:-1]

    def answers(self) -> Iterator["Change"]:
        yield self

    def jsonl(self, times: TimeFormat = AS_TICKS) -> str:
        unknown = f',"unknown":{_listed(self.unknown)}' if self.unknown else ""
        tail = f"{unknown}{marked(self.partial, self.shed)}"
        return f'{{"t":{times.json(self.t)},"begin":{_listed(self.begin)},"end":{_listed(self.end)}{tail}}}\n'

    def atoms(self, times: TimeFormat = AS_TICKS) -> str:
        """`- q(x1,y,z) at 40.`, `? q(x2,y,z) at 40.` and `+ q(x3,y,z) at 40.`: what ended, is unknown, and began."""
        tail = f" at {times.atom(self.t)}.{_NOTE * self.partial}\n"
        kinds = (("-", self.end), ("?", self.unknown), ("+", self.begin))
        return "".join([f"{sign} {fact}{tail}" for sign, facts in kinds for fact in facts])

    def graphs(self, times: TimeFormat) -> Iterator[Graph]:
        """What ended, what became unknown, and what began."""
        for name, facts, predicate in (
            ("end", self.end, _INVALIDATED_AT),
            ("unknown", self.unknown, _UNKNOWN_FROM),
            ("begin", self.begin, GENERATED_AT),
        ):
            if facts:
                when = time_statements(predicate, "tick", self.t, times)
                yield _graph(f"{name}:{self.t}", facts, self.partial, self.shed, when)


@record
@dataclass(frozen=True, slots=True)
class Interval:
    """A fact, and the ticks over which it holds without a break; `until` is None while it still does.

    >>> print(Interval("q(x2,y,z)", 38, 41))
    {"fact":"q(x2,y,z)","from":38,"until":41}
    """

    fact: str
    start: int
    until: int | None
    partial: bool = False
    shed: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.jsonl()[:-1]

    def answers(self) -> Iterator["Interval"]:
        yield self

    def jsonl(self, times: TimeFormat = AS_TICKS) -> str:
        until = "null" if self.until is None else times.json(self.until)
        tail = marked(self.partial, self.shed)
        return f'{{"fact":{quoted(self.fact)},"from":{times.json(self.start)},"until":{until}{tail}}}\n'

    def atoms(self, times: TimeFormat = AS_TICKS) -> str:
        """`q(x2,y,z) from 38 until 41.`, or `q(x2,y,z) from 38.` while it holds."""
        until = "" if self.until is None else f" until {times.atom(self.until)}"
        return f"{self.fact} from {times.atom(self.start)}{until}.{_NOTE * self.partial}\n"

    def graphs(self, times: TimeFormat) -> Iterator[Graph]:
        """The graph of all that holds just so long."""
        start = time_statements(_VALID_FROM, "from", self.start, times)
        if self.until is None:
            yield _graph(f"interval:{self.start}", (self.fact,), self.partial, self.shed, start)
        else:
            end = time_statements(_VALID_THROUGH, "until", self.until, times)
            yield _graph(f"interval:{self.start}:{self.until}", (self.fact,), self.partial, self.shed, start, end)


@record
@dataclass(frozen=True, slots=True)
class Solution:
    """The answer sets of a window that closes at `t`: none where it is inconsistent.

    >>> print(Solution(40, 38, (("a(1)",), ("b(1)",))))
    {"t":40,"window":[38,40],"answers":[["a(1)"],["b(1)"]]}
    """

    t: int
    start: int
    sets: tuple[Sequence[str], ...]
    incomplete: bool = False

    def __str__(self) -> str:
        return "".join(self.jsonl())[:-1]

    def answers(self) -> Iterator["Solution"]:
        yield self

    def jsonl(self, times: TimeFormat = AS_TICKS) -> Iterator[str]:
        """Its line, in parts: some have millions of facts."""
        start, end = times.json(self.start), times.json(self.t)
        yield f'{{"t":{end},"window":[{start},{end}],"answers":['
        for number, facts in enumerate(self.sets):
            yield ",[" if number else "["
            for place, texts in enumerate(in_parts(facts, _QUOTED)):
                yield f"{',' if place else ''}{','.join(texts)}"
            yield "]"
        yield "]" + ',"incomplete":true' * self.incomplete + "}\n"

    def atoms(self, times: TimeFormat = AS_TICKS) -> Iterator[str]:
        """`q(x2,y,z) at 41.`, one fact a line, of a window with one answer set; in parts."""
        note, tick = " % incomplete" * self.incomplete, times.atom(self.t)
        if not self.sets:
            yield f"% {'nothing is known' if self.incomplete else 'no answer set'} at {tick}{note}\n"
        for facts in self.sets:
            for lines in in_parts(facts, Wrapping(after=f" at {tick}.{note}\n")):
                yield "".join(lines)

    def graphs(self, times: TimeFormat) -> Iterator[Graph]:
        """One for each answer set, and one that only says so where there is none."""
        statements = (
            *time_statements(GENERATED_AT, "tick", self.t, times),
            (f"{OWN}from>", as_ntriples(str(self.start))),
        )
        marks = {"incomplete": self.incomplete, "inconsistent": not self.sets and not self.incomplete}
        statements += tuple((f"{OWN}{mark}>", _TRUE) for mark, holds in marks.items() if holds)
        for facts in self.sets or ((),):
            yield Graph(f"{OWN}window:{self.start}:{self.t}>", tuple(facts), statements)


Answer = Snapshot | Change | Interval | Solution | QueryAnswer | EventLine
AnswerBlock = SnapshotRun | Change | Interval | Solution | QueryAnswer | EventAnswers
Formatter = Callable[[AnswerBlock], Iterable[str]]
"""The text of a block, in parts where it is long."""

Run = tuple[int, int, tuple[str, ...]]
"""The first and the last tick at which just these facts hold, which are in order."""

Ended = tuple[str, int, int]
"""A fact, and the first and the last tick at which it holds, `FOREVER` where it still does."""

Row = TypeVar("Row")

FORMATS: Final = ("jsonl", "atoms", "nquads", "jsonld")


def formatter(format: str, times: TimeFormat = AS_TICKS) -> Formatter:
    """Writes blocks in one of the `FORMATS`, with ticks as `times` writes them.

    >>> write = formatter("nquads")
    >>> [text] = write(Interval("<http://a/C>(<http://a/b>)", 38, None))
    >>> text.splitlines()[1]
    '<urn:thalweg:interval:38> <urn:thalweg:from> "38"^^<http://www.w3.org/2001/XMLSchema#integer> .'
    """
    return {
        "jsonl": lambda block: as_jsonl(block, times),
        "atoms": lambda block: block.atoms(times) if isinstance(block, Solution) else (block.atoms(times),),
        "nquads": lambda block: (graph.nquads() for graph in block.graphs(times)),
        "jsonld": lambda block: (graph.jsonld() for graph in block.graphs(times)),
    }[format]


def as_jsonl(block: AnswerBlock, times: TimeFormat = AS_TICKS) -> Iterable[str]:
    """Lines of JSON.

    >>> list(as_jsonl(Interval("a", 38, 41)))
    ['{"fact":"a","from":38,"until":41}\\n']
    """
    return block.jsonl(times) if isinstance(block, Solution) else (block.jsonl(times),)


class Delta(Protocol):
    """What began, ended and became unknown at a tick, in any order, and of which predicates facts were missing."""

    @property
    def tick(self) -> int: ...
    @property
    def begin_text(self) -> list[str]: ...
    @property
    def end_text(self) -> list[str]: ...
    @property
    def unknown_text(self) -> list[str]: ...
    @property
    def shed(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A delta whose facts are text already."""

    tick: int
    begin_text: list[str] = field(default_factory=list)
    end_text: list[str] = field(default_factory=list)
    unknown_text: list[str] = field(default_factory=list)
    shed: tuple[str, ...] = ()
    until: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lasting:
    """Predicates whose facts nothing can take back before the tick until which they are guaranteed.

    >>> Lasting(frozenset({Predicate("jam", 1)})).chosen({"jam(a)": 13, "calm(a)": 20})
    {'jam(a)': 13}
    """

    predicates: frozenset[Predicate]

    def has(self, predicate: Predicate) -> bool:
        """Whether a predicate is one of them; rules over triples conclude facts of any."""
        return predicate in self.predicates or (TRIPLES in self.predicates and predicate.arity in (1, 2))

    def chosen(self, until: Mapping[str, int]) -> dict[str, int]:
        """The facts of these predicates that are guaranteed until a tick, with that tick."""
        return {fact: tick for fact, tick in until.items() if tick < FOREVER and self.has(printed_fact(fact).signature)}


class Emitter(Protocol):
    """Turns what a reasoner concludes into what the user asked to see."""

    @abstractmethod
    def step(self, deltas: Iterable[Any], first: int, last: int, shed: tuple[str, ...]) -> Iterator[AnswerBlock]:
        """The ticks from `first` to `last` have been evaluated, with these deltas.

        `shed` are the predicates of which the reasoner then lacks facts.
        """

    @abstractmethod
    def finish(self) -> Iterator[AnswerBlock]:
        """Nothing more will come."""


class RowEmitter(Emitter, Generic[Row]):
    """Deltas become rows, and rows become answers.

    Rows are what one process knows: neither sorted nor marked. So a bucket sends its rows, those of all buckets are put
    together, and `arrange` makes the same answers of them as it does of the rows of one process.
    """

    def __init__(self) -> None:
        self.missing = MissingFacts()

    def step(self, deltas: Iterable[Delta], first: int, last: int, shed: tuple[str, ...]) -> Iterator[AnswerBlock]:
        changes = list(deltas)
        missing = self.missing
        for delta in changes:
            if delta.shed or missing.since:
                missing.see(delta.tick, delta.shed)
        if shed or missing.since:
            missing.see(last, shed)
        return self.arrange(self.rows(changes, first, last), missing.up_to(last))

    def finish(self) -> Iterator[AnswerBlock]:
        return self.arrange(self.rest(), self.missing.remembered)

    @abstractmethod
    def rows(self, deltas: Iterable[Delta], first: int, last: int) -> Iterable[Row]:
        """The rows that are decided once the ticks from `first` to `last` have been evaluated, with these deltas."""

    def rest(self) -> Iterable[Row]:
        """The rows that are still open when the streams have ended."""
        return ()

    @staticmethod
    @abstractmethod
    def arrange(rows: Iterable[Row], missing: Sequence[Span]) -> Iterator[AnswerBlock]:
        """Rows as answers, in order; partial where facts were missing."""

    def save(self) -> Lists:
        """The state of the emitter as columns, to be kept between steps."""
        return self.missing.save()

    def load(self, saved: Lists) -> None:
        """Goes on where another one was saved."""
        self.missing.load(saved)


class Changes(RowEmitter[Delta]):
    """`changes`: only ticks with a change; what begins of the `lasting` has the tick until which it is guaranteed."""

    def __init__(self, lasting: Lasting | None = None) -> None:
        super().__init__()
        self._lasting = lasting

    def rows(self, deltas: Iterable[Delta], first: int, last: int) -> Iterable[Delta]:
        lasting = self._lasting
        return deltas if lasting is None else (_with_until(delta, lasting) for delta in deltas)

    @staticmethod
    def arrange(rows: Iterable[Delta], missing: Sequence[Span]) -> Iterator[Change]:
        for delta in rows:
            begin, end = tuple(sorted(delta.begin_text)), tuple(sorted(delta.end_text))
            unknown = tuple(sorted(delta.unknown_text))
            if begin or end or unknown:
                shed = shed_between(missing, delta.tick, delta.tick) if missing else ()
                horizons = delta.until if isinstance(delta, TextDelta) else {}
                until = tuple(horizons.get(fact, FOREVER) for fact in begin) if horizons else ()
                yield Change(delta.tick, begin, end, bool(shed), shed, unknown, until)


def _with_until(delta: Delta, lasting: Lasting) -> TextDelta:
    texts = delta.begin_text, delta.end_text, delta.unknown_text
    return TextDelta(delta.tick, *texts, delta.shed, lasting.chosen(getattr(delta, "until", {})))


class Snapshots(RowEmitter[Run]):
    """`snapshot`: all that holds, every tick."""

    def __init__(self) -> None:
        super().__init__()
        self._facts: tuple[str, ...] = ()

    def rows(self, deltas: Iterable[Delta], first: int, last: int) -> Iterator[Run]:
        for delta in deltas:
            if first < delta.tick:
                yield first, delta.tick - 1, self._facts
            self._apply(delta)
            first = delta.tick
        if first <= last:
            yield first, last, self._facts

    def _apply(self, delta: Delta) -> None:
        gone = {*delta.end_text, *delta.unknown_text}
        # What stays is already in order, so that sorting is little more than a merge.
        facts = [fact for fact in self._facts if fact not in gone] if gone else list(self._facts)
        facts += delta.begin_text
        facts.sort()
        self._facts = tuple(facts)

    @staticmethod
    def arrange(rows: Iterable[Run], missing: Sequence[Span]) -> Iterator[SnapshotRun]:
        edges = {tick for _, since, until in missing for tick in (since, until + 1)}
        for first, last, facts in rows:
            for start, end in _parts(first, last, edges):
                shed = shed_between(missing, start, end) if missing else ()
                yield SnapshotRun(start, end, facts, bool(shed), shed)

    def save(self) -> Lists:
        return super().save() | {"facts": self._facts}

    def load(self, saved: Lists) -> None:
        super().load(saved)
        self._facts = tuple(saved["facts"].to_pylist())


def _parts(first: int, last: int, edges: set[int]) -> Iterable[tuple[int, int]]:
    """The ticks from one to another in parts that begin at the edges, none of them too long.

    >>> list(_parts(3, 9, {5, 20}))
    [(3, 4), (5, 9)]
    """
    if not edges and last - first < LONGEST_RUN:
        return ((first, last),)
    starts = sorted({*range(first, last + 1, LONGEST_RUN), *(edge for edge in edges if first < edge <= last)})
    return ((start, end - 1) for start, end in pairwise([*starts, last + 1]))


class Intervals(RowEmitter[Ended]):
    """`intervals`: each fact when it ends or becomes unknown, and at the very end those that still hold.

    An interval is partial when facts were missing within it, at its end, or at the tick before it began: then it may
    have begun earlier.
    """

    def __init__(self) -> None:
        self.missing = MissingFacts(lasting=True)
        self._open: dict[str, int] = {}

    def rows(self, deltas: Iterable[Delta], first: int, last: int) -> list[Ended]:
        ended: list[Ended] = []
        since = self._open.pop
        for delta in deltas:
            until = delta.tick - 1
            ended += [(fact, since(fact), until) for facts in (delta.end_text, delta.unknown_text) for fact in facts]
            self._open.update(dict.fromkeys(delta.begin_text, delta.tick))
        return ended

    def rest(self) -> list[Ended]:
        return [(fact, start, FOREVER) for fact, start in self._open.items()]

    @staticmethod
    def arrange(rows: Iterable[Ended], missing: Sequence[Span]) -> Iterator[Interval]:
        # By the last tick and then by the fact: two sorts by one value are faster than one by pairs.
        for fact, start, until in sorted(sorted(rows), key=itemgetter(2)):
            shed = shed_between(missing, start - 1, until + 1) if missing else ()
            yield Interval(fact, start, None if until == FOREVER else until, bool(shed), shed)

    def save(self) -> Lists:
        since = np.array(list(self._open.values()), dtype=np.int64)
        return super().save() | {"facts": list(self._open), "since": since}

    def load(self, saved: Lists) -> None:
        super().load(saved)
        self._open = dict(zip(saved["facts"].to_pylist(), saved["since"].tolist(), strict=True))


EMITTERS: Final[dict[str, type[RowEmitter[Any]]]] = {
    "snapshot": Snapshots,
    "changes": Changes,
    "intervals": Intervals,
}


def emitter_of(emit: str, lasting: Lasting | None = None) -> RowEmitter[Any]:
    """The emitter of `--emit`; changes also say until when what begins of the `lasting` is guaranteed."""
    return Changes(lasting) if emit == "changes" else EMITTERS[emit]()
