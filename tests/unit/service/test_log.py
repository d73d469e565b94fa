"""The log: what is acknowledged stays, in one order, whatever happens to the process or the disk."""

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, RLock
from typing import Any

import pytest
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st

from thalweg.diagnostics import RejectedError
from thalweg.service.log import DiskFullError, Log, LogBusyError, LogEntry, LogRecord, Retention

NOON = 1_794_729_600_000


# A process that may write no more than so many bytes to a file tells what became of its entries.
_LIMITED = """
import resource, sys
from pathlib import Path
from thalweg.service.log import DiskFullError, Log, LogEntry

def put(size):
    try:
        return log.append(LogEntry("facts", "north", "text/plain", b"x" * size)).result().seq
    except DiskFullError:
        return "full"

log = Log(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))
print(put(20_000), put(40_000), put(100), log.last, log.bytes < 50_000)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(put(40_000), [len(record.body) for record in log.read(0)])
log.close()
"""


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


@pytest.mark.parametrize("cut", range(1, 201))
def test_a_cut_leaves_every_whole_record_before_it(cut: int, three: Path, tmp_path: Path) -> None:
    folder = tmp_path / "log"
    shutil.copytree(three, folder)
    (file,) = files(folder)
    size = file.stat().st_size
    with file.open("r+b") as torn:
        torn.truncate(size - cut)
    whole = [body for body, end in zip(BODIES, ENDS, strict=True) if size - cut >= end(size)]
    with opened(folder) as log:
        assert bodies(log) == whole
        assert log.cut_off == size - cut - file.stat().st_size
        put(log, "after")
        assert bodies(log) == [*whole, b"after"]
    with opened(folder) as log:
        assert (log.cut_off, bodies(log)) == (0, [*whole, b"after"])


BODIES = [b"first", b"second" * 12, b"third"]


def _end_of(place: int) -> Callable[[int], int]:
    behind = sum(map(_length, BODIES[place + 1 :]))
    return lambda size: size - behind


def _length(body: bytes) -> int:
    return 8 + 20 + len(facts(body).head()) + len(body)


ENDS = [_end_of(place) for place in range(3)]


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("three")
    with opened(folder) as log:
        put(log, *BODIES)
    return folder


@pytest.mark.parametrize("size", range(len(b"thalweg log 1\n") + 1))
def test_a_file_that_was_begun_and_not_finished_is_begun_again(size: int, tmp_path: Path) -> None:
    with opened(tmp_path, now=Instants()) as log:
        put(log, "a", "b")
    (tmp_path / f"log-{3:020}-{NOON + 7}").write_bytes(b"thalweg log 1\n"[:size])
    with opened(tmp_path, now=Instants()) as log:
        assert (log.first, log.last, log.arrived) == (1, 2, NOON + 7)
        (third,) = put(log, "c")
        assert (third.seq, third.arrived) == (3, NOON + 7)
        assert bodies(log) == [b"a", b"b", b"c"]


def test_zeros_behind_the_last_record_are_no_record(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        put(log, "a")
    with files(tmp_path)[0].open("ab") as file:
        file.write(bytes(4096))
    with opened(tmp_path) as log:
        assert (log.cut_off, bodies(log)) == (4096, [b"a"])


def test_a_damaged_file_that_others_follow_is_refused(tmp_path: Path) -> None:
    keep_all = Retention(size=16 * 100)
    with opened(tmp_path, keep_all) as log:
        log.keep("all", 0)
        put(log, "a" * 200, "b" * 200, "c" * 200)
    oldest = files(tmp_path)[0]
    content = bytearray(oldest.read_bytes())
    content[-1] ^= 1
    oldest.write_bytes(content)
    with opened(tmp_path, keep_all) as log, pytest.raises(RejectedError, match=r"E408.*is damaged at byte 14"):
        log.read(0)
    for index in tmp_path.glob("index-*"):
        index.unlink()
    with pytest.raises(RejectedError, match=r"E408.*is damaged at byte 14"):
        Log(tmp_path)


def test_a_missing_file_is_noticed(tmp_path: Path) -> None:
    with opened(tmp_path, Retention(size=16 * 100)) as log:
        log.keep("all", 0)
        put(log, "a" * 200, "b" * 200, "c" * 200)
    files(tmp_path)[1].unlink()
    with pytest.raises(RejectedError, match=r"E408"):
        Log(tmp_path)


def test_a_file_of_another_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / f"log-{1:020}-{0:013}").write_bytes(b"thalweg log 2\n")
    with pytest.raises(RejectedError, match=r"E421.*has version 2 of a `log`, and this version of Thalweg reads 1"):
        Log(tmp_path)


def test_a_file_that_is_no_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / f"log-{1:020}-{0:013}").write_bytes(b"p(1) @ 2.\n")
    with pytest.raises(RejectedError, match=r"E408.*is damaged at byte 0"):
        Log(tmp_path)


Step = tuple[str, int]
STEPS = st.lists(
    st.tuples(st.sampled_from(["append", "append", "append", "reopen", "cut"]), st.integers(0, 400)), max_size=25
)


@settings(max_examples=60, deadline=None)
@for_all(STEPS)
def test_the_log_is_a_list_of_which_a_crash_cuts_the_end(steps: list[Step]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        retention = Retention(size=16 * 500)
        model: list[LogRecord] = []
        log = _reopened(folder, retention, None)
        for step, size in steps:
            match step:
                case "append":
                    model += put(log, bytes([size % 251]) * size)
                case "cut":
                    log.close()
                    model = model[: len(model) - _cut_newest(folder, size, model)]
                    log = _reopened(folder, retention, None)
                case _:
                    log = _reopened(folder, retention, log)
            assert everything(log, most=size) == model
            assert log.last == len(model)
        log.close()
        assert log.bytes == sum(file.stat().st_size for file in files(folder))


def _reopened(folder: Path, retention: Retention, before: Log | None) -> Log:
    if before is not None:
        before.close()
    log = Log(folder, retention)
    log.keep("all", 0)
    return log


def _cut_newest(folder: Path, size: int, model: Sequence[LogRecord]) -> int:
    """Cuts bytes off the newest file; how many records are no longer whole."""
    newest = files(folder)[-1]
    first = int(newest.name.split("-")[1])
    left = max(0, newest.stat().st_size - size)
    with newest.open("r+b") as file:
        file.truncate(left)
    end, whole = len(b"thalweg log 1\n"), 0
    for record in model[first - 1 :]:
        end += _length(record.body)
        whole += end <= left
    return len(model) - (first - 1) - whole


def test_a_full_disk_takes_nothing_of_an_entry_and_later_ones_again(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _LIMITED, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["1 full 2 2 True", "3 [20000, 100, 40000]"]
    with opened(tmp_path) as log:
        assert (log.cut_off, [len(body) for body in bodies(log)]) == (0, [20_000, 100, 40_000])


def test_what_waits_meanwhile_is_synced_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries that come while the disk is busy are written by one sync."""
    syncs, is_busy, go_on = [0], Event(), Event()
    sync = os.fdatasync

    def slow(descriptor: int) -> None:
        syncs[0] += 1
        is_busy.set()
        assert go_on.wait(30)
        sync(descriptor)

    monkeypatch.setattr(os, "fdatasync", slow)
    with opened(tmp_path) as log:
        first = log.append(facts("0"))
        assert is_busy.wait(30)
        others = [log.append(facts(str(number))) for number in range(1, 100)]
        assert not first.done()
        assert log.last == 0
        go_on.set()
        assert [future.result().seq for future in (first, *others)] == [*range(1, 101)]
        assert syncs == [2]


def test_a_sync_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path) as log:
        put(log, "a")
        size = log.bytes
        with monkeypatch.context() as patch:
            patch.setattr(os, "fdatasync", _fail)
            with pytest.raises(DiskFullError, match="No space left"):
                put(log, "b")
        assert (log.bytes, files(tmp_path)[0].stat().st_size, log.last) == (size, size, 1)
        assert [record.seq for record in put(log, "c")] == [2]
    with opened(tmp_path) as log:
        assert bodies(log) == [b"a", b"c"]


def _fail(descriptor: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_too_much_that_waits_is_refused_until_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = Event()
    sync = os.fdatasync
    monkeypatch.setattr(os, "fdatasync", lambda descriptor: (go_on.wait(30), sync(descriptor)))
    with opened(tmp_path, most_waiting=10_000) as log:
        # One alone is always taken.
        large = log.append(facts(bytes(20_000)))
        with pytest.raises(LogBusyError):
            log.append(facts("more"))
        go_on.set()
        large.result()
        assert [record.seq for record in put(log, "more")] == [2]


def test_threads_append_and_read_at_once(tmp_path: Path) -> None:
    seen: list[LogRecord] = []

    def follow() -> None:
        while len(seen) < 400 and log.wait(len(seen), 30):
            seen.extend(log.read(len(seen), most=2000))

    def write(thread: int) -> list[int]:
        return [log.append(facts(f"{thread} {number}")).result().seq for number in range(100)]

    with opened(tmp_path, Retention(size=16 * 4000)) as log, ThreadPoolExecutor(5) as threads:
        log.keep("all", 0)
        follower = threads.submit(follow)
        written = list(threads.map(write, range(4)))
        follower.result()
    assert sorted(seq for numbers in written for seq in numbers) == [*range(1, 401)]
    assert [record.seq for record in seen] == [*range(1, 401)]
    assert all(seen[seq - 1].body.startswith(str(thread).encode()) for thread in range(4) for seq in written[thread])
    assert [record.arrived for record in seen] == sorted(record.arrived for record in seen)


def test_the_same_key_gives_the_first_record(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        first = log.append(facts("a", key="k"))
        again = log.append(facts("b", key="k"))
        other = log.append(facts("c", key="k", stream="south"))
        assert again.result() == first.result()
        assert log.append(facts("d", key="k")).result() == first.result()
        assert other.result().seq == 2
        assert log.with_key("north", "k") == first.result()
        assert log.with_key("north", "other") is None
        assert log.last == 2


@pytest.mark.parametrize("with_index", [True, False])
def test_keys_are_known_after_a_restart_as_long_as_their_records_are_kept(tmp_path: Path, with_index: bool) -> None:
    retention = Retention(size=16 * 100)
    with opened(tmp_path, retention) as log:
        log.keep("all", 0)
        for number in range(5):
            log.append(facts("x" * 200, key=str(number))).result()
    assert len(files(tmp_path)) == 5
    if not with_index:
        for index in tmp_path.glob("index-*"):
            index.write_bytes(b"damaged")
    with opened(tmp_path, Retention(size=0)) as log:
        log.keep("all", 2)
        kept = [log.with_key("north", str(number)) for number in range(5)]
        assert [record and record.seq for record in kept] == [1, 2, 3, 4, 5]
        assert log.append(facts("again", key="3")).result().seq == 4
        log.retain()
        log.keep("all", 4)
        log.retain()
        assert [log.with_key("north", str(number)) is None for number in range(5)] == [True] * 4 + [False]
        assert log.append(facts("anew", key="0")).result().seq == 6


def test_a_key_whose_record_was_not_written_is_free_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path) as log:
        with monkeypatch.context() as patch:
            patch.setattr(os, "fdatasync", _fail)
            with pytest.raises(DiskFullError):
                log.append(facts("a", key="k")).result()
        assert log.with_key("north", "k") is None
        assert log.append(facts("b", key="k")).result().body == b"b"


def test_old_files_leave_unless_they_are_kept(tmp_path: Path) -> None:
    clock = Instants()
    with opened(tmp_path, Retention(seconds=240), clock) as log:
        log.keep("slow", 2)
        for _ in range(10):
            put(log, "x")
            clock.now += 60_000
        log.retain()
        # Each minute has a file of its own: it is older than a 24th of what is kept.
        assert log.first == 3
        log.keep("slow", None)
        log.retain()
        assert [record.arrived - clock.now for record in everything(log)] == [-240_000, -180_000, -120_000, -60_000]
        assert log.read(0, most=1)[0].seq == log.first == 7
    assert len(files(tmp_path)) == len([*tmp_path.glob("index-*")]) + 1


def test_what_is_old_leaves_although_nothing_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thalweg.service.log._TIDY", 0.001)
    clock, has_looked = Instants(), Event()

    def now() -> int:
        has_looked.set()
        return clock.now

    with opened(tmp_path, Retention(seconds=240), now) as log:
        put(log, "a")
        clock.now += 300_000
        while log.first == 1:
            has_looked.clear()
            assert has_looked.wait(30)
        assert (log.first, log.last, log.read(0)) == (2, 1, [])
        assert put(log, "b")[0].seq == 2


def test_files_beyond_the_size_leave(tmp_path: Path) -> None:
    with opened(tmp_path, Retention(size=16_000)) as log:
        for _ in range(100):
            put(log, bytes(500))
        log.retain()
        assert 14_000 < log.bytes <= 16_000
        assert log.bytes == sum(file.stat().st_size for file in files(tmp_path))
        assert [record.seq for record in everything(log)] == [*range(log.first, 101)]
        assert log.first > 1


def test_numbers_and_arrivals_go_on_when_all_records_have_left(tmp_path: Path) -> None:
    (tmp_path / f"log-{3:020}-{NOON + 7}").write_bytes(b"thalweg log 1\n")
    with opened(tmp_path, now=Instants()) as log:
        assert (log.first, log.last, log.arrived, log.read(0)) == (3, 2, NOON + 7, [])
        assert put(log, "c") == log.read(0)
        assert (log.first, log.last, log.arrived) == (3, 3, NOON + 7)


def test_reading_gives_about_as_much_as_is_wanted(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        put(log, *(bytes([number]) * 70_000 for number in range(6)), bytes(1_500_000), "small")
        in_memory = [len(log.read(after, most=100_000)) for after in range(9)]
    assert in_memory == [2, 2, 2, 2, 2, 2, 1, 1, 0]
    with opened(tmp_path) as log:
        read = [[len(record.body) for record in log.read(after, most=100_000)] for after in range(9)]
    assert [sizes[:1] for sizes in read] == [[70_000]] * 6 + [[1_500_000], [5], []]
    assert all(sum(sizes) < 200_000 for sizes in read if 1_500_000 not in sizes)


def test_waiting_ends_with_a_record_a_wake_or_the_time(tmp_path: Path) -> None:
    with opened(tmp_path) as log, ThreadPoolExecutor(1) as thread:
        assert log.wait(0, 0) is False
        waiting = thread.submit(log.wait, 0, None)
        put(log, "a")
        assert waiting.result(30) is True
        asked = Event()
        waiting = thread.submit(log.wait, 1, None, asked.is_set)
        log.wake()
        assert not waiting.done()
        asked.set()
        log.wake()
        assert waiting.result(30) is False
        assert log.wait(1, None, asked.is_set) is False
        assert log.wait(0, None, asked.is_set) is True


def test_what_is_awaited_may_need_a_lock_that_is_held_at_a_wake(tmp_path: Path) -> None:
    lock, has_looked = RLock(), Event()

    def awaited() -> bool:
        has_looked.set()
        with lock:
            return is_asked.is_set()

    is_asked = Event()
    with opened(tmp_path) as log, ThreadPoolExecutor(1) as thread:
        with lock:
            waiting = thread.submit(log.wait, 0, 30, awaited)
            assert has_looked.wait(30)
            is_asked.set()
            log.wake()
        assert waiting.result(30) is False


def test_closing_writes_what_waits_and_ends_waits(tmp_path: Path) -> None:
    log = Log(tmp_path)
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(log.wait, 1000, None)
        futures = [log.append(facts(str(number))) for number in range(50)]
        log.close()
        assert waiting.result(30) is False
    assert all(future.done() for future in futures)
    with pytest.raises(LogBusyError):
        log.append(facts("more"))
    with opened(tmp_path) as log:
        assert log.last == 50


def test_a_future_cannot_be_cancelled(tmp_path: Path) -> None:
    """A client that goes away does not stop the log."""
    with opened(tmp_path) as log:
        future = log.append(facts("a"))
        assert not future.cancel()
        assert future.result().seq == 1


def test_a_process_that_is_killed_keeps_what_was_acknowledged(tmp_path: Path) -> None:
    code = """if True:
        import sys
        from pathlib import Path
        from thalweg.service.log import Log, LogEntry
        log = Log(Path(sys.argv[1]))
        while True:
            print(log.append(LogEntry("beat")).result().seq, flush=True)
    """
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            acknowledged = [int(process.stdout.readline()) for _ in range(20)]
            process.kill()
            acknowledged += map(int, process.stdout.read().split())
        with opened(tmp_path) as log:
            assert [record.seq for record in everything(log)] == [*range(1, log.last + 1)]
            assert log.last >= acknowledged[-1]
