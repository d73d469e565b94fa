"""Three ways to see one output stream: snapshots, changes, intervals.

    changes      what begins and ends, tick by tick
    snapshot     changes added up; one answer for every tick, also where nothing changes
    intervals    each fact from the tick at which it began to the tick before the one at which it ended

All three work from deltas alone, so ticks at which nothing changes cost nothing but the snapshots' own lines.

Over a memory budget an answer is *partial*. What held at the tick before and may hold or not is *unknown*: it has not
ended, and is no longer part of what holds. When it is known again and holds, it begins again. Emitters follow when
facts were missing (`MissingFacts`), and a run reports it (`Shedding`).
"""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any, Final, Generic, Protocol, TypeVar

import numpy as np

from thalweg.answers.record import Answer
from thalweg.diagnostics import Diagnostic
from thalweg.model.arrow import Lists
from thalweg.model.predicate import Predicate
from thalweg.model.rdf import printed_fact
from thalweg.model.time import FOREVER
from thalweg.model.triples import TRIPLES

# An answer is printed as one text; this many lines of it at most.
LONGEST_RUN: Final = 8_192

Run = tuple[int, int, tuple[str, ...]]
"""The first and the last tick at which just these facts hold, which are in order."""

Ended = tuple[str, int, int]
"""A fact, and the first and the last tick at which it holds, `FOREVER` where it still does."""

Span = tuple[str, int, int]
"""A predicate, and the first and the last tick at which facts of it were missing."""

Row = TypeVar("Row")


class TickChanges(Protocol):
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
    def step(self, deltas: Iterable[Any], first: int, last: int, shed: tuple[str, ...]) -> Iterator[Answer]:
        """The ticks from `first` to `last` have been evaluated, with these deltas.

        `shed` are the predicates of which the reasoner then lacks facts.
        """

    @abstractmethod
    def finish(self) -> Iterator[Answer]:
        """Nothing more will come."""


class RowEmitter(Emitter, Generic[Row]):
    """Deltas become rows, and rows become answers.

    Rows are what one process knows: neither sorted nor marked. So a bucket sends its rows, those of all buckets are put
    together, and `arrange` makes the same answers of them as it does of the rows of one process.
    """

    def __init__(self) -> None:
        self.missing = MissingFacts()

    def step(self, deltas: Iterable[TickChanges], first: int, last: int, shed: tuple[str, ...]) -> Iterator[Answer]:
        changes = list(deltas)
        missing = self.missing
        for delta in changes:
            if delta.shed or missing.since:
                missing.see(delta.tick, delta.shed)
        if shed or missing.since:
            missing.see(last, shed)
        return self.arrange(self.rows(changes, first, last), missing.up_to(last))

    def finish(self) -> Iterator[Answer]:
        return self.arrange(self.rest(), self.missing.remembered)

    @abstractmethod
    def rows(self, deltas: Iterable[TickChanges], first: int, last: int) -> Iterable[Row]:
        """The rows that are decided once the ticks from `first` to `last` have been evaluated, with these deltas."""

    def rest(self) -> Iterable[Row]:
        """The rows that are still open when the streams have ended."""
        return ()

    @staticmethod
    @abstractmethod
    def arrange(rows: Iterable[Row], missing: Sequence[Span]) -> Iterator[Answer]:
        """Rows as answers, in order; partial where facts were missing."""

    def save(self) -> Lists:
        """The state of the emitter as columns, to be kept between steps."""
        return self.missing.save()

    def load(self, saved: Lists) -> None:
        """Goes on where another one was saved."""
        self.missing.load(saved)

    def join(self, saved: Lists) -> None:
        """Takes in what another one was to say of facts that began before."""
        return


class Changes(RowEmitter[TickChanges]):
    """`changes`: only ticks with a change; what begins of the `lasting` has the tick until which it is guaranteed."""

    def __init__(self, lasting: Lasting | None = None) -> None:
        super().__init__()
        self._lasting = lasting

    def rows(self, deltas: Iterable[TickChanges], first: int, last: int) -> Iterable[TickChanges]:
        lasting = self._lasting
        return deltas if lasting is None else (_with_until(delta, lasting) for delta in deltas)

    @staticmethod
    def arrange(rows: Iterable[TickChanges], missing: Sequence[Span]) -> Iterator[Answer]:
        for delta in rows:
            begin, end = tuple(sorted(delta.begin_text)), tuple(sorted(delta.end_text))
            unknown = tuple(sorted(delta.unknown_text))
            if begin or end or unknown:
                shed = shed_between(missing, delta.tick, delta.tick) if missing else ()
                horizons = delta.until if isinstance(delta, TextDelta) else {}
                until = tuple(horizons.get(fact, FOREVER) for fact in begin) if horizons else ()
                yield Answer("changes", delta.tick, (begin, end, unknown, until), shed=shed)


def _with_until(delta: TickChanges, lasting: Lasting) -> TextDelta:
    texts = delta.begin_text, delta.end_text, delta.unknown_text
    return TextDelta(delta.tick, *texts, delta.shed, lasting.chosen(getattr(delta, "until", {})))


class Snapshots(RowEmitter[Run]):
    """`snapshot`: all that holds, every tick."""

    def __init__(self) -> None:
        super().__init__()
        self._facts: tuple[str, ...] = ()

    def rows(self, deltas: Iterable[TickChanges], first: int, last: int) -> Iterator[Run]:
        for delta in deltas:
            if first < delta.tick:
                yield first, delta.tick - 1, self._facts
            self._apply(delta)
            first = delta.tick
        if first <= last:
            yield first, last, self._facts

    def _apply(self, delta: TickChanges) -> None:
        gone = {*delta.end_text, *delta.unknown_text}
        # What stays is already in order, so that sorting is little more than a merge.
        facts = [fact for fact in self._facts if fact not in gone] if gone else list(self._facts)
        facts += delta.begin_text
        facts.sort()
        self._facts = tuple(facts)

    @staticmethod
    def arrange(rows: Iterable[Run], missing: Sequence[Span]) -> Iterator[Answer]:
        edges = {tick for _, since, until in missing for tick in (since, until + 1)}
        for first, last, facts in rows:
            for start, end in _parts(first, last, edges):
                shed = shed_between(missing, start, end) if missing else ()
                yield Answer("snapshot", end, (facts,), start, shed)

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

    def rows(self, deltas: Iterable[TickChanges], first: int, last: int) -> list[Ended]:
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
    def arrange(rows: Iterable[Ended], missing: Sequence[Span]) -> Iterator[Answer]:
        # By the last tick and then by the fact: two sorts by one value are faster than one by pairs.
        ordered = sorted(sorted(rows), key=itemgetter(2))
        for until, ended in groupby(ordered, key=itemgetter(2)):
            for shed, together in _alike(list(ended), missing):
                for place in range(0, len(together), LONGEST_RUN):
                    facts, starts, _ = zip(*together[place : place + LONGEST_RUN], strict=True)
                    yield Answer("intervals", until, (facts, starts), shed=shed)

    def save(self) -> Lists:
        since = np.array(list(self._open.values()), dtype=np.int64)
        return super().save() | {"facts": list(self._open), "since": since}

    def load(self, saved: Lists) -> None:
        super().load(saved)
        self.join(saved)

    def join(self, saved: Lists) -> None:
        self._open |= dict(zip(saved["facts"].to_pylist(), saved["since"].tolist(), strict=True))


def _alike(rows: list[Ended], missing: Sequence[Span]) -> Iterable[tuple[tuple[str, ...], list[Ended]]]:
    """Intervals that end at the same tick, those together that lack facts of the same predicates."""
    if not missing:
        return (((), rows),)
    grouped = groupby(rows, key=lambda row: shed_between(missing, row[1] - 1, row[2] + 1))
    return ((shed, list(together)) for shed, together in grouped)


EMITTERS: Final[dict[str, type[RowEmitter[Any]]]] = {
    "snapshot": Snapshots,
    "changes": Changes,
    "intervals": Intervals,
}


def emitter_of(emit: str, lasting: Lasting | None = None) -> RowEmitter[Any]:
    """The emitter of `--emit`; changes also say until when what begins of the `lasting` is guaranteed."""
    return Changes(lasting) if emit == "changes" else EMITTERS[emit]()


# Missing facts ------------------------------------------------------------------------------------------------------

# Of one predicate; a run in which facts are shed again and again takes the rest for one.
_MOST_SPANS: Final = 16
_HELP: Final = "raise `--memory`, or shorten the windows"


class MissingFacts:
    """When facts of which predicates were missing; `lasting`: remembered for answers that come later.

    >>> missing = MissingFacts()
    >>> missing.see(4, ("p/1",))
    >>> missing.up_to(6)
    [('p/1', 4, 6)]
    >>> missing.see(9, ())
    >>> missing.up_to(12), missing.up_to(15)
    ([('p/1', 7, 8)], [])
    """

    def __init__(self, lasting: bool = False) -> None:
        self._lasting = lasting
        self._spans: dict[str, list[tuple[int, int]]] = {}
        self.since: dict[str, int] = {}

    def __bool__(self) -> bool:
        """Whether something was missing that answers still to come must say, or is missing now."""
        return bool(self._spans or self.since)

    def see(self, tick: int, predicates: Collection[str]) -> None:
        """From this tick on, facts of these predicates are missing, and of no others."""
        names = set(predicates)
        for name in self.since.keys() - names:
            self._close(name, tick - 1)
            del self.since[name]
        self.since = dict.fromkeys(names, tick) | self.since

    def _close(self, name: str, last: int) -> None:
        first = self.since[name]
        if first > last:
            return
        spans = self._spans.setdefault(name, [])
        if spans and (spans[-1][1] >= first - 1 or len(spans) == _MOST_SPANS):
            first = spans.pop()[0]
        spans.append((first, last))

    def up_to(self, last: int) -> list[Span]:
        """What was missing since the last call, or ever where it is lasting, as far as time has come."""
        if not (self._spans or self.since):
            return []
        for name in self.since:
            self._close(name, last)
        self.since = dict.fromkeys(self.since, last + 1)
        spans = self.remembered
        if not self._lasting:
            self._spans = {}
        return spans

    @property
    def remembered(self) -> list[Span]:
        """What was missing before the ticks that are still to come."""
        return [(name, *span) for name, spans in sorted(self._spans.items()) for span in spans]

    def save(self) -> Lists:
        """The spans of missing facts as columns, to be kept between batches."""
        return {
            "missing": [name for name, _, _ in self.remembered],
            "missing_ticks": np.array([ticks for _, *ticks in self.remembered], dtype=np.int64).reshape(-1),
            "missing_now": list(self.since),
            "missing_since": np.array(list(self.since.values()), dtype=np.int64),
        }

    def load(self, saved: Lists) -> None:
        """Goes on where another one was saved."""
        ticks = saved["missing_ticks"].tolist()
        for name, first, last in zip(saved["missing"].to_pylist(), ticks[::2], ticks[1::2], strict=True):
            self._spans.setdefault(name, []).append((first, last))
        self.since = dict(zip(saved["missing_now"].to_pylist(), saved["missing_since"].tolist(), strict=True))


def shed_between(missing: Iterable[Span], first: int, last: int) -> tuple[str, ...]:
    """The predicates of which facts were missing at some tick between two: these make an answer partial.

    >>> shed_between([("p/1", 3, 4), ("r/1", 6, 9)], 5, 7)
    ('r/1',)
    """
    return tuple(sorted({name for name, since, until in missing if since <= last and until >= first}))


class Shedding:
    """Follows what is missing from the answers of a run; reports the first time that something is.

    >>> shedding = Shedding(lambda found: print(found.message))
    >>> shedding.see(6, (), ())
    >>> shedding.see(7, ("p/1",), ("a/1",))
    facts of `p/1` were shed at tick 7, because the memory budget was exceeded: `a/1` may lack facts
    >>> shedding.see(9, (), ())
    >>> shedding.summary().message
    'answers were partial between ticks 7 and 8, because facts of `p/1` were shed'
    """

    def __init__(self, report: Callable[[Diagnostic], None]) -> None:
        self._report = report
        self._predicates: set[str] = set()
        self._since: int | None = None
        self._last = -1
        self._missing = False

    def see(self, tick: int, shed: Iterable[str], unsure: Iterable[str]) -> None:
        """Takes in what is missing at a tick: of which predicates facts were shed, and which lack facts by that."""
        before, self._missing = self._missing, False
        for predicate in shed:
            self._predicates.add(predicate)
            self._missing = True
        if self._missing and self._since is None:
            self._since = tick
            self._report(_began(tick, self._predicates, unsure))
        if self._missing:
            self._last = tick
        elif before:
            self._last = tick - 1

    def save(self) -> dict[str, Any]:
        """The predicates that were shed, and when, as JSON."""
        names = sorted(self._predicates)
        return {"predicates": names, "since": self._since, "last": self._last, "missing": self._missing}

    def load(self, saved: dict[str, Any]) -> None:
        """Follows on where another one was saved."""
        self._predicates, self._since = set(saved["predicates"]), saved["since"]
        self._last, self._missing = saved["last"], saved["missing"]

    def summary(self) -> Diagnostic | None:
        """The warning at the end of a run; None where nothing was shed."""
        if self._since is None:
            return None
        names = _listed(self._predicates)
        if self._missing:
            message = f"answers are partial from tick {self._since} to the end, because facts of {names} were shed"
        else:
            message = (
                f"answers were partial between ticks {self._since} and {self._last}, because facts of {names} were shed"
            )
        return Diagnostic("W415", message, help=_HELP)


def _began(tick: int, shed: Iterable[str], unsure: Iterable[str]) -> Diagnostic:
    return Diagnostic(
        "W414",
        f"facts of {_listed(shed)} were shed at tick {tick}, because the memory budget was exceeded:"
        f" {_listed(unsure)} may lack facts",
        notes=(
            "everything that is output is true; what depends on `not` or an aggregate over facts that were shed is"
            " withheld until they would have left their windows, or longer if more facts are shed",
        ),
        help=_HELP,
    )


def _listed(predicates: Iterable[str]) -> str:
    """Predicates as they stand in a sentence.

    >>> _listed({"q/2", "p/1"})
    '`p/1`, `q/2`'
    """
    return ", ".join(f"`{predicate}`" for predicate in sorted(predicates))
