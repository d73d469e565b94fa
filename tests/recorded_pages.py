"""Recordings of the pages of `tests/cases` as tasks of Spark read them, in this process, cut in several ways."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from case_pages import PAGES, cases_of
from recorded_formats import FORMATS, write_recordings
from task_runs import SMALL, TaskRun
from thalweg.ir.nodes import Program
from thalweg.kinds.part import Part
from thalweg.runtimes.spark import recordings
from thalweg.runtimes.spark.batch_planner import Work
from thalweg.runtimes.spark.recordings import BatchSizes

if TYPE_CHECKING:
    from hashlib import _Hash as Hash


@dataclass(frozen=True, slots=True)
class Cut:
    """In how many partitions a run has its buckets, in how many files a stream is, and what a batch takes."""

    partitions: int
    files: int
    sizes: BatchSizes


CUTS = (Cut(1, 1, SMALL), Cut(2, 3, BatchSizes(60, 60, 60, 20)), Cut(4, 2, BatchSizes()))


@contextmanager
def small_files(sizes: BatchSizes) -> Iterator[None]:
    """Files are cut into blocks of these sizes, however small they are."""
    with patch.object(recordings, "SIZES", sizes), patch.object(recordings, "_BEGINNING", 64):
        yield


def answered(
    folder: Path, program: Program | Part, streams: list[Path], cut: Cut, digest: "Hash | None" = None, **options: Any
) -> list[str]:
    """The lines of answers that buckets give over streams that tasks read; a digest gets all that the tasks send."""
    with small_files(cut.sizes):
        run = TaskRun(folder, program, streams, cut.partitions, sizes=cut.sizes, **options)
        if digest is not None:
            hear(run, digest)
        while run.plan():
            pass
        run.delivery.close()
    return run.out.read_text(encoding="utf-8").splitlines()


def hear(run: TaskRun, digest: "Hash") -> None:
    """A digest gets what the tasks of a run send, in order."""
    packed = run.parcels

    def parcels(works: Sequence[Work], observed: int = 0) -> list[Any]:
        sent = packed(works, observed)
        for parcel in sent:
            digest.update(f"{parcel.fragment} {parcel.bucket} ".encode() + parcel.payload)
        return sent

    run.parcels = parcels  # type: ignore[method-assign]


def packed_bytes() -> str:
    """A digest of all that tasks send in the runs over a case of each page, in one of the formats."""
    digest = hashlib.sha256()
    for page, suffix, cut in zip(PAGES, cycle(FORMATS), cycle(CUTS), strict=False):
        case = cases_of(page)[-1]
        with TemporaryDirectory() as folder:
            streams = write_recordings(Path(folder), suffix, case.events, cut.files)
            timing = {"first": case.first, "last": case.last}
            answered(Path(folder), case.program, streams, cut, digest, **timing)
    return digest.hexdigest()
