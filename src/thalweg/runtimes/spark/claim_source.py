"""The claim of a query as a source of Spark (see `query_claim`): it has an offset, and no rows.

Sources of Python take part in `trigger(availableNow=True)` from Spark 4.2 on. Spark starts processes that import this
module alone, so it imports little.
"""

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from thalweg.diagnostics import RejectedError
from thalweg.runtimes.spark.processor import PARCELS


class ClaimSource(DataSource):
    """A source of no rows; its option `claim` is its offset."""

    @classmethod
    def name(cls) -> str:
        return "thalweg_claim"

    def schema(self) -> StructType:
        return PARCELS

    def streamReader(self, schema: StructType) -> "ClaimReader":  # noqa: N802
        return ClaimReader(self.options["claim"], self.options.get("permit", ""))


class ClaimReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Gives Spark the claim as the only offset, and compares it with the one that the checkpoint has.

    The file `permit` has the claim that this one may follow: that of a program that has changed.
    """

    def __init__(self, text: str, permit: str = "") -> None:
        self._offset: dict[str, Any] = json.loads(text)
        self._permit = permit

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return self._offset

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: N802
        if start == self._offset or self._follows(start):
            return self._offset
        from thalweg.runtimes.spark.query_claim import QueryClaim

        try:
            QueryClaim.read(self._offset).check(start)
        except RejectedError:
            # This process serves one source and ends now: the sentence is enough, without the lines that led to it.
            os.environ["SPARK_HIDE_TRACEBACK"] = "1"
            raise
        return self._offset

    def _follows(self, start: dict[str, Any]) -> bool:
        if not self._permit or not os.path.exists(self._permit):
            return False
        with open(self._permit, encoding="utf-8") as permit:
            return bool(json.load(permit) == start)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """The offset never moves."""

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        return iter(())
