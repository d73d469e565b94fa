"""What the operators of a bucket give to other fragments, collected over a batch and sent by exchanges of edges."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from thalweg.dataflow.context import Context
from thalweg.dataflow.exchange import Multicast
from thalweg.dataflow.executor import Executor, Node
from thalweg.dataflow.operator import HeldKey, Output, Words
from thalweg.dataflow.operator_arrivals import Arrivals, netted
from thalweg.dataflow.plan import Edge
from thalweg.engine import Given
from thalweg.model.arrow import Lists, read_words, terms_of
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.model.records import as_json, of_json
from thalweg.model.saved_batches import batch_columns, batches_of
from thalweg.runtimes.spark.inbox import by_tick
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.wire import DOUBTS, EVENTS, HELD, RECORDS, SETTLED, Content, Parcel, wrap

_EMPTY: Final = np.zeros(0, dtype=np.int64)
_NO_LISTS: Final[Lists] = {"ticks": _EMPTY}

Taken = tuple[int, int, Words]
"""A tick, and rows that began (0), ended (1) or became unknown (2) then."""

_HeldRun = tuple[tuple[int, Predicate | None, bool], Words, Words, Words, Words]
"""Changes of one predicate on one edge: the edge, the predicate where the edge gives it no name, and whether it is
timed; then ticks, what became of each row, until when it lasts, and all words.
"""


class Outbox:
    """The updates of a batch for the buckets of other fragments."""

    def __init__(self, job: Job, fragment: int, bucket: int, words: Dictionary, context: Context) -> None:
        self._job = job
        self._bucket = bucket
        self._words = words
        self._edges = job.leaving(fragment)
        self._keyed: dict[tuple[int, HeldKey | None], list[int]] = {}
        self._events: dict[int, list[int]] = {}
        self._records: dict[int, list[int]] = {}
        for number, edge in self._edges.items():
            if edge.what == "held":
                self._keyed.setdefault((edge.source, edge.key), []).append(number)
            else:
                target = self._events if edge.what == "events" else self._records
                target.setdefault(edge.source, []).append(number)
        self._addresses: dict[int, Callable[[Any], Iterable[int]]] = {
            number: edge.exchange.addresses(context, self._buckets(edge))
            for number, edge in self._edges.items()
            if isinstance(edge.exchange, Multicast)
        }
        self._changes: dict[tuple[int, Predicate, bool], list[Taken]] = {}
        self._ticks: dict[tuple[int, Predicate, bool], int] = {}
        """The last tick of the changes of each edge and predicate."""
        self._turns: dict[int, list[tuple[int, tuple[Predicate, ...]]]] = {}
        self._batches: dict[int, list[tuple[int, Batch]]] = {}
        self._sent: dict[tuple[int, int], list[tuple[int, Any]]] = {}
        self.unsettled: set[int] = set()
        """The operators that were said to be unsettled."""

    def _buckets(self, edge: Edge) -> range:
        return self._job.buckets(self._job.home[edge.target])

    def leads(self, number: int, source: int) -> bool:
        """Whether an edge leads from an operator of this fragment to another one."""
        return number in self._edges and self._edges[number].source == source

    @property
    def is_idle(self) -> bool:
        """Whether nothing here is read elsewhere."""
        return not self._edges

    def take(self, number: int, output: Output) -> None:
        """Collects what an operator gives."""
        tick = output.tick
        for change in output.held:
            for key in ((change.signature, change.timed), None):
                for edge in self._keyed.get((number, key), ()):
                    if self._edges[edge].lasting == change.lasting:
                        self._collect(edge, tick, change)
        for key, _, names in output.doubts:
            for edge in self._keyed.get((number, key), ()):
                self._turns.setdefault(edge, []).append((tick, names))
        if output.events:
            for edge in self._events.get(number, ()):
                self._batches.setdefault(edge, []).extend((tick, batch) for batch in output.events)
        for record in output.records:
            for edge in self._records.get(number, ()):
                addresses = self._addresses.get(edge)
                buckets = self._buckets(self._edges[edge])[:1] if addresses is None else addresses(record)
                for bucket in buckets:
                    self._sent.setdefault((edge, bucket), []).append((tick, record))

    def give(self, number: int, tick: int, change: Given) -> None:
        """Collects what an operator has given before, where an edge takes it."""
        edge = self._edges[number]
        is_taken = edge.what == "held" and edge.key in (None, (change.signature, change.timed))
        if is_taken and edge.lasting == change.lasting:
            self._collect(number, tick, change)

    def _collect(self, edge: int, tick: int, change: Given) -> None:
        """Adds changes of a tick to those of an edge; what several outputs of one tick give is netted."""
        key = edge, change.signature, change.timed
        taken = self._changes.setdefault(key, [])
        if self._ticks.get(key) == tick and not self._edges[edge].lasting:
            earlier = [part for part in taken if part[0] == tick]
            begun, ended = (
                np.concatenate([rows[:0], *(part for _, kind, part in earlier if kind == place)])
                for place, rows in enumerate((change.begun, change.ended))
            )
            changes = netted([replace(change, begun=begun, ended=ended), change])
            taken[:] = [part for part in taken if part[0] != tick]
        else:
            changes = [change]
        self._ticks[key] = tick
        for part in changes:
            taken += [(tick, kind, rows) for kind, rows in enumerate((part.begun, part.ended)) if len(rows)]

    def parcels(self, nodes: Sequence[Node]) -> list[Parcel]:
        """What was collected, and whether operators have given all for the last tick, where that has changed."""
        out = list(self._held())
        out += [parcel for edge, turns in self._turns.items() for parcel in self._doubts(edge, turns)]
        out += [parcel for edge, batches in self._batches.items() for parcel in self._spread(edge, batches)]
        for (edge, bucket), sent in self._sent.items():
            lists: Lists = {
                "ticks": np.array([tick for tick, _ in sent], dtype=np.int64),
                "records": [json.dumps(as_json(record), ensure_ascii=False) for _, record in sent],
            }
            out.append(self._parcel(edge, bucket, {"kind": RECORDS}, lists))
        self.clear()
        return [*out, *self._settled(nodes)]

    def clear(self) -> None:
        """Forgets what was collected."""
        self._changes, self._turns, self._batches, self._sent, self._ticks = {}, {}, {}, {}, {}

    def _parcel(self, edge: int, bucket: int, header: dict[str, Any], lists: Lists) -> Parcel:
        return wrap(self._job.home[self._edges[edge].target], bucket, {**header, "edge": edge}, lists)

    def _settled(self, nodes: Iterable[Node]) -> Iterator[Parcel]:
        for node in nodes:
            targets = {self._job.home[edge.target] for edge in self._edges.values() if edge.source == node.number}
            if targets and node.is_decided == (node.number in self.unsettled):
                (self.unsettled.discard if node.is_decided else self.unsettled.add)(node.number)
                header = {"kind": SETTLED, "source": node.number, "from": self._bucket, "settled": node.is_decided}
                for target in sorted(targets):
                    yield from (wrap(target, bucket, header, _NO_LISTS) for bucket in self._job.buckets(target))

    def _held(self) -> Iterator[Parcel]:
        """One parcel for each bucket to which something of held facts is sent, whatever predicates they have."""
        boxes: dict[tuple[int, int], list[_HeldRun]] = {}
        for key, taken in self._changes.items():
            if taken:
                for bucket, run in self._runs(*key, taken):
                    boxes.setdefault((self._job.home[self._edges[key[0]].target], bucket), []).append(run)
        for (fragment, bucket), runs in boxes.items():
            ticks, ended, until, flat = (
                np.concatenate(parts) for parts in zip(*(run[1:] for run in runs), strict=True)
            )
            about = [(*run[0], len(run[1])) for run in runs]
            lists = {"ticks": ticks, "ended": ended, "until": until, "words": flat, **terms_of(flat, self._words)}
            yield wrap(fragment, bucket, {"kind": HELD, "runs": about}, lists)

    def _runs(
        self, number: int, signature: Predicate, timed: bool, taken: list[Taken]
    ) -> Iterator[tuple[int, _HeldRun]]:
        """The changes of one predicate on one edge, for each bucket that gets some."""
        edge, buckets = self._edges[number], self._buckets(self._edges[number])
        ticks, ended, rows = stacked(taken)
        until = _EMPTY
        if edge.lasting:
            rows, until = rows[:, :-1], rows[:, -1]
        if edge.union:
            mark = np.full((len(rows), 1), self._bucket << 2 | 1, dtype=np.int64)
            at = rows.shape[1] - timed
            rows = np.hstack((rows[:, :at], mark, rows[:, at:]))
        assert not isinstance(edge.exchange, Multicast)
        where = edge.exchange.buckets_of(rows, self._words, buckets)
        name = None if edge.called is not None else signature
        for bucket in buckets:
            chosen = slice(None) if where is None else np.flatnonzero(where == bucket)
            if len(ticks[chosen]):
                ends = until[chosen] if edge.lasting else _EMPTY
                yield bucket, ((number, name, timed), ticks[chosen], ended[chosen], ends, rows[chosen].reshape(-1))

    def _doubts(self, number: int, turns: list[tuple[int, tuple[Predicate, ...]]]) -> Iterator[Parcel]:
        header = {"kind": DOUBTS, "from": self._bucket, "turns": turns}
        for bucket in self._buckets(self._edges[number]):
            yield self._parcel(number, bucket, header, _NO_LISTS)

    def _spread(self, number: int, batches: Sequence[tuple[int, Batch]]) -> Iterator[Parcel]:
        """Events go where facts of streams would go; a fragment that is together gets them as they are."""
        fragment = self._job.home[self._edges[number].target]
        boxes: dict[int, list[tuple[int, Batch]]] = {}
        if self._job.is_shared(fragment):
            boxes[self._job.buckets(fragment)[0]] = list(batches)
        else:
            parts = self._in_turn if self._job.spreads_events(fragment) else self._parts
            for tick, batch in batches:
                for bucket, part in parts(fragment, batch).items():
                    boxes.setdefault(bucket, []).append((tick, part))
        for bucket, box in boxes.items():
            header, lists = batch_columns(box, self._words)
            yield self._parcel(number, bucket, {"kind": EVENTS, **header}, lists)

    def _in_turn(self, fragment: int, batch: Batch) -> dict[int, Batch]:
        """Whole events, each for the next bucket."""
        buckets, parts = self._job.buckets(fragment), dict[int, Batch]()
        for number, (graph, facts) in enumerate(batch.events()):
            own = parts.setdefault(buckets[number % len(buckets)], Batch(stream=batch.stream))
            for signature, words in facts:
                own.add(signature, [*words])
            own.graphs.append((graph, len(facts)))
        return parts

    def _parts(self, fragment: int, batch: Batch) -> dict[int, Batch]:
        job, parts = self._job, dict[int, Batch]()
        if any(spec.counts_everything for spec in job.specs(fragment)):
            return self._in_order(fragment, batch)
        for signature, words in batch.rows.items():
            rows = np.asarray(words, dtype=np.int64).reshape(-1, signature.arity) if signature.arity else None
            for route, exchange in job.routes_into(fragment, signature):
                table = np.zeros((1, 0), dtype=np.int64) if rows is None else rows
                where = job.where(fragment, exchange, table, self._words)
                for bucket in job.buckets(fragment):
                    chosen = table if where is None else table[where == bucket]
                    if len(chosen):
                        own = parts.setdefault(bucket, Batch(stream=batch.stream))
                        own.rows[job.called(fragment, route, signature)] = chosen.reshape(-1)
        return parts

    def _in_order(self, fragment: int, batch: Batch) -> dict[int, Batch]:
        """The same where a window counts facts: each of them in its turn."""
        job, parts = self._job, dict[int, Batch]()
        for signature, words in batch.in_order():
            row = np.array([words], dtype=np.int64).reshape(1, signature.arity)
            for route, exchange in job.routes_into(fragment, signature):
                where = job.where(fragment, exchange, row, self._words)
                for bucket in job.buckets(fragment) if where is None else where.tolist():
                    own = parts.setdefault(bucket, Batch(stream=batch.stream))
                    own.add(job.called(fragment, route, signature), [*words])
        return parts

    def save(self) -> list[int]:
        """The operators that were said to be unsettled."""
        return sorted(self.unsettled)


def receive(content: Content, job: Job, executor: Executor) -> None:
    """Hands what another fragment has sent to the operators that it is for."""
    header, lists, words = content.header, content.lists, executor.dictionary
    if content.kind == SETTLED:
        targets = [edge.target for edge in job.plan.outgoing[header["source"]] if edge.target in executor.numbers]
        executor.settle(header["source"], header["from"], header["settled"], targets)
        return
    if content.kind == HELD:
        for edge, tick, change in _held(job, header["runs"], lists, words):
            arrivals = Arrivals()
            Node.take(arrivals, edge, change)
            executor.receive(edge.target, tick, arrivals)
        return
    edge = job.plan.edges[header["edge"]]
    match content.kind:
        case "doubts":
            assert edge.key is not None
            assert edge.called is not None
            key = edge.called, edge.key[1]
            for tick, names in header["turns"]:
                doubt = key, header["from"], tuple(map(Predicate.read, names))
                executor.receive(edge.target, tick, Arrivals(doubts=[doubt]))
        case "events":
            for tick, batch in batches_of(header, lists, words):
                executor.receive(edge.target, tick, Arrivals([batch]))
        case "records":
            for tick, text in zip(lists["ticks"].tolist(), lists["records"].to_pylist(), strict=True):
                executor.receive(edge.target, tick, Arrivals(records=[of_json(json.loads(text))]))


def _held(
    job: Job, runs: Iterable[tuple[int, str | None, bool, int]], lists: Lists, dictionary: Dictionary
) -> Iterator[tuple[Edge, int, Given]]:
    """What began and ended of held facts, by edge, predicate and tick."""
    words, until = read_words(lists, dictionary), lists["until"]
    place = 0
    for number, name, timed, count in runs:
        edge = job.plan.edges[number]
        called = edge.called or Predicate.read(name or "")
        size = count * (called.arity + timed)
        rows, words = words[:size].reshape(count, called.arity + timed), words[size:]
        if edge.lasting:
            rows, until = np.hstack((rows, until[:count].reshape(-1, 1))), until[count:]
        ended = lists["ended"][place : place + count] != 0
        for tick, part in by_tick(lists["ticks"][place : place + count]):
            gone = ended[part]
            yield edge, tick, Given(called, timed, rows[part][~gone], rows[part][gone], edge.lasting)
        place += count


def stacked(taken: list[Taken]) -> tuple[Words, Words, Words]:
    """All rows in one array, and for each its tick and what became of it."""
    ticks, what, rows = zip(*taken, strict=True)
    counts = list(map(len, rows))
    when, kinds = (np.repeat(np.array(values, dtype=np.int64), counts) for values in (ticks, what))
    return when, kinds, np.concatenate(rows)
