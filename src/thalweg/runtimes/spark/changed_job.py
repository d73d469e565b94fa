"""A checkpoint of Spark that belongs to another program: what is kept of a job there, and what a changed one is given.

    job-<fingerprint>    the job, the units of its program, and which of them each operator is of
    change.json          the first batch of a changed job, and which it took over from

A batch belongs to the program that has answered it. So a batch that was begun and is not complete is finished by the
earlier program; then the states of all its buckets are read, and sent to the workers of the changed one.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.sealed import seal, seal_json, unseal, unseal_json
from thalweg.runtimes.checkpoint_folder import MANIFEST, read_sealed, refused, replace_file
from thalweg.runtimes.spark.checkpoint_format import FORMAT
from thalweg.runtimes.spark.handover import Address, BucketHandover, BucketState, KeptJob
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.offset_log import last_batch, last_number
from thalweg.runtimes.spark.processor import read_chunks
from thalweg.runtimes.spark.query_folder import OWN, QueryFolder
from thalweg.runtimes.spark.stage_stores import StageStores
from thalweg.runtimes.stored_path import CheckpointPath

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

CHANGE: Final = "change.json"
"""The file of a run's folder that says from which batch on another job works."""

Chunks = Mapping[int, tuple[bytes, bool]]
"""The rows of a store of a bucket, by their numbers."""

_SETTINGS: Final = {
    "settings": "its times, `emit`, `memory` or `delay`",
    "width": "`buckets`",
    "groups": "its streams",
    "optional": "its streams",
    "by": "`by`",
    "idle": "`idle`",
    "closes": "`until`",
    "ends": "its streams",
}
_ANEW: Final = "begin with a new checkpoint and another output"


@dataclass(frozen=True, slots=True)
class Owners:
    """Whose the last batch of a run is that has begun, and whose the state is, by the fingerprints of jobs."""

    batch: str
    state: str

    @property
    def is_changing(self) -> bool:
        """Whether a changed program has begun its first batch, and not completed it."""
        return self.batch != self.state


def owners_of(folder: CheckpointPath) -> Owners:
    """Whose a run is that has a manifest."""
    manifest: str = read_sealed(folder / MANIFEST, FORMAT, unseal_json)["fingerprint"]
    if not (folder / CHANGE).exists():
        return Owners(manifest, manifest)
    change, last, number = read_sealed(folder / CHANGE, FORMAT, unseal_json), last_batch(folder), last_number(folder)
    if number < change["batch"]:
        return Owners(change["earlier"], change["earlier"])
    is_first = last is not None and not last.is_complete and number == change["batch"]
    return Owners(change["program"], change["earlier"] if is_first else change["program"])


def note_change(folder: CheckpointPath, earlier: Job, job: Job) -> None:
    """Writes down that the next batch is one of a changed job."""
    owners = owners_of(folder)
    if owners.batch != job.fingerprint:
        about = {"earlier": earlier.fingerprint, "program": job.fingerprint, "batch": last_number(folder) + 1}
        replace_file(folder / CHANGE, seal_json(about, FORMAT))


def forget_change(folder: CheckpointPath, job: Job) -> None:
    """Forgets that another program was to go on from here, which was killed before its first batch had begun."""
    if (folder / CHANGE).exists() and read_sealed(folder / CHANGE, FORMAT, unseal_json)["program"] != job.fingerprint:
        (folder / CHANGE).unlink()


def keep(folder: CheckpointPath, kept: KeptJob) -> None:
    """Keeps a job in the folder of its run, for a changed one."""
    file = folder / job_file(kept.job.fingerprint)
    if not file.exists():
        replace_file(file, seal(kept.save(), FORMAT))


def read_kept(folder: CheckpointPath, fingerprint: str) -> KeptJob:
    """What a folder keeps of a job; `RejectedError` where that is nothing."""
    file = folder / job_file(fingerprint)
    if not file.exists():
        raise kept_nothing(str(folder))
    return KeptJob.load(read_sealed(file, FORMAT, unseal))


def keep_with_query(session: "SparkSession", location: str, kept: KeptJob) -> None:
    """Keeps a job beside Spark's own files of a query; through Spark Connect that cannot be done."""
    if (folder := QueryFolder.of(session, location)) is None:
        return
    file = "/".join((OWN, job_file(kept.job.fingerprint)))
    if not folder.exists(file):
        folder.write(file, seal(kept.save(), FORMAT))


def read_kept_with_query(session: "SparkSession", location: str, fingerprint: str) -> KeptJob:
    """What is kept of a job beside Spark's own files of a query; `RejectedError` where that is nothing."""
    folder = QueryFolder.of(session, location)
    if folder is None:
        message = "through Spark Connect a query goes on with its own program only: its files cannot be read there"
        raise RejectedError([Diagnostic("E423", message, help=_ANEW)])
    file = "/".join((OWN, job_file(fingerprint)))
    if not folder.exists(file):
        raise kept_nothing(location)
    return KeptJob.load(unseal(folder.read(file), FORMAT))


def job_file(fingerprint: str) -> str:
    """The name of the file that has a job."""
    return f"job-{fingerprint[:32]}"


def kept_nothing(location: str) -> RejectedError:
    """The error for a checkpoint that a version of Thalweg made which kept no jobs."""
    message = f"the checkpoint `{location}` does not say what its program was"
    way_out = "resume it for a moment with the program that it was made with, then with the changed one"
    return RejectedError([Diagnostic("E423", message, help=way_out)])


def on_its_way(location: str) -> RejectedError:
    """The error for a checkpoint between two programs."""
    message = f"the checkpoint `{location}` has a batch that is not complete, of another program than the state"
    way_out = "resume it with the program that was started on it last, then with this one"
    return RejectedError([Diagnostic("E423", message, help=way_out)])


def check_alike(earlier: Job, job: Job, location: str) -> None:
    """`RejectedError` where a job differs from an earlier one in more than its program."""
    for name, shown in _SETTINGS.items():
        if getattr(earlier, name) != getattr(job, name):
            raise refused(f"the checkpoint `{location}` belongs to a run with another value of {shown}")


def handover(session: "SparkSession", location: str, earlier: KeptJob, new: KeptJob) -> BucketHandover:
    """What the workers of a changed job need of those of an earlier one, whose last batch is complete.

    Where the changed one needs other stores, it is kept, so that these can be made.
    """
    stores = StageStores.of(session, location)
    kept = stores.kept(earlier.job.fingerprint)
    states = read_states(session, location, earlier.job) if kept is None else kept
    left = BucketHandover.of(earlier, new, states)
    if len(earlier.job.levels) != len(new.job.levels):
        stores.keep(earlier.job.fingerprint, states)
    return left


# States ---------------------------------------------------------------------------------------------------------------


def read_states(session: "SparkSession", location: str, job: Job) -> dict[Address, BucketState]:
    """The states of all buckets of a job, as the last batch that is complete has left them."""
    states: dict[Address, BucketState] = {}
    for number, operator in _operators(session, location).items():
        read = _Store(session, location, operator, number)
        base, journal = read.chunks("base"), read.chunks("journal")
        for bucket, (entries, chunks, program) in read.about().items():
            address = number, job.bucket_of(bucket)
            if program.partition(":")[2] == job.fingerprint:
                whole = b"".join(read_chunks(_Rows(base.get(bucket, {})), chunks))
                payloads = map(_unframed, read_chunks(_Rows(journal.get(bucket, {})), entries))
                states[address] = BucketState(whole, tuple(payloads))
    return states


def _unframed(entry: bytes) -> tuple[bytes, ...]:
    from thalweg.model.arrow import unframe

    return tuple(map(bytes, unframe(entry)))


def _operators(session: "SparkSession", location: str) -> dict[int, int]:
    """The stateful operator that has the state of each fragment."""
    rows = session.read.format("state-metadata").load(location).collect()
    named = ((row.operatorId, json.loads(row.operatorProperties)["stateVariables"]) for row in rows)
    names = ((operator, variable["stateName"]) for operator, variables in named for variable in variables)
    return {int(name.removeprefix("about")): operator for operator, name in names if name.startswith("about")}


class _Store:
    """What Spark's store has of a fragment."""

    def __init__(self, session: "SparkSession", location: str, operator: int, number: int) -> None:
        self._number = number
        self._reader = session.read.format("statestore").option("path", location).option("operatorId", operator)

    def _read(self, name: str) -> "list[Row]":
        return self._reader.option("stateVarName", f"{name}{self._number}").load().collect()

    def about(self) -> dict[int, tuple[int, int, str]]:
        """How many rows the journal and the base of each bucket have, and whose they are."""
        rows = self._read("about")
        return {row.key.bucket: (row.value.entries, row.value.chunks, row.value.program) for row in rows}

    def chunks(self, name: str) -> dict[int, dict[int, tuple[bytes, bool]]]:
        """The rows of the base, or of the journal, of each bucket."""
        stores: dict[int, dict[int, tuple[bytes, bool]]] = {}
        for row in self._read(name):
            chunk = bytes(row.user_map_value.data), row.user_map_value.continues
            stores.setdefault(row.key.bucket, {})[row.user_map_key.number] = chunk
        return stores


class _Rows:
    """Rows that were read, as a store gives them."""

    def __init__(self, rows: Chunks) -> None:
        self._rows = rows

    def getValue(self, key: tuple[int]) -> tuple[bytes, bool]:  # noqa: N802
        return self._rows[key[0]]
