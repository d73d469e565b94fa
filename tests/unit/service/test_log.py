"""The log: what is acknowledged stays, in one order, whatever happens to the process or the disk."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from thalweg.service.log import Log, LogEntry, LogRecord

NOON = 1_794_729_600_000


class Instants:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> int:
        return self.now


@contextmanager
def opened(folder: Path, *arguments: Any, **options: Any) -> Iterator[Log]:
    log = Log(folder, *arguments, **options)
    try:
        yield log
    finally:
        log.close()


def facts(body: str | bytes, key: str | None = None, stream: str = "north") -> LogEntry:
    data = body.encode() if isinstance(body, str) else body
    about = {"map": 1, "facts": 1} | ({} if key is None else {"key": key})
    return LogEntry("facts", stream, "text/plain", data, about)


def put(log: Log, *bodies: str | bytes) -> list[LogRecord]:
    return [log.append(facts(body)).result() for body in bodies]


def everything(log: Log, most: int = 1 << 20) -> list[LogRecord]:
    records: list[LogRecord] = []
    while batch := log.read(records[-1].seq if records else 0, most):
        records += batch
    return records


def bodies(log: Log) -> list[bytes]:
    return [record.body for record in everything(log)]


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("log-*"))


def test_records_have_numbers_and_come_back_after_a_restart(tmp_path: Path) -> None:
    entries = [
        facts("p(1) @ 2."),
        LogEntry("beat"),
        LogEntry("stream", "north", about={"map": None}),
        LogEntry("subscription", about={"program": "jam", "name": ":X", "text": "AS …"}),
    ]
    with opened(tmp_path) as log:
        assert (log.first, log.last, log.arrived) == (1, 0, 0)
        records = [log.append(entry).result() for entry in entries]
        assert everything(log) == records
    assert [record.seq for record in records] == [1, 2, 3, 4]
    assert [(record.kind, record.stream, record.media, record.body, record.about) for record in records] == [
        (entry.kind, entry.stream, entry.media, entry.body, entry.about) for entry in entries
    ]
    with opened(tmp_path) as log:
        assert everything(log) == records
        assert (log.first, log.last, log.arrived) == (1, 4, records[-1].arrived)
        assert log.append(LogEntry("beat")).result().seq == 5


def test_an_arrival_never_decreases_although_the_clock_does(tmp_path: Path) -> None:
    clock = Instants()
    with opened(tmp_path, now=clock) as log:
        (first,) = put(log, "a")
        clock.now -= 5000
        (second,) = put(log, "b")
    with opened(tmp_path, now=clock) as log:
        (third,) = put(log, "c")
        clock.now += 6000
        (fourth,) = put(log, "d")
    assert [record.arrived - NOON for record in (first, second, third, fourth)] == [0, 0, 0, 1000]
