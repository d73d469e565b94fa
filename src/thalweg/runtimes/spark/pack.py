"""From events to parcels: every fact goes to the buckets that the stages' routes ask for, and all hear of time."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.runtimes.spark.ingest import Arrivals, admitted
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.wire import FACTS, UNKNOWN, Parcel, Words, terms_of, wrap

_EMPTY: Final = np.zeros(0, dtype=np.int64)

# Which ticks there were matters before the timeline has begun; then the least and the greatest are enough.
_MOST_TICKS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Events:
    """The ticks of events in the order of arrival, and how many facts each has."""

    ticks: Words
    sizes: Words


@dataclass(slots=True)
class _Box:
    """What is to go into one parcel."""

    routes: list[int] = field(default_factory=list)
    signatures: list[Predicate] = field(default_factory=list)
    streams: list[str | None] = field(default_factory=list)
    runs: list[tuple[Words, Words, Words]] = field(default_factory=list)


class Packer:
    """Packs what one partition of the input brings in one batch; `part` tells partitions apart."""

    def __init__(self, job: Job, group: int, part: int, ordered: bool) -> None:
        self.job = job
        self.group = group
        self.part = part
        self.ordered = ordered
        self.words = Dictionary()
        self._number = 0
        self.highest = -1

    def pack(
        self, arrivals: Iterable[Arrivals], ended: bool = False, cut_short: bool = False, events: Events | None = None
    ) -> Iterator[Parcel]:
        """One parcel for every bucket of every stage, if only to tell the time.

        `events` has all events in the order of arrival, those without facts too; a late one tells no time.
        """
        known = list(arrivals)
        before, seen = _EMPTY, _joined([each.ticks for each in known])
        if self.ordered:
            events = events or _events(known)
            highest = np.maximum.accumulate(np.concatenate(([np.int64(self.highest)], events.ticks)))[:-1]
            late = events.ticks < highest - self.job.settings.delay
            seen = events.ticks[~late]
            before = np.repeat(highest, events.sizes) if late.any() else _EMPTY
        self.highest = max(self.highest, int(seen.max(initial=-1)))
        boxes: dict[tuple[int, int], _Box] = {}
        for each in admitted(known, self.job, self.words):
            routes = list(self.job.routes(each.signature))
            for stage, number, key in routes:
                self._address(each, stage, number, key, boxes)
            if not routes and len(before):
                # What no rule reads goes nowhere; but where it is late, somebody must tell of it.
                self._address(self._late(each, before), 0, UNKNOWN, None, boxes)
        seen = np.unique(seen)
        if len(seen) > _MOST_TICKS:
            seen = seen[[0, -1]]
        header = {
            "kind": FACTS,
            "group": self.group,
            "part": self.part,
            "number": self._number,
            "ended": ended,
            "cut_short": cut_short,
        }
        self._number += 1
        for stage in range(len(self.job.stages)):
            for bucket in self.job.buckets(stage):
                yield self._seal(stage, bucket, boxes.get((stage, bucket), _Box()), dict(header), seen, before)

    def _late(self, arrivals: Arrivals, before: Words) -> Arrivals:
        behind = arrivals.ticks < before[arrivals.places] - self.job.settings.delay
        places = arrivals.places[behind]
        return replace(arrivals, ticks=arrivals.ticks[behind], rows=arrivals.rows[behind], places=places)

    def _address(
        self, arrivals: Arrivals, stage: int, number: int, key: int | None, boxes: dict[tuple[int, int], _Box]
    ) -> None:
        buckets = self.job.buckets(stage)
        where = self.job.where(stage, number, key, arrivals.rows, self.words)
        for bucket in buckets:
            chosen = slice(None) if where is None else np.flatnonzero(where == bucket)
            run = arrivals.ticks[chosen], arrivals.rows[chosen], arrivals.places[chosen]
            if len(run[0]):
                box = boxes.setdefault((stage, bucket), _Box())
                box.routes.append(number)
                box.signatures.append(arrivals.signature)
                box.streams.append(arrivals.stream)
                box.runs.append(run)

    def _seal(
        self, stage: int, bucket: int, box: _Box, header: dict[str, object], seen: Words, before: Words
    ) -> Parcel:
        names = sorted({name for name in box.streams if name is not None})
        words = _joined([rows.reshape(-1) for _, rows, _ in box.runs])
        places = _joined([each for _, _, each in box.runs])
        lists = {
            "seen": seen,
            "routes": np.array(box.routes, dtype=np.int64),
            "streams": np.array([-1 if name is None else names.index(name) for name in box.streams], dtype=np.int64),
            "counts": np.array([len(ticks) for ticks, _, _ in box.runs], dtype=np.int64),
            "ticks": _joined([ticks for ticks, _, _ in box.runs]),
            "places": places,
            "before": before[places] if len(before) else _EMPTY,
            "words": words,
            **terms_of(words, self.words),
        }
        return wrap(stage, bucket, header | {"names": names, "signatures": box.signatures}, lists)


def events_of(items: Iterable[tuple[int, Batch]]) -> Events:
    """The events of coded batches."""
    known = [(tick, sum(_counts(batch).values())) for tick, batch in items]
    return Events(*(np.array(column, dtype=np.int64) for column in zip(*known, strict=True))) if known else _NO_EVENTS


def _events(arrivals: list[Arrivals]) -> Events:
    """Facts as events of their own, in the order of arrival."""
    if not arrivals:
        return _NO_EVENTS
    order = _joined([each.places for each in arrivals])
    ticks = np.empty(int(order.max()) + 1, dtype=np.int64)
    ticks[order] = _joined([each.ticks for each in arrivals])
    return Events(ticks, np.ones(len(ticks), dtype=np.int64))


def gather(items: Iterable[tuple[int, Batch]], start: int = 0) -> list[Arrivals]:
    """The facts of coded batches, by signature and stream; where a batch knows the order of its facts it is kept."""
    found: dict[tuple[Predicate, str | None], tuple[list[Words], list[Words], list[Words]]] = {}
    place = start
    for tick, batch in items:
        total = 0
        counts = _counts(batch)
        for signature, words in batch.rows.items():
            ticks, rows, places = found.setdefault((signature, batch.stream), ([], [], []))
            count = counts[signature]
            ticks.append(np.full(count, tick, dtype=np.int64))
            rows.append(np.asarray(words, dtype=np.int64).reshape(count, signature.arity))
            places.append(_places(batch, signature, place, total, count))
            total += count
        place += total
    return [
        Arrivals(signature, stream, np.concatenate(ticks), np.concatenate(rows), np.concatenate(places))
        for (signature, stream), (ticks, rows, places) in found.items()
    ]


def _counts(batch: Batch) -> dict[Predicate, int]:
    if batch.order:
        counts = dict.fromkeys(batch.rows, 0)
        for signature in batch.order:
            counts[signature] += 1
        return counts
    return {signature: len(words) // max(1, signature.arity) for signature, words in batch.rows.items()}


def _places(batch: Batch, signature: Predicate, place: int, total: int, count: int) -> Words:
    if len(batch.rows) > 1 and batch.order:
        same = np.fromiter(map(signature.__eq__, batch.order), dtype=bool, count=len(batch.order))
        return place + np.flatnonzero(same)
    return np.arange(place + total, place + total + count, dtype=np.int64)


_NO_EVENTS: Final = Events(_EMPTY, _EMPTY)


def _joined(parts: list[Words]) -> Words:
    return np.concatenate(parts) if parts else _EMPTY
