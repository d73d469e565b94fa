"""One run at a time uses a checkpoint on another file system, where nothing can be locked.

A run writes a file that says who it is, and writes it anew every few seconds. Another run that finds such a file
watches it: if it changes, its owner is alive, and the other run is refused; if it stays as it is for longer, its owner
was lost, and the other run takes its place. No clocks are compared, so those of machines may differ. A run that could
not write its file for as long, or finds another owner in it, must end. It looks before each save, because a machine
that was asleep does not know for how long.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from secrets import token_hex
from threading import Event, Lock, Thread
from typing import Final

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.runtimes.stored_path import StoredPath

LEASE: Final = "lease.json"
BEAT: Final = 3.0
"""Seconds from one sign of life to the next."""
PATIENCE: Final = 12.0
"""After so many seconds without one a run is taken for lost."""


class Lease:
    """A checkpoint that a run has for as long as it gives signs of life."""

    def __init__(self, file: StoredPath) -> None:
        self._file, self._owner = file, token_hex(8)
        self._beats, self._renewed = 0, 0.0
        self._loss: str | None = None
        """How the checkpoint was lost."""
        self._access = Lock()

    def check(self, is_saving: bool = True) -> None:
        """`RejectedError` where another run has the checkpoint, or may have it: it was not renewed in time.

        With `is_saving`, its file is read first: only that tells whether another run has written to it.
        """
        if is_saving and self._loss is None and self._access.acquire(timeout=BEAT):
            try:
                with suppress(OSError):
                    self._look()
            finally:
                self._access.release()
        loss = self._loss
        if loss is None and self._is_expired:
            loss = (
                f"after {PATIENCE:g} s without access another run may have taken the checkpoint `{self._file.parent}`"
            )
        if loss is not None:
            raise RejectedError([Diagnostic("E408", loss, help="when no run uses it, the same command goes on")])

    @property
    def _is_expired(self) -> bool:
        return _now() - self._renewed > PATIENCE

    @property
    def is_ours(self) -> bool:
        """Whether the file says so."""
        self._look()
        return self._loss is None

    def _look(self) -> None:
        """Reads the file, and notes how the checkpoint was lost, if it was."""
        folder = self._file.parent
        if not self._file.exists():
            self._loss = f"`{self._file}` was removed: another run may have used the checkpoint"
            return
        try:
            owner = json.loads(self._file.read_bytes())["owner"]
        except (ValueError, KeyError, TypeError, RecursionError):
            self._loss = f"`{self._file}` has other content: this run no longer has the checkpoint"
            return
        if owner != self._owner:
            self._loss = f"another run has taken the checkpoint `{folder}`"

    def renew(self) -> None:
        """Gives a sign of life."""
        began = _now()
        self._file.write_bytes(json.dumps({"owner": self._owner, "beats": self._beats}).encode())
        self._beats, self._renewed = self._beats + 1, began

    def keep(self, done: Event) -> None:
        """Gives signs of life until all is done, or the checkpoint is lost; what fails is tried again until then."""
        while self._loss is None and not done.wait(BEAT):
            with suppress(OSError), self._access:
                # After that another run may be looking, and must not see a sign of life.
                if self._is_expired:
                    return
                if self.is_ours:
                    self.renew()

    def end(self) -> None:
        """Leaves the checkpoint to other runs; where that fails, the lease runs out."""
        with suppress(OSError):
            if self._loss is None and self.is_ours:
                self._file.unlink()


def _now() -> float:
    """Seconds that also pass while the machine is asleep."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@contextmanager
def leased(folder: StoredPath) -> Iterator[Lease]:
    """Keeps a checkpoint from two runs at once; `RejectedError` where another one is using it."""
    file, done = folder / LEASE, Event()
    _await(file, done)
    lease = Lease(file)
    lease.renew()
    # Two may have begun at the same moment: the one that wrote last has it.
    done.wait(BEAT / 3)
    if not lease.is_ours:
        raise _in_use(folder)
    beating = Thread(target=lease.keep, args=(done,), name="lease", daemon=True)
    beating.start()
    try:
        yield lease
    finally:
        done.set()
        beating.join()
        lease.end()


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


def _in_use(folder: StoredPath) -> RejectedError:
    return RejectedError([Diagnostic("E408", f"another run is using the checkpoint `{folder}`")])
