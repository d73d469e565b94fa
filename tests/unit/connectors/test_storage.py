"""Files and folders of other file systems: the same names, sizes and bytes wherever they are."""

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from thalweg.connectors.storage import Storage, open_storage, storage_in
from thalweg.diagnostics import RejectedError

TEXT = b"device,temp,ts\nd1,21.5,2026-11-15T08:00:00Z\n"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A folder of partitions, with what others leave in such folders."""
    folder = tmp_path / "my lake"
    for name in ("hour=10/b.csv", "hour=08/part-1.csv", "hour=08/part-0.csv", "a.csv", "old/c.csv", "_log/d.csv"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(TEXT)
    for name in ("_SUCCESS", ".hidden.csv", "hour=08/_committed", "hour=08/.part-0.csv.crc"):
        (folder / name).write_bytes(b"")
    return folder


NAMES = ["a.csv", "hour=08/part-0.csv", "hour=08/part-1.csv", "hour=10/b.csv"]


def subtree(folder: Path) -> Storage:
    from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

    return storage_in(SubTreeFileSystem(str(folder.parent), LocalFileSystem()), folder.name, "lake://readings")


def beginning(storage: Storage, path: str) -> bytes:
    with storage.open(path) as file:
        return bytes(file.read(6))


@pytest.mark.parametrize("opened", [open_storage, lambda folder: open_storage(folder.as_uri()), subtree])
def test_files_of_partitions_come_in_the_order_of_their_names(lake, opened):
    storage = opened(lake)
    assert storage.is_folder
    assert storage.files() == NAMES
    assert [storage.size(name) for name in NAMES] == [len(TEXT)] * 4
    assert beginning(storage, "hour=08/part-0.csv") == b"device"


def test_a_file_alone_is_a_storage_of_one_file(lake):
    storage = open_storage((lake / "hour=08/part-0.csv").as_uri())
    assert not storage.is_folder
    assert storage.files() == ["part-0.csv"]
    assert beginning(storage, "part-0.csv") == b"device"
    assert storage.address("part-0.csv") == (lake / "hour=08/part-0.csv").as_uri()


def test_a_file_at_the_root_of_a_file_system_is_found(lake):
    from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

    storage = storage_in(SubTreeFileSystem(str(lake), LocalFileSystem()), "a.csv", "lake://a.csv")
    assert storage.files() == ["a.csv"]
    assert beginning(storage, "a.csv") == b"device"
    root = storage_in(SubTreeFileSystem(str(lake), LocalFileSystem()), "", "lake://")
    assert root.files() == NAMES


def test_a_folder_without_partitions_is_not_looked_through(tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "old/a.csv").write_bytes(TEXT)
    assert open_storage(tmp_path).files() == []


def test_another_process_opens_it_again_by_its_uri(lake, monkeypatch):
    monkeypatch.chdir(lake.parent)
    storage = open_storage("my lake")
    monkeypatch.chdir("/")
    again = pickle.loads(pickle.dumps(storage))
    assert again == storage
    assert again.files() == NAMES
    assert beginning(open_storage(storage.uri), "a.csv") == b"device"


def test_an_open_file_is_read_and_sought(lake):
    file = open_storage(lake).open("a.csv")
    assert file.read(6) == b"device"
    file.seek(7)
    assert file.read(4) == b"temp"
    file.close()


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("file:///nowhere/a.csv", "error[E401]: cannot read `file:///nowhere/a.csv`: No such file or directory"),
        ("ftp://host/a.csv", "error[E402]: files cannot be read from `ftp://`"),
        ("file:///a b", "error[E402]: `file:///a b` cannot be opened: Cannot parse URI"),
    ],
)
def test_what_cannot_be_opened_is_a_diagnostic(uri, message):
    with pytest.raises(RejectedError) as raised:
        open_storage(uri)
    assert str(raised.value).startswith(message)
    assert raised.value.diagnostics[0].help or "E401" in message


def test_a_file_that_is_gone_is_a_diagnostic(lake):
    storage = open_storage(lake)
    (lake / "a.csv").unlink()
    with pytest.raises(RejectedError, match=r"cannot read `file://.*a.csv`: No such file"):
        storage.open("a.csv")
    with pytest.raises(RejectedError, match=r"cannot read `file://.*a.csv`: No such file"):
        storage.size("a.csv")


def test_what_hadoop_needs_is_named():
    script = (
        "from thalweg.connectors.storage import open_storage\n"
        "from thalweg.diagnostics import RejectedError\n"
        "try:\n    open_storage('hdfs://localhost:1/readings?user=me')\n"
        "except RejectedError as error:\n    print(error)"
    )
    environment = {"PYTHONPATH": ":".join(sys.path), "JAVA_HOME": "/nowhere", "ARROW_LIBHDFS_DIR": "/nowhere"}
    result = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=120
    )
    assert "error[E402]: `hdfs://localhost:1/readings` cannot be opened: " in result.stdout, result.stderr
    assert "HADOOP_HOME" in result.stdout
