"""One more batch where a run is resumed that reads to the end of its streams: a source of Spark that has no rows.

Such a run is over after a batch without data, which Spark runs behind the last one with data, and only in the query
that has read these. Where a run is killed between the two, and nothing new has come, Spark would find nothing to do.
The offset of this source is another one at each start, so there is a batch, and that closes the time.

Spark starts a process that imports this module alone, so it imports little.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from thalweg.runtimes.spark.available_now import ends_with_others
from thalweg.runtimes.spark.processor import PARCELS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_BATCH: Final = "batch"


def start_rows(session: "SparkSession", batch: int) -> "DataFrame":
    """A stream of parcels without a row for a start of a run, the next batch of which is to be delivered."""
    session.dataSource.register(StartSource)
    return session.readStream.format(StartSource.name()).option(_BATCH, batch).load()


class StartSource(DataSource):
    """A source of no rows; its option `batch` is its offset."""

    @classmethod
    def name(cls) -> str:
        return "thalweg_start"

    def schema(self) -> StructType:
        return PARCELS

    def streamReader(self, schema: StructType) -> "StartReader":  # noqa: N802
        return StartReader(int(self.options[_BATCH]))


class StartReader(DataSourceStreamReader, *ends_with_others()):  # type: ignore[misc]
    """Gives Spark an offset that moves at most once."""

    def __init__(self, batch: int) -> None:
        self._batch = batch

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {_BATCH: self._batch}

    def latestOffset(self, start: dict[str, int] | None = None, limit: Any = None) -> dict[str, int]:  # noqa: N802
        return {_BATCH: self._batch if start is None else max(start[_BATCH], self._batch)}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """The offset is the same whatever comes."""

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        return iter(())
