"""Executors prove that they see the checkpoint, before a query keeps its state there.

A folder of the driver's own disk would be filled by each executor on its own disk: nothing fails until the query is
resumed, and then nothing is found. So each of some tasks writes a file, the driver must see all of them, and the tasks
must be able to read what it sees. The files are removed afterwards; a client of Spark Connect cannot do that.
"""

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.runtimes.spark.failure_cause import cause_of
from thalweg.runtimes.spark.session import java_errors
from thalweg.runtimes.spark.session_settings import is_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LEAST_TASKS: Final = 8
_WAY_OUT: Final = "name a folder that the driver and all executors share: a network mount, `hdfs://…` or `s3a://…`"


def check_visible(session: "SparkSession", location: str, partitions: int) -> None:
    """`RejectedError` where the executors of a cluster do not see a checkpoint that is on a disk."""
    if is_local(session.conf.get("spark.master", "local") or "local") or _is_shared(location):
        return
    tasks, folder = max(partitions, _LEAST_TASKS), f"{location.rstrip('/')}/visible"
    try:
        session.range(0, tasks, 1, tasks).selectExpr("string(id)").write.mode("overwrite").text(folder)
        visible = session.read.schema("value string").text(folder).count()
    except java_errors() as error:
        raise _refused(location, cause_of(str(error))) from None
    finally:
        _remove(session, folder)
    if visible < tasks:
        raise _refused(location, f"of {tasks} files that executors wrote, the driver sees {visible}")


def _remove(session: "SparkSession", folder: str) -> None:
    """Removes a folder as far as the driver may: what stays does no harm, and the next proof overwrites it."""
    java = getattr(session, "_jvm", None)
    if java is None:
        return
    with suppress(*java_errors()):
        path = java.org.apache.hadoop.fs.Path(folder)
        path.getFileSystem(session.sparkContext._jsc.hadoopConfiguration()).delete(path, True)


def _is_shared(location: str) -> bool:
    """Whether a location names a file system that is not a disk.

    >>> [_is_shared(location) for location in ("state", "/data/state", "file:/data/state", "s3a://data/state")]
    [False, False, False, True]
    """
    scheme = re.match(r"([a-z][a-z0-9+.-]+):", location)
    return scheme is not None and scheme[1] != "file"


def _refused(location: str, why: str) -> RejectedError:
    message = f"cannot use `{location}` for checkpoints: the driver and the executors do not see the same files ({why})"
    return RejectedError([Diagnostic("E401", message, help=_WAY_OUT)])
