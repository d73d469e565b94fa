"""Checkpoints on other file systems: their files are replaced as a whole, and one run at a time uses them."""

from pathlib import Path
from threading import Event, Thread

import pytest
from pyarrow.fs import LocalFileSystem

from thalweg.diagnostics import RejectedError
from thalweg.model.sealed import Format, seal_json, unseal_json
from thalweg.runtimes import lease
from thalweg.runtimes.checkpoint_folder import Claim, locked, read_sealed, replace_file
from thalweg.runtimes.stored_path import StoredPath, checkpoint_path

FORMAT = Format(1, 1)


@pytest.fixture
def folder(tmp_path: Path) -> StoredPath:
    """A folder on a file system of pyarrow, as `hdfs://` is one: files are written aside, and renamed."""
    return StoredPath("hdfs://host/runs/city", LocalFileSystem(), str(tmp_path / "city"))


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


def test_a_claim_is_that_of_one_program(folder: StoredPath) -> None:
    Claim("p", "1", {}, FORMAT).make(folder)
    Claim("p", "1", {}, FORMAT).check(folder)
    with pytest.raises(RejectedError, match=r"the checkpoint `hdfs://host/runs/city` belongs to another program"):
        Claim("q", "2", {}, FORMAT).check(folder)


def test_a_damaged_file_is_refused(folder: StoredPath) -> None:
    replace_file(folder / "program.json", b"{}")
    with pytest.raises(RejectedError, match=r"`hdfs://host/runs/city/program.json` of the checkpoint is damaged"):
        Claim("p", "1", {}, FORMAT).check(folder)


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
