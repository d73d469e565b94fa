"""The three ways to see the output, told by each bucket for the facts that live in it.

changes      (tick, ended, fact)       what began and what ended
intervals    (start, until, fact)      until is -1 while the fact holds at the end of the stream
snapshot     (tick, fact)              every fact that holds, at every tick
"""

from typing import Final, Protocol

import numpy as np

from thalweg.model.arrow import Lists


class Telling(Protocol):
    """Turns changes into answers, batch by batch."""

    def take(self, tick: int, begun: list[str], ended: list[str]) -> None:
        """Hears what began and ended; ticks never go back."""

    def batch(self, first: int, last: int, over: bool) -> Lists:
        """The answers for the ticks from `first` to `last`, which are decided now; `over`: there will be no more."""

    def save(self) -> Lists:
        """What must be remembered between batches."""

    def load(self, lists: Lists) -> None:
        """Remembers it."""


class Changes:
    """Nothing to remember."""

    def __init__(self) -> None:
        self._ticks: list[int] = []
        self._counts: list[int] = []
        self._facts: list[str] = []

    def take(self, tick: int, begun: list[str], ended: list[str]) -> None:
        self._ticks.append(tick)
        self._counts += (len(begun), len(ended))
        self._facts += begun
        self._facts += ended

    def batch(self, first: int, last: int, over: bool) -> Lists:
        counts = np.array(self._counts, dtype=np.int64)
        ticks = np.repeat(np.repeat(np.array(self._ticks, dtype=np.int64), 2), counts)
        ended = np.repeat(np.tile(np.array([0, 1], dtype=np.int64), len(self._ticks)), counts)
        lists: Lists = {"ticks": ticks, "ended": ended, "facts": self._facts}
        self.__init__()  # type: ignore[misc]
        return lists

    def save(self) -> Lists:
        return {}

    def load(self, lists: Lists) -> None:
        pass


class _Holding:
    """Remembers since when each fact holds."""

    def __init__(self) -> None:
        self.since: dict[str, int] = {}

    def save(self) -> Lists:
        return {"facts": list(self.since), "since": np.array(list(self.since.values()), dtype=np.int64)}

    def load(self, lists: Lists) -> None:
        self.since = dict(zip(lists["facts"], lists["since"].tolist(), strict=True))


class Intervals(_Holding):
    """A fact is told when it ends."""

    def __init__(self) -> None:
        super().__init__()
        self._told: list[tuple[int, int, str]] = []

    def take(self, tick: int, begun: list[str], ended: list[str]) -> None:
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

    def __init__(self) -> None:
        super().__init__()
        self._changes: list[tuple[int, list[str], list[str]]] = []

    def take(self, tick: int, begun: list[str], ended: list[str]) -> None:
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


def told_by(emit: str) -> Telling:
    """The way of telling of a name."""
    return _TELLING[emit]()
