"""The log of the service: all that streams bring in one order, on disk before it is acknowledged.

    append     an entry waits for the committer, a thread that writes whatever waits and syncs it once (group commit)
    read       durable records behind a number, from memory where they are recent
    retain     whole files leave by age and size, as far as no program needs them

A record has a number (`seq`, from 1 on, without gaps) and the instant of its arrival in milliseconds, which never
decreases, whatever the machine's clock does. Programs know no other clock: so a replay answers alike.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from threading import Condition, Lock, Thread
from typing import Final

from thalweg.service.frame_file import frame
from thalweg.service.log_files import LogFiles
from thalweg.service.log_record import Kind, LogEntry, LogRecord, place, record_of
from thalweg.service.log_waits import LogWaits
from thalweg.service.recent import Recent
from thalweg.service.retention import DAY, DEFAULT_RETENTION, Retention

__all__ = [
    "DAY",
    "DEFAULT_RETENTION",
    "DiskFullError",
    "Kind",
    "Log",
    "LogBusyError",
    "LogEntry",
    "LogRecord",
    "Retention",
    "wall_ms",
]

WAITING: Final = 64 << 20
"""As many bytes may wait to be synced."""

_RECENT: Final = 2 << 20
"""As many bytes of records are kept in memory."""
_RECORD: Final = 600
"""About as many bytes does a record need in memory besides its body."""

_TIDY: Final = 60.0
"""Seconds until the committer looks for files to remove, where nothing comes."""


class LogBusyError(Exception):
    """So much waits to be synced that nothing more is taken just now; trying again later helps."""


class DiskFullError(Exception):
    """An entry could not be written, and was not taken; what was acknowledged is whole."""


def wall_ms() -> int:
    """Milliseconds since 1970 by the machine's clock."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class _Waiting:
    """An entry that waits for the committer; its future is done when it is durable."""

    entry: LogEntry
    head: bytes
    arrived: int
    done: Future[LogRecord] = field(default_factory=Future)

    @property
    def size(self) -> int:
        return len(self.entry.body) + len(self.head) + _RECORD


class Log:
    """The log in a folder, which one process uses at a time; every method may be called from any thread.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     log = Log(Path(folder), now=lambda: 1_794_729_600_250)
    ...     record = log.append(LogEntry("facts", "north", "text/plain", b"p(1) @ 2.", {"facts": 1})).result()
    ...     log.close()
    >>> record.answer(), record.arrived
    ({'seq': 1, 'facts': 1}, 1794729600250)
    """

    def __init__(
        self,
        folder: Path,
        retention: Retention = DEFAULT_RETENTION,
        now: Callable[[], int] = wall_ms,
        most_waiting: int = WAITING,
    ) -> None:
        """Opens the log; what a crash has left incomplete behind the last whole record is cut off.

        `RejectedError` where a file is damaged (E408), or of another version (E421).
        """
        self._retention = retention
        self._now = now
        self._most_waiting = most_waiting
        self._files = LogFiles(folder)
        self.cut_off: int = self._files.cut_off
        """How many bytes were cut off when the log was opened."""
        self.last: int = self._files.newest.last
        """The number of the newest record that is durable; 0 where none is."""
        self._arrived = self._stamp = self._files.newest.arrived
        self._recent: Recent[LogRecord] = Recent(_RECENT)
        self._kept: dict[str, int] = {}
        self._lock = Lock()
        self._work = Condition(self._lock)
        self._waits = LogWaits(self.last)
        self._tidying = Lock()
        self._waiting: list[_Waiting] = []
        self._waiting_bytes = 0
        self._keyed: dict[tuple[str, str], Future[LogRecord]] = {}
        self._is_closed = False
        self._committer = Thread(target=self._commit_until_closed, name="log", daemon=True)
        self._committer.start()

    @property
    def first(self) -> int:
        """The number of the oldest record that is kept; `last + 1` where none is."""
        return self._files.first

    @property
    def bytes(self) -> int:
        """The size of all files with records."""
        return self._files.bytes

    @property
    def arrived(self) -> int:
        """The arrival of the newest record; 0 where there never was one."""
        return self._arrived

    def now(self) -> int:
        """The instant at which what is appended now arrives, in milliseconds since 1970."""
        return max(self._stamp, self._now())

    def append(self, entry: LogEntry) -> Future[LogRecord]:
        """Takes an entry; the record is the result once it is durable, `DiskFullError` where it cannot be written.

        Raises `LogBusyError` where too many bytes wait. Facts with a `key` that their stream has had are not taken
        again: the result is the first record.
        """
        head = entry.head()
        key = None if entry.key is None else (entry.stream, entry.key)
        with self._lock:
            if key is not None and (earlier := self._earlier(*key)) is not None:
                return earlier
            self._stamp = self.now()
            waiting = _Waiting(entry, head, self._stamp)
            self._need_room(waiting.size)
            # A future that runs cannot be cancelled: what is to be written is written.
            waiting.done.set_running_or_notify_cancel()
            self._waiting.append(waiting)
            self._waiting_bytes += waiting.size
            if key is not None:
                self._keyed[key] = waiting.done
            self._work.notify()
        return waiting.done

    def _need_room(self, size: int) -> None:
        if self._is_closed:
            raise LogBusyError("the log is being closed")
        if self._waiting_bytes and self._waiting_bytes + size > self._most_waiting:
            raise LogBusyError(f"{self._waiting_bytes:,} bytes wait to be written")

    def _earlier(self, stream: str, key: str) -> Future[LogRecord] | None:
        """The record of facts that came with a key of their stream, or that are about to be written."""
        pending = self._keyed.get((stream, key))
        if pending is None and (record := self.with_key(stream, key)) is not None:
            pending = Future()
            pending.set_result(record)
        return pending

    def with_key(self, stream: str, key: str) -> LogRecord | None:
        """The durable record of facts that came with a key of their stream, as far as it is kept; None without one."""
        for seq in self._files.candidates(stream, key):
            for record in self.read(seq - 1, most=1):
                if (record.seq, record.stream, record.key) == (seq, stream, key):
                    return record
        return None

    def _commit_until_closed(self) -> None:
        while (batch := self._next_batch()) is not None:
            self._begin_file_if_due()
            if batch:
                self._commit(batch)
            self.retain()

    def _next_batch(self) -> Sequence[_Waiting] | None:
        """Whatever waits; nothing after a time in which nothing came, None where nothing more will."""
        with self._lock:
            if not self._waiting and not self._is_closed:
                self._work.wait(_TIDY)
            batch, self._waiting = self._waiting, []
            return None if self._is_closed and not batch else batch

    def _commit(self, batch: Sequence[_Waiting]) -> None:
        """Writes a batch and syncs it; says to those who wait how that went."""
        try:
            records = self._write(batch)
        except Exception as error:  # Those who wait must hear of it, and the next batch may be written.
            is_disk = isinstance(error, OSError)
            self._finish(batch)
            for waiting in batch:
                waiting.done.set_exception(DiskFullError(f"cannot write to the log: {error}") if is_disk else error)
        else:
            self._finish(batch, records)
            for waiting, record in zip(batch, records, strict=True):
                waiting.done.set_result(record)

    def _write(self, batch: Sequence[_Waiting]) -> Sequence[LogRecord]:
        records = [
            record_of(waiting.entry, waiting.head, seq, waiting.arrived)
            for seq, waiting in enumerate(batch, self.last + 1)
        ]
        frames = [
            frame(place(record.seq, record.arrived, waiting.head), waiting.head, record.body)
            for waiting, record in zip(batch, records, strict=True)
        ]
        self._files.newest.append(records, frames)
        return records

    def _finish(self, batch: Sequence[_Waiting], records: Sequence[LogRecord] = ()) -> None:
        """The batch waits no longer; records are there to be read."""
        with self._lock:
            self._waiting_bytes -= sum(waiting.size for waiting in batch)
            for record in records:
                self._recent.add(record.seq, record, len(record.body) + _RECORD)
                self.last, self._arrived = record.seq, record.arrived
            for entry in (waiting.entry for waiting in batch):
                if entry.key is not None:
                    self._keyed.pop((entry.stream, entry.key), None)
        self._waits.reach(self.last)

    def read(self, after: int, most: int = 1 << 20) -> list[LogRecord]:
        """Durable records behind a number, at least one if there is one, of about so many bytes at most.

        Where those next to `after` are no longer kept, it begins with the first that is.
        """
        last = self.last
        while (seq := max(after + 1, self.first)) <= last:
            if records := self._recent.run(seq, last, most):
                return records
            try:
                return self._files.read(seq, last, most)
            except FileNotFoundError:
                after = self.first - 1  # It has just been removed.
        return []

    def wait(self, after: int, seconds: float | None, awaited: Callable[[], bool] = lambda: False) -> bool:
        """Waits until there is a record behind a number, and returns whether there is.

        It ends early after some seconds, when `awaited` is true at a `wake`, and when the log is closed; none is missed
        that comes meanwhile.
        """
        return self._waits.wait(after, seconds, awaited)

    def wake(self) -> None:
        """Has all waits look at what they await; to be called after that has changed."""
        self._waits.wake()

    def keep(self, name: str, after: int | None) -> None:
        """Retention keeps what is behind the least of these numbers; with None a name needs nothing any more."""
        with self._lock:
            if after is None:
                self._kept.pop(name, None)
            else:
                self._kept[name] = after

    def retain(self) -> None:
        """Removes files that are too old, or beyond the size, as far as no name keeps them.

        The committer does so itself, after each batch and every minute.
        """
        with self._tidying:
            with self._lock:
                needed = min(self._kept.values(), default=self.last) + 1
                before = int(self._now() - self._retention.seconds * 1000)
                files = self._files.droppable(before, needed, self._retention.size)
                self._files.forget(len(files))
                self._recent.drop_before(self.first)
            for segment in files:
                segment.remove()

    def _begin_file_if_due(self) -> None:
        newest = self._files.newest
        if newest.begun is None:
            return
        is_old = self._now() - newest.begun >= self._retention.file_ms
        if is_old or newest.file.size >= self._retention.file_size:
            with self._tidying:
                try:
                    self._files.begin_file()
                except OSError:
                    return  # The disk is full: the file goes on, and this is tried again.

    def close(self) -> None:
        """Syncs what waits and closes the files."""
        with self._lock:
            self._is_closed = True
            self._work.notify()
        self._committer.join()
        self._waits.close()
        self._files.close()
