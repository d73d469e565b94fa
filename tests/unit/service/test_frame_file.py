"""Files of frames: what is found in them again, from any ordinal on."""

import os
from pathlib import Path

import pytest

from thalweg.dataflow.state import StateFormat
from thalweg.diagnostics import RejectedError
from thalweg.service.frame_file import FrameFile, frame

FORMAT = StateFormat("numbers", 3)


def payload(ordinal: int) -> bytes:
    return bytes([ordinal % 251]) * (1 + ordinal * 37 % 5000)


def filled(path: Path, count: int) -> FrameFile:
    file = FrameFile(path, FORMAT)
    file.append([frame(payload(ordinal)) for ordinal in range(count)])
    return file


def read(file: FrameFile, ordinal: int, limit: int = 1000, most: int = 1 << 30) -> list[bytes]:
    return [bytes(view) for view in file.read(ordinal, limit, most)]


def test_frames_are_read_from_any_ordinal_on(tmp_path: Path) -> None:
    file = filled(tmp_path / "file", 300)
    assert len(file.marks[0]) > 5
    again = FrameFile(file.path, FORMAT)
    assert (again.scan(), again.count, again.size, again.marks) == (0, 300, file.size, file.marks)
    for ordinal in range(300):
        assert read(again, ordinal, limit=3) == [payload(number) for number in range(ordinal, min(ordinal + 3, 300))]
        assert read(again, ordinal, most=1)[0] == payload(ordinal)
    assert read(again, 300) == []
    assert read(again, 0) == [payload(ordinal) for ordinal in range(300)]


@pytest.mark.parametrize("count", [0, 1, 17, 150, 299, 300])
def test_frames_behind_an_ordinal_are_cut_off(count: int, tmp_path: Path) -> None:
    file = filled(tmp_path / "file", 300)
    file.truncate(count)
    assert (file.count, file.size) == (count, file.path.stat().st_size)
    file.append([frame(b"next")])
    assert read(file, count) == [b"next"]
    again = FrameFile(file.path, FORMAT)
    assert (again.scan(), again.count, again.marks) == (0, count + 1, file.marks)
    assert read(again, 0) == [*(payload(ordinal) for ordinal in range(count)), b"next"]


def test_what_could_not_be_cut_off_at_once_is_cut_off_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = filled(tmp_path / "file", 2)

    def fail(*arguments: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", fail)
        patch.setattr(os, "fdatasync", fail)
        with pytest.raises(OSError, match="Input/output error"):
            file.append([frame(b"long" * 100), frame(b"more")], sync=True)
        with pytest.raises(OSError, match="Input/output error"):
            file.append([frame(b"short")])
    assert file.path.stat().st_size > file.size
    file.append([frame(b"short")], sync=True)
    again = FrameFile(file.path, FORMAT)
    assert again.scan() == 0
    assert read(again, 2) == [b"short"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"thalweg numbers 2\n", "E421.*has version 2 of a `numbers`, and this version of Thalweg reads 3"),
        (b"thalweg log 1\n", "E421.*has version 1 of a `log`, and this version of Thalweg reads version 3 of a `num"),
        (b"numbers", "E408.*is damaged at byte 0"),
    ],
)
def test_a_file_of_something_else_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(RejectedError, match=message):
        FrameFile(tmp_path / "file", FORMAT)


def test_a_frame_that_was_changed_is_not_read(tmp_path: Path) -> None:
    file = filled(tmp_path / "file", 3)
    content = bytearray(file.path.read_bytes())
    content[len(b"thalweg numbers 3\n") + 8] ^= 1
    file.path.write_bytes(content)
    with pytest.raises(RejectedError, match=r"E408.*is damaged at byte 18"):
        file.read(0, 1, 1)
    again = FrameFile(file.path, FORMAT)
    assert (again.scan(), again.count) == (len(content) - 18, 0)
