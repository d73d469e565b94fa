"""Outputs that a run which is resumed goes on writing: files are cut to what the run knows to have written.

What cannot be cut (a terminal, a pipe, a broker) may get again what was written after the last checkpoint.
"""

import os
import stat
import sys
from pathlib import Path

from thalweg.answers.table import ParquetParts
from thalweg.connectors.open import open_output
from thalweg.connectors.transport import Sink
from thalweg.diagnostics import Diagnostic, RejectedError


def continued(name: str | None, length: int) -> Sink:
    """Opens an output; a file of an earlier part of the run is cut to its valid length and written on."""
    path = None if name is None or "://" in name else Path(name)
    if length and path is not None and (path.is_file() or not path.exists()):
        if not path.exists() or path.stat().st_size < length:
            message = f"`{name}` does not contain what this run has written to it"
            way_out = "restore the file, or start again with another `--checkpoint`"
            raise RejectedError([Diagnostic("E408", message, help=way_out)])
        file = path.open("r+b")
        file.truncate(length)
        file.seek(length)
        return file
    return open_output(name)


def need_no_output(name: str | None) -> None:
    """Refuses a file, or a folder of Parquet files, that a run which has no state yet would empty."""
    path = None if name is None or "://" in name else Path(name)
    if path is None or not (next(path.glob("part-*.parquet"), None) if path.is_dir() else _is_filled(path)):
        return
    message = f"`{name}` exists, and the checkpoint knows nothing of it: it is not overwritten"
    way_out = "remove it, or name another output; to go on with an earlier run, name its checkpoint folder"
    raise RejectedError([Diagnostic("E408", message, help=way_out)])


def _is_filled(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def settled(sink: Sink | ParquetParts | None) -> int:
    """Makes sure that what was written stays; the length of the file, or 0 for what is not a file.

    Of a folder of Parquet files, the number of them.
    """
    if sink is None:
        return 0
    if isinstance(sink, ParquetParts):
        return sink.settle()
    sink.flush()
    if sink is sys.stdout.buffer or not hasattr(sink, "fileno") or not hasattr(sink, "tell"):
        return 0
    if not stat.S_ISREG(os.fstat(sink.fileno()).st_mode):
        return 0
    os.fsync(sink.fileno())
    length: int = sink.tell()
    return length
