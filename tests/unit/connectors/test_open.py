import os

import pytest

from thalweg.connectors.files import FileTransport, InputTransport
from thalweg.connectors.open import open_output, open_stream
from thalweg.diagnostics import RejectedError


def test_a_file_by_its_ending(tmp_path):
    path = tmp_path / "a.facts"
    path.write_bytes(b"")
    transport = open_stream(str(path))
    assert isinstance(transport, FileTransport)
    transport.close()


def test_a_dash_is_the_standard_input():
    assert open_stream("-") == InputTransport()


def test_a_named_pipe_needs_no_ending(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writing = os.open(path, os.O_RDWR)
    transport = open_stream(str(path))
    assert transport.live
    assert transport.stream == "pipe"
    transport.close()
    os.close(writing)


@pytest.mark.parametrize(
    ("name", "help"), [("a.txt", ".facts .jsonl .ndjson"), ("readings", ".facts"), ("amqp://host/topic", "`tcp://`")]
)
def test_what_is_unknown_is_told_with_what_is_known(name, help):
    with pytest.raises(RejectedError, match="E402") as caught:
        open_stream(name)
    assert help in caught.value.diagnostics[0].help


def test_answers_go_to_a_file(tmp_path):
    sink = open_output(str(tmp_path / "answers.jsonl"))
    sink.write(b"{}\n")
    sink.close()
    assert (tmp_path / "answers.jsonl").read_bytes() == b"{}\n"
