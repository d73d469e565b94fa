"""How many buckets a job has, and over how many partitions of Spark they are spread.

    buckets       how facts are split by their keys; as many as when the checkpoint was begun, for as long as it lives
    partitions    how many tasks share the buckets; a run may go on with more or fewer

Where no number of partitions is stated there is one for each core, as far as settings say how many there are:

    spark.sql.shuffle.partitions, spark.default.parallelism      as they say
    local[4], local[*], local-cluster[2,3,1024]                  4, the cores of this machine, 2 × 3
    spark.executor.instances × spark.executor.cores              so many, or what spark.cores.max says
    any other cluster                                            8

Spark keeps the number of partitions in the checkpoint and takes it from there, whatever a session says. Since version
4.2 it can write the state of a checkpoint anew for another number, while no query uses it. That needs a checkpoint
whose last batch is complete.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import quote

from thalweg.diagnostics import Diagnostic, FailedError, RejectedError
from thalweg.runtimes.spark.failure_cause import cause_of
from thalweg.runtimes.spark.session import java_errors
from thalweg.runtimes.spark.session_settings import LOCAL, SHUFFLE_PARTITIONS, is_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A cluster of which no setting says how large it is.
_SOME_CLUSTER: Final = 8
_BUCKETS: Final = 64
# On one machine few partitions share them, and each costs something in every batch.
_BUCKETS_HERE: Final = 8


def usual_buckets(partitions: int, *, is_local: bool) -> int:
    """The number of buckets of what can be resumed, with more partitions or fewer.

    >>> usual_buckets(2, is_local=False), usual_buckets(2, is_local=True), usual_buckets(200, is_local=True)
    (64, 8, 200)
    """
    return max(partitions, _BUCKETS_HERE if is_local else _BUCKETS)


def usual_partitions(settings: Mapping[str, str]) -> int:
    """The number of partitions where none is stated, by the settings of a session.

    >>> usual_partitions({"spark.master": "local[3,4]"}), usual_partitions({"spark.master": "local"})
    (3, 1)
    >>> cluster = {"spark.master": "yarn", "spark.executor.instances": "4", "spark.executor.cores": "3"}
    >>> usual_partitions(cluster), usual_partitions({**cluster, SHUFFLE_PARTITIONS: "20"})
    (12, 20)
    """
    stated = _count(settings, SHUFFLE_PARTITIONS) or _count(settings, "spark.default.parallelism")
    return stated or _cores(settings.get("spark.master", LOCAL), settings)


def _cores(master: str, settings: Mapping[str, str]) -> int:
    """The cores that a session has, as far as its settings say so."""
    if is_local(master):
        threads = master.removeprefix("local").strip("[]").partition(",")[0] or "1"
        return int(threads) if threads.isdigit() else cores_here()
    if pair := re.match(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)", master):
        return int(pair[1]) * int(pair[2])
    executors = _count(settings, "spark.executor.instances")
    of_all = executors and executors * (_count(settings, "spark.executor.cores") or 1)
    return of_all or _count(settings, "spark.cores.max") or _SOME_CLUSTER


def _count(settings: Mapping[str, str], key: str) -> int | None:
    value = settings.get(key) or ""
    return int(value) or None if value.isdigit() else None


def cores_here(limits: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """The cores that this process may use, as Java counts them: a container may be limited to the time of a few."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        share, period = map(int, limits.read_text().split())
    except (OSError, ValueError):
        # There are no such limits here, or they are `max`.
        return cores
    return max(1, min(cores, -(-share // period)))


def session_partitions(session: "SparkSession") -> int:
    """The number of partitions of queries in a session, where none is stated."""
    return usual_partitions(session.conf.getAll)


def is_on_one_machine(session: "SparkSession") -> bool:
    """Whether a session has no other machine."""
    return is_local(session.conf.get("spark.master", "local") or "local")


@contextmanager
def partitioned(session: "SparkSession", partitions: int) -> Iterator[None]:
    """A session whose shuffles have so many partitions for a while: queries keep those that they are started with."""
    before = session.conf.getAll.get(SHUFFLE_PARTITIONS)
    session.conf.set(SHUFFLE_PARTITIONS, str(partitions))
    try:
        yield
    finally:
        if before is None:
            session.conf.unset(SHUFFLE_PARTITIONS)
        else:
            session.conf.set(SHUFFLE_PARTITIONS, before)


@dataclass(frozen=True, slots=True)
class LastBatch:
    """The last batch that a checkpoint has begun: its partitions, and whether it is complete.

    Where it `moves`, it has no data: it is one that writes the state anew for its partitions.
    """

    partitions: int
    is_complete: bool
    moves: bool = False

    @classmethod
    def of(cls, offsets: Mapping[int, str], commits: Iterable[int]) -> "LastBatch | None":
        """The last batch of a log of offsets, by batch, and one of commits; None where no batch has begun.

        >>> settings = '{{"conf":{{"spark.sql.shuffle.partitions":"{}"}}}}'
        >>> LastBatch.of({6: settings.format(2), 7: settings.format(4)}, [6])
        LastBatch(partitions=4, is_complete=False, moves=True)
        """
        counts = [_partitions(batch, offsets[batch]) for batch in sorted(offsets)]
        if not counts:
            return None
        is_complete = max(offsets) in {*commits}
        return cls(counts[-1], is_complete, moves=not is_complete and len({*counts[-2:]}) > 1)


def _partitions(batch: int, offsets: str) -> int:
    """The number of partitions of a batch, by what the log of offsets has of it; `RejectedError` where it is cut."""
    settings = [line for line in offsets.splitlines() if line.startswith("{") and SHUFFLE_PARTITIONS in line]
    try:
        return int(json.loads(settings[0])["conf"][SHUFFLE_PARTITIONS])
    except (IndexError, ValueError, KeyError, TypeError):
        message = f"the file `offsets/{batch}` of Spark's checkpoint is damaged"
        way_out = "restore the folder from a copy; or start again with a new folder and another output"
        raise RejectedError([Diagnostic("E408", message, help=way_out)]) from None


def read_log(session: "SparkSession", location: str, log: Literal["offsets", "commits"]) -> dict[int, str]:
    """The texts of a log of a query's checkpoint, by the numbers of batches; none where no query has begun there."""
    try:
        files = session.read.text("/".join((location.rstrip("/"), log)), wholetext=True)
        rows = files.selectExpr("try_cast(_metadata.file_name as int)", "value").collect()
    except java_errors():
        # There is none yet; where it cannot be read, Spark says why when the query starts.
        return {}
    return {batch: text for batch, text in rows if batch is not None}


def move(session: "SparkSession", location: str, last: LastBatch, partitions: int) -> None:
    """Writes the state of a checkpoint anew for another number of partitions, where it has another.

    `RejectedError` where its last batch is not complete, or Spark cannot do it.
    """
    if last.moves:
        _repartition(session, location, last.partitions, last.partitions)
    if last.partitions == partitions:
        return
    if not (last.is_complete or last.moves):
        raise _incomplete(location, last.partitions, partitions)
    _repartition(session, location, last.partitions, partitions)


def _repartition(session: "SparkSession", location: str, before: int, partitions: int) -> None:
    manager = getattr(session, "_streamingCheckpointManager", None)
    if manager is None:
        raise RejectedError([_unable(location, before, partitions)])
    try:
        with _plainly_named(location) as name:
            manager.repartition(name, partitions)
    except java_errors() as error:
        message = f"the state of checkpoint `{location}` could not be moved to {partitions} partitions"
        way_out = f"go on with {before}; after a crash on the way, {partitions} must be finished first"
        raise FailedError(Diagnostic("E407", f"{message}: {cause_of(str(error))}", help=way_out)) from error


@contextmanager
def _plainly_named(location: str) -> Iterator[str]:
    """A location under a name without blanks and the like: where it has some, Spark finds only a part of its files."""
    path = location.removeprefix("file:")
    if not path.startswith("/") or quote(path) == path:
        yield location
        return
    with TemporaryDirectory(prefix="thalweg-") as folder:
        link = Path(folder) / "checkpoint"
        link.symlink_to(path)
        yield f"file:{link}"


def _unable(location: str, before: int, partitions: int) -> Diagnostic:
    message = (
        f"the checkpoint `{location}` has {before} partitions, and cannot be moved to {partitions} here: "
        "Spark can do that from version 4.2 on, and not through Spark Connect"
    )
    return Diagnostic("E408", message, help=f"go on with {before} partitions, or move it in a session that can")


def _incomplete(location: str, before: int, partitions: int) -> RejectedError:
    message = (
        f"the last batch of checkpoint `{location}` is not complete, so it cannot be moved "
        f"from {before} to {partitions} partitions"
    )
    way_out = f"let it go on with `partitions={before}` and `trigger(availableNow=True)` first"
    return RejectedError([Diagnostic("E408", message, help=way_out)])
