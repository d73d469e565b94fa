"""The segments of a spool as a streaming source of Spark: rows of parcels, in the order of the segments."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import StructType

from thalweg.runtimes.spark.dataframe import parcels_batch
from thalweg.runtimes.spark.processor import PARCELS
from thalweg.runtimes.spark.spool import Spool

# A batch takes this many segments at most, so that its answers are not long in coming.
MOST_SEGMENTS: Final = 16
MOST_READERS: Final = 4


class SpoolSource(DataSource):
    """`spark.readStream.format("thalweg").option("spool", folder)`."""

    @classmethod
    def name(cls) -> str:
        return "thalweg"

    def schema(self) -> StructType:
        return PARCELS

    def streamReader(self, schema: StructType) -> "SpoolReader":  # noqa: N802
        return SpoolReader(Path(self.options["spool"]))


class SpoolReader(DataSourceStreamReader):
    """Offsets are the numbers of segments."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"segment": 0}

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        segments = Spool(self._folder).segments()
        there = segments[-1].number + 1 if segments else 0
        return {"segment": max(start["segment"], min(there, start["segment"] + MOST_SEGMENTS))}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        numbers = range(start["segment"], end["segment"])
        # Small segments are read together: a task costs more than they do.
        share = -(-len(numbers) // MOST_READERS) or 1
        return [InputPartition(numbers[place : place + share]) for place in range(0, len(numbers), share)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        for number in partition.value:
            yield parcels_batch(Spool(self._folder).read(number))

    def commit(self, end: dict[str, int]) -> None:
        Spool(self._folder).forget(end["segment"])
