"""What has come for a bucket and is not decided yet: facts wait in columns, and late ones are reported."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np

from thalweg.model.arrow import Lists, decode, encode, read_words, terms_of
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.model.time import NEVER
from thalweg.model.triples import TRIPLES, as_facts
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.wire import LATE, OUT, Content, Parcel, Words, wrap
from thalweg.runtimes.watermark import Watermark

_NO_EVENTS: Final = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class FactRun:
    """Facts of one route on one stream, in the order of arrival, each with its tick.

    `events` has the number of the event that each came with, where the job keeps events.
    """

    route: int
    signature: Predicate
    group: int
    stream: str | None
    ticks: Words
    rows: Words
    places: Words
    events: Words | None = None

    def where(self, mask: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> "FactRun":
        if mask.all():
            return self
        events = None if self.events is None else self.events[mask]
        return replace(self, ticks=self.ticks[mask], rows=self.rows[mask], places=self.places[mask], events=events)


class Silence:
    """How long groups of streams have been silent, by a clock that comes with the facts.

    A group that was silent for `idle` milliseconds rests; whether it has brought something is known for a batch as a
    whole, so a batch that takes long makes none of them rest that has waited for it.

    >>> silence = Silence(2, 5_000)
    >>> clock = lambda now: Content({"group": 0, "clock": now}, {"seen": np.array([])})
    >>> facts = Content({"group": 1}, {"seen": np.array([7])})
    >>> [sorted(silence.resting(batch)) for batch in ([clock(1_000)], [clock(4_000), facts], [clock(8_000)])]
    [[], [], [0]]
    """

    def __init__(self, groups: int, idle: int | None) -> None:
        self._groups = groups
        self._idle = idle
        self._now: int | None = None
        self._heard: dict[int, int] = {}

    def resting(self, contents: Iterable[Content]) -> frozenset[int]:
        """The groups that rest after a batch."""
        if self._idle is None:
            return frozenset()
        batch = list(contents)
        clocks = [content.header["clock"] for content in batch if "clock" in content.header]
        self._now = max(clocks, default=self._now) if self._now is None else max([self._now, *clocks])
        if self._now is None:
            return frozenset()
        self._heard.update((content.header["group"], self._now) for content in batch if len(content.lists["seen"]))
        since = [self._heard.setdefault(group, self._now) for group in range(self._groups)]
        return frozenset(group for group, heard in enumerate(since) if self._now - heard >= self._idle)

    def save(self) -> dict[str, object]:
        return {"now": self._now, "heard": list(self._heard.items())}

    def load(self, saved: dict[str, Any]) -> None:
        self._now, self._heard = saved["now"], dict(saved["heard"])


class Inbox:
    """The watermark of a bucket and the facts that wait; they are coded with `words`, and `name` says what each is
    called inside.
    """

    def __init__(
        self, job: Job, fragment: int, bucket: int, words: Dictionary, name: Callable[[FactRun], Predicate]
    ) -> None:
        settings = job.settings
        self.watermark = Watermark(settings.delay, settings.first, settings.last, job.groups)
        self.words = words
        self._job = job
        self._fragment = fragment
        self._bucket = bucket
        self._name = name
        self._waiting: list[FactRun] = []
        self._arrived = 0
        # The names of graphs that wait, by the numbers of their events.
        self._graphs: dict[int, str] = {}
        self._events = 0
        self._silence = Silence(job.groups, job.idle)

    def take(self, contents: Iterable[Content]) -> list[Parcel]:
        """Takes in the facts of a batch, and settles how far time has come; gives the reports of late ones."""
        arrived = sorted(contents, key=lambda content: [content.header[name] for name in ("group", "part", "number")])
        out: list[Parcel] = []
        arrived = self._cut(arrived)
        for content in arrived:
            self._take(content, out)
            if content.header["ordered"]:
                self.watermark.see_next(content.header["group"], content.lists["seen"])
        for content in arrived:
            header = content.header
            if not header["ordered"]:
                self.watermark.see(header["group"], content.lists["seen"])
            if header["ended"]:
                self.watermark.end(header["group"], header["cut_short"])
        for group in range(self._job.groups) if self._job.bounded else ():
            self.watermark.end(group)
        resting = self._silence.resting(arrived) | self.watermark.unseen(self._job.optional)
        self.watermark.rest(resting | self._beat(arrived))
        self.watermark.settle()
        is_closed = any(content.header.get("closes") for content in arrived)
        is_read_on = self._job.ends or any(map(_is_read_by_tasks, arrived))
        if (self.watermark.is_complete and is_read_on) or (is_closed and self._job.ends):
            # Tasks read on until they are stopped.
            for group in range(self._job.groups):
                self.watermark.end(group)
            self.watermark.settle()
        elif is_closed:
            self.watermark.close()
        return out

    def _beat(self, contents: Iterable[Content]) -> frozenset[int]:
        """Lets time pass by the machine's clock, behind all that came before it; gives the groups that rest."""
        resting: frozenset[int] = frozenset()
        for beat in (content.header["beat"] for content in contents if "beat" in content.header):
            ticks = np.array(beat["ticks"], dtype=np.int64)
            for group in beat["groups"] if len(ticks) else ():
                self.watermark.see_next(group, ticks)
            for group in range(self._job.groups) if beat["ends"] else ():
                self.watermark.end(group, cut_short=True)
            resting |= {*beat["resting"]}
        return resting

    def _cut(self, contents: list[Content]) -> list[Content]:
        """The contents without those behind a line at which the reading of their group has stopped.

        What other groups have at later ticks than that line takes no part either, so it is known before they are taken.
        """
        highest = list(self.watermark.highs)
        taken: list[Content] = []
        for content in contents:
            header, seen = content.header, content.lists["seen"]
            group = header["group"]
            if not (header["ordered"] and self.watermark.has_ended(group)):
                taken.append(content)
                highest[group] = max(int(seen.max(initial=NEVER)), highest[group])
                if header["stopped"]:
                    self.watermark.cut(group, highest[group])
                    waiting = (run.where(self.watermark.before_cut(run.ticks, run.group)) for run in self._waiting)
                    self._waiting = [run for run in waiting if len(run.ticks)]
        return taken

    def waiting(self) -> list[Batch]:
        """All words that are still needed."""
        return [Batch(rows={run.signature: run.rows.reshape(-1)}) for run in self._waiting]

    def _take(self, content: Content, out: list[Parcel]) -> None:
        """Keeps the facts of a parcel until their ticks are decided; those that are late go to the late channel."""
        lists, header = content.lists, content.header
        ticks: Words = lists["ticks"]
        if not len(ticks):
            return
        words = self.recoded(lists)
        on_time, late, watermarks = self.watermark.judge(
            ticks, lists["watermarks"], self._least(header), header["group"]
        )
        events = self._numbered(lists, on_time) if "events" in lists else None
        place = 0
        for route, signature, stream, count in zip(
            lists["routes"].tolist(),
            map(Predicate.read, header["signatures"]),
            lists["streams"].tolist(),
            lists["counts"].tolist(),
            strict=True,
        ):
            arity = signature.arity
            part = slice(place, place + count)
            rows = words[: count * arity].reshape(count, arity)
            words = words[count * arity :]
            name = None if stream < 0 else header["names"][stream]
            places = lists["places"][part] + self._arrived
            run_events = None if events is None else events[part]
            run = FactRun(route, signature, header["group"], name, ticks[part], rows, places, run_events)
            if late[part].any():
                self._tell_late(run.where(late[part]), watermarks[part][late[part]], out)
            if on_time[part].any():
                self._waiting.append(run.where(on_time[part]))
            place += count
        self._arrived += int(lists["places"].max()) + 1

    def _least(self, header: dict[str, Any]) -> int:
        """The watermark that all facts of a parcel have met, beside those that they bring along."""
        group = header["group"]
        return self.watermark.before_next(group) if header["ordered"] else self.watermark.late_before(group)

    def _numbered(self, lists: Lists, wanted: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> Words:
        """The events of a parcel's facts, numbered on; the names of the graphs of those that are wanted are noted."""
        first, names = self._events, lists["graphs"].to_pylist()
        self._events += len(names)
        numbers = np.unique(lists["events"][wanted]).tolist()
        self._graphs.update((first + number, names[number]) for number in numbers if names[number])
        events: Words = lists["events"] + first
        return events

    def recoded(self, lists: Lists) -> Words:
        """The words of a parcel as the bucket's own dictionary has them."""
        return read_words(lists, self.words)

    def _tell_late(self, run: FactRun, watermarks: Words, out: list[Parcel]) -> None:
        """Late facts are reported by the first fragment that they are sent to, and there by one bucket."""
        job = self._job
        if run.signature in job.supplied or not job.reports(run.signature, self._fragment, run.route, self._bucket):
            return
        lists = {"ticks": run.ticks, "watermarks": watermarks, "facts": self._spelled(run.signature, run.rows)}
        stream = job.sources[run.group] if job.sources else run.stream
        out.append(wrap(OUT, self._bucket, {"kind": LATE, "stream": stream}, lists))

    def _spelled(self, signature: Predicate, rows: Words) -> list[str]:
        spell = self.words.spell_rows
        if signature != TRIPLES:
            return spell(self._job.renamed.get(signature, signature).name, rows)
        single = (as_facts(row.reshape(1, -1), self.words) for row in rows)
        return [text for facts in single for predicate, row in facts for text in spell(predicate, row)]

    def up_to(self, last: int, in_order: bool, across: bool = True) -> Mapping[int, list[Batch]]:
        """The facts up to a tick, as batches by tick; the rest goes on waiting.

        In order, those of one predicate are in the order of arrival, or `across` predicates all of them.
        """
        decided = [run.where(run.ticks <= last) for run in self._waiting]
        waiting = (run.where(run.ticks > last) for run in self._waiting)
        self._waiting = [run for run in waiting if len(run.ticks)]
        if self._job.keeps_events(self._fragment):
            return self._by_event([run for run in decided if len(run.ticks)])
        if in_order:
            return self._in_order(decided, across)
        together: dict[tuple[str | None, Predicate], list[FactRun]] = {}
        for run in decided:
            if len(run.ticks):
                together.setdefault((run.stream, self._name(run)), []).append(run)
        return _BatchesByTick([_Table.of(*key, runs) for key, runs in together.items()])

    def _in_order(self, runs: list[FactRun], across: bool) -> dict[int, list[Batch]]:
        """For tuple windows: facts of one run that follow each other in the order of arrival are added together."""
        batches_at: dict[int, list[Batch]] = {}
        names = [self._name(run) for run in runs]
        ranks: dict[Predicate, int] = {}
        for number, tick, part in _stretches(runs, [0 if across else ranks.setdefault(n, len(ranks)) for n in names]):
            run, name, batches = runs[number], names[number], batches_at.setdefault(tick, [])
            if not batches or batches[-1].stream != run.stream:
                batches.append(Batch(stream=run.stream))
            rows = batches[-1].rows.setdefault(name, [])
            assert isinstance(rows, list)
            rows.extend(run.rows[part].reshape(-1).tolist())
            # No window counts what was not on a stream.
            batches[-1].order.extend([name] * len(part) if run.signature not in self._job.supplied else ())
        return batches_at

    def _by_event(self, runs: list[FactRun]) -> dict[int, list[Batch]]:
        """The facts of each event together, in the order of arrival, with the name of its graph."""
        batches_at: dict[int, list[Batch]] = {}
        if not runs:
            return batches_at
        names, rows = [self._name(run) for run in runs], [run.rows.tolist() for run in runs]
        numbers, inside, ticks, order = _ordered(runs, [0] * len(runs))
        events = np.concatenate([_NO_EVENTS, *(run.events for run in runs if run.events is not None)])[order]
        before, batch = -1, Batch()
        for number, place, tick, event in zip(*map(np.ndarray.tolist, (numbers, inside, ticks, events)), strict=True):
            if event != before:
                before, batches = event, batches_at.setdefault(tick, [])
                if not batches or batches[-1].stream != runs[number].stream:
                    batches.append(Batch(stream=runs[number].stream))
                batch = batches[-1]
                batch.graphs.append((self._graphs.pop(event, ""), 0))
            batch.add(names[number], rows[number][place])
            graph, size = batch.graphs[-1]
            batch.graphs[-1] = graph, size + 1
        return batches_at

    def save(self) -> tuple[dict[str, object], list[bytes]]:
        """The state of the watermark as JSON, and each run of waiting facts as bytes."""
        runs = [
            encode(
                {"route": run.route, "signature": run.signature, "group": run.group, "stream": run.stream},
                {
                    "ticks": run.ticks,
                    "places": run.places,
                    "words": run.rows.reshape(-1),
                    **terms_of(run.rows.reshape(-1), self.words),
                    **({} if run.events is None else {"events": run.events}),
                },
            )
            for run in self._waiting
        ]
        about: dict[str, object] = {"watermark": self.watermark.save(), "arrived": self._arrived}
        if self._job.idle is not None:
            about |= {"silence": self._silence.save()}
        if self._job.keeps_events(self._fragment):
            about |= {"graphs": list(self._graphs.items()), "events": self._events}
        return about, runs

    def load(self, header: dict[str, object], runs: Iterable[bytes]) -> None:
        """Brings a new inbox to where another one was."""
        self.watermark.load(header["watermark"])  # type: ignore[arg-type]
        # Format 14 has what was decided beside the watermark.
        self.watermark.resume(header.get("reached", NEVER))  # type: ignore[arg-type]
        self._arrived = header["arrived"]  # type: ignore[assignment]
        if self._job.idle is not None:
            self._silence.load(header["silence"])  # type: ignore[arg-type]
        self._graphs, self._events = dict(header.get("graphs", ())), header.get("events", 0)  # type: ignore[assignment,call-overload]
        for data in runs:
            about, columns = decode(data)
            about["signature"] = signature = Predicate.read(about["signature"])
            rows = self.recoded(columns).reshape(len(columns["ticks"]), signature.arity)
            arrays = {"ticks": columns["ticks"], "places": columns["places"], "events": columns.get("events")}
            self._waiting.append(FactRun(**about, rows=rows, **arrays))

    def take_over(self, other: "Inbox", route: Callable[[FactRun], int | None]) -> None:
        """Goes on where that of an earlier job is, with the same words; `route` is what came by one there, if any."""
        about, _ = other.save()
        self.load(about, ())
        routes = ((run, route(run)) for run in other._waiting)
        self._waiting = [replace(run, route=number) for run, number in routes if number is not None]


def _is_read_by_tasks(content: Content) -> bool:
    return content.header["ordered"] or "beat" in content.header


def _stretches(runs: list[FactRun], ranks: list[int]) -> Iterator[tuple[int, int, Words]]:
    """Facts by tick, rank of their run and arrival: the number of a run, the tick, the places of facts in the run."""
    if not runs:
        return
    numbers, inside, ticks, _ = _ordered(runs, ranks)
    starts = np.flatnonzero((np.diff(ticks) != 0) | (np.diff(numbers) != 0)) + 1
    for part in np.split(np.arange(len(ticks)), starts) if len(ticks) else ():
        yield int(numbers[part[0]]), int(ticks[part[0]]), inside[part]


def _ordered(runs: list[FactRun], ranks: list[int]) -> tuple[Words, Words, Words, Words]:
    """All facts by tick, rank of their run and arrival: numbers of their runs, places there, ticks; and this order."""
    lengths = [len(run.ticks) for run in runs]
    numbers = np.repeat(np.arange(len(runs)), lengths)
    inside = np.concatenate([np.arange(length) for length in lengths])
    ticks, places = (np.concatenate(parts) for parts in zip(*((run.ticks, run.places) for run in runs), strict=True))
    groups = np.array([run.group for run in runs])[numbers]
    order = np.lexsort((places, groups, np.array(ranks)[numbers], ticks))
    return numbers[order], inside[order], ticks[order], order


def by_tick(ticks: Words) -> Iterator[tuple[int, "slice | Words"]]:
    """The places of each tick, in order of time and then of arrival.

    >>> [(tick, np.arange(3)[part].tolist()) for tick, part in by_tick(np.array([7, 5, 7]))]
    [(5, [1]), (7, [0, 2])]
    """
    if not len(ticks):
        return
    steps = np.diff(ticks)
    if (steps >= 0).all():
        places = [0, *(np.flatnonzero(steps) + 1).tolist(), len(ticks)]
        for tick, (start, end) in zip(ticks[places[:-1]].tolist(), pairwise(places), strict=True):
            yield tick, slice(start, end)
        return
    order = np.argsort(ticks, kind="stable")
    distinct, starts = np.unique(ticks[order], return_index=True)
    for tick, part in zip(distinct.tolist(), np.split(order, starts[1:]), strict=True):
        yield tick, part


@dataclass(frozen=True, slots=True)
class _Table:
    """Facts of a predicate on a stream by tick: those of a tick are the rows between two places."""

    stream: str | None
    name: Predicate
    rows: Words
    ticks: dict[int, int]
    places: list[int]

    @classmethod
    def of(cls, stream: str | None, name: Predicate, runs: list[FactRun]) -> "_Table":
        ticks, rows = (
            parts[0] if len(parts) == 1 else np.concatenate(parts)
            for parts in ([run.ticks for run in runs], [run.rows for run in runs])
        )
        steps = np.diff(ticks)
        if (steps < 0).any():
            order = np.argsort(ticks, kind="stable")
            ticks, rows = ticks[order], rows[order]
            steps = np.diff(ticks)
        starts = [0, *(np.flatnonzero(steps) + 1).tolist()]
        by_tick = dict(zip(ticks[starts].tolist(), range(len(starts)), strict=True))
        return cls(stream, name, rows, by_tick, [*starts, len(ticks)])


class _BatchesByTick(Mapping[int, list[Batch]]):
    """The batches of each tick, made when they are wanted: there may be many ticks."""

    def __init__(self, tables: list[_Table]) -> None:
        # There may be thousands of tables, of which few have facts at a tick.
        self._tables: dict[int, list[_Table]] = {}
        for table in tables:
            for tick in table.ticks:
                self._tables.setdefault(tick, []).append(table)

    def __getitem__(self, tick: int) -> list[Batch]:
        batches: dict[str | None, Batch] = {}
        for table in self._tables[tick]:
            if table.stream not in batches:
                batches[table.stream] = Batch(stream=table.stream)
            place = table.ticks[tick]
            rows = table.rows[table.places[place] : table.places[place + 1]]
            batches[table.stream].rows[table.name] = rows.reshape(-1)
        return list(batches.values())

    def __iter__(self) -> Iterator[int]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)
