"""What is kept of the streams until Spark has taken it, and what is dropped after."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from thalweg.runtimes.spark.spool import Segment, Spool

from thalweg.diagnostics import RejectedError
from thalweg.runtimes.spark import spool as spooling
from thalweg.runtimes.spark.run import check_path
from thalweg.runtimes.spark.wire import Parcel


def fill(folder: Path, segments: int) -> Spool:
    spool = Spool(folder)
    for number in range(segments):
        spool.write(Segment(number, 10 * number, number, (number,)), [Parcel(0, 1, b"ab"), Parcel(0, 2, b"c")])
    return spool


def entry(number: int, offset: int) -> str:
    path = f"file:///tmp/a%20folder/spool/{Segment(number, 10 * number, number, (number,)).name}"
    return json.dumps({"path": path, "timestamp": 1_000 * number, "batchId": offset})


def write_log(folder: Path, name: str, *entries: str) -> Path:
    """As Spark writes its logs: a version, then a line each, and a checksum beside it."""
    file = folder / "spark" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(["v1", *entries]))
    file.with_name(f".{file.name}.crc").touch()
    return file


def commit(folder: Path, batch: int, offset: int) -> None:
    write_log(folder, f"offsets/{batch}", "{}", json.dumps({"logOffset": offset}))
    write_log(folder, f"commits/{batch}", "{}")


def numbers(spool: Spool) -> list[int]:
    return [segment.number for segment in spool.segments()]


def test_a_segment_is_a_table_of_parcels_as_old_as_its_number_says(tmp_path: Path) -> None:
    fill(tmp_path, 2)
    file = tmp_path / "spool" / "0000000001_10_1_1.parquet"
    assert file.stat().st_mtime == 1
    file.touch()
    Spool(tmp_path)
    assert file.stat().st_mtime == 1, "it may have been copied"
    assert pq.read_table(file).to_pylist() == [
        {"bucket": 1, "fragment": 0, "payload": b"ab"},
        {"bucket": 2, "fragment": 0, "payload": b"c"},
    ]


def test_before_the_first_batch_nothing_is_forgotten(tmp_path: Path) -> None:
    spool = fill(tmp_path, 3)
    write_log(tmp_path, "sources/0/0", entry(0, 0), entry(1, 0))
    write_log(tmp_path, "offsets/0", "{}", '{"logOffset":0}')
    spool.forget()
    assert numbers(spool) == [0, 1, 2]


def test_what_a_committed_batch_has_taken_is_forgotten(tmp_path: Path) -> None:
    spool = fill(tmp_path, 5)
    for offset, some in enumerate([(0, 1), (2,), (3, 4)]):
        write_log(tmp_path, f"sources/0/{offset}", *(entry(number, offset) for number in some))
    commit(tmp_path, 0, 0)
    # A batch that was planned twice has two entries of the log.
    commit(tmp_path, 1, 1)
    spool.forget()
    assert numbers(spool) == [3, 4]


def test_the_log_may_have_been_compacted(tmp_path: Path) -> None:
    spool = fill(tmp_path, 4)
    write_log(tmp_path, "sources/0/9.compact", *(entry(number, number) for number in range(2)))
    commit(tmp_path, 12, 9)
    spool.forget()
    assert numbers(spool) == [2, 3]


def test_the_last_stays_because_it_says_how_far_the_streams_have_been_read(tmp_path: Path) -> None:
    spool = fill(tmp_path, 2)
    write_log(tmp_path, "sources/0/0", entry(0, 0), entry(1, 0))
    commit(tmp_path, 0, 0)
    spool.forget()
    assert spool.segments() == [Segment(1, 10, 1, (1,))]


def test_old_entries_leave_the_log_with_their_checksum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spooling, "_REMEMBERED", 3)
    old = write_log(tmp_path, "sources/0/9.compact", *(entry(number, number) for number in range(10)))
    log = write_log(tmp_path, "sources/0/19.compact", *(entry(number, number) for number in range(20)))
    before = old.read_text()
    Spool(tmp_path).progress.trim()
    assert log.read_text().splitlines() == ["v1", *(entry(number, number) for number in (16, 17, 18, 19))]
    assert not log.with_name(".19.compact.crc").exists()
    assert old.read_text() == before


@pytest.mark.parametrize("name", ["run [1]", "{a,b}", "st*r", "what?", "back\\slash"])
def test_a_folder_that_spark_would_take_for_a_pattern_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(RejectedError, match="in a path for a pattern"):
        check_path(tmp_path / name)
    assert not (tmp_path / name).exists()
