"""From events to parcels: each fact goes where the routes of fragments send it, and the ticks go to every bucket."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Final

import numpy as np

from thalweg.dataflow.exchange import Exchange
from thalweg.model.arrow import Lists, terms_of
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.runtimes.spark.ingest import CodedFacts, admitted
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.received_parts import Beat
from thalweg.runtimes.spark.wire import FACTS, UNKNOWN, Parcel, Words, wrap

_EMPTY: Final = np.zeros(0, dtype=np.int64)

# Which ticks there were matters before the timeline has begun; then the least and the greatest are enough.
_MOST_TICKS: Final = 10_000


Arrived = tuple[int, Batch, int]
"""An event: its tick, its facts, and the watermark that it met."""


@dataclass(frozen=True, slots=True)
class GroupTime:
    """What a parcel says of the time of its group of streams.

    `ordered`: parts of the group follow each other in the order of their numbers, so that an event is late by those
    before it; else by those of earlier batches. With `stopped`, nothing behind it is read, because it is malformed.
    """

    cut_short: bool = False
    ordered: bool = False
    stopped: bool = False


GOES_ON: Final = GroupTime()
_GOES_ON: Final[dict[str, object]] = {"ended": False, **asdict(GOES_ON)}


@dataclass(slots=True)
class _Box:
    """What is to go into one parcel."""

    routes: list[int] = field(default_factory=list)
    signatures: list[Predicate] = field(default_factory=list)
    streams: list[str | None] = field(default_factory=list)
    runs: list[tuple[Words, Words, Words]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Origins:
    """The event of each place, counted over all batches, and the names of the graphs of these events."""

    events: Words
    graphs: list[str]
    first: int

    @classmethod
    def of(cls, batches: Iterable[Batch], first: int) -> "_Origins":
        """The events of batches; one without graphs is an event without a name."""
        graphs = [graph for batch in batches for graph in batch.graphs or [("", batch.size)]]
        sizes = [size for _, size in graphs]
        return cls(first + np.repeat(np.arange(len(graphs)), sizes), [name for name, _ in graphs], first)

    def columns(self, places: Words) -> Lists:
        """The events of some places, by their numbers among those that are there, and their names."""
        used, numbers = np.unique(self.events[places], return_inverse=True)
        return {"events": numbers, "graphs": [self.graphs[event - self.first] for event in used.tolist()]}


class Packer:
    """Packs what one partition of the input brings in one batch; `part` tells partitions apart, and is their order."""

    def __init__(self, job: Job, group: int, part: tuple[int, ...]) -> None:
        self.job = job
        self.group = group
        self.part = part
        self.words = Dictionary()
        self._number = 0
        self._events = 0
        self._keeps_events = any(job.keeps_events(fragment.number) for fragment in job.fragments)

    def pack(self, events: Sequence[Arrived], ended: bool = False, time: GroupTime = GOES_ON) -> Iterator[Parcel]:
        """The parcels of events in the order of arrival; those without facts count, too, unless they are late.

        `ended`: nothing more will come of the group.
        """
        columns = [(tick, watermark, batch.size) for tick, batch, watermark in events]
        ticks, watermarks, sizes = np.array(columns, dtype=np.int64).reshape(-1, 3).T
        late = ticks < watermarks
        arrivals = gather((tick, batch) for tick, batch, _ in events)
        met = np.repeat(watermarks, sizes) if late.any() else _EMPTY
        origins = None
        if self._keeps_events:
            origins = _Origins.of((batch for _, batch, _ in events), self._events)
            self._events += len(origins.graphs)
        return self._pack(arrivals, ticks[~late], met, {"ended": ended, **asdict(time)}, origins)

    def pack_unordered(self, arrivals: Iterable[CodedFacts]) -> Iterator[Parcel]:
        """The parcels of facts whose order of arrival is not known: none is late because of another."""
        groups = list(arrivals)
        origins = None
        if self._keeps_events:
            # What has one place in a table is one event, which has no name.
            places = _joined([group.places for group in groups])
            count = int(places.max()) + 1 if len(places) else 0
            origins = _Origins(self._events + np.arange(count), [""] * count, self._events)
            self._events += count
        return self._pack(groups, _joined([group.ticks for group in groups]), _EMPTY, _GOES_ON, origins)

    def pack_clock(self, milliseconds: int) -> Iterator[Parcel]:
        """The parcels of a moment: nothing has come with it, and groups that are silent for too long rest."""
        return self._pack([], _EMPTY, _EMPTY, {**_GOES_ON, "clock": milliseconds}, None)

    def pack_beat(self, beat: Beat) -> Iterator[Parcel]:
        """The parcels that say how far time is where nothing has come with it."""
        return self._pack([], _EMPTY, _EMPTY, {**_GOES_ON, "beat": asdict(beat)}, None)

    def pack_close(self) -> Iterator[Parcel]:
        """The parcels that close all ticks up to the highest that was seen."""
        return self._pack([], _EMPTY, _EMPTY, {**_GOES_ON, "closes": True}, None)

    def _pack(
        self,
        arrivals: list[CodedFacts],
        seen: Words,
        watermarks: Words,
        time: dict[str, object],
        origins: _Origins | None,
    ) -> Iterator[Parcel]:
        """One parcel for every bucket of every fragment, if only with the ticks that were seen, and how far `time` is.

        `watermarks` has the one that each fact met, by its place; it is empty where no fact is late.
        """
        boxes: dict[tuple[int, int], _Box] = {}
        for group in admitted(arrivals, self.job, self.words):
            routes = list(self.job.routes(group.signature))
            for fragment, number, exchange in routes:
                self._address(group, fragment, number, exchange, boxes, origins)
            if not routes and len(watermarks):
                # What no rule reads goes nowhere; but where it is late, it must be reported.
                self._address(_late(group, watermarks), 0, UNKNOWN, None, boxes)
        seen = np.unique(seen)
        if len(seen) > _MOST_TICKS:
            # Of what tasks read in order, the first ones may turn out to be late.
            seen = seen[[*range(_MOST_TICKS if time["ordered"] else 1), -1]]
        header = {
            "kind": FACTS,
            "group": self.group,
            "part": self.part,
            "number": self._number,
            **time,
        }
        self._number += 1
        for fragment in range(len(self.job.fragments)):
            # Buckets that get no facts get the same bytes.
            beat = self._seal(fragment, -1, _Box(), dict(header), seen, watermarks, origins).payload
            for bucket in self.job.buckets(fragment):
                if (box := boxes.get((fragment, bucket))) is None:
                    yield Parcel(fragment, bucket, beat)
                else:
                    yield self._seal(fragment, bucket, box, dict(header), seen, watermarks, origins)

    def _address(
        self,
        arrivals: CodedFacts,
        fragment: int,
        number: int,
        exchange: Exchange | None,
        boxes: dict[tuple[int, int], _Box],
        origins: _Origins | None = None,
    ) -> None:
        buckets = self.job.buckets(fragment)
        if origins is not None and self.job.spreads_events(fragment):
            where: Words | None = buckets[0] + origins.events[arrivals.places] % len(buckets)
        else:
            where = self.job.where(fragment, exchange, arrivals.rows, self.words)
        for bucket in buckets:
            chosen = slice(None) if where is None else np.flatnonzero(where == bucket)
            run = arrivals.ticks[chosen], arrivals.rows[chosen], arrivals.places[chosen]
            if len(run[0]):
                box = boxes.setdefault((fragment, bucket), _Box())
                box.routes.append(number)
                box.signatures.append(arrivals.signature)
                box.streams.append(arrivals.stream)
                box.runs.append(run)

    def _seal(
        self,
        fragment: int,
        bucket: int,
        box: _Box,
        header: dict[str, object],
        seen: Words,
        watermarks: Words,
        origins: _Origins | None,
    ) -> Parcel:
        names = sorted({name for name in box.streams if name is not None})
        words = _joined([rows.reshape(-1) for _, rows, _ in box.runs])
        places = _joined([run_places for _, _, run_places in box.runs])
        lists = {
            "seen": seen,
            "routes": np.array(box.routes, dtype=np.int64),
            "streams": np.array([-1 if name is None else names.index(name) for name in box.streams], dtype=np.int64),
            "counts": np.array([len(ticks) for ticks, _, _ in box.runs], dtype=np.int64),
            "ticks": _joined([ticks for ticks, _, _ in box.runs]),
            "places": places,
            "watermarks": watermarks[places] if len(watermarks) else _EMPTY,
            "words": words,
            **terms_of(words, self.words),
            **(origins.columns(places) if origins is not None and self.job.keeps_events(fragment) else {}),
        }
        return wrap(fragment, bucket, header | {"names": names, "signatures": box.signatures}, lists)


def _late(arrivals: CodedFacts, watermarks: Words) -> CodedFacts:
    behind = arrivals.ticks < watermarks[arrivals.places]
    places = arrivals.places[behind]
    return replace(arrivals, ticks=arrivals.ticks[behind], rows=arrivals.rows[behind], places=places)


class _Gathered:
    """The facts of one signature on one stream: ticks, words and places, as lists where few come at a time."""

    __slots__ = ("arity", "arrays", "lists")

    def __init__(self, arity: int) -> None:
        self.arity = arity
        self.lists: tuple[list[int], list[int], list[int]] = ([], [], [])
        self.arrays: list[tuple[Words, Words, Words]] = []

    def columns(self) -> tuple[Words, Words, Words]:
        """All of them in the order of arrival."""
        ticks, words, places = (np.array(values, dtype=np.int64) for values in self.lists)
        parts = [*self.arrays, (ticks, words.reshape(len(ticks), self.arity), places)]
        if len(parts) == 1:
            return parts[0]
        joined = tuple(map(np.concatenate, zip(*parts, strict=True)))
        order = np.argsort(joined[2], kind="stable")
        ticks, rows, places = (values[order] for values in joined)
        return ticks, rows, places


def gather(items: Iterable[tuple[int, Batch]], start: int = 0) -> list[CodedFacts]:
    """The facts of coded batches, by signature and stream; where a batch knows the order of its facts it is kept."""
    gathered: dict[tuple[Predicate, str | None], _Gathered] = {}
    place = start
    for tick, batch in items:
        into = {}
        for signature in batch.rows:
            key = signature, batch.stream
            into[signature] = gathered[key] if key in gathered else gathered.setdefault(key, _Gathered(signature.arity))
        if batch.order and all(isinstance(words, list) for words in batch.rows.values()):
            for signature, words in batch.rows.items():
                into[signature].lists[1].extend(words)
            for number, signature in enumerate(batch.order, place):
                ticks, _, places = into[signature].lists
                ticks.append(tick)
                places.append(number)
            place += len(batch.order)
            continue
        total, counts = 0, _counts(batch)
        for signature, words in batch.rows.items():
            count = counts[signature]
            rows = np.asarray(words, dtype=np.int64).reshape(count, signature.arity)
            where = _places(batch, signature, place, total, count)
            into[signature].arrays.append((np.full(count, tick, dtype=np.int64), rows, where))
            total += count
        place += total
    return [CodedFacts(signature, stream, *facts.columns()) for (signature, stream), facts in gathered.items()]


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


def _joined(parts: list[Words]) -> Words:
    return np.concatenate(parts) if parts else _EMPTY
