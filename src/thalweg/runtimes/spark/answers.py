"""The three ways to see the output, told by each bucket for the facts that live in it.

changes      (tick, ended, fact)       what began (0), what ended (1), and what became unknown (2)
intervals    (start, until, fact)      until is -1 while the fact holds at the end of the stream
snapshot     (tick, fact)              every fact that holds, at every tick
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Final, Protocol

import numpy as np

from thalweg.model.arrow import Lists
from thalweg.model.dictionary import Dictionary
from thalweg.runtimes.spark.wire import Words


class Telling(Protocol):
    """Turns changes into answers, batch by batch."""

    words: Dictionary

    def __init__(self, words: Dictionary) -> None:
        """Spells with `words`."""

    def take(self, tick: int, predicate: str, begun: Words, ended: Words, unknown: Words) -> None:
        """Hears which facts of a predicate began, ended and became unknown, as rows of words; ticks never go back."""

    def hear(self, tick: int, begun: list[str], ended: list[str], unknown: list[str]) -> None:
        """The same, of what is spelled already."""

    def batch(self, first: int, last: int, over: bool) -> Lists:
        """The answers for the ticks from `first` to `last`, which are decided now; `over`: there will be no more."""

    def save(self) -> Lists:
        """What must be remembered between batches."""

    def load(self, lists: Lists) -> None:
        """Remembers it."""


class Changes:
    """Nothing to remember; spelled all at once."""

    def __init__(self, words: Dictionary) -> None:
        self.words = words
        self._heard: dict[tuple[str, int], list[tuple[int, Words, Words, Words]]] = {}
        self._texts: list[tuple[int, int, str]] = []

    def hear(self, tick: int, begun: list[str], ended: list[str], unknown: list[str]) -> None:
        for what, facts in enumerate((begun, ended, unknown)):
            self._texts += [(tick, what, fact) for fact in facts]

    def take(self, tick: int, predicate: str, begun: Words, ended: Words, unknown: Words) -> None:
        if len(begun) or len(ended) or len(unknown):
            # One name may stand for a class and for a property.
            self._heard.setdefault((predicate, begun.shape[1]), []).append((tick, begun, ended, unknown))

    def batch(self, first: int, last: int, over: bool) -> Lists:
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
        return {}

    def load(self, lists: Lists) -> None:
        pass


class _Holding(ABC):
    """Remembers since when each fact holds."""

    def __init__(self, words: Dictionary) -> None:
        self.words = words
        self.since: dict[str, int] = {}

    def take(self, tick: int, predicate: str, begun: Words, ended: Words, unknown: Words) -> None:
        spell = self.words.spell_rows
        self.hear(tick, spell(predicate, begun), spell(predicate, ended), spell(predicate, unknown))

    @abstractmethod
    def hear(self, tick: int, begun: list[str], ended: list[str], unknown: list[str]) -> None:
        """The same, in words."""

    def save(self) -> Lists:
        return {"facts": list(self.since), "since": np.array(list(self.since.values()), dtype=np.int64)}

    def load(self, lists: Lists) -> None:
        self.since = dict(zip(lists["facts"].to_pylist(), lists["since"].tolist(), strict=True))


class Intervals(_Holding):
    """A fact is told when it ends or becomes unknown."""

    def __init__(self, words: Dictionary) -> None:
        super().__init__(words)
        self._told: list[tuple[int, int, str]] = []

    def hear(self, tick: int, begun: list[str], ended: list[str], unknown: list[str]) -> None:
        self._told += [(self.since.pop(fact), tick - 1, fact) for fact in (*ended, *unknown)]
        self.since.update(dict.fromkeys(begun, tick))

    def batch(self, first: int, last: int, over: bool) -> Lists:
        if over:
            self._told += [(start, -1, fact) for fact, start in self.since.items()]
        start, until = (np.array([each[place] for each in self._told], dtype=np.int64) for place in (0, 1))
        facts = [fact for _, _, fact in self._told]
        self._told = []
        return {"ticks": start, "until": until, "facts": facts}


class Snapshots(_Holding):
    """All that holds, at every tick of a batch."""

    def __init__(self, words: Dictionary) -> None:
        super().__init__(words)
        self._changes: list[tuple[int, list[str], list[str]]] = []

    def hear(self, tick: int, begun: list[str], ended: list[str], unknown: list[str]) -> None:
        self._changes.append((tick, begun, ended + unknown))

    def batch(self, first: int, last: int, over: bool) -> Lists:
        ticks: list[int] = []
        facts: list[str] = []
        stops = [*(tick for tick, _, _ in self._changes), last + 1]
        self._repeat(first, stops[0], ticks, facts)
        for (tick, begun, ended), stop in zip(self._changes, stops[1:], strict=True):
            for fact in ended:
                del self.since[fact]
            self.since.update(dict.fromkeys(begun, tick))
            self._repeat(tick, stop, ticks, facts)
        self._changes = []
        return {"ticks": np.array(ticks, dtype=np.int64), "facts": facts}

    def _repeat(self, first: int, stop: int, ticks: list[int], facts: list[str]) -> None:
        for tick in range(first, stop):
            ticks += [tick] * len(self.since)
            facts += self.since


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


_TELLING: Final[dict[str, type[Telling]]] = {"changes": Changes, "intervals": Intervals, "snapshot": Snapshots}


def told_by(emit: str) -> type[Telling]:
    """The way of telling of a name."""
    return _TELLING[emit]
