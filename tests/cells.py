"""The cells of a cluster in one process: to be fed batch by batch, and lost in between."""

import pickle
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from thalweg.diagnostics import Source
from thalweg.languages.asp.reader import read_program
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch, Event
from thalweg.model.fact import Fact
from thalweg.model.time import Clock
from thalweg.parts.answer_sets.solve_options import SolveOptions
from thalweg.parts.answer_sets.spark_job import answer_set_job
from thalweg.parts.answer_sets.spark_worker import AnswerSetWorker
from thalweg.parts.answer_sets.window_combiner import WindowCombiner
from thalweg.parts.answer_sets.windowed import Answered
from thalweg.parts.part import Context, Part
from thalweg.runtimes.embedded import Settings
from thalweg.runtimes.emit import Solution
from thalweg.runtimes.spark.pack import Arrived, Packer
from thalweg.runtimes.spark.wire import FAILURE, LATE, OUT, Content, error_of, unwrap
from thalweg.runtimes.watermark import Watermark
from thalweg.testing.evaluators import arrived

LOSSES = ("none", "saved", "replayed")


class Cluster:
    """The cells of a program; what they tell late goes to `late`, and what they had to do to `heard`."""

    def __init__(
        self,
        program: str,
        options: SolveOptions,
        partitions: int,
        background: tuple[Fact, ...] = (),
        delay: int = 0,
    ) -> None:
        known = read_program(Source("case.lp", program))[0].knowing(background)
        job = answer_set_job(
            known, background, options, options.frame(Clock(), known), Settings(delay=delay), partitions
        )
        # As it comes to another process.
        self.job = pickle.loads(pickle.dumps(job))
        self.late: list[str] = []
        self.heard: list[Answered] = []
        self._cells = [AnswerSetWorker(self.job, 0, bucket) for bucket in self.job.buckets(0)]
        self._taken: list[list[list[bytes]]] = [[] for _ in self._cells]
        self._packer = Packer(self.job, 0, -1)
        self._watermark = Watermark(delay)
        self._combiner = WindowCombiner(self.job, lambda solution, answered: self.heard.append(answered), print)

    def take(self, events: list[Event], ended: bool = True) -> list[Solution]:
        """The answers of the windows that close with some events."""
        self._packer.part += 1
        parcels = list(self._packer.pack(arrived(events, self._packer.words, self._watermark), ended))
        rows: list[dict[str, Any]] = []
        for bucket, cell in enumerate(self._cells):
            payloads = [each.payload for each in parcels if each.bucket == bucket]
            self._taken[bucket].append(payloads)
            for each in cell.process(payloads):
                if each.stage == FAILURE:
                    raise error_of(unwrap(each.payload).header["error"])
                assert each.stage == OUT
                rows += self._rows(unwrap(each.payload))
        return list(self._combiner.solutions(rows))

    def _rows(self, content: Content) -> list[dict[str, Any]]:
        facts = content.lists["facts"].to_pylist()
        if content.kind == LATE:
            self.late += facts
            return []
        columns = content.lists["ticks"].tolist(), content.lists["numbers"].tolist(), facts
        return [{"t": tick, "until": number, "fact": fact} for tick, number, fact in zip(*columns, strict=True)]

    def lose(self, how: str) -> None:
        """All cells are made anew, from what was saved or from all that came."""
        for bucket, lost in enumerate(self._cells if how != "none" else ()):
            self._cells[bucket] = cell = AnswerSetWorker(self.job, 0, bucket)
            if how == "saved":
                cell.load(lost.save())
            else:
                for payloads in self._taken[bucket]:
                    cell.replay(payloads)


Graphs = tuple[int, Sequence[tuple[str, Sequence[Fact]]]]
"""What comes at a tick: graphs, each with its name, and the facts in it."""


def with_graphs(arriving: Iterable[Graphs], words: Dictionary, watermark: Watermark) -> list[Arrived]:
    """Graphs as a packer takes them."""
    found = []
    for tick, graphs in arriving:
        batch = Batch(stream="events")
        for name, facts in graphs:
            for fact in facts:
                batch.add(fact.signature, [words.code(term) for term in fact.terms])
            batch.graphs.append((name, len(facts)))
        found.append((tick, batch, watermark.meet(tick)))
    return found


def in_buckets(
    part: Part,
    settings: Settings,
    batches: Sequence[Sequence[Any]],
    loss: str,
    partitions: int = 2,
    arrived: Callable[[Iterable[Any], Dictionary, Watermark], list[Arrived]] = arrived,
) -> list[str]:
    """What a part answers in buckets that are fed batch by batch, and lost in between."""
    work = part.spread(Context(settings, Clock(), lambda found: None), partitions)
    job = pickle.loads(pickle.dumps(work.job))
    packer, watermark = Packer(job, 0, -1), Watermark(settings.delay, settings.first, settings.last)
    keys = [(stage, bucket) for stage in range(len(job.stages)) for bucket in job.buckets(stage)]
    workers = {key: work.start(job, *key) for key in keys}
    taken: dict[tuple[int, int], list[list[bytes]]] = {key: [] for key in keys}
    found: list[str] = []
    for number, events in enumerate(batches, 1):
        packer.part += 1
        parcels = list(packer.pack(arrived(events, packer.words, watermark), number == len(batches)))
        rows: list[dict[str, Any]] = []
        for key, worker in workers.items():
            taken[key].append([parcel.payload for parcel in parcels if (parcel.stage, parcel.bucket) == key])
            for parcel in worker.process(taken[key][-1]):
                if parcel.stage >= 0:
                    parcels.append(parcel)
                    continue
                content = unwrap(parcel.payload)
                assert parcel.stage == OUT, content.header
                lists = content.lists
                columns = lists["numbers"].tolist(), lists["facts"].to_pylist()
                rows += ({"until": place, "fact": fact} for place, fact in zip(*columns, strict=True))
        found += (str(one) for block in work.combine(rows) for one in block.answers())
        for key, lost in workers.items() if loss != "none" else ():
            workers[key] = worker = work.start(job, *key)
            if loss == "saved":
                worker.load(lost.save())
            else:
                for payloads in taken[key]:
                    worker.replay(payloads)
    return found


def stopped(part: Part, settings: Settings, events: Iterable[Event], breaks: Collection[int]) -> list[str]:
    """What a part answers in one process that is saved after some ticks, and goes on with what was saved elsewhere."""
    came = {event.tick: event for event in events}
    assert settings.first is not None
    assert settings.last is not None
    work = part.start(Context(settings, Clock(), lambda found: None, saves=True))
    said: list[str] = []
    for tick in range(settings.first, settings.last + 1):
        words, batches = work.reasoner.dictionary, []
        if tick in came:
            batch = Batch(stream=came[tick].stream)
            for fact in came[tick].facts:
                batch.add(fact.signature, [words.code(term) for term in fact.terms])
            batches.append(batch)
        said += map(str, work.emitter.step(work.reasoner.advance(tick, batches), tick, tick, ()))
        if tick in breaks:
            saved = work.state.snapshot()
            work = part.start(Context(settings, Clock(), lambda found: None, saves=True))
            work.state.resume(saved)
    return [*said, *map(str, work.emitter.finish())]
