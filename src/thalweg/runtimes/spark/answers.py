"""The three ways to see the output, told by each bucket for the facts that live in it.

changes      (tick, ended, fact)       what began and what ended
intervals    (start, until, fact)      until is -1 while the fact holds at the end of the stream
snapshot     (tick, fact)              every fact that holds, at every tick
"""

from abc import ABC, abstractmethod
from typing import Final, Protocol

import numpy as np

from thalweg.model.arrow import Lists
from thalweg.model.dictionary import Dictionary
from thalweg.runtimes.spark.wire import Words


class Telling(Protocol):
    """Turns changes into answers, batch by batch."""

    words: Dictionary

    def __init__(self, words: Dictionary) -> None:
        """Spells with `words`."""

    def take(self, tick: int, predicate: str, begun: Words, ended: Words) -> None:
        """Hears which facts of a predicate began and ended, as rows of words; ticks never go back."""

    def hear(self, tick: int, begun: list[str], ended: list[str]) -> None:
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
        self._heard: dict[tuple[str, int], list[tuple[int, Words, Words]]] = {}
        self._texts: list[tuple[int, int, str]] = []

    def hear(self, tick: int, begun: list[str], ended: list[str]) -> None:
        self._texts += [(tick, 0, fact) for fact in begun]
        self._texts += [(tick, 1, fact) for fact in ended]

    def take(self, tick: int, predicate: str, begun: Words, ended: Words) -> None:
        if len(begun) or len(ended):
            # One name may stand for a class and for a property.
            self._heard.setdefault((predicate, begun.shape[1]), []).append((tick, begun, ended))

    def batch(self, first: int, last: int, over: bool) -> Lists:
        import pyarrow as pa

        ticks, ended = ([np.array([each[n] for each in self._texts], dtype=np.int64)] for n in (0, 1))
        facts = [pa.array([fact for _, _, fact in self._texts], type=pa.string())]
        for (predicate, _), heard in self._heard.items():
            rows = [part for _, begun, gone in heard for part in (begun, gone)]
            counts = np.array([len(part) for part in rows], dtype=np.int64)
            when = np.array([tick for tick, _, _ in heard], dtype=np.int64)
            ticks.append(np.repeat(np.repeat(when, 2), counts))
            ended.append(np.repeat(np.tile(np.array([0, 1], dtype=np.int64), len(heard)), counts))
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

    def take(self, tick: int, predicate: str, begun: Words, ended: Words) -> None:
        spell = self.words.spell_rows
        self.hear(tick, spell(predicate, begun), spell(predicate, ended))

    @abstractmethod
    def hear(self, tick: int, begun: list[str], ended: list[str]) -> None:
        """The same, in words."""

    def save(self) -> Lists:
        return {"facts": list(self.since), "since": np.array(list(self.since.values()), dtype=np.int64)}

    def load(self, lists: Lists) -> None:
        self.since = dict(zip(lists["facts"].to_pylist(), lists["since"].tolist(), strict=True))


class Intervals(_Holding):
    """A fact is told when it ends."""

    def __init__(self, words: Dictionary) -> None:
        super().__init__(words)
        self._told: list[tuple[int, int, str]] = []

    def hear(self, tick: int, begun: list[str], ended: list[str]) -> None:
        self._told += [(self.since.pop(fact), tick - 1, fact) for fact in ended]
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

    def hear(self, tick: int, begun: list[str], ended: list[str]) -> None:
        self._changes.append((tick, begun, ended))

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


_TELLING: Final[dict[str, type[Telling]]] = {"changes": Changes, "intervals": Intervals, "snapshot": Snapshots}


def told_by(emit: str) -> type[Telling]:
    """The way of telling of a name."""
    return _TELLING[emit]
