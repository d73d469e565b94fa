"""Clashes as answers: who breaks which axiom, because of what, and until when."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from thalweg.answers.emit import AnswerBlock, Change, Interval, Snapshot, SnapshotRun, marked
from thalweg.model.records import record
from thalweg.model.time import AS_TICKS, TimeFormat

_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


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
        """The clash with the ticks of its reasons as they are written in a run."""
        return self if self.because is None else replace(self, because=tuple(map(times.at_end, self.because)))


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
        tail = f',"inconsistent":[{_listed(self.facts, times)}]{marked(self.partial, self.shed)}}}\n'
        return "".join([f'{{"t":{times.json(tick)}{tail}' for tick in range(self.first, self.last + 1)])


@record
@dataclass(frozen=True, slots=True)
class ClashChange(Change):
    """Which clashes began and ended at a tick.

    >>> print(ClashChange(7, (), (str(Clash("<bob>", "DisjointClasses(<Person> <Work>)")),)))
    {"t":7,"begin":[],"end":[{"individual":"<bob>","axiom":"DisjointClasses(<Person> <Work>)"}]}
    """

    def jsonl(self, times: TimeFormat = AS_TICKS) -> str:
        begin, end, unknown = (_listed(clashes, times) for clashes in (self.begin, self.end, self.unknown))
        tail = f',"unknown":[{unknown}]' * bool(unknown) + marked(self.partial, self.shed)
        return f'{{"t":{times.json(self.t)},"begin":[{begin}],"end":[{end}]{tail}}}\n'


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
    return ",".join(clashes) if not times.iso else ",".join(str(Clash.read(clash).at(times)) for clash in clashes)


_AS_CLASHES: Final[dict[type, type]] = {SnapshotRun: Clashing, Change: ClashChange, Interval: ClashInterval}


def as_clashes(block: AnswerBlock) -> AnswerBlock:
    """A block of answers whose texts are clashes."""
    kind = _AS_CLASHES[type(block)]
    clashes: AnswerBlock = kind(*(getattr(block, name) for name in block.__match_args__))
    return clashes
