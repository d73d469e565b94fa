"""Answers on their way from the buckets to the driver: the rows of an emitter as columns.

changes      ticks, ended, facts       what began (0), what ended (1), and what became unknown (2);
                                       and `until` which tick what began is guaranteed, where wanted
intervals    ticks, until, facts       from when to when; until is -1 while the fact holds at the end of the stream
snapshot     ticks, facts              every fact that holds, at every tick
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, pairwise
from typing import Any, Final

import numpy as np

from thalweg.answers.emit import EMITTERS, Delta, Ended, Run, TextDelta
from thalweg.model.arrow import Lists
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import FOREVER, NEVER
from thalweg.runtimes.spark.outbox import Taken, stacked
from thalweg.runtimes.spark.wire import Words


class BucketAnswers:
    """Collects the deltas of a batch, has them spelled all at once, by the column, and keeps the emitter."""

    def __init__(self, emit: str, words: Dictionary, with_until: bool = False) -> None:
        self.words = words
        self.emitter = EMITTERS[emit]()
        self._emit = emit
        self._with_until = with_until and emit == "changes"
        self._until: dict[tuple[str, int], list[Words]] = {}
        self._rows: dict[tuple[str, int], list[Taken]] = {}
        self._texts: list[tuple[int, int, str]] = []

    def take(self, tick: int, what: int, predicate: str, rows: Words, until: int = FOREVER) -> None:
        """Facts of a predicate that began, ended or became unknown, as rows of words; ticks never go back.

        They are guaranteed `until` a tick.
        """
        # One name may stand for a class and for a property.
        key = predicate, rows.shape[1]
        self._rows.setdefault(key, []).append((tick, what, rows))
        if self._with_until:
            self._until.setdefault(key, []).append(np.full(len(rows), until))

    def take_text(self, delta: Delta) -> None:
        """Takes in facts that began, ended or became unknown, as texts."""
        for what, facts in enumerate((delta.begin_text, delta.end_text, delta.unknown_text)):
            self._texts += [(delta.tick, what, fact) for fact in facts]

    def batch(self, first: int, last: int, over: bool) -> Lists:
        """The columns for the ticks from `first` to `last`, which are decided now; `over`: there will be no more."""
        changes = self._spelled()
        if self._emit == "changes":
            return changes
        # Facts may begin at the tick behind the last one, while more may begin there.
        rows = self.emitter.rows(deltas_of(**changes), first, last)
        return _PACK[self._emit](chain(rows, self.emitter.rest() if over else ()))

    def _spelled(self) -> Lists:
        import pyarrow as pa

        ticks, ended = ([np.array([change[n] for change in self._texts], dtype=np.int64)] for n in (0, 1))
        facts = [pa.array([fact for _, _, fact in self._texts], type=pa.string())]
        for (predicate, _), taken in self._rows.items():
            when, what, rows = stacked(taken)
            ticks.append(when)
            ended.append(what)
            facts.append(self.words.spell_column_of_facts(predicate, rows))
        columns = {"ticks": np.concatenate(ticks), "ended": np.concatenate(ended), "facts": pa.concat_arrays(facts)}
        if self._with_until:
            ends = (part for key in self._rows for part in self._until[key])
            columns["until"] = np.concatenate([np.full(len(self._texts), FOREVER), *ends])
        self._rows, self._texts, self._until = {}, [], {}
        return columns


def deltas_of(ticks: Words, ended: Words, facts: Any, until: Words | None = None) -> Iterator[TextDelta]:
    """The deltas that columns of changes stand for, in the order of time.

    >>> import pyarrow as pa
    >>> [delta] = deltas_of(np.array([4, 4]), np.array([1, 0]), pa.array(["a", "b"]))
    >>> delta.tick, delta.begin_text, delta.end_text
    (4, ['b'], ['a'])
    """
    delta = TextDelta(NEVER)
    for (tick, what, *last), texts in grouped(facts, ticks, ended, *(() if until is None else (until,))):
        if tick != delta.tick:
            if delta.tick != NEVER:
                yield delta
            delta = TextDelta(tick)
        (delta.begin_text, delta.end_text, delta.unknown_text)[what].extend(texts)
        if last and what == 0 and last[0] < FOREVER:
            delta.until.update(dict.fromkeys(texts, last[0]))
    if delta.tick != NEVER:
        yield delta


def grouped(facts: Any, *keys: Words) -> Iterator[tuple[list[int], list[str]]]:
    """Facts with equal keys together, in the order of the keys."""
    order = np.lexsort(keys[::-1])
    texts = facts.take(order).to_pylist()
    ordered = np.stack([key[order] for key in keys], axis=1)
    starts = np.flatnonzero(np.any(np.diff(ordered, axis=0, prepend=NEVER), axis=1))
    for start, end in pairwise([*starts.tolist(), len(texts)]):
        yield ordered[start].tolist(), texts[start:end]


# Rows as columns ----------------------------------------------------------------------------------------------------


def _pack_intervals(rows: Iterable[Ended]) -> Lists:
    facts, start, until = zip(*intervals, strict=True) if (intervals := list(rows)) else ((), (), ())
    ends = np.array(until, dtype=np.int64)
    ends[ends == FOREVER] = NEVER
    return {"ticks": np.array(start, dtype=np.int64), "until": ends, "facts": list(facts)}


def _pack_snapshots(runs: Iterable[Run]) -> Lists:
    ticks = [np.zeros(0, dtype=np.int64)]
    facts: list[str] = []
    for first, last, texts in runs:
        span = np.arange(first, last + 1)
        ticks.append(np.repeat(span, len(texts)))
        facts += texts * len(span)
    return {"ticks": np.concatenate(ticks), "facts": facts}


_PACK: Final[dict[str, Callable[[Iterable[Any]], Lists]]] = {
    "intervals": _pack_intervals,
    "snapshot": _pack_snapshots,
}
