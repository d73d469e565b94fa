"""The cells of a cluster in one process: to be fed batch by batch, and lost in between."""

import pickle
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from thalweg.diagnostics import Diagnostic, Source
from thalweg.languages.asp.reader import read_program
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch, Event
from thalweg.model.fact import Fact
from thalweg.model.time import Clock
from thalweg.parts.answer_sets import AnswerSets
from thalweg.parts.answer_sets.solve_options import SolveOptions
from thalweg.parts.answer_sets.windowed import Answered
from thalweg.parts.part import Context, Part
from thalweg.runtimes.embedded import Settings
from thalweg.runtimes.emit import AnswerBlock, Solution
from thalweg.runtimes.spark.pack import Arrived, Packer
from thalweg.runtimes.spark.wire import FAILURE, LATE, OUT, Content, error_of, unwrap
from thalweg.runtimes.watermark import Watermark
from thalweg.testing.evaluators import arrived

LOSSES = ("none", "saved", "replayed")


class Buckets:
    """All buckets of a part; late facts go to `late`, warnings to `found`, and what windows took to `heard`."""

    def __init__(
        self,
        part: Part,
        settings: Settings,
        partitions: int,
        arrived: Callable[[Iterable[Any], Dictionary, Watermark], list[Arrived]] = arrived,
    ) -> None:
        self.late: list[str] = []
        self.found: list[Diagnostic] = []
        self.heard: list[Answered] = []
        listen = lambda solution, answered: self.heard.append(answered)  # noqa: E731
        self._work = part.spread(Context(settings, Clock(), self.found.append, listen=listen), partitions)
        # As it comes to another process.
        self.job = pickle.loads(pickle.dumps(self._work.job))
        keys = [(stage, bucket) for stage in range(len(self.job.stages)) for bucket in self.job.buckets(stage)]
        self._workers = {key: self._work.start(self.job, *key) for key in keys}
        self._taken: dict[tuple[int, int], list[list[bytes]]] = {key: [] for key in keys}
        self._packer = Packer(self.job, 0, -1)
        self._watermark = Watermark(settings.delay, settings.first, settings.last)
        self._arrived = arrived

    def take(self, events: Iterable[Any], ended: bool = True) -> list[AnswerBlock]:
        """What is answered when some events come."""
        self._packer.part += 1
        parcels = list(self._packer.pack(self._arrived(events, self._packer.words, self._watermark), ended))
        rows: list[dict[str, Any]] = []
        for key, worker in self._workers.items():
            self._taken[key].append([parcel.payload for parcel in parcels if (parcel.stage, parcel.bucket) == key])
            for parcel in worker.process(self._taken[key][-1]):
                if parcel.stage >= 0:
                    assert parcel.stage > key[0]
                    parcels.append(parcel)
                else:
                    rows += self._rows(parcel.stage, unwrap(parcel.payload))
        return list(self._work.combine(rows))

    def _rows(self, stage: int, content: Content) -> list[dict[str, Any]]:
        if stage == FAILURE:
            raise error_of(content.header["error"])
        assert stage == OUT
        facts = content.lists["facts"].to_pylist()
        if content.kind == LATE:
            self.late += facts
            return []
        columns = content.lists["ticks"].tolist(), content.lists["numbers"].tolist(), facts
        return [{"t": tick, "until": number, "fact": fact} for tick, number, fact in zip(*columns, strict=True)]

    def lose(self, how: str) -> None:
        """All buckets are made anew, from what was saved or from all that came."""
        for key, lost in self._workers.items() if how != "none" else ():
            self._workers[key] = worker = self._work.start(self.job, *key)
            if how == "saved":
                worker.load(lost.save())
            else:
                for payloads in self._taken[key]:
                    worker.replay(payloads)


class Cluster(Buckets):
    """The buckets of an answer set program."""

    def __init__(
        self,
        program: str,
        options: SolveOptions,
        partitions: int,
        background: tuple[Fact, ...] = (),
        delay: int = 0,
    ) -> None:
        known = read_program(Source("case.lp", program))[0].knowing(background)
        super().__init__(AnswerSets(known, background, options), Settings(delay=delay, emit="changes"), partitions)

    def take(self, events: Iterable[Any], ended: bool = True) -> list[Solution]:
        """The answers of the windows that close with some events."""
        found = super().take(events, ended)
        assert all(isinstance(one, Solution) for one in found)
        return found


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
    buckets = Buckets(part, settings, partitions, arrived)
    found: list[str] = []
    for number, events in enumerate(batches, 1):
        blocks = buckets.take(events, number == len(batches))
        found += (str(one) for block in blocks for one in block.answers())
        buckets.lose(loss)
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
