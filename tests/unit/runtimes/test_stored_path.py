"""Checkpoints on other file systems: their files are replaced as a whole, and one run at a time uses them."""

from collections.abc import Callable
from contextlib import suppress
from errno import EIO
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any

import pytest
from pyarrow.fs import LocalFileSystem

from thalweg.diagnostics import RejectedError
from thalweg.model.plain_data import as_data, of_data
from thalweg.model.sealed import Format, seal_json, unseal_json
from thalweg.runtimes import lease, stored_path
from thalweg.runtimes.checkpoint_folder import Claim, locked, read_sealed, replace_file
from thalweg.runtimes.embedded_checkpoint import EmbeddedCheckpoint, read_state
from thalweg.runtimes.stored_path import StoredPath, checkpoint_path

FORMAT = Format(1, 1)


class Filesystem:
    """That of this machine, with what `StoredPath` uses."""

    def __init__(self) -> None:
        self._local = LocalFileSystem()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._local, name)

    def open_input_stream(self, place: str) -> Any:
        return self._local.open_input_stream(place)


class KilledAfter(Filesystem):
    """Does some steps, and then nothing more."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self._steps = steps

    def __getattr__(self, name: str) -> Any:
        self._steps -= 1
        if self._steps < 0:
            raise KeyboardInterrupt
        return super().__getattr__(name)


@pytest.fixture
def folder(tmp_path: Path) -> StoredPath:
    """A folder on a file system of pyarrow, as `hdfs://` is one: files are written aside, and renamed."""
    return StoredPath("hdfs://host/runs/city", LocalFileSystem(), str(tmp_path / "city"))


OTHER = b'{"owner": "other", "beats": 0}'


def wait_until(condition: Callable[[], object]) -> None:
    """Asks again and again, for a minute."""
    deadline = monotonic() + 60
    while not condition() and monotonic() < deadline:
        sleep(0.02)


@pytest.fixture
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "BEAT", 0.02)


def test_a_file_is_replaced_as_a_whole(folder: StoredPath) -> None:
    file = folder / "delivered.json"
    assert not file.exists()
    for batch in (1, 2):
        replace_file(file, seal_json({"batch": batch}, FORMAT))
        assert read_sealed(file, FORMAT, unseal_json)["batch"] == batch
    assert [found.name for found in folder.iterdir()] == ["delivered.json"]
    assert str(file) == "hdfs://host/runs/city/delivered.json"
    assert file.parent == folder


def test_what_was_written_aside_counts_where_a_run_was_killed(folder: StoredPath) -> None:
    file = folder / "delivered.json"
    replace_file(file, b"before")
    Path(file.place).rename(f"{file.place}.unfinished")
    assert file.exists()
    assert file.read_bytes() == b"before"
    replace_file(file, b"after")
    assert file.read_text() == "after"


@pytest.mark.parametrize("steps", range(1, 12))
def test_wherever_a_run_is_killed_a_file_is_whole(folder: StoredPath, steps: int) -> None:
    file = folder / "state"
    replace_file(file, b"first")
    # A run was killed before: the only copy has the other name.
    Path(file.place).rename(f"{file.place}.unfinished")
    with suppress(KeyboardInterrupt):
        replace_file(StoredPath(file.uri, KilledAfter(steps), file.place), b"second")
    assert file.exists()
    assert file.read_bytes() in (b"first", b"second")
    replace_file(file, b"third")
    assert file.read_bytes() == b"third"
    assert [entry.name for entry in folder.iterdir()] == ["state"]


def test_half_a_file_is_none(folder: StoredPath) -> None:
    file = folder / "state"
    Path(folder.place).mkdir()
    Path(f"{file.place}.writing").write_bytes(b"ha")
    assert not file.exists()


def test_leftovers_go_with_their_file(folder: StoredPath) -> None:
    file = folder / "state"
    replace_file(file, b"first")
    for ending in ("unfinished", "writing"):
        Path(f"{file.place}.{ending}").write_bytes(b"second")
    file.unlink()
    assert [*folder.iterdir()] == []


def test_a_file_that_is_replaced_while_it_is_read_is_read_again(folder: StoredPath) -> None:
    file = folder / "state"
    replace_file(file, b"first")

    class Replacing(Filesystem):
        def open_input_stream(self, place: str) -> Any:
            if place == file.place and not Path(f"{place}.unfinished").exists():
                Path(place).rename(f"{place}.unfinished")
            return super().open_input_stream(place)

    assert StoredPath(file.uri, Replacing(), file.place).read_bytes() == b"first"


def test_a_claim_is_that_of_one_program(folder: StoredPath) -> None:
    Claim("p", "1", {}, FORMAT).make(folder)
    Claim("p", "1", {}, FORMAT).check(folder)
    with pytest.raises(RejectedError, match=r"the checkpoint `hdfs://host/runs/city` belongs to another program"):
        Claim("q", "2", {}, FORMAT).check(folder)


def test_a_damaged_file_is_refused(folder: StoredPath) -> None:
    replace_file(folder / "program.json", b"{}")
    with pytest.raises(RejectedError, match=r"`hdfs://host/runs/city/program.json` of the checkpoint is damaged"):
        Claim("p", "1", {}, FORMAT).check(folder)


def test_a_path_in_another_process_opens_its_file_system_when_it_is_used(
    folder: StoredPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def open_filesystem(uri: str) -> tuple[Any, str]:
        opened.append(uri)
        return folder.filesystem, folder.place

    monkeypatch.setattr(stored_path, "open_filesystem", open_filesystem)
    (folder / "state").write_bytes(b"7")
    there = of_data(as_data(folder))
    assert (there, opened) == (folder, [])
    assert [(there / "state").read_bytes() for _ in range(2)] == [b"7", b"7"]
    assert opened == [folder.uri]


@pytest.mark.usefixtures("_hasty")
def test_one_run_at_a_time(folder: StoredPath) -> None:
    held, done = Event(), Event()

    def hold() -> None:
        with locked(folder):
            held.set()
            done.wait()

    holder = Thread(target=hold)
    holder.start()
    held.wait()
    try:
        with pytest.raises(RejectedError, match=r"another run is using the checkpoint `hdfs:"), locked(folder):
            pass
    finally:
        done.set()
        holder.join()
    with locked(folder):
        pass
    assert [*folder.iterdir()] == []


@pytest.mark.usefixtures("_hasty")
def test_the_lease_of_a_run_that_was_lost_runs_out(folder: StoredPath, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "PATIENCE", 0.1)
    (folder / lease.LEASE).write_bytes(b'{"owner": "lost", "beats": 7}')
    with locked(folder):
        assert b"lost" not in (folder / lease.LEASE).read_bytes()


@pytest.mark.usefixtures("_hasty")
def test_a_run_whose_lease_another_one_took_must_end(folder: StoredPath) -> None:
    with locked(folder) as need_folder:
        need_folder()
        (folder / lease.LEASE).write_bytes(OTHER)
        with pytest.raises(RejectedError, match=r"E408\]: another run has taken the checkpoint `hdfs:"):
            wait_until(need_folder)
    assert (folder / lease.LEASE).read_bytes() == OTHER


@pytest.mark.usefixtures("_hasty")
def test_a_sign_of_life_that_fails_is_given_again(folder: StoredPath) -> None:
    unreachable, tried = Event(), Event()

    class Unreachable(Filesystem):
        def open_output_stream(self, place: str) -> Any:
            if unreachable.is_set():
                tried.set()
                raise OSError(EIO, "no route to host")
            return self._local.open_output_stream(place)

    with locked(StoredPath(folder.uri, Unreachable(), folder.place)) as need_folder:
        unreachable.set()
        assert tried.wait(60)
        before = (folder / lease.LEASE).read_bytes()
        unreachable.clear()
        wait_until(lambda: (folder / lease.LEASE).read_bytes() != before)
        need_folder()


@pytest.mark.usefixtures("_hasty")
def test_a_run_without_a_sign_of_life_for_long_must_end(folder: StoredPath, monkeypatch: pytest.MonkeyPatch) -> None:
    with locked(folder) as need_folder:
        monkeypatch.setattr(lease, "PATIENCE", -1.0)
        with pytest.raises(RejectedError, match=r"E408\]: after .* another run may have taken the checkpoint"):
            need_folder()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (OTHER, r"E408\]: another run has taken the checkpoint `hdfs:"),
        (None, r"E408\]: `hdfs:.*lease.json` was removed: another run may have used the checkpoint"),
        (b"[7]", r"E408\]: `hdfs:.*lease.json` has other content: this run no longer has the checkpoint"),
        (b"", r"E408\]: `hdfs:.*lease.json` has other content: this run no longer has the checkpoint"),
    ],
)
def test_it_is_looked_who_has_the_checkpoint_before_each_save(
    folder: StoredPath, content: bytes | None, message: str
) -> None:
    """No sign of life is given meanwhile."""
    with locked(folder) as need_folder:
        if content is None:
            (folder / lease.LEASE).unlink()
        else:
            (folder / lease.LEASE).write_bytes(content)
        need_folder(is_saving=False)
        with pytest.raises(RejectedError, match=message):
            need_folder()


@pytest.mark.usefixtures("_hasty")
def test_a_run_whose_machine_was_asleep_does_not_renew_its_lease(
    folder: StoredPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    asleep = 0.0
    clock = lease._now
    monkeypatch.setattr(lease, "_now", lambda: clock() + asleep)
    held = lease.Lease(folder / lease.LEASE)
    held.renew()
    asleep = 60.0
    before = (folder / lease.LEASE).read_bytes()
    held.keep(Event())
    assert (folder / lease.LEASE).read_bytes() == before
    with pytest.raises(RejectedError, match="another run may have taken"):
        held.check(is_saving=False)


@pytest.mark.usefixtures("_hasty")
def test_a_checkpoint_that_is_lost_is_not_written(folder: StoredPath) -> None:
    with EmbeddedCheckpoint(folder, Claim("p", "1", {})) as checkpoint:
        checkpoint.claim()
        checkpoint.save(lambda: b"first")
        saved = read_state(folder)
        (folder / lease.LEASE).write_bytes(OTHER)
        with pytest.raises(RejectedError, match="E408"):
            wait_until(lambda: checkpoint.save(lambda: b"first"))
    assert read_state(folder) == saved


@pytest.mark.usefixtures("_hasty")
def test_errors_of_a_run_are_its_own(folder: StoredPath) -> None:
    with pytest.raises(FileNotFoundError, match="sensors"), locked(folder):
        Path("sensors").read_bytes()


@pytest.mark.usefixtures("_hasty")
def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = StoredPath("hdfs://host/file/city", LocalFileSystem(), str(tmp_path / "file/city"))
    with (
        pytest.raises(RejectedError, match=r"E401\]: cannot use `hdfs://host/file/city` for checkpoints"),
        locked(folder),
    ):
        pass


def test_a_folder_of_this_machine_is_a_path(tmp_path: Path) -> None:
    assert checkpoint_path((tmp_path / "my runs").as_uri()) == tmp_path / "my runs"
    with pytest.raises(RejectedError, match="E402"):
        checkpoint_path("hdfs://nowhere:1/runs")
