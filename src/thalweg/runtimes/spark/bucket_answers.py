"""Answers on their way from buckets to the driver: a bucket spells them by the column, the driver puts them together.

    operators ──▶ BucketAnswers ──parcel──▶ opened: rows of a table ──▶ answers_of: records in the order of time

Between the two, answers about facts are columns:

    changes      ticks, ended, facts       what began (0), what ended (1), and what became unknown (2);
                                           and `until` which tick what began is guaranteed, where wanted
    intervals    ticks, until, facts       from when to when; until is -1 while the fact holds at the end of the stream
    snapshot     ticks, facts              every fact that holds, at every tick

Answers of other kinds are records already, and travel as they are.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain, groupby, pairwise
from typing import Any, Final

import numpy as np

from thalweg.answers.emit import EMITTERS, Ended, Run, Span, TextDelta, TickChanges
from thalweg.answers.event_answers import merged_events
from thalweg.answers.record import Answer
from thalweg.model.arrow import Lists
from thalweg.model.dictionary import Dictionary
from thalweg.model.records import of_json
from thalweg.model.time import FOREVER, NEVER
from thalweg.runtimes.spark.outbox import Taken, stacked
from thalweg.runtimes.spark.wire import ANSWERS, CAME, EMPTY, FAILED, LATE, MALFORMED, Words, error_of, unwrap

ANSWER_SCHEMA: Final = "kind string, t long, until long, stream string, fact string"
"""The rows of the fragments: answers, late facts, warnings, what has been decided, why a worker could not go on."""

BEGIN, END, INTERVAL, SNAPSHOT, RECORD = "begin", "end", "interval", "snapshot", "block"
LATE_FACT, DECIDED, OVER, BECAME_UNKNOWN, SHED, WARNING = "late", "decided", "over", "unknown", "shed", "warning"
GUARANTEED: Final = "guaranteed"
NOTE: Final = "note"
OPEN: Final = "open"
"""More may begin and end at the last tick that was decided."""
_CHANGES: Final = (BEGIN, END, BECAME_UNKNOWN)


# In a bucket --------------------------------------------------------------------------------------------------------


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

    def take_text(self, delta: TickChanges) -> None:
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


# From parcels to rows ------------------------------------------------------------------------------------------------


def opened(payload: bytes, emit: str) -> Iterator[Any]:
    """The rows of a parcel that is for the driver, as record batches of the `ANSWER_SCHEMA`."""
    import pyarrow as pa

    content = unwrap(payload)
    lists, header = content.lists, content.header
    if content.kind == LATE:
        kinds = [LATE_FACT] * len(lists["facts"])
        yield _table(kinds, lists["ticks"], lists["watermarks"], header["stream"], lists["facts"])
        return
    if content.kind in (MALFORMED, EMPTY, CAME):
        texts = lists["texts"]
        yield _table([content.kind] * len(texts), np.zeros(len(texts), np.int64), lists["counts"], None, texts)
        return
    if content.kind == FAILED:
        text = str(error_of(header["error"]))
        yield _table([FAILED], np.array([header["reached"]], dtype=np.int64), None, text, [header["error"]])
        return
    assert content.kind == ANSWERS, "a parcel for a fragment went astray"
    ticks, facts = lists["ticks"], lists["facts"]
    if emit == "changes":
        kinds = pa.DictionaryArray.from_arrays(pa.array(lists["ended"], type=pa.int8()), [*_CHANGES]).cast(pa.string())
        yield _table(kinds, ticks, lists.get("until"), None, facts)
    elif emit == "intervals":
        yield _table([INTERVAL] * len(facts), ticks, lists["until"], None, facts)
    else:
        yield _table([SNAPSHOT] * len(facts), ticks, None, None, facts)
    if "blocks" in lists:
        kinds = [RECORD] * len(lists["blocks"])
        yield _table(kinds, lists["block_ticks"], lists["block_places"], None, lists["blocks"])
    if notes := header.get("notes"):
        yield _table([NOTE] * len(notes), [header["decided"]] * len(notes), range(len(notes)), None, notes)
    if missing := header.get("missing"):
        predicates, since, until = zip(*missing, strict=True)
        yield _table([SHED] * len(missing), since, until, " ".join(header["unsure"]), list(predicates))
    if warnings := header.get("warnings"):
        yield _table([WARNING] * len(warnings), [header["decided"]] * len(warnings), None, None, warnings)
    if guaranteed := header.get("guaranteed"):
        kinds, ticks = [GUARANTEED] * len(guaranteed), [header["decided"]] * len(guaranteed)
        yield _table(kinds, ticks, [*guaranteed.values()], None, [*guaranteed])
    when = np.array([header["decided"]], dtype=np.int64)
    if header.get("open"):
        yield _table([OPEN], when, None, None, [""])
    yield _table([OVER if header["over"] else DECIDED], when, np.array([header["first"]]), None, [""])


def _table(kinds: Any, ticks: Any, until: Any, stream: str | None, facts: Any) -> Any:
    import pyarrow as pa

    none = pa.nulls(len(ticks), pa.int64())
    return pa.record_batch(
        {
            "kind": pa.array(kinds, type=pa.string()) if isinstance(kinds, list) else kinds,
            "t": pa.array(ticks, type=pa.int64()),
            "until": none if until is None else pa.array(until, type=pa.int64()),
            "stream": pa.repeat(pa.scalar(stream, pa.string()), len(ticks)),
            "fact": facts if isinstance(facts, pa.Array) else pa.array(facts, type=pa.string()),
        }
    )


# From rows to records ------------------------------------------------------------------------------------------------


def answers_of(rows: Any, emit: str | None, missing: list[Span], first: int, last: int) -> Iterator[Answer]:
    """The answers for the ticks from `first` to `last` that rows of all buckets stand for, in the order of time.

    Facts are shown as `emit` has it; without, there are none.
    """
    records = _records(rows.filter(is_record(rows)).to_pylist())
    if emit is None:
        return records
    facts = _rows(emit, rows.filter(~is_record(rows)), first, last)
    return interleaved(records, EMITTERS[emit].arrange(facts, missing))


def is_record(rows: Any) -> Any:
    """Which rows are records of answers that are not about facts which begin and end."""
    import pyarrow.compute as pc

    return pc.equal(rows["kind"], RECORD).to_numpy()


def _records(rows: list[dict[str, Any]]) -> Iterator[Answer]:
    """The records of all buckets, by tick and operator; lines about the events of a tick are one answer."""
    ordered = sorted(rows, key=lambda row: (row["t"], row["until"]))
    for _, group in groupby(ordered, key=lambda row: row["t"]):
        answers = [of_json(json.loads(row["fact"])) for row in group]
        events = [answer for answer in answers if answer.kind == "events"]
        for answer in answers:
            if answer.kind != "events":
                yield answer
            elif answer is events[0]:
                yield merged_events(events)


def interleaved(answers: Iterable[Answer], about_facts: Iterable[Answer]) -> Iterator[Answer]:
    """Answers of all kinds in the order of time: of one tick, those about facts come last.

    >>> from thalweg.answers.record import snapshots
    >>> answers = interleaved([Answer("truth", 3, ((True,),), 2)], [snapshots(2, 4, ("b",))])
    >>> [(answer.kind, answer.start, answer.t) for answer in answers]
    [('snapshot', 2, 2), ('truth', 2, 3), ('snapshot', 3, 4)]
    """
    waiting = deque(about_facts)
    for answer in answers:
        while waiting and (change := waiting.popleft()) is not None:
            if change.kind == "snapshot" and change.start < answer.t <= change.t:
                yield replace(change, t=answer.t - 1)
                change = replace(change, start=answer.t)
            if _known_at(change) >= answer.t:
                waiting.appendleft(change)
                break
            yield change
        yield answer
    yield from waiting


def _known_at(answer: Answer) -> int:
    """The tick at which an answer about facts was known: an interval is known when it has ended."""
    match answer.kind:
        case "intervals":
            return FOREVER if answer.t == FOREVER else answer.t + 1
        case "snapshot":
            return answer.start
    return answer.t


def decided_at(rows: Any, emit: str) -> Words:
    """The tick at which each answer was known: an interval is known when it has ended."""
    ticks: Words = rows["t"].to_numpy()
    if emit != "intervals":
        return ticks
    until = rows["until"].to_numpy()
    return np.where(is_record(rows), ticks, np.where(until < 0, FOREVER, until + 1))


def _rows(emit: str, answers: Any, first: int, last: int) -> Iterable[Any]:
    """The rows of an emitter for the ticks from `first` to `last`, from a table of those of all buckets."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ticks, facts = answers["t"].to_numpy(), answers["fact"].combine_chunks()
    if emit == "changes":
        kinds = pc.index_in(answers["kind"], value_set=pa.array(_CHANGES)).to_numpy()
        return deltas_of(ticks, kinds, facts, pc.fill_null(answers["until"], FOREVER).to_numpy())
    if emit == "intervals":
        until = answers["until"].to_numpy()
        return zip(facts.to_pylist(), ticks.tolist(), np.where(until < 0, FOREVER, until).tolist(), strict=True)
    return _runs(ticks, facts, first, last)


def _runs(ticks: Words, facts: Any, first: int, last: int) -> Iterator[Run]:
    """What holds at each tick, also where it is nothing."""
    for (tick,), texts in grouped(facts, ticks):
        if first < tick:
            yield first, tick - 1, ()
        yield tick, tick, tuple(sorted(texts))
        first = tick + 1
    if first <= last:
        yield first, last, ()


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
