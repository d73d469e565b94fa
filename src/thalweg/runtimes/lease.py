"""One run at a time uses a checkpoint on another file system, where nothing can be locked.

A run writes a file that says who it is, and writes it anew every few seconds. Another run that finds such a file
watches it: if it changes, its owner is alive, and the other run is refused; if it stays as it is for longer, its owner
was lost, and the other run takes its place. No clocks are compared, so those of machines may differ.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from secrets import token_hex
from threading import Event, Thread
from typing import Final

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.runtimes.stored_path import StoredPath

LEASE: Final = "lease.json"
BEAT: Final = 3.0
"""Seconds from one sign of life to the next."""
PATIENCE: Final = 12.0
"""After so many seconds without one a run is taken for lost."""


@contextmanager
def leased(folder: StoredPath) -> Iterator[None]:
    """Keeps a checkpoint from two runs at once; `RejectedError` where another one is using it."""
    file, done = folder / LEASE, Event()
    _await(file, done)
    _write(file, owner := token_hex(8), 0)
    # Two may have begun at the same moment: the one that wrote last has it.
    done.wait(BEAT / 3)
    if _owner(file) != owner:
        raise _in_use(folder)
    beating = Thread(target=_beat, args=(file, owner, done), name="lease", daemon=True)
    beating.start()
    try:
        yield
    finally:
        done.set()
        beating.join()
        if _owner(file) == owner:
            file.unlink()


def _await(file: StoredPath, done: Event) -> None:
    """Waits until a lease that is there has run out."""
    if not file.exists():
        return
    before = file.read_bytes()
    for _ in range(round(PATIENCE / BEAT)):
        done.wait(BEAT)
        if not file.exists():
            return
        if file.read_bytes() != before:
            raise _in_use(file.parent)


def _beat(file: StoredPath, owner: str, done: Event) -> None:
    beats = 0
    while not done.wait(BEAT):
        beats += 1
        _write(file, owner, beats)


def _write(file: StoredPath, owner: str, beats: int) -> None:
    file.write_bytes(json.dumps({"owner": owner, "beats": beats}).encode())


def _owner(file: StoredPath) -> str | None:
    return str(json.loads(file.read_bytes())["owner"]) if file.exists() else None


def _in_use(folder: StoredPath) -> RejectedError:
    return RejectedError([Diagnostic("E408", f"another run is using the checkpoint `{folder}`")])
