import socket

import pytest

from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.socket import SocketTransport, address, open_sink
from thalweg.diagnostics import FailedError, RejectedError


@pytest.fixture
def server():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def uri(server):
    return f"tcp://127.0.0.1:{server.getsockname()[1]}"


def test_lines_come_as_they_are_sent(server):
    transport = SocketTransport(uri(server))
    sender, _ = server.accept()
    blocks = transport.blocks(Interrupt())
    with sender:
        sender.sendall(b"p at 3.\n")
        assert next(blocks) == b"p at 3.\n"
        sender.sendall(b"p at 4.\n")
        assert next(blocks) == b"p at 4.\n"
    assert list(blocks) == []
    assert transport.live


def test_answers_can_be_sent(server):
    sink = open_sink(uri(server))
    receiver, _ = server.accept()
    sink.write(b'{"t":3}\n')
    sink.close()
    with receiver:
        assert receiver.recv(100) == b'{"t":3}\n'


def test_a_refused_connection_is_a_failure(server):
    address_in_use_by_nobody = uri(server)
    server.close()
    with pytest.raises(FailedError, match=r"E404.*refused"):
        SocketTransport(address_in_use_by_nobody)


@pytest.mark.parametrize("written", ["tcp://localhost", "tcp://:9000", "tcp://localhost:port"])
def test_an_address_needs_host_and_port(written):
    with pytest.raises(RejectedError, match="tcp://localhost:9000"):
        address(written)
