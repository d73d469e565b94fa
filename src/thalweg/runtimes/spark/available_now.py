"""Sources of Python in queries that read what is there and end: what Spark wants of them depends on its version.

From version 4.2 on a source says that it can take part. Before, none can say so, and one that does not would have the
query read all in one batch, behind which no other closes the time. A setting has Spark take the first offset that such
a source gives for its last.
"""

from importlib.util import find_spec
from typing import Final

from thalweg.runtimes.spark.query_settings import STREAMING

WRAPPED: Final = f"{STREAMING}.triggerAvailableNowWrapper.enabled"
"""The setting for sources that cannot say that they take part."""


def says_where_batches_begin() -> bool:
    """Whether Spark tells a source of Python from which offset the next batch goes on: since version 4.2."""
    return find_spec("pyspark.sql.streaming.datasource") is not None


def ends_with_others() -> tuple[type, ...]:
    """What a source must be so that a query that reads it beside others can end when all is read; none before 4.2."""
    if not says_where_batches_begin():
        return ()
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

    return (SupportsTriggerAvailableNow,)
