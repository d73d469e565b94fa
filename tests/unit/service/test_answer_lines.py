"""Lines of answers: numbered from 1, the same after a crash, and read from memory or files alike."""

import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg.diagnostics import RejectedError
from thalweg.service.answer_lines import AnswerLines, Line

# A process that may write no more than so many bytes to a file.
_LIMITED = """
import resource, sys
from pathlib import Path
from thalweg.service.answer_lines import AnswerLines, Line
from thalweg.service.log import DiskFullError

lines = AnswerLines(Path(sys.argv[1]))
lines.add([Line(b"a" * 2000, 1)])
resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, resource.RLIM_INFINITY))
try:
    lines.add([Line(b"b" * 2000, 2), Line(b"c" * 2000, 2)])
except DiskFullError as error:
    print(lines.last, error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
lines.add([Line(b"b" * 2000, 2)])
print(lines.settle())
"""


def line(number: int) -> Line:
    until = {f"jam({number})": number + 10} if number % 3 == 0 else {}
    return Line(b'{"t":%d,"begin":["jam(%d)"],"end":[]}' % (number, number), number - 5, until)


def numbered(first: int, last: int) -> list[tuple[int, Line]]:
    return [(number, line(number)) for number in range(first, last + 1)]


def add(lines: AnswerLines, count: int) -> None:
    lines.add([line(number) for number in range(lines.last + 1, lines.last + count + 1)])


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("lines-*"))


def test_lines_are_read_behind_a_number(tmp_path: Path) -> None:
    lines = AnswerLines(tmp_path / "new")
    assert (lines.first, lines.last, lines.read(0, 10)) == (1, 0, [])
    add(lines, 2)
    add(lines, 3)
    assert (lines.first, lines.last) == (1, 5)
    assert lines.read(0, 10) == numbered(1, 5)
    assert lines.read(2, 2) == numbered(3, 4)
    assert lines.read(5, 10) == lines.read(99, 10) == lines.read(0, 0) == []


def test_lines_are_the_same_in_memory_and_in_files(tmp_path: Path) -> None:
    lines = AnswerLines(tmp_path, file_size=2000)
    for _ in range(40):
        add(lines, 5)
    assert lines.settle() == 200
    lines.close()
    again = AnswerLines(tmp_path, file_size=2000)
    assert len(files(tmp_path)) > 3
    assert lines.bytes == again.bytes == sum(file.stat().st_size for file in files(tmp_path))
    assert files(tmp_path)[0].name == "lines-00000000000000000001"
    for after in range(202):
        assert again.read(after, 7) == lines.read(after, 7) == numbered(after + 1, min(after + 7, 200))
    assert again.read(0, 1000) == numbered(1, 200)
    assert again.bytes == lines.bytes


def test_what_has_left_the_memory_is_read_from_files(tmp_path: Path) -> None:
    lines = AnswerLines(tmp_path)
    texts = [bytes([number]) * 500_000 for number in range(12)]
    lines.add([Line(text, 1) for text in texts])
    assert lines.read(0, 100) == [(number, Line(text, 1)) for number, text in enumerate(texts, 1)]


def test_what_lies_behind_a_checkpoint_comes_again_with_the_same_numbers(tmp_path: Path) -> None:
    for last in (200, 137, 100, 41, 1, 0):
        lines = AnswerLines(tmp_path, file_size=2000)
        while lines.last < 200:
            add(lines, 10)
        lines.cut(last)
        assert (lines.last, lines.read(last, 10), lines.read(0, 1000)) == (last, [], numbered(1, last))
        lines.close()
        again = AnswerLines(tmp_path, file_size=2000)
        assert (again.first, again.last, again.read(0, 1000)) == (1, last, numbered(1, last))
        while again.last < 200:
            add(again, min(10, 200 - again.last))
        assert again.read(0, 1000) == numbered(1, 200)
        again.close()


@pytest.mark.parametrize("cut", range(1, 201))
def test_a_torn_end_is_left_out(cut: int, tmp_path: Path) -> None:
    lines = AnswerLines(tmp_path)
    add(lines, 5)
    lines.close()
    (file,) = files(tmp_path)
    ends = _ends(file)
    left = file.stat().st_size - cut
    with file.open("r+b") as torn:
        torn.truncate(left)
    whole = sum(end <= left for end in ends)
    lines = AnswerLines(tmp_path)
    assert (lines.last, lines.read(0, 10)) == (whole, numbered(1, whole))
    add(lines, 2)
    lines.close()
    assert AnswerLines(tmp_path).read(0, 10) == numbered(1, whole + 2)


def _ends(file: Path) -> list[int]:
    """Where each line of a file ends, by the lengths that frames begin with."""
    data = file.read_bytes()
    ends = []
    place = data.index(b"\n") + 1
    while place < len(data):
        place += 8 + int.from_bytes(data[place : place + 4], "little")
        ends.append(place)
    return ends


def test_lines_that_are_lost_keep_their_numbers(tmp_path: Path) -> None:
    """Where the disk has lost what a checkpoint counts, a subscriber sees a gap, and no number twice."""
    lines = AnswerLines(tmp_path)
    add(lines, 5)
    lines.cut(9)
    assert lines.last == 9
    add(lines, 3)
    assert lines.read(0, 10) == numbered(1, 5) + numbered(10, 12)
    assert lines.read(7, 10) == numbered(10, 12)
    lines.close()
    again = AnswerLines(tmp_path)
    assert again.read(0, 6) == numbered(1, 5) + numbered(10, 10)
    again.cut(9)
    again.cut(20)
    assert (again.last, again.read(0, 10)) == (20, numbered(1, 5))
    for file in files(tmp_path):
        file.unlink()
    empty = AnswerLines(tmp_path)
    empty.cut(20)
    assert (empty.first, empty.last, len(files(tmp_path))) == (21, 20, 1)


def test_the_oldest_files_leave_by_size(tmp_path: Path) -> None:
    lines = AnswerLines(tmp_path, file_size=2000)
    for _ in range(20):
        add(lines, 10)
    lines.drop_before(0, most=5000)
    assert lines.bytes <= 5000
    assert 1 < lines.first < 200
    assert lines.read(0, 1000) == numbered(lines.first, 200)
    assert int(files(tmp_path)[0].name.split("-")[1]) == lines.first
    lines.drop_before(0, most=0)
    # The newest file stays.
    assert lines.read(0, 1000) == numbered(lines.first, 200) != []
    lines.cut(lines.first - 10)
    assert (lines.first, lines.last) == (lines.last + 1, lines.last)


def test_little_leaves_at_once_where_little_may_be_kept(tmp_path: Path) -> None:
    lines, most = AnswerLines(tmp_path), 1 << 20
    lines.drop_before(0, most)
    for tick in range(2_000):
        lines.add([Line(b"x" * 1_000, tick)])
    lines.drop_before(0, most)
    assert 0.85 * most < lines.bytes <= most


def test_files_that_were_finished_before_an_instant_leave(tmp_path: Path) -> None:
    lines = AnswerLines(tmp_path, file_size=2000)
    for _ in range(20):
        add(lines, 10)
    for place, file in enumerate(files(tmp_path)):
        os.utime(file, (1000.0 + place, 1000.0 + place))
    second = int(files(tmp_path)[2].name.split("-")[1])
    lines.drop_before(1002.0, most=1 << 30)
    assert lines.first == second
    assert lines.read(0, 1000) == numbered(second, 200)


def test_whoever_listens_hears_when_lines_can_be_read(tmp_path: Path) -> None:
    lines = AnswerLines(tmp_path)
    seen: list[list[tuple[int, Line]]] = []
    stop = lines.listen(lambda: seen.append(lines.read(0, 10)))
    other = lines.listen(lambda: None)
    add(lines, 1)
    add(lines, 1)
    other()
    stop()
    add(lines, 1)
    assert seen == [numbered(1, 1), numbered(1, 2)]


def test_lines_are_read_while_others_are_added_and_leave(tmp_path: Path) -> None:
    lines = AnswerLines(tmp_path, file_size=4000)
    is_added = Event()

    def follow() -> list[int]:
        numbers: list[int] = []
        while not is_added.is_set() or (numbers or [0])[-1] < lines.last:
            for number, text in lines.read((numbers or [0])[-1], 50):
                assert text == line(number)
                numbers.append(number)
        return numbers

    with ThreadPoolExecutor(2) as threads:
        followers = [threads.submit(follow) for _ in range(2)]
        for _ in range(200):
            add(lines, 10)
            lines.drop_before(0, most=12_000)
        is_added.set()
        for follower in followers:
            numbers = follower.result()
            assert numbers == sorted(set(numbers))
            assert numbers[-1] == 2000


def test_a_full_disk_takes_none_of_the_lines(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _LIMITED, tmp_path], capture_output=True, text=True, check=True)
    failed, settled = done.stdout.splitlines()
    assert failed.startswith("1 cannot write")
    assert settled == "2"
    assert [text.text[:1] for _, text in AnswerLines(tmp_path).read(0, 10)] == [b"a", b"b"]


def test_lines_can_be_read_while_they_are_cut_off_and_come_again(tmp_path: Path) -> None:
    """As after a restart: the program goes back to its checkpoint while others read what is there."""
    # Long ones, so that they are read block by block.
    texts = [Line(b'{"t":%d,"begin":["%b"]}' % (number, b"x" * 400), number) for number in range(1, 1_001)]
    written = AnswerLines(tmp_path)
    written.add(texts)
    written.close()
    with ThreadPoolExecutor(2) as threads:
        for _ in range(20):
            lines, is_over = AnswerLines(tmp_path), Event()
            readers = [threads.submit(_read_on, lines, is_over, texts) for _ in range(2)]
            lines.cut(500)
            for first in range(500, 1_000, 50):
                lines.add(texts[first : first + 50])
            is_over.set()
            assert [reader.result() for reader in readers] == [[], []]
            lines.close()


def _read_on(lines: AnswerLines, is_over: Event, texts: Sequence[Line]) -> list[int]:
    """Reads again and again; the numbers of what is not as it was written, or not in order."""
    wrong: list[int] = []
    while not is_over.is_set():
        numbers = [450]
        for number, text in lines.read(450, 500):
            if text != texts[number - 1] or number != numbers[-1] + 1:
                wrong.append(number)
            numbers.append(number)
    return wrong


def test_a_file_of_another_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / f"lines-{1:020}").write_bytes(b"thalweg lines 9\n")
    with pytest.raises(RejectedError, match=r"E421.*has version 9 of a `lines`"):
        AnswerLines(tmp_path)


Step = tuple[str, int]
STEPS = st.lists(st.tuples(st.sampled_from(["add", "add", "cut", "reopen", "drop"]), st.integers(0, 30)), max_size=20)


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_lines_are_a_list_that_is_cut_at_both_ends(steps: Sequence[Step]) -> None:
    with TemporaryDirectory() as name:
        lines = AnswerLines(Path(name), file_size=500)
        first, last = 1, 0
        for step, number in steps:
            match step:
                case "add":
                    add(lines, number)
                    last += number
                case "cut":
                    last = max(0, last - number)
                    lines.cut(last)
                    first = min(first, last + 1)
                case "reopen":
                    lines.close()
                    lines = AnswerLines(Path(name), file_size=500)
                case _:
                    lines.drop_before(0, most=number * 100)
                    assert first <= lines.first
                    first = lines.first
            assert (lines.first, lines.last) == (first, last)
            assert lines.read(0, 1000) == numbered(first, last)
            assert lines.read(last - 3, 2) == numbered(max(first, last - 2), last)[:2]
        lines.close()
