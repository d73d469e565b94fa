"""The answers of a batch in the order of time, some at a time: the driver's memory does not follow their number.

Rows are kept by Spark, and those of a range of ticks come to the driver together. Ranges begin at ticks that have
answers, so that what is written does not depend on how it was cut.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from thalweg.model.time import FOREVER
from thalweg.runtimes.spark.bucket_answers import INTERVAL

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CHUNK: Final = 200_000
"""Rows that come to the driver together; those of one tick always do."""
_EXACT: Final = 100_000

Chunk = tuple[int, int, Any]
"""The first tick, the last one, and a table of Arrow with the answers known at them."""


def chunks_of(answers: "DataFrame", first: int, last: int) -> Iterator[Chunk]:
    """Answers that Spark keeps, for the ticks from `first` to `last`, in ranges of ticks."""
    from pyspark.sql import functions as F  # noqa: N812

    until = F.when(F.col("until") < 0, F.lit(FOREVER)).otherwise(F.col("until") + 1)
    known = answers.withColumn("known", F.when(F.col("kind") == INTERVAL, until).otherwise(F.col("t")))
    parts = -(-known.count() // CHUNK)
    shares = [number / parts for number in range(1, parts)]
    cuts = known.select(F.percentile_approx("known", shares, _EXACT)).collect()[0][0] if shares else []
    starts = [first, *sorted({cut for cut in cuts if first < cut <= last})]
    for start, end in pairwise([*starts, last + 1]):
        part = known if start == first else known.where(F.col("known") >= start)
        part = part.where(F.col("known") < end) if end <= last else part
        yield start, end - 1, part.drop("known").toArrow()
