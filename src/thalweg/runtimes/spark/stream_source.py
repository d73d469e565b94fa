"""The streams of a run as a source of Spark: batches are planned in the driver, and read and packed by tasks.

Beside these Spark has two processes that only look at the source. So what it is made of travels as bytes, which those
open that need it, and this module imports little.
"""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from thalweg.runtimes.spark.available_now import ends_with_others, says_where_batches_begin
from thalweg.runtimes.spark.shipped_job import ShippedJob

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from thalweg.runtimes.spark.batch_planner import BatchPlanner, StreamSources
    from thalweg.runtimes.spark.recordings import ReadingOptions


def read_streams(
    session: "SparkSession", shipped: ShippedJob, sources: "StreamSources", reading: "ReadingOptions"
) -> "DataFrame":
    """The parcels of all streams as a stream of Spark."""
    from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
    from pyspark.sql.types import StructType

    from thalweg.model.plain_data import as_data
    from thalweg.runtimes.spark import recordings
    from thalweg.runtimes.spark.offset_log import last_offset
    from thalweg.runtimes.spark.partition_count import session_partitions
    from thalweg.runtimes.spark.processor import PARCELS

    name = f"thalweg_{shipped.job.name}"
    tasks = max(session_partitions(session), os.cpu_count() or 1)
    streams = as_data((sources, reading))
    # Batches are planned in a process of Spark's.
    planning = as_data((recordings.SIZES, tasks))
    most = recordings.SIZES.most
    is_one_batch = shipped.job.closes
    begun = None if says_where_batches_begin() else last_offset(sources.folder)

    class Batches(DataSourceStreamReader, *ends_with_others()):  # type: ignore[misc]
        """Plans batches in the driver, and reads them in tasks."""

        _opened: "BatchPlanner | None" = None

        @property
        def _planner(self) -> "BatchPlanner":
            if self._opened is None:
                from thalweg.model.plain_data import of_data
                from thalweg.runtimes.spark.batch_planner import BatchPlanner

                self._opened = BatchPlanner(*of_data(streams), *of_data(planning))
            return self._opened

        def initialOffset(self) -> dict[str, str]:  # noqa: N802
            return self._planner.first()

        def getDefaultReadLimit(self) -> Any:  # noqa: N802
            from pyspark.sql.streaming.datasource import ReadMaxBytes

            return ReadMaxBytes(most)

        def latestOffset(  # noqa: N802
            self, start: dict[str, str] | None = None, limit: Any = None
        ) -> dict[str, str]:
            if type(limit).__name__ == "ReadAllAvailable" or (start is None and is_one_batch):
                return self._planner.everything()
            return self._planner.next(start) if start is not None else self._planner.following(begun)

        def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
            """What there is to read of recordings is known from the beginning."""

        def partitions(self, start: dict[str, str], end: dict[str, str]) -> list[InputPartition]:
            from thalweg.model.plain_data import as_data

            works, observed = self._planner.works(start, end)
            return [InputPartition(as_data((work, observed))) for work in works]

        def read(self, partition: InputPartition) -> Iterator[Any]:
            from thalweg.runtimes.spark.stream_batches import done
            from thalweg.runtimes.spark.wire import parcels_batch

            for parcels in done(shipped.job, streams, partition.value):
                yield parcels_batch(shipped.job.labelled(parcels))

        def commit(self, end: dict[str, str]) -> None:
            self._planner.commit(end)

    class Streams(DataSource):
        """The streams of a run, read by tasks."""

        @classmethod
        def name(cls) -> str:
            return name

        def schema(self) -> StructType:
            return PARCELS

        def streamReader(self, schema: StructType) -> Batches:  # noqa: N802
            return Batches()

    session.dataSource.register(Streams)
    return session.readStream.format(name).load()
