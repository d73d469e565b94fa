"""Three ways to see one output stream: snapshots, changes, intervals.

    changes      what the engine says, tick by tick
    snapshot     changes added up; one answer for every tick, also where nothing changes
    intervals    each fact from the tick at which it began to the tick before the one at which it ended

All three work from the changes alone, so ticks at which nothing changes cost nothing but the snapshots' own lines.

Over a memory budget an answer is *partial*: everything in it is true, something may be missing, and it names the
predicates of which facts were shed. What held at the tick before and may hold or not is *unknown*: it has not ended,
and is no longer part of what holds. When it is known again and holds, it begins again.

Answer sets come window by window instead: a `Solution` each. All can be written as JSON Lines, as atoms, or as graphs
of RDF whose names tell from when to when they hold.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from json.encoder import encode_basestring as quoted
from typing import Final, Protocol

import numpy as np

from thalweg.connectors.publish import Graph, Statements
from thalweg.model.arrow import Lists
from thalweg.model.listing import Wrapping, in_parts
from thalweg.model.rdf import GENERATED_AT, OWN, XSD, as_ntriples
from thalweg.model.time import Clock

_PARTIAL: Final = ',"partial":true'
_NOTE: Final = " % partial"

_TRUE: Final = f'"true"^^<{XSD}boolean>'
_INVALIDATED_AT: Final = "<http://www.w3.org/ns/prov#invalidatedAtTime>"
_UNKNOWN_FROM: Final = f"{OWN}unknownFrom>"
_VALID_FROM: Final = "<https://schema.org/validFrom>"
_VALID_THROUGH: Final = "<https://schema.org/validThrough>"

# Facts as strings of JSON.
_QUOTED: Final = Wrapping('"', '"', lambda text: quoted(text)[1:-1])

# A stretch is printed as one piece of text; this many lines of it at most.
LONGEST_STRETCH: Final = 8_192


def _graph(name: str, facts: tuple[str, ...], partial: bool, shed: tuple[str, ...], *said: Statements) -> Graph:
    """A graph with a name of our own; one that may lack something is another graph, and says so."""
    known = tuple(one for group in said for one in group)
    if not partial:
        return Graph(f"{OWN}{name}>", facts, known)
    missing = tuple((f"{OWN}shed>", quoted(predicate)) for predicate in shed)
    return Graph(f"{OWN}{name}:partial>", facts, (*known, (f"{OWN}partial>", _TRUE), *missing))


def _time(predicate: str, name: str, tick: int, clock: Clock) -> Statements:
    """A tick as a moment, by the clock, and as itself; as itself alone where it lies beyond all calendars."""
    number = as_ntriples(str(tick))
    return (predicate, _moment(tick, clock) or number), (f"{OWN}{name}>", number)


def _moment(tick: int, clock: Clock) -> str | None:
    """The moment at which a tick begins; the clock maps it to the same tick again.

    >>> _moment(9, Clock(tick_length=100)), _moment(10**15, Clock())
    ('"1970-01-01T00:00:00.900Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>', None)
    """
    milliseconds = clock.epoch + tick * clock.tick_length
    try:
        then = datetime(1970, 1, 1) + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return None
    written = then.isoformat(timespec="milliseconds" if milliseconds % 1_000 else "seconds")
    return f'"{written}Z"^^<{XSD}dateTime>'


def _listed(facts: Iterable[str]) -> str:
    # Quoting one string after the other beats `json.dumps`, which sets itself up anew for each of many short lists.
    return f"[{','.join(map(quoted, facts))}]"


def marked(partial: bool, shed: tuple[str, ...]) -> str:
    """How a line of JSON goes on that may lack something, and of which predicates facts were shed.

    >>> marked(True, ("p/1",)), marked(False, ())
    (',"shed":["p/1"],"partial":true', '')
    """
    return (f',"shed":{_listed(shed)}' if shed else "") + _PARTIAL * partial


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


@dataclass(frozen=True, slots=True)
class Stretch:
    """The same snapshot for every tick from `first` to `last`."""

    first: int
    last: int
    facts: tuple[str, ...]
    partial: bool = False
    shed: tuple[str, ...] = ()

    def answers(self) -> Iterator[Snapshot]:
        return (Snapshot(tick, self.facts, self.partial, self.shed) for tick in range(self.first, self.last + 1))

    def jsonl(self) -> str:
        rest = f',"facts":{_listed(self.facts)}{marked(self.partial, self.shed)}}}\n'
        return "".join([f'{{"t":{tick}{rest}' for tick in range(self.first, self.last + 1)])

    def atoms(self) -> str:
        """`q(x2,y,z) at 41.`, one fact a line."""
        end = f".{_NOTE * self.partial}\n"
        return "".join([f"{fact} at {tick}{end}" for tick in range(self.first, self.last + 1) for fact in self.facts])

    def graphs(self, clock: Clock) -> Iterator[Graph]:
        """One for each tick at which something holds: an event of a stream that can be read again."""
        for tick in range(self.first, self.last + 1) if self.facts else ():
            when = _time(GENERATED_AT, "tick", tick, clock)
            yield _graph(f"snapshot:{tick}", self.facts, self.partial, self.shed, when)


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

    def __str__(self) -> str:
        unknown = f',"unknown":{_listed(self.unknown)}' if self.unknown else ""
        rest = f"{unknown}{marked(self.partial, self.shed)}"
        return f'{{"t":{self.t},"begin":{_listed(self.begin)},"end":{_listed(self.end)}{rest}}}'

    def answers(self) -> Iterator["Change"]:
        yield self

    def jsonl(self) -> str:
        return f"{self}\n"

    def atoms(self) -> str:
        """`- q(x1,y,z) at 40.`, `? q(x2,y,z) at 40.` and `+ q(x3,y,z) at 40.`: what ended, is unknown, and began."""
        rest = f" at {self.t}.{_NOTE * self.partial}\n"
        kinds = (("-", self.end), ("?", self.unknown), ("+", self.begin))
        return "".join([f"{sign} {fact}{rest}" for sign, facts in kinds for fact in facts])

    def graphs(self, clock: Clock) -> Iterator[Graph]:
        """What ended, what became unknown, and what began."""
        for name, facts, predicate in (
            ("end", self.end, _INVALIDATED_AT),
            ("unknown", self.unknown, _UNKNOWN_FROM),
            ("begin", self.begin, GENERATED_AT),
        ):
            if facts:
                when = _time(predicate, "tick", self.t, clock)
                yield _graph(f"{name}:{self.t}", facts, self.partial, self.shed, when)


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
        until = "null" if self.until is None else self.until
        rest = marked(self.partial, self.shed)
        return f'{{"fact":{quoted(self.fact)},"from":{self.start},"until":{until}{rest}}}'

    def answers(self) -> Iterator["Interval"]:
        yield self

    def jsonl(self) -> str:
        return f"{self}\n"

    def atoms(self) -> str:
        """`q(x2,y,z) from 38 until 41.`, or `q(x2,y,z) from 38.` while it holds."""
        until = "" if self.until is None else f" until {self.until}"
        return f"{self.fact} from {self.start}{until}.{_NOTE * self.partial}\n"

    def graphs(self, clock: Clock) -> Iterator[Graph]:
        """The graph of all that holds just so long."""
        start = _time(_VALID_FROM, "from", self.start, clock)
        if self.until is None:
            yield _graph(f"interval:{self.start}", (self.fact,), self.partial, self.shed, start)
        else:
            end = _time(_VALID_THROUGH, "until", self.until, clock)
            yield _graph(f"interval:{self.start}:{self.until}", (self.fact,), self.partial, self.shed, start, end)


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

    def jsonl(self) -> Iterator[str]:
        """Its line, in parts: some have millions of facts."""
        yield f'{{"t":{self.t},"window":[{self.start},{self.t}],"answers":['
        for number, facts in enumerate(self.sets):
            yield ",[" if number else "["
            for place, some in enumerate(in_parts(facts, _QUOTED)):
                yield f"{',' if place else ''}{','.join(some)}"
            yield "]"
        yield "]" + ',"incomplete":true' * self.incomplete + "}\n"

    def atoms(self) -> Iterator[str]:
        """`q(x2,y,z) at 41.`, one fact a line, of a window with one answer set; in parts."""
        note = " % incomplete" * self.incomplete
        if not self.sets:
            yield f"% {'nothing is known' if self.incomplete else 'no answer set'} at {self.t}{note}\n"
        for facts in self.sets:
            for some in in_parts(facts, Wrapping(after=f" at {self.t}.{note}\n")):
                yield "".join(some)

    def graphs(self, clock: Clock) -> Iterator[Graph]:
        """One for each answer set, and one that only says so where there is none."""
        said = (*_time(GENERATED_AT, "tick", self.t, clock), (f"{OWN}from>", as_ntriples(str(self.start))))
        marks = {"incomplete": self.incomplete, "inconsistent": not self.sets and not self.incomplete}
        said += tuple((f"{OWN}{mark}>", _TRUE) for mark, holds in marks.items() if holds)
        for facts in self.sets or ((),):
            yield Graph(f"{OWN}window:{self.start}:{self.t}>", tuple(facts), said)


Answer = Snapshot | Change | Interval | Solution
Piece = Stretch | Change | Interval | Solution
Spell = Callable[[Piece], Iterable[str]]
"""The text of a piece, in parts where it is long."""

FORMATS: Final = ("jsonl", "atoms", "nquads", "jsonld")


def spelling(format: str, clock: Clock) -> Spell:
    """How pieces are written in one of the `FORMATS`; the clock says which moment a tick is.

    >>> write = spelling("nquads", Clock())
    >>> [text] = write(Interval("<http://a/C>(<http://a/b>)", 38, None))
    >>> text.splitlines()[1]
    '<urn:thalweg:interval:38> <urn:thalweg:from> "38"^^<http://www.w3.org/2001/XMLSchema#integer> .'
    """
    return {
        "jsonl": as_jsonl,
        "atoms": lambda piece: piece.atoms() if isinstance(piece, Solution) else (piece.atoms(),),
        "nquads": lambda piece: (graph.nquads() for graph in piece.graphs(clock)),
        "jsonld": lambda piece: (graph.jsonld() for graph in piece.graphs(clock)),
    }[format]


def as_jsonl(piece: Piece) -> Iterable[str]:
    """Lines of JSON.

    >>> list(as_jsonl(Interval("a", 38, 41)))
    ['{"fact":"a","from":38,"until":41}\\n']
    """
    return piece.jsonl() if isinstance(piece, Solution) else (piece.jsonl(),)


class Delta(Protocol):
    """A change as the engine hands it out: unsorted."""

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


class Emitter(Protocol):
    """Turns the changes of the engine into what the user asked to see."""

    @abstractmethod
    def step(self, deltas: Iterable[Delta], first: int, last: int, shed: tuple[str, ...]) -> Iterator[Piece]:
        """The ticks from `first` to `last` have been evaluated, with these changes.

        `shed` are the predicates of which the engine then lacks facts.
        """

    def finish(self) -> Iterator[Piece]:
        """Nothing more will come."""
        return iter(())

    def save(self) -> Lists:
        """What must be remembered between steps."""
        return {}

    def load(self, saved: Lists, /) -> None:
        """Goes on where another one was saved."""
        return


class Changes(Emitter):
    """`changes`: only ticks with a change."""

    def step(self, deltas: Iterable[Delta], first: int, last: int, shed: tuple[str, ...]) -> Iterator[Change]:
        for delta in deltas:
            begin, end, unknown = (
                tuple(sorted(facts)) for facts in (delta.begin_text, delta.end_text, delta.unknown_text)
            )
            if begin or end or unknown:
                yield Change(delta.tick, begin, end, bool(delta.shed), delta.shed, unknown)


class Snapshots(Emitter):
    """`snapshot`: all that holds, every tick."""

    def __init__(self) -> None:
        self._facts: tuple[str, ...] = ()
        self._shed: tuple[str, ...] = ()

    def step(self, deltas: Iterable[Delta], first: int, last: int, shed: tuple[str, ...]) -> Iterator[Stretch]:
        for delta in deltas:
            yield from self._hold(first, delta.tick - 1)
            self._apply(delta)
            first = delta.tick
        yield from self._hold(first, last - 1)
        self._shed = shed
        yield from self._hold(last, last)

    def _hold(self, first: int, last: int) -> Iterator[Stretch]:
        for start in range(first, last + 1, LONGEST_STRETCH):
            end = min(last, start + LONGEST_STRETCH - 1)
            yield Stretch(start, end, self._facts, bool(self._shed), self._shed)

    def _apply(self, delta: Delta) -> None:
        gone = {*delta.end_text, *delta.unknown_text}
        # What stays is already in order, so that sorting is little more than a merge.
        facts = [fact for fact in self._facts if fact not in gone] if gone else list(self._facts)
        facts += delta.begin_text
        facts.sort()
        self._facts = tuple(facts)
        self._shed = delta.shed

    def save(self) -> Lists:
        return {"facts": self._facts, "shed": self._shed}

    def load(self, saved: Lists) -> None:
        self._facts, self._shed = (tuple(saved[name].to_pylist()) for name in ("facts", "shed"))


class Intervals(Emitter):
    """`intervals`: each fact when it ends or becomes unknown, and at the very end those that still hold."""

    def __init__(self) -> None:
        self._open: dict[str, int] = {}
        self._missing: dict[str, int] = {}

    def step(self, deltas: Iterable[Delta], first: int, last: int, shed: tuple[str, ...]) -> Iterator[Interval]:
        for delta in deltas:
            self._note(delta.tick, delta.shed)
            for fact in sorted([*delta.end_text, *delta.unknown_text]):
                yield self._interval(fact, self._open.pop(fact), delta.tick - 1)
            self._open.update(dict.fromkeys(delta.begin_text, delta.tick))
        self._note(last, shed)

    def finish(self) -> Iterator[Interval]:
        for fact, start in sorted(self._open.items()):
            yield self._interval(fact, start, None)

    def save(self) -> Lists:
        since, last = (np.array(list(ticks.values()), dtype=np.int64) for ticks in (self._open, self._missing))
        return {"facts": list(self._open), "since": since, "shed": list(self._missing), "last": last}

    def load(self, saved: Lists) -> None:
        self._open = dict(zip(saved["facts"].to_pylist(), saved["since"].tolist(), strict=True))
        self._missing = dict(zip(saved["shed"].to_pylist(), saved["last"].tolist(), strict=True))

    def _note(self, tick: int, shed: tuple[str, ...]) -> None:
        self._missing.update(dict.fromkeys(shed, tick))

    def _interval(self, fact: str, start: int, until: int | None) -> Interval:
        shed = missing_since(self._missing, start) if self._missing else ()
        return Interval(fact, start, until, bool(shed), shed)


def missing_since(missing: Mapping[str, int], start: int) -> tuple[str, ...]:
    """The predicates that mark an interval, by the last tick at which facts of each were missing.

    An interval is partial when that was so within it, at its end, or at the tick before it began: then it may have
    begun earlier.

    >>> missing_since({"p/1": 4, "r/1": 7}, start=6)
    ('r/1',)
    """
    return tuple(sorted(predicate for predicate, last in missing.items() if last >= start - 1))


EMITTERS: Final[dict[str, Callable[[], Emitter]]] = {"snapshot": Snapshots, "changes": Changes, "intervals": Intervals}
