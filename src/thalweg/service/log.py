"""The log of the service: all that streams bring in one order, on disk before it is acknowledged.

    append     an entry waits for the committer, a thread that writes whatever waits and syncs it once (group commit)
    read       durable records behind a number, from memory where they are recent
    retain     whole files leave by age and size, as far as no program needs them

A record has a number (`seq`, from 1 on, without gaps) and the instant of its arrival in milliseconds, which never
decreases, whatever the machine's clock does. Programs know no other clock: so a replay answers alike.
"""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

Kind = Literal["facts", "beat", "stream", "subscription"]

DAY: Final = 24 * 60 * 60.0


class LogBusyError(Exception):
    """So much waits to be synced that nothing more is taken just now; trying again later helps."""


class DiskFullError(Exception):
    """An entry could not be written, and was not taken; what was acknowledged is whole."""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """What is to be logged: a body as it came, of a media type, and what is known `about` it, as JSON.

    facts          {"map": version of the stream's mappings, "facts": 1000, "skip": false, "latest": …, "key": "…",
                   "skipped": 2, "diagnostics": […], "position": …, "backlog": true}; what does not apply is left out
    stream         {"map": 3}: from here on the stream's mappings are of this version; {"map": null}: it is deleted
    subscription   {"program": "p", "name": ":X", "text": "AS …"}; without a text (null) it ends
    beat           {}: time has passed
    """

    kind: Kind
    stream: str = ""
    media: str = ""
    body: bytes = b""
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LogRecord(LogEntry):
    """An entry in its place: `seq` counts from 1, `arrived` is in milliseconds since 1970 and never decreases."""

    seq: int = 0
    arrived: int = 0

    def answer(self) -> dict[str, Any]:
        """The answer to the request that brought facts: `{"seq": 812, "facts": 1000}`."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Retention:
    """How long records are kept: seconds and bytes, both counted in whole files."""

    seconds: float = DAY
    size: int = 10 << 30


DEFAULT_RETENTION: Final = Retention()


def wall_ms() -> int:
    """Milliseconds since 1970 by the machine's clock."""
    return time.time_ns() // 1_000_000


class Log:
    """The log in a folder, which one process uses at a time; every method may be called from any thread."""

    def __init__(
        self, folder: Path, retention: Retention = DEFAULT_RETENTION, now: Callable[[], int] = wall_ms
    ) -> None:
        """Opens the log; what a crash has left incomplete behind the last whole record is cut off."""

    first: int
    """The number of the oldest record that is kept; `last + 1` where none is."""
    last: int
    """The number of the newest record that is durable; 0 where none is."""
    bytes: int
    """The size of all files."""
    cut_off: int
    """How many bytes were cut off when the log was opened."""

    @property
    def arrived(self) -> int:
        """The arrival of the newest record; 0 where there never was one."""
        raise NotImplementedError

    def append(self, entry: LogEntry) -> Future[LogRecord]:
        """Takes an entry; the record is the result once it is durable, `DiskFullError` where it cannot be written.

        Raises `LogBusyError` where too many bytes wait. Facts with a `key` that their stream has had are not taken
        again: the result is the first record.
        """
        raise NotImplementedError

    def read(self, after: int, most: int = 1 << 20) -> list[LogRecord]:
        """Durable records behind a number, at least one if there is one, of about so many bytes at most.

        Where those next to `after` are no longer kept, it begins with the first that is.
        """
        raise NotImplementedError

    def wait(self, after: int, seconds: float | None, awaited: Callable[[], bool] = lambda: False) -> bool:
        """Waits until there is a record behind a number, and returns whether there is.

        It ends early after some seconds, and when `awaited` is true at a `wake`; none is missed that comes meanwhile.
        """
        raise NotImplementedError

    def wake(self) -> None:
        """Has all waits look at what they await; to be called after that has changed."""

    def keep(self, name: str, after: int | None) -> None:
        """Retention keeps what is behind the least of these numbers; with None a name needs nothing any more."""

    def given(self, stream: str, key: str) -> dict[str, Any] | None:
        """The answer that a request with an idempotency key had, also after a restart; None where there was none."""
        raise NotImplementedError

    def close(self) -> None:
        """Syncs what waits and closes the files."""
