"""What Spark must be set to for a query that reasons, in a session of our own and in anyone's.

A session of our own is opened with these settings, among others. Of an open session `reason` changes only what a live
session lets be changed, what its owner has not set, and nothing that other queries would notice in their results.
"""

from typing import TYPE_CHECKING, Final

from thalweg.runtimes.spark.declared_tables import set_in_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAMING: Final = "spark.sql.streaming"
EXECUTION: Final = "org.apache.spark.sql.execution.streaming"
_ARROW: Final = "spark.sql.execution.arrow"
_STORE: Final = f"{STREAMING}.stateStore.providerClass"

NO_DATA: Final = f"{STREAMING}.noDataMicroBatches.enabled"

QUERY_SETTINGS: Final = {
    # Only this store keeps what a query with many kinds of state needs.
    _STORE: f"{EXECUTION}.state.RocksDBStateStoreProvider",
    f"{STREAMING}.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    f"{_ARROW}.maxRecordsPerBatch": "100000",
    # A row has 64 megabytes at most, and a message must hold some of them.
    f"{_ARROW}.maxBytesPerBatch": str(256 << 20),
    # State records are packed batches, megabytes each, and a message holds two gigabytes at most.
    f"{_ARROW}.transformWithStateInPySpark.maxStateRecordsPerBatch": "32",
    f"{STREAMING}.minBatchesToRetain": "10",
    # Listing a folder a hundred times a second, as Spark would, keeps a third of a core busy.
    f"{STREAMING}.pollingDelay": "50ms",
}


def prepare(session: "SparkSession", *, closes: bool = False, is_pipeline: bool = False) -> None:
    """Sets what a query of an open session needs; what was set before stays, but for the kind of the state store.

    A query that `closes` its ticks when all has been read notices it in the batch without data that follows. The
    settings of a declarative pipeline are in its own file: `RejectedError` where it has another state store.
    """
    if is_pipeline:
        if session.conf.get(_STORE) != QUERY_SETTINGS[_STORE]:
            set_in_session(session, _STORE, QUERY_SETTINGS[_STORE])
        return
    if closes:
        session.conf.set(NO_DATA, "true")
    present = session.conf.getAll
    for key, value in QUERY_SETTINGS.items():
        if key not in present or key == _STORE:
            session.conf.set(key, value)
