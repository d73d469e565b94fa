"""What a run answers: one record for all kinds of programs. Formats write it, and Python's values are views of it.

    kind           ticks                         columns
    changes        t                             what begins, what ends, what becomes unknown; and, where that was
                                                 asked for, the last tick for which each fact that begins is guaranteed
    snapshot       each from `start` to `t`      the facts that hold
    intervals      up to `t`                     facts, and the first tick of each; `t` is `FOREVER` while they hold
    answer sets    the window `start` to `t`     one for each answer set
    rows           the window `start` to `t`     rows of a SELECT, each an object of JSON
    triples        the window `start` to `t`     triples of a CONSTRUCT, as facts
    truth          the window `start` to `t`     the answer of an ASK, a truth value
    events         t                             lines (`event_answers`)

Facts are texts, in order. Where an ontology is checked, texts of clashes stand in the place of facts. An answer is
partial where facts were shed for want of memory: everything in it is true, something may be missing, and it names the
predicates of which facts were shed.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from thalweg.model.records import record
from thalweg.model.time import FOREVER, NEVER, TimeFormat

Kind = Literal["changes", "snapshot", "intervals", "answer sets", "rows", "triples", "truth", "events"]

OF_FACTS: Final = frozenset(("changes", "snapshot", "intervals"))
"""The kinds that say of facts when they hold, as `--emit` names them; facts that begin or hold are the first column."""


@record
@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, or several that are written together: snapshots of many ticks, intervals that end at the same tick.

    >>> print(Answer("answer sets", 40, (("a(1)",), ("b(1)",)), start=38))
    {"t":40,"window":[38,40],"answers":[["a(1)"],["b(1)"]]}
    """

    kind: Kind
    t: int
    columns: tuple[Sequence[Any], ...]
    start: int = NEVER
    shed: tuple[str, ...] = ()
    """The predicates of which facts were shed; the answer is partial where there are some."""
    incomplete: bool = False
    """Whether a window may have more answer sets than were found in time."""
    of_clashes: bool = False

    def __str__(self) -> str:
        """Its lines of JSON."""
        from thalweg.answers.jsonl import lines

        return "\n".join(lines(self))


def changes(
    t: int,
    begin: Sequence[str] = (),
    end: Sequence[str] = (),
    unknown: Sequence[str] = (),
    until: Sequence[int] = (),
    shed: tuple[str, ...] = (),
) -> Answer:
    """What began and ended at a tick; `unknown` held at the tick before, and whether it still does is not known."""
    return Answer("changes", t, (begin, end, unknown, until), shed=shed)


def snapshots(first: int, last: int, facts: Sequence[str], shed: tuple[str, ...] = ()) -> Answer:
    """The same facts hold at every tick from `first` to `last`."""
    return Answer("snapshot", last, (facts,), first, shed)


def interval(fact: str, start: int, until: int | None, shed: tuple[str, ...] = ()) -> Answer:
    """A fact, and the ticks over which it holds without a break; `until` is None while it still does."""
    return Answer("intervals", FOREVER if until is None else until, ((fact,), (start,)), shed=shed)


def singles(answer: Answer) -> Iterator[Answer]:
    """An answer for each line of it: one for each tick of snapshots, for each interval, and for each line of events.

    >>> [(single.start, single.t) for single in singles(snapshots(3, 4, ("a",)))]
    [(3, 3), (4, 4)]
    """
    match answer.kind:
        case "snapshot":
            yield from (replace(answer, start=tick, t=tick) for tick in range(answer.start, answer.t + 1))
        case "intervals":
            facts, starts = answer.columns
            rows = zip(facts, starts, strict=True)
            yield from (replace(answer, columns=((fact,), (start,))) for fact, start in rows)
        case "events":
            yield from (replace(answer, t=line.t, columns=((line,),)) for line in answer.columns[0])
        case _:
            yield answer


# Clashes ------------------------------------------------------------------------------------------------------------

_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class BrokenAxiom:
    """A clash: an individual, alone or with an `other`, breaks an axiom because of facts; they are left out at its end.

    >>> print(BrokenAxiom("<bob>", "DisjointClasses(<Man> <Work>)", ("<Man>(<bob>) at 5", "<Work>(<bob>) at 7")))
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
    def read(cls, text: str) -> "BrokenAxiom":
        """The clash that a text stands for."""
        data = json.loads(text)
        because = data.get("because")
        return cls(data["individual"], data["axiom"], None if because is None else tuple(because), data.get("other"))

    def at(self, times: TimeFormat) -> "BrokenAxiom":
        """The clash with the ticks of its reasons as they are written in a run."""
        return self if self.because is None else replace(self, because=tuple(map(times.at_end, self.because)))
