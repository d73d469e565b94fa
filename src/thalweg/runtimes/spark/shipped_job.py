"""The job of a query on its way to the processes that work on it: a file that Spark brings to every machine.

Functions that Spark sends with each task carry the name of the file only, however large the background of the program
is. A process opens it when it first needs it, and keeps it. Processes of Spark that only plan get no files, and need no
job; they read this module, too, so it imports little. Spark Connect brings files to the tasks of tables, and not to
those of streams: there the functions carry the data.
"""

import atexit
import hashlib
import shutil
from functools import cache, lru_cache
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Final
from weakref import ref

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from thalweg.runtimes.spark.handover import BucketHandover
    from thalweg.runtimes.spark.job import Job

_OPEN: Final = 8
"""Jobs that a process keeps open: a session may run several queries."""


class ShippedJob:
    """A job by the name of its file, or by what would be in it; where it was sent from, the job is at hand."""

    def __init__(self, content: str | bytes, job: "Job | None" = None) -> None:
        self._content = content
        self._job = job
        self._open: ref[Job] | None = None

    def __reduce__(self) -> "tuple[type[ShippedJob], tuple[str | bytes]]":
        return ShippedJob, (self._content,)

    @property
    def job(self) -> "Job":
        """The job, in any process that works for the query."""
        job = self._job if self._open is None else self._open()
        if job is None:
            # To find it among those that are open, all of its data are compared.
            job = _opened(self._content)
            self._open = ref(job)
        return job

    @property
    def handover(self) -> "BucketHandover | None":
        """What an earlier job has left to this one, where a changed program takes over; files are needed for that."""
        from pyspark import SparkFiles

        if not isinstance(self._content, str):
            return None
        name = _handover_file(self.job)
        # The process that has sent it need not be a worker of Spark.
        file = Path(SparkFiles.get(name)) if self._job is None else _folder() / name
        return _handed_over(file) if file.exists() else None


def ship(session: "SparkSession", job: "Job") -> ShippedJob:
    """Sends a job to all machines that a session works on, in any kind of session."""
    from pyspark.sql.utils import is_remote

    content = sealed(job)
    if is_remote() and not job.bounded:
        return ShippedJob(content, job)
    file = _folder() / f"thalweg-{hashlib.blake2b(content, digest_size=16).hexdigest()}.job"
    file.write_bytes(content)
    session.addArtifacts(str(file), file=True)
    return ShippedJob(file.name, job)


def ship_handover(session: "SparkSession", job: "Job", handover: "BucketHandover") -> None:
    """Sends what an earlier job has left to all machines; `RejectedError` where another one was sent before."""
    from thalweg.diagnostics import Diagnostic, RejectedError
    from thalweg.model.sealed import seal
    from thalweg.runtimes.spark.checkpoint_format import FORMAT

    file, content = _folder() / _handover_file(job), seal(handover.save(), FORMAT)
    if not file.exists():
        file.write_bytes(content)
        session.addArtifacts(str(file), file=True)
    elif file.read_bytes() != content:
        message = "these answers have taken over from another checkpoint, or from another state of it"
        raise RejectedError([Diagnostic("E423", message, help="make them anew with `reason`")])


def permit_of(job: "Job") -> Path:
    """The file of this process that says which claim a job may follow."""
    return _folder() / f"thalweg-{job.name}.permit"


def _handover_file(job: "Job") -> str:
    return f"thalweg-{job.name}.handover"


@lru_cache(maxsize=1)
def _handed_over(file: Path) -> "BucketHandover":
    from thalweg.model.sealed import unseal
    from thalweg.runtimes.spark.checkpoint_format import FORMAT
    from thalweg.runtimes.spark.handover import BucketHandover

    return BucketHandover.load(unseal(file.read_bytes(), FORMAT))


def sealed(job: "Job") -> bytes:
    """A job as data, with the version that wrote it.

    >>> from thalweg.dataflow.plan import Plan
    >>> from thalweg.runtimes.spark.job import Job
    >>> unsealed(sealed(Job(Plan(()), width=4))).width
    4
    """
    from thalweg.model.plain_data import as_data
    from thalweg.model.sealed import seal
    from thalweg.runtimes.spark.checkpoint_format import FORMAT

    return seal(as_data(job), FORMAT)


def unsealed(content: bytes) -> "Job":
    """The job that was sealed; `OtherFormatError` where another version of Thalweg did it."""
    from thalweg.model.plain_data import of_data
    from thalweg.model.sealed import unseal
    from thalweg.runtimes.spark.checkpoint_format import FORMAT

    job: Job = of_data(unseal(content, FORMAT))
    return job


@lru_cache(maxsize=_OPEN)
def _opened(content: str | bytes) -> "Job":
    from pyspark import SparkFiles

    return unsealed(content if isinstance(content, bytes) else Path(SparkFiles.get(content)).read_bytes())


@cache
def _folder() -> Path:
    """Where the files are that this process has sent: Spark may ask for them as long as it runs."""
    folder = Path(mkdtemp(prefix="thalweg-jobs-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


# Syntax trees of clingo must be gone before clingo is.
atexit.register(_opened.cache_clear)
atexit.register(_handed_over.cache_clear)
