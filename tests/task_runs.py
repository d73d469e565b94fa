"""Runs on Spark whose tasks and buckets are called in this process, batch by batch."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from thalweg import api
from thalweg.answers.answer_formats import AnswerFormat
from thalweg.connectors.mapping.read_mapping import read_mappings
from thalweg.connectors.mapping.tally import Tally
from thalweg.connectors.transport import Transport
from thalweg.dataflow.context import Context, Settings
from thalweg.diagnostics import Diagnostic
from thalweg.ir.nodes import Program
from thalweg.kinds.part import Part
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.plain_data import as_data, of_data
from thalweg.model.time import Calendar, Clock, TimeFormat
from thalweg.runtimes.checkpoint_folder import MANIFEST, replace_file
from thalweg.runtimes.inputs import open_all
from thalweg.runtimes.intake import Items
from thalweg.runtimes.spark.arrival_log import ArrivalLog
from thalweg.runtimes.spark.batch_planner import BatchPlanner, Known, Work
from thalweg.runtimes.spark.bucket_answers import opened
from thalweg.runtimes.spark.delivery import Delivery
from thalweg.runtimes.spark.feed import FeedOptions, SparkFeed, groups_of, open_feed
from thalweg.runtimes.spark.job import spread
from thalweg.runtimes.spark.recordings import BatchSizes, Position, is_recorded, offset_of
from thalweg.runtimes.spark.stream_batches import done
from thalweg.runtimes.spark.worker import Worker
from thalweg.runtimes.stored_path import CheckpointPath
from thalweg.runtimes.wall_clock import PassingTime

SCHEMA = pa.schema(
    [("kind", pa.string()), ("t", pa.int64()), ("until", pa.int64()), ("stream", pa.string()), ("fact", pa.string())]
)
SMALL = BatchSizes(1, 1, 1, 1)


class TaskRun:
    """A run over streams, which may be transports; it goes on where another one in the same folder has ended.

    What it receives is in the folder `kept`, where that is another one.
    """

    def __init__(
        self,
        folder: Path,
        program: str | Path | Program | Part,
        streams: Sequence[Path | Transport],
        partitions: int = 2,
        *,
        map: Sequence[str] = (),
        clock: Clock | None = None,
        passing: PassingTime | None = None,
        items: Callable[[Dictionary], Items] | None = None,
        observe: Callable[[int, Batch, Dictionary], object] | None = None,
        progress: bool = False,
        kept: CheckpointPath | None = None,
        sizes: BatchSizes = SMALL,
        **options: Any,
    ) -> None:
        self.reported: list[Diagnostic] = []
        clock = clock or Clock()
        settings = Settings(calendar=Calendar(clock), **options)
        tally = Tally(read_mappings(map)) if map else None
        part = api.load_part([program], []) if isinstance(program, str | Path | Program) else program
        transports = [each if not isinstance(each, Path | str) else open_all([each], tally)[0] for each in streams]
        context = Context(settings, clock, self.reported.append, progress=progress)
        self.work = spread(part, context, partitions)
        self.job = replace(self.work.job, groups=groups_of(transports, items is not None))
        self.feed: SparkFeed = open_feed(
            self.job,
            transports,
            FeedOptions(
                clock,
                passing or PassingTime(clock),
                self.reported.append,
                lambda words: self.work.watch.look(words) or (lambda batch: None),
                observe,
                self.work.watch.scout(),
                self.work.watch.hear,
                tally,
                items,
            ),
            kept or folder,
        )
        for transport in transports:
            if is_recorded(transport):
                transport.close()
        times = TimeFormat(settings.calendar)
        self.out, self.late = folder / "out.jsonl", folder / "late.jsonl"
        self.delivery = Delivery(
            folder / "ledger",
            str(self.out),
            str(self.late),
            settings.emit,
            AnswerFormat(times=times, columns=part.answer_columns(settings.emit)),
            self.reported.append,
            present=self.work.watch.presenter() or (lambda answer: answer),
            hear=self.feed.hear,
        )
        self.workers = {
            (fragment.number, bucket): Worker(self.job, fragment.number, bucket)
            for fragment in self.job.fragments
            for bucket in self.job.buckets(fragment.number)
        }
        self.streams = as_data((self.feed.sources, self.feed.reading))
        self.planner = BatchPlanner(*of_data(self.streams), sizes, tasks=3)
        self.offset = self.planner.first()
        self.batches = 0
        replace_file((kept or folder) / MANIFEST, b"")

    @property
    def log(self) -> ArrivalLog:
        return self.feed.sources.log

    @property
    def is_over(self) -> bool:
        return self.delivery.done.over

    def read_recorded(self, ends: Sequence[Sequence[Position]], block: int) -> None:
        """Reads recordings up to each of some positions in a batch of its own, in blocks of about as many bytes."""
        for end in ends:
            self.planner._offsets._block = block
            self.batch(offset_of(end))
            if self.is_over:
                break
        self.delivery.close()

    def read_arrivals(self, ends: Sequence[int]) -> None:
        """Reads what was received up to each of some segments in a batch of its own."""
        for end in ends:
            if not self.is_over:
                self.batch(self.behind(end))

    def behind(self, end: int) -> dict[str, str]:
        """The offset before a segment, with what a batch up to it must know."""
        return self.planner._offset(self.offset, end, Known.load(self.feed.sources.folder))

    def plan(self) -> bool:
        """Does the next batch, if there is something to do."""
        end = self.planner.next(self.offset)
        if end == self.offset or self.is_over:
            return False
        self.batch(end)
        return True

    def batch(self, end: dict[str, str]) -> None:
        """The batch from where the last one has ended."""
        # As in Spark, a batch is committed when the next one is planned.
        self.planner.commit(self.offset)
        works, observed = self.planner.works(self.offset, end)
        self._deliver([parcel for work in works for parcel in self.parcels(work, observed)])
        self.offset = end

    def parcels(self, works: Sequence[Work], observed: int = 0) -> list[Any]:
        """What a task sends."""
        task = as_data((works, observed))
        return [parcel for parcels in done(self.job, self.streams, task) for parcel in parcels]

    def _deliver(self, parcels: list[Any]) -> None:
        tables = [table for parcel in parcels if parcel.fragment < 0 for table in self._opened(parcel)]
        for key, worker in self.workers.items():
            # Tasks end in any order.
            mine = [parcel.payload for parcel in reversed(parcels) if (parcel.fragment, parcel.bucket) == key]
            if not mine:
                continue
            for parcel in worker.process(mine):
                if parcel.fragment >= 0:
                    parcels.append(parcel)
                else:
                    tables += self._opened(parcel)
        self.delivery.deliver(self.batches, pa.Table.from_batches(tables, schema=SCHEMA))
        self.batches += 1

    def _opened(self, parcel: Any) -> list[Any]:
        return list(opened(parcel.payload, self.job.settings.emit))
