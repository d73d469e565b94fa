"""The answers of a bucket as columns, which leave it batch by batch.

changes      (tick, ended, fact)       what began (0), what ended (1), and what became unknown (2)
intervals    (start, until, fact)      until is -1 while the fact holds at the end of the stream
snapshot     (tick, fact)              every fact that holds, at every tick
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from thalweg.model.arrow import Lists
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import NEVER
from thalweg.runtimes.consistency.clashes import Told
from thalweg.runtimes.emit import EMITTERS, Interval, Piece, Stretch
from thalweg.runtimes.spark.wire import Words


class Changes:
    """What the engine says, with nothing to remember; spelled all at once, by the column."""

    def __init__(self, words: Dictionary) -> None:
        self.words = words
        self._heard: dict[tuple[str, int], list[tuple[int, Words, Words, Words]]] = {}
        self._texts: list[tuple[int, int, str]] = []

    def take(self, tick: int, predicate: str, begun: Words, ended: Words, unknown: Words) -> None:
        """Which facts of a predicate began, ended and became unknown, as rows of words; ticks never go back."""
        if len(begun) or len(ended) or len(unknown):
            # One name may stand for a class and for a property.
            self._heard.setdefault((predicate, begun.shape[1]), []).append((tick, begun, ended, unknown))

    def hear(self, tick: int, begun: list[str], ended: list[str], unknown: list[str]) -> None:
        """The same for facts that are spelled already."""
        for what, facts in enumerate((begun, ended, unknown)):
            self._texts += [(tick, what, fact) for fact in facts]

    def batch(self, first: int, last: int, over: bool) -> Lists:
        """The answers for the ticks from `first` to `last`, which are decided now; `over`: there will be no more."""
        import pyarrow as pa

        ticks, ended = ([np.array([each[n] for each in self._texts], dtype=np.int64)] for n in (0, 1))
        facts = [pa.array([fact for _, _, fact in self._texts], type=pa.string())]
        for (predicate, _), heard in self._heard.items():
            rows = [part for _, *parts in heard for part in parts]
            counts = np.array([len(part) for part in rows], dtype=np.int64)
            when = np.array([tick for tick, *_ in heard], dtype=np.int64)
            ticks.append(np.repeat(np.repeat(when, 3), counts))
            ended.append(np.repeat(np.tile(np.array([0, 1, 2], dtype=np.int64), len(heard)), counts))
            facts.append(self.words.spell_column_of_facts(predicate, np.concatenate(rows)))
        self._heard, self._texts = {}, []
        return {"ticks": np.concatenate(ticks), "ended": np.concatenate(ended), "facts": pa.concat_arrays(facts)}

    def save(self) -> Lists:
        """What must be remembered between batches."""
        return {}

    def load(self, lists: Lists) -> None:
        """Goes on where another one was saved."""


class Holding:
    """Snapshots or intervals, from the emitters of the embedded runtime."""

    def __init__(self, words: Dictionary, emit: str) -> None:
        self.words = words
        self._emitter = EMITTERS[emit]()
        self._columns = _COLUMNS[emit]
        self._deltas: list[Told] = []

    def take(self, tick: int, predicate: str, begun: Words, ended: Words, unknown: Words) -> None:
        spell = self.words.spell_rows
        self.hear(tick, spell(predicate, begun), spell(predicate, ended), spell(predicate, unknown))

    def hear(self, tick: int, begun: list[str], ended: list[str], unknown: list[str]) -> None:
        if not self._deltas or self._deltas[-1].tick < tick:
            self._deltas.append(Told(tick, (), [], [], []))
        told = self._deltas[-1]
        told.begin_text += begun
        told.end_text += ended
        told.unknown_text += unknown

    def batch(self, first: int, last: int, over: bool) -> Lists:
        pieces = [*self._emitter.step(self._deltas, first, last, ())] if first <= last else []
        self._deltas = []
        return self._columns([*pieces, *(self._emitter.finish() if over else ())])

    def save(self) -> Lists:
        return self._emitter.save()

    def load(self, lists: Lists) -> None:
        self._emitter.load(lists)


def _intervals(pieces: Iterable[Piece]) -> Lists:
    rows = [
        (piece.start, NEVER if piece.until is None else piece.until, piece.fact)
        for piece in pieces
        if isinstance(piece, Interval)
    ]
    start, until = (np.array([row[place] for row in rows], dtype=np.int64) for place in (0, 1))
    return {"ticks": start, "until": until, "facts": [fact for _, _, fact in rows]}


def _snapshots(pieces: Iterable[Piece]) -> Lists:
    ticks = [np.zeros(0, dtype=np.int64)]
    facts: list[str] = []
    for piece in pieces:
        if isinstance(piece, Stretch):
            span = np.arange(piece.first, piece.last + 1)
            ticks.append(np.repeat(span, len(piece.facts)))
            facts += piece.facts * len(span)
    return {"ticks": np.concatenate(ticks), "facts": facts}


_COLUMNS: Final[dict[str, Callable[[Iterable[Piece]], Lists]]] = {"intervals": _intervals, "snapshot": _snapshots}


class Missing:
    """Between which ticks facts of each predicate were missing in a bucket.

    >>> missing = Missing(lasting=False)
    >>> missing.see(4, ("p/1",))
    >>> missing.batch(6)
    [('p/1', 4, 6)]
    >>> missing.see(9, ())
    >>> missing.batch(12), missing.batch(15)
    ([('p/1', 7, 8)], [])
    """

    def __init__(self, lasting: bool) -> None:
        """A `lasting` one repeats what was said in earlier batches: intervals that end now may have begun before."""
        self._lasting = lasting
        self._spans: dict[str, tuple[int, int]] = {}
        self._now: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._spans or self._now)

    def see(self, tick: int, predicates: Iterable[str]) -> None:
        """From this tick on, facts of these predicates are missing, and of no others."""
        names = set(predicates)
        for name in self._now.keys() - names:
            self._close(name, tick - 1)
            del self._now[name]
        self._now = dict.fromkeys(names, tick) | self._now

    def _close(self, name: str, last: int) -> None:
        first = self._now[name]
        if first <= last:
            self._spans[name] = min(first, self._spans.get(name, (first, last))[0]), last

    def batch(self, last: int) -> list[tuple[str, int, int]]:
        """Each predicate with the first and the last tick, as far as time has come."""
        for name in self._now:
            self._close(name, last)
        self._now = dict.fromkeys(self._now, last + 1)
        found = [(name, *span) for name, span in sorted(self._spans.items())]
        self._spans = self._spans if self._lasting else {}
        return found

    def save(self) -> dict[str, Any]:
        """What must be remembered between batches."""
        return {"spans": self._spans, "now": self._now}

    def load(self, saved: dict[str, Any]) -> None:
        """Remembers it."""
        self._spans = {name: (first, last) for name, (first, last) in saved["spans"].items()}
        self._now = saved["now"]


Telling = Changes | Holding


def telling(emit: str, words: Dictionary) -> Telling:
    """Makes the answers in one of the three ways, spelled with `words`."""
    return Changes(words) if emit == "changes" else Holding(words, emit)
