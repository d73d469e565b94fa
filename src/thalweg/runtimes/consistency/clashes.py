"""Clashes as answers: who breaks which axiom, because of what, and until when.

The engine says which clashes begin and end. Reasons are looked for when a clash begins; where every tick is output,
they are looked for again when one of their facts no longer counts while the clash goes on.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final

from thalweg.engine.lookup import TimedFact, facts_about
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.records import record
from thalweg.model.term import unquote
from thalweg.model.time import AS_TICKS, TimeFormat
from thalweg.runtimes.consistency.justifier import Broken, Justifier
from thalweg.runtimes.emit import AnswerBlock, Change, Interval, Snapshot, SnapshotRun, TextDelta, marked

if TYPE_CHECKING:
    from thalweg.engine import Delta
    from thalweg.model.event import Batch
    from thalweg.runtimes.rule_engine import RuleEngine

_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

About = Callable[[Sequence[str]], Iterable[TimedFact]]
"""The facts about some things."""


@dataclass(frozen=True, slots=True)
class Clash:
    """Who breaks an axiom, alone or together with an `other`, and the facts behind it; left out where it ends.

    >>> print(Clash("<bob>", "DisjointClasses(<Man> <Work>)", ("<Man>(<bob>) at 5", "<Work>(<bob>) at 7")))
    {"individual":"<bob>","axiom":"DisjointClasses(<Man> <Work>)","because":["<Man>(<bob>) at 5","<Work>(<bob>) at 7"]}
    """

    individual: str
    axiom: str
    because: tuple[str, ...] | None = None
    other: str | None = None

    def __str__(self) -> str:
        data: dict[str, object] = {"individual": self.individual, "axiom": self.axiom}
        data |= {} if self.because is None else {"because": list(self.because)}
        return _encode(data | ({} if self.other is None else {"other": self.other}))

    @classmethod
    def read(cls, text: str) -> "Clash":
        """The clash that a text stands for."""
        data = json.loads(text)
        because = data.get("because")
        return cls(data["individual"], data["axiom"], None if because is None else tuple(because), data.get("other"))

    def at(self, times: TimeFormat) -> "Clash":
        """The same with the ticks of its reasons as they are written in a run."""
        return self if self.because is None else replace(self, because=tuple(map(times.at_end, self.because)))


# What is output -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Inconsistent(Snapshot):
    """All clashes of a tick.

    >>> print(Inconsistent(7, ()))
    {"t":7,"inconsistent":[]}
    """

    def __str__(self) -> str:
        return f'{{"t":{self.t},"inconsistent":[{",".join(self.facts)}]{marked(self.partial, self.shed)}}}'


@record
@dataclass(frozen=True, slots=True)
class Clashing(SnapshotRun):
    """The same clashes for every tick from `first` to `last`."""

    def answers(self) -> Iterator[Snapshot]:
        return (Inconsistent(tick, self.facts, self.partial, self.shed) for tick in range(self.first, self.last + 1))

    def jsonl(self, times: TimeFormat = AS_TICKS) -> str:
        rest = f',"inconsistent":[{_listed(self.facts, times)}]{marked(self.partial, self.shed)}}}\n'
        return "".join([f'{{"t":{times.json(tick)}{rest}' for tick in range(self.first, self.last + 1)])


@record
@dataclass(frozen=True, slots=True)
class ClashChange(Change):
    """Which clashes began and ended at a tick.

    >>> print(ClashChange(7, (), (str(Clash("<bob>", "DisjointClasses(<Person> <Work>)")),)))
    {"t":7,"begin":[],"end":[{"individual":"<bob>","axiom":"DisjointClasses(<Person> <Work>)"}]}
    """

    def jsonl(self, times: TimeFormat = AS_TICKS) -> str:
        begin, end, unknown = (_listed(some, times) for some in (self.begin, self.end, self.unknown))
        rest = f',"unknown":[{unknown}]' * bool(unknown) + marked(self.partial, self.shed)
        return f'{{"t":{times.json(self.t)},"begin":[{begin}],"end":[{end}]{rest}}}\n'


@record
@dataclass(frozen=True, slots=True)
class ClashInterval(Interval):
    """A clash, with the reasons that it began for, and the ticks over which it lasts.

    >>> print(ClashInterval(str(Clash("<bob>", "DisjointClasses(<Person> <Work>)")), 7, None))
    {"individual":"<bob>","axiom":"DisjointClasses(<Person> <Work>)","from":7,"until":null}
    """

    def jsonl(self, times: TimeFormat = AS_TICKS) -> str:
        start, until = times.json(self.start), "null" if self.until is None else times.json(self.until)
        clash = _listed((self.fact,), times)
        return f'{clash[:-1]},"from":{start},"until":{until}{marked(self.partial, self.shed)}}}\n'


def _listed(clashes: Iterable[str], times: TimeFormat) -> str:
    """Clashes as JSON, with the ticks of their reasons as they are written in this run."""
    return ",".join(clashes) if not times.iso else ",".join(str(Clash.read(one).at(times)) for one in clashes)


_AS_CLASHES: Final[dict[type, type]] = {SnapshotRun: Clashing, Change: ClashChange, Interval: ClashInterval}


def as_clashes(block: AnswerBlock) -> AnswerBlock:
    """A block of answers whose texts are clashes."""
    kind = _AS_CLASHES[type(block)]
    made: AnswerBlock = kind(*(getattr(block, name) for name in block.__match_args__))
    return made


# From changes to what is output -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Known:
    text: str
    until: int | None


class Tracker:
    """Remembers which clashes go on, and for which reasons."""

    def __init__(self, judge: Justifier, about: About, emit: str) -> None:
        self.about = about
        self._judge = judge
        self._emit = emit
        self._known: dict[Broken, _Known] = {}
        self._ends: list[tuple[int, Broken]] = []

    def stop(self, before: int, settling: int) -> int | None:
        """The next tick before a given one at which reasons are looked for: again, or because the engine is `settling`.

        Clashes that are known again begin then, without a fact that comes in.
        """
        while self._ends and self._is_stale(*self._ends[0]):
            heappop(self._ends)
        stop = min(settling, self._ends[0][0] + 1 if self._ends else before)
        return stop if stop < before else None

    def _is_stale(self, until: int, broken: Broken) -> bool:
        return broken not in self._known or self._known[broken].until != until

    def take(self, now: int, shed: tuple[str, ...], changes: "Iterable[Delta]") -> list[TextDelta]:
        """What to output for some changes, the last of which may be at `now`."""
        found: list[TextDelta] = []
        begun: list[Broken] = []
        for change in changes:
            ended, unknown = (
                [self._end(Broken(*fact.terms)) for fact in some] for some in (change.end, change.unknown)
            )
            begun += (Broken(*fact.terms) for fact in change.begin)
            found.append(TextDelta(change.tick, [], ended, unknown, change.shed))
        renewed = self._outlived(now)
        if not (begun or renewed):
            return found
        if not found or (renewed and found[-1].tick < now):
            found.append(TextDelta(now, shed=shed))
        found[-1].end_text.extend(self._known[broken].text for broken in renewed)
        found[-1].begin_text.extend(self._explained([*begun, *renewed]))
        return found

    def _end(self, broken: Broken) -> str:
        known = self._known.pop(broken)
        return str(_clash(broken)) if self._emit == "changes" else known.text

    def _outlived(self, now: int) -> list[Broken]:
        """The clashes that have outlived their reasons."""
        found: list[Broken] = []
        while self._ends and self._ends[0][0] < now:
            until, broken = heappop(self._ends)
            if not self._is_stale(until, broken):
                found.append(broken)
        return found

    def _explained(self, found: list[Broken]) -> Iterator[str]:
        terms = list(dict.fromkeys(term for broken in found for term in (broken.one, broken.other)))
        by_term: dict[str, list[TimedFact]] = {}
        for dated in self.about(terms):
            for term in dict.fromkeys(dated.fact.terms):
                by_term.setdefault(term, []).append(dated)
        for broken in found:
            facts = self._judge.because(broken, by_term.get(broken.one, []))
            clash = replace(_clash(broken), because=tuple(sorted(map(str, facts))))
            until = min((dated.until for dated in facts if dated.until is not None), default=None)
            self._known[broken] = _Known(str(clash), until)
            if self._emit == "snapshot" and until is not None:
                heappush(self._ends, (until, broken))
            yield self._known[broken].text

    def save(self) -> list[str]:
        """What must be remembered, as texts."""
        return [_encode([*broken, known.text, known.until]) for broken, known in self._known.items()]

    def load(self, texts: Iterable[str]) -> None:
        """Remembers it."""
        for axiom, one, other, text, until in map(json.loads, texts):
            self._known[Broken(axiom, one, other)] = _Known(text, until)
            if self._emit == "snapshot" and until is not None:
                heappush(self._ends, (until, Broken(axiom, one, other)))


def _clash(broken: Broken) -> Clash:
    other = None if broken.one == broken.other else broken.other
    return Clash(broken.one, unquote(broken.axiom), other=other)


class Explaining:
    """Takes an engine through time; its changes are clashes with their reasons."""

    def __init__(self, engine: "RuleEngine", emit: str) -> None:
        assert engine.program.hints.justification is not None
        self._engine = engine
        self._tracker = Tracker(
            Justifier(engine.program.hints.justification), lambda terms: facts_about(engine, terms), emit
        )

    def advance(self, to: int, batches: "list[Batch]") -> list[TextDelta]:
        found: list[TextDelta] = []
        while (stop := self._tracker.stop(to, self._engine.settle_at)) is not None:
            found += self._step(stop, [])
        return found + self._step(to, batches)

    def snapshot(self) -> bytes:
        """The state of the engine, and which clashes go on."""
        return frame([self._engine.snapshot(), encode({}, {"clashes": self._tracker.save()})])

    def resume(self, data: bytes) -> None:
        """Goes on where a snapshot was taken."""
        engine, clashes = unframe(data)
        self._engine.resume(engine)
        self._tracker.load(decode(clashes)[1]["clashes"].to_pylist())

    def _step(self, to: int, batches: "list[Batch]") -> list[TextDelta]:
        changes = self._engine.advance(to, batches)
        return self._tracker.take(to, self._engine.shed, changes)
