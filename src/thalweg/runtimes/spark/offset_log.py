"""Spark's own log of the batches of a run: which have begun, how far they read, and which are complete.

spark/offsets/7    v1
                   {"batchWatermarkMs":0, "conf":{"spark.sql.shuffle.partitions":"2", …}}
                   {"0": "2:512", "arrivals": "41"}       a line for each source: first that of the run's streams
spark/commits/7
"""

import json
from collections.abc import Iterator
from typing import Final

from thalweg.runtimes.spark.partition_count import LastBatch
from thalweg.runtimes.stored_path import CheckpointPath

CHECKPOINT: Final = "spark"
"""The folder of Spark's own checkpoint in that of a run."""
# Lines before the offsets: the version, and the settings of the batch.
_HEADER: Final = 2


def last_batch(folder: CheckpointPath) -> LastBatch | None:
    """The last batch of a run; None where none has begun."""
    commits = _files(folder / CHECKPOINT / "commits")
    return LastBatch.of(_begun(folder), [int(file.name) for file in commits])


def last_number(folder: CheckpointPath) -> int:
    """The number of the last batch of a run; -1 where none has begun."""
    return max(_begun(folder), default=-1)


def last_offset(folder: CheckpointPath) -> dict[str, str] | None:
    """How far the last batch of a run reads its first source; None where none has begun.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     log = Path(folder, CHECKPOINT, "offsets")
    ...     log.mkdir(parents=True)
    ...     for batch in (9, 10):
    ...         _ = (log / str(batch)).write_text(f'v1\\n{{}}\\n{{"0": "0:{batch}"}}')
    ...     last_offset(Path(folder))
    {'0': '0:10'}
    """
    begun = _begun(folder)
    if not begun:
        return None
    offset: dict[str, str] = json.loads(begun[max(begun)].splitlines()[_HEADER])
    return offset


def _begun(folder: CheckpointPath) -> dict[int, str]:
    offsets = _files(folder / CHECKPOINT / "offsets")
    return {int(file.name): file.read_text(encoding="utf-8") for file in offsets}


def _files(folder: CheckpointPath) -> "Iterator[CheckpointPath]":
    files: Iterator[CheckpointPath] = folder.iterdir() if folder.exists() else iter(())
    return (file for file in files if file.name.isdigit())
