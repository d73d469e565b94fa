import gzip
import os
import threading

import pytest

from thalweg import run
from thalweg.connectors.files import FILE_BLOCK, FileTransport, InputTransport, open_sink, read_text
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.open import open_stream
from thalweg.diagnostics import RejectedError


def test_a_file_comes_in_big_blocks(tmp_path):
    path = tmp_path / "readings.facts"
    path.write_bytes(b"x" * (FILE_BLOCK + 1))
    transport = FileTransport(path)
    assert [len(block) for block in transport.blocks(Interrupt())] == [FILE_BLOCK, 1]
    assert transport.taken == FILE_BLOCK + 1
    assert transport.stream == "readings"
    assert not transport.live


def test_a_packed_file_is_unpacked(tmp_path):
    path = tmp_path / "readings.facts.gz"
    path.write_bytes(gzip.compress(b"p at 3."))
    assert b"".join(FileTransport(path).blocks(Interrupt())) == b"p at 3."


def test_a_packed_file_that_is_cut_off_is_told(tmp_path):
    path = tmp_path / "readings.facts.gz"
    path.write_bytes(gzip.compress(os.urandom(1000))[:500])
    with pytest.raises(RejectedError, match="E401"):
        list(FileTransport(path).blocks(Interrupt()))


def test_what_cannot_be_opened_is_told_at_once(tmp_path):
    with pytest.raises(RejectedError, match=r"E401.*No such file"):
        FileTransport(tmp_path / "nowhere.facts")
    with pytest.raises(RejectedError, match="directory"):
        FileTransport(tmp_path)
    with pytest.raises(RejectedError, match="cannot write"):
        open_sink(tmp_path / "nowhere" / "answers.jsonl")


def test_text_must_be_utf8(tmp_path):
    (tmp_path / "latin.lars").write_bytes(b"p(\xe4).")
    with pytest.raises(RejectedError, match="UTF-8"):
        read_text(tmp_path / "latin.lars")


def test_a_pipe_is_live_and_comes_as_it_is_written():
    reading, writing = os.pipe()
    blocks = InputTransport(number=reading).blocks(Interrupt())
    assert InputTransport(number=reading).live
    os.write(writing, b"p at 3.\n")
    assert next(blocks) == b"p at 3.\n"
    os.close(writing)
    assert list(blocks) == []
    os.close(reading)


def test_a_redirected_file_is_not_live(tmp_path):
    path = tmp_path / "in"
    path.write_bytes(b"p at 3.")
    with path.open() as file:
        transport = InputTransport(number=file.fileno())
        assert not transport.live
        assert list(transport.blocks(Interrupt())) == [b"p at 3."]


def test_an_interrupt_ends_the_wait_for_a_pipe():
    reading, writing = os.pipe()
    interrupt = Interrupt()
    with interrupt.listen():
        threading.Timer(0.05, os.kill, (os.getpid(), 2)).start()
        assert list(InputTransport(number=reading).blocks(interrupt)) == []
    assert interrupt.asked
    os.close(reading)
    os.close(writing)


def test_an_interrupt_ends_a_file_between_blocks(tmp_path):
    path = tmp_path / "readings.facts"
    path.write_bytes(b"x" * (FILE_BLOCK + 1))
    interrupt = Interrupt()
    blocks = FileTransport(path).blocks(interrupt)
    next(blocks)
    interrupt.ask()
    assert list(blocks) == []


def test_asking_twice_means_now():
    interrupt = Interrupt()
    interrupt.ask()
    with pytest.raises(KeyboardInterrupt):
        interrupt.ask()


def test_answers_can_be_packed(tmp_path):
    sink = open_sink(tmp_path / "answers.jsonl.gz")
    sink.write(b"{}\n")
    sink.close()
    assert gzip.decompress((tmp_path / "answers.jsonl.gz").read_bytes()) == b"{}\n"


# Folders -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "2.csv").write_text("fact,t\nq,2")
    (tmp_path / "in" / "1.facts").write_text("p at 1. p at")
    (tmp_path / "in" / "3.csv").write_text("t,fact\n3,r\n")
    (tmp_path / "in" / "4.tnt.gz").write_bytes(gzip.compress(b"4 <s> <p> <o> ."))
    for passed_over in ("_SUCCESS", ".3.csv.crc"):
        (tmp_path / "in" / passed_over).write_text("")
    return tmp_path / "in"


def test_a_folder_is_one_stream_in_the_order_of_its_names(folder):
    rules = "a(X) :- f(X). b :- p from :in. c :- q from :in. d :- r from in. e(S) :- <p>(S,_) from :in."
    found = []
    answers = list(run(rules, stream=folder, on_error="skip", report=found.append))
    assert [str(fact) for answer in answers for fact in answer.begin] == ["b", "c", "d", "e(<s>)"]
    # Each file is read for itself: a line that ends too early ends with its file.
    assert [one.as_data()["file"] for one in found] == [str(folder / "1.facts")]


def test_the_files_of_a_folder_are_opened_one_after_the_other(folder):
    transport = open_stream(str(folder))
    parts = transport.parts()
    first = next(parts)
    assert first.name == str(folder / "1.facts")
    first.close()
    (folder / "2.csv").unlink()
    with pytest.raises(RejectedError, match="E401"):
        next(parts)


def test_a_folder_with_something_else_in_it_is_rejected(folder, tmp_path):
    (folder / "notes.txt").write_text("")
    with pytest.raises(RejectedError, match=r"E402.*notes.txt"):
        open_stream(str(folder))
    (tmp_path / "empty").mkdir()
    with pytest.raises(RejectedError, match=r"E402.*the folder .* is empty"):
        open_stream(str(tmp_path / "empty"))
